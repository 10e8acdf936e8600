// node's assert, as far as the tests of packages call it.
const { equal, strict } = require("equal");

const text = (v) => {
  try {
    return JSON.stringify(v) ?? String(v);
  } catch {
    return typeof v;
  }
};
const fail = (message, fallback) => {
  throw message instanceof Error ? message : new Error(message ?? fallback);
};

module.exports = function assert(v, message) {
  if (!v) fail(message, "not true");
};
const e = module.exports;
const check = (holds, name) => (a, b, message) => {
  if (!holds(a, b)) fail(message, `${name}: ${text(a)} and ${text(b)}`);
};
exports = module.exports;
exports.ok = (v, message) => e(v, message);
exports.equal = check((a, b) => a == b, "equal");
exports.notEqual = check((a, b) => a != b, "notEqual");
exports.strictEqual = check(Object.is, "strictEqual");
exports.notStrictEqual = check((a, b) => !Object.is(a, b), "notStrictEqual");
exports.deepEqual = check(equal, "deepEqual");
exports.notDeepEqual = check((a, b) => !equal(a, b), "notDeepEqual");
exports.deepStrictEqual = check(strict, "deepStrictEqual");
exports.notDeepStrictEqual = check((a, b) => !strict(a, b), "notDeepStrictEqual");
exports.fail = (message) => fail(message, "failed");
exports.throws = (f, expected) => {
  try {
    f();
  } catch (error) {
    if (expected instanceof RegExp && !expected.test(String(error))) fail(undefined, `threw ${error}`);
    if (typeof expected === "function" && expected.prototype !== undefined && !(error instanceof expected) && expected(error) !== true) {
      fail(undefined, `threw ${error}`);
    }
    return;
  }
  fail(undefined, "did not throw");
};
exports.doesNotThrow = (f) => void f();
exports.rejects = async (f) => {
  try {
    await (typeof f === "function" ? f() : f);
  } catch {
    return;
  }
  fail(undefined, "did not reject");
};
exports.match = (v, pattern) => e(pattern.test(v), `${v} does not match ${pattern}`);
