// A tensor where JavaScript writes values down: JSON, and structured clones, which it refuses.

import { addMethods } from "ext:mlrun_tensor/00_handle.js";

const { isSafeInteger } = Number;

function plain(v) {
  if (Array.isArray(v)) return v.map(plain);
  if (typeof v !== "bigint") return v;
  const small = Number(v);
  return isSafeInteger(small) ? small : JSON.rawJSON(`${v}`);
}

addMethods({
  /** Nested arrays; int64 in full, NaN and infinities become null as everywhere in JSON. */
  toJSON() {
    return plain(this.toArray());
  },
  /** The mark by which structuredClone and postMessage ask; a handle names memory of one isolate. */
  [Symbol.for("Deno.core.hostObject")]() {
    throw new DOMException("a tensor cannot be cloned, send (await t.data()) and its shape instead", "DataCloneError");
  },
});
