// Turns of the event loop: what the yields call that the compiler inserts on request
// (runtime/compiler/src/yields.rs), and the same by hand.
//
// Invariant: a turn is due 8 ms after the last one; then whatever waits in the event loop (timers,
// I/O, promise continuations, finalizers, V8's own tasks) runs once.

import { primordials } from "ext:core/mod.js";
import { ops } from "ext:mlrun_tensor/00_handle.js";

const { Promise, PromisePrototypeThen } = primordials;

export function due() {
  return ops.op_tensor_turn_due();
}

/** Stays pending for ever where the program was ended meanwhile. */
export function turn() {
  return new Promise((resolve) => {
    PromisePrototypeThen(ops.op_tensor_turn(), (goesOn) => {
      if (goesOn) resolve();
    });
  });
}

/** Waits until timers, I/O and other tasks of the event loop have had their turn. */
export function nextTurn() {
  return turn();
}
