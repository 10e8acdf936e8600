//! Outside suites as tests: ONNX's node tests and tfjs-core's own, run through adapters in
//! `conformance/`, and tensor files exchanged with NumPy. Results are checked in as text
//! (`results.txt`): a test that was passed must pass, and one that fails needs a reason.
//! `UPDATE_GOLDEN=1` records what is new. A suite that cannot be fetched is ignored, by name.

#![expect(
    clippy::disallowed_methods,
    reason = "a test harness, no part of the runtime: it reads its own files"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use mlrun_tests::discover;

const ONNX: &str = "onnx==1.19.1";
const FILES: [&str; 3] = ["numpy", "ml_dtypes", "safetensors"];
const TFJS: &str = "@tensorflow/tfjs-core@4.22.0";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suites: [(&str, Prepare, Check); 3] = [
        ("onnx", prepare_onnx, check_onnx),
        ("tfjs", prepare_tfjs, check_tfjs),
        ("files", prepare_files, check_files),
    ];
    let trials = suites.map(|(name, prepare, check)| {
        let folder = tests.join("conformance").join(name);
        let wanted = !arguments.list
            && arguments.filter.as_ref().is_none_or(|f| format!("conformance/{name}").contains(f));
        let ready = if wanted { prepare(&folder) } else { Ok(PathBuf::new()) };
        let title = match &ready {
            Ok(_) => format!("conformance/{name}"),
            Err(reason) => format!("conformance/{name} (not run: {reason})"),
        };
        let ignored = ready.is_err();
        Trial::test(title, move || Ok(check(&folder, &ready?)?)).with_ignored_flag(ignored)
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Fetches what a suite needs; the folder with it, or why there is none.
type Prepare = fn(&Path) -> Result<PathBuf, String>;
/// Runs a suite, given its folder here and what was fetched.
type Check = fn(&Path, &Path) -> Result<(), String>;

/// Outlives a checkout, so that each version is fetched once per user.
fn cache() -> Result<PathBuf, String> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    Ok(base.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("mlrun/conformance"))
}

/// Runs a command; its output, or the last line that says why not.
fn run(command: &mut Command) -> Result<String, String> {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    Err(format!("{name}: {last}"))
}

/// A Python with `packages`; the folder is made anew unless it was finished.
fn python(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = cache()?.join(name);
    let done = folder.join("done");
    if !done.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20"];
        run(Command::new(folder.join("bin/python")).args(pip).args(packages))?;
        std::fs::write(&done, "").map_err(|e| format!("{}: {e}", done.display()))?;
    }
    Ok(folder.join("bin/python"))
}

fn mlrun() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("tests: has no parent")?;
    discover::binary(root)
}

/// A new folder for this run.
fn scratch(name: &str) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{name}"));
    let made =
        std::fs::remove_dir_all(&folder).or(Ok(())).and_then(|()| std::fs::create_dir_all(&folder));
    made.map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

fn prepare_onnx(_: &Path) -> Result<PathBuf, String> {
    python(&ONNX.replace("==", "-"), &[ONNX])
}

fn check_onnx(folder: &Path, python: &Path) -> Result<(), String> {
    let data = scratch("onnx")?;
    run(Command::new(python).arg(folder.join("export.py")).arg(&data))?;
    let out = run(Command::new(mlrun()?).arg(folder.join("run.js")).arg(&data))?;
    compare("onnx", folder, &out)
}

fn prepare_tfjs(_: &Path) -> Result<PathBuf, String> {
    let folder = cache()?.join("tfjs-core-4.22.0");
    let package = folder.join("package");
    if !folder.join("done").exists() {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let name = run(Command::new("npm").args(["pack", "--silent", TFJS]).current_dir(&folder))?;
        run(Command::new("tar").args(["-xzf", name.trim()]).current_dir(&folder))?;
        std::fs::write(folder.join("done"), "").map_err(|e| e.to_string())?;
    }
    run(Command::new("node").arg("--version"))?;
    Ok(package)
}

fn check_tfjs(folder: &Path, package: &Path) -> Result<(), String> {
    let data = scratch("tfjs")?;
    run(Command::new("node").arg(folder.join("prepare.mjs")).args([package, &data]))?;
    let out = run(Command::new(mlrun()?).arg(data.join("run.js")))?;
    compare("tfjs", folder, &out)
}

fn prepare_files(_: &Path) -> Result<PathBuf, String> {
    python("files", &FILES)
}

/// mlrun writes, NumPy and the safetensors package read.
fn check_files(folder: &Path, python: &Path) -> Result<(), String> {
    let data = scratch("files")?;
    run(Command::new(mlrun()?).arg(folder.join("write.js")).arg(&data))?;
    let out = run(Command::new(python).arg(folder.join("check.py")).arg(&data))?;
    println!("files: {}", out.trim());
    Ok(())
}

/// What is said of one test.
#[derive(Clone, PartialEq)]
struct Verdict<'a> {
    kind: &'a str,
    line: &'a str,
}

/// Lines `passed NAME`, `excluded NAME: REASON`, `failed NAME: PROBLEM`.
fn verdicts(text: &str) -> BTreeMap<&str, Verdict<'_>> {
    let verdict = |line| {
        let (kind, rest) = str::split_once(line, ' ')?;
        let known = ["passed", "excluded", "failed"].contains(&kind);
        let name = if kind == "passed" { rest } else { rest.split_once(": ")?.0 };
        known.then_some((name, Verdict { kind, line }))
    };
    text.lines().filter_map(verdict).collect()
}

fn summary(verdicts: &BTreeMap<&str, Verdict>) -> String {
    let count = |kind| verdicts.values().filter(|v| v.kind == kind).count();
    let (passed, excluded) = (count("passed"), count("excluded"));
    format!("{} selected, {passed} passed, {excluded} excluded", verdicts.len())
}

/// Compares a run with what is checked in.
fn compare(name: &str, folder: &Path, out: &str) -> Result<(), String> {
    let path = folder.join("results.txt");
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let (now, before) = (verdicts(out), verdicts(&recorded));
    if now.is_empty() {
        return Err(format!("{name}: no test ran"));
    }
    println!("{name}: {}", summary(&now));
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v != "0") {
        let lines: Vec<&str> = now.values().map(|v| v.line).collect();
        let text = format!("{}\n\n{}\n", summary(&now), lines.join("\n"));
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        return failures(&now, &BTreeMap::new());
    }
    let new = now.iter().filter(|(k, v)| v.kind == "passed" && before.get(*k) != Some(v)).count();
    if new > 0 {
        println!("{name}: {new} pass that are not recorded, UPDATE_GOLDEN=1 records them");
    }
    failures(&now, &before)
}

/// What failed without a reason, and what no longer passes.
fn failures(now: &BTreeMap<&str, Verdict>, before: &BTreeMap<&str, Verdict>) -> Result<(), String> {
    let failed = now.values().filter(|v| v.kind == "failed").map(|v| v.line.to_owned());
    let lost = before.iter().filter(|(_, v)| v.kind == "passed").filter_map(|(test, _)| {
        let got = now.get(test);
        let line = got.map_or("it is not there", |v| v.line);
        let lost = got.is_none_or(|v| v.kind == "excluded");
        lost.then(|| format!("{test} passed before, now: {line}"))
    });
    let problems: Vec<String> = failed.chain(lost).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
