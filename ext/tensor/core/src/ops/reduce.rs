//! Reductions over dimensions.
//!
//! Attributes are the list of dims (absent: all) and `keepdim`, as in PyTorch.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::dtype::DType;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, show, wrap_dim};
use crate::ops::movement::first;
use crate::samples::{Input::Real, sample};
use crate::table::{Grads, Meta, OUT, OUT1, Op, OpDef, Outputs, Plan, Rule, arg, attr, input};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

pub(super) const ATTRS: &[crate::attr::AttrDef] =
    &[attr("dims", AttrKind::OptInts), attr("keepdim", AttrKind::Bool)];
const DIM_ATTRS: &[crate::attr::AttrDef] =
    &[attr("dim", AttrKind::Int), attr("keepdim", AttrKind::Bool)];
pub(super) const X: &[crate::table::ArgDef] = &[arg("input")];

/// Which dimensions are reduced, as flags per dimension.
pub fn reduced_flags(dims: Option<&[i64]>, ndim: usize) -> Result<SmallVec<[bool; 4]>> {
    let Some(dims) = dims.filter(|d| !d.is_empty()) else {
        return Ok(SmallVec::from_elem(true, ndim));
    };
    let mut flags: SmallVec<[bool; 4]> = SmallVec::from_elem(false, ndim);
    for &d in dims {
        let i = wrap_dim(d, ndim)?;
        match flags.get_mut(i) {
            Some(true) => return Err(Error::shape(format!("dim {d} appears twice"))),
            Some(flag) => *flag = true,
            None => {} // dim 0 or -1 of a 0-d tensor
        }
    }
    Ok(flags)
}

fn reduced_shape(shape: &[usize], flags: &[bool], keepdim: bool) -> Dims {
    shape
        .iter()
        .zip(flags)
        .filter(|(_, r)| keepdim || !**r)
        .map(|(&d, &r)| if r { 1 } else { d })
        .collect()
}

pub(super) fn plan(
    metas: &[Option<Meta>],
    attrs: &[Attr],
    compute: DType,
    out: DType,
) -> Result<Plan> {
    let x = first(metas)?;
    let flags = reduced_flags(attrs.ints(0), x.shape.len())?;
    Ok(Plan::one(compute, reduced_shape(x.shape, &flags, attrs.flag(1)), out))
}

/// Extremes of nothing do not exist.
fn not_empty(shape: &[usize], flags: &[bool]) -> Result<()> {
    if shape.iter().zip(flags).any(|(&d, &r)| r && d == 0) {
        return Err(Error::shape(format!(
            "shape {} has no elements to reduce over, and the op has no identity",
            show(shape)
        )));
    }
    Ok(())
}

/// A reduced tensor put back to its shape before: kept dims of extent 1, then expanded.
pub(super) fn restore(cx: &VjpCx, t: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    let shape = &cx.meta(0)?.shape;
    let flags = reduced_flags(dims, shape.len())?;
    let kept = cx.engine.reshape(t, &reduced_shape(shape, &flags, true))?;
    cx.engine.expand(&kept, shape)
}

pub(super) fn sum_dtype(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::I64 }
}

/// Kernel: sums over the flagged dims; float sums are pairwise or better.
pub const SUM: OpDef = OpDef::new(
    "sum",
    X,
    Rule::Kernel(|m, a| {
        let d = sum_dtype(first(m)?.dtype);
        plan(m, a, d, d)
    }),
)
.attrs(ATTRS)
.doc("The sum over dimensions; integers and booleans sum in int64.")
.tolerance(1e-5)
.vjp(|cx| Ok(smallvec![Some(restore(cx, &cx.grad()?, cx.attrs.ints(0))?)]), &[0])
.samples(&[
    sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
    sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
    sample(&[Real(&[3])], &[-1.0, 0.0]),
]);

pub const MEAN: OpDef = OpDef::new("mean", X, Rule::Composite(mean))
    .attrs(ATTRS)
    .doc("The mean over dimensions of a float tensor.")
    .tolerance(1e-5)
    .of_parts()
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
        sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
        sample(&[Real(&[3])], &[-1.0, 0.0]),
    ]);

fn mean(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&MEAN, args, 0)?;
    if !x.dtype.is_float() {
        return Err(Error::dtype(format!(
            "got {}, expected a float dtype; convert with to(\"float32\")",
            x.dtype
        )));
    }
    if matches!(x.dtype, DType::F16 | DType::BF16) {
        // Sums of halves overflow long before their means do.
        let wide = e.cast(x, DType::F32)?;
        let mean = e.call1(Op::Mean, &[Arg::Tensor(&wide)], &attrs.iter().cloned().collect())?;
        return Ok(smallvec![e.cast(&mean, x.dtype)?]);
    }
    let flags = reduced_flags(attrs.ints(0), x.ndim())?;
    let n: usize = x.shape().iter().zip(&flags).filter(|(_, r)| **r).map(|(d, _)| d).product();
    let sum = e.call1(Op::Sum, args, &attrs.iter().cloned().collect())?;
    let scale = Arg::Scalar(crate::Scalar::Float(n as f64));
    e.call(Op::Div, &[Arg::Tensor(&sum), scale], &Default::default())
}

/// The gradient goes to the extremes, in equal parts where several tie. As in PyTorch, NaN is one
/// where everything is reduced; over dimensions it makes its whole slice NaN.
fn extreme_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let dims = cx.attrs.ints(0);
    let (x, y) = (cx.input(0)?, cx.output(0)?);
    let mut mask = e.bin(Op::Eq, &x, &restore(cx, &y, dims)?)?;
    if dims.is_none() {
        mask = e.bin(Op::LogicalOr, &mask, &e.un(Op::Isnan, &x)?)?;
    }
    let mask = e.cast(&mask, x.dtype)?;
    let count = e.call1(Op::Sum, &[Arg::Tensor(&mask)], cx.attrs)?;
    let share = e.bin(Op::Div, &cx.grad()?, &count)?;
    Ok(smallvec![Some(e.bin(Op::Mul, &mask, &restore(cx, &share, dims)?)?)])
}

fn extreme(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let x = first(m)?;
    not_empty(x.shape, &reduced_flags(a.ints(0), x.shape.len())?)?;
    plan(m, a, x.dtype, x.dtype)
}

/// Kernel: the largest element; NaN wins.
pub const AMAX: OpDef = OpDef::new("amax", X, Rule::Kernel(extreme))
    .attrs(ATTRS)
    .doc("The largest element over dimensions; ties share the gradient.")
    .vjp(extreme_vjp, &[input(0) | OUT])
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
        sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
        sample(&[Real(&[3])], &[-1.0, 0.0]),
    ]);

/// Kernel: the smallest element; NaN wins.
pub const AMIN: OpDef = OpDef::new("amin", X, Rule::Kernel(extreme))
    .attrs(ATTRS)
    .doc("The smallest element over dimensions; ties share the gradient.")
    .vjp(extreme_vjp, &[input(0) | OUT])
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
        sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
        sample(&[Real(&[3])], &[-1.0, 0.0]),
    ]);

fn arg_extreme(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let x = first(m)?;
    if a.ints(0).is_some_and(|d| d.len() > 1) {
        return Err(Error::argument("takes one dim or none"));
    }
    not_empty(x.shape, &reduced_flags(a.ints(0), x.shape.len())?)?;
    plan(m, a, x.dtype, DType::I64)
}

/// Kernel: index of the first largest element along the dim, or in row-major order of all;
/// NaN counts as largest.
pub const ARGMAX: OpDef = OpDef::new("argmax", X, Rule::Kernel(arg_extreme))
    .attrs(ATTRS)
    .doc("Where the largest element is; the first one of equals.")
    .samples(&[sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0])]);

/// Kernel: as `argmax`, smallest; NaN counts as smallest.
pub const ARGMIN: OpDef = OpDef::new("argmin", X, Rule::Kernel(arg_extreme))
    .attrs(ATTRS)
    .doc("Where the smallest element is; the first one of equals.")
    .samples(&[sample(&[Real(&[2, 3])], &[-1.0, 0.0])]);

fn truth(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    plan(m, a, first(m)?.dtype, DType::Bool)
}

/// Kernel: whether an element differs from 0.
pub const ANY: OpDef = OpDef::new("any", X, Rule::Kernel(truth))
    .attrs(ATTRS)
    .doc("Whether at least one element is not 0.")
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
        sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
        sample(&[Real(&[3])], &[-1.0, 0.0]),
    ]);

/// Kernel: whether every element differs from 0.
pub const ALL: OpDef = OpDef::new("all", X, Rule::Kernel(truth))
    .attrs(ATTRS)
    .doc("Whether all elements are not 0.")
    .samples(&[
        sample(&[Real(&[2, 3])], &[1.0, 1.0, 0.0]),
        sample(&[Real(&[2, 3, 2])], &[2.0, 0.0, -1.0, 1.0]),
        sample(&[Real(&[3])], &[-1.0, 0.0]),
    ]);

fn with_indices(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let x = first(m)?;
    let dim = [a.int(0)?];
    let flags = reduced_flags(Some(&dim), x.shape.len())?;
    not_empty(x.shape, &flags)?;
    let shape = reduced_shape(x.shape, &flags, a.flag(1));
    let mut plan = Plan::one(x.dtype, shape.clone(), x.dtype);
    plan.outputs.push((shape, DType::I64));
    Ok(plan)
}

/// The gradient goes to the element that was picked.
fn picked_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let shape = cx.meta(0)?.shape.clone();
    let dim = [cx.attrs.int(0)?];
    let flags = reduced_flags(Some(&dim), shape.len())?;
    let kept = reduced_shape(&shape, &flags, true);
    let g = e.reshape(&cx.grad()?, &kept)?;
    let at = e.reshape(&cx.output(1)?, &kept)?;
    Ok(smallvec![Some(e.added_to_zeros(Op::ScatterAdd, &shape, &at, &g, dim[0])?)])
}

/// Kernel: output 0 the largest elements along the dim, output 1 where they are.
pub const MAX_DIM: OpDef = OpDef::new("maxDim", X, Rule::Kernel(with_indices))
    .attrs(DIM_ATTRS)
    .doc("The largest elements along a dimension and where they are.")
    .vjp(picked_vjp, &[OUT1])
    .samples(&[sample(&[Real(&[2, 3])], &[1.0, 0.0])]);

/// Kernel: output 0 the smallest elements along the dim, output 1 where they are.
pub const MIN_DIM: OpDef = OpDef::new("minDim", X, Rule::Kernel(with_indices))
    .attrs(DIM_ATTRS)
    .doc("The smallest elements along a dimension and where they are.")
    .vjp(picked_vjp, &[OUT1])
    .samples(&[sample(&[Real(&[2, 3])], &[0.0, 1.0])]);
