// jest's globals, as far as the tests of packages call them.
const { equal, strict } = require("equal");

const text = (v) => {
  try {
    return String(v);
  } catch {
    return typeof v;
  }
};
const rules = {
  toBe: Object.is,
  toEqual: (a, b) => equal(a, b) || (typeof a?.equals === "function" && a.equals(b)),
  toStrictEqual: strict,
  toBeUndefined: (a) => a === undefined,
  toBeDefined: (a) => a !== undefined,
  toBeNull: (a) => a === null,
  toBeNaN: (a) => Number.isNaN(a),
  toBeTruthy: (a) => !!a,
  toBeFalsy: (a) => !a,
  toBeGreaterThan: (a, b) => a > b,
  toBeGreaterThanOrEqual: (a, b) => a >= b,
  toBeLessThan: (a, b) => a < b,
  toBeLessThanOrEqual: (a, b) => a <= b,
  toBeInstanceOf: (a, b) => a instanceof b,
  toHaveLength: (a, b) => a.length === b,
  toContain: (a, b) => (typeof a === "string" ? a.includes(b) : [...a].includes(b)),
  toMatch: (a, b) => (typeof b === "string" ? a.includes(b) : b.test(a)),
  toHaveProperty: (a, b) => b in a,
  toHaveBeenCalled: (f) => f.mock.calls.length > 0,
  toHaveBeenCalledTimes: (f, n) => f.mock.calls.length === n,
  toHaveBeenCalledWith: (f, ...args) => f.mock.calls.some((c) => equal(c, args)),
  toThrow(f, expected) {
    try {
      f();
    } catch (e) {
      if (expected === undefined) return true;
      if (typeof expected === "string") return String(e.message).includes(expected);
      return expected instanceof RegExp ? expected.test(e.message) : true;
    }
    return false;
  },
};

exports.expect = (value) => {
  const made = { not: {} };
  for (const [name, holds] of Object.entries(rules)) {
    const check = (wanted) => (...args) => {
      if (!!holds(value, ...args) !== wanted) throw new Error(`${wanted ? "" : "not "}${name}: ${text(value)}, ${args.map(text)}`);
    };
    made[name] = check(true);
    made.not[name] = check(false);
  }
  return made;
};
exports.jest = {
  fn(f) {
    const mock = function (...args) {
      mock.mock.calls.push(args);
      return f?.apply(this, args);
    };
    mock.mock = { calls: [] };
    mock.mockImplementation = (g) => ((f = g), mock);
    return mock;
  },
};
exports.describe = globalThis.describe;
exports.it = globalThis.it;
exports.test = globalThis.it;
exports.beforeEach = globalThis.beforeEach;
