// Values that reach their claimer later: through `await`, and through a generator that a loop drives.
//
// Invariant: a token is made just before a call and taken first thing in its callee; nothing of the
// program runs in between, so it cannot go astray.

import {
  A, ObjectPrototype, SafeMap, SafeSet, SafeWeakSet, TAKES, answerFor, apply, compiled, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray,
  ownKeys, setPrototypeOf, value, yields,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  adopt, claimed, counted, counts, hold, isContainer, register, release, retain, share, unclaimable,
} from "ext:mlrun_tensor/00_own_counts.js";
import { askMore, askOn, fnOn } from "ext:mlrun_tensor/00_own_arrays.js";
import { ask, askFetched, own } from "ext:mlrun_tensor/00_own_calls.js";
import { iterates as iteratesCollection, nextOf, rest, walks as walksCollection } from "ext:mlrun_tensor/00_own_collections.js";
import { arrayNext, awaitable, iterable, iterated, iteratorPrototype, list, listsAreQuiet, readsQuietly, spread, unseen } from "ext:mlrun_tensor/00_own_places.js";

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

/** A generator that a compiled function has made, for what steps through it at once. */
export const isMade = (v) => generators.has(v) && untouched(v) === Generator.next && listsAreQuiet();

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
  #shape;
  #token;
  constructor(generator, next, shape) {
    this.#generator = generator;
    this.#next = next;
    this.#shape = isArray(shape) ? shape : undefined;
  }
  [Symbol.iterator]() {
    return this;
  }
  [Symbol.asyncIterator]() {
    return this;
  }
  next() {
    // A pattern takes several steps before it has what was yielded.
    stepToken = this.#token = { value: undefined, before: this.#token };
    let step;
    try {
      step = apply(this.#next, this.#generator, []);
    } finally {
      stepToken = undefined;
    }
    // The token holds it.
    if (this.#shape !== undefined) looked(step.value, this.#shape);
    return step;
  }
  get return() {
    const f = this.#generator.return;
    return f === undefined || f === null ? f : () => apply(f, this.#generator, []);
  }
  static is(d) {
    return typeof d === "object" && d !== null && #token in d;
  }
  static took(d) {
    if (!Driver.is(d)) return;
    for (let token = d.#token; token !== undefined; token = token.before) {
      const v = token.value;
      token.value = undefined;
      if (counted(v)) release(v);
    }
    d.#token = undefined;
  }
}
Object.setPrototypeOf(Driver.prototype, null);

/** A pattern of the loop takes `v` apart: shared if that runs code, see `open`. Gives what is to be held
 * meanwhile: `v`, or the element in a pair that an array's iterator made of it. */
function looked(v, shape) {
  const paired = !counted(v) && isArray(v), element = paired ? value(v, 1) : v;
  // Nothing holds the key of a Map's pair while the pattern goes on.
  if (paired && isArray(shape)) share(value(v, 0));
  if (isArray(shape) && counted(element) && isContainer(element) && !readsQuietly(v, shape, 0, true)) share(element);
  return element;
}

/** The `next` of an iterator of an array, Map or Set, which is as the engine made it. */
const nextOfIterator = (v) => (plainObject(v) && getPrototypeOf(v) === iteratorPrototype &&
  iteratorPrototype.next === arrayNext && ownKeys(v).length === 0 ? arrayNext : nextOf(v));

/** Steps through an array, Map or Set, and holds each element until the loop's pattern has taken it apart. */
class Walker {
  #iterator;
  #next;
  #shape;
  #element;
  constructor(iterator, next, shape) {
    this.#iterator = iterator;
    this.#next = next;
    this.#shape = shape;
  }
  [Symbol.iterator]() {
    return this;
  }
  next() {
    const step = apply(this.#next, this.#iterator, []);
    this.#element = hold(looked(step.value, this.#shape));
    return step;
  }
  get return() {
    Walker.took(this);
    const f = this.#iterator.return;
    return f === undefined || f === null ? f : () => apply(f, this.#iterator, []);
  }
  static took(d) {
    if (typeof d !== "object" || d === null || !(#element in d)) return false;
    const v = d.#element;
    d.#element = undefined;
    if (counted(v)) release(v);
    return true;
  }
}
Object.setPrototypeOf(Walker.prototype, null);

/** What a loop runs over; `f` made it just now. `holds`: elements must live until the loop's pattern
 * has taken them apart; a list if there are patterns inside, see `open`; null: an array pattern takes apart what it gives. `text`: what V8
 * says if `v` cannot be iterated. */
export function drive(v, f, awaits, holds, text) {
  const pairs = holds === null;
  if (pairs) holds = undefined;
  if (text !== undefined && !isArray(v)) awaits ? awaitable(v, text) : iterable(v, text);
  if (typeof v !== "object" || v === null) return v;
  if (generators.has(v) || (f !== undefined && !counted(v) && yields(f))) {
    const next = untouched(v);
    const fits = awaits ? next !== undefined : next === Generator.next;
    if (fits && (awaits === false || next !== nexts.get(Generator))) return new Driver(v, next, holds);
  }
  if (holds !== undefined && nextOfIterator(v) !== undefined) return new Walker(v, nextOfIterator(v), holds);
  const stepped = awaits ? undefined : stepBy(v, holds);
  if (stepped !== undefined) return stepped;
  const held = awaits ? share(v) : iteratesCollection(v, pairs) ? v : spread(v);
  if (holds !== undefined && counted(held)) {
    const iterator = held[iteratorKey]();
    return new Walker(iterator, nextOfIterator(iterator), holds);
  }
  return driveOwn(held, awaits, holds) ?? held;
}

const ENDED = { __proto__: null, done: true, value: undefined };

/** Steps through an iterator of the program's own: what a step gives is given up when the turn ends. */
class Stepper {
  #iterator;
  #next;
  #owned;
  #holds;
  #element;
  constructor(iterator, next, owned, holds) {
    this.#iterator = iterator;
    this.#next = next;
    this.#owned = owned;
    this.#holds = holds;
  }
  [Symbol.iterator]() {
    return this;
  }
  next() {
    unclaimable();
    const step = apply(this.#next, this.#iterator, []);
    if (register === undefined || register !== step || !counted(step)) {
      unclaimable();
      return step;
    }
    claimed();
    if (value(step, "done") === true) {
      // The loop reads no more of it than that.
      release(step);
      this.#ended();
      return ENDED;
    } else {
      this.#step = step;
      if (this.#holds !== undefined) {
        // What is counted has data properties: the step's value is read without running code.
        this.#element = hold(looked(value(step, "value"), this.#holds));
      }
    }
    return step;
  }
  #step;
  #ended() {
    if (!this.#owned) return;
    this.#owned = false;
    release(this.#iterator);
  }
  get return() {
    const f = this.#iterator.return;
    if (f !== undefined && f !== null) return () => apply(f, this.#iterator, []);
    this.#ended();
    return f;
  }
  static is(d) {
    return typeof d === "object" && d !== null && #step in d;
  }
  static took(d) {
    if (!Stepper.is(d)) return false;
    const step = d.#step;
    d.#step = undefined;
    if (counted(step)) release(step);
    const element = d.#element;
    d.#element = undefined;
    if (counted(element)) release(element);
    return true;
  }
}
Object.setPrototypeOf(Stepper.prototype, null);

/** What is spread, and what `f` made just now: elements that a generator yields go into a list. */
export function collect(v, f, text) {
  const d = drive(v, f, false, undefined, text);
  const next = nextOf(v);
  if (next !== undefined) return unseen(rest(v, next));
  if (d === v) return list(v);
  if (!Driver.is(d) && !Stepper.is(d)) return d;
  const out = setPrototypeOf([], null);
  for (const x of d) {
    out[out.length] = hold(x);
    yielded(d);
  }
  return unseen(adopt(setPrototypeOf(out, A)));
}

/** A stepper for an object whose iterator and steps are made by compiled functions. */
function stepBy(v, holds) {
  if (isArray(v)) return undefined;
  const f = property(v, iteratorKey);
  if (!compiled(f)) return undefined;
  unclaimable();
  const iterator = apply(f, v, []);
  const owned = register !== undefined && register === iterator && counted(iterator);
  if (owned) claimed();
  unclaimable();
  const next = typeof iterator === "object" && iterator !== null ? property(iterator, "next") : undefined;
  if (compiled(next)) return new Stepper(iterator, next, owned, holds);
  // The loop goes on by itself with what was made.
  return { __proto__: null, [Symbol.iterator]: () => share(iterator) };
}

/** A driver for an object that a compiled generator of its own iterates, such as a DataLoader. */
function driveOwn(v, awaits, holds) {
  if (isArray(v)) return undefined;
  const f = property(v, awaits ? Symbol.asyncIterator : Symbol.iterator);
  if (!yields(f)) return undefined;
  const next = originalNext(value(f, "prototype"));
  if (next === undefined || awaits !== (next !== nexts.get(Generator))) return undefined;
  return new Driver(apply(f, v, []), next, holds);
}

/** What reading `o[key]` gives where that runs no code, else undefined. */
function property(o, key) {
  for (; plainObject(o); o = getPrototypeOf(o)) {
    if (hasOwn(o, key)) return value(o, key);
  }
  return undefined;
}

/** The variables of the loop have what was yielded. */
export const yielded = (d) => Walker.took(d) || Stepper.took(d) || Driver.took(d);

/** Operands of a call whose result a loop drives, and holds them for. */
export function askGen(f, last) {
  return steps(f) ? last : apply(ask, undefined, arguments);
}

export function askGenFetched(f, last) {
  return steps(f) ? last : apply(askFetched, undefined, arguments);
}

export function askGenOn(f, last) {
  return steps(f) ? last : apply(askOn, undefined, arguments);
}

export function askGenMore(f, last) {
  return steps(f) ? last : apply(askMore, undefined, arguments);
}

/** A loop whose head takes apart what each step gives. */
export function fnGen(f, text, receiver) {
  return steps(f) || walks(f, receiver) || walksCollection(f, receiver, true) ? f : fnOn(f, text, receiver);
}

/** A loop whose head may keep the pair that a step of `entries()` gives. */
export function fnEach(f, text, receiver) {
  const known = steps(f) || (f !== A.entries && walks(f, receiver)) || walksCollection(f, receiver, false);
  return known ? f : fnOn(f, text, receiver);
}

/** No loop: an iterator of the array may outlast what runs before it is empty. */
export function fnSteps(f, text, receiver) {
  return steps(f) || walksCollection(f, receiver, true) ? f : fnOn(f, text, receiver);
}

const walkers = new SafeSet([A.values, A.keys, A.entries]);

/** A loop over an iterator of the array itself, which nobody else gets hold of. */
const walks = (f, array) => walkers.has(f) && iterated(array) &&
  !hasOwn(iteratorPrototype, iteratorKey) && !hasOwn(iteratorPrototype, "return") && !hasOwn(iteratorHome, "return") &&
  !hasOwn(ObjectPrototype, "return") && value(iteratorHome, iteratorKey) === iterates.get(iteratorKey);

/** Nobody but the loop gets hold of what `f` makes. */
const steps = (f) => yields(f) && originalNext(value(f, "prototype")) !== undefined;
