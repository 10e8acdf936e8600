// Reductions and methods of one native call whose options become its attributes.
//
// Written by hand for the ownership pass, as 00_handle.js says: each borrows what it gets and gives
// what its one call made.

import {
  addBorrowers, call, describe, integer, integers, isTensor, list, noOptions, number, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";

export const KEEP = ["keepdim"];

/** `(dim | dims, { keepdim })` as attributes; `(options)` alone is allowed. */
function reduced(op, dims, given, otherwise) {
  if (typeof dims === "object" && dims !== null && !Array.isArray(dims)) [dims, given] = [undefined, dims];
  const keep = options(op, given, KEEP).keepdim ? 1 : 0;
  return dims === undefined || dims === null ? [...otherwise, keep] : [...list(integers(op, "dim", dims)), keep];
}

/** As `reduced`, with one more option, a number. */
function withOption(op, dims, given, name) {
  if (typeof dims === "object" && dims !== null && !Array.isArray(dims)) [dims, given] = [undefined, dims];
  const { [name]: rest, ...others } = options(op, given, ["keepdim", name]);
  if (rest !== undefined && typeof rest !== "number") {
    throw new TypeError(`${op}: ${name} must be a number, got ${describe(rest)}`);
  }
  return { attrs: reduced(op, dims, others, none()), rest };
}

/** Dimensions as `reduced` writes them where none is given. */
const none = () => [-1];
const every = (t) => {
  const dims = [];
  for (let i = 0; i < t.ndim; i++) dims[i] = i;
  return list(dims);
};

function reduction(name, otherwise = none) {
  return {
    [name](dims, given) {
      return call(name, [this], reduced(name, dims, given, otherwise(this)));
    },
  }[name];
}

addBorrowers({
  sum: reduction("sum"),
  mean: reduction("mean"),
  // All dimensions by name: without any the gradient at NaN would be that of max().
  amax: reduction("amax", every),
  amin: reduction("amin", every),
  argmax: reduction("argmax"),
  argmin: reduction("argmin"),
  any: reduction("any"),
  all: reduction("all"),
  prod: reduction("prod"),
  logsumexp: reduction("logsumexp"),
  /** The p-norm over dimensions: `norm(dim, { p: 2, keepdim: false })`; p may be 0 or Infinity. */
  norm(dims, given) {
    const { attrs, rest } = withOption("norm", dims, given, "p");
    return call("norm", [this], [...attrs, rest ?? 2]);
  },
  /** Mean squared distance from the mean; `correction` 1 divides by n - 1. */
  variance(dims, given) {
    const { attrs, rest } = withOption("variance", dims, given, "correction");
    return call("variance", [this], [...attrs, rest ?? 1]);
  },
  std(dims, given) {
    const { attrs, rest } = withOption("std", dims, given, "correction");
    return call("std", [this], [...attrs, rest ?? 1]);
  },
  /** Sums of the elements up to each one along a dimension. */
  cumsum(dim, more) {
    noOptions("cumsum", more);
    return call("cumsum", [this], [integer("cumsum", "dim", dim)]);
  },
  /** Products of the elements up to each one along a dimension. */
  cumprod(dim, more) {
    noOptions("cumprod", more);
    return call("cumprod", [this], [integer("cumprod", "dim", dim)]);
  },

  dot(other, more) {
    noOptions("dot", more);
    tensorArg("dot", "other", other);
    if (this.ndim !== 1 || other.ndim !== 1) {
      throw new RangeError(`dot: got shapes [${this.shape}] and [${other.shape}], expected one dimension each`);
    }
    return call("dot", [this, other], []);
  },
  softplus(given) {
    const { beta = 1, threshold = 20 } = options("softplus", given, ["beta", "threshold"]);
    return call("softplus", [this], [number("softplus", "beta", beta), number("softplus", "threshold", threshold)]);
  },
  elu(alpha = 1) {
    return call("elu", [this], [number("elu", "alpha", alpha)]);
  },
  leakyRelu(slope = 0.01) {
    return call("leakyRelu", [this], [number("leakyRelu", "slope", slope)]);
  },
  lerp(end, weight) {
    tensorArg("lerp", "end", end);
    if (isTensor(weight)) return call("lerpTensor", [this, end, weight], []);
    if (typeof weight !== "number") throw new TypeError(`lerp: weight must be a number or a tensor, got ${describe(weight)}`);
    return call("lerp", [this, end], [weight]);
  },
});
