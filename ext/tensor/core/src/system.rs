//! Memory of the system for blocks of a pool.
//!
//! Large blocks are mappings of their own: what is given back leaves the process at once, whatever
//! else is in use, and the kernel may back them with huge pages (a fault for 2 MiB instead of one
//! for 4 KiB). Small ones come from the process's allocator. Deliberately not here: reuse (`pool`).

use std::alloc::{Layout, alloc, dealloc};

use crate::pool::ALIGN;

/// Blocks from this size on are mappings.
const LARGE: usize = 1 << 20;

/// Memory for `bytes` bytes, aligned to [`ALIGN`]; null where the system has none.
pub(crate) fn take(bytes: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(bytes, ALIGN) else { return std::ptr::null_mut() };
    #[cfg(unix)]
    if bytes >= LARGE {
        return mapping::take(bytes);
    }
    // SAFETY: nobody asks for nothing: a block begins with its header.
    unsafe { alloc(layout) }
}

/// Takes memory back.
///
/// # Safety
/// `data` came from [`take`] with the same `bytes`, once, and nobody refers to it.
pub(crate) unsafe fn give(data: *mut u8, bytes: usize) {
    #[cfg(unix)]
    if bytes >= LARGE {
        // SAFETY: the caller's promise; the same size chose a mapping in `take`.
        return unsafe { mapping::give(data, bytes) };
    }
    if let Ok(layout) = Layout::from_size_align(bytes, ALIGN) {
        // SAFETY: the caller's promise.
        unsafe { dealloc(data, layout) };
    }
}

/// Lets the process's allocator return what small blocks left.
pub(crate) fn settle() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call only returns free pages.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(unix)]
mod mapping {
    use std::ptr::null_mut;

    const PAGE: usize = 4096;
    const HUGE_PAGE: usize = 2 << 20;
    /// Smaller ones would waste much of their last huge page.
    const HUGE_FROM: usize = 4 << 20;

    fn pages(bytes: usize) -> Option<usize> {
        Some(bytes.checked_add(PAGE - 1)? / PAGE * PAGE)
    }

    fn map(bytes: usize) -> *mut u8 {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping touches no memory that exists.
        let data = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if data == libc::MAP_FAILED { null_mut() } else { data.cast() }
    }

    fn unmap(data: *mut u8, bytes: usize) {
        if bytes > 0 {
            // SAFETY: the range is a part of one of our mappings that nobody refers to.
            unsafe { libc::munmap(data.cast(), bytes) };
        }
    }

    pub fn take(bytes: usize) -> *mut u8 {
        let Some(bytes) = pages(bytes) else { return null_mut() };
        if bytes < HUGE_FROM {
            return map(bytes);
        }
        let Some(room) = bytes.checked_add(HUGE_PAGE) else { return null_mut() };
        let data = map(room);
        if data.is_null() {
            return data;
        }
        let before = data.align_offset(HUGE_PAGE).min(HUGE_PAGE);
        unmap(data, before);
        let aligned = data.wrapping_add(before);
        unmap(aligned.wrapping_add(bytes), HUGE_PAGE - before);
        #[cfg(target_os = "linux")]
        // SAFETY: advice about the mapping that was just made.
        unsafe {
            libc::madvise(aligned.cast(), bytes, libc::MADV_HUGEPAGE);
        }
        aligned
    }

    /// # Safety
    /// As [`super::give`].
    pub unsafe fn give(data: *mut u8, bytes: usize) {
        if let Some(bytes) = pages(bytes) {
            unmap(data, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_size_are_aligned_and_can_be_written_to_their_ends() {
        for bytes in [64, 4096, LARGE - 64, LARGE, (4 << 20) - 64, 4 << 20, (9 << 20) + 128] {
            let data = take(bytes);
            assert!(!data.is_null() && (data as usize).is_multiple_of(ALIGN), "{bytes}");
            // SAFETY: the block has `bytes` bytes, and is given back once.
            unsafe {
                data.write(1);
                data.add(bytes - 1).write(2);
                give(data, bytes);
            }
        }
    }

    #[test]
    fn more_than_the_address_space_is_refused() {
        assert!(take(usize::MAX / 4).is_null());
        assert!(take(isize::MAX as usize - 63).is_null());
    }
}
