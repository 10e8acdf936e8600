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

/** The count of a container: an array, object literal or instance stamped at birth. */
export class Stamp extends Given {
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

export function counted(v) {
  if (typeof v !== "object" || v === null) return false;
  if (counts.is(v)) return !counts.shared(v);
  return Stamp.has(v) && !Stamp.isShared(v);
}

export function retain(v) {
  if (counts.is(v)) counts.retain(v);
  else Stamp.retain(v);
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
  const keys = ownKeys(container);
  for (let i = 0; i < keys.length; i++) {
    const property = getOwnPropertyDescriptor(container, keys[i]);
    if (hasOwn(property, "value")) visit(property.value);
  }
}

/** One count less of a counted value; at zero its children follow, without recursion. */
export function release(v) {
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
  if (!dropHandle(v) && counted(v)) release(v);
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
  new Stamp(v);
  counts.born?.(v);
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
  counts.born?.(v);
  return v;
}
