// nn.utils: gradient clipping, parameters as one vector.

import { call, describe, isTensor, numberError, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { zeros } from "ext:mlrun_tensor/00_make.js";
import { concat } from "ext:mlrun_tensor/00_direct.js";
import { stack } from "ext:mlrun_tensor/00_shape.js";
import { noGrad } from "ext:mlrun_tensor/01_autograd.js";

function parameterList(op, parameters) {
  const list = isTensor(parameters) ? [parameters] : typeof parameters?.[Symbol.iterator] === "function" ? [...parameters] : null;
  if (list === null) {
    const hint = typeof parameters?.parameters === "function" ? ", pass its parameters()" : "";
    throw new TypeError(`${op}: expected parameters, got ${describe(parameters)}${hint}`);
  }
  list.forEach((p, i) => tensorArg(op, `parameter ${i}`, p));
  return list;
}

function gradients(op, parameters) {
  const out = [];
  for (const p of parameterList(op, parameters)) {
    const g = p.grad;
    if (g !== null) out.push(g);
  }
  return out;
}

/** Sum, maximum or count over one gradient, such that totals of them combine alike. */
function part(g, type) {
  if (type === Infinity) return g.abs().amax();
  return type === 2 ? g.square().sum() : type === 1 ? g.abs().sum() : g.abs().pow(type).sum();
}

/** Tensors that one native call takes, well below what its buffer holds. */
const CALL = 3500;

/**
 * Scales all gradients so that their norm, taken as that of one vector, is at most `maxNorm`.
 * Gives the norm before, a tensor of no dimensions.
 */
export function clipGradNorm_(parameters, maxNorm, given) {
  const op = "clipGradNorm_";
  const { normType = 2, errorIfNonfinite = false } = options(op, given, ["normType", "errorIfNonfinite"]);
  if (typeof maxNorm !== "number" || !(maxNorm >= 0)) {
    throw numberError(maxNorm, `${op}: maxNorm must be a number of at least 0, got ${describe(maxNorm)}`);
  }
  if (typeof normType !== "number" || !(normType > 0)) {
    throw numberError(normType, `${op}: normType must be a number above 0, got ${describe(normType)}`);
  }
  return noGrad(() => {
    const grads = gradients(op, parameters);
    // The usual norm is one native call: measured and scaled without a tensor in between.
    const whole = normType === 2 && grads.length > 0 && grads.length <= CALL;
    const total = whole ? call("clipGradNorm", grads, [maxNorm, errorIfNonfinite ? 1 : 0]) : totalNorm(grads, normType);
    if (errorIfNonfinite && !Number.isFinite(total.item())) {
      throw new RangeError(`${op}: the norm of the gradients is ${total.item()}`);
    }
    if (whole) return total;
    const factor = total.add(1e-6).reciprocal().mul(maxNorm).clamp(undefined, 1);
    for (const g of grads) g.mul_(factor);
    return total;
  });
}

function totalNorm(grads, type) {
  if (grads.length === 0) return zeros([]);
  const each = [];
  for (const g of grads) each.push(part(g, type));
  const parts = stack(each);
  if (type === Infinity) return parts.amax();
  const sum = parts.sum();
  return type === 2 ? sum.sqrt() : type === 1 ? sum : sum.pow(1 / type);
}

/** Limits each element of all gradients to +-clipValue. */
export function clipGradValue_(parameters, clipValue) {
  if (typeof clipValue !== "number" || !(clipValue >= 0)) {
    throw numberError(clipValue, `clipGradValue_: clipValue must be a number of at least 0, got ${describe(clipValue)}`);
  }
  noGrad(() => {
    for (const g of gradients("clipGradValue_", parameters)) g.copy_(g.clamp(-clipValue, clipValue));
  });
}

/** All parameters one behind the other in one dimension. */
export function parametersToVector(parameters) {
  return concat(parameterList("parametersToVector", parameters).map((p) => p.flatten()), 0);
}

/** Writes a vector back into the parameters. */
export function vectorToParameters(vector, parameters) {
  const list = parameterList("vectorToParameters", parameters);
  const size = list.reduce((n, p) => n + p.size, 0);
  if (tensorArg("vectorToParameters", "vector", vector).ndim !== 1 || vector.size !== size) {
    throw new RangeError(`vectorToParameters: got a vector [${vector.shape.join(", ")}], expected [${size}]`);
  }
  noGrad(() => {
    let at = 0;
    for (const p of list) {
      p.copy_(vector.narrow(0, at, p.size).reshape(p.shape));
      at += p.size;
    }
  });
}
