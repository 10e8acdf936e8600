// Faults that other libraries had, each with the right value.
import { full, grad, manualSeed, ones, randn, tensor, zeros } from "mlrun";

const text = (t) => JSON.stringify(t.toArray(), (_, v) => (typeof v === "number" && !Number.isFinite(v) ? `${v}` : v));
const check = (what, ok) => console.log(`${what}: ${ok === true ? "ok" : ok}`);

// pow at base 0.
check("0 ** 0", text(tensor([0, 0, 0]).pow(tensor([0, 1, 2]))));
check("gradient of x ** 2 at 0", text(grad((x) => x.pow(2).sum())(zeros([2]))));
check("gradient of x ** 1 at 0", text(grad((x) => x.pow(1).sum())(zeros([2]))));
check("gradient of x ** 0 at 0", text(grad((x) => x.pow(0).sum())(zeros([2]))));
check("gradient by the exponent at base 0", text(grad((b) => zeros([2]).pow(b).sum())(tensor([2, 0]))));

// clip where both bounds are equal, and where they are crossed.
check("clamp(1, 1)", text(tensor([0, 1, 2]).clamp(1, 1)));
check("gradient of clamp(1, 1)", text(grad((x) => x.clamp(1, 1).sum())(tensor([0, 1, 2]))));
check("clamp(3, 2)", text(tensor([1]).clamp(3, 2)));

// Gradients of broadcast operands keep the operands' shapes.
for (const [a, b] of [[[3, 1], [1, 4]], [[], [2, 3]], [[1, 1], [4]], [[2, 1, 3], [4, 1]]]) {
  for (const op of ["add", "sub", "mul", "div", "maximum", "pow", "atan2"]) {
    const [ga, gb] = grad(([x, y]) => x[op](y).sum())([full(a, 2), full(b, 3)]);
    if (`${ga.shape}` !== `${a}` || `${gb.shape}` !== `${b}`) check(`${op} of [${a}] and [${b}]`, `[${ga.shape}] [${gb.shape}]`);
  }
}
check("broadcast gradients", true);

// Repeats in gather and scatter.
const repeats = tensor([[0n, 0n, 0n], [1n, 0n, 1n]]);
check("gather's gradient", text(grad((x) => x.gather(1, repeats).sum())(zeros([2, 2]))));
check("scatterAdd", text(zeros([2, 2]).scatterAdd(1, repeats, tensor([[1, 2, 3], [4, 5, 6]]))));

// a % a is 0, also where a / a rounds.
const odd = tensor([0.1, 0.3, 1e-3, 7, -0.7, 1e30, 3.3]);
check("a % a", odd.remainder(odd).abs().max().item() === 0);
check("int % int", text(tensor(new Int32Array([7, -7, 6])).remainder(tensor(new Int32Array([3, 3, -6])))));

// A view that shares its buffer with a tensor that could take a result.
const base = tensor([1, 2, 3, 4]), view = base.reshape([2, 2]), sum = base.add(1).mul(2);
check("base after an op on it", text(base));
check("view after an op on the base", text(view));
check("result", text(sum));
check("x + x.T", text(view.add(view.T)));
const moved = tensor([1, 2, 3, 4]);
moved.narrow(0, 1, 3).add_(moved.narrow(0, 0, 3));
check("in place from an overlapping part", text(moved));

// A stride of 0, then arithmetic.
const wide = tensor([[1], [2]]).expand([2, 3]);
check("expand then add", text(wide.add(wide)));
check("expand of 0-d then add", text(tensor(5).expand([2, 2]).add(1)));

// Repeated passes through expand give equal bits.
manualSeed(4);
const x = randn([64, 1]), w = randn([64, 257]);
const once = () => grad((t) => t.expand([64, 257]).mul(w).tanh().sum())(x).toTypedArray();
const first = once();
let equal = true;
for (let i = 0; i < 80; i++) equal &&= once().every((v, k) => Object.is(v, first[k]));
check("80 passes through expand", equal);

// NaN in any place of any length gives the same answer.
const wrong = [];
for (let n = 1; n <= 17; n++) {
  for (let at = 0; at < n; at++) {
    const t = tensor(Array.from({ length: n }, (_, i) => (i === at ? NaN : i + 1)));
    const answers = [
      ["max", Number.isNaN(t.max().item())], ["min", Number.isNaN(t.min().item())], ["sum", Number.isNaN(t.sum().item())],
      ["argmax", t.argmax().item() === at], ["argmin", t.argmin().item() === at], ["sort", Number.isNaN(t.sort().values.toArray()[n - 1])],
      ["argsort", Number(t.argsort().toArray()[n - 1]) === at], ["relu", Number.isNaN(t.relu().toArray()[at])],
      ["maximum", Number.isNaN(t.maximum(0).toArray()[at])], ["minimum", Number.isNaN(tensor(0).minimum(t).toArray()[at])],
      ["clamp", Number.isNaN(t.clamp(0, 1).toArray()[at])],
      ["eq", t.eq(t).toArray()[at] === false], ["isnan", t.isnan().sum().item() === 1], ["logsumexp", Number.isNaN(t.logsumexp(0).item())],
      ["prod", Number.isNaN(t.prod().item())], ["cumsum", Number.isNaN(t.cumsum(0).toArray()[n - 1])], ["norm", Number.isNaN(t.norm().item())],
    ];
    for (const [name, ok] of answers) if (!ok) wrong.push(`${name} of ${n} at ${at}`);
  }
}
check("NaN for lengths 1 to 17", wrong.length === 0 || wrong.slice(0, 5).join(", "));

// Gradients at the points where frameworks differ.
check("norm at 0", text(grad((t) => t.norm())(zeros([2]))));
check("std of equals", text(grad((t) => t.std())(ones([3]))));
check("abs at 0", text(grad((t) => t.abs().sum())(zeros([1]))));
check("max with ties", text(grad((t) => t.max())(tensor([2, 1, 2]))));
check("clamp at its bounds", text(grad((t) => t.clamp(-1, 1).sum())(tensor([-1, 0, 1, 2]))));
check("clamp by a tensor at its bound", text(grad((t) => t.clamp(ones([3])).sum())(tensor([0, 1, 2]))));
check("clamp by two tensors at their bounds", text(grad((t) => t.clamp(ones([3]), ones([3])).sum())(tensor([0, 1, 2]))));
check("gradient of maximum at NaN", text(grad((t) => t.maximum(ones([3])).sum())(tensor([1, NaN, 2]))));
check("prod with zeros", text(grad((t) => t.prod())(tensor([2, 0, 3]))));
check("prod with two zeros", text(grad((t) => t.prod())(tensor([0, 0, 3]))));
check("cumprod with zeros", text(grad((t) => t.cumprod(0).sum())(tensor([2, 0, 3, 0, 2]))));
check("logsumexp of minus infinities", text(grad((t) => t.logsumexp(0))(full([2], -Infinity))));
