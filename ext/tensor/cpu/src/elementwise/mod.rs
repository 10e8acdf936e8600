//! Elementwise ops: one contiguous loop per row, dtype and instruction set, and one driver that
//! brings every layout to it.

mod driver;
mod loops;
mod wide;

pub use driver::{Operand, Source, run, select};
pub use loops::{Loop, Params, Row, row};
