//! Products, running folds, norms and moments: reductions whose derivative is more than a copy.
//!
//! What is made of other ops here is one row for the tape, so that its temporaries end with the
//! call and the derivative may be exact where that of the parts is not (a norm at 0).

use crate::attr::{Attr, AttrDef, AttrKind, AttrsExt};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, wrap_dim};
use crate::ops::movement::first;
use crate::ops::reduce::{ATTRS, X, plan, reduced_flags, restore, sum_dtype};
use crate::samples::{Input::Real, sample};
use crate::table::{Grads, Meta, OUT, Op, OpDef, Outputs, Plan, Rule, attr, input};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const DIM: &[AttrDef] = &[attr("dim", AttrKind::Int)];

/// Kernel: products over the flagged dims.
pub const PROD: OpDef = OpDef::new(
    "prod",
    X,
    Rule::Kernel(|m, a| {
        let d = sum_dtype(first(m)?.dtype);
        plan(m, a, d, d)
    }),
)
.attrs(ATTRS)
.doc("The product over dimensions; integers and booleans multiply in int64.")
.tolerance(1e-5)
.vjp(prod_vjp, &[input(0)])
.samples(&[
    sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
    sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
    sample(&[Real(&[3])], &[-1.0, 0.0]),
]);

/// Each factor's gradient is the product of the others, which zeros do not disturb.
fn prod_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let x = cx.input(0)?;
    let flags = reduced_flags(cx.attrs.ints(0), x.ndim())?;
    let order: Dims =
        (0..x.ndim()).filter(|&i| !flags[i]).chain((0..x.ndim()).filter(|&i| flags[i])).collect();
    let kept = flags.iter().filter(|r| !**r).count();
    let moved = e.permute(&x, &order)?;
    let mut shape: Dims = moved.shape()[..kept].into();
    shape.push(moved.shape()[kept..].iter().product());
    let lines = e.reshape(&moved, &shape)?;
    let front = before(e, &lines)?;
    let back = reversed(e, &before(e, &reversed(e, &lines, kept)?)?, kept)?;
    let others = e.reshape(&e.bin(Op::Mul, &front, &back)?, moved.shape())?;
    let mut inverse: Dims = order.clone();
    for (i, &d) in order.iter().enumerate() {
        inverse[d] = i;
    }
    let others = e.permute(&others, &inverse)?;
    let g = restore(cx, &cx.grad()?, cx.attrs.ints(0))?;
    Ok(smallvec![Some(e.bin(Op::Mul, &g, &others)?)])
}

/// For each element the product of those before it in the last dimension.
fn before(e: &Engine, x: &Tensor) -> Result<Tensor> {
    let dim = x.ndim() - 1;
    let n = x.shape()[dim];
    if n == 0 {
        return Ok(x.clone());
    }
    let mut ones = x.layout.shape.clone();
    ones[dim] = 1;
    let ones = e.full(&ones, 1.0, x.dtype)?;
    let part =
        smallvec![Attr::Int(dim as i64), Attr::Int(0), Attr::Int(n as i64 - 1), Attr::Int(1)];
    let head = e.call1(Op::Slice, &[Arg::Tensor(x)], &part)?;
    let dim = smallvec![Attr::Int(dim as i64)];
    let moved = e.call1(Op::Concat, &[Arg::Tensor(&ones), Arg::Tensor(&head)], &dim)?;
    e.call1(Op::Cumprod, &[Arg::Tensor(&moved)], &dim)
}

fn reversed(e: &Engine, x: &Tensor, dim: usize) -> Result<Tensor> {
    e.call1(Op::Flip, &[Arg::Tensor(x)], &smallvec![Attr::Ints(smallvec![dim as i64])])
}

fn running(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let x = first(m)?;
    wrap_dim(a.int(0)?, x.shape.len())?;
    let d = sum_dtype(x.dtype);
    Ok(Plan::one(d, x.shape.into(), d))
}

/// Kernel: sums of all elements up to each one along the dim.
pub const CUMSUM: OpDef = OpDef::new("cumsum", X, Rule::Kernel(running))
    .attrs(DIM)
    .doc("Running sums along a dimension; integers and booleans sum in int64.")
    .tolerance(1e-5)
    .vjp(
        |cx| {
            let g = cx.grad()?;
            let dim = wrap_dim(cx.attrs.int(0)?, g.ndim())?;
            Ok(smallvec![Some(sum_from(cx.engine, &g, dim)?)])
        },
        &[0],
    )
    .samples(&[sample(&[Real(&[2, 3])], &[1.0]), sample(&[Real(&[3, 2])], &[0.0])]);

/// For each element the sum of it and those behind it.
fn sum_from(e: &Engine, x: &Tensor, dim: usize) -> Result<Tensor> {
    let back = reversed(e, x, dim)?;
    let sums = e.call1(Op::Cumsum, &[Arg::Tensor(&back)], &smallvec![Attr::Int(dim as i64)])?;
    reversed(e, &sums, dim)
}

/// Kernel: products of all elements up to each one along the dim.
pub const CUMPROD: OpDef = OpDef::new("cumprod", X, Rule::Kernel(running))
    .attrs(DIM)
    .doc("Running products along a dimension; integers and booleans multiply in int64.")
    .tolerance(1e-5)
    .vjp(cumprod_vjp, &[input(0) | OUT])
    .samples(&[sample(&[Real(&[2, 3])], &[1.0]), sample(&[Real(&[3, 2])], &[0.0])]);

/// In front of a line's first zero `sum(g y) / x` over the elements from there on; at the zero
/// the same with the zero taken for 1; behind it nothing, as every product holds the zero.
fn cumprod_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let (g, x, y) = (cx.grad()?, cx.input(0)?, cx.output(0)?);
    let dim = wrap_dim(cx.attrs.int(0)?, x.ndim())?;
    let zero = e.bin_scalar(Op::Eq, &x, 0.0)?;
    let seen = e.call1(Op::Cumsum, &[Arg::Tensor(&zero)], cx.attrs)?;
    let in_front = e.bin_scalar_int(Op::Eq, &seen, 0)?;
    let at_first = e.bin(Op::LogicalAnd, &zero, &e.bin_scalar_int(Op::Eq, &seen, 1)?)?;
    let (one, none) = (Arg::Scalar(Scalar::Float(1.0)), Arg::Scalar(Scalar::Float(0.0)));
    let pick = |mask: &Tensor, a: Arg, b: Arg| {
        e.call1(Op::Where, &[Arg::Tensor(mask), a, b], &Default::default())
    };
    let safe = pick(&zero, one, Arg::Tensor(&x))?;
    let front = e.bin(Op::Div, &sum_from(e, &e.bin(Op::Mul, &g, &y)?, dim)?, &safe)?;
    let without = pick(&at_first, one, Arg::Tensor(&x))?;
    let without = e.call1(Op::Cumprod, &[Arg::Tensor(&without)], cx.attrs)?;
    let at = sum_from(e, &e.bin(Op::Mul, &g, &without)?, dim)?;
    let rest = pick(&at_first, Arg::Tensor(&at), none)?;
    Ok(smallvec![Some(pick(&in_front, Arg::Tensor(&front), Arg::Tensor(&rest))?)])
}

/// `op` over dims, kept or not.
fn over(e: &Engine, op: Op, x: &Tensor, dims: &Attr, keepdim: bool) -> Result<Tensor> {
    e.call1(op, &[Arg::Tensor(x)], &smallvec![dims.clone(), Attr::Bool(keepdim)])
}

fn floats_only(x: &Tensor) -> Result<()> {
    if x.dtype.is_float() {
        return Ok(());
    }
    Err(Error::dtype(format!(
        "got {}, expected a float dtype; convert with to(\"float32\")",
        x.dtype
    )))
}

/// Halves are computed in float32: their squares and sums overflow long before the result does.
fn widened(e: &Engine, x: &Tensor) -> Result<Tensor> {
    match x.dtype {
        DType::F16 | DType::BF16 => e.cast(x, DType::F32),
        _ => Ok(x.clone()),
    }
}

fn narrowed(e: &Engine, y: Tensor, dtype: DType) -> Result<Outputs> {
    Ok(smallvec![if y.dtype == dtype { y } else { e.cast(&y, dtype)? }])
}

pub const NORM: OpDef = OpDef::new("norm", X, Rule::Raw(norm))
    .attrs(&[
        attr("dims", AttrKind::OptInts),
        attr("keepdim", AttrKind::Bool),
        attr("p", AttrKind::Float),
    ])
    .doc("The p-norm over dimensions; its gradient at 0 is 0.")
    .tolerance(1e-5)
    .vjp(norm_vjp, &[input(0) | OUT])
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0, 2.0]),
        sample(&[Real(&[2, 3])], &[-1.0, 0.0, 1.0]),
        sample(&[Real(&[2, 3])], &[1.0, 0.0, 1.0, 3.0]),
        sample(&[Real(&[2, 3])], &[-1.0, 0.0, 1.5]),
        sample(&[Real(&[2, 3])], &[-1.0, 1.0, f64::INFINITY]),
    ]);

fn norm(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let given = tensor_arg(&NORM, args, 0)?;
    floats_only(given)?;
    let x = &widened(e, given)?;
    let (dims, keep, p) = (&attrs[0], attrs.flag(1), attrs.float(2)?);
    let abs = || e.un(Op::Abs, x);
    let y = if p == 2.0 {
        e.un(Op::Sqrt, &over(e, Op::Sum, &e.un(Op::Square, x)?, dims, keep)?)?
    } else if p == 1.0 {
        over(e, Op::Sum, &abs()?, dims, keep)?
    } else if p == 0.0 {
        e.cast(&over(e, Op::Sum, &e.bin_scalar(Op::Ne, x, 0.0)?, dims, keep)?, x.dtype)?
    } else if p == f64::INFINITY {
        over(e, Op::Amax, &abs()?, dims, keep)?
    } else if p == f64::NEG_INFINITY {
        over(e, Op::Amin, &abs()?, dims, keep)?
    } else if p.is_nan() {
        return Err(Error::argument("p is NaN, expected a number"));
    } else {
        let powers = e.bin_scalar(Op::Pow, &abs()?, p)?;
        e.bin_scalar(Op::Pow, &over(e, Op::Sum, &powers, dims, keep)?, 1.0 / p)?
    };
    narrowed(e, y, given.dtype)
}

/// `a` where `at` is not 0, else 0; `a` gets `at` with 1 for 0, so that nothing divides by 0.
fn unless_zero(
    e: &Engine,
    at: &Tensor,
    a: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let zero = e.bin_scalar(Op::Eq, at, 0.0)?;
    let (one, none) = (Arg::Scalar(Scalar::Float(1.0)), Arg::Scalar(Scalar::Float(0.0)));
    let safe =
        e.call1(Op::Where, &[Arg::Tensor(&zero), one, Arg::Tensor(at)], &Default::default())?;
    let value = a(&safe)?;
    e.call1(Op::Where, &[Arg::Tensor(&zero), none, Arg::Tensor(&value)], &Default::default())
}

fn norm_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let (g, x, y) = (cx.grad()?, cx.input(0)?, cx.output(0)?);
    let (dims, p) = (cx.attrs.ints(0), cx.attrs.float(2)?);
    let full = |t: &Tensor| restore(cx, t, dims);
    let d = if p == 0.0 {
        e.full(x.shape(), 0.0, x.dtype)?
    } else if p == 1.0 {
        e.bin(Op::Mul, &full(&g)?, &e.un(Op::Sign, &x)?)?
    } else if p == 2.0 {
        let scale = unless_zero(e, &y, |y| e.bin(Op::Div, &g, y))?;
        e.bin(Op::Mul, &x, &full(&scale)?)?
    } else if p.is_infinite() {
        let at = e.cast(&e.bin(Op::Eq, &e.un(Op::Abs, &x)?, &full(&y)?)?, x.dtype)?;
        let share = e.bin(Op::Div, &g, &over(e, Op::Sum, &at, &cx.attrs[0], cx.attrs.flag(1))?)?;
        let sign = e.bin(Op::Mul, &e.un(Op::Sign, &x)?, &at)?;
        e.bin(Op::Mul, &sign, &full(&share)?)?
    } else {
        let scale =
            unless_zero(e, &y, |y| e.bin(Op::Div, &g, &e.bin_scalar(Op::Pow, y, p - 1.0)?))?;
        let slope = unless_zero(e, &x, |x| {
            let power = e.bin_scalar(Op::Pow, &e.un(Op::Abs, x)?, p - 1.0)?;
            e.bin(Op::Mul, &e.un(Op::Sign, x)?, &power)
        })?;
        e.bin(Op::Mul, &slope, &full(&scale)?)?
    };
    Ok(smallvec![Some(d)])
}

pub const LOGSUMEXP: OpDef = OpDef::new("logsumexp", X, Rule::Raw(logsumexp))
    .attrs(ATTRS)
    .doc("The logarithm of the sum of exponentials over dimensions, without overflow.")
    .tolerance(1e-5)
    .vjp(
        |cx| {
            let e = cx.engine;
            let (g, x, y) = (cx.grad()?, cx.input(0)?, cx.output(0)?);
            let dims = cx.attrs.ints(0);
            // A line of minus infinities has no direction: its gradient is 0 and not NaN.
            let nothing = e.bin_scalar(Op::Eq, &y, f64::NEG_INFINITY)?;
            let zero = Arg::Scalar(Scalar::Float(0.0));
            let args = [Arg::Tensor(&nothing), zero, Arg::Tensor(&y)];
            let y = e.call1(Op::Where, &args, &Default::default())?;
            let share = e.un(Op::Exp, &e.bin(Op::Sub, &x, &restore(cx, &y, dims)?)?)?;
            Ok(smallvec![Some(e.bin(Op::Mul, &share, &restore(cx, &g, dims)?)?)])
        },
        &[input(0) | OUT],
    )
    .samples(&[sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]), sample(&[Real(&[2, 3])], &[-1.0, 1.0])]);

fn logsumexp(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let given = tensor_arg(&LOGSUMEXP, args, 0)?;
    let dtype = given.dtype.to_float();
    let x = match given.dtype.is_float() {
        true => widened(e, given)?,
        false => e.cast(given, dtype)?,
    };
    let (dims, keep) = (&attrs[0], attrs.flag(1));
    let flags = reduced_flags(attrs.ints(0), x.ndim())?;
    if x.shape().iter().zip(&flags).any(|(&d, &r)| r && d == 0) {
        let sum = over(e, Op::Sum, &x, dims, keep)?;
        return narrowed(e, e.un(Op::Log, &sum)?, dtype);
    }
    let most = over(e, Op::Amax, &x, dims, true)?;
    let zero = Arg::Scalar(Scalar::Float(0.0));
    let args = [Arg::Tensor(&e.un(Op::Isinf, &most)?), zero, Arg::Tensor(&most)];
    let shift = e.call1(Op::Where, &args, &Default::default())?;
    let sum = over(e, Op::Sum, &e.un(Op::Exp, &e.bin(Op::Sub, &x, &shift)?)?, dims, true)?;
    let y = e.bin(Op::Add, &e.un(Op::Log, &sum)?, &shift)?;
    let shape = match keep {
        true => y.layout.shape.clone(),
        false => y.shape().iter().zip(&flags).filter(|(_, r)| !**r).map(|(&d, _)| d).collect(),
    };
    narrowed(e, e.reshape(&y, &shape)?, dtype)
}

const MOMENT: &[AttrDef] = &[
    attr("dims", AttrKind::OptInts),
    attr("keepdim", AttrKind::Bool),
    attr("correction", AttrKind::Float),
];

pub const VARIANCE: OpDef = OpDef::new("variance", X, Rule::Raw(variance))
    .attrs(MOMENT)
    .doc("Squared distance from the mean, summed over dimensions and divided by n - correction.")
    .tolerance(1e-5)
    .vjp(|cx| Ok(smallvec![Some(spread(cx, &cx.grad()?)?)]), &[input(0)])
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0, 1.0]),
        sample(&[Real(&[2, 3])], &[-1.0, 1.0, 0.0]),
    ]);

pub const STD: OpDef = OpDef::new(
    "std",
    X,
    Rule::Raw(|e, args, attrs| {
        let x = tensor_arg(&STD, args, 0)?;
        floats_only(x)?;
        let wide = widened(e, x)?;
        let variance = e.call1(Op::Variance, &[Arg::Tensor(&wide)], &attrs.into())?;
        narrowed(e, e.un(Op::Sqrt, &variance)?, x.dtype)
    }),
)
.attrs(MOMENT)
.doc("The square root of the variance; its gradient at 0 is 0.")
.tolerance(1e-5)
.vjp(
    |cx| {
        let e = cx.engine;
        let (g, y) = (cx.grad()?, cx.output(0)?);
        let g = unless_zero(e, &y, |y| e.bin(Op::Div, &e.bin_scalar(Op::Mul, &g, 0.5)?, y))?;
        Ok(smallvec![Some(spread(cx, &g)?)])
    },
    &[input(0) | OUT],
)
.samples(&[
    sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0, 1.0]),
    sample(&[Real(&[2, 3])], &[-1.0, 1.0, 0.0]),
]);

/// Elements that one result of a reduction is made of.
fn count(shape: &[usize], dims: Option<&[i64]>) -> Result<usize> {
    let flags = reduced_flags(dims, shape.len())?;
    Ok(shape.iter().zip(&flags).filter(|(_, r)| **r).map(|(d, _)| d).product())
}

fn variance(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let given = tensor_arg(&VARIANCE, args, 0)?;
    floats_only(given)?;
    let x = widened(e, given)?;
    let mean = over(e, Op::Mean, &x, &attrs[0], true)?;
    let distance = e.bin(Op::Sub, &x, &mean)?;
    let sum = over(e, Op::Sum, &e.un(Op::Square, &distance)?, &attrs[0], attrs.flag(1))?;
    let n = count(x.shape(), attrs.ints(0))? as f64 - attrs.float(2)?;
    narrowed(e, e.bin_scalar(Op::Div, &sum, n.max(0.0))?, given.dtype)
}

/// The gradient `g` of a variance as one of its input: `2 g (x - mean) / (n - correction)`.
fn spread(cx: &VjpCx, g: &Tensor) -> Result<Tensor> {
    let e = cx.engine;
    let x = cx.input(0)?;
    let dims = cx.attrs.ints(0);
    let n = count(x.shape(), dims)? as f64 - cx.attrs.float(2)?;
    let mean = over(e, Op::Mean, &x, &cx.attrs[0], true)?;
    let distance = e.bin(Op::Sub, &x, &mean)?;
    let scale = restore(cx, &e.bin_scalar(Op::Mul, g, 2.0 / n.max(0.0))?, dims)?;
    e.bin(Op::Mul, &scale, &distance)
}
