//! Programs that lie outside the repository, in the folder that MLRUN_SHARED names.
//!
//! `shared.txt` says which of them must pass now. The others are tests too, marked as
//! ignored, so that none is left out silently; `--ignored` runs them all the same.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{self, End, Job};
use crate::tempdir::TempDir;

/// Long training programs are among them.
const LIMIT: Duration = Duration::from_secs(600);

/// One start of mlrun with a program of the folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// mlrun's arguments; the program's path is relative to the folder.
    pub args: Vec<String>,
    /// Whether it must pass now.
    pub expected: bool,
}

impl Program {
    pub fn name(&self) -> String {
        format!("shared/{}", self.args.join(" "))
    }
}

/// What `list` names, then every other program of the folder.
pub fn programs(folder: &Path, list: &str) -> Result<Vec<Program>, String> {
    let mut programs: Vec<Program> = list
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| Program {
            args: line.split_whitespace().map(str::to_string).collect(),
            expected: true,
        })
        .collect();
    for program in &programs {
        if !program.args.iter().any(|arg| folder.join(arg).is_file()) {
            return Err(format!(
                "shared.txt: got `{}`, expected the path of a file in {}",
                program.args.join(" "),
                folder.display()
            ));
        }
    }
    for path in all(folder)? {
        let whole = [path];
        if !programs.iter().any(|p| p.args == whole) {
            programs.push(Program { args: whole.into(), expected: false });
        }
    }
    Ok(programs)
}

/// The programs that can be started: all of programs/ but the helpers, and the oracle.
fn all(folder: &Path) -> Result<Vec<String>, String> {
    let programs = folder.join("programs");
    let error = |e: std::io::Error| format!("shared: cannot list {}: {e}", programs.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&programs).map_err(error)? {
        let name = entry.map_err(error)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".js") && name != "check.js" {
            names.push(format!("programs/{name}"));
        }
    }
    names.sort();
    if folder.join("oracle/run.js").is_file() {
        names.push("oracle/run.js".to_string());
    }
    Ok(names)
}

/// Runs it in place; the error is what a person reads.
pub fn check(program: &Program, folder: &Path, mlrun: &Path) -> Result<(), String> {
    let error = |e: std::io::Error| format!("shared: cannot run {}: {e}", mlrun.display());
    let scratch = TempDir::new().map_err(error)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let env: BTreeMap<OsString, OsString> = [
        ("PATH", path),
        ("HOME", scratch.path().into()),
        ("MLRUN_CACHE_DIR", scratch.path().into()),
        ("NO_COLOR", "1".into()),
    ]
    .map(|(name, value)| (name.into(), value))
    .into();
    let job = Job {
        program: PathBuf::from(mlrun),
        args: program.args.iter().map(OsString::from).collect(),
        env,
        dir: folder.to_path_buf(),
        stdin: String::new(),
        limit: LIMIT,
        interrupt_at: None,
    };
    let outcome = process::run(&job).map_err(error)?;
    let closing = outcome.stdout.lines().last().unwrap_or("");
    let ok = closing.ends_with(": ok")
        || closing.ends_with(" passed, 0 failed") && !closing.starts_with("0 ");
    if outcome.end == End::Code(0) && outcome.stderr.is_empty() && ok {
        return Ok(());
    }
    Err(format!("{:?}\n{}{}", outcome.end, indented(&outcome.stdout), indented(&outcome.stderr)))
}

/// Indented, so that nobody takes a program's count for the test run's.
fn indented(text: &str) -> String {
    const MAX_LINES: usize = 60;
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    if lines.len() > MAX_LINES {
        out.push_str(&format!("  ... {} lines more\n", lines.len() - MAX_LINES));
    }
    for line in &lines[lines.len().saturating_sub(MAX_LINES)..] {
        out.push_str(&format!("  {line}\n"));
    }
    out
}
