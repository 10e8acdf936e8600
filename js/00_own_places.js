// Places that keep values: fields, elements, parameters' defaults, instances from their birth on.
//
// Invariant: a place of a counted container holds one count of what is in it; whatever goes into
// another place is shared. Deliberately not here: array methods (00_own_arrays.js).

import {
  A, FORWARDS, ObjectPrototype, SafeWeakMap, answerFor, apply, compiled, getOwnPropertyDescriptor, getPrototypeOf,
  hasOwn, includes, isArray, isExtensible, ownKeys, slice, startsWith, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  Stamp, claimed, counted, counts, hold, hooks, isContainer, lit, register, release, retain, share, took,
} from "ext:mlrun_tensor/00_own_counts.js";

import { iterates } from "ext:mlrun_tensor/00_own_collections.js";

// A token that `new` made just before it called, for the instance that the base class makes.
let birthToken;

/** All operands of `new f(...)` are there. */
export function birth(f, text) {
  if (text !== undefined && !isConstructor(f)) throw new TypeError(`${text} is not a constructor`);
  return birthToken = compiled(f) ? { target: f, value: undefined } : undefined;
}

function isConstructor(f) {
  if (typeof f !== "function") return false;
  return (compiled(f) && getOwnPropertyDescriptor(f, "prototype")?.writable === false) || constructs(f);
}

/** Asks the engine, without running any code. */
function constructs(f) {
  try {
    new (new Proxy(f, { construct: () => ({}) }))();
    return true;
  } catch {
    return false;
  }
}

/** What a class extends: V8 prints functions as they are emitted. */
export function heir(v) {
  if (typeof v !== "function" || constructs(v)) return v;
  throw new TypeError(`Class extends value ${apply(Function.prototype.toString, v, [])} is not a constructor or null`);
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
    if (hasForeign(c)) return;
  }
  if (Stamp.has(v)) return;
  new Stamp(v);
  Stamp.deepen(v);
  counts.born?.(v);
  t.value = v;
}

const examined = new SafeWeakMap();

/** Other code has given instances of `c` a getter, or a method that runs without a call. */
function hasForeign(c) {
  let answer = examined.get(c);
  if (answer === undefined) examined.set(c, answer = looksForeign(value(c, "prototype")));
  return answer;
}

function looksForeign(prototype) {
  const keys = ownKeys(prototype);
  for (let i = 0; i < keys.length; i++) {
    const property = getOwnPropertyDescriptor(prototype, keys[i]);
    const runs = hasOwn(property, "value") ? includes(hooks, keys[i]) && property.value : property.get;
    // What is iterated is shared unless its iterator is known.
    if (keys[i] !== Symbol.iterator && typeof runs === "function" && !compiled(runs)) return true;
  }
  return false;
}

/** A field's first value: its count goes to the field. */
export function field(v) {
  if (!counted(v)) return v;
  return took(v);
}

// Counts of parameters, until the function takes them: a chain, on top what the innermost call has bound so
// far. Where code of the program runs meanwhile, a guard is on top, so that functions which that calls do
// not take what is above their own.
let bound;
/** A chain that is longer is what functions left which failed: its counts stay with nobody. */
const LONGEST = 32;

function push(value, guard) {
  const rest = bound !== undefined && bound.length < LONGEST ? bound : undefined;
  return bound = { value, guard, rest, length: rest === undefined ? 1 : rest.length + 1 };
}

/** What holds the count of `v` for this call; `take`: it is handed over. */
function find(v, take) {
  for (let at = bound, before; at !== undefined && !at.guard; before = at, at = at.rest) {
    if (at.value !== v) continue;
    if (!take) return true;
    if (before === undefined) bound = at.rest;
    else before.rest = at.rest;
    return true;
  }
  return false;
}

/** The innermost guard goes. */
function unguard() {
  for (let at = bound, before; at !== undefined; before = at, at = at.rest) {
    if (!at.guard) continue;
    if (before === undefined) bound = at.rest;
    else before.rest = at.rest;
    return;
  }
}

/** A parameter's default, which runs no code. */
export function dflt(v) {
  field(v);
  if (counted(v)) push(v, false);
  return v;
}

/** What a parameter's default computes comes next. */
export const compute = () => push(undefined, true);

/** It is computed. */
export function computed(guard, v) {
  bound = guard.rest;
  return dflt(v);
}

/** The same of a value that nobody counts, or that is kept for ever. */
export function guarded(guard, v) {
  bound = guard.rest;
  return v;
}

/** A parameter that a pattern has bound: code may run before the function takes it. */
export function early(v) {
  if (!counted(v) || find(v, false)) return v;
  retain(v);
  push(v, false);
  return v;
}

/** The same, in front of the pattern's next key; `again`: another key's guard is there. */
export function keyed(v, again) {
  if (again) unguard();
  early(v);
  push(undefined, true);
  return v;
}

/** The pattern is done. */
export const arrived = () => unguard();

/** A parameter that may have come from its default, or was taken early. */
export function arg(v) {
  if (counted(v) && !find(v, true)) retain(v);
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

const isIndex = (key) => typeof key === "number" && key >>> 0 === key && key < 2 ** 32 - 1;

/** Just before `o[key] = v`: takes a count of `v`, gives up that of the old value. */
export function store(o, key, v) {
  if (typeof o !== "object" || o === null || !counted(o) || !Stamp.has(o)) return share(v);
  // Its conversion is code of the program, and comes with the store.
  if (typeof key === "function") key = {};
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
    if (isArray(o) && !isIndex(key)) Stamp.makeOdd(o);
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
  // Who has the container in flight may have seen it, and then sees what it gets.
  if (Stamp.isFlying(container)) return void share(v);
  retain(v);
  Stamp.keep(container);
  if (isContainer(v)) Stamp.deepen(container);
}

const arrayIterator = Array.prototype[Symbol.iterator];
export const iteratorPrototype = getPrototypeOf([][Symbol.iterator]());
export const arrayNext = iteratorPrototype.next;

/** An array that is iterated as arrays are, without code of the program. */
export const iterated = (v) => isArray(v) && v[Symbol.iterator] === arrayIterator && iteratorPrototype.next === arrayNext;

/** Arrays are iterated without code of the program. */
export const listsAreQuiet = () => A[Symbol.iterator] === arrayIterator && iteratorPrototype.next === arrayNext;

/** A list of the runtime half that the program's own spread steps through, in a form that nobody watches: its
 * counts stay for ever where somebody watches arrays. */
export function unseen(list) {
  if (listsAreQuiet()) return list;
  let i = 0;
  const next = () => (i < list.length ? { value: list[i++], done: false } : { value: undefined, done: true });
  return { __proto__: null, [Symbol.iterator]: () => ({ __proto__: null, next }) };
}

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

/** A value that is iterated: only the original array iterator keeps to itself what it sees. `text`:
 * what an error says that names the program's expression, see `fails`. */
export function spread(v, text) {
  if (text !== undefined) iterable(v, text);
  if (!counted(v)) return v;
  return iterated(v) || iterates(v, false) ? v : share(v);
}

/** Fails as V8 does, in the program's words, where `v` cannot be iterated. */
export function iterable(v, text) {
  if (!isArray(v) && !has(v, Symbol.iterator)) fails(v, text);
}

/** The same for a loop that awaits. */
export function awaitable(v, text) {
  if (v === undefined || v === null) throw new TypeError(`Cannot read properties of ${v} (reading 'Symbol(Symbol.asyncIterator)')`);
  if (!isArray(v) && !has(v, Symbol.asyncIterator) && !has(v, Symbol.iterator)) throw new TypeError(text);
}

/** It is not certain that `v` has no method `key`. */
function has(v, key) {
  const found = v === undefined || v === null ? undefined : quietly(Object(v), key);
  return found === CODE || found === LIBRARY || typeof found === "function";
}

/** `text` is what V8 says; empty where it has only the value to speak of, and of the last operand of a
 * call the expression behind three dots. */
function fails(v, text) {
  if (text === "") throw new TypeError(`${described(v)} is not iterable (cannot read property Symbol(Symbol.iterator))`);
  if (!startsWith(text, "...")) throw new TypeError(text);
  if (v !== undefined && v !== null) throw new TypeError("Spread syntax requires ...iterable[Symbol.iterator] to be a function");
  throw new TypeError(`${slice(text, 3)} is not iterable (cannot read property ${v})`);
}

function described(v) {
  if (typeof v === "string") return `string "${v}"`;
  return v === null || typeof v === "boolean" || typeof v === "number" ? `${typeof v} ${v}` : typeof v;
}

/** A pattern takes `v` apart, which `text` names if V8 does; `key`: what it reads first. */
export function apart(v, text, key) {
  if (v !== undefined && v !== null) return v;
  if (text === "") throw new TypeError(`Cannot read properties of ${v} (reading '${key}')`);
  const what = key === undefined ? `'${text}'` : `property '${key}' of '${text}'`;
  throw new TypeError(`Cannot destructure ${what} as it is ${v}.`);
}

/** A pattern with patterns inside takes `v` apart. If that runs code, what it has read is shared: the
 * code may take it out before the pattern is done. The operands after `v` are what it reads. */
export function open(v, key) {
  if (counted(v) && isContainer(v) && !readsQuietly(v, arguments, 1, true)) share(v);
  return v;
}

/** Reading what `shape` lists from `i` on runs no code: keys, each followed by the list of the pattern
 * inside, if there is one, and by `true` if that has a default; `null` before those of an array. `whole`: nor does
 * it throw, which would leave what was bound before to nobody. */
export function readsQuietly(v, shape, i, whole) {
  if (shape[i] === null) {
    if (!iterated(v)) return false;
    i++;
  }
  for (; i < shape.length; i++) {
    const key = shape[i], found = quietly(v, key);
    if (found === CODE) return false;
    const inside = shape[i + 1];
    if (!isArray(inside)) continue;
    i++;
    const defaulted = shape[i + 1] === true;
    if (defaulted) i++;
    if (found === undefined || found === null) {
      if (whole && !(defaulted && found === undefined)) return false;
      continue;
    }
    if (found === LIBRARY) {
      // Few tensors have a gradient.
      if (whole && key === "grad") return false;
      continue;
    }
    if (!readsQuietly(typeof found === "object" ? found : Object(found), inside, 0, whole)) return false;
  }
  return true;
}

// Answers of `quietly`: code of the program, or an accessor of a tensor, whose results have none.
const CODE = {};
const LIBRARY = {};

/** What reading `o[key]` gives where no code of the program runs. */
function quietly(o, key) {
  for (; o !== null; o = getPrototypeOf(o)) {
    if (o !== A && o !== ObjectPrototype && counts.isProxy?.(o) !== false) return CODE;
    const property = getOwnPropertyDescriptor(o, key);
    if (property === undefined) continue;
    const found = hasOwn(property, "value") ? property.value : property.get;
    // Not what a program has put beside the library's own.
    if (o === counts.prototype && counts.operations.has(found)) return LIBRARY;
    return hasOwn(property, "value") ? found : CODE;
  }
  return undefined;
}

/** `...xs` in a call: a list that holds the elements as long as the call needs them. */
export function list(v, text) {
  if (text !== undefined) iterable(v, text);
  if (!counted(v)) return v;
  spread(v);
  // A tensor, which iterates over fresh handles, or what is shared by now.
  return isContainer(v) && counted(v) ? unseen(lit([...v])) : v;
}

/** `{ ...v }`: what is counted has data properties only, so that copying them shows it to nobody. */
export const parts = (v) => (counted(v) && isContainer(v) ? v : share(v));

/** The same, where code runs before the literal is stamped: a copy holds what is in `v` until then. */
export const copy = (v) => (counted(v) && isContainer(v) ? lit({ ...v }) : share(v));
