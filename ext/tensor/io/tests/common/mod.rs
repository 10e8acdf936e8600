//! What the tests share: a folder that vanishes, tensors from bytes, and bytes from tensors.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{DType, Layout, Storage, Tensor};

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mlrun-io-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("temporary folder");
        Folder(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, bytes).expect("temporary file");
        path
    }

    /// Names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .expect("folder")
            .map(|e| e.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn pool() -> Arc<HostPool> {
    Arc::new(HostPool::new())
}

#[expect(clippy::disallowed_methods, reason = "a test reads back what was written")]
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("file")
}

pub fn tensor(dtype: DType, shape: &[usize], bytes: &[u8]) -> Tensor {
    let total = shape.iter().product::<usize>() * dtype.size();
    assert_eq!(total, bytes.len());
    let storage = Storage::new(&pool(), total).expect("storage");
    // SAFETY: the storage was made with as many bytes, and nobody else has it.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), storage.as_ptr(), total) };
    Tensor::new(storage, Layout::contiguous(shape), dtype)
}

/// A tensor of bytes that count up.
pub fn counting(dtype: DType, shape: &[usize]) -> Tensor {
    let total = shape.iter().product::<usize>() * dtype.size();
    let most = if dtype == DType::Bool { 2 } else { 251 };
    let bytes: Vec<u8> = (0..total).map(|i| (i % most) as u8).collect();
    tensor(dtype, shape, &bytes)
}

/// The elements row-major.
pub fn elements(t: &Tensor) -> Vec<u8> {
    let mut out = Vec::new();
    mlrun_tensor_io::write_tensor(t, &mut out).expect("a vector takes all");
    out
}
