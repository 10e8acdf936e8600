//! Lane types: machine numbers under the arithmetic in which the op table's rows are written.
//!
//! Invariant: every operation is `#[inline(always)]` and, for float32, branch-free, so that a
//! loop over a row's expression vectorises. Integers wrap as PyTorch's do; a division by zero
//! of integers gives 0 and is refused by nothing here.

use crate::isa::Isa;
use crate::math;
use mlrun_tensor_core::scalar::{Basic, Real};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number as it lies in memory, and the lane it is computed in.
pub trait Lane: Basic {
    type Mem: Copy;
    fn load(m: Self::Mem) -> Self;
    fn store(self) -> Self::Mem;
}

/// float32, vectorised for the instruction set `I`.
#[derive(Clone, Copy)]
pub struct F32<I>(pub f32, PhantomData<I>);

impl<I> F32<I> {
    #[inline(always)]
    pub fn new(v: f32) -> Self {
        F32(v, PhantomData)
    }
}

/// float32 by the standard library: for arguments outside the range of [`crate::math`].
#[derive(Clone, Copy)]
pub struct Exact(pub f32);

#[derive(Clone, Copy)]
pub struct F64(pub f64);

macro_rules! arithmetic {
    ([$($gen:tt)*] $lane:ty, |$m:ident| $make:expr) => {
        arithmetic!(@op [$($gen)*] $lane, Add, add, +, |$m| $make);
        arithmetic!(@op [$($gen)*] $lane, Sub, sub, -, |$m| $make);
        arithmetic!(@op [$($gen)*] $lane, Mul, mul, *, |$m| $make);
        arithmetic!(@op [$($gen)*] $lane, Div, div, /, |$m| $make);
        impl<$($gen)*> Neg for $lane {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                let $m = -self.0;
                $make
            }
        }
    };
    (@op [$($gen:tt)*] $lane:ty, $tr:ident, $f:ident, $op:tt, |$m:ident| $make:expr) => {
        impl<$($gen)*> $tr for $lane {
            type Output = Self;
            #[inline(always)]
            fn $f(self, o: Self) -> Self {
                let $m = self.0 $op o.0;
                $make
            }
        }
    };
}

arithmetic!([I: Isa] F32<I>, |m| F32::new(m));
arithmetic!([] Exact, |m| Exact(m));
arithmetic!([] F64, |m| F64(m));

/// The methods of [`Basic`] that all float lanes share.
macro_rules! float_basic {
    ($float:ty, |$m:ident| $make:expr) => {
        type Mask = bool;
        #[inline(always)]
        fn lit(v: f64) -> Self {
            let $m = v as $float;
            $make
        }
        #[inline(always)]
        fn abs(self) -> Self {
            let $m = self.0.abs();
            $make
        }
        #[inline(always)]
        fn sign(self) -> Self {
            let v = self.0;
            // NaN has the sign 0, as in PyTorch.
            let s = if v > 0.0 { 1.0 } else { 0.0 };
            let $m = if v < 0.0 { -1.0 } else { s };
            $make
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            let (a, b) = (self.0, other.0);
            let s = if a < b { a } else { b };
            let $m = if a.is_nan() { a } else { s };
            $make
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            let (a, b) = (self.0, other.0);
            let s = if a > b { a } else { b };
            let $m = if a.is_nan() { a } else { s };
            $make
        }
        #[inline(always)]
        fn floor(self) -> Self {
            let $m = self.0.floor();
            $make
        }
        #[inline(always)]
        fn ceil(self) -> Self {
            let $m = self.0.ceil();
            $make
        }
        #[inline(always)]
        fn round(self) -> Self {
            let $m = self.0.round_ties_even();
            $make
        }
        #[inline(always)]
        fn trunc(self) -> Self {
            let $m = self.0.trunc();
            $make
        }
        #[inline(always)]
        fn gt(self, other: Self) -> bool {
            self.0 > other.0
        }
        #[inline(always)]
        fn ge(self, other: Self) -> bool {
            self.0 >= other.0
        }
        #[inline(always)]
        fn eq(self, other: Self) -> bool {
            self.0 == other.0
        }
        #[inline(always)]
        fn ne(self, other: Self) -> bool {
            self.0 != other.0
        }
        #[inline(always)]
        fn select(mask: bool, then: Self, otherwise: Self) -> Self {
            if mask { then } else { otherwise }
        }
        /// Follows PyTorch's `div_floor_floating`: exact at quotients that round to a whole
        /// number, and signed zeros kept.
        #[inline(always)]
        fn floor_div(self, other: Self) -> Self {
            let (a, b) = (self.0, other.0);
            let rem = a % b;
            let q = (a - rem) / b;
            let q = if rem != 0.0 && (b < 0.0) != (rem < 0.0) { q - 1.0 } else { q };
            let floor = q.floor();
            let f = if q - floor > 0.5 { floor + 1.0 } else { floor };
            let f = if q == 0.0 { (0.0 as $float).copysign(a / b) } else { f };
            let $m = if b == 0.0 { a / b } else { f };
            $make
        }
        #[inline(always)]
        fn remainder(self, other: Self) -> Self {
            let (a, b) = (self.0, other.0);
            let rem = a % b;
            let $m = if rem != 0.0 && (b < 0.0) != (rem < 0.0) { rem + b } else { rem };
            $make
        }
    };
}

impl<I: Isa> Basic for F32<I> {
    float_basic!(f32, |m| F32::new(m));
    #[inline(always)]
    fn pow(self, other: Self) -> Self {
        F32::new(math::pow::<I>(self.0, other.0))
    }
}

impl Basic for Exact {
    float_basic!(f32, |m| Exact(m));
    #[inline(always)]
    fn pow(self, other: Self) -> Self {
        Exact((self.0 as f64).powf(other.0 as f64) as f32)
    }
}

impl Basic for F64 {
    float_basic!(f64, |m| F64(m));
    #[inline(always)]
    fn pow(self, other: Self) -> Self {
        F64(self.0.powf(other.0))
    }
}

macro_rules! vector_real {
    ($($f:ident)*) => {
        impl<I: Isa> Real for F32<I> {
            $(#[inline(always)] fn $f(self) -> Self { F32::new(math::$f::<I>(self.0)) })*
            #[inline(always)]
            fn sqrt(self) -> Self { F32::new(self.0.sqrt()) }
            #[inline(always)]
            fn rsqrt(self) -> Self { F32::new(1.0 / self.0.sqrt()) }
            #[inline(always)]
            fn atan2(self, o: Self) -> Self { F32::new(math::atan2::<I>(self.0, o.0)) }
        }
    };
}
vector_real!(exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh sigmoid erf);

macro_rules! std_real {
    ($lane:ident, |$s:ident| $wide:expr, $float:ty, $($f:ident = $std:ident)*) => {
        impl Real for $lane {
            $(#[inline(always)] fn $f(self) -> Self {
                let $s = self.0;
                $lane(($wide).$std() as $float)
            })*
            #[inline(always)]
            fn rsqrt(self) -> Self { let $s = self.0; $lane((1.0 / ($wide).sqrt()) as $float) }
            #[inline(always)]
            fn atan2(self, o: Self) -> Self {
                let a = { let $s = self.0; $wide };
                let b = { let $s = o.0; $wide };
                $lane(a.atan2(b) as $float)
            }
            #[inline(always)]
            fn sigmoid(self) -> Self {
                let $s = self.0;
                let x = $wide;
                let e = (-x.abs()).exp();
                $lane((if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }) as $float)
            }
            #[inline(always)]
            fn erf(self) -> Self { let $s = self.0; $lane(crate::erf64::erf($wide) as $float) }
        }
    };
    ($lane:ident, |$s:ident| $wide:expr, $float:ty) => {
        std_real!($lane, |$s| $wide, $float,
            exp = exp expm1 = exp_m1 log = ln log1p = ln_1p log2 = log2 log10 = log10
            sqrt = sqrt sin = sin cos = cos tan = tan asin = asin acos = acos atan = atan
            sinh = sinh cosh = cosh tanh = tanh);
    };
}
std_real!(Exact, |s| s as f64, f32);
std_real!(F64, |s| s, f64);

impl<I: Isa> Lane for F32<I> {
    type Mem = f32;
    #[inline(always)]
    fn load(m: f32) -> Self {
        F32::new(m)
    }
    #[inline(always)]
    fn store(self) -> f32 {
        self.0
    }
}
impl Lane for Exact {
    type Mem = f32;
    #[inline(always)]
    fn load(m: f32) -> Self {
        Exact(m)
    }
    #[inline(always)]
    fn store(self) -> f32 {
        self.0
    }
}
impl Lane for F64 {
    type Mem = f64;
    #[inline(always)]
    fn load(m: f64) -> Self {
        F64(m)
    }
    #[inline(always)]
    fn store(self) -> f64 {
        self.0
    }
}

/// An integer; all arithmetic wraps.
#[derive(Clone, Copy)]
pub struct Int<T>(pub T);

macro_rules! int_lane {
    ($($t:ident)*) => {$(
        impl Add for Int<$t> {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self { Int(self.0.wrapping_add(o.0)) }
        }
        impl Sub for Int<$t> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self { Int(self.0.wrapping_sub(o.0)) }
        }
        impl Mul for Int<$t> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self { Int(self.0.wrapping_mul(o.0)) }
        }
        impl Neg for Int<$t> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self { Int(self.0.wrapping_neg()) }
        }
        impl Basic for Int<$t> {
            type Mask = bool;
            /// Beyond the type's range it saturates.
            #[inline(always)]
            fn lit(v: f64) -> Self { Int(v as $t) }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn abs(self) -> Self { if self.0 < 0 { -self } else { self } }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn sign(self) -> Self {
                Int(((self.0 > 0) as $t).wrapping_sub((self.0 < 0) as $t))
            }
            #[inline(always)]
            fn min(self, o: Self) -> Self { Int(Ord::min(self.0, o.0)) }
            #[inline(always)]
            fn max(self, o: Self) -> Self { Int(Ord::max(self.0, o.0)) }
            #[inline(always)]
            fn floor(self) -> Self { self }
            #[inline(always)]
            fn ceil(self) -> Self { self }
            #[inline(always)]
            fn round(self) -> Self { self }
            #[inline(always)]
            fn trunc(self) -> Self { self }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn floor_div(self, o: Self) -> Self {
                if o.0 == 0 {
                    return Int(0);
                }
                let (q, r) = (self.0.wrapping_div(o.0), self.0.wrapping_rem(o.0));
                Int(if r != 0 && (r < 0) != (o.0 < 0) { q.wrapping_sub(1) } else { q })
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn remainder(self, o: Self) -> Self {
                if o.0 == 0 {
                    return Int(0);
                }
                let r = self.0.wrapping_rem(o.0);
                Int(if r != 0 && (r < 0) != (o.0 < 0) { r.wrapping_add(o.0) } else { r })
            }
            /// A negative exponent gives the truncated reciprocal, as in PyTorch's kernel.
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn pow(self, o: Self) -> Self {
                let odd = o.0 & 1 == 1;
                if o.0 < 0 {
                    let minus_one = self.0 == (0 as $t).wrapping_sub(1);
                    let unit = if odd { self.0 } else { 1 };
                    return Int(if self.0 == 1 || minus_one { unit } else { 0 });
                }
                let (mut base, mut left, mut y) = (self.0, o.0, 1 as $t);
                while left != 0 {
                    if left & 1 == 1 {
                        y = y.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                Int(y)
            }
            #[inline(always)]
            fn gt(self, o: Self) -> bool { self.0 > o.0 }
            #[inline(always)]
            fn ge(self, o: Self) -> bool { self.0 >= o.0 }
            #[inline(always)]
            fn eq(self, o: Self) -> bool { self.0 == o.0 }
            #[inline(always)]
            fn ne(self, o: Self) -> bool { self.0 != o.0 }
            #[inline(always)]
            fn select(mask: bool, then: Self, otherwise: Self) -> Self {
                if mask { then } else { otherwise }
            }
        }
        impl Lane for Int<$t> {
            type Mem = $t;
            #[inline(always)]
            fn load(m: $t) -> Self { Int(m) }
            #[inline(always)]
            fn store(self) -> $t { self.0 }
        }
    )*};
}
int_lane!(i8 u8 i16 i32 i64);

/// A boolean, 0 or 1 in memory: sum is or, product is and, as in PyTorch.
#[derive(Clone, Copy)]
pub struct Bool(pub bool);

#[expect(clippy::suspicious_arithmetic_impl, reason = "arithmetic of booleans")]
impl Add for Bool {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Bool(self.0 | o.0)
    }
}
#[expect(clippy::suspicious_arithmetic_impl, reason = "arithmetic of booleans")]
impl Sub for Bool {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Bool(self.0 ^ o.0)
    }
}
#[expect(clippy::suspicious_arithmetic_impl, reason = "arithmetic of booleans")]
impl Mul for Bool {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Bool(self.0 & o.0)
    }
}
impl Neg for Bool {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self
    }
}
impl Basic for Bool {
    type Mask = bool;
    #[inline(always)]
    fn lit(v: f64) -> Self {
        Bool(v != 0.0)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self
    }
    #[inline(always)]
    fn sign(self) -> Self {
        self
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Bool(self.0 & o.0)
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Bool(self.0 | o.0)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        self
    }
    #[inline(always)]
    fn ceil(self) -> Self {
        self
    }
    #[inline(always)]
    fn round(self) -> Self {
        self
    }
    #[inline(always)]
    fn trunc(self) -> Self {
        self
    }
    #[inline(always)]
    fn floor_div(self, o: Self) -> Self {
        Bool(self.0 & o.0)
    }
    #[inline(always)]
    fn remainder(self, _: Self) -> Self {
        Bool(false)
    }
    #[inline(always)]
    fn pow(self, o: Self) -> Self {
        Bool(self.0 | !o.0)
    }
    #[inline(always)]
    fn gt(self, o: Self) -> bool {
        self.0 & !o.0
    }
    #[inline(always)]
    fn ge(self, o: Self) -> bool {
        self.0 | !o.0
    }
    #[inline(always)]
    fn eq(self, o: Self) -> bool {
        self.0 == o.0
    }
    #[inline(always)]
    fn ne(self, o: Self) -> bool {
        self.0 != o.0
    }
    #[inline(always)]
    fn select(mask: bool, then: Self, otherwise: Self) -> Self {
        if mask { then } else { otherwise }
    }
}
impl Lane for Bool {
    type Mem = u8;
    #[inline(always)]
    fn load(m: u8) -> Self {
        Bool(m != 0)
    }
    #[inline(always)]
    fn store(self) -> u8 {
        self.0 as u8
    }
}
