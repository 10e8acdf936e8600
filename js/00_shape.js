// Views, copies, joining and indexing.

import {
  addMethods, alias, call, describe, dtypeCode, idOf, integer, integers, isTensor, list, make, ops, options,
  tensorArg,
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

const shapeList = (op, dims) => list(integers(op, "shape", dims));
/** `f([2, 3])` and `f(2, 3)` are the same. */
const spread = (args) => (args.length === 1 && typeof args[0] === "object" ? args[0] : args);

function slice(t, dim, start, length, step = 1) {
  return call("slice", [t], [dim, start, length, step]);
}

addMethods({
  reshape(...shape) {
    return call("reshape", [this], shapeList("reshape", spread(shape)));
  },
  view(...shape) {
    return call("view", [this], shapeList("view", spread(shape)));
  },
  flatten(start = 0, end = -1) {
    const { shape, ndim } = this;
    const a = wrapDim("flatten", start, ndim), b = wrapDim("flatten", end, ndim);
    if (a > b) throw new RangeError(`flatten: the first dim ${start} lies behind the last ${end}`);
    if (ndim === 0) return this.reshape([1]);
    const n = shape.slice(a, b + 1).reduce((x, y) => x * y, 1);
    return this.reshape([...shape.slice(0, a), n, ...shape.slice(b + 1)]);
  },
  squeeze(dim) {
    const { shape, ndim } = this;
    if (dim === undefined) return this.view(shape.filter((d) => d !== 1));
    const dims = (typeof dim === "number" ? [dim] : integers("squeeze", "dim", dim)).map((d) => wrapDim("squeeze", d, ndim));
    return this.view(shape.filter((d, i) => d !== 1 || !dims.includes(i)));
  },
  unsqueeze(dim) {
    const { shape, ndim } = this;
    const at = wrapDim("unsqueeze", dim, ndim + 1);
    return this.view([...shape.slice(0, at), 1, ...shape.slice(at)]);
  },
  expand(...shape) {
    return call("expand", [this], shapeList("expand", spread(shape)));
  },
  permute(...dims) {
    return call("permute", [this], list(integers("permute", "dims", spread(dims))));
  },
  transpose(a, b) {
    const { ndim } = this, dims = [];
    const i = wrapDim("transpose", a, ndim), j = wrapDim("transpose", b, ndim);
    for (let k = 0; k < ndim; k++) dims[k] = k;
    if (ndim > 0) [dims[i], dims[j]] = [j, i];
    return call("permute", [this], list(dims));
  },
  /** Dimensions in reverse order; of a matrix, its transpose. */
  get T() {
    const { ndim } = this, dims = [];
    for (let k = 0; k < ndim; k++) dims[k] = ndim - 1 - k;
    return call("permute", [this], list(dims));
  },
  narrow(dim, start, length) {
    const args = [integer("narrow", "dim", dim), integer("narrow", "start", start), integer("narrow", "length", length)];
    return slice(this, ...args);
  },
  select(dim, index) {
    return call("select", [this], [integer("select", "dim", dim), integer("select", "index", index)]);
  },
  /** Parts of `size` along a dimension, or of the sizes in an array. */
  split(size, dim = 0) {
    const d = wrapDim("split", dim, this.ndim), extent = this.shape[d] ?? 0;
    if (typeof size === "number" && !(size > 0)) throw new RangeError(`split: size must be above 0, got ${size}`);
    const sizes = typeof size === "number"
      ? Array.from({ length: Math.max(1, Math.ceil(extent / size)) }, (_, i) => Math.min(size, extent - i * size))
      : integers("split", "size", size);
    const total = sizes.reduce((a, b) => a + b, 0);
    if (total !== extent) throw new RangeError(`split: sizes add up to ${total}, expected ${extent} as dim ${dim} has`);
    const parts = [];
    let start = 0;
    for (const n of sizes) {
      parts.push(slice(this, d, start, n));
      start += n;
    }
    return parts;
  },
  chunk(chunks, dim = 0) {
    if (!(integer("chunk", "chunks", chunks) > 0)) throw new RangeError(`chunk: chunks must be above 0, got ${chunks}`);
    const extent = this.shape[wrapDim("chunk", dim, this.ndim)] ?? 0;
    return this.split(Math.max(1, Math.ceil(extent / chunks)), dim);
  },
  unbind(dim = 0) {
    const d = wrapDim("unbind", dim, this.ndim), parts = [];
    for (let i = 0; i < this.shape[d]; i++) parts.push(call("select", [this], [d, i]));
    return parts;
  },
  flip(dims) {
    return call("flip", [this], list(integers("flip", "dims", dims)));
  },
  roll(shifts, dims) {
    if (dims === undefined) return this.flatten().roll(shifts, 0).reshape(this.shape);
    const by = integers("roll", "shifts", shifts), along = integers("roll", "dims", dims);
    let t = this;
    for (let i = 0; i < along.length; i++) {
      const d = wrapDim("roll", along[i], t.ndim), n = t.shape[d];
      const cut = n === 0 ? 0 : (((-by[i]) % n) + n) % n;
      t = concat([slice(t, d, cut, n - cut), slice(t, d, 0, cut)], d);
    }
    return t;
  },
  /** The whole tensor repeated along each dimension; more counts add dimensions in front. */
  repeat(...counts) {
    const n = integers("repeat", "counts", spread(counts)), { shape } = this;
    const pad = n.length - shape.length;
    if (pad < 0) throw new RangeError(`repeat: got ${n.length} counts for ${shape.length} dimensions`);
    const own = [...Array(pad).fill(1), ...shape];
    return this.reshape(own.flatMap((d) => [1, d])).expand(own.flatMap((d, i) => [n[i], d])).reshape(own.map((d, i) => d * n[i]));
  },
  tile(...counts) {
    const n = integers("tile", "counts", spread(counts));
    return this.repeat([...Array(Math.max(0, this.ndim - n.length)).fill(1), ...n]);
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
    return call("cast", [this], [dtypeCode("to", dtype)]);
  },
  gather(dim, index) {
    return call("gather", [this, tensorArg("gather", "index", index)], [integer("gather", "dim", dim)]);
  },
  scatterAdd(dim, index, source) {
    const args = [this, tensorArg("scatterAdd", "index", index), tensorArg("scatterAdd", "source", source)];
    return call("scatterAdd", args, [integer("scatterAdd", "dim", dim)]);
  },
  indexSelect(dim, index) {
    return call("indexSelect", [this, tensorArg("indexSelect", "index", index)], [integer("indexSelect", "dim", dim)]);
  },
  indexAdd(dim, index, source) {
    const args = [this, tensorArg("indexAdd", "index", index), tensorArg("indexAdd", "source", source)];
    return call("indexAdd", args, [integer("indexAdd", "dim", dim)]);
  },
  maskedFill(mask, value) {
    return where(tensorArg("maskedFill", "mask", mask), value, this);
  },
  where(condition, other) {
    return where(condition, this, other);
  },
  /**
   * NumPy-style indexing: a number (the dimension goes), "start:stop:step" (a view), ":" (all),
   * "..." (all between), null (a new dimension), a tensor of integers (rows in its order).
   */
  index(...specs) {
    return index(this, specs);
  },
  tril(diagonal = 0) {
    return call("tril", [this], [integer("tril", "diagonal", diagonal)]);
  },
  triu(diagonal = 0) {
    return call("triu", [this], [integer("triu", "diagonal", diagonal)]);
  },
  copy_(source) {
    ops.op_tensor_copy_into(idOf(this), idOf(tensorArg("copy_", "source", source)));
    return this;
  },
  fill_(value) {
    return this.copy_(isTensor(value) ? value : tensor(value, { dtype: this.dtype }));
  },
  zero_() {
    return this.fill_(0);
  },
  [Symbol.iterator]: function* () {
    if (this.ndim === 0) throw new TypeError("a 0-d tensor cannot be iterated");
    for (let i = 0; i < this.shape[0]; i++) yield call("select", [this], [0, i]);
  },
});

function parseSlice(spec, extent) {
  const match = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(\d+)?\s*)?$/.exec(spec);
  const step = Number(match?.[3] ?? 1);
  if (match === null || step < 1) {
    throw new RangeError(`index: cannot read "${spec}", expected "start:stop:step" with a step of 1 or more`);
  }
  const bound = (text, otherwise) => {
    if (text === undefined) return otherwise;
    const v = Number(text);
    return Math.min(Math.max(v < 0 ? v + extent : v, 0), extent);
  };
  const start = bound(match[1], 0), stop = bound(match[2], extent);
  return { start, length: Math.max(0, Math.ceil((stop - start) / step)), step };
}

function index(t, specs) {
  const consuming = specs.filter((s) => s !== null && s !== "...").length;
  const ellipses = specs.filter((s) => s === "...").length;
  if (ellipses > 1) throw new RangeError('index: "..." may stand once only');
  if (consuming > t.ndim) throw new RangeError(`index: got ${consuming} indices for ${t.ndim} dimensions`);
  let out = t, dim = 0;
  for (const spec of specs) {
    if (spec === "...") {
      dim += t.ndim - consuming;
    } else if (spec === null) {
      out = out.unsqueeze(dim++);
    } else if (typeof spec === "number") {
      out = call("select", [out], [dim, integer("index", "index", spec)]);
    } else if (typeof spec === "string") {
      const { start, length, step } = parseSlice(spec, out.shape[dim]);
      if (length !== out.shape[dim]) out = slice(out, dim, start, length, step);
      dim++;
    } else if (isTensor(spec)) {
      out = indexByTensor(out, dim, spec, specs);
      dim += spec.ndim;
    } else {
      throw new TypeError(`index: cannot index with ${describe(spec)}, expected a number, null, "...", "start:stop:step" or a tensor`);
    }
  }
  return out === t ? alias(t) : out;
}

function indexByTensor(t, dim, at, specs) {
  if (specs.filter(isTensor).length > 1 || at.dtype === "bool") {
    throw new TypeError("index: masks and several index tensors are not available yet");
  }
  const rows = call("indexSelect", [t, at.ndim === 1 ? at : at.flatten()], [dim]);
  if (at.ndim === 1) return rows;
  return rows.reshape([...t.shape.slice(0, dim), ...at.shape, ...t.shape.slice(dim + 1)]);
}

function tensorList(op, tensors) {
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw new TypeError(`${op}: expected an array of at least one tensor, got ${describe(tensors)}`);
  }
  for (let i = 0; i < tensors.length; i++) tensorArg(op, `element ${i}`, tensors[i]);
  return tensors;
}

/** Tensors in one native call. */
const CONCAT = 2048;

/** Tensors one behind the other along a dimension that they have. */
export function concat(tensors, dim = 0) {
  if (tensors?.length > CONCAT) {
    // A call takes so many; the parts of a longer list are joined first.
    const parts = [];
    for (let i = 0; i < tensors.length; i += CONCAT) parts.push(concat(tensors.slice(i, i + CONCAT), dim));
    return concat(parts, dim);
  }
  return call("concat", tensorList("concat", tensors), [integer("concat", "dim", dim)]);
}

/** Tensors of one shape along a new dimension. */
export function stack(tensors, dim = 0) {
  return concat(tensorList("stack", tensors).map((t) => t.unsqueeze(dim)), wrapDim("stack", dim, tensors[0].ndim + 1));
}

/** Elements of `a` where `condition` holds, else of `b`. */
export function where(condition, a, b) {
  tensorArg("where", "condition", condition);
  for (const v of [a, b]) {
    if (!isTensor(v) && typeof v !== "number" && typeof v !== "boolean") {
      throw new TypeError(`where: expected tensors or numbers, got ${describe(v)}`);
    }
  }
  return call("where", [condition, a, b], []);
}

