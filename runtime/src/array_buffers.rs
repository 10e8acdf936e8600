//! Memory of typed arrays, bounded: what would pass the limit is V8's own RangeError, "Array buffer
//! allocation failed", instead of a process that the system kills.
//!
//! Invariant: `used` is the sum of the lengths of all blocks that V8 holds. Deliberately not here:
//! tensors, and JavaScript objects (`heap_guard`).

use std::alloc::Layout;
use std::alloc::alloc;
use std::alloc::alloc_zeroed;
use std::alloc::dealloc;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use deno_core::v8;

/// What `malloc` aligns to.
const ALIGN: usize = 16;

/// One isolate's typed arrays.
struct Arrays {
    used: AtomicUsize,
    limit: usize,
}

impl Arrays {
    /// Counts `len` bytes in, unless they would pass the limit.
    fn enter(&self, len: usize) -> bool {
        let fits = |used: usize| used.checked_add(len).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    fn take(&self, len: usize, allocate: unsafe fn(Layout) -> *mut u8) -> *mut c_void {
        let Some(layout) = layout(len) else { return std::ptr::null_mut() };
        if !self.enter(len) {
            return std::ptr::null_mut();
        }
        // SAFETY: the layout's size is not zero.
        let data = unsafe { allocate(layout) };
        if data.is_null() {
            self.used.fetch_sub(len, Relaxed);
        }
        data.cast()
    }
}

/// A block of `len` bytes, at least one.
fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len.max(1), ALIGN).ok()
}

unsafe extern "C" fn allocate(arrays: &Arrays, len: usize) -> *mut c_void {
    arrays.take(len, alloc_zeroed)
}

unsafe extern "C" fn allocate_uninitialized(arrays: &Arrays, len: usize) -> *mut c_void {
    arrays.take(len, alloc)
}

unsafe extern "C" fn free(arrays: &Arrays, data: *mut c_void, len: usize) {
    if let Some(layout) = layout(len)
        && !data.is_null()
    {
        // SAFETY: V8 frees once what `take` gave, with the length that it asked for.
        unsafe { dealloc(data.cast(), layout) };
        arrays.used.fetch_sub(len, Relaxed);
    }
}

unsafe extern "C" fn drop(arrays: *const Arrays) {
    // SAFETY: the pointer came from `Arc::into_raw` in `allocator`, and V8 drops it once.
    std::mem::drop(unsafe { Arc::from_raw(arrays) });
}

static VTABLE: v8::RustAllocatorVtable<Arrays> =
    v8::RustAllocatorVtable { allocate, allocate_uninitialized, free, drop };

/// An allocator of at most `limit` bytes at once.
pub(crate) fn allocator(limit: usize) -> v8::UniqueRef<v8::Allocator> {
    let arrays = Arc::new(Arrays { used: AtomicUsize::new(0), limit });
    // SAFETY: the handle is alive until the table's `drop`, and fits the table's type.
    unsafe { v8::new_rust_allocator(Arc::into_raw(arrays), &VTABLE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_pass_the_limit_is_refused_and_not_counted() {
        let arrays = Arrays { used: AtomicUsize::new(0), limit: 1000 };
        let first = arrays.take(600, alloc_zeroed);
        assert!(!first.is_null());
        assert!(arrays.take(600, alloc_zeroed).is_null());
        assert!(arrays.take(usize::MAX, alloc_zeroed).is_null());
        assert_eq!(arrays.used.load(Relaxed), 600);
        // SAFETY: the block is the one from above.
        unsafe { free(&arrays, first, 600) };
        assert_eq!(arrays.used.load(Relaxed), 0);
    }
}
