// Gradients as JavaScript sees them: backward, grad, and functions of trees of tensors.

import { addMethods, describe, idOf, isTensor, make, numbers, buffer, ops, options, tensorArg } from "ext:mlrun_tensor/00_handle.js";

addMethods({
  requiresGrad_(on = true) {
    ops.op_tensor_requires_grad(idOf(this), !!on);
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
    ops.op_tensor_backward(idOf(this), seed, !!opts.retainGraph, !!opts.createGraph);
  },
});

function withGradMode(on, fn) {
  const old = ops.op_tensor_grad_mode(on);
  try {
    return fn();
  } finally {
    ops.op_tensor_grad_mode(old);
  }
}

/** Runs `fn` without recording gradients. */
export const noGrad = (fn) => withGradMode(false, fn);
/** Runs `fn` with gradients recorded, inside noGrad too. */
export const enableGrad = (fn) => withGradMode(true, fn);

/** Leaves of a tree of arrays and plain objects, in order. */
function leavesOf(op, tree, out = []) {
  if (isTensor(tree)) out.push(tree);
  else if (Array.isArray(tree)) for (const v of tree) leavesOf(op, v, out);
  else if (tree !== null && typeof tree === "object") for (const k of Object.keys(tree)) leavesOf(op, tree[k], out);
  else throw new TypeError(`${op}: expected tensors, arrays or objects of tensors, got ${describe(tree)}`);
  return out;
}

/** A tree like `tree` with `map(leaf)` in place of each tensor. */
function mapTree(tree, map) {
  if (isTensor(tree)) return map(tree);
  if (Array.isArray(tree)) return tree.map((v) => mapTree(v, map));
  return Object.fromEntries(Object.entries(tree).map(([k, v]) => [k, mapTree(v, map)]));
}

function gradOf(outputs, inputs, { retainGraph = false, createGraph = false, allowUnused = false, seeds = [] }) {
  let at = 0;
  outputs.forEach((t, i) => {
    numbers[at++] = idOf(t);
    numbers[at++] = seeds[i] ? idOf(seeds[i]) : 0;
  });
  for (const t of inputs) numbers[at++] = idOf(t);
  ops.op_tensor_autograd_grad(outputs.length, inputs.length, retainGraph, createGraph, buffer());
  const ids = Array.from({ length: inputs.length }, (_, i) => numbers[i]);
  return ids.map((id, i) => {
    if (id !== 0) return make(id);
    if (!allowUnused) {
      throw new Error(`autograd.grad: input ${i} plays no part in the outputs; pass { allowUnused: true } to get null for it`);
    }
    return null;
  });
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
    const seeds = opts.gradOutputs === undefined ? [] : list(opts.gradOutputs, "gradOutputs");
    const { createGraph = false } = opts;
    return gradOf(list(outputs, "outputs"), list(inputs, "inputs"), {
      createGraph,
      retainGraph: opts.retainGraph ?? createGraph,
      allowUnused: !!opts.allowUnused,
      seeds,
    });
  },
};

/** A function that gives `[fn(...args), gradient by the first argument]`, a tree like that one. */
export function valueAndGrad(fn) {
  if (typeof fn !== "function") throw new TypeError(`valueAndGrad: expected a function, got ${describe(fn)}`);
  return (first, ...rest) => {
    const own = [];
    const tree = mapTree(first, (t) => {
      const leaf = t.detach().requiresGrad_();
      own.push(leaf);
      return leaf;
    });
    leavesOf("valueAndGrad", tree);
    const value = enableGrad(() => fn(tree, ...rest));
    tensorArg("valueAndGrad", "the function's result", value);
    const grads = gradOf([value], own, { allowUnused: true });
    let i = 0;
    const gradient = mapTree(tree, (t) => grads[i++] ?? t.detach().mul(0));
    return [value.detach(), gradient];
  };
}

/** A function that gives the gradient of `fn` by its first argument, a tree like that one. */
export function grad(fn) {
  const both = valueAndGrad(fn);
  return (...args) => both(...args)[1];
}
