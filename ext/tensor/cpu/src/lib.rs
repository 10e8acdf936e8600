//! CPU kernels of the tensor core, and their thread pool.
//!
//! Invariant: kernels read and write only what the views they are given cover; a result does
//! not depend on the number of threads. Shapes, dtypes, ownership and gradients are decided by
//! `mlrun_tensor_core` before a kernel runs.

mod convert;
pub mod elementwise;
mod erf64;
pub mod gemm;
pub mod isa;
pub mod lanes;
pub mod math;
mod ptr;
pub mod scratch;
mod simd;
pub mod strided;
pub mod threads;

pub use scratch::NoScratch;
pub use threads::Threads;
