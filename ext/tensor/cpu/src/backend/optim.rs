//! Optimizer steps and gradient clipping: from a call's attributes and views to the fused kernel.

use super::{no_kernel, operand, output, packed, view};
use crate::clip::{self, Part};
use crate::elementwise::Operand;
use crate::optim::{self, MAX, Rule};
use crate::threads::Threads;
use mlrun_tensor_core::attr::AttrsExt;
use mlrun_tensor_core::backend::Call;
use mlrun_tensor_core::{DType, Op, Result};

pub fn step(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (g, p) = (view(call, 0)?, output(call, 0)?);
    if !p.dtype.is_float() {
        return Err(no_kernel(call));
    }
    let rule = rule(call, op)?;
    let mut operands: [Option<Operand>; MAX] =
        [Some(operand(p)), Some(operand(g)), None, None, None];
    // Where the states that follow the parameter stand among the kernel's operands.
    let places: &[usize] = match rule {
        Rule::Rmsprop { centered: false, .. } => &[2, 4],
        _ => &[2, 3, 4],
    };
    for (state, &place) in call.outputs.iter().skip(1).zip(places) {
        operands[place] = Some(operand(state));
    }
    // SAFETY: the op checked that shapes and dtypes agree; parameter, gradient and state have
    // storages of their own.
    unsafe { optim::step(threads, p.dtype, &p.layout.shape, operands, &rule) };
    Ok(())
}

/// Output 0 gets the norm, float64; the other outputs are scaled.
pub fn clip(threads: &Threads, call: &Call) -> Result<()> {
    let norm = packed(call, 0)?;
    let parts: Vec<Part> = call.outputs[1..]
        .iter()
        .map(|v| Part { shape: &v.layout.shape, operand: operand(v) })
        .collect();
    if norm.dtype != DType::F64 || parts.iter().any(|p| !p.operand.dtype.is_float()) {
        return Err(no_kernel(call));
    }
    let (max, finite_only) = (call.attrs.float(0)?, call.attrs.flag(1));
    // SAFETY: views cover their shapes, and the op refused tensors whose elements overlap.
    let value = unsafe { clip::clip(threads, &parts, max, finite_only) };
    // SAFETY: output 0 is one packed float64.
    unsafe { norm.ptr().cast::<f64>().write(value) };
    Ok(())
}

fn rule(call: &Call, op: Op) -> Result<Rule> {
    let a = call.attrs;
    Ok(match op {
        Op::SgdStep => Rule::Sgd {
            lr: a.float(0)?,
            momentum: a.float(1)?,
            dampening: a.float(2)?,
            weight_decay: a.float(3)?,
            nesterov: a.flag(4),
            first: a.flag(5),
        },
        Op::RmspropStep => Rule::Rmsprop {
            lr: a.float(0)?,
            alpha: a.float(1)?,
            eps: a.float(2)?,
            weight_decay: a.float(3)?,
            momentum: a.float(4)?,
            centered: a.flag(5),
        },
        Op::AdagradStep => {
            Rule::Adagrad { lr: a.float(0)?, eps: a.float(1)?, weight_decay: a.float(2)? }
        }
        Op::LionStep => Rule::Lion {
            lr: a.float(0)?,
            beta1: a.float(1)?,
            beta2: a.float(2)?,
            weight_decay: a.float(3)?,
        },
        Op::EmaStep => Rule::Ema { weight: a.float(0)? },
        _ => return Err(no_kernel(call)),
    })
}
