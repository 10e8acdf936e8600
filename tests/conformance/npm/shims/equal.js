// Deep equality as assert and jest have it, for what the tests of packages compare.

function same(a, b, strict, seen) {
  if (Object.is(a, b) || (!strict && a == b && typeof a !== "object")) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
  if (a instanceof Error && b instanceof Error) return a.message === b.message && a.name === b.name;
  for (const [x, y] of seen) if (x === a && y === b) return true;
  seen = [...seen, [a, b]];
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([k, v]) => b.has(k) && same(v, b.get(k), strict, seen));
  }
  if (a instanceof Set && b instanceof Set) {
    return a.size === b.size && [...a].every((v) => b.has(v) || [...b].some((w) => same(v, w, strict, seen)));
  }
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length &&
    keys.every((k) => Object.hasOwn(b, k) && same(a[k], b[k], strict, seen));
}

exports.equal = (a, b) => same(a, b, false, []);
exports.strict = (a, b) => same(a, b, true, []);
