//! CPU kernels of the tensor core, and their thread pool.
//!
//! Invariant: kernels read and write only what the views they are given cover; a result does
//! not depend on the number of threads. Shapes, dtypes, ownership and gradients are decided by
//! `mlrun_tensor_core` before a kernel runs.

pub mod adam;
pub mod attention;
pub mod backend;
pub mod batch;
pub mod clip;
pub mod conv;
mod conv_columns;
mod conv_pixels;
mod conv_windows;
mod convert;
pub mod copy;
pub mod dense;
pub mod elementwise;
mod erf64;
pub mod gemm;
pub mod index;
pub mod isa;
pub mod join;
pub mod lanes;
pub mod math;
pub mod norm;
pub mod optim;
pub mod order;
pub mod pool;
mod ptr;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod scratch;
mod simd;
pub mod softmax;
pub mod strided;
pub mod threads;

pub use backend::CpuBackend;
pub use scratch::NoScratch;
pub use threads::Threads;
