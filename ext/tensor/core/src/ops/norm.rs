//! Normalisation: layerNorm, rmsNorm, batchNorm, groupNorm.
//!
//! `y = (x - mean) * rstd * weight + bias` with `rstd = 1 / sqrt(variance + eps)`, variance and
//! mean over a row (layerNorm, Ba et al. 2016), a batch (batchNorm, Ioffe and Szegedy 2015) or a
//! group of channels (groupNorm, Wu and He 2018); rmsNorm has no mean (Zhang and Sennrich 2019).
//! Invariant: a gradient that will itself be differentiated is composed of recorded ops, which
//! compute the statistics again; otherwise the saved ones serve.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, show};
use crate::table::{
    ArgDef, Grads, Meta, OUT1, Op, OpDef, Outputs, Plan, Rule, arg, attr, input, opt,
};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const AFFINE: &[ArgDef] = &[arg("input"), opt("weight"), opt("bias")];

/// A float dtype, or an error that says what was given.
pub fn float_dtype(dtype: DType) -> Result<DType> {
    if dtype.is_float() {
        return Ok(dtype);
    }
    Err(Error::dtype(format!("got {dtype}, expected a float dtype; convert with to(\"float32\")")))
}

/// A scalar that takes part in an expression.
fn number(v: f64) -> Arg<'static> {
    Arg::Scalar(Scalar::Float(v))
}

/// Kernel: rows of the last `length` elements of a contiguous view; weight and bias have
/// `length` elements. Output 0 has the input's shape, output 1 holds the rows' means, then
/// their `rstd`, in the dtype that the kernel computes in.
pub const NORM_ROWS: OpDef = OpDef::new("normRows", AFFINE, Rule::Kernel(rows_plan))
    .attrs(&[
        attr("length", AttrKind::Int),
        attr("eps", AttrKind::Float),
        attr("centered", AttrKind::Bool),
    ])
    .doc("Rows scaled to a mean of 0 (where centered) and a mean square of 1.")
    .tolerance(1e-5)
    .vjp(rows_vjp, &[input(0) | input(1) | OUT1, input(0) | OUT1, 0]);

/// Halves are summed in float32.
fn wide(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

fn rows_plan(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let x = crate::ops::movement::first(m)?;
    let n = a.int(0)?.max(0) as usize;
    let numel = crate::layout::checked_numel(x.shape)?;
    let d = float_dtype(x.dtype)?;
    let mut plan = Plan::one(d, x.shape.into(), d);
    plan.outputs.push((smallvec![2, numel / n.max(1)], wide(d)));
    Ok(plan)
}

fn rows_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let (n, eps, centered) =
        (cx.attrs.int(0)?.max(0) as usize, cx.attrs.float(1)?, cx.attrs.flag(2));
    let weighted = cx.meta(1).is_ok();
    let g = cx.grad()?;
    let want = [cx.wants(0), cx.wants(1), cx.wants(2)];
    let w = (weighted && want[0]).then(|| cx.input(1)).transpose()?;
    let rows = g.numel() / n.max(1);
    if e.grad_enabled() || !(want[0] || want[1]) {
        let shape: Dims = smallvec![rows, n];
        let g2 = e.reshape(&g, &shape)?;
        let mut out: Grads = smallvec![None, None, None];
        if want[0] || want[1] {
            let x = e.reshape(&cx.input(0)?, &shape)?;
            let (hat, rstd) = normalized(e, &x, &[1], eps, centered)?;
            if want[0] {
                let gh = match &w {
                    Some(w) => e.bin(Op::Mul, &g2, w)?,
                    None => g2.clone(),
                };
                let gx = input_grad(e, &gh, &hat, &rstd, &[1], centered)?;
                out[0] = Some(e.reshape(&gx, g.shape())?);
            }
            if want[1] {
                out[1] = Some(e.sum_dims(&e.bin(Op::Mul, &g2, &hat)?, &[0], false)?);
            }
        }
        if want[2] {
            out[2] = Some(e.sum_dims(&g2, &[0], false)?);
        }
        return Ok(out);
    }
    let (x, stats) = (cx.input(0)?, cx.output(1)?);
    let mask = want.iter().enumerate().fold(0, |m, (i, w)| m | (*w as i64) << i);
    let attrs = smallvec![Attr::Int(n as i64), Attr::Bool(centered), Attr::Int(mask)];
    let args = [
        Arg::Tensor(&g),
        Arg::Tensor(&x),
        Arg::Tensor(&stats),
        w.as_ref().map_or(Arg::Absent, Arg::Tensor),
    ];
    let all = e.call(Op::NormRowsBackward, &args, &attrs)?;
    Ok(all.into_iter().zip(want).map(|(t, w)| w.then_some(t)).collect())
}

/// Kernel: gradients of normRows by input, weight and bias; those without a bit in `want` are
/// empty and not computed.
pub const NORM_ROWS_BACKWARD: OpDef = OpDef::new(
    "normRowsBackward",
    &[arg("grad"), arg("input"), arg("stats"), opt("weight")],
    Rule::Kernel(|m, a| {
        let [Some(g), ..] = m else { return Err(Error::argument("takes a gradient")) };
        let (n, want) = (a.int(0)?.max(0) as usize, a.int(2)?);
        let mut plan = Plan::one(g.dtype, Dims::new(), g.dtype).keep(1 << 2);
        plan.outputs.clear();
        let none: Dims = smallvec![0];
        for (i, shape) in [g.shape.into(), smallvec![n], smallvec![n]].into_iter().enumerate() {
            plan.outputs.push((if want >> i & 1 == 1 { shape } else { none.clone() }, g.dtype));
        }
        Ok(plan)
    }),
)
.attrs(&[
    attr("length", AttrKind::Int),
    attr("centered", AttrKind::Bool),
    attr("want", AttrKind::Int),
])
.doc("Gradients of normRows.")
.no_vjp("a gradient that is differentiated is composed of other ops");

/// `(x - mean) * rstd` over `dims`, and `rstd` with these kept as 1.
fn normalized(
    e: &Engine,
    x: &Tensor,
    dims: &[usize],
    eps: f64,
    centered: bool,
) -> Result<(Tensor, Tensor)> {
    let n: usize = dims.iter().map(|&d| x.shape()[d]).product();
    let d = if centered { e.bin(Op::Sub, x, &mean_over(e, x, dims, n)?)? } else { x.clone() };
    let var = mean_over(e, &e.un(Op::Square, &d)?, dims, n)?;
    let rstd = e.un(Op::Rsqrt, &e.bin_scalar(Op::Add, &var, eps)?)?;
    Ok((e.bin(Op::Mul, &d, &rstd)?, rstd))
}

fn mean_over(e: &Engine, x: &Tensor, dims: &[usize], n: usize) -> Result<Tensor> {
    e.bin_scalar(Op::Div, &e.sum_dims(x, dims, true)?, n as f64)
}

/// `rstd * (gh - mean(gh) - hat * mean(gh * hat))`, where `gh` is the gradient of `hat`.
fn input_grad(
    e: &Engine,
    gh: &Tensor,
    hat: &Tensor,
    rstd: &Tensor,
    dims: &[usize],
    centered: bool,
) -> Result<Tensor> {
    let n: usize = dims.iter().map(|&d| hat.shape()[d]).product();
    let along = mean_over(e, &e.bin(Op::Mul, gh, hat)?, dims, n)?;
    let mut rest = e.bin(Op::Sub, gh, &e.bin(Op::Mul, hat, &along)?)?;
    if centered {
        rest = e.bin(Op::Sub, &rest, &mean_over(e, gh, dims, n)?)?;
    }
    e.bin(Op::Mul, &rest, rstd)
}

/// The trailing dimensions that `shape` names, as their element count; weight and bias must have
/// that shape.
fn trailing(x: &Tensor, shape: &[i64], affine: &[(&str, Arg)]) -> Result<usize> {
    let want: Dims = shape.iter().map(|&d| d.max(0) as usize).collect();
    let fits =
        !want.is_empty() && x.ndim() >= want.len() && x.shape()[x.ndim() - want.len()..] == *want;
    if !fits {
        return Err(Error::shape(format!(
            "got input {} and normalized shape {}, expected an input of shape [..., {}",
            show(x.shape()),
            show(&want),
            show(&want).trim_start_matches('[')
        )));
    }
    for (name, a) in affine {
        if let Some(t) = a.tensor()
            && t.layout.shape != want
        {
            return Err(Error::shape(format!(
                "{name} has shape {}, expected the normalized shape {}",
                show(t.shape()),
                show(&want)
            )));
        }
    }
    Ok(want.iter().product())
}

fn norm_rows(
    e: &Engine,
    x: &Tensor,
    w: Arg,
    b: Arg,
    n: usize,
    eps: f64,
    centered: bool,
) -> Result<Tensor> {
    let flat = |a: Arg| a.tensor().map(|t| e.reshape(t, &[n])).transpose();
    let (w, b) = (flat(w)?, flat(b)?);
    fn as_arg(t: &Option<Tensor>) -> Arg<'_> {
        t.as_ref().map_or(Arg::Absent, Arg::Tensor)
    }
    let attrs = smallvec![Attr::Int(n as i64), Attr::Float(eps), Attr::Bool(centered)];
    let mut out = e.call(Op::NormRows, &[Arg::Tensor(x), as_arg(&w), as_arg(&b)], &attrs)?;
    out.truncate(1);
    crate::engine::only(out)
}

fn at<'a>(args: &[Arg<'a>], i: usize) -> Arg<'a> {
    args.get(i).copied().unwrap_or(Arg::Absent)
}

pub const LAYER_NORM: OpDef = OpDef::new("layerNorm", AFFINE, Rule::Composite(layer_norm))
    .attrs(&[attr("shape", AttrKind::Ints), attr("eps", AttrKind::Float)])
    .doc("Normalisation over the trailing dimensions, then weight and bias.")
    .tolerance(1e-5)
    .of_parts();

fn layer_norm(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&LAYER_NORM, args, 0)?;
    float_dtype(x.dtype)?;
    let (w, b) = (at(args, 1), at(args, 2));
    let n = trailing(x, attrs.ints(0).unwrap_or_default(), &[("weight", w), ("bias", b)])?;
    Ok(smallvec![norm_rows(e, x, w, b, n, attrs.float(1)?, true)?])
}

pub const RMS_NORM: OpDef =
    OpDef::new("rmsNorm", &[arg("input"), opt("weight")], Rule::Composite(rms_norm))
        .attrs(&[attr("shape", AttrKind::Ints), attr("eps", AttrKind::OptFloat)])
        .doc("Division by the root mean square over the trailing dimensions, then weight.")
        .tolerance(1e-5)
        .of_parts();

fn rms_norm(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&RMS_NORM, args, 0)?;
    let eps = match float_dtype(x.dtype)? {
        DType::F64 => f64::EPSILON,
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => f32::EPSILON as f64,
    };
    let w = at(args, 1);
    let n = trailing(x, attrs.ints(0).unwrap_or_default(), &[("weight", w)])?;
    let eps = attrs.opt_float(1).unwrap_or(eps);
    Ok(smallvec![norm_rows(e, x, w, Arg::Absent, n, eps, false)?])
}

/// Checks that `t` has one element per channel.
fn per_channel(name: &str, a: Arg, channels: usize) -> Result<()> {
    match a.tensor() {
        Some(t) if t.shape() != [channels] => Err(Error::shape(format!(
            "{name} has shape {}, expected [{channels}] for {channels} channels",
            show(t.shape())
        ))),
        _ => Ok(()),
    }
}

/// A per-channel tensor as it broadcasts against `[n, channels, ...]`.
fn along_channels(e: &Engine, t: &Tensor, ndim: usize) -> Result<Tensor> {
    let mut shape: Dims = smallvec![1; ndim];
    shape[1] = t.numel();
    e.reshape(t, &shape)
}

pub const GROUP_NORM: OpDef = OpDef::new("groupNorm", AFFINE, Rule::Composite(group_norm))
    .attrs(&[attr("groups", AttrKind::Int), attr("eps", AttrKind::Float)])
    .doc("Normalisation over groups of channels of each sample, then weight and bias per channel.")
    .tolerance(1e-5)
    .of_parts();

fn group_norm(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&GROUP_NORM, args, 0)?;
    float_dtype(x.dtype)?;
    let groups = attrs.int(0)?;
    if x.ndim() < 2 {
        return Err(Error::shape(format!(
            "got input {}, expected [n, channels, ...]",
            show(x.shape())
        )));
    }
    let c = x.shape()[1];
    if groups < 1 || !c.is_multiple_of(groups as usize) {
        return Err(Error::shape(format!(
            "cannot divide {c} channels into {groups} groups, expected a divisor of {c}"
        )));
    }
    let (w, b) = (at(args, 1), at(args, 2));
    per_channel("weight", w, c)?;
    per_channel("bias", b, c)?;
    let n = x.shape()[2..].iter().product::<usize>() * (c / groups as usize);
    let mut y = norm_rows(e, x, Arg::Absent, Arg::Absent, n, attrs.float(1)?, true)?;
    for (op, t) in [(Op::Mul, w), (Op::Add, b)] {
        if let Some(t) = t.tensor() {
            y = e.bin(op, &y, &along_channels(e, t, x.ndim())?)?;
        }
    }
    Ok(smallvec![y])
}

/// The dimensions of `[n, channels, ...]` that batchNorm averages over.
fn batch_dims(ndim: usize) -> Dims {
    (0..ndim).filter(|&d| d != 1).collect()
}

pub const BATCH_NORM: OpDef = OpDef::new(
    "batchNorm",
    &[arg("input"), opt("runningMean"), opt("runningVar"), opt("weight"), opt("bias")],
    Rule::Composite(batch_norm),
)
.attrs(&[
    attr("training", AttrKind::Bool),
    attr("momentum", AttrKind::Float),
    attr("eps", AttrKind::Float),
])
.doc("Normalisation of channels over the batch, or by running statistics outside training.")
.tolerance(1e-5)
.of_parts();

fn batch_norm(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&BATCH_NORM, args, 0)?;
    let dtype = float_dtype(x.dtype)?;
    if x.ndim() < 2 {
        return Err(Error::shape(format!(
            "got input {}, expected [n, channels] or [n, channels, ...]",
            show(x.shape())
        )));
    }
    let (c, ndim) = (x.shape()[1], x.ndim());
    for (i, name) in ["runningMean", "runningVar", "weight", "bias"].into_iter().enumerate() {
        per_channel(name, at(args, i + 1), c)?;
    }
    let (training, momentum, eps) = (attrs.flag(0), attrs.float(1)?, attrs.float(2)?);
    let running = (at(args, 1).tensor(), at(args, 2).tensor());
    let (w, b) = (at(args, 3), at(args, 4));
    if matches!(dtype, DType::F16 | DType::BF16) {
        let wide = e.cast(x, DType::F32)?;
        let args = [Arg::Tensor(&wide), at(args, 1), at(args, 2), w, b];
        let y = crate::engine::only(batch_norm(e, &args, attrs)?)?;
        return Ok(smallvec![e.cast(&y, dtype)?]);
    }
    if !training {
        let (Some(mean), Some(var)) = running else {
            return Err(Error::argument(
                "outside training runningMean and runningVar must be tensors, got none",
            ));
        };
        let mut scale = e.un(Op::Rsqrt, &e.bin_scalar(Op::Add, var, eps)?)?;
        if let Some(w) = w.tensor() {
            scale = e.bin(Op::Mul, &scale, w)?;
        }
        let mut shift = e.un(Op::Neg, &e.bin(Op::Mul, mean, &scale)?)?;
        if let Some(b) = b.tensor() {
            shift = e.bin(Op::Add, &shift, b)?;
        }
        let y = e.bin(Op::Mul, x, &along_channels(e, &scale, ndim)?)?;
        return Ok(smallvec![e.bin(Op::Add, &y, &along_channels(e, &shift, ndim)?)?]);
    }
    let count = x.numel() / c.max(1);
    if count < 2 {
        return Err(Error::shape(format!(
            "expected more than 1 value per channel when training, got input {}",
            show(x.shape())
        )));
    }
    let args = [Arg::Tensor(x), w, b];
    let out = e.call(Op::BatchNormTrain, &args, &smallvec![Attr::Float(eps)])?;
    if let (Some(mean), Some(var)) = running {
        let _mode = e.grad_mode(false);
        let pick = |row: i64| {
            e.call1(Op::Select, &[Arg::Tensor(&out[1])], &smallvec![Attr::Int(0), Attr::Int(row)])
        };
        // rstd is 1 / sqrt(var + eps); the running variance is the unbiased one.
        let square = e.un(Op::Square, &e.un(Op::Reciprocal, &pick(1)?)?)?;
        let unbiased = e.bin_scalar(
            Op::Mul,
            &e.bin_scalar(Op::Sub, &square, eps)?,
            count as f64 / (count - 1) as f64,
        )?;
        for (old, new) in [(mean, pick(0)?), (var, unbiased)] {
            let old = old.detach();
            let lerp = smallvec![Attr::Float(momentum)];
            let next = e.call1(Op::Lerp, &[Arg::Tensor(&old), Arg::Tensor(&new)], &lerp)?;
            e.copy_into(&old, &next)?;
        }
    }
    Ok(smallvec![out[0].clone()])
}

/// Kernel: output 0 is the normalised batch, output 1 `[2, channels]`: means, then `rstd`.
pub const BATCH_NORM_TRAIN: OpDef = OpDef::new(
    "batchNormTrain",
    AFFINE,
    Rule::Kernel(|m, _| {
        let x = crate::ops::movement::first(m)?;
        let d = float_dtype(x.dtype)?;
        let mut plan = Plan::one(d, x.shape.into(), d);
        plan.outputs.push((smallvec![2, x.shape.get(1).copied().unwrap_or(0)], d));
        Ok(plan)
    }),
)
.attrs(&[attr("eps", AttrKind::Float)])
.doc("Channels scaled to mean 0 and variance 1 over the batch.")
.tolerance(1e-5)
.vjp(batch_vjp, &[input(0) | input(1) | OUT1, input(0) | OUT1, 0]);

/// Kernel: gradients of batchNormTrain by input, weight and bias; those without a bit in `want`
/// are empty and not computed.
pub const BATCH_NORM_TRAIN_BACKWARD: OpDef = OpDef::new(
    "batchNormTrainBackward",
    &[arg("grad"), arg("input"), arg("stats"), opt("weight")],
    Rule::Kernel(|m, a| {
        let [Some(g), Some(x), ..] = m else { return Err(Error::argument("takes a gradient")) };
        let (c, want) = (x.shape.get(1).copied().unwrap_or(0), a.int(0)?);
        let mut plan = Plan::one(g.dtype, Dims::new(), g.dtype).keep(1 << 2);
        plan.outputs.clear();
        let none: Dims = smallvec![0];
        for (i, shape) in [x.shape.into(), smallvec![c], smallvec![c]].into_iter().enumerate() {
            plan.outputs.push((if want >> i & 1 == 1 { shape } else { none.clone() }, g.dtype));
        }
        Ok(plan)
    }),
)
.attrs(&[attr("want", AttrKind::Int)])
.doc("Gradients of batchNormTrain.")
.no_vjp("a gradient that is differentiated is composed of other ops");

fn batch_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let g = cx.grad()?;
    let ndim = g.ndim();
    let dims = batch_dims(ndim);
    let want = [cx.wants(0), cx.wants(1), cx.wants(2)];
    if !e.grad_enabled() && (want[0] || want[1]) {
        let mask = want.iter().enumerate().fold(0, |m, (i, w)| m | (*w as i64) << i);
        let w = (want[0] && cx.meta(1).is_ok()).then(|| cx.input(1)).transpose()?;
        let (x, stats) = (cx.input(0)?, cx.output(1)?);
        let args = [
            Arg::Tensor(&g),
            Arg::Tensor(&x),
            Arg::Tensor(&stats),
            w.as_ref().map_or(Arg::Absent, Arg::Tensor),
        ];
        let all = e.call(Op::BatchNormTrainBackward, &args, &smallvec![Attr::Int(mask)])?;
        return Ok(all.into_iter().zip(want).map(|(t, w)| w.then_some(t)).collect());
    }
    let mut out: Grads = smallvec![None, None, None];
    if want[0] || want[1] {
        let (hat, rstd) = normalized(e, &cx.input(0)?, &dims, cx.attrs.float(0)?, true)?;
        if want[0] {
            let gh = match cx.meta(1) {
                Ok(_) => e.bin(Op::Mul, &g, &along_channels(e, &cx.input(1)?, ndim)?)?,
                Err(_) => g.clone(),
            };
            out[0] = Some(input_grad(e, &gh, &hat, &rstd, &dims, true)?);
        }
        if want[1] {
            out[1] = Some(e.sum_dims(&e.bin(Op::Mul, &g, &hat)?, &dims, false)?);
        }
    }
    if want[2] {
        out[2] = Some(e.sum_dims(&g, &dims, false)?);
    }
    Ok(out)
}

/// `x` where `mask` holds, else `value`.
pub fn masked(e: &Engine, mask: &Tensor, x: &Tensor, value: f64) -> Result<Tensor> {
    e.call1(Op::Where, &[Arg::Tensor(mask), Arg::Tensor(x), number(value)], &smallvec![])
}
