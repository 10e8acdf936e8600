//! Rows of optimizer steps other than Adam's: each takes, for every parameter one behind the
//! other, the parameter, its gradient and the optimizer's state of it, and overwrites all but the
//! gradient. And gradient clipping, which overwrites the gradients.
//!
//! Kernel, once per parameter: input 0 is the gradient, outputs are parameter and state, all of
//! one dtype and shape, read and overwritten; the rules stand at the rows.

use crate::attr::{Attr, AttrDef, AttrKind, AttrsExt};
use crate::backend::{Call, Input, KernelId, View};
use crate::dtype::DType;
use crate::engine::{Arg, Engine, refuse_overlap, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::show;
use crate::samples::{
    Input::{Positive, Real},
    sample,
};
use crate::table::{ArgDef, Op, OpDef, Outputs, ResultKind, Rule, arg, attr};
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

const TENSORS: &[ArgDef] = &[arg("tensors")];
const WHY: &str = "changes parameters in place";

const fn float(name: &'static str) -> AttrDef {
    attr(name, AttrKind::Float)
}

const fn step_row(
    name: &'static str,
    rule: fn(&Engine, &[Arg], &[Attr]) -> Result<Outputs>,
    attrs: &'static [AttrDef],
    doc: &'static str,
) -> OpDef {
    OpDef::new(name, TENSORS, Rule::Raw(rule))
        .attrs(attrs)
        .result(ResultKind::Itself)
        .doc(doc)
        .no_vjp(WHY)
}

const SGD_ATTRS: &[AttrDef] = &[
    float("lr"),
    float("momentum"),
    float("dampening"),
    float("weightDecay"),
    attr("nesterov", AttrKind::Bool),
    attr("first", AttrKind::Bool),
];

/// `g += wd p`; with momentum `b = g` at the first step, else `b = momentum b + (1 - dampening) g`,
/// and `g = b` (Nesterov: `g += momentum b`); `p -= lr g`. State: `b`, none without momentum.
/// Source: Sutskever et al. 2013, in PyTorch's form.
pub const SGD_STEP: OpDef = step_row(
    "sgdStep",
    |e, args, attrs| {
        let states = usize::from(attrs.float(1)? != 0.0);
        step(e, &SGD_STEP, Op::SgdStep, args, attrs, states)
    },
    SGD_ATTRS,
    "One step of gradient descent over all parameters, in place.",
)
.samples(&[
    sample(&[Real(&[3]), Real(&[3]), Real(&[3])], &[0.1, 0.9, 0.0, 0.1, 1.0, 0.0]),
    sample(&[Real(&[3]), Real(&[3])], &[0.1, 0.0, 0.0, 0.0, 0.0, 1.0]),
]);

const RMSPROP_ATTRS: &[AttrDef] = &[
    float("lr"),
    float("alpha"),
    float("eps"),
    float("weightDecay"),
    float("momentum"),
    attr("centered", AttrKind::Bool),
];

/// `g += wd p; s = alpha s + (1 - alpha) g^2`, centred `a += (1 - alpha) (g - a)`,
/// `d = sqrt(s) + eps` (centred `sqrt(s - a^2) + eps`); with momentum `b = momentum b + g / d`,
/// `p -= lr b`, else `p -= lr g / d`. State: `s`, then `a` where centred, then `b` with momentum.
/// Source: Tieleman and Hinton 2012; Graves 2013 for the centred form.
pub const RMSPROP_STEP: OpDef = step_row(
    "rmspropStep",
    |e, args, attrs| {
        let states = 1 + usize::from(attrs.flag(5)) + usize::from(attrs.float(4)? != 0.0);
        step(e, &RMSPROP_STEP, Op::RmspropStep, args, attrs, states)
    },
    RMSPROP_ATTRS,
    "One step of RMSprop over all parameters, in place.",
)
.samples(&[
    sample(&[Real(&[3]), Real(&[3]), Positive(&[3])], &[0.1, 0.9, 1e-8, 0.0, 0.0, 0.0]),
    sample(&[Real(&[3]), Real(&[3]), Positive(&[3]), Real(&[3])], &[0.1, 0.9, 1e-8, 0.1, 0.5, 0.0]),
]);

const ADAGRAD_ATTRS: &[AttrDef] = &[float("lr"), float("eps"), float("weightDecay")];

/// `g += wd p; s += g^2; p -= lr g / (sqrt(s) + eps)`. State: `s`.
/// Source: Duchi, Hazan and Singer 2011.
pub const ADAGRAD_STEP: OpDef = step_row(
    "adagradStep",
    |e, args, attrs| step(e, &ADAGRAD_STEP, Op::AdagradStep, args, attrs, 1),
    ADAGRAD_ATTRS,
    "One step of Adagrad over all parameters, in place.",
)
.samples(&[sample(&[Real(&[3]), Real(&[3]), Positive(&[3])], &[0.1, 1e-10, 0.1])]);

const LION_ATTRS: &[AttrDef] = &[float("lr"), float("beta1"), float("beta2"), float("weightDecay")];

/// `p *= 1 - lr wd; p -= lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g`. State: `m`.
/// Source: Chen et al. 2023.
pub const LION_STEP: OpDef = step_row(
    "lionStep",
    |e, args, attrs| step(e, &LION_STEP, Op::LionStep, args, attrs, 1),
    LION_ATTRS,
    "One step of Lion over all parameters, in place.",
)
.samples(&[sample(&[Real(&[3]), Real(&[3]), Real(&[3])], &[0.1, 0.9, 0.99, 0.1])]);

const EMA_ATTRS: &[AttrDef] = &[float("weight")];

/// `p += weight (g - p)`: the moving average `p` of the values `g`. No state.
pub const EMA_STEP: OpDef = step_row(
    "emaStep",
    |e, args, attrs| step(e, &EMA_STEP, Op::EmaStep, args, attrs, 0),
    EMA_ATTRS,
    "One step of a moving average over all parameters, in place.",
)
.samples(&[sample(&[Real(&[3]), Real(&[3])], &[0.1])]);

/// `n = sqrt(sum of all squares)`; where `c = maxNorm / (n + 1e-6)` is below 1 or NaN, every
/// tensor `*= c`. Gives `n`, in the dtype of the first tensor.
///
/// Kernel, once: output 0 is `n`, one float64; the other outputs are the tensors.
/// Source: Pascanu, Mikolov and Bengio 2013, in PyTorch's form.
pub const CLIP_GRAD_NORM: OpDef = OpDef::new("clipGradNorm", TENSORS, Rule::Raw(clip_grad_norm))
    .attrs(&[float("maxNorm"), attr("finiteOnly", AttrKind::Bool)])
    .doc("Bounds the norm of several tensors taken as one, in place; gives the norm before.")
    .no_vjp("changes gradients in place")
    .samples(&[sample(&[Real(&[3])], &[0.5, 0.0])]);

fn clip_grad_norm(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let mut all: SmallVec<[&Tensor; 16]> = SmallVec::new();
    for i in 0..args.len() {
        let t = tensor_arg(&CLIP_GRAD_NORM, args, i)?;
        if !t.dtype.is_float() {
            return Err(Error::dtype(format!("gradient {i} is {}, expected floats", t.dtype)));
        }
        refuse_overlap(t)?;
        all.push(t);
    }
    let dtype = all.first().map_or(DType::F32, |t| t.dtype);
    let norm = e.empty(&[], DType::F64)?;
    let mut outputs: SmallVec<[View; 16]> = smallvec![as_view(&norm)];
    outputs.extend(all.iter().map(|t| as_view(t)));
    e.backend.run(&Call {
        kernel: KernelId::Forward(Op::ClipGradNorm),
        dtype,
        inputs: &[],
        outputs: &outputs,
        attrs,
    })?;
    drop(outputs);
    for t in all {
        t.storage.bump_version();
    }
    Ok(smallvec![if dtype == DType::F64 { norm } else { e.cast(&norm, dtype)? }])
}

fn step(
    e: &Engine,
    def: &OpDef,
    op: Op,
    args: &[Arg],
    attrs: &[Attr],
    states: usize,
) -> Result<Outputs> {
    let size = 2 + states;
    if !args.len().is_multiple_of(size) {
        return Err(Error::argument(format!(
            "takes {size} tensors for each parameter, got {}",
            args.len()
        )));
    }
    // Everything is checked before anything is written.
    for i in 0..args.len() {
        let (p, t) = (tensor_arg(def, args, i - i % size)?, tensor_arg(def, args, i)?);
        if t.dtype != p.dtype || t.shape() != p.shape() || !p.dtype.is_float() {
            return Err(Error::shape(format!(
                "parameter {} of shape {} and dtype {} has a gradient or state of shape {} and dtype {}",
                i / size,
                show(p.shape()),
                p.dtype,
                show(t.shape()),
                t.dtype
            )));
        }
    }
    for group in args.chunks_exact(size) {
        let mut own: SmallVec<[&Tensor; 4]> = SmallVec::new();
        let mut gradient = None;
        for (i, a) in group.iter().enumerate() {
            let Arg::Tensor(t) = a else { continue };
            if i == 1 { gradient = Some(t) } else { own.push(t) }
        }
        let Some(gradient) = gradient else { continue };
        let outputs: SmallVec<[View; 4]> = own.iter().map(|t| as_view(t)).collect();
        e.backend.run(&Call {
            kernel: KernelId::Forward(op),
            dtype: gradient.dtype,
            inputs: &[Input::View(as_view(gradient))],
            outputs: &outputs,
            attrs,
        })?;
        for t in own {
            t.storage.bump_version();
        }
    }
    Ok(Outputs::new())
}

fn as_view(t: &Tensor) -> View<'_> {
    View { storage: &t.storage, layout: &t.layout, dtype: t.dtype }
}
