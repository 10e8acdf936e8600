// Copies, joining and rarer changes of shape; views are in 00_direct.js, reading by index in 00_index.js.

import {
  addMethods, call, describe, dtypeCode, idOf, integer, integers, isTensor, list, make, noMore, ops, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { tensor } from "ext:mlrun_tensor/00_make.js";

/** A dimension counted from 0, from one that may count from the end. */
export function wrapDim(op, dim, ndim) {
  integer(op, "dim", dim);
  const n = Math.max(ndim, 1), d = dim < 0 ? dim + n : dim;
  if (d < 0 || d >= n) {
    throw new RangeError(`${op}: dim ${dim} is out of range for a tensor of ${ndim} dimensions, expected ${-n} to ${n - 1}`);
  }
  return d;
}

/** Copies for the `caller`-th of copy_, fill_ and zero_. Parameters outlive the native call. */
function copyInto(caller, to, from) {
  ops.op_tensor_copy_into(caller, idOf(to), idOf(from));
}

addMethods({
  squeeze(dim, more) {
    noMore("squeeze", more, ", give several dimensions as an array");
    const { shape, ndim } = this;
    if (dim === undefined) return this.view(shape.filter((d) => d !== 1));
    const dims = (typeof dim === "number" ? [dim] : integers("squeeze", "dim", dim)).map((d) => wrapDim("squeeze", d, ndim));
    return this.view(shape.filter((d, i) => d !== 1 || !dims.includes(i)));
  },
  /** Elements shifted along dimensions, of the flattened tensor without any. */
  roll(shifts, dims) {
    const by = list(integers("roll", "shifts", shifts));
    return call("roll", [this], [...by, ...(dims === undefined ? [-1] : list(integers("roll", "dims", dims)))]);
  },
  contiguous() {
    return ops.op_tensor_is_contiguous(idOf(this)) ? this : call("clone", [this], []);
  },
  clone() {
    return call("clone", [this], []);
  },
  detach() {
    return make(ops.op_tensor_detach(idOf(this)));
  },
  /** Another dtype or device; the tensor itself where nothing is to do. */
  to(target) {
    const { dtype, device } = typeof target === "string"
      ? (target === "cpu" ? { device: target } : { dtype: target })
      : options("to", target, ["dtype", "device"]);
    if (device !== undefined && device !== "cpu") throw new TypeError(`to: unknown device ${device}, expected cpu`);
    if (dtype === undefined || dtype === this.dtype) return this;
    if (/^(cuda|mps)/.test(dtype)) throw new TypeError(`to: unknown device "${dtype}", expected cpu`);
    return call("to", [this], [dtypeCode("to", dtype)]);
  },
  where(condition, other) {
    return where(condition, this, other);
  },
  tril(diagonal = 0) {
    return call("tril", [this], [integer("tril", "diagonal", diagonal)]);
  },
  triu(diagonal = 0) {
    return call("triu", [this], [integer("triu", "diagonal", diagonal)]);
  },
  copy_(source) {
    copyInto(0, this, tensorArg("copy_", "source", source));
    return this;
  },
  fill_(value) {
    if (isTensor(value)) {
      if (value.ndim !== 0) throw new RangeError(`fill_: got a value of shape [${value.shape.join(", ")}], expected a number`);
      copyInto(1, this, value);
    } else if (typeof value === "bigint") {
      copyInto(1, this, tensor(value));
    } else if (typeof value === "number" || typeof value === "boolean") {
      const number = call("fill_", [], [0, Number(value), dtypeCode("fill_", this.dtype)]);
      copyInto(1, this, number);
    } else {
      throw new TypeError(`fill_: expected a number, got ${describe(value)}`);
    }
    return this;
  },
  zero_(more) {
    noMore("zero_", more, ", fill_ writes other values than 0");
    copyInto(2, this, call("zeros", [], [0, 0, dtypeCode("zero_", this.dtype)]));
    return this;
  },
  [Symbol.iterator]: function* () {
    if (this.ndim === 0) throw new TypeError("a 0-d tensor cannot be iterated");
    for (let i = 0; i < this.shape[0]; i++) yield call("unbind", [this], [0, i]);
  },
});

function tensorList(op, tensors) {
  if (!Array.isArray(tensors) || tensors.length === 0) {
    const got = Array.isArray(tensors) ? "an empty array" : describe(tensors);
    throw new TypeError(`${op}: expected an array of at least one tensor, got ${got}`);
  }
  // Read once: a getter among the elements could change what was checked.
  const own = [];
  for (let i = 0; i < tensors.length; i++) own.push(tensorArg(op, `element ${i}`, tensors[i]));
  return own;
}

/** Tensors in one native call. */
export const CONCAT = 2048;

/** `concat` (00_direct.js) of long lists and of what is none. */
export function joined(tensors, dim) {
  if (tensors?.length > CONCAT) {
    // A call takes so many; the parts of a longer list are joined first.
    const parts = [];
    for (let i = 0; i < tensors.length; i += CONCAT) parts.push(joined(tensors.slice(i, i + CONCAT), dim));
    return joined(parts, dim);
  }
  return call("concat", tensorList("concat", tensors), [integer("concat", "dim", dim)]);
}

/** Tensors of one shape side by side along a new dimension. */
export function stack(tensors, dim = 0) {
  if (tensors?.length > CONCAT) {
    const parts = [];
    for (let i = 0; i < tensors.length; i += CONCAT) parts.push(stack(tensors.slice(i, i + CONCAT), dim));
    return joined(parts, dim);
  }
  return call("stack", tensorList("stack", tensors), [integer("stack", "dim", dim)]);
}

/** Elements of `a` where `condition` holds, else of `b`. */
export function where(condition, a, b) {
  tensorArg("where", "condition", condition);
  for (const v of [a, b]) {
    if (!isTensor(v) && !["number", "boolean", "bigint"].includes(typeof v)) {
      throw new TypeError(`where: expected tensors or numbers, got ${describe(v)}`);
    }
  }
  return call("where", [condition, a, b], []);
}

