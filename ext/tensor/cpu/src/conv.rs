//! Convolutions as matrix products with the image's windows laid out as columns ("im2col"),
//! unless [`crate::conv_windows`] can read the windows in place.
//!
//! A block of output rows at a time, so that its columns stay in the second cache. Images and
//! groups are shared out among threads; where there are fewer of them, the products are split
//! within. Invariant: blocks and the parts of a weight gradient follow from shapes alone, so the
//! thread count never changes a result.

use crate::conv_windows;
use crate::dense::Number;
use crate::gemm::{Mat, MatMut, Shape, gemm};
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use std::ops::Range;

/// Numbers of a block of columns.
const BLOCK: usize = 1 << 17;
/// Parts of a batch whose weight gradients are summed on their own.
const PARTS: usize = 16;
/// Numbers that all parts together may take.
const PART_NUMBERS: usize = 1 << 22;

/// Extents of a convolution: images `[n, c, h, w]`, weight `[o, c / groups, kh, kw]`, result
/// `[n, o, oh, ow]`.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub n: usize,
    pub c: usize,
    pub o: usize,
    pub groups: usize,
    /// Height and width.
    pub image: [usize; 2],
    pub kernel: [usize; 2],
    pub out: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

impl Geometry {
    /// Rows of a matrix of columns: one for each weight of an output channel.
    pub(crate) fn depth(&self) -> usize {
        self.c / self.groups * self.kernel[0] * self.kernel[1]
    }
    pub(crate) fn outputs(&self) -> usize {
        self.o / self.groups
    }
    pub(crate) fn pixels(&self) -> usize {
        self.out[0] * self.out[1]
    }
    /// Numbers of one group of one image.
    pub(crate) fn plane(&self) -> usize {
        self.c / self.groups * self.image[0] * self.image[1]
    }
    /// The image is its own matrix of columns.
    pub(crate) fn pointwise(&self) -> bool {
        self.kernel == [1, 1] && self.stride == [1, 1] && self.padding == [0, 0]
    }
    /// Output rows of a block.
    fn block_rows(&self) -> usize {
        if self.pointwise() {
            return self.out[0].max(1);
        }
        let width = self.out[1].max(1);
        let fits = BLOCK / (self.depth() * width).max(1);
        fits.max(64usize.div_ceil(width)).clamp(1, self.out[0].max(1))
    }
    /// Image rows that `rows` output rows meet.
    pub(crate) fn strip_height(&self, rows: usize) -> usize {
        (rows.max(1) - 1) * self.stride[0] + (self.kernel[0] - 1) * self.dilation[0] + 1
    }
    /// Numbers of a strip and of the columns of a block, with what copies may touch behind them.
    fn working(&self) -> [usize; 2] {
        if self.pointwise() {
            return [0, 0];
        }
        let rows = self.block_rows();
        let width = self.image[1] + 2 * self.padding[1];
        let strip = self.c / self.groups * self.strip_height(rows) * width;
        [strip + SLACK, self.depth() * rows * self.out[1] + SLACK]
    }
}

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
struct Columns<T> {
    g: Geometry,
    strip: *mut T,
    columns: *mut T,
    rows: usize,
    /// Adds columns to the strip instead of reading them from it.
    back: bool,
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
            // SAFETY: as above; both have SLACK numbers behind them, and what a run writes
            // beyond its end is written again by the next one.
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
        let Columns { g, strip, columns, rows, back } = *self;
        let ([kh, kw], ow) = (g.kernel, g.out[1]);
        let (height, width) = (g.strip_height(rows), g.image[1] + 2 * g.padding[1]);
        let mut line = columns;
        for c in 0..g.c / g.groups {
            for ki in 0..kh {
                let top = strip.wrapping_add((c * height + ki * g.dilation[0]) * width);
                for kj in 0..kw {
                    let mut from = top.wrapping_add(kj * g.dilation[1]);
                    for _ in 0..rows {
                        f(line, from, g.stride[1], back);
                        line = line.wrapping_add(ow);
                        from = from.wrapping_add(g.stride[0] * width);
                    }
                }
            }
        }
    }
}

/// The result of a convolution.
///
/// # Safety
/// The addresses cover the arrays that the geometry states; `y` overlaps none of them.
pub unsafe fn forward<T: Number>(
    threads: &Threads,
    g: &Geometry,
    x: *const T,
    weight: *const T,
    bias: Option<*const T>,
    y: *mut T,
) -> Result<(), NoScratch> {
    if g.in_windows() {
        // SAFETY: passed on to the caller.
        return unsafe { conv_windows::forward(threads, g, x, weight, bias, y) };
    }
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let (x, weight, bias, y) = (
        SyncPtr(x.cast_mut()),
        SyncPtr(weight.cast_mut()),
        bias.map(|b| SyncPtr(b.cast_mut())),
        SyncPtr(y),
    );
    threads.try_run(g.n * g.groups, |task, threads| {
        let group = task % g.groups;
        let [strip, columns] = g.working();
        let (strip, columns) = (Scratch::new::<T>(strip)?, Scratch::new::<T>(columns)?);
        let image = x.get().wrapping_add(task * g.plane());
        let out = y.get().wrapping_add(task * og * pixels);
        if let Some(b) = bias {
            for o in 0..og {
                // SAFETY: the bias has a number for each output channel.
                unsafe {
                    let v = *b.get().add(group * og + o);
                    std::slice::from_raw_parts_mut(out.add(o * pixels), pixels).fill(v);
                }
            }
        }
        each_block(g, |rows| {
            let (b, width) = columns_of(g, image, [strip.as_ptr(), columns.as_ptr()], &rows);
            let a = Mat {
                ptr: weight.get().wrapping_add(group * og * k).cast_const(),
                rs: k as isize,
                cs: 1,
            };
            let c =
                MatMut { ptr: out.wrapping_add(rows.start * g.out[1]), rs: pixels as isize, cs: 1 };
            // SAFETY: the block's rows of the result, its columns, the group's weights.
            unsafe { gemm(threads, Shape { m: og, n: width, k }, a, b, c, bias.is_some()) }
        })
    })
}

fn each_block(
    g: &Geometry,
    mut f: impl FnMut(Range<usize>) -> Result<(), NoScratch>,
) -> Result<(), NoScratch> {
    let size = g.block_rows();
    (0..g.out[0]).step_by(size).try_for_each(|r| f(r..(r + size).min(g.out[0])))
}

/// The columns of output rows `rows`, in the scratch or in the image itself, and how many.
fn columns_of<T: Number>(
    g: &Geometry,
    image: *mut T,
    [strip, columns]: [*mut T; 2],
    rows: &Range<usize>,
) -> (Mat<T>, usize) {
    let width = rows.len() * g.out[1];
    if g.pointwise() {
        let ptr = image.wrapping_add(rows.start * g.out[1]).cast_const();
        return (Mat { ptr, rs: g.pixels() as isize, cs: 1 }, width);
    }
    dispatch(Strip { g: *g, image, strip, rows: rows.clone(), back: false });
    dispatch(Columns { g: *g, strip, columns, rows: rows.len(), back: false });
    (Mat { ptr: columns.cast_const(), rs: width as isize, cs: 1 }, width)
}

/// The gradient by the images, or the transposed convolution.
///
/// # Safety
/// As [`forward`]; `gx` is written.
pub unsafe fn input<T: Number>(
    threads: &Threads,
    g: &Geometry,
    gy: *const T,
    weight: *const T,
    gx: *mut T,
) -> Result<(), NoScratch> {
    // SAFETY: passed on to the caller.
    if unsafe { conv_windows::input(threads, g, gy, weight, gx)? } {
        return Ok(());
    }
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let (gy, weight, gx) = (SyncPtr(gy.cast_mut()), SyncPtr(weight.cast_mut()), SyncPtr(gx));
    threads.try_run(g.n * g.groups, |task, threads| {
        let group = task % g.groups;
        let [strip, columns] = g.working();
        let (strip, columns) = (Scratch::new::<T>(strip)?, Scratch::new::<T>(columns)?);
        let image = gx.get().wrapping_add(task * g.plane());
        let grad = gy.get().wrapping_add(task * og * pixels);
        if !g.pointwise() || pixels == 0 {
            // SAFETY: this task's part of the result.
            unsafe { std::slice::from_raw_parts_mut(image, g.plane()).fill(T::default()) };
        }
        each_block(g, |rows| {
            let width = rows.len() * g.out[1];
            let w = Mat {
                ptr: weight.get().wrapping_add(group * og * k).cast_const(),
                rs: 1,
                cs: k as isize,
            };
            let b = Mat {
                ptr: grad.wrapping_add(rows.start * g.out[1]).cast_const(),
                rs: pixels as isize,
                cs: 1,
            };
            let shape = Shape { m: k, n: width, k: og };
            if g.pointwise() {
                let c = MatMut {
                    ptr: image.wrapping_add(rows.start * g.out[1]),
                    rs: pixels as isize,
                    cs: 1,
                };
                // SAFETY: as for the forward product.
                return unsafe { gemm(threads, shape, w, b, c, false) };
            }
            let c = MatMut { ptr: columns.as_ptr::<T>(), rs: width as isize, cs: 1 };
            // SAFETY: the scratch holds the block's columns.
            unsafe { gemm(threads, shape, w, b, c, false)? };
            let (strip, columns) = (strip.as_ptr::<T>(), columns.as_ptr());
            let [numbers, _] = g.working();
            // SAFETY: the scratch holds the strip.
            unsafe { std::slice::from_raw_parts_mut(strip, numbers).fill(T::default()) };
            dispatch(Columns { g: *g, strip, columns, rows: rows.len(), back: true });
            dispatch(Strip { g: *g, image, strip, rows, back: true });
            Ok(())
        })
    })
}

/// The gradient by the weight.
///
/// # Safety
/// As [`forward`]; `gw` is written.
pub unsafe fn weight<T: Number>(
    threads: &Threads,
    g: &Geometry,
    gy: *const T,
    x: *const T,
    gw: *mut T,
) -> Result<(), NoScratch> {
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let numbers = (k * g.o).max(1);
    let parts = PARTS.min(PART_NUMBERS / numbers).clamp(1, g.n.max(1));
    let sums = Scratch::new::<T>(parts * numbers)?;
    let (gy, x, gw, sum) =
        (SyncPtr(gy.cast_mut()), SyncPtr(x.cast_mut()), SyncPtr(gw), SyncPtr(sums.as_ptr::<T>()));
    let per_part = g.n.div_ceil(parts);
    let windows = g.in_windows() && og >= 24;
    threads.try_run(parts * g.groups, |task, threads| {
        let (part, group) = (task / g.groups, task % g.groups);
        let [strip, columns] = g.working();
        let (strip, columns) = (Scratch::new::<T>(strip)?, Scratch::new::<T>(columns)?);
        // Transposed: depth x outputs, so that the columns are read where they lie.
        let to = sum.get().wrapping_add(task * k * og);
        // SAFETY: the task's part of the scratch.
        unsafe { std::slice::from_raw_parts_mut(to, k * og).fill(T::default()) };
        for n in part * per_part..((part + 1) * per_part).min(g.n) {
            let image = x.get().wrapping_add((n * g.groups + group) * g.plane());
            let grad = gy.get().wrapping_add((n * g.groups + group) * og * pixels);
            each_block(g, |rows| {
                if windows {
                    let offsets = g.offsets(rows.len());
                    let places = [image, grad, strip.as_ptr(), to];
                    // SAFETY: the strip has room for the block; passed on to the caller.
                    return unsafe { conv_windows::weight(g, &offsets, places, rows) };
                }
                let (a, width) = columns_of(g, image, [strip.as_ptr(), columns.as_ptr()], &rows);
                let b = Mat {
                    ptr: grad.wrapping_add(rows.start * g.out[1]).cast_const(),
                    rs: 1,
                    cs: pixels as isize,
                };
                let c = MatMut { ptr: to, rs: og as isize, cs: 1 };
                // SAFETY: as for the forward product.
                unsafe { gemm(threads, Shape { m: k, n: og, k: width }, a, b, c, true) }
            })?;
        }
        Ok(())
    })?;
    threads.split(g.o, ((1usize << 14) / (parts * k).max(1)).max(1), |range| {
        for o in range {
            let (group, lane) = (o / og, o % og);
            for i in 0..k {
                let mut total = T::default();
                for part in 0..parts {
                    let at = ((part * g.groups + group) * k + i) * og + lane;
                    // SAFETY: every part wrote its place.
                    total = total + unsafe { *sum.get().add(at) };
                }
                // SAFETY: weight gradients have `o * k` numbers.
                unsafe { *gw.get().add(o * k + i) = total };
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize, k: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * k).sin()).collect()
    }

    /// Calls `f(image, weight, result)` with every triple of positions that meet.
    fn meet(g: &Geometry, mut f: impl FnMut(usize, usize, usize)) {
        let (cg, og) = (g.c / g.groups, g.o / g.groups);
        for n in 0..g.n {
            for o in 0..g.o {
                for oy in 0..g.out[0] {
                    for ox in 0..g.out[1] {
                        for c in 0..cg {
                            for ki in 0..g.kernel[0] {
                                for kj in 0..g.kernel[1] {
                                    let y = (oy * g.stride[0] + ki * g.dilation[0])
                                        .wrapping_sub(g.padding[0]);
                                    let x = (ox * g.stride[1] + kj * g.dilation[1])
                                        .wrapping_sub(g.padding[1]);
                                    if y < g.image[0] && x < g.image[1] {
                                        let channel = o / og * cg + c;
                                        f(
                                            ((n * g.c + channel) * g.image[0] + y) * g.image[1] + x,
                                            ((o * cg + c) * g.kernel[0] + ki) * g.kernel[1] + kj,
                                            ((n * g.o + o) * g.out[0] + oy) * g.out[1] + ox,
                                        );
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn all_three_products_match_the_definition() {
        let cases = [
            (1, 1, 1, 1, [1, 1], [1, 1], [1, 1], [0, 0], [1, 1]),
            (3, 2, 4, 2, [5, 7], [3, 2], [1, 1], [1, 0], [1, 1]),
            (2, 3, 5, 1, [9, 8], [3, 3], [2, 3], [2, 1], [2, 1]),
            (40, 1, 2, 1, [6, 6], [3, 3], [1, 1], [1, 1], [1, 1]),
            (1, 4, 4, 4, [1, 1603], [1, 4], [1, 4], [0, 0], [1, 1]),
            (2, 6, 3, 3, [4, 4], [1, 1], [1, 1], [0, 0], [1, 1]),
            (2, 2, 2, 1, [3, 300], [3, 5], [1, 1], [1, 2], [1, 1]),
            (5, 16, 26, 1, [14, 14], [3, 3], [1, 1], [0, 0], [1, 1]),
            (2, 8, 24, 1, [20, 18], [3, 3], [1, 1], [2, 1], [2, 1]),
            (1, 16, 48, 2, [12, 13], [3, 3], [1, 1], [1, 2], [1, 1]),
            (1, 40, 9, 1, [37, 41], [3, 3], [1, 1], [1, 1], [1, 1]),
        ];
        for (n, c, o, groups, image, kernel, stride, padding, dilation) in cases {
            let out = [0, 1].map(|d: usize| {
                (image[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1
            });
            let g = Geometry { n, c, o, groups, image, kernel, out, stride, padding, dilation };
            let x = values(n * c * image[0] * image[1], 0.37);
            let w = values(o * g.depth(), 0.71);
            let b = values(o, 1.3);
            let gy = values(n * o * g.pixels(), 0.53);
            let mut want = [vec![0.0; gy.len()], vec![0.0; x.len()], vec![0.0; w.len()]];
            for (i, v) in want[0].iter_mut().enumerate() {
                *v = b[i / g.pixels() % o];
            }
            meet(&g, |xi, wi, yi| {
                want[0][yi] += x[xi] * w[wi];
                want[1][xi] += gy[yi] * w[wi];
                want[2][wi] += gy[yi] * x[xi];
            });
            for count in [1, 2, 5] {
                let t = Threads::new(count);
                let mut got = [vec![0.0; gy.len()], vec![f64::NAN; x.len()], vec![0.0; w.len()]];
                // SAFETY: the vectors have the extents of the geometry.
                unsafe {
                    forward(&t, &g, x.as_ptr(), w.as_ptr(), Some(b.as_ptr()), got[0].as_mut_ptr())
                        .unwrap();
                    input(&t, &g, gy.as_ptr(), w.as_ptr(), got[1].as_mut_ptr()).unwrap();
                    weight(&t, &g, gy.as_ptr(), x.as_ptr(), got[2].as_mut_ptr()).unwrap();
                }
                for (got, want) in got.iter().zip(&want) {
                    for (a, b) in got.iter().zip(want) {
                        assert!((a - b).abs() < 1e-10, "{g:?}: {a} {b}");
                    }
                }
            }
        }
    }
}
