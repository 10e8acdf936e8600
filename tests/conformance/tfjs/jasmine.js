// What tfjs-core's tests need of Jasmine and of tfjs's own test helpers. Values are compared at
// 1e-5, closer than tfjs does; of an expected error only that there is one, for its text is
// tfjs's own. Prints a line for each test: `passed NAME`, `excluded NAME: REASON`, `failed NAME: PROBLEM`.
import { manualSeed } from "mlrun";
import { reasonFor } from "./excluded.js";

const EPSILON = 1e-5;

/** What a test asks that has no counterpart here. */
export class Unsupported extends Error {
  constructor(message) {
    super(message);
    raised = message;
  }
}
/** The last one in the running test, which may have caught it. */
let raised = null;

const files = [];
let suites = [], tests = [];

export function startFile(name, load) {
  files.push([name, load]);
}

export function describe(name, fn) {
  const suite = { name, before: [], after: [], parent: suites.at(-1) };
  suites.push(suite);
  try {
    fn();
  } catch (e) {
    it("(as a whole)", () => {
      throw e;
    });
  }
  suites.pop();
}
export const describeWithFlags = (name, constraints, fn) => describe(name, () => fn({ name: "mlrun", backendName: "mlrun", isDataSync: true }));
export const [ALL_ENVS, SYNC_BACKEND_ENVS, NODE_ENVS, CHROME_ENVS, BROWSER_ENVS, HAS_WORKER, HAS_NODE_WORKER] = Array(7).fill({});
export function it(name, fn) {
  tests.push({ name, fn, suites: [...suites] });
}
export const fit = it;
export function xit() {}
export const beforeEach = (fn) => suites.at(-1).before.push(fn);
export const afterEach = (fn) => suites.at(-1).after.push(fn);
export const beforeAll = beforeEach, afterAll = afterEach;
export function spyOn() {
  throw new Unsupported("spies on tfjs's own parts");
}
export const jasmine = new Proxy({}, {
  get(_, name) {
    throw new Unsupported(`jasmine.${String(name)}`);
  },
});

/** Stands for what a test imports from other modules of the package. */
export function missing(name) {
  // No arrow function: it may be constructed.
  const use = function () {
    throw new Unsupported(`tfjs's ${name} has no counterpart`);
  };
  return new Proxy(use, { get: (_, key) => (key === "then" ? undefined : use()), apply: use, construct: use });
}

/** A module of shims whose other names are `missing`. */
export const lenient = (module) => new Proxy({}, { get: (_, name) => module[name] ?? missing(name) });

function equal(a, b) {
  if (Object.is(a, b) || a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a.dataSync && b.dataSync) return a.dtype === b.dtype && equal(a.shape, b.shape) && equal([...a.dataSync()], [...b.dataSync()]);
  const keys = Object.keys(a);
  return a.length === b.length && keys.length === Object.keys(b).length && keys.every((k) => equal(a[k], b[k]));
}

const show = (v) => {
  try {
    return typeof v === "function" ? "a function" : JSON.stringify(v) ?? String(v);
  } catch {
    return String(v);
  }
};

function thrown(fn) {
  try {
    fn();
  } catch (e) {
    if (isMissing(e)) throw e;
    return e;
  }
  return null;
}

export function expect(actual) {
  const matchers = (not) => {
    const ensure = (ok, what) => {
      if (ok === not) throw new Error(`expected ${show(actual)} ${not ? "not " : ""}${what}`);
    };
    return {
      toBe: (v) => ensure(Object.is(actual, v), `to be ${show(v)}`),
      toEqual: (v) => ensure(equal(actual, v), `to equal ${show(v)}`),
      toBeNull: () => ensure(actual === null, "to be null"),
      toBeUndefined: () => ensure(actual === undefined, "to be undefined"),
      toBeDefined: () => ensure(actual !== undefined, "to be defined"),
      toBeTruthy: () => ensure(!!actual, "to be truthy"),
      toBeFalsy: () => ensure(!actual, "to be falsy"),
      toBeTrue: () => ensure(actual === true, "to be true"),
      toBeFalse: () => ensure(actual === false, "to be false"),
      toBeNaN: () => ensure(Number.isNaN(actual), "to be NaN"),
      toBeGreaterThan: (v) => ensure(actual > v, `to be above ${v}`),
      toBeGreaterThanOrEqual: (v) => ensure(actual >= v, `to be at least ${v}`),
      toBeLessThan: (v) => ensure(actual < v, `to be below ${v}`),
      toBeLessThanOrEqual: (v) => ensure(actual <= v, `to be at most ${v}`),
      toBeCloseTo: (v, digits = 2) => ensure(Math.abs(actual - v) < 10 ** -digits / 2, `to be close to ${v}`),
      toContain: (v) => ensure(actual.includes(v), `to contain ${show(v)}`),
      toMatch: (v) => ensure(v.test(actual), `to match ${v}`),
      toBeInstanceOf: (v) => ensure(actual instanceof v, `to be a ${v.name}`),
      toThrow: () => ensure(thrown(actual) !== null, "to throw"),
      toThrowError: () => ensure(thrown(actual) !== null, "to throw an error"),
      nothing: () => {},
    };
  };
  return { ...matchers(false), not: matchers(true) };
}
expect.nothing = () => {};
export const expectAsync = () => {
  throw new Unsupported("expectAsync");
};

const flatten = (v) => (ArrayBuffer.isView(v) ? Array.from(v) : Array.isArray(v) ? v.flatMap(flatten) : [v]);

/** Many expected values are written with three or four decimals: a unit of the last, for some are cut. */
function rounded(want) {
  const decimals = /^-?\d*\.(\d+)$/.exec(want)?.[1].length ?? 0;
  return decimals === 3 || decimals === 4 ? 10 ** -decimals : 0;
}

function compare(actual, expected, epsilon) {
  if (typeof expected === "string" || flatten(expected).some((v) => typeof v === "string")) throw new Unsupported("tensors of strings");
  const a = flatten(actual), e = flatten(expected);
  if (a.length !== e.length) throw new Error(`got ${a.length} elements, expected ${e.length}`);
  e.forEach((want, i) => {
    const w = Number(want), got = Number(a[i]);
    const same = Number.isFinite(w) ? Math.abs(got - w) <= Math.max(epsilon * Math.max(1, Math.abs(w)), rounded(w)) : Object.is(got, w);
    if (!same) throw new Error(`element ${i} is ${a[i]}, expected ${want}`);
  });
}

export const expectArraysClose = (actual, expected, epsilon) => compare(actual, expected, Math.max(epsilon ?? 0, EPSILON));
export const expectArraysEqual = (actual, expected) => compare(actual, expected, 0);
export const expectNumbersClose = (a, e, epsilon) => compare([a], [e], Math.max(epsilon ?? 0, EPSILON));
export const testEpsilon = () => EPSILON;
export const TEST_EPSILON_FLOAT16 = 1e-1;
export function expectValuesInRange(actual, low, high) {
  for (const v of actual) if (v < low || v > high) throw new Error(`${v} is not within ${low} to ${high}`);
}
export const expectArrayBuffersEqual = (a, b) => compare(new Float32Array(a), new Float32Array(b), 0);
export const expectPromiseToFail = (fn, done) => fn().then(() => done.fail(), () => done());
export const encodeStrings = () => {
  throw new Unsupported("tensors of strings");
};

/** The reason why an error is no failure: something is not there. */
function isMissing(e) {
  if (e instanceof Unsupported) return e.message;
  const name = /(?:^|\.)(\w+) is not a (?:function|constructor)$/.exec(e?.message)?.[1];
  return name && `mlrun has no ${name}`;
}

async function run({ fn, suites }) {
  for (const suite of suites) for (const before of suite.before) await before();
  try {
    if (fn.length === 0) return await fn();
    await new Promise((resolve, reject) => {
      const done = Object.assign(() => resolve(), { fail: (e) => reject(e ?? new Error("failed")) });
      Promise.resolve(fn(done)).catch(reject);
    });
  } finally {
    for (const suite of suites.toReversed()) for (const after of suite.after) await after();
  }
}

export async function finish() {
  // A test that does not wait for its last promise ends before it.
  globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
  const seen = new Map();
  for (const [file, load] of files) {
    [suites, tests] = [[], []];
    try {
      await load();
    } catch (e) {
      it("(as a whole)", () => {
        throw e;
      });
    }
    for (const test of tests) {
      // A colon ends the name in the list of results.
      let name = [file, ...test.suites.map((s) => s.name), test.name].join(" > ").replace(/\s+/g, " ").replaceAll(":", ";").trim();
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      if (count > 1) name += ` #${count}`;
      let line = `passed ${name}`;
      raised = null;
      manualSeed(1);
      try {
        await run(test);
      } catch (e) {
        const reason = isMissing(e) ?? raised ?? reasonFor(name);
        const text = String(e?.message ?? e).replace(/\s+/g, " ").slice(0, 200);
        line = reason ? `excluded ${name}: ${reason}` : `failed ${name}: ${e?.name}: ${text}`;
      }
      console.log(line);
    }
  }
}
