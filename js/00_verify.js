// --verify-ownership=all: what notices that a released object is still used.
//
// Hooks of the runtime half (00_ownership.js) for objects and arrays. Invariant: a released object
// still is what it was for whoever looks at it, but each look is reported, with the places where
// it was made, released and used. Deliberately not here: tensors, whose release 00_handle.js
// watches, and how reports reach the user.

const {
  apply, defineProperty, get, getOwnPropertyDescriptor, getPrototypeOf, has, isExtensible, ownKeys, set,
} = Reflect;
const { create, hasOwn, prototype: ObjectPrototype, setPrototypeOf } = Object;
const uncurried = (f) => Function.prototype.call.bind(f);
const find = uncurried(String.prototype.indexOf);
const cut = uncurried(String.prototype.slice);
const text = String;
const [recall, remember] = [WeakMap.prototype.get, WeakMap.prototype.set].map(uncurried);
const { captureStackTrace } = Error;
const Trace = Error;

/** Remembers where the program is; V8 writes the stack when it is read. */
function capture() {
  const holder = {};
  const limit = Trace.stackTraceLimit;
  Trace.stackTraceLimit = 16;
  captureStackTrace(holder);
  Trace.stackTraceLimit = limit;
  return holder;
}

/** The innermost frame of the program. */
function place(holder) {
  if (holder === undefined) return "an unknown place";
  const stack = text(holder.stack);
  for (let from = find(stack, "    at "); from >= 0; from = find(stack, "    at ", from + 7)) {
    const end = find(stack, "\n", from);
    const frame = cut(stack, from + 7, end < 0 ? undefined : end);
    if (find(frame, "ext:") < 0 && find(frame, "<anonymous>") < 0) return frame;
  }
  return "the top of the program";
}

/** A descriptor that inherits nothing from what the program may have done to Object.prototype. */
const descriptor = (properties) => setPrototypeOf(properties, null);

/** Makes every look at an object tell. */
function poison(object, tell) {
  const keys = ownKeys(object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const property = getOwnPropertyDescriptor(object, key);
    if (!property.configurable || !hasOwn(property, "value")) continue;
    let { value } = property;
    const { enumerable, writable } = property;
    defineProperty(object, key, descriptor({
      get() {
        tell("read");
        return value;
      },
      set: !writable ? undefined : (v) => {
        tell("written");
        value = v;
      },
      enumerable,
      configurable: true,
    }));
  }
  const parent = getPrototypeOf(object) ?? create(null);
  // Found by every object: what only looks for it there says nothing.
  if (!isExtensible(object) || parent === ObjectPrototype) return;
  setPrototypeOf(object, new Proxy(parent, descriptor({
    get(target, key, receiver) {
      tell("read");
      return get(target, key, receiver);
    },
    set(target, key, v, receiver) {
      tell("written");
      return set(target, key, v, receiver);
    },
    has(target, key) {
      tell("read");
      return has(target, key);
    },
  })));
}

/** Hooks that give `report` one text for each released object that is used. */
export function watcher(report) {
  const births = new WeakMap();
  const deaths = new WeakMap();
  const told = new WeakMap();
  const tell = (v, what) => {
    if (recall(told, v) !== undefined) return;
    remember(told, v, true);
    const use = place(capture());
    report(
      `an object was ${what} at ${use} after its release by the ownership pass at ` +
        `${place(recall(deaths, v))}, it was made at ${place(recall(births, v))}`,
    );
  };
  return {
    born: (v) => void remember(births, v, capture()),
    dead: (what, v) => tell(v, what),
    died(v) {
      if (recall(deaths, v) !== undefined) return;
      remember(deaths, v, capture());
      apply(poison, undefined, [v, (what) => tell(v, what)]);
    },
  };
}
