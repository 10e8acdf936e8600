//! Convolutions as matrix products with the image's windows laid out as columns ("im2col").
//!
//! A block of output rows at a time, so that its columns stay in the second cache. Images and
//! groups are shared out among threads; where there are fewer of them, the products are split
//! within. Invariant: blocks and the parts of a weight gradient follow from shapes alone, so the
//! thread count never changes a result.

use crate::dense::Number;
use crate::gemm::{Mat, MatMut, Shape, gemm};
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
    fn depth(&self) -> usize {
        self.c / self.groups * self.kernel[0] * self.kernel[1]
    }
    fn outputs(&self) -> usize {
        self.o / self.groups
    }
    fn pixels(&self) -> usize {
        self.out[0] * self.out[1]
    }
    /// Numbers of one group of one image.
    fn plane(&self) -> usize {
        self.c / self.groups * self.image[0] * self.image[1]
    }
    /// The image is its own matrix of columns.
    fn pointwise(&self) -> bool {
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
    fn column_numbers(&self) -> usize {
        if self.pointwise() { 0 } else { self.depth() * self.block_rows() * self.out[1] }
    }
}

/// Copies between an image and the columns of output rows `rows`.
struct Columns<T> {
    g: Geometry,
    image: *mut T,
    columns: *mut T,
    rows: Range<usize>,
    /// Adds columns to the image instead of reading them from it.
    back: bool,
}

impl<T: Number> Kernel for Columns<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Columns { g, image, columns, rows, back } = self;
        let ([h, w], [kh, kw], ow) = (g.image, g.kernel, g.out[1]);
        let pixels = rows.len() * ow;
        let mut line = columns;
        for c in 0..g.c / g.groups {
            for ki in 0..kh {
                for kj in 0..kw {
                    // Output columns whose window lies inside the image at this weight.
                    let shift = (kj * g.dilation[1]) as isize - g.padding[1] as isize;
                    let s = g.stride[1] as isize;
                    let first = (-shift).max(0).div_ceil_by(s).min(ow as isize) as usize;
                    let last = (w as isize - shift)
                        .max(0)
                        .div_ceil_by(s)
                        .clamp(first as isize, ow as isize) as usize;
                    for (r, row) in rows.clone().enumerate() {
                        let to = line.wrapping_add(r * ow);
                        let y = (row * g.stride[0] + ki * g.dilation[0]) as isize
                            - g.padding[0] as isize;
                        let inside = (0..h as isize).contains(&y);
                        // SAFETY (this and below): the caller vouches for image and columns;
                        // `first..last` are the positions whose element exists.
                        unsafe {
                            if !inside {
                                if !back {
                                    (0..ow).for_each(|q| *to.add(q) = T::default());
                                }
                                continue;
                            }
                            let from =
                                image.wrapping_offset(((c * h) as isize + y) * w as isize + shift);
                            if back {
                                if s == 1 {
                                    for q in first..last {
                                        let p = from.wrapping_add(q);
                                        *p = *p + *to.add(q);
                                    }
                                } else {
                                    for q in first..last {
                                        let p = from.wrapping_offset(q as isize * s);
                                        *p = *p + *to.add(q);
                                    }
                                }
                                continue;
                            }
                            (0..first).for_each(|q| *to.add(q) = T::default());
                            if s == 1 {
                                for q in first..last {
                                    *to.add(q) = *from.wrapping_add(q);
                                }
                            } else {
                                for q in first..last {
                                    *to.add(q) = *from.wrapping_offset(q as isize * s);
                                }
                            }
                            (last..ow).for_each(|q| *to.add(q) = T::default());
                        }
                    }
                    line = line.wrapping_add(pixels);
                }
            }
        }
    }
}

trait DivCeil {
    fn div_ceil_by(self, by: isize) -> isize;
}
impl DivCeil for isize {
    #[inline(always)]
    fn div_ceil_by(self, by: isize) -> isize {
        (self + by - 1) / by
    }
}

/// Runs tasks on the pool, or one after the other with the pool for each where they are few.
fn tasks(
    threads: &Threads,
    count: usize,
    f: impl Fn(usize, &Threads) -> Result<(), NoScratch> + Sync,
) -> Result<(), NoScratch> {
    if count < threads.count() || threads.count() == 1 {
        return (0..count).try_for_each(|i| f(i, threads));
    }
    let failed = AtomicBool::new(false);
    threads.run(count, &|i| {
        if f(i, Threads::alone()).is_err() {
            failed.store(true, Relaxed);
        }
    });
    if failed.load(Relaxed) { Err(NoScratch { bytes: 0 }) } else { Ok(()) }
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
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let (x, weight, bias, y) = (
        SyncPtr(x.cast_mut()),
        SyncPtr(weight.cast_mut()),
        bias.map(|b| SyncPtr(b.cast_mut())),
        SyncPtr(y),
    );
    tasks(threads, g.n * g.groups, |task, threads| {
        let group = task % g.groups;
        let columns = Scratch::new::<T>(g.column_numbers())?;
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
            let (b, width) = columns_of(g, image, columns.as_ptr(), &rows);
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
    columns: *mut T,
    rows: &Range<usize>,
) -> (Mat<T>, usize) {
    let width = rows.len() * g.out[1];
    if g.pointwise() {
        let ptr = image.wrapping_add(rows.start * g.out[1]).cast_const();
        return (Mat { ptr, rs: g.pixels() as isize, cs: 1 }, width);
    }
    dispatch(Columns { g: *g, image, columns, rows: rows.clone(), back: false });
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
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let (gy, weight, gx) = (SyncPtr(gy.cast_mut()), SyncPtr(weight.cast_mut()), SyncPtr(gx));
    tasks(threads, g.n * g.groups, |task, threads| {
        let group = task % g.groups;
        let columns = Scratch::new::<T>(g.column_numbers())?;
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
            dispatch(Columns { g: *g, image, columns: columns.as_ptr(), rows, back: true });
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
    tasks(threads, parts * g.groups, |task, threads| {
        let (part, group) = (task / g.groups, task % g.groups);
        let columns = Scratch::new::<T>(g.column_numbers())?;
        // Transposed: depth x outputs, so that the columns are read where they lie.
        let to = sum.get().wrapping_add(task * k * og);
        // SAFETY: the task's part of the scratch.
        unsafe { std::slice::from_raw_parts_mut(to, k * og).fill(T::default()) };
        for n in part * per_part..((part + 1) * per_part).min(g.n) {
            let image = x.get().wrapping_add((n * g.groups + group) * g.plane());
            let grad = gy.get().wrapping_add((n * g.groups + group) * og * pixels);
            each_block(g, |rows| {
                let (a, width) = columns_of(g, image, columns.as_ptr(), &rows);
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
