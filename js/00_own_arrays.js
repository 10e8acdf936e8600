// Array methods that are known by what they do with elements, and other builtins that keep nothing.
//
// Invariant: a builtin is known only if it is the original one, its receiver an ordinary counted
// array, and its callback compiled; everything else shares what it gets.

import {
  A, SafeMap, SafeSet, apply, compiled, ends, follows, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray,
  setPrototypeOf, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  Stamp, adopt, claimed, counted, counts, hold, lit, offer, register, release, unclaimable,
} from "ext:mlrun_tensor/00_own_counts.js";
import { fetched, unknown } from "ext:mlrun_tensor/00_own_calls.js";
import { taken } from "ext:mlrun_tensor/00_own_places.js";

// A builtin that is known by what it does was just called, and its result needs counting: what it
// is, and how to. Of an array method with callbacks, the last one writes it.
export let builtin;

/** Counts the result of a known builtin. True: `v` now has a count for whoever asks. */
export function settle(v, f) {
  const last = builtin;
  builtin = undefined;
  return last.f === f && last.finish(v);
}

/** What is called next is no builtin that is known. */
export function forget() {
  builtin = undefined;
}

const moved = (f) => [f, { f, finish: () => true }];
const listed = (f) => [f, { f, finish: (v) => (lit(v), true) }];

/** Builtins that give a fresh container, or a value that a container gives up. */
const results = new SafeMap([moved(A.pop), moved(A.shift), listed(A.slice), listed(A.concat)]);

// Operands are the arguments of `askOn`: the last one second, the others from the fifth on.
const takes = (array, operands) => {
  taken(array, operands[1]);
  for (let i = 4; i < operands.length; i++) taken(array, operands[i]);
};

/** Array methods without callbacks: what they do with the operands. */
const arrays = new SafeMap([
  [A.push, takes], [A.unshift, takes],
  [A.pop, () => {}], [A.shift, () => {}], [A.slice, () => {}], [A.concat, () => {}],
  [A.includes, () => {}], [A.indexOf, () => {}], [A.at, () => {}],
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
      unclaimable();
      const result = apply(callback, this, [element, index, array]);
      const owned = register !== undefined && register === result && counted(result);
      if (owned) claimed();
      unclaimable();
      mine.take(element, result, owned);
      if (owned && f !== A.map) release(result);
      builtin = mine;
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
      unclaimable();
      const result = apply(callback, undefined, [before, element, index, array]);
      const given = register !== undefined && register === result && counted(result);
      if (given) claimed();
      unclaimable();
      if (!given) hold(result);
      mine.value = result;
      mine.owned = true;
      builtin = mine;
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
export function askOn(f, last, text, receiver, a) {
  return follows(f) ? last : apply(askedOn, undefined, arguments);
}

function askedOn(f, last, text, receiver, a) {
  builtin = undefined;
  if (isArray(receiver) && typeof f === "function" && fits(f, receiver)) {
    const effect = arrays.get(f);
    if (effect !== undefined) {
      effect(receiver, arguments);
      builtin = results.get(f);
      return last;
    }
    if (arguments.length === 4 && compiled(last)) {
      if (callbacks.has(f)) return holding(f, last);
      if (f === A.reduce) return folding(last);
    }
  }
  return apply(fetched, undefined, arguments);
}

/** `askOn` for an operation that is the last use of `which` of its operands: see `offer`. */
export function askLast(f, last, which, text, receiver) {
  return ends(f) ? (offer(receiver, last, which), last) : askOn(f, last, text, receiver);
}

const seen = new SafeSet([
  A.push, A.unshift, A.includes, A.indexOf, A.forEach, A.some, A.every, A.findIndex,
]);

/** `askOn` where nobody counts the result: for methods whose result needs no counting. */
export function askSeen(f, last, text, receiver) {
  return follows(f) ? last : apply(askedSeen, undefined, arguments);
}

function askedSeen(f, last, text, receiver) {
  return apply(isArray(receiver) && seen.has(f) ? askedOn : fetched, undefined, arguments);
}

/** `askOn` for a call without operands. */
export function fnOn(f, text, receiver) {
  return follows(f) ? f : askedFn(f, text, receiver);
}

/** `fnOn` for an operation that is the last use of its receiver. */
export function fnLast(f, text, receiver) {
  return ends(f) ? (offer(receiver, undefined, 1), f) : fnOn(f, text, receiver);
}

function askedFn(f, text, receiver) {
  if (isArray(receiver) && results.has(f) && fits(f, receiver)) {
    builtin = results.get(f);
    return f;
  }
  return unknown(f, text, receiver);
}

/** `f` may keep a function that it gets. `confined`: what it gives is only called. */
export function keeps(f, confined) {
  if (callbacks.has(f) || f === A.reduce) return false;
  return counts.lends?.get(f) === undefined || (counts.lends.get(f) === "wraps" && !confined);
}
