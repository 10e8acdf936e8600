// The functions of tfjs-core that its tests call, in terms of mlrun's ops. A tensor here is a
// handle of mlrun and tfjs's dtype; gradients are mlrun's own. What is not here is `missing`.
// Semantics: tfjs-core's API reference.
import * as mlrun from "mlrun";
import { F, arange, autograd, concat as join, full, stack as pile, tensor as make, where as choose } from "mlrun";
import * as self from "./tf.js";
import { Unsupported, missing } from "./jasmine.js";

const counted = (d) => (d === "bool" ? "int32" : d);
const RANK = ["bool", "int32", "float32"];

class Tensor {
  constructor(t, dtype) {
    this.t = t;
    this.dtype = dtype;
    this.shape = [...t.shape];
    this.rank = t.ndim;
    this.size = t.size;
    this.isDisposed = false;
  }
  dataSync() {
    return this.t.toTypedArray();
  }
  async data() {
    return this.dataSync();
  }
  arraySync() {
    const flat = Array.from(this.dataSync());
    return this.shape.reduceRight((list, n, i) => (i === 0 ? list : chunk(list, n)), flat).slice(0, this.rank ? undefined : 1)[this.rank ? "valueOf" : "at"](0);
  }
  async array() {
    return this.arraySync();
  }
  get strides() {
    return this.shape.map((_, i) => this.shape.slice(i + 1).reduce((a, b) => a * b, 1)).slice(0, -1);
  }
  dispose() {
    this.isDisposed = true;
  }
  toFloat() {
    return cast(this, "float32");
  }
  toInt() {
    return cast(this, "int32");
  }
  toBool() {
    return cast(this, "bool");
  }
}
export { Tensor };

function chunk(list, n) {
  const out = [];
  for (let i = 0; i < list.length; i += n) out.push(list.slice(i, i + n));
  return n === 0 ? [] : out;
}

/** mlrun's tensor as tfjs knows it: every integer is int32. */
function wrap(t, dtype) {
  const own = dtype ?? (t.dtype === "bool" ? "bool" : t.dtype.includes("float") ? "float32" : "int32");
  if (!RANK.includes(own)) throw new Unsupported(`dtype ${own}`);
  return new Tensor(t.dtype === own ? t : toDtype(t, own), own);
}
const toDtype = (t, dtype) => (dtype === "bool" ? t.ne(0) : t.to(dtype));

function inferShape(v) {
  const shape = [];
  for (; Array.isArray(v) || ArrayBuffer.isView(v); v = v[0]) {
    shape.push(v.length);
    if (v.length === 0) break;
  }
  return shape;
}
const flatten = (v) => (Array.isArray(v) ? v.flatMap(flatten) : ArrayBuffer.isView(v) ? Array.from(v) : [v]);

export function tensor(values, shape, dtype) {
  if (values instanceof Tensor) return values;
  const flat = flatten(values), first = flat[0];
  if (dtype === "string" || typeof first === "string") throw new Unsupported("tensors of strings");
  if (dtype === "complex64") throw new Unsupported("complex numbers");
  const nested = values;
  const integers = nested instanceof Int32Array || nested instanceof Uint8Array || nested instanceof Uint8ClampedArray;
  const inner = Array.isArray(values) && values.find((v) => ArrayBuffer.isView(v));
  const own = dtype ?? (typeof first === "boolean" ? "bool" : integers || (inner && !(inner instanceof Float32Array)) ? "int32" : "float32");
  if (!RANK.includes(own)) throw new Unsupported(`dtype ${own}`);
  for (const v of flat) if (typeof v !== "number" && typeof v !== "boolean") throw new TypeError(`no number: ${typeof v}`);
  const want = shape ?? inferShape(values), given = inferShape(values);
  const size = want.reduce((a, b) => a * b, 1);
  if (size !== flat.length || (given.length > 1 && given.join() !== want.join())) throw new RangeError(`${flat.length} values for [${want}]`);
  const t = own === "bool" ? make(flat.map((v) => !!v), { dtype: "bool" }) : make(own === "int32" ? Int32Array.from(flat, Number) : Float32Array.from(flat, Number));
  return new Tensor(t.reshape(want), own);
}

const ofRank = (rank) => (values, shape, dtype) => {
  const inferred = inferShape(values).length;
  if (values === null || values === undefined) throw new TypeError("no values");
  if (inferred !== rank && inferred !== 1) throw new RangeError(`rank ${inferred}, expected ${rank}`);
  if (shape && shape.length !== rank) throw new RangeError("shape of another rank");
  if (inferred === 1 && rank !== 1 && !shape) throw new RangeError("flat values need a shape");
  return tensor(values, shape, dtype);
};
export const tensor1d = (values, dtype) => {
  if (inferShape(values).length !== 1) throw new RangeError("expected rank 1");
  return tensor(values, undefined, dtype);
};
export const [tensor2d, tensor3d, tensor4d, tensor5d, tensor6d] = [2, 3, 4, 5, 6].map(ofRank);
export const scalar = (value, dtype) => {
  if (typeof value === "object") throw new TypeError("no scalar");
  return tensor(value, [], dtype);
};

/** An argument as a tensor. */
const T = (x, dtype) => {
  if (x instanceof Tensor) return x;
  if (x === null || x === undefined || typeof x === "object" && !Array.isArray(x) && !ArrayBuffer.isView(x)) throw new TypeError("expected a tensor");
  return tensor(x, undefined, dtype);
};
const upcast = (a, b) => RANK[Math.max(RANK.indexOf(a.dtype), RANK.indexOf(b.dtype))];
function both(a, b) {
  [a, b] = [T(a), T(b)];
  const dtype = upcast(a, b);
  return [toDtype(a.t, dtype), toDtype(b.t, dtype), dtype];
}

const binary = (f) => (a, b) => {
  const [x, y, dtype] = both(a, b);
  return wrap(f(dtype === "bool" ? x.to("int32") : x, dtype === "bool" ? y.to("int32") : y), dtype === "bool" ? "int32" : dtype);
};
const compare = (name) => (a, b) => {
  const [x, y] = both(a, b);
  return wrap(x[name](y), "bool");
};
const logical = (f) => (a, b) => {
  [a, b] = [T(a, "bool"), T(b, "bool")];
  if (a.dtype !== "bool" || b.dtype !== "bool") throw new TypeError("expected booleans");
  return wrap(f(a.t, b.t), "bool");
};
const float = (t) => (t.dtype.includes("float") ? t : t.to("float32"));
/** Of floats; integers are converted. */
const unary = (f) => (x, ...rest) => wrap(f(float(T(x).t), ...rest), "float32");
/** Of any numbers. */
const keeping = (f) => (x, ...rest) => {
  x = T(x);
  return wrap(f(x.t, ...rest), x.dtype);
};
const axes = (x, axis) => {
  const list = axis === undefined || axis === null ? x.shape.map((_, i) => i) : [axis].flat();
  for (const a of list) if (a < -x.rank || a >= x.rank) throw new RangeError(`axis ${a} of rank ${x.rank}`);
  return list;
};
const reduction = (f, dtypeOf = (d) => d) => (x, axis = null, keepDims = false) => {
  x = T(x);
  const dims = axes(x, axis);
  const t = x.dtype === "bool" && dtypeOf("bool") !== "bool" ? x.t.to("int32") : x.t;
  return wrap(dims.length === 0 ? f(t.reshape([1]), [0], { keepdim: false }) : f(t, dims, { keepdim: keepDims }), dtypeOf(x.dtype));
};

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
/** A method by name, said to be missing where it is. */
const method = (t, name) => {
  if (typeof t[name] !== "function") throw new Unsupported(`mlrun has no ${name}`);
  return t[name].bind(t);
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
  return wrap(t.norm(p, dims, o));
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

// ---- Networks
const lastAxis = (x, dim) => {
  const at = dim === -1 ? x.rank - 1 : dim;
  if (at !== x.rank - 1) throw new Unsupported("softmax over another axis than the last is an error of tfjs");
  return at;
};
export const softmax = (x, dim = -1) => {
  x = T(x);
  if (dim !== -1 && dim !== x.rank - 1) throw new RangeError("softmax: only the last axis");
  return wrap(F.softmax(float(x.t), lastAxis(x, dim)), "float32");
};
export const logSoftmax = (x, dim = -1) => {
  x = T(x);
  if (dim !== -1 && dim !== x.rank - 1) throw new RangeError("logSoftmax: only the last axis");
  return wrap(F.logSoftmax(float(x.t), lastAxis(x, dim)), "float32");
};
export const batchNorm = (x, mean, variance, offset, scale, eps = 0.001) => {
  x = T(x);
  const [m, v] = [T(mean), T(variance)];
  if (m.rank !== v.rank) throw new RangeError("ranks differ");
  const unit = x.t.sub(m.t).mul(v.t.add(eps).rsqrt());
  const scaled = scale ? unit.mul(T(scale).t) : unit;
  return wrap(offset ? scaled.add(T(offset).t) : scaled);
};
const normOf = (rank) => (x, ...rest) => {
  if (T(x).rank !== rank) throw new RangeError("rank");
  return batchNorm(x, ...rest);
};
export const [batchNorm2d, batchNorm3d, batchNorm4d] = [2, 3, 4].map(normOf);

/** [begin, end] of one dimension's padding. */
function pads(pad, i, input, kernel, stride, dilation) {
  if (pad === "valid") return [0, 0];
  if (pad === "same") {
    const out = Math.ceil(input / stride), total = Math.max(0, (out - 1) * stride + dilation * (kernel - 1) + 1 - input);
    return [Math.floor(total / 2), total - Math.floor(total / 2)];
  }
  if (typeof pad === "number") return [pad, pad];
  if (Array.isArray(pad)) return pad[i + 1];
  throw new RangeError(`unknown pad ${pad}`);
}
const pair = (v) => (typeof v === "number" ? [v, v] : v);
const whole = (pad, mode, sizes) => {
  if (mode != null && (pad === "same" || pad === "valid" || [pad].flat(3).some((p) => p % 1 !== 0))) throw new RangeError("dimRoundingMode with such a pad");
  for (const { n, k, s, d, p } of sizes) {
    if (mode == null && typeof pad === "number" && ((n - (d * (k - 1) + 1) + p[0] + p[1]) / s) % 1 !== 0) throw new Unsupported("a size that is rounded");
    if (mode === "ceil" || mode === "round") throw new Unsupported(`dimRoundingMode ${mode}`);
  }
};

/** Images in NHWC as NCHW, a batch of one where there is none. */
function images(x) {
  x = T(x);
  if (x.rank !== 3 && x.rank !== 4) throw new RangeError("expected rank 3 or 4");
  const t = (x.rank === 3 ? x.t.unsqueeze(0) : x.t).permute([0, 3, 1, 2]);
  const back = (y, dtype = "float32") => wrap(x.rank === 3 ? y.permute([0, 2, 3, 1]).squeeze(0) : y.permute([0, 2, 3, 1]), dtype);
  return { t, back, x };
}

/** NCHW as NHWC. */
function lastChannel(x) {
  x = T(x);
  if (x.rank !== 3 && x.rank !== 4) throw new RangeError("expected rank 3 or 4");
  return wrap(x.rank === 4 ? x.t.permute([0, 2, 3, 1]) : x.t.permute([1, 2, 0]), x.dtype);
}
const channelLastPad = (pad) => (Array.isArray(pad) ? [pad[0], pad[2], pad[3], pad[1]] : pad);

function convolve(x, filter, strides, pad, format, dilations, mode, groups) {
  if (format === "NCHW") {
    const y = convolve(lastChannel(x), filter, strides, channelLastPad(pad), "NHWC", dilations, mode, groups);
    return wrap(y.rank === 4 ? y.t.permute([0, 3, 1, 2]) : y.t.permute([2, 0, 1]));
  }
  const { t, back } = images(x), w = T(filter);
  if (w.rank !== 4) throw new RangeError("filter of another rank");
  const s = pair(strides), d = pair(dilations ?? 1);
  if (s.some((v) => v > 1) && d.some((v) => v > 1)) throw new RangeError("strides and dilations");
  if ([...s, ...d].some((v) => v <= 0)) throw new RangeError("strides and dilations must be positive");
  const sizes = [0, 1].map((i) => ({ n: t.shape[i + 2], k: w.shape[i], s: s[i], d: d[i] }));
  for (const [i, z] of sizes.entries()) z.p = pads(pad, i, z.n, z.k, z.s, z.d);
  whole(pad, mode, sizes);
  const depthwise = groups === true, [, , inputs, outputs] = w.shape;
  if (t.shape[1] !== inputs) throw new RangeError("depths differ");
  const kernel = depthwise ? w.t.permute([2, 3, 0, 1]).reshape([inputs * outputs, 1, w.shape[0], w.shape[1]]) : w.t.permute([3, 2, 0, 1]);
  const padded = F.pad(float(t), [...sizes[1].p, ...sizes[0].p]);
  return back(F.conv2d(padded, float(kernel), null, { stride: s, dilation: d, groups: depthwise ? inputs : 1 }));
}
export const conv2d = (x, filter, strides, pad, format = "NHWC", dilations = [1, 1], mode) => convolve(x, filter, strides, pad, format, dilations, mode, false);
export const depthwiseConv2d = (x, filter, strides, pad, format = "NHWC", dilations = [1, 1], mode) => convolve(x, filter, strides, pad, format, dilations, mode, true);
export const conv1d = (x, filter, stride, pad, format = "NWC", dilation = 1, mode) => {
  x = T(x);
  const w = T(filter);
  if (format !== "NWC") throw new Unsupported(`format ${format}`);
  if (![2, 3].includes(x.rank) || w.rank !== 3) throw new RangeError("rank");
  const image = wrap((x.rank === 2 ? x.t.unsqueeze(0) : x.t).unsqueeze(1));
  const y = conv2d(image, wrap(w.t.unsqueeze(0)), [1, stride], pad, "NHWC", [1, dilation], mode).t.squeeze(1);
  return wrap(x.rank === 2 ? y.squeeze(0) : y);
};
export const separableConv2d = (x, depthwise, pointwise, strides, pad, dilation = [1, 1], format = "NHWC") => {
  const p = T(pointwise), d = T(depthwise);
  if (p.rank !== 4 || d.rank !== 4 || p.shape[0] !== 1 || p.shape[1] !== 1 || p.shape[2] !== d.shape[2] * d.shape[3]) throw new RangeError("filters");
  return conv2d(depthwiseConv2d(x, depthwise, strides, pad, format, dilation), pointwise, 1, "valid", format);
};
export const conv2dTranspose = (x, filter, outputShape, strides, pad, mode) => {
  const { t, back, x: given } = images(x), w = T(filter), s = pair(strides);
  if (w.rank !== 4 || outputShape.length !== given.rank) throw new RangeError("rank");
  whole(pad, mode, []);
  const [h, wide] = outputShape.slice(-3, -1), [kh, kw, outputs, inputs] = w.shape;
  if (t.shape[1] !== inputs || outputShape.at(-1) !== outputs) throw new RangeError("depths differ");
  const p = [pads(pad, 0, h, kh, s[0], 1), pads(pad, 1, wide, kw, s[1], 1)];
  const y = F.convTranspose2d(float(t), float(w.t.permute([3, 2, 0, 1])), null, { stride: s });
  const wanted = [h, wide], cut = (v, i) => {
    const dim = i + 2, need = p[i][0] + wanted[i];
    const full = v.shape[dim] < need ? F.pad(v, i === 0 ? [0, 0, 0, need - v.shape[dim]] : [0, need - v.shape[dim]]) : v;
    return full.narrow(dim, p[i][0], wanted[i]);
  };
  return back(cut(cut(y, 0), 1));
};

function pooling(kind, x, filter, strides, pad, mode, dilations = [1, 1]) {
  const { t, back, x: given } = images(x), k = pair(filter), s = pair(strides), d = pair(dilations);
  if (s.some((v) => v > 1) && d.some((v) => v > 1)) throw new RangeError("strides and dilations");
  const sizes = [0, 1].map((i) => ({ n: t.shape[i + 2], k: k[i], s: s[i], d: d[i] }));
  for (const [i, z] of sizes.entries()) z.p = pads(pad, i, z.n, z.k, z.s, z.d);
  whole(pad, mode, sizes);
  const flat = [...sizes[1].p, ...sizes[0].p], f = float(t);
  if (kind === "max") return back(F.maxPool2d(F.pad(f, flat, { value: -Infinity }), k, { stride: s, dilation: d }), given.dtype);
  if (d.some((v) => v > 1)) throw new Unsupported("average pooling with dilation");
  const run = (v) => F.avgPool2d(F.pad(v, flat), k, { stride: s });
  return back(flat.some((p) => p > 0) ? run(f).div(run(full(f.shape, 1))) : run(f));
}
export const maxPool = (x, filter, strides, pad, mode) => pooling("max", x, filter, strides, pad, mode);
export const avgPool = (x, filter, strides, pad, mode) => pooling("avg", x, filter, strides, pad, mode);
export const pool = (x, window, kind, pad, dilations = 1, strides = 1, mode) => pooling(kind, x, window, strides, pad, mode, dilations);
export const dropout = (x, rate, noiseShape) => {
  x = T(x);
  if (x.dtype !== "float32" || rate < 0 || rate >= 1) throw new RangeError("dropout");
  if (noiseShape) throw new Unsupported("dropout with a noise shape");
  return rate === 0 ? x : wrap(F.dropout(x.t, { p: rate }));
};
const resize = (mode) => (x, size, alignCorners = false, halfPixelCenters = false) => {
  const { t, back, x: given } = images(x);
  if (size.length !== 2) throw new RangeError("size");
  if (alignCorners && halfPixelCenters) throw new RangeError("alignCorners with halfPixelCenters");
  if (mode === "bilinear" ? !alignCorners && !halfPixelCenters : alignCorners || halfPixelCenters) throw new Unsupported(`resize ${mode} with these corners`);
  return back(F.interpolate(float(t), mode === "bilinear" ? { size, mode, alignCorners } : { size, mode }), mode === "bilinear" ? "float32" : given.dtype);
};
export const image = new Proxy({ resizeBilinear: resize("bilinear"), resizeNearestNeighbor: resize("nearest") }, {
  get: (o, k) => o[k] ?? missing(`image.${String(k)}`),
});

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

// ---- Losses: mlrun's without reduction, then tfjs's weights.
export const Reduction = { NONE: 0, MEAN: 1, SUM: 2, SUM_BY_NONZERO_WEIGHTS: 3 };
function weighted(loss, weights, reduction = 3) {
  if (![0, 1, 2, 3].includes(reduction)) throw new RangeError("reduction");
  const w = weights === undefined || weights === null ? null : T(weights).t.to("float32");
  const each = w === null ? loss : loss.mul(w), count = loss.size;
  if (reduction === 0) return wrap(each, "float32");
  if (reduction === 2) return wrap(each.sum(), "float32");
  if (w === null) return wrap(each.sum().div(count), "float32");
  const spread = full(loss.shape, 1).mul(w);
  return wrap(each.sum().div(reduction === 1 ? spread.sum() : spread.ne(0).to("float32").sum()), "float32");
}
const loss = (f) => (labels, predictions, ...rest) => {
  const [y, p] = [T(labels), T(predictions)];
  if (y.shape.join() !== p.shape.join()) throw new RangeError("shapes differ");
  return f(float(y.t), float(p.t), ...rest);
};
const none = { reduction: "none" };
export const losses = new Proxy({
  Reduction,
  computeWeightedLoss: (l, weights, reduction) => weighted(float(T(l).t), weights, reduction),
  absoluteDifference: loss((y, p, w, r) => weighted(F.l1Loss(p, y, none), w, r)),
  meanSquaredError: loss((y, p, w, r) => weighted(F.mseLoss(p, y, none), w, r)),
  huberLoss: loss((y, p, w, delta = 1, r) => weighted(F.smoothL1Loss(p, y, { ...none, beta: delta }).mul(delta), w, r)),
  hingeLoss: loss((y, p, w, r) => weighted(y.mul(2).sub(1).mul(p).neg().add(1).relu(), w, r)),
  logLoss: loss((y, p, w, eps = 1e-7, r) => weighted(y.mul(p.add(eps).log()).add(y.neg().add(1).mul(p.neg().add(1 + eps).log())).neg(), w, r)),
  cosineDistance: loss((y, p, axis, w, r) => weighted(y.mul(p).sum(axis, { keepdim: true }).neg().add(1), w, r)),
  sigmoidCrossEntropy: loss((y, p, w, smooth = 0, r) => weighted(F.bceWithLogits(p, y.mul(1 - smooth).add(smooth / 2), none), w, r)),
  softmaxCrossEntropy: loss((y, p, w, smooth = 0, r) => {
    const target = smooth > 0 ? y.mul(1 - smooth).add(smooth / y.shape[1]) : y;
    return weighted(F.logSoftmax(p, -1).mul(target).sum(-1).neg(), w, r);
  }),
}, { get: (o, k) => o[k] ?? missing(`losses.${String(k)}`) });

// ---- An op with bias and activation
function activate(y, { bias, activation = "linear", preluActivationWeights, leakyreluAlpha = 0.2 }) {
  const t = bias === undefined || bias === null ? y : add(y, bias);
  const by = {
    linear: (v) => v, relu, relu6, elu, sigmoid, prelu: (v) => prelu(v, preluActivationWeights), leakyrelu: (v) => leakyRelu(v, leakyreluAlpha),
  }[activation];
  if (!by) throw new TypeError(`unknown activation ${activation}`);
  return by(t);
}
function fusedConvolution(f, o) {
  if (o.dataFormat !== "NCHW") return activate(f(o.x, o.filter, o.strides, o.pad, o.dataFormat, o.dilations, o.dimRoundingMode), o);
  // Of bias and weights with one dimension, that is the channels.
  const last = (v) => (v instanceof Tensor && v.rank === 3 ? lastChannel(v) : v);
  const options = { ...o, bias: last(o.bias), preluActivationWeights: last(o.preluActivationWeights) };
  const y = activate(f(lastChannel(o.x), o.filter, o.strides, channelLastPad(o.pad), "NHWC", o.dilations, o.dimRoundingMode), options);
  return wrap(y.rank === 4 ? y.t.permute([0, 3, 1, 2]) : y.t.permute([2, 0, 1]));
}
export const fused = {
  matMul: (o) => activate(matMul(o.a, o.b, o.transposeA, o.transposeB), o),
  conv2d: (o) => fusedConvolution(conv2d, o),
  depthwiseConv2d: (o) => fusedConvolution(depthwiseConv2d, o),
};

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
  return wrap(method(p, "multinomial")(n, { replacement: true }), "int32");
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
