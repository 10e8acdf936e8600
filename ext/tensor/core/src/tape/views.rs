//! What a tensor and its views share on the tape: the way back of the whole.
//!
//! Invariants: every handle that a program has on the bytes of another one, `detach` aside, is
//! linked to the same [`Base`] (`link_views`, at the border to JavaScript); an in-place op that is
//! recorded on any of them changes the base's edge and raises its history, and the others find
//! their edges anew from it when they are next used (`refresh`). Only handles hold a base, never
//! the tape: a node that did could be reached from itself. Deliberately not here: what is recorded
//! of an in-place op (`in_place`).

use super::Edge;
use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::layout::{Layout, show};
use crate::ops::strided::Elements;
use crate::table::Op;
use crate::tensor::Tensor;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

/// The tensor behind views.
#[derive(Debug)]
pub struct Base {
    pub(super) layout: Layout,
    pub(super) edge: RefCell<Edge>,
    /// How many in-place ops were recorded on it and its views.
    history: Cell<u32>,
}

impl Base {
    pub(super) fn change(&self, edge: Edge) {
        let _old = self.edge.replace(edge);
        self.history.set(self.history.get() + 1);
    }
}

/// What a tensor is to its base, which decides what may be done to it in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewKind {
    /// The base itself, or a tensor without views.
    #[default]
    Base,
    View,
    /// Taken where no gradients were recorded.
    NoGrad,
    /// One of several that a call gave.
    OneOfMany,
    /// A user-defined step gave it.
    Custom,
}

impl Tensor {
    pub(super) fn base(&self) -> &Rc<Base> {
        self.base.get_or_init(|| {
            Rc::new(Base {
                layout: self.layout.clone(),
                edge: RefCell::new(self.edge.clone()),
                history: Cell::new(self.history),
            })
        })
    }

    /// An in-place op on another tensor of the same base was recorded since: the way back to the
    /// tape that this one knows leads past it.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.base.get().is_some_and(|base| base.history.get() != self.history)
    }

    /// Another handle on the same tensor, tape included.
    pub fn alias(&self) -> Tensor {
        let mut out = self.clone();
        out.link(self, ViewKind::View);
        out
    }

    /// Links a tensor on the bytes of `behind` to its base, where the program has no handle on it.
    pub(crate) fn become_view(&mut self, behind: &Tensor) {
        self.link(behind, ViewKind::View);
    }

    fn link(&mut self, behind: &Tensor, kind: ViewKind) {
        self.base = OnceCell::from(behind.base().clone());
        self.history = behind.history;
        self.view = match behind.view {
            ViewKind::Base | ViewKind::View => kind,
            strict => strict,
        };
    }

    /// Gives the tensor another way back to the tape, and its views from now on with it.
    pub fn set_edge(&mut self, edge: Edge) {
        if self.view == ViewKind::Base
            && let Some(base) = self.base.get()
        {
            let _old = base.edge.replace(edge.clone());
        }
        self.edge = edge;
    }

    /// As [`Tensor::set_edge`] for what a user-defined step gave.
    pub fn set_custom_edge(&mut self, edge: Edge) {
        self.set_edge(edge);
        if self.view != ViewKind::Base {
            self.view = ViewKind::Custom;
        }
    }
}

/// Makes views of the outputs that share the bytes of an argument. `many`: the program's call
/// gives several such.
pub fn link_views(engine: &Engine, args: &[Arg], outputs: &mut [Tensor], many: bool) {
    let kind = match engine.grad_enabled() {
        false => ViewKind::NoGrad,
        true if many => ViewKind::OneOfMany,
        true => ViewKind::View,
    };
    for out in outputs.iter_mut().filter(|t| t.dtype.is_float()) {
        let mut tensors = args.iter().filter_map(|a| a.tensor());
        if let Some(behind) = tensors.find(|t| t.storage.same(&out.storage)) {
            out.link(behind, kind);
        }
    }
}

/// Gives a stale tensor its way back to the tape from its base. Views that cannot have one stay
/// stale, and [`refuse_stale`] says why where one is used.
pub fn refresh(engine: &Engine, t: &mut Tensor) -> Result<()> {
    let Some(base) = t.base.get() else { return Ok(()) };
    let kept =
        matches!(t.view, ViewKind::Base | ViewKind::View) && !matches!(t.edge, Edge::Leaf(_));
    if !t.is_stale() || !kept {
        return Ok(());
    }
    let history = base.history.get();
    let edge = base.edge.borrow().clone();
    t.edge = if t.layout == base.layout || matches!(edge, Edge::None) {
        edge
    } else {
        let _mode = engine.grad_mode(true);
        let attrs = Elements::of(&t.layout, &base.layout).attrs();
        engine.call1(Op::AsStrided, &[Arg::Tensor(&whole(t, base, edge))], &attrs)?.edge
    };
    t.history = history;
    Ok(())
}

/// The base of `t` as a tensor.
pub(super) fn whole(t: &Tensor, base: &Base, edge: Edge) -> Tensor {
    Tensor { edge, ..Tensor::new(t.storage.clone(), base.layout.clone(), t.dtype) }
}

/// Refuses tensors that the tape would follow past an in-place op on another handle.
pub fn refuse_stale(args: &[Arg]) -> Result<()> {
    for t in args.iter().filter_map(|a| a.tensor()) {
        if t.is_stale() {
            return Err(Error::autograd(format!(
                "a tensor of shape {} shares its elements with one that was changed in place, and \
                 cannot know how it got its values, {}; take the view anew after the change, or \
                 use an out-of-place op",
                show(t.shape()),
                why_strict(t.view)
            )));
        }
    }
    Ok(())
}

/// What keeps a view from being changed in place, or from following a change of its base.
fn why_strict(kind: ViewKind) -> &'static str {
    match kind {
        ViewKind::Base | ViewKind::View => "as it is a leaf that requires grad",
        ViewKind::NoGrad => "as it is a view that was taken inside noGrad()",
        ViewKind::OneOfMany => {
            "as it is one of the views that split, chunk, unbind or a loop over a tensor gives"
        }
        ViewKind::Custom => "as it is a view that an autograd.Function gave",
    }
}

const LEAF_ADVICE: &str = "where gradients are recorded it cannot be changed in place, do it inside \
                           noGrad() or change a clone()";

/// Refuses what PyTorch refuses of in-place ops that are to be recorded.
pub(super) fn refuse_in_place(dst: &Tensor) -> Result<()> {
    if dst.view != ViewKind::Base {
        if dst.view != ViewKind::View {
            return Err(Error::autograd(format!(
                "the tensor cannot be changed in place where gradients are recorded, {}; change \
                 narrow(...) or select(...) of the tensor behind it, or use the out-of-place op",
                why_strict(dst.view)
            )));
        }
        let base = dst.base();
        let edge = base.edge.borrow();
        if matches!(*edge, Edge::Leaf(_)) || (dst.requires_grad() && matches!(*edge, Edge::None)) {
            return Err(Error::autograd(format!(
                "the tensor shares its elements with a leaf that requires grad, such as a \
                 parameter, as select, narrow and reshape do; {LEAF_ADVICE}"
            )));
        }
        if base.layout.overlaps() {
            return Err(Error::autograd(
                "a view of an expanded tensor was to be changed in place where gradients are \
                 recorded; clone() the expanded tensor first",
            ));
        }
    }
    if let Edge::Leaf(_) = dst.edge {
        return Err(Error::autograd(format!(
            "the tensor is a leaf that requires grad, such as a parameter; {LEAF_ADVICE}"
        )));
    }
    Ok(())
}
