//! Vectors of x86-64: AVX2 and AVX-512.

use super::Vector;
use super::fold::{Action, act, lanes, padded};
use std::arch::x86_64::*;

macro_rules! vector {
    ($v:ty, $t:ty, $n:literal, $splat:ident, $load:ident, $store:ident, $fma:ident,
     $add:ident, $mul:ident, $max:ident, $min:ident, |$a:ident, $m:ident| $keep_nan:expr,
     |$x:ident, $y:ident| $any_nan:expr, |$p:ident, $k:ident, $rest:ident| $load_part:expr,
     |$f:ident, $how:ident| $fold:expr) => {
        impl Vector for $v {
            type Elem = $t;
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(v: $t) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $splat(v) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller vouches for the instruction set and `LANES` numbers.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn load_part($p: *const $t, $k: usize, $rest: $t) -> Self {
                // SAFETY: the caller vouches for the instruction set and `n` numbers.
                unsafe { $load_part }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller vouches for the instruction set and the room.
                unsafe { $store(p, self) }
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $fma(self, b, c) }
            }
            #[inline(always)]
            unsafe fn add(self, o: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $add(self, o) }
            }
            #[inline(always)]
            unsafe fn mul(self, o: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $mul(self, o) }
            }
            #[inline(always)]
            unsafe fn max(self, o: Self) -> Self {
                // The instruction returns its second operand where either is NaN.
                // SAFETY: the caller vouches for the instruction set.
                unsafe {
                    let ($a, $m) = (self, $max(self, o));
                    $keep_nan
                }
            }
            #[inline(always)]
            unsafe fn min(self, o: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe {
                    let ($a, $m) = (self, $min(self, o));
                    $keep_nan
                }
            }
            #[inline(always)]
            unsafe fn above(self, o: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $max(self, o) }
            }
            #[inline(always)]
            unsafe fn below(self, o: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $min(self, o) }
            }
            #[inline(always)]
            unsafe fn any_nan(self, o: Self) -> bool {
                let ($x, $y) = (self, o);
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $any_nan }
            }
            #[inline(always)]
            unsafe fn fold(self, action: Action) -> $t {
                let ($f, $how) = (self, action);
                // SAFETY: the caller vouches for the instruction set.
                unsafe { $fold }
            }
        }
    };
}
vector!(
    __m256,
    f32,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_max_ps,
    _mm256_min_ps,
    |a, m| _mm256_blendv_ps(m, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a)),
    |x, y| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, y)) != 0,
    |p, n, rest| _mm256_loadu_ps(padded::<f32, 8>(p, n, rest).as_ptr()),
    |v, action| lanes(action, std::mem::transmute::<__m256, [f32; 8]>(v))
);
vector!(
    __m256d,
    f64,
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_max_pd,
    _mm256_min_pd,
    |a, m| _mm256_blendv_pd(m, a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a)),
    |x, y| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(x, y)) != 0,
    |p, n, rest| _mm256_loadu_pd(padded::<f64, 4>(p, n, rest).as_ptr()),
    |v, action| lanes(action, std::mem::transmute::<__m256d, [f64; 4]>(v))
);
vector!(
    __m512,
    f32,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_max_ps,
    _mm512_min_ps,
    |a, m| _mm512_mask_mov_ps(m, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), a),
    |x, y| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, y) != 0,
    |p, n, rest| _mm512_mask_loadu_ps(_mm512_set1_ps(rest), (1 << n) - 1, p),
    |v, action| {
        let (a, b) = (_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
        act(action, a, b).fold(action)
    }
);
vector!(
    __m512d,
    f64,
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_fmadd_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_max_pd,
    _mm512_min_pd,
    |a, m| _mm512_mask_mov_pd(m, _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a), a),
    |x, y| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x, y) != 0,
    |p, n, rest| _mm512_mask_loadu_pd(_mm512_set1_pd(rest), (1 << n) - 1, p),
    |v, action| {
        let (a, b) = (_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd::<1>(v));
        act(action, a, b).fold(action)
    }
);

/// `dst[i * ds + j] = src[i + j * ss]` for i, j < 8, where j beyond `last` reads `last`
/// again.
///
/// # Safety
/// The processor has AVX2; both sides cover the tile, `src` up to j = `last`.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn transpose8(dst: *mut f32, ds: isize, src: *const f32, ss: isize, last: isize) {
    // SAFETY: the caller vouches for 8 numbers at each address that is used.
    unsafe {
        let r: [__m256; 8] =
            std::array::from_fn(|k| _mm256_loadu_ps(src.offset((k as isize).min(last) * ss)));
        // Pairs of rows, then quarters, then halves.
        let lo = |a, b| _mm256_unpacklo_ps(a, b);
        let hi = |a, b| _mm256_unpackhi_ps(a, b);
        let t = [
            lo(r[0], r[1]),
            hi(r[0], r[1]),
            lo(r[2], r[3]),
            hi(r[2], r[3]),
            lo(r[4], r[5]),
            hi(r[4], r[5]),
            lo(r[6], r[7]),
            hi(r[6], r[7]),
        ];
        let low = |a, b| _mm256_shuffle_ps::<0x44>(a, b);
        let high = |a, b| _mm256_shuffle_ps::<0xee>(a, b);
        let u = [
            low(t[0], t[2]),
            high(t[0], t[2]),
            low(t[1], t[3]),
            high(t[1], t[3]),
            low(t[4], t[6]),
            high(t[4], t[6]),
            low(t[5], t[7]),
            high(t[5], t[7]),
        ];
        // In rising order: packing lets a row's store run into the next row's place.
        for k in 0..4 {
            let v = _mm256_permute2f128_ps::<0x20>(u[k], u[k + 4]);
            _mm256_storeu_ps(dst.offset(k as isize * ds), v);
        }
        for k in 0..4 {
            let v = _mm256_permute2f128_ps::<0x31>(u[k], u[k + 4]);
            _mm256_storeu_ps(dst.offset((k as isize + 4) * ds), v);
        }
    }
}

/// Vectors of whole numbers: one register type serves them all, so each has a type of its own.
macro_rules! whole {
    ($name:ident, $v:ty, $t:ty, $n:literal, $splat:ident, $add:ident,
     |$a:ident, $b:ident| $max:expr, $min:expr, $load:expr, $store:expr) => {
        #[derive(Clone, Copy)]
        pub struct $name($v);

        impl Vector for $name {
            type Elem = $t;
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(v: $t) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                $name(unsafe { $splat(v) })
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller vouches for the instruction set and `LANES` numbers.
                $name(unsafe { $load(p.cast()) })
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, n: usize, rest: $t) -> Self {
                // SAFETY: the caller vouches for the instruction set and `n` numbers.
                unsafe { Self::load(padded::<$t, $n>(p, n, rest).as_ptr()) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller vouches for the instruction set and the room.
                unsafe { $store(p.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                // SAFETY: passed on to the caller.
                unsafe { self.mul(b).add(c) }
            }
            #[inline(always)]
            unsafe fn add(self, o: Self) -> Self {
                // SAFETY: the caller vouches for the instruction set.
                $name(unsafe { $add(self.0, o.0) })
            }
            #[inline(always)]
            unsafe fn mul(self, o: Self) -> Self {
                // SAFETY: arrays and registers of one size.
                unsafe {
                    let a = std::mem::transmute::<$v, [$t; $n]>(self.0);
                    let b = std::mem::transmute::<$v, [$t; $n]>(o.0);
                    let c: [$t; $n] = std::array::from_fn(|i| a[i].wrapping_mul(b[i]));
                    $name(std::mem::transmute::<[$t; $n], $v>(c))
                }
            }
            #[inline(always)]
            unsafe fn max(self, o: Self) -> Self {
                let ($a, $b) = (self.0, o.0);
                // SAFETY: the caller vouches for the instruction set.
                $name(unsafe { $max })
            }
            #[inline(always)]
            unsafe fn min(self, o: Self) -> Self {
                let ($a, $b) = (self.0, o.0);
                // SAFETY: the caller vouches for the instruction set.
                $name(unsafe { $min })
            }
            #[inline(always)]
            unsafe fn fold(self, action: Action) -> $t {
                // SAFETY: an array and a register of one size.
                lanes(action, unsafe { std::mem::transmute::<$v, [$t; $n]>(self.0) })
            }
        }
    };
}
whole!(
    I32x8,
    __m256i,
    i32,
    8,
    _mm256_set1_epi32,
    _mm256_add_epi32,
    |a, b| _mm256_max_epi32(a, b),
    _mm256_min_epi32(a, b),
    _mm256_loadu_si256,
    _mm256_storeu_si256
);
whole!(
    I64x4,
    __m256i,
    i64,
    4,
    _mm256_set1_epi64x,
    _mm256_add_epi64,
    |a, b| _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)),
    _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)),
    _mm256_loadu_si256,
    _mm256_storeu_si256
);
whole!(
    I32x16,
    __m512i,
    i32,
    16,
    _mm512_set1_epi32,
    _mm512_add_epi32,
    |a, b| _mm512_max_epi32(a, b),
    _mm512_min_epi32(a, b),
    _mm512_loadu_si512,
    _mm512_storeu_si512
);
whole!(
    I64x8,
    __m512i,
    i64,
    8,
    _mm512_set1_epi64,
    _mm512_add_epi64,
    |a, b| _mm512_max_epi64(a, b),
    _mm512_min_epi64(a, b),
    _mm512_loadu_si512,
    _mm512_storeu_si512
);
