//! Loops written with AVX-512 instructions that no scalar source leads to: scaling by a power of
//! two spares exp its two steps.
//!
//! Invariant: the same bits as [`crate::math::exp`].

use super::loops::Loop;
use mlrun_tensor_core::Op;

/// The loop for a float32 row on this processor, where one is here.
pub fn row(op: Op) -> Option<Loop> {
    #[cfg(target_arch = "x86_64")]
    if op == Op::Exp && crate::isa::level() == crate::isa::Level::Avx512 {
        return Some(x86::exp);
    }
    let _ = op;
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::elementwise::Params;
    use crate::math::{EXP_TAIL, LN2_HI, LN2_LO, LOG2E, ROUND32};
    use std::arch::x86_64::*;

    /// # Safety
    /// As [`super::Loop`]; the processor has AVX-512.
    pub unsafe fn exp(out: *mut u8, ins: [*const u8; 3], n: usize, _: &Params) {
        // SAFETY: passed on to the caller.
        unsafe { run(out.cast(), ins[0].cast(), n) }
    }

    /// The last vector is masked.
    ///
    /// # Safety
    /// As [`exp`].
    #[target_feature(enable = "avx512f")]
    unsafe fn run(out: *mut f32, x: *const f32, n: usize) {
        let whole = n / 16 * 16;
        // SAFETY: the caller vouches for `n` numbers; the mask keeps to them.
        unsafe {
            for i in (0..whole).step_by(16) {
                _mm512_storeu_ps(out.add(i), exp16(_mm512_loadu_ps(x.add(i))));
            }
            if whole < n {
                let mask = (1u16 << (n - whole)) - 1;
                let v = exp16(_mm512_maskz_loadu_ps(mask, x.add(whole)));
                _mm512_mask_storeu_ps(out.add(whole), mask, v);
            }
        }
    }

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

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn exp16(x: __m512) -> __m512 {
        // The bound stands first: the instruction then passes NaN on.
        let x = _mm512_max_ps(_mm512_set1_ps(-105.0), x);
        let x = _mm512_min_ps(_mm512_set1_ps(89.5), x);
        let t = _mm512_fmadd_ps(x, _mm512_set1_ps(LOG2E), _mm512_set1_ps(ROUND32));
        let n = _mm512_sub_ps(t, _mm512_set1_ps(ROUND32));
        let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN2_HI), x);
        let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN2_LO), r);
        let y = _mm512_fmadd_ps(poly(r, EXP_TAIL), _mm512_mul_ps(r, r), r);
        _mm512_scalef_ps(_mm512_add_ps(y, _mm512_set1_ps(1.0)), n)
    }
}
