//! Gradients that arrive piece by piece: those of slices and selections of one tensor.
//!
//! Each piece is written to its place in a tensor that nobody has filled; what no piece reached is
//! made zero when the whole is wanted. Parts that cover a tensor, as `chunk` and `unbind` give,
//! so cost one copy each, without zeros and without sums. Invariant: a tensor that a [`Pieces`]
//! names is read by nobody before [`Pieces::complete`].

use super::{Node, walk::NodeKey};
use crate::attr::Attrs;
use crate::engine::{Arg, Engine};
use crate::error::Result;
use crate::ops::movement::{select_params, slice_attrs, slice_params};
use crate::table::Op;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// A gradient's place in that of the tensor it was cut from.
pub struct Place {
    dim: usize,
    range: Range<usize>,
    shape: crate::layout::Dims,
}

impl Place {
    /// Where the gradient of `node`'s output goes, if it is a piece.
    pub fn of(node: &Node, op: Op, attrs: &Attrs) -> Option<Place> {
        let shape = &node.input_meta(0)?.shape;
        let (dim, range) = match op {
            Op::Slice => match slice_params(attrs, shape).ok()? {
                (dim, start, length, 1) => (dim, start..start + length),
                _ => return None,
            },
            Op::Select => {
                let (dim, index) = select_params(attrs, shape).ok()?;
                (dim, index..index + 1)
            }
            _ => return None,
        };
        Some(Place { dim, range, shape: shape.clone() })
    }
}

/// A gradient that is being put together: output `output` of the node `node`.
pub struct Pieces {
    node: NodeKey,
    output: u32,
    dim: usize,
    /// What is written, sorted; no two touch.
    filled: SmallVec<[Range<usize>; 2]>,
}

impl Pieces {
    pub fn is_of(&self, node: NodeKey, output: u32) -> bool {
        self.node == node && self.output == output
    }

    /// Begins with the first piece, which is written to a new tensor.
    pub fn begin(
        engine: &Engine,
        (node, output): (NodeKey, u32),
        place: &Place,
        piece: &Tensor,
    ) -> Result<(Pieces, Tensor)> {
        let whole = engine.empty(&place.shape, piece.dtype)?;
        let mut pieces = Pieces { node, output, dim: place.dim, filled: smallvec![] };
        pieces.put(engine, place, piece, &whole)?;
        Ok((pieces, whole))
    }

    /// Whether a piece fits beside the others.
    pub fn takes(&self, place: &Place) -> bool {
        let at = self.after(place.range.start);
        let below = at.checked_sub(1).is_none_or(|i| self.filled[i].end <= place.range.start);
        place.dim == self.dim
            && below
            && self.filled.get(at).is_none_or(|next| place.range.end <= next.start)
    }

    /// The first range that begins behind `start`.
    fn after(&self, start: usize) -> usize {
        self.filled.partition_point(|r| r.start <= start)
    }

    pub fn put(
        &mut self,
        engine: &Engine,
        place: &Place,
        piece: &Tensor,
        whole: &Tensor,
    ) -> Result<()> {
        let Range { start, end } = place.range;
        let to = part(engine, whole, self.dim, place.range.clone())?;
        let mut shape = place.shape.clone();
        shape[self.dim] = end - start;
        let piece = if piece.shape() == &shape[..] {
            piece.detach()
        } else {
            engine.reshape(&piece.detach(), &shape)?
        };
        engine.copy_into(&to, &piece)?;
        let at = self.after(start);
        let joins = at > 0 && self.filled[at - 1].end == start;
        let meets = self.filled.get(at).is_some_and(|next| next.start == end);
        match (joins, meets) {
            (true, true) => self.filled[at - 1].end = self.filled.remove(at).end,
            (true, false) => self.filled[at - 1].end = end,
            (false, true) => self.filled[at].start = start,
            (false, false) => self.filled.insert(at, start..end),
        }
        Ok(())
    }

    /// Makes zero what no piece reached.
    pub fn complete(self, engine: &Engine, whole: &Tensor) -> Result<()> {
        let extent = whole.shape()[self.dim];
        let mut zero = None;
        let mut from = 0;
        let last = extent..extent;
        for filled in self.filled.iter().chain([&last]) {
            if from < filled.start {
                let gap = part(engine, whole, self.dim, from..filled.start)?;
                let zero = match &mut zero {
                    Some(zero) => zero,
                    none => none.insert(engine.full(&[], 0.0, whole.dtype)?),
                };
                engine.copy_into(&gap, zero)?;
            }
            from = filled.end;
        }
        Ok(())
    }
}

fn part(engine: &Engine, whole: &Tensor, dim: usize, range: Range<usize>) -> Result<Tensor> {
    let attrs = slice_attrs(dim, range.start, range.len());
    engine.call1(Op::Slice, &[Arg::Tensor(whole)], &attrs)
}
