// Builtins that are known by what they do with elements: array methods, `Array.from`, `Object.values`
// and their like.
//
// Invariant: a builtin is known only if it is the original one, its receiver an ordinary array, and
// its callback compiled; everything else shares what it gets.

import {
  A, ObjectPrototype, SafeMap, SafeSet, SafeWeakSet, apply, compiled, ends, follows, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray,
  includes, isExtensible, ownKeys, setPrototypeOf, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  Stamp, adopt, children, claimed, counted, counts, hold, hooks, isContainer, lit, offer, register, release, retain, share, unclaimable,
} from "ext:mlrun_tensor/00_own_counts.js";
import { fetched, unknown } from "ext:mlrun_tensor/00_own_calls.js";
import { iterated, spread, store, taken } from "ext:mlrun_tensor/00_own_places.js";
import { knownOf, knownSet, visiting } from "ext:mlrun_tensor/00_own_collections.js";
import { collect, isMade } from "ext:mlrun_tensor/00_own_steps.js";

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

/** Builtins that give a fresh container, or what a container gives up. */
const results = new SafeMap([
  moved(A.pop), moved(A.shift), listed(A.slice), listed(A.concat),
]);

// Operands are the arguments of `askOn`: the last one second, the others from the fifth on.
const takes = (array, operands) => {
  taken(array, operands[1]);
  for (let i = 4; i < operands.length; i++) taken(array, operands[i]);
};

/** The array itself comes back. */
const itself = (f, array) => ({ f, finish: (v) => v === array && (retain(array), true) });

/** Every element is the array's own: none is looked up on a prototype, where code may be. */
function isDense(array) {
  for (let i = 0; i < array.length; i++) if (!hasOwn(array, i)) return false;
  return true;
}

/** Array methods of which more is known of some operands only: what they give, or undefined. Operands are as above. */
const wholes = new SafeMap([
  [A.reverse, (array) => (isDense(array) ? itself(A.reverse, array) : undefined)],
  [A.fill, (array, operands, alone) => (alone && isDense(array) ? filling(array, operands[1]) : undefined)],
  [A.toReversed, (array) => copied(A.toReversed, array)],
  // The conversion of its index comes before the copy.
  [A.with, (array) => copied(A.with, array)],
  [A.flat, (array, operands, alone) => (alone && (operands[1] === undefined || operands[1] === 1) ? flat(array) : undefined)],
]);

/** A copy that runs no code of the program while it is made. */
const copied = (f, array) => (isDense(array) ? { f, finish: (v) => (lit(v), true) } : undefined);

/** Builtins whose operands' conversion may run code that makes forget what is pending. */
const converting = new SafeSet([A.slice, A.with]);

/** The uncounted result of `f`: a copy that nothing is known of may hold what others count. */
export function uncertain(v, f) {
  if (isArray(v) && converting.has(f)) children(v, share);
  return v;
}

/** `fill(v)`: the array takes a count for each place, and gives up what was there when it is gone. */
function filling(array, v) {
  let old;
  children(array, (child) => {
    if (counted(child)) old = { value: child, rest: old };
  });
  for (let i = 0; i < array.length; i++) taken(array, v);
  const mine = itself(A.fill, array);
  const { finish } = mine;
  mine.finish = (result) => {
    if (!finish(result)) return false;
    let all = !Stamp.isFlying(array);
    children(array, (child) => {
      all &&= child === v;
    });
    for (; all && old !== undefined; old = old.rest) release(old.value);
    return true;
  };
  return mine;
}

/** `flat()` of arrays that run no code when they are read. */
function flat(array) {
  let quiet = isDense(array);
  children(array, (child) => {
    if (isArray(child)) quiet &&= isQuiet(child) && isDense(child);
  });
  return quiet ? { f: A.flat, finish: (v) => (lit(v), true) } : undefined;
}

/** Array methods without callbacks: what they do with the operands. */
const arrays = new SafeMap([
  // Of what splice gets, only what it puts in is counted.
  [A.push, takes], [A.unshift, takes], [A.splice, takes],
  [A.pop, () => {}], [A.shift, () => {}], [A.slice, () => {}], [A.concat, () => {}],
  [A.includes, () => {}], [A.indexOf, () => {}], [A.at, () => {}],
]);

const callbacks = new SafeMap([
  [A.forEach, () => ({ take() {}, finish: () => false })],
  [A.some, () => ({ take() {}, finish: () => false })],
  [A.every, () => ({ take() {}, finish: () => false })],
  [A.find, () => new Found()],
  [A.findLast, () => new Found()],
  [A.findIndex, () => ({ take() {}, finish: () => false })],
  [A.findLastIndex, () => ({ take() {}, finish: () => false })],
  [A.map, () => new Results((element, result, owned) => (owned || hold(result), [result]), true)],
  [A.filter, () => new Results((element, result) => (result ? [hold(element)] : []))],
  [A.flatMap, () => new Results(flattened, true)],
]);

/** What a callback of `flatMap` adds: the elements of an array, which goes, or the result itself. */
function flattened(element, result, owned) {
  if (!isArray(result)) return [owned ? result : hold(result)];
  const out = setPrototypeOf([], null);
  // Of another array nothing is known but what ends up in the list.
  if (!owned) return out;
  children(result, (child) => {
    out[out.length] = hold(child);
  });
  return out;
}

/** The element that `find` gives: its callback may take it out of the array. */
class Found {
  #value;
  take(element, result) {
    if (result) this.#value = hold(element);
  }
  finish(v) {
    return v !== undefined && v === this.#value;
  }
}

/** Values that a builtin puts into its fresh array, each with a count. */
class Results {
  #values = setPrototypeOf([], null);
  #choose;
  /** Given up when the builtin has read it. */
  #later;
  constructor(choose, keeps = false) {
    this.#choose = choose;
    /** What callbacks give goes into the array. */
    this.keeps = keeps;
  }
  take(element, result, owned) {
    const chosen = this.#choose(element, result, owned);
    for (let i = 0; i < chosen.length; i++) this.#values[this.#values.length] = chosen[i];
  }
  after(v) {
    this.#later = { value: v, rest: this.#later };
  }
  finish(v) {
    for (let at = this.#later; at !== undefined; at = at.rest) release(at.value);
    this.#later = undefined;
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
  return function (element) {
    hold(element);
    try {
      unclaimable();
      const result = apply(callback, this, arguments);
      const owned = register !== undefined && register === result && counted(result);
      if (owned) claimed();
      unclaimable();
      mine.take(element, result, owned);
      if (owned && f === A.flatMap && isArray(result)) mine.after(result);
      else if (owned && !mine.keeps) release(result);
      builtin = mine;
      return result;
    } finally {
      if (counted(element)) release(element);
    }
  };
}

/** A callback of `reduce`: each step's result is given up by the next. */
function folding(f, callback) {
  const mine = {
    f,
    value: undefined,
    owned: false,
    finish(v) {
      return this.owned && v === this.value;
    },
  };
  return function (before, element) {
    hold(element);
    const own = mine.owned && mine.value === before;
    mine.owned = false;
    if (!own) hold(before);
    try {
      unclaimable();
      const result = apply(callback, undefined, arguments);
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

const makers = new SafeSet([A.slice, A.concat, A.map, A.filter, A.flatMap, A.splice, A.flat]);
const folds = new SafeSet([A.reduce, A.reduceRight]);
const species = getOwnPropertyDescriptor(Array, Symbol.species).get;
const speciesKey = Symbol.species;

/** The method `f` of `v` gives no array but one that it makes itself. */
const makesItself = (f, v) => !makers.has(f) || (!hasOwn(v, "constructor") && value(A, "constructor") === Array &&
  getOwnPropertyDescriptor(Array, speciesKey)?.get === species);

/** `receiver` is an array of which `f` may be known. */
const fits = (f, receiver) =>
  counted(receiver) && Stamp.has(receiver) && ordinary(receiver) && makesItself(f, receiver);

/** The same, or an array that nobody counts: its elements are shared, or never given up. */
const walks = (f, receiver) =>
  fits(f, receiver) || (!counted(receiver) && counts.isProxy?.(receiver) === false &&
    getPrototypeOf(receiver) === A && makesItself(f, receiver));

/** A method of a receiver that may be counted: `askFetched` for builtins that are known. */
export function askOn(f, last, text, receiver, a) {
  return follows(f) ? last : apply(askedOn, undefined, arguments);
}

function askedOn(f, last, text, receiver, a) {
  builtin = undefined;
  if (typeof f !== "function") return apply(fetched, undefined, arguments);
  if (isArray(receiver)) {
    if (callbacks.has(f) && walks(f, receiver) && compiled(last)) return holding(f, last);
    if (folds.has(f) && walks(f, receiver) && compiled(last)) return folding(f, last);
    if ((f === A.sort || f === A.toSorted) && fits(f, receiver) && compiled(last)) return sorting(f, receiver, last);
    if (effected(f, receiver, arguments, true)) return last;
  }
  if (f === arrayFrom && receiver === ArrayClass && isMade(last)) return drained(last);
  if (makesOf(f, last, receiver) || collects(f, last, receiver)) return last;
  const visit = visiting(f, receiver, last);
  if (visit !== undefined) return visit;
  return apply(fetched, undefined, arguments);
}

/** Whether `f` is a method of a counted Map or Set that is known; then its operand is taken care of. */
function collects(f, operand, receiver) {
  const known = knownOf(f, receiver, operand);
  if (known !== undefined && known.f !== undefined) builtin = known;
  return known !== undefined;
}

/** `askOn` for `receiver.set(key, last)`. */
export function askSet(f, last, text, receiver, key) {
  return follows(f) ? last : apply(askedSet, undefined, arguments);
}

function askedSet(f, last, text, receiver, key) {
  builtin = undefined;
  const known = knownSet(f, receiver, key, last);
  if (known === undefined) return apply(fetched, undefined, arguments);
  builtin = known;
  return last;
}

/** Whether `f` is a method without callbacks that is known; then its operands are taken care of. */
function effected(f, receiver, operands, alone) {
  const effect = arrays.get(f);
  if (wholes.has(f)) return fits(f, receiver) && knownWhole(f, receiver, operands, alone);
  if (effect === undefined || !fits(f, receiver)) return false;
  if (f === A.concat && !areQuiet(operands)) return false;
  effect(receiver, operands);
  builtin = f === A.splice ? splicing(receiver) : results.get(f);
  return true;
}

function knownWhole(f, receiver, operands, alone) {
  const known = wholes.get(f)(receiver, operands, alone);
  if (known === undefined) return false;
  builtin = known;
  return true;
}

const spreadable = Symbol.isConcatSpreadable;

/** `concat` runs no code of the program with these operands: that could take out of the array what is
 * in the result already. */
function areQuiet(operands) {
  if (hasOwn(A, spreadable) || hasOwn(ObjectPrototype, spreadable) || hasOwn(counts.prototype, spreadable)) return false;
  if (!isQuiet(operands[1])) return false;
  for (let i = 4; i < operands.length; i++) if (!isQuiet(operands[i])) return false;
  return true;
}

/** `v` has no accessors, and inherits none. */
function isQuiet(v) {
  if (typeof v === "function") return false;
  if (typeof v !== "object" || v === null) return true;
  if (counts.isProxy?.(v) !== false) return false;
  const proto = getPrototypeOf(v);
  if (counts.is(v)) return proto === counts.prototype && !hasOwn(v, spreadable);
  if (counted(v)) return proto === A || proto === ObjectPrototype;
  if (!isArray(v) || proto !== A || hasOwn(v, spreadable)) return false;
  for (let i = 0; i < v.length; i++) {
    const property = getOwnPropertyDescriptor(v, i);
    if (property === undefined || !hasOwn(property, "value")) return false;
  }
  return true;
}

/** Counts move from the array to the list of what was taken out; not where the conversion of a
 * number made others see the array meanwhile. */
const splicing = (array) => ({
  f: A.splice,
  finish: (v) => fits(A.splice, array) && (adopt(v), true),
});

/** `askOn` for two operands and more: a callback among them is not the last, see `called`. */
export function askMore(f, last, text, receiver, a) {
  return follows(f) ? last : apply(askedMore, undefined, arguments);
}

function askedMore(f, last, text, receiver, a) {
  builtin = undefined;
  if (typeof f !== "function") return apply(fetched, undefined, arguments);
  if (isArray(receiver) && effected(f, receiver, arguments, false)) return last;
  if (f === assign && receiver === ObjectClass && assigned(arguments)) return last;
  if (f === arrayOf && receiver === ArrayClass) {
    builtin = listsOperands;
    return last;
  }
  // Its other operand is only handed on to the callback, which borrows it.
  if (wrappers.has(a)) return last;
  if (f === arrayFrom && receiver === ArrayClass && arguments.length < 6 && compiled(last)) {
    spread(a);
    return holding(f, last);
  }
  return apply(fetched, undefined, arguments);
}

/** `askOn` for a call with spread operands, of which only lists are at hand: `lists` has a bit for the last
 * operand, then for the others. What a list holds goes into the array, or to a callee that nothing is known of. */
export function askSpread(f, last, text, lists, receiver, a) {
  return follows(f) ? last : apply(askedSpread, undefined, arguments);
}

function askedSpread(f, last, text, lists, receiver, a) {
  builtin = undefined;
  if (wrappers.has(a)) return last;
  const puts = f === A.push || f === A.unshift || f === A.splice;
  if (!puts || !isArray(receiver) || !fits(f, receiver) || !areLists(arguments, lists)) return apply(fetched, undefined, arguments);
  eachOperand(arguments, lists, (v, isList) => {
    if (isList) children(v, (child) => taken(receiver, child));
    else taken(receiver, v);
  });
  builtin = f === A.splice ? splicing(receiver) : results.get(f);
  return last;
}

/** Operands of `askSpread` behind the receiver: the last one, then the others. */
function eachOperand(operands, lists, visit) {
  visit(operands[1], (lists & 1) !== 0);
  for (let i = 5; i < operands.length; i++) visit(operands[i], (lists & (1 << (i - 4))) !== 0);
}

/** What is spread is what the lists hold. */
function areLists(operands, lists) {
  let all = operands.length < 30;
  eachOperand(operands, lists, (v, isList) => {
    all &&= !isList || (iterated(v) && v.length < 2 ** 20 && isDense(v));
  });
  return all;
}

/** `askOn` for an operation that is the last use of `which` of its operands: see `offer`. */
export function askLast(f, last, which, text, receiver) {
  return ends(f) ? (offer(receiver, last, which), last) : askOn(f, last, text, receiver);
}

/** Callbacks that `called` has replaced. */
const wrappers = new SafeWeakSet();

/** The callback of `f` in front of another operand: an initial value, or `this` for the callback. */
export function called(f, receiver, callback) {
  if (!isArray(receiver) || !compiled(callback) || !walks(f, receiver)) return callback;
  const mine = folds.has(f) ? folding(f, callback) : callbacks.has(f) ? holding(f, callback) : callback;
  if (mine !== callback) wrappers.add(mine);
  return mine;
}

/** `sort`: until it has put all back, the array gives up nothing; a method that takes something out
 * shares it, and all that was in it. So it is while `toSorted` compares what it has copied. */
function sorting(f, array, compare) {
  const mine = {
    f,
    finish(v) {
      if (f === A.sort ? v !== array : !isArray(v) || Stamp.has(v)) return false;
      Stamp.fly(array, -1);
      if (f === A.sort) retain(array);
      else lit(v);
      return true;
    },
  };
  Stamp.fly(array, 1);
  builtin = mine;
  return function () {
    const result = apply(compare, undefined, arguments);
    builtin = mine;
    return result;
  };
}

// ---- Functions of Array and Object.

const ArrayClass = Array, ObjectClass = Object;
const { from: arrayFrom, of: arrayOf } = Array;
const { assign, values: objectValues, entries: objectEntries, fromEntries } = Object;
callbacks.set(arrayFrom, callbacks.get(A.map));
const copies = { f: arrayFrom, finish: (v) => (lit(v), true) };
const listsOperands = { f: arrayOf, finish: (v) => (lit(v), true) };
const takesValues = { f: objectValues, finish: (v) => (lit(v), true) };
const takesEntries = {
  f: objectEntries,
  finish(v) {
    for (let i = 0; i < v.length; i++) lit(v[i]);
    adopt(v);
    return true;
  },
};
const makesObject = { f: fromEntries, finish: (v) => (lit(v), true) };

/** `f(last)` gives a fresh container of what `last` holds, and runs no code of the program. */
function makesOf(f, last, receiver) {
  if (receiver === ArrayClass) {
    if (f === arrayOf) builtin = listsOperands;
    else if (f === arrayFrom && counted(last) && iterated(last)) builtin = copies;
    else return false;
  } else if (receiver === ObjectClass && counted(last) && isContainer(last)) {
    // What is counted has data properties only.
    if (f === objectValues) builtin = takesValues;
    else if (f === objectEntries) builtin = takesEntries;
    else if (f === fromEntries && arePairs(last)) builtin = makesObject;
    else return false;
  } else {
    return false;
  }
  return true;
}

/** `Array.from(g(x))`: what the generator yields, in a list that its copy ends. */
function drained(generator) {
  const list = collect(generator);
  builtin = {
    f: arrayFrom,
    finish(v) {
      lit(v);
      release(list);
      return true;
    },
  };
  return list;
}

/** An array of pairs whose keys convert without code of the program. */
function arePairs(list) {
  if (!iterated(list)) return false;
  for (let i = 0; i < list.length; i++) {
    const pair = value(list, i);
    if (!isArray(pair) || !counted(pair) || !hasOwn(pair, 1)) return false;
    const key = value(pair, 0);
    if (typeof key !== "string" && typeof key !== "number" && typeof key !== "symbol") return false;
  }
  return true;
}

/** `Object.assign` where it runs no code: done here, store by store; that it is done again changes nothing. */
function assigned(operands) {
  const target = operands[4];
  if (!counted(target) || !isContainer(target) || isArray(target) || !isExtensible(target)) return false;
  for (let p = getPrototypeOf(target); p !== null; p = getPrototypeOf(p)) if (counts.isProxy?.(p) !== false) return false;
  for (let i = 5; i <= operands.length; i++) {
    if (!isAssignable(target, operands[i < operands.length ? i : 1])) return false;
  }
  for (let i = 5; i <= operands.length; i++) {
    const source = operands[i < operands.length ? i : 1];
    if (!counted(source)) continue;
    const keys = ownKeys(source);
    for (let k = 0; k < keys.length; k++) {
      const property = getOwnPropertyDescriptor(source, keys[k]);
      if (property.enumerable) target[keys[k]] = store(target, keys[k], property.value);
    }
  }
  builtin = itself(assign, target);
  return true;
}

/** What is counted has data properties only; none of them may meet a setter, or be called without a call. */
function isAssignable(target, source) {
  if (source === undefined || source === null) return true;
  if (!counted(source) || !isContainer(source)) return false;
  const keys = ownKeys(source);
  for (let k = 0; k < keys.length; k++) {
    if (includes(hooks, keys[k]) || (keys[k] in target && !hasOwn(target, keys[k]))) return false;
  }
  return true;
}

const seen = new SafeSet([
  A.push, A.unshift, A.includes, A.indexOf, A.forEach, A.some, A.every, A.findIndex,
]);

/** `askOn` where nobody counts the result: for methods whose result needs no counting. */
export function askSeen(f, last, text, receiver) {
  return follows(f) ? last : apply(askedSeen, undefined, arguments);
}

function askedSeen(f, last, text, receiver) {
  if (isArray(receiver) && seen.has(f)) return apply(askedOn, undefined, arguments);
  builtin = undefined;
  return collects(f, last, receiver) ? last : apply(fetched, undefined, arguments);
}

/** `askSeen` for two operands and more. */
export function askSeenMore(f, last, text, receiver) {
  return follows(f) ? last : apply(askedSeenMore, undefined, arguments);
}

function askedSeenMore(f, last, text, receiver, a) {
  return apply(isArray(receiver) && (seen.has(f) || wrappers.has(a)) ? askedMore : fetched, undefined, arguments);
}

/** `askOn` for a call without operands. */
export function fnOn(f, text, receiver) {
  return follows(f) ? f : askedFn(f, text, receiver);
}

const none = { __proto__: null, length: 3 };

/** `fnOn` for an operation that is the last use of its receiver. */
export function fnLast(f, text, receiver) {
  return ends(f) ? (offer(receiver, undefined, 1), f) : fnOn(f, text, receiver);
}

function askedFn(f, text, receiver) {
  builtin = undefined;
  if (collects(f, undefined, receiver)) return f;
  if (isArray(receiver) && wholes.has(f) && fits(f, receiver) && knownWhole(f, receiver, none, true)) return f;
  if (isArray(receiver) && results.has(f) && fits(f, receiver)) {
    builtin = results.get(f);
    return f;
  }
  return unknown(f, text, receiver);
}

/** `f` may keep a function that it gets. `confined`: what it gives is only called. */
export function keeps(f, confined) {
  if (callbacks.has(f) || folds.has(f) || f === A.sort) return false;
  return counts.lends?.get(f) === undefined || (counts.lends.get(f) === "wraps" && !confined);
}
