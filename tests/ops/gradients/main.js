// Gradients beside differences of float64 values, first and second order, and the tape's rules.
import { arange, autograd, concat, grad, manualSeed, nn, noGrad, randn, stack, tensor, valueAndGrad, where } from "mlrun";

manualSeed(11);
const F = nn.functional;
const f64 = (shape) => randn(shape, { dtype: "float64" });
const STEP = 1e-5;

/** Largest distance of `gradient` from central differences of `f` at `x`. */
function distance(f, x, gradient) {
  const values = x.toTypedArray(), got = gradient.toTypedArray();
  let worst = 0;
  for (let i = 0; i < values.length; i++) {
    const at = (d) => {
      const moved = values.slice();
      moved[i] += d;
      return f(tensor(moved).reshape(x.shape)).item();
    };
    const want = (at(STEP) - at(-STEP)) / (2 * STEP);
    worst = Math.max(worst, Math.abs(got[i] - want) / Math.max(1, Math.abs(want)));
  }
  return worst;
}

const w = f64([4, 3]), other = f64([3, 4]), row = f64([4]);
const positive = (x) => x.abs().add(0.5);
const index = tensor([[0n, 2n, 2n, 1n]]);
const cases = {
  arithmetic: (x) => x.mul(other).add(row).sub(x.div(positive(other))).neg(),
  broadcast: (x) => row.mul(x.sum(0, { keepdim: true })).add(x),
  powers: (x) => positive(x).pow(2.5).add(positive(other).pow(x)).add(x.square()),
  exponentials: (x) => x.exp().add(x.expm1()).add(positive(x).log()).add(positive(x).log1p()).add(positive(x).log2()).add(positive(x).log10()),
  roots: (x) => positive(x).sqrt().add(positive(x).rsqrt()).add(positive(x).reciprocal()),
  circle: (x) => x.sin().add(x.cos()).add(x.mul(0.3).tan()).add(x.tanh().mul(0.5).asin()).add(x.tanh().mul(0.5).acos()).add(x.atan()).add(x.atan2(positive(other))),
  hyperbolic: (x) => x.sinh().add(x.cosh()).add(x.tanh()).add(x.sigmoid()),
  activations: (x) => x.relu().add(x.silu()).add(x.gelu()).add(x.gelu({ approximate: "tanh" })).add(x.softplus()).add(x.elu()).add(x.leakyRelu()).add(x.erf()),
  choices: (x) => where(x.gt(0), x.mul(3), x).add(x.maximum(other)).add(x.minimum(row)).add(x.clamp(-0.4, 0.6)).add(x.lerp(other, 0.3)),
  reductions: (x) => x.sum(1).add(x.mean(1)).add(x.amax(1)).add(x.amin(1)).add(x.max(1).values).add(x.variance(1)),
  matmul: (x) => x.matmul(w).add(x.matmul(x.T)).add(x.matmul(row).unsqueeze(1)),
  shapes: (x) => concat([x.T, x.reshape([4, 3])], 1).flip([0]).narrow(1, 1, 3).add(x.expand([2, 3, 4]).sum(0).permute(1, 0)).add(stack([x, x], 1).select(1, 0).T),
  rows: (x) => x.indexSelect(1, tensor([3n, 3n, 0n])).sum().add(x.gather(0, index).mul(row)).add(x.scatterAdd(0, index, x.narrow(0, 0, 1).square())),
  triangles: (x) => x.tril().add(x.triu(1).mul(2)),
  softmax: (x) => F.softmax(x, 1).mul(other).add(F.logSoftmax(x, 0)),
};

for (const [name, f] of Object.entries(cases)) {
  const x = f64([3, 4]);
  const weights = f64(f(x).shape);
  const loss = (x) => f(x).mul(weights).sum();
  const first = distance(loss, x, grad(loss)(x));
  const direction = f64([3, 4]);
  // The gradient along a direction, whose own gradient is the second order.
  const slope = (x) => {
    const leaf = x.requiresGrad ? x : x.detach().requiresGrad_();
    const [g] = autograd.grad(loss(leaf), leaf, { createGraph: true });
    return g.mul(direction).sum();
  };
  const leaf = x.detach().requiresGrad_();
  const s = slope(leaf);
  const second = s.requiresGrad ? distance(slope, x, autograd.grad(s, leaf, { allowUnused: true })[0] ?? x.mul(0)) : 0;
  console.log(`${name}: ${first < 1e-6 ? "ok" : `first ${first}`}, ${second < 1e-4 ? "ok" : `second ${second}`}`);
}

const logits = f64([4, 5]), target = tensor([1n, 0n, 4n, 2n]);
for (const given of [{}, { reduction: "sum" }, { ignoreIndex: 4 }, { labelSmoothing: 0.2 }]) {
  const loss = (x) => F.crossEntropy(x, target, given);
  console.log(`crossEntropy ${JSON.stringify(given)}: ${distance(loss, logits, grad(loss)(logits)) < 1e-6 ? "ok" : "wrong"}`);
}

// The tape's rules.
const x = tensor([1, 2, 3]).requiresGrad_();
x.mul(x).sum().backward();
x.mul(2).sum().backward();
console.log("gradients add up", x.grad.toArray());
x.grad = null;
console.log("no gradient", x.grad);
const y = x.exp(), z = y.sum();
z.backward({ retainGraph: true });
z.backward();
console.log("kept graph", x.grad.sub(y.mul(2)).abs().max().item() < 1e-5);
const attempt = (what, f) => {
  try {
    f();
    console.log(`${what}: no error`);
  } catch (e) {
    console.log(`${what}: ${e.name}: ${e.message}`);
  }
};
attempt("freed graph", () => z.backward());
attempt("changed in place", () => {
  const a = x.mul(1), b = a.exp();
  noGrad(() => b.add_(1));
  b.sum().backward();
});
attempt("in place on a leaf", () => x.add_(1));
attempt("integers", () => arange(3).requiresGrad_());
console.log("noGrad", noGrad(() => x.mul(2)).requiresGrad, "detach", x.detach().requiresGrad);

let long = x;
for (let i = 0; i < 10_000; i++) long = long.add(1);
x.grad = null;
long.sum().backward();
console.log("10,000 ops in a chain", x.grad.toArray());

const [value, trees] = valueAndGrad((p) => p.w.mul(p.list[0]).sum())({ w: tensor([1, 2]), list: [tensor([3, 4])] });
console.log("trees", value.item(), trees.w.toArray(), trees.list[0].toArray());
const shared = tensor([1, 1]).requiresGrad_(), twin = tensor([1, 1]).requiresGrad_();
shared.add(twin).sum().backward();
shared.grad.add_(5);
console.log("gradients are nobody else's", twin.grad.toArray());

// NaN is the extreme of everything, as in PyTorch; over a dimension its whole line gets NaN.
const gradientOf = (data, f) => {
  const t = tensor(data).requiresGrad_();
  f(t).sum().backward();
  return JSON.stringify(t.grad.toArray().flat().map(String));
};
console.log("max with NaN", gradientOf([1, NaN, 3], (t) => t.max()), gradientOf([NaN, NaN, 3], (t) => t.max()));
console.log("min with NaN", gradientOf([1, NaN, 3], (t) => t.min()), "without", gradientOf([1, 3, 1], (t) => t.min()));
console.log("amax of all with NaN", gradientOf([[1, NaN, 3], [1, 2, 2]], (t) => t.amax()));
console.log("amax with NaN", gradientOf([[1, NaN, 3], [1, 2, 2]], (t) => t.amax(1)));
console.log("max of lines with NaN", gradientOf([[1, NaN, 3], [1, 2, 2]], (t) => t.max(1).values));
