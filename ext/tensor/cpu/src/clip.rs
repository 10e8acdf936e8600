//! Scales several tensors in place so that their norm, taken as that of one vector, is bounded.
//! The formula stands at the row `clipGradNorm` of the op table.
//!
//! Squares are summed in float64 by pieces of fixed length, so that the norm depends neither on
//! the number of threads nor on how they cut the work.

use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use half::{bf16, f16};
use mlrun_tensor_core::DType;

const GRAIN: usize = 1 << 14;
const LANES: usize = 16;

trait Element: Copy + 'static {
    fn square(self) -> f64;
    fn scaled(self, factor: f64) -> Self;
}

macro_rules! element {
    ($t:ty, |$v:ident| $real:expr, |$w:ident, $f:ident| $scaled:expr) => {
        impl Element for $t {
            #[inline(always)]
            fn square(self) -> f64 {
                let $v = self;
                let real = f64::from($real);
                real * real
            }
            #[inline(always)]
            fn scaled(self, $f: f64) -> $t {
                let $w = self;
                $scaled
            }
        }
    };
}
element!(f32, |v| v, |v, f| v * f as f32);
element!(f64, |v| v, |v, f| v * f);
element!(f16, |v| v.to_f32(), |v, f| f16::from_f32(v.to_f32() * f as f32));
element!(bf16, |v| v.to_f32(), |v, f| bf16::from_f32(v.to_f32() * f as f32));

/// The sum of squares of `n` elements.
struct Squares<T> {
    at: *const T,
    stride: isize,
    n: usize,
}

impl<T: Element> Kernel for Squares<T> {
    type Output = f64;
    #[inline(always)]
    fn run<I: Isa>(self) -> f64 {
        // SAFETY: the caller of `clip` vouches for the operand's elements.
        let square = |i: usize| unsafe { *self.at.offset(i as isize * self.stride) }.square();
        let mut lanes = [0.0; LANES];
        let whole = self.n - self.n % LANES;
        for from in (0..whole).step_by(LANES) {
            for (k, lane) in lanes.iter_mut().enumerate() {
                *lane += square(from + k);
            }
        }
        (whole..self.n).map(square).sum::<f64>() + lanes.iter().sum::<f64>()
    }
}

struct Scale<T> {
    at: *mut T,
    stride: isize,
    n: usize,
    factor: f64,
}

impl<T: Element> Kernel for Scale<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for i in 0..self.n {
            // SAFETY: as for `Squares`; nobody else writes these elements meanwhile.
            unsafe {
                let at = self.at.offset(i as isize * self.stride);
                *at = (*at).scaled(self.factor);
            }
        }
    }
}

/// One tensor to scale.
pub struct Part<'a> {
    pub shape: &'a [usize],
    pub operand: Operand<'a>,
}

/// Gives the norm before; scales by `max / (norm + 1e-6)` where that is below 1 or NaN. With
/// `finite_only` nothing is scaled where the norm is not finite.
///
/// # Safety
/// Operands cover their shapes, and no two elements of one share a place.
pub unsafe fn clip(threads: &Threads, parts: &[Part], max: f64, finite_only: bool) -> f64 {
    let norm = parts.iter().map(|p| by_dtype(threads, p, None)).sum::<f64>().sqrt();
    if norm.is_finite() || !finite_only {
        let factor = max / (norm + 1e-6);
        // A factor of NaN is not below 1 either, and must reach every element.
        if factor.is_nan() || factor < 1.0 {
            for p in parts {
                by_dtype(threads, p, Some(factor));
            }
        }
    }
    norm
}

/// Sums squares, or scales by `factor`.
fn by_dtype(threads: &Threads, part: &Part, factor: Option<f64>) -> f64 {
    match part.operand.dtype {
        DType::F64 => each::<f64>(threads, part, factor),
        DType::F16 => each::<f16>(threads, part, factor),
        DType::BF16 => each::<bf16>(threads, part, factor),
        _ => each::<f32>(threads, part, factor),
    }
}

fn each<T: Element>(threads: &Threads, part: &Part, factor: Option<f64>) -> f64 {
    let walk = Walk::<1>::new(part.shape, [part.operand.strides]);
    let (base, [stride]) = (SyncPtr(part.operand.ptr), walk.inner_strides);
    let address = |at: isize| base.get().cast::<T>().wrapping_offset(at);
    let Some(factor) = factor else {
        let pieces = walk.len().div_ceil(GRAIN);
        let mut sums = vec![0.0; pieces];
        let out = SyncPtr(sums.as_mut_ptr());
        threads.split(pieces, 2, |range| {
            for piece in range {
                let mut sum = 0.0;
                let to = ((piece + 1) * GRAIN).min(walk.len());
                walk.runs(piece * GRAIN..to, |[at], n| {
                    sum += dispatch(Squares::<T> { at: address(at), stride, n });
                });
                // SAFETY: `piece` is below the list's length, and one thread alone has it.
                unsafe { *out.get().add(piece) = sum };
            }
        });
        return sums.iter().sum();
    };
    threads.split(walk.len(), GRAIN, |range| {
        walk.runs(range, |[at], n| {
            dispatch(Scale::<T> { at: address(at), stride, n, factor });
        });
    });
    0.0
}
