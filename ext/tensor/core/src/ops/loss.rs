//! Losses: composites of recorded ops, so that gradients of any order follow.
//!
//! Reduction 0 is none, 1 mean, 2 sum, as in PyTorch.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::show;
use crate::ops::norm::{float_dtype, masked};
use crate::table::{Op, OpDef, Outputs, Rule, arg, attr, opt};
use crate::tensor::Tensor;
use smallvec::smallvec;

const REDUCTION: AttrKind = AttrKind::Int;

fn total(e: &Engine, t: &Tensor) -> Result<Tensor> {
    e.call1(Op::Sum, &[Arg::Tensor(t)], &smallvec![Attr::Absent, Attr::Bool(false)])
}

fn reduced(e: &Engine, loss: Tensor, reduction: i64) -> Result<Tensor> {
    match reduction {
        0 => Ok(loss),
        1 => e.call1(Op::Mean, &[Arg::Tensor(&loss)], &smallvec![Attr::Absent, Attr::Bool(false)]),
        _ => total(e, &loss),
    }
}

/// Class logits or log probabilities, their target and the weights of classes.
struct Classes<'a> {
    logp: Tensor,
    target: &'a Tensor,
    weight: Option<&'a Tensor>,
    class: usize,
    reduction: i64,
}

const CLASS_ARGS: &[crate::table::ArgDef] = &[arg("logits"), arg("target"), opt("weight")];

pub const CROSS_ENTROPY: OpDef = OpDef::new(
    "crossEntropy",
    CLASS_ARGS,
    Rule::Composite(cross_entropy),
)
.attrs(&[
    attr("reduction", REDUCTION),
    attr("ignoreIndex", AttrKind::Int),
    attr("labelSmoothing", AttrKind::Float),
])
.doc("Negative log likelihood of class indices or probabilities under softmax of the logits.")
.tolerance(1e-5)
.of_parts();

pub const NLL_LOSS: OpDef = OpDef::new(
    "nllLoss",
    &[arg("input"), arg("target"), opt("weight")],
    Rule::Composite(|e, args, attrs| {
        let x = tensor_arg(&NLL_LOSS, args, 0)?;
        let t = class_target(x, tensor_arg(&NLL_LOSS, args, 1)?, args)?;
        let all = Classes {
            logp: x.clone(),
            target: t,
            weight: args.get(2).and_then(|a| a.tensor()),
            class: usize::from(x.ndim() > 1),
            reduction: attrs.int(0)?,
        };
        Ok(smallvec![by_index(e, &all, attrs.int(1)?, 0.0)?])
    }),
)
.attrs(&[attr("reduction", REDUCTION), attr("ignoreIndex", AttrKind::Int)])
.doc("Negative log likelihood of class indices under log probabilities.")
.tolerance(1e-5)
.of_parts();

/// Checks an index target and the weights against `x`, whose classes are dimension 1 (0 for a
/// single sample).
fn class_target<'a>(x: &Tensor, t: &'a Tensor, args: &[Arg]) -> Result<&'a Tensor> {
    float_dtype(x.dtype)?;
    let mut want = x.layout.shape.clone();
    if want.is_empty() {
        return Err(Error::shape("got a 0-d input, expected [classes] or [n, classes, ...]"));
    }
    let classes = want.remove(usize::from(x.ndim() > 1));
    if t.dtype.is_float() || t.dtype == DType::Bool {
        return Err(Error::dtype(format!(
            "got a {} target of shape {}, expected class indices (convert with to(\"int64\")), or for \
             crossEntropy probabilities of the input's shape",
            t.dtype,
            show(&t.layout.shape)
        )));
    }
    if t.layout.shape != want {
        return Err(Error::shape(format!(
            "input {} needs a target of shape {}, got {}",
            show(x.shape()),
            show(&want),
            show(t.shape())
        )));
    }
    check_weight(args, classes)?;
    Ok(t)
}

fn check_weight(args: &[Arg], classes: usize) -> Result<()> {
    match args.get(2).and_then(|a| a.tensor()) {
        Some(w) if w.shape() != [classes] => Err(Error::shape(format!(
            "weight has shape {}, expected [{classes}] for {classes} classes",
            show(w.shape())
        ))),
        _ => Ok(()),
    }
}

fn cross_entropy(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let (x, t) = (tensor_arg(&CROSS_ENTROPY, args, 0)?, tensor_arg(&CROSS_ENTROPY, args, 1)?);
    let class = usize::from(x.ndim() > 1);
    let (reduction, ignore, smoothing) = (attrs.int(0)?, attrs.int(1)?, attrs.float(2)?);
    if !(0.0..=1.0).contains(&smoothing) {
        return Err(Error::range(format!("labelSmoothing must be from 0 to 1, got {smoothing}")));
    }
    let weight = args.get(2).and_then(|a| a.tensor());
    let probabilities = t.dtype.is_float() && t.shape() == x.shape() && x.ndim() > 0;
    if probabilities {
        float_dtype(x.dtype)?;
        check_weight(args, x.shape()[class])?;
    } else {
        class_target(x, t, args)?;
    }
    let dim = smallvec![Attr::Int(class as i64)];
    let logp = e.call1(Op::LogSoftmax, &[Arg::Tensor(x)], &dim)?;
    let all = Classes { logp, target: t, weight, class, reduction };
    Ok(smallvec![if probabilities {
        by_probability(e, &all, smoothing)?
    } else {
        by_index(e, &all, ignore, smoothing)?
    }])
}

/// Weights of classes as they broadcast against the log probabilities.
fn class_weights(e: &Engine, all: &Classes, w: &Tensor) -> Result<Tensor> {
    let mut shape: crate::Dims = smallvec![1; all.logp.ndim()];
    shape[all.class] = w.numel();
    e.reshape(w, &shape)
}

fn by_probability(e: &Engine, all: &Classes, smoothing: f64) -> Result<Tensor> {
    let classes = all.logp.shape()[all.class];
    let mut target = all.target.clone();
    if smoothing > 0.0 {
        target = e.bin_scalar(Op::Mul, &target, 1.0 - smoothing)?;
        target = e.bin_scalar(Op::Add, &target, smoothing / classes as f64)?;
    }
    let mut terms = e.bin(Op::Mul, &target, &all.logp)?;
    if let Some(w) = all.weight {
        terms = e.bin(Op::Mul, &terms, &class_weights(e, all, w)?)?;
    }
    let loss = e.un(Op::Neg, &e.sum_dims(&terms, &[all.class], false)?)?;
    match all.reduction {
        1 => {
            let n = all.logp.numel() / classes.max(1);
            e.bin_scalar(Op::Div, &total(e, &loss)?, n as f64)
        }
        r => reduced(e, loss, r),
    }
}

fn by_index(e: &Engine, all: &Classes, ignore: i64, smoothing: f64) -> Result<Tensor> {
    let Classes { logp, target: t, weight, class, reduction } = all;
    let classes = logp.shape()[*class];
    let valid = e.bin_scalar_int(Op::Ne, t, ignore)?;
    let zero = Arg::Scalar(Scalar::Int(0));
    let safe = e.call1(Op::Where, &[Arg::Tensor(&valid), Arg::Tensor(t), zero], &smallvec![])?;
    let mut at = t.layout.shape.clone();
    at.insert(*class, 1);
    let index = e.reshape(&safe, &at)?;
    let dim = smallvec![Attr::Int(*class as i64)];
    let picked = e.call1(Op::Gather, &[Arg::Tensor(logp), Arg::Tensor(&index)], &dim)?;
    let mut loss = e.un(Op::Neg, &e.reshape(&picked, t.shape())?)?;
    let weights = weight
        .map(|w| {
            let flat = e.reshape(&safe, &[safe.numel()])?;
            let of = e.call1(
                Op::IndexSelect,
                &[Arg::Tensor(w), Arg::Tensor(&flat)],
                &smallvec![Attr::Int(0)],
            )?;
            masked(e, &valid, &e.reshape(&of, t.shape())?, 0.0)
        })
        .transpose()?;
    if let Some(w) = &weights {
        loss = e.bin(Op::Mul, &loss, w)?;
    }
    if smoothing != 0.0 {
        let terms = match weight {
            Some(w) => e.bin(Op::Mul, logp, &class_weights(e, all, w)?)?,
            None => logp.clone(),
        };
        let rest = e.sum_dims(&terms, &[*class], false)?;
        let rest = e.bin_scalar(Op::Mul, &rest, -smoothing / classes as f64)?;
        loss = e.add(&e.bin_scalar(Op::Mul, &loss, 1.0 - smoothing)?, &rest)?;
    }
    let loss = masked(e, &valid, &loss, 0.0)?;
    if *reduction != 1 {
        return reduced(e, loss, *reduction);
    }
    let count = match &weights {
        Some(w) => total(e, w)?,
        None => e.cast(&total(e, &valid)?, loss.dtype)?,
    };
    e.bin(Op::Div, &total(e, &loss)?, &count)
}

/// `(1 - z) x + (1 + (posWeight - 1) z) log(1 + exp(-x))`, which never overflows.
pub const BCE_WITH_LOGITS: OpDef = OpDef::new(
    "bceWithLogits",
    &[arg("input"), arg("target"), opt("weight"), opt("posWeight")],
    Rule::Composite(bce_with_logits),
)
.attrs(&[attr("reduction", REDUCTION)])
.doc("Binary cross entropy of targets from 0 to 1 under the sigmoid of the input.")
.tolerance(1e-5)
.of_parts();

fn bce_with_logits(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let (x, z) = (tensor_arg(&BCE_WITH_LOGITS, args, 0)?, tensor_arg(&BCE_WITH_LOGITS, args, 1)?);
    float_dtype(x.dtype)?;
    if x.shape() != z.shape() {
        return Err(Error::shape(format!(
            "the target has shape {}, expected the input's {}",
            show(z.shape()),
            show(x.shape())
        )));
    }
    // Above the threshold exp(-x) no longer counts beside x, in float64 too.
    let soft = smallvec![Attr::Float(1.0), Attr::Float(40.0)];
    let mut soft = e.call1(Op::Softplus, &[Arg::Tensor(&e.un(Op::Neg, x)?)], &soft)?;
    if let Some(p) = args.get(3).and_then(|a| a.tensor()) {
        let factor = e.bin(Op::Mul, &e.bin_scalar(Op::Sub, p, 1.0)?, z)?;
        soft = e.bin(Op::Mul, &soft, &e.bin_scalar(Op::Add, &factor, 1.0)?)?;
    }
    let rest = e.bin(Op::Sub, x, &e.bin(Op::Mul, z, x)?)?;
    let mut loss = e.add(&rest, &soft)?;
    if let Some(w) = args.get(2).and_then(|a| a.tensor()) {
        loss = e.bin(Op::Mul, &loss, w)?;
    }
    Ok(smallvec![reduced(e, loss, attrs.int(0)?)?])
}

const PAIR: &[crate::table::ArgDef] = &[arg("input"), arg("target"), opt("weight")];

/// A loss of the difference of input and target, element by element.
fn of_difference(e: &Engine, def: &OpDef, args: &[Arg], attrs: &[Attr], op: Op) -> Result<Outputs> {
    let (x, t) = (tensor_arg(def, args, 0)?, tensor_arg(def, args, 1)?);
    let d = e.bin(Op::Sub, x, t)?;
    let settings = match op {
        Op::SmoothAbs => smallvec![Attr::Float(attrs.float(1)?)],
        _ => smallvec![],
    };
    let mut loss = e.call1(op, &[Arg::Tensor(&d)], &settings)?;
    if let Some(w) = args.get(2).and_then(|a| a.tensor()) {
        loss = e.bin(Op::Mul, &loss, w)?;
    }
    Ok(smallvec![reduced(e, loss, attrs.int(0)?)?])
}

pub const MSE_LOSS: OpDef = OpDef::new(
    "mseLoss",
    PAIR,
    Rule::Composite(|e, args, a| of_difference(e, &MSE_LOSS, args, a, Op::Square)),
)
.attrs(&[attr("reduction", REDUCTION)])
.doc("The squared difference.")
.of_parts();

pub const L1_LOSS: OpDef = OpDef::new(
    "l1Loss",
    PAIR,
    Rule::Composite(|e, args, a| of_difference(e, &L1_LOSS, args, a, Op::Abs)),
)
.attrs(&[attr("reduction", REDUCTION)])
.doc("The absolute difference.")
.of_parts();

pub const SMOOTH_L1_LOSS: OpDef = OpDef::new(
    "smoothL1Loss",
    PAIR,
    Rule::Composite(|e, args, a| {
        let beta = a.float(1)?;
        if beta.is_nan() || beta < 0.0 {
            return Err(Error::range(format!("beta must be 0 or more, got {beta}")));
        }
        let op = if beta == 0.0 { Op::Abs } else { Op::SmoothAbs };
        of_difference(e, &SMOOTH_L1_LOSS, args, a, op)
    }),
)
.attrs(&[attr("reduction", REDUCTION), attr("beta", AttrKind::Float)])
.doc("The squared difference over 2 beta below beta, the absolute one less beta / 2 above.")
.of_parts();
