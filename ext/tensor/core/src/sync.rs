//! Atomics, locks and thread numbers of the pool. The model checker (`loom/`) has a module of this
//! name with its own in their place.

use std::cell::Cell;

pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard};

/// A number of this thread that no other thread has or will have.
#[inline]
pub(crate) fn this_thread() -> u64 {
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    static LAST: AtomicU64 = AtomicU64::new(0);
    NUMBER.with(|n| {
        if n.get() == 0 {
            n.set(LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
        }
        n.get()
    })
}
