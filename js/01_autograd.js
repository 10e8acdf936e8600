// Gradients as JavaScript sees them: backward, grad, and functions of trees of tensors.

import { addMethods, attend, countedList, describe, flag, idOf, isTensor, lends, make, numbers, buffer, ops, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";
import { checkpoint, detectAnomaly, drive, Function } from "ext:mlrun_tensor/01_custom.js";
import { withGradMode } from "ext:mlrun_tensor/01_modes.js";

export { checkpoint };

addMethods({
  requiresGrad_(on = true) {
    ops.op_tensor_requires_grad(idOf(this), flag("requiresGrad_", "on", on));
    return this;
  },
  /** The gathered gradient of a leaf, or null. */
  get grad() {
    const id = ops.op_tensor_grad(idOf(this));
    return id === 0 ? null : make(id);
  },
  set grad(value) {
    if (value !== null && value !== undefined) tensorArg("grad", "value", value);
    ops.op_tensor_set_grad(idOf(this), value ? idOf(value) : 0);
  },
  /** Adds the gradients of this tensor to the `grad` of every leaf it was computed from. */
  backward(gradient, given) {
    if (gradient !== undefined && gradient !== null && !isTensor(gradient)) [gradient, given] = [undefined, gradient];
    const opts = options("backward", given, ["retainGraph", "createGraph"]);
    const seed = gradient ? idOf(gradient) : 0;
    drive(ops.op_tensor_backward(idOf(this), seed, !!opts.retainGraph, !!opts.createGraph, buffer()));
    attend();
  },
});

/** Runs `fn` without recording gradients; an asynchronous one to its end. */
export const noGrad = (fn) => {
  if (typeof fn !== "function") throw new TypeError(`noGrad: expected a function, got ${describe(fn)}`);
  return withGradMode(false, fn);
};
/** Runs `fn` with gradients recorded, inside noGrad too. */
export const enableGrad = (fn) => {
  if (typeof fn !== "function") throw new TypeError(`enableGrad: expected a function, got ${describe(fn)}`);
  return withGradMode(true, fn);
};
lends.set(noGrad, "calls").set(enableGrad, "calls").set(detectAnomaly, "calls");

/** Leaves of a tree of arrays and plain objects, in order. */
function leavesOf(op, tree) {
  if (isTensor(tree)) return;
  if (tree === null || typeof tree !== "object") {
    throw new TypeError(`${op}: expected tensors, arrays or objects of tensors, got ${describe(tree)}`);
  }
  for (const k of Object.keys(tree)) leavesOf(op, tree[k]);
}

/** A tree like `tree` of leaves that require gradients; they are put into `leaves` as well. */
function leafTree(tree, leaves) {
  if (isTensor(tree)) {
    const leaf = tree.detach().requiresGrad_();
    leaves.push(leaf);
    return leaf;
  }
  if (Array.isArray(tree)) {
    const out = [];
    for (let i = 0; i < tree.length; i++) out.push(leafTree(tree[i], leaves));
    return out;
  }
  const out = {};
  for (const k of Object.keys(tree)) out[k] = leafTree(tree[k], leaves);
  return out;
}

/** A tree like `tree` of the gradients in `grads`, zeros where there is none. */
function gradTree(tree, grads, at) {
  if (isTensor(tree)) {
    const g = grads[at.i++];
    return g === null ? tree.detach().mul(0) : g;
  }
  if (Array.isArray(tree)) {
    const out = [];
    for (let i = 0; i < tree.length; i++) out.push(gradTree(tree[i], grads, at));
    return out;
  }
  const out = {};
  for (const k of Object.keys(tree)) out[k] = gradTree(tree[k], grads, at);
  return out;
}

function gradOf(outputs, inputs, { retainGraph = false, createGraph = false, allowUnused = false, seeds = [] }) {
  let at = 0;
  outputs.forEach((t, i) => {
    numbers[at++] = idOf(t);
    numbers[at++] = seeds[i] ? idOf(seeds[i]) : 0;
  });
  for (const t of inputs) numbers[at++] = idOf(t);
  drive(ops.op_tensor_autograd_grad(outputs.length, inputs.length, retainGraph, createGraph, buffer()));
  const ids = Array.from({ length: inputs.length }, (_, i) => numbers[i]);
  const grads = [];
  for (const id of ids) grads.push(id === 0 ? null : make(id));
  const unused = ids.indexOf(0);
  if (unused >= 0 && !allowUnused) {
    throw new Error(`autograd.grad: input ${unused} plays no part in the outputs; pass { allowUnused: true } to get null for it`);
  }
  return grads;
}

export const autograd = {
  /** Gradients of `outputs` by `inputs`, in order; `grad` of no tensor changes. */
  grad(outputs, inputs, given) {
    const opts = options("autograd.grad", given, ["createGraph", "retainGraph", "allowUnused", "gradOutputs"]);
    const list = (v, name) => {
      const all = Array.isArray(v) ? v : [v];
      all.forEach((t) => tensorArg("autograd.grad", name, t));
      return all;
    };
    const seeds = opts.gradOutputs === undefined ? [] : [opts.gradOutputs].flat();
    seeds.forEach((t) => t === null || tensorArg("autograd.grad", "gradOutputs", t));
    const { createGraph = false } = opts;
    return gradOf(list(outputs, "outputs"), list(inputs, "inputs"), {
      createGraph,
      retainGraph: opts.retainGraph ?? createGraph,
      allowUnused: !!opts.allowUnused,
      seeds,
    });
  },
  detectAnomaly,
  Function,
};

function recorded(fn, first, rest) {
  const old = ops.op_tensor_grad_mode(true);
  let value;
  try {
    // A spread argument would be shared.
    if (rest.length === 0) value = fn(first);
    else if (rest.length === 1) value = fn(first, rest[0]);
    else if (rest.length === 2) value = fn(first, rest[0], rest[1]);
    else if (rest.length === 3) value = fn(first, rest[0], rest[1], rest[2]);
    else value = fn(first, ...rest);
  } finally {
    ops.op_tensor_grad_mode(old);
  }
  return value;
}

function valueAndGradient(op, fn, first, rest) {
  leavesOf(op, first);
  const leaves = countedList();
  const tree = leafTree(first, leaves);
  const value = recorded(fn, tree, rest);
  tensorArg(op, "the function's result", value);
  const grads = gradOf([value], leaves, { allowUnused: true });
  return [value.detach(), gradTree(tree, grads, { i: 0 })];
}

/** A function that gives `[fn(...args), gradient by the first argument]`, a tree like that one. */
export function valueAndGrad(fn) {
  if (typeof fn !== "function") throw new TypeError(`valueAndGrad: expected a function, got ${describe(fn)}`);
  return (first, ...rest) => valueAndGradient("valueAndGrad", fn, first, rest);
}

/** A function that gives the gradient of `fn` by its first argument, a tree like that one. */
export function grad(fn) {
  if (typeof fn !== "function") throw new TypeError(`grad: expected a function, got ${describe(fn)}`);
  return (first, ...rest) => {
    const [, gradient] = valueAndGradient("grad", fn, first, rest);
    return gradient;
  };
}
lends.set(valueAndGrad, "wraps").set(grad, "wraps");
