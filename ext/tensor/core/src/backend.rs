//! What a device must offer: kernels for rows of the op table.
//!
//! A backend sees raw views; shapes, dtypes and ownership were decided before it is called.

use crate::attr::Attr;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::layout::Layout;
use crate::storage::{Device, Storage};
use crate::table::Op;

/// Which kernel of a row is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelId {
    /// The op itself.
    Forward(Op),
    /// The fused derivative of a unary elementwise row: inputs `g, x, y` (x and y as the row's
    /// derivative uses them, else absent), output `dx`.
    UnaryGrad(Op),
}

impl KernelId {
    pub fn op(self) -> Op {
        match self {
            KernelId::Forward(op) | KernelId::UnaryGrad(op) => op,
        }
    }
}

/// A tensor as a kernel reads or writes it. `layout.offset` and strides count elements.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub storage: &'a Storage,
    pub layout: &'a Layout,
    pub dtype: DType,
}

impl View<'_> {
    /// Address of the element at the layout's offset. The engine made the storage large
    /// enough for the layout's span.
    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        self.storage.as_ptr().wrapping_add(self.layout.offset * self.dtype.size())
    }
}

/// One input of a call.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    View(View<'a>),
    /// A number that takes the call's dtype.
    Scalar(Scalar),
    Absent,
}

/// One kernel call. Elementwise kernels get inputs already broadcast to the output's shape
/// (stride 0) and converted to `dtype`; an output may be the same storage and layout as an
/// input where the row allows it.
#[derive(Debug)]
pub struct Call<'a> {
    pub kernel: KernelId,
    /// The dtype in which the op computes; outputs carry their own.
    pub dtype: DType,
    pub inputs: &'a [Input<'a>],
    pub outputs: &'a [View<'a>],
    pub attrs: &'a [Attr],
}

/// A loop of an elementwise row: output, inputs (those that the row does not have repeat
/// another), number of elements, parameters. Every address covers that many contiguous elements
/// of the dtype that the loop was asked for; the output overlaps no input.
pub type TinyKernel = unsafe fn(*mut u8, [*const u8; 3], usize, &[f64; 4]);

pub trait Backend: Send + Sync {
    fn device(&self) -> Device;
    /// Runs one kernel. A missing one is [`crate::Error::NoKernel`], never a silent conversion.
    fn run(&self, call: &Call) -> Result<()>;
    /// The loop of an elementwise row, where the device can run one at once on the host.
    fn tiny(&self, _kernel: KernelId, _dtype: DType) -> Option<TinyKernel> {
        None
    }
    /// Sets the number of threads that kernels may use.
    fn set_threads(&self, threads: usize);
    fn threads(&self) -> usize;
}
