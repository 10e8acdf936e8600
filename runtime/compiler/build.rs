//! Names this state of the sources, so that what an older compiler left in a code cache is not run.

#![allow(clippy::disallowed_methods, reason = "reads its own sources while building")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn sources(dir: &Path, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut files = BTreeSet::new();
    sources(Path::new("src"), &mut files)?;
    // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for file in files {
        let name = file.to_string_lossy().into_owned().into_bytes();
        for byte in name.into_iter().chain(std::fs::read(&file)?) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=MLRUN_COMPILER_SOURCES={hash:016x}");
    Ok(())
}
