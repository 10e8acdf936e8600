//! Attention, forward and backward, some rows of queries at a time.
//!
//! Invariant: working memory is a block of rows of weights, never the whole matrix; one task has
//! one head, or one block of its rows, so the thread count changes no result.
//! Source: Vaswani et al. 2017; the backward pass computes the weights again from the logarithm
//! of their sums, as Dao et al. 2022 do.

use crate::dense::Number;
use crate::gemm::{Mat, MatMut, Shape, gemm};
use crate::isa::{Isa, Kernel, dispatch};
use crate::math;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::simd::{Action, fold_row_f32};
use crate::threads::Threads;

/// Rows of queries in a block.
const ROWS: usize = 64;

/// Extents: `heads` times q `[l, e]`, k `[s, e]`, v `[s, ev]`, result `[l, ev]`.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    pub heads: usize,
    pub l: usize,
    pub s: usize,
    pub e: usize,
    pub ev: usize,
    pub causal: bool,
    pub scale: f64,
}

/// Number types with exponentials of rows.
pub trait Exp: Number {
    /// `x = exp(x - max)` in place; the sum, 0 for an empty row or one of -infinity alone, and
    /// the logarithm of the sum before the shift.
    ///
    /// # Safety
    /// `x` covers `n` numbers.
    unsafe fn softmax(x: *mut Self, n: usize) -> (Self, Self);
    /// `x = exp(x - lse)` in place; 0 where `lse` is -infinity.
    ///
    /// # Safety
    /// As `softmax`.
    unsafe fn again(x: *mut Self, n: usize, lse: Self);
}

struct Softmax {
    x: *mut f32,
    n: usize,
}
impl Kernel for Softmax {
    type Output = (f32, f32);
    #[inline(always)]
    fn run<I: Isa>(self) -> (f32, f32) {
        let Softmax { x, n } = self;
        // SAFETY: the caller of `softmax` vouches for `n` numbers; `run` is compiled for `I`.
        unsafe {
            let max = fold_row_f32::<I>(Action::Max, x, n);
            if max == f32::NEG_INFINITY {
                (0..n).for_each(|i| *x.add(i) = 0.0);
                return (0.0, max);
            }
            (0..n).for_each(|i| *x.add(i) = math::exp_nonpositive::<I>(*x.add(i) - max));
            let sum = fold_row_f32::<I>(Action::Add, x, n);
            (sum, max + sum.ln())
        }
    }
}

struct Again {
    x: *mut f32,
    n: usize,
    lse: f32,
}
impl Kernel for Again {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Again { x, n, lse } = self;
        for i in 0..n {
            // SAFETY: the caller of `again` vouches for `n` numbers.
            unsafe { *x.add(i) = math::exp::<I>(*x.add(i) - lse) };
        }
    }
}

impl Exp for f32 {
    unsafe fn softmax(x: *mut f32, n: usize) -> (f32, f32) {
        dispatch(Softmax { x, n })
    }
    unsafe fn again(x: *mut f32, n: usize, lse: f32) {
        if lse == f32::NEG_INFINITY {
            // SAFETY: passed on to the caller.
            return unsafe { std::slice::from_raw_parts_mut(x, n).fill(0.0) };
        }
        dispatch(Again { x, n, lse })
    }
}

impl Exp for f64 {
    unsafe fn softmax(x: *mut f64, n: usize) -> (f64, f64) {
        // SAFETY: passed on to the caller.
        let x = unsafe { std::slice::from_raw_parts_mut(x, n) };
        let max = x.iter().fold(f64::NEG_INFINITY, |a, &b| {
            if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
        });
        if max == f64::NEG_INFINITY {
            x.fill(0.0);
            return (0.0, max);
        }
        x.iter_mut().for_each(|v| *v = (*v - max).exp());
        let sum: f64 = x.iter().sum();
        (sum, max + sum.ln())
    }
    unsafe fn again(x: *mut f64, n: usize, lse: f64) {
        // SAFETY: passed on to the caller.
        let x = unsafe { std::slice::from_raw_parts_mut(x, n) };
        x.iter_mut()
            .for_each(|v| *v = if lse == f64::NEG_INFINITY { 0.0 } else { (*v - lse).exp() });
    }
}

/// A mask that is added: the address of each head's, and its strides.
pub struct Mask<T> {
    pub heads: Vec<*const T>,
    pub rs: isize,
    pub cs: isize,
}

// SAFETY: plain addresses that are only read.
unsafe impl<T> Sync for Mask<T> {}

/// Rows of a contiguous matrix from row `i` on.
fn rows<T>(p: *const T, i: usize, width: usize) -> Mat<T> {
    Mat { ptr: p.wrapping_add(i * width), rs: width as isize, cs: 1 }
}
fn rows_mut<T>(p: *mut T, i: usize, width: usize) -> MatMut<T> {
    MatMut { ptr: p.wrapping_add(i * width), rs: width as isize, cs: 1 }
}

/// One head's addresses.
#[derive(Clone, Copy)]
struct Head<T> {
    q: *const T,
    k: *const T,
    mask: Option<(*const T, isize, isize)>,
}

impl Extents {
    /// The threads that work: one where waking another would take longer than all of it, as for a
    /// single query.
    fn helpers<'a>(&self, threads: &'a Threads) -> &'a Threads {
        let work = self.heads * self.l * self.s * (self.e + self.ev);
        if work < 1 << 19 { Threads::alone() } else { threads }
    }

    /// Columns that row `i` and those above see.
    fn seen(&self, i: usize) -> usize {
        if self.causal { self.s.min(i + 1) } else { self.s }
    }

    /// `q k^T scale + mask` of rows `first..first + m` into `to`, columns up to the widest row's;
    /// the row's later columns are left to the caller.
    ///
    /// # Safety
    /// The head's addresses cover the extents; `to` has room for `m * s` numbers.
    unsafe fn scores<T: Number>(
        &self,
        threads: &Threads,
        head: Head<T>,
        first: usize,
        m: usize,
        to: *mut T,
    ) -> Result<usize, NoScratch> {
        let width = self.seen(first + m - 1);
        let c = MatMut { ptr: to, rs: self.s as isize, cs: 1 };
        // SAFETY: passed on to the caller.
        unsafe {
            gemm(
                threads,
                Shape { m, n: width, k: self.e },
                rows(head.q, first, self.e),
                rows(head.k, 0, self.e).transposed(),
                c,
                false,
            )?;
            let scale = T::of(self.scale);
            for i in 0..m {
                let row = to.add(i * self.s);
                let n = self.seen(first + i);
                match head.mask {
                    None => (0..n).for_each(|j| *row.add(j) = *row.add(j) * scale),
                    Some((mask, rs, cs)) => {
                        let mask = mask.offset((first + i) as isize * rs);
                        (0..n).for_each(|j| {
                            *row.add(j) = *row.add(j) * scale + *mask.offset(j as isize * cs)
                        });
                    }
                }
            }
        }
        Ok(width)
    }
}

/// Writes the result and each row's `lse`.
///
/// # Safety
/// Addresses cover contiguous arrays of the extents, the mask what its strides reach.
pub unsafe fn forward<T: Exp>(
    threads: &Threads,
    x: &Extents,
    [q, k, v]: [*const T; 3],
    mask: Option<&Mask<T>>,
    y: *mut T,
    lse: *mut T,
) -> Result<(), NoScratch> {
    let [q, k, v] = [q, k, v].map(|p| SyncPtr(p.cast_mut()));
    let (y, lse) = (SyncPtr(y), SyncPtr(lse));
    let blocks = x.l.div_ceil(ROWS);
    x.helpers(threads).try_run(x.heads * blocks, |task, threads| {
        let (h, first) = (task / blocks, task % blocks * ROWS);
        let m = ROWS.min(x.l - first);
        let weights = Scratch::new::<T>(m * x.s)?;
        let p = weights.as_ptr::<T>();
        let head = head_of(x, [q, k], mask, h);
        // SAFETY: passed on to the caller; tasks write disjoint rows.
        unsafe {
            let width = x.scores(threads, head, first, m, p)?;
            for i in 0..m {
                let (row, n) = (p.add(i * x.s), x.seen(first + i));
                let (sum, log) = T::softmax(row, n);
                *lse.get().add(h * x.l + first + i) = log;
                let scale = if sum == T::default() { T::default() } else { T::of(1.0) / sum };
                (0..n).for_each(|j| *row.add(j) = *row.add(j) * scale);
                (n..width).for_each(|j| *row.add(j) = T::default());
            }
            let shape = Shape { m, n: x.ev, k: width };
            let values = rows(v.get().cast_const(), h * x.s, x.ev);
            gemm(
                threads,
                shape,
                rows(p.cast_const(), 0, x.s),
                values,
                rows_mut(y.get(), h * x.l + first, x.ev),
                false,
            )
        }
    })
}

fn head_of<T>(x: &Extents, [q, k]: [SyncPtr<T>; 2], mask: Option<&Mask<T>>, h: usize) -> Head<T> {
    Head {
        q: q.get().wrapping_add(h * x.l * x.e).cast_const(),
        k: k.get().wrapping_add(h * x.s * x.e).cast_const(),
        mask: mask.map(|m| (m.heads[h], m.rs, m.cs)),
    }
}

/// What a backward pass reads.
#[derive(Clone, Copy)]
pub struct Saved<T> {
    pub g: *const T,
    pub q: *const T,
    pub k: *const T,
    pub v: *const T,
    pub y: *const T,
    pub lse: *const T,
}

// SAFETY: plain addresses that are only read.
unsafe impl<T> Sync for Saved<T> {}

/// Writes the gradients of q, k and v.
///
/// # Safety
/// As [`forward`].
pub unsafe fn backward<T: Exp>(
    threads: &Threads,
    x: &Extents,
    saved: Saved<T>,
    mask: Option<&Mask<T>>,
    grads: [*mut T; 3],
) -> Result<(), NoScratch> {
    let grads = grads.map(SyncPtr);
    let saved = &saved;
    x.helpers(threads).try_run(x.heads, |h, threads| {
        let f = saved;
        let [gq, gk, gv] = [
            grads[0].get().wrapping_add(h * x.l * x.e),
            grads[1].get().wrapping_add(h * x.s * x.e),
            grads[2].get().wrapping_add(h * x.s * x.ev),
        ];
        // SAFETY: passed on to the caller; each head has its part of every array.
        unsafe {
            std::slice::from_raw_parts_mut(gk, x.s * x.e).fill(T::default());
            std::slice::from_raw_parts_mut(gv, x.s * x.ev).fill(T::default());
            let head = head_of(x, [SyncPtr(f.q.cast_mut()), SyncPtr(f.k.cast_mut())], mask, h);
            for first in (0..x.l).step_by(ROWS) {
                block_backward(threads, x, f, head, h, first, [gq, gk, gv])?;
            }
        }
        Ok(())
    })
}

/// # Safety
/// As [`backward`], for some rows of one head.
unsafe fn block_backward<T: Exp>(
    threads: &Threads,
    x: &Extents,
    f: &Saved<T>,
    head: Head<T>,
    h: usize,
    first: usize,
    [gq, gk, gv]: [*mut T; 3],
) -> Result<(), NoScratch> {
    let m = ROWS.min(x.l - first);
    let (weights, slopes) = (Scratch::new::<T>(m * x.s)?, Scratch::new::<T>(m * x.s)?);
    let (p, d) = (weights.as_ptr::<T>(), slopes.as_ptr::<T>());
    // SAFETY: passed on to the caller; both scratches hold m rows of s numbers.
    unsafe {
        let width = x.scores(threads, head, first, m, p)?;
        for i in 0..m {
            let (row, n) = (p.add(i * x.s), x.seen(first + i));
            T::again(row, n, *f.lse.add(h * x.l + first + i));
            (n..width).for_each(|j| *row.add(j) = T::default());
        }
        let g = rows(f.g, h * x.l + first, x.ev);
        let v = rows(f.v, h * x.s, x.ev);
        let weights = rows(p.cast_const(), 0, x.s);
        gemm(
            threads,
            Shape { m: width, n: x.ev, k: m },
            weights.transposed(),
            g,
            rows_mut(gv, 0, x.ev),
            true,
        )?;
        gemm(
            threads,
            Shape { m, n: width, k: x.ev },
            g,
            v.transposed(),
            rows_mut(d, 0, x.s),
            false,
        )?;
        let scale = T::of(x.scale);
        for i in 0..m {
            let (grad, out) = (g.at(i, 0).ptr, rows(f.y, h * x.l + first + i, x.ev).ptr);
            let along = (0..x.ev).fold(T::default(), |sum, j| sum + *grad.add(j) * *out.add(j));
            let (p, d) = (p.add(i * x.s), d.add(i * x.s));
            (0..width).for_each(|j| *d.add(j) = *p.add(j) * (*d.add(j) - along) * scale);
        }
        let slopes = rows(d.cast_const(), 0, x.s);
        gemm(
            threads,
            Shape { m, n: x.e, k: width },
            slopes,
            rows(head.k, 0, x.e),
            rows_mut(gq, first, x.e),
            false,
        )?;
        gemm(
            threads,
            Shape { m: width, n: x.e, k: m },
            slopes.transposed(),
            rows(head.q, first, x.e),
            rows_mut(gk, 0, x.e),
            true,
        )
    }
}
