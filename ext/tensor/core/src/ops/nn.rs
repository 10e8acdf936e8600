//! Rows of neural networks: softmax, losses, optimizer steps.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::backend::{Call, Input, KernelId, View};
use crate::dtype::Scalar;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{show, wrap_dim};
use crate::ops::movement::first;
use crate::table::{Meta, OUT, Op, OpDef, Outputs, Plan, ResultKind, Rule, arg, attr};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const DIM: &[crate::attr::AttrDef] = &[attr("dim", AttrKind::Int)];

fn along_dim(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let x = first(m)?;
    wrap_dim(a.int(0)?, x.shape.len())?;
    let d = x.dtype.to_float();
    Ok(Plan::one(d, x.shape.into(), d))
}

fn sum_along(cx: &VjpCx, t: &Tensor) -> Result<Tensor> {
    let dim = wrap_dim(cx.attrs.int(0)?, t.ndim())?;
    if t.ndim() == 0 { Ok(t.clone()) } else { cx.engine.sum_dims(t, &[dim], true) }
}

/// Kernel: `exp(x - max) / sum` along `dim`.
pub const SOFTMAX: OpDef = OpDef::new("softmax", &[arg("input")], Rule::Kernel(along_dim))
    .attrs(DIM)
    .doc("exp(x) divided by its sum along a dimension.")
    .vjp(
        |cx| {
            let e = cx.engine;
            let (g, y) = (cx.grad()?, cx.output(0)?);
            let gy = e.bin(Op::Mul, &g, &y)?;
            let inner = e.bin(Op::Mul, &y, &sum_along(cx, &gy)?)?;
            Ok(smallvec![Some(e.bin(Op::Sub, &gy, &inner)?)])
        },
        &[OUT],
    );

/// Kernel: `x - max - log(sum(exp(x - max)))` along `dim`.
pub const LOG_SOFTMAX: OpDef = OpDef::new("logSoftmax", &[arg("input")], Rule::Kernel(along_dim))
    .attrs(DIM)
    .doc("The logarithm of softmax, without overflow.")
    .vjp(
        |cx| {
            let e = cx.engine;
            let (g, y) = (cx.grad()?, cx.output(0)?);
            let scaled = e.bin(Op::Mul, &e.un(Op::Exp, &y)?, &sum_along(cx, &g)?)?;
            Ok(smallvec![Some(e.bin(Op::Sub, &g, &scaled)?)])
        },
        &[OUT],
    );

/// 0: none, 1: mean, 2: sum.
const REDUCTION: AttrKind = AttrKind::Int;

pub const CROSS_ENTROPY: OpDef =
    OpDef::new("crossEntropy", &[arg("logits"), arg("target")], Rule::Composite(cross_entropy))
        .attrs(&[
            attr("reduction", REDUCTION),
            attr("ignoreIndex", AttrKind::Int),
            attr("labelSmoothing", AttrKind::Float),
        ])
        .doc("Negative log likelihood of class indices under softmax of the logits.")
        .tolerance(1e-5)
        .of_parts();

/// Classes are dimension 1 (0 for a single sample), the target has the other dimensions.
fn cross_entropy(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let (x, t) = (tensor_arg(&CROSS_ENTROPY, args, 0)?, tensor_arg(&CROSS_ENTROPY, args, 1)?);
    let class = usize::from(x.ndim() > 1);
    let mut want = x.layout.shape.clone();
    if want.is_empty() || t.dtype.is_float() {
        return Err(Error::argument(format!(
            "got logits {} and a {} target, expected class logits and class indices",
            show(x.shape()),
            t.dtype
        )));
    }
    let classes = want.remove(class);
    if t.layout.shape != want {
        return Err(Error::shape(format!(
            "logits {} need a target of shape {}, got {}",
            show(x.shape()),
            show(&want),
            show(t.shape())
        )));
    }
    let (reduction, ignore, smoothing) = (attrs.int(0)?, attrs.int(1)?, attrs.float(2)?);
    let logp = e.call1(Op::LogSoftmax, &[Arg::Tensor(x)], &smallvec![Attr::Int(class as i64)])?;
    let valid = e.bin_scalar_int(Op::Ne, t, ignore)?;
    let zero = Arg::Scalar(Scalar::Int(0));
    let safe = e.call1(Op::Where, &[Arg::Tensor(&valid), Arg::Tensor(t), zero], &smallvec![])?;
    let mut at = t.layout.shape.clone();
    at.insert(class, 1);
    let index = e.reshape(&safe, &at)?;
    let dim = smallvec![Attr::Int(class as i64)];
    let picked = e.call1(Op::Gather, &[Arg::Tensor(&logp), Arg::Tensor(&index)], &dim)?;
    let mut loss = e.un(Op::Neg, &e.reshape(&picked, t.shape())?)?;
    if smoothing != 0.0 {
        let all = e.sum_dims(&logp, &[class], false)?;
        let rest = e.bin_scalar(Op::Mul, &all, -smoothing / classes as f64)?;
        loss = e.add(&e.bin_scalar(Op::Mul, &loss, 1.0 - smoothing)?, &rest)?;
    }
    let zero = Arg::Scalar(Scalar::Float(0.0));
    let loss =
        e.call1(Op::Where, &[Arg::Tensor(&valid), Arg::Tensor(&loss), zero], &smallvec![])?;
    let total = |t: &Tensor| e.call1(Op::Sum, &[Arg::Tensor(t)], &smallvec![Attr::Absent]);
    Ok(smallvec![match reduction {
        0 => loss,
        1 => {
            let count = e.cast(&total(&valid)?, loss.dtype)?;
            e.bin(Op::Div, &total(&loss)?, &count)?
        }
        _ => total(&loss)?,
    }])
}

/// One step of Adam or AdamW over all parameters: tensors are `[p, g, m, v]` for each of them.
///
/// Kernel, once per parameter: input 0 is `g`, outputs are `p, m, v`, read and overwritten:
/// `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `p = p (1 - lr wd)` where decoupled
/// (else `g += wd p` first), `p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
/// Source: Kingma and Ba 2015; Loshchilov and Hutter 2019.
pub const ADAM_STEP: OpDef = OpDef::new("adamStep", &[arg("tensors")], Rule::Raw(adam_step))
    .attrs(&[
        attr("lr", AttrKind::Float),
        attr("beta1", AttrKind::Float),
        attr("beta2", AttrKind::Float),
        attr("eps", AttrKind::Float),
        attr("weightDecay", AttrKind::Float),
        attr("decoupled", AttrKind::Bool),
        attr("step", AttrKind::Int),
    ])
    .result(ResultKind::Itself)
    .doc("One step of Adam or AdamW over all parameters, in place.")
    .no_vjp("changes parameters in place");

fn adam_step(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    if !args.len().is_multiple_of(4) {
        return Err(Error::argument("takes parameter, gradient and two moments each"));
    }
    // Everything is checked before anything is written.
    for i in 0..args.len() {
        let (p, t) = (tensor_arg(&ADAM_STEP, args, i - i % 4)?, tensor_arg(&ADAM_STEP, args, i)?);
        if t.dtype != p.dtype || t.shape() != p.shape() || !p.dtype.is_float() {
            return Err(Error::shape(format!(
                "parameter {} of shape {} and dtype {} has a gradient or moment of shape {} and dtype {}",
                i / 4,
                show(p.shape()),
                p.dtype,
                show(t.shape()),
                t.dtype
            )));
        }
    }
    for group in args.chunks_exact(4) {
        let [Arg::Tensor(p), Arg::Tensor(g), Arg::Tensor(m), Arg::Tensor(v)] = group else {
            continue;
        };
        let outputs = [as_view(p), as_view(m), as_view(v)];
        e.backend.run(&Call {
            kernel: KernelId::Forward(Op::AdamStep),
            dtype: p.dtype,
            inputs: &[Input::View(as_view(g))],
            outputs: &outputs,
            attrs,
        })?;
        for t in [p, m, v] {
            t.storage.bump_version();
        }
    }
    Ok(Outputs::new())
}

fn as_view(t: &Tensor) -> View<'_> {
    View { storage: &t.storage, layout: &t.layout, dtype: t.dtype }
}

impl Engine {
    /// A binary op with a whole number as second operand.
    pub fn bin_scalar_int(&self, op: Op, a: &Tensor, b: i64) -> Result<Tensor> {
        self.call1(op, &[Arg::Tensor(a), Arg::Scalar(Scalar::Int(b))], &Default::default())
    }
}
