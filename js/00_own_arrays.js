// Array methods that are known by what they do with elements, and other builtins that keep nothing.
//
// Invariant: a builtin is known only if it is the original one, its receiver an ordinary counted
// array, and its callback compiled; everything else shares what it gets.

import {
  A, SafeMap, SafeSet, apply, compiled, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray,
  setPrototypeOf, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  Stamp, adopt, claimed, counted, counts, hold, lit, register, release, unclaimable,
} from "ext:mlrun_tensor/00_own_counts.js";
import { ask, askFetched, fn } from "ext:mlrun_tensor/00_own_calls.js";
import { takenAll } from "ext:mlrun_tensor/00_own_places.js";

// Builtins that are known by what they do. `transfer`: one was just called whose result needs
// counting. `frame`: results of callbacks of the last array method that called any.
export let transfer;
export let frame;

/** Counts the result of a known builtin. True: `v` now has a count for whoever asks. */
export function settle(v, f) {
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
      unclaimable();
      const result = apply(callback, undefined, [before, element, index, array]);
      const given = register !== undefined && register === result && counted(result);
      if (given) claimed();
      unclaimable();
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
