// Places that keep values: fields, elements, parameters' defaults, instances from their birth on.
//
// Invariant: a place of a counted container holds one count of what is in it; whatever goes into
// another place is shared. Deliberately not here: array methods (00_own_arrays.js).

import {
  A, FORWARDS, ObjectPrototype, answerFor, compiled, getOwnPropertyDescriptor, getPrototypeOf, hasOwn,
  includes, isArray, isExtensible, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  Stamp, claimed, counted, counts, hooks, isContainer, lit, register, release, retain, share, took,
} from "ext:mlrun_tensor/00_own_counts.js";

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

/** What `new` gave: the count that the instance was made with, that of what a class of the library
 * gave instead, or one of its own. */
export function fresh(v, t) {
  birthToken = undefined;
  if (!counted(v)) return v;
  if (t !== undefined && t.value === v) t.value = undefined;
  else if (t !== undefined && v === register && counts.operations.has(t.target)) claimed(v);
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
  counts.born?.(v);
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
  if (key === "length" && isArray(o)) shorten(o, v);
  else if (counted(property.value) && !Stamp.isFlying(o)) release(property.value);
  return v;
}

/** Just before `delete o[key]`: what is there is given up. */
export function gone(o, key) {
  if (typeof o !== "object" || o === null || !counted(o) || !Stamp.has(o) || Stamp.isFlying(o)) return key;
  if (typeof key === "object" || typeof key === "function") return share(o), key;
  const property = getOwnPropertyDescriptor(o, key);
  if (property !== undefined && property.configurable && counted(property.value)) release(property.value);
  return key;
}

/** Just before `array.length = n`: elements from there on are given up. */
function shorten(array, n) {
  if (typeof n !== "number" || n >>> 0 !== n || Stamp.isFlying(array) || Stamp.isOdd(array) || array.length >= SPARSE) return;
  for (let i = n; i < array.length; i++) {
    const v = value(array, i);
    if (counted(v)) release(v);
  }
}
const SPARSE = 2 ** 20;

/** The class whose constructor `super(...)` calls. */
export const parent = (c) => getPrototypeOf(c);

/** `o` inherits `key`. So it is taken to do from a proxy, which must not notice the question. */
function inherits(o, key) {
  for (let p = getPrototypeOf(o); p !== null; p = getPrototypeOf(p)) {
    if (p !== A && p !== ObjectPrototype && counts.isProxy?.(p)) return true;
    if (hasOwn(p, key)) return true;
  }
  return false;
}

/** A container keeps `v`. */
export function taken(container, v) {
  if (!counted(v)) return;
  retain(v);
  Stamp.keep(container);
  if (isContainer(v)) Stamp.deepen(container);
}

const arrayIterator = Array.prototype[Symbol.iterator];
export const iteratorPrototype = getPrototypeOf([][Symbol.iterator]());
const iteratorNext = iteratorPrototype.next;

/** An array that is iterated as arrays are, without code of the program. */
export const iterated = (v) => isArray(v) && v[Symbol.iterator] === arrayIterator && iteratorPrototype.next === iteratorNext;

const { hasInstance } = Symbol;
const ordinaryInstance = Function.prototype[hasInstance];

/** `v instanceof c` comes next: a test of the program's own gets `v`. */
export function tested(c, v) {
  if (!counted(v) || testedBy(c) === ordinaryInstance || compiled(testedBy(c))) return c;
  share(v);
  return c;
}

/** What `instanceof c` calls, where that is certain. */
function testedBy(c) {
  // A bound function asks its target, which may have a test of its own.
  if (typeof c !== "function" || !hasOwn(c, "prototype")) return undefined;
  for (let o = c; o !== null; o = getPrototypeOf(o)) {
    if (counts.isProxy?.(o) !== false) return undefined;
    if (hasOwn(o, hasInstance)) return value(o, hasInstance);
  }
  return undefined;
}

/** A value that is iterated: only the original array iterator keeps to itself what it sees. */
export function spread(v) {
  if (!counted(v)) return v;
  return iterated(v) ? v : share(v);
}

/** `...xs` in a call: a list that holds the elements as long as the call needs them. */
export function list(v) {
  if (!counted(v)) return v;
  return spread(v) === v && !Stamp.isShared(v) ? lit([...v]) : v;
}

/** `{ ...v }`: what is counted has data properties only, so that copying them shows it to nobody. */
export const parts = (v) => (counted(v) && isContainer(v) ? v : share(v));

/** The same, where code runs before the literal is stamped: a copy holds what is in `v` until then. */
export const copy = (v) => (counted(v) && isContainer(v) ? lit({ ...v }) : share(v));
