// JavaScript data as the native side reads it: nested arrays made flat, numbers in typed arrays.
//
// Written by hand for the ownership pass, as 00_handle.js says: each function gives what its one call
// made.

import { afterCollection, borrows, buffer, call, describe, dtypeCode, make, numbers, ops } from "ext:mlrun_tensor/00_handle.js";
import { RANGES } from "ext:mlrun_tensor/00_makers.js";
import { drop, took } from "ext:mlrun_tensor/00_ownership.js";

const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
export const typedArrayName = Object.getOwnPropertyDescriptor(TypedArrayPrototype, Symbol.toStringTag).get;
const typedArrayBuffer = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "buffer").get;
export const typedArrayLength = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "length").get;
const typedArrayOffset = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "byteOffset").get;
const typedArrayBytes = Object.getOwnPropertyDescriptor(TypedArrayPrototype, "byteLength").get;

/** Typed array that holds a dtype's elements as they are in memory. */
export const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array,
};
function unfit(i, value, dtype) {
  const range = RANGES[dtype] ? `${RANGES[dtype][0]} to ${RANGES[dtype][1]}` : "-2^63 to 2^63 - 1";
  return new RangeError(`tensor: element ${i} is ${value}, which does not fit in ${dtype}, expected ${range}`);
}

export function fromTyped(array, shape, dtype) {
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

export function fromFlat(flat, shape, dtype) {
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
  if (direct) return fromTyped(array, shape, want);
  const t = took(fromTyped(array, shape, "float32"));
  const result = call("cast", [t], [dtypeCode("tensor", want)]);
  drop(t);
  return result;
}

export function fromNested(data, dtype) {
  const shape = shapeOfNested(data), flat = [];
  flatten(data, shape, 0, flat);
  return fromFlat(flat, shape, dtype);
}

for (const f of [fromTyped, fromFlat, fromNested]) borrows(f);
