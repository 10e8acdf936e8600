//! softmax and logSoftmax along one dimension, in one pass over memory per row.

use crate::copy;
use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::math;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::simd::{Action, Fits, fold_row_f32};
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use smallvec::SmallVec;
use std::mem::MaybeUninit;
use std::ops::Range;

const GRAIN: usize = 1 << 13;

/// A float type that rows are computed in.
pub trait Float: Copy + Default + Send + Sync + 'static {
    const DTYPE: DType;
    /// Writes the softmax of `n` contiguous elements, or the logarithm of it.
    ///
    /// # Safety
    /// Both addresses cover `n` elements and are equal or do not overlap.
    unsafe fn row(out: *mut Self, x: *const Self, n: usize, log: bool);
    /// As `row` for each of `width` columns of `n` rows that begin `out_step` and `step` apart.
    ///
    /// # Safety
    /// Both addresses cover the rows; they do not overlap.
    unsafe fn columns(
        out: *mut Self,
        out_step: isize,
        x: *const Self,
        step: isize,
        n: usize,
        width: usize,
        log: bool,
    );
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
    let n = shape.get(dim).copied().unwrap_or(1);
    let others = |strides: &[isize]| -> SmallVec<[isize; 4]> {
        (0..shape.len()).filter(|&i| i != dim).map(|i| strides[i]).collect()
    };
    let rest: SmallVec<[usize; 4]> =
        (0..shape.len()).filter(|&i| i != dim).map(|i| shape[i]).collect();
    let walk = Walk::new(&rest, [&others(out.strides), &others(src.strides)]);
    if n == 0 {
        return Ok(());
    }
    let step = |o: &Operand| o.strides.get(dim).copied().unwrap_or(1);
    let job = Job::<T> {
        walk,
        n,
        out: SyncPtr(out.ptr),
        src: SyncPtr(src.ptr),
        out_dtype: out.dtype,
        src_dtype: src.dtype,
        out_step: step(&out),
        src_step: step(&src),
        log,
        float: std::marker::PhantomData,
    };
    let typed = out.dtype == T::DTYPE && src.dtype == T::DTYPE;
    let grain = (GRAIN / n).max(1);
    if typed && (n == 1 || (job.out_step == 1 && job.src_step == 1)) {
        threads.split(job.walk.len(), grain, |range| job.rows(range));
        return Ok(());
    }
    if typed && job.walk.inner_strides == [1, 1] && job.walk.inner >= 8 {
        // One part per thread, of whole rows where these are short: runs below some KiB break
        // the memory's streams.
        let (columns, inner) = (job.walk.len(), job.walk.inner);
        let even = columns.div_ceil(threads.count()).max(grain);
        let size = if inner >= 2048 { even.max(1024) } else { even.next_multiple_of(inner) };
        threads.run(columns.div_ceil(size), &|i| {
            job.columns(i * size..((i + 1) * size).min(columns));
        });
        return Ok(());
    }
    threads
        .try_split(job.walk.len(), grain, |range| job.gathered(range))
        .map_err(|_| NoScratch { bytes: 2 * n * size_of::<T>() })
}

/// One call: the walk goes over the other dimensions, operand 0 is the output.
struct Job<T> {
    walk: Walk<2>,
    n: usize,
    out: SyncPtr<u8>,
    src: SyncPtr<u8>,
    out_dtype: DType,
    src_dtype: DType,
    out_step: isize,
    src_step: isize,
    log: bool,
    float: std::marker::PhantomData<T>,
}

impl<T: Float> Job<T> {
    fn out_at(&self, offset: isize) -> *mut T {
        self.out.get().cast::<T>().wrapping_offset(offset)
    }
    fn src_at(&self, offset: isize) -> *const T {
        self.src.get().cast::<T>().wrapping_offset(offset).cast_const()
    }

    /// Both sides are contiguous along the dimension.
    fn rows(&self, range: Range<usize>) {
        self.walk.runs(range, |at, count| {
            for k in 0..count as isize {
                let [so, si] = self.walk.inner_strides;
                let (to, from) = (self.out_at(at[0] + k * so), self.src_at(at[1] + k * si));
                // SAFETY: the walk stays inside the shape, which both operands cover.
                unsafe { T::row(to, from, self.n, self.log) };
            }
        });
    }

    /// Both sides are contiguous across the dimension.
    fn columns(&self, range: Range<usize>) {
        self.walk.runs(range, |at, count| {
            for k in (0..count).step_by(WIDTH) {
                let (to, from) = (self.out_at(at[0] + k as isize), self.src_at(at[1] + k as isize));
                let here = WIDTH.min(count - k);
                // SAFETY: as above.
                unsafe {
                    T::columns(to, self.out_step, from, self.src_step, self.n, here, self.log);
                }
            }
        });
    }

    /// Any layout and dtype, one row at a time through a buffer.
    fn gathered(&self, range: Range<usize>) -> Result<(), NoScratch> {
        let scratch = Scratch::new::<T>(self.n)?;
        let row = scratch.as_ptr::<T>();
        let size = size_of::<T>() as isize;
        let (so, si) = (self.out_dtype.size() as isize, self.src_dtype.size() as isize);
        self.walk.runs(range, |at, count| {
            for k in 0..count as isize {
                let [ko, ki] = self.walk.inner_strides;
                let to = self.out.get().wrapping_offset((at[0] + k * ko) * so);
                let from = self.src.get().wrapping_offset((at[1] + k * ki) * si).cast_const();
                let (out_step, src_step) = (self.out_step * so, self.src_step * si);
                // SAFETY: as above; the scratch holds one row.
                unsafe {
                    copy::run(row.cast(), size, T::DTYPE, from, src_step, self.src_dtype, self.n);
                    T::row(row, row, self.n, self.log);
                    copy::run(to, out_step, self.out_dtype, row.cast(), size, T::DTYPE, self.n);
                }
            }
        });
        Ok(())
    }
}

/// Largest number of columns side by side: long enough runs for the memory's prefetching.
const WIDTH: usize = 512;

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    let m = if a > b { a } else { b };
    if a.is_nan() { a } else { m }
}

/// Numbers of a row whose powers are summed at a time.
const POWERS: usize = 512;

struct RowF32 {
    out: *mut f32,
    x: *const f32,
    n: usize,
    log: bool,
}

impl Kernel for RowF32 {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let RowF32 { out, x, n, log } = self;
        // SAFETY: the caller of `row` vouches for `n` elements of both; so for all blocks below.
        let max = unsafe { fold_row_f32::<I>(Action::Max, x, n) };
        // A row of -infinity alone has no finite maximum; its softmax is NaN, as in PyTorch.
        if !log {
            for i in 0..n {
                // SAFETY: as above.
                unsafe { *out.add(i) = math::exp_nonpositive::<I>(*x.add(i) - max) };
            }
            // SAFETY: as above.
            let scale = 1.0 / unsafe { fold_row_f32::<I>(Action::Add, out, n) };
            for i in 0..n {
                // SAFETY: as above.
                unsafe { *out.add(i) *= scale };
            }
            return;
        }
        // Through a small buffer, so that the input is not overwritten where it is the output.
        let mut room = MaybeUninit::<[f32; POWERS]>::uninit();
        let powers = room.as_mut_ptr().cast::<f32>();
        let mut sum = 0.0;
        for at in (0..n).step_by(POWERS) {
            let m = POWERS.min(n - at);
            // SAFETY: as above; the buffer holds `m` numbers, which are written before they are read.
            unsafe {
                for i in 0..m {
                    *powers.add(i) = math::exp_nonpositive::<I>(*x.add(at + i) - max);
                }
                sum += fold_row_f32::<I>(Action::Add, powers, m);
            }
        }
        let shift = math::log::<I>(sum);
        for i in 0..n {
            // SAFETY: as above.
            unsafe { *out.add(i) = (*x.add(i) - max) - shift };
        }
    }
}

struct ColumnsF32 {
    out: *mut f32,
    out_step: isize,
    x: *const f32,
    step: isize,
    n: usize,
    width: usize,
    log: bool,
}

impl Kernel for ColumnsF32 {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ColumnsF32 { out, out_step, x, step, n, width, log } = self;
        let mut max = [f32::NEG_INFINITY; WIDTH];
        let mut sum = [0f32; WIDTH];
        let (max, sum) = (&mut max[..width.min(WIDTH)], &mut sum[..width.min(WIDTH)]);
        let from = |r: usize| x.wrapping_offset(r as isize * step);
        let to = |r: usize| out.wrapping_offset(r as isize * out_step);
        // SAFETY (all reads and writes below): the caller of `columns` vouches for `n` rows of
        // `width` elements on both sides.
        for r in 0..n {
            let row = from(r);
            for (j, m) in max.iter_mut().enumerate() {
                // SAFETY: as above.
                *m = larger(*m, unsafe { *row.add(j) });
            }
        }
        for r in 0..n {
            let (row, target) = (from(r), to(r));
            for (j, (s, m)) in sum.iter_mut().zip(max.iter()).enumerate() {
                // SAFETY: as above.
                let e = math::exp_nonpositive::<I>(unsafe { *row.add(j) } - *m);
                *s += e;
                if !log {
                    // SAFETY: as above.
                    unsafe { *target.add(j) = e };
                }
            }
        }
        for s in sum.iter_mut() {
            *s = if log { math::log::<I>(*s) } else { 1.0 / *s };
        }
        for r in 0..n {
            let (row, target) = (from(r), to(r));
            for (j, (s, m)) in sum.iter().zip(max.iter()).enumerate() {
                // SAFETY: as above.
                unsafe {
                    let y = if log { (*row.add(j) - *m) - *s } else { *target.add(j) * *s };
                    *target.add(j) = y;
                }
            }
        }
    }
}

/// The gradient of softmax, `y (g - sum(g y))`, or of logSoftmax, `g - exp(y) sum(g)`, for rows
/// of `n` contiguous elements.
///
/// # Safety
/// All three cover `rows` rows; the output overlaps no input.
pub unsafe fn backward<T: crate::dense::Number + Fits>(
    threads: &Threads,
    [rows, n]: [usize; 2],
    g: *const T,
    y: *const T,
    gx: *mut T,
    log: bool,
) {
    let (g, y, gx) = (SyncPtr(g.cast_mut()), SyncPtr(y.cast_mut()), SyncPtr(gx));
    threads.split(rows, (GRAIN / n.max(1)).max(1), |range| {
        for row in range {
            let at = |p: &SyncPtr<T>| p.get().wrapping_add(row * n);
            dispatch(BackwardRow { g: at(&g), y: at(&y), gx: at(&gx), n, log });
        }
    });
}

struct BackwardRow<T> {
    g: *const T,
    y: *const T,
    gx: *mut T,
    n: usize,
    log: bool,
}

impl<T: crate::dense::Number + Fits> Kernel for BackwardRow<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let BackwardRow { g, y, gx, n, log } = self;
        // SAFETY: the caller of `backward` vouches for `n` elements; `run` is compiled for `I`.
        unsafe {
            let (sum, dot) = T::sums::<I>(n, crate::norm::SumGrad::of(g, y));
            if log {
                T::exp_row::<I>(gx, y, n);
                (0..n).for_each(|i| *gx.add(i) = *g.add(i) - *gx.add(i) * sum);
            } else {
                (0..n).for_each(|i| *gx.add(i) = *y.add(i) * (*g.add(i) - dot));
            }
        }
    }
}

impl Float for f32 {
    const DTYPE: DType = DType::F32;
    unsafe fn row(out: *mut f32, x: *const f32, n: usize, log: bool) {
        dispatch(RowF32 { out, x, n, log });
    }
    unsafe fn columns(
        out: *mut f32,
        out_step: isize,
        x: *const f32,
        step: isize,
        n: usize,
        width: usize,
        log: bool,
    ) {
        dispatch(ColumnsF32 { out, out_step, x, step, n, width, log });
    }
}

impl Float for f64 {
    const DTYPE: DType = DType::F64;
    unsafe fn row(out: *mut f64, x: *const f64, n: usize, log: bool) {
        // SAFETY: passed on to the caller.
        unsafe { row_f64(out, 1, x, 1, n, log) }
    }
    unsafe fn columns(
        out: *mut f64,
        out_step: isize,
        x: *const f64,
        step: isize,
        n: usize,
        width: usize,
        log: bool,
    ) {
        for j in 0..width {
            // SAFETY: passed on to the caller.
            unsafe { row_f64(out.add(j), out_step, x.add(j), step, n, log) }
        }
    }
}

/// # Safety
/// `n` elements lie `out_step` and `step` apart.
unsafe fn row_f64(out: *mut f64, out_step: isize, x: *const f64, step: isize, n: usize, log: bool) {
    // SAFETY: the caller vouches for `n` elements.
    let at = |i: usize| unsafe { *x.offset(i as isize * step) };
    // SAFETY: as above.
    let put = |i: usize, v: f64| unsafe { *out.offset(i as isize * out_step) = v };
    let max = (0..n)
        .map(at)
        .fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) });
    let sum: f64 = (0..n).map(|i| (at(i) - max).exp()).sum();
    let shift = sum.ln();
    for i in 0..n {
        let d = at(i) - max;
        put(i, if log { d - shift } else { d.exp() / sum });
    }
}
