//! The watch for NaN (`autograd.detectAnomaly`): which recorded ops gave it, and where the program
//! called them. Slow, and off by default. The backward pass asks (`tape`); here is what is known.

use crate::attr::Attr;
use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::table::Op;
use crate::tensor::Tensor;
use smallvec::smallvec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// By the sequence numbers of recorded ops.
#[derive(Default)]
pub(crate) struct Watch {
    places: HashMap<u64, Arc<str>>,
    gave_nan: HashSet<u64>,
}

impl Engine {
    /// Begins or ends the watch for NaN; tells whether it was on.
    pub fn watch_nan(&self, on: bool) -> bool {
        self.watch.replace(on.then(Watch::default)).is_some()
    }

    /// Where the ops with these sequence numbers were called, for [`Engine::watch_nan`].
    pub fn called_at(&self, ops: std::ops::Range<u64>, place: &str) {
        if let Some(watch) = self.watch.borrow_mut().as_mut() {
            let place: Arc<str> = place.into();
            watch.places.extend(ops.map(|seq| (seq, place.clone())));
        }
    }

    /// NaN is watched for.
    pub fn watches_nan(&self) -> bool {
        self.watch.borrow().is_some()
    }

    /// Notes whether the op with this number gave NaN. Without memory for that it goes unnamed.
    pub(crate) fn note_nan(&self, seq: u64, outputs: &[Tensor]) {
        let mut floats = outputs.iter().filter(|t| t.dtype.is_float());
        if floats.any(|t| self.has_nan(t).unwrap_or(false))
            && let Some(watch) = self.watch.borrow_mut().as_mut()
        {
            watch.gave_nan.insert(seq);
        }
    }

    pub(crate) fn gave_nan(&self, seq: u64) -> bool {
        self.watch.borrow().as_ref().is_some_and(|w| w.gave_nan.contains(&seq))
    }

    /// " at ..." where the op with this number was called, as far as that is known.
    pub(crate) fn place_of(&self, seq: u64) -> Arc<str> {
        let watch = self.watch.borrow();
        watch.as_ref().and_then(|w| w.places.get(&seq).cloned()).unwrap_or_else(|| "".into())
    }

    pub(crate) fn has_nan(&self, t: &Tensor) -> Result<bool> {
        let nan = self.un(Op::Isnan, &t.detach())?;
        let attrs = smallvec![Attr::Absent, Attr::Bool(false)];
        Ok(self.whole_item(&self.call1(Op::Any, &[Arg::Tensor(&nan)], &attrs)?)? != 0)
    }

    /// While NaN is watched for: an error that names the op whose derivative gave it.
    pub fn refuse_nan(&self, seq: u64, op: &str, grads: &[Option<Tensor>]) -> Result<()> {
        if !self.watches_nan() {
            return Ok(());
        }
        for (i, g) in grads.iter().enumerate() {
            if let Some(g) = g
                && self.has_nan(g)?
            {
                let at = self.place_of(seq);
                return Err(Error::autograd(format!(
                    "the derivative of {op} gave NaN for its input {i}; {op} was called{at}"
                )));
            }
        }
        Ok(())
    }
}
