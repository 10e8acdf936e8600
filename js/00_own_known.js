// Which functions follow the protocol of the ownership pass, found once for each function object.
//
// Invariant: no step here, or in the other rooms of the runtime half, may be one that a program can
// replace or watch: lists are chains of objects or have no prototype, nothing is spread or iterated,
// no method is looked up on a program's prototype. Deliberately not here: counts of values.

export const { apply, defineProperty, getOwnPropertyDescriptor, ownKeys, getPrototypeOf } = Reflect;
export const { hasOwn, isExtensible, setPrototypeOf, prototype: ObjectPrototype } = Object;
export const A = Array.prototype;
export const { isArray } = Array;
const toText = Function.prototype.toString;
const uncurried = (f) => Function.prototype.call.bind(f);
const endsWith = uncurried(String.prototype.endsWith);
const lastIndexOf = uncurried(String.prototype.lastIndexOf);
export const slice = uncurried(String.prototype.slice);
export const startsWith = uncurried(String.prototype.startsWith);
const { parse } = JSON;
export const includes = uncurried(Array.prototype.includes);
export const contains = uncurried(String.prototype.includes);

/** What an own data property holds. */
export const value = (o, key) => getOwnPropertyDescriptor(o, key)?.value;

/** A class of collections whose methods a program cannot replace. */
export function safe(C) {
  const Safe = class extends C {};
  for (const key of ownKeys(C.prototype)) {
    if (key !== "constructor") Object.defineProperty(Safe.prototype, key, getOwnPropertyDescriptor(C.prototype, key));
  }
  Object.setPrototypeOf(Safe.prototype, null);
  return Safe;
}
export const [SafeMap, SafeSet, SafeWeakMap, SafeWeakSet] = [Map, Set, WeakMap, WeakSet].map(safe);

const MARK = "/*$own*/";
const TOKEN_MARK = "/*$own!*/";
const GENERATOR_MARK = "/*$own~*/";
const FORWARD_MARK = "/*$own^*/";
const LOOK_MARK = "/*$own?";

// Answers about functions. Those that follow the protocol have numbers above zero.
const UNKNOWN = 0;
const FOLLOWS = 1;
/** It takes a token when it is entered. */
export const TAKES = 2;
/** An operation that may end operands which are offered to it. */
const ENDS = 3;
/** A class that hands the arguments of `new` on to its parent. */
export const FORWARDS = -1;
/** It takes a token whenever it is resumed. */
const YIELDS = -2;
/** It follows the protocol for callers that look what its parameters' pattern reads, see `looks`. */
const LOOKS = -3;

let counts;

/** `operations`: functions of the library that follow the protocol; `endings`: those of them that take
 * first thing what `offer` left, if they are a method of the receiver; `ours(f)`, `module(f)`: whether
 * the script of `f` is one that a compiled module has named, and that it is. */
export function recognise(hooks) {
  counts = hooks;
}

/** `f` follows the protocol: it was compiled, or belongs to the library. */
export function compiled(f) {
  if (typeof f !== "function") return false;
  const answer = answerFor(f);
  return answer === FORWARDS ? compiled(getPrototypeOf(f)) : answer > UNKNOWN;
}

/** Of a script that the pass compiled, the mark at the end of a function is the compiler's. */
function examined(f) {
  if (counts.endings?.has(f)) return ENDS;
  if (counts.operations.has(f)) return FOLLOWS;
  if (counts.ours !== undefined && !counts.ours(f)) return UNKNOWN;
  const text = apply(toText, f, []);
  if (endsWith(text, `${TOKEN_MARK}}`)) return TAKES;
  if (endsWith(text, `${GENERATOR_MARK}}`)) return YIELDS;
  if (endsWith(text, `${FORWARD_MARK}}`)) return FORWARDS;
  const at = lastIndexOf(text, "/*");
  if (slice(text, at, at + LOOK_MARK.length) === LOOK_MARK && (endsWith(text, "*/}") || endsWith(text, "*/)"))) return LOOKS;
  return endsWith(text, `${MARK}}`) || endsWith(text, `${MARK})`) ? FOLLOWS : UNKNOWN;
}

/** First thing in a compiled module: `f` is one of its functions. */
export function module(f) {
  counts.module?.(f);
}

/** `f` is a compiled generator function: calls of it share their operands unless a loop holds them. */
export const yields = (f) => typeof f === "function" && answerFor(f) === YIELDS;

/** What the pattern among the parameters of `f` reads, if its callers must look; as for `open`. */
export function looks(f) {
  if (typeof f !== "function" || answerFor(f) !== LOOKS) return undefined;
  let shape = shapes.get(f);
  if (shape === undefined) {
    const text = apply(toText, f, []);
    const start = lastIndexOf(text, LOOK_MARK) + LOOK_MARK.length;
    shape = parse(slice(text, start, text.length - 3));
    shapes.set(f, shape);
  }
  return shape;
}
const shapes = new SafeWeakMap();

/** What `f` gives brings its count. */
export const gives = (f) => compiled(f) || looks(f) !== undefined;

/** Puts a private stamp on an object that already exists: `super` returns it. */
export class Given {
  constructor(object) {
    return object;
  }
}

/** What is known about a function. */
class Known extends Given {
  #answer;
  constructor(f, answer) {
    super(f);
    this.#answer = answer;
  }
  static has(f) {
    return #answer in f;
  }
  static get(f) {
    return f.#answer;
  }
  /** `compiled(f)`, where the answer has been found before: the JIT makes a comparison of it. */
  static follows(f) {
    return typeof f === "function" && #answer in f && f.#answer > UNKNOWN;
  }
  static ends(f) {
    return typeof f === "function" && #answer in f && f.#answer === ENDS;
  }
}
/** Short enough to be compiled in place: if true, `compiled(f)`. */
export const { follows, ends } = Known;
const frozen = new SafeWeakMap();

/** The answer about a function, found once for each. */
export function answerFor(f) {
  if (Known.has(f)) return Known.get(f);
  let answer = frozen.get(f);
  if (answer !== undefined) return answer;
  answer = examined(f);
  try {
    new Known(f, answer);
  } catch {
    frozen.set(f, answer);
  }
  return answer;
}
