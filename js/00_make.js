// Making tensors from JavaScript data and from numbers; reading data back.

import {
  addMethods, afterCollection, buffer, call, describe, dtypeCode, idOf, integer, integers, isTensor, list, make,
  noMore, numbers, ops, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";

const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
const typedArrayName = Object.getOwnPropertyDescriptor(TypedArrayPrototype, Symbol.toStringTag).get;
const typedArrayBuffer = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "buffer").get;
const typedArrayLength = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "length").get;
const typedArrayOffset = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "byteOffset").get;
const typedArrayBytes = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "byteLength").get;

/** Typed array that holds a dtype's elements as they are in memory. */
const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array,
};
/** Dtype of a typed array's elements; Uint8ClampedArray is uint8. */
const DTYPE_OF = {
  Float32Array: "float32", Float64Array: "float64", Int8Array: "int8", Uint8Array: "uint8",
  Uint8ClampedArray: "uint8", Int16Array: "int16", Int32Array: "int32", BigInt64Array: "int64",
  Float16Array: "float16",
};

/** Whole numbers that narrow integer dtypes hold. */
const RANGES = {
  __proto__: null,
  int8: [-128, 127], uint8: [0, 255], int16: [-32768, 32767], int32: [-2147483648, 2147483647],
};

function unfit(i, value, dtype) {
  const range = RANGES[dtype] ? `${RANGES[dtype][0]} to ${RANGES[dtype][1]}` : "-2^63 to 2^63 - 1";
  return new RangeError(`tensor: element ${i} is ${value}, which does not fit in ${dtype}, expected ${range}`);
}

const OPTIONS = ["dtype", "device", "requiresGrad"];

function checkDevice(op, device) {
  if (device !== undefined && device !== "cpu") {
    throw new TypeError(`${op}: unknown device ${describe(device) === "string" ? `"${device}"` : describe(device)}, expected cpu`);
  }
}

/** Applies the options that every maker of tensors shares to a new tensor. */
function finish(t, { requiresGrad }) {
  if (requiresGrad) ops.op_tensor_requires_grad(idOf(t), true);
  return t;
}

function dtypeOption(op, given, otherwise) {
  checkDevice(op, given.device);
  return dtypeCode(op, given.dtype ?? otherwise);
}

function fromTyped(array, shape, dtype) {
  // By the getters of typed arrays: properties of the user's own array may say anything.
  const data = typedArrayBuffer.call(array);
  if (data.detached) throw new TypeError("tensor: the typed array's buffer is detached");
  const view = new Uint8Array(data, typedArrayOffset.call(array), typedArrayBytes.call(array));
  const fill = () => {
    for (let i = 0; i < shape.length; i++) numbers[i] = shape[i];
    return ops.op_tensor_from_bytes(dtypeCode("tensor", dtype), view, shape.length, buffer());
  };
  let id;
  try {
    id = fill();
  } catch (e) {
    id = afterCollection(e, fill);
  }
  return make(id);
}

/** More dimensions than anybody uses; an array that holds itself has no end. */
const MAX_DEPTH = 64;

/** Shape of nested arrays; the first elements decide, `flatten` checks the rest. */
function shapeOfNested(data) {
  const shape = [];
  for (let v = data; Array.isArray(v); v = v[0]) {
    shape.push(v.length);
    if (v.length === 0) break;
    if (shape.length > MAX_DEPTH) throw new RangeError(`tensor: arrays nest deeper than ${MAX_DEPTH}`);
  }
  return shape;
}

function flatten(data, shape, dim, out) {
  if (dim === shape.length) {
    if (Array.isArray(data)) throw ragged(shape, dim, `an array of ${data.length}`, "a number");
    out.push(data);
    return;
  }
  if (!Array.isArray(data)) throw ragged(shape, dim, describe(data), `an array of ${shape[dim]}`);
  if (data.length !== shape[dim]) {
    throw ragged(shape, dim, `an array of ${data.length}`, `an array of ${shape[dim]}`);
  }
  for (let i = 0; i < data.length; i++) flatten(data[i], shape, dim + 1, out);
}

function ragged(shape, dim, got, expected) {
  return new RangeError(
    `tensor: nested arrays must have equal lengths, got ${got} at depth ${dim}, expected ${expected}`,
  );
}

/** Kind of the elements: "bool", "bigint" or "number". */
function kindOf(flat) {
  let kind = null;
  for (let i = 0; i < flat.length; i++) {
    const type = typeof flat[i];
    const own = type === "boolean" ? "bool" : type;
    if (own !== "number" && own !== "bigint" && own !== "bool") {
      throw new TypeError(`tensor: element ${i} is ${describe(flat[i])}, expected numbers, BigInts or booleans`);
    }
    if (kind === null) kind = own;
    else if (kind !== own) {
      throw new TypeError(`tensor: element ${i} is a ${own} among elements that are ${kind}s`);
    }
  }
  return kind ?? "number";
}

function fromFlat(flat, shape, dtype) {
  const kind = kindOf(flat);
  const natural = kind === "bigint" ? "int64" : kind === "bool" ? "bool" : "float32";
  const want = dtype ?? natural;
  let array;
  if (want === "int64") {
    array = BigInt64Array.from(flat, (v, i) => {
      if (typeof v === "bigint") {
        if (BigInt.asIntN(64, v) !== v) throw unfit(i, v, want);
        return v;
      }
      if (!(Math.abs(v) < 2 ** 63)) throw unfit(i, v, want);
      return BigInt(Math.trunc(Number(v)));
    });
  } else if (want === "bool") {
    array = Uint8Array.from(flat, (v) => (v == 0 ? 0 : 1));
  } else if (RANGES[want] !== undefined) {
    const [least, most] = RANGES[want];
    array = ARRAYS[want].from(flat, (given, i) => {
      const v = Number(given), whole = Math.trunc(v);
      // Whole negative numbers wrap in unsigned types, as in PyTorch.
      if (!(whole >= (least === 0 && whole === v ? -most : least) && whole <= most) || (least === 0 && v <= -1 && whole !== v)) {
        throw unfit(i, given, want);
      }
      return whole;
    });
  } else {
    const Type = ARRAYS[want] ?? Float32Array;
    array = Type.from(flat, Number);
  }
  const direct = ARRAYS[want] !== undefined;
  const t = fromTyped(array, shape, direct ? want : "float32");
  return direct ? t : call("cast", [t], [dtypeCode("tensor", want)]);
}

/**
 * A tensor of numbers, nested arrays, a typed array or another tensor (copied).
 * Numbers become float32, BigInts int64, booleans bool; typed arrays keep their dtype.
 */
export function tensor(data, given) {
  const opts = options("tensor", given, OPTIONS);
  checkDevice("tensor", opts.device);
  if (opts.dtype !== undefined) dtypeCode("tensor", opts.dtype);
  let t;
  if (isTensor(data)) {
    t = call("clone", [call("cast", [data.detach()], [dtypeCode("tensor", opts.dtype ?? data.dtype)])], []);
  } else if (ArrayBuffer.isView(data) && typedArrayName.call(data) !== undefined) {
    t = fromTypedArray(data, opts.dtype);
  } else if (Array.isArray(data)) {
    const shape = shapeOfNested(data), flat = [];
    flatten(data, shape, 0, flat);
    t = fromFlat(flat, shape, opts.dtype);
  } else if (["number", "bigint", "boolean"].includes(typeof data)) {
    t = fromFlat([data], [], opts.dtype);
  } else {
    throw new TypeError(`tensor: expected numbers, arrays or typed arrays, got ${describe(data)}`);
  }
  return finish(t, opts);
}

function fromTypedArray(data, dtype) {
  const name = typedArrayName.call(data), own = DTYPE_OF[name];
  if (own === undefined) {
    throw new TypeError(`tensor: no dtype for the elements of a ${name}, convert it to another typed array`);
  }
  const t = fromTyped(data, [typedArrayLength.call(data)], own);
  return dtype === undefined || dtype === own ? t : call("cast", [t], [dtypeCode("tensor", dtype)]);
}

/** A shape given by the user, checked under the name of the function that the user called. */
function shapeArg(op, shape) {
  const dims = integers(op, "shape", shape);
  let size = 1;
  for (const d of dims) {
    if (d < 0) throw new RangeError(`${op}: a shape cannot hold ${d}, expected 0 or more`);
    size *= d || 1;
  }
  if (size > Number.MAX_SAFE_INTEGER) throw new RangeError(`${op}: shape [${dims.join(", ")}] is too large`);
  return list(dims);
}

/** A tensor filled with `value`. */
export function full(shape, value, given) {
  const opts = options("full", given, OPTIONS);
  if (typeof value === "bigint") return tensor(value, opts).expand(integers("full", "shape", shape)).clone();
  if (typeof value !== "number" && typeof value !== "boolean") {
    throw new TypeError(`full: value must be a number, got ${describe(value)}`);
  }
  const dtype = dtypeOption("full", opts, typeof value === "boolean" ? "bool" : "float32");
  return finish(call("full", [], [...shapeArg("full", shape), Number(value), dtype]), opts);
}

/** The options after a shape; PyTorch takes the extents one by one, this library in an array. */
function shapeOptions(op, shape, given) {
  if (typeof given === "number") {
    throw new TypeError(`${op}: shape must be an array, got the numbers ${describe(shape)} and ${given}, expected [${describe(shape)}, ${given}]`);
  }
  return options(op, given, OPTIONS);
}

function constant(op, value) {
  return (shape, given) => {
    const opts = shapeOptions(op, shape, given);
    return finish(call(op, [], [...shapeArg(op, shape), value, dtypeOption(op, opts, "float32")]), opts);
  };
}
export const zeros = constant("zeros", 0);
export const ones = constant("ones", 1);
/** A tensor whose contents are not chosen; zeros here. */
export const empty = constant("empty", 0);

/** Numbers from start (0) to below end by step (1); int64 where all are whole. */
export function arange(start, end, step, given) {
  // Options may follow any of the numbers.
  if (typeof end === "object") [end, step, given] = [undefined, undefined, end];
  else if (typeof step === "object") [step, given] = [undefined, step];
  const opts = options("arange", given, OPTIONS);
  const [from, to, by] = end === undefined ? [0, start, step ?? 1] : [start, end, step ?? 1];
  for (const [name, v] of [["start", from], ["end", to], ["step", by]]) {
    if (!Number.isFinite(v)) throw new TypeError(`arange: ${name} must be a finite number, got ${describe(v)}`);
  }
  if (by === 0) throw new RangeError("arange: step must not be 0");
  if ((to - from) / by < 0) {
    throw new RangeError(`arange: a step of ${by} does not lead from ${from} to ${to}`);
  }
  const n = Math.ceil((to - from) / by);
  const whole = [from, to, by].every(Number.isInteger);
  const dtype = dtypeOption("arange", opts, whole ? "int64" : "float32");
  return finish(call("arange", [], [from, by, n, dtype]), opts);
}

/** `steps` numbers from start to end, both included. */
export function linspace(start, end, steps, given) {
  const opts = options("linspace", given, OPTIONS);
  if (integer("linspace", "steps", steps) < 0) throw new RangeError(`linspace: steps must be 0 or more, got ${steps}`);
  if (!Number.isFinite(start) || !Number.isFinite(end)) {
    throw new TypeError(`linspace: start and end must be finite numbers, got ${describe(start)} and ${describe(end)}`);
  }
  const by = steps > 1 ? (end - start) / (steps - 1) : 0;
  return finish(call("linspace", [], [start, by, steps, dtypeOption("linspace", opts, "float32")]), opts);
}

/** The identity matrix with n rows and m (n) columns. */
export function eye(n, m, given) {
  if (typeof m === "object") [m, given] = [undefined, m];
  m ??= n;
  const opts = options("eye", given, OPTIONS);
  shapeArg("eye", [integer("eye", "n", n), integer("eye", "m", m)]);
  return finish(call("eye", [], [n, m, dtypeOption("eye", opts, "float32")]), opts);
}

function random(op, row, a, b) {
  return (shape, given) => {
    const opts = shapeOptions(op, shape, given);
    return finish(call(row, [], [...shapeArg(op, shape), a, b, dtypeOption(op, opts, "float32")]), opts);
  };
}
/** Uniform in [0, 1). */
export const rand = random("rand", "rand", 0, 1);
/** Normal with mean 0 and standard deviation 1. */
export const randn = random("randn", "randn", 0, 1);

/** Whole numbers in [low, high): `randint(high, shape)` or `randint(low, high, shape)`. */
export function randint(low, high, shape, given) {
  if (typeof high === "object") [low, high, shape, given] = [0, low, high, shape];
  const opts = options("randint", given, OPTIONS);
  const bounds = [integer("randint", "low", low), integer("randint", "high", high)];
  const range = opts.dtype === "bool" ? [0, 1] : RANGES[opts.dtype];
  if (range !== undefined && (low < range[0] || high - 1 > range[1])) {
    throw new RangeError(`randint: ${low} to ${high - 1} does not fit in ${opts.dtype}, expected ${range[0]} to ${range[1]}`);
  }
  return finish(call("randint", [], [...shapeArg("randint", shape), ...bounds, dtypeOption("randint", opts, "int64")]), opts);
}

/** 0 to n - 1 in random order. */
export function randperm(n, given) {
  const opts = options("randperm", given, OPTIONS);
  return finish(call("randperm", [], [integer("randperm", "n", n), dtypeOption("randperm", opts, "int64")]), opts);
}

/** 1 with the probability that each element of `p` gives, else 0; the dtype of `p`. */
export function bernoulli(p) {
  return call("bernoulli", [tensorArg("bernoulli", "p", p)], []);
}

/**
 * Indices drawn with the probabilities of each row of `[categories]` or `[rows, categories]`,
 * which need not add up to 1: int64 `[numSamples]` or `[rows, numSamples]`.
 */
export function multinomial(probs, numSamples, given) {
  const { replacement = false } = options("multinomial", given, ["replacement"]);
  const attrs = [integer("multinomial", "numSamples", numSamples), replacement ? 1 : 0];
  return call("multinomial", [tensorArg("multinomial", "probs", probs)], attrs);
}

function like(op, maker) {
  return (t, given) => {
    tensorArg(op, "input", t);
    return maker(t.shape, { dtype: t.dtype, ...options(op, given, OPTIONS) });
  };
}
export const zerosLike = like("zerosLike", zeros);
export const onesLike = like("onesLike", ones);
export const emptyLike = like("emptyLike", empty);
export const randLike = like("randLike", rand);
export const randnLike = like("randnLike", randn);
export const fullLike = (t, value, given) =>
  full(tensorArg("fullLike", "input", t).shape, value, { dtype: t.dtype, ...options("fullLike", given, OPTIONS) });
/** As `randint(low, high, shape)` with the shape and dtype of `t`; `low` may be left out. */
export function randintLike(t, low, high, given) {
  if (typeof high !== "number") [low, high, given] = [0, low, high];
  tensorArg("randintLike", "input", t);
  return randint(low, high, t.shape, { dtype: t.dtype, ...options("randintLike", given, OPTIONS) });
}

/** Restarts the random numbers, so that runs repeat. */
export function manualSeed(seed) {
  if (typeof seed !== "bigint") integer("manualSeed", "seed", seed);
  ops.op_tensor_seed(BigInt.asUintN(64, BigInt(seed)));
}

function nest(flat, shape, dim, at) {
  if (shape.length === 0) return flat[0];
  const out = [];
  for (let i = 0; i < shape[dim]; i++) {
    out.push(dim === shape.length - 1 ? flat[at.i++] : nest(flat, shape, dim + 1, at));
  }
  return out;
}

addMethods({
  /** The elements, row-major, in a typed array of the dtype (halves as Float32Array). */
  toTypedArray() {
    const own = ARRAYS[this.dtype];
    if (own === undefined) return call("cast", [this.detach()], [0]).toTypedArray();
    const out = new own(this.size);
    ops.op_tensor_read(idOf(this), new Uint8Array(out.buffer));
    return out;
  },
  /** As toTypedArray, when the device has finished. */
  data() {
    // Not an async function: that would hold the tensor until somebody collects it.
    try {
      return Promise.resolve(this.toTypedArray());
    } catch (error) {
      return Promise.reject(error);
    }
  },
  /** Nested arrays of numbers (int64: BigInts, bool: booleans); a 0-d tensor gives the value. */
  toArray() {
    const flat = this.toTypedArray();
    const values = this.dtype === "bool" ? Array.from(flat, (v) => v !== 0) : flat;
    return nest(values, this.shape, 0, { i: 0 });
  },
  /** The one element: a number, for int64 a BigInt where a number would lose bits. */
  item(more) {
    noMore("item", more, ", index(...) picks an element");
    if (this.dtype === "bool") return ops.op_tensor_item(idOf(this)) !== 0;
    if (this.dtype !== "int64") return ops.op_tensor_item(idOf(this));
    const value = ops.op_tensor_item_big(idOf(this));
    const small = Number(value);
    return Number.isSafeInteger(small) ? small : BigInt(value);
  },
  [Symbol.toPrimitive](hint) {
    if (hint === "string") return this.toString();
    if (this.ndim !== 0) {
      throw new TypeError(`a tensor of shape [${this.shape.join(", ")}] is no number, only a 0-d tensor is; compute with methods such as add(x) and gt(x)`);
    }
    return this.item();
  },
});

