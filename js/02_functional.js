// nn.functional: layers without state, and losses.

import { call, integer, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";

const REDUCTIONS = ["none", "mean", "sum"];

function reductionOption(op, given = "mean") {
  const code = REDUCTIONS.indexOf(given);
  if (code < 0) throw new TypeError(`${op}: unknown reduction "${given}", expected ${REDUCTIONS.join(", ")}`);
  return code;
}

function reduce(t, code) {
  return code === 0 ? t : code === 1 ? t.mean() : t.sum();
}

export function linear(x, weight, bias) {
  tensorArg("linear", "input", x);
  tensorArg("linear", "weight", weight);
  if (x.ndim > 0 && weight.ndim === 2 && x.shape.at(-1) !== weight.shape[1]) {
    throw new RangeError(
      `linear: got input [${x.shape.join(", ")}] and weight [${weight.shape.join(", ")}], expected an input of ` +
        `${weight.shape[1]} in the last dimension`,
    );
  }
  const y = call("matmul", [x, weight.T], []);
  return bias ? y.add(bias) : y;
}

export const relu = (x) => tensorArg("relu", "input", x).relu();
export const sigmoid = (x) => tensorArg("sigmoid", "input", x).sigmoid();
export const tanh = (x) => tensorArg("tanh", "input", x).tanh();
export const gelu = (x, given) => tensorArg("gelu", "input", x).gelu(given);
export const silu = (x) => tensorArg("silu", "input", x).silu();

export function softmax(x, dim) {
  return call("softmax", [tensorArg("softmax", "input", x)], [integer("softmax", "dim", dim)]);
}

export function logSoftmax(x, dim) {
  return call("logSoftmax", [tensorArg("logSoftmax", "input", x)], [integer("logSoftmax", "dim", dim)]);
}

/** Loss of class indices `target` under logits with the classes in dimension 1. */
export function crossEntropy(logits, target, given) {
  const opts = options("crossEntropy", given, ["reduction", "ignoreIndex", "labelSmoothing"]);
  const attrs = [reductionOption("crossEntropy", opts.reduction), opts.ignoreIndex ?? -100, opts.labelSmoothing ?? 0];
  const args = [tensorArg("crossEntropy", "logits", logits), tensorArg("crossEntropy", "target", target)];
  return call("crossEntropy", args, attrs);
}

export function mseLoss(a, b, given) {
  const { reduction } = options("mseLoss", given, ["reduction"]);
  const code = reductionOption("mseLoss", reduction);
  return reduce(tensorArg("mseLoss", "input", a).sub(tensorArg("mseLoss", "target", b)).square(), code);
}

export function l1Loss(a, b, given) {
  const { reduction } = options("l1Loss", given, ["reduction"]);
  const code = reductionOption("l1Loss", reduction);
  return reduce(tensorArg("l1Loss", "input", a).sub(tensorArg("l1Loss", "target", b)).abs(), code);
}

