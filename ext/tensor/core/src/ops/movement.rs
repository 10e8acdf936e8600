//! Rows that move or retype elements: views, copies, concatenation.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, checked_numel, show, wrap_dim};
use crate::ops::arrange::distinct_dims;
use crate::ops::create::shape_attr;
use crate::samples::{Input::Real, sample};
use crate::table::{Grads, Meta, Op, OpDef, Outputs, Plan, ResultKind, Rule, arg, attr};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

const INT: AttrKind = AttrKind::Int;
const INTS: AttrKind = AttrKind::Ints;

/// The first input's shape and dtype; rows with such a rule have one.
pub fn first<'a>(metas: &[Option<Meta<'a>>]) -> Result<Meta<'a>> {
    metas
        .first()
        .copied()
        .flatten()
        .ok_or_else(|| Error::argument("argument \"input\" must be a tensor"))
}

/// Kernel: converts every element; floats to integers truncate, anything to bool is `!= 0`.
pub const CAST: OpDef = OpDef::new(
    "cast",
    &[arg("input")],
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        let to = a.dtype(0).ok_or_else(|| Error::dtype("a dtype is missing"))?;
        Ok(Plan::one(to, x.shape.into(), to).keep(1))
    }),
)
.attrs(&[attr("dtype", AttrKind::OptDType)])
.doc("The same values in another dtype.")
.vjp(|cx| Ok(smallvec![Some(cx.engine.cast(&cx.grad()?, cx.meta(0)?.dtype)?)]), &[0])
.samples(&[sample(&[Real(&[2, 3])], &[3.0])]);

/// Kernel: copies and converts; the output may have any strides.
pub const COPY: OpDef = OpDef::new(
    "clone",
    &[arg("input")],
    Rule::Kernel(|m, _| {
        let x = first(m)?;
        Ok(Plan::one(x.dtype, x.shape.into(), x.dtype))
    }),
)
.doc("A contiguous copy.")
.vjp(|cx| Ok(smallvec![Some(cx.grad()?)]), &[0])
.samples(&[sample(&[Real(&[2, 3])], &[])]);

/// A shape with at most one -1, resolved for `numel` elements.
fn resolve_shape(ints: &[i64], numel: usize, from: &[usize]) -> Result<Dims> {
    let fail = || {
        let want: Vec<String> = ints.iter().map(|d| d.to_string()).collect();
        Error::shape(format!(
            "cannot give shape [{}] to a tensor of shape {} with {numel} elements",
            want.join(", "),
            show(from)
        ))
    };
    let mut shape = Dims::new();
    let mut open = None;
    for (i, &d) in ints.iter().enumerate() {
        match d {
            -1 if open.is_none() => {
                open = Some(i);
                shape.push(1);
            }
            d => shape.push(usize::try_from(d).map_err(|_| fail())?),
        }
    }
    let known = checked_numel(&shape)?;
    if let Some(i) = open {
        if known == 0 || !numel.is_multiple_of(known) {
            return Err(fail());
        }
        shape[i] = numel / known;
    }
    if checked_numel(&shape)? != numel {
        return Err(fail());
    }
    Ok(shape)
}

fn view_layout(l: &Layout, attrs: &[Attr]) -> Result<Layout> {
    let ints = attrs.ints(0).ok_or_else(|| Error::argument("shape must be an array"))?;
    let shape = resolve_shape(ints, l.numel(), &l.shape)?;
    l.reshape(&shape).ok_or_else(|| {
        Error::shape(format!(
            "shape {} cannot be viewed as {} without a copy, use reshape",
            show(&l.shape),
            show(&shape)
        ))
    })
}

fn back_to_input_shape(cx: &VjpCx) -> Result<Grads> {
    Ok(smallvec![Some(cx.engine.reshape(&cx.grad()?, &cx.meta(0)?.shape)?)])
}

pub const VIEW: OpDef = OpDef::new("view", &[arg("input")], Rule::View(view_layout))
    .attrs(&[attr("shape", INTS)])
    .result(ResultKind::View)
    .doc("The same elements under another shape, without a copy.")
    .vjp(back_to_input_shape, &[0])
    .samples(&[sample(&[Real(&[2, 3])], &[2.0, 3.0, -1.0])]);

pub const RESHAPE: OpDef = OpDef::new("reshape", &[arg("input")], Rule::Composite(reshape))
    .attrs(&[attr("shape", INTS)])
    .result(ResultKind::ViewOrFresh)
    .doc("The same elements under another shape, a view where strides allow it.")
    .of_parts()
    .samples(&[sample(&[Real(&[2, 3])], &[1.0, 6.0])]);

fn reshape(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&RESHAPE, args, 0)?;
    let ints = attrs.ints(0).ok_or_else(|| Error::argument("shape must be an array"))?;
    let shape = resolve_shape(ints, x.numel(), x.shape())?;
    let attrs = smallvec![Attr::Ints(shape.iter().map(|&d| d as i64).collect())];
    if x.layout.reshape(&shape).is_some() {
        return e.call(Op::View, args, &attrs);
    }
    let copy = e.clone_tensor(x)?;
    e.call(Op::View, &[Arg::Tensor(&copy)], &attrs)
}

fn expand_layout(l: &Layout, attrs: &[Attr]) -> Result<Layout> {
    let ints = attrs.ints(0).ok_or_else(|| Error::argument("shape must be an array"))?;
    let pad = ints.len().checked_sub(l.ndim()).ok_or_else(|| {
        Error::shape(format!("cannot expand shape {} to fewer dimensions", show(&l.shape)))
    })?;
    let mut shape = Dims::new();
    for (i, &d) in ints.iter().enumerate() {
        shape.push(match d {
            -1 if i >= pad => l.shape[i - pad],
            d => usize::try_from(d)
                .map_err(|_| Error::shape(format!("a shape cannot hold {d} there")))?,
        });
    }
    checked_numel(&shape)?;
    l.broadcast_to(&shape)
}

pub const EXPAND: OpDef = OpDef::new("expand", &[arg("input")], Rule::View(expand_layout))
    .attrs(&[attr("shape", INTS)])
    .result(ResultKind::View)
    .doc("Dimensions of extent 1 repeated without a copy; -1 keeps an extent.")
    .vjp(|cx| Ok(smallvec![Some(cx.unbroadcast(cx.grad()?, 0)?)]), &[0])
    .samples(&[sample(&[Real(&[2, 1])], &[3.0, 2.0, -1.0, 3.0])]);

fn permutation(attrs: &[Attr], ndim: usize) -> Result<Dims> {
    let ints = attrs.ints(0).unwrap_or_default();
    let dims = ints.iter().map(|&d| wrap_dim(d, ndim)).collect::<Result<Dims>>()?;
    let mut sorted = dims.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..ndim) {
        return Err(Error::shape(format!(
            "dims {ints:?} are no permutation of the {ndim} dimensions"
        )));
    }
    Ok(dims)
}

pub const PERMUTE: OpDef = OpDef::new(
    "permute",
    &[arg("input")],
    Rule::View(|l, a| {
        let dims = permutation(a, l.ndim())?;
        Ok(Layout {
            shape: dims.iter().map(|&d| l.shape[d]).collect(),
            strides: dims.iter().map(|&d| l.strides[d]).collect(),
            offset: l.offset,
        })
    }),
)
.attrs(&[attr("dims", INTS)])
.result(ResultKind::View)
.doc("Dimensions in another order, without a copy.")
.vjp(
    |cx| {
        let dims = permutation(cx.attrs, cx.meta(0)?.shape.len())?;
        let mut inverse: Dims = SmallVec::from_elem(0, dims.len());
        for (i, &d) in dims.iter().enumerate() {
            inverse[d] = i;
        }
        Ok(smallvec![Some(cx.engine.permute(&cx.grad()?, &inverse)?)])
    },
    &[0],
)
.samples(&[sample(&[Real(&[2, 1, 3])], &[3.0, 2.0, 0.0, 1.0])]);

/// `dim`, `start`, `length`, `step` of a slice, checked against `shape`.
pub(crate) fn slice_params(
    attrs: &[Attr],
    shape: &[usize],
) -> Result<(usize, usize, usize, usize)> {
    let dim = wrap_dim(attrs.int(0)?, shape.len())?;
    let extent = *shape.get(dim).ok_or_else(|| Error::shape("cannot slice a 0-d tensor"))?;
    let (start, length, step) = (attrs.int(1)?, attrs.int(2)?, attrs.int(3)?);
    let start = if start < 0 { start + extent as i64 } else { start };
    let last = start.checked_add((length - 1).max(0).checked_mul(step).unwrap_or(i64::MAX));
    let fits = last.is_some_and(|l| l < extent as i64 || length == 0);
    if start < 0 || start > extent as i64 || length < 0 || step < 1 || !fits {
        return Err(Error::shape(format!(
            "start {start}, length {length}, step {step} leave dim {dim} of shape {}",
            show(shape)
        )));
    }
    Ok((dim, start as usize, length as usize, step as usize))
}

const SLICE_ATTRS: &[crate::attr::AttrDef] =
    &[attr("dim", INT), attr("start", INT), attr("length", INT), attr("step", INT)];

pub const SLICE: OpDef = OpDef::new(
    "slice",
    &[arg("input")],
    Rule::View(|l, a| {
        let (dim, start, length, step) = slice_params(a, &l.shape)?;
        let mut out = l.clone();
        // An empty slice at the very end keeps an offset inside the storage.
        if length > 0 {
            out.offset = (l.offset as isize + start as isize * l.strides[dim]) as usize;
        }
        out.shape[dim] = length;
        out.strides[dim] = l.strides[dim] * step as isize;
        Ok(out)
    }),
)
.attrs(SLICE_ATTRS)
.result(ResultKind::View)
.doc("Every step-th of length elements of a dimension from start on, without a copy.")
.vjp(slice_vjp, &[0])
.samples(&[sample(&[Real(&[2, 5])], &[1.0, 1.0, 2.0, 2.0])]);

fn slice_vjp(cx: &VjpCx) -> Result<Grads> {
    let mut attrs = cx.attrs.clone();
    let shape = &cx.meta(0)?.shape;
    attrs.push(Attr::Ints(shape.iter().map(|&d| d as i64).collect()));
    let g = cx.grad()?;
    Ok(smallvec![Some(cx.engine.call1(Op::SliceBackward, &[Arg::Tensor(&g)], &attrs)?)])
}

pub const SLICE_BACKWARD: OpDef = OpDef::new(
    "sliceBackward",
    &[arg("grad")],
    Rule::Raw(|e, args, a| {
        let g = tensor_arg(&SLICE_BACKWARD, args, 0)?;
        let out = e.full(&shape_attr(a, 4)?, 0.0, g.dtype)?;
        let part = e.call1(Op::Slice, &[Arg::Tensor(&out)], &a[..4].iter().cloned().collect())?;
        e.copy_into(&part, &g.detach())?;
        Ok(smallvec![out])
    }),
)
.attrs(&[
    attr("dim", INT),
    attr("start", INT),
    attr("length", INT),
    attr("step", INT),
    attr("shape", INTS),
])
.doc("Zeros with the gradient of a slice put in its place.")
.vjp(
    |cx| {
        let attrs = cx.attrs[..4].iter().cloned().collect();
        Ok(smallvec![Some(cx.engine.call1(Op::Slice, &[Arg::Tensor(&cx.grad()?)], &attrs)?)])
    },
    &[0],
)
.samples(&[sample(&[Real(&[2, 2])], &[1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 5.0])]);

/// `dim` and `index` of a selection, checked against `shape`.
pub(crate) fn select_params(attrs: &[Attr], shape: &[usize]) -> Result<(usize, usize)> {
    if shape.is_empty() {
        return Err(Error::shape("cannot select from a 0-d tensor"));
    }
    let dim = wrap_dim(attrs.int(0)?, shape.len())?;
    let (index, extent) = (attrs.int(1)?, shape[dim] as i64);
    if index < -extent || index >= extent {
        return Err(Error::shape(format!(
            "index {index} is out of range for dim {dim} of shape {}",
            show(shape)
        )));
    }
    Ok((dim, index.rem_euclid(extent) as usize))
}

pub const SELECT: OpDef = OpDef::new(
    "select",
    &[arg("input")],
    Rule::View(|l, a| {
        let (dim, index) = select_params(a, &l.shape)?;
        let mut out = l.clone();
        out.offset = (l.offset as isize + index as isize * l.strides[dim]) as usize;
        out.shape.remove(dim);
        out.strides.remove(dim);
        Ok(out)
    }),
)
.attrs(&[attr("dim", INT), attr("index", INT)])
.result(ResultKind::View)
.doc("One index of a dimension, which goes away; without a copy.")
.vjp(
    |cx| {
        let shape = cx.meta(0)?.shape.clone();
        let (dim, index) = select_params(cx.attrs, &shape)?;
        let mut kept = shape.clone();
        kept[dim] = 1;
        let g = cx.engine.reshape(&cx.grad()?, &kept)?;
        let attrs = smallvec![
            Attr::Int(dim as i64),
            Attr::Int(index as i64),
            Attr::Int(1),
            Attr::Int(1),
            Attr::Ints(shape.iter().map(|&d| d as i64).collect())
        ];
        Ok(smallvec![Some(cx.engine.call1(Op::SliceBackward, &[Arg::Tensor(&g)], &attrs)?)])
    },
    &[0],
)
.samples(&[sample(&[Real(&[2, 3])], &[1.0, -1.0])]);

pub(crate) fn slice_attrs(dim: usize, start: usize, length: usize) -> crate::Attrs {
    smallvec![
        Attr::Int(dim as i64),
        Attr::Int(start as i64),
        Attr::Int(length as i64),
        Attr::Int(1)
    ]
}

/// Kernel: takes any number of tensors of any dtype and layout; the output is contiguous.
pub const CONCAT: OpDef = OpDef::new("concat", &[arg("tensors")], Rule::Raw(concat))
    .attrs(&[attr("dim", INT)])
    .doc("Tensors one behind the other along an existing dimension.")
    .vjp(concat_vjp, &[0])
    .samples(&[sample(&[Real(&[2, 3]), Real(&[2, 1])], &[1.0])]);

fn concat(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let head = tensor_arg(&CONCAT, args, 0)?;
    let dim = wrap_dim(attrs.int(0)?, head.ndim())?;
    if head.ndim() == 0 {
        return Err(Error::shape("0-d tensors cannot be concatenated, use stack"));
    }
    let mut shape = head.layout.shape.clone();
    let mut dtype = head.dtype;
    shape[dim] = 0;
    for i in 0..args.len() {
        let t = tensor_arg(&CONCAT, args, i)?;
        let fits = t.ndim() == shape.len()
            && t.shape().iter().zip(&shape).enumerate().all(|(k, (a, b))| k == dim || a == b);
        if !fits {
            return Err(Error::shape(format!(
                "tensor {i} has shape {}, expected {} outside dim {dim}",
                show(t.shape()),
                show(head.shape())
            )));
        }
        shape[dim] += t.shape()[dim];
        dtype = dtype.promote(t.dtype);
    }
    let parts = (0..args.len()).map(|i| tensor_arg(&CONCAT, args, i));
    let parts: SmallVec<[&Tensor; 4]> = parts.collect::<Result<_>>()?;
    Ok(smallvec![e.joined(&parts, dim, &shape, dtype)?])
}

fn concat_vjp(cx: &VjpCx) -> Result<Grads> {
    let g = cx.grad()?;
    let dim = wrap_dim(cx.attrs.int(0)?, g.ndim())?;
    let mut start = 0;
    let mut out = Grads::new();
    for i in 0..cx.arity() {
        let meta = cx.meta(i)?;
        let n = meta.shape[dim];
        out.push(if cx.wants(i) {
            let part =
                cx.engine.call1(Op::Slice, &[Arg::Tensor(&g)], &slice_attrs(dim, start, n))?;
            Some(if part.dtype == meta.dtype { part } else { cx.engine.cast(&part, meta.dtype)? })
        } else {
            None
        });
        start += n;
    }
    Ok(out)
}

fn same_as_input(metas: &[Option<Meta>]) -> Result<Plan> {
    let x = first(metas)?;
    Ok(Plan::one(x.dtype, x.shape.into(), x.dtype))
}

fn same_op_backwards(cx: &VjpCx) -> Result<Grads> {
    Ok(smallvec![Some(cx.engine.call1(cx.op, &[Arg::Tensor(&cx.grad()?)], cx.attrs)?)])
}

/// Kernel: output element i along each dim of `dims` is input element n - 1 - i.
pub const FLIP: OpDef = OpDef::new(
    "flip",
    &[arg("input")],
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        distinct_dims(a.ints(0), x.shape.len())?;
        same_as_input(m)
    }),
)
.attrs(&[attr("dims", INTS)])
.doc("Elements in reverse order along dimensions.")
.vjp(same_op_backwards, &[0])
.samples(&[sample(&[Real(&[2, 3])], &[2.0, 0.0, -1.0])]);

fn matrix_rule(metas: &[Option<Meta>]) -> Result<Plan> {
    let x = first(metas)?;
    if x.shape.len() < 2 {
        return Err(Error::shape(format!(
            "got shape {}, expected at least 2 dimensions",
            show(x.shape)
        )));
    }
    same_as_input(metas)
}

/// Kernel: zeros above the `diagonal`-th diagonal of the last two dimensions.
pub const TRIL: OpDef = OpDef::new("tril", &[arg("input")], Rule::Kernel(|m, _| matrix_rule(m)))
    .attrs(&[attr("diagonal", INT)])
    .doc("The lower triangle of matrices, zeros elsewhere.")
    .vjp(same_op_backwards, &[0])
    .samples(&[sample(&[Real(&[3, 3])], &[-1.0])]);

/// Kernel: zeros below the `diagonal`-th diagonal of the last two dimensions.
pub const TRIU: OpDef = OpDef::new("triu", &[arg("input")], Rule::Kernel(|m, _| matrix_rule(m)))
    .attrs(&[attr("diagonal", INT)])
    .doc("The upper triangle of matrices, zeros elsewhere.")
    .vjp(same_op_backwards, &[0])
    .samples(&[sample(&[Real(&[2, 3, 3])], &[1.0])]);
