//! A tensor value inside Rust: one count on a storage, a layout, a dtype and an edge to the tape.
//!
//! Cloning retains the storage. JavaScript never holds one; it holds heap ids.

use crate::dtype::DType;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::tape::Edge;

#[derive(Clone, Debug)]
pub struct Tensor {
    pub storage: Storage,
    pub layout: Layout,
    pub dtype: DType,
    /// Where a gradient flows to; [`Edge::None`] for values outside the tape.
    pub edge: Edge,
    /// Made by a view op from another tensor.
    pub is_view: bool,
    /// The storage's history that `edge` speaks of; [`Tensor::DETACHED`] where it speaks of none.
    pub history: u32,
}

impl Tensor {
    /// The history of tensors that share values but no gradients with another.
    pub const DETACHED: u32 = u32::MAX;

    pub fn new(storage: Storage, layout: Layout, dtype: DType) -> Tensor {
        Tensor { storage, layout, dtype, edge: Edge::None, is_view: false, history: 0 }
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

    /// An in-place op on another tensor of the same storage was recorded since: the way back to
    /// the tape that this one knows leads past it.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.history != self.storage.history() && self.history != Tensor::DETACHED
    }

    pub fn is_leaf(&self) -> bool {
        !matches!(self.edge, Edge::Node(..))
    }

    /// The same values without a way back to the tape.
    pub fn detach(&self) -> Tensor {
        Tensor { edge: Edge::None, is_view: true, history: Tensor::DETACHED, ..self.clone() }
    }
}
