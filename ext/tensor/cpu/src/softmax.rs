//! softmax and logSoftmax along one dimension, in one pass over memory per row.

use crate::copy;
use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::math;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const GRAIN: usize = 1 << 13;
/// Rows that are gathered together where the dimension is not contiguous.
const SIDE: usize = 16;

/// A float type that rows are computed in.
pub trait Float: Copy + Default + Send + Sync + 'static {
    const DTYPE: DType;
    /// Replaces a row by its softmax, or by the logarithm of it.
    fn row(x: &mut [Self], log: bool);
}

/// Computes along `dim` of `shape`; halves compute in float32.
///
/// # Safety
/// Operands cover the shape; the output overlaps the input nowhere.
pub unsafe fn softmax(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    log: bool,
) -> Result<(), NoScratch> {
    if src.dtype == DType::F64 {
        run::<f64>(threads, shape, dim, out, src, log)
    } else {
        run::<f32>(threads, shape, dim, out, src, log)
    }
}

fn run<T: Float>(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    log: bool,
) -> Result<(), NoScratch> {
    let length = shape.get(dim).copied().unwrap_or(1);
    let others = |strides: &[isize]| -> SmallVec<[isize; 4]> {
        (0..shape.len()).filter(|&i| i != dim).map(|i| strides[i]).collect()
    };
    let rest: SmallVec<[usize; 4]> =
        (0..shape.len()).filter(|&i| i != dim).map(|i| shape[i]).collect();
    let walk = Walk::new(&rest, [&others(out.strides), &others(src.strides)]);
    if length == 0 {
        return Ok(());
    }
    let step = |o: &Operand| o.strides.get(dim).copied().unwrap_or(1) * o.dtype.size() as isize;
    let (out_step, src_step) = (step(&out), step(&src));
    let (so, si) = (out.dtype.size() as isize, src.dtype.size() as isize);
    let (po, ps) = (SyncPtr(out.ptr), SyncPtr(src.ptr));
    let in_place = out.dtype == T::DTYPE && out_step == so;
    let failed = AtomicBool::new(false);
    threads.split(walk.len(), (GRAIN / length).max(1), |range| {
        let room = if in_place { 0 } else { SIDE * length };
        let Ok(scratch) = Scratch::new::<T>(room) else {
            return failed.store(true, Relaxed);
        };
        let rows = scratch.as_ptr::<T>();
        let size = size_of::<T>() as isize;
        walk.runs(range, |at, n| {
            let steps = walk.inner_strides;
            let target = |k: usize| po.get().wrapping_offset((at[0] + k as isize * steps[0]) * so);
            let source = |k: usize| ps.get().wrapping_offset((at[1] + k as isize * steps[1]) * si);
            // SAFETY: the walk stays inside the shape, which both operands cover; the scratch
            // holds SIDE rows.
            unsafe {
                if in_place {
                    for k in 0..n {
                        let (to, from) = (target(k), source(k));
                        copy::run(to, size, T::DTYPE, from, src_step, src.dtype, length);
                        T::row(std::slice::from_raw_parts_mut(to.cast::<T>(), length), log);
                    }
                    return;
                }
                for k in (0..n).step_by(SIDE) {
                    let count = SIDE.min(n - k);
                    for j in 0..length as isize {
                        let (to, from) = (rows.offset(j), source(k).offset(j * src_step));
                        let far = length as isize * size;
                        copy::run(to.cast(), far, T::DTYPE, from, steps[1] * si, src.dtype, count);
                    }
                    for r in 0..count {
                        T::row(std::slice::from_raw_parts_mut(rows.add(r * length), length), log);
                    }
                    for j in 0..length as isize {
                        let (to, from) = (target(k).offset(j * out_step), rows.offset(j));
                        let far = length as isize * size;
                        copy::run(to, steps[0] * so, out.dtype, from.cast(), far, T::DTYPE, count);
                    }
                }
            }
        });
    });
    if failed.load(Relaxed) {
        return Err(NoScratch { bytes: SIDE * length * size_of::<T>() });
    }
    Ok(())
}

const LANES: usize = 32;

struct RowF32<'a> {
    x: &'a mut [f32],
    log: bool,
}

impl Kernel for RowF32<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let RowF32 { x, log } = self;
        let max = fold_f32(x, f32::NEG_INFINITY, |a, b| {
            let m = if a > b { a } else { b };
            if a.is_nan() { a } else { m }
        });
        // A row of -infinity alone has no finite maximum; its softmax is NaN, as in PyTorch.
        if log {
            let sum = fold_f32(x, 0.0, |a, b| a + math::exp_nonpositive::<I>(b - max));
            let shift = math::log::<I>(sum);
            x.iter_mut().for_each(|v| *v = (*v - max) - shift);
        } else {
            x.iter_mut().for_each(|v| *v = math::exp_nonpositive::<I>(*v - max));
            let scale = 1.0 / fold_f32(x, 0.0, |a, b| a + b);
            x.iter_mut().for_each(|v| *v *= scale);
        }
    }
}

/// Folds in lanes; `f` takes the accumulator first. The lanes are joined by `f` itself where it
/// is a sum or a maximum of what it already holds.
#[inline(always)]
fn fold_f32(x: &[f32], start: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut acc = [start; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    for c in chunks {
        for (a, v) in acc.iter_mut().zip(c) {
            *a = f(*a, *v);
        }
    }
    for (a, v) in acc.iter_mut().zip(rest) {
        *a = f(*a, *v);
    }
    let maximum = start == f32::NEG_INFINITY;
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            let (a, b) = (acc[i], acc[i + half]);
            acc[i] = if !maximum {
                a + b
            } else if a.is_nan() || b.is_nan() {
                f32::NAN
            } else {
                a.max(b)
            };
        }
        half /= 2;
    }
    acc[0]
}

impl Float for f32 {
    const DTYPE: DType = DType::F32;
    fn row(x: &mut [f32], log: bool) {
        dispatch(RowF32 { x, log });
    }
}

impl Float for f64 {
    const DTYPE: DType = DType::F64;
    fn row(x: &mut [f64], log: bool) {
        let max = x.iter().fold(f64::NEG_INFINITY, |a, &b| {
            if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
        });
        let sum: f64 = x.iter().map(|v| (v - max).exp()).sum();
        if log {
            let shift = sum.ln();
            x.iter_mut().for_each(|v| *v = (*v - max) - shift);
        } else {
            x.iter_mut().for_each(|v| *v = (*v - max).exp() / sum);
        }
    }
}
