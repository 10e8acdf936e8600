//! In-place ops on the tape.
//!
//! Invariant: whether a call is recorded, refused or later found stale follows from the ops that the
//! program called, never from which handles are still there. A recorded one raises its storage's
//! history; a tensor that knows an older history is a view from before, whose way back to the tape
//! leads past the change, so that its use is refused. Views themselves are not changed in place where
//! gradients are recorded: the tensor behind them would not know.

use super::{Edge, record, wants_any};
use crate::attr::Attrs;
use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::table::Op;
use crate::tensor::Tensor;

/// What a recorded in-place op does to the tensor that it changed.
#[derive(Debug)]
pub struct Rebased {
    pub edge: Edge,
    pub history: u32,
}

/// Whether an in-place op on `dst` has to be recorded; refuses where it cannot be.
pub fn records_in_place(engine: &Engine, dst: &Tensor, args: &[Arg]) -> Result<bool> {
    if !engine.grad_enabled() || !(dst.requires_grad() || wants_any(args)) {
        return Ok(false);
    }
    refuse_stale(args)?;
    if let Edge::Leaf(_) = dst.edge {
        return Err(Error::autograd(
            "a leaf that requires grad was to be changed in place, do it inside noGrad()",
        ));
    }
    if dst.is_view {
        return Err(Error::autograd(
            "a view cannot be changed in place where gradients are recorded, as the tensor behind \
             it would not know; use the out-of-place op, or noGrad()",
        ));
    }
    Ok(true)
}

/// Records `op`, which has just written its result into `dst`. `args` hold what it read.
pub fn record_in_place(
    engine: &Engine,
    op: Op,
    args: &[Arg],
    attrs: &Attrs,
    dst: &Tensor,
) -> Rebased {
    let history = dst.storage.bump_history();
    let mut out = [Tensor { edge: Edge::None, history, ..dst.clone() }];
    record(engine, op, args, attrs, &mut out);
    let [out] = out;
    Rebased { edge: out.edge, history }
}

/// Refuses tensors that the tape would follow past an in-place op on another handle.
pub fn refuse_stale(args: &[Arg]) -> Result<()> {
    for a in args {
        if let Arg::Tensor(t) = a
            && t.is_stale()
        {
            return Err(Error::autograd(format!(
                "a tensor of shape {} shares its elements with one that was changed in place, and \
                 does not know how it got its values; take the view anew after the change, or use \
                 an out-of-place op",
                crate::layout::show(t.shape())
            )));
        }
    }
    Ok(())
}
