// data: datasets, and loaders that make batches of them.

import { describe, integer, isTensor, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { randperm, tensor } from "ext:mlrun_tensor/00_make.js";
import { stack } from "ext:mlrun_tensor/00_shape.js";

export { csvToTensor, parseCsv, readCsv } from "ext:mlrun_tensor/04_csv.js";

/**
 * Base of datasets that are read by index: a class with `length` and `get(index)`. One with a
 * method `getBatch(indices)` gives whole batches, which are not collated then.
 */
export class Dataset {
  get length() {
    throw new TypeError(`${this.constructor.name}: has no length`);
  }
  get() {
    throw new TypeError(`${this.constructor.name}: has no get method`);
  }
  *[Symbol.iterator]() {
    for (let i = 0; i < this.length; i++) yield this.get(i);
  }
}

/** Rows of tensors with equal first dimensions; an item is an array of one row of each. */
export class TensorDataset extends Dataset {
  constructor(...tensors) {
    super();
    if (tensors.length === 0) throw new TypeError("data.TensorDataset: expected at least one tensor");
    tensors.forEach((t, i) => {
      if (tensorArg("data.TensorDataset", `tensor ${i}`, t).ndim === 0 || t.shape[0] !== tensors[0].shape[0]) {
        throw new RangeError(`data.TensorDataset: tensor ${i} has shape [${t.shape.join(", ")}], expected ${tensors[0].shape[0]} in the first dimension`);
      }
    });
    this.tensors = tensors;
  }
  get length() {
    return this.tensors[0].shape[0];
  }
  get(index) {
    const out = [];
    for (const t of this.tensors) out.push(t.select(0, index));
    return out;
  }
  getBatch(indices) {
    const at = tensor(indices, { dtype: "int64" }), out = [];
    for (const t of this.tensors) out.push(t.indexSelect(0, at));
    return out;
  }
}

/** The items of another dataset at `indices`. */
export class Subset extends Dataset {
  constructor(dataset, indices) {
    super();
    const n = lengthOf("data.Subset", dataset);
    this.dataset = dataset;
    this.indices = [...indices];
    for (const i of this.indices) {
      if (integer("data.Subset", "index", i) < 0 || i >= n) throw new RangeError(`data.Subset: index ${i} is out of range for ${n} items`);
    }
    if (typeof dataset.getBatch === "function") this.getBatch = (at) => dataset.getBatch(at.map((i) => this.indices[i]));
  }
  get length() {
    return this.indices.length;
  }
  get(index) {
    return itemOf("data.Subset", this.dataset, this.indices[index]);
  }
}

const isIndexed = (v) => v !== null && typeof v === "object" && typeof v.length === "number" && (Array.isArray(v) || typeof v.get === "function");
const isIterable = (v) => v !== null && typeof v === "object" && (typeof v[Symbol.iterator] === "function" || typeof v[Symbol.asyncIterator] === "function");

function lengthOf(op, dataset) {
  if (!isIndexed(dataset)) throw new TypeError(`${op}: expected a dataset with length and get(index), or an array, got ${describe(dataset)}`);
  return dataset.length;
}
function itemOf(op, dataset, i) {
  if (!Array.isArray(dataset)) return dataset.get(i);
  if (!(i in dataset)) throw new RangeError(`${op}: index ${i} is out of range for ${dataset.length} items`);
  return dataset[i];
}

// ---- Orders that repeat: a small generator of its own, so that a seed gives one order for ever.

/** Whole numbers below 2^32 by the algorithm splitmix32. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
}

/** 0 to n - 1 in an order that `seed` and `round` decide, or the program's generator without a seed. */
function shuffled(n, seed, round) {
  if (seed === undefined) return Array.from(randperm(n).toTypedArray(), Number);
  const next = generator(Math.imul(seed, 0x27d4eb2f) ^ Math.imul(round + 1, 0x165667b1));
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() / 2 ** 32 * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/**
 * Parts of a dataset at random: `lengths` adds up to its length, or they are fractions that add
 * up to 1. With `seed` the parts are the same at every run.
 */
export function randomSplit(dataset, lengths, given) {
  const op = "data.randomSplit";
  const { seed } = options(op, given, ["seed"]);
  const n = lengthOf(op, dataset);
  if (!Array.isArray(lengths) || lengths.length === 0 || !lengths.every((v) => typeof v === "number" && v >= 0)) {
    throw new TypeError(`${op}: lengths must be an array of numbers of at least 0, got ${describe(lengths)}`);
  }
  const sum = lengths.reduce((a, b) => a + b, 0);
  let sizes = lengths;
  if (Math.abs(sum - 1) < 1e-9 && !(lengths.every(Number.isInteger) && n === 1)) {
    sizes = lengths.map((f) => Math.floor(n * f + 1e-9));
    let left = n - sizes.reduce((a, b) => a + b, 0);
    for (let i = 0; left > 0; i = (i + 1) % sizes.length, left--) sizes[i]++;
  } else if (sum !== n || !lengths.every(Number.isInteger)) {
    throw new RangeError(`${op}: lengths add up to ${sum}, expected ${n}, or fractions that add up to 1`);
  }
  const order = shuffled(n, seed, 0);
  let at = 0;
  return sizes.map((size) => new Subset(dataset, order.slice(at, at += size)));
}

// ---- Batches.

/**
 * Items as one batch: tensors and typed arrays are stacked, numbers become a float32 tensor,
 * BigInts int64, booleans bool, texts an array; arrays and plain objects position by position and
 * key by key.
 */
export function collate(items) {
  if (!Array.isArray(items) || items.length === 0) {
    throw new TypeError(`data.collate: expected items, got ${Array.isArray(items) ? "an empty array" : describe(items)}`);
  }
  return collated(items, "item");
}

function collated(items, path) {
  const [first] = items;
  const alike = (test, kind) => {
    const odd = items.findIndex((v) => !test(v));
    if (odd >= 0) throw new TypeError(`data.collate: ${path} is ${kind} in item 0 and ${describe(items[odd])} in item ${odd}`);
  };
  if (isTensor(first)) {
    alike(isTensor, "a tensor");
    const shape = String(first.shape);
    const odd = items.findIndex((t) => String(t.shape) !== shape);
    if (odd >= 0) {
      throw new RangeError(`data.collate: ${path} has shape [${first.shape.join(", ")}] in item 0 and [${items[odd].shape.join(", ")}] in item ${odd}, ` +
        "pad them or give a collate function");
    }
    return stack(items);
  }
  // An item that a closure captures or a builtin is asked about would be left to the collector.
  const length = first?.length;
  if (first?.buffer !== undefined && ArrayBuffer.isView(first)) {
    alike((v) => ArrayBuffer.isView(v) && v.length === length, `a typed array of ${length}`);
    return stack(items.map((v) => tensor(v)));
  }
  if (["number", "bigint", "boolean"].includes(typeof first)) {
    const kind = typeof first;
    alike((v) => typeof v === kind, `a ${kind}`);
    return tensor(items);
  }
  if (typeof first === "string") return [...items];
  if (Array.isArray(first)) {
    alike((v) => Array.isArray(v) && v.length === length, `an array of ${length}`);
    const out = [];
    for (let i = 0; i < length; i++) out.push(collated(items.map((v) => v[i]), `${path}[${i}]`));
    return out;
  }
  if (first !== null && typeof first === "object") {
    const keys = Object.keys(first);
    alike((v) => v !== null && typeof v === "object" && keys.every((k) => k in v), `an object of ${keys.join(", ")}`);
    const out = {};
    for (const k of keys) out[k] = collated(items.map((v) => v[k]), `${path}.${k}`);
    return out;
  }
  throw new TypeError(`data.collate: cannot make a batch of ${describe(first)} at ${path}`);
}

const LOADER = ["batchSize", "shuffle", "seed", "dropLast", "collate", "sampler"];

/**
 * Batches of a dataset, once through it per loop: `for (const batch of loader)`. A dataset is read
 * by index (`length` and `get`, or an array) or from front to back (any iterable); one that is
 * async needs `for await`. With `seed` the orders of the first, second, ... loop are the same at
 * every run.
 */
export class DataLoader {
  constructor(dataset, given) {
    const op = "data.DataLoader";
    const { batchSize = 1, shuffle = false, seed, dropLast = false, collate: join = collate, sampler } = options(op, given, LOADER);
    this.indexed = isIndexed(dataset);
    if (!this.indexed && !isIterable(dataset)) {
      throw new TypeError(`${op}: expected a dataset with length and get(index), an array or an iterable, got ${describe(dataset)}`);
    }
    if (batchSize !== null && integer(op, "batchSize", batchSize) < 1) throw new RangeError(`${op}: batchSize must be at least 1, got ${batchSize}`);
    if (seed !== undefined) integer(op, "seed", seed);
    if (typeof join !== "function") throw new TypeError(`${op}: collate must be a function, got ${describe(join)}`);
    if (!this.indexed && (shuffle || sampler)) throw new TypeError(`${op}: a dataset without get(index) cannot be shuffled or sampled`);
    if (shuffle && sampler) throw new TypeError(`${op}: shuffle and sampler exclude each other`);
    Object.assign(this, { dataset, batchSize, shuffle, seed, dropLast, collate: join, sampler, epoch: 0 });
  }
  /** Batches in one loop. */
  get length() {
    if (!this.indexed) throw new TypeError("data.DataLoader: the length of an iterable dataset is not known");
    const n = this.sampler ? [...this.sampler].length : this.dataset.length;
    if (this.batchSize === null) return n;
    return this.dropLast ? Math.floor(n / this.batchSize) : Math.ceil(n / this.batchSize);
  }
  /** Indices in the order of the next loop. */
  order() {
    const epoch = this.epoch++, n = this.dataset.length;
    if (this.sampler) return [...this.sampler];
    return this.shuffle ? shuffled(n, this.seed, epoch) : Array.from({ length: n }, (_, i) => i);
  }
  batch(indices) {
    const { dataset } = this;
    if (this.batchSize === null) return itemOf("data.DataLoader", dataset, indices[0]);
    if (this.collate === collate && typeof dataset.getBatch === "function") return dataset.getBatch(indices);
    const items = [];
    for (const i of indices) items.push(itemOf("data.DataLoader", dataset, i));
    return this.collate(items);
  }
  *[Symbol.iterator]() {
    if (!this.indexed) {
      if (typeof this.dataset[Symbol.iterator] !== "function") throw new TypeError("data.DataLoader: the dataset is async, use `for await`");
      let items = [];
      for (const item of this.dataset) {
        items.push(item);
        if (items.length === (this.batchSize ?? 1)) {
          yield this.joined(items);
          items = [];
        }
      }
      if (items.length > 0 && !this.dropLast) yield this.joined(items);
      return;
    }
    const order = this.order(), size = this.batchSize ?? 1;
    for (let i = 0; i < order.length; i += size) {
      if (this.dropLast && i + size > order.length) return;
      yield this.batch(order.slice(i, i + size));
    }
  }
  joined(items) {
    return this.batchSize === null ? items[0] : this.collate(items);
  }
  async *[Symbol.asyncIterator]() {
    if (this.indexed) {
      // Items may be promises: those of one batch are waited for together.
      const order = this.order(), size = this.batchSize ?? 1;
      for (let i = 0; i < order.length; i += size) {
        if (this.dropLast && i + size > order.length) return;
        const at = order.slice(i, i + size);
        if (this.collate === collate && this.batchSize !== null && typeof this.dataset.getBatch === "function") {
          const batch = this.dataset.getBatch(at);
          // Waiting hands what there is to the collector: only where it is a promise.
          if (typeof batch?.then === "function") yield await batch;
          else yield batch;
        } else yield this.joined(await Promise.all(at.map((k) => itemOf("data.DataLoader", this.dataset, k))));
      }
      return;
    }
    let items = [];
    for await (const item of this.dataset) {
      items.push(item);
      if (items.length === (this.batchSize ?? 1)) {
        yield this.joined(items);
        items = [];
      }
    }
    if (items.length > 0 && !this.dropLast) yield this.joined(items);
  }
  stateDict() {
    return { epoch: this.epoch };
  }
  loadStateDict(saved) {
    this.epoch = integer("data.DataLoader.loadStateDict", "epoch", saved?.epoch);
  }
}
