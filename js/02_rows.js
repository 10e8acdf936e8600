// nn.functional: layers of one native call, and losses.
//
// Shapes, dtypes and gradients are the rows' (ext/tensor/core/src/ops); here options become
// their attributes. A layer with nothing to do (dropout outside training) gives a new handle on
// its input, never the argument itself, so that whoever owns the result may release it.
//
// Written by hand for the ownership pass, as 00_handle.js says: each function borrows what it gets
// and gives what its one call made; it calls no method that a program can replace.

import { core } from "ext:core/mod.js";
import { attended, linear, normalized } from "ext:mlrun_tensor/00_direct.js";
import {
  addBorrowers, alias, borrows, call, describe, integer, integers, list, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";

const REDUCTIONS = ["none", "mean", "sum"];

function reductionOption(op, given = "mean") {
  const code = REDUCTIONS.indexOf(given);
  if (code < 0) throw new TypeError(`${op}: unknown reduction ${quoted(given)}, expected ${REDUCTIONS.join(", ")}`);
  return code;
}

const quoted = (v) => (typeof v === "string" ? `"${v}"` : describe(v));

function optional(op, name, t) {
  return t === undefined || t === null ? null : tensorArg(op, name, t);
}

function numberArg(op, name, v) {
  if (typeof v !== "number" || Number.isNaN(v)) throw new TypeError(`${op}: ${name} must be a number, got ${describe(v)}`);
  return v;
}

/** `eps` may stand alone or in an options object. */
function epsOption(op, given, otherwise) {
  if (typeof given === "number") return given;
  const { eps = otherwise } = options(op, given, ["eps"]);
  return eps;
}

/** One number or one for each of `n` dimensions. */
function each(op, name, v, n) {
  const all = typeof v === "number" ? Array.from({ length: n }, () => v) : integers(op, name, v);
  if (all.length !== n) throw new TypeError(`${op}: ${name} must be one number or ${n}, got ${all.length}`);
  return integers(op, name, all);
}

export function softmax(x, dim) {
  return call("softmax", [tensorArg("softmax", "input", x)], [integer("softmax", "dim", dim)]);
}

export function logSoftmax(x, dim) {
  return call("logSoftmax", [tensorArg("logSoftmax", "input", x)], [integer("logSoftmax", "dim", dim)]);
}

/** Elements become 0 with probability `p`, the others are divided by `1 - p`; only in training. */
export function dropout(x, p = 0.5, given) {
  if (typeof p !== "number") [p, given] = [0.5, p];
  const opts = options("dropout", given, ["p", "training"]);
  tensorArg("dropout", "input", x);
  p = numberArg("dropout", "p", opts.p ?? p);
  if (p < 0 || p > 1) throw new RangeError(`dropout: p must be from 0 to 1, got ${p}`);
  if (!(opts.training ?? true) || p === 0) return alias(x);
  return call("dropout", [x], [p]);
}

// ---- Losses.

/** Loss of class indices or probabilities `target` under logits with the classes in dimension 1. */
export function crossEntropy(logits, target, given) {
  const opts = options("crossEntropy", given, ["weight", "reduction", "ignoreIndex", "labelSmoothing"]);
  const attrs = [reductionOption("crossEntropy", opts.reduction), integer("crossEntropy", "ignoreIndex", opts.ignoreIndex ?? -100),
    numberArg("crossEntropy", "labelSmoothing", opts.labelSmoothing ?? 0)];
  const args = [tensorArg("crossEntropy", "logits", logits), tensorArg("crossEntropy", "target", target),
    optional("crossEntropy", "weight", opts.weight)];
  return call("crossEntropy", args, attrs);
}

/** Loss of class indices under log probabilities with the classes in dimension 1. */
export function nllLoss(input, target, given) {
  const opts = options("nllLoss", given, ["weight", "reduction", "ignoreIndex"]);
  const attrs = [reductionOption("nllLoss", opts.reduction), integer("nllLoss", "ignoreIndex", opts.ignoreIndex ?? -100)];
  const args = [tensorArg("nllLoss", "input", input), tensorArg("nllLoss", "target", target),
    optional("nllLoss", "weight", opts.weight)];
  return call("nllLoss", args, attrs);
}

let warned = false;

/** As PyTorch does: `[n, 1]` against `[n]` gives a mean over n x n pairs, which nobody wants. */
function warnOfBroadcast(op, input, target) {
  if (warned || target.length === 0 || (input.length === target.length && input.every((n, i) => n === target[i]))) return;
  warned = true;
  core.print(`warning: ${op}: input [${input.join(", ")}] and target [${target.join(", ")}] differ and are broadcast; is that meant?\n`, true);
}

function ofPair(op, a, b, given, more = []) {
  const opts = options(op, given, ["weight", "reduction", ...more.map(([name]) => name)]);
  const attrs = [reductionOption(op, opts.reduction), ...more.map(([name, value]) => numberArg(op, name, opts[name] ?? value))];
  const y = call(op, [tensorArg(op, "input", a), tensorArg(op, "target", b), optional(op, "weight", opts.weight)], attrs);
  warnOfBroadcast(op, a.shape, b.shape);
  return y;
}

export const mseLoss = (input, target, given) => ofPair("mseLoss", input, target, given);
export const l1Loss = (input, target, given) => ofPair("l1Loss", input, target, given);
export const smoothL1Loss = (input, target, given) => ofPair("smoothL1Loss", input, target, given, [["beta", 1]]);

/** Binary cross entropy of targets from 0 to 1 under `sigmoid(input)`. */
export function bceWithLogits(input, target, given) {
  const op = "bceWithLogits";
  const opts = options(op, given, ["weight", "posWeight", "reduction"]);
  const args = [tensorArg(op, "input", input), tensorArg(op, "target", target), optional(op, "weight", opts.weight),
    optional(op, "posWeight", opts.posWeight)];
  return call(op, args, [reductionOption(op, opts.reduction)]);
}

// ---- Normalisation.

/** Mean 0 and variance 1 over the trailing dimensions `shape`, then weight and bias. */
export function layerNorm(x, shape, weight = null, bias = null, eps) {
  tensorArg("layerNorm", "input", x);
  if (weight !== null) tensorArg("layerNorm", "weight", weight);
  if (bias !== null) tensorArg("layerNorm", "bias", bias);
  const dims = integers("layerNorm", "shape", shape);
  return normalized(x, dims, weight, bias, numberArg("layerNorm", "eps", epsOption("layerNorm", eps, 1e-5)));
}

/** Division by the root mean square over the trailing dimensions `shape`, then weight. */
export function rmsNorm(x, shape, weight, eps) {
  const args = [tensorArg("rmsNorm", "input", x), optional("rmsNorm", "weight", weight)];
  const value = epsOption("rmsNorm", eps);
  return call("rmsNorm", args, [...list(integers("rmsNorm", "shape", shape)), value === undefined || value === null ? NaN : numberArg("rmsNorm", "eps", value)]);
}

/** Mean 0 and variance 1 over `groups` groups of channels, then weight and bias by channel. */
export function groupNorm(x, groups, weight, bias, eps) {
  const args = [tensorArg("groupNorm", "input", x), optional("groupNorm", "weight", weight), optional("groupNorm", "bias", bias)];
  return call("groupNorm", args, [integer("groupNorm", "groups", groups), numberArg("groupNorm", "eps", epsOption("groupNorm", eps, 1e-5))]);
}

/**
 * Channels (dimension 1) with mean 0 and variance 1 over the batch, then weight and bias. In
 * training the running statistics move by `momentum`; otherwise they are what is used.
 */
export function batchNorm(x, runningMean, runningVar, weight, bias, given) {
  const op = "batchNorm";
  const opts = options(op, given, ["training", "momentum", "eps"]);
  const args = [tensorArg(op, "input", x), optional(op, "runningMean", runningMean), optional(op, "runningVar", runningVar),
    optional(op, "weight", weight), optional(op, "bias", bias)];
  return call(op, args, [opts.training ? 1 : 0, numberArg(op, "momentum", opts.momentum ?? 0.1), numberArg(op, "eps", opts.eps ?? 1e-5)]);
}

// ---- Embedding.

/** Rows of `weight` by index; the gradient of row `paddingIdx` is 0. */
export function embedding(index, weight, given) {
  const { paddingIdx } = options("embedding", given, ["paddingIdx"]);
  const row = paddingIdx === undefined || paddingIdx === null ? NaN : integer("embedding", "paddingIdx", paddingIdx);
  return call("embedding", [tensorArg("embedding", "index", index), tensorArg("embedding", "weight", weight)], [row]);
}

// ---- Convolution and pooling.

function convolution(op, nd, x, weight, bias, given) {
  const opts = options(op, given, ["stride", "padding", "dilation", "groups"]);
  const args = [tensorArg(op, "input", x), tensorArg(op, "weight", weight), optional(op, "bias", bias)];
  let { padding = 0 } = opts;
  if (typeof padding === "string" && padding !== "same" && padding !== "valid") {
    throw new TypeError(`${op}: unknown padding "${padding}", expected numbers, same or valid`);
  }
  const same = padding === "same";
  if (typeof padding === "string") padding = 0;
  return call(op, args, [
    ...list(each(op, "stride", opts.stride ?? 1, nd)), ...list(each(op, "padding", padding, nd)),
    ...list(each(op, "dilation", opts.dilation ?? 1, nd)), integer(op, "groups", opts.groups ?? 1), same ? 1 : 0,
  ]);
}

/** Input `[n, c, l]` with weight `[out, c / groups, k]`. */
export const conv1d = (x, weight, bias, given) => convolution("conv1d", 1, x, weight, bias, given);
/** Input `[n, c, h, w]` with weight `[out, c / groups, kh, kw]`. */
export const conv2d = (x, weight, bias, given) => convolution("conv2d", 2, x, weight, bias, given);

function transposedConvolution(op, nd, x, weight, bias, given) {
  const opts = options(op, given, ["stride", "padding", "outputPadding", "dilation", "groups"]);
  const args = [tensorArg(op, "input", x), tensorArg(op, "weight", weight), optional(op, "bias", bias)];
  return call(op, args, [
    ...list(each(op, "stride", opts.stride ?? 1, nd)), ...list(each(op, "padding", opts.padding ?? 0, nd)),
    ...list(each(op, "dilation", opts.dilation ?? 1, nd)), integer(op, "groups", opts.groups ?? 1),
    ...list(each(op, "outputPadding", opts.outputPadding ?? 0, nd)),
  ]);
}

/** Input `[n, c, l]` with weight `[c, out / groups, k]`. */
export const convTranspose1d = (x, weight, bias, given) => transposedConvolution("convTranspose1d", 1, x, weight, bias, given);
/** Input `[n, c, h, w]` with weight `[c, out / groups, kh, kw]`. */
export const convTranspose2d = (x, weight, bias, given) => transposedConvolution("convTranspose2d", 2, x, weight, bias, given);

/** Stride, padding, dilation, kernel and rounding as the pooling rows read them. */
function windows(op, kernelSize, opts) {
  const kernel = each(op, "kernelSize", kernelSize, 2);
  return [
    ...list(each(op, "stride", opts.stride ?? kernel, 2)), ...list(each(op, "padding", opts.padding ?? 0, 2)),
    ...list(each(op, "dilation", opts.dilation ?? 1, 2)), ...list(kernel), opts.ceilMode ? 1 : 0,
  ];
}

/** The largest element of windows over the last two dimensions. */
export function maxPool2d(x, kernelSize, given) {
  const opts = options("maxPool2d", given, ["stride", "padding", "dilation", "ceilMode"]);
  return call("maxPool2d", [tensorArg("maxPool2d", "input", x)], windows("maxPool2d", kernelSize, opts));
}

/** The mean of windows over the last two dimensions. */
export function avgPool2d(x, kernelSize, given) {
  const op = "avgPool2d";
  const opts = options(op, given, ["stride", "padding", "ceilMode", "countIncludePad", "divisorOverride"]);
  const divisor = opts.divisorOverride ?? 0;
  if (opts.divisorOverride !== undefined && opts.divisorOverride !== null && divisor === 0) {
    throw new RangeError("avgPool2d: divisorOverride must not be 0");
  }
  const attrs = [...windows(op, kernelSize, opts), opts.countIncludePad ?? true ? 1 : 0, integer(op, "divisorOverride", divisor)];
  return call(op, [tensorArg(op, "input", x)], attrs);
}

// ---- Attention, padding, resizing.

/** `softmax(q k^T scale + mask) v`; a boolean mask is true where a position is seen. */
export function scaledDotProductAttention(query, key, value, given) {
  const op = "scaledDotProductAttention";
  const opts = options(op, given, ["attnMask", "dropoutP", "isCausal", "scale"]);
  tensorArg(op, "query", query);
  tensorArg(op, "key", key);
  tensorArg(op, "value", value);
  const { attnMask = null, isCausal } = opts;
  if (attnMask !== null) tensorArg(op, "attnMask", attnMask);
  if (attnMask !== null && isCausal) throw new TypeError(`${op}: attnMask and isCausal exclude each other`);
  const scale = opts.scale === undefined || opts.scale === null ? NaN : numberArg(op, "scale", opts.scale);
  const p = numberArg(op, "dropoutP", opts.dropoutP ?? 0);
  if (p < 0 || p > 1) throw new RangeError(`${op}: dropoutP must be from 0 to 1, got ${p}`);
  return attended(query, key, value, attnMask, isCausal, scale, p);
}

const PAD_MODES = ["constant", "reflect", "replicate", "circular"];

/** Two paddings for each of the last dimensions, the last one first: `[left, right, top, bottom]`. */
export function pad(x, paddings, given) {
  const { mode = "constant", value = 0 } = options("pad", given, ["mode", "value"]);
  const code = PAD_MODES.indexOf(mode);
  if (code < 0) throw new TypeError(`pad: unknown mode ${quoted(mode)}, expected ${PAD_MODES.join(", ")}`);
  if (typeof value !== "number") throw new TypeError(`pad: value must be a number, got ${describe(value)}`);
  return call("pad", [tensorArg("pad", "input", x)], [...list(integers("pad", "paddings", paddings)), value, code]);
}

addBorrowers({
  /** As nn.functional's pad. */
  pad(paddings, given) {
    return pad(this, paddings, given);
  },
  /** As nn.functional's softmax and logSoftmax. */
  softmax(dim) {
    return softmax(this, dim);
  },
  logSoftmax(dim) {
    return logSoftmax(this, dim);
  },
});

/** Sizes of the spatial dimensions from `size` or `scaleFactor`, and the factors that were given. */
function newSizes(op, x, { size, scaleFactor }) {
  const from = x.shape.slice(2);
  const given = (v) => v !== undefined && v !== null;
  if (given(size) === given(scaleFactor)) throw new TypeError(`${op}: expected one of size and scaleFactor`);
  if (given(size)) return [each(op, "size", size, from.length), []];
  if (typeof scaleFactor !== "number" && !Array.isArray(scaleFactor)) {
    throw new TypeError(`${op}: scaleFactor must be a number or an array of numbers, got ${describe(scaleFactor)}`);
  }
  const factors = typeof scaleFactor === "number" ? from.map(() => scaleFactor) : [...scaleFactor];
  if (factors.length !== from.length) {
    throw new TypeError(`${op}: scaleFactor must be one number or ${from.length}, got ${factors.length}`);
  }
  for (const f of factors) {
    if (!(numberArg(op, "scaleFactor", f) > 0 && f < Infinity)) throw new RangeError(`${op}: scaleFactor must be finite and above 0, got ${f}`);
  }
  return [from.map((n, i) => Math.floor(n * factors[i])), factors];
}

/** Modes and the dimensions of the input that they need; 0 for any. */
const INTERPOLATIONS = { __proto__: null, nearest: 0, linear: 3, bilinear: 4, trilinear: 5 };

/** Brings the dimensions behind `[n, channels]` to another size: nearest, linear or bilinear. */
export function interpolate(x, given) {
  const op = "interpolate";
  const opts = options(op, given, ["size", "scaleFactor", "mode", "alignCorners"]);
  tensorArg(op, "input", x);
  const { mode = "nearest" } = opts;
  const dims = typeof mode === "string" ? INTERPOLATIONS[mode] : undefined;
  if (dims === undefined) throw new TypeError(`${op}: unknown mode ${quoted(mode)}, expected nearest, linear, bilinear, trilinear`);
  if (dims !== 0 && x.ndim !== dims) {
    throw new RangeError(`${op}: got input [${x.shape.join(", ")}], expected ${dims} dimensions for mode "${mode}"`);
  }
  if (dims === 0 && opts.alignCorners) throw new TypeError(`${op}: alignCorners needs a linear mode`);
  const [size, factors] = newSizes(op, x, opts);
  const scales = [0, 1, 2].map((i) => factors[i] ?? NaN);
  return call(op, [x], [...list(size), dims === 0 ? 0 : 1, opts.alignCorners ? 1 : 0, ...scales]);
}

export { linear };

for (const f of [softmax, logSoftmax, dropout, crossEntropy, nllLoss, mseLoss, l1Loss, smoothL1Loss, bceWithLogits, layerNorm, rmsNorm, groupNorm, batchNorm, embedding, conv1d, conv2d, convTranspose1d, convTranspose2d, maxPool2d, avgPool2d, scaledDotProductAttention, pad, interpolate]) borrows(f);
