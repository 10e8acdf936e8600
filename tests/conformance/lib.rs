//! Runs outside JavaScript in realms of its own: as it was written, compiled by the ownership pass,
//! and with every object counted and watched. The suites stand beside this file.
//!
//! Invariant: nothing of one realm reaches the next. This crate knows the compiler, the runtime
//! half in `js/` and V8, and not the rest of mlrun, so that it tests the pass alone.

#![expect(
    clippy::disallowed_methods,
    reason = "a test harness, no part of the runtime: it reads its own files"
)]

mod host;
mod modules;
mod realm;

use std::path::{Path, PathBuf};

use mlrun_compiler::{Options, Ownership, SourceType};

pub use realm::{Engine, Job, Kind, initialize};

/// How a text is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Plain,
    /// By the pass, also where nothing points at tensors.
    Compiled,
    /// Every object is counted, and watched after its release.
    Forced,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Compiled, Self::Forced];
}

/// A text as V8 gets it.
#[derive(Debug)]
pub struct Code {
    pub name: String,
    pub text: String,
    /// What was written for functions that changed, by the hash of their emitted text.
    pub functions: Vec<(u64, String)>,
    pub changed: bool,
}

/// Compiles a text.
///
/// # Errors
/// What the compiler says about it.
pub fn compile(mode: Mode, kind: SourceType, name: &str, source: &str) -> Result<Code, String> {
    let ownership = match mode {
        Mode::Plain => Ownership::Off,
        Mode::Compiled => Ownership::Whole,
        Mode::Forced => Ownership::Force,
    };
    let name = name.to_owned();
    if mode == Mode::Plain && kind != SourceType::TypeScript {
        // Not even parsed: V8 alone decides what is right.
        return Ok(Code { name, text: source.to_owned(), functions: vec![], changed: false });
    }
    let options = Options { ownership, ..Options::new(kind) };
    let compiled = mlrun_compiler::compile(&name, source, &options).map_err(|e| e.to_string())?;
    let plain = compiled.plain.as_deref().unwrap_or(source);
    let written = |f: &mlrun_compiler::FunctionText| {
        Some((f.hash, plain.get(f.start as usize..f.end as usize)?.to_owned()))
    };
    Ok(Code {
        name,
        functions: compiled.functions.iter().filter_map(written).collect(),
        changed: compiled.owned || (compiled.code != source && kind != SourceType::TypeScript),
        text: compiled.code,
    })
}

/// How a program ended that threw.
#[derive(Clone, Debug)]
pub struct Thrown {
    /// `parse`, `resolution`, `runtime`, `harness`; `runner` if it is not the program's fault.
    pub phase: &'static str,
    pub class: String,
    pub text: String,
}

/// What a run left behind.
#[derive(Debug, Default)]
pub struct Ended {
    pub thrown: Option<Thrown>,
    /// Lines that it printed.
    pub output: Vec<String>,
    /// Uses of released objects.
    pub violations: Vec<String>,
    /// The pass changed the program, or something that it imports.
    pub changed: bool,
}

/// The repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a text file.
///
/// # Errors
/// Its path and what the system says.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
