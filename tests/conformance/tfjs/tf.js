// The functions of tfjs-core that its tests call, in terms of mlrun's ops; gradients are mlrun's
// own. What is not here is `missing`. Semantics: tfjs-core's API reference.
import * as mlrun from "mlrun";
import { F, arange, autograd, concat as join, full, stack as pile, tensor as make, where as choose } from "mlrun";
import { Unsupported, missing } from "./jasmine.js";
import { image } from "./nn.js";
import {
  counted, RANK, Tensor, wrap, toDtype, tensor, T, both, binary, compare, logical, float, unary, keeping, axes, reduction, method,
} from "./tensors.js";
import * as self from "./tf.js";

export * from "./nn.js";
export { Tensor, tensor, tensor1d, scalar, tensor2d, tensor3d, tensor4d, tensor5d, tensor6d } from "./tensors.js";

// ---- Making
export const zeros = (shape, dtype = "float32") => wrap(full(shape, 0), dtype);
export const ones = (shape, dtype = "float32") => wrap(full(shape, 1), dtype);
export const fill = (shape, value, dtype) => {
  if (typeof value === "string") throw new Unsupported("tensors of strings");
  return wrap(full(shape, value), dtype ?? (typeof value === "boolean" ? "bool" : "float32"));
};
export const zerosLike = (x) => zeros(T(x).shape, T(x).dtype), onesLike = (x) => ones(T(x).shape, T(x).dtype);
export const range = (start, stop, step = start < stop ? 1 : -1, dtype = "float32") => {
  if (step === 0) throw new RangeError("step 0");
  const n = Math.max(0, Math.ceil((stop - start) / step));
  return wrap(arange(n).mul(step).add(start), dtype);
};
export const linspace = (start, stop, n) => {
  if (n <= 0) throw new RangeError("expected a positive number of values");
  return wrap(mlrun.linspace(start, stop, n));
};
export const eye = (n, m = n, batch = [], dtype = "float32") => wrap(mlrun.eye(n, m).expand([...(batch ?? []), n, m]), dtype);
export const clone = keeping((t) => t.clone()), identity = clone;
export const cast = (x, dtype) => {
  x = T(x);
  if (!RANK.includes(dtype)) throw new Unsupported(`dtype ${dtype}`);
  return wrap(dtype === "int32" ? x.t.to("int32") : toDtype(x.t, dtype), dtype);
};
export const randomUniform = (shape, low = 0, high = 1, dtype = "float32") => wrap(mlrun.rand(shape).mul(high - low).add(low), dtype);
export const randomNormal = (shape, mean = 0, std = 1, dtype = "float32") => {
  if (dtype === "bool") throw new TypeError("no bools");
  return wrap(mlrun.randn(shape).mul(std).add(mean), dtype);
};
export const randomStandardNormal = (shape, dtype) => randomNormal(shape, 0, 1, dtype);
export const variable = (x) => T(x);

// ---- Elementwise
export const add = binary((a, b) => a.add(b)), sub = binary((a, b) => a.sub(b)), mul = binary((a, b) => a.mul(b));
export const div = (a, b) => {
  const [x, y, dtype] = both(a, b);
  return dtype === "int32" ? floorDiv(a, b) : wrap(x.div(y), "float32");
};
export const floorDiv = binary((a, b) => a.floorDivide(b)), mod = binary((a, b) => a.remainder(b));
export const divNoNan = (a, b) => {
  const [x, y, dtype] = both(a, b);
  return wrap(choose(y.eq(0), full([], 0), float(x).div(float(y))), dtype);
};
export const pow = binary((a, b) => a.pow(b)), maximum = binary((a, b) => a.maximum(b)), minimum = binary((a, b) => a.minimum(b));
export const squaredDifference = binary((a, b) => a.sub(b).square()), atan2 = binary((a, b) => float(a).atan2(float(b)));
export const [equal, notEqual, less, lessEqual, greater, greaterEqual] = ["eq", "ne", "lt", "le", "gt", "ge"].map(compare);
export const logicalAnd = logical((a, b) => a.logicalAnd(b)), logicalOr = logical((a, b) => a.logicalOr(b)), logicalXor = logical((a, b) => a.ne(b));
export const logicalNot = (x) => {
  x = T(x, "bool");
  if (x.dtype !== "bool") throw new TypeError("expected booleans");
  return wrap(x.t.logicalNot(), "bool");
};
export const addN = (list) => {
  if (!Array.isArray(list) || list.length === 0) throw new TypeError("expected tensors");
  const all = list.map((x) => T(x));
  if (all.some((x) => x.shape.join() !== all[0].shape.join() || x.dtype !== all[0].dtype)) throw new TypeError("tensors differ");
  return wrap(all.map((x) => x.t).reduce((a, b) => a.add(b)), all[0].dtype);
};
const named = (name) => unary((t) => method(t, name)());
export const [exp, expm1, log, log1p, sqrt, rsqrt, reciprocal, erf, sigmoid, softplus, tanh] = [
  "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "erf", "sigmoid", "softplus", "tanh",
].map(named);
export const [sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh] = [
  "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
].map(named);
export const [abs, neg, sign, square, floor, ceil, round, relu] = [
  "abs", "neg", "sign", "square", "floor", "ceil", "round", "relu",
].map((name) => (x) => {
  x = T(x);
  return wrap((x.dtype === "bool" ? x.t.to("int32") : x.t)[name](), counted(x.dtype));
});
const SELU = [1.6732632423543772, 1.0507009873554805];
export const selu = unary((t) => t.elu(SELU[0]).mul(SELU[1]));
export const isNaN = (x) => wrap(T(x).t.isnan(), "bool"), isInf = (x) => wrap(T(x).t.isinf(), "bool"), isFinite = (x) => wrap(T(x).t.isfinite(), "bool");
export const elu = unary((t) => t.elu(1)), leakyRelu = unary((t, alpha = 0.2) => t.leakyRelu(alpha));
export const relu6 = keeping((t) => t.clamp(0, 6)), logSigmoid = unary((t) => t.neg().softplus().neg());
export const step = keeping((t, alpha = 0) => choose(t.isnan(), t, choose(t.gt(0), full([], 1), full([], alpha))));
export const prelu = (x, alpha) => {
  const [t, a] = both(x, alpha);
  return wrap(choose(t.gt(0), t, t.mul(a)), "float32");
};
export const clipByValue = (x, low, high) => {
  if (low > high) throw new RangeError("min above max");
  return keeping((t) => t.clamp(low, high))(x);
};
export const where = (c, a, b) => {
  const cond = T(c, "bool");
  if (cond.dtype !== "bool") throw new TypeError("expected a boolean condition");
  const [x, y, dtype] = both(a, b);
  return wrap(choose(cond.t, x, y), dtype);
};

// ---- Reductions
export const sum = reduction((t, d, o) => t.sum(d, o), counted), mean = reduction((t, d, o) => float(t).mean(d, o), () => "float32");
export const max = reduction((t, d, o) => t.amax(d, o)), min = reduction((t, d, o) => t.amin(d, o));
export const prod = reduction((t, dims, { keepdim }) => dims.map((d) => (d < 0 ? d + t.ndim : d)).sort((a, b) => b - a).reduce((r, d) => r.prod(d, { keepdim }), t), counted);
const boolean = (name) => (x, axis = null, keepDims = false) => {
  x = T(x, "bool");
  if (x.dtype !== "bool") throw new TypeError("expected booleans");
  return reduction((t, d, o) => t[name](d, o))(x, axis, keepDims);
};
export const all = boolean("all"), any = boolean("any");
export const logSumExp = reduction((t, d, o) => method(float(t), "logsumexp")(d, o), () => "float32");
const arg = (name) => (x, axis = 0) => {
  x = T(x);
  const [dim] = axes(x, axis);
  return wrap((x.dtype === "bool" ? x.t.to("int32") : x.t)[name](dim), "int32");
};
export const argMax = arg("argmax"), argMin = arg("argmin");
export const moments = (x, axis = null, keepDims = false) => {
  x = T(x);
  const dims = axes(x, axis);
  return { mean: wrap(float(x.t).mean(dims, { keepdim: keepDims })), variance: wrap(float(x.t).variance(dims, { keepdim: keepDims, correction: 0 })) };
};
export const norm = (x, ord = "euclidean", axis = null, keepDims = false) => {
  x = T(x);
  const t = float(x.t), dims = axes(x, axis), o = { keepdim: keepDims };
  const p = ord === "euclidean" || ord === "fro" ? 2 : ord;
  if (p === 2 && dims.length > 2 && axis !== null) throw new RangeError("too many axes");
  if (dims.length === 2 && axis !== null && p !== 2) {
    if (p === 1) return wrap(t.abs().sum(dims[0], { keepdim: true }).amax(dims, o));
    if (Math.abs(p) === Infinity) return wrap(t.abs().sum(dims[1], { keepdim: true })[p > 0 ? "amax" : "amin"](dims, o));
    throw new RangeError(`norm ${p} of matrices`);
  }
  if (typeof p !== "number") throw new RangeError(`unknown norm ${p}`);
  return wrap(t.norm(dims, { ...o, p }));
};
export const cumsum = (x, axis = 0, exclusive = false, reverse = false) => scan("cumsum", x, axis, exclusive, reverse, 0);
export const cumprod = (x, axis = 0, exclusive = false, reverse = false) => scan("cumprod", x, axis, exclusive, reverse, 1);
function scan(name, x, axis, exclusive, reverse, start) {
  x = T(x);
  const [dim] = axes(x, axis).map((a) => (a < 0 ? a + x.rank : a));
  let t = reverse ? x.t.flip([dim]) : x.t;
  if (exclusive) t = join([full(t.narrow(dim, 0, 1).shape, start, { dtype: t.dtype }), t.narrow(dim, 0, t.shape[dim] - 1)], dim);
  t = method(t, name)(dim);
  return wrap(reverse ? t.flip([dim]) : t, counted(x.dtype));
}
export const topk = (x, k = 1, sorted = true) => {
  x = T(x);
  if (x.rank === 0 || k < 0 || k > x.shape.at(-1)) throw new RangeError("topk");
  const { values, indices } = x.t.topk(k, -1, { sorted });
  return { values: wrap(values, x.dtype), indices: wrap(indices, "int32") };
};

// ---- Linear algebra
export const matMul = (a, b, tA = false, tB = false) => {
  const [x, y, dtype] = both(a, b);
  if (x.ndim < 2 || y.ndim < 2) throw new RangeError("expected matrices");
  const turn = (t, on) => (on ? t.transpose(-1, -2) : t);
  return wrap(turn(x, tA).matmul(turn(y, tB)), dtype);
};
export const dot = (a, b) => {
  const [x, y, dtype] = both(a, b);
  if (![1, 2].includes(x.ndim) || ![1, 2].includes(y.ndim)) throw new RangeError("expected ranks 1 or 2");
  return wrap(x.matmul(y), dtype);
};
export const outerProduct = (a, b) => {
  const [x, y, dtype] = both(a, b);
  return wrap(x.outer(y), dtype);
};
export const einsum = (equation, ...list) => wrap(mlrun.einsum(equation, ...list.map((x) => T(x).t)));
export const linalg = new Proxy({
  bandPart(a, lower, upper) {
    a = T(a);
    [lower, upper] = [lower, upper].map((v) => (v instanceof Tensor ? v.dataSync()[0] : v));
    const [n, m] = a.shape.slice(-2);
    if (a.rank < 2 || lower > n || upper > m || lower % 1 !== 0 || upper % 1 !== 0) throw new RangeError("bandPart");
    const t = a.t.tril(upper < 0 ? m : upper).triu(lower < 0 ? -n : -lower);
    return wrap(t, a.dtype);
  },
}, { get: (o, k) => o[k] ?? missing(`linalg.${String(k)}`) });

// ---- Shapes
export const reshape = keeping((t, shape) => t.reshape([...shape]));
export const transpose = keeping((t, perm) => t.permute(perm ?? t.shape.map((_, i) => t.ndim - 1 - i)));
export const expandDims = keeping((t, axis = 0) => t.unsqueeze(axis));
export const squeeze = keeping((t, axis) => {
  for (const a of axis ?? []) if (t.shape.at(a) !== 1) throw new RangeError("squeezed extent is not 1");
  return axis?.length ? t.squeeze(axis) : t.squeeze();
});
export const broadcastTo = keeping((t, shape) => {
  if (shape.some((d) => !(d > 0))) throw new RangeError("shape");
  return t.expand(shape);
});
const list = (xs, dtype) => {
  if (!Array.isArray(xs) || xs.length === 0) throw new TypeError("expected tensors");
  const all = xs.map((x) => T(x, dtype));
  if (all.some((x) => x.dtype !== all[0].dtype)) throw new TypeError("dtypes differ");
  return all;
};
export const stack = (xs, axis = 0) => {
  const all = list(xs);
  return wrap(pile(all.map((x) => x.t), axis), all[0].dtype);
};
export const concat = (xs, axis = 0) => {
  const kept = list(xs), parts = kept.filter((x) => x.size > 0);
  return wrap(join((parts.length ? kept : kept).map((x) => x.t), axis), kept[0].dtype);
};
export const concat1d = (xs) => concat(xs, 0), [concat2d, concat3d, concat4d] = [concat, concat, concat];
export const unstack = (x, axis = 0) => {
  x = T(x);
  axes(x, axis);
  return x.t.unbind(axis).map((t) => wrap(t, x.dtype));
};
export const split = (x, sizes, axis = 0) => {
  x = T(x);
  const dim = axes(x, axis)[0], n = x.shape.at(dim);
  let parts = typeof sizes === "number" ? Array(sizes).fill(n / sizes) : [...sizes];
  const open = parts.indexOf(-1);
  if (open >= 0) parts[open] = n - parts.reduce((a, b) => a + b, 1);
  if (parts.some((p) => p % 1 !== 0 || p < 0) || parts.reduce((a, b) => a + b, 0) !== n) throw new RangeError("split");
  return x.t.split(parts, dim).map((t) => wrap(t, x.dtype));
};
export const slice = (x, begin, size) => {
  x = T(x);
  begin = [begin].flat();
  size = size === undefined ? [] : [size].flat();
  if (x.rank === 0 || begin.length > x.rank) throw new RangeError("slice");
  let t = x.t;
  begin.forEach((b, i) => {
    const n = size[i] === undefined || size[i] === -1 ? x.shape[i] - b : size[i];
    if (b < 0 || b + n > x.shape[i]) throw new RangeError("slice");
    t = t.narrow(i, b, n);
  });
  return wrap(t, x.dtype);
};
export const stridedSlice = (x, begin, end, strides, ...masks) => {
  x = T(x);
  if (masks.some((m) => m)) throw new Unsupported("stridedSlice with masks");
  let t = x.t;
  begin.forEach((b, i) => {
    const n = x.shape[i], step = strides?.[i] ?? 1;
    if (step === 0) throw new RangeError("stride 0");
    const inside = (v, low, high) => Math.max(low, Math.min(high, v < 0 ? v + n : v));
    const [from, to] = step > 0 ? [inside(b, 0, n), inside(end[i], 0, n)] : [inside(b, -1, n - 1), inside(end[i], -1, n - 1)];
    const count = Math.max(0, Math.ceil((to - from) / step));
    t = t.indexSelect(i, arange(count).mul(step).add(from));
  });
  return wrap(t, x.dtype);
};
const sliceOf = (rank) => (x, begin, size) => {
  if (T(x).rank !== rank) throw new RangeError("rank");
  return slice(x, begin, size);
};
export const [slice1d, slice2d, slice3d, slice4d] = [1, 2, 3, 4].map(sliceOf);
export const tile = keeping((t, reps) => {
  if (reps.length !== t.ndim) throw new RangeError("tile");
  return t.tile(...reps);
});
export const reverse = (x, axis) => {
  x = T(x);
  const dims = axes(x, axis);
  return wrap(x.rank === 0 ? x.t.clone() : x.t.flip(dims), x.dtype);
};
const reverseOf = (rank) => (x, axis) => {
  if (T(x).rank !== rank) throw new RangeError("rank");
  return reverse(x, axis);
};
export const reverse1d = (x) => reverseOf(1)(x, 0), [reverse2d, reverse3d, reverse4d] = [2, 3, 4].map(reverseOf);
const flatPads = (pads) => [...pads].reverse().flatMap(([a, b]) => [a, b]);
export const pad = (x, pads, value = 0) => {
  x = T(x);
  if (x.rank === 0) throw new RangeError("pad");
  pads = x.rank === 1 && typeof pads[0] === "number" ? [pads] : pads;
  if (pads.length !== x.rank || pads.some((p) => p.length !== 2)) throw new RangeError("pad");
  return wrap(F.pad(x.t, flatPads(pads), { value: Number(value) }), x.dtype);
};
export const pad1d = (x, p, v) => pad(x, [p], v), pad2d = pad, pad3d = pad, pad4d = pad;
export const mirrorPad = (x, pads, mode) => {
  x = T(x);
  const symmetric = mode === "symmetric";
  if (!["reflect", "symmetric"].includes(mode) || pads.length !== x.rank) throw new RangeError("mirrorPad");
  let t = x.t;
  pads.forEach(([before, after], d) => {
    const n = x.shape[d], most = symmetric ? n : n - 1;
    if (before < 0 || after < 0 || before > most || after > most) throw new RangeError("mirrorPad");
    const at = Array.from({ length: before + n + after }, (_, k) => {
      const i = k - before, edge = symmetric ? 1 : 0;
      return i < 0 ? -i - edge : i >= n ? 2 * n - 2 + edge - i : i;
    });
    t = t.indexSelect(d, make(at, { dtype: "int64" }));
  });
  return wrap(t, x.dtype);
};
const indices = (x) => {
  x = T(x, "int32");
  if (x.dtype !== "int32") throw new TypeError("expected int32 indices");
  return x.t.to("int64");
};
export const gather = (x, index, axis = 0, batchDims = 0) => {
  x = T(x);
  if (batchDims !== 0) throw new Unsupported("gather with batch dimensions");
  const i = indices(index), dim = axes(x, axis).map((a) => (a < 0 ? a + x.rank : a))[0];
  return wrap(x.t.indexSelect(dim, i.reshape([-1])).reshape([...x.shape.slice(0, dim), ...i.shape, ...x.shape.slice(dim + 1)]), x.dtype);
};
export const oneHot = (index, depth, on = 1, off = 0, dtype = "int32") => {
  if (depth < 2) throw new RangeError("depth");
  const hit = indices(index).unsqueeze(-1).eq(arange(depth));
  return wrap(choose(hit, full([], on), full([], off)), dtype);
};
export const meshgrid = (x, y, { indexing = "xy" } = {}) => {
  if (!["xy", "ij"].includes(indexing)) throw new TypeError("indexing");
  if (x === undefined) return [];
  const a = T(x);
  if (y === undefined) return [a];
  const b = T(y), [n, m] = [a.size, b.size], [u, v] = [a.t.reshape([-1]), b.t.reshape([-1])];
  return indexing === "xy"
    ? [wrap(u.reshape([1, n]).expand([m, n]), a.dtype), wrap(v.reshape([m, 1]).expand([m, n]), b.dtype)]
    : [wrap(u.reshape([n, 1]).expand([n, m]), a.dtype), wrap(v.reshape([1, m]).expand([n, m]), b.dtype)];
};

// ---- Gradients
/** A leaf of float32; within a gradient of a gradient a node that leads to the outer leaf. */
const leaf = (x) => {
  x = T(x);
  if (x.dtype === "bool") return x;
  const t = x.t.requiresGrad ? x.t.mul(1) : x.t.detach().to("float32").requiresGrad_();
  return new Tensor(t, "float32");
};
function gradients(f, xs, dy) {
  const leaves = xs.map(leaf), y = f(...leaves);
  if (!(y instanceof Tensor)) throw new TypeError("the function must give a tensor");
  if (dy && dy.shape.join() !== y.shape.join()) throw new RangeError("dy of another shape");
  const none = (l) => full(l.shape, 0);
  // tfjs gives 0 where a function is constant.
  if (!y.t.requiresGrad) return { value: y, grads: leaves.map((l) => wrap(none(l), "float32")) };
  const cotangent = dy ? dy.t.to(y.t.dtype) : full(y.shape, 1);
  const wanted = leaves.filter((l) => l.t.requiresGrad);
  const found = autograd.grad([y.t], wanted.map((l) => l.t), { gradOutputs: [cotangent], allowUnused: true, createGraph: true });
  const of = (l) => (wanted.includes(l) ? found[wanted.indexOf(l)] : null) ?? none(l);
  return { value: y, grads: leaves.map((l) => wrap(of(l), "float32")) };
}
const callable = (f) => {
  if (typeof f !== "function") throw new TypeError("expected a function");
};
export const grad = (f) => (callable(f), (x, dy) => gradients(f, [x], dy && T(dy)).grads[0]);
export const grads = (f) => (callable(f), (xs, dy) => {
  if (!Array.isArray(xs)) throw new TypeError("expected an array");
  return gradients(f, xs, dy && T(dy)).grads;
});
export const valueAndGrad = (f) => (callable(f), (x, dy) => {
  const { value, grads } = gradients(f, [x], dy && T(dy));
  return { value, grad: grads[0] };
});
export const valueAndGrads = (f) => (callable(f), (xs, dy) => gradients(f, xs, dy && T(dy)));
export const tidy = (a, b) => (b ?? a)();
export const keep = (x) => x, dispose = () => {};
export const util = new Proxy({ isTypedArray: (v) => ArrayBuffer.isView(v) }, { get: (o, k) => o[k] ?? missing(`util.${String(k)}`) });

// ---- Scattering
const numel = (shape) => shape.reduce((a, b) => a * b, 1);
/** Rows of a flattened tensor that index tuples name. */
function rowsOf(index, shape) {
  const depth = index.shape.at(-1) ?? 1;
  let rows = null;
  for (let d = 0; d < depth; d++) {
    const i = index.select(-1, d);
    rows = rows === null ? i : rows.mul(shape[d]).add(i);
  }
  return { rows: rows.reshape([-1]), depth };
}
export const scatterND = (index, updates, shape) => {
  let i = indices(index);
  if (i.ndim === 1) i = i.unsqueeze(-1);
  const u = T(updates);
  if (!Array.isArray(shape)) shape = Array.from(T(shape, "int32").dataSync());
  const { rows, depth } = rowsOf(i, shape);
  if (shape.length < 1 || i.ndim < 1 || u.rank < 1 || u.shape.join() !== [...i.shape.slice(0, -1), ...shape.slice(depth)].join()) throw new RangeError("scatterND");
  const inner = numel(shape.slice(depth)), zero = full([numel(shape.slice(0, depth)), inner], 0, { dtype: u.t.dtype });
  return wrap(zero.indexAdd(0, rows, u.t.reshape([rows.size, inner])).reshape(shape), u.dtype);
};
export const gatherND = (x, index) => {
  x = T(x);
  const i = indices(index);
  if (x.rank < 1 || i.ndim < 1 || i.shape.at(-1) > x.rank || numel(x.shape) === 0) throw new RangeError("gatherND");
  const { rows, depth } = rowsOf(i, x.shape);
  const inner = numel(x.shape.slice(depth));
  return wrap(x.t.reshape([-1, inner]).indexSelect(0, rows).reshape([...i.shape.slice(0, -1), ...x.shape.slice(depth)]), x.dtype);
};
export const unsortedSegmentSum = (x, ids, n) => {
  x = T(x);
  if (n % 1 !== 0) throw new RangeError("segments");
  const i = indices(ids), rest = x.shape.slice(i.ndim);
  // Negative numbers name no segment: their rows go behind the last one.
  const rows = choose(i.lt(0), full([], n, { dtype: "int64" }), i).reshape([-1]);
  const sums = full([n + 1, numel(rest)], 0, { dtype: x.t.dtype }).indexAdd(0, rows, x.t.reshape([i.size, -1]));
  return wrap(sums.narrow(0, 0, n).reshape([n, ...rest]), x.dtype);
};
export const bincount = (x, weights, size) => {
  const i = indices(x), w = T(weights);
  if (i.ndim !== 1 || size < 0 || (w.size !== 0 && w.size !== i.size)) throw new RangeError("bincount");
  const kept = i.lt(size), values = (w.size === 0 ? full(i.shape, 1) : float(w.t)).mul(kept.to("float32"));
  return wrap(full([size], 0).indexAdd(0, choose(kept, i, full([], 0, { dtype: "int64" })), values), "float32");
};
export const whereAsync = async (c) => {
  const x = T(c, "bool");
  if (x.dtype !== "bool") throw new TypeError("Argument 'condition' passed to 'whereAsync' must be bool");
  const found = method(x.t, "nonzero")();
  return wrap(found, "int32");
};

// ---- Blocks of space as batch
export const spaceToBatchND = (x, block, paddings) => {
  x = T(x);
  const m = block.length;
  if (x.rank <= m || paddings.length !== m) throw new RangeError("spaceToBatchND");
  const padded = pad(x, [[0, 0], ...paddings, ...Array(x.rank - 1 - m).fill([0, 0])]), [b, ...rest] = padded.shape;
  if (block.some((k, i) => rest[i] % k)) throw new RangeError("spaceToBatchND");
  const split = padded.t.reshape([b, ...block.flatMap((k, i) => [rest[i] / k, k]), ...rest.slice(m)]);
  const order = [...block.map((_, i) => 2 * i + 2), 0, ...block.map((_, i) => 2 * i + 1), ...rest.slice(m).map((_, i) => 2 * m + 1 + i)];
  return wrap(split.permute(order).reshape([b * numel(block), ...block.map((k, i) => rest[i] / k), ...rest.slice(m)]), x.dtype);
};
export const batchToSpaceND = (x, block, crops) => {
  x = T(x);
  const m = block.length, b = x.shape[0] / numel(block), rest = x.shape.slice(1);
  if (x.rank < 1 + m || crops.length !== m || b % 1) throw new RangeError("batchToSpaceND");
  const parts = x.t.reshape([...block, b, ...rest]);
  const order = [m, ...block.flatMap((_, i) => [m + 1 + i, i]), ...rest.slice(m).map((_, i) => 2 * m + 1 + i)];
  let t = parts.permute(order).reshape([b, ...block.map((k, i) => rest[i] * k), ...rest.slice(m)]);
  crops.forEach(([from, to], i) => {
    t = t.narrow(i + 1, from, t.shape[i + 1] - from - to);
  });
  return wrap(t, x.dtype);
};
export const depthToSpace = (x, block, format = "NHWC") => {
  x = T(x);
  if (format !== "NHWC") throw new Unsupported(`format ${format}`);
  const [b, h, w, c] = x.shape, d = c / block ** 2;
  if (d % 1 || block <= 1) throw new RangeError("depthToSpace");
  return wrap(x.t.reshape([b, h, w, block, block, d]).permute([0, 1, 3, 2, 4, 5]).reshape([b, h * block, w * block, d]), x.dtype);
};
export const multinomial = (x, n, seed, normalized = false) => {
  x = T(x);
  if (x.rank !== 1 && x.rank !== 2 || x.shape.at(-1) < 2) throw new RangeError("multinomial");
  const p = normalized ? x.t : F.softmax(x.t, -1);
  return wrap(mlrun.multinomial(p, n, { replacement: true }), "int32");
};

export const [signal, sparse, spectral, string, train, math, browser] = [
  "signal", "sparse", "spectral", "string", "train", "math", "browser",
].map(missing);

// Each function is a method too, as tfjs's chained ops are.
for (const [name, f] of Object.entries(self)) {
  if (typeof f === "function" && !(name in Tensor.prototype)) {
    Tensor.prototype[name] = function (...rest) {
      return f(this, ...rest);
    };
  }
}
Object.assign(Tensor.prototype, {
  asType(dtype) {
    return cast(this, dtype);
  },
  asScalar() {
    return reshape(this, []);
  },
  where(condition, other) {
    return where(condition, this, other);
  },
});
const withOthers = (t, others) => [t, ...(others instanceof Tensor ? [others] : others)];
Tensor.prototype.concat = function (others, axis) {
  return concat(withOthers(this, others), axis);
};
Tensor.prototype.stack = function (others, axis) {
  return stack(withOthers(this, others), axis);
};
for (const name of ["resizeBilinear", "resizeNearestNeighbor"]) {
  Tensor.prototype[name] = function (...rest) {
    return image[name](this, ...rest);
  };
}
for (const name of ["buffer", "dilation2d", "irfft", "localResponseNormalization", "rfft", "fft", "ifft"]) Tensor.prototype[name] = missing(name);
Tensor.prototype.flatten = Tensor.prototype.as1D = function () {
  return reshape(this, [-1]);
};
for (const rank of [2, 3, 4, 5]) {
  Tensor.prototype[`as${rank}D`] = function (...shape) {
    return reshape(this, shape);
  };
}
