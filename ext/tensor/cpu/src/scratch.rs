//! Working memory of kernels: a few blocks per thread, kept between calls.
//!
//! Invariant: a failed allocation is [`NoScratch`], never an abort. Blocks above
//! [`KEEP_BYTES`] go back to the system after the call.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::NonNull;

/// A kernel could not get its working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoScratch {
    pub bytes: usize,
}

/// Largest block that a thread keeps for its next kernel, in bytes.
pub const KEEP_BYTES: usize = 8 << 20;
const ALIGN: usize = 64;
const KEPT_BLOCKS: usize = 4;

struct Block {
    ptr: NonNull<u8>,
    bytes: usize,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `allocate` made the block with this size and alignment.
        unsafe {
            dealloc(self.ptr.as_ptr(), Layout::from_size_align_unchecked(self.bytes, ALIGN));
        }
    }
}

fn allocate(bytes: usize) -> Result<Block, NoScratch> {
    let layout =
        Layout::from_size_align(bytes.max(ALIGN), ALIGN).map_err(|_| NoScratch { bytes })?;
    // SAFETY: the size is not zero.
    let ptr = NonNull::new(unsafe { alloc(layout) }).ok_or(NoScratch { bytes })?;
    Ok(Block { ptr, bytes: layout.size() })
}

thread_local! {
    /// Several, for a kernel that calls another while it holds some.
    static KEPT: Cell<[Option<Block>; KEPT_BLOCKS]> = const { Cell::new([const { None }; KEPT_BLOCKS]) };
}

/// Working memory with undefined contents, 64-byte aligned.
pub struct Scratch {
    block: Option<Block>,
}

impl Scratch {
    /// Room for `count` values of `T`.
    pub fn new<T: Copy>(count: usize) -> Result<Scratch, NoScratch> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or(NoScratch { bytes: usize::MAX })?;
        let kept = KEPT.try_with(|kept| {
            let mut blocks = kept.take();
            let fits = |b: &Option<Block>| b.as_ref().is_some_and(|b| b.bytes >= bytes);
            let block = blocks.iter_mut().find(|b| fits(b)).and_then(Option::take);
            kept.set(blocks);
            block
        });
        let block = match kept.ok().flatten() {
            Some(block) => block,
            None => allocate(bytes)?,
        };
        Ok(Scratch { block: Some(block) })
    }

    pub fn as_ptr<T>(&self) -> *mut T {
        self.block.as_ref().map_or(NonNull::dangling().as_ptr(), |b| b.ptr.as_ptr().cast())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(block) = self.block.take().filter(|b| b.bytes <= KEEP_BYTES) else { return };
        // While a thread ends its cell is gone; the block is then freed.
        let _ = KEPT.try_with(|kept| {
            let mut blocks = kept.take();
            // The largest stay.
            let size = |b: &Option<Block>| b.as_ref().map_or(0, |b| b.bytes);
            if let Some(smallest) = blocks.iter_mut().min_by_key(|b| size(b))
                && size(smallest) < block.bytes
            {
                *smallest = Some(block);
            }
            kept.set(blocks);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_requests_are_errors() {
        assert!(Scratch::new::<f64>(usize::MAX).is_err());
        assert!(Scratch::new::<u8>(isize::MAX as usize - 100).is_err());
        assert!(Scratch::new::<u8>(1).is_ok());
    }

    #[test]
    fn a_thread_reuses_its_block() {
        let a = Scratch::new::<u8>(1000).unwrap().as_ptr::<u8>();
        let b = Scratch::new::<u8>(500).unwrap();
        assert_eq!(a, b.as_ptr());
        let c = Scratch::new::<u8>(500).unwrap();
        assert_ne!(b.as_ptr::<u8>(), c.as_ptr());
    }
}
