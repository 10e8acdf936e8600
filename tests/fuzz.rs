//! Differential fuzzing of the ownership pass on the real runtime: random programs must print the
//! same with the pass, without it and with it verified, and so must errors of every kind. `FUZZ_FIRST` and `FUZZ_COUNT` choose the
//! seeds; without them a short run. Fails too if a rule of the pass was never exercised.
//!
//! Deliberately not here: the programs (`fuzz/generator.js`, `fuzz/messages.js`), and how one process runs many of
//! them (`fuzz/drive.js`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use mlrun_tests::{discover, tempdir::TempDir};

/// Programs of one process: a hang or crash costs no more than these.
const BATCH: u64 = 200;
const SHORT: u64 = 600;
/// Ways to run a program; all must print what the first prints.
const MODES: [&[&str]; 3] = [&["--no-ownership"], &[], &["--verify-ownership"]];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        Trial::test("fuzz/differences are found", || Ok(differences_are_found()?)),
        Trial::test("fuzz/random programs print the same", || Ok(run()?)),
        Trial::test("fuzz/errors say the same", || Ok(messages()?)),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn number(name: &str, default: u64) -> Result<u64, String> {
    let Some(text) = std::env::var_os(name) else { return Ok(default) };
    let parsed = text.to_str().and_then(|t| t.parse().ok());
    parsed.ok_or_else(|| format!("{name}: got {}, expected a number", text.display()))
}

/// Every error that V8 has for an expression: names, messages and places.
fn messages() -> Result<(), String> {
    let fuzz = Fuzz::new()?;
    let mut problems = vec![];
    let written = fuzz.write("messages.js", &[], 0)?;
    let lines = fuzz.compare(&written, 0, &mut problems)?;
    println!("{} programs, {lines} lines", written.count);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn run() -> Result<(), String> {
    let fuzz = Fuzz::new()?;
    let (first, count) = (number("FUZZ_FIRST", 1)?, number("FUZZ_COUNT", SHORT)?);
    let mut rules = BTreeMap::<String, u64>::new();
    let (mut lines, mut problems) = (0, vec![]);
    for from in (first..first + count).step_by(BATCH as usize) {
        let n = BATCH.min(first + count - from);
        lines += fuzz.batch(from, n, &mut rules, &mut problems)?;
    }
    let counts: Vec<_> = rules.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
    println!("{count} programs, {lines} lines; {}", counts.join(", "));
    let never = rules.iter().filter(|(_, n)| **n == 0);
    problems.extend(never.map(|(rule, _)| format!("no program exercised the rule \"{rule}\"")));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

struct Fuzz {
    mlrun: std::path::PathBuf,
    scripts: std::path::PathBuf,
}

impl Fuzz {
    fn new() -> Result<Self, String> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = tests.parent().ok_or("tests: has no parent folder")?;
        Ok(Self { mlrun: discover::binary(root)?, scripts: tests.join("fuzz") })
    }

    /// What a script prints, with how it ended.
    fn output(&self, mode: &[&str], script: &str, args: &[&str]) -> Result<Vec<String>, String> {
        let mut command = Command::new(&self.mlrun);
        command.args(mode).arg(self.scripts.join(script)).args(args);
        let out = command.output().map_err(|e| format!("{}: {e}", self.mlrun.display()))?;
        let text =
            [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let mut lines: Vec<String> =
            text.iter().flat_map(|t| t.lines()).map(str::to_owned).collect();
        lines.push(out.status.to_string());
        Ok(lines)
    }

    /// Programs that a script makes, in a folder, from number `from` on.
    fn write(&self, script: &str, args: &[&str], from: u64) -> Result<Written, String> {
        let folder = TempDir::new().map_err(|e| e.to_string())?;
        let programs = self.output(&[], script, args)?;
        let text = |line: &String| serde_json::from_str(line).map_err(|e| format!("{e}: {line}"));
        let [programs @ .., last, _] = &programs[..] else { return Err("no programs".into()) };
        for (seed, line) in (from..).zip(programs) {
            let program: String = text(line)?;
            let path = folder.path().join(format!("p{seed}.js"));
            std::fs::write(path, program).map_err(|e| e.to_string())?;
        }
        let rules = serde_json::from_str(last).map_err(|e| format!("{e}: {last}"))?;
        Ok(Written { folder, count: programs.len() as u64, rules })
    }

    /// Runs programs in every mode; the number of lines that they print.
    fn compare(
        &self,
        written: &Written,
        from: u64,
        problems: &mut Vec<String>,
    ) -> Result<usize, String> {
        let folder = written.folder.path().to_string_lossy();
        let (first, count) = (from.to_string(), written.count.to_string());
        let args = [&*folder, &first, &count];
        let expected = self.output(MODES[0], "drive.js", &args)?;
        let ran = expected.iter().filter(|l| l.starts_with("program ")).count() as u64;
        if ran != written.count {
            return Err(format!("{ran} of {count} programs ran: {}", expected.join("\n")));
        }
        for mode in &MODES[1..] {
            let got = self.output(mode, "drive.js", &args)?;
            problems.extend(difference(&expected, &got).map(|d| format!("{mode:?}: {d}")));
        }
        Ok(expected.len())
    }

    /// Runs random programs; the number of lines that they print.
    fn batch(
        &self,
        from: u64,
        n: u64,
        rules: &mut BTreeMap<String, u64>,
        problems: &mut Vec<String>,
    ) -> Result<usize, String> {
        let written = self.write("write.js", &[&from.to_string(), &n.to_string()], from)?;
        for (rule, times) in &written.rules {
            *rules.entry(rule.clone()).or_default() += times;
        }
        self.compare(&written, from, problems)
    }
}

/// Programs in a folder, and how often each rule was exercised.
struct Written {
    folder: TempDir,
    count: u64,
    rules: BTreeMap<String, u64>,
}

/// The first line that differs, with the program that it is of.
fn difference(expected: &[String], got: &[String]) -> Option<String> {
    let line = |lines: &[String], i: usize| lines.get(i).cloned().unwrap_or_default();
    let mut program = String::new();
    for i in 0..expected.len().max(got.len()) {
        let (before, after) = (line(expected, i), line(got, i));
        if before.starts_with("program ") {
            program.clone_from(&before);
        }
        if before != after {
            return Some(format!("{program}, line {}: {before} became {after}", i + 1));
        }
    }
    None
}

fn differences_are_found() -> Result<(), String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let expected = lines("program 1\na\nprogram 2\nb");
    let cases = [
        (lines("program 1\na\nprogram 2\nb"), None),
        (lines("program 1\na\nprogram 2\nc"), Some("program 2, line 4: b became c")),
        (lines("program 1\na\nprogram 2"), Some("program 2, line 4: b became ")),
        (lines("program 1\n"), Some("program 1, line 2: a became ")),
    ];
    for (got, wanted) in cases {
        let found = difference(&expected, &got);
        if found.as_deref() != wanted {
            return Err(format!("got {found:?}, expected {wanted:?}"));
        }
    }
    Ok(())
}
