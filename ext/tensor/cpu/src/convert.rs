//! Elements from one dtype, layout or place to another.

use crate::copy;
use crate::isa::{Isa, Kernel, dispatch};
use mlrun_tensor_core::DType;

/// Copies `n` elements that lie `step` bytes apart into a buffer; halves become float32.
///
/// # Safety
/// `src` covers the elements, `dst` has room for `n` of the resulting ones.
pub unsafe fn gather(dst: *mut u8, src: *const u8, step: isize, dtype: DType, n: usize) {
    macro_rules! plain {
        ($t:ty) => {{
            let (dst, size) = (dst.cast::<$t>(), size_of::<$t>() as isize);
            // SAFETY: the caller vouches for both ranges; elements are aligned to their size.
            unsafe {
                if step == size {
                    std::ptr::copy_nonoverlapping(src.cast::<$t>(), dst, n);
                } else if step == 0 {
                    let v = *src.cast::<$t>();
                    (0..n).for_each(|i| *dst.add(i) = v);
                } else if step == -size {
                    dispatch(Backwards { dst, src: src.cast::<$t>(), n });
                } else {
                    for i in 0..n {
                        *dst.add(i) = *src.offset(i as isize * step).cast::<$t>();
                    }
                }
            }
        }};
    }
    match dtype {
        DType::F16 | DType::BF16 => {
            dispatch(Widen { dst: dst.cast(), src, step, brain: dtype == DType::BF16, n })
        }
        d => match d.size() {
            1 => plain!(u8),
            2 => plain!(u16),
            4 => plain!(u32),
            _ => plain!(u64),
        },
    }
}

/// The reverse of [`gather`].
///
/// # Safety
/// `dst` covers the elements, `src` holds `n` of them (float32 for halves).
pub unsafe fn scatter(dst: *mut u8, step: isize, dtype: DType, src: *const u8, n: usize) {
    macro_rules! plain {
        ($t:ty) => {{
            let (src, size) = (src.cast::<$t>(), size_of::<$t>() as isize);
            // SAFETY: the caller vouches for both ranges; elements are aligned to their size.
            unsafe {
                if step == size {
                    std::ptr::copy_nonoverlapping(src, dst.cast::<$t>(), n);
                } else {
                    for i in 0..n {
                        *dst.offset(i as isize * step).cast::<$t>() = *src.add(i);
                    }
                }
            }
        }};
    }
    match dtype {
        DType::F16 | DType::BF16 => {
            dispatch(Narrow { dst, src: src.cast(), step, brain: dtype == DType::BF16, n })
        }
        d => match d.size() {
            1 => plain!(u8),
            2 => plain!(u16),
            4 => plain!(u32),
            _ => plain!(u64),
        },
    }
}

/// `dst[i] = src[-i]`.
struct Backwards<T> {
    dst: *mut T,
    src: *const T,
    n: usize,
}

impl<T: Copy> Kernel for Backwards<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // SAFETY: the caller of `gather` vouches for both ranges.
        (0..self.n).for_each(|i| unsafe { *self.dst.add(i) = *self.src.sub(i) });
    }
}

struct Widen {
    dst: *mut f32,
    src: *const u8,
    step: isize,
    brain: bool,
    n: usize,
}

impl Kernel for Widen {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Widen { dst, src, step, brain, n } = self;
        // SAFETY: the caller of `gather` vouches for both ranges.
        unsafe {
            if step == 2 {
                // Loops of their own: a step that only the run knows is not vectorised.
                let (src, first) = (src.cast::<u16>(), packed::widened::<I>(dst, src, brain, n));
                if brain {
                    (first..n).for_each(|i| *dst.add(i) = widen_bf16(*src.add(i)));
                } else {
                    (first..n).for_each(|i| *dst.add(i) = widen_f16(*src.add(i)));
                }
                return;
            }
            for i in 0..n {
                let bits = *src.offset(i as isize * step).cast::<u16>();
                *dst.add(i) = if brain { widen_bf16(bits) } else { widen_f16(bits) };
            }
        }
    }
}

struct Narrow {
    dst: *mut u8,
    src: *const f32,
    step: isize,
    brain: bool,
    n: usize,
}

impl Kernel for Narrow {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Narrow { dst, src, step, brain, n } = self;
        // SAFETY: the caller of `scatter` vouches for both ranges.
        unsafe {
            if step == 2 {
                let (dst, first) = (dst.cast::<u16>(), packed::narrowed::<I>(dst, src, brain, n));
                if brain {
                    (first..n).for_each(|i| *dst.add(i) = narrow_bf16(*src.add(i)));
                } else {
                    (first..n).for_each(|i| *dst.add(i) = narrow_f16(*src.add(i)));
                }
                return;
            }
            for i in 0..n {
                let v = *src.add(i);
                let bits = if brain { narrow_bf16(v) } else { narrow_f16(v) };
                *dst.offset(i as isize * step).cast::<u16>() = bits;
            }
        }
    }
}

/// float16 by the processor's own conversions, eight at a time: how many elements that did.
mod packed {
    use crate::isa::{Isa, Level};

    /// # Safety
    /// The code runs in a function compiled for `I`; both sides cover `n` elements.
    #[inline(always)]
    pub unsafe fn widened<I: Isa>(dst: *mut f32, src: *const u8, brain: bool, n: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if !brain && I::LEVEL >= Level::Avx2 {
            use std::arch::x86_64::*;
            let whole = n / 8 * 8;
            for i in (0..whole).step_by(8) {
                // SAFETY: the level has F16C; the caller vouches for the elements.
                unsafe {
                    let halves = _mm_loadu_si128(src.add(2 * i).cast());
                    _mm256_storeu_ps(dst.add(i), _mm256_cvtph_ps(halves));
                }
            }
            return whole;
        }
        let _ = (dst, src, brain, n, Level::Base);
        0
    }

    /// # Safety
    /// As [`widened`].
    #[inline(always)]
    pub unsafe fn narrowed<I: Isa>(dst: *mut u8, src: *const f32, brain: bool, n: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if !brain && I::LEVEL >= Level::Avx2 {
            use std::arch::x86_64::*;
            let whole = n / 8 * 8;
            for i in (0..whole).step_by(8) {
                // SAFETY: as in `widened`; 0 rounds half to even.
                unsafe {
                    let halves = _mm256_cvtps_ph::<0>(_mm256_loadu_ps(src.add(i)));
                    _mm_storeu_si128(dst.add(2 * i).cast(), halves);
                }
            }
            return whole;
        }
        let _ = (dst, src, brain, n, Level::Base);
        0
    }
}

#[inline(always)]
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// Rounds half to even; NaN stays NaN.
#[inline(always)]
fn narrow_bf16(v: f32) -> u16 {
    let bits = v.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if v.is_nan() { ((bits >> 16) | 0x40) as u16 } else { rounded as u16 }
}

/// By integer arithmetic without branches, so that it vectorises on every target.
#[inline(always)]
fn widen_f16(bits: u16) -> f32 {
    let h = bits as u32;
    let sign = (h & 0x8000) << 16;
    let body = (h & 0x7fff) << 13;
    // Shifts the exponent's bias by a multiplication, which handles denormals too.
    let v = f32::from_bits(body) * f32::from_bits(0x7780_0000);
    let special = h & 0x7c00 == 0x7c00;
    let out = if special { body | 0x7f80_0000 } else { v.to_bits() };
    f32::from_bits(out | sign)
}

/// Rounds half to even; NaN stays NaN.
#[inline(always)]
fn narrow_f16(v: f32) -> u16 {
    let sign = (v.to_bits() >> 16) & 0x8000;
    let a = v.abs();
    let bits = a.to_bits();
    // Normal results: round the mantissa, re-bias the exponent.
    let normal = bits.wrapping_add(0xfff + ((bits >> 13) & 1)).wrapping_sub(0x3800_0000) >> 13;
    // Denormal results: adding 0.5 leaves the rounded value in the low bits.
    let small = (a + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let h = if a < 6.103_515_6e-5 { small } else { normal };
    let h = if bits >= 0x477f_f000 { 0x7c00 } else { h };
    let h = if a.is_nan() { 0x7e00 } else { h };
    (h | sign) as u16
}

/// Conversion between element types with C's and PyTorch's meaning: floats truncate towards
/// zero (and saturate where C leaves it open), integers wrap.
pub trait CastTo<T> {
    fn cast_to(self) -> T;
}

macro_rules! casts {
    ($from:ty => $($to:ty),*) => {
        $(impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast_to(self) -> $to { self as $to }
        })*
    };
}
casts!(f32 => f32, f64, i32, i64);
casts!(f64 => f32, f64, i32, i64);
casts!(i8 => f32, f64, i8, u8, i16, i32, i64);
casts!(u8 => f32, f64, i8, u8, i16, i32, i64);
casts!(i16 => f32, f64, i8, u8, i16, i32, i64);
casts!(i32 => f32, f64, i8, u8, i16, i32, i64);
casts!(i64 => f32, f64, i8, u8, i16, i32, i64);
/// Floats go to short integers by way of int32, as compilers do it for PyTorch: 300.0 wraps.
macro_rules! short_casts {
    ($from:ty => $($to:ty),*) => {
        $(impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast_to(self) -> $to { self as i32 as $to }
        })*
    };
}
short_casts!(f32 => i8, u8, i16);
short_casts!(f64 => i8, u8, i16);

/// Converts `n` contiguous elements. Halves are converted in float32.
///
/// # Safety
/// `src` covers `n` elements of `from`, `dst` of `to`; they do not overlap.
pub unsafe fn cast(dst: *mut u8, to: DType, src: *const u8, from: DType, n: usize) {
    if from == to {
        // SAFETY: passed on to the caller.
        return unsafe { copy::bytes(dst, src, n * to.size()) };
    }
    let half = |d: DType| matches!(d, DType::F16 | DType::BF16);
    if (half(from) && to != DType::F32) || (half(to) && from != DType::F32) {
        // Through float32, block by block.
        let mut wide = [0f32; 256];
        let via = wide.as_mut_ptr().cast::<u8>();
        for at in (0..n).step_by(wide.len()) {
            let m = wide.len().min(n - at);
            // SAFETY: both ranges hold `m` more elements from `at` on.
            unsafe {
                cast(via, DType::F32, src.add(at * from.size()), from, m);
                cast(dst.add(at * to.size()), to, via, DType::F32, m);
            }
        }
        return;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        match from {
            DType::F16 | DType::BF16 => gather(dst, src, 2, from, n),
            DType::F32 if half(to) => scatter(dst, 2, to, src, n),
            DType::F32 => cast_from::<f32>(dst, to, src.cast(), n),
            DType::F64 => cast_from::<f64>(dst, to, src.cast(), n),
            DType::I8 => cast_from::<i8>(dst, to, src.cast(), n),
            DType::U8 | DType::Bool => cast_from::<u8>(dst, to, src, n),
            DType::I16 => cast_from::<i16>(dst, to, src.cast(), n),
            DType::I32 => cast_from::<i32>(dst, to, src.cast(), n),
            DType::I64 => cast_from::<i64>(dst, to, src.cast(), n),
        }
    }
}

trait CastAll:
    Copy
    + PartialEq
    + Default
    + CastTo<f32>
    + CastTo<f64>
    + CastTo<i8>
    + CastTo<u8>
    + CastTo<i16>
    + CastTo<i32>
    + CastTo<i64>
{
}
impl<T> CastAll for T where
    T: Copy
        + PartialEq
        + Default
        + CastTo<f32>
        + CastTo<f64>
        + CastTo<i8>
        + CastTo<u8>
        + CastTo<i16>
        + CastTo<i32>
        + CastTo<i64>
{
}

/// # Safety
/// As [`cast`]; `to` is no half.
unsafe fn cast_from<S: CastAll>(dst: *mut u8, to: DType, src: *const S, n: usize) {
    macro_rules! to {
        ($t:ty) => {
            dispatch(CastLoop { dst: dst.cast::<$t>(), src, n })
        };
    }
    match to {
        DType::F64 => to!(f64),
        DType::I8 => to!(i8),
        DType::U8 => to!(u8),
        DType::I16 => to!(i16),
        DType::I32 => to!(i32),
        DType::I64 => to!(i64),
        DType::Bool => dispatch(TruthLoop { dst, src, n }),
        DType::F32 | DType::F16 | DType::BF16 => to!(f32),
    }
}

struct CastLoop<S, D> {
    dst: *mut D,
    src: *const S,
    n: usize,
}

impl<S: CastTo<D> + Copy, D> Kernel for CastLoop<S, D> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for i in 0..self.n {
            // SAFETY: the caller of `cast` vouches for both ranges.
            unsafe { *self.dst.add(i) = (*self.src.add(i)).cast_to() };
        }
    }
}

struct TruthLoop<S> {
    dst: *mut u8,
    src: *const S,
    n: usize,
}

impl<S: PartialEq + Default + Copy> Kernel for TruthLoop<S> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for i in 0..self.n {
            // SAFETY: the caller of `cast` vouches for both ranges.
            unsafe { *self.dst.add(i) = (*self.src.add(i) != S::default()) as u8 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_half_survives_the_way_to_float32_and_back() {
        for bits in 0..=u16::MAX {
            let h = f16::from_bits(bits);
            let w = widen_f16(bits);
            assert!(w == h.to_f32() || (w.is_nan() && h.is_nan()), "{bits:x}");
            if !w.is_nan() {
                assert_eq!(narrow_f16(w), bits);
                if bf16::from_bits(bits).is_finite() {
                    assert_eq!(narrow_bf16(widen_bf16(bits)), bits);
                }
            }
        }
        assert!(f16::from_bits(narrow_f16(f32::NAN)).is_nan());
        assert!(bf16::from_bits(narrow_bf16(f32::NAN)).is_nan());
    }

    #[test]
    fn halves_round_as_the_reference_does() {
        let mut x = 1u32;
        for _ in 0..2_000_000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let v = f32::from_bits(x);
            if v.is_nan() {
                continue;
            }
            assert_eq!(narrow_f16(v), f16::from_f32(v).to_bits(), "{v:e}");
            assert_eq!(narrow_bf16(v), bf16::from_f32(v).to_bits(), "{v:e}");
        }
    }

    /// Elements side by side, which whole vectors convert, get what single ones get.
    #[test]
    fn packed_halves_are_those_of_single_elements() {
        for dtype in [DType::F16, DType::BF16] {
            let bits: Vec<u16> = (0..=u16::MAX).collect();
            let mut wide = vec![0f32; bits.len()];
            let mut back = vec![0u16; bits.len()];
            // SAFETY: all three have as many elements.
            unsafe {
                gather(wide.as_mut_ptr().cast(), bits.as_ptr().cast(), 2, dtype, bits.len());
                scatter(back.as_mut_ptr().cast(), 2, dtype, wide.as_ptr().cast(), bits.len());
            }
            for ((h, w), b) in bits.iter().zip(&wide).zip(&back) {
                let one = if dtype == DType::F16 { widen_f16(*h) } else { widen_bf16(*h) };
                assert!(*w == one && b == h || one.is_nan() && w.is_nan(), "{dtype} {h:x}");
            }
            let mut x = 1u32;
            let random: Vec<f32> = (0..1_000_003)
                .map(|_| {
                    x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    f32::from_bits(x)
                })
                .collect();
            let mut packed = vec![0u16; random.len()];
            // SAFETY: both have as many elements.
            unsafe {
                scatter(packed.as_mut_ptr().cast(), 2, dtype, random.as_ptr().cast(), random.len());
            }
            for (v, h) in random.iter().zip(&packed) {
                let one = if dtype == DType::F16 { narrow_f16(*v) } else { narrow_bf16(*v) };
                assert!(*h == one || v.is_nan(), "{dtype} {v:e}");
            }
        }
    }

    #[test]
    fn casts_follow_pytorch() {
        let src = [300.7f32, -1.5, 0.0, 2.0];
        let mut u = [9u8; 4];
        // SAFETY: four elements each.
        unsafe { cast(u.as_mut_ptr(), DType::U8, src.as_ptr().cast(), DType::F32, 4) };
        assert_eq!(u, [44, 255, 0, 2]);
        // SAFETY: four elements each.
        unsafe { cast(u.as_mut_ptr(), DType::Bool, src.as_ptr().cast(), DType::F32, 4) };
        assert_eq!(u, [1, 1, 0, 1]);
        let wide = [i64::MAX, -1, 256, 7];
        // SAFETY: four elements each.
        unsafe { cast(u.as_mut_ptr(), DType::U8, wide.as_ptr().cast(), DType::I64, 4) };
        assert_eq!(u, [255, 255, 0, 7]);
    }
}
