//! Loops written with AVX-512 instructions that no scalar source leads to: scaling by a power of
//! two spares exp its two steps, and tables that lie in registers spare tanh its exp and its division.
//!
//! Invariant: exp gives the same bits as [`crate::math::exp`]; tanh has an error of its own, below
//! that of [`crate::math::tanh`].

use super::loops::Loop;
use mlrun_tensor_core::Op;

/// The loop for a float32 row on this processor, where one is here.
pub fn row(op: Op) -> Option<Loop> {
    #[cfg(target_arch = "x86_64")]
    if crate::isa::level() == crate::isa::Level::Avx512 {
        return match op {
            Op::Exp => Some(x86::exp),
            Op::Tanh => Some(x86::tanh),
            _ => None,
        };
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
        unsafe { run_exp(out.cast(), ins[0].cast(), n) }
    }

    /// # Safety
    /// As [`exp`].
    pub unsafe fn tanh(out: *mut u8, ins: [*const u8; 3], n: usize, _: &Params) {
        // SAFETY: passed on to the caller.
        unsafe { run_tanh(out.cast(), ins[0].cast(), n) }
    }

    /// Applies `$f` to vectors, the last one masked.
    macro_rules! each_vector {
        ($out:ident, $x:ident, $n:ident, |$v:ident| $f:expr) => {{
            let whole = $n / 16 * 16;
            // SAFETY: the caller vouches for `n` numbers; the mask keeps to them.
            unsafe {
                for i in (0..whole).step_by(16) {
                    let $v = _mm512_loadu_ps($x.add(i));
                    _mm512_storeu_ps($out.add(i), $f);
                }
                if whole < $n {
                    let mask = (1u16 << ($n - whole)) - 1;
                    let $v = _mm512_maskz_loadu_ps(mask, $x.add(whole));
                    _mm512_mask_storeu_ps($out.add(whole), mask, $f);
                }
            }
        }};
    }

    /// # Safety
    /// As [`exp`].
    #[target_feature(enable = "avx512f")]
    unsafe fn run_exp(out: *mut f32, x: *const f32, n: usize) {
        each_vector!(out, x, n, |v| exp16(v));
    }

    /// # Safety
    /// As [`exp`].
    #[target_feature(enable = "avx512f")]
    unsafe fn run_tanh(out: *mut f32, x: *const f32, n: usize) {
        // SAFETY: each row of the table is two vectors.
        let table = TANH
            .map(|c| unsafe { [_mm512_loadu_ps(c.as_ptr()), _mm512_loadu_ps(c.as_ptr().add(16))] });
        each_vector!(out, x, n, |v| tanh16(v, &table));
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

    /// The first interval of tanh's table ends here; the others are quarters of an octave, so that
    /// a number's upper bits tell its interval.
    const TANH_FIRST: f32 = 0.125;
    const TANH_BITS: i32 = 21;
    /// From here on the result is 1.
    const TANH_ONE: f32 = 16.0;

    /// tanh on [0, 16) in powers of the distance from an interval's middle, from 0 in the first
    /// one, 2^-24.3 relative at most. Power by power, for 32 intervals.
    #[rustfmt::skip]
    const TANH: [[f32; 32]; 7] = [
        [0.0, 0.1397053, 0.17020231, 0.20037672, 0.2301757, 0.2740616, 0.33082113, 0.38528398, 0.43718877, 0.50983, 0.59637356, 0.6709671, 0.7340715, 0.8093011, 0.8798267, 0.9253462, 0.95404524, 0.9780261, 0.99185973, 0.99699765, 0.99889445, 0.99975324, 0.9999666, 0.99999547, 0.9999994, 0.99999994, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [1.0, 0.9804824, 0.9710312, 0.9598492, 0.9470191, 0.9248903, 0.8905574, 0.8515563, 0.80886596, 0.74007344, 0.6443386, 0.5498032, 0.461139, 0.34503177, 0.22590499, 0.14373437, 0.08979764, 0.043464918, 0.016214287, 0.0059957155, 0.0022098925, 0.00049351744, 6.680493e-5, 9.041334e-6, 1.2236164e-6, 6.094727e-8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, -0.13680424, -0.16572885, -0.19238198, -0.21746337, -0.25350186, -0.29477826, -0.3282778, -0.3534337, -0.37741855, -0.38427758, -0.3690246, -0.33839002, -0.27924377, -0.1987852, -0.13297045, -0.08564369, -0.042503364, -0.016084984, -0.0059831087, -0.002210388, -0.00049520785, -6.852638e-5, -8.378998e-6, -2.3455502e-6, 4.5778938e-7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-0.3333277, -0.30663756, -0.2960361, -0.28167126, -0.26382717, -0.23903358, -0.19951484, -0.15778536, -0.11500805, -0.054442216, 0.014349481, 0.06423827, 0.09478808, 0.11097697, 0.09956527, 0.07516305, 0.051802684, 0.027087672, 0.0105464775, 0.003961045, 0.0014683194, 0.00032859948, 4.450224e-5, 6.0232783e-6, 8.151726e-7, 4.0130853e-8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, -1.7276785, 5.0078187, 0.65347373, -5.3700624, 0.21315385, 0.60126364, 0.66552293, -0.35371655, 0.2238274, 0.12665339, 0.16402161, -0.03712148, 0.0048199682, -0.016658867, -0.030898219, -0.025485292, -0.012595981, -0.0049868533, -0.0017284309, -0.0006065763, -0.00014507749, -4.0214286e-6, -1.0017837e-5, 1.1461177e-5, -1.3919971e-6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.13216753, -4.5986824, 3.0478334, 1.1604276, -6.7066936, 0.2695246, 0.19845395, 0.35031757, -0.0505501, -0.012271116, -0.052055016, -0.057747852, -0.05657959, -0.03214589, -0.009133841, 0.0014410585, 0.004547257, 0.0039781695, 0.0019118435, 0.0007696939, 0.00029224943, 6.770729e-5, 9.223428e-6, 1.2493268e-6, 1.6909856e-7, 9.3695665e-9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 4775.0386, -13177.639, -1420.7943, 14776.157, -40.419617, -293.6811, -332.11646, 353.04358, -11.73623, -1.1693058, -14.225374, 13.643414, -0.04741159, -0.18720286, 0.24498788, 0.19668572, 0.0021778136, -0.0017422548, -0.0026656971, -0.0014147882, -7.28536e-5, -5.1417643e-5, 1.817406e-5, -3.1528187e-5, 9.0635774e-7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ];

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn tanh16(x: __m512, table: &[[__m512; 2]; 7]) -> __m512 {
        let sign = _mm512_castps_si512(_mm512_set1_ps(-0.0));
        let positive = _mm512_castsi512_ps(_mm512_andnot_si512(sign, _mm512_castps_si512(x)));
        // The bound stands first: the instruction then passes NaN on, here and through all powers.
        let t = _mm512_min_ps(_mm512_set1_ps(TANH_ONE), positive);
        let bits = _mm512_castps_si512(t);
        let upper = _mm512_srli_epi32::<{ TANH_BITS as u32 }>(bits);
        let first = (TANH_FIRST.to_bits() >> TANH_BITS) as i32 - 1;
        let at = _mm512_sub_epi32(upper, _mm512_set1_epi32(first));
        let at = _mm512_max_epi32(at, _mm512_setzero_si512());
        let at = _mm512_min_epi32(at, _mm512_set1_epi32(31));
        let half = _mm512_set1_epi32(1 << (TANH_BITS - 1));
        let kept = _mm512_and_si512(bits, _mm512_set1_epi32(-1 << TANH_BITS));
        let middle = _mm512_castsi512_ps(_mm512_or_si512(kept, half));
        let beyond = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(t, _mm512_set1_ps(TANH_FIRST));
        let d = _mm512_sub_ps(t, _mm512_maskz_mov_ps(beyond, middle));
        let c = |k: usize| _mm512_permutex2var_ps(table[k][0], at, table[k][1]);
        let mut y = c(6);
        for k in (0..6).rev() {
            y = _mm512_fmadd_ps(y, d, c(k));
        }
        // x's sign bit, all others from y.
        let (y, x) = (_mm512_castps_si512(y), _mm512_castps_si512(x));
        _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xd8>(y, x, sign))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn tanh_is_near_everywhere_and_alike_in_tails() {
            if crate::isa::level() != crate::isa::Level::Avx512 {
                return;
            }
            let mut values: Vec<f32> =
                (0..u32::MAX / 4099).map(|i| f32::from_bits(i * 4099)).collect();
            values.extend((0..200_000).map(|i| (i as f32 - 100_000.0) * 1.1e-4));
            values.extend([
                0.0,
                -0.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
                0.125,
                16.0,
                1e-45,
            ]);
            let run = |x: &[f32]| {
                let mut y = vec![0f32; x.len()];
                // SAFETY: both have as many numbers, and the processor was asked.
                unsafe { tanh(y.as_mut_ptr().cast(), [x.as_ptr().cast(); 3], x.len(), &[0.0; 4]) };
                y
            };
            for (x, y) in values.iter().zip(run(&values)) {
                let want = (*x as f64).tanh();
                if x.is_nan() {
                    assert!(y.is_nan());
                    continue;
                }
                let ulp = f32::from_bits((want as f32).abs().to_bits() + 1) - (want as f32).abs();
                let error = (y as f64 - want).abs() / ulp as f64;
                assert!(error <= 1.4 && y.is_sign_negative() == x.is_sign_negative(), "{x}: {y}");
                assert!(y.abs() <= 1.0, "{x}: {y}");
            }
            for n in 1..=17 {
                for x in [-0.3f32, 0.01, 2.5, f32::NAN, 40.0] {
                    let all = run(&vec![x; n]);
                    assert!(all.iter().all(|y| y.to_bits() == run(&[x])[0].to_bits()), "{x} {n}");
                }
            }
        }
    }
}
