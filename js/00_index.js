// t.index(...), t.indexPut_(...), einsum, and the ops that read or write where tensors say.
//
// Specs and equations become numbers here; views, positions and products are one native call.

import {
  addMethods, call, callMany, callNone, describe, integer, isTensor, list, noOptions, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { tensor } from "ext:mlrun_tensor/00_make.js";
import { wrapDim } from "ext:mlrun_tensor/00_shape.js";

// Kinds of specs; see ext/tensor/core/src/ops/advanced.rs.
const WHOLE = 0, SLICE = 1, PICK = 2, NEW_DIM = 3, TENSOR = 4, GAP = 5;

/** All dimensions that a tensor may have taken away, as many new ones, and an ellipsis. */
const MOST_SPECS = 129;

/** Start, length and step of "start:stop:step" in a dimension, bounds cut as in NumPy. */
function parseSlice(op, spec, extent) {
  const match = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?$/.exec(spec);
  let step = Number(match?.[3] ?? 1);
  if (match === null || step === 0) {
    throw new RangeError(`${op}: cannot read "${spec}", expected "start:stop:step" with a step other than 0`);
  }
  // Past the extent each step takes the first element only, however large it is.
  const far = Math.max(extent, 1);
  step = Math.min(Math.max(step, -far), far);
  // Backwards the first element is the last one, and the end lies before the first.
  const least = step < 0 ? -1 : 0, most = step < 0 ? extent - 1 : extent;
  const bound = (text, otherwise) => {
    if (text === undefined) return otherwise;
    const v = Number(text);
    return Math.min(Math.max(v < 0 ? v + extent : v, least), most);
  };
  const start = bound(match[1], step < 0 ? most : least), stop = bound(match[2], step < 0 ? least : most);
  return [start, Math.max(0, Math.ceil((stop - start) / step)), step];
}

/** The elements of a slice with a negative step, last to first; strides of views are positive. */
function forwards(op, t, spec, dim) {
  const [start, length, step] = parseSlice(op, spec, t.shape[dim]);
  const first = length === 0 ? 0 : start + (length - 1) * step;
  return call("slice", [t], [dim, first, length, -step]);
}

const goesBack = (spec) => typeof spec === "string" && /:\s*-\s*\d+\s*$/.test(spec) && /:.*:/.test(spec);

/** Dimensions of the indexed tensor that a spec stands for. */
function consumed(spec) {
  if (spec === null || spec === "...") return 0;
  return isTensor(spec) && spec.dtype === "bool" ? spec.ndim : 1;
}

function encode(op, t, spec, dim, rest) {
  if (spec === null) return [NEW_DIM, 0, 0, 0];
  if (spec === "...") return rest === 0 ? [GAP, 0, 0, 0] : Array(rest).fill([WHOLE, 0, 0, 0]).flat();
  if (typeof spec === "number") return [PICK, integer(op, "index", spec), 0, 0];
  if (typeof spec === "string") {
    const [start, length, step] = parseSlice(op, spec, t.shape[dim]);
    return start === 0 && step === 1 && length === t.shape[dim] ? [WHOLE, 0, 0, 0] : [SLICE, start, length, step];
  }
  return [TENSOR, 0, 0, 0];
}

/** How many dimensions of a tensor of `ndim` an ellipsis stands for. */
function checkSpecs(op, specs, ndim) {
  let taken = 0, ellipses = 0;
  for (let i = 0; i < specs.length; i++) {
    const spec = specs[i];
    const known = spec === null || typeof spec === "number" || typeof spec === "string" || isTensor(spec);
    if (!known) {
      throw new TypeError(`${op}: cannot index with ${describe(spec)}, expected a number, null, "...", "start:stop:step" or a tensor`);
    }
    taken += consumed(spec);
    if (spec === "...") ellipses++;
  }
  if (ellipses > 1) throw new RangeError(`${op}: "..." may stand once only`);
  if (taken > ndim) throw new RangeError(`${op}: got indices for ${taken} dimensions, expected at most ${ndim}`);
  return ndim - taken;
}

/**
 * What a native call gets for specs: the tensor and the tensors among them, four numbers for each
 * spec, and the dimensions of the result along which it is read backwards.
 */
function encoded(op, t, given) {
  const specs = [], tensors = [], codes = [], back = [];
  if (given.length > MOST_SPECS) {
    throw new RangeError(`${op}: got ${given.length} indices, expected at most ${t.ndim} and new dimensions`);
  }
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

/**
 * Dimensions of `index(...specs)`, each by the number of the spec that it comes from; those of
 * tensors are -1, and those that no spec names -2.
 */
function resultDims(specs, rest) {
  const anyTensor = specs.some(isTensor), dims = [];
  let width = 0, first = -1, last = -1, together = true;
  for (let i = 0; i < specs.length; i++) {
    const spec = specs[i];
    if (isTensor(spec) || (anyTensor && typeof spec === "number")) {
      if (isTensor(spec)) width = Math.max(width, spec.dtype === "bool" ? 1 : spec.ndim);
      if (first < 0) first = dims.length;
      else if (i !== last + 1) together = false;
      last = i;
    } else if (spec === "...") {
      for (let k = 0; k < rest; k++) dims.push(i);
    } else if (typeof spec !== "number") {
      dims.push(i);
    }
  }
  if (!specs.includes("...")) for (let k = 0; k < rest; k++) dims.push(-2);
  if (first >= 0) dims.splice(together ? first : 0, 0, ...Array(width).fill(-1));
  return dims;
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
  /** The function of this name, with this tensor as its first operand. */
  einsum(equation, ...others) {
    const operands = [this];
    for (let i = 0; i < others.length; i++) operands.push(others[i]);
    return einsum(equation, operands);
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

// ---- einsum

const LABEL = /^[A-Za-z]$/;
/** Labels of an ellipsis' dimensions, behind those of letters. */
const ELLIPSIS = 1000;

function fail(equation, problem) {
  throw new RangeError(`einsum: ${problem} in "${equation}"`);
}

/** Letters of one side of an equation; "..." counts as one. */
function letters(equation, text) {
  const out = [];
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith("...", i)) {
      if (out.includes("...")) fail(equation, 'more than one "..." for one tensor');
      out.push("...");
      i += 2;
    } else if (LABEL.test(text[i])) {
      out.push(text[i]);
    } else {
      fail(equation, `got "${text[i]}", expected letters, "..." , "," and "->"`);
    }
  }
  return out;
}

const labelOf = (letter) => letter.charCodeAt(0);

/** Labels of one operand, an ellipsis aligned with the others' from behind. */
function operandLabels(equation, own, t, i) {
  const named = own.filter((l) => l !== "...").length, open = own.includes("...");
  if (open ? named > t.ndim : named !== t.ndim) {
    fail(equation, `operand ${i} of shape [${t.shape.join(", ")}] has ${t.ndim} dimensions, its labels name ${named}`);
  }
  const extra = t.ndim - named;
  const dims = Array.from({ length: extra }, (_, k) => ELLIPSIS + extra - 1 - k);
  return own.flatMap((l) => (l === "..." ? dims : [labelOf(l)]));
}

function checkExtents(equation, lists, tensors) {
  const seen = new Map();
  lists.forEach((labels, i) =>
    labels.forEach((label, d) => {
      const n = tensors[i].shape[d], before = seen.get(label) ?? 1;
      if (n !== 1 && before !== 1 && n !== before) {
        const name = label >= ELLIPSIS ? '"..."' : `label "${String.fromCharCode(label)}"`;
        fail(equation, `${name} has extents ${before} and ${n}, expected equal ones`);
      }
      if (n !== 1) seen.set(label, n);
    })
  );
}

/** Labels of the result where the equation names none: "..." and then letters that stand once. */
function implied(inputs, width) {
  const all = inputs.flat().filter((l) => l !== "...");
  const once = all.filter((l) => all.indexOf(l) === all.lastIndexOf(l)).sort();
  return [...(width > 0 ? ["..."] : []), ...once];
}

/**
 * Products of tensors summed over the labels that the result lacks, as PyTorch's einsum:
 * `einsum("bij,bjk->bik", a, b)`. Repeated labels of one tensor take its diagonal.
 */
export function einsum(equation, ...tensors) {
  if (typeof equation !== "string") throw new TypeError(`einsum: equation must be a string, got ${describe(equation)}`);
  const given = tensors.length === 1 && Array.isArray(tensors[0]) ? tensors[0] : tensors, operands = [];
  // Read once: a getter among the elements could change what was checked.
  for (let i = 0; i < given.length; i++) operands.push(tensorArg("einsum", `operand ${i}`, given[i]));
  const text = equation.replaceAll(" ", "");
  const [left, right, ...more] = text.split("->");
  if (more.length > 0) fail(equation, 'more than one "->"');
  const inputs = left.split(",").map((part) => letters(equation, part));
  if (inputs.length !== operands.length) fail(equation, `${inputs.length} operands are named and ${operands.length} given`);
  const lists = inputs.map((own, i) => operandLabels(equation, own, operands[i], i));
  checkExtents(equation, lists, operands);
  const width = Math.max(0, ...lists.map((l) => l.filter((v) => v >= ELLIPSIS).length));
  const output = right === undefined ? implied(inputs, width) : letters(equation, right);
  const dims = Array.from({ length: width }, (_, k) => ELLIPSIS + width - 1 - k);
  for (const l of output) {
    if (l !== "..." && !inputs.some((own) => own.includes(l))) fail(equation, `the result's label "${l}" names no dimension`);
    if (output.indexOf(l) !== output.lastIndexOf(l)) fail(equation, `the result's label "${l}" stands twice`);
  }
  const result = output.flatMap((l) => (l === "..." ? dims : [labelOf(l)]));
  return call("einsum", operands, list([...lists.flatMap((l) => [...l, -1]), ...result]));
}
