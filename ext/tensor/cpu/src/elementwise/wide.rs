//! Loops written with AVX-512 instructions that no scalar source leads to: scaling by a power of
//! two, which spares exp its two steps, and the reciprocal's estimate, which spares tanh a
//! division of 16 cycles.
//!
//! Invariant: exp gives the same bits as [`crate::math::exp`], tanh stays within its error.

use super::loops::{Loop, Params};
use crate::isa::{Level, level};
use mlrun_tensor_core::Op;

/// The loop for a float32 row on this processor, where one is here.
pub fn row(op: Op) -> Option<Loop> {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        return match op {
            Op::Exp => Some(x86::exp),
            Op::Tanh => Some(x86::tanh),
            _ => None,
        };
    }
    let _ = (op, level());
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Params;
    use crate::math::{EXP_TAIL, LN2_HI, LN2_LO, LOG2E, ROUND32, TANH_TAIL};
    use std::arch::x86_64::*;

    /// Declares the loop over vectors, the last one masked.
    macro_rules! over_vectors {
        ($name:ident, $f:ident) => {
            /// # Safety
            /// As [`super::Loop`]; the processor has AVX-512.
            pub unsafe fn $name(out: *mut u8, ins: [*const u8; 3], n: usize, _: &Params) {
                #[target_feature(enable = "avx512f,avx512dq")]
                unsafe fn run(out: *mut f32, x: *const f32, n: usize) {
                    let whole = n / 16 * 16;
                    // SAFETY: the caller vouches for `n` numbers; the mask keeps to them.
                    unsafe {
                        for i in (0..whole).step_by(16) {
                            _mm512_storeu_ps(out.add(i), $f(_mm512_loadu_ps(x.add(i))));
                        }
                        if whole < n {
                            let mask = (1u16 << (n - whole)) - 1;
                            let v = $f(_mm512_maskz_loadu_ps(mask, x.add(whole)));
                            _mm512_mask_storeu_ps(out.add(whole), mask, v);
                        }
                    }
                }
                // SAFETY: passed on to the caller.
                unsafe { run(out.cast(), ins[0].cast(), n) }
            }
        };
    }
    over_vectors!(exp, exp16);
    over_vectors!(tanh, tanh16);

    /// `c[0] + c[1] x + ...`
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn poly<const N: usize>(x: __m512, c: [f32; N]) -> __m512 {
        let mut y = _mm512_set1_ps(c[N - 1]);
        for i in (0..N - 1).rev() {
            y = _mm512_fmadd_ps(y, x, _mm512_set1_ps(c[i]));
        }
        y
    }

    /// e^x for x within the range of float32's exponents, some beyond.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn exp_limited(x: __m512) -> __m512 {
        let t = _mm512_fmadd_ps(x, _mm512_set1_ps(LOG2E), _mm512_set1_ps(ROUND32));
        let n = _mm512_sub_ps(t, _mm512_set1_ps(ROUND32));
        let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN2_HI), x);
        let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN2_LO), r);
        let y = _mm512_fmadd_ps(poly(r, EXP_TAIL), _mm512_mul_ps(r, r), r);
        _mm512_scalef_ps(_mm512_add_ps(y, _mm512_set1_ps(1.0)), n)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn exp16(x: __m512) -> __m512 {
        // The bound stands first: the instruction then passes NaN on.
        let x = _mm512_max_ps(_mm512_set1_ps(-105.0), x);
        exp_limited(_mm512_min_ps(_mm512_set1_ps(89.5), x))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn tanh16(x: __m512) -> __m512 {
        let one = _mm512_set1_ps(1.0);
        let sign = _mm512_and_ps(x, _mm512_set1_ps(-0.0));
        let a = _mm512_andnot_ps(_mm512_set1_ps(-0.0), x);
        let z = _mm512_mul_ps(x, x);
        let small = _mm512_fmadd_ps(_mm512_mul_ps(poly(z, TANH_TAIL), z), x, x);
        // (1 - e) / (1 + e) with e = exp(-2 a); beyond 10 it is 1.
        let limited = _mm512_min_ps(_mm512_set1_ps(10.0), a);
        let e = exp_limited(_mm512_mul_ps(limited, _mm512_set1_ps(-2.0)));
        let d = _mm512_add_ps(one, e);
        let q = _mm512_rcp14_ps(d);
        // Newton's step doubles the estimate's 14 bits.
        let q = _mm512_fmadd_ps(q, _mm512_fnmadd_ps(d, q, one), q);
        let top = _mm512_sub_ps(one, e);
        let large = _mm512_mul_ps(top, q);
        // What the division left over.
        let large = _mm512_fmadd_ps(_mm512_fnmadd_ps(large, d, top), q, large);
        let near = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, _mm512_set1_ps(0.625));
        // Small zeros lost x's sign; NaN passes through the larger branch.
        _mm512_or_ps(_mm512_mask_mov_ps(large, near, small), sign)
    }
}
