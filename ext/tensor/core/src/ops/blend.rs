//! Elementwise rows whose bounds and weights are tensors; those with numbers are in `rows.rs`.
//!
//! Invariant: composites of recorded ops, which speak in the name of the function that was called.

use crate::engine::{Arg, tensor_arg};
use crate::error::Result;
use crate::samples::{Input::*, sample};
use crate::table::{Op, OpDef, Outputs, Rule, arg};
use crate::{Attrs, Engine};
use smallvec::smallvec;

/// `bound` where `beyond(x, bound)` holds or the bound is NaN, else `x`: a NaN of either stays,
/// and at the bound the gradient goes to `x`, as in PyTorch.
fn bounded(e: &Engine, def: &OpDef, args: &[Arg], beyond: Op) -> Result<Outputs> {
    let (x, bound) = (tensor_arg(def, args, 0)?, tensor_arg(def, args, 1)?);
    let mut taken = e.bin(beyond, x, bound)?;
    if bound.dtype.is_float() {
        taken = e.bin(Op::LogicalOr, &taken, &e.bin(Op::Ne, bound, bound)?)?;
    }
    e.call(Op::Where, &[Arg::Tensor(&taken), Arg::Tensor(bound), Arg::Tensor(x)], &Attrs::new())
}

pub const CLAMP_MIN_TENSOR: OpDef = OpDef::new(
    "clampMinTensor",
    &[arg("input"), arg("min")],
    Rule::Composite(|e, args, _| bounded(e, &CLAMP_MIN_TENSOR, args, Op::Lt)),
)
.doc("Values below those of another tensor become these; the gradient passes at the bound.")
.of_parts()
.samples(&[
    sample(&[Real(&[2, 3]), Positive(&[3])], &[]),
    sample(&[Real(&[2, 1]), Positive(&[1, 4])], &[]),
]);

pub const CLAMP_MAX_TENSOR: OpDef = OpDef::new(
    "clampMaxTensor",
    &[arg("input"), arg("max")],
    Rule::Composite(|e, args, _| bounded(e, &CLAMP_MAX_TENSOR, args, Op::Gt)),
)
.doc("Values above those of another tensor become these; the gradient passes at the bound.")
.of_parts()
.samples(&[
    sample(&[Real(&[2, 3]), Positive(&[3])], &[]),
    sample(&[Real(&[2, 1]), Positive(&[1, 4])], &[]),
]);

pub const LERP_TENSOR: OpDef = OpDef::new(
    "lerpTensor",
    &[arg("input"), arg("end"), arg("weight")],
    Rule::Composite(|e, args, _| {
        let x = tensor_arg(&LERP_TENSOR, args, 0)?;
        let way = e.bin(Op::Sub, tensor_arg(&LERP_TENSOR, args, 1)?, x)?;
        let step = e.bin(Op::Mul, tensor_arg(&LERP_TENSOR, args, 2)?, &way)?;
        Ok(smallvec![e.bin(Op::Add, x, &step)?])
    }),
)
.doc("input + weight * (end - input).")
.tolerance(1e-5)
.of_parts()
.samples(&[sample(&[Real(&[2, 3]), Positive(&[3]), Unit(&[2, 1])], &[])]);
