//! Addresses that cross threads.

/// A pointer that tasks of one job share; each writes its own part.
#[derive(Debug)]
pub struct SyncPtr<T>(pub *mut T);

impl<T> Clone for SyncPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SyncPtr<T> {}

// SAFETY: a plain address; whoever dereferences it vouches for the memory and for disjointness.
unsafe impl<T> Send for SyncPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SyncPtr<T> {}

impl<T> SyncPtr<T> {
    /// The address; a method, so that closures capture the wrapper and not the raw field.
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        self.0
    }
}
