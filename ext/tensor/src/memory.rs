//! Releasing handles, and the numbers of `memoryStats()`.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use deno_core::{OpState, op2};
use mlrun_tensor_core::HeapId;
use mlrun_tensor_core::account::process_peak;
use mlrun_tensor_core::heap::{Released, Releaser};
use mlrun_tensor_core::pool::{HostPool, Shared};

use crate::call::numbers;
use crate::collect::Pending;
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

/// Tensor memory of all isolates of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    pub isolates: u64,
    pub live: u64,
    /// To within 64 KiB for each isolate.
    pub peak: u64,
    pub pending: u64,
    pub pooled: u64,
}

/// What waits in a pool belongs to its thread, so that only what outlives the pool is held here.
type Isolate = (Weak<Shared>, Weak<Pending>);
static ISOLATES: Mutex<Vec<Isolate>> = Mutex::new(Vec::new());

/// An isolate is to be a part of the process's figures as long as it has memory.
pub(crate) fn count_in(pool: &HostPool, pending: &Arc<Pending>) {
    let mut isolates = ISOLATES.lock().unwrap_or_else(PoisonError::into_inner);
    isolates.retain(|(pool, _)| pool.strong_count() > 0);
    isolates.push((Arc::downgrade(pool.shared()), Arc::downgrade(pending)));
}

/// What all isolates of the process hold, also those that ended and left something.
pub fn process_memory() -> ProcessMemory {
    let mut all = ProcessMemory::default();
    let isolates = ISOLATES.lock().unwrap_or_else(PoisonError::into_inner);
    for (pool, pending) in isolates.iter() {
        let Some(pool) = pool.upgrade() else { continue };
        let live = pool.account.live();
        all.live += live;
        all.pooled += pool.account.pooled();
        if let Some(pending) = pending.upgrade() {
            all.isolates += 1;
            all.pending += pending.bytes(live);
        }
    }
    all.peak = process_peak().max(all.live);
    all
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
            pending: self.nursery.pending.bytes(live),
            pooled: account.pooled(),
            released: by.map(|by| heap.released(by)),
            collections: [minor.get(), major.get()],
            collecting: self.nursery.pacer.as_ref().map_or(Duration::ZERO, |p| p.spent()),
        }
    }
}

/// In order: live tensors, live, peak, pending and pooled bytes, then tensors and bytes
/// released by the pass, minor and major collections and dispose, then the number of minor and
/// major collections, then the milliseconds of all collections; of the process: isolates, live, peak,
/// pending and pooled bytes.
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
    let ProcessMemory { isolates, live, peak, pending, pooled } = process_memory();
    let process = [isolates, live, peak, pending, pooled].map(|n| n as f64);
    let values: Vec<f64> = counts.chain([milliseconds]).chain(process).collect();
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
