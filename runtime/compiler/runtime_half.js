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

/** Puts a private stamp on an object that already exists: `super` returns it. */
class Given {
  constructor(object) {
    return object;
  }
}

/** The count of a container: an array, object literal or instance stamped at birth. */
class Stamp extends Given {
  #rc = 1;
  #shared = false;
  static has(v) {
    return #rc in v;
  }
  static isShared(v) {
    return v.#shared;
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

function counted(v) {
  if (typeof v !== "object" || v === null) return false;
  if (counts.is(v)) return !counts.shared(v);
  return Stamp.has(v) && !Stamp.isShared(v);
}

function retain(v) {
  if (counts.is(v)) counts.retain(v);
  else Stamp.retain(v);
}

const { getOwnPropertyDescriptor, ownKeys, getPrototypeOf } = Reflect;

/** Calls `visit` on values of own data properties; runs no code of the program. */
function children(container, visit) {
  for (const key of ownKeys(container)) {
    const property = getOwnPropertyDescriptor(container, key);
    if ("value" in property) visit(property.value);
  }
}

/** One count less of a counted value; at zero its children follow, without recursion. */
function release(v) {
  const work = [v];
  while (work.length > 0) {
    const next = work.pop();
    if (counts.is(next)) {
      counts.release(next);
    } else if (Stamp.release(next)) {
      children(next, (child) => {
        if (counted(child)) work.push(child);
      });
      counts.died?.(next);
    }
  }
}

/** Takes over the count that `f` gave with `v`, or retains. */
export function own(v, f) {
  if (!counted(v)) return v;
  const mine = v === register && compiled(f);
  register = undefined;
  if (!mine) retain(v);
  return v;
}

/** Drops an ignored result. */
export function ignore(v, f) {
  const mine = v !== undefined && v === register && counted(v) && compiled(f);
  register = undefined;
  if (mine) release(v);
  return v;
}

/** A result that is returned as it is: the register stays only if `f` itself gave it. */
export function tail(v, f) {
  if (register !== undefined && (register !== v || !compiled(f))) {
    register = undefined;
    if (counted(v)) {
      retain(v);
      register = v;
    }
  } else if (register === undefined && counted(v)) {
    retain(v);
    register = v;
  }
  return v;
}

/** A borrowed value gets a count of its own. */
export function hold(v) {
  if (counted(v)) retain(v);
  return v;
}

/** Empties a slot: `slot = drop(slot)`. */
export function drop(v) {
  if (counted(v)) release(v);
  return undefined;
}

/** Replaces a slot's value: `slot = put(value, slot)`. */
export function put(v, old) {
  if (counted(old)) release(old);
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

/** Uncounted code can see `v`, and all that it leads to, from now on. */
export function share(v) {
  if (!counted(v)) return v;
  const work = [v];
  while (work.length > 0) {
    const next = work.pop();
    if (counts.is(next)) {
      counts.share(next);
    } else {
      Stamp.share(next);
      children(next, (child) => {
        if (counted(child)) work.push(child);
      });
    }
  }
  return v;
}

// A method under one of these names runs without a call in the program.
const hooks = ["valueOf", "toString", "toJSON", "then", Symbol.toPrimitive, Symbol.iterator];

/** Stamps a fresh literal and retains what it holds. */
export function lit(v) {
  for (const name of hooks) {
    if (Object.hasOwn(v, name)) {
      children(v, share);
      return v;
    }
  }
  new Stamp(v);
  children(v, (child) => {
    if (counted(child)) retain(child);
  });
  return v;
}

/** Stamps a container of the library that owns what it holds. */
export function adopt(v) {
  new Stamp(v);
  return v;
}

/** Stamps an instance of a base class when its constructor starts. */
export function made(v, target) {
  if (getPrototypeOf(target) === Function.prototype && !Stamp.has(v)) new Stamp(v);
}

/** Just before `o[key] = v`: takes a count of `v`, gives up that of the old value. */
export function store(o, key, v) {
  if (typeof o !== "object" || o === null || !counted(o) || !Stamp.has(o)) return share(v);
  const property = typeof key === "object" ? undefined : getOwnPropertyDescriptor(o, key);
  if (property === undefined) {
    // An accessor on the prototype would be a call.
    if (typeof key === "object" || typeof key === "function" || key in o) {
      share(o);
      return share(v);
    }
    if (hooks.includes(key) || !Object.isExtensible(o)) {
      share(o);
      return share(v);
    }
    if (counted(v)) retain(v);
    return v;
  }
  if (!("value" in property) || !property.writable) {
    share(o);
    return share(v);
  }
  if (counted(v)) retain(v);
  if (counted(property.value)) release(property.value);
  return v;
}

const arrayIterator = Array.prototype[Symbol.iterator];
const iteratorPrototype = getPrototypeOf([][Symbol.iterator]());
const iteratorNext = iteratorPrototype.next;

/** A value that is iterated: only the original array iterator keeps to itself what it sees. */
export function spread(v) {
  if (!counted(v)) return v;
  const original = Array.isArray(v) && v[Symbol.iterator] === arrayIterator &&
    iteratorPrototype.next === iteratorNext;
  return original ? v : share(v);
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
  if (!mine) retain(v);
  return v;
}
