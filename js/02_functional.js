// nn.functional: what is made of methods of tensors; the rest is in 02_rows.js.

import { call, integer, tensorArg } from "ext:mlrun_tensor/00_handle.js";

export * from "ext:mlrun_tensor/02_rows.js";

export const relu = (x) => tensorArg("relu", "input", x).relu();
export const sigmoid = (x) => tensorArg("sigmoid", "input", x).sigmoid();
export const tanh = (x) => tensorArg("tanh", "input", x).tanh();
export const gelu = (x, given) => tensorArg("gelu", "input", x).gelu(given);
export const silu = (x) => tensorArg("silu", "input", x).silu();
export const softplus = (x, given) => tensorArg("softplus", "input", x).softplus(given);
export const elu = (x, alpha) => tensorArg("elu", "input", x).elu(alpha);
export const leakyRelu = (x, slope) => tensorArg("leakyRelu", "input", x).leakyRelu(slope);

/** A new last dimension with 1 at the index, else 0; int64. Without `classes` the largest index decides. */
export function oneHot(index, classes = -1) {
  tensorArg("oneHot", "index", index);
  integer("oneHot", "classes", classes);
  if (!["int8", "uint8", "int16", "int32", "int64"].includes(index.dtype)) {
    throw new TypeError(`oneHot: the index is ${index.dtype}, expected integers`);
  }
  if (classes === 0 || classes < -1) throw new RangeError(`oneHot: classes must be 1 or more, got ${classes}`);
  if (index.size === 0) {
    if (classes < 0) throw new RangeError("oneHot: an empty index needs a number of classes");
  } else {
    const bound = (name) => {
      const t = index[name](), value = Number(t.item());
      t.dispose();
      return value;
    };
    const low = bound("amin"), high = bound("amax");
    if (low < 0) throw new RangeError(`oneHot: got index ${low}, expected 0 or more`);
    if (classes < 0) classes = high + 1;
    if (high >= classes) throw new RangeError(`oneHot: got index ${high}, expected less than the ${classes} classes`);
  }
  return call("oneHot", [index], [classes]);
}
