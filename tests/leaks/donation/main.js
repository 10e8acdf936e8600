// An operation writes into the memory of an operand whose last use it is; peaks are in tensors of the
// size that the chain works on, above what was live before. Who is used again keeps its values.
import { full, memoryStats, noGrad, randn, resetPeakMemory, tensor } from "mlrun";

const N = 100_000, BYTES = 4 * N;

function peak(name, step) {
  step();
  resetPeakMemory();
  const { liveBytes, liveTensors } = memoryStats();
  for (let i = 0; i < 5; i++) step();
  const after = memoryStats();
  const more = (after.peakBytes - liveBytes) / BYTES;
  console.log(`${name}: peak ${more.toFixed(1)}, left ${after.liveTensors - liveTensors}`);
}

const g = full([N], 2);
let sink = 0;

peak("a chain uses the memory of its first result", () => {
  sink += g.mul(3).add(1).neg().abs().sqrt().sub(g).relu().sum().item();
});
peak("an update in a loop", () => {
  let w = full([N], 1);
  for (let i = 0; i < 3; i++) w = w.sub(g.mul(0.1));
  sink += w.sum().item();
});
peak("the second operand", () => {
  const w = full([N], 1);
  const d = g.div(w.add(1));
  sink += d.add(g.sub(d)).sum().item();
});
peak("both operands are one", () => {
  const w = g.add(1);
  sink += w.mul(w).sum().item();
});
peak("without a gradient", () => {
  const w = full([N], 1).requiresGrad_();
  noGrad(() => {
    sink += w.sub(1).mul(2).sum().item();
  });
});

// Values of what is used again.
const one = () => tensor([1, 2, 3]);
const show = (name, ...tensors) => console.log(name, ...tensors.map((t) => t.toArray().join()));
const twice = (t) => t.add(t);
const borrowed = (t) => t.add(1);
{
  const a = one();
  const b = a.add(1);
  show("a later use", b, a.mul(2));
}
{
  const a = one();
  show("a parameter", borrowed(a), borrowed(a), twice(a));
}
{
  const a = one(), list = [a];
  const b = a.add(1);
  show("an element", b, list[0]);
}
{
  const a = one();
  const again = () => a.add(1);
  show("a captured constant", again(), again());
}
{
  let a = one();
  const set = () => (a = a.add(1));
  show("a captured variable", set(), set(), a);
}
{
  const a = randn([2, 2]).mul(0).add(1), t = a.T;
  const b = a.add(1);
  show("a view", b, t);
}
{
  const a = one(), b = a.narrow(0, 1, 2);
  show("a part", b.mul(10), a.add(0));
}
{
  const a = one().requiresGrad_();
  const h = a.mul(2);
  const y = h.square().sum();
  y.backward();
  show("what the tape keeps", a.grad);
}
{
  const a = one();
  let caught;
  try {
    a.add(tensor([1, 2]));
  } catch (e) {
    caught = e;
  }
  console.log("after an error", caught.name, a.toArray().join());
}
{
  let a = one();
  try {
    a = a.add(tensor([1, 2]));
  } catch {
    a = a.mul(2);
  }
  show("an assignment that fails", a);
}
{
  const a = tensor([1, 2, 3], { dtype: "int32" }), b = a.div(2);
  show("another dtype", b);
  show("a broadcast operand", tensor([[1], [2]]).add(tensor([10, 20])));
}
{
  const a = one();
  console.log("a boolean", a.mul(true).toArray().join());
}
{
  // The method is another function when it is called: it may keep what it is called on.
  const kept = [];
  const a = one();
  a.neg = function () {
    kept.push(this);
    return this;
  };
  const b = a.neg();
  show("a method of its own", b.add(1), kept[0]);
}
{
  const c = one();
  const fetched = c.add;
  const f = fetched.call(c, 1);
  show("called by call", f, c);
}
console.log(Number.isFinite(sink));
