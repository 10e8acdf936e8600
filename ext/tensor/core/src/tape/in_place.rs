//! In-place ops on the tape.
//!
//! Invariant: whether a call is recorded or refused follows from the ops that the program called,
//! never from which handles are still there. The new value of a view is a value of its own that
//! takes the view's place in its base (`viewScatter`); the way back of every handle, the changed
//! one's too, is found from the base (`views`).

use super::views::{refuse_in_place, refuse_stale, whole};
use super::{Edge, ViewKind, record, wants_any};
use crate::attr::Attrs;
use crate::engine::{Arg, Engine};
use crate::error::Result;
use crate::ops::strided::Elements;
use crate::table::Op;
use crate::tensor::Tensor;

/// Whether an in-place op on `dst` has to be recorded; refuses where it cannot be.
pub fn records_in_place(engine: &Engine, dst: &Tensor, args: &[Arg]) -> Result<bool> {
    if !engine.grad_enabled() || !dst.dtype.is_float() {
        return Ok(false);
    }
    // A view that cannot follow its base may have no edge where that one has.
    let base_wants = || match dst.base.get() {
        Some(base) if dst.view != ViewKind::Base => !matches!(*base.edge.borrow(), Edge::None),
        _ => false,
    };
    if !(dst.requires_grad() || wants_any(args) || base_wants()) {
        return Ok(false);
    }
    refuse_in_place(dst)?;
    refuse_stale(args)?;
    Ok(true)
}

/// Records `op`, which has just written its result into `dst`. `args` hold what it read.
pub fn record_in_place(engine: &Engine, op: Op, args: &[Arg], attrs: &Attrs, dst: &Tensor) {
    let mut value = [Tensor { layout: dst.layout.clone(), ..whole(dst, dst.base(), Edge::None) }];
    record(engine, op, args, attrs, &mut value);
    let [value] = value;
    change(engine, value, dst);
}

/// Records that `dst` now holds the elements of `source`, of its shape and dtype, or constants.
pub fn record_overwrite(engine: &Engine, source: Option<&Tensor>, dst: &Tensor) {
    let none = Attrs::new();
    match source {
        // A base that had a gradient still has one: its derivative is floor's, 0.
        None if dst.layout == dst.base().layout => {
            record_in_place(engine, Op::Floor, &[Arg::Tensor(dst)], &none, dst);
        }
        None => change(engine, dst.detach(), dst),
        Some(source) => record_in_place(engine, Op::Copy, &[Arg::Tensor(source)], &none, dst),
    }
}

/// `value` is what `dst` holds from now on.
fn change(engine: &Engine, value: Tensor, dst: &Tensor) {
    let base = dst.base();
    if dst.layout == base.layout {
        return base.change(value.edge);
    }
    let before = whole(dst, base, base.edge.borrow().clone());
    let mut after = [whole(dst, base, Edge::None)];
    let both = [Arg::Tensor(&before), Arg::Tensor(&value)];
    let place = Elements::of(&dst.layout, &base.layout).attrs();
    record(engine, Op::ViewScatter, &both, &place, &mut after);
    let [after] = after;
    base.change(after.edge);
}
