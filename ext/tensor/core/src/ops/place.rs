//! Rows that pick, drop or place elements: embedding, dropout, padding, interpolation.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::dtype::DType;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, checked_numel, show};
use crate::ops::movement::first;
use crate::ops::norm::float_dtype;
use crate::table::{Grads, Op, OpDef, Outputs, Plan, Rule, arg, attr, input};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

/// Rows of `weight` by index; the gradient of row `paddingIdx` is 0.
pub const EMBEDDING: OpDef =
    OpDef::new("embedding", &[arg("input"), arg("weight")], Rule::Raw(embedding))
        .attrs(&[attr("paddingIdx", AttrKind::OptFloat)])
        .doc("Rows of a matrix at the positions that an index tensor holds.")
        .vjp(embedding_vjp, &[0, input(0)]);

fn embedding(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let (i, w) = (tensor_arg(&EMBEDDING, args, 0)?, tensor_arg(&EMBEDDING, args, 1)?);
    if w.ndim() != 2 {
        return Err(Error::shape(format!(
            "weight has shape {}, expected [rows, width]",
            show(w.shape())
        )));
    }
    if i.dtype.is_float() || i.dtype == DType::Bool {
        return Err(Error::dtype(format!("the index is {}, expected integers", i.dtype)));
    }
    padding_row(attrs, w.shape()[0])?;
    let flat = e.reshape(i, &[i.numel()])?;
    let rows =
        e.call1(Op::IndexSelect, &[Arg::Tensor(w), Arg::Tensor(&flat)], &smallvec![Attr::Int(0)])?;
    let mut shape = i.layout.shape.clone();
    shape.push(w.shape()[1]);
    Ok(smallvec![e.reshape(&rows, &shape)?])
}

/// The padding row, counted from 0.
fn padding_row(attrs: &[Attr], rows: usize) -> Result<Option<i64>> {
    let Some(p) = attrs.opt_float(0) else { return Ok(None) };
    let row = if p < 0.0 { p as i64 + rows as i64 } else { p as i64 };
    if (0..rows as i64).contains(&row) {
        return Ok(Some(row));
    }
    Err(Error::shape(format!("paddingIdx {p} is out of range for {rows} rows")))
}

fn embedding_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let meta = cx.meta(1)?.clone();
    let (i, g) = (cx.input(0)?, cx.grad()?);
    let flat = e.reshape(&i, &[i.numel()])?;
    let mut g = e.reshape(&g, &[i.numel(), meta.shape[1]])?;
    if let Some(row) = padding_row(cx.attrs, meta.shape[0])? {
        let keep = e.reshape(&e.bin_scalar_int(Op::Ne, &flat, row)?, &[i.numel(), 1])?;
        g = crate::ops::norm::masked(e, &keep, &g, 0.0)?;
    }
    Ok(smallvec![None, Some(e.added_to_zeros(Op::IndexAdd, &meta.shape, &flat, &g, 0)?)])
}

/// Kernel: element i is kept and divided by `1 - p` where the uniform number at `counter + i`
/// (Philox, as `uniform` in float32) is at least `p`, else 0. Linear: its gradient is itself.
pub const DROPOUT_SEEDED: OpDef = OpDef::new(
    "dropoutSeeded",
    &[arg("input")],
    Rule::Kernel(|m, _| {
        let x = first(m)?;
        let d = float_dtype(x.dtype)?;
        Ok(Plan::one(d, x.shape.into(), d))
    }),
)
.attrs(&[attr("p", AttrKind::Float), attr("seed", AttrKind::Int), attr("counter", AttrKind::Int)])
.doc("dropout for a seed and a counter.")
.vjp(
    |cx| Ok(smallvec![Some(cx.engine.call1(cx.op, &[Arg::Tensor(&cx.grad()?)], cx.attrs)?)]),
    &[0],
);

pub const DROPOUT: OpDef = OpDef::new(
    "dropout",
    &[arg("input")],
    Rule::Composite(|e, args, attrs| {
        let x = tensor_arg(&DROPOUT, args, 0)?;
        let p = attrs.float(0)?;
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::range(format!("p must be from 0 to 1, got {p}")));
        }
        let (seed, counter) = e.draw(x.numel());
        let attrs = smallvec![Attr::Float(p), Attr::Int(seed as i64), Attr::Int(counter as i64)];
        e.call(Op::DropoutSeeded, args, &attrs)
    }),
)
.attrs(&[attr("p", AttrKind::Float)])
.doc("Elements set to 0 with probability p, the others divided by 1 - p.")
.of_parts();

/// Before and after each dimension, from PyTorch's list that begins with the last one.
fn pads(x: &Tensor, list: &[i64]) -> Result<SmallVec<[(i64, i64); 4]>> {
    if !list.len().is_multiple_of(2) || list.len() / 2 > x.ndim() {
        return Err(Error::shape(format!(
            "got {} paddings for an input of shape {}, expected two for each of the last dimensions",
            list.len(),
            show(x.shape())
        )));
    }
    let mut out: SmallVec<[(i64, i64); 4]> = smallvec![(0, 0); x.ndim()];
    for (k, pair) in list.chunks_exact(2).enumerate() {
        out[x.ndim() - 1 - k] = (pair[0], pair[1]);
    }
    Ok(out)
}

fn padded(n: usize, (before, after): (i64, i64), shape: &[usize]) -> Result<usize> {
    let total =
        (n as i64).checked_add(before).and_then(|v| v.checked_add(after)).filter(|v| *v >= 0);
    total.map(|v| v as usize).ok_or_else(|| {
        Error::shape(format!(
            "padding [{before}, {after}] leaves less than nothing of an extent of {n} of shape {}",
            show(shape)
        ))
    })
}

/// `value` around the input; a negative padding cuts off. Its gradient is the opposite padding.
pub const PAD_CONSTANT: OpDef = OpDef::new("padConstant", &[arg("input")], Rule::Raw(pad_constant))
    .attrs(&[attr("pad", AttrKind::Ints), attr("value", AttrKind::Float)])
    .doc("A number put around the last dimensions.")
    .vjp(
        |cx| {
            let back = cx.attrs.ints(0).unwrap_or_default().iter().map(|p| -p).collect();
            let attrs = smallvec![Attr::Ints(back), Attr::Float(0.0)];
            Ok(smallvec![Some(cx.engine.call1(cx.op, &[Arg::Tensor(&cx.grad()?)], &attrs)?)])
        },
        &[0],
    );

fn pad_constant(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&PAD_CONSTANT, args, 0)?;
    let pads = pads(x, attrs.ints(0).unwrap_or_default())?;
    let mut shape = Dims::new();
    for (&n, &p) in x.shape().iter().zip(&pads) {
        shape.push(padded(n, p, x.shape())?);
    }
    checked_numel(&shape)?;
    let out = e.full(&shape, attrs.float(1)?, x.dtype)?;
    let (mut to, mut from) = (out.clone(), x.detach());
    for (d, &(before, after)) in pads.iter().enumerate() {
        let n = x.shape()[d] as i64;
        let kept = (n + before.min(0) + after.min(0)).max(0);
        let cut = |t: &Tensor, start: i64| {
            let start = start.clamp(0, t.shape()[d] as i64);
            let attrs =
                smallvec![Attr::Int(d as i64), Attr::Int(start), Attr::Int(kept), Attr::Int(1)];
            e.call1(Op::Slice, &[Arg::Tensor(t)], &attrs)
        };
        if kept == 0 {
            return Ok(smallvec![out]);
        }
        (to, from) = (cut(&to, before.max(0))?, cut(&from, (-before).max(0))?);
    }
    e.copy_into(&to, &from)?;
    Ok(smallvec![out])
}

/// Modes: 0 constant, 1 reflect, 2 replicate, 3 circular.
pub const PAD: OpDef = OpDef::new("pad", &[arg("input")], Rule::Composite(pad))
    .attrs(&[
        attr("pad", AttrKind::Ints),
        attr("value", AttrKind::Float),
        attr("mode", AttrKind::Int),
    ])
    .doc("Numbers put around the last dimensions: a constant, or the input's own.")
    .of_parts();

fn pad(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&PAD, args, 0)?;
    let mode = attrs.int(2)?;
    if mode == 0 {
        return e.call(Op::PadConstant, args, &attrs[..2].iter().cloned().collect());
    }
    let mut out = x.clone();
    for (d, (before, after)) in pads(x, attrs.ints(0).unwrap_or_default())?.into_iter().enumerate()
    {
        if (before, after) == (0, 0) {
            continue;
        }
        let n = x.shape()[d] as i64;
        let most = match mode {
            1 => n - 1,
            2 if n > 0 => i64::MAX,
            _ => n,
        };
        if before < 0 || after < 0 || before > most || after > most {
            return Err(Error::shape(format!(
                "padding [{before}, {after}] does not fit dim {d} of shape {}, expected 0 to {most} in this mode",
                show(x.shape())
            )));
        }
        let length = padded(n as usize, (before, after), x.shape())?;
        let at = line(e, -before as f64, length, DType::I64)?;
        let at = match mode {
            // Mirrored at the first, then at the last element.
            1 => {
                let at = e.un(Op::Abs, &at)?;
                let back = e.un(Op::Abs, &e.bin_scalar_int(Op::Sub, &at, n - 1)?)?;
                e.un(Op::Neg, &e.bin_scalar_int(Op::Sub, &back, n - 1)?)?
            }
            2 => {
                let at = e.bin_scalar_int(Op::Maximum, &at, 0)?;
                e.bin_scalar_int(Op::Minimum, &at, n - 1)?
            }
            _ => e.bin_scalar_int(Op::Remainder, &at, n)?,
        };
        out = rows(e, &out, d, &at)?;
    }
    Ok(smallvec![if out.storage.same(&x.storage) { e.clone_tensor(&out)? } else { out }])
}

/// `start, start + 1, ...` as `length` numbers.
fn line(e: &Engine, start: f64, length: usize, dtype: DType) -> Result<Tensor> {
    let attrs = smallvec![
        Attr::Float(start),
        Attr::Float(1.0),
        Attr::Int(length as i64),
        Attr::DType(dtype)
    ];
    e.call1(Op::Arange, &[], &attrs)
}

fn rows(e: &Engine, x: &Tensor, dim: usize, at: &Tensor) -> Result<Tensor> {
    e.call1(Op::IndexSelect, &[Arg::Tensor(x), Arg::Tensor(at)], &smallvec![Attr::Int(dim as i64)])
}

/// Modes: 0 nearest, 1 linear along each dimension. `scales` holds the factors that the user
/// gave; they then decide which element is read, as in PyTorch.
pub const INTERPOLATE: OpDef =
    OpDef::new("interpolate", &[arg("input")], Rule::Composite(interpolate))
        .attrs(&[
            attr("size", AttrKind::Ints),
            attr("mode", AttrKind::Int),
            attr("alignCorners", AttrKind::Bool),
            attr("scale0", AttrKind::OptFloat),
            attr("scale1", AttrKind::OptFloat),
            attr("scale2", AttrKind::OptFloat),
        ])
        .doc("The spatial dimensions of [n, channels, ...] brought to other sizes.")
        .tolerance(1e-5)
        .of_parts();

fn interpolate(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&INTERPOLATE, args, 0)?;
    float_dtype(x.dtype)?;
    let size = attrs.ints(0).unwrap_or_default();
    if x.ndim() < 3 || x.ndim() > 5 || size.len() != x.ndim() - 2 {
        return Err(Error::shape(format!(
            "got input {} and {} sizes, expected [n, channels, ...] and a size for each dimension after these two",
            show(x.shape()),
            size.len()
        )));
    }
    let mut out = x.clone();
    for (k, &to) in size.iter().enumerate() {
        let (d, from) = (k + 2, x.shape()[k + 2]);
        if to < 1 || from < 1 {
            return Err(Error::shape(format!(
                "input and output sizes must be above 0, got {from} and {to} in dim {d}"
            )));
        }
        let scale = attrs.opt_float(3 + k).map_or(from as f64 / to as f64, |s| 1.0 / s);
        out = if attrs.int(1)? == 0 {
            rows(e, &out, d, &nearest(e, from, to as usize, scale)?)?
        } else {
            linear(e, &out, d, to as usize, attrs.flag(2), scale)?
        };
    }
    Ok(smallvec![out])
}

/// `min(floor(i * scale), n - 1)`, in float32 as PyTorch computes it.
fn nearest(e: &Engine, n: usize, to: usize, scale: f64) -> Result<Tensor> {
    let at = e.bin_scalar(Op::Mul, &line(e, 0.0, to, DType::F32)?, scale)?;
    let at = e.cast(&e.un(Op::Floor, &at)?, DType::I64)?;
    e.bin_scalar_int(Op::Minimum, &at, n as i64 - 1)
}

fn linear(
    e: &Engine,
    x: &Tensor,
    dim: usize,
    to: usize,
    align: bool,
    scale: f64,
) -> Result<Tensor> {
    let n = x.shape()[dim];
    let compute = if x.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let i = line(e, 0.0, to, compute)?;
    let source = if align {
        let scale = if to > 1 { (n - 1) as f64 / (to - 1) as f64 } else { 0.0 };
        e.bin_scalar(Op::Mul, &i, scale)?
    } else {
        let middle = e.bin_scalar(Op::Mul, &e.bin_scalar(Op::Add, &i, 0.5)?, scale)?;
        e.bin_scalar(Op::Maximum, &e.bin_scalar(Op::Sub, &middle, 0.5)?, 0.0)?
    };
    let low = e.bin_scalar(Op::Minimum, &e.un(Op::Floor, &source)?, (n - 1) as f64)?;
    let weight = e.bin_scalar(Op::Minimum, &e.bin(Op::Sub, &source, &low)?, 1.0)?;
    let mut shape: Dims = smallvec![1; x.ndim()];
    shape[dim] = to;
    let weight = e.cast(&e.reshape(&weight, &shape)?, x.dtype)?;
    let first = e.cast(&low, DType::I64)?;
    let second =
        e.bin_scalar_int(Op::Minimum, &e.bin_scalar_int(Op::Add, &first, 1)?, n as i64 - 1)?;
    let (a, b) = (rows(e, x, dim, &first)?, rows(e, x, dim, &second)?);
    let step = e.bin(Op::Mul, &weight, &e.bin(Op::Sub, &b, &a)?)?;
    e.add(&a, &step)
}

pub const ONE_HOT: OpDef = OpDef::new(
    "oneHot",
    &[arg("input")],
    Rule::Composite(|e, args, attrs| {
        let i = tensor_arg(&ONE_HOT, args, 0)?;
        let mut shape = i.layout.shape.clone();
        shape.push(1);
        let classes = line(e, 0.0, attrs.int(0)?.max(0) as usize, DType::I64)?;
        let hot = e.bin(Op::Eq, &e.reshape(i, &shape)?, &classes)?;
        Ok(smallvec![e.cast(&hot, DType::I64)?])
    }),
)
.attrs(&[attr("classes", AttrKind::Int)])
.doc("A new last dimension with 1 at the position of the index, else 0, in int64.")
.of_parts();
