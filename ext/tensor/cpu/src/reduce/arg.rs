//! Largest and smallest elements with their positions.
//!
//! The first of equals counts, and NaN beats every number, as in PyTorch.

use super::Split;
use crate::copy;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::simd::{Action, Element};
use crate::threads::Threads;
use mlrun_tensor_core::DType;

/// Elements that pass through the buffer at a time.
const BLOCK: usize = 512;
/// Columns that are compared side by side.
const WIDTH: usize = 64;
/// Elements that are worth a part of a job.
const GRAIN: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Largest,
    Smallest,
}

/// An element that can be compared. Halves are compared as float32, booleans as bytes.
trait Ordered: Element {
    const DTYPE: DType;
    fn is_nan(self) -> bool;
}

macro_rules! ordered {
    ($($t:ty = $d:ident, |$v:ident| $nan:expr;)*) => {
        $(impl Ordered for $t {
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn is_nan(self) -> bool {
                let $v = self;
                $nan
            }
        })*
    };
}
ordered! {
    f32 = F32, |v| v.is_nan();
    f64 = F64, |v| v.is_nan();
    i8 = I8, |_v| false;
    u8 = U8, |_v| false;
    i16 = I16, |_v| false;
    i32 = I32, |_v| false;
    i64 = I64, |_v| false;
}

/// Writes the extremes of `src` (where `values` is given) and their positions along the reduced
/// dimensions.
///
/// # Safety
/// The split describes what `src` covers and reduces at least one element; `values` (of the
/// input's dtype) and `positions` have room for the kept elements.
pub unsafe fn arg_extreme(
    threads: &Threads,
    split: &Split,
    src: *mut u8,
    dtype: DType,
    which: Extreme,
    values: Option<*mut u8>,
    positions: *mut i64,
) {
    let job = Job {
        split,
        src: SyncPtr(src),
        dtype,
        values: values.map(SyncPtr),
        positions: SyncPtr(positions),
    };
    macro_rules! with {
        ($t:ty) => {
            match which {
                Extreme::Largest => job.run::<$t, true>(threads),
                Extreme::Smallest => job.run::<$t, false>(threads),
            }
        };
    }
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => with!(f32),
        DType::F64 => with!(f64),
        DType::I8 => with!(i8),
        DType::U8 | DType::Bool => with!(u8),
        DType::I16 => with!(i16),
        DType::I32 => with!(i32),
        DType::I64 => with!(i64),
    }
}

struct Job<'a> {
    split: &'a Split,
    src: SyncPtr<u8>,
    dtype: DType,
    values: Option<SyncPtr<u8>>,
    positions: SyncPtr<i64>,
}

/// Whether `x` takes the place of `best`, which came earlier.
#[inline(always)]
fn beats<T: Ordered, const LARGEST: bool>(x: T, best: T) -> bool {
    let more = if LARGEST { x > best } else { x < best };
    more | (x.is_nan() & !best.is_nan())
}

impl Job<'_> {
    fn run<T: Ordered, const LARGEST: bool>(&self, threads: &Threads) {
        let Split { kept, reduced } = self.split;
        let length = reduced.len();
        let grain = (GRAIN / length.max(1)).max(1);
        let columns = self.dtype == self.wide::<T>()
            && kept.inner_strides == [1, 1]
            && kept.inner >= 4
            && reduced.inner_strides[1] != 1
            && length <= u32::MAX as usize;
        threads.split(kept.len(), grain, |range| {
            let mut i = range.start;
            kept.runs(range, |at, n| {
                if columns {
                    for first in (0..n).step_by(WIDTH) {
                        let width = WIDTH.min(n - first);
                        self.side_by_side::<T, LARGEST>(i, at[1] + first as isize, width);
                        i += width;
                    }
                    return;
                }
                for k in 0..n as isize {
                    let base = at[1] + k * kept.inner_strides[1];
                    self.one::<T, LARGEST>(i, base);
                    i += 1;
                }
            });
        });
    }

    /// The dtype that elements are compared in.
    fn wide<T: Ordered>(&self) -> DType {
        if self.dtype == DType::Bool { DType::Bool } else { T::DTYPE }
    }

    /// Writes output `i`.
    #[inline]
    fn put<T: Ordered>(&self, i: usize, value: T, position: usize) {
        // SAFETY: the outputs have room for element `i`.
        unsafe {
            *self.positions.get().add(i) = position as i64;
            if let Some(values) = self.values {
                let at = values.get().add(i * self.dtype.size());
                if self.dtype == self.wide::<T>() {
                    at.cast::<T>().write(value);
                    return;
                }
                let from = std::ptr::from_ref(&value).cast();
                copy::run(at, 0, self.dtype, from, 0, T::DTYPE, 1);
            }
        }
    }

    /// Outputs from `i` on, whose first elements lie side by side from `base` on.
    fn side_by_side<T: Ordered, const LARGEST: bool>(&self, i: usize, base: isize, width: usize) {
        let reduced = &self.split.reduced;
        let x = self.src.get().cast::<T>().cast_const();
        // SAFETY: the walk stays inside the input, which has an element at least.
        let mut best = unsafe { Columns::new(x.wrapping_offset(base), width) };
        let mut index = 0;
        reduced.runs(0..reduced.len(), |at, n| {
            let x = x.wrapping_offset(base + at[1]);
            let (step, first) = (reduced.inner_strides[1], index);
            dispatch(Down::<T, LARGEST> { best: &mut best, x, step, rows: n, first, width });
            index += n as u32;
        });
        for (j, (value, at)) in best.values.iter().zip(&best.at).enumerate().take(width) {
            self.put(i + j, *value, *at as usize);
        }
    }

    /// Output `i`, whose first element is at `base`.
    fn one<T: Ordered, const LARGEST: bool>(&self, i: usize, base: isize) {
        let reduced = &self.split.reduced;
        let size = self.dtype.size() as isize;
        let step = reduced.inner_strides[1] * size;
        let wide = self.wide::<T>();
        let direct = step == size && self.dtype == wide;
        let first = self.src.get().wrapping_offset(base * size).cast_const();
        if direct && reduced.outer().is_empty() {
            // SAFETY: the reduced elements lie one behind the other inside the input.
            let row = unsafe { std::slice::from_raw_parts(first.cast::<T>(), reduced.len()) };
            if let Some(at) = dispatch(FirstExtreme::<T, LARGEST>(row)) {
                self.put(i, row[at], at);
            }
            return;
        }
        let mut best: Option<(T, usize)> = None;
        let mut buffer = std::mem::MaybeUninit::<[T; BLOCK]>::uninit();
        let mut index = 0;
        reduced.runs(0..reduced.len(), |at, n| {
            let first = first.wrapping_offset(at[1] * size);
            for done in (0..n).step_by(BLOCK) {
                let m = BLOCK.min(n - done);
                let from = first.wrapping_offset(done as isize * step);
                // SAFETY: the walk stays inside the input; the buffer holds BLOCK elements.
                let block = unsafe {
                    if direct {
                        std::slice::from_raw_parts(from.cast::<T>(), m)
                    } else {
                        let to = buffer.as_mut_ptr().cast::<T>();
                        let into = size_of::<T>() as isize;
                        copy::run(to.cast(), into, wide, from, step, self.dtype, m);
                        std::slice::from_raw_parts(to, m)
                    }
                };
                if let Some(at) = dispatch(FirstExtreme::<T, LARGEST>(block))
                    && best.is_none_or(|(b, _)| beats::<T, LARGEST>(block[at], b))
                {
                    best = Some((block[at], index + at));
                }
                index += m;
            }
        });
        let Some((value, position)) = best else { return };
        self.put(i, value, position);
    }
}

/// The best elements of some columns so far, and their rows.
struct Columns<T> {
    values: [T; WIDTH],
    at: [u32; WIDTH],
}

impl<T: Ordered> Columns<T> {
    /// Columns whose best elements are those of the row at `x`.
    ///
    /// # Safety
    /// `x` covers `width` <= WIDTH elements, one at least.
    unsafe fn new(x: *const T, width: usize) -> Columns<T> {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut values = [*x; WIDTH];
            std::ptr::copy_nonoverlapping(x, values.as_mut_ptr(), width);
            Columns { values, at: [0; WIDTH] }
        }
    }
}

/// Compares `rows` rows of `width` columns, `step` apart, with the best ones so far.
struct Down<'a, T, const LARGEST: bool> {
    best: &'a mut Columns<T>,
    x: *const T,
    step: isize,
    rows: usize,
    first: u32,
    width: usize,
}

impl<T: Ordered, const LARGEST: bool> Kernel for Down<'_, T, LARGEST> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // Arrays of the function's own: the compiler then knows that the input is another.
        let (mut values, mut at) = (self.best.values, self.best.at);
        let width = self.width.min(WIDTH);
        for r in 0..self.rows {
            let row = self.x.wrapping_offset(r as isize * self.step);
            let here = self.first + r as u32;
            for (j, (value, at)) in values.iter_mut().zip(&mut at).enumerate().take(width) {
                // SAFETY: the walk that made the job stays inside the input.
                let x = unsafe { *row.add(j) };
                let more = beats::<T, LARGEST>(x, *value);
                *value = if more { x } else { *value };
                *at = if more { here } else { *at };
            }
        }
        *self.best = Columns { values, at };
    }
}

/// Position of the first extreme of a row.
struct FirstExtreme<'a, T, const LARGEST: bool>(&'a [T]);

impl<T: Ordered, const LARGEST: bool> Kernel for FirstExtreme<'_, T, LARGEST> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run<I: Isa>(self) -> Option<usize> {
        let row = self.0;
        let action = if LARGEST { Action::Max } else { Action::Min };
        // Two passes in vectors, the second up to where the extreme stands. SAFETY: `run` is
        // compiled for `I`.
        let best = unsafe { T::row::<I>(action, row.as_ptr(), row.len()) };
        if best.is_nan() {
            return first_of(row, |x| x.is_nan());
        }
        first_of(row, |x| x == best)
    }
}

#[inline(always)]
fn first_of<T: Copy>(row: &[T], f: impl Fn(T) -> bool) -> Option<usize> {
    let mut first = 0;
    for block in row.chunks_exact(64) {
        if block.iter().fold(false, |any, x| any | f(*x)) {
            break;
        }
        first += 64;
    }
    row[first..].iter().position(|x| f(*x)).map(|at| first + at)
}
