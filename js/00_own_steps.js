// Values that reach their claimer later: through `await`, and through a generator that a loop drives.
//
// Invariant: a token is made just before a call and taken first thing in its callee; nothing of the
// program runs in between, so it cannot go astray.

import {
  SafeMap, SafeWeakSet, TAKES, answerFor, apply, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray,
  ownKeys, value, yields,
} from "ext:mlrun_tensor/00_own_known.js";
import { counted, counts, hold, release, retain, share } from "ext:mlrun_tensor/00_own_counts.js";
import { ask, askFetched, fn, own } from "ext:mlrun_tensor/00_own_calls.js";
import { spread } from "ext:mlrun_tensor/00_own_places.js";

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
export function askGen(f, last) {
  return steps(f) ? last : apply(ask, undefined, arguments);
}

export function askGenFetched(f, last) {
  return steps(f) ? last : apply(askFetched, undefined, arguments);
}

export function fnGen(f, text, receiver) {
  return steps(f) ? f : fn(f, text, receiver);
}

/** Nobody but the loop gets hold of what `f` makes. */
const steps = (f) => yields(f) && originalNext(value(f, "prototype")) !== undefined;
