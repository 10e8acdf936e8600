//! Branch-free float32 functions that vectorise: each is straight-line arithmetic with selects,
//! so a lane's result does not depend on its place in a vector or in the tail.
//!
//! Functions that dominate training time (exp, log, tanh, sigmoid, erf) work in float32; the
//! rest evaluate in float64 and round once, which costs half the lanes and gives 0.51 ulp.
//! Polynomials are weighted least-squares minimax fits (Lawson's algorithm at 40 digits); the
//! comment beside each states interval and error. Argument reductions are Cody and Waite,
//! "Software Manual for the Elementary Functions" (1980).
//!
//! Deliberately not here: sin, cos and tan beyond [`TRIG_LIMIT`]; [`crate::lanes::Exact`] serves
//! those.

use crate::isa::Isa;

/// Largest |x| for which the reduction of sin, cos and tan is exact enough: 2^28.
pub const TRIG_LIMIT: f32 = 268_435_456.0;

pub(crate) const LOG2E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts; the first has 15 significant bits, so n * LN2_HI is exact.
pub(crate) const LN2_HI: f32 = 0.693_145_75;
pub(crate) const LN2_LO: f32 = 1.428_606_8e-6;
/// Adding it rounds to the nearest whole number, which stands in the low bits.
pub(crate) const ROUND32: f32 = 12_582_912.0;
const ROUND64: f64 = 6_755_399_441_055_744.0;

/// Evaluates the polynomial `c[0] + c[1] x + ...`.
#[inline(always)]
fn poly<I: Isa, const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut y = c[N - 1];
    for i in (0..N - 1).rev() {
        y = I::fma(y, x, c[i]);
    }
    y
}

#[inline(always)]
fn poly64<I: Isa, const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut y = c[N - 1];
    for i in (0..N - 1).rev() {
        y = I::fma64(y, x, c[i]);
    }
    y
}

/// `x` limited to `[lo, hi]`; NaN stays.
#[inline(always)]
fn limit(x: f32, lo: f32, hi: f32) -> f32 {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

#[inline(always)]
fn limit64(x: f64, lo: f64, hi: f64) -> f64 {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

/// `(n, r)` with x = n ln 2 + r, |r| <= ln 2 / 2; `n` as the low bits of the rounding constant.
#[inline(always)]
fn reduce_exp<I: Isa>(x: f32) -> (i32, f32) {
    let t = I::fma(x, LOG2E, ROUND32);
    let n = t - ROUND32;
    let r = I::fma(n, -LN2_LO, I::fma(n, -LN2_HI, x));
    ((t.to_bits() as i32).wrapping_sub(ROUND32.to_bits() as i32), r)
}

/// (exp(r) - 1 - r) / r^2 on |r| <= 0.3535, 2^-34.
pub(crate) const EXP_TAIL: [f32; 6] =
    [0.5, 0.166_666_66, 0.041_666_265, 0.008_333_474, 0.001_394_684_2, 0.000_198_060_86];

/// e^x.
#[inline(always)]
pub fn exp<I: Isa>(x: f32) -> f32 {
    // Beyond these the result is 0 or infinity, and n stays in range of two scalings.
    let (n, r) = reduce_exp::<I>(limit(x, -105.0, 89.5));
    let y = I::fma(poly::<I, 6>(r, EXP_TAIL), r * r, r) + 1.0;
    // Two steps, so that denormal results round once and n = 128 does not overflow early.
    let half = n >> 1;
    y * pow2(half) * pow2(n.wrapping_sub(half))
}

/// e^x for x <= 0: no overflow, results below about 2^-126 become 0. For sums where that is
/// exact enough (softmax, tanh, erf).
#[inline(always)]
pub fn exp_nonpositive<I: Isa>(x: f32) -> f32 {
    // At the bound n is -127, whose power of two has zero bits: the result is 0 by itself.
    let (n, r) = reduce_exp::<I>(if x < -88.0 { -88.0 } else { x });
    let y = I::fma(poly::<I, 6>(r, EXP_TAIL), r * r, r) + 1.0;
    y * pow2(n)
}

/// 2^n for -126 <= n <= 127, 0 for n = -127.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

#[inline(always)]
fn pow2_64(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) as u64) << 52)
}

/// (log(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1], 2^-30.
const LOG_TAIL: [f32; 9] = [
    0.333_333_12,
    -0.250_000_1,
    0.200_021_43,
    -0.166_680_19,
    0.142_191_6,
    -0.124_048_7,
    0.118_899_18,
    -0.116_802_625,
    0.067_485_68,
];

/// Natural logarithm.
#[inline(always)]
pub fn log<I: Isa>(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let v = if tiny { x * 8_388_608.0 } else { x };
    let bits = v.to_bits();
    // Split so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    let shifted = bits.wrapping_sub(0x3f35_04f3);
    let e = (shifted as i32) >> 23;
    let m = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let e = e as f32 - if tiny { 23.0 } else { 0.0 };
    let f = m - 1.0;
    let z = f * f;
    let tail = poly::<I, 9>(f, LOG_TAIL) * f * z;
    let y = I::fma(e, LN2_LO, tail);
    let y = I::fma(-0.5, z, y) + f;
    let y = I::fma(e, LN2_HI, y);
    edges_of_log(x, y)
}

/// log's values at 0, below 0, at infinity and NaN.
#[inline(always)]
fn edges_of_log(x: f32, y: f32) -> f32 {
    let y = if x == f32::INFINITY { f32::INFINITY } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if x < 0.0 { f32::NAN } else { y };
    if x.is_nan() { x } else { y }
}

/// e^r - 1 over |r| <= 0.3535 in float64 as (.. - r) / r^2, 2^-43.
const EXP_TAIL_64: [f64; 8] = [
    0.499_999_999_997_747_98,
    0.166_666_666_669_111_36,
    0.041_666_666_913_183_443,
    0.008_333_333_236_853_148,
    0.001_388_881_699_160_968_4,
    0.000_198_413_627_439_452_95,
    2.487_881_325_335_822_3e-5,
    2.756_285_929_986_112_8e-6,
];

/// e^x and e^x - 1 for |x| <= 700 in float64, 2^-40.
#[inline(always)]
fn exp_pair64<I: Isa>(x: f64) -> (f64, f64) {
    const LN2_HI: f64 = 0.693_147_180_369_123_8;
    const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
    let t = I::fma64(x, std::f64::consts::LOG2_E, ROUND64);
    let n = t - ROUND64;
    let r = I::fma64(n, -LN2_LO, I::fma64(n, -LN2_HI, x));
    let p = I::fma64(poly64::<I, 8>(r, EXP_TAIL_64), r * r, r);
    let s = pow2_64((t.to_bits() as i64).wrapping_sub(ROUND64.to_bits() as i64));
    (I::fma64(s, p, s), I::fma64(s, p, s - 1.0))
}

/// e^x - 1.
#[inline(always)]
pub fn expm1<I: Isa>(x: f32) -> f32 {
    let y = exp_pair64::<I>(limit64(x as f64, -100.0, 100.0)).1 as f32;
    // Keeps the sign of zero.
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub fn sinh<I: Isa>(x: f32) -> f32 {
    // sinh = (m + m / (m + 1)) / 2 with m = e^|x| - 1: no cancellation near 0.
    let a = limit64((x as f64).abs(), 0.0, 100.0);
    let m = exp_pair64::<I>(a).1;
    let y = (0.5 * (m + m / (m + 1.0))) as f32;
    y.copysign(x)
}

#[inline(always)]
pub fn cosh<I: Isa>(x: f32) -> f32 {
    let e = exp_pair64::<I>(limit64((x as f64).abs(), 0.0, 100.0)).0;
    (0.5 * (e + 1.0 / e)) as f32
}

/// log((1 + s) / (1 - s)) = 2 s + s^3 R(s^2) for s^2 <= 0.0295, 2^-45.
const ATANH_TAIL: [f64; 5] = [
    0.666_666_666_759_735_4,
    0.399_999_955_812_577_9,
    0.285_721_129_520_557_5,
    0.221_760_368_403_304_36,
    0.195_862_972_353_082_5,
];

/// Natural logarithm of a positive, finite, normal float64 as (exponent, log of mantissa), 2^-44.
#[inline(always)]
fn log_parts64<I: Isa>(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    // The exponent as a float64 without a 64-bit conversion: its bits under a magic exponent.
    let biased = (shifted >> 52).wrapping_add(1024) & 0xfff;
    let e = f64::from_bits(biased | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1024.0);
    let f = m - 1.0;
    let s = f / (m + 1.0);
    let z = s * s;
    (e, I::fma64(poly64::<I, 5>(z, ATANH_TAIL), s * z, 2.0 * s))
}

#[inline(always)]
fn log64<I: Isa>(x: f64, scale: f64, of_two: f64) -> f64 {
    let (e, l) = log_parts64::<I>(x);
    I::fma64(e, of_two, l * scale)
}

/// log(1 + x).
#[inline(always)]
pub fn log1p<I: Isa>(x: f32) -> f32 {
    let d = x as f64;
    // 1 + x rounds in float64 only for |x| < 2^-29, where the lost part is put back.
    let u = 1.0 + d;
    let y = log64::<I>(u, 1.0, std::f64::consts::LN_2) + (d - (u - 1.0)) / u;
    let y = edges_of_log(1.0 + x, y as f32);
    let y = if x == -1.0 { f32::NEG_INFINITY } else { y };
    let y = if x < -1.0 { f32::NAN } else { y };
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub fn log2<I: Isa>(x: f32) -> f32 {
    edges_of_log(x, log64::<I>(x as f64, std::f64::consts::LOG2_E, 1.0) as f32)
}

#[inline(always)]
pub fn log10<I: Isa>(x: f32) -> f32 {
    use std::f64::consts::{LOG10_2, LOG10_E};
    edges_of_log(x, log64::<I>(x as f64, LOG10_E, LOG10_2) as f32)
}

/// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.625, 2^-28.
const TANH_TAIL: [f32; 5] =
    [-0.333_332_83, 0.133_314_83, -0.053_743_046, 0.020_649_433, -0.005_715_967];

#[inline(always)]
pub fn tanh<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let small = I::fma(poly::<I, 5>(z, TANH_TAIL) * z, x, x).copysign(x);
    let e = exp_nonpositive::<I>(-2.0 * a);
    let large = ((1.0 - e) / (1.0 + e)).copysign(x);
    if a < 0.625 { small } else { large }
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub fn sigmoid<I: Isa>(x: f32) -> f32 {
    // exp(-|x|) lies in (0, 1], so neither side loses digits or overflows.
    let e = exp::<I>(-x.abs());
    let top = if x < 0.0 { e } else { 1.0 };
    top / (1.0 + e)
}

/// erf(x) / x - 1 in x^2 for |x| <= 1, 2^-29.
const ERF_SMALL: [f32; 7] = [
    0.128_379_17,
    -0.376_126_26,
    0.112_835_86,
    -0.026_853_86,
    0.005_188_423,
    -0.000_801_106_6,
    7.856_829e-5,
];
/// log(1 - erf(x)) on [1, 4], weighted by the result: 2^-35.
const ERF_LARGE: [f32; 8] = [
    0.000_188_120_78,
    -1.129_578_8,
    -0.633_219_25,
    -0.108_419_24,
    0.025_208_656,
    -0.004_204_705,
    0.000_441_364_34,
    -2.168_914_4e-5,
];

#[inline(always)]
pub fn erf<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let small = I::fma(x, poly::<I, 7>(x * x, ERF_SMALL), x);
    let t = if a > 4.0 { 4.0 } else { a };
    let large = (1.0 - exp_nonpositive::<I>(poly::<I, 8>(t, ERF_LARGE))).copysign(x);
    if a < 1.0 { small } else { large }
}

/// (sin(r) / r - 1) / r^2 in r^2 for |r| <= pi / 4, 2^-47.
const SIN_TAIL: [f64; 5] = [
    -0.166_666_666_666_274_3,
    0.008_333_333_324_565_057,
    -0.000_198_412_634_402_570_87,
    2.755_527_637_349_838e-6,
    -2.475_573_715_046_225e-8,
];
/// (cos(r) - 1 + r^2 / 2) / r^4 in r^2 for |r| <= pi / 4, 2^-43.
const COS_TAIL: [f64; 4] = [
    0.041_666_666_619_713_7,
    -0.001_388_888_349_027_351_4,
    2.479_945_103_682_408e-5,
    -2.720_453_709_531_104e-7,
];

/// Sine and cosine of r, and the quadrant, where x = quadrant * pi / 2 + r.
#[inline(always)]
fn sincos_parts<I: Isa>(x: f32) -> (f64, f64, i64) {
    // pi / 2: the first part has 25 bits, so n * PIO2_HI is exact for |n| < 2^28.
    const PIO2_HI: f64 = 1.570_796_310_901_641_8;
    const PIO2_LO: f64 = 1.589_325_477_352_819_6e-8;
    let x = x as f64;
    let t = I::fma64(x, std::f64::consts::FRAC_2_PI, ROUND64);
    let n = t - ROUND64;
    let r = (x - n * PIO2_HI) - n * PIO2_LO;
    let z = r * r;
    let s = I::fma64(poly64::<I, 5>(z, SIN_TAIL) * z, r, r);
    let c = I::fma64(poly64::<I, 4>(z, COS_TAIL), z * z, I::fma64(-0.5, z, 1.0));
    (s, c, t.to_bits() as i64)
}

/// Sine for |x| <= [`TRIG_LIMIT`], infinity and NaN.
#[inline(always)]
pub fn sin<I: Isa>(x: f32) -> f32 {
    let (s, c, q) = sincos_parts::<I>(x);
    let y = if q & 1 == 0 { s } else { c };
    let y = f64::from_bits(y.to_bits() ^ (((q & 2) as u64) << 62)) as f32;
    let y = if x.is_infinite() { f32::NAN } else { y };
    if x == 0.0 { x } else { y }
}

/// Cosine for |x| <= [`TRIG_LIMIT`], infinity and NaN.
#[inline(always)]
pub fn cos<I: Isa>(x: f32) -> f32 {
    let (s, c, q) = sincos_parts::<I>(x);
    let y = if q & 1 == 0 { c } else { s };
    let flip = (q.wrapping_add(1) & 2) as u64;
    let y = f64::from_bits(y.to_bits() ^ (flip << 62)) as f32;
    if x.is_infinite() { f32::NAN } else { y }
}

/// Tangent for |x| <= [`TRIG_LIMIT`], infinity and NaN.
#[inline(always)]
pub fn tan<I: Isa>(x: f32) -> f32 {
    let (s, c, q) = sincos_parts::<I>(x);
    let odd = q & 1 != 0;
    let y = if odd { -c } else { s } / if odd { s } else { c };
    let y = if x.is_infinite() { f32::NAN } else { y as f32 };
    if x == 0.0 { x } else { y }
}

/// (atan(t) / t - 1) / t^2 in t^2 for t <= tan(pi / 8), 2^-40.
const ATAN_TAIL: [f64; 7] = [
    -0.333_333_332_954_165_1,
    0.199_999_943_002_829_68,
    -0.142_854_227_117_669_3,
    0.111_039_869_118_722_9,
    -0.089_966_706_902_067_45,
    0.069_903_723_602_835_57,
    -0.037_907_884_930_914_105,
];

/// atan(num / den) for num, den >= 0, not both 0 or infinite.
#[inline(always)]
fn atan_ratio<I: Isa>(num: f64, den: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
    const TAN_PI_8: f64 = 0.414_213_562_373_095_1;
    let steep = num > den;
    let (lo, hi) = if steep { (den, num) } else { (num, den) };
    // atan(q) = pi / 4 + atan((q - 1) / (q + 1)) above tan(pi / 8): one division for all cases.
    let upper = lo > TAN_PI_8 * hi;
    let t = if upper { lo - hi } else { lo } / if upper { lo + hi } else { hi };
    let z = t * t;
    let y = I::fma64(poly64::<I, 7>(z, ATAN_TAIL) * z, t, t);
    let y = y + if upper { FRAC_PI_4 } else { 0.0 };
    if steep { FRAC_PI_2 - y } else { y }
}

#[inline(always)]
pub fn atan<I: Isa>(x: f32) -> f32 {
    let a = (x as f64).abs();
    let y = atan_ratio::<I>(if a > 1e30 { 1e30 } else { a }, 1.0) as f32;
    y.copysign(x)
}

/// The angle of the point (x, y) in (-pi, pi]; signs of zeros and infinities as in C99 Annex F.
#[inline(always)]
pub fn atan2<I: Isa>(y: f32, x: f32) -> f32 {
    // Infinities become huge finite numbers of one size; the ratio of two of them is 1.
    let ay = limit64((y as f64).abs(), 0.0, 1e150);
    let ax = limit64((x as f64).abs(), 0.0, 1e150);
    let both_zero = ay == 0.0 && ax == 0.0;
    let r = atan_ratio::<I>(ay, if both_zero { 1.0 } else { ax });
    let r = if x.is_sign_negative() { std::f64::consts::PI - r } else { r };
    let r = (r as f32).copysign(y);
    if x.is_nan() || y.is_nan() { f32::NAN } else { r }
}

/// (asin(t) / t - 1) / t^2 in t^2 for t <= 1/2, 2^-44.
const ASIN_TAIL: [f64; 9] = [
    0.166_666_666_697_170_11,
    0.074_999_995_214_064_45,
    0.044_643_114_451_771_264,
    0.030_375_190_757_881_804,
    0.022_471_801_872_444_202,
    0.016_474_364_610_757_076,
    0.018_643_853_400_266_31,
    -0.002_887_335_826_806_087,
    0.031_985_556_406_280_057,
];

/// asin(|x|) as (value near 0 or complement, whether it is the complement pi/2 - value).
#[inline(always)]
fn asin_parts<I: Isa>(x: f32) -> (f64, bool) {
    let a = (x as f64).abs();
    // asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2)) above 1/2.
    let upper = a > 0.5;
    let half = 0.5 * (1.0 - a);
    let z = if upper { half } else { a * a };
    let t = if upper { half.sqrt() } else { a };
    let y = I::fma64(poly64::<I, 9>(z, ASIN_TAIL) * z, t, t);
    (if upper { 2.0 * y } else { y }, upper)
}

#[inline(always)]
pub fn asin<I: Isa>(x: f32) -> f32 {
    let (v, upper) = asin_parts::<I>(x);
    let y = if upper { std::f64::consts::FRAC_PI_2 - v } else { v };
    (y as f32).copysign(x)
}

#[inline(always)]
pub fn acos<I: Isa>(x: f32) -> f32 {
    use std::f64::consts::{FRAC_PI_2, PI};
    let (v, upper) = asin_parts::<I>(x);
    let negative = x < 0.0;
    let inner = FRAC_PI_2 - if negative { -v } else { v };
    let outer = if negative { PI - v } else { v };
    (if upper { outer } else { inner }) as f32
}

/// x to the power y with the special cases of C99 Annex F, as PyTorch has them.
#[inline(always)]
pub fn pow<I: Isa>(x: f32, y: f32) -> f32 {
    let a = x.abs();
    // 0 and infinity get finite stand-ins whose powers over- and underflow as they should.
    let base = if a == 0.0 { 1e-300 } else { a as f64 };
    let base = if a == f32::INFINITY { 1e300 } else { base };
    let (e, l) = log_parts64::<I>(base);
    let log2 = I::fma64(l, std::f64::consts::LOG2_E, e);
    // The product in powers of two, limited where float32 is long 0 or infinite.
    let product = limit64(y as f64 * log2, -400.0, 400.0);
    let r = exp_pair64::<I>(product * std::f64::consts::LN_2).0;
    let whole = y.trunc() == y;
    // Halves of odd whole numbers have a fraction; from 2^24 on every float32 is even.
    let odd = whole && (y * 0.5).trunc() != y * 0.5;
    let r = if a == 0.0 && y != 0.0 { if y > 0.0 { 0.0 } else { f64::INFINITY } } else { r };
    let r =
        if a == f32::INFINITY && y != 0.0 { if y > 0.0 { f64::INFINITY } else { 0.0 } } else { r }
            as f32;
    let r = if x.is_sign_negative() && odd { -r } else { r };
    let r = if x < 0.0 && !whole && a != f32::INFINITY { f32::NAN } else { r };
    let r = if a == 1.0 && y.is_infinite() { 1.0 } else { r };
    let r = if x.is_nan() || y.is_nan() { f32::NAN } else { r };
    if x == 1.0 || y == 0.0 { 1.0 } else { r }
}
