// Programs that keep tensors between steps in variables of closures and in objects with methods; what a step replaces is freed by the step.
import { concat, full, memoryStats, nn, randn, zeros } from "mlrun";

function flat(name, step) {
  for (let i = 0; i < 4; i++) step(i);
  const before = memoryStats().liveTensors;
  for (let i = 0; i < 20; i++) step(i);
  const more = memoryStats().liveTensors - before;
  console.log(name, more === 0 ? "flat" : `grows by ${more / 20} a step`);
}

let [h, c] = [zeros([1, 3]), zeros([1, 3])];
const gates = new nn.Linear(5, 12);
function cell(x, [h, c]) {
  const [i, f, g, o] = gates.forward(concat([x, h], 1)).chunk(4, 1);
  const next = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh())).detach();
  return [o.sigmoid().mul(next.tanh()).detach(), next];
}
flat("state of a recurrent net", () => { [h, c] = cell(randn([1, 2]), [h, c]); });

let a = full([2], 1), b = full([2], 1);
flat("swap", () => { [a, b] = [b, a.add(b).mul(0.5)]; });
flat("named parts", () => { ({ a, b } = { a: b, b: a.neg() }); });
flat("parts of a split", () => { [a, b] = randn([4]).split(2); });
flat("state of a function", (() => {
  let mean = zeros([2]), count = 0;
  return () => { [mean, count] = [mean.mul(count).add(randn([2])).div(count + 1), count + 1]; };
})());

class Given {
  constructor(weight) { this.weight = weight; }
  get bias() { return this.weight; }
}
flat("getter of what the constructor got", () => new Given(randn([3])).bias.sum().item());
const callbacks = { lr: 1, onStep(v) { this.last = v; } };
flat("method of a literal", () => { callbacks.onStep(randn([2])); });
flat("method of a literal that is made anew", () => {
  const o = { put(v) { this.v = v; return this; } };
  o.put(randn([2])).put(randn([2]));
  return o.v.sum().item();
});
