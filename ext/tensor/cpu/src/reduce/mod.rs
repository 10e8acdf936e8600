//! Reductions over any set of dimensions of any layout.
//!
//! Invariant: how elements are grouped follows from shape and strides alone, so neither the
//! thread count nor timing changes a bit. float32 sums run in the lanes
//! of vectors over short blocks whose totals are added in float64.

mod arg;
mod fold;
pub mod folds;
mod kernels;

pub use arg::{Extreme, arg_extreme};
pub use fold::{Fold, fold};

use crate::strided::Walk;
use smallvec::SmallVec;

/// The dimensions of a reduction: those kept (operand 0 the output, 1 the input) and those
/// reduced (operand 0 their row-major index, 1 the input).
pub struct Split {
    pub kept: Walk<2>,
    pub reduced: Walk<2>,
}

impl Split {
    /// `flags` marks the reduced dimensions; the output is contiguous.
    pub fn new(shape: &[usize], strides: &[isize], flags: &[bool]) -> Split {
        Split {
            kept: part(shape, strides, flags, false),
            reduced: part(shape, strides, flags, true),
        }
    }
}

fn part(shape: &[usize], strides: &[isize], flags: &[bool], reduced: bool) -> Walk<2> {
    let chosen = || (0..shape.len()).filter(|&i| flags[i] == reduced);
    let dims: SmallVec<[usize; 4]> = chosen().map(|i| shape[i]).collect();
    let from: SmallVec<[isize; 4]> = chosen().map(|i| strides[i]).collect();
    let order = mlrun_tensor_core::layout::contiguous_strides(&dims);
    Walk::new(&dims, [&order, &from])
}
