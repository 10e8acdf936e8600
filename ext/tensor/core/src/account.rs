//! Byte counts of a pool, and the most that all pools of the process held at once.
//!
//! Invariants: `live` and `pooled` are exact at every moment. The process's peak knows each pool to
//! within [`UNPUBLISHED`] bytes, so that a tiny op writes to nothing that threads share. Deliberately
//! not here: who adds the pools of a process up (the tensor extension).

use crate::sync::{AtomicI64, AtomicU64};
use std::sync::atomic::Ordering::Relaxed;

/// One sampled block in so many bytes, where a program is not traced.
pub const SAMPLED: u64 = 4 << 20;
/// A pool's change that the process's peak may not know of yet.
pub const UNPUBLISHED: u64 = 64 << 10;

// Counts of the process: never those of a model checker, which begins anew with each of its runs.
static PROCESS_LIVE: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);
static PROCESS_PEAK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The most bytes that were live at once in all pools of the process, to within [`UNPUBLISHED`] for
/// each pool.
pub fn process_peak() -> u64 {
    PROCESS_PEAK.load(Relaxed)
}

/// Byte counts of a pool, read without locking. The owner's parts are written by plain stores.
#[derive(Debug)]
pub struct Account {
    live_own: AtomicI64,
    live_other: AtomicI64,
    pooled_own: AtomicI64,
    pooled_other: AtomicI64,
    peak: AtomicU64,
    /// The most that was live since the last tick, and between the two ticks before.
    recent: AtomicU64,
    before: AtomicU64,
    limit: AtomicU64,
    refused: AtomicU64,
    /// All bytes that the owner ever took, and where the next sample is due.
    taken: AtomicU64,
    sample_at: AtomicU64,
    sample_every: AtomicU64,
    /// What the process's counts know of `live`; written by the owner.
    published: AtomicI64,
}

impl Account {
    pub(crate) fn new() -> Account {
        Account {
            live_own: AtomicI64::new(0),
            live_other: AtomicI64::new(0),
            pooled_own: AtomicI64::new(0),
            pooled_other: AtomicI64::new(0),
            peak: AtomicU64::new(0),
            recent: AtomicU64::new(0),
            before: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            refused: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            sample_at: AtomicU64::new(SAMPLED),
            sample_every: AtomicU64::new(SAMPLED),
            published: AtomicI64::new(0),
        }
    }

    /// Bytes of all storages.
    #[inline]
    pub fn live(&self) -> u64 {
        // One thread may have freed what another took: only the sum means something.
        self.live_own.load(Relaxed).wrapping_add(self.live_other.load(Relaxed)).max(0) as u64
    }
    /// The largest value of [`Account::live`] since the last reset.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }
    pub fn reset_peak(&self) {
        let live = self.live();
        self.before.fetch_max(self.recent.swap(live, Relaxed), Relaxed);
        self.peak.store(live, Relaxed);
    }
    /// Bytes that may be in use again soon: the most that was live lately.
    pub(crate) fn lately(&self) -> u64 {
        self.recent.load(Relaxed).max(self.before.load(Relaxed))
    }
    /// Another span of time begins, whose most is not known yet.
    pub(crate) fn tick(&self, live: u64) {
        self.before.store(self.recent.swap(live, Relaxed), Relaxed);
    }
    /// From now on every block is a sample.
    pub fn sample_all(&self) {
        self.sample_every.store(0, Relaxed);
        self.sample_at.store(0, Relaxed);
    }
    /// Bytes of blocks that wait for reuse.
    #[inline]
    pub fn pooled(&self) -> u64 {
        self.pooled_own.load(Relaxed).wrapping_add(self.pooled_other.load(Relaxed)).max(0) as u64
    }
    /// Live bytes above which a request is refused; `u64::MAX`: none.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }
    /// Bytes of the last request that was refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
    pub(crate) fn set_refused(&self, bytes: u64) {
        self.refused.store(bytes, Relaxed);
    }
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    #[inline]
    fn add(own: bool, mine: &AtomicI64, others: &AtomicI64, bytes: i64) {
        if own {
            mine.store(mine.load(Relaxed).wrapping_add(bytes), Relaxed);
        } else {
            others.fetch_add(bytes, Relaxed);
        }
    }
    #[inline]
    pub(crate) fn add_live(&self, own: bool, bytes: i64) {
        Self::add(own, &self.live_own, &self.live_other, bytes);
        let live = self.live();
        if own && live.abs_diff(self.published.load(Relaxed) as u64) >= UNPUBLISHED {
            self.publish(live as i64);
        }
        if bytes > 0 && live > self.recent.load(Relaxed) {
            // `recent` is never above `peak`.
            self.peak.fetch_max(live, Relaxed);
            self.recent.fetch_max(live, Relaxed);
        }
    }
    #[cold]
    fn publish(&self, live: i64) {
        let change = live - self.published.load(Relaxed);
        self.published.store(live, Relaxed);
        let all = PROCESS_LIVE.fetch_add(change, Relaxed) + change;
        if change > 0 {
            PROCESS_PEAK.fetch_max(all.max(0) as u64, Relaxed);
        }
    }
    /// All bytes taken by the owner, `bytes` of them now, where a sample is due.
    #[inline]
    pub(crate) fn sample_due(&self, bytes: u64) -> Option<u64> {
        let taken = self.taken.load(Relaxed) + bytes;
        self.taken.store(taken, Relaxed);
        (taken >= self.sample_at.load(Relaxed)).then_some(taken)
    }
    /// What the sample that is due at `taken` bytes stands for.
    pub(crate) fn sampled(&self, taken: u64) -> u64 {
        let every = self.sample_every.load(Relaxed);
        let due = self.sample_at.load(Relaxed);
        self.sample_at.store(taken + every, Relaxed);
        if every == 0 { 0 } else { every + (taken - due) }
    }
    #[inline]
    pub(crate) fn add_pooled(&self, own: bool, bytes: i64) {
        Self::add(own, &self.pooled_own, &self.pooled_other, bytes);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.publish(0);
    }
}
