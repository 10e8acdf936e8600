//! Convolutions of stride 1 without columns: matrix products read the windows where they lie.
//!
//! A row of the padded image is as wide as a row of results plus what a window reaches beyond, so
//! a tap of all windows of some rows is one run of numbers. The few results between rows are
//! computed too and not copied. The gradient by the images is such a convolution of the gradient
//! with the kernels turned around. Invariant: as in [`crate::conv`].

use crate::conv::Geometry;
use crate::conv_columns::{SLACK, Strip};
use crate::dense::Number;
use crate::gemm::{Mat, MatMut, Runs, over, panel, windows};
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use std::ops::Range;

/// Numbers of a strip that stay in the first caches.
const STRIP: usize = 1 << 15;
/// Taps of a window for which this pays: fewer leave tiles too short, more reach too far.
const DEPTHS: Range<usize> = 64..1200;
/// Blocks that a small batch is cut into, for threads to share.
const BLOCKS: usize = 8;

impl Geometry {
    /// Whether the windows of a row of results are runs of an image row, and reading them there
    /// is faster than copying them.
    pub fn in_windows(&self) -> bool {
        // Below half a row, or a panel, most of what is computed would be dropped.
        let dense = 2 * self.out[1] >= self.padded_width() && self.pixels() >= 16;
        let deep = DEPTHS.contains(&self.depth()) && self.outputs() >= 8;
        self.stride == [1, 1] && !self.pointwise() && dense && deep
    }

    /// The convolution that gives this one's gradient by the images, where it has no negative
    /// padding.
    fn turned(&self) -> Option<Geometry> {
        let pad = |d: usize| ((self.kernel[d] - 1) * self.dilation[d]).checked_sub(self.padding[d]);
        let turned = Geometry {
            c: self.o,
            o: self.c,
            image: self.out,
            out: self.image,
            padding: [pad(0)?, pad(1)?],
            ..*self
        };
        (self.in_windows() && turned.in_windows()).then_some(turned)
    }

    fn padded_width(&self) -> usize {
        self.image[1] + 2 * self.padding[1]
    }

    /// Where each tap of a window lies in a strip for `rows` rows of results.
    pub fn offsets(&self, rows: usize) -> Vec<isize> {
        let (height, width) = (self.strip_height(rows), self.padded_width());
        let mut offsets = Vec::with_capacity(self.depth());
        for c in 0..self.c / self.groups {
            for ki in 0..self.kernel[0] {
                for kj in 0..self.kernel[1] {
                    let row = c * height + ki * self.dilation[0];
                    offsets.push((row * width + kj * self.dilation[1]) as isize);
                }
            }
        }
        offsets
    }

    /// Rows of results of a block whose strip stays near.
    fn near_rows(&self) -> usize {
        let row = self.c / self.groups * self.padded_width();
        let halo = (self.kernel[0] - 1) * self.dilation[0];
        let fits = (STRIP / row.max(1)).saturating_sub(halo).max(4);
        let cut = if self.n * self.groups < BLOCKS { self.out[0].div_ceil(BLOCKS) } else { fits };
        fits.min(cut).clamp(1, self.out[0])
    }
}

/// Copies rows of results, from between numbers that no window stands for or from other images.
pub(crate) struct Spread<T> {
    pub from: *const T,
    /// Numbers from one channel to the next, and from one row to the next.
    pub from_strides: [usize; 2],
    pub to: *mut T,
    pub to_channel: usize,
    pub channels: usize,
    pub rows: usize,
    pub width: usize,
    pub bias: Option<*const T>,
}

impl<T: Number> Kernel for Spread<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for o in 0..self.channels {
            for r in 0..self.rows {
                let from =
                    self.from.wrapping_add(o * self.from_strides[0] + r * self.from_strides[1]);
                let to = self.to.wrapping_add(o * self.to_channel + r * self.width);
                // SAFETY: the caller vouches for both arrays and for a bias of each channel.
                unsafe {
                    match self.bias {
                        Some(b) => {
                            let b = *b.add(o);
                            (0..self.width).for_each(|q| *to.add(q) = *from.add(q) + b);
                        }
                        None => (0..self.width).for_each(|q| *to.add(q) = *from.add(q)),
                    }
                }
            }
        }
    }
}

/// The result of a convolution.
///
/// # Safety
/// As [`crate::conv::forward`].
pub unsafe fn forward<T: Number>(
    threads: &Threads,
    g: &Geometry,
    x: *const T,
    weight: *const T,
    bias: Option<*const T>,
    y: *mut T,
) -> Result<(), NoScratch> {
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let (x, weight, y) = (SyncPtr(x.cast_mut()), SyncPtr(weight.cast_mut()), SyncPtr(y));
    let bias = bias.map(|b| SyncPtr(b.cast_mut()));
    let (near, width) = (g.near_rows(), g.padded_width());
    let blocks = g.out[0].div_ceil(near);
    let offsets = g.offsets(near);
    let grain = (1usize << 18) / (near * width * k * og).max(1);
    threads.try_split(g.n * g.groups * blocks, grain, |tasks| {
        let numbers = g.c / g.groups * g.strip_height(near) * width;
        let most = (near * width).next_multiple_of(panel::<T>());
        // Whole panels reach behind the last window, for results that are dropped.
        let behind = panel::<T>() + SLACK;
        let strip = Scratch::new::<T>(numbers + behind)?;
        let made = Scratch::new::<T>(og * most)?;
        // SAFETY: the scratch has room for both.
        unsafe { strip.as_ptr::<T>().add(numbers).write_bytes(0, behind) };
        for task in tasks {
            let (image, first) = (task / blocks, task % blocks * near);
            // All blocks have one height: the last one begins earlier and drops what is there.
            let start = first.min(g.out[0] - near);
            let rows = start..start + near;
            let group = image % g.groups;
            let from = x.get().wrapping_add(image * g.plane());
            let skip = first - rows.start;
            dispatch(Strip {
                g: *g,
                image: from,
                strip: strip.as_ptr(),
                rows: rows.clone(),
                back: false,
            });
            let a = Mat {
                ptr: weight.get().wrapping_add(group * og * k).cast_const(),
                rs: k as isize,
                cs: 1,
            };
            let n = ((near - 1) * width + g.out[1]).next_multiple_of(panel::<T>());
            let c = MatMut { ptr: made.as_ptr::<T>(), rs: most as isize, cs: 1 };
            // SAFETY: the strip holds the rows of all windows and a panel behind them, `made` a
            // row for each output channel.
            unsafe { over(og, n, a, strip.as_ptr::<T>().cast_const(), &offsets, c) };
            dispatch(Spread {
                from: made.as_ptr::<T>().wrapping_add(skip * width).cast_const(),
                from_strides: [most, width],
                to: y.get().wrapping_add(image * og * pixels + first * g.out[1]),
                to_channel: pixels,
                channels: og,
                rows: rows.end - first,
                width: g.out[1],
                bias: bias.map(|b| b.get().wrapping_add(group * og).cast_const()),
            });
        }
        Ok(())
    })
}

/// The gradient by the images; false where the geometry has none of this kind.
///
/// # Safety
/// As [`crate::conv::input`].
pub unsafe fn input<T: Number>(
    threads: &Threads,
    g: &Geometry,
    gy: *const T,
    weight: *const T,
    gx: *mut T,
) -> Result<bool, NoScratch> {
    let Some(turned) = g.turned() else { return Ok(false) };
    let (taps, cg, og) = (g.kernel[0] * g.kernel[1], g.c / g.groups, g.outputs());
    let kernels = Scratch::new::<T>(g.o * cg * taps)?;
    let to = kernels.as_ptr::<T>();
    for o in 0..g.o {
        let (group, o_in) = (o / og, o % og);
        for c in 0..cg {
            for tap in 0..taps {
                let at = ((group * cg + c) * og + o_in) * taps + (taps - 1 - tap);
                // SAFETY: the scratch holds as many numbers as the weight has.
                unsafe { *to.add(at) = *weight.add((o * cg + c) * taps + tap) };
            }
        }
    }
    // SAFETY: gradient and result have the extents of the turned convolution.
    unsafe { forward(threads, &turned, gy, to.cast_const(), None, gx)? };
    Ok(true)
}

/// Adds one image's gradient by the weight, `depth` x `outputs`, to `to`.
///
/// # Safety
/// As [`crate::conv::weight`]; the strip holds a block.
pub unsafe fn weight<T: Number>(
    g: &Geometry,
    offsets: &[isize],
    [image, grad, strip, to]: [*mut T; 4],
    rows: Range<usize>,
) -> Result<(), NoScratch> {
    dispatch(Strip { g: *g, image, strip, rows: rows.clone(), back: false });
    let b = Mat {
        ptr: grad.wrapping_add(rows.start * g.out[1]).cast_const(),
        rs: 1,
        cs: g.pixels() as isize,
    };
    let og = g.outputs();
    let runs = Runs { count: rows.len(), length: g.out[1], gap: g.padded_width() - g.out[1] };
    let c = MatMut { ptr: to, rs: og as isize, cs: 1 };
    // SAFETY: the strip holds the rows of all windows; passed on to the caller.
    unsafe { windows(og, strip.cast_const(), offsets, runs, b, c) }
}
