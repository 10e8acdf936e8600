// A small stand-in for the library "mlrun": enough operations for the programs of the tests, on
// plain arrays, with counted handles that complain when they are used after their release.

import { types } from "node:util";

import { adopt, borrowed, configure, drop, given, own } from "ext:mlrun/ownership.js";

let live = 0;
let liveBytes = 0;
let peakBytes = 0;
let released = 0;
export const violations = [];

class Tensor {
  #rc = 1;
  #shared = false;
  #gone = false;
  #ended = false;
  #shape;
  #data;
  constructor(shape, data) {
    this.#shape = shape;
    this.#data = data;
    live++;
    liveBytes += data.length * 4;
    peakBytes = Math.max(peakBytes, liveBytes);
  }
  static is = (v) => #rc in v;
  static isShared = (v) => v.#shared;
  static share = (v) => void (v.#shared = true);
  static retain(v) {
    if (v.#gone) violate("retained", v);
    v.#rc++;
  }
  static release(v) {
    if (v.#gone) violate("released twice", v);
    if (--v.#rc > 0) return;
    v.#gone = true;
    live--;
    liveBytes -= v.#data.length * 4;
    released++;
  }
  static drop(v) {
    if (typeof v !== "object" || v === null || !(#rc in v)) return false;
    if (v.#ended) v.#ended = false;
    else if (!v.#shared) Tensor.release(v);
    return true;
  }
  /** Operands that the next operation may end. */
  static #offered = [];
  static offer(a, b, which) {
    const fits = (v, bit) => which & bit && typeof v === "object" && v !== null && #rc in v && v.#rc === 1 && !v.#shared;
    Tensor.#offered = [fits(a, 1) ? a : undefined, fits(b, 2) ? b : undefined];
  }
  static taken() {
    const offered = Tensor.#offered;
    Tensor.#offered = [];
    return offered;
  }
  /** Ended by an operation: the slot that held it is still to be dropped, once. */
  static end(v) {
    Tensor.release(v);
    v.#ended = true;
  }
  static data(v) {
    if (v.#gone) violate("used", v);
    return v.#data;
  }
  static shape(v) {
    if (v.#gone) violate("used", v);
    return v.#shape;
  }
  get shape() { return Tensor.shape(this); }
  get size() { return Tensor.data(this).length; }
  get T() { return given(transpose(this)); }
}

function violate(what) {
  const error = new Error(`${what} after release`);
  violations.push(error.stack);
  throw error;
}

const make = (shape, data) => new Tensor(shape, data);
const count = (shape) => shape.reduce((a, b) => a * b, 1);
const isT = (v) => typeof v === "object" && v !== null && Tensor.is(v);

function binary(f) {
  return (a, b) => {
    if (!isT(b)) return make(Tensor.shape(a), Tensor.data(a).map((x) => f(x, b)));
    const da = Tensor.data(a), db = Tensor.data(b);
    const big = da.length >= db.length ? a : b;
    const data = Array.from({ length: Math.max(da.length, db.length) },
      (_, i) => f(da[i % da.length], db[i % db.length]));
    return make(Tensor.shape(big), data);
  };
}

const unary = (f) => (a) => make(Tensor.shape(a), Tensor.data(a).map(f));

function transpose(a) {
  const [n, m] = Tensor.shape(a);
  const d = Tensor.data(a);
  return make([m, n], Array.from({ length: n * m }, (_, i) => d[(i % n) * m + Math.floor(i / n)]));
}

function rows(a, start, length) {
  const shape = Tensor.shape(a), width = count(shape.slice(1));
  return make([length, ...shape.slice(1)], Tensor.data(a).slice(start * width, (start + length) * width));
}

function reduce(f, first) {
  return (a, dim) => {
    const d = Tensor.data(a), shape = Tensor.shape(a);
    if (dim === undefined) return make([], [d.reduce(f, first)]);
    const out = shape.filter((_, i) => i !== dim);
    const data = new Array(count(out)).fill(first);
    d.forEach((x, i) => {
      const j = dim === 0 ? i % data.length : Math.floor(i / shape[shape.length - 1]);
      data[j] = f(data[j], x);
    });
    return make(out, data);
  };
}

const sum = reduce((a, b) => a + b, 0);
const operations = {
  add: binary((a, b) => a + b), sub: binary((a, b) => a - b), mul: binary((a, b) => a * b),
  div: binary((a, b) => a / b), gt: binary((a, b) => (a > b ? 1 : 0)),
  neg: unary((x) => -x), exp: unary(Math.exp), log: unary((x) => Math.log(Math.abs(x) + 1)),
  relu: unary((x) => Math.max(0, x)), tanh: unary(Math.tanh), square: unary((x) => x * x), abs: unary(Math.abs),
  clone: unary((x) => x), detach: unary((x) => x), to: unary((x) => x), flatten: (a) => make([Tensor.data(a).length], [...Tensor.data(a)]),
  sum, mean: (a) => make([], [Tensor.data(a).reduce((x, y) => x + y, 0) / Tensor.data(a).length]),
  matmul(a, b) {
    const [n, k] = Tensor.shape(a), [k2, m] = Tensor.shape(b);
    if (k !== k2) throw new RangeError(`matmul: shapes differ, got [${n},${k}] and [${k2},${m}]`);
    const da = Tensor.data(a), db = Tensor.data(b), out = new Array(n * m).fill(0);
    for (let i = 0; i < n; i++) for (let p = 0; p < k; p++) for (let j = 0; j < m; j++) out[i * m + j] += da[i * k + p] * db[p * m + j];
    return make([n, m], out);
  },
  reshape: (a, shape) => make(shape, Tensor.data(a)), narrow: (a, _, start, length) => rows(a, start, length),
  select: (a, _, i) => make(Tensor.shape(a).slice(1), rowData(a, i)), index: (a, i) => make(Tensor.shape(a).slice(1), rowData(a, i)),
  where: (c, a, b) => make(Tensor.shape(a), Tensor.data(a).map((x, i) => (Tensor.data(c)[i] ? x : Tensor.data(b)[i]))),
  lerp: (a, b, w) => make(Tensor.shape(a), Tensor.data(a).map((x, i) => x + (Tensor.data(b)[i] - x) * w)),
  unsqueeze: (a) => make([1, ...Tensor.shape(a)], Tensor.data(a)), expand: (a, shape) => make(shape, Array.from({ length: count(shape) }, (_, i) => Tensor.data(a)[i % Tensor.data(a).length])),
  argmax: (a) => make([], [Tensor.data(a).indexOf(Math.max(...Tensor.data(a)))]),
};

function rowData(a, i) {
  const width = count(Tensor.shape(a).slice(1));
  return Tensor.data(a).slice(i * width, (i + 1) * width);
}

const follows = new Set();
const endings = new Set();
const elementwise = ["add", "sub", "mul", "div", "neg", "exp", "log", "relu", "tanh", "square", "abs"];
for (const [name, f] of Object.entries(operations)) {
  // No list of operands: a program may watch how arrays are iterated.
  const method = { [name](x, y, z) {
    const { 0: a, 1: b } = Tensor.taken();
    const result = given(f(this, x, y, z));
    if (a !== undefined && a === this) Tensor.end(a);
    if (b !== undefined && b === x && a !== b) Tensor.end(b);
    return result;
  } }[name];
  if (elementwise.includes(name)) endings.add(method);
  Object.defineProperty(Tensor.prototype, name, { value: method, writable: true, configurable: true });
  follows.add(method);
}
follows.add(Object.getOwnPropertyDescriptor(Tensor.prototype, "T").get);
// In place: the bytes change, and the receiver is handed back.
for (const name of ["add", "sub", "mul"]) {
  const method = { [`${name}_`](other) {
    const data = Tensor.data(this), result = Tensor.data(operations[name](this, other));
    for (let i = 0; i < data.length; i++) data[i] = result[i];
    return borrowed(this);
  } }[`${name}_`];
  Object.defineProperty(Tensor.prototype, method.name, { value: method, writable: true, configurable: true });
  follows.add(method);
}
const plain = {
  item() { return Tensor.data(this)[0]; },
  toArray() { return nested(Tensor.shape(this), Tensor.data(this)); },
  chunk(n) { const k = Tensor.shape(this)[0] / n; return given(adopt(Array.from({ length: n }, (_, i) => rows(this, i * k, k)))); },
  unbind() { return given(adopt(Array.from({ length: Tensor.shape(this)[0] }, (_, i) => make(Tensor.shape(this).slice(1), rowData(this, i))))); },
  topk(k) { return given(adopt({ values: rows(this, 0, k), indices: rows(this, 0, k) })); },
  toString() { return `tensor(${Tensor.data(this).map((x) => +x.toFixed(4))})`; },
  backward() {},
};
for (const [name, method] of Object.entries(plain)) {
  Object.defineProperty(Tensor.prototype, name, { value: method, writable: true, configurable: true });
  follows.add(method);
}

function nested(shape, data) {
  if (shape.length === 0) return data[0];
  const width = data.length / shape[0];
  return Array.from({ length: shape[0] }, (_, i) => nested(shape.slice(1), data.slice(i * width, (i + 1) * width)));
}

function library(f) {
  follows.add(f);
  return f;
}

let seed = 7;
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648) * 2 - 1;
export const manualSeed = library((n) => void (seed = n));
export const full = library((shape, v) => given(make(shape, new Array(count(shape)).fill(v))));
export const zeros = library((shape) => given(make(shape, new Array(count(shape)).fill(0))));
export const ones = library((shape) => given(make(shape, new Array(count(shape)).fill(1))));
export const randn = library((shape) => given(make(shape, Array.from({ length: count(shape) }, random))));
export const arange = library((n) => given(make([n], Array.from({ length: n }, (_, i) => i))));
export const tensor = library((data) => given(make([data.length], [...data])));
export const concat = library((list) => given(join(list, false)));
export const stack = library((list) => given(join(list, true)));

function join(list, fresh) {
  const shape = Tensor.shape(list[0]);
  const data = list.flatMap((t) => Tensor.data(t));
  const first = fresh ? list.length : list.reduce((n, t) => n + Tensor.shape(t)[0], 0);
  return make([first, ...(fresh ? shape : shape.slice(1))], data);
}

const mseLoss = library((a, b) => given(make([], [Tensor.data(a).reduce((s, x, i) => s + (x - Tensor.data(b)[i]) ** 2, 0) / Tensor.data(a).length])));
const softmax = library((a) => given(operations.exp(a)));
export const nn = { functional: { mseLoss, softmax } };
export const noGrad = library((f) => f());
export const tidy = library((f) => f());
export const valueAndGrad = library((f) => library((w) => {
  const loss = own(f(w), f);
  return given(adopt([loss, operations.mul(w, 0)]));
}));
export const grad = library((f) => library((w) => (drop(own(f(w), f)), given(operations.mul(w, 0)))));
const lends = new Map([[noGrad, "calls"], [tidy, "calls"], [valueAndGrad, "wraps"], [grad, "wraps"]]);

export const memoryStats = () => ({
  liveTensors: live, liveBytes, peakBytes,
  released: { byPass: { tensors: released, bytes: 0 }, byMinorGC: { tensors: 0, bytes: 0 }, byMajorGC: { tensors: 0, bytes: 0 }, byDispose: { tensors: 0, bytes: 0 } },
});
export const resetPeakMemory = library(() => void (peakBytes = liveBytes));

// A dead container's contents are replaced, so that a program that looks at it prints something else.
function died(container) {
  const dead = { toString() { return violate("read a dead container"); } };
  for (const key of Reflect.ownKeys(container)) {
    if (key === "length") continue;
    try { container[key] = dead; } catch { /* frozen */ }
  }
}

configure({
  dead: (what) => violate(`container ${what}`), died,
  is: Tensor.is, shared: Tensor.isShared, share: Tensor.share, retain: Tensor.retain, release: Tensor.release, drop: Tensor.drop, offer: Tensor.offer,
  prototype: Tensor.prototype,
  operations: follows, endings, lends, isProxy: types.isProxy,
});
