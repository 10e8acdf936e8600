//! Largest and smallest elements with their positions.
//!
//! The first of equals counts, and NaN beats every number, as in PyTorch.

use super::Split;
use crate::copy;
use crate::ptr::SyncPtr;
use crate::threads::Threads;
use mlrun_tensor_core::DType;

const BLOCK: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Largest,
    Smallest,
}

/// An element that can be compared. Halves are compared as float32, booleans as bytes.
trait Ordered: Copy + Send + Sync + PartialOrd + 'static {
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
    more || (x.is_nan() && !best.is_nan())
}

impl Job<'_> {
    fn run<T: Ordered, const LARGEST: bool>(&self, threads: &Threads) {
        let length = self.split.reduced.len();
        let grain = ((1usize << 14) / length.max(1)).max(1);
        let kept = &self.split.kept;
        threads.split(kept.len(), grain, |range| {
            let mut i = range.start;
            kept.runs(range, |at, n| {
                for k in 0..n as isize {
                    let base = at[1] + k * kept.inner_strides[1];
                    self.one::<T, LARGEST>(i, base);
                    i += 1;
                }
            });
        });
    }

    /// Output `i`, whose first element is at `base`.
    fn one<T: Ordered, const LARGEST: bool>(&self, i: usize, base: isize) {
        let reduced = &self.split.reduced;
        let size = self.dtype.size() as isize;
        let step = reduced.inner_strides[1] * size;
        let wide = if self.dtype == DType::Bool { DType::Bool } else { T::DTYPE };
        let mut best: Option<(T, usize)> = None;
        let mut buffer = std::mem::MaybeUninit::<[T; BLOCK]>::uninit();
        let mut index = 0;
        reduced.runs(0..reduced.len(), |at, n| {
            let first = self.src.get().wrapping_offset((base + at[1]) * size).cast_const();
            for done in (0..n).step_by(BLOCK) {
                let m = BLOCK.min(n - done);
                let from = first.wrapping_offset(done as isize * step);
                // SAFETY: the walk stays inside the input; the buffer holds BLOCK elements.
                let block = unsafe {
                    if step == size && self.dtype == wide {
                        std::slice::from_raw_parts(from.cast::<T>(), m)
                    } else {
                        let to = buffer.as_mut_ptr().cast::<T>();
                        let into = size_of::<T>() as isize;
                        copy::run(to.cast(), into, wide, from, step, self.dtype, m);
                        std::slice::from_raw_parts(to, m)
                    }
                };
                if let Some(at) = best_of::<T, LARGEST>(block)
                    && best.is_none_or(|(b, _)| beats::<T, LARGEST>(block[at], b))
                {
                    best = Some((block[at], index + at));
                }
                index += m;
            }
        });
        let Some((value, position)) = best else { return };
        // SAFETY: the outputs have room for element `i`.
        unsafe {
            *self.positions.get().add(i) = position as i64;
            if let Some(values) = self.values {
                let at = values.get().add(i * self.dtype.size());
                let from = std::ptr::from_ref(&value).cast();
                copy::run(at, 0, self.dtype, from, 0, wide, 1);
            }
        }
    }
}

/// Position of the first extreme of a block.
fn best_of<T: Ordered, const LARGEST: bool>(block: &[T]) -> Option<usize> {
    let first = *block.first()?;
    // Two passes that vectorise: the extreme, then where it stands.
    let mut lanes = [first; 16];
    let mut nan = false;
    let chunks = block.chunks_exact(16);
    let rest = chunks.remainder();
    for c in chunks {
        for (l, x) in lanes.iter_mut().zip(c) {
            let more = if LARGEST { *x > *l } else { *x < *l };
            *l = if more { *x } else { *l };
            nan |= x.is_nan();
        }
    }
    for (l, x) in lanes.iter_mut().zip(rest) {
        let more = if LARGEST { *x > *l } else { *x < *l };
        *l = if more { *x } else { *l };
        nan |= x.is_nan();
    }
    if nan {
        return block.iter().position(|x| x.is_nan());
    }
    let best = lanes.into_iter().reduce(|a, b| {
        let more = if LARGEST { b > a } else { b < a };
        if more { b } else { a }
    })?;
    block.iter().position(|x| *x == best)
}
