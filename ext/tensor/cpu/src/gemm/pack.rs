//! Copies blocks of A and B into the order in which tiles read them.

use super::micro::prefetch;
use crate::isa::{Isa, Kernel, Level, dispatch};

/// A strided matrix, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Mat<T> {
    pub ptr: *const T,
    pub rs: isize,
    pub cs: isize,
}

// SAFETY: a plain address; whoever dereferences it vouches for the memory behind it.
unsafe impl<T: Send> Send for Mat<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mat<T> {}

impl<T> Mat<T> {
    /// No matrix.
    pub const NONE: Mat<T> = Mat { ptr: std::ptr::null(), rs: 0, cs: 0 };

    #[inline]
    pub fn at(&self, row: usize, col: usize) -> Mat<T> {
        let offset = row as isize * self.rs + col as isize * self.cs;
        Mat { ptr: self.ptr.wrapping_offset(offset), ..*self }
    }

    pub fn transposed(&self) -> Mat<T> {
        Mat { ptr: self.ptr, rs: self.cs, cs: self.rs }
    }
}

/// Numbers behind the last panel of a buffer that packing may overwrite.
pub const SLACK: usize = 8;

/// Packs `width <= panel` columns of `depth` rows of `src` into `dst[depth][panel]`, zero padded.
/// For A the caller passes the transposed matrix. Panels are packed in rising order: up to
/// [`SLACK`] numbers behind this one change too.
///
/// # Safety
/// `src` covers `depth` x `width`, `dst` has room for `depth * panel + SLACK` numbers.
pub unsafe fn pack_panel<T: Copy + Default + 'static>(
    dst: *mut T,
    panel: usize,
    src: Mat<T>,
    depth: usize,
    width: usize,
) {
    dispatch(Pack { dst, panel, src, depth, width });
}

struct Pack<T> {
    dst: *mut T,
    panel: usize,
    src: Mat<T>,
    depth: usize,
    width: usize,
}

impl<T: Copy + Default + 'static> Kernel for Pack<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Pack { dst, panel, src, depth, width } = self;
        // SAFETY: the caller of `pack_panel` vouches for both extents.
        unsafe {
            if width < panel {
                for i in 0..depth * panel {
                    *dst.add(i) = T::default();
                }
            }
            if src.cs == 1 {
                match (width == panel, panel) {
                    (true, 16) => copy_rows::<T, 16>(dst, src, depth),
                    (true, 32) => copy_rows::<T, 32>(dst, src, depth),
                    (true, 12) => copy_rows::<T, 12>(dst, src, depth),
                    (true, 8) => copy_rows::<T, 8>(dst, src, depth),
                    (true, 6) => copy_rows::<T, 6>(dst, src, depth),
                    _ => {
                        for p in 0..depth {
                            let row = src.ptr.offset(p as isize * src.rs);
                            for j in 0..width {
                                *dst.add(p * panel + j) = *row.add(j);
                            }
                        }
                    }
                }
            } else if src.rs == 1
                && size_of::<T>() == 4
                && width == panel
                && I::LEVEL >= Level::Avx2
            {
                transposed(dst, panel, src, depth);
            } else {
                // Eight rows of the result at a time: each source column is read in runs.
                let mut p = 0;
                while p + 8 <= depth {
                    for j in 0..width {
                        let s = src.at(p, j);
                        let mut v = [T::default(); 8];
                        for (i, v) in v.iter_mut().enumerate() {
                            *v = *s.ptr.offset(i as isize * s.rs);
                        }
                        for (i, v) in v.iter().enumerate() {
                            *dst.add((p + i) * panel + j) = *v;
                        }
                    }
                    p += 8;
                }
                for p in p..depth {
                    for j in 0..width {
                        *dst.add(p * panel + j) = *src.at(p, j).ptr;
                    }
                }
            }
        }
    }
}

/// # Safety
/// As [`pack_panel`] with `N` columns that are contiguous.
#[inline(always)]
unsafe fn copy_rows<T: Copy, const N: usize>(dst: *mut T, src: Mat<T>, depth: usize) {
    for p in 0..depth {
        let ahead = src.ptr.wrapping_offset((p as isize + 8) * src.rs);
        prefetch(ahead);
        prefetch(ahead.wrapping_add(N - 1));
        // SAFETY: row `p` of both has `N` numbers.
        unsafe {
            let row: [T; N] = src.ptr.offset(p as isize * src.rs).cast::<[T; N]>().read_unaligned();
            dst.add(p * N).cast::<[T; N]>().write_unaligned(row);
        }
    }
}

/// Packs full panels of 4-byte numbers whose columns are contiguous, in tiles of 8 x 8.
///
/// # Safety
/// As [`pack_panel`]; the processor has AVX2.
#[inline(always)]
unsafe fn transposed<T: Copy>(dst: *mut T, panel: usize, src: Mat<T>, depth: usize) {
    let whole = depth / 8 * 8;
    // The short strip first: it runs into the next row's first columns.
    #[cfg(target_arch = "x86_64")]
    for j in (0..panel).step_by(8).rev() {
        let last = 7.min(panel - j - 1);
        let from = src.at(0, j).ptr;
        for p in (0..whole).step_by(8) {
            if p % 16 == 0 {
                // Rows of the next panel.
                for r in 0..=last {
                    let to = from.wrapping_offset((r + panel) as isize * src.cs);
                    prefetch(to.wrapping_add(p));
                }
            }
            // SAFETY: the tile reads 8 rows of columns up to j + last; what it writes beyond
            // the panel's edge is written again by a later strip or panel, or is slack.
            unsafe {
                crate::simd::transpose8(
                    dst.wrapping_add(p * panel + j).cast(),
                    panel as isize,
                    from.add(p).cast(),
                    src.cs,
                    last as isize,
                )
            };
        }
    }
    for p in whole..depth {
        for j in 0..panel {
            // SAFETY: inside both.
            unsafe { *dst.add(p * panel + j) = *src.at(p, j).ptr };
        }
    }
}
