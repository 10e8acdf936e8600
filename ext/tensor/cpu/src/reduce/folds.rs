//! The reductions by name.

use super::fold::Fold;
use crate::isa::Base;
use crate::lanes::{F32, F64, Int};
use crate::simd::Action;
use mlrun_tensor_core::DType;
use mlrun_tensor_core::scalar::Basic;
use std::marker::PhantomData;

#[derive(Clone, Copy)]
pub struct Sum<T>(PhantomData<T>);
#[derive(Clone, Copy)]
pub struct Product<T>(PhantomData<T>);
#[derive(Clone, Copy)]
pub struct Largest<T>(PhantomData<T>);
#[derive(Clone, Copy)]
pub struct Smallest<T>(PhantomData<T>);
/// Whether an element differs from 0.
#[derive(Clone, Copy)]
pub struct AnyOf<T>(PhantomData<T>);
/// Whether every element differs from 0.
#[derive(Clone, Copy)]
pub struct AllOf<T>(PhantomData<T>);

macro_rules! fold {
    ($name:ident, $t:ty, $d:ident, $lane:ty, $wide:ty, $out:ty, $od:ident, $identity:expr, $nothing:expr,
     |$x:ident| $of:expr, |$a:ident, $b:ident| $step:expr, |$wa:ident, $wb:ident| $merge:expr
     $(, $action:ident)?) => {
        impl Fold for $name<$t> {
            type In = $t;
            type Lane = $lane;
            type Wide = $wide;
            type Out = $out;
            const IN: DType = DType::$d;
            const OUT: DType = DType::$od;
            const IDENTITY: $lane = $identity;
            const NOTHING: $wide = $nothing;
            #[inline(always)]
            fn lane($x: $t) -> $lane {
                $of
            }
            #[inline(always)]
            fn step($a: $lane, $b: $lane) -> $lane {
                $step
            }
            #[inline(always)]
            fn widen(a: $lane) -> $wide {
                a as $wide
            }
            #[inline(always)]
            fn merge($wa: $wide, $wb: $wide) -> $wide {
                $merge
            }
            #[inline(always)]
            fn finish(a: $wide) -> $out {
                a as $out
            }
            $(const ACTION: Option<Action> = Some(Action::$action);)?
        }
    };
}

fold!(Sum, f32, F32, f32, f64, f32, F32, 0.0, 0.0, |x| x, |a, b| a + b, |a, b| a + b, Add);
fold!(Sum, f64, F64, f64, f64, f64, F64, 0.0, 0.0, |x| x, |a, b| a + b, |a, b| a + b, Add);
fold!(
    Sum,
    i64,
    I64,
    i64,
    i64,
    i64,
    I64,
    0,
    0,
    |x| x,
    |a, b| a.wrapping_add(b),
    |a, b| a.wrapping_add(b),
    Add
);
fold!(Product, f32, F32, f32, f64, f32, F32, 1.0, 1.0, |x| x, |a, b| a * b, |a, b| a * b, Mul);
fold!(Product, f64, F64, f64, f64, f64, F64, 1.0, 1.0, |x| x, |a, b| a * b, |a, b| a * b, Mul);
fold!(
    Product,
    i64,
    I64,
    i64,
    i64,
    i64,
    I64,
    1,
    1,
    |x| x,
    |a, b| a.wrapping_mul(b),
    |a, b| a.wrapping_mul(b),
    Mul
);

macro_rules! extremes {
    ($($t:ty, $d:ident, |$v:ident| $make:expr, $low:expr, $high:expr;)*) => {$(
        fold!(Largest, $t, $d, $t, $t, $t, $d, $low, $low, |x| x,
            |a, b| { let f = |$v: $t| $make; f(a).max(f(b)).0 },
            |a, b| { let f = |$v: $t| $make; f(a).max(f(b)).0 }, Max);
        fold!(Smallest, $t, $d, $t, $t, $t, $d, $high, $high, |x| x,
            |a, b| { let f = |$v: $t| $make; f(a).min(f(b)).0 },
            |a, b| { let f = |$v: $t| $make; f(a).min(f(b)).0 }, Min);
    )*};
}
extremes! {
    f32, F32, |v| F32::<Base>::new(v), f32::NEG_INFINITY, f32::INFINITY;
    f64, F64, |v| F64(v), f64::NEG_INFINITY, f64::INFINITY;
    i8, I8, |v| Int(v), i8::MIN, i8::MAX;
    u8, U8, |v| Int(v), u8::MIN, u8::MAX;
    i16, I16, |v| Int(v), i16::MIN, i16::MAX;
    i32, I32, |v| Int(v), i32::MIN, i32::MAX;
    i64, I64, |v| Int(v), i64::MIN, i64::MAX;
}

macro_rules! truths {
    ($($t:ty, $d:ident, $zero:expr;)*) => {$(
        fold!(AnyOf, $t, $d, u8, u8, u8, Bool, 0, 0, |x| (x != $zero) as u8, |a, b| a | b, |a, b| a | b);
        fold!(AllOf, $t, $d, u8, u8, u8, Bool, 1, 1, |x| (x != $zero) as u8, |a, b| a & b, |a, b| a & b);
    )*};
}
truths! {
    f32, F32, 0.0;
    f64, F64, 0.0;
    i8, I8, 0;
    u8, U8, 0;
    i16, I16, 0;
    i32, I32, 0;
    i64, I64, 0;
}
