// Views and the ops that layers are made of, called without a list of their operands.
//
// Written by hand for the ownership pass, as 00_handle.js says: each function borrows what it gets,
// keeps nothing and gives a new handle. Invariant: between the first number of a call and the call
// itself no code of the program runs, which could call an op of its own. Deliberately not here: what
// needs more than numbers and tensors (00_shape.js, 00_index.js).

import { primordials } from "ext:core/mod.js";
import {
  ROWS, addBorrowers, borrows, idOf, integer, integers, isTensor, make, noMore, noOptions, numbers,
  options, run, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { indexed } from "ext:mlrun_tensor/00_index.js";
import { adopt, drop, given } from "ext:mlrun_tensor/00_ownership.js";
import { CONCAT, joined, wrapDim } from "ext:mlrun_tensor/00_shape.js";
import { plainCodes } from "ext:mlrun_tensor/00_specs.js";

const { ArrayIsArray, MathCeil, MathMax, MathMin, ObjectHasOwn, RangeError, TypeError } = primordials;

// Kinds of operands, see ext/tensor/src/call.rs.
const ABSENT = 0, TENSOR = 1;

/** Operand `i` of the call that is being made. */
function put(i, t) {
  numbers[2 * i] = TENSOR;
  numbers[2 * i + 1] = idOf(t);
}

function putOrNone(i, t) {
  if (t !== null) return put(i, t);
  numbers[2 * i] = ABSENT;
  numbers[2 * i + 1] = 0;
}

/** Puts a list's length and its numbers at `at`; the place behind them. */
function putList(op, at, values) {
  const n = values.length;
  if (at + n >= numbers.length) throw new RangeError(`${op}: got too many numbers (${n}), expected at most ${numbers.length - at - 1}`);
  numbers[at++] = n;
  for (let i = 0; i < n; i++) numbers[at++] = values[i];
  return at;
}

/** A row of one tensor and a list. */
function withList(row, op, t, values) {
  put(0, t);
  run(row, 1, putList(op, 2, values) - 2);
  return make(numbers[0]);
}

/** A row of one tensor and up to four numbers. */
function withNumbers(row, t, n, a, b, c, d) {
  put(0, t);
  numbers[2] = a;
  numbers[3] = b;
  numbers[4] = c;
  numbers[5] = d;
  run(row, 1, n);
  return make(numbers[0]);
}

function withTensors(row, a, b) {
  put(0, a);
  put(1, b);
  run(row, 2, 0);
  return make(numbers[0]);
}

/** `f([2, 3])` and `f(2, 3)` are the same. */
const spread = (args) => (args.length === 1 && typeof args[0] === "object" ? args[0] : args);

/** A list of `n` views; if one cannot be made, the others are given up. */
function views(n, view) {
  const out = [];
  try {
    for (let i = 0; i < n; i++) out[i] = view(i);
  } catch (e) {
    for (let i = 0; i < out.length; i++) drop(out[i]);
    throw e;
  }
  return given(adopt(out));
}

/** Parts of the extents `sizes` along dimension `d`, which they fill. */
function parts(t, d, sizes) {
  let end = 0;
  return views(sizes.length, (i) => {
    const start = end;
    end += sizes[i];
    return withNumbers(ROWS.split, t, 4, d, start, sizes[i], 1);
  });
}

function evenly(t, d, extent, size) {
  const sizes = [];
  for (let start = 0; start < extent; start += size) sizes[sizes.length] = MathMin(size, extent - start);
  return parts(t, d, extent === 0 ? [0] : sizes);
}

const GELU = ["approximate"];

addBorrowers({
  reshape(...shape) {
    return withList(ROWS.reshape, "reshape", this, integers("reshape", "shape", spread(shape)));
  },
  view(...shape) {
    return withList(ROWS.view, "view", this, integers("view", "shape", spread(shape)));
  },
  expand(...shape) {
    return withList(ROWS.expand, "expand", this, integers("expand", "shape", spread(shape)));
  },
  flatten(start = 0, end = -1) {
    const { shape, ndim } = this, dims = [];
    const a = wrapDim("flatten", start, ndim), b = wrapDim("flatten", end, ndim);
    if (a > b) throw new RangeError(`flatten: the first dim ${start} lies behind the last ${end}`);
    let n = 1;
    for (let i = a; i <= b && i < ndim; i++) n *= shape[i];
    for (let i = 0; i < a; i++) dims[i] = shape[i];
    dims[a] = n;
    for (let i = b + 1; i < ndim; i++) dims[dims.length] = shape[i];
    return withList(ROWS.reshape, "reshape", this, dims);
  },
  unsqueeze(dim, more) {
    noMore("unsqueeze", more);
    const { shape, ndim } = this, dims = [];
    const at = wrapDim("unsqueeze", dim, ndim + 1);
    for (let i = 0; i < ndim + 1; i++) dims[i] = i < at ? shape[i] : i === at ? 1 : shape[i - 1];
    return withList(ROWS.view, "view", this, dims);
  },
  permute(...dims) {
    return withList(ROWS.permute, "permute", this, integers("permute", "dims", spread(dims)));
  },
  transpose(a, b) {
    const { ndim } = this, dims = [];
    const i = wrapDim("transpose", a, ndim), j = wrapDim("transpose", b, ndim);
    for (let k = 0; k < ndim; k++) dims[k] = k;
    if (ndim > 0) {
      dims[i] = j;
      dims[j] = i;
    }
    return withList(ROWS.transpose, "transpose", this, dims);
  },
  /** Dimensions in reverse order; of a matrix, its transpose. */
  get T() {
    const { ndim } = this, dims = [];
    for (let k = 0; k < ndim; k++) dims[k] = ndim - 1 - k;
    return withList(ROWS.permute, "permute", this, dims);
  },
  narrow(dim, start, length) {
    const d = integer("narrow", "dim", dim), from = integer("narrow", "start", start);
    return withNumbers(ROWS.narrow, this, 4, d, from, integer("narrow", "length", length), 1);
  },
  select(dim, index) {
    return withNumbers(ROWS.select, this, 2, integer("select", "dim", dim), integer("select", "index", index), 0, 0);
  },
  /** Parts of `size` along a dimension, or of the sizes in an array. */
  split(size, dim = 0) {
    const d = wrapDim("split", dim, this.ndim), extent = this.shape[d] ?? 0;
    if (typeof size === "number") {
      if (!(integer("split", "size", size) > 0)) throw new RangeError(`split: size must be above 0, got ${size}`);
      return evenly(this, d, extent, size);
    }
    const sizes = integers("split", "size", size, Infinity);
    let total = 0;
    for (let i = 0; i < sizes.length; i++) {
      if (sizes[i] < 0) throw new RangeError(`split: a size must be 0 or more, got ${sizes[i]}`);
      total += sizes[i];
    }
    if (total !== extent) throw new RangeError(`split: sizes add up to ${total}, expected ${extent} as dim ${dim} has`);
    return parts(this, d, sizes);
  },
  chunk(chunks, dim = 0) {
    if (!(integer("chunk", "chunks", chunks) > 0)) throw new RangeError(`chunk: chunks must be above 0, got ${chunks}`);
    const d = wrapDim("chunk", dim, this.ndim), extent = this.shape[d] ?? 0;
    return evenly(this, d, extent, MathMax(1, MathCeil(extent / chunks)));
  },
  unbind(dim = 0) {
    const d = wrapDim("unbind", dim, this.ndim);
    return views(this.shape[d], (i) => withNumbers(ROWS.unbind, this, 2, d, i, 0, 0));
  },
  flip(...dims) {
    return withList(ROWS.flip, "flip", this, integers("flip", "dims", spread(dims)));
  },
  /** The whole tensor repeated along each dimension; more counts add dimensions in front. */
  repeat(...counts) {
    return withList(ROWS.repeat, "repeat", this, integers("repeat", "counts", spread(counts)));
  },
  tile(...counts) {
    const last = integers("tile", "counts", spread(counts)), all = [];
    for (let i = this.ndim - last.length; i > 0; i--) all[all.length] = 1;
    for (let i = 0; i < last.length; i++) all[all.length] = last[i];
    return withList(ROWS.tile, "tile", this, all);
  },
  /**
   * NumPy-style indexing: a number (the dimension goes), "start:stop:step" (a view; a copy where
   * the step is negative), ":" (all),
   * "..." (all between), null (a new dimension), a tensor of integers (its shape takes the
   * dimension's place), a boolean mask (the elements where it holds).
   */
  index(...specs) {
    const codes = plainCodes("index", this, specs);
    if (codes === null) return indexed(this, specs);
    put(0, this);
    let n = 1;
    for (let i = 0; i < specs.length; i++) if (isTensor(specs[i])) put(n++, specs[i]);
    run(ROWS.index, n, putList("index", 2 * n, codes) - 2 * n);
    return make(numbers[0]);
  },
  gelu(given) {
    const { approximate = "none" } = options("gelu", given, GELU);
    if (approximate !== "none" && approximate !== "tanh") {
      throw new TypeError(`gelu: unknown approximate "${approximate}", expected none or tanh`);
    }
    put(0, this);
    run(approximate === "tanh" ? ROWS.geluTanh : ROWS.gelu, 1, 0);
    return make(numbers[0]);
  },
  matmul(other, more) {
    noOptions("matmul", more);
    return withTensors(ROWS.matmul, this, tensorArg("matmul", "other", other));
  },
});

/** Tensors one behind the other along a dimension that they have. */
export function concat(tensors, dim = 0) {
  if (!ArrayIsArray(tensors) || tensors.length === 0 || tensors.length > CONCAT) return joined(tensors, dim);
  // Read once, before the first number stands: a getter among the elements may call ops.
  const own = [];
  for (let i = 0; i < tensors.length; i++) {
    // A hole is read from Array.prototype, whose accessor may let go of the others.
    if (!ObjectHasOwn(tensors, i)) return joined(tensors, dim);
    const t = tensors[i];
    if (!isTensor(t)) tensorArg("concat", `element ${i}`, t);
    own[own.length] = t;
  }
  const along = integer("concat", "dim", dim), n = own.length;
  for (let i = 0; i < n; i++) put(i, own[i]);
  numbers[2 * n] = along;
  run(ROWS.concat, n, 1);
  return make(numbers[0]);
}

export function linear(x, weight, bias) {
  tensorArg("linear", "input", x);
  tensorArg("linear", "weight", weight);
  if (bias === undefined) bias = null;
  if (bias !== null) tensorArg("linear", "bias", bias);
  put(0, x);
  put(1, weight);
  putOrNone(2, bias);
  run(ROWS.linear, 3, 0);
  return make(numbers[0]);
}

/** `layerNorm` of checked arguments; `weight` and `bias` may be null. */
export function normalized(x, shape, weight, bias, eps) {
  put(0, x);
  putOrNone(1, weight);
  putOrNone(2, bias);
  const at = putList("layerNorm", 6, shape);
  numbers[at] = eps;
  run(ROWS.layerNorm, 3, at - 5);
  return make(numbers[0]);
}

/** `scaledDotProductAttention` of checked arguments; `mask` may be null. */
export function attended(query, key, value, mask, isCausal, scale, dropout) {
  put(0, query);
  put(1, key);
  put(2, value);
  putOrNone(3, mask);
  numbers[8] = isCausal ? 1 : 0;
  numbers[9] = scale;
  numbers[10] = dropout;
  run(ROWS.scaledDotProductAttention, 4, 3);
  return make(numbers[0]);
}

for (const f of [concat, linear, normalized, attended]) borrows(f);
