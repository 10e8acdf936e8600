//! The arithmetic in which elementwise rows are written.
//!
//! A row's expression is generic over [`Basic`] or [`Real`]. Backends instantiate it with
//! machine numbers and get a kernel; the tape instantiates a derivative with [`crate::sym::Sym`]
//! and gets ops, which makes a gradient of a gradient possible. So each formula stands once.

use std::ops::{Add, Mul, Neg, Sub};

/// What every numeric dtype offers. Integers wrap, as in PyTorch.
pub trait Basic:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// Result of a comparison.
    type Mask: Copy;

    /// A literal of the formula.
    fn lit(v: f64) -> Self;
    fn abs(self) -> Self;
    /// -1, 0 or 1; NaN stays NaN.
    fn sign(self) -> Self;
    /// The smaller one; NaN wins.
    fn min(self, other: Self) -> Self;
    /// The larger one; NaN wins.
    fn max(self, other: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// Rounds half to even.
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    /// Python's `//`: the quotient rounded towards minus infinity.
    fn floor_div(self, other: Self) -> Self;
    /// Python's `%`: the sign of the divisor.
    fn remainder(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;
    fn gt(self, other: Self) -> Self::Mask;
    fn ge(self, other: Self) -> Self::Mask;
    fn eq(self, other: Self) -> Self::Mask;
    fn ne(self, other: Self) -> Self::Mask;
    fn select(mask: Self::Mask, then: Self, otherwise: Self) -> Self;
}

/// What float dtypes add.
pub trait Real: Basic + std::ops::Div<Output = Self> {
    fn exp(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log1p(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, other: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn sigmoid(self) -> Self;
    fn erf(self) -> Self;
}
