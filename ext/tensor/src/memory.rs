//! Releasing handles, and the numbers of `memoryStats()`.

use std::time::Duration;

use deno_core::{OpState, op2};
use mlrun_tensor_core::HeapId;
use mlrun_tensor_core::heap::{Released, Releaser};

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

/// Where disposal number `record` of handle `id` happened; `place` begins with a space.
#[op2(fast)]
pub fn op_tensor_disposed_at(state: &OpState, record: f64, #[string] place: &str, id: f64) {
    let state = TensorState::of(state);
    let made = state.trace.made_at(HeapId::from_f64(id));
    let made = made.map_or_else(String::new, |at| format!(", it was made at {}", at.full()));
    state.disposals.borrow_mut().add(record, format!("{place}{made}"));
}

/// The numbers of `memoryStats()`.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    pub live_tensors: u64,
    pub live: u64,
    pub peak: u64,
    pub pending: u64,
    pub pooled: u64,
    /// By the pass, by minor and by major collections, by `dispose()`.
    pub released: [Released; 4],
    /// Collections for the sake of tensors: minor, major.
    pub collections: [u64; 2],
    /// Time of all collections.
    pub collecting: Duration,
}

impl TensorState {
    pub fn stats(&self) -> Stats {
        let account = &self.engine.pool.account;
        let heap = self.heap.borrow();
        let live = account.live();
        let by = [Releaser::Pass, Releaser::MinorGc, Releaser::MajorGc, Releaser::Dispose];
        let [minor, major] = &self.nursery.collections;
        Stats {
            live_tensors: heap.live() as u64,
            live,
            peak: account.peak(),
            pending: self.nursery.pending(live),
            pooled: account.pooled(),
            released: by.map(|by| heap.released(by)),
            collections: [minor.get(), major.get()],
            collecting: self.nursery.pacer.as_ref().map_or(Duration::ZERO, |p| p.spent()),
        }
    }
}

/// In order: live tensors, live, peak, pending and pooled bytes, then tensors and bytes
/// released by the pass, minor and major collections and dispose, then the number of minor and
/// major collections, then the milliseconds of all collections.
#[op2(fast)]
pub fn op_tensor_memory_stats(
    state: &OpState,
    #[buffer] buffer: &mut [u8],
) -> Result<(), TensorError> {
    let stats = TensorState::of(state).stats();
    let buffer = numbers("memoryStats", buffer)?;
    let bytes = [stats.live_tensors, stats.live, stats.peak, stats.pending, stats.pooled];
    let released = stats.released.iter().flat_map(|r| [r.tensors, r.bytes]);
    let counts = bytes.into_iter().chain(released).chain(stats.collections).map(|n| n as f64);
    let milliseconds = stats.collecting.as_secs_f64() * 1e3;
    let values: Vec<f64> = counts.chain([milliseconds]).collect();
    let (got, expected) = (buffer.len(), values.len());
    let Some(out) = buffer.get_mut(..expected) else {
        return Err(TensorError::Buffer { op: "memoryStats", got, expected });
    };
    out.copy_from_slice(&values);
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
