// What shares memory and what does not, seen through in-place changes.
import { arange, tensor, zeros } from "mlrun";

const fresh = () => arange(12).to("float32").reshape([3, 4]);
/** Whether a change of the base through `change` shows in `view(base)`. */
function shares(name, view) {
  const base = fresh(), v = view(base), before = JSON.stringify(v.toArray());
  base.add_(100);
  console.log(`${name}: [${v.shape}] ${JSON.stringify(v.toArray()) === before ? "copy" : "view"}`);
}
shares("reshape", (t) => t.reshape([4, 3]));
shares("view", (t) => t.view([2, 6]));
shares("reshape of transposed", (t) => t.T.reshape([12]));
shares("T", (t) => t.T);
shares("permute", (t) => t.permute(1, 0));
shares("transpose", (t) => t.transpose(0, -1));
shares("narrow", (t) => t.narrow(1, 1, 2));
shares("select", (t) => t.select(0, -1));
shares("index number", (t) => t.index(1));
shares("index slice", (t) => t.index("1:", "::2"));
shares("index all", (t) => t.index(":"));
shares("index ellipsis", (t) => t.index("...", 0));
shares("index new axis", (t) => t.index(null));
shares("index tensor", (t) => t.index(tensor([2n, 0n])));
shares("expand", (t) => t.index(0).expand([5, 4]));
shares("unsqueeze", (t) => t.unsqueeze(1));
shares("squeeze", (t) => t.unsqueeze(0).squeeze());
shares("flatten", (t) => t.flatten());
shares("split", (t) => t.split(2, 1)[1]);
shares("chunk", (t) => t.chunk(2, 1)[0]);
shares("unbind", (t) => t.unbind(1)[3]);
shares("detach", (t) => t.detach());
shares("iteration", (t) => [...t][2]);
shares("clone", (t) => t.clone());
shares("contiguous, nothing to do", (t) => t.contiguous());
shares("contiguous of transposed", (t) => t.T.contiguous());
shares("to, nothing to do", (t) => t.to("float32"));
shares("to", (t) => t.to("float64"));

// Writing through views, also where source and target overlap.
const t = fresh();
t.narrow(0, 1, 1).fill_(7);
t.T.select(0, 0).zero_();
console.log(JSON.stringify(t.toArray()));
const o = arange(5).to("float32");
o.narrow(0, 1, 4).copy_(o.narrow(0, 0, 4));
console.log(JSON.stringify(o.toArray()));
o.narrow(0, 0, 4).add_(o.narrow(0, 1, 4));
console.log(JSON.stringify(o.toArray()));
console.log(JSON.stringify(zeros([2, 3]).copy_(tensor([1, 2, 3])).toArray()));
try {
  fresh().T.view([12]);
} catch (e) {
  console.log(`${e.name}: ${e.message}`);
}
