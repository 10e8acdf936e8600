// The runtime half of the ownership pass: what compiled code calls. See DESIGN.md.
//
// Invariant: `register` is empty or holds the value that the last compiled function or tensor
// operation gave, with one count that nobody has claimed. Deliberately not here: how a handle
// stores its count (`configure`), and how functions of other scripts are recognised natively.

let counts;
let register;
// Containers that are in flight with the register's value; until it is claimed they give up nothing.
let lifted;

/**
 * `is(v)`: v is a live or released handle. `shared(v)`, `share(v)`: its sticky flag. `retain(v)`;
 * `release(v)`: one count less, frees at zero. `operations`: functions of the library that follow
 * the protocol.
 */
export function configure(hooks) {
  counts = hooks;
}

/** Called by every tensor operation with its result. */
export function given(v) {
  register = v;
  lifted = undefined;
  return v;
}

/** The result of a library function that only hands an argument back: nobody may claim it. */
export function borrowed(v) {
  register = undefined;
  return v;
}

// No step here may be one that a program can replace or watch: lists are chains of objects or have
// no prototype, nothing is spread or iterated, no method is looked up on a program's prototype.

const { apply, getOwnPropertyDescriptor, ownKeys, getPrototypeOf } = Reflect;
const { hasOwn, isExtensible, setPrototypeOf, prototype: ObjectPrototype } = Object;
const A = Array.prototype;
const { isArray } = Array;
const toText = Function.prototype.toString;
const uncurried = (f) => Function.prototype.call.bind(f);
const endsWith = uncurried(String.prototype.endsWith);
const includes = uncurried(Array.prototype.includes);

/** A class of collections whose methods a program cannot replace. */
function safe(C) {
  const Safe = class extends C {};
  for (const key of ownKeys(C.prototype)) {
    if (key !== "constructor") Object.defineProperty(Safe.prototype, key, getOwnPropertyDescriptor(C.prototype, key));
  }
  Object.setPrototypeOf(Safe.prototype, null);
  return Safe;
}
const [SafeMap, SafeSet, SafeWeakMap, SafeWeakSet] = [Map, Set, WeakMap, WeakSet].map(safe);

const MARK = "/*$own*/";
const TOKEN_MARK = "/*$own!*/";
const GENERATOR_MARK = "/*$own~*/";
const TAKES = Symbol("takes a token");
const FORWARD_MARK = "/*$own^*/";
const FORWARDS = Symbol("hands the arguments of new on to its parent");
const YIELDS = Symbol("takes a token whenever it is resumed");

/** `f` follows the protocol: it was compiled, or belongs to the library. */
export function compiled(f) {
  if (typeof f !== "function") return false;
  const answer = answerFor(f);
  return answer === FORWARDS ? compiled(getPrototypeOf(f)) : answer === true || answer === TAKES;
}

/** Of a script that the pass compiled, the mark at the end of a function is the compiler's. */
function examined(f) {
  if (counts.operations.has(f)) return true;
  if (counts.ours !== undefined && !counts.ours(f)) return false;
  const text = apply(toText, f, []);
  if (endsWith(text, `${TOKEN_MARK}}`)) return TAKES;
  if (endsWith(text, `${GENERATOR_MARK}}`)) return YIELDS;
  if (endsWith(text, `${FORWARD_MARK}}`)) return FORWARDS;
  return endsWith(text, `${MARK}}`) || endsWith(text, `${MARK})`);
}

/** First thing in a compiled module: `f` is one of its functions. */
export function module(f) {
  counts.module?.(f);
}

/** `f` is a compiled generator function: calls of it share their operands unless a loop holds them. */
const yields = (f) => typeof f === "function" && answerFor(f) === YIELDS;

/** Puts a private stamp on an object that already exists: `super` returns it. */
class Given {
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
}
const frozen = new SafeWeakMap();

/** The answer about a function, found once for each. */
function answerFor(f) {
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

/** The count of a container: an array, object literal or instance stamped at birth. */
class Stamp extends Given {
  #rc = 1;
  #shared = false;
  /** How often it was handed out and not claimed yet: what it held then others may have seen. */
  #flights = 0;
  /** It may hold a value with a count. */
  #holds = false;
  /** It may hold containers. */
  #deep = false;
  /** An array with properties that are no elements. */
  #odd = false;
  static isOdd(v) {
    return v.#odd;
  }
  static makeOdd(v) {
    v.#odd = true;
  }
  static has(v) {
    return #rc in v;
  }
  static isShared(v) {
    return v.#shared;
  }
  static isFlying(v) {
    return v.#flights > 0;
  }
  static fly(v, by) {
    v.#flights += by;
  }
  static isDeep(v) {
    return v.#deep;
  }
  static deepen(v) {
    v.#deep = v.#holds = true;
  }
  static holds(v) {
    return v.#holds;
  }
  static keep(v) {
    v.#holds = true;
  }
  static share(v) {
    v.#shared = true;
  }
  static retain(v) {
    if (v.#rc <= 0) counts.dead?.("retained", v);
    v.#rc++;
  }
  /** True if that was the last count. */
  static release(v) {
    if (v.#rc <= 0) counts.dead?.("released twice", v);
    return --v.#rc === 0;
  }
}

function counted(v) {
  if (typeof v !== "object" || v === null) return false;
  if (counts.is(v)) return !counts.shared(v);
  return Stamp.has(v) && !Stamp.isShared(v);
}

function retain(v) {
  if (counts.is(v)) counts.retain(v);
  else Stamp.retain(v);
}

// An array that is longer is asked for its keys: it may have few.
const SPARSE = 2 ** 20;

/** Calls `visit` on values of own data properties; runs no code of the program. */
function children(container, visit) {
  if (isArray(container) && container.length < SPARSE && !(Stamp.has(container) && Stamp.isOdd(container))) {
    // Its own properties are its elements: what could make them accessors has it shared first.
    for (let i = 0; i < container.length; i++) if (hasOwn(container, i)) visit(container[i]);
    return;
  }
  const keys = ownKeys(container);
  for (let i = 0; i < keys.length; i++) {
    const property = getOwnPropertyDescriptor(container, keys[i]);
    if (hasOwn(property, "value")) visit(property.value);
  }
}

/** One count less of a counted value; at zero its children follow, without recursion. */
function release(v) {
  if (counts.is(v)) return counts.release(v);
  let work = { value: v, rest: undefined };
  while (work !== undefined) {
    const next = work.value;
    work = work.rest;
    if (counts.is(next)) {
      counts.release(next);
    } else if (Stamp.release(next)) {
      children(next, (child) => {
        if (counted(child)) work = { value: child, rest: work };
      });
      counts.died?.(next);
    }
  }
}

const isContainer = (v) => !counts.is(v);

/** `v` and containers below it leave for whoever gets hold of them. */
function lift(v) {
  let all = { value: v, rest: undefined };
  Stamp.fly(v, 1);
  if (!Stamp.isDeep(v)) return all;
  const seen = new SafeSet();
  seen.add(v);
  let work = all;
  while (work !== undefined) {
    const next = work.value;
    work = work.rest;
    if (!Stamp.isDeep(next)) continue;
    children(next, (child) => {
      if (!counted(child) || !isContainer(child) || seen.has(child)) return;
      seen.add(child);
      Stamp.fly(child, 1);
      all = { value: child, rest: all };
      work = { value: child, rest: work };
    });
  }
  return all;
}

/** The register's value arrived. */
function claimed() {
  register = undefined;
  if (lifted === undefined) return;
  for (let at = lifted; at !== undefined; at = at.rest) Stamp.fly(at.value, -1);
  lifted = undefined;
}

/** Takes over the count that `f` gave with `v`, or retains. */
export function own(v, f) {
  if (transfer !== undefined || frame !== undefined) {
    if (settle(v, f)) return v;
  }
  if (!counted(v)) return v;
  if (v === register && compiled(f)) {
    claimed();
  } else {
    register = undefined;
    retain(v);
  }
  return v;
}

/** `own` for a callee that is known to follow the protocol. */
export function took(v) {
  if (!counted(v)) return v;
  if (v === register) {
    claimed();
  } else {
    register = undefined;
    retain(v);
  }
  return v;
}

/** `ignore` for a callee that is known to follow the protocol. */
export function lose(v) {
  if (v !== undefined && v === register && counted(v)) {
    claimed();
    release(v);
  }
  register = undefined;
  return v;
}

/** Returns a value that nobody claimed, so that nobody claims it later. */
export function bare(v) {
  register = undefined;
  return v;
}

/** Drops an ignored result. */
export function ignore(v, f) {
  if (transfer !== undefined || frame !== undefined) {
    if (settle(v, f)) {
      if (counted(v)) release(v);
      return v;
    }
  }
  if (v !== undefined && v === register && counted(v) && compiled(f)) {
    claimed();
    release(v);
  }
  register = undefined;
  return v;
}

/** A result that is returned as it is: the register stays only if `f` itself gave it. */
export function tail(v, f) {
  if (transfer !== undefined || frame !== undefined) {
    if (settle(v, f)) return give(v);
  }
  if (register !== undefined && (register !== v || !compiled(f))) return lend(v);
  return register === undefined ? lend(v) : v;
}

/** A borrowed value gets a count of its own. */
export function hold(v) {
  if (counted(v)) retain(v);
  return v;
}

/** Empties a slot: `slot = drop(slot)`. */
export function drop(v) {
  if (counted(v)) release(v);
  return undefined;
}

/** Replaces a slot's value: `slot = put(value, slot)`. */
export function put(v, old) {
  if (counted(old)) release(old);
  return v;
}

/** Hands a slot's count to the caller: `give(x, slot = void 0)`. */
export function give(v) {
  lifted = undefined;
  if (counted(v)) {
    register = v;
    if (isContainer(v)) lifted = lift(v);
  } else {
    register = undefined;
  }
  return v;
}

/** A value that was given stays given, whatever ran since. */
export function again(v) {
  if (v === undefined || register === v) return;
  register = v;
  lifted = undefined;
}

/** Hands a borrowed value to the caller with a count of its own. */
export function lend(v) {
  return give(hold(v));
}

/** Hands a slot's count to a promise: nobody claims it. */
export function leave(v) {
  return share(v);
}

// A token carries the count of what an asynchronous function completes with to the `await` that
// made it just before the call. Nothing runs between the two, so it cannot go astray.
let next;

/** A fresh token. */
export const token = () => ({ value: undefined });

/** The last operand of a call that is awaited. */
export function ticket(t, f, last) {
  next = typeof f === "function" && answerFor(f) === TAKES ? t : undefined;
  return last;
}

/** The callee of an awaited call without operands. */
export function ticketFor(t, f) {
  next = typeof f === "function" && answerFor(f) === TAKES ? t : undefined;
  return f;
}

/** First thing in an asynchronous function. */
export function enter() {
  const t = next;
  next = undefined;
  return t;
}

/** Completes with a value that brings its count. */
export function done(t, v) {
  if (!counted(v)) return v;
  if (t === undefined) return share(v);
  t.value = v;
  return v;
}

/** Completes with a borrowed value. */
export function pass(t, v) {
  return done(t, hold(v));
}

/** What an `await` gives: the token's count, or one of its own. */
export function claim(v, t) {
  if (!counted(v)) return v;
  if (t !== undefined && t.value === v) t.value = undefined;
  else retain(v);
  return v;
}

/** Uncounted code can see `v`, and all that it leads to, from now on. */
export function share(v) {
  if (!counted(v)) return v;
  let work = { value: v, rest: undefined };
  while (work !== undefined) {
    const next = work.value;
    work = work.rest;
    if (counts.is(next)) {
      counts.share(next);
    } else {
      Stamp.share(next);
      children(next, (child) => {
        if (counted(child)) work = { value: child, rest: work };
      });
    }
  }
  return v;
}

// A method under one of these names runs without a call in the program.
const hooks = ["valueOf", "toString", "toJSON", "then", Symbol.toPrimitive, Symbol.iterator];

/** Stamps a fresh literal and retains what it holds. */
export function lit(v) {
  for (let i = 0; i < hooks.length && !isArray(v); i++) {
    if (hasOwn(v, hooks[i])) {
      children(v, share);
      return v;
    }
  }
  new Stamp(v);
  children(v, (child) => {
    if (!counted(child)) return;
    retain(child);
    Stamp.keep(v);
    if (isContainer(child)) Stamp.deepen(v);
  });
  return v;
}

/** Stamps a container of the library that owns what it holds. */
export function adopt(v) {
  new Stamp(v);
  Stamp.deepen(v);
  return v;
}

// A token that `new` made just before it called, for the instance that the base class makes.
let birthToken;

/** All operands of `new f(...)` are there. */
export function birth(f, text) {
  if (text !== undefined && !isConstructor(f)) throw new TypeError(`${text} is not a constructor`);
  return birthToken = compiled(f) ? { target: f, value: undefined } : undefined;
}

function isConstructor(f) {
  if (typeof f !== "function") return false;
  if (compiled(f) && getOwnPropertyDescriptor(f, "prototype")?.writable === false) return true;
  try {
    new (new Proxy(f, { construct: () => ({}) }))();
    return true;
  } catch {
    return false;
  }
}

export const first = (v) => v;

/** What `new` gave: the count that the instance was made with, or one of its own. */
export function fresh(v, t) {
  birthToken = undefined;
  if (!counted(v)) return v;
  if (t !== undefined && t.value === v) t.value = undefined;
  else retain(v);
  return v;
}

/** Stamps an instance when the constructor of its base class starts: if every class that it is an
 * instance of brings a count with each field that it defines. */
export function made(v, target) {
  const t = birthToken;
  birthToken = undefined;
  // An instance that other code makes is never counted.
  if (t === undefined || t.target !== target) return;
  for (let c = target; c !== Function.prototype; c = getPrototypeOf(c)) {
    if (c === null || !(compiled(c) || (typeof c === "function" && answerFor(c) === FORWARDS))) return;
  }
  if (Stamp.has(v)) return;
  new Stamp(v);
  Stamp.deepen(v);
  t.value = v;
}

/** A field's first value: its count goes to the field. */
export function field(v) {
  if (!counted(v)) return v;
  return took(v);
}

// Counts of parameters' defaults, until the function takes them.
let defaults;
let waiting = 0;

/** A parameter's default. */
export function dflt(v) {
  field(v);
  if (counted(v)) {
    if (waiting > 15) {
      defaults = undefined;
      waiting = 0;
    }
    defaults = { value: v, rest: defaults };
    waiting++;
  }
  return v;
}

/** A parameter that may have come from its default. */
export function arg(v) {
  if (!counted(v)) return v;
  for (let at = defaults, before; at !== undefined; before = at, at = at.rest) {
    if (at.value !== v) continue;
    if (before === undefined) defaults = at.rest;
    else before.rest = at.rest;
    waiting--;
    return v;
  }
  retain(v);
  return v;
}

/** `arguments` shows what was passed. */
export function shareAll(list) {
  for (let i = 0; i < list.length; i++) share(list[i]);
}

/** Just before `this.#p = v`: `v` brings its count, that of the old value is given up. */
export function swap(v, old) {
  if (counted(old)) release(old);
  return v;
}

/** Just before `o[key] = v`: takes a count of `v`, gives up that of the old value. */
export function store(o, key, v) {
  if (typeof o !== "object" || o === null || !counted(o) || !Stamp.has(o)) return share(v);
  // Nothing to give up, nothing to take, and no code to run: what is counted has data properties.
  if (!Stamp.holds(o) && typeof v !== "function" && !counted(v) && typeof key !== "object" && hasOwn(o, key)) {
    return v;
  }
  const property = typeof key === "object" ? undefined : getOwnPropertyDescriptor(o, key);
  if (property === undefined) {
    // An accessor on the prototype would be a call.
    if (typeof key === "object" || typeof key === "function" || inherits(o, key)) {
      share(o);
      return share(v);
    }
    if (includes(hooks, key) || !isExtensible(o)) {
      share(o);
      return share(v);
    }
    if (typeof key !== "number" && isArray(o)) Stamp.makeOdd(o);
    taken(o, v);
    return v;
  }
  if (!hasOwn(property, "value") || !property.writable) {
    share(o);
    return share(v);
  }
  taken(o, v);
  if (counted(property.value) && !Stamp.isFlying(o)) release(property.value);
  return v;
}

/** `o` inherits `key`. So it is taken to do from a proxy, which must not notice the question. */
function inherits(o, key) {
  for (let p = getPrototypeOf(o); p !== null; p = getPrototypeOf(p)) {
    if (p !== A && p !== ObjectPrototype && counts.isProxy?.(p)) return true;
    if (hasOwn(p, key)) return true;
  }
  return false;
}

/** A container keeps `v`. */
function taken(container, v) {
  if (!counted(v)) return;
  retain(v);
  Stamp.keep(container);
  if (isContainer(v)) Stamp.deepen(container);
}

/** It keeps the values of a list from a place on. */
function takenAll(container, values, from) {
  for (let i = from; i < values.length; i++) taken(container, values[i]);
}

const arrayIterator = Array.prototype[Symbol.iterator];
const iteratorPrototype = getPrototypeOf([][Symbol.iterator]());
const iteratorNext = iteratorPrototype.next;

/** A value that is iterated: only the original array iterator keeps to itself what it sees. */
export function spread(v) {
  if (!counted(v)) return v;
  const original = isArray(v) && v[Symbol.iterator] === arrayIterator &&
    iteratorPrototype.next === iteratorNext;
  return original ? v : share(v);
}

/** `...xs` in a call: a list that holds the elements as long as the call needs them. */
export function list(v) {
  if (!counted(v)) return v;
  return spread(v) === v && !Stamp.isShared(v) ? lit([...v]) : v;
}

// Generators that a loop drives. Before each step the driver leaves a token, which the body takes
// first thing, and which the body's next `yield` fills; nothing runs in between.
let stepToken;

/** First thing in a generator, and after each `yield`. */
export function resume() {
  const t = stepToken;
  stepToken = undefined;
  return t;
}

/** `resumed(yield v, token = resume())`. */
export const resumed = (v) => v;

const generators = new SafeWeakSet();
const Generator = Object.getPrototypeOf(function* () {}).prototype;
const AsyncGenerator = Object.getPrototypeOf(async function* () {}).prototype;
const asyncIteratorPrototype = getPrototypeOf(AsyncGenerator);
const nexts = new SafeMap([[Generator, Generator.next], [AsyncGenerator, AsyncGenerator.next]]);

/** `own` for calls of a generator function of the same file. */
export function ownGen(v, f) {
  if (yields(f)) {
    generators.add(v);
    return v;
  }
  return own(v, f);
}

const value = (o, key) => getOwnPropertyDescriptor(o, key)?.value;
const plainObject = (o) => typeof o === "object" && o !== null && counts.isProxy?.(o) === false;

const { iterator: iteratorKey, asyncIterator: asyncIteratorKey } = Symbol;

/** The `next` of a generator whose steps are those of the language. */
const untouched = (v) => (ownKeys(v).length > 0 ? undefined : originalNext(getPrototypeOf(v)));

function originalNext(proto) {
  if (!nexts.has(proto)) {
    if (!plainObject(proto)) return undefined;
    if (hasOwn(proto, "next") || hasOwn(proto, "return")) return undefined;
    if (hasOwn(proto, iteratorKey) || hasOwn(proto, asyncIteratorKey)) return undefined;
    proto = getPrototypeOf(proto);
  }
  const original = nexts.get(proto);
  if (original === undefined || value(proto, "next") !== original) return undefined;
  const home = proto === Generator ? iteratorHome : asyncIteratorPrototype;
  const key = proto === Generator ? iteratorKey : asyncIteratorKey;
  if (hasOwn(proto, key) || value(home, key) !== iterates.get(key)) return undefined;
  return original;
}

const iteratorHome = getPrototypeOf(Generator);
const iterates = new SafeMap([
  [Symbol.iterator, iteratorHome[Symbol.iterator]],
  [Symbol.asyncIterator, asyncIteratorPrototype[Symbol.asyncIterator]],
]);

/** Steps through a generator, and says for each step that the loop takes what is yielded. */
class Driver {
  #generator;
  #next;
  #token;
  constructor(generator, next) {
    this.#generator = generator;
    this.#next = next;
  }
  [Symbol.iterator]() {
    return this;
  }
  [Symbol.asyncIterator]() {
    return this;
  }
  next() {
    stepToken = this.#token = { value: undefined };
    try {
      return apply(this.#next, this.#generator, []);
    } finally {
      stepToken = undefined;
    }
  }
  get return() {
    const f = this.#generator.return;
    return f === undefined || f === null ? f : () => apply(f, this.#generator, []);
  }
  static took(d) {
    if (typeof d !== "object" || d === null || !(#token in d)) return;
    const v = d.#token.value;
    d.#token.value = undefined;
    if (counted(v)) release(v);
  }
}
Object.setPrototypeOf(Driver.prototype, null);

/** What a loop runs over; `f` made it just now. */
export function drive(v, f, awaits) {
  if (typeof v !== "object" || v === null) return v;
  if (generators.has(v) || (f !== undefined && !counted(v) && yields(f))) {
    const next = untouched(v);
    const fits = awaits ? next !== undefined : next === Generator.next;
    if (fits && (awaits === false || next !== nexts.get(Generator))) return new Driver(v, next);
  }
  const held = awaits ? share(v) : spread(v);
  return driveOwn(held, awaits) ?? held;
}

/** A driver for an object that a compiled generator of its own iterates, such as a DataLoader. */
function driveOwn(v, awaits) {
  if (isArray(v)) return undefined;
  const f = property(v, awaits ? Symbol.asyncIterator : Symbol.iterator);
  if (!yields(f)) return undefined;
  const next = originalNext(value(f, "prototype"));
  if (next === undefined || awaits !== (next !== nexts.get(Generator))) return undefined;
  return new Driver(apply(f, v, []), next);
}

/** What reading `o[key]` gives where that runs no code, else undefined. */
function property(o, key) {
  for (; plainObject(o); o = getPrototypeOf(o)) {
    if (hasOwn(o, key)) return value(o, key);
  }
  return undefined;
}

/** The variables of the loop have what was yielded. */
export const yielded = (d) => Driver.took(d);

/** Operands of a call whose result a loop drives, and holds them for. */
export function askGen(f) {
  return steps(f) ? arguments[arguments.length - 1] : apply(ask, undefined, arguments);
}

export function askGenFetched(f) {
  return steps(f) ? arguments[arguments.length - 1] : apply(askFetched, undefined, arguments);
}

export function fnGen(f, text, receiver) {
  return steps(f) ? f : fn(f, text, receiver);
}

/** Nobody but the loop gets hold of what `f` makes. */
const steps = (f) => yields(f) && originalNext(value(f, "prototype")) !== undefined;

// Builtins that are known by what they do. `transfer`: one was just called whose result needs
// counting. `frame`: results of callbacks of the last array method that called any.
let transfer;
let frame;

/** Counts the result of a known builtin. True: `v` now has a count for whoever asks. */
function settle(v, f) {
  const known = transfer === f ? f : undefined;
  transfer = undefined;
  const last = frame;
  frame = undefined;
  if (last !== undefined && last.f === f) return last.finish(v);
  if (known === undefined) return false;
  return results.get(known)(v);
}

const moved = () => true;
const listed = (v) => (lit(v), true);

/** Builtins that give a fresh container, or a value that a container gives up. */
const results = new SafeMap([
  [A.pop, moved], [A.shift, moved],
  [A.slice, listed], [A.concat, listed],
]);

/** Array methods without callbacks: what they do with the operands, a list from a place on. */
const arrays = new SafeMap([
  [A.push, takenAll], [A.unshift, takenAll],
  [A.pop, () => {}], [A.shift, () => {}], [A.slice, () => {}], [A.concat, () => {}],
  [A.includes, () => {}], [A.indexOf, () => {}], [A.at, () => {}],
]);

/** Functions that look at their operands and keep nothing. */
const lookers = new SafeSet([
  Array.isArray, Object.is, Object.keys, Number, String, Boolean, Number.isFinite,
  Number.isInteger, isNaN, isFinite,
]);

const callbacks = new SafeMap([
  [A.forEach, () => ({ take() {}, finish: () => false })],
  [A.some, () => ({ take() {}, finish: () => false })],
  [A.every, () => ({ take() {}, finish: () => false })],
  [A.find, () => ({ take() {}, finish: () => false })],
  [A.findIndex, () => ({ take() {}, finish: () => false })],
  [A.map, () => new Results((element, result, owned) => (owned || hold(result), [result]))],
  [A.filter, () => new Results((element, result) => (result ? [hold(element)] : []))],
]);

/** Values that a builtin puts into its fresh array, each with a count. */
class Results {
  #values = setPrototypeOf([], null);
  #choose;
  constructor(choose) {
    this.#choose = choose;
  }
  take(element, result, owned) {
    const chosen = this.#choose(element, result, owned);
    if (chosen.length > 0) this.#values[this.#values.length] = chosen[0];
  }
  finish(v) {
    let same = isArray(v) && !Stamp.has(v) && v.length === this.#values.length;
    for (let i = 0; same && i < v.length; i++) same = hasOwn(v, i) && v[i] === this.#values[i];
    if (same) adopt(v);
    return same;
  }
}

/** A callback whose element is held while it runs. */
function holding(f, callback) {
  const mine = callbacks.get(f)();
  mine.f = f;
  return function (element, index, array) {
    hold(element);
    try {
      register = undefined;
      const result = apply(callback, this, [element, index, array]);
      const owned = register !== undefined && register === result && counted(result);
      if (owned) claimed();
      register = undefined;
      mine.take(element, result, owned);
      if (owned && f !== A.map) release(result);
      frame = mine;
      return result;
    } finally {
      if (counted(element)) release(element);
    }
  };
}

/** `reduce` without an initial value: each step's result is given up by the next. */
function folding(callback) {
  const mine = {
    f: A.reduce,
    value: undefined,
    owned: false,
    finish(v) {
      return this.owned && v === this.value;
    },
  };
  return function (before, element, index, array) {
    hold(element);
    const own = mine.owned && mine.value === before;
    mine.owned = false;
    if (!own) hold(before);
    try {
      register = undefined;
      const result = apply(callback, undefined, [before, element, index, array]);
      const given = register !== undefined && register === result && counted(result);
      if (given) claimed();
      register = undefined;
      if (!given) hold(result);
      mine.value = result;
      mine.owned = true;
      frame = mine;
      return result;
    } finally {
      if (counted(before)) release(before);
      if (counted(element)) release(element);
    }
  };
}

const ordinary = (v) => isArray(v) && !Stamp.isFlying(v) && getPrototypeOf(v) === A;

const makers = new SafeSet([A.slice, A.concat, A.map, A.filter]);
const species = getOwnPropertyDescriptor(Array, Symbol.species).get;
const speciesKey = Symbol.species;

/** The method `f` of `v` gives no array but one that it makes itself. */
const makesItself = (f, v) => !makers.has(f) || (!hasOwn(v, "constructor") && value(A, "constructor") === Array &&
  getOwnPropertyDescriptor(Array, speciesKey)?.get === species);

/** `receiver` is an array of which `f` may be known. */
const fits = (f, receiver) =>
  counted(receiver) && Stamp.has(receiver) && ordinary(receiver) && makesItself(f, receiver);

/** A method of a receiver that may be counted: `askFetched` for builtins that are known. */
export function askOn(f, text, receiver, a, b) {
  transfer = frame = undefined;
  const n = arguments.length;
  if (n > 5 || isArray(receiver)) return apply(askOnAll, undefined, arguments);
  if (typeof f !== "function") throw new TypeError(`${text} is not a function`);
  return n < 5 ? ask(f, receiver, a) : ask(f, receiver, a, b);
}

function askOnAll(f, text, receiver) {
  const last = arguments[arguments.length - 1];
  if (typeof f === "function" && fits(f, receiver)) {
    const effect = arrays.get(f);
    if (effect !== undefined) {
      effect(receiver, arguments, 3);
      if (results.has(f)) transfer = f;
      return last;
    }
    if (arguments.length === 4 && compiled(last)) {
      if (callbacks.has(f)) return holding(f, last);
      if (f === A.reduce) return folding(last);
    }
  }
  return apply(askFetched, undefined, arguments);
}

const seen = new SafeSet([
  A.push, A.unshift, A.includes, A.indexOf, A.forEach, A.some, A.every, A.findIndex,
]);

/** `askOn` where nobody counts the result: for methods whose result needs no counting. */
export function askSeen(f, text, receiver) {
  if (isArray(receiver) && seen.has(f)) return apply(askOn, undefined, arguments);
  return apply(askFetched, undefined, arguments);
}

/** `askOn` for a call without operands. */
export function fnOn(f, text, receiver) {
  transfer = frame = undefined;
  if (results.has(f) && fits(f, receiver)) {
    transfer = f;
    return f;
  }
  return fn(f, text, receiver);
}

/** `f` may keep a function that it gets. `confined`: what it gives is only called. */
export function keeps(f, confined) {
  if (callbacks.has(f) || f === A.reduce) return false;
  return counts.lends?.get(f) === undefined || (counts.lends.get(f) === "wraps" && !confined);
}

/** Operands of a call of `f`; gives the last one. */
export function ask(f, a, b, c) {
  // No list for few operands: programs consist of such calls.
  const n = arguments.length;
  if (n > 4) return apply(askAll, undefined, arguments);
  if ((counted(a) || (n > 2 && counted(b)) || (n > 3 && counted(c))) && keepsOperands(f)) {
    share(a);
    share(b);
    share(c);
  }
  return n < 3 ? a : n < 4 ? b : c;
}

const keepsOperands = (f) => !lookers.has(f) && !compiled(f);

function askAll(f) {
  return askFrom(f, arguments, 1);
}

/** The operands are those of a list from a place on. */
function askFrom(f, list, from) {
  for (let i = from; i < list.length; i++) {
    if (!counted(list[i])) continue;
    if (keepsOperands(f)) for (let j = from; j < list.length; j++) share(list[j]);
    break;
  }
  return list[list.length - 1];
}

/** Like `ask` for a callee that was fetched before the operands. */
export function askFetched(f, text, a, b, c) {
  if (typeof f !== "function") throw new TypeError(`${text} is not a function`);
  switch (arguments.length) {
    case 3: return ask(f, a);
    case 4: return ask(f, a, b);
    case 5: return ask(f, a, b, c);
    default: return apply(askFetchedAll, undefined, arguments);
  }
}

function askFetchedAll(f) {
  return askFrom(f, arguments, 2);
}

/** Like `askFetched` where there are no operands but perhaps a receiver; gives `f`. */
export function fn(f, text, receiver) {
  if (typeof f !== "function") throw new TypeError(`${text} is not a function`);
  if (counted(receiver) && !compiled(f)) share(receiver);
  return f;
}

/** `call(f, receiver, ...operands)`, without a frame of its own. */
export const call = Function.prototype.call.bind(Function.prototype.call);

/** `o.T` or `o.grad`: accessors of tensors that make a new handle. */
export function view(o, key) {
  register = undefined;
  const v = o[key];
  if (!counted(v)) return v;
  const mine = v === register && genuine(o, key);
  register = undefined;
  if (!mine) retain(v);
  return v;
}

/** `o` is a tensor that has the library's own accessor under this name. */
function genuine(o, key) {
  if (typeof o !== "object" || !counts.is(o)) return false;
  if (getPrototypeOf(o) !== counts.prototype || hasOwn(o, key)) return false;
  const property = getOwnPropertyDescriptor(counts.prototype, key);
  return property !== undefined && compiled(property.get);
}
