// Steps of the tape that are JavaScript: autograd.Function and checkpoint; and the watch for NaN.
//
// A native backward pass stops at such a step and gives its number; `drive` runs the step and
// lets the pass go on. Tensors that a step keeps are kept by the tape, not here, so that a graph
// that nobody walks is freed like any other.

import { core } from "ext:core/mod.js";
import {
  alias, buffer, describe, idOf, isTensor, make, numbers, ops, rebindOps, tensorArg,
} from "ext:mlrun_tensor/00_handle.js";
import { gradEnabled, withGradMode } from "ext:mlrun_tensor/01_modes.js";

/** What to do for a token: `(walk, grads, saved, createGraph) => walk`, with results in `numbers`. */
const steps = new Map();
let lastToken = 0;

/** Forgets the steps whose part of the tape is gone. */
function forgetDead() {
  for (;;) {
    const n = ops.op_tensor_dead_tokens(buffer());
    for (let i = 0; i < n; i++) steps.delete(numbers[i]);
    if (n < numbers.length) return;
  }
}

/** Runs a backward pass to its end; `walk` is what started it gave. */
export function drive(walk) {
  while (walk !== 0) {
    const parked = walk, token = numbers[0], last = numbers[1] !== 0, createGraph = numbers[2] !== 0;
    const grads = [], saved = [], nGrads = numbers[3], nSaved = numbers[4];
    const ids = Array.from({ length: nGrads + nSaved }, (_, i) => numbers[5 + i]);
    for (let i = 0; i < nGrads; i++) grads.push(make(ids[i]));
    for (let i = nGrads; i < ids.length; i++) saved.push(make(ids[i]));
    try {
      const step = steps.get(token);
      if (last) steps.delete(token);
      walk = step(parked, grads, saved, createGraph);
    } catch (e) {
      ops.op_tensor_walk_end(parked);
      throw e;
    }
  }
}

/** Makes `outputs` results of a step with `inputs` that keeps `saved`. */
function record(name, inputs, outputs, saved, step) {
  forgetDead();
  const all = [...inputs, ...outputs, ...saved];
  if (all.length > numbers.length) throw new RangeError(`${name}: got too many tensors (${all.length})`);
  const token = ++lastToken;
  all.forEach((t, i) => numbers[i] = idOf(t));
  ops.op_tensor_record_custom(token, name, inputs.length, outputs.length, saved.length, buffer());
  steps.set(token, step);
}

/** Tensors that may become results: none of `taken`, none twice. */
function ownHandles(outputs, taken) {
  return outputs.map((t, i) => (taken.includes(t) || outputs.indexOf(t) !== i || (t.isLeaf && t.requiresGrad) ? alias(t) : t));
}

// ---- autograd.Function

const saving = Symbol("tensors to save");

class Context {
  /** For each argument of forward whether a gradient is wanted. */
  needsInputGrad;
  /** In backward: what forward gave to saveForBackward. */
  savedTensors = [];
  [saving] = [];

  constructor(needsInputGrad) {
    this.needsInputGrad = needsInputGrad;
  }

  /** Keeps tensors for backward; a change in place of one is an error there. */
  saveForBackward(...tensors) {
    tensors.forEach((t, i) => tensorArg("saveForBackward", `argument ${i}`, t));
    this[saving] = tensors;
  }
}

/** A function with a derivative of its own: static `forward(ctx, ...)` and `backward(ctx, ...)`. */
export class Function {
  static forward() {
    throw new TypeError(`${this.name}: has no static forward(ctx, ...)`);
  }

  static backward() {
    throw new TypeError(`${this.name}: has no static backward(ctx, ...)`);
  }

  /** Calls forward without recording, and records that backward gives its gradients. */
  static apply(...args) {
    const name = this.name || "autograd.Function";
    const given = args.map(isTensor), inputs = args.filter(isTensor);
    const ctx = new Context(args.map((a) => isTensor(a) && a.requiresGrad));
    const wanted = gradEnabled() && ctx.needsInputGrad.includes(true);
    const result = withGradMode(false, () => this.forward(ctx, ...args));
    const outputs = Array.isArray(result) ? result : [result];
    outputs.forEach((t, i) => tensorArg(name, `result ${i} of forward`, t));
    const saved = ctx[saving];
    ctx[saving] = [];
    if (!wanted) return result;
    const own = ownHandles(outputs, inputs);
    const keep = saved.map((t) => (outputs.includes(t) ? own[outputs.indexOf(t)] : t));
    record(name, inputs, own, keep, functionStep(this, name, ctx, given));
    return Array.isArray(result) ? own : own[0];
  }
}

// Steps are made apart from their callers: a closure holds its whole scope, and a step that held
// a result would keep the tape that keeps the step.
function functionStep(type, name, ctx, given) {
  return (walk, grads, kept, createGraph) => {
    ctx.savedTensors = kept;
    const back = withGradMode(createGraph, () => type.backward(ctx, ...grads));
    ctx.savedTensors = [];
    return sendGrads(walk, name, given, back);
  };
}

/** Lets a walk go on with the gradients of the arguments that are tensors. */
function sendGrads(walk, name, given, back) {
  const grads = Array.isArray(back) ? back : [back];
  const extra = grads.slice(given.length).some((g) => g !== null && g !== undefined);
  if (grads.length < given.length || extra) {
    throw new TypeError(`${name}: backward gave ${grads.length} gradients, expected ${given.length}, one for each argument of forward`);
  }
  let n = 0;
  given.forEach((tensor, i) => {
    const g = grads[i];
    if (g !== null && g !== undefined) tensorArg(name, `gradient ${i} of backward`, g);
    if (!tensor && g) throw new TypeError(`${name}: backward gave a gradient for argument ${i}, which is no tensor; expected null`);
    if (tensor) numbers[n++] = g ? idOf(g) : 0;
  });
  return ops.op_tensor_walk_grads(walk, n, buffer());
}

// ---- checkpoint

/** Tensors of a tree of arrays and plain objects, in order. */
function tensorsOf(tree, out) {
  if (isTensor(tree)) out.push(tree);
  else if (Array.isArray(tree)) tree.forEach((v) => tensorsOf(v, out));
  else if (isPlain(tree)) Object.values(tree).forEach((v) => tensorsOf(v, out));
  return out;
}

const isPlain = (v) => typeof v === "object" && v !== null && Object.getPrototypeOf(v) === Object.prototype;

/** The tree with its tensors taken from `from`, in order; `null` in a pattern without tensors. */
function refill(tree, from) {
  if (tree === HOLE || isTensor(tree)) return from === null ? HOLE : from.shift();
  if (Array.isArray(tree)) return tree.map((v) => refill(v, from));
  if (isPlain(tree)) return Object.fromEntries(Object.entries(tree).map(([k, v]) => [k, refill(v, from)]));
  return tree;
}
const HOLE = Symbol("a tensor");

function randomState() {
  ops.op_tensor_random_state(false, buffer());
  return [numbers[0], numbers[1], numbers[2], numbers[3]];
}

function setRandomState(state) {
  for (let i = 0; i < 4; i++) numbers[i] = state[i];
  ops.op_tensor_random_state(true, buffer());
}

/**
 * `fn(...args)` without keeping what its gradient needs: backward runs `fn` again. `fn` gives a
 * tensor or an array of tensors; random numbers are the same in both runs.
 */
export function checkpoint(fn, ...args) {
  if (typeof fn !== "function") throw new TypeError(`checkpoint: expected a function, got ${describe(fn)}`);
  if (!gradEnabled()) return fn(...args);
  const random = randomState(), skipped = ops.op_tensor_skipped();
  const result = withGradMode(false, () => fn(...args));
  const outputs = Array.isArray(result) ? result : [result];
  outputs.forEach((t, i) => tensorArg("checkpoint", `result ${i} of the function`, t));
  const inputs = tensorsOf(args, []);
  // No op was kept off the tape and no input came back: there is nothing to differentiate.
  if (ops.op_tensor_skipped() === skipped && !outputs.some((t) => t.requiresGrad)) return result;
  const own = ownHandles(outputs, inputs);
  record("checkpoint", inputs, own, inputs, checkpointStep(fn, refill(args, null), random));
  return Array.isArray(result) ? own : own[0];
}

function checkpointStep(fn, pattern, random) {
  return (walk, grads, saved) => {
    const now = randomState();
    setRandomState(random);
    let again;
    try {
      again = withGradMode(true, () => fn(...refill(pattern, saved)));
    } finally {
      setRandomState(now);
    }
    return sendRoots(walk, Array.isArray(again) ? again : [again], grads);
  };
}

/** Lets a walk go on from what a checkpoint's function gave again. */
function sendRoots(walk, again, grads) {
  if (again.length !== grads.length) {
    throw new Error(`checkpoint: the function gave ${again.length} tensors when it ran again, expected ${grads.length}`);
  }
  again.forEach((t, i) => {
    numbers[2 * i] = idOf(tensorArg("checkpoint", `result ${i} of the function`, t));
    numbers[2 * i + 1] = idOf(grads[i]);
  });
  return ops.op_tensor_walk_roots(walk, again.length, buffer());
}

// ---- The watch for NaN

/** " at ..." of the first caller outside the library. */
function place() {
  const lines = new Error().stack.split("\n").slice(1);
  const line = lines.find((l) => !l.includes("ext:"));
  return line === undefined ? "" : ` ${line.trim()}`;
}

function watched(op) {
  return (...args) => {
    const from = ops.op_tensor_seq();
    const result = op(...args);
    if (ops.op_tensor_seq() !== from) ops.op_tensor_called_at(from, place());
    return result;
  };
}

/**
 * Runs `fn`; a backward pass in it that starts from NaN throws an error that names the op which
 * gave it and the line that called the op, and so does one in which a derivative gives NaN. Slow;
 * for finding a fault.
 */
export function detectAnomaly(fn) {
  if (typeof fn !== "function") throw new TypeError(`autograd.detectAnomaly: expected a function, got ${describe(fn)}`);
  if (core.isAsyncFunction(fn)) {
    throw new TypeError("autograd.detectAnomaly: the function must not be asynchronous, the watch ends when it returns");
  }
  if (ops.op_tensor_watch_nan(true)) return fn();
  rebindOps(watched);
  let result;
  try {
    result = fn();
  } finally {
    rebindOps((op) => op);
    ops.op_tensor_watch_nan(false);
  }
  return result;
}
