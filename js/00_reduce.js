// Reductions and elementwise ops that take more than one native call; the others are in 00_rows.js.

import {
  addMethods, call, callMany, describe, integer, isTensor, number, options, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { KEEP } from "ext:mlrun_tensor/00_rows.js";

/** Without a dimension the extreme of all; with one its values and where they are. */
function extreme(name) {
  return {
    [name](dim, given) {
      if (isTensor(dim)) return name === "max" ? this.maximum(dim) : this.minimum(dim);
      if (dim === undefined) return call(`${name}All`, [this], [-1, 0]);
      const keep = options(name, given, KEEP).keepdim ? 1 : 0;
      const [values, indices] = callMany(name, [this], [integer(name, "dim", dim), keep]);
      return { values, indices };
    },
  }[name];
}

/** Whether a bound of clamp was given; anything but a number or a tensor is an error. */
function bound(name, value) {
  if (value === undefined || value === null) return false;
  if (typeof value !== "number" && !isTensor(value)) {
    throw new TypeError(`clamp: ${name} must be a number or a tensor, got ${describe(value)}`);
  }
  return true;
}

addMethods({
  max: extreme("max"),
  min: extreme("min"),

  outer(other) {
    tensorArg("outer", "other", other);
    return this.reshape([-1, 1]).mul(other.reshape([1, -1]));
  },

  /**
   * Values below min become min, above max become max; either may be left out. At the bound the
   * gradient is, as PyTorch's, 0 for a number, a half for one tensor, and whole for two.
   */
  clamp(min, max) {
    const below = bound("min", min), above = bound("max", max);
    if (!below && !above) throw new TypeError("clamp: expected min, max or both");
    const byTensors = isTensor(min) && isTensor(max);
    let t = this;
    if (below) {
      if (!isTensor(min)) t = call("clampBelow", [t], [min]);
      else t = call(byTensors ? "clampBelowTensor" : "clampBelowOne", [t, min], []);
    }
    if (above) {
      if (!isTensor(max)) t = call("clampAbove", [t], [max]);
      else t = call(byTensors ? "clampAboveTensor" : "clampAboveOne", [t, max], []);
    }
    return t;
  },
});
