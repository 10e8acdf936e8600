// Counts of handles and containers, and the register that hands one on.
//
// Invariant: `register` is empty or holds the value that the last compiled function or tensor
// operation gave, with one count that nobody has claimed. Deliberately not here: how a handle
// stores its count (`configure`), who may claim (00_own_calls.js), what a store does
// (00_own_places.js).

import {
  Given, SafeSet, getOwnPropertyDescriptor, hasOwn, isArray, ownKeys, recognise,
} from "ext:mlrun_tensor/00_own_known.js";

export let counts;
let dropHandle;
let offerHandles;
export let register;
// Containers that are in flight with the register's value; until it is claimed they give up nothing.
let lifted;

/**
 * `is(v)`: v is a live or released handle. `shared(v)`, `share(v)`: its sticky flag. `retain(v)`;
 * `release(v)`: one count less, frees at zero; `drop(v)`: the same for any value, false if it is no
 * handle, nothing happens to a shared one; `offer(a, b, which)`: see below. `operations`: functions of the library that follow
 * the protocol.
 */
export function configure(hooks) {
  counts = hooks;
  dropHandle = hooks.drop;
  offerHandles = hooks.offer;
  recognise(hooks);
}

/** Called by every tensor operation with its result. */
export function given(v) {
  register = v;
  lifted = undefined;
  return v;
}

/** Nobody may claim what was given last. */
export function unclaimable() {
  register = undefined;
}

/** The result of a library function that only hands an argument back: nobody may claim it. */
export function borrowed(v) {
  register = undefined;
  return v;
}

// What is known of a container, as bits of one number: a field more costs each birth of one.
/** Uncounted code can see it. */
const SHARED = 1;
/** It may hold a value with a count. */
const HOLDS = 2;
/** It may hold containers. */
const DEEP = 4;
/** An array with properties that are no elements. */
const ODD = 8;
/** A Map or Set. */
const COLLECTION = 16;
/** A Map. */
const MAP = 32;
/** An iterator that others may hold gives its keys. */
const EXPOSED = 64;
/** How often it was handed out and not claimed yet, from here on: what it held then others may have seen. */
const FLIGHT = 128;

/** The count of a container: an array, object literal or instance stamped at birth. */
export class Stamp extends Given {
  #rc = 1;
  #known = 0;
  static isOdd(v) {
    return (v.#known & ODD) !== 0;
  }
  static makeOdd(v) {
    v.#known |= ODD;
  }
  static has(v) {
    return #rc in v;
  }
  static isCollection(v) {
    return (v.#known & COLLECTION) !== 0;
  }
  static isMap(v) {
    return (v.#known & MAP) !== 0;
  }
  static isExposed(v) {
    return (v.#known & EXPOSED) !== 0;
  }
  static expose(v) {
    v.#known |= EXPOSED;
  }
  static makeCollection(v, isMap) {
    v.#known |= isMap ? COLLECTION | MAP : COLLECTION;
  }
  /** It has a count, and nobody uncounted can see it. */
  static counts(v) {
    return #rc in v && (v.#known & SHARED) === 0;
  }
  static isShared(v) {
    return (v.#known & SHARED) !== 0;
  }
  static isFlying(v) {
    return v.#known >= FLIGHT;
  }
  static fly(v, by) {
    v.#known += by * FLIGHT;
  }
  static isDeep(v) {
    return (v.#known & DEEP) !== 0;
  }
  static deepen(v) {
    v.#known |= DEEP | HOLDS;
  }
  static holds(v) {
    return (v.#known & HOLDS) !== 0;
  }
  static keep(v) {
    v.#known |= HOLDS;
  }
  static share(v) {
    v.#known |= SHARED;
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

export function counted(v) {
  if (typeof v !== "object" || v === null) return false;
  return counts.is(v) ? !counts.shared(v) : Stamp.counts(v);
}

export function retain(v) {
  if (counts.is(v)) counts.retain(v);
  else Stamp.retain(v);
}

let visitCollection;

/** How keys and values of a counted Map or Set are found. */
export function visitCollections(f) {
  visitCollection = f;
}

// An array that is longer is asked for its keys: it may have few.
const SPARSE = 2 ** 20;

/** Calls `visit` on values of own data properties; runs no code of the program. */
export function children(container, visit) {
  if (isArray(container) && container.length < SPARSE && !(Stamp.has(container) && Stamp.isOdd(container))) {
    // Its own properties are its elements: what could make them accessors has it shared first.
    for (let i = 0; i < container.length; i++) if (hasOwn(container, i)) visit(container[i]);
    return;
  }
  if (Stamp.has(container) && Stamp.isCollection(container)) visitCollection(container, visit);
  const keys = ownKeys(container);
  for (let i = 0; i < keys.length; i++) {
    const property = getOwnPropertyDescriptor(container, keys[i]);
    if (hasOwn(property, "value")) visit(property.value);
  }
}

/** Calls `visit` on what a container with data properties holds, which is not released yet. */
function contents(container, visit) {
  if (isArray(container)) return children(container, visit);
  if (Stamp.has(container) && Stamp.isCollection(container)) visitCollection(container, visit);
  const keys = ownKeys(container);
  for (let i = 0; i < keys.length; i++) visit(container[keys[i]]);
}

/** One count less of a counted value; at zero its children follow, without recursion. */
export function release(v) {
  if (counts.is(v)) counts.release(v);
  else if (Stamp.release(v)) ended(v);
}

/** The last count of a container is gone. */
function ended(container) {
  let work;
  const visit = (child) => {
    if (dropHandle(child) || typeof child !== "object" || child === null) return;
    if (Stamp.counts(child) && Stamp.release(child)) work = { value: child, rest: work };
  };
  for (let next = container; ;) {
    if (Stamp.holds(next)) contents(next, visit);
    counts.died?.(next);
    if (work === undefined) return;
    next = work.value;
    work = work.rest;
  }
}

export const isContainer = (v) => !counts.is(v);

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

/** The register's value `v` arrived. */
export function claimed(v) {
  register = undefined;
  if (lifted !== undefined) landed();
  return v;
}

function landed() {
  for (let at = lifted; at !== undefined; at = at.rest) Stamp.fly(at.value, -1);
  lifted = undefined;
}

/** `own` for a callee that is known to follow the protocol. */
export function took(v) {
  return v === register ? claimed(v) : kept(v);
}

function kept(v) {
  if (!counted(v)) return v;
  register = undefined;
  retain(v);
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

/** A borrowed value gets a count of its own. */
export function hold(v) {
  if (counted(v)) retain(v);
  return v;
}

/** Empties a slot: `slot = drop(slot)`. */
export function drop(v) {
  return v === undefined ? v : dropped(v);
}

// Apart from `drop`, which is short enough to be compiled in place.
function dropped(v) {
  if (dropHandle(v) || typeof v !== "object" || v === null) return;
  if (Stamp.counts(v) && Stamp.release(v)) ended(v);
}

/**
 * The operation that is called next may end the count of its receiver `a` (`which` & 1) and of its
 * operand `b` (2), which slots hold that are dropped right after it: it can then write into their
 * memory. Whether it does, one place in the heap decides; if it throws, nothing has happened.
 */
export function offer(a, b, which) {
  offerHandles(a, b, which);
}

/** Replaces a slot's value: `slot = put(value, slot)`. */
export function put(v, old) {
  if (old !== undefined) dropped(old);
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

/** What the rest of a pattern gathered in a list or object without a count: nobody counts it either. */
export function strew(v) {
  if (typeof v !== "object" || v === null || counts.is(v) || Stamp.has(v) || counts.isProxy?.(v) !== false) return share(v);
  const keys = ownKeys(v);
  for (let i = 0; i < keys.length; i++) {
    const property = getOwnPropertyDescriptor(v, keys[i]);
    if (hasOwn(property, "value")) share(property.value);
  }
  return v;
}

// A method under one of these names runs without a call in the program.
export const hooks = ["valueOf", "toString", "toJSON", "then", Symbol.toPrimitive, Symbol.iterator];

/** Stamps a fresh literal and retains what it holds. */
export function lit(v) {
  for (let i = 0; i < hooks.length && !isArray(v); i++) {
    if (hasOwn(v, hooks[i])) {
      children(v, share);
      return v;
    }
  }
  return record(v);
}

/** `lit` for an object literal that has none of `hooks`. */
export function record(v) {
  new Stamp(v);
  counts.born?.(v);
  contents(v, (child) => {
    if (typeof child !== "object" || child === null) return;
    if (counts.is(child)) {
      if (counts.shared(child)) return;
      counts.retain(child);
      Stamp.keep(v);
    } else if (Stamp.counts(child)) {
      Stamp.retain(child);
      Stamp.deepen(v);
    }
  });
  return v;
}

/** Stamps a container of the library that owns what it holds. */
export function adopt(v) {
  new Stamp(v);
  Stamp.deepen(v);
  counts.born?.(v);
  return v;
}
