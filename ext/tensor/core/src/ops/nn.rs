//! Rows of neural networks: softmax, optimizer steps.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::backend::{Call, Input, KernelId, View};
use crate::dtype::Scalar;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{show, wrap_dim};
use crate::ops::movement::first;
use crate::samples::{
    Input::{Positive, Real},
    sample,
};
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
            if !e.grad_enabled() {
                return fused(cx, &g, &y, false);
            }
            let gy = e.bin(Op::Mul, &g, &y)?;
            let inner = e.bin(Op::Mul, &y, &sum_along(cx, &gy)?)?;
            Ok(smallvec![Some(e.bin(Op::Sub, &gy, &inner)?)])
        },
        &[OUT],
    )
    .samples(&[sample(&[Real(&[2, 3])], &[1.0]), sample(&[Real(&[2, 3])], &[0.0])]);

fn fused(cx: &VjpCx, g: &Tensor, y: &Tensor, log: bool) -> Result<crate::table::Grads> {
    let attrs = smallvec![Attr::Int(cx.attrs.int(0)?), Attr::Bool(log)];
    let args = [Arg::Tensor(g), Arg::Tensor(y)];
    Ok(smallvec![Some(cx.engine.call1(Op::SoftmaxBackward, &args, &attrs)?)])
}

/// Kernel: `y (g - sum(g y))` along `dim`, or `g - exp(y) sum(g)` for logSoftmax.
pub const SOFTMAX_BACKWARD: OpDef = OpDef::new(
    "softmaxBackward",
    &[arg("grad"), arg("output")],
    Rule::Kernel(|m, _| {
        let g = first(m)?;
        Ok(Plan::one(g.dtype, g.shape.into(), g.dtype))
    }),
)
.attrs(&[attr("dim", AttrKind::Int), attr("log", AttrKind::Bool)])
.doc("The gradient of softmax or logSoftmax.")
.no_vjp("a gradient that is differentiated is composed of other ops");

/// Kernel: `x - max - log(sum(exp(x - max)))` along `dim`.
pub const LOG_SOFTMAX: OpDef = OpDef::new("logSoftmax", &[arg("input")], Rule::Kernel(along_dim))
    .attrs(DIM)
    .doc("The logarithm of softmax, without overflow.")
    .vjp(
        |cx| {
            let e = cx.engine;
            let (g, y) = (cx.grad()?, cx.output(0)?);
            if !e.grad_enabled() {
                return fused(cx, &g, &y, true);
            }
            let scaled = e.bin(Op::Mul, &e.un(Op::Exp, &y)?, &sum_along(cx, &g)?)?;
            Ok(smallvec![Some(e.bin(Op::Sub, &g, &scaled)?)])
        },
        &[OUT],
    )
    .samples(&[sample(&[Real(&[2, 3])], &[1.0]), sample(&[Real(&[2, 3])], &[0.0])]);

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
    .no_vjp("changes parameters in place")
    .samples(&[sample(
        &[Real(&[3]), Real(&[3]), Real(&[3]), Positive(&[3])],
        &[0.1, 0.9, 0.99, 1e-8, 0.0, 1.0, 1.0],
    )]);

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
