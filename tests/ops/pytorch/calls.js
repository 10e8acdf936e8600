// The calls whose values are in values.json, by the names of make.py.
import { concat, einsum, nn, stack, tensor, where } from "mlrun";

const F = nn.functional;
const method = (name) => (x) => x[name]();
const both = (name) => (a, b) => a[name](b);
const named = (names, make) => Object.fromEntries(names.map((name) => [name, make(name)]));

export const calls = {
  ...named([
    "neg", "abs", "sign", "square", "relu", "floor", "ceil", "round", "trunc", "exp", "expm1", "log", "log1p", "log2",
    "log10", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid",
    "erf", "silu", "gelu", "softplus", "elu", "leakyRelu", "isnan", "isinf", "isfinite", "logicalNot", "sum", "mean", "prod",
    "max", "argmax", "any", "std", "norm", "nonzero", "tril",
  ], method),
  ...named([
    "add", "sub", "mul", "div", "maximum", "minimum", "atan2", "eq", "ne", "lt", "le", "gt", "ge", "logicalAnd", "logicalOr",
    "bitwiseAnd", "bitwiseOr", "bitwiseXor",
  ], both),
  "gelu tanh": (x) => x.gelu({ approximate: "tanh" }), "clamp": (x) => x.clamp(-1, 2),
  "add 2": (x) => x.add(2), "mul 0.5": (x) => x.mul(0.5), "div 2": (x) => x.div(2), "sub 1": (x) => x.sub(1),
  "pow 2": (x) => x.pow(2), "remainder 2": (x) => x.remainder(2), "floorDivide 2": (x) => x.floorDivide(2), "gt 0": (x) => x.gt(0),
  "maskedFill": (x) => x.maskedFill(x.gt(0), 1), "where": (x) => where(x.gt(0), x, 0),
  "sum 0": (x) => x.sum(0), "sum -1 keepdim": (x) => x.sum(-1, { keepdim: true }), "mean 0": (x) => x.mean(0),
  "prod 0": (x) => x.prod(0), "amax": (x) => x.amax(0), "amin": (x) => x.amin(-1), "max values": (x) => x.max(0).values,
  "argmin 0": (x) => x.argmin(0), "all 0": (x) => x.all(0), "variance": (x) => x.variance(-1), "norm 1": (x) => x.norm(-1, { p: 1 }),
  "logsumexp": (x) => x.logsumexp(-1), "cumsum": (x) => x.cumsum(0), "cumprod": (x) => x.cumprod(-1), "sort": (x) => x.sort().values,
  "argsort": (x) => x.argsort(0), "argsort descending": (x) => x.argsort({ descending: true }),
  "topk": (x) => x.topk(Math.min(2, x.shape.at(-1))).values, "flip": (x) => x.flip(-1), "roll": (x) => x.roll(1, 0),
  "softmax": (x) => F.softmax(x, -1), "logSoftmax": (x) => F.logSoftmax(x, 0),
  "triu": (x) => x.triu(1), "T": (x) => x.T, "diagonal": (x) => x.diagonal(1),
  "gather": (x) => x.gather(1, tensor([[0n, 0n], [3n, 1n], [2n, 2n]])), "indexSelect": (x) => x.indexSelect(0, tensor([2n, 0n, 2n])),
  "index": (x) => x.index(tensor([2n, 0n]), tensor([1n, -1n])), "index mask": (x) => x.index(x.gt(0)),
  "narrow": (x) => x.narrow(1, 1, 2), "repeat": (x) => x.repeat(1, 2), "outer": (x) => x.select(1, 0).outer(x.select(0, 0)),
  "matmul": (x) => x.matmul(x.T), "einsum": (x) => einsum("ij,kj->ki", x, x),
  "add row": (a, b) => a.add(b.select(0, 0)), "mul column": (a, b) => a.mul(b.narrow(1, 0, 1)), "stack": (a, b) => stack([a, b], 1),
  "concat": (a, b) => concat([a, b], -1),
};
