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

/// Rows of contiguous numbers: the address of each head's first, and the stride from row to row.
pub struct Rows<T> {
    pub heads: Vec<*mut T>,
    pub stride: isize,
}

// SAFETY: plain addresses; tasks write disjoint heads or rows.
unsafe impl<T> Sync for Rows<T> {}

impl<T> Rows<T> {
    fn at(&self, head: usize, i: usize) -> *mut T {
        self.heads[head].wrapping_offset(i as isize * self.stride)
    }

    /// The matrix of a head's rows from row `i` on.
    fn mat(&self, head: usize, i: usize) -> Mat<T> {
        Mat { ptr: self.at(head, i).cast_const(), rs: self.stride, cs: 1 }
    }

    fn mat_mut(&self, head: usize, i: usize) -> MatMut<T> {
        MatMut { ptr: self.at(head, i), rs: self.stride, cs: 1 }
    }
}

/// A mask that is added: its rows, whose elements lie `cs` apart.
pub struct Mask<T> {
    pub rows: Rows<T>,
    pub cs: isize,
}

/// What one head's scores are made of.
struct Head<'a, T> {
    h: usize,
    q: &'a Rows<T>,
    k: &'a Rows<T>,
    mask: Option<&'a Mask<T>>,
}

impl<T> Clone for Head<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Head<'_, T> {}

/// A block of weights, of `width` numbers a row.
fn block<T>(p: *const T, width: usize) -> Mat<T> {
    Mat { ptr: p, rs: width as isize, cs: 1 }
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
                head.q.mat(head.h, first),
                head.k.mat(head.h, 0).transposed(),
                c,
                false,
            )?;
            let scale = T::of(self.scale);
            for i in 0..m {
                let row = to.add(i * self.s);
                let n = self.seen(first + i);
                match head.mask {
                    None => (0..n).for_each(|j| *row.add(j) = *row.add(j) * scale),
                    Some(Mask { rows, cs }) => {
                        let mask = rows.at(head.h, first + i);
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
/// Rows cover the extents, `lse` a number for each row of each head, the mask what its strides reach.
/// Outputs overlap nothing.
pub unsafe fn forward<T: Exp>(
    threads: &Threads,
    x: &Extents,
    [q, k, v]: [&Rows<T>; 3],
    mask: Option<&Mask<T>>,
    y: &Rows<T>,
    lse: *mut T,
) -> Result<(), NoScratch> {
    let lse = SyncPtr(lse);
    let blocks = x.l.div_ceil(ROWS);
    x.helpers(threads).try_run(x.heads * blocks, |task, threads| {
        let (h, first) = (task / blocks, task % blocks * ROWS);
        let m = ROWS.min(x.l - first);
        let weights = Scratch::new::<T>(m * x.s)?;
        let p = weights.as_ptr::<T>();
        // SAFETY: passed on to the caller; tasks write disjoint rows.
        unsafe {
            let width = x.scores(threads, Head { h, q, k, mask }, first, m, p)?;
            for i in 0..m {
                let (row, n) = (p.add(i * x.s), x.seen(first + i));
                let (sum, log) = T::softmax(row, n);
                *lse.get().add(h * x.l + first + i) = log;
                let scale = if sum == T::default() { T::default() } else { T::of(1.0) / sum };
                (0..n).for_each(|j| *row.add(j) = *row.add(j) * scale);
                (n..width).for_each(|j| *row.add(j) = T::default());
            }
            let shape = Shape { m, n: x.ev, k: width };
            gemm(threads, shape, block(p, x.s), v.mat(h, 0), y.mat_mut(h, first), false)
        }
    })
}

/// What a backward pass reads.
pub struct Saved<'a, T> {
    pub g: &'a Rows<T>,
    pub q: &'a Rows<T>,
    pub k: &'a Rows<T>,
    pub v: &'a Rows<T>,
    pub y: &'a Rows<T>,
    /// Of each row of each head.
    pub lse: *const T,
}

// SAFETY: plain addresses that are only read.
unsafe impl<T> Sync for Saved<'_, T> {}

/// Writes the gradients of q, k and v.
///
/// # Safety
/// As [`forward`].
pub unsafe fn backward<T: Exp>(
    threads: &Threads,
    x: &Extents,
    saved: Saved<T>,
    mask: Option<&Mask<T>>,
    grads: [&Rows<T>; 3],
) -> Result<(), NoScratch> {
    let saved = &saved;
    x.helpers(threads).try_run(x.heads, |h, threads| {
        let head = Head { h, q: saved.q, k: saved.k, mask };
        // SAFETY: passed on to the caller; each head has its part of every array. What the first
        // block does not write of the gradients of k and v is zero.
        unsafe {
            let first = if x.l == 0 { 0 } else { x.seen(ROWS.min(x.l) - 1) };
            for i in first..x.s {
                std::slice::from_raw_parts_mut(grads[1].at(h, i), x.e).fill(T::default());
                std::slice::from_raw_parts_mut(grads[2].at(h, i), x.ev).fill(T::default());
            }
            for first in (0..x.l).step_by(ROWS) {
                block_backward(threads, x, saved, head, first, grads)?;
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
    first: usize,
    [gq, gk, gv]: [&Rows<T>; 3],
) -> Result<(), NoScratch> {
    let (h, m) = (head.h, ROWS.min(x.l - first));
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
        let (g, more) = (f.g.mat(h, first), first > 0);
        let columns = Shape { m: width, n: x.ev, k: m };
        gemm(threads, columns, block(p, x.s).transposed(), g, gv.mat_mut(h, 0), more)?;
        let c = MatMut { ptr: d, rs: x.s as isize, cs: 1 };
        let v = f.v.mat(h, 0).transposed();
        gemm(threads, Shape { m, n: width, k: x.ev }, g, v, c, false)?;
        let scale = T::of(x.scale);
        for i in 0..m {
            let (grad, out) = (f.g.at(h, first + i), f.y.at(h, first + i));
            let along = (0..x.ev).fold(T::default(), |sum, j| sum + *grad.add(j) * *out.add(j));
            let (p, d) = (p.add(i * x.s), d.add(i * x.s));
            (0..width).for_each(|j| *d.add(j) = *p.add(j) * (*d.add(j) - along) * scale);
        }
        let slopes = block(d, x.s);
        let k = head.k.mat(h, 0);
        gemm(threads, Shape { m, n: x.e, k: width }, slopes, k, gq.mat_mut(h, first), false)?;
        let columns = Shape { m: width, n: x.e, k: m };
        let q = head.q.mat(h, first);
        gemm(threads, columns, slopes.transposed(), q, gk.mat_mut(h, 0), more)
    }
}
