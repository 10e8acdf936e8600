// Tensors as tfjs's tests see them: a handle of mlrun and tfjs's dtype; arguments, dtypes, and the
// forms that most functions of tf.js have.
import { tensor as make } from "mlrun";
import { Unsupported } from "./jasmine.js";
import { cast } from "./tf.js";

export const counted = (d) => (d === "bool" ? "int32" : d);
export const RANK = ["bool", "int32", "float32"];

export class Tensor {
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

export function chunk(list, n) {
  const out = [];
  for (let i = 0; i < list.length; i += n) out.push(list.slice(i, i + n));
  return n === 0 ? [] : out;
}

/** mlrun's tensor as tfjs knows it: every integer is int32. */
export function wrap(t, dtype) {
  const own = dtype ?? (t.dtype === "bool" ? "bool" : t.dtype.includes("float") ? "float32" : "int32");
  if (!RANK.includes(own)) throw new Unsupported(`dtype ${own}`);
  return new Tensor(t.dtype === own ? t : toDtype(t, own), own);
}
export const toDtype = (t, dtype) => (dtype === "bool" ? t.ne(0) : t.to(dtype));

export function inferShape(v) {
  const shape = [];
  for (; Array.isArray(v) || ArrayBuffer.isView(v); v = v[0]) {
    shape.push(v.length);
    if (v.length === 0) break;
  }
  return shape;
}
export const flatten = (v) => (Array.isArray(v) ? v.flatMap(flatten) : ArrayBuffer.isView(v) ? Array.from(v) : [v]);

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

export const ofRank = (rank) => (values, shape, dtype) => {
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
export const T = (x, dtype) => {
  if (x instanceof Tensor) return x;
  if (x === null || x === undefined || typeof x === "object" && !Array.isArray(x) && !ArrayBuffer.isView(x)) throw new TypeError("expected a tensor");
  return tensor(x, undefined, dtype);
};
export const upcast = (a, b) => RANK[Math.max(RANK.indexOf(a.dtype), RANK.indexOf(b.dtype))];
export function both(a, b) {
  [a, b] = [T(a), T(b)];
  const dtype = upcast(a, b);
  return [toDtype(a.t, dtype), toDtype(b.t, dtype), dtype];
}

export const binary = (f) => (a, b) => {
  const [x, y, dtype] = both(a, b);
  return wrap(f(dtype === "bool" ? x.to("int32") : x, dtype === "bool" ? y.to("int32") : y), dtype === "bool" ? "int32" : dtype);
};
export const compare = (name) => (a, b) => {
  const [x, y] = both(a, b);
  return wrap(x[name](y), "bool");
};
export const logical = (f) => (a, b) => {
  [a, b] = [T(a, "bool"), T(b, "bool")];
  if (a.dtype !== "bool" || b.dtype !== "bool") throw new TypeError("expected booleans");
  return wrap(f(a.t, b.t), "bool");
};
export const float = (t) => (t.dtype.includes("float") ? t : t.to("float32"));
/** Of floats; integers are converted. */
export const unary = (f) => (x, ...rest) => wrap(f(float(T(x).t), ...rest), "float32");
/** Of any numbers. */
export const keeping = (f) => (x, ...rest) => {
  x = T(x);
  return wrap(f(x.t, ...rest), x.dtype);
};
export const axes = (x, axis) => {
  const list = axis === undefined || axis === null ? x.shape.map((_, i) => i) : [axis].flat();
  for (const a of list) if (a < -x.rank || a >= x.rank) throw new RangeError(`axis ${a} of rank ${x.rank}`);
  return list;
};
export const reduction = (f, dtypeOf = (d) => d) => (x, axis = null, keepDims = false) => {
  x = T(x);
  const dims = axes(x, axis);
  const t = x.dtype === "bool" && dtypeOf("bool") !== "bool" ? x.t.to("int32") : x.t;
  return wrap(dims.length === 0 ? f(t.reshape([1]), [0], { keepdim: false }) : f(t, dims, { keepdim: keepDims }), dtypeOf(x.dtype));
};

/** A method by name, said to be missing where it is. */
export const method = (t, name) => {
  if (typeof t[name] !== "function") throw new Unsupported(`mlrun has no ${name}`);
  return t[name].bind(t);
};
