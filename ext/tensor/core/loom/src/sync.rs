//! What the core's module of this name gives, for loom's threads.

use std::cell::Cell;

pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub(crate) use loom::sync::{Arc, Mutex, MutexGuard};

loom::thread_local!(static NUMBER: Cell<u64> = Cell::new(0));

/// A number of this one of loom's threads.
pub(crate) fn this_thread() -> u64 {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NUMBER.with(|n| {
        if n.get() == 0 {
            n.set(LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
        }
        n.get()
    })
}
