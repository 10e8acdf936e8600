// Making tensors from numbers: shapes, ranges, random numbers.
//
// Written by hand for the ownership pass, as 00_handle.js says: each function gives what its one call
// made.

import {
  borrows, call, describe, dtypeCode, idOf, integer, integers, list, ops, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { lose } from "ext:mlrun_tensor/00_ownership.js";

/** Whole numbers that narrow integer dtypes hold. */
export const RANGES = {
  __proto__: null,
  int8: [-128, 127], uint8: [0, 255], int16: [-32768, 32767], int32: [-2147483648, 2147483647],
};

export const OPTIONS = ["dtype", "device", "requiresGrad"];

export function checkDevice(op, device) {
  if (device !== undefined && device !== "cpu") {
    throw new TypeError(`${op}: unknown device ${describe(device) === "string" ? `"${device}"` : describe(device)}, expected cpu`);
  }
}

/** Applies the options that every maker of tensors shares to a new tensor. */
export function finish(t, { requiresGrad }) {
  if (!requiresGrad) return t;
  try {
    ops.op_tensor_requires_grad(idOf(t), true);
  } catch (e) {
    lose(t);
    throw e;
  }
  return t;
}

function dtypeOption(op, given, otherwise) {
  checkDevice(op, given.device);
  return dtypeCode(op, given.dtype ?? otherwise);
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

/** A tensor filled with the number or boolean `value`. */
export function filled(shape, value, opts) {
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

for (const f of [checkDevice, finish, filled, zeros, ones, empty, arange, linspace, eye, rand, randn, randint, randperm, bernoulli, multinomial]) borrows(f);
