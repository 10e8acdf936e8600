//! layerNorm and rmsNorm over rows, forward and backward, each in one pass over memory per row.
//!
//! `y = (x - mean) * rstd * weight + bias` with `rstd = 1 / sqrt(variance + eps)` over the
//! trailing elements of a row (Ba et al. 2016); rmsNorm leaves out mean and bias and divides by
//! the root of the mean square (Zhang and Sennrich 2019). Rows are contiguous; the glue makes
//! them so. Weight gradients are summed by groups of rows and joined in float64, so the thread
//! count changes nothing.

use crate::dense::Number;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::simd::{Fits, Vector};
use crate::threads::Threads;

/// Elements per thread that make a split worth it.
const GRAIN: usize = 1 << 13;
/// Rows whose weight gradients are summed before they go into the total.
const GROUP: usize = 64;

/// `rows` rows of `n` contiguous numbers.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub rows: usize,
    pub n: usize,
    /// layerNorm; else rmsNorm.
    pub centered: bool,
}

/// Addresses of a forward pass. Of rows, `mean` and `rstd` have one number per row, weight and bias
/// `n`; of channels (`batch`), all four have one per channel.
#[derive(Clone, Copy, Debug)]
pub struct Forward<T> {
    pub x: *const T,
    pub weight: Option<*const T>,
    pub bias: Option<*const T>,
    pub y: *mut T,
    pub mean: *mut T,
    pub rstd: *mut T,
    pub eps: f64,
}

// SAFETY: plain addresses; tasks write disjoint rows or channels.
unsafe impl<T> Sync for Forward<T> {}

struct ForwardRow<T> {
    rows: Rows,
    f: Forward<T>,
    row: usize,
}

impl<T: Number + Fits> Kernel for ForwardRow<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ForwardRow { rows: Rows { n, centered, .. }, f, row } = self;
        // SAFETY: the caller of `forward` vouches for the row, `run` is compiled for `I`; so for
        // all blocks below.
        unsafe {
            let (x, y) = (f.x.add(row * n), f.y.add(row * n));
            let mean = if centered {
                T::of(T::sums::<I>(n, SumOf { x, shift: T::default() }).0.wide() / n as f64)
            } else {
                T::default()
            };
            let square = T::sums::<I>(n, SumOf { x, shift: T::default() - mean }).1;
            let rstd = T::of(1.0 / (square.wide() / n as f64 + f.eps).sqrt());
            *f.mean.add(row) = mean;
            *f.rstd.add(row) = rstd;
            match (f.weight, f.bias) {
                (Some(w), Some(b)) => {
                    (0..n).for_each(|i| {
                        *y.add(i) = (*x.add(i) - mean) * rstd * *w.add(i) + *b.add(i);
                    });
                }
                (Some(w), None) => {
                    (0..n).for_each(|i| *y.add(i) = (*x.add(i) - mean) * rstd * *w.add(i));
                }
                (None, _) => (0..n).for_each(|i| *y.add(i) = (*x.add(i) - mean) * rstd),
            }
        }
    }
}

/// The sum of a row, and of the squares of its elements plus `shift`.
#[derive(Clone, Copy)]
pub struct SumOf<T> {
    x: *const T,
    shift: T,
}

impl<T> SumOf<T> {
    /// The sums of `x + shift` and of its square.
    pub fn of(x: *const T, shift: T) -> SumOf<T> {
        SumOf { x, shift }
    }
}

/// The sums of `g w` and `g w (x + shift)`.
#[derive(Clone, Copy)]
pub struct SumGrad<T> {
    g: *const T,
    w: Option<*const T>,
    x: *const T,
    shift: T,
}

impl<T: Number> SumGrad<T> {
    /// The sums of `g` and `g x`.
    pub fn of(g: *const T, x: *const T) -> SumGrad<T> {
        SumGrad::shifted(g, x, T::default())
    }

    /// The sums of `g` and `g (x + shift)`.
    pub fn shifted(g: *const T, x: *const T, shift: T) -> SumGrad<T> {
        SumGrad { g, w: None, x, shift }
    }
}

/// Two sums over a row: what element i adds to each, as a vector of elements from i on.
pub trait Pair<T>: Copy {
    /// # Safety
    /// `V::LANES` elements from `i` on exist; instruction set as [`Vector`].
    unsafe fn add<V: Vector<Elem = T>>(&self, i: usize, a: V, b: V) -> (V, V);
    /// The same for one element.
    ///
    /// # Safety
    /// Element `i` exists.
    unsafe fn one(&self, i: usize) -> (T, T);
}

impl<T: Number> Pair<T> for SumOf<T> {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = T>>(&self, i: usize, a: V, b: V) -> (V, V) {
        // SAFETY: passed on to the caller.
        unsafe {
            let v = V::load(self.x.add(i)).add(V::splat(self.shift));
            (a.add(v), v.fma(v, b))
        }
    }
    #[inline(always)]
    unsafe fn one(&self, i: usize) -> (T, T) {
        // SAFETY: passed on to the caller.
        let v = unsafe { *self.x.add(i) } + self.shift;
        (v, v * v)
    }
}

impl<T: Number> Pair<T> for SumGrad<T> {
    #[inline(always)]
    unsafe fn add<V: Vector<Elem = T>>(&self, i: usize, a: V, b: V) -> (V, V) {
        // SAFETY: passed on to the caller.
        unsafe {
            let v = V::load(self.x.add(i)).add(V::splat(self.shift));
            let g = V::load(self.g.add(i));
            let g = match self.w {
                Some(w) => g.mul(V::load(w.add(i))),
                None => g,
            };
            (a.add(g), g.fma(v, b))
        }
    }
    #[inline(always)]
    unsafe fn one(&self, i: usize) -> (T, T) {
        // SAFETY: passed on to the caller.
        unsafe {
            let v = *self.x.add(i) + self.shift;
            let g = self.w.map_or(*self.g.add(i), |w| *self.g.add(i) * *w.add(i));
            (g, g * v)
        }
    }
}

/// Both sums, in four vectors side by side.
///
/// # Safety
/// The pair's addresses cover `n` elements; instruction set as [`Vector`].
#[inline(always)]
pub unsafe fn pair_sums<V: Vector, P: Pair<V::Elem>>(n: usize, p: P) -> (V::Elem, V::Elem)
where
    V::Elem: Number,
{
    // SAFETY: passed on to the caller; positions stay below `n`.
    unsafe {
        let zero = V::splat(V::Elem::default());
        let (mut a, mut b) = ([zero; 4], [zero; 4]);
        let mut i = 0;
        while i + 4 * V::LANES <= n {
            for k in 0..4 {
                (a[k], b[k]) = p.add(i + k * V::LANES, a[k], b[k]);
            }
            i += 4 * V::LANES;
        }
        while i + V::LANES <= n {
            (a[0], b[0]) = p.add(i, a[0], b[0]);
            i += V::LANES;
        }
        let total = |v: [V; 4]| {
            let mut lanes = [V::Elem::default(); 16];
            v[0].add(v[1]).add(v[2].add(v[3])).store(lanes.as_mut_ptr());
            let mut half = V::LANES / 2;
            while half > 0 {
                for j in 0..half {
                    lanes[j] = lanes[j] + lanes[j + half];
                }
                half /= 2;
            }
            lanes[0]
        };
        let (mut a, mut b) = (total(a), total(b));
        while i < n {
            let (u, v) = p.one(i);
            (a, b) = (a + u, b + v);
            i += 1;
        }
        (a, b)
    }
}

/// Normalises rows.
///
/// # Safety
/// The addresses cover `rows` rows of `n` numbers (weight and bias `n`, mean and rstd `rows`);
/// outputs overlap no input.
pub unsafe fn forward<T: Number + Fits>(threads: &Threads, rows: Rows, f: Forward<T>) {
    threads.split(rows.rows, (GRAIN / rows.n.max(1)).max(1), |range| {
        let f = &f;
        for row in range {
            dispatch(ForwardRow { rows, f: *f, row });
        }
    });
}

/// Addresses of a backward pass, as [`Forward`]; `gx`, `gw` and `gb` are written.
#[derive(Clone, Copy, Debug)]
pub struct Backward<T> {
    pub g: *const T,
    pub x: *const T,
    pub weight: Option<*const T>,
    pub mean: *const T,
    pub rstd: *const T,
    pub gx: Option<*mut T>,
    pub gw: Option<*mut T>,
    pub gb: Option<*mut T>,
}

// SAFETY: plain addresses; tasks write disjoint rows and places, or channels.
unsafe impl<T> Sync for Backward<T> {}

/// A group of rows: their `gx`, and their share of `gw` and `gb` where these are wanted.
struct BackwardRows<T> {
    rows: Rows,
    b: Backward<T>,
    first: usize,
    last: usize,
    sums: Option<(*mut T, *mut T)>,
}

impl<T: Number + Fits> Kernel for BackwardRows<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let BackwardRows { rows: Rows { n, centered, .. }, b, first, last, sums } = self;
        for row in first..last {
            // SAFETY: the caller of `backward` vouches for the row and the places, `run` is
            // compiled for `I`.
            unsafe {
                let (g, x) = (b.g.add(row * n), b.x.add(row * n));
                let (mean, rstd) = (*b.mean.add(row), *b.rstd.add(row));
                let shift = T::default() - mean;
                if let Some(gx) = b.gx {
                    let (s, t) = T::sums::<I>(n, SumGrad { g, w: b.weight, x, shift });
                    let s = if centered { T::of(s.wide() / n as f64) } else { T::default() };
                    // gx = (g w - s - hat t rstd) rstd, with hat = (x - mean) rstd.
                    let t = T::of(t.wide() / n as f64) * rstd * rstd;
                    let gx = gx.add(row * n);
                    match b.weight {
                        Some(w) => (0..n).for_each(|i| {
                            *gx.add(i) =
                                (*g.add(i) * *w.add(i) - s - (*x.add(i) + shift) * t) * rstd;
                        }),
                        None => (0..n).for_each(|i| {
                            *gx.add(i) = (*g.add(i) - s - (*x.add(i) + shift) * t) * rstd;
                        }),
                    }
                }
                if let Some((gw, gb)) = sums {
                    T::share::<I>(n, g, x, shift, rstd, gw, gb);
                }
            }
        }
    }
}

/// Adds `g (x + shift) rstd` to `gw` and `g` to `gb`.
///
/// # Safety
/// The addresses cover `n` elements; instruction set as [`Vector`].
#[inline(always)]
pub unsafe fn share<V: Vector>(
    n: usize,
    g: *const V::Elem,
    x: *const V::Elem,
    shift: V::Elem,
    rstd: V::Elem,
    gw: *mut V::Elem,
    gb: *mut V::Elem,
) where
    V::Elem: Number,
{
    // SAFETY: passed on to the caller; positions stay below `n`.
    unsafe {
        let (s, r) = (V::splat(shift), V::splat(rstd));
        let mut i = 0;
        while i + V::LANES <= n {
            let v = V::load(g.add(i));
            let hat = V::load(x.add(i)).add(s).mul(r);
            v.fma(hat, V::load(gw.add(i))).store(gw.add(i));
            v.add(V::load(gb.add(i))).store(gb.add(i));
            i += V::LANES;
        }
        while i < n {
            *gw.add(i) = *gw.add(i) + *g.add(i) * (*x.add(i) + shift) * rstd;
            *gb.add(i) = *gb.add(i) + *g.add(i);
            i += 1;
        }
    }
}

/// Gradients of input, weight and bias.
///
/// # Safety
/// As [`forward`].
pub unsafe fn backward<T: Number + Fits>(
    threads: &Threads,
    rows: Rows,
    b: Backward<T>,
) -> Result<(), NoScratch> {
    let Rows { rows: count, n, .. } = rows;
    let groups = count.div_ceil(GROUP);
    let affine = b.gw.is_some() || b.gb.is_some();
    let parts = Scratch::new::<T>(if affine { groups.saturating_mul(2 * n) } else { 0 })?;
    let to = SyncPtr(parts.as_ptr::<T>());
    let grain = (GRAIN / (GROUP * n).max(1)).max(1);
    threads.split(groups, grain, |range| {
        let b = &b;
        for group in range {
            let gw = to.get().wrapping_add(group * 2 * n);
            let gb = gw.wrapping_add(n);
            if affine {
                // SAFETY: the scratch has 2 n numbers for each group.
                unsafe { std::slice::from_raw_parts_mut(gw, 2 * n).fill(T::default()) };
            }
            let (first, last) = (group * GROUP, ((group + 1) * GROUP).min(count));
            dispatch(BackwardRows { rows, b: *b, first, last, sums: affine.then_some((gw, gb)) });
        }
    });
    for (offset, out) in [(0, b.gw), (n, b.gb)] {
        let Some(out) = out.map(SyncPtr) else { continue };
        threads.split(n, GRAIN / groups.max(1), |range| {
            dispatch(Join { to: to.get(), groups, n, offset, out: out.get(), range });
        });
    }
    Ok(())
}

/// Adds the groups' shares, a stretch of columns at a time.
struct Join<T> {
    to: *mut T,
    groups: usize,
    n: usize,
    offset: usize,
    out: *mut T,
    range: std::ops::Range<usize>,
}

impl<T: Number> Kernel for Join<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Join { to, groups, n, offset, out, range } = self;
        for at in range.clone().step_by(64) {
            let width = 64.min(range.end - at);
            let mut total = [0f64; 64];
            for group in 0..groups {
                let row = to.wrapping_add(group * 2 * n + offset + at);
                for (j, t) in total.iter_mut().enumerate().take(width) {
                    // SAFETY: every group wrote its place.
                    *t += unsafe { *row.add(j) }.wide();
                }
            }
            for (j, t) in total.iter().enumerate().take(width) {
                // SAFETY: weight and bias gradients have `n` numbers.
                unsafe { *out.add(at + j) = T::of(*t) };
            }
        }
    }
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
                        mean: mean.as_mut_ptr(),
                        rstd: rstd.as_mut_ptr(),
                        eps: 1e-3,
                    };
                    forward(&threads, shape, f);
                    let back = Backward {
                        g: g.as_ptr(),
                        x: x.as_ptr(),
                        weight: Some(w.as_ptr()),
                        mean: mean.as_ptr(),
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
