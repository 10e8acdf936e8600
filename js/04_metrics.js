// metrics: how good predictions are, as plain numbers.

import { describe, integer, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { ones, zeros } from "ext:mlrun_tensor/00_make.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";

const show = (t) => `[${t.shape.join(", ")}]`;

/** Class indices `[n]` of predictions: of scores `[n, classes]` the best one. */
function classesOf(op, predictions, target) {
  tensorArg(op, "predictions", predictions);
  tensorArg(op, "target", target);
  const classes = predictions.ndim === target.ndim + 1 ? predictions.argmax(1) : predictions;
  if (String(classes.shape) !== String(target.shape)) {
    throw new RangeError(`${op}: got predictions ${show(predictions)} for target ${show(target)}, expected classes of its shape, or scores with one dimension more`);
  }
  return classes;
}

/** Share of the predictions, from 0 to 1, that are right; `topk`: that are among the k best. */
export function accuracy(predictions, target, given) {
  const { topk = 1 } = options("metrics.accuracy", given, ["topk"]);
  return noGrad(() => {
    if (integer("metrics.accuracy", "topk", topk) === 1) {
      const right = classesOf("metrics.accuracy", predictions, target).eq(target);
      return right.size === 0 ? NaN : right.sum().item() / right.size;
    }
    tensorArg("metrics.accuracy", "predictions", predictions);
    if (predictions.ndim !== 2 || target.ndim !== 1) {
      throw new RangeError(`metrics.accuracy: got predictions ${show(predictions)} for target ${show(target)}, expected scores [n, classes] and [n]`);
    }
    // In the k best: fewer than k classes have a higher score.
    const own = predictions.gather(1, target.unsqueeze(1));
    return predictions.gt(own).sum(1).lt(topk).sum().item() / target.size;
  });
}

/** Counts `[classes, classes]` of int64: row the target, column the prediction. */
export function confusionMatrix(predictions, target, given) {
  const op = "metrics.confusionMatrix";
  const { numClasses } = options(op, given, ["numClasses"]);
  return noGrad(() => {
    const guesses = classesOf(op, predictions, target).flatten(), truth = target.flatten();
    const largest = guesses.size === 0 ? -1 : Math.max(Number(guesses.amax().item()), Number(truth.amax().item()));
    const least = guesses.size === 0 ? 0 : Math.min(Number(guesses.amin().item()), Number(truth.amin().item()));
    const scores = predictions.ndim === target.ndim + 1 ? predictions.shape[1] : largest + 1;
    const n = numClasses === undefined ? Math.max(scores, largest + 1) : integer(op, "numClasses", numClasses);
    if (largest >= n || least < 0) throw new RangeError(`${op}: got class ${least < 0 ? least : largest}, expected 0 to ${n - 1}`);
    const cells = zeros([n * n], { dtype: "int64" });
    return cells.indexAdd(0, truth.to("int64").mul(n).add(guesses.to("int64")), ones([guesses.size], { dtype: "int64" })).reshape([n, n]);
  });
}

/** Arrays by class of precision, recall and F1, and their means, from a confusion matrix. */
export function precisionRecall(matrix) {
  tensorArg("metrics.precisionRecall", "matrix", matrix);
  if (matrix.ndim !== 2 || matrix.shape[0] !== matrix.shape[1]) {
    throw new RangeError(`metrics.precisionRecall: got ${show(matrix)}, expected a confusion matrix [classes, classes]`);
  }
  const n = matrix.shape[0], cells = Array.from(matrix.detach().flatten().toTypedArray(), Number);
  const rowSum = (i) => cells.slice(i * n, (i + 1) * n).reduce((a, b) => a + b, 0);
  const columnSum = (i) => cells.filter((_, k) => k % n === i).reduce((a, b) => a + b, 0);
  const ratio = (a, b) => (b === 0 ? 0 : a / b);
  const precision = [], recall = [], f1 = [];
  for (let i = 0; i < n; i++) {
    const right = cells[i * n + i];
    precision.push(ratio(right, columnSum(i)));
    recall.push(ratio(right, rowSum(i)));
    f1.push(ratio(2 * right, columnSum(i) + rowSum(i)));
  }
  const mean = (list) => ratio(list.reduce((a, b) => a + b, 0), n);
  return { precision, recall, f1, meanPrecision: mean(precision), meanRecall: mean(recall), meanF1: mean(f1) };
}

/** A mean that grows: `update(value, n)` for the mean of n values; `value` is the mean of all. */
export class Mean {
  #sum = 0;
  #count = 0;
  update(value, n = 1) {
    const v = typeof value === "number" ? value : Number(value);
    if (typeof value !== "number" && Number.isNaN(v)) throw new TypeError(`metrics.Mean: expected a number or a 0-d tensor, got ${describe(value)}`);
    this.#sum += v * n;
    this.#count += n;
    return this;
  }
  get value() {
    return this.#count === 0 ? NaN : this.#sum / this.#count;
  }
  get count() {
    return this.#count;
  }
  reset() {
    this.#sum = 0;
    this.#count = 0;
  }
}
