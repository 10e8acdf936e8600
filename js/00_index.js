// t.index(...), t.indexPut_(...), and the ops that read or write where tensors say.
//
// Specs become numbers in 00_specs.js; views and positions are one native call.

import {
  addMethods, call, callMany, callNone, describe, integer, isTensor, list, noOptions, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { tensor } from "ext:mlrun_tensor/00_make.js";
import { wrapDim } from "ext:mlrun_tensor/00_shape.js";
import { TENSOR, checkCount, checkSpecs, consumed, encode, goesBack, parseSlice, resultDims } from "ext:mlrun_tensor/00_specs.js";

/** The elements of a slice with a negative step, last to first; strides of views are positive. */
function forwards(op, t, spec, dim) {
  const [start, length, step] = parseSlice(op, spec, t.shape[dim]);
  const first = length === 0 ? 0 : start + (length - 1) * step;
  return call("slice", [t], [dim, first, length, -step]);
}

/**
 * What a native call gets for specs: the tensor and the tensors among them, four numbers for each
 * spec, and the dimensions of the result along which it is read backwards.
 */
function encoded(op, t, given) {
  const specs = [], tensors = [], codes = [], back = [];
  checkCount(op, given, t.ndim);
  // Read once: a getter among the elements could change what was checked.
  for (let i = 0; i < given.length; i++) specs.push(given[i]);
  const rest = checkSpecs(op, specs, t.ndim);
  let dim = 0;
  for (let i = 0; i < specs.length; i++) {
    let spec = specs[i];
    if (isTensor(spec) && spec.dtype === "bool" && spec.ndim === 0) {
      // It takes no dimension: a new one, which is kept or emptied, stands for it.
      t = t.unsqueeze(dim++);
      codes.push(TENSOR, 0, 0, 0);
      tensors.push(spec.reshape([1]));
      continue;
    }
    if (goesBack(spec)) {
      t = forwards(op, t, spec, dim);
      spec = ":";
      back.push(resultDims(specs, rest).indexOf(i));
    }
    codes.push(...encode(op, t, spec, dim, rest));
    dim += spec === "..." ? rest : consumed(spec);
    if (isTensor(spec)) tensors.push(spec);
  }
  return { t, tensors, codes: list(codes), back, ndim: back.length === 0 ? 0 : resultDims(specs, rest).length };
}

/** `t.index(...specs)`, whatever the specs are. */
export function indexed(t, specs) {
  const { t: from, tensors, codes, back } = encoded("index", t, specs);
  const result = call("index", [from, ...tensors], codes);
  return back.length === 0 ? result : result.flip(back);
}

/** A value that is written along dimensions `back` of `ndim` from the last element to the first. */
function reversed(value, back, ndim) {
  const dims = back.map((d) => d + value.ndim - ndim).filter((d) => d >= 0 && value.shape[d] > 1);
  return dims.length === 0 ? value : value.flip(dims);
}

/** Writes `value` at what `specs` name of `t`, for the method `op`. */
function put(op, t, specs, value, given) {
  if (!Array.isArray(specs)) throw new TypeError(`${op}: specs must be an array, as index takes them one by one, got ${describe(specs)}`);
  const { accumulate = false } = options(op, given, ["accumulate"]);
  if (typeof value === "bigint") value = tensor(value);
  else if (typeof value !== "number" && typeof value !== "boolean" && !isTensor(value)) {
    throw new TypeError(`${op}: value must be a tensor or a number, got ${describe(value)}`);
  }
  const { t: to, tensors, codes, back, ndim } = encoded(op, t, specs);
  if (back.length > 0 && isTensor(value)) value = reversed(value, back, ndim);
  callNone(op, [to, value, ...tensors], [...codes, accumulate ? 1 : 0]);
}

const withSource = (name) => ({
  [name](dim, index, source, more) {
    noOptions(name, more);
    const args = [this, tensorArg(name, "index", index), tensorArg(name, "source", source)];
    return call(name, args, [integer(name, "dim", dim)]);
  },
}[name]);

const withIndex = (name) => ({
  [name](dim, index, more) {
    noOptions(name, more);
    return call(name, [this, tensorArg(name, "index", index)], [integer(name, "dim", dim)]);
  },
}[name]);

const SORT = ["descending", "stable"];

/** `(dim, options)` or `(options)` of sort and argsort. Sorting is always stable. */
function order(op, dim, given) {
  if (typeof dim === "object" && dim !== null) [dim, given] = [undefined, dim];
  const { descending = false } = options(op, given, SORT);
  return [integer(op, "dim", dim ?? -1), descending ? 1 : 0];
}

addMethods({
  /**
   * `x[specs] = value`: writes at the elements that `index(...specs)` gives. The value is
   * broadcast and converted; of equal positions the last one stays, with accumulate all are added.
   */
  indexPut_(specs, value, given) {
    put("indexPut_", this, specs, value, given);
    return this;
  },
  /** As indexPut_, into a copy. */
  indexPut(specs, value, given) {
    const copy = this.clone();
    put("indexPut", copy, specs, value, given);
    return copy;
  },
  gather: withIndex("gather"),
  indexSelect: withIndex("indexSelect"),
  scatterAdd: withSource("scatterAdd"),
  indexAdd: withSource("indexAdd"),
  indexCopy: withSource("indexCopy"),
  /** A copy with `value` where the mask holds; the dtype stays. */
  maskedFill(mask, value) {
    if (value === undefined) throw new TypeError("maskedFill: value must be a number or a 0-d tensor, got undefined");
    return call("maskedFill", [this, tensorArg("maskedFill", "mask", mask), value], []);
  },
  /** Coordinates of the elements that are not 0: int64 `[count, ndim]`. */
  nonzero() {
    return call("nonzero", [this], []);
  },
  /** Elements in order along a dimension (the last), and where they were. */
  sort(dim, given) {
    const [values, indices] = callMany("sort", [this], order("sort", dim, given));
    return { values, indices };
  },
  argsort(dim, given) {
    return call("argsort", [this], order("argsort", dim, given));
  },
  /** The k largest elements along a dimension (the last), in order, and where they are. */
  topk(k, dim, given) {
    if (typeof dim === "object" && dim !== null) [dim, given] = [undefined, dim];
    const { largest = true } = options("topk", given, ["largest", "sorted"]);
    const attrs = [integer("topk", "k", k), integer("topk", "dim", dim ?? -1), largest ? 1 : 0];
    const [values, indices] = callMany("topk", [this], attrs);
    return { values, indices };
  },
  /** The diagonal of two dimensions as a last one, without a copy. */
  diagonal(offset = 0, dim1 = 0, dim2 = 1) {
    const dims = [wrapDim("diagonal", dim1, this.ndim), wrapDim("diagonal", dim2, this.ndim)];
    return call("diagonal", [this], [integer("diagonal", "offset", offset), ...dims]);
  },
});
