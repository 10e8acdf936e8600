//! Reads and writes at positions that a tensor of integers names.
//!
//! Every position is checked before the first byte is written; kernels take them from 0 on.

use crate::copy;
use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::lanes::{Bool, F64, Int, Lane};
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use half::{bf16, f16};
use mlrun_tensor_core::DType;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const GRAIN: usize = 1 << 14;

/// A position outside a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    pub index: i64,
    pub least: i64,
    pub extent: usize,
}

/// Checks `shape` many int64 positions against `extent`. With `wrap` they may also count from
/// the end, from -extent on.
///
/// # Safety
/// `index` covers `shape`.
pub unsafe fn check(
    threads: &Threads,
    shape: &[usize],
    index: Operand,
    extent: usize,
    wrap: bool,
) -> Result<(), OutOfRange> {
    let walk = Walk::new(shape, [index.strides]);
    let most = extent.min(i64::MAX as usize);
    let least = if wrap { -(most as i64) } else { 0 };
    let (positions, step) = (SyncPtr(index.ptr.cast::<i64>()), walk.inner_strides[0]);
    // How many values are allowed: from the least one on they are below it without a sign.
    let allowed = if wrap { 2 * most as u64 } else { most as u64 };
    let wrong = AtomicBool::new(false);
    threads.split(walk.len(), 4 * GRAIN, |range| {
        walk.runs(range, |at, n| {
            let at = positions.get().wrapping_offset(at[0]).cast_const();
            // The walk stays inside the shape, which the index covers.
            if dispatch(AnyOutside { at, step, n, least, allowed }) {
                wrong.store(true, Relaxed);
            }
        });
    });
    if !wrong.into_inner() {
        return Ok(());
    }
    let mut bad = None;
    walk.runs(0..walk.len(), |at, n| {
        for k in 0..n as isize {
            // SAFETY: the walk stays inside the shape.
            let i = unsafe { *positions.get().offset(at[0] + k * step) };
            if i.wrapping_sub(least) as u64 >= allowed {
                bad.get_or_insert(i);
            }
        }
    });
    bad.map_or(Ok(()), |index| Err(OutOfRange { index, least, extent }))
}

/// Whether one of `n` positions, which the index covers, does not lie between `least` and
/// `least + allowed`.
struct AnyOutside {
    at: *const i64,
    step: isize,
    n: usize,
    least: i64,
    allowed: u64,
}

impl Kernel for AnyOutside {
    type Output = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let AnyOutside { at, step, n, least, allowed } = self;
        let outside = |i: i64| i.wrapping_sub(least) as u64 >= allowed;
        let mut any = false;
        // SAFETY: whoever made the job vouches for the positions.
        unsafe {
            if step == 1 {
                (0..n).for_each(|k| any |= outside(*at.add(k)));
            } else {
                (0..n as isize).for_each(|k| any |= outside(*at.offset(k * step)));
            }
        }
        any
    }
}

/// Writes checked positions row-major, those from the end counted from the start.
///
/// # Safety
/// `index` covers `shape`; `out` has room for as many numbers.
pub unsafe fn wrap(shape: &[usize], out: *mut i64, index: Operand, extent: usize) {
    let order = mlrun_tensor_core::layout::contiguous_strides(shape);
    let walk = Walk::new(shape, [&order, index.strides]);
    let s = walk.inner_strides;
    walk.runs(0..walk.len(), |at, n| {
        for k in 0..n as isize {
            // SAFETY: the walk stays inside the shape.
            unsafe {
                let i = *index.ptr.cast::<i64>().offset(at[1] + k * s[1]);
                *out.offset(at[0] + k * s[0]) = if i < 0 { i + extent as i64 } else { i };
            }
        }
    });
}

/// A tensor seen as rows along one dimension: the other dimensions' shape and strides.
struct Rows {
    shape: SmallVec<[usize; 4]>,
    strides: SmallVec<[isize; 4]>,
    step: isize,
}

impl Rows {
    fn new(shape: &[usize], strides: &[isize], dim: usize) -> Rows {
        let without = |i: &usize| *i != dim;
        Rows {
            shape: (0..shape.len()).filter(without).map(|i| shape[i]).collect(),
            strides: (0..shape.len()).filter(without).map(|i| strides[i]).collect(),
            step: strides.get(dim).copied().unwrap_or(0),
        }
    }
}

/// `out.select(dim, i) = src.select(dim, index[i])`. `shape` is the output's.
///
/// # Safety
/// Operands cover their shapes; positions were checked; the output overlaps no input.
pub unsafe fn index_select(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    index: Operand,
) {
    let to = Rows::new(shape, out.strides, dim);
    let from = Rows::new(shape, src.strides, dim);
    let walk = Walk::new(&to.shape, [&to.strides, &from.strides]);
    let count = shape.get(dim).copied().unwrap_or(1);
    let size = out.dtype.size() as isize;
    let step = index.strides.first().copied().unwrap_or(0);
    let (po, ps, pi) = (SyncPtr(out.ptr), SyncPtr(src.ptr), SyncPtr(index.ptr.cast::<i64>()));
    let whole = walk.outer().is_empty() && walk.inner_strides == [1, 1];
    let bytes = walk.len() * out.dtype.size();
    if walk.inner_strides != [1, 1] && shape.len() > 1 {
        // Neighbours lie along the dimension, not in a row: one position after the other.
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, shape.len());
        strides[dim] = step;
        let index = Operand { strides: &strides, ..index };
        // SAFETY: passed on to the caller; the same positions for every row.
        return unsafe { gather(threads, shape, dim, out, src, index) };
    }
    threads.split(count, (GRAIN / walk.len().max(1)).max(1), |rows| {
        let last = rows.end;
        for r in rows {
            // SAFETY: `r` is below the index's length; positions were checked.
            let i = unsafe { *pi.get().offset(r as isize * step) };
            let dst = po.get().wrapping_offset(r as isize * to.step * size);
            let row = ps.get().wrapping_offset(i as isize * from.step * size);
            if whole {
                if r + 1 < last {
                    // SAFETY: as above.
                    let next = unsafe { *pi.get().offset((r + 1) as isize * step) } as isize;
                    prefetch(ps.get().wrapping_offset(next * from.step * size), bytes);
                }
                // SAFETY: a row of each is one run inside its shape.
                unsafe { copy::bytes(dst, row, bytes) };
                continue;
            }
            walk.runs(0..walk.len(), |at, n| {
                let steps = walk.inner_strides.map(|s| s * size);
                let (a, b) = (dst.wrapping_offset(at[0] * size), row.wrapping_offset(at[1] * size));
                // SAFETY: the walk stays inside one row of each.
                unsafe { copy::run(a, steps[0], out.dtype, b, steps[1], out.dtype, n) };
            });
        }
    });
}

/// Asks for the beginning of a row that is read next: where it stands nothing foretells, how it goes
/// on the processor finds out by itself.
#[inline(always)]
fn prefetch(row: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes.min(512)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, bytes);
}

/// `out[..] = src[.., index[..], ..]` along `dim`. `shape` is the index's and the output's.
///
/// # Safety
/// As [`index_select`].
pub unsafe fn gather(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    index: Operand,
) {
    let (base, step) = along(src.strides, dim);
    let walk = Walk::new(shape, [out.strides, index.strides, &base]);
    let s = walk.inner_strides;
    let (po, ps, pi) = (SyncPtr(out.ptr), SyncPtr(src.ptr), SyncPtr(index.ptr.cast::<i64>()));
    let line = s == [1, 1, 0] && step == 1;
    threads.split(walk.len(), GRAIN, |range| {
        walk.runs(range, |at, n| {
            macro_rules! width {
                ($t:ty) => {{
                    if line {
                        // SAFETY: as below.
                        unsafe {
                            let index = pi.get().offset(at[1]);
                            let src = ps.get().cast::<$t>().offset(at[2]);
                            let out = po.get().cast::<$t>().offset(at[0]);
                            (0..n).for_each(|k| *out.add(k) = *src.offset(*index.add(k) as isize));
                        }
                        return;
                    }
                    for k in 0..n as isize {
                        // SAFETY: the walk stays inside the shape; positions were checked.
                        unsafe {
                            let i = *pi.get().offset(at[1] + k * s[1]) as isize;
                            let v = *ps.get().cast::<$t>().offset(at[2] + k * s[2] + i * step);
                            *po.get().cast::<$t>().offset(at[0] + k * s[0]) = v;
                        }
                    }
                }};
            }
            match out.dtype.size() {
                1 => width!(u8),
                2 => width!(u16),
                4 => width!(u32),
                _ => width!(u64),
            }
        });
    });
}

/// Strides with 0 at `dim`, and the stride that stood there.
fn along(strides: &[isize], dim: usize) -> (SmallVec<[isize; 4]>, isize) {
    let mut base: SmallVec<[isize; 4]> = strides.into();
    let step = base.get_mut(dim).map_or(0, std::mem::take);
    (base, step)
}

/// A number that can be accumulated; halves round after each addition, as in PyTorch.
trait Accumulate: Copy + Send + Sync + 'static {
    fn plus(self, o: Self) -> Self;
}
macro_rules! accumulate {
    ($($t:ty, |$a:ident, $b:ident| $sum:expr;)*) => {
        $(impl Accumulate for $t {
            #[inline(always)]
            fn plus(self, o: $t) -> $t {
                let ($a, $b) = (self, o);
                $sum
            }
        })*
    };
}
accumulate! {
    f32, |a, b| a + b;
    f64, |a, b| (F64(a) + F64(b)).0;
    f16, |a, b| f16::from_f32(a.to_f32() + b.to_f32());
    bf16, |a, b| bf16::from_f32(a.to_f32() + b.to_f32());
    i8, |a, b| (Int(a) + Int(b)).0;
    i16, |a, b| (Int(a) + Int(b)).0;
    i32, |a, b| (Int(a) + Int(b)).0;
    i64, |a, b| (Int(a) + Int(b)).0;
    u8, |a, b| a.wrapping_add(b);
    Truth, |a, b| Truth((Bool::load(a.0) + Bool::load(b.0)).store());
}

/// A boolean in memory.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

macro_rules! with_number {
    ($dtype:expr, $f:ident, ($($arg:expr),*)) => {
        match $dtype {
            DType::F32 => $f::<f32>($($arg),*),
            DType::F16 => $f::<f16>($($arg),*),
            DType::BF16 => $f::<bf16>($($arg),*),
            DType::F64 => $f::<f64>($($arg),*),
            DType::I8 => $f::<i8>($($arg),*),
            DType::U8 => $f::<u8>($($arg),*),
            DType::I16 => $f::<i16>($($arg),*),
            DType::I32 => $f::<i32>($($arg),*),
            DType::I64 => $f::<i64>($($arg),*),
            DType::Bool => $f::<Truth>($($arg),*),
        }
    };
}

/// `out.select(dim, index[i]) += src.select(dim, i)`, in the order of `i`. `shape` is the
/// source's, `extent` the output's along `dim`.
///
/// # Safety
/// As [`index_select`].
pub unsafe fn index_add(threads: &Threads, extent: usize, rows: ToRows) {
    // SAFETY: passed on to the caller.
    unsafe { with_number!(rows.out.dtype, add_rows, (threads, extent, rows)) }
}

/// As [`index_add`], with rows replaced.
///
/// # Safety
/// As [`index_select`].
pub unsafe fn index_copy(threads: &Threads, extent: usize, rows: ToRows) {
    // SAFETY: passed on to the caller; numbers of one width are copied alike.
    unsafe {
        match rows.out.dtype.size() {
            1 => write_rows(threads, extent, rows, |_: u8, new| new),
            2 => write_rows(threads, extent, rows, |_: u16, new| new),
            4 => write_rows(threads, extent, rows, |_: u32, new| new),
            _ => write_rows(threads, extent, rows, |_: u64, new| new),
        }
    }
}

/// Where rows come from and go to: `shape` is the source's.
pub struct ToRows<'a> {
    pub shape: &'a [usize],
    pub dim: usize,
    pub out: Operand<'a>,
    pub src: Operand<'a>,
    pub index: Operand<'a>,
}

/// # Safety
/// As [`index_add`].
unsafe fn add_rows<T: Accumulate>(threads: &Threads, extent: usize, rows: ToRows) {
    // SAFETY: passed on to the caller.
    unsafe { write_rows(threads, extent, rows, T::plus) }
}

/// # Safety
/// As [`index_add`].
unsafe fn write_rows<T: Copy + Send + Sync + 'static>(
    threads: &Threads,
    extent: usize,
    rows: ToRows,
    combine: impl Fn(T, T) -> T + Sync,
) {
    let ToRows { shape, dim, out, src, index } = rows;
    let to = Rows::new(shape, out.strides, dim);
    let from = Rows::new(shape, src.strides, dim);
    let walk = Walk::new(&to.shape, [&to.strides, &from.strides]);
    let count = shape.get(dim).copied().unwrap_or(1);
    let step = index.strides.first().copied().unwrap_or(0);
    let s = walk.inner_strides;
    let (po, ps, pi) = (
        SyncPtr(out.ptr.cast::<T>()),
        SyncPtr(src.ptr.cast::<T>()),
        SyncPtr(index.ptr.cast::<i64>()),
    );
    let work = count.saturating_mul(walk.len());
    // Each part owns some rows of the output and reads the whole index, so that what is written
    // to a row keeps its order.
    let parts = if work < 4 * GRAIN { 1 } else { threads.count().min(extent) };
    let size = extent.div_ceil(parts.max(1)).max(1);
    threads.run(extent.div_ceil(size), &|part| {
        let own = (part * size) as i64..((part + 1) * size) as i64;
        for r in 0..count as isize {
            // SAFETY: `r` is below the index's length.
            let i = unsafe { *pi.get().offset(r * step) };
            if !own.contains(&i) {
                continue;
            }
            let dst = po.get().wrapping_offset(i as isize * to.step);
            let row = ps.get().wrapping_offset(r * from.step);
            walk.runs(0..walk.len(), |at, n| {
                let (a, b) = (dst.wrapping_offset(at[0]), row.wrapping_offset(at[1]));
                // SAFETY: the walk stays inside one row of each; positions were checked.
                unsafe {
                    if s == [1, 1] {
                        let a = std::slice::from_raw_parts_mut(a, n);
                        let b = std::slice::from_raw_parts(b, n);
                        a.iter_mut().zip(b).for_each(|(a, b)| *a = combine(*a, *b));
                    } else {
                        for k in 0..n as isize {
                            let at = a.offset(k * s[0]);
                            *at = combine(*at, *b.offset(k * s[1]));
                        }
                    }
                }
            });
        }
    });
}

/// `out[.., index[..], ..] += src[..]` along `dim`, in row-major order of the index, whose shape
/// is `shape`. One thread: positions may repeat.
///
/// # Safety
/// As [`index_select`]; `src` covers `shape`.
pub unsafe fn scatter_add(shape: &[usize], dim: usize, out: Operand, src: Operand, index: Operand) {
    // SAFETY: passed on to the caller.
    unsafe { with_number!(out.dtype, scatter_numbers, (shape, dim, out, src, index)) }
}

/// # Safety
/// As [`scatter_add`].
unsafe fn scatter_numbers<T: Accumulate>(
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    index: Operand,
) {
    let (base, step) = along(out.strides, dim);
    let order = mlrun_tensor_core::layout::contiguous_strides(shape);
    let walk = Walk::new(shape, [&order, index.strides, src.strides, &base]);
    let s = walk.inner_strides;
    walk.runs(0..walk.len(), |at, n| {
        for k in 0..n as isize {
            // SAFETY: the walk stays inside the shape; positions were checked.
            unsafe {
                let i = *index.ptr.cast::<i64>().offset(at[1] + k * s[1]) as isize;
                let v = *src.ptr.cast::<T>().offset(at[2] + k * s[2]);
                let to = out.ptr.cast::<T>().offset(at[3] + k * s[3] + i * step);
                *to = (*to).plus(v);
            }
        }
    });
}
