//! A tensor value inside Rust: one count on a storage, a layout, a dtype and an edge to the tape.
//!
//! Cloning retains the storage. JavaScript never holds one; it holds heap ids.

use crate::dtype::DType;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::tape::{Base, Edge, ViewKind};
use std::cell::OnceCell;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub struct Tensor {
    pub storage: Storage,
    pub layout: Layout,
    pub dtype: DType,
    /// Where a gradient flows to; [`Edge::None`] for values outside the tape.
    pub edge: Edge,
    pub view: ViewKind,
    /// The base's history that `edge` speaks of.
    pub history: u32,
    /// What this tensor and its views share; empty until the first view is taken.
    pub base: OnceCell<Rc<Base>>,
}

impl Tensor {
    pub fn new(storage: Storage, layout: Layout, dtype: DType) -> Tensor {
        let (edge, view, base) = (Edge::None, ViewKind::Base, OnceCell::new());
        Tensor { storage, layout, dtype, edge, view, history: 0, base }
    }

    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    #[inline]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    #[inline]
    pub fn numel(&self) -> usize {
        self.layout.numel()
    }

    pub fn requires_grad(&self) -> bool {
        !matches!(self.edge, Edge::None)
    }

    pub fn is_leaf(&self) -> bool {
        !matches!(self.edge, Edge::Node(..))
    }

    /// The same values without a way back to the tape: a base of its own.
    pub fn detach(&self) -> Tensor {
        Tensor::new(self.storage.clone(), self.layout.clone(), self.dtype)
    }
}
