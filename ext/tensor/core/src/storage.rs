//! Storages: native bytes with an atomic count, owned by no thread.
//!
//! Invariant: the bytes go back to their pool in the very call that drops the last [`Storage`],
//! on whichever thread that happens. Only the heap and the tape hold storages for long.

use crate::error::Result;
use crate::pool::{self, Header, HostPool};
use crate::sync::fence;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

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
pub struct Storage(NonNull<Header>);

// SAFETY: the count and the version are atomic, the other fields of the header are not written
// while a storage exists; who may read or write the bytes is decided by the engine.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Clone for Storage {
    #[inline]
    fn clone(&self) -> Storage {
        // As in `Arc`: the new count comes from one that is held. 2^64 counts cannot be made.
        self.header().count.fetch_add(1, Relaxed);
        Storage(self.0)
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        let count = &self.header().count;
        // The holder of the only count cannot be raced: nobody is there to retain or release.
        if count.load(Acquire) != 1 {
            if count.fetch_sub(1, Release) != 1 {
                return;
            }
            fence(Acquire);
        }
        // SAFETY: this was the last count, so nobody refers to the block.
        unsafe { pool::give(self.0) }
    }
}

impl Storage {
    /// `bytes` bytes of undefined contents from the pool.
    #[inline]
    pub fn new(pool: &HostPool, bytes: usize) -> Result<Storage> {
        Ok(Storage(pool.take(bytes)?))
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a storage holds a count, so the header is alive.
        unsafe { self.0.as_ref() }
    }

    pub fn device(&self) -> Device {
        Device::Cpu
    }

    #[inline]
    pub fn bytes(&self) -> usize {
        self.header().bytes
    }

    /// The first byte. Kernels read and write through it within `bytes()`.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        Header::data(self.0)
    }

    /// No view, no tape entry and no other handle shares these bytes.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.header().count.load(Acquire) == 1
    }

    pub fn same(&self, other: &Storage) -> bool {
        self.0 == other.0
    }

    #[inline]
    pub fn version(&self) -> u32 {
        self.header().version.load(Relaxed)
    }

    pub fn bump_version(&self) {
        self.header().version.fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.header().count.load(Relaxed);
        write!(f, "Storage({} bytes, count {count})", self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};

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
            assert_eq!(seen_pool.account.live(), 1 << 20);
            drop(s);
            report.send(seen_pool.account.live()).unwrap();
        });
        assert_eq!(reported.recv().unwrap(), 0, "freed while the maker is still blocked");
        assert!(!maker.is_finished());
        unblock.send(()).unwrap();
        maker.join().unwrap();
        releaser.join().unwrap();
    }
}
