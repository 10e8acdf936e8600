//! Files of tensors: safetensors, npy and npz, read and written.
//!
//! Invariants: a hostile file is an error that names it, and takes no more memory than its size
//! warrants; a file is written completely or not at all. Tensors own their bytes: nothing that
//! happens to a file later changes them. Deliberately not here: mapped memory, because a mapped
//! file that somebody shortens ends the process; JavaScript; who may read which file.

#[cfg(target_endian = "big")]
compile_error!("tensor files are little-endian, and so are the bytes of tensors here");

mod atomic;
mod bytes;
mod error;
mod literal;
pub mod npy;
pub mod npz;
pub mod safetensors;
mod source;
mod zip;

pub use bytes::write_tensor;
pub use error::{Error, ErrorClass, Result};

/// Tensors by name, in the order of the file.
pub type Named = Vec<(String, mlrun_tensor_core::Tensor)>;
