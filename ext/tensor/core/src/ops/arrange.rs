//! Rows that lay elements out anew: repeat, roll, stack, diagonals, and maskedFill.

use crate::attr::{Attr, AttrDef, AttrKind, Attrs, AttrsExt};
use crate::dtype::{Category, DType, Scalar};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, checked_numel, show, wrap_dim};
use crate::ops::create::shape_attr;
use crate::ops::reduce::{X, reduced_flags};
use crate::samples::{
    Input::{Mask, Number, Real},
    sample,
};
use crate::table::{Grads, Op, OpDef, Outputs, ResultKind, Rule, arg, attr};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

fn ints(values: &[usize]) -> Attr {
    Attr::Ints(values.iter().map(|&d| d as i64).collect())
}

pub const REPEAT: OpDef = OpDef::new("repeat", X, Rule::Raw(repeat))
    .attrs(&[attr("counts", AttrKind::Ints)])
    .doc("The whole tensor repeated along each dimension; more counts add dimensions in front.")
    .vjp(repeat_vjp, &[0])
    .samples(&[sample(&[Real(&[2, 3])], &[3.0, 2.0, 1.0, 2.0])]);

/// Shapes of a repeated tensor: `[1, d]` and `[count, d]` for each dimension, and their product.
fn repeated(shape: &[usize], attrs: &[Attr]) -> Result<[Dims; 3]> {
    let counts = shape_attr(attrs, 0)?;
    let pad = counts.len().checked_sub(shape.len()).ok_or_else(|| {
        Error::shape(format!(
            "got {} counts for shape {}, expected one for each dimension at least",
            counts.len(),
            show(shape)
        ))
    })?;
    let (mut apart, mut grown, mut joined) = (Dims::new(), Dims::new(), Dims::new());
    for (i, &count) in counts.iter().enumerate() {
        let d = if i < pad { 1 } else { shape[i - pad] };
        apart.extend([1, d]);
        grown.extend([count, d]);
        joined.push(count.checked_mul(d).ok_or_else(|| Error::shape("the result is too large"))?);
    }
    checked_numel(&joined)?;
    Ok([apart, grown, joined])
}

fn repeat(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&REPEAT, args, 0)?;
    let [apart, grown, joined] = repeated(x.shape(), attrs)?;
    let grown = e.expand(&e.reshape(x, &apart)?, &grown)?;
    let out = e.reshape(&grown, &joined)?;
    Ok(smallvec![if out.storage.same(&x.storage) { e.clone_tensor(&out)? } else { out }])
}

fn repeat_vjp(cx: &VjpCx) -> Result<Grads> {
    let shape = &cx.meta(0)?.shape;
    let [_, grown, _] = repeated(shape, cx.attrs)?;
    let apart = cx.engine.reshape(&cx.grad()?, &grown)?;
    let dims: Dims = (0..grown.len()).step_by(2).collect();
    let sum = if dims.is_empty() { apart } else { cx.engine.sum_dims(&apart, &dims, false)? };
    Ok(smallvec![Some(cx.engine.reshape(&sum, shape)?)])
}

pub const ROLL: OpDef = OpDef::new("roll", X, Rule::Raw(roll))
    .attrs(&[attr("shifts", AttrKind::Ints), attr("dims", AttrKind::OptInts)])
    .doc("Elements shifted along dimensions; those that leave come in at the other end.")
    .vjp(
        |cx| {
            let back = cx.attrs.ints(0).unwrap_or_default().iter().map(|s| -s).collect();
            let attrs = smallvec![Attr::Ints(back), cx.attrs[1].clone()];
            Ok(smallvec![Some(cx.engine.call1(Op::Roll, &[Arg::Tensor(&cx.grad()?)], &attrs)?)])
        },
        &[0],
    )
    .samples(&[
        sample(&[Real(&[2, 3])], &[2.0, 1.0, -1.0, 2.0, 0.0, 1.0]),
        sample(&[Real(&[2, 3])], &[1.0, 2.0, -1.0]),
    ]);

fn roll(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&ROLL, args, 0)?;
    let shifts = attrs.ints(0).unwrap_or_default();
    let Some(dims) = attrs.ints(1) else {
        if shifts.len() != 1 {
            return Err(Error::range(format!(
                "got {} shifts without dims, expected one",
                shifts.len()
            )));
        }
        let flat = rolled(e, &e.reshape(x, &[x.numel()])?, 0, shifts[0])?;
        return Ok(smallvec![e.reshape(&flat, x.shape())?]);
    };
    if shifts.len() != dims.len() {
        return Err(Error::range(format!(
            "got {} shifts and {} dims, expected as many of both",
            shifts.len(),
            dims.len()
        )));
    }
    let mut out = x.clone();
    for (&shift, &d) in shifts.iter().zip(dims) {
        out = rolled(e, &out, wrap_dim(d, x.ndim())?, shift)?;
    }
    Ok(smallvec![if out.storage.same(&x.storage) { e.clone_tensor(&out)? } else { out }])
}

fn rolled(e: &Engine, x: &Tensor, dim: usize, shift: i64) -> Result<Tensor> {
    let n = x.shape().get(dim).copied().unwrap_or(1) as i64;
    if n < 2 {
        return e.clone_tensor(x);
    }
    let cut = (-(shift % n)).rem_euclid(n);
    let part = |start: i64, length: i64| {
        let attrs =
            smallvec![Attr::Int(dim as i64), Attr::Int(start), Attr::Int(length), Attr::Int(1)];
        e.call1(Op::Slice, &[Arg::Tensor(x)], &attrs)
    };
    let (tail, head) = (part(cut, n - cut)?, part(0, cut)?);
    let along = smallvec![Attr::Int(dim as i64)];
    e.call1(Op::Concat, &[Arg::Tensor(&tail), Arg::Tensor(&head)], &along)
}

/// Takes any number of tensors.
pub const STACK: OpDef = OpDef::new("stack", &[arg("tensors")], Rule::Raw(stack))
    .attrs(&[attr("dim", AttrKind::Int)])
    .doc("Tensors of one shape side by side along a new dimension.")
    .vjp(stack_vjp, &[0])
    .samples(&[sample(&[Real(&[2, 3]), Real(&[2, 3])], &[1.0])]);

fn stack(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let head = tensor_arg(&STACK, args, 0)?;
    let dim = wrap_dim(attrs.int(0)?, head.ndim() + 1)?;
    let mut dtype = head.dtype;
    for i in 0..args.len() {
        let t = tensor_arg(&STACK, args, i)?;
        if t.shape() != head.shape() {
            return Err(Error::shape(format!(
                "tensor {i} has shape {}, expected {} as tensor 0",
                show(t.shape()),
                show(head.shape())
            )));
        }
        dtype = dtype.promote(t.dtype);
    }
    let mut shape = head.layout.shape.clone();
    shape.insert(dim, args.len());
    let apart = |i| {
        let mut t = tensor_arg(&STACK, args, i)?.detach();
        t.layout.shape.insert(dim, 1);
        t.layout.strides.insert(dim, 1);
        Ok(t)
    };
    let parts: SmallVec<[Tensor; 4]> = (0..args.len()).map(apart).collect::<Result<_>>()?;
    let parts: SmallVec<[&Tensor; 4]> = parts.iter().collect();
    Ok(smallvec![e.joined(&parts, dim, &shape, dtype)?])
}

fn select(e: &Engine, t: &Tensor, dim: usize, index: usize) -> Result<Tensor> {
    let attrs = smallvec![Attr::Int(dim as i64), Attr::Int(index as i64)];
    e.call1(Op::Select, &[Arg::Tensor(t)], &attrs)
}

fn stack_vjp(cx: &VjpCx) -> Result<Grads> {
    let g = cx.grad()?;
    let dim = wrap_dim(cx.attrs.int(0)?, g.ndim())?;
    (0..cx.arity())
        .map(|i| {
            if !cx.wants(i) {
                return Ok(None);
            }
            let part = select(cx.engine, &g, dim, i)?;
            let dtype = cx.meta(i)?.dtype;
            Ok(Some(if part.dtype == dtype { part } else { cx.engine.cast(&part, dtype)? }))
        })
        .collect()
}

const DIAGONAL_ATTRS: &[AttrDef] =
    &[attr("offset", AttrKind::Int), attr("dim1", AttrKind::Int), attr("dim2", AttrKind::Int)];

/// Where a diagonal of `l` lies: the two dimensions go, one along it comes last.
fn diagonal_layout(l: &Layout, attrs: &[Attr]) -> Result<Layout> {
    let (offset, ndim) = (attrs.int(0)?, l.ndim());
    let (a, b) = (wrap_dim(attrs.int(1)?, ndim)?, wrap_dim(attrs.int(2)?, ndim)?);
    if a == b || ndim < 2 {
        return Err(Error::shape(format!(
            "got dims {} and {} of shape {}, expected two that differ",
            attrs.int(1)?,
            attrs.int(2)?,
            show(&l.shape)
        )));
    }
    let down = offset.min(0).unsigned_abs() as usize;
    let right = offset.max(0) as usize;
    let n = l.shape[a].saturating_sub(down).min(l.shape[b].saturating_sub(right));
    let mut out = l.clone();
    if n > 0 && l.numel() > 0 {
        let start = down as isize * l.strides[a] + right as isize * l.strides[b];
        out.offset = (l.offset as isize + start) as usize;
    }
    let stride = l.strides[a] + l.strides[b];
    for d in [a.max(b), a.min(b)] {
        out.shape.remove(d);
        out.strides.remove(d);
    }
    out.shape.push(n);
    out.strides.push(stride);
    Ok(out)
}

pub const DIAGONAL: OpDef = OpDef::new("diagonal", X, Rule::View(diagonal_layout))
    .attrs(DIAGONAL_ATTRS)
    .result(ResultKind::View)
    .doc("A diagonal of two dimensions, which go, as a last one; without a copy.")
    .vjp(
        |cx| {
            let mut attrs = cx.attrs.clone();
            attrs.push(ints(&cx.meta(0)?.shape));
            let g = cx.grad()?;
            Ok(smallvec![Some(cx.engine.call1(
                Op::DiagonalBackward,
                &[Arg::Tensor(&g)],
                &attrs
            )?)])
        },
        &[0],
    )
    .samples(&[sample(&[Real(&[3, 2, 3])], &[1.0, 0.0, 2.0])]);

pub const DIAGONAL_BACKWARD: OpDef = OpDef::new(
    "diagonalBackward",
    &[arg("grad")],
    Rule::Raw(|e, args, a| {
        let g = tensor_arg(&DIAGONAL_BACKWARD, args, 0)?;
        let out = e.full(&shape_attr(a, 3)?, 0.0, g.dtype)?;
        let place = e.call1(Op::Diagonal, &[Arg::Tensor(&out)], &a[..3].into())?;
        e.copy_into(&place, &g.detach())?;
        Ok(smallvec![out])
    }),
)
.attrs(&[
    attr("offset", AttrKind::Int),
    attr("dim1", AttrKind::Int),
    attr("dim2", AttrKind::Int),
    attr("shape", AttrKind::Ints),
])
.doc("Zeros with the gradient of a diagonal put in its place.")
.vjp(
    |cx| {
        let attrs = cx.attrs[..3].into();
        Ok(smallvec![Some(cx.engine.call1(Op::Diagonal, &[Arg::Tensor(&cx.grad()?)], &attrs)?)])
    },
    &[0],
)
.samples(&[sample(&[Real(&[2, 2])], &[1.0, 0.0, 2.0, 3.0, 3.0, 2.0, 3.0])]);

pub const MASKED_FILL: OpDef = OpDef::new(
    "maskedFill",
    &[arg("input"), arg("mask"), arg("value")],
    Rule::Composite(|e, args, _| {
        let (x, mask) = (tensor_arg(&MASKED_FILL, args, 0)?, tensor_arg(&MASKED_FILL, args, 1)?);
        if mask.dtype != DType::Bool {
            return Err(Error::dtype(format!("the mask is {}, expected bool", mask.dtype)));
        }
        let converted;
        let value = match args.get(2) {
            Some(Arg::Tensor(v)) if v.ndim() != 0 => {
                return Err(Error::shape(format!(
                    "the value has shape {}, expected a number or a 0-d tensor",
                    show(v.shape())
                )));
            }
            Some(Arg::Tensor(v)) => {
                converted = e.cast(v, x.dtype)?;
                Arg::Tensor(&converted)
            }
            Some(Arg::Scalar(s)) => Arg::Scalar(scalar_as(*s, x.dtype)?),
            _ => return Err(Error::argument("argument \"value\" is missing")),
        };
        e.call(Op::Where, &[Arg::Tensor(mask), value, Arg::Tensor(x)], &Attrs::new())
    }),
)
.doc("A copy with a value where the mask holds; the dtype stays.")
.of_parts()
.samples(&[
    sample(&[Real(&[2, 3]), Mask(&[3]), Real(&[])], &[]),
    sample(&[Real(&[2, 3]), Mask(&[2, 3]), Number(1.5)], &[]),
]);

/// A number that takes part in no promotion beside `dtype`; fractions of integers go.
fn scalar_as(s: Scalar, dtype: DType) -> Result<Scalar> {
    dtype.check_number(s.to_f64())?;
    Ok(match dtype.category() {
        Category::Float => s,
        Category::Int => Scalar::Int(s.to_i64()),
        Category::Bool => Scalar::Bool(s.to_f64() != 0.0),
    })
}

/// Dimensions without repeats, for rows that would otherwise undo themselves.
pub fn distinct_dims(dims: Option<&[i64]>, ndim: usize) -> Result<()> {
    match dims {
        Some([]) | None => Ok(()),
        dims => reduced_flags(dims, ndim).map(|_: SmallVec<[bool; 4]>| ()),
    }
}
