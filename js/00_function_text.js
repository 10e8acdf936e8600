// Function.prototype.toString gives what the user wrote, not what the ownership pass made of it.
//
// Invariant: for every other function the text is V8's own. The pass itself reads the emitted
// text; it took V8's method before this file replaced it.

import { core, primordials } from "ext:core/mod.js";

const { FunctionPrototype, FunctionPrototypeToString, ObjectDefineProperty, StringPrototypeIncludes } = primordials;

const { toString } = {
  toString() {
    if (this === toString) return "function toString() { [native code] }";
    const text = FunctionPrototypeToString(this);
    // Only emitted text holds the mark or a call of the runtime half.
    if (!StringPrototypeIncludes(text, "own")) return text;
    return core.ops.op_own_written(text) ?? text;
  },
};

ObjectDefineProperty(FunctionPrototype, "toString", {
  __proto__: null,
  value: toString,
  writable: true,
  enumerable: false,
  configurable: true,
});
