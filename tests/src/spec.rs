//! A spec: a folder with a program, how to run it, and what it must print.
//!
//! `spec.json` is one run or a list of runs (see [`Run`]); they share one copy of the folder,
//! one home and one cache, so that a second run can find what the first one left. Expected are
//! `expected.out` and `expected.err`; one that is absent stands for "prints nothing", and a
//! spec that has neither is an error, for it would assert nothing. With more than one run each
//! run's output follows a line `$ mlrun ARGS`.
//!
//! The folder itself is never written to, except by `UPDATE_GOLDEN=1`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::packages;
use crate::pattern;
use crate::process::{self, End, Job};
use crate::tempdir::TempDir;

/// Tokens that stand for machine-dependent folders, both in what a spec passes to the program
/// and in what is expected of it.
const DIR: &str = "[DIR]";
const ROOT: &str = "[ROOT]";
const PACKAGE: &str = "[PACKAGE]";

/// One start of the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// Arguments of mlrun. `[ROOT]` is the repository, `[DIR]` the copy of the spec's folder.
    pub args: Vec<String>,
    /// Exit code; death by a signal counts as 128 + signal.
    pub exit: i32,
    /// Added to the environment; null removes a variable that the harness sets.
    pub env: BTreeMap<String, Option<String>>,
    /// Standard input; without it, empty.
    pub stdin: String,
    /// Files written into the copy before this run: name and text.
    pub files: BTreeMap<String, String>,
    /// Sends Ctrl-C's signal once this text has appeared on standard output.
    pub interrupt_at: Option<String>,
    /// After this many seconds the program is killed and the spec fails.
    pub limit_seconds: u64,
    /// A package whose folder `[PACKAGE]` stands for: `npm:NAME@VERSION` or `pip:NAME==VERSION`.
    pub needs: Option<String>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            args: vec!["main.js".to_string()],
            exit: 0,
            env: BTreeMap::new(),
            stdin: String::new(),
            files: BTreeMap::new(),
            interrupt_at: None,
            limit_seconds: 60,
            needs: None,
        }
    }
}

/// What every spec is run with.
#[derive(Clone)]
pub struct Setting {
    /// The mlrun binary.
    pub program: PathBuf,
    /// The repository.
    pub root: PathBuf,
    /// Rewrites expected files instead of failing.
    pub update: bool,
    /// Options that every program gets besides its own: `MLRUN_EXTRA_ARGS`.
    pub extra: Vec<String>,
}

impl Setting {
    /// The extra options, where `args` run a program.
    fn extra_for(&self, args: &[String]) -> &[String] {
        const OTHERS: [&str; 8] =
            ["compile", "explain", "info", "-h", "--help", "-V", "--version", "--trace-leaks"];
        match args.iter().any(|arg| OTHERS.contains(&arg.as_str())) || args.is_empty() {
            true => &[],
            false => &self.extra,
        }
    }
}

/// Takes the list of what is alive off the end; an error where mlrun found a leak of its own.
fn without_alive(err: &str) -> Result<&str, String> {
    match err.split_once("alive at the end: ") {
        Some((_, alive)) if alive.contains("\nleak: ") => Err(format!("it leaks:\n{alive}")),
        Some((own, _)) => Ok(own),
        None => Ok(err),
    }
}

/// Runs the spec in `folder`; the error is the text that a person reads.
pub fn check(folder: &Path, setting: &Setting) -> Result<(), String> {
    let runs = read_runs(folder)?;
    let expected = Expected::read(folder)?;
    if expected.is_none_given() && !setting.update {
        return Err("spec: asserts nothing, got neither expected.out nor expected.err, expected \
                    at least one (UPDATE_GOLDEN=1 writes them)"
            .to_string());
    }
    let package = needed(&runs).map(|needs| packages::fetch(&setting.root, needs)).transpose()?;
    let scratch = Scratch::new(folder, package)?;
    let (mut out, mut err) = (String::new(), String::new());
    let mut problems = Vec::new();
    for run in &runs {
        let outcome = scratch.start(run, setting)?;
        if runs.len() > 1 {
            let line = format!("$ mlrun {}\n", run.args.join(" "));
            out.push_str(&line);
            err.push_str(&line);
        }
        out.push_str(&scratch.with_tokens(&outcome.stdout, setting));
        // The list of what is alive is no part of what a program must print.
        let traced = setting.extra_for(&run.args).iter().any(|arg| arg == "--trace-leaks");
        let stderr = match traced {
            true => without_alive(&outcome.stderr).unwrap_or_else(|problem| {
                problems.push(problem);
                ""
            }),
            false => &outcome.stderr,
        };
        err.push_str(&scratch.with_tokens(stderr, setting));
        match outcome.end {
            End::Code(code) if code == run.exit => {}
            End::Code(code) => problems.push(format!(
                "exit code of `mlrun {}`: got {code}, expected {}",
                run.args.join(" "),
                run.exit
            )),
            End::TimedOut => problems.push(format!(
                "`mlrun {}` did not end within {} s and was killed",
                run.args.join(" "),
                run.limit_seconds
            )),
        }
    }
    // Headlines alone say nothing: where no run printed, the expected file may be absent.
    for text in [&mut out, &mut err] {
        if text.lines().all(|line| line.starts_with("$ mlrun ")) {
            text.clear();
        }
    }
    compare(folder, &expected, &out, &err, setting.update, problems)
}

fn needed(runs: &[Run]) -> Option<&str> {
    runs.iter().find_map(|run| run.needs.as_deref())
}

/// Why the package that the spec in `folder` needs cannot be had; None where it can, or needs none.
pub fn lacks(folder: &Path, root: &Path) -> Option<String> {
    let runs = read_runs(folder).ok()?;
    packages::fetch(root, needed(&runs)?).err()
}

fn compare(
    folder: &Path,
    expected: &Expected,
    out: &str,
    err: &str,
    update: bool,
    mut problems: Vec<String>,
) -> Result<(), String> {
    for (name, want, got) in
        [(Expected::OUT, &expected.out, out), (Expected::ERR, &expected.err, err)]
    {
        let text = want.as_deref().unwrap_or("");
        if pattern::matches(text, got) {
            continue;
        }
        if update && problems.is_empty() {
            let path = folder.join(name);
            fs::write(&path, pattern::update(text, got))
                .map_err(|e| format!("spec: cannot write {}: {e}", path.display()))?;
        } else {
            problems.push(format!("{name} differs:\n{}", pattern::diff(text, got)));
        }
    }
    if update && problems.is_empty() && expected.is_none_given() && out.is_empty() && err.is_empty()
    {
        let path = folder.join(Expected::OUT);
        fs::write(&path, "").map_err(|e| format!("spec: cannot write {}: {e}", path.display()))?;
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn read_runs(folder: &Path) -> Result<Vec<Run>, String> {
    let path = folder.join("spec.json");
    let text = fs::read_to_string(&path)
        .map_err(|e| format!("spec: cannot read {}: {e}", path.display()))?;
    let runs = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|run| vec![run])
    };
    let runs: Vec<Run> = runs.map_err(|e| format!("spec: {}: {e}", path.display()))?;
    if runs.is_empty() {
        return Err(format!("spec: {}: got an empty list, expected a run", path.display()));
    }
    Ok(runs)
}

struct Expected {
    out: Option<String>,
    err: Option<String>,
}

impl Expected {
    const OUT: &'static str = "expected.out";
    const ERR: &'static str = "expected.err";

    fn read(folder: &Path) -> Result<Self, String> {
        let text = |name: &str| {
            let path = folder.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(e) => Err(format!("spec: cannot read {}: {e}", path.display())),
            }
        };
        Ok(Self { out: text(Self::OUT)?, err: text(Self::ERR)? })
    }

    fn is_none_given(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }
}

/// A temporary folder with a copy of the spec, a home and a cache; gone when dropped.
struct Scratch {
    base: TempDir,
    package: Option<PathBuf>,
}

impl Scratch {
    fn new(folder: &Path, package: Option<PathBuf>) -> Result<Self, String> {
        let error = |e: std::io::Error| format!("spec: cannot prepare a temporary folder: {e}");
        let scratch = Self { base: TempDir::new().map_err(error)?, package };
        for dir in [scratch.home(), scratch.tmp()] {
            fs::create_dir(dir).map_err(error)?;
        }
        copy_tree(folder, &scratch.dir()).map_err(error)?;
        Ok(scratch)
    }

    fn dir(&self) -> PathBuf {
        self.base.path().join("spec")
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn tmp(&self) -> PathBuf {
        self.base.path().join("tmp")
    }

    fn start(&self, run: &Run, setting: &Setting) -> Result<process::Outcome, String> {
        for (name, text) in &run.files {
            let path = self.dir().join(name);
            fs::write(&path, text)
                .map_err(|e| format!("spec: cannot write {}: {e}", path.display()))?;
        }
        let job = Job {
            program: setting.program.clone(),
            args: (setting.extra_for(&run.args).iter().chain(&run.args))
                .map(|a| self.fill_tokens(a, setting).into())
                .collect(),
            env: self.environment(run, setting),
            dir: self.dir(),
            stdin: run.stdin.clone(),
            limit: Duration::from_secs(run.limit_seconds),
            interrupt_at: run.interrupt_at.clone(),
        };
        process::run(&job)
            .map_err(|e| format!("spec: cannot run {}: {e}", setting.program.display()))
    }

    /// The same on every machine, but for PATH.
    fn environment(&self, run: &Run, setting: &Setting) -> BTreeMap<OsString, OsString> {
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
        let path = std::env::var_os("PATH").unwrap_or_default();
        for (name, value) in [
            ("PATH", path),
            ("HOME", self.home().into()),
            ("TMPDIR", self.tmp().into()),
            ("MLRUN_CACHE_DIR", self.base.path().join("cache").into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("NO_COLOR", "1".into()),
        ] {
            env.insert(name.into(), value);
        }
        for (name, value) in &run.env {
            match value {
                Some(value) => env.insert(name.into(), self.fill_tokens(value, setting).into()),
                None => env.remove(&OsString::from(name)),
            };
        }
        env
    }

    fn fill_tokens(&self, text: &str, setting: &Setting) -> String {
        let package = self.package.as_deref().unwrap_or(Path::new(PACKAGE));
        text.replace(PACKAGE, &package.to_string_lossy())
            .replace(DIR, &self.dir().to_string_lossy())
            .replace(ROOT, &setting.root.to_string_lossy())
    }

    fn with_tokens(&self, text: &str, setting: &Setting) -> String {
        text.replace(&*self.dir().to_string_lossy(), DIR)
            .replace(&*setting.root.to_string_lossy(), ROOT)
    }
}

/// Copies files, folders and symbolic links (as links), but nothing that is expected of them:
/// a program must not be able to read its own golden.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if ![Expected::OUT, Expected::ERR, "spec.json"]
            .iter()
            .any(|name| entry.file_name() == **name)
        {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
