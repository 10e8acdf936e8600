// Assignment by index beside PyTorch and NumPy (oracle.py makes oracle.json): values and gradients,
// in place and as a copy, whatever the layout; through views, in every dtype; and its errors.
import { autograd, noGrad, ones, tensor, zeros } from "mlrun";
import oracle from "./oracle.json" with { type: "json" };

const f64 = { dtype: "float64" };
const show = (t) => JSON.stringify(t.toArray(), (_, v) => (typeof v === "bigint" ? `${v}n` : v));
const flat = (t) => t.detach().reshape([t.size]).toArray();
const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const values = (shape, first) => tensor(Array.from({ length: sizeOf(shape) }, (_, i) => first + i), f64).reshape(shape);
const specs = (list) => list.map((s) => (s?.int ? tensor(s.int, { dtype: "int64" }) : s?.mask ? tensor(s.mask) : s));

/** The same elements, laid out otherwise. */
const LAYOUTS = {
  plain: (t) => t.mul(1),
  transposed: (t) => t.T.mul(1).contiguous().T,
  strided: (t) => t.mul(1).unsqueeze(-1).expand([...t.shape, 2]).mul(1).index("...", 1),
};

function outcome(c, layout, inPlace) {
  const x = values(c.shape, 1).requiresGrad_(), leaves = [x];
  let value = c.value;
  if (typeof value !== "number") leaves.push((value = values(c.value, 100).requiresGrad_()));
  const y = LAYOUTS[layout](x), given = { accumulate: c.accumulate };
  const out = inPlace ? y.indexPut_(specs(c.specs), value, given) : y.indexPut(specs(c.specs), value, given);
  if (inPlace && out !== y) throw new Error("indexPut_ gives its own tensor");
  const [gradX, gradValue] = autograd.grad(out.mul(values(c.shape, 1)).sum(), leaves, { allowUnused: true });
  const left = inPlace ? null : flat(y);
  return { result: flat(out), gradX: flat(gradX ?? zeros(c.shape)), gradValue: gradValue ? flat(gradValue) : null, left };
}

const found = { right: 0, wrong: 0 };
for (const c of oracle) {
  for (const layout of Object.keys(LAYOUTS)) {
    for (const inPlace of [true, false]) {
      const { left, ...got } = outcome(c, layout, inPlace);
      const { result, gradX, gradValue } = c;
      const right = JSON.stringify(got) === JSON.stringify({ result, gradX, gradValue }) &&
        (left === null || JSON.stringify(left) === JSON.stringify(flat(values(c.shape, 1))));
      found[right ? "right" : "wrong"]++;
      if (!right) console.log(JSON.stringify({ layout, inPlace, c, got }));
    }
  }
}
console.log("beside PyTorch", found);

// The last one of equal positions stays, also where threads share the work.
const at = tensor(Array.from({ length: 3000 }, (_, i) => (i * 7) % 10), { dtype: "int64" });
const rows = values([3000, 64], 0), put = zeros([10, 64], f64).indexPut_([at], rows);
const last = Array.from({ length: 10 }, (_, r) => at.toArray().map(Number).lastIndexOf(r));
console.log("the last one stays", last.every((i, r) => put.index(r, 0).item() === rows.index(i, 0).item()));

for (const dtype of ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool"]) {
  const t = zeros([3, 2], { dtype });
  t.indexPut_([tensor([2n, 0n]), 1], tensor([1.5, 0])).indexPut_([1], true);
  console.log(dtype, show(t), t.dtype);
}
console.log("bigint", show(tensor([1n, 2n]).indexPut_([1], 2n ** 62n)));
console.log("adds in int64", show(tensor([1n, 2n]).indexPut_([tensor([1n, 1n])], 3, { accumulate: true })));

const base = zeros([2, 3]), row = base.select(0, 1), across = base.T;
across.indexPut_([tensor([0n, 2n]), 1], 5);
row.indexPut_([1], 4);
console.log("through views", show(base), show(row));
const own = tensor([1, 2, 3, 4]);
console.log("from itself", show(own.indexPut_(["1:"], own.narrow(0, 0, 3))), show(own.indexPut_([tensor([3n, 0n])], own.narrow(0, 0, 2))));
console.log("copied", show(own.indexPut([0], 9)), show(own.indexCopy(0, tensor([1n, 1n]), tensor([7, 8]))));

function attempt(what, f) {
  try {
    f();
    console.log(`${what}: nothing`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
}
const t = ones([2, 3]);
attempt("specs that are no array", () => t.indexPut_(0, 1));
attempt("no value", () => t.indexPut_([0]));
attempt("a text as value", () => t.indexPut_([0], "1"));
attempt("an unknown option", () => t.indexPut_([0], 1, { acumulate: true }));
attempt("a value that does not fit", () => t.indexPut_([0], ones([2])));
attempt("a value that does not fit an index", () => t.indexPut([tensor([0n, 1n, 0n])], ones([2, 3])));
attempt("a position outside", () => t.indexPut_([tensor([2n])], 1));
attempt("a number outside", () => t.indexPut_([0, 3], 1));
attempt("too many specs", () => t.indexPut_([0, 0, 0], 1));
attempt("a mask of another shape", () => t.indexPut_([ones([3]).gt(0)], 1));
attempt("a step of 0", () => t.indexPut_(["::0"], 1));
attempt("an index of floats", () => t.indexPut_([ones([1])], 1));
attempt("an expanded tensor", () => ones([1]).expand([3]).indexPut_([0], 1));
attempt("a number beyond the dtype", () => zeros([1], { dtype: "int8" }).indexPut_([0], 300));
attempt("a leaf", () => ones([3]).requiresGrad_().indexPut_([0], 1));
attempt("a leaf by an index", () => ones([3]).requiresGrad_().indexPut_([tensor([0n])], 1));
attempt("indexCopy of another shape", () => t.indexCopy(0, tensor([0n]), ones([2, 3])));
console.log("nothing was written", show(t));
const w = ones([3]).requiresGrad_();
noGrad(() => w.indexPut_([tensor([0n, 2n])], 0));
console.log("in noGrad", show(w), w.isLeaf);
