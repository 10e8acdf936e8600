// The runtime half of the ownership pass: what compiled code calls. See DESIGN.md.
//
// Invariant: `register` is empty or holds the value that the last compiled function or tensor
// operation gave, with one count that nobody has claimed. Deliberately not here: how a handle
// stores its count (`configure`), and how functions of other scripts are recognised natively.

let counts;
let register;

/**
 * `is(v)`: v is a live or released handle. `shared(v)`, `share(v)`: its sticky flag. `retain(v)`;
 * `release(v)`: one count less, frees at zero. `operations`: functions of the library that follow
 * the protocol.
 */
export function configure(hooks) {
  counts = hooks;
}

/** Called by every tensor operation with its result. */
export function given(v) {
  register = v;
  return v;
}

const { apply } = Reflect;
const toText = Function.prototype.toString;
const MARK = "/*$own*/";
const known = new WeakMap();

/** `f` follows the protocol: it was compiled, or belongs to the library. */
export function compiled(f) {
  if (typeof f !== "function") return false;
  let answer = known.get(f);
  if (answer === undefined) {
    const text = apply(toText, f, []);
    answer = counts.operations.has(f) || text.endsWith(`${MARK}}`) || text.endsWith(`${MARK})`);
    known.set(f, answer);
  }
  return answer;
}

const counted = (v) => typeof v === "object" && v !== null && counts.is(v) && !counts.shared(v);

/** Takes over the count that `f` gave with `v`, or retains. */
export function own(v, f) {
  if (!counted(v)) return v;
  const mine = v === register && compiled(f);
  register = undefined;
  if (!mine) counts.retain(v);
  return v;
}

/** Drops an ignored result. */
export function ignore(v, f) {
  const mine = v !== undefined && v === register && counted(v) && compiled(f);
  register = undefined;
  if (mine) counts.release(v);
  return v;
}

/** A result that is returned as it is: the register stays only if `f` itself gave it. */
export function tail(v, f) {
  if (register !== undefined && (register !== v || !compiled(f))) {
    register = undefined;
    if (counted(v)) {
      counts.retain(v);
      register = v;
    }
  } else if (register === undefined && counted(v)) {
    counts.retain(v);
    register = v;
  }
  return v;
}

/** A borrowed value gets a count of its own. */
export function hold(v) {
  if (counted(v)) counts.retain(v);
  return v;
}

/** Empties a slot: `slot = drop(slot)`. */
export function drop(v) {
  if (counted(v)) counts.release(v);
  return undefined;
}

/** Replaces a slot's value: `slot = put(value, slot)`. */
export function put(v, old) {
  if (counted(old)) counts.release(old);
  return v;
}

/** Hands a slot's count to the caller: `give(x, slot = void 0)`. */
export function give(v) {
  register = counted(v) ? v : undefined;
  return v;
}

/** Hands a borrowed value to the caller with a count of its own. */
export function lend(v) {
  return give(hold(v));
}

/** Hands a slot's count to a promise: nobody claims it. */
export function leave(v) {
  return v;
}

/** Uncounted code can see `v` from now on. */
export function share(v) {
  if (counted(v)) counts.share(v);
  return v;
}

/** Operands of a call of `f`; gives the last one. */
export function ask(f, ...operands) {
  for (const v of operands) {
    if (counted(v)) {
      if (!compiled(f)) operands.forEach(share);
      break;
    }
  }
  return operands[operands.length - 1];
}

/** Like `ask` for a callee that was fetched before the operands. */
export function askFetched(f, text, ...operands) {
  if (typeof f !== "function") throw new TypeError(`${text} is not a function`);
  return ask(f, ...operands);
}

/** Like `askFetched` where there are no operands but perhaps a receiver; gives `f`. */
export function fn(f, text, receiver) {
  if (typeof f !== "function") throw new TypeError(`${text} is not a function`);
  if (counted(receiver) && !compiled(f)) share(receiver);
  return f;
}

/** `call(f, receiver, ...operands)`, without a frame of its own. */
export const call = Function.prototype.call.bind(Function.prototype.call);

/** `o.T` */
export function view(o) {
  register = undefined;
  const v = o.T;
  if (!counted(v)) return v;
  const mine = v === register && counts.is(o) && !Object.hasOwn(o, "T");
  register = undefined;
  if (!mine) counts.retain(v);
  return v;
}
