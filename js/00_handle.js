// The class Tensor and its bond with the native heap: ids, nursery, calls by row.
//
// Invariant: this file alone reads and writes a handle's id and count. A positive id names a live
// slot, 0 was released by the ownership pass, a negative one is the number of a disposal record.
// Methods of the op table are added by 00_ops.js and its neighbours.
//
// Who counts: this file, 00_ops.js, 00_direct.js, 00_data.js, 00_einsum.js, 00_makers.js, 00_specs.js, the two rows.js, 02_walk.js, 00_ownership.js and its rooms are written for the ownership pass by hand;
// every other file of the library is compiled by it, as the user's modules are. There:
// - write plain JavaScript: temporaries go at their last use, results are given to the caller;
// - a handle's id (`idOf`) is good only inside the call expression that it is an operand of,
//   unless the handle is a parameter or is used again afterwards;
// - build arrays of tensors with a literal and `push`, objects with a literal or index stores; an
//   array that another function fills comes from `countedList`. What `Array.from`, `Object.fromEntries`,
//   `map` of a foreign array and the like make is left to the collector;
// - no `this` in arrow functions of tensor methods, no `arguments`, no parameter default that
//   calls: such functions are left alone, and then share whatever they get;
// - no `return f()` inside a `try` with a `finally` that calls something: return after it.
// Functions here that return an argument say so by `borrowed`.

import { core, primordials } from "ext:core/mod.js";
import { adopt, borrowed, configure, given, tail } from "ext:mlrun_tensor/00_ownership.js";
import { watcher } from "ext:mlrun_tensor/00_verify.js";

const {
  Array,
  ArrayIsArray,
  ArrayPrototypeFill,
  BigInt64Array,
  Float64Array,
  NumberPrototypeToString,
  ObjectFreeze,
  ObjectGetPrototypeOf,
  ObjectKeys,
  ObjectPrototype,
  ReflectGetOwnPropertyDescriptor,
  SafeMap,
  SafeSet,
  SafeWeakMap,
  SafeWeakSet,
  StringPrototypeIndexOf,
  StringPrototypeSlice,
  SymbolDispose,
  TypeError,
  TypedArrayPrototypeSet,
  TypedArrayPrototypeSlice,
  Uint8Array,
} = primordials;

/** Names of dtypes in the order of their codes. */
export const DTYPES = ObjectFreeze([
  "float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
]);

const TOKEN = {};
const NURSERY = 512;

// Numbers that calls exchange with the native side; see ext/tensor/src/call.rs.
export const numbers = new Float64Array(8192);
const bigs = new BigInt64Array(numbers.buffer);
let bytes;
let trackedBytes;

let op_tensor_unary, op_tensor_binary, op_tensor_binary_scalar, op_tensor_call;
let op_tensor_release, op_tensor_meta, op_tensor_track, op_tensor_in_place, op_tensor_in_place_scalar;
let op_tensor_fill_big, op_tensor_alias, op_tensor_attend, op_tensor_disposed, op_own_is;
export let ops;

/** Binds the ops once per isolate: a snapshot cannot hold their fast forms. */
export function bindOps() {
  ops = core.ops;
  ({
    op_tensor_unary, op_tensor_binary, op_tensor_binary_scalar, op_tensor_call,
    op_tensor_release, op_tensor_meta, op_tensor_track, op_tensor_in_place,
    op_tensor_in_place_scalar, op_tensor_fill_big, op_tensor_alias, op_tensor_attend, op_tensor_disposed, op_own_is,
  } = core.ops);
  for (let i = 0; i < modules.length; i++) ops.op_own_module(modules[i]);
  modules = null;
  const verified = ops.op_own_verify();
  if (verified > 0) {
    verifier = makeVerifier();
    born = noteBirth;
  }
  if (verified > 1) Object.assign(hooks, watcher(reportViolation));
  tracing = ops.op_tensor_traces(track);
  bytes = new Uint8Array(numbers.buffer);
  trackedBytes = new Uint8Array(trackedIds.buffer);
}

/** Puts `wrap(op)` in place of the ops that record gradients. */
export function rebindOps(wrap) {
  op_tensor_unary = wrap(ops.op_tensor_unary);
  op_tensor_binary = wrap(ops.op_tensor_binary);
  op_tensor_binary_scalar = wrap(ops.op_tensor_binary_scalar);
  op_tensor_call = wrap(ops.op_tensor_call);
}

export const buffer = () => bytes;

// Made anew whenever it is full: V8 keeps a list of the young objects that an old array holds.
let nursery = new Array(NURSERY);
let newborn = 0;
const trackedIds = new Float64Array(NURSERY);

let disposed = 0;

// A count from here on is the sticky flag of a handle that nobody counts any more.
const SHARED = 2 ** 29;

export let idOf, isTensor;
let shapeOf, dtypeOf, metaOf, counting, spent, disposeFor;

// Ids of the receiver and the operand whose handles the next op may end. An id never names another
// tensor, so one that was left lying by mistake fits nothing.
const offered = new Float64Array(2);

export class Tensor {
  #id;
  // Compiled owners; a new handle's one is in flight to whoever receives it.
  #rc = 1;
  #shape = null;
  #dtype = "";

  constructor(token, id) {
    if (token !== TOKEN) {
      throw new TypeError("Tensor: cannot be constructed directly, use tensor(data) or zeros(shape)");
    }
    this.#id = id;
  }

  static {
    idOf = (t) => {
      if (!isTensor(t)) throw new TypeError(`a tensor's method was called on ${describe(t)}, expected a tensor`);
      return t.#id;
    };
    isTensor = (t) => typeof t === "object" && t !== null && #id in t;
    spent = (t) => {
      t.#id = verifier === null ? 0 : verifier.released(t);
    };
    disposeFor = (t, caller) => {
      if (t.#id <= 0) return;
      ops.op_tensor_release(t.#id, 3);
      t.#id = recordDisposal(t.#id, caller);
    };
    const free = (t) => {
      const id = t.#id;
      if (id <= 0) return;
      spent(t);
      op_tensor_release(id, 0);
    };
    counting = {
      is: (t) => #id in t,
      shared: (t) => t.#rc >= SHARED,
      share: (t) => {
        t.#rc = SHARED;
      },
      retain: (t) => {
        if (verifier !== null && t.#rc <= 0) verifier.touched(t);
        t.#rc++;
      },
      release: (t) => {
        if (--t.#rc <= 0) free(t);
      },
      offer: (a, b, which) => {
        if ((which & 1) !== 0 && isTensor(a) && a.#rc === 1) offered[0] = a.#id;
        if ((which & 2) !== 0 && isTensor(b) && b.#rc === 1) offered[1] = b.#id;
      },
      drop: (t) => {
        if (typeof t !== "object" || t === null || !(#rc in t)) return false;
        const rc = t.#rc - 1;
        if (rc >= SHARED - 1) return true;
        t.#rc = rc;
        if (rc <= 0) free(t);
        return true;
      },
    };
    metaOf = (t) => {
      if (idOf(t) <= 0) op_tensor_disposed(t.#id);
      const n = op_tensor_meta(t.#id, bytes);
      t.#dtype = DTYPES[numbers[0]];
      const shape = [];
      for (let i = 0; i < n; i++) shape[i] = numbers[2 + i];
      t.#shape = ObjectFreeze(shape);
    };
    shapeOf = (t) => {
      // A disposed tensor's shape is an error too, so that its use never goes unnoticed.
      if (!isTensor(t) || t.#shape === null || t.#id <= 0) metaOf(t);
      return t.#shape;
    };
    dtypeOf = (t) => {
      if (!isTensor(t) || t.#shape === null || t.#id <= 0) metaOf(t);
      return t.#dtype;
    };
  }

  /** Extents per dimension; a frozen array. */
  get shape() {
    return shapeOf(this);
  }
  get dtype() {
    return dtypeOf(this);
  }
  get device() {
    shapeOf(this);
    return "cpu";
  }
  get ndim() {
    return shapeOf(this).length;
  }
  /** Number of elements. */
  get size() {
    let n = 1;
    const shape = shapeOf(this);
    for (let i = 0; i < shape.length; i++) n *= shape[i];
    return n;
  }
  get requiresGrad() {
    if (idOf(this) <= 0) op_tensor_disposed(this.#id);
    op_tensor_meta(this.#id, bytes);
    return (numbers[1] & 1) !== 0;
  }
  set requiresGrad(on) {
    ops.op_tensor_requires_grad(idOf(this), flag("requiresGrad", "value", on));
  }
  get isLeaf() {
    if (idOf(this) <= 0) op_tensor_disposed(this.#id);
    op_tensor_meta(this.#id, bytes);
    return (numbers[1] & 2) !== 0;
  }

  get isDisposed() {
    return this.#id <= 0;
  }

  /** Frees the tensor's handle now. A second call does nothing. */
  dispose() {
    disposeFor(this, Tensor.prototype.dispose);
  }

  [SymbolDispose]() {
    disposeFor(this, Tensor.prototype[SymbolDispose]);
  }
}

/** --verify-ownership=all: the program goes on, and ends as one that failed. */
function reportViolation(text) {
  ops.op_own_violation();
  core.print(`ownership: ${text}\n`, true);
}

/** Remembers where the program is, unless it wants no stacks; V8 writes the stack when it is read. */
function capture() {
  const holder = { stack: "" };
  const limit = Error.stackTraceLimit;
  if (limit === 0) return holder;
  Error.stackTraceLimit = 16;
  Error.captureStackTrace(holder);
  Error.stackTraceLimit = limit;
  return holder;
}

/** The first frame that is not the library's; begins with a space. */
function place({ stack }) {
  const from = StringPrototypeIndexOf(stack, "    at ");
  if (from < 0) return "";
  const end = StringPrototypeIndexOf(stack, "\n", from);
  return ` ${StringPrototypeSlice(stack, from + 7, end < 0 ? undefined : end)}`;
}

/** --verify-ownership: places of birth and of releases, for the error of a use after release. */
function makeVerifier() {
  const births = new SafeWeakMap();
  return {
    made(t) {
      births.set(t, capture());
    },
    released(t) {
      const record = ++disposed;
      // Written stacks are slow: all of a small program, samples of a long one.
      if (record <= 4096 || record % 64 === 0) {
        const made = births.has(t) ? `, it was made at${place(births.get(t))}` : "";
        ops.op_tensor_disposed_at(record, ` by the ownership pass at${place(capture())}${made}`, 0);
      }
      return -record;
    },
    touched(t) {
      // Any op on it names the places.
      if (t.isDisposed) metaOf(t);
    },
  };
}

// Numbers a disposal and, for the error of a later use, tells the native side where it was. A
// trace costs a hundred times as much as a disposal: programs that dispose in a loop get one for
// the first thousand, then samples.
function recordDisposal(id, caller) {
  const record = ++disposed;
  const limit = Error.stackTraceLimit;
  if ((record <= 1024 || record % 1024 === 0) && limit !== 0) {
    const holder = {};
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(holder, caller);
    Error.stackTraceLimit = limit;
    const { stack } = holder;
    const from = StringPrototypeIndexOf(stack, "    at ");
    if (from >= 0) ops.op_tensor_disposed_at(record, ` ${StringPrototypeSlice(stack, from + 4)}`, id);
  }
  return -record;
}

/** Thrown where tensors would pass the memory limit; the program may catch it and go on. */
export class TensorMemoryError extends RangeError {
  constructor(message) {
    super(message);
    this.name = "TensorMemoryError";
  }
}

// As a class, not as a builder: errors of fast calls borrow the prototype and run no code.
core.registerErrorClass("TensorMemoryError", TensorMemoryError);

// Told about each new handle, if anybody wants to know: the innermost `tidy`, --verify-ownership.
let born = null;
let made = null;
let verifier = null;
// Every tensor is traced to the line that made it.
let tracing = false;

function noteBirth(t) {
  if (made !== null) made[made.length] = t;
  if (verifier !== null) verifier.made(t);
}

/** Who made what is allocated since the last tensor: the line that the program is at. */
export function attend() {
  if (tracing) op_tensor_attend(0);
}

/** The handle of a new heap slot. A negative id asks to be attended to. */
export function make(id) {
  const t = new Tensor(TOKEN, id < 0 ? -id : id);
  nursery[newborn++] = t;
  if ((id < 0 && op_tensor_attend(-id)) || newborn === NURSERY) track();
  if (born !== null) born(t);
  return given(t);
}

/** Gives the nursery's survivors a weak finalizer and lets the pacing collect. */
export function track() {
  given(undefined); // what was given last and not claimed would be held for no one
  const handles = [];
  let n = 0;
  for (let i = 0; i < newborn; i++) {
    const id = idOf(nursery[i]);
    if (id > 0) {
      trackedIds[n] = id;
      handles[n++] = nursery[i];
    }
  }
  // Emptied too: an old array that is garbage would hold young handles until a major collection.
  ArrayPrototypeFill(nursery, null, 0, newborn);
  nursery = new Array(NURSERY);
  newborn = 0;
  op_tensor_track(handles, trackedBytes, n);
}

// ---- Calls by row. `row` is a number of the op table (00_ops.js).

/** At the memory limit: what the collector can free is freed, then the call runs once more. */
export function afterCollection(error, again) {
  if (!(error instanceof TensorMemoryError)) throw error;
  track();
  if (ops.op_tensor_make_room(false)) {
    try {
      return again();
    } catch (second) {
      if (!(second instanceof TensorMemoryError)) throw second;
    }
  }
  if (!ops.op_tensor_make_room(true)) throw error;
  return again();
}

// No closures in these: one that is made on a rare path would cost every call a context.

// What a call ends (`ends`), it ends only if it succeeds.

export function unary(row, t) {
  const a = idOf(t);
  const ends = offered[0] === a ? 1 : 0;
  offered[0] = offered[1] = 0;
  let id;
  try {
    id = op_tensor_unary(row, a, ends);
  } catch (e) {
    id = unaryAgain(e, row, a, ends);
  }
  if (ends !== 0) spent(t);
  return make(id);
}

export function binary(row, name, t, other) {
  const a = idOf(t);
  let ends = offered[0] === a ? 1 : 0;
  const second = offered[1];
  offered[0] = offered[1] = 0;
  let id;
  if (typeof other === "number") {
    try {
      id = op_tensor_binary_scalar(row, a, other, ends);
    } catch (e) {
      id = scalarAgain(e, row, a, other, ends);
    }
  } else if (isTensor(other)) {
    const b = idOf(other);
    if (second === b) ends |= 2;
    try {
      id = op_tensor_binary(row, a, b, ends);
    } catch (e) {
      id = binaryAgain(e, row, a, b, ends);
    }
    if (ends > 1) spent(other);
  } else {
    return binaryOther(row, name, t, other);
  }
  if ((ends & 1) !== 0) spent(t);
  return make(id);
}

const unaryAgain = (e, row, a, ends) => afterCollection(e, () => op_tensor_unary(row, a, ends));
const scalarAgain = (e, row, a, x, ends) => afterCollection(e, () => op_tensor_binary_scalar(row, a, x, ends));
const binaryAgain = (e, row, a, b, ends) => afterCollection(e, () => op_tensor_binary(row, a, b, ends));
const binaryOther = (row, name, t, other) =>
  withOperand(name, other, (id) => make(op_tensor_binary(row, idOf(t), id, 0)));

const inPlaceOther = (row, name, t, other) => withOperand(name, other, (id) => op_tensor_in_place(row, idOf(t), id));

export function inPlace(row, name, t, other) {
  if (typeof other === "number") {
    op_tensor_in_place_scalar(row, idOf(t), other);
  } else if (isTensor(other)) {
    op_tensor_in_place(row, idOf(t), idOf(other));
  } else {
    inPlaceOther(row, name, t, other);
  }
  return borrowed(t);
}

/** Booleans and BigInts as operands: a 0-d tensor for the time of the call. */
function withOperand(name, value, use) {
  let id;
  if (typeof value === "bigint") {
    if (BigInt.asIntN(64, value) !== value) {
      throw new RangeError(`${name}: ${value} does not fit in int64`);
    }
    id = op_tensor_fill_big(value);
  } else if (typeof value === "boolean") {
    put(name, 0, []);
    attrs(0, [0, value ? 1 : 0, 9]);
    op_tensor_call(ROWS.full, 0, 3, bytes);
    id = numbers[0];
  } else {
    throw new TypeError(`${name}: expected a tensor or a number, got ${describe(value)}`);
  }
  if (id < 0) id = -id;
  try {
    return use(id);
  } finally {
    op_tensor_release(id, 0);
  }
}

/** Row numbers by name, for rows that are called rarely. */
export const ROWS = {};
const rowNames = core.ops.op_tensor_rows();
for (let i = 0; i < rowNames.length; i++) ROWS[rowNames[i]] = i;

function put(name, at, args) {
  for (let i = 0; i < args.length; i++) {
    const a = args[i];
    if (typeof a === "number") {
      numbers[at++] = 2;
      numbers[at++] = a;
    } else if (a === null || a === undefined) {
      numbers[at++] = 0;
      numbers[at++] = 0;
    } else if (typeof a === "boolean") {
      numbers[at++] = 3;
      numbers[at++] = a ? 1 : 0;
    } else if (typeof a === "bigint") {
      if (BigInt.asIntN(64, a) !== a) throw new RangeError(`${name}: ${a} does not fit in int64`);
      numbers[at++] = 4;
      bigs[at++] = a;
    } else if (isTensor(a)) {
      numbers[at++] = 1;
      numbers[at++] = idOf(a);
    } else {
      throw new TypeError(`${name}: expected a tensor or a number, got ${describe(a)}`);
    }
  }
  return at;
}

function attrs(at, values) {
  for (let i = 0; i < values.length; i++) numbers[at++] = values[i];
  return at;
}

/**
 * Calls a row with tensors, numbers or nothing as `args` and flat numbers as `values`; the
 * number of results, whose ids are at the front of `numbers`.
 */
function callRaw(name, args, values) {
  const n = 2 * args.length + values.length;
  if (n > numbers.length) {
    throw new RangeError(`${name}: got too many arguments (${n}), expected at most ${numbers.length}`);
  }
  attrs(put(name, 0, args), values);
  try {
    return op_tensor_call(ROWS[name], args.length, values.length, bytes);
  } catch (e) {
    return afterCollection(e, () => {
      attrs(put(name, 0, args), values);
      return op_tensor_call(ROWS[name], args.length, values.length, bytes);
    });
  }
}

/** Calls a row whose operands, two numbers each, and flat numbers stand in `numbers` (00_direct.js). */
export function run(row, operands, values) {
  try {
    return op_tensor_call(row, operands, values, bytes);
  } catch (e) {
    return runAgain(e, row, operands, values);
  }
}

function runAgain(e, row, operands, values) {
  const kept = TypedArrayPrototypeSlice(numbers, 0, 2 * operands + values);
  return afterCollection(e, () => {
    TypedArrayPrototypeSet(numbers, kept);
    return op_tensor_call(row, operands, values, bytes);
  });
}

export function call(name, args, values) {
  callRaw(name, args, values);
  return make(numbers[0]);
}

export function callNone(name, args, values) {
  callRaw(name, args, values);
}

export function callMany(name, args, values) {
  const n = callRaw(name, args, values);
  const ids = [];
  for (let i = 0; i < n; i++) ids[i] = numbers[i];
  const out = [];
  for (let i = 0; i < n; i++) out[i] = make(ids[i]);
  return given(adopt(out));
}

/** An empty array that functions it is given to put tensors into; their literals need no such care. */
export function countedList() {
  return given(adopt([]));
}

/** A new handle on the same tensor. */
export function alias(t) {
  return make(op_tensor_alias(idOf(t)));
}

// ---- Arguments.

/** The name of an object's class, or "an object"; whatever getters and proxies do. */
function className(value) {
  try {
    const name = value.constructor?.name;
    return typeof name === "string" && name !== "" ? name : "an object";
  } catch {
    return "an object";
  }
}

export function describe(value) {
  if (value === null) return "null";
  if (typeof value === "object") return className(value);
  if (typeof value === "number") return NumberPrototypeToString(value);
  return typeof value;
}

/** `t` as a tensor, or a TypeError naming op and argument. */
export function tensorArg(op, name, t) {
  if (!isTensor(t)) {
    throw new TypeError(`${op}: ${name} must be a tensor, got ${describe(t)}`);
  }
  return borrowed(t);
}

export function dtypeCode(op, name) {
  for (let i = 0; i < DTYPES.length; i++) if (DTYPES[i] === name) return i;
  throw new TypeError(
    `${op}: unknown dtype ${describe(name) === "string" ? `"${name}"` : describe(name)}, expected one of ${
      DTYPES.join(", ")
    }`,
  );
}

/** A list of integers after its length, as the native side reads lists. */
export function list(values) {
  const out = [values.length];
  for (let i = 0; i < values.length; i++) out[i + 1] = values[i];
  return out;
}

/** Checks an array of whole numbers given by the user; without `most` one that goes into a native call. */
export function integers(op, name, values, most = numbers.length) {
  if (typeof values === "number") values = [values];
  if (values === null || typeof values !== "object" || typeof values.length !== "number") {
    throw new TypeError(`${op}: ${name} must be an array of integers, got ${describe(values)}`);
  }
  if (values.length > most) throw new RangeError(`${op}: ${name} has ${values.length} numbers, expected at most ${most}`);
  const out = [];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (typeof v !== "number" || v % 1 !== 0) {
      throw new TypeError(`${op}: ${name} must hold integers, got ${describe(v)}`);
    }
    out[out.length] = v;
  }
  return out;
}

/** One whole number given by the user. */
export function integer(op, name, v) {
  if (typeof v !== "number" || v % 1 !== 0) {
    throw new TypeError(`${op}: ${name} must be an integer, got ${describe(v)}`);
  }
  return v;
}

/** One number given by the user, which may be infinite. */
export function number(op, name, v) {
  if (typeof v !== "number" || v !== v) throw new TypeError(`${op}: ${name} must be a number, got ${describe(v)}`);
  return v;
}

/** What a number outside its range gives, and what is no number. */
export function numberError(v, text) {
  return typeof v === "number" ? new RangeError(text) : new TypeError(text);
}

/** Options that are true or false in every function that takes them. */
const FLAGS = new SafeSet([
  "accumulate", "affine", "alignCorners", "allowUnused", "averageAttnWeights", "batchFirst", "bias", "bidirectional",
  "ceilMode", "centered", "compressed", "countIncludePad", "createGraph", "cycleMomentum", "descending", "dropLast",
  "elementwiseAffine", "errorIfNonfinite", "freeze", "header", "isCausal", "keepdim", "largest", "needWeights",
  "nesterov", "normFirst", "persistent", "replacement", "requiresGrad", "retainGraph", "shuffle", "sorted", "stable",
  "strict", "threePhase", "trackRunningStats", "training",
]);

/** One boolean given by the user. */
export function flag(op, name, v) {
  if (typeof v !== "boolean") throw new TypeError(`${op}: ${name} must be true or false, got ${describe(v)}`);
  return v;
}

/** Refuses an argument behind the last one, which would change what is meant; `hint` says what does. */
export function noMore(op, more, hint = "") {
  if (more !== undefined) throw new TypeError(`${op}: got ${describe(more)} as one argument too many${hint}`);
}

/** Refuses options where there are none. Numbers pass: an operation may be a callback, which gets an index. */
export function noOptions(op, more) {
  if (typeof more === "object" && more !== null) throw new TypeError(`${op}: takes no options, got ${describe(more)}`);
}

/**
 * The options object of a call: unknown names are an error that lists the known ones, and so is
 * anything but true or false where that is expected.
 */
export function options(op, given, known) {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || isTensor(given)) {
    throw new TypeError(`${op}: options must be an object, got ${describe(given)}`);
  }
  for (const key of Object.keys(given)) {
    if (!known.includes(key)) {
      throw new TypeError(`${op}: unknown option "${key}", expected ${known.join(", ")}`);
    }
    if (FLAGS.has(key) && given[key] !== undefined) flag(op, key, given[key]);
  }
  return borrowed(given);
}

const parameters = new SafeWeakSet();

/** From now on `t` is a module's parameter. */
export function markParameter(t) {
  parameters.add(t);
}

export function isParameter(t) {
  return parameters.has(t);
}

/** Lets errors name the paths of layers: the module is known as long as it lives, and kept by nobody. */
export function noteModule(module) {
  ops.op_tensor_note_module(module);
}

/** Adds methods to Tensor.prototype as a class would: not enumerable. */
export function addMethods(methods) {
  for (const key of Reflect.ownKeys(methods)) {
    const descriptor = Object.getOwnPropertyDescriptor(methods, key);
    descriptor.enumerable = false;
    Object.defineProperty(Tensor.prototype, key, descriptor);
  }
}


// ---- By hand.

const kept = new SafeWeakSet();

/** `t` outlives the `tidy` that it was made in. */
export function keep(t) {
  kept.add(tensorArg("keep", "tensor", t));
  return borrowed(t);
}

/** Tensors in a result: the tensor itself, or those in arrays and plain objects. */
function resultsIn(value, found, depth) {
  if (isTensor(value)) {
    found.add(value);
  } else if (typeof value === "object" && value !== null && depth < 64) {
    const proto = ObjectGetPrototypeOf(value);
    if (!ArrayIsArray(value) && proto !== ObjectPrototype && proto !== null) return;
    const keys = ObjectKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const property = ReflectGetOwnPropertyDescriptor(value, keys[i]);
      if (property !== undefined && "value" in property) resultsIn(property.value, found, depth + 1);
    }
  }
}

/**
 * Runs `fn` and disposes the tensors that it made, but for those in its result (a tensor, arrays
 * or plain objects of tensors), those given to `keep`, and leaves that require a gradient.
 */
export function tidy(fn) {
  if (typeof fn !== "function") throw new TypeError(`tidy: expected a function, got ${describe(fn)}`);
  const outer = made;
  const mine = (made = []);
  born = noteBirth;
  const results = new SafeSet();
  let result;
  try {
    result = fn();
    if (typeof result === "object" && result !== null && !isTensor(result) && typeof result.then === "function") {
      throw new TypeError("tidy: the function must not be asynchronous, got a promise");
    }
    resultsIn(result, results, 0);
  } finally {
    made = outer;
    if (made === null && verifier === null) born = null;
    for (let i = 0; i < mine.length; i++) {
      const t = mine[i];
      if (idOf(t) <= 0 || kept.has(t)) continue;
      // The place of the call of `tidy` is what a later use's error names.
      if (!results.has(t) && !(t.isLeaf && t.requiresGrad)) disposeFor(t, tidy);
      else if (made !== null) made[made.length] = t;
    }
  }
  return tail(result, fn);
}

// ---- The ownership pass.

const operations = new SafeSet();
const endings = new SafeSet();

/** `addMethods` for methods that follow the protocol without being compiled. */
export function addBorrowers(methods) {
  addMethods(methods);
  for (const key of Reflect.ownKeys(methods)) {
    const { value, get, set } = Object.getOwnPropertyDescriptor(Tensor.prototype, key);
    for (const f of [value, get, set]) if (typeof f === "function") operations.add(f);
  }
}

/** The same for one call of `unary`, `binary` or `inPlace` each. The first two may end operands. */
export function addOperations(methods) {
  addBorrowers(methods);
  for (const key of Reflect.ownKeys(methods)) if (key[key.length - 1] !== "_") endings.add(methods[key]);
}

for (const key of Reflect.ownKeys(Tensor.prototype)) {
  const { value, get, set } = Object.getOwnPropertyDescriptor(Tensor.prototype, key);
  for (const f of [value, get, set]) if (typeof f === "function" && f !== Tensor) operations.add(f);
}
const followers = [
  addMethods, addOperations, alias, attend, binary, keep, tidy, call, callMany, callNone, countedList, describe, dtypeCode, flag, idOf, inPlace,
  integer, integers, isParameter, isTensor, list, make, markParameter, noMore, noOptions, noteModule, options, run, tensorArg, track, unary,
];
for (const f of followers) operations.add(f);

/** `f` follows the protocol, though it has no mark: a class whose constructor gives another object. */
export function borrows(f) {
  operations.add(f);
}

/** Functions that call what they get and keep nothing of it ("calls"), or whose result does ("wraps"). */
export const lends = new SafeMap([[tidy, "calls"]]);

// One function of each module of the library, until there are ops to tell.
let modules = [];

const hooks = {
  ...counting,
  operations,
  endings,
  lends,
  prototype: Tensor.prototype,
  ours: (f) => op_own_is(f),
  isProxy: core.isProxy,
  module: (f) => {
    if (modules === null) ops.op_own_module(f);
    else modules.push(f);
  },
  born: undefined,
  dead: undefined,
  died: undefined,
};
configure(hooks);
