//! A temporary folder that is removed when its owner is dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct TempDir {
    /// Without symbolic links, as a program that runs in it will print it.
    path: PathBuf,
}

impl TempDir {
    /// A new folder; its name holds this process's id, so that parallel test runs keep apart.
    pub fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir().canonicalize()?;
        loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("mlrun-spec-{}-{n}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // What cannot be removed is left to the system; a test's verdict does not hang on it.
        let _ = fs::remove_dir_all(&self.path);
    }
}
