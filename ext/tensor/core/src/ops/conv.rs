//! Convolutions: `[n, channels, ...]` with `[out, channels / groups, ...]`.
//!
//! Three bilinear kernels: the product, and its gradients by input and by weight. The derivative
//! of each is made of the other two, so gradients of any order exist. One spatial dimension runs
//! as two of which the first has extent 1.

use crate::attr::{Attr, AttrDef, AttrKind, Attrs, AttrsExt};
use crate::engine::{Arg, Engine, only, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, checked_numel, show};
use crate::ops::movement::slice_attrs;
use crate::ops::norm::float_dtype;
use crate::table::{Grads, Meta, Op, OpDef, Outputs, Plan, Rule, arg, attr, input, opt};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

/// Stride, padding and dilation by dimension, height first.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

/// The largest extent that an attribute may name; sums of a few stay far below `usize::MAX`.
const MOST: i64 = 1 << 40;

fn pair(attrs: &[Attr], i: usize, what: &str, least: i64) -> Result<[usize; 2]> {
    let v = attrs.ints(i).unwrap_or_default();
    match *v {
        [a, b] => match [a, b].iter().find(|v| !(least..=MOST).contains(v)) {
            None => Ok([a as usize, b as usize]),
            Some(bad) => Err(out_of_range(what, *bad, least, MOST)),
        },
        _ => Err(Error::argument(format!("{what} must be two numbers, got {v:?}"))),
    }
}

/// A number beyond the least, or beyond the most that anybody means.
pub(crate) fn out_of_range(what: &str, got: i64, least: i64, most: i64) -> Error {
    Error::range(match got < least {
        true => format!("{what} must be {least} or more, got {got}"),
        false => format!("{what} must be {most} or less, got {got}"),
    })
}

impl Window {
    /// From attributes 0 to 2.
    pub fn new(attrs: &[Attr]) -> Result<Window> {
        Ok(Window {
            stride: pair(attrs, 0, "stride", 1)?,
            padding: pair(attrs, 1, "padding", 0)?,
            dilation: pair(attrs, 2, "dilation", 1)?,
        })
    }

    /// Positions of a window of extent `k` along dimension `d` of extent `n`.
    pub fn positions(&self, d: usize, n: usize, k: usize) -> Option<usize> {
        let reach = self.dilation[d].checked_mul(k.checked_sub(1)?)?.checked_add(1)?;
        let room = (n.checked_add(2 * self.padding[d])?).checked_sub(reach)?;
        Some(room / self.stride[d] + 1)
    }
}

const WINDOW: [AttrDef; 4] = [
    attr("stride", AttrKind::Ints),
    attr("padding", AttrKind::Ints),
    attr("dilation", AttrKind::Ints),
    attr("groups", AttrKind::Int),
];
const SIZED: &[AttrDef] =
    &[WINDOW[0], WINDOW[1], WINDOW[2], WINDOW[3], attr("size", AttrKind::Ints)];

fn two<'a>(m: &[Option<Meta<'a>>]) -> Result<(Meta<'a>, Meta<'a>)> {
    match m {
        [Some(a), Some(b), ..] if a.dtype == b.dtype => {
            float_dtype(a.dtype)?;
            Ok((*a, *b))
        }
        [Some(a), Some(b), ..] => Err(Error::dtype(format!(
            "got {} and {}, expected equal dtypes; convert one with to(...)",
            a.dtype, b.dtype
        ))),
        _ => Err(Error::argument("takes two tensors")),
    }
}

fn groups_of(attrs: &[Attr]) -> Result<usize> {
    usize::try_from(attrs.int(3)?)
        .ok()
        .filter(|g| *g > 0)
        .ok_or_else(|| Error::range("groups must be 1 or more"))
}

/// Kernel: input `[n, c, h, w]`, weight `[o, c / groups, kh, kw]`, bias `[o]`.
pub const CONVOLVE: OpDef = OpDef::new(
    "convolve",
    &[arg("input"), arg("weight"), opt("bias")],
    Rule::Kernel(|m, a| {
        let ((x, w), window) = (two(m)?, Window::new(a)?);
        let (xs, ws) = (x.shape, w.shape);
        let mut shape: Dims = smallvec![xs[0], ws[0]];
        for d in 0..2 {
            let n = window.positions(d, xs[d + 2], ws[d + 2]);
            shape.push(n.ok_or_else(|| Error::shape("the kernel is larger than the input"))?);
        }
        checked_numel(&shape)?;
        Ok(Plan::one(x.dtype, shape, x.dtype))
    }),
)
.attrs(&WINDOW)
.doc("The convolution of images with a bank of kernels.")
.tolerance(1e-5)
.vjp(
    |cx| {
        let mut out = product_vjp(cx, [Part::Input, Part::Weight], Part::Output)?;
        let bias = || cx.engine.sum_dims(&cx.grad()?, &[0, 2, 3], false);
        out.push(cx.wants(2).then(bias).transpose()?);
        Ok(out)
    },
    &[input(1), input(0), 0],
);

/// What the three kernels are made of: each gives one of these of the other two.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Input,
    Weight,
    Output,
}

/// The derivative of a kernel that gives `result` of `args`: the cotangent stands for the result,
/// and the kernel that gives an argument takes it and the other one.
fn product_vjp(cx: &VjpCx, args: [Part; 2], result: Part) -> Result<Grads> {
    let c = cx.grad()?;
    let by = |i: usize| -> Result<Tensor> {
        let other = cx.input(1 - i)?;
        let of = |part: Part| if part == result { &c } else { &other };
        let like = &cx.meta(i)?.shape;
        match args[i] {
            Part::Output => plain(cx.engine, of(Part::Input), of(Part::Weight), cx.attrs, like),
            Part::Input => {
                let (g, w) = (of(Part::Output), of(Part::Weight));
                sized(cx.engine, Op::ConvolveInput, g, w, cx.attrs, like)
            }
            Part::Weight => {
                let (g, x) = (of(Part::Output), of(Part::Input));
                sized(cx.engine, Op::ConvolveWeight, g, x, cx.attrs, like)
            }
        }
    };
    [0, 1].into_iter().map(|i| cx.wants(i).then(|| by(i)).transpose()).collect()
}

/// One of the two gradient kernels; `like` ends with the spatial extents of its result.
fn sized(
    e: &Engine,
    op: Op,
    a: &Tensor,
    b: &Tensor,
    attrs: &Attrs,
    like: &[usize],
) -> Result<Tensor> {
    let mut attrs: Attrs = attrs[..4].iter().cloned().collect();
    attrs.push(Attr::Ints(like[like.len() - 2..].iter().map(|&d| d as i64).collect()));
    e.call1(op, &[Arg::Tensor(a), Arg::Tensor(b)], &attrs)
}

/// The product with the spatial extents of `like`: a transposed convolution whose output padding
/// reaches a stride leaves room for more positions than there were.
fn plain(e: &Engine, a: &Tensor, b: &Tensor, attrs: &Attrs, like: &[usize]) -> Result<Tensor> {
    let attrs: Attrs = attrs[..4].iter().cloned().collect();
    let mut out = e.call1(Op::Convolve, &[Arg::Tensor(a), Arg::Tensor(b)], &attrs)?;
    for dim in [2, 3] {
        if out.shape()[dim] != like[dim] {
            out = e.call1(Op::Slice, &[Arg::Tensor(&out)], &slice_attrs(dim, 0, like[dim]))?;
        }
    }
    Ok(out)
}

/// Kernel: `[n, o, oh, ow]` and weight to the convolution's input `[n, c, h, w]`; `size` holds
/// h and w.
pub const CONVOLVE_INPUT: OpDef = OpDef::new(
    "convolveInput",
    &[arg("grad"), arg("weight")],
    Rule::Kernel(|m, a| {
        let ((g, w), [h, width]) = (two(m)?, pair(a, 4, "size", 0)?);
        let c = w.shape[1]
            .checked_mul(groups_of(a)?)
            .ok_or_else(|| Error::shape("too many channels"))?;
        let shape: Dims = smallvec![g.shape[0], c, h, width];
        checked_numel(&shape)?;
        Ok(Plan::one(g.dtype, shape, g.dtype))
    }),
)
.attrs(SIZED)
.doc("The gradient of a convolution by its input; the transposed convolution.")
.tolerance(1e-5)
.vjp(|cx| product_vjp(cx, [Part::Output, Part::Weight], Part::Input), &[input(1), input(0)]);

/// Kernel: `[n, o, oh, ow]` and the convolution's input to its weight `[o, c / groups, kh, kw]`;
/// `size` holds kh and kw.
pub const CONVOLVE_WEIGHT: OpDef = OpDef::new(
    "convolveWeight",
    &[arg("grad"), arg("input")],
    Rule::Kernel(|m, a| {
        let ((g, x), [kh, kw]) = (two(m)?, pair(a, 4, "size", 0)?);
        let shape: Dims = smallvec![g.shape[1], x.shape[1] / groups_of(a)?, kh, kw];
        checked_numel(&shape)?;
        Ok(Plan::one(g.dtype, shape, g.dtype))
    }),
)
.attrs(SIZED)
.doc("The gradient of a convolution by its weight.")
.tolerance(1e-5)
.vjp(|cx| product_vjp(cx, [Part::Output, Part::Input], Part::Weight), &[input(1), input(0)]);

const ARGS: &[crate::table::ArgDef] = &[arg("input"), arg("weight"), opt("bias")];
/// `same` pads so that the output has the input's extents at stride 1.
const CONV: &[AttrDef] =
    &[WINDOW[0], WINDOW[1], WINDOW[2], WINDOW[3], attr("same", AttrKind::Bool)];
const TRANSPOSED: &[AttrDef] =
    &[WINDOW[0], WINDOW[1], WINDOW[2], WINDOW[3], attr("outputPadding", AttrKind::Ints)];

pub const CONV1D: OpDef =
    OpDef::new("conv1d", ARGS, Rule::Composite(|e, x, a| conv(e, &CONV1D, 1, x, a)))
        .attrs(CONV)
        .doc("Convolution over one dimension.")
        .tolerance(1e-5)
        .of_parts();
pub const CONV2D: OpDef =
    OpDef::new("conv2d", ARGS, Rule::Composite(|e, x, a| conv(e, &CONV2D, 2, x, a)))
        .attrs(CONV)
        .doc("Convolution over two dimensions.")
        .tolerance(1e-5)
        .of_parts();
pub const CONV_TRANSPOSE1D: OpDef = OpDef::new(
    "convTranspose1d",
    ARGS,
    Rule::Composite(|e, x, a| transposed(e, &CONV_TRANSPOSE1D, 1, x, a)),
)
.attrs(TRANSPOSED)
.doc("Transposed convolution over one dimension.")
.tolerance(1e-5)
.of_parts();
pub const CONV_TRANSPOSE2D: OpDef = OpDef::new(
    "convTranspose2d",
    ARGS,
    Rule::Composite(|e, x, a| transposed(e, &CONV_TRANSPOSE2D, 2, x, a)),
)
.attrs(TRANSPOSED)
.doc("Transposed convolution over two dimensions.")
.tolerance(1e-5)
.of_parts();

/// A list of `nd` numbers as two, the first of which is `first` where there is one.
fn widened(attrs: &[Attr], i: usize, name: &str, nd: usize, first: i64) -> Result<Attr> {
    let v = attrs.ints(i).unwrap_or_default();
    let v: SmallVec<[i64; 4]> = match (nd, v) {
        (1, [a]) => smallvec![first, *a],
        (1, _) => return Err(Error::argument(format!("{name} must be one number, got {v:?}"))),
        (_, [a]) => smallvec![*a, *a],
        (_, [a, b]) => smallvec![*a, *b],
        _ => return Err(Error::argument(format!("{name} must be one or two numbers, got {v:?}"))),
    };
    Ok(Attr::Ints(v))
}

/// Operands as two-dimensional ones with a batch.
struct Operands {
    x: Tensor,
    w: Tensor,
    /// Dimensions that the result loses again.
    unbatched: bool,
}

fn operands(
    e: &Engine,
    def: &OpDef,
    nd: usize,
    args: &[Arg],
    channels: impl Fn(&[usize]) -> (usize, usize),
) -> Result<Operands> {
    let (x, w) = (tensor_arg(def, args, 0)?, tensor_arg(def, args, 1)?);
    float_dtype(x.dtype)?;
    two(&[
        Some(Meta { shape: x.shape(), dtype: x.dtype }),
        Some(Meta { shape: w.shape(), dtype: w.dtype }),
    ])?;
    let spatial = if nd == 1 { "l" } else { "h, w" };
    if w.ndim() != nd + 2 || (x.ndim() != nd + 2 && x.ndim() != nd + 1) {
        return Err(Error::shape(format!(
            "got input {} and weight {}, expected an input [n, c, {spatial}] or [c, {spatial}] and a weight of {} dimensions",
            show(x.shape()),
            show(w.shape()),
            nd + 2
        )));
    }
    let (have, outputs) = (x.shape()[x.ndim() - nd - 1], channels(w.shape()));
    if have != outputs.0 {
        return Err(Error::shape(format!(
            "got input {} with {have} channels and weight {}, expected an input of {} channels",
            show(x.shape()),
            show(w.shape()),
            outputs.0
        )));
    }
    if let Some(b) = args.get(2).and_then(|a| a.tensor())
        && b.shape() != [outputs.1]
    {
        return Err(Error::shape(format!(
            "bias has shape {}, expected [{}] for weight {}",
            show(b.shape()),
            outputs.1,
            show(w.shape())
        )));
    }
    let unbatched = x.ndim() == nd + 1;
    let four = |t: &Tensor, batched: bool| {
        let mut shape: Dims = t.layout.shape.clone();
        if !batched {
            shape.insert(0, 1);
        }
        if nd == 1 {
            shape.insert(2, 1);
        }
        e.reshape(t, &shape)
    };
    Ok(Operands { x: four(x, !unbatched)?, w: four(w, true)?, unbatched })
}

/// The result without the dimensions that [`operands`] added.
fn finish(e: &Engine, y: Tensor, nd: usize, unbatched: bool) -> Result<Tensor> {
    let mut shape = y.layout.shape.clone();
    if nd == 1 {
        shape.remove(2);
    }
    if unbatched {
        shape.remove(0);
    }
    if shape == y.layout.shape { Ok(y) } else { e.reshape(&y, &shape) }
}

fn conv(e: &Engine, def: &OpDef, nd: usize, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let groups = groups_of(attrs)?;
    let Operands { mut x, w, unbatched } =
        operands(e, def, nd, args, |w| (w[1].saturating_mul(groups), w[0]))?;
    if !w.shape()[0].is_multiple_of(groups) {
        return Err(Error::shape(format!(
            "cannot divide the {} output channels of weight {} into {groups} groups",
            w.shape()[0],
            show(w.shape())
        )));
    }
    let mut window: Attrs = smallvec![
        widened(attrs, 0, "stride", nd, 1)?,
        widened(attrs, 1, "padding", nd, 0)?,
        widened(attrs, 2, "dilation", nd, 1)?,
        Attr::Int(groups as i64)
    ];
    let mut parsed = Window::new(&window)?;
    if attrs.flag(4) {
        if parsed.stride != [1, 1] {
            return Err(Error::argument("padding \"same\" needs a stride of 1"));
        }
        // What is missing on both sides goes into the kernel, an odd one on the right is padded.
        let total: SmallVec<[usize; 2]> =
            (0..2).map(|d| parsed.dilation[d] * w.shape()[d + 2].saturating_sub(1)).collect();
        window[1] = Attr::Ints(total.iter().map(|t| (t / 2) as i64).collect());
        if total.iter().any(|t| t % 2 == 1) {
            let pad = smallvec![0, (total[1] % 2) as i64, 0, (total[0] % 2) as i64];
            x = e.call1(
                Op::PadConstant,
                &[Arg::Tensor(&x)],
                &smallvec![Attr::Ints(pad), Attr::Float(0.0)],
            )?;
        }
        parsed = Window::new(&window)?;
    }
    for d in 0..2 {
        if w.shape()[d + 2] == 0 {
            return Err(no_kernel_extent(tensor_arg(def, args, 1)?));
        }
        if parsed.positions(d, x.shape()[d + 2], w.shape()[d + 2]).is_none() {
            return Err(Error::shape(format!(
                "the kernel of weight {} with dilation {} is larger than the padded input {} with padding {}",
                show(tensor_arg(def, args, 1)?.shape()),
                parsed.dilation[d],
                show(tensor_arg(def, args, 0)?.shape()),
                parsed.padding[d]
            )));
        }
    }
    let (x, w) = (e.contiguous(&x)?, e.contiguous(&w)?);
    let bias = args.get(2).copied().unwrap_or(Arg::Absent);
    let y = e.call1(Op::Convolve, &[Arg::Tensor(&x), Arg::Tensor(&w), bias], &window)?;
    Ok(smallvec![finish(e, y, nd, unbatched)?])
}

fn no_kernel_extent(weight: &Tensor) -> Error {
    Error::shape(format!(
        "the kernel of weight {} has an extent of 0, expected 1 or more",
        show(weight.shape())
    ))
}

fn transposed(e: &Engine, def: &OpDef, nd: usize, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let groups = groups_of(attrs)?;
    let Operands { x, w, unbatched } =
        operands(e, def, nd, args, |w| (w[0], w[1].saturating_mul(groups)))?;
    if !w.shape()[0].is_multiple_of(groups) {
        return Err(Error::shape(format!(
            "cannot divide the {} input channels of weight {} into {groups} groups",
            w.shape()[0],
            show(w.shape())
        )));
    }
    let mut window: Attrs = smallvec![
        widened(attrs, 0, "stride", nd, 1)?,
        widened(attrs, 1, "padding", nd, 0)?,
        widened(attrs, 2, "dilation", nd, 1)?,
        Attr::Int(groups as i64)
    ];
    let parsed = Window::new(&window)?;
    let extra = pair(&[widened(attrs, 4, "outputPadding", nd, 0)?], 0, "outputPadding", 0)?;
    let mut size: SmallVec<[i64; 4]> = SmallVec::new();
    for (d, &more) in extra.iter().enumerate() {
        if more >= parsed.stride[d].max(parsed.dilation[d]) {
            return Err(Error::range(format!(
                "outputPadding must be smaller than stride or dilation, got {more}, stride {}, dilation {}",
                parsed.stride[d], parsed.dilation[d]
            )));
        }
        let (n, k) = (x.shape()[d + 2] as i64, w.shape()[d + 2] as i64);
        if k == 0 {
            return Err(no_kernel_extent(tensor_arg(def, args, 1)?));
        }
        let steps = (n - 1).checked_mul(parsed.stride[d] as i64);
        let reach = (parsed.dilation[d] as i64).checked_mul(k - 1);
        let extent = steps
            .and_then(|s| s.checked_add(reach?))
            .map(|v| v - 2 * parsed.padding[d] as i64 + more as i64 + 1)
            .filter(|v| *v > 0 && n > 0);
        size.push(extent.ok_or_else(|| {
            Error::shape(format!(
                "input {} and weight {} with padding {} leave no output",
                show(x.shape()),
                show(w.shape()),
                parsed.padding[d]
            ))
        })?);
    }
    window.push(Attr::Ints(size));
    let (x, w) = (e.contiguous(&x)?, e.contiguous(&w)?);
    let mut y = only(e.call(Op::ConvolveInput, &[Arg::Tensor(&x), Arg::Tensor(&w)], &window)?)?;
    if let Some(b) = args.get(2).and_then(|a| a.tensor()) {
        y = e.add(&y, &e.reshape(b, &[1, b.numel(), 1, 1])?)?;
    }
    Ok(smallvec![finish(e, y, nd, unbatched)?])
}
