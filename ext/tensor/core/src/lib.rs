//! The tensor core: heap, storage, layout, dtypes, the op table, shape rules and the
//! autograd tape.
//!
//! Invariant: nothing in this crate knows V8, wgpu, files or the network. Kernels live in
//! backend crates behind [`backend::Backend`].

pub mod account;
pub mod attr;
pub mod backend;
pub mod dtype;
pub mod engine;
pub mod error;
pub mod fault;
pub mod heap;
pub mod layout;
pub mod ops;
pub mod pool;
pub mod quick;
pub mod rows;
pub mod samples;
pub mod scalar;
pub mod sites;
pub mod storage;
pub mod sym;
mod sync;
mod system;
pub mod table;
pub mod tape;
pub mod tensor;
mod watch;

pub use attr::{Attr, AttrKind, Attrs};
pub use backend::{Backend, Call, Input, KernelId, View};
pub use dtype::{DType, Scalar};
pub use engine::{Arg, Engine};
pub use error::{Error, ErrorClass, Result};
pub use heap::{Heap, HeapId};
pub use layout::{Dims, Layout, Strides};
pub use storage::{Device, Storage};
pub use table::{Op, OpDef};
pub use tensor::Tensor;
