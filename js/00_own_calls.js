// Calls: whether operands may stay counted, and who takes over the count of a result.
//
// Invariant: a count is claimed only if the result is the register's value and the callee follows
// the protocol. Such a callee always writes the register when it returns a managed value.

import {
  SafeSet, apply, compiled, contains, defineProperty, follows, getOwnPropertyDescriptor, getPrototypeOf, gives, hasOwn, isArray, looks, value,
} from "ext:mlrun_tensor/00_own_known.js";
import {
  claimed, counted, counts, give, hold, isContainer, lend, lit, register, release, retain, share, unclaimable,
} from "ext:mlrun_tensor/00_own_counts.js";
import { builtin, forget, settle, uncertain } from "ext:mlrun_tensor/00_own_arrays.js";
import { readsQuietly } from "ext:mlrun_tensor/00_own_places.js";

/** Takes over the count that `f` gave with `v`, or retains. */
export function own(v, f) {
  return v === register && builtin === undefined && follows(f) ? claimed(v) : kept(v, f);
}

function kept(v, f) {
  if (builtin !== undefined && settle(v, f)) return v;
  if (!counted(v)) return uncertain(v, f);
  if (v === register && gives(f)) {
    claimed();
  } else {
    unclaimable();
    retain(v);
  }
  return v;
}

/** Drops an ignored result. */
export function ignore(v, f) {
  if (builtin !== undefined && settle(v, f)) {
    if (counted(v)) release(v);
    return v;
  }
  if (v !== undefined && v === register && counted(v) && gives(f)) {
    claimed();
    release(v);
  }
  unclaimable();
  return v;
}

/** A result that is returned as it is: the register stays only if `f` itself gave it. */
export function tail(v, f) {
  return v === register && builtin === undefined && follows(f) ? v : passed(v, f);
}

function passed(v, f) {
  if (builtin !== undefined && settle(v, f)) return give(v);
  uncertain(v, f);
  if (register !== undefined && (register !== v || !gives(f))) return lend(v);
  return register === undefined ? lend(v) : v;
}

/** Operands of a call of `f`; gives the last one. */
export function ask(f, last, a, b) {
  return follows(f) ? last : apply(asked, undefined, arguments);
}

function asked(f, last, a, b) {
  // No list for few operands: programs consist of such calls.
  if (arguments.length > 4) return askFrom(f, arguments);
  if ((counted(last) || counted(a) || counted(b)) && keepsOperands(f)) {
    const shape = looks(f);
    if (shape === undefined || !(isQuiet(last, shape) && isQuiet(a, shape) && isQuiet(b, shape))) {
      share(last);
      share(a);
      share(b);
    }
  }
  return last;
}

/** If a pattern like `shape` takes `v` apart, or an element of it (`f(...v)`), that runs no code. */
function isQuiet(v, shape) {
  if (!counted(v) || !isContainer(v)) return true;
  for (let i = 0; isArray(v) && i < v.length; i++) {
    const element = value(v, i);
    if (counted(element) && isContainer(element) && !readsQuietly(element, shape, 0)) return false;
  }
  return readsQuietly(v, shape, 0);
}

/** Functions that look at their operands and keep nothing. */
const lookers = new SafeSet([
  Array.isArray, Object.is, Object.keys, Number, String, Boolean, Number.isFinite,
  Number.isInteger, isNaN, isFinite,
]);

const keepsOperands = (f) => !compiled(f) && !lookers.has(f);

/** The operands are those of a list from a place on; gives the last one, which stands second. */
function askFrom(f, list) {
  for (let i = 1; i < list.length; i++) {
    if (!counted(list[i])) continue;
    if (!keepsOperands(f)) break;
    const shape = looks(f);
    let quiet = shape !== undefined;
    for (let j = 1; quiet && j < list.length; j++) quiet = isQuiet(list[j], shape);
    for (let j = 1; !quiet && j < list.length; j++) share(list[j]);
    break;
  }
  return list[1];
}

/** Like `ask` for a callee that was fetched before the operands. */
export function askFetched(f, last, text, a, b) {
  return follows(f) ? last : apply(fetched, undefined, arguments);
}

/** `text`: what V8 calls the callee, or all that it says of one whose result would be iterated. */
function notCallable(text) {
  throw new TypeError(contains(text, " is not a function or ") ? text : `${text} is not a function`);
}

/** `askFetched` for a callee about which nothing is known yet. */
export function fetched(f, last, text, a, b) {
  forget();
  if (typeof f !== "function") notCallable(text);
  if (arguments.length < 6) return asked(f, last, a, b);
  // The text among them is not counted.
  return askFrom(f, arguments);
}

/** Like `askFetched` where there are no operands but perhaps a receiver; gives `f`. */
export function fn(f, text, receiver) {
  return follows(f) ? f : unknown(f, text, receiver);
}

/** `fn` for a callee about which nothing is known yet. */
export function unknown(f, text, receiver) {
  forget();
  if (typeof f !== "function") notCallable(text);
  if (counted(receiver) && !gives(f)) share(receiver);
  return f;
}

const { call: callMethod, apply: applyMethod } = Function.prototype;
const isThrough = (f) => f === callMethod || f === applyMethod;

/** `askOn` for `receiver.call(o, x)` or `receiver.apply(o, xs)`, which hand on to the receiver. */
export function askCall(f, last, text, receiver, a) {
  if (!isThrough(f) || !compiled(receiver)) return follows(f) ? last : apply(fetched, undefined, arguments);
  forget();
  return last;
}

/** The list of `f.apply(o, list)`: a copy holds the operands, whatever happens to the list. */
export function applied(f, list) {
  if (f !== applyMethod || !counted(list) || !isArray(list)) return hold(list);
  const copy = [];
  for (let i = 0; i < list.length; i++) {
    // A prototype may have it, by code.
    if (!hasOwn(list, i)) return hold(list);
    defineProperty(copy, i, { __proto__: null, value: value(list, i), writable: true, enumerable: true, configurable: true });
  }
  return lit(copy);
}

/** Whose result a call of `f` as a method of `receiver` gives. */
export const target = (f, receiver) => (isThrough(f) ? receiver : f);

/** `call(f, receiver, ...operands)`, without a frame of its own. */
export const call = Function.prototype.call.bind(Function.prototype.call);

/** `o.T` or `o.grad`, accessors of tensors that make a new handle, or a getter of the file. */
export function view(o, key) {
  unclaimable();
  const v = o[key];
  if (!counted(v)) return v;
  const mine = v === register && (genuine(o, key) || compiled(getterOf(o, key)));
  if (mine) {
    claimed();
  } else {
    unclaimable();
    retain(v);
  }
  return v;
}

/** The getter that a read of `o[key]` runs, where that is certain. */
function getterOf(o, key) {
  for (; typeof o === "object" && o !== null && counts.isProxy?.(o) === false; o = getPrototypeOf(o)) {
    if (hasOwn(o, key)) return getOwnPropertyDescriptor(o, key).get;
  }
  return undefined;
}

/** `o` is a tensor that has the library's own accessor under this name. */
function genuine(o, key) {
  if (typeof o !== "object" || !counts.is(o)) return false;
  if (getPrototypeOf(o) !== counts.prototype || hasOwn(o, key)) return false;
  const property = getOwnPropertyDescriptor(counts.prototype, key);
  return property !== undefined && compiled(property.get);
}
