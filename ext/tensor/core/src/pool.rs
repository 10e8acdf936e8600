//! Host memory for storages: 64-byte aligned blocks, reused by size class, counted exactly.
//!
//! Invariant: `live` is the sum of the sizes that storages asked for, `pooled` the sum of the
//! capacities that wait for reuse; both change in the call that moves the block. The pool
//! belongs to no thread: a block may be returned by another thread than the one that took it.
//! Deliberately not here: budgets and when the collector runs (the runtime's memory module).

use crate::error::{Error, Result};
use crate::fault::FaultHook;
use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Alignment of every block in bytes: a cache line and the widest vector register.
pub const ALIGN: usize = 64;
/// Blocks above this size go straight back to the system.
const MAX_POOLED_BLOCK: usize = 64 << 20;

/// A block of host memory. Only [`HostPool`] makes and frees it.
#[derive(Debug)]
pub struct Block {
    ptr: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a block is plain memory without thread affinity; who may read or write it is decided
// by the storage that owns it.
unsafe impl Send for Block {}
// SAFETY: as above; `&Block` gives out only a raw pointer.
unsafe impl Sync for Block {}

impl Block {
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Byte and block counts of a pool, read without locking.
#[derive(Debug, Default)]
pub struct Account {
    pub live: AtomicU64,
    pub peak: AtomicU64,
    pub pooled: AtomicU64,
    pub limit: AtomicU64,
}

#[derive(Debug)]
pub struct HostPool {
    classes: Vec<Mutex<Vec<Block>>>,
    pub account: Account,
    pub fault: FaultHook,
}

/// Class and capacity for a request: multiples of 64 bytes up to 256, then four steps per power
/// of two, so that at most a fifth of a large block is unused.
fn class_of(bytes: usize) -> (usize, usize) {
    let bytes = bytes.max(1);
    if bytes <= 256 {
        let class = bytes.div_ceil(ALIGN) - 1;
        return (class, (class + 1) * ALIGN);
    }
    let top = (bytes - 1).ilog2();
    let (base, step) = (1usize << top, 1usize << (top - 2));
    let quarter = (bytes - base).div_ceil(step);
    (4 * (top as usize - 7) + quarter - 1, base.saturating_add(quarter * step))
}

impl Default for HostPool {
    fn default() -> Self {
        Self::new()
    }
}

impl HostPool {
    pub fn new() -> Self {
        let classes = class_of(MAX_POOLED_BLOCK).0 + 1;
        let account = Account { limit: AtomicU64::new(u64::MAX), ..Default::default() };
        HostPool {
            classes: (0..classes).map(|_| Mutex::new(Vec::new())).collect(),
            account,
            fault: FaultHook::default(),
        }
    }

    fn memory_error(&self, bytes: usize) -> Error {
        Error::Memory {
            op: "".into(),
            requested: bytes as u64,
            live: self.account.live.load(Relaxed),
            limit: self.account.limit.load(Relaxed),
        }
    }

    /// A block of at least `bytes` bytes with undefined contents.
    pub fn take(&self, bytes: usize) -> Result<Block> {
        let live = self.account.live.load(Relaxed);
        if self.fault.check()
            || live.saturating_add(bytes as u64) > self.account.limit.load(Relaxed)
        {
            return Err(self.memory_error(bytes));
        }
        let (class, capacity) = class_of(bytes);
        let pooled = self.classes.get(class).and_then(|c| lock(c).pop());
        let block = match pooled {
            Some(block) => {
                self.account.pooled.fetch_sub(block.capacity as u64, Relaxed);
                block
            }
            None => self.fresh(bytes, capacity)?,
        };
        let live = self.account.live.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        if live > self.account.peak.load(Relaxed) {
            self.account.peak.fetch_max(live, Relaxed);
        }
        Ok(block)
    }

    fn fresh(&self, bytes: usize, capacity: usize) -> Result<Block> {
        let layout =
            AllocLayout::from_size_align(capacity, ALIGN).map_err(|_| self.memory_error(bytes))?;
        // SAFETY: the layout's size is at least 64, hence not zero.
        let ptr = unsafe { alloc(layout) };
        match NonNull::new(ptr) {
            Some(ptr) => Ok(Block { ptr, capacity }),
            None => {
                self.trim();
                Err(self.memory_error(bytes))
            }
        }
    }

    /// Takes back a block of which `bytes` bytes were asked for.
    pub fn give(&self, block: Block, bytes: usize) {
        self.account.live.fetch_sub(bytes as u64, Relaxed);
        let keep = self.account.live.load(Relaxed).max(64 << 20);
        let pooled = self.account.pooled.load(Relaxed) + block.capacity as u64;
        match self.classes.get(class_of(block.capacity).0) {
            Some(class) if pooled <= keep && block.capacity <= MAX_POOLED_BLOCK => {
                self.account.pooled.fetch_add(block.capacity as u64, Relaxed);
                lock(class).push(block);
            }
            _ => free(block),
        }
    }

    /// Returns every waiting block to the system; the number of bytes returned.
    pub fn trim(&self) -> u64 {
        let mut total = 0;
        for class in &self.classes {
            for block in std::mem::take(&mut *lock(class)) {
                total += block.capacity as u64;
                free(block);
            }
        }
        self.account.pooled.fetch_sub(total, Relaxed);
        total
    }
}

impl Drop for HostPool {
    fn drop(&mut self) {
        self.trim();
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn free(block: Block) {
    // SAFETY: `fresh` made the block with exactly this size and alignment, and `block` is
    // consumed here, so it is freed once.
    unsafe {
        dealloc(block.ptr.as_ptr(), AllocLayout::from_size_align_unchecked(block.capacity, ALIGN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_a_class_serves_every_request_of_that_class() {
        for bytes in (1..5000).chain([65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1]) {
            let (class, capacity) = class_of(bytes);
            assert!(capacity >= bytes && capacity % ALIGN == 0, "{bytes}");
            assert_eq!(class_of(capacity).0, class, "{bytes} with capacity {capacity}");
            assert_eq!(class_of(capacity).1, capacity, "{bytes}");
        }
    }

    #[test]
    fn counts_are_exact() {
        let pool = HostPool::new();
        let a = pool.take(100).unwrap();
        let b = pool.take(1000).unwrap();
        assert_eq!(pool.account.live.load(Relaxed), 1100);
        pool.give(a, 100);
        assert_eq!(pool.account.live.load(Relaxed), 1000);
        assert_eq!(pool.account.pooled.load(Relaxed), 128);
        let c = pool.take(128).unwrap();
        assert_eq!(pool.account.pooled.load(Relaxed), 0);
        pool.give(b, 1000);
        pool.give(c, 128);
        assert_eq!(pool.account.peak.load(Relaxed), 1128);
        assert!(pool.trim() > 0);
        assert_eq!(pool.account.pooled.load(Relaxed), 0);
    }

    #[test]
    fn a_limit_is_an_error_and_changes_nothing() {
        let pool = HostPool::new();
        pool.account.limit.store(1000, Relaxed);
        let a = pool.take(600).unwrap();
        assert!(matches!(pool.take(600), Err(Error::Memory { requested: 600, .. })));
        assert_eq!(pool.account.live.load(Relaxed), 600);
        pool.give(a, 600);
    }
}
