// What the yields call that the compiler inserts on request (runtime/compiler/src/yields.rs).
//
// Invariant: a turn is due 8 ms after the last one; then whatever waits in the event loop (timers,
// I/O, promise continuations, finalizers, V8's own tasks) runs once.

import { ops } from "ext:mlrun_tensor/00_handle.js";

export function due() {
  return ops.op_tensor_turn_due();
}

export function turn() {
  return ops.op_tensor_turn();
}
