//! The windows of a convolution as columns of a matrix, and the results beside them: what the
//! products of [`crate::conv`] read and write.
//!
//! A strip is a copy of the image rows that some output rows meet, with their padding; columns are
//! copied from it, or added back to it. Several images stand side by side in one matrix.

use crate::conv::Geometry;
use crate::conv_windows::Spread;
use crate::dense::Number;
use crate::gemm::{Mat, MatMut};
use crate::isa::{Isa, Kernel, dispatch};
use crate::scratch::{NoScratch, Scratch};
use std::ops::Range;

/// The image rows that a block of output rows meets, with their padding: no window of it reaches
/// outside, so the loops over columns have no edges.
pub(crate) struct Strip<T> {
    pub g: Geometry,
    pub image: *mut T,
    pub strip: *mut T,
    pub rows: Range<usize>,
    /// Adds the strip to the image instead of reading it from there.
    pub back: bool,
}

impl<T: Number> Kernel for Strip<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Strip { g, image, strip, rows, back } = self;
        let ([h, w], [above, left]) = (g.image, g.padding);
        let (height, width) = (g.strip_height(rows.len()), w + 2 * left);
        for c in 0..g.c / g.groups {
            for i in 0..height {
                let y = (rows.start * g.stride[0] + i) as isize - above as isize;
                let line = strip.wrapping_add((c * height + i) * width);
                let inside = (0..h as isize).contains(&y);
                let row = image.wrapping_offset((c * h) as isize * w as isize + y * w as isize);
                // SAFETY: the caller vouches for image and strip; only rows inside are touched.
                unsafe {
                    if back {
                        if inside {
                            (0..w).for_each(|q| *row.add(q) = *row.add(q) + *line.add(left + q));
                        }
                        continue;
                    }
                    if !inside {
                        (0..width).for_each(|q| *line.add(q) = T::default());
                        continue;
                    }
                    (0..left).for_each(|q| *line.add(q) = T::default());
                    std::ptr::copy_nonoverlapping(row, line.add(left), w);
                    (left + w..width).for_each(|q| *line.add(q) = T::default());
                }
            }
        }
    }
}

/// Copies between a strip and the columns of its windows.
pub(crate) struct Columns<T> {
    pub g: Geometry,
    pub strip: *mut T,
    pub columns: *mut T,
    /// Numbers from one row of the matrix to the next.
    pub pitch: usize,
    pub rows: usize,
    /// Adds columns to the strip instead of reading them from it.
    pub back: bool,
}

impl<T: Number> Kernel for Columns<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ow = self.g.out[1];
        if self.back || self.g.stride[1] != 1 {
            self.each(|line, from, s, back| {
                // SAFETY: the caller vouches for strip and columns.
                unsafe {
                    if !back {
                        (0..ow).for_each(|q| *line.add(q) = *from.add(q * s));
                    } else if s == 1 {
                        add_run(from, line, ow);
                    } else {
                        (0..ow).for_each(|q| *from.add(q * s) = *from.add(q * s) + *line.add(q));
                    }
                }
            });
        } else if ow.is_multiple_of(16) || ow % 16 > 8 {
            // SAFETY: as above; rows have SLACK numbers behind them, and what a run writes beyond
            // its end is written again by the next one.
            self.each(|line, from, _, _| unsafe { copy_run::<T, 16>(line, from, ow) });
        } else {
            // SAFETY: as above.
            self.each(|line, from, _, _| unsafe { copy_run::<T, 8>(line, from, ow) });
        }
    }
}

/// Numbers behind strip and columns that copies in whole vectors may touch.
pub(crate) const SLACK: usize = 16;

/// # Safety
/// Both cover `n` numbers rounded up to whole `N`.
#[inline(always)]
unsafe fn copy_run<T: Copy, const N: usize>(to: *mut T, from: *const T, n: usize) {
    let mut q = 0;
    while q < n {
        // SAFETY: passed on to the caller.
        unsafe {
            let v: [T; N] = from.add(q).cast::<[T; N]>().read_unaligned();
            to.add(q).cast::<[T; N]>().write_unaligned(v);
        }
        q += N;
    }
}

/// # Safety
/// Both cover `n` numbers and do not overlap.
#[inline(always)]
unsafe fn add_run<T: Number>(to: *mut T, from: *const T, n: usize) {
    let mut q = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        while q + 4 <= n {
            let (a, b) = (
                to.add(q).cast::<[T; 4]>().read_unaligned(),
                from.add(q).cast::<[T; 4]>().read_unaligned(),
            );
            let sum: [T; 4] = std::array::from_fn(|i| a[i] + b[i]);
            to.add(q).cast::<[T; 4]>().write_unaligned(sum);
            q += 4;
        }
        while q < n {
            *to.add(q) = *to.add(q) + *from.add(q);
            q += 1;
        }
    }
}

impl<T: Number> Columns<T> {
    /// Calls `f` with each run of columns, where it lies in the strip, the stride and direction.
    #[inline(always)]
    fn each(&self, f: impl Fn(*mut T, *mut T, usize, bool)) {
        let Columns { g, strip, columns, pitch, rows, back } = *self;
        let ([kh, kw], ow) = (g.kernel, g.out[1]);
        let (height, width) = (g.strip_height(rows), g.image[1] + 2 * g.padding[1]);
        let mut row = columns;
        for c in 0..g.c / g.groups {
            for ki in 0..kh {
                let top = strip.wrapping_add((c * height + ki * g.dilation[0]) * width);
                for kj in 0..kw {
                    let mut from = top.wrapping_add(kj * g.dilation[1]);
                    for r in 0..rows {
                        f(row.wrapping_add(r * ow), from, g.stride[1], back);
                        from = from.wrapping_add(g.stride[0] * width);
                    }
                    row = row.wrapping_add(pitch);
                }
            }
        }
    }
}

/// Some output rows of one image, or some whole images, of one group.
#[derive(Clone)]
pub(crate) struct Block {
    pub group: usize,
    pub images: Range<usize>,
    pub rows: Range<usize>,
}

impl Block {
    /// Calls `f` with the blocks of some images.
    pub fn each(
        g: &Geometry,
        group: usize,
        images: Range<usize>,
        size: usize,
        mut f: impl FnMut(&Block) -> Result<(), NoScratch>,
    ) -> Result<(), NoScratch> {
        for first in images.clone().step_by(size.max(1)) {
            let images = first..(first + size).min(images.end);
            let rows = g.block_rows();
            for r in (0..g.out[0]).step_by(rows) {
                f(&Block { group, images: images.clone(), rows: r..(r + rows).min(g.out[0]) })?;
            }
        }
        Ok(())
    }

    /// Columns of one image, and of all.
    pub fn widths(&self, g: &Geometry) -> [usize; 2] {
        let one = self.rows.len() * g.out[1];
        [one, one * self.images.len()]
    }
}

/// The scratch of a task.
pub(crate) struct Working<T> {
    pub strip: Scratch,
    pub columns: Scratch,
    /// What the images of a block have of results, side by side.
    results: Scratch,
    numbers: std::marker::PhantomData<T>,
}

impl<T: Number> Working<T> {
    pub fn new(g: &Geometry, images: usize) -> Result<Working<T>, NoScratch> {
        let [strip, columns] = g.working(images);
        let results = if images > 1 { g.outputs() * g.pixels() * images } else { 0 };
        Ok(Working {
            strip: Scratch::new::<T>(strip)?,
            columns: Scratch::new::<T>(columns)?,
            results: Scratch::new::<T>(results)?,
            numbers: std::marker::PhantomData,
        })
    }

    /// The columns of a block and of some channels, in the scratch or in the image itself.
    ///
    /// # Safety
    /// `x` has the images of the geometry.
    pub unsafe fn columns_of(
        &self,
        g: &Geometry,
        x: *mut T,
        block: &Block,
        channels: &Range<usize>,
    ) -> Mat<T> {
        let first = channels.start * g.image[0] * g.image[1];
        let image = |n: usize| x.wrapping_add((n * g.groups + block.group) * g.plane() + first);
        let [one, _] = block.widths(g);
        if g.pointwise() {
            let ptr = image(block.images.start).wrapping_add(block.rows.start * g.out[1]);
            return Mat { ptr: ptr.cast_const(), rs: g.pixels() as isize, cs: 1 };
        }
        let (strip, pitch) = (self.strip.as_ptr(), self.pitch(g, block));
        let g = &g.of_channels(channels.len());
        for (i, n) in block.images.clone().enumerate() {
            let (rows, columns) = (block.rows.clone(), self.columns.as_ptr::<T>());
            let columns = columns.wrapping_add(i * one);
            dispatch(Strip { g: *g, image: image(n), strip, rows: rows.clone(), back: false });
            dispatch(Columns { g: *g, strip, columns, pitch, rows: rows.len(), back: false });
        }
        Mat { ptr: self.columns.as_ptr::<T>().cast_const(), rs: pitch as isize, cs: 1 }
    }

    pub fn pitch(&self, g: &Geometry, block: &Block) -> usize {
        block.widths(g)[1] + SLACK
    }

    /// Results of a block as a matrix, `outputs` x columns: where they lie, or a copy of those of
    /// several images, which `read` fills.
    ///
    /// # Safety
    /// `y` has the results of the geometry.
    pub unsafe fn results_of(
        &self,
        g: &Geometry,
        y: *mut T,
        block: &Block,
        read: bool,
    ) -> MatMut<T> {
        let [one, all] = block.widths(g);
        let pixels = g.pixels();
        if block.images.len() == 1 {
            let at = (block.images.start * g.groups + block.group) * g.outputs() * pixels;
            let ptr = y.wrapping_add(at + block.rows.start * g.out[1]);
            return MatMut { ptr, rs: pixels as isize, cs: 1 };
        }
        let ptr = self.results.as_ptr::<T>();
        for (i, n) in block.images.clone().enumerate().take(if read { usize::MAX } else { 0 }) {
            let from = y.wrapping_add((n * g.groups + block.group) * g.outputs() * pixels);
            dispatch(Spread {
                from: from.cast_const(),
                from_strides: [pixels, 0],
                to: ptr.wrapping_add(i * one),
                to_channel: all,
                channels: g.outputs(),
                rows: 1,
                width: one,
                bias: None,
            });
        }
        MatMut { ptr, rs: all as isize, cs: 1 }
    }
}
