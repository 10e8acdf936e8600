//! The elementwise rows of the op table, one row each: name, dtype rule, scalar expression,
//! derivative and documentation.
//!
//! [`elementwise_rows`] hands the rows to a callback macro. This crate makes table entries and
//! generic functions from them, a backend makes kernels.
//!
//! Columns of `unary`: variant, function, JavaScript name, dtype rule, forward, what the
//! derivative reads (`x`, `y`, both or nothing), derivative, attributes, documentation.
//! `num` keeps integers, `float` computes integers in float32, `weak` lets the attributes take
//! part in promotion. `p` holds the attributes as floats.
//! Columns of `binary`: the same with operands `a, b` and two derivatives.
//! `compare` and `predicate` rows give booleans and have no derivative.

/// Calls `$callback! { unary { .. } binary { .. } compare { .. } predicate { .. } }`.
#[macro_export]
macro_rules! elementwise_rows {
    ($callback:ident) => { $callback! {
unary {
    Neg, neg, "neg", num, |x, p| -x; reads (); |g, x, y, p| -g; [] "Negative, -x.";
    Abs, abs, "abs", num, |x, p| x.abs(); reads (x); |g, x, y, p| g * x.sign(); [] "Absolute value; the gradient at 0 is 0.";
    Sign, sign, "sign", num, |x, p| x.sign(); reads (); |g, x, y, p| T::lit(0.0); [] "-1, 0 or 1.";
    Square, square, "square", num, |x, p| x * x; reads (x); |g, x, y, p| g * T::lit(2.0) * x; [] "x squared.";
    Relu, relu, "relu", num, |x, p| x.max(T::lit(0.0)); reads (y); |g, x, y, p| T::select(y.gt(T::lit(0.0)), g, T::lit(0.0)); [] "max(x, 0); the gradient at 0 is 0.";
    Floor, floor, "floor", num, |x, p| x.floor(); reads (); |g, x, y, p| T::lit(0.0); [] "The largest whole number not above x.";
    Ceil, ceil, "ceil", num, |x, p| x.ceil(); reads (); |g, x, y, p| T::lit(0.0); [] "The smallest whole number not below x.";
    Round, round, "round", num, |x, p| x.round(); reads (); |g, x, y, p| T::lit(0.0); [] "The nearest whole number, halves to even.";
    Trunc, trunc, "trunc", num, |x, p| x.trunc(); reads (); |g, x, y, p| T::lit(0.0); [] "x without its fraction.";
    Exp, exp, "exp", float, |x, p| x.exp(); reads (y); |g, x, y, p| g * y; [] "e to the power x.";
    Expm1, expm1, "expm1", float, |x, p| x.expm1(); reads (y); |g, x, y, p| g * (y + T::lit(1.0)); [] "exp(x) - 1, exact near 0.";
    Log, log, "log", float, |x, p| x.log(); reads (x); |g, x, y, p| g / x; [] "Natural logarithm.";
    Log1p, log1p, "log1p", float, |x, p| x.log1p(); reads (x); |g, x, y, p| g / (x + T::lit(1.0)); [] "log(1 + x), exact near 0.";
    Log2, log2, "log2", float, |x, p| x.log2(); reads (x); |g, x, y, p| g / (x * T::lit(std::f64::consts::LN_2)); [] "Logarithm to base 2.";
    Log10, log10, "log10", float, |x, p| x.log10(); reads (x); |g, x, y, p| g / (x * T::lit(std::f64::consts::LN_10)); [] "Logarithm to base 10.";
    Sqrt, sqrt, "sqrt", float, |x, p| x.sqrt(); reads (y); |g, x, y, p| g / (y * T::lit(2.0)); [] "Square root.";
    Rsqrt, rsqrt, "rsqrt", float, |x, p| x.rsqrt(); reads (y); |g, x, y, p| g * T::lit(-0.5) * y * y * y; [] "1 / sqrt(x).";
    Reciprocal, reciprocal, "reciprocal", float, |x, p| T::lit(1.0) / x; reads (y); |g, x, y, p| -g * y * y; [] "1 / x.";
    Sin, sin, "sin", float, |x, p| x.sin(); reads (x); |g, x, y, p| g * x.cos(); [] "Sine of x in radians.";
    Cos, cos, "cos", float, |x, p| x.cos(); reads (x); |g, x, y, p| -g * x.sin(); [] "Cosine of x in radians.";
    Tan, tan, "tan", float, |x, p| x.tan(); reads (y); |g, x, y, p| g * (y * y + T::lit(1.0)); [] "Tangent of x in radians.";
    Asin, asin, "asin", float, |x, p| x.asin(); reads (x); |g, x, y, p| g * (T::lit(1.0) - x * x).rsqrt(); [] "Inverse sine, in radians.";
    Acos, acos, "acos", float, |x, p| x.acos(); reads (x); |g, x, y, p| -g * (T::lit(1.0) - x * x).rsqrt(); [] "Inverse cosine, in radians.";
    Atan, atan, "atan", float, |x, p| x.atan(); reads (x); |g, x, y, p| g / (x * x + T::lit(1.0)); [] "Inverse tangent, in radians.";
    Sinh, sinh, "sinh", float, |x, p| x.sinh(); reads (x); |g, x, y, p| g * x.cosh(); [] "Hyperbolic sine.";
    Cosh, cosh, "cosh", float, |x, p| x.cosh(); reads (x); |g, x, y, p| g * x.sinh(); [] "Hyperbolic cosine.";
    Tanh, tanh, "tanh", float, |x, p| x.tanh(); reads (y); |g, x, y, p| g * (T::lit(1.0) - y * y); [] "Hyperbolic tangent.";
    Sigmoid, sigmoid, "sigmoid", float, |x, p| x.sigmoid(); reads (y); |g, x, y, p| g * y * (T::lit(1.0) - y); [] "1 / (1 + exp(-x)).";
    Erf, erf, "erf", float, |x, p| x.erf(); reads (x); |g, x, y, p| g * T::lit(std::f64::consts::FRAC_2_SQRT_PI) * (-(x * x)).exp(); [] "Error function.";
    Silu, silu, "silu", float, |x, p| x * x.sigmoid(); reads (x); |g, x, y, p| { let s = x.sigmoid(); g * s * (T::lit(1.0) + x * (T::lit(1.0) - s)) }; [] "x * sigmoid(x), also called swish.";
    Gelu, gelu, "gelu", float, |x, p| x * T::lit(0.5) * (T::lit(1.0) + (x * T::lit(std::f64::consts::FRAC_1_SQRT_2)).erf()); reads (x); |g, x, y, p| g * (T::lit(0.5) * (T::lit(1.0) + (x * T::lit(std::f64::consts::FRAC_1_SQRT_2)).erf()) + x * T::lit(0.398_942_280_401_432_7) * (x * x * T::lit(-0.5)).exp()); [] "x * Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016).";
    GeluTanh, gelu_tanh, "geluTanh", float, |x, p| x * (T::lit(1.595_769_121_605_730_8) * x * (T::lit(1.0) + T::lit(0.044715) * x * x)).sigmoid(); reads (x); |g, x, y, p| { let s = (T::lit(1.595_769_121_605_730_8) * x * (T::lit(1.0) + T::lit(0.044715) * x * x)).sigmoid(); let du = T::lit(1.595_769_121_605_730_8) * (T::lit(1.0) + T::lit(3.0 * 0.044715) * x * x); g * (s + x * s * (T::lit(1.0) - s) * du) }; [] "The tanh approximation of gelu (Hendrycks and Gimpel 2016), as x * sigmoid(2u): (1 + tanh u) / 2 is sigmoid(2u).";
    Softplus, softplus, "softplus", float, |x, p| T::select((x * T::lit(p[0])).gt(T::lit(p[1])), x, (x * T::lit(p[0])).exp().log1p() * T::lit(1.0 / p[0])); reads (x); |g, x, y, p| T::select((x * T::lit(p[0])).gt(T::lit(p[1])), g, g * (x * T::lit(p[0])).sigmoid()); [beta threshold] "log(1 + exp(beta x)) / beta, x itself where beta x is above threshold.";
    Elu, elu, "elu", float, |x, p| T::select(x.gt(T::lit(0.0)), x, T::lit(p[0]) * x.expm1()); reads (x); |g, x, y, p| T::select(x.gt(T::lit(0.0)), g, g * T::lit(p[0]) * x.exp()); [alpha] "x above 0, else alpha * (exp(x) - 1).";
    LeakyRelu, leaky_relu, "leakyRelu", float, |x, p| T::select(x.gt(T::lit(0.0)), x, x * T::lit(p[0])); reads (x); |g, x, y, p| T::select(x.gt(T::lit(0.0)), g, g * T::lit(p[0])); [slope] "x above 0, else slope * x.";
    SmoothAbs, smooth_abs, "smoothAbs", float, |x, p| T::select(T::lit(p[0]).gt(x.abs()), x * x * T::lit(0.5 / p[0]), x.abs() - T::lit(0.5 * p[0])); reads (x); |g, x, y, p| T::select(T::lit(p[0]).gt(x.abs()), g * x * T::lit(1.0 / p[0]), g * x.sign()); [beta] "x^2 / (2 beta) where |x| is below beta, else |x| - beta / 2 (Girshick 2015).";
    ClampMin, clamp_min, "clampMin", weak, |x, p| x.max(T::lit(p[0])); reads (x); |g, x, y, p| T::select(x.gt(T::lit(p[0])), g, T::lit(0.0)); [min] "max(x, min); the gradient is 0 at the bound.";
    ClampMax, clamp_max, "clampMax", weak, |x, p| x.min(T::lit(p[0])); reads (x); |g, x, y, p| T::select(T::lit(p[0]).gt(x), g, T::lit(0.0)); [max] "min(x, max); the gradient is 0 at the bound.";
}
binary {
    Add, add, "add", num, |a, b, p| a + b; |g, a, b, y, p| g; |g, a, b, y, p| g; reads () (); [] "Sum.";
    Sub, sub, "sub", num, |a, b, p| a - b; |g, a, b, y, p| g; |g, a, b, y, p| -g; reads () (); [] "Difference.";
    Mul, mul, "mul", num, |a, b, p| a * b; |g, a, b, y, p| g * b; |g, a, b, y, p| g * a; reads (b) (a); [] "Product.";
    Div, div, "div", float, |a, b, p| a / b; |g, a, b, y, p| g / b; |g, a, b, y, p| -g * y / b; reads (b) (b y); [] "Quotient; integers give float32.";
    Pow, pow, "pow", num, |a, b, p| a.pow(b); |g, a, b, y, p| T::select(b.eq(T::lit(0.0)), T::lit(0.0), g * b * a.pow(b - T::lit(1.0))); |g, a, b, y, p| T::select(a.eq(T::lit(0.0)), T::select(b.ge(T::lit(0.0)), T::lit(0.0), g * y * a.log()), g * y * a.log()); reads (a b) (a b y); [] "a to the power b.";
    Atan2, atan2, "atan2", float, |a, b, p| a.atan2(b); |g, a, b, y, p| g * b / (a * a + b * b); |g, a, b, y, p| -g * a / (a * a + b * b); reads (a b) (a b); [] "Angle of the point (b, a), in radians.";
    Maximum, maximum, "maximum", num, |a, b, p| a.max(b); |g, a, b, y, p| T::select(a.eq(b), g * T::lit(0.5), T::select(b.gt(a), T::lit(0.0), g)); |g, a, b, y, p| T::select(a.eq(b), g * T::lit(0.5), T::select(a.gt(b), T::lit(0.0), g)); reads (a b) (a b); [] "The larger one; NaN wins and lets the gradient to both; a tie splits it.";
    Minimum, minimum, "minimum", num, |a, b, p| a.min(b); |g, a, b, y, p| T::select(a.eq(b), g * T::lit(0.5), T::select(a.gt(b), T::lit(0.0), g)); |g, a, b, y, p| T::select(a.eq(b), g * T::lit(0.5), T::select(b.gt(a), T::lit(0.0), g)); reads (a b) (a b); [] "The smaller one; NaN wins and lets the gradient to both; a tie splits it.";
    Remainder, remainder, "remainder", num, |a, b, p| a.remainder(b); |g, a, b, y, p| g; |g, a, b, y, p| -g * (a / b).floor(); reads () (a b); [] "Python's %: the sign of the divisor.";
    FloorDivide, floor_divide, "floorDivide", num, |a, b, p| a.floor_div(b); |g, a, b, y, p| T::lit(0.0); |g, a, b, y, p| T::lit(0.0); reads () (); [] "Python's //: the quotient rounded down.";
    Lerp, lerp, "lerp", float, |a, b, p| a + T::lit(p[0]) * (b - a); |g, a, b, y, p| g * T::lit(1.0 - p[0]); |g, a, b, y, p| g * T::lit(p[0]); reads () (); [weight] "a + weight * (b - a).";
}
compare {
    Eq, eq, "eq", |a, b| a.eq(b); "a equals b.";
    Ne, ne, "ne", |a, b| a.ne(b); "a differs from b.";
    Gt, gt, "gt", |a, b| a.gt(b); "a is greater than b.";
    Ge, ge, "ge", |a, b| a.ge(b); "a is greater than or equal to b.";
    Lt, lt, "lt", |a, b| b.gt(a); "a is less than b.";
    Le, le, "le", |a, b| b.ge(a); "a is less than or equal to b.";
    LogicalAnd, logical_and, "logicalAnd", |a, b| T::select(a.ne(T::lit(0.0)), b, T::lit(0.0)).ne(T::lit(0.0)); "Both are not 0.";
    LogicalOr, logical_or, "logicalOr", |a, b| T::select(a.ne(T::lit(0.0)), a, b).ne(T::lit(0.0)); "At least one is not 0.";
}
predicate {
    Isnan, isnan, "isnan", |x| x.ne(x); "x is NaN.";
    Isinf, isinf, "isinf", |x| x.abs().eq(T::lit(f64::INFINITY)); "x is plus or minus infinity.";
    Isfinite, isfinite, "isfinite", |x| T::lit(f64::INFINITY).gt(x.abs()); "x is neither NaN nor infinite.";
    LogicalNot, logical_not, "logicalNot", |x| x.eq(T::lit(0.0)); "x is 0.";
}
bits {
    BitwiseAnd, bitwise_and, "bitwiseAnd", &; "Bitwise and of integers or booleans.";
    BitwiseOr, bitwise_or, "bitwiseOr", |; "Bitwise or of integers or booleans.";
    BitwiseXor, bitwise_xor, "bitwiseXor", ^; "Bitwise exclusive or of integers or booleans.";
}
    } };
}

macro_rules! functions {
    (
        unary { $($uv:ident, $uf:ident, $un:literal, $uk:ident, |$ux:ident, $up:ident| $ue:expr; reads ($($ur:ident)*); |$ug:ident, $ugx:ident, $ugy:ident, $ugp:ident| $ud:expr; [$($ua:ident)*] $udoc:literal;)* }
        binary { $($bv:ident, $bf:ident, $bn:literal, $bk:ident, |$ba:ident, $bb:ident, $bp:ident| $be:expr; |$b1g:ident, $b1a:ident, $b1b:ident, $b1y:ident, $b1p:ident| $b1:expr; |$b2g:ident, $b2a:ident, $b2b:ident, $b2y:ident, $b2p:ident| $b2:expr; reads ($($b1r:ident)*) ($($b2r:ident)*); [$($battr:ident)*] $bdoc:literal;)* }
        compare { $($cv:ident, $cf:ident, $cn:literal, |$ca:ident, $cb:ident| $ce:expr; $cdoc:literal;)* }
        predicate { $($pv:ident, $pf:ident, $pn:literal, |$px:ident| $pe:expr; $pdoc:literal;)* }
        bits { $($tv:ident, $tf:ident, $tn:literal, $te:tt; $tdoc:literal;)* }
    ) => {
        /// Forward functions of unary rows: `f(x, attributes)`.
        pub mod unary {
            $(#[doc = $udoc] #[inline(always)] #[allow(unused_variables)]
            pub fn $uf<T: $crate::rows::kinds::$uk::Bound>($ux: T, $up: &[f64]) -> T { $ue })*
        }
        /// Derivatives of unary rows: `dx = f(g, x, y, attributes)`.
        pub mod unary_grad {
            use super::*;
            $(#[inline(always)] #[allow(unused_variables)]
            pub fn $uf<T: Real>($ug: T, $ugx: T, $ugy: T, $ugp: &[f64]) -> T { $ud })*
        }
        /// Forward functions of binary rows: `f(a, b, attributes)`.
        pub mod binary {
            $(#[doc = $bdoc] #[inline(always)] #[allow(unused_variables)]
            pub fn $bf<T: $crate::rows::kinds::$bk::Bound>($ba: T, $bb: T, $bp: &[f64]) -> T { $be })*
        }
        /// Derivatives of binary rows by the first operand.
        pub mod binary_grad_a {
            use super::*;
            $(#[inline(always)] #[allow(unused_variables)]
            pub fn $bf<T: Real>($b1g: T, $b1a: T, $b1b: T, $b1y: T, $b1p: &[f64]) -> T { $b1 })*
        }
        /// Derivatives of binary rows by the second operand.
        pub mod binary_grad_b {
            use super::*;
            $(#[inline(always)] #[allow(unused_variables)]
            pub fn $bf<T: Real>($b2g: T, $b2a: T, $b2b: T, $b2y: T, $b2p: &[f64]) -> T { $b2 })*
        }
        /// Comparisons of two numbers.
        pub mod compare {
            use super::*;
            $(#[doc = $cdoc] #[inline(always)]
            pub fn $cf<T: Basic>($ca: T, $cb: T) -> T::Mask { $ce })*
        }
        /// Questions about one number.
        pub mod predicate {
            use super::*;
            $(#[doc = $pdoc] #[inline(always)]
            pub fn $pf<T: Basic>($px: T) -> T::Mask { $pe })*
        }
    };
}

/// Which arithmetic a row's dtype rule asks for.
pub mod kinds {
    pub mod num {
        pub use crate::scalar::Basic as Bound;
    }
    pub mod weak {
        pub use crate::scalar::Basic as Bound;
    }
    pub mod float {
        pub use crate::scalar::Real as Bound;
    }
}

use crate::scalar::{Basic, Real};
elementwise_rows!(functions);
