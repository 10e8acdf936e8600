//! Derivatives of elementwise rows as ops: the scalar expression runs over tensors.
//!
//! A backend's fused kernel is used where nobody will differentiate the gradient again;
//! otherwise each operation of the expression becomes an op that the tape records.

use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::rows;
use crate::scalar::{Basic, Real};
use crate::table::{Grads, Op, Rule};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Values of one expression; the first error ends the computation.
pub struct Arena<'e> {
    engine: &'e Engine,
    values: RefCell<SmallVec<[Tensor; 4]>>,
    error: RefCell<Option<Error>>,
}

/// A number or a tensor inside an expression.
#[derive(Clone, Copy)]
pub enum Sym<'a> {
    Lit(f64),
    Value(&'a Arena<'a>, usize),
}

impl<'e> Arena<'e> {
    fn new(engine: &'e Engine) -> Self {
        Arena { engine, values: RefCell::default(), error: RefCell::default() }
    }

    fn put(&'e self, t: Tensor) -> Sym<'e> {
        let mut values = self.values.borrow_mut();
        values.push(t);
        Sym::Value(self, values.len() - 1)
    }

    fn call(&'e self, op: Op, operands: &[Sym<'e>]) -> Sym<'e> {
        if self.error.borrow().is_some() {
            return Sym::Lit(f64::NAN);
        }
        let values = self.values.borrow();
        let args: SmallVec<[Arg; 3]> = operands
            .iter()
            .map(|s| match s {
                Sym::Lit(v) => Arg::Scalar(crate::Scalar::Float(*v)),
                Sym::Value(_, i) => Arg::Tensor(&values[*i]),
            })
            .collect();
        let result = self.engine.call(op, &args, &Default::default());
        drop(args);
        drop(values);
        match result {
            Ok(mut out) => match out.pop() {
                Some(t) => self.put(t),
                None => Sym::Lit(f64::NAN),
            },
            Err(e) => {
                *self.error.borrow_mut() = Some(e);
                Sym::Lit(f64::NAN)
            }
        }
    }

    /// The tensor behind `s`, at `shape`, or the first error.
    fn finish(&self, s: Sym, shape: &[usize], dtype: crate::DType) -> Result<Tensor> {
        if let Some(e) = self.error.borrow_mut().take() {
            return Err(e);
        }
        match s {
            Sym::Lit(v) => self.engine.full(shape, v, dtype),
            Sym::Value(_, i) => Ok(self.values.borrow()[i].clone()),
        }
    }
}

fn un<'a>(op: Op, x: Sym<'a>, f: fn(f64) -> f64) -> Sym<'a> {
    match x {
        Sym::Lit(v) => Sym::Lit(f(v)),
        Sym::Value(arena, _) => arena.call(op, &[x]),
    }
}

fn bin<'a>(op: Op, a: Sym<'a>, b: Sym<'a>, f: fn(f64, f64) -> f64) -> Sym<'a> {
    match (a, b) {
        (Sym::Lit(x), Sym::Lit(y)) => Sym::Lit(f(x, y)),
        (Sym::Value(arena, _), _) | (_, Sym::Value(arena, _)) => arena.call(op, &[a, b]),
    }
}

macro_rules! operator {
    ($tr:ident, $method:ident, $op:ident, $f:expr) => {
        impl $tr for Sym<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                bin(Op::$op, self, other, $f)
            }
        }
    };
}
operator!(Add, add, Add, |a, b| a + b);
operator!(Sub, sub, Sub, |a, b| a - b);
operator!(Mul, mul, Mul, |a, b| a * b);
operator!(Div, div, Div, |a, b| a / b);

impl Neg for Sym<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        un(Op::Neg, self, |v| -v)
    }
}

macro_rules! unary_methods {
    ($($name:ident $op:ident $f:expr;)*) => { $(fn $name(self) -> Self { un(Op::$op, self, $f) })* };
}
macro_rules! binary_methods {
    ($($name:ident $op:ident $f:expr;)*) => {
        $(fn $name(self, other: Self) -> Self { bin(Op::$op, self, other, $f) })*
    };
}

impl Basic for Sym<'_> {
    type Mask = Self;

    fn lit(v: f64) -> Self {
        Sym::Lit(v)
    }
    unary_methods! {
        abs Abs f64::abs;
        sign Sign |v| if v == 0.0 { 0.0 } else { v.signum() };
        floor Floor f64::floor;
        ceil Ceil f64::ceil;
        round Round f64::round_ties_even;
        trunc Trunc f64::trunc;
    }
    binary_methods! {
        min Minimum f64::min;
        max Maximum f64::max;
        floor_div FloorDivide |a, b| (a / b).floor();
        remainder Remainder |a, b| a - b * (a / b).floor();
        pow Pow f64::powf;
        gt Gt |a, b| (a > b) as u8 as f64;
        ge Ge |a, b| (a >= b) as u8 as f64;
        eq Eq |a, b| (a == b) as u8 as f64;
        ne Ne |a, b| (a != b) as u8 as f64;
    }
    fn select(mask: Self, then: Self, otherwise: Self) -> Self {
        match mask {
            Sym::Lit(m) => {
                if m != 0.0 {
                    then
                } else {
                    otherwise
                }
            }
            Sym::Value(arena, _) => arena.call(Op::Where, &[mask, then, otherwise]),
        }
    }
}

impl Real for Sym<'_> {
    unary_methods! {
        exp Exp f64::exp;
        expm1 Expm1 f64::exp_m1;
        log Log f64::ln;
        log1p Log1p f64::ln_1p;
        log2 Log2 f64::log2;
        log10 Log10 f64::log10;
        sqrt Sqrt f64::sqrt;
        rsqrt Rsqrt |v| 1.0 / v.sqrt();
        sin Sin f64::sin;
        cos Cos f64::cos;
        tan Tan f64::tan;
        asin Asin f64::asin;
        acos Acos f64::acos;
        atan Atan f64::atan;
        sinh Sinh f64::sinh;
        cosh Cosh f64::cosh;
        tanh Tanh f64::tanh;
        sigmoid Sigmoid |v| 1.0 / (1.0 + (-v).exp());
    }
    fn atan2(self, other: Self) -> Self {
        bin(Op::Atan2, self, other, f64::atan2)
    }
    fn erf(self) -> Self {
        match self {
            // No row takes the error function of a literal.
            Sym::Lit(_) => Sym::Lit(f64::NAN),
            Sym::Value(arena, _) => arena.call(Op::Erf, &[self]),
        }
    }
}

type UnaryGrad<'a> = fn(Sym<'a>, Sym<'a>, Sym<'a>, &[f64]) -> Sym<'a>;
type BinaryGrad<'a> = fn(Sym<'a>, Sym<'a>, Sym<'a>, Sym<'a>, &[f64]) -> Sym<'a>;

macro_rules! pickers {
    (
        unary { $($uv:ident, $uf:ident, $un:literal, $uk:ident, |$ux:ident, $up:ident| $ue:expr; reads ($($ur:ident)*); |$ug:ident, $ugx:ident, $ugy:ident, $ugp:ident| $ud:expr; [$($ua:ident)*] $udoc:literal;)* }
        binary { $($bv:ident, $bf:ident, $bn:literal, $bk:ident, |$ba:ident, $bb:ident, $bp:ident| $be:expr; |$b1g:ident, $b1a:ident, $b1b:ident, $b1y:ident, $b1p:ident| $b1:expr; |$b2g:ident, $b2a:ident, $b2b:ident, $b2y:ident, $b2p:ident| $b2:expr; reads ($($b1r:ident)*) ($($b2r:ident)*); [$($battr:ident)*] $bdoc:literal;)* }
        $($rest:tt)*
    ) => {
        fn unary_grad<'a>(op: Op) -> Option<UnaryGrad<'a>> {
            match op {
                $(Op::$uv => Some(rows::unary_grad::$uf::<Sym<'a>>),)*
                _ => None,
            }
        }
        fn binary_grads<'a>(op: Op) -> Option<[BinaryGrad<'a>; 2]> {
            match op {
                $(Op::$bv => Some([rows::binary_grad_a::$bf::<Sym<'a>>, rows::binary_grad_b::$bf::<Sym<'a>>]),)*
                _ => None,
            }
        }
    };
}
crate::elementwise_rows!(pickers);

/// Whether all inputs of a row get the output's gradient as it is, as those of a sum do. A
/// derivative is linear in the gradient: where it reads nothing else, it is a constant times it.
pub fn hands_on(op: Op) -> bool {
    let (def, nan) = (op.def(), Sym::Lit(f64::NAN));
    let reads_nothing = def.attrs.is_empty() && def.reads.iter().all(|r| *r == 0);
    let one = |f: BinaryGrad<'static>| matches!(f(Sym::Lit(1.0), nan, nan, nan, &[]), Sym::Lit(factor) if factor == 1.0);
    reads_nothing && binary_grads(op).is_some_and(|fs| fs.into_iter().all(one))
}

/// The derivative of an elementwise row.
pub fn expression_vjp(cx: &VjpCx) -> Result<Grads> {
    use crate::attr::AttrsExt;
    let g = cx.grad()?;
    let params = cx.attrs.floats();
    match cx.op.def().rule {
        Rule::Unary(_) => {
            let dtype = g.dtype;
            let x = cx.has_input(0).then(|| cx.input(0)).transpose()?;
            let y = cx.has_output(0).then(|| cx.output(0)).transpose()?;
            if !cx.engine.grad_enabled() {
                let dx = cx.engine.unary_grad(cx.op, &g, x.as_ref(), y.as_ref(), cx.attrs)?;
                return Ok(smallvec::smallvec![Some(dx)]);
            }
            let f = unary_grad(cx.op).ok_or_else(|| Error::autograd("no unary derivative"))?;
            let shape = g.layout.shape.clone();
            let arena = Arena::new(cx.engine);
            let nothing = Sym::Lit(f64::NAN);
            let x = x.map_or(nothing, |t| arena.put(t));
            let y = y.map_or(nothing, |t| arena.put(t));
            let dx = f(arena.put(g), x, y, &params);
            Ok(smallvec::smallvec![Some(arena.finish(dx, &shape, dtype)?)])
        }
        _ => binary_vjp(cx, g, &params),
    }
}

fn binary_vjp(cx: &VjpCx, g: Tensor, params: &[f64]) -> Result<Grads> {
    let fs = binary_grads(cx.op).ok_or_else(|| Error::autograd("no binary derivative"))?;
    let (shape, dtype) = (g.layout.shape.clone(), g.dtype);
    let arena = Arena::new(cx.engine);
    let operand = |i: usize| -> Result<Sym> {
        Ok(match cx.scalar(i) {
            Some(v) => Sym::Lit(v),
            None if cx.has_input(i) => arena.put(cx.input(i)?),
            None => Sym::Lit(f64::NAN),
        })
    };
    let (a, b) = (operand(0)?, operand(1)?);
    let y = if cx.has_output(0) { arena.put(cx.output(0)?) } else { Sym::Lit(f64::NAN) };
    let g = arena.put(g);
    let mut out = Grads::new();
    for (i, f) in fs.into_iter().enumerate() {
        out.push(if cx.wants(i) {
            let d = arena.finish(f(g, a, b, y, params), &shape, dtype)?;
            Some(cx.unbroadcast(d, i)?)
        } else {
            None
        });
    }
    Ok(out)
}
