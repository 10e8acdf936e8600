// Specs of an index, one by one: what they take of a tensor, as numbers for the native side.
//
// Written by hand for the ownership pass, as 00_handle.js says: no function here makes a tensor or
// keeps one.

import { borrows, describe, integer, isTensor } from "ext:mlrun_tensor/00_handle.js";

// Kinds of specs; see ext/tensor/core/src/ops/advanced.rs.
const WHOLE = 0, SLICE = 1, PICK = 2, NEW_DIM = 3, GAP = 5;
export const TENSOR = 4;

/** All dimensions that a tensor may have taken away, as many new ones, and an ellipsis. */
const MOST_SPECS = 129;

/** Start, length and step of "start:stop:step" in a dimension, bounds cut as in NumPy. */
export function parseSlice(op, spec, extent) {
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

export const goesBack = (spec) => typeof spec === "string" && /:\s*-\s*\d+\s*$/.test(spec) && /:.*:/.test(spec);

/** Dimensions of the indexed tensor that a spec stands for. */
export function consumed(spec) {
  if (spec === null || spec === "...") return 0;
  return isTensor(spec) && spec.dtype === "bool" ? spec.ndim : 1;
}

export function encode(op, t, spec, dim, rest) {
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
export function checkSpecs(op, specs, ndim) {
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
 * Dimensions of `index(...specs)`, each by the number of the spec that it comes from; those of
 * tensors are -1, and those that no spec names -2.
 */
export function resultDims(specs, rest) {
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

export function checkCount(op, given, ndim) {
  if (given.length > MOST_SPECS) {
    throw new RangeError(`${op}: got ${given.length} indices, expected at most ${ndim} and new dimensions`);
  }
}

/** Four numbers for each of the specs; null where one of them needs tensors that are not there yet. */
export function plainCodes(op, t, specs) {
  const { ndim } = t, codes = [];
  checkCount(op, specs, ndim);
  const rest = checkSpecs(op, specs, ndim);
  for (let i = 0, dim = 0; i < specs.length; i++) {
    const spec = specs[i];
    if (goesBack(spec) || (isTensor(spec) && spec.dtype === "bool" && spec.ndim === 0)) return null;
    codes.push(...encode(op, t, spec, dim, rest));
    dim += spec === "..." ? rest : consumed(spec);
  }
  return codes;
}

for (const f of [parseSlice, goesBack, consumed, encode, checkSpecs, resultDims, checkCount, plainCodes]) borrows(f);
