//! layerNorm and rmsNorm over rows, forward and backward, each in one pass over memory per row.
//!
//! `y = (x - mean) * rstd * weight + bias` with `rstd = 1 / sqrt(variance + eps)` over the
//! trailing elements of a row (Ba et al. 2016); rmsNorm leaves out mean and bias and divides by
//! the root of the mean square (Zhang and Sennrich 2019). Rows are contiguous; the glue makes
//! them so. Sums run in lanes and join in float64, so the thread count changes nothing.

use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::simd::{Action, fold_row_f32};
use crate::threads::Threads;

/// Elements per thread that make a split worth it.
const GRAIN: usize = 1 << 13;
/// Rows whose weight gradients are summed before they go into the total.
const GROUP: usize = 64;
/// Elements of a row that pass through the stack at a time.
const BLOCK: usize = 512;

/// `rows` rows of `n` contiguous float32 numbers.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub rows: usize,
    pub n: usize,
    /// layerNorm; else rmsNorm.
    pub centered: bool,
}

/// Sums `f(i)` over `0..n` through a small buffer.
///
/// # Safety
/// The code runs in a function compiled for `I`.
#[inline(always)]
unsafe fn sum_of<I: Isa>(n: usize, f: impl Fn(usize) -> f32) -> f64 {
    let mut buffer = [0f32; BLOCK];
    let mut total = 0.0;
    for at in (0..n).step_by(BLOCK) {
        let m = BLOCK.min(n - at);
        for (i, b) in buffer.iter_mut().enumerate().take(m) {
            *b = f(at + i);
        }
        // SAFETY: the buffer holds `m` numbers; `I` is passed on to the caller.
        total += unsafe { fold_row_f32::<I>(Action::Add, buffer.as_ptr(), m) } as f64;
    }
    total
}

/// Addresses of a forward pass; `mean` and `rstd` have one number per row, weight and bias `n`.
#[derive(Clone, Copy, Debug)]
pub struct Forward {
    pub x: *const f32,
    pub weight: Option<*const f32>,
    pub bias: Option<*const f32>,
    pub y: *mut f32,
    pub mean: Option<*mut f32>,
    pub rstd: *mut f32,
    pub eps: f64,
}

// SAFETY: plain addresses; tasks write disjoint rows.
unsafe impl Sync for Forward {}

struct ForwardRow {
    rows: Rows,
    f: Forward,
    row: usize,
}

impl Kernel for ForwardRow {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ForwardRow { rows: Rows { n, centered, .. }, f, row } = self;
        // SAFETY: the caller of `forward` vouches for the row; so for all blocks below.
        let (x, y) = unsafe { (f.x.add(row * n), f.y.add(row * n)) };
        // SAFETY: as above.
        let at = |i: usize| unsafe { *x.add(i) };
        // SAFETY: `run` is compiled for `I`.
        let mean = if centered { (unsafe { sum_of::<I>(n, at) } / n as f64) as f32 } else { 0.0 };
        // SAFETY: as above.
        let square = unsafe { sum_of::<I>(n, |i| (at(i) - mean) * (at(i) - mean)) };
        let rstd = (1.0 / (square / n as f64 + f.eps).sqrt()) as f32;
        // SAFETY: as above; one number per row.
        unsafe {
            if let Some(m) = f.mean {
                *m.add(row) = mean;
            }
            *f.rstd.add(row) = rstd;
            match (f.weight, f.bias) {
                (Some(w), Some(b)) => {
                    (0..n).for_each(|i| *y.add(i) = (at(i) - mean) * rstd * *w.add(i) + *b.add(i));
                }
                (Some(w), None) => {
                    (0..n).for_each(|i| *y.add(i) = (at(i) - mean) * rstd * *w.add(i));
                }
                (None, _) => (0..n).for_each(|i| *y.add(i) = (at(i) - mean) * rstd),
            }
        }
    }
}

/// Normalises rows.
///
/// # Safety
/// The addresses cover `rows` rows of `n` numbers (weight and bias `n`, mean and rstd `rows`);
/// outputs overlap no input.
pub unsafe fn forward(threads: &Threads, rows: Rows, f: Forward) {
    threads.split(rows.rows, (GRAIN / rows.n.max(1)).max(1), |range| {
        let f = &f;
        for row in range {
            dispatch(ForwardRow { rows, f: *f, row });
        }
    });
}

/// Addresses of a backward pass; `gx`, `gw` and `gb` are written.
#[derive(Clone, Copy, Debug)]
pub struct Backward {
    pub g: *const f32,
    pub x: *const f32,
    pub weight: Option<*const f32>,
    pub mean: Option<*const f32>,
    pub rstd: *const f32,
    pub gx: Option<*mut f32>,
    pub gw: Option<*mut f32>,
    pub gb: Option<*mut f32>,
}

// SAFETY: plain addresses; tasks write disjoint rows and places.
unsafe impl Sync for Backward {}

/// A group of rows: their `gx`, and their share of `gw` and `gb`.
struct BackwardRows {
    rows: Rows,
    b: Backward,
    first: usize,
    last: usize,
    gw: *mut f32,
    gb: *mut f32,
}

impl Kernel for BackwardRows {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let BackwardRows { rows: Rows { n, centered, .. }, b, first, last, gw, gb } = self;
        for row in first..last {
            // SAFETY: the caller of `backward` vouches for the row; so for all blocks below.
            let (g, x) = unsafe { (b.g.add(row * n), b.x.add(row * n)) };
            // SAFETY: as above.
            let (mean, rstd) = unsafe { (b.mean.map_or(0.0, |m| *m.add(row)), *b.rstd.add(row)) };
            // SAFETY: as above.
            let hat = |i: usize| unsafe { (*x.add(i) - mean) * rstd };
            if let Some(gx) = b.gx {
                // SAFETY: as above.
                let scaled = |i: usize| unsafe { *g.add(i) * b.weight.map_or(1.0, |w| *w.add(i)) };
                // SAFETY: `run` is compiled for `I`.
                let (s, t) = unsafe {
                    let s = if centered { sum_of::<I>(n, scaled) } else { 0.0 };
                    (s, sum_of::<I>(n, |i| scaled(i) * hat(i)))
                };
                let (s, t) = ((s / n as f64) as f32, (t / n as f64) as f32);
                // SAFETY: as above.
                let gx = unsafe { gx.add(row * n) };
                for i in 0..n {
                    // SAFETY: as above.
                    unsafe { *gx.add(i) = (scaled(i) - s - hat(i) * t) * rstd };
                }
            }
            for i in 0..n {
                // SAFETY: as above; both have `n` numbers of this group's own.
                unsafe {
                    *gw.add(i) += *g.add(i) * hat(i);
                    *gb.add(i) += *g.add(i);
                }
            }
        }
    }
}

/// Gradients of input, weight and bias.
///
/// # Safety
/// As [`forward`].
pub unsafe fn backward(threads: &Threads, rows: Rows, b: Backward) -> Result<(), NoScratch> {
    let Rows { rows: count, n, .. } = rows;
    let groups = count.div_ceil(GROUP);
    let parts = Scratch::new::<f32>(groups.saturating_mul(2 * n))?;
    let to = SyncPtr(parts.as_ptr::<f32>());
    let grain = (GRAIN / (GROUP * n).max(1)).max(1);
    threads.split(groups, grain, |range| {
        let b = &b;
        for group in range {
            let gw = to.get().wrapping_add(group * 2 * n);
            // SAFETY: the scratch has 2 n numbers for each group.
            unsafe { std::ptr::write_bytes(gw, 0, 2 * n) };
            let gb = gw.wrapping_add(n);
            let (first, last) = (group * GROUP, ((group + 1) * GROUP).min(count));
            dispatch(BackwardRows { rows, b: *b, first, last, gw, gb });
        }
    });
    for (offset, out) in [(0, b.gw), (n, b.gb)] {
        let Some(out) = out.map(SyncPtr) else { continue };
        threads.split(n, GRAIN / groups.max(1), |range| {
            for i in range {
                let mut total = 0f64;
                for group in 0..groups {
                    // SAFETY: every group wrote its place.
                    total += unsafe { *to.get().add(group * 2 * n + offset + i) } as f64;
                }
                let at = out.get().wrapping_add(i);
                // SAFETY: weight and bias gradients have `n` numbers.
                unsafe { *at = total as f32 };
            }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize, k: f32) -> Vec<f32> {
        (0..n).map(|i| (i as f32 * k).sin() * 1.5 + 0.2).collect()
    }

    /// y of one row in float64.
    fn reference(x: &[f64], w: &[f64], b: &[f64], centered: bool, eps: f64) -> Vec<f64> {
        let n = x.len() as f64;
        let mean = if centered { x.iter().sum::<f64>() / n } else { 0.0 };
        let var = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let r = 1.0 / (var + eps).sqrt();
        x.iter().zip(w.iter().zip(b)).map(|(x, (w, b))| (x - mean) * r * w + b).collect()
    }

    #[test]
    fn values_and_gradients_match_float64() {
        for centered in [true, false] {
            for (rows, n) in [(1, 1), (3, 7), (5, 16), (130, 33), (70, 600)] {
                let (x, g) = (values(rows * n, 0.37), values(rows * n, 0.71));
                let (w, b) =
                    (values(n, 0.91), if centered { values(n, 0.13) } else { vec![0.0; n] });
                let mut y = vec![0f32; rows * n];
                let (mut mean, mut rstd) = (vec![0f32; rows], vec![0f32; rows]);
                let (mut gx, mut gw, mut gb) = (y.clone(), vec![0f32; n], vec![0f32; n]);
                let threads = Threads::new(2);
                let shape = Rows { rows, n, centered };
                // SAFETY: all vectors have the sizes that `shape` states.
                unsafe {
                    let f = Forward {
                        x: x.as_ptr(),
                        weight: Some(w.as_ptr()),
                        bias: centered.then_some(b.as_ptr()),
                        y: y.as_mut_ptr(),
                        mean: centered.then_some(mean.as_mut_ptr()),
                        rstd: rstd.as_mut_ptr(),
                        eps: 1e-3,
                    };
                    forward(&threads, shape, f);
                    let back = Backward {
                        g: g.as_ptr(),
                        x: x.as_ptr(),
                        weight: Some(w.as_ptr()),
                        mean: centered.then_some(mean.as_ptr()),
                        rstd: rstd.as_ptr(),
                        gx: Some(gx.as_mut_ptr()),
                        gw: Some(gw.as_mut_ptr()),
                        gb: Some(gb.as_mut_ptr()),
                    };
                    backward(&threads, shape, back).unwrap();
                }
                let wide = |v: &[f32]| -> Vec<f64> { v.iter().map(|v| *v as f64).collect() };
                let (w, b) = (wide(&w), wide(&b));
                let loss = |x: &[f64], w: &[f64], b: &[f64], g: &[f64]| -> f64 {
                    let y = reference(x, w, b, centered, 1e-3);
                    y.iter().zip(g).map(|(y, g)| y * g).sum()
                };
                let close = |got: f32, want: f64, scale: f64, what: &str| {
                    assert!(
                        (got as f64 - want).abs() < 2e-5 * scale,
                        "{what} {rows}x{n}: {got} {want}"
                    );
                };
                for r in 0..rows {
                    let (row, grow) = (wide(&x[r * n..][..n]), wide(&g[r * n..][..n]));
                    for (i, want) in reference(&row, &w, &b, centered, 1e-3).iter().enumerate() {
                        close(y[r * n + i], *want, 1.0, "y");
                    }
                    for i in [0, n / 2, n - 1] {
                        let d = |h: f64| {
                            let mut moved = row.clone();
                            moved[i] += h;
                            loss(&moved, &w, &b, &grow)
                        };
                        // Relative to the largest slope that a nearly constant row can have.
                        let want = (d(1e-5) - d(-1e-5)) / 2e-5;
                        close(gx[r * n + i], want, 1.0 + rstd[r] as f64 * 4.0, "gx");
                    }
                }
                for i in 0..n {
                    let (mut sw, mut sb) = (0.0, 0.0);
                    for r in 0..rows {
                        let hat = (x[r * n + i] - mean[r]) as f64 * rstd[r] as f64;
                        sw += g[r * n + i] as f64 * hat;
                        sb += g[r * n + i] as f64;
                    }
                    close(gw[i], sw, 10.0, "gw");
                    close(gb[i], sb, 10.0, "gb");
                }
            }
        }
    }
}
