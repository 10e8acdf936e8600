//! Convolutions as matrix products with the image's windows laid out as columns ("im2col"),
//! unless [`crate::conv_pixels`] or [`crate::conv_windows`] can read the windows in place.
//!
//! A block of output rows at a time, or some small images side by side, so that each weight that is
//! read serves many columns; and some channels at a time, so that their columns stay in the second
//! cache. Blocks and groups are shared out among threads; where there are fewer of them, the products
//! are split within. Invariant: channels and the parts of a weight gradient follow from shapes alone,
//! and blocks change no other sum, so the thread count never changes a result.

use crate::conv_columns::{Block, Columns, SLACK, Strip, Working};
use crate::conv_pixels;
use crate::conv_windows::{self, Spread};
use crate::dense::Number;
use crate::gemm::{Mat, MatMut, Shape, gemm};
use crate::isa::dispatch;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use std::ops::Range;

/// Numbers of a block of columns.
const BLOCK: usize = 1 << 17;
/// Columns that make a product wide.
const WIDE: usize = 512;
/// Columns below which a product is not cut further.
const NARROW: usize = 96;
/// Rows of columns that are made at once.
const SLICE: usize = 512;
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
    pub(crate) fn channels(&self) -> usize {
        self.c / self.groups
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
    pub(crate) fn block_rows(&self) -> usize {
        if self.pointwise() || self.mergeable() {
            return self.out[0].max(1);
        }
        let width = self.out[1].max(1);
        let fits = BLOCK / (self.slice() * self.taps() * width).max(1);
        fits.max(64usize.div_ceil(width)).clamp(1, self.out[0].max(1))
    }
    pub(crate) fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }
    /// Channels of a group whose columns are made at once.
    fn slice(&self) -> usize {
        let all = self.c / self.groups;
        // These read or have what they need of all channels in place.
        let whole = self.pointwise() || self.in_windows();
        if whole { all } else { (SLICE / self.taps().max(1)).max(1).min(all) }
    }
    /// The channels of a group, as many at a time as have their columns made at once.
    pub(crate) fn slices(&self) -> impl Iterator<Item = Range<usize>> {
        let (all, size) = (self.c / self.groups, self.slice());
        // Without channels the results are 0, and still to be written.
        (0..all.max(1)).step_by(size.max(1)).map(move |c| c..(c + size).min(all))
    }
    /// The convolution of some of a group's channels.
    pub(crate) fn of_channels(&self, n: usize) -> Geometry {
        Geometry { c: n * self.groups, ..*self }
    }
    /// One image has few columns.
    fn mergeable(&self) -> bool {
        !self.pointwise() && (1..WIDE).contains(&self.pixels())
    }
    /// Images of a block, of `n` that are to be shared out in `parts`.
    fn block_images(&self, n: usize, parts: usize) -> usize {
        if self.mergeable() { self.side_by_side(n, parts) } else { 1 }
    }
    /// Images that make a product wide, of `n` that are to be shared out in `parts`.
    pub(crate) fn side_by_side(&self, n: usize, parts: usize) -> usize {
        let pixels = self.pixels().max(1);
        (WIDE / pixels).min((n / parts.max(1)).max(NARROW.div_ceil(pixels).min(n))).max(1)
    }
    /// Image rows that `rows` output rows meet.
    pub(crate) fn strip_height(&self, rows: usize) -> usize {
        (rows.max(1) - 1) * self.stride[0] + (self.kernel[0] - 1) * self.dilation[0] + 1
    }
    /// Numbers of a strip and of the columns of a block, with what copies may touch behind them.
    pub(crate) fn working(&self, images: usize) -> [usize; 2] {
        if self.pointwise() {
            return [0, 0];
        }
        let rows = self.block_rows();
        let width = self.image[1] + 2 * self.padding[1];
        let strip = self.slice() * self.strip_height(rows) * width;
        let columns = rows * self.out[1] * images + SLACK;
        [strip + SLACK, self.slice() * self.taps() * columns + SLACK]
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
    if g.by_pixels() {
        // SAFETY: passed on to the caller.
        return unsafe { conv_pixels::forward(threads, g, x, weight, bias, y) };
    }
    if g.in_windows() {
        // SAFETY: passed on to the caller.
        return unsafe { conv_windows::forward(threads, g, x, weight, bias, y) };
    }
    let (x, weight, y) = (SyncPtr(x.cast_mut()), SyncPtr(weight.cast_mut()), SyncPtr(y));
    let bias = bias.map(|b| SyncPtr(b.cast_mut()));
    each_task(threads, g, |group, images, threads| {
        let working = Working::<T>::new(g, images.len())?;
        let bias = bias.map(|b| b.get().wrapping_add(group * g.outputs()).cast_const());
        Block::each(g, group, images.clone(), images.len(), |block| {
            // SAFETY: passed on to the caller.
            unsafe { product(threads, g, &working, block, [x, weight, y].map(|p| p.get()), bias) }
        })
    })
}

/// Calls `f` with each group and the images of each task.
fn each_task(
    threads: &Threads,
    g: &Geometry,
    f: impl Fn(usize, Range<usize>, &Threads) -> Result<(), NoScratch> + Sync,
) -> Result<(), NoScratch> {
    let parts = if threads.count() == 1 { 1 } else { (2 * threads.count()).div_ceil(g.groups) };
    let size = g.block_images(g.n, parts);
    threads.try_run(g.n.div_ceil(size) * g.groups, |task, threads| {
        let first = task / g.groups * size;
        f(task % g.groups, first..(first + size).min(g.n), threads)
    })
}

/// The result of one block.
///
/// # Safety
/// As [`forward`].
unsafe fn product<T: Number>(
    threads: &Threads,
    g: &Geometry,
    working: &Working<T>,
    block: &Block,
    [x, weight, y]: [*mut T; 3],
    bias: Option<*const T>,
) -> Result<(), NoScratch> {
    let (k, og, pixels, taps) = (g.depth(), g.outputs(), g.pixels(), g.taps());
    let [one, all] = block.widths(g);
    let weight = weight.wrapping_add(block.group * og * k).cast_const();
    // SAFETY: the block's columns and results, the group's weights; a bias for each output.
    unsafe {
        let c = working.results_of(g, y, block, false);
        let merged = block.images.len() > 1;
        let filled = bias.filter(|_| !merged);
        if let Some(bias) = filled {
            for o in 0..og {
                let row = c.ptr.wrapping_add(o * pixels);
                std::slice::from_raw_parts_mut(row, one).fill(*bias.add(o));
            }
        }
        for channels in g.slices() {
            let b = working.columns_of(g, x, block, &channels);
            let a = Mat { ptr: weight.wrapping_add(channels.start * taps), rs: k as isize, cs: 1 };
            let shape = Shape { m: og, n: all, k: channels.len() * taps };
            gemm(threads, shape, a, b, c, filled.is_some() || channels.start > 0)?;
        }
        for (i, n) in block.images.clone().enumerate().take(if merged { usize::MAX } else { 0 }) {
            dispatch(Spread {
                from: c.ptr.wrapping_add(i * one).cast_const(),
                from_strides: [all, 0],
                to: y.wrapping_add((n * g.groups + block.group) * og * pixels),
                to_channel: pixels,
                channels: og,
                rows: 1,
                width: one,
                bias,
            });
        }
    }
    Ok(())
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
    if g.by_pixels() {
        // SAFETY: passed on to the caller.
        return unsafe { conv_pixels::input(threads, g, gy, weight, gx) };
    }
    // SAFETY: passed on to the caller.
    if unsafe { conv_windows::input(threads, g, gy, weight, gx)? } {
        return Ok(());
    }
    let (gy, weight, gx) = (SyncPtr(gy.cast_mut()), SyncPtr(weight.cast_mut()), SyncPtr(gx));
    each_task(threads, g, |group, images, threads| {
        let working = Working::<T>::new(g, images.len())?;
        for n in images.clone() {
            if !g.pointwise() || g.pixels() == 0 {
                let image = gx.get().wrapping_add((n * g.groups + group) * g.plane());
                // SAFETY: this task's part of the result.
                unsafe { std::slice::from_raw_parts_mut(image, g.plane()).fill(T::default()) };
            }
        }
        Block::each(g, group, images.clone(), images.len(), |block| {
            // SAFETY: passed on to the caller.
            unsafe { back(threads, g, &working, block, [gy, weight, gx].map(|p| p.get())) }
        })
    })
}

/// Adds what one block gives the images.
///
/// # Safety
/// As [`input`].
unsafe fn back<T: Number>(
    threads: &Threads,
    g: &Geometry,
    working: &Working<T>,
    block: &Block,
    [gy, weight, gx]: [*mut T; 3],
) -> Result<(), NoScratch> {
    let (k, og, taps) = (g.depth(), g.outputs(), g.taps());
    let [one, all] = block.widths(g);
    let weight = weight.wrapping_add(block.group * og * k).cast_const();
    let image = |n: usize| gx.wrapping_add((n * g.groups + block.group) * g.plane());
    // SAFETY: as for the forward product; the scratch holds columns and strip.
    unsafe {
        let grad = working.results_of(g, gy, block, true);
        let b = Mat { ptr: grad.ptr.cast_const(), rs: grad.rs, cs: 1 };
        let (pitch, columns) = (working.pitch(g, block), working.columns.as_ptr::<T>());
        let strip = working.strip.as_ptr::<T>();
        let [numbers, _] = g.working(1);
        for channels in g.slices() {
            let w = Mat { ptr: weight.wrapping_add(channels.start * taps), rs: 1, cs: k as isize };
            let shape = Shape { m: channels.len() * taps, n: all, k: og };
            if g.pointwise() {
                let ptr = image(block.images.start).wrapping_add(block.rows.start * g.out[1]);
                let c = MatMut { ptr, rs: g.pixels() as isize, cs: 1 };
                return gemm(threads, shape, w, b, c, false);
            }
            gemm(threads, shape, w, b, MatMut { ptr: columns, rs: pitch as isize, cs: 1 }, false)?;
            let part = g.of_channels(channels.len());
            for (i, n) in block.images.clone().enumerate() {
                let (columns, rows) = (columns.wrapping_add(i * one), block.rows.clone());
                let image = image(n).wrapping_add(channels.start * g.image[0] * g.image[1]);
                std::slice::from_raw_parts_mut(strip, numbers).fill(T::default());
                dispatch(Columns { g: part, strip, columns, pitch, rows: rows.len(), back: true });
                dispatch(Strip { g: part, image, strip, rows, back: true });
            }
        }
    }
    Ok(())
}

/// The parts of a batch whose weight gradients are summed on their own.
pub(crate) struct Parts {
    pub count: usize,
    /// Images of a part.
    pub images: usize,
}

impl Parts {
    pub fn of(g: &Geometry) -> Parts {
        let numbers = (g.depth() * g.o).max(1);
        // A part has enough columns that its sums are not mostly read and written.
        let wide = g.n.div_ceil(WIDE.div_ceil(g.pixels().max(1))).max(1);
        let count = PARTS.min(PART_NUMBERS / numbers).clamp(1, wide);
        Parts { count, images: g.n.div_ceil(count) }
    }

    /// The images of part `i`.
    pub fn of_part(&self, g: &Geometry, i: usize) -> Range<usize> {
        (i * self.images).min(g.n)..((i + 1) * self.images).min(g.n)
    }
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
    if g.by_pixels() {
        // SAFETY: passed on to the caller.
        return unsafe { conv_pixels::weight(threads, g, gy, x, gw) };
    }
    let (k, og, pixels) = (g.depth(), g.outputs(), g.pixels());
    let Parts { count: parts, images: per_part } = Parts::of(g);
    let sums = Scratch::new::<T>(parts * (k * g.o).max(1))?;
    let (gy, x, gw, sum) =
        (SyncPtr(gy.cast_mut()), SyncPtr(x.cast_mut()), SyncPtr(gw), SyncPtr(sums.as_ptr::<T>()));
    let windows = g.in_windows() && og >= 24;
    let size = if windows { 1 } else { g.block_images(per_part, 1) };
    threads.try_run(parts * g.groups, |task, threads| {
        let (part, group) = (task / g.groups, task % g.groups);
        let working = Working::<T>::new(g, size)?;
        // Transposed: depth x outputs, so that the columns are read where they lie.
        let to = sum.get().wrapping_add(task * k * og);
        // SAFETY: the task's part of the scratch.
        unsafe { std::slice::from_raw_parts_mut(to, k * og).fill(T::default()) };
        let images = Parts::of(g).of_part(g, part);
        g.slices().try_for_each(|channels| {
            let to = to.wrapping_add(channels.start * g.taps() * og);
            Block::each(g, group, images.clone(), size, |block| {
                // SAFETY: passed on to the caller; the strip has room for the block.
                unsafe {
                    if windows {
                        let n = block.images.start * g.groups + group;
                        let image = x.get().wrapping_add(n * g.plane());
                        let grad = gy.get().wrapping_add(n * og * pixels);
                        let places = [image, grad, working.strip.as_ptr(), to];
                        let offsets = g.offsets(block.rows.len());
                        return conv_windows::weight(g, &offsets, places, block.rows.clone());
                    }
                    let a = working.columns_of(g, x.get(), block, &channels);
                    let grad = working.results_of(g, gy.get(), block, true);
                    let b = Mat { ptr: grad.ptr.cast_const(), rs: 1, cs: grad.rs };
                    let c = MatMut { ptr: to, rs: og as isize, cs: 1 };
                    let [_, width] = block.widths(g);
                    let shape = Shape { m: channels.len() * g.taps(), n: og, k: width };
                    gemm(threads, shape, a, b, c, true)
                }
            })
        })
    })?;
    join_parts(threads, g, parts, sum, gw);
    Ok(())
}

/// Adds the parts of a weight gradient, each `depth` x `outputs` for each group.
fn join_parts<T: Number>(
    threads: &Threads,
    g: &Geometry,
    parts: usize,
    sum: SyncPtr<T>,
    gw: SyncPtr<T>,
) {
    const TILE: usize = 16;
    let (k, og) = (g.depth(), g.outputs());
    let tiles = og.div_ceil(TILE);
    threads.split(g.groups * tiles, ((1usize << 10) / (parts * k).max(1)).max(1), |range| {
        for tile in range {
            let (group, first) = (tile / tiles, tile % tiles * TILE);
            let lanes = TILE.min(og - first);
            for i in (0..k).step_by(TILE) {
                // Turned here, so that both sides are read and written in runs.
                let mut total = [[T::default(); TILE]; TILE];
                let rows = TILE.min(k - i);
                for part in 0..parts {
                    let at = ((part * g.groups + group) * k + i) * og + first;
                    let from = sum.get().wrapping_add(at);
                    for (r, total) in total.iter_mut().enumerate().take(rows) {
                        for (lane, total) in total.iter_mut().enumerate().take(lanes) {
                            // SAFETY: every part wrote its place.
                            *total = *total + unsafe { *from.add(r * og + lane) };
                        }
                    }
                }
                for lane in 0..lanes {
                    let to = gw.get().wrapping_add((group * og + first + lane) * k + i);
                    for (r, total) in total.iter().enumerate().take(rows) {
                        // SAFETY: weight gradients have `o * k` numbers.
                        unsafe { *to.add(r) = total[lane] };
                    }
                }
            }
        }
    });
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
            // Several images and several slices of channels at a time.
            (5, 70, 6, 1, [6, 5], [3, 3], [1, 1], [1, 1], [1, 1]),
            (9, 130, 20, 2, [7, 7], [3, 3], [2, 2], [1, 1], [1, 1]),
            (3, 150, 17, 1, [6, 6], [3, 3], [1, 1], [0, 0], [1, 1]),
            // By pixels: panels that are not whole, padding, strides, groups, parts.
            (4, 40, 42, 1, [9, 11], [3, 3], [1, 1], [1, 1], [2, 1]),
            (9, 30, 48, 1, [10, 9], [2, 3], [2, 1], [1, 0], [1, 1]),
            (7, 60, 96, 2, [7, 8], [3, 1], [1, 2], [0, 0], [1, 3]),
            (2, 46, 16, 1, [25, 33], [3, 3], [1, 1], [2, 1], [1, 1]),
            (9, 16, 16, 1, [1, 300], [1, 4], [1, 1], [0, 1], [1, 1]),
        ];
        let by_pixels = std::cell::Cell::new(0);
        for (n, c, o, groups, image, kernel, stride, padding, dilation) in cases {
            let out = [0, 1].map(|d: usize| {
                (image[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1
            });
            let g = Geometry { n, c, o, groups, image, kernel, out, stride, padding, dilation };
            by_pixels.set(by_pixels.get() + g.by_pixels() as usize);
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
        assert_eq!(by_pixels.get(), 6);
    }

    #[test]
    fn thread_count_does_not_change_a_bit() {
        let cases = [(5, 40, 42, [9, 11]), (3, 32, 150, [6, 8]), (4, 3, 20, [9, 9])];
        for (n, c, o, image) in cases {
            let g = Geometry {
                n,
                c,
                o,
                groups: 1,
                image,
                kernel: [3, 3],
                out: image,
                stride: [1, 1],
                padding: [1, 1],
                dilation: [1, 1],
            };
            let float = |n: usize, k: f64| values(n, k).iter().map(|v| *v as f32).collect();
            let x: Vec<f32> = float(n * c * image[0] * image[1], 0.37);
            let w: Vec<f32> = float(o * g.depth(), 0.71);
            let gy: Vec<f32> = float(n * o * g.pixels(), 0.53);
            let run = |count: usize| {
                let t = Threads::new(count);
                let mut got = [vec![0f32; gy.len()], vec![0.0; x.len()], vec![0.0; w.len()]];
                // SAFETY: the vectors have the extents of the geometry.
                unsafe {
                    forward(&t, &g, x.as_ptr(), w.as_ptr(), None, got[0].as_mut_ptr()).unwrap();
                    input(&t, &g, gy.as_ptr(), w.as_ptr(), got[1].as_mut_ptr()).unwrap();
                    weight(&t, &g, gy.as_ptr(), x.as_ptr(), got[2].as_mut_ptr()).unwrap();
                }
                got
            };
            let alone = run(1);
            for count in [2, 3, 7] {
                assert!(run(count) == alone, "{g:?} with {count} threads");
            }
        }
    }
}
