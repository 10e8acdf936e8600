//! Storages: native bytes with an atomic count, owned by no thread.
//!
//! Invariant: the bytes go back to their pool in the very call that drops the last [`Storage`],
//! on whichever thread that happens. Only the heap and the tape hold storages for long.

use crate::error::Result;
use crate::pool::{Block, HostPool};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Where a storage's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    Cpu,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
        }
    }
}

/// One count on a block of bytes. `clone` retains, `drop` releases.
#[derive(Clone)]
pub struct Storage(Arc<Inner>);

struct Inner {
    /// `None` only while `drop` hands the block back.
    block: Option<Block>,
    bytes: usize,
    /// Raised by in-place ops; the tape compares it (autograd's version check).
    version: AtomicU32,
    pool: Arc<HostPool>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.pool.give(block, self.bytes);
        }
    }
}

impl Storage {
    /// `bytes` bytes of undefined contents from the pool.
    pub fn new(pool: &Arc<HostPool>, bytes: usize) -> Result<Storage> {
        let block = pool.take(bytes)?;
        let pool = pool.clone();
        Ok(Storage(Arc::new(Inner { block: Some(block), bytes, version: AtomicU32::new(0), pool })))
    }

    pub fn device(&self) -> Device {
        Device::Cpu
    }

    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The first byte. Kernels read and write through it within `bytes()`.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.block.as_ref().map_or(std::ptr::NonNull::dangling().as_ptr(), Block::as_ptr)
    }

    /// No view, no tape entry and no other handle shares these bytes.
    #[inline]
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    pub fn same(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn version(&self) -> u32 {
        self.0.version.load(Relaxed)
    }

    pub fn bump_version(&self) {
        self.0.version.fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes, count {})", self.bytes(), Arc::strong_count(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn last_release_on_another_thread_frees_at_once_while_the_maker_is_blocked() {
        let pool = Arc::new(HostPool::new());
        let (to_other, other_gets) = mpsc::channel::<Storage>();
        let (report, reported) = mpsc::channel::<u64>();
        let (unblock, blocked) = mpsc::channel::<()>();
        let maker_pool = pool.clone();
        let maker = std::thread::spawn(move || {
            let s = Storage::new(&maker_pool, 1 << 20).unwrap();
            to_other.send(s).unwrap();
            // Blocks until the main thread has seen the bytes gone.
            blocked.recv().unwrap();
        });
        let seen_pool = pool.clone();
        let releaser = std::thread::spawn(move || {
            let s = other_gets.recv().unwrap();
            assert_eq!(seen_pool.account.live.load(Relaxed), 1 << 20);
            drop(s);
            report.send(seen_pool.account.live.load(Relaxed)).unwrap();
        });
        assert_eq!(reported.recv().unwrap(), 0, "freed while the maker is still blocked");
        assert!(!maker.is_finished());
        unblock.send(()).unwrap();
        maker.join().unwrap();
        releaser.join().unwrap();
    }
}
