//! `cargo xtask test`: format, lints, unit tests of all crates, specs. Every step runs even
//! when an earlier one failed; the last line adds up what the test programs counted.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{cargo, v8};

/// The version that tests/types are checked with.
const TYPESCRIPT: &str = "typescript@7.0.2";

#[derive(Default, Debug, PartialEq, Eq)]
struct Counts {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl Counts {
    /// Adds what a test program's closing line counts; false for any other line.
    fn add(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("test result: ") else { return false };
        let number = |unit: &str| {
            let before = rest.split("; ").find_map(|part| part.strip_suffix(unit))?;
            before.rsplit(' ').next()?.parse::<u32>().ok()
        };
        let (Some(passed), Some(failed), Some(ignored)) =
            (number(" passed"), number(" failed"), number(" ignored"))
        else {
            return false;
        };
        self.passed += passed;
        self.failed += failed;
        self.skipped += ignored;
        true
    }
}

/// What was done, whether it succeeded, how long it took.
struct Step {
    name: &'static str,
    ok: bool,
    took: Duration,
}

/// Runs everything; the exit code is a failure if any step or test failed.
pub fn run(root: &Path, v8: &v8::Source, shared: Option<&Path>) -> Result<ExitCode> {
    let shared = shared.map(shared_folder).transpose()?;
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        require_component(subcommand, component)?;
    }
    let mut steps = Vec::new();
    let mut counts = Counts::default();

    let mut fmt = cargo::command(root, "fmt");
    fmt.args(["--all", "--check"]);
    steps.push(step("format", || succeeds(&mut fmt))?);

    let mut mlrun = None;
    steps.push(step("build", || {
        mlrun = cargo::build_mlrun(root, v8).map_err(|e| eprintln!("error: {e:#}")).ok();
        let mut tests = cargo::command(root, "test");
        tests.args(["--workspace", "--no-run"]);
        v8.apply(&mut tests);
        Ok(mlrun.is_some() && succeeds(&mut tests)?)
    })?);

    let mut clippy = cargo::command(root, "clippy");
    clippy.args(["--workspace", "--all-targets", "--", "-D", "warnings"]);
    v8.apply(&mut clippy);
    steps.push(step("clippy", || succeeds(&mut clippy))?);

    if let Some(mlrun) = mlrun {
        let mut tests = cargo::command(root, "test");
        tests.args(["--workspace", "--no-fail-fast"]).env("MLRUN_BIN", mlrun);
        tests.env_remove("MLRUN_SHARED");
        if let Some(dir) = shared {
            tests.env("MLRUN_SHARED", dir);
        }
        v8.apply(&mut tests);
        steps.push(step("tests", || count(&mut tests, &mut counts))?);
    }
    steps.push(step("types", || types(root, &mut counts))?);
    Ok(report(&steps, counts))
}

fn shared_folder(dir: &Path) -> Result<std::path::PathBuf> {
    dir.canonicalize()
        .with_context(|| format!("--shared: got {}, expected a folder", dir.display()))
}

/// Checks js/mlrun.d.ts against tests/types with TypeScript, which npm fetches; where it cannot,
/// the test counts as skipped.
fn types(root: &Path, counts: &mut Counts) -> Result<bool> {
    let tsc = |args: &[&str]| {
        let mut command = Command::new("npm");
        command.current_dir(root).args(["exec", "--yes", "--package", TYPESCRIPT, "--", "tsc"]);
        command.args(args);
        command
    };
    if crate::system::capture(&mut tsc(&["--version"])).is_none() {
        eprintln!("skipped: npm is missing or cannot fetch {TYPESCRIPT}");
        counts.skipped += 1;
        return Ok(true);
    }
    let ok = succeeds(&mut tsc(&["--project", "tests/types"]))?;
    // A failed step is counted by the report.
    counts.passed += u32::from(ok);
    Ok(ok)
}

fn require_component(subcommand: &str, component: &str) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let found = crate::system::capture(Command::new(cargo).args([subcommand, "--version"]));
    if found.is_none() {
        bail!("cargo {subcommand}: not installed: rustup component add {component}");
    }
    Ok(())
}

fn step(name: &'static str, work: impl FnOnce() -> Result<bool>) -> Result<Step> {
    eprintln!("== {name}");
    let start = Instant::now();
    let ok = work()?;
    Ok(Step { name, ok, took: start.elapsed() })
}

fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    Ok(status.success())
}

/// Runs `cargo test`, passing its output on and counting.
fn count(command: &mut Command, counts: &mut Counts) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cargo test: cannot start")?;
    let pipe = child.stdout.take().context("cargo test: has no output")?;
    let mut out = std::io::stdout().lock();
    for line in BufReader::new(pipe).split(b'\n') {
        let line = line.context("cargo test: cannot read its output")?;
        counts.add(&String::from_utf8_lossy(&line));
        out.write_all(&line)?;
        out.write_all(b"\n")?;
    }
    Ok(child.wait().context("cargo test: lost")?.success())
}

/// The closing table, and the sum alone on the last line.
fn report(steps: &[Step], mut counts: Counts) -> ExitCode {
    println!();
    for step in steps {
        let verdict = if step.ok { "ok" } else { "FAILED" };
        println!("{:<8} {:>7.1} s  {verdict}", step.name, step.took.as_secs_f64());
    }
    let tests_ran = steps.iter().any(|step| step.name == "tests");
    for step in steps {
        // A test program that crashed has counted nothing, but its step has failed.
        let counted = step.name == "tests" && counts.failed > 0;
        if !step.ok && !counted {
            counts.failed += 1;
        }
    }
    if tests_ran && counts.passed + counts.failed == 0 {
        println!("no test ran");
        counts.failed += 1;
    }
    println!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_add_up() {
        let mut counts = Counts::default();
        for (line, counted) in [
            ("running 3 tests", false),
            ("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out", true),
            (
                "test result: FAILED. 10 passed; 4 failed; 0 ignored; 0 measured; 5 filtered out; \
                 finished in 0.01s",
                true,
            ),
            ("test result: unreadable", false),
            ("7 passed, 0 failed", false),
        ] {
            assert_eq!(counts.add(line), counted, "{line}");
        }
        assert_eq!(counts, Counts { passed: 12, failed: 4, skipped: 1 });
    }

    #[test]
    fn a_failed_step_fails_the_whole() {
        let step = |name, ok| Step { name, ok, took: Duration::ZERO };
        let counts = |passed, failed| Counts { passed, failed, skipped: 0 };
        // (steps, counted, whether the whole succeeds)
        let table = [
            (vec![step("format", true), step("tests", true)], counts(1, 0), true),
            (vec![step("format", false), step("tests", true)], counts(1, 0), false),
            (vec![step("format", true), step("tests", false)], counts(1, 1), false),
            (vec![step("format", true), step("tests", false)], counts(1, 0), false),
            (vec![step("format", true), step("tests", true)], counts(0, 0), false),
            (vec![step("build", false)], counts(0, 0), false),
        ];
        for (steps, counts, want) in table {
            let got = report(&steps, counts) == ExitCode::SUCCESS;
            assert_eq!(got, want);
        }
    }
}
