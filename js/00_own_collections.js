// Maps and Sets: places that keep values under keys.
//
// Invariant: a Map or Set is counted only if `new` made it right here with the engine's own class, and is
// known by the engine's own methods only; anything else that sees it shares it. Deliberately not here:
// WeakMap, WeakSet, and subclasses, whose instances are made by other code.

import {
  A, ObjectPrototype, SafeMap, SafeWeakSet, apply, compiled, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray, ownKeys, setPrototypeOf, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  Stamp, adopt, claimed, counted, counts, hold, register, release, share, strew, unclaimable, visitCollections,
} from "ext:mlrun_tensor/00_own_counts.js";
import { iterated, taken } from "ext:mlrun_tensor/00_own_places.js";

const uncurried = (f) => Function.prototype.call.bind(f);
const MapClass = Map, SetClass = Set;
const M = Map.prototype, S = Set.prototype;
const [lookUp, mapHas, setHas] = [M.get, M.has, S.has].map(uncurried);
const each = new SafeMap([[M, uncurried(M.forEach)], [S, uncurried(S.forEach)]]);

/** Calls `visit` on the keys and values of a counted collection. */
visitCollections((v, visit) => {
  if (Stamp.isMap(v)) {
    each.get(M)(v, (child, key) => {
      visit(key);
      visit(child);
    });
  } else {
    each.get(S)(v, (child) => visit(child));
  }
});

const adders = new SafeMap([[MapClass, [M, "set", M.set]], [SetClass, [S, "add", S.add]]]);

/** The engine's own class, whose constructor runs no code of the program but that of its operand. */
function isGenuine(C) {
  const adder = adders.get(C);
  return adder !== undefined && value(adder[0], adder[1]) === adder[2];
}

/** Operands that a constructor has read without code of the program. */
const quiet = new SafeWeakSet();

/** The operand of `new C(v)`: what is counted stays so if the constructor reads it without code of the program. */
export function source(C, v) {
  if (typeof v !== "object" || v === null) return v;
  if (isGenuine(C) && areData(v) && (C !== MapClass || arePairs(v))) {
    quiet.add(v);
    return v;
  }
  quiet.delete(v);
  return share(v);
}

/** An array that is read without code of the program. */
function areData(v) {
  if (counts.isProxy?.(v) !== false || !isArray(v) || getPrototypeOf(v) !== A || !iterated(v) || v.length >= 2 ** 20) return false;
  for (let i = 0; i < v.length; i++) {
    const property = getOwnPropertyDescriptor(v, i);
    if (property === undefined || !hasOwn(property, "value")) return false;
  }
  return true;
}

function arePairs(list) {
  for (let i = 0; i < list.length; i++) {
    const pair = value(list, i);
    if (!areData(pair) || pair.length < 2) return false;
  }
  return true;
}

/** What `new C(from)` gave is counted from now on, if nobody else can have seen it. */
export function collection(v, C, from) {
  if (!isGenuine(C) || !(from === undefined || from === null || quiet.has(from))) return v;
  new Stamp(v);
  Stamp.makeCollection(v, C === MapClass);
  counts.born?.(v);
  each.get(C.prototype)(v, (child, key) => {
    if (C === MapClass) taken(v, key);
    taken(v, child);
  });
  return v;
}

const mapIterator = getPrototypeOf(new Map().keys()), setIterator = getPrototypeOf(new Set().keys());
const iterators = new SafeMap([[mapIterator, mapIterator.next], [setIterator, setIterator.next]]);
const iteratorHome = getPrototypeOf(mapIterator);
const iteratorKey = Symbol.iterator;
const originalIterator = iteratorHome[iteratorKey];

/** The `next` of an iterator of a Map or Set that nobody has changed. */
export function nextOf(v) {
  if (typeof v !== "object" || v === null || counts.isProxy?.(v) !== false) return undefined;
  const proto = getPrototypeOf(v), next = iterators.get(proto);
  return next !== undefined && areQuiet(proto) && ownKeys(v).length === 0 ? next : undefined;
}

const areQuiet = (proto) => value(proto, "next") === iterators.get(proto) && !hasOwn(proto, iteratorKey) && !hasOwn(proto, "return") &&
  !hasOwn(iteratorHome, "return") && !hasOwn(ObjectPrototype, "return") && value(iteratorHome, iteratorKey) === originalIterator;

const isOwn = (v, proto) => counted(v) && Stamp.has(v) && Stamp.isCollection(v) && getPrototypeOf(v) === proto;

/** A counted collection that a loop iterates without code of the program. `pairs`: what takes elements apart. */
export function iterates(v, pairs) {
  if (isOwn(v, S)) return value(S, iteratorKey) === S.values && !hasOwn(v, iteratorKey) && areQuiet(setIterator);
  return pairs && isOwn(v, M) && value(M, iteratorKey) === M.entries && !hasOwn(v, iteratorKey) && areQuiet(mapIterator);
}
const originals = { __proto__: null, mapEntries: M.entries, setValues: S.values, setEntries: S.entries };
const walkers = new SafeMap([[M.keys, M], [M.values, M], [M.entries, M], [S.values, S], [S.entries, S]]);

/** `f` makes an iterator of the collection `v` that nobody else gets hold of. */
export const walks = (f, v, pairs) => walkers.has(f) && (pairs || (f !== originals.mapEntries && f !== originals.setEntries)) &&
  isOwn(v, walkers.get(f)) && areQuiet(walkers.get(f) === M ? mapIterator : setIterator);

/** It may be a fresh pair of `entries`. */
const isPair = (iterator, v) => isArray(v) && !Stamp.has(v) && v.length === 2 && counts.isProxy?.(v) === false && getPrototypeOf(v) === A &&
  getPrototypeOf(iterator) === mapIterator;

/** What an iterator still gives, in a list that holds it; `next` steps through it. */
export function rest(iterator, next) {
  const out = setPrototypeOf([], null);
  for (;;) {
    const step = apply(next, iterator, []);
    if (step.done) return adopt(setPrototypeOf(out, A));
    const v = step.value;
    // A pair of `entries` is fresh, but looks as an array of the program's own does.
    out[out.length] = isPair(iterator, v) ? strew(v) : hold(v);
  }
}

/** The collection itself comes back. */
const itself = (f, v) => ({ f, finish: (result) => result === v && (hold(v), true) });
const NONE = { f: undefined, finish: () => false };

/** What methods do with the counts of a collection; they give what is pending then. */
const methods = new SafeMap([
  [M.set, (m, key, v) => {
    const old = lookUp(m, key);
    if (!mapHas(m, key)) Stamp.isExposed(m) ? share(key) : taken(m, key);
    taken(m, v);
    if (counted(old) && !Stamp.isFlying(m)) release(old);
    return itself(M.set, m);
  }],
  [S.add, (s, v) => {
    if (!setHas(s, v)) taken(s, v);
    return itself(S.add, s);
  }],
  [M.delete, (m, key) => {
    if (Stamp.isFlying(m) || !mapHas(m, key)) return NONE;
    const old = lookUp(m, key);
    if (counted(old)) release(old);
    if (counted(key)) release(key);
    return NONE;
  }],
  [S.delete, (s, v) => {
    if (!Stamp.isFlying(s) && setHas(s, v) && counted(v)) release(v);
    return NONE;
  }],
  [M.clear, cleared], [S.clear, cleared],
  // Whoever gets the iterator gets keys, and no values: keys are seldom counted.
  [M.keys, (m) => {
    each.get(M)(m, (child, key) => share(key));
    Stamp.expose(m);
    return NONE;
  }],
  [M.get, () => NONE], [M.has, () => NONE], [S.has, () => NONE],
]);
const homes = new SafeMap([
  [M.set, M], [M.delete, M], [M.clear, M], [M.get, M], [M.has, M], [M.keys, M], [M.forEach, M], [S.add, S], [S.delete, S], [S.clear, S], [S.has, S], [S.forEach, S],
]);
function cleared(v) {
  if (Stamp.isFlying(v)) return NONE;
  let all;
  each.get(Stamp.isMap(v) ? M : S)(v, (child, key) => {
    if (counted(child)) all = { value: child, rest: all };
    if (Stamp.isMap(v) && counted(key)) all = { value: key, rest: all };
  });
  for (; all !== undefined; all = all.rest) release(all.value);
  return NONE;
}

/** What is pending when `f` is called on a counted collection, or undefined if nothing is known of that. */
export function knownOf(f, v, operand) {
  const effect = f === M.set ? undefined : methods.get(f);
  return effect !== undefined && isOwn(v, homes.get(f)) ? effect(v, operand) : undefined;
}

/** The same of `v.set(key, operand)`. */
export const knownSet = (f, v, key, operand) => (f === M.set && isOwn(v, M) ? methods.get(f)(v, key, operand) : undefined);

/** The callback of `forEach`: what it gets is held while it runs. */
export function visiting(f, v, callback) {
  if ((f !== M.forEach && f !== S.forEach) || !isOwn(v, homes.get(f)) || !compiled(callback)) return undefined;
  return function (child, key) {
    hold(child);
    hold(key);
    try {
      unclaimable();
      const result = apply(callback, this, arguments);
      if (register !== undefined && register === result && counted(result)) release(claimed(result));
    } finally {
      unclaimable();
      if (counted(child)) release(child);
      if (counted(key)) release(key);
    }
  };
}
