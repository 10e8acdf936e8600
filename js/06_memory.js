// What a program may know and say about tensor memory.

import { buffer, describe, numberError, numbers, ops, track } from "ext:mlrun_tensor/00_handle.js";

/** Counts and bytes right now; never collects. */
export function memoryStats() {
  ops.op_tensor_memory_stats(buffer());
  const released = (i) => ({ tensors: numbers[i], bytes: numbers[i + 1] });
  return {
    liveTensors: numbers[0],
    liveBytes: numbers[1],
    peakBytes: numbers[2],
    pendingBytes: numbers[3],
    pooledBytes: numbers[4],
    minorGCs: numbers[13],
    majorGCs: numbers[14],
    gcTime: numbers[15],
    process: { isolates: numbers[16], liveBytes: numbers[17], peakBytes: numbers[18], pendingBytes: numbers[19], pooledBytes: numbers[20] },
    released: { byPass: released(5), byMinorGC: released(7), byMajorGC: released(9), byDispose: released(11) },
  };
}

/** peakBytes starts again from the bytes that are live now. */
export function resetPeakMemory() {
  ops.op_tensor_reset_peak();
}

/** At most `bytes` bytes of tensors may be live; Infinity takes the limit away. */
export function setMemoryLimit(bytes) {
  if (typeof bytes !== "number" || !(bytes >= 0)) {
    throw numberError(bytes, `setMemoryLimit: expected a number of bytes, got ${describe(bytes)}`);
  }
  ops.op_tensor_memory_limit(bytes);
}

/** Writes V8's heap snapshot to `file`; tensors have the size of their memory in it. */
export function heapSnapshot(file) {
  if (typeof file !== "string") throw new TypeError(`heapSnapshot: expected the name of a file, got ${describe(file)}`);
  track();
  ops.op_tensor_heap_snapshot(file);
}

/** A full collection now. */
export function gc() {
  track();
  ops.op_tensor_collect();
}

