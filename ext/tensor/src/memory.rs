//! Releasing handles, and the numbers of `memoryStats()`.

use deno_core::{OpState, op2};
use mlrun_tensor_core::HeapId;
use mlrun_tensor_core::heap::Releaser;

use crate::call::numbers;
use crate::error::TensorError;
use crate::state::TensorState;

/// Ends a handle; `by` is 0 for the ownership pass, 3 for `dispose()`.
#[op2(fast)]
pub fn op_tensor_release(state: &OpState, id: f64, by: u32) -> bool {
    let state = TensorState::of(state);
    let id = HeapId::from_f64(id);
    state.nursery.forget(id);
    state.release(id, if by == 0 { Releaser::Pass } else { Releaser::Dispose })
}

/// Where disposal number `record` happened; `place` begins with a space.
#[op2(fast)]
pub fn op_tensor_disposed_at(state: &OpState, record: f64, #[string] place: &str) {
    TensorState::of(state).disposals.borrow_mut().add(record, place.to_owned());
}

/// In order: live tensors, live, peak, pending and pooled bytes, then tensors and bytes
/// released by the pass, minor and major collections and dispose, then the number of minor and
/// major collections.
#[op2(fast)]
pub fn op_tensor_memory_stats(
    state: &OpState,
    #[buffer] buffer: &mut [u8],
) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    let buffer = numbers("memoryStats", buffer)?;
    let account = &state.engine.pool.account;
    let live = account.live();
    let heap = state.heap.borrow();
    let mut values = vec![
        heap.live() as f64,
        live as f64,
        account.peak() as f64,
        state.nursery.pending(live) as f64,
        account.pooled() as f64,
    ];
    for by in [Releaser::Pass, Releaser::MinorGc, Releaser::MajorGc, Releaser::Dispose] {
        let released = heap.released(by);
        values.extend([released.tensors as f64, released.bytes as f64]);
    }
    values.extend(state.nursery.collections.iter().map(|n| n.get() as f64));
    if buffer.len() < values.len() {
        return Err(TensorError::Buffer {
            op: "memoryStats",
            got: buffer.len(),
            expected: values.len(),
        });
    }
    buffer[..values.len()].copy_from_slice(&values);
    Ok(())
}

/// The peak starts again from what is live now.
#[op2(fast)]
pub fn op_tensor_reset_peak(state: &OpState) {
    let account = &TensorState::of(state).engine.pool.account;
    account.reset_peak();
}

/// Bytes of tensors that may be live at once.
#[op2(fast)]
pub fn op_tensor_memory_limit(state: &OpState, bytes: f64) {
    TensorState::of(state).engine.pool.account.set_limit(bytes as u64);
}

#[op2(fast)]
pub fn op_tensor_seed(state: &OpState, #[bigint] seed: u64) {
    TensorState::of(state).engine.manual_seed(seed);
}

/// Sets the number of kernel threads where `threads` is not 0; returns the number in use.
#[op2(fast)]
pub fn op_tensor_threads(state: &OpState, threads: u32) -> u32 {
    let backend = &TensorState::of(state).engine.backend;
    if threads > 0 {
        backend.set_threads(threads as usize);
    }
    backend.threads() as u32
}
