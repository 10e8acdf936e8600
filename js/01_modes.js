// Whether gradients are recorded: for the time of a call, or of an asynchronous function.
//
// What an asynchronous function does after an `await` runs in a later turn, between turns of
// others. So promises that are made under its mode carry it, and while a reaction of one of them
// runs the mode is in force. V8 tells by hooks, which slow all promises down and are in place only
// while such a function runs. A function that is not asynchronous itself has the mode until it
// returns, also where it gives a promise.

import { core, primordials } from "ext:core/mod.js";
import { ops } from "ext:mlrun_tensor/00_handle.js";

const { SafeWeakMap } = primordials;

export function withGradMode(on, fn) {
  if (core.isAsyncFunction(fn)) return asynchronously(on, fn);
  const old = ops.op_tensor_grad_mode(on);
  let result;
  try {
    result = fn();
  } finally {
    ops.op_tensor_grad_mode(old);
  }
  return result;
}

export function gradEnabled() {
  const on = ops.op_tensor_grad_mode(false);
  ops.op_tensor_grad_mode(on);
  return on;
}

/** Modes by the promises that carry one, while hooks are in place. */
let modes = null;
/** The mode that new promises get; undefined outside of asynchronous functions with one. */
let inside;
/** The mode around the reaction that runs. */
let outside = false;
const running = new Set();

function asynchronously(on, fn) {
  if (modes === null) {
    modes = new SafeWeakMap();
    core.ops.op_set_promise_hooks(made, before, after, settled);
  }
  const old = ops.op_tensor_grad_mode(on), around = inside;
  inside = on;
  let result;
  try {
    result = fn();
  } finally {
    inside = around;
    ops.op_tensor_grad_mode(old);
  }
  // One that has ended already told so before it was known.
  if (core.getPromiseDetails(result)[0] === PENDING) running.add(result);
  else leave();
  return result;
}
const PENDING = 0;

function leave() {
  if (running.size > 0) return;
  modes = null;
  if (inside !== undefined) {
    // Without hooks nobody will say that this reaction ends; the function has nothing left to do.
    ops.op_tensor_grad_mode(outside);
    inside = undefined;
  }
  core.ops.op_set_promise_hooks(undefined, undefined, undefined, undefined);
}

function made(promise) {
  if (inside !== undefined) modes.set(promise, inside);
}

function before(promise) {
  const mode = modes?.get(promise);
  if (mode === undefined) return;
  outside = ops.op_tensor_grad_mode(mode);
  inside = mode;
}

function after(promise) {
  if (inside === undefined || modes?.get(promise) === undefined) return;
  ops.op_tensor_grad_mode(outside);
  inside = undefined;
}

function settled(promise) {
  if (running.delete(promise)) leave();
}
