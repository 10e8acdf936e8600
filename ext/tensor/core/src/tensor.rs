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
}

impl Tensor {
    pub fn new(storage: Storage, layout: Layout, dtype: DType) -> Tensor {
        Tensor { storage, layout, dtype, edge: Edge::None, is_view: false }
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

    /// The same values without a way back to the tape.
    pub fn detach(&self) -> Tensor {
        Tensor { edge: Edge::None, is_view: true, ..self.clone() }
    }
}
