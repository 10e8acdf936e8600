// Gradients of slices and selections of one tensor, which are put together piece by piece, beside
// those of a pass that records itself and sums whole tensors.
import { autograd, manualSeed, randn, zerosLike } from "mlrun";

manualSeed(5);

/** The gradients of `x` and of `x * 2` whose `parts` are weighed and summed. */
function gradients(x, parts, createGraph) {
  const whole = x.mul(2);
  let loss = null;
  for (const [i, part] of parts(whole).entries()) {
    const term = part.mul(part.detach().mul(0.5).add(i + 1)).sum();
    loss = loss === null ? term : loss.add(term);
  }
  return autograd.grad(loss, [x, whole], { createGraph });
}

const cases = {
  thirds: (y) => y.chunk(3, -1),
  uneven: (y) => y.split([1, 4, 1], 1),
  rows: (y) => y.unbind(0),
  columns: (y) => y.unbind(-1).slice(1, 4),
  "one row": (y) => [y.index(2)],
  "last row twice": (y) => [y.index(-1), y.index(4)],
  "gap in the middle": (y) => [y.narrow(0, 0, 2), y.narrow(0, 3, 2)],
  backwards: (y) => [y.narrow(1, 4, 2), y.narrow(1, 2, 2), y.narrow(1, 0, 2)],
  "from both ends": (y) => [y.narrow(1, 0, 1), y.narrow(1, 5, 1), y.narrow(1, 1, 1), y.narrow(1, 4, 1), y.narrow(1, 2, 2)],
  overlapping: (y) => [y.narrow(0, 0, 3), y.narrow(0, 2, 3)],
  inside: (y) => [y.narrow(1, 0, 6), y.narrow(1, 2, 1)],
  "two dimensions": (y) => [y.narrow(0, 1, 2), y.narrow(1, 1, 2)],
  "slices of slices": (y) => y.chunk(2, 1).flatMap((half) => half.split([2, 3], 0)),
  "every second": (y) => [y.index("::2"), y.narrow(0, 1, 1)],
  nothing: (y) => [y.narrow(0, 2, 0), y.narrow(0, 0, 1)],
  "all beside a piece": (y) => [y, y.narrow(0, 1, 2)],
  "a piece beside all": (y) => [y.narrow(0, 1, 2), y.tanh()],
  "a piece, then all, then a piece": (y) => [y.narrow(0, 1, 2), y.exp(), y.narrow(0, 3, 1)],
};
for (const [name, parts] of Object.entries(cases)) {
  const x = randn([5, 6], { dtype: "float64", requiresGrad: true });
  const [got, whole] = gradients(x, parts, false);
  const [want, wanted] = gradients(x, parts, true);
  const off = got.sub(want).abs().amax().item() + whole.sub(wanted).abs().amax().item();
  console.log(name, off === 0 ? "equal" : off, "untouched", got.eq(0).sum().item());
}

// A leaf's own slices, a graph that is walked twice, and a view that is changed in place.
const leaf = randn([4, 2], { requiresGrad: true });
const loss = leaf.chunk(2, 0).map((part) => part.square().sum()).reduce((a, b) => a.add(b));
loss.backward({ retainGraph: true });
loss.backward();
console.log("twice", leaf.grad.sub(leaf.mul(4)).abs().amax().item() < 1e-6);
const start = randn([4, 3], { requiresGrad: true });
const y = start.mul(1);
y.narrow(0, 0, 2).mul_(3);
y.narrow(0, 3, 1).add(y.narrow(0, 0, 1)).sum().backward();
const counts = zerosLike(start).toArray();
counts[0] = [3, 3, 3];
counts[3] = [1, 1, 1];
console.log("in place", JSON.stringify(start.grad.toArray()) === JSON.stringify(counts));

// An index that takes all is a view as well, with a gradient of its own.
const base = randn([2, 3], { requiresGrad: true }), all = base.mul(1), view = all.index(":");
const parts = view.mul(10).sum().add(all.sum());
console.log("all", autograd.grad(parts, [view])[0].toArray().flat().join(), base.index("...").isLeaf, base.index("0:2").isLeaf);
