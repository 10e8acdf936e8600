// Making tensors from JavaScript data and from numbers; reading data back.

import {
  addMethods, buffer, call, describe, dtypeCode, idOf, integer, integers, isTensor, noMore, numbers, ops, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { ARRAYS, fromFlat, fromNested, fromTyped, typedArrayLength, typedArrayName } from "ext:mlrun_tensor/00_data.js";
import {
  OPTIONS, checkDevice, filled, finish, ones, empty, rand, randint, randn, zeros,
} from "ext:mlrun_tensor/00_makers.js";

export {
  zeros, ones, empty, arange, linspace, eye, rand, randn, randint, randperm, bernoulli, multinomial,
} from "ext:mlrun_tensor/00_makers.js";

/** Dtype of a typed array's elements; Uint8ClampedArray is uint8. */
const DTYPE_OF = {
  Float32Array: "float32", Float64Array: "float64", Int8Array: "int8", Uint8Array: "uint8",
  Uint8ClampedArray: "uint8", Int16Array: "int16", Int32Array: "int32", BigInt64Array: "int64",
  Float16Array: "float16",
};

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
    t = fromNested(data, opts.dtype);
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

/** A tensor filled with `value`. */
export function full(shape, value, given) {
  const opts = options("full", given, OPTIONS);
  if (typeof value === "bigint") return tensor(value, opts).expand(integers("full", "shape", shape)).clone();
  if (typeof value !== "number" && typeof value !== "boolean") {
    throw new TypeError(`full: value must be a number, got ${describe(value)}`);
  }
  return filled(shape, value, opts);
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

