//! Differential fuzzing of the ownership pass on the real runtime: random programs must print the
//! same with the pass, without it and with it verified, and so must errors of every kind. `FUZZ_FIRST` and `FUZZ_COUNT` choose the
//! seeds; without them a short run. Fails too if a rule of the pass was never exercised.
//!
//! Invariant: what one program does to its process is no other program's difference: one that differs is run
//! again alone, and one that ends its process is named while the others go on. Deliberately not here: the
//! programs (`fuzz/generator.js`, `fuzz/messages.js`), and how one process runs many of them (`fuzz/drive.js`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use mlrun_tests::{discover, tempdir::TempDir};

/// Programs of one process.
const BATCH: u64 = 400;
const SHORT: u64 = 600;
/// Differences that are described.
const SHOWN: usize = 20;
/// Ways to run a program; all must print what the first prints.
const MODES: [&[&str]; 3] = [&["--no-ownership"], &[], &["--verify-ownership"]];
/// Where the loader finds a folder for its cache, which would keep every program.
const CACHE: [&str; 3] = ["MLRUN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"];

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

/// Says what went wrong, at most so much of it.
fn verdict(mut problems: Vec<String>) -> Result<(), String> {
    let count = problems.len();
    if count > SHOWN {
        problems.truncate(SHOWN);
        problems.push(format!("... {count} in all"));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// Every error that V8 has for an expression: names, messages and places.
fn messages() -> Result<(), String> {
    let fuzz = Fuzz::new(&["places"])?;
    let mut problems = vec![];
    let written = fuzz.write("messages.js", &[], 0)?;
    let lines = fuzz.compare(&written, &mut problems)?;
    println!("{} programs, {lines} lines", written.count);
    verdict(problems)
}

fn run() -> Result<(), String> {
    let fuzz = Fuzz::new(&[])?;
    let (first, count) = (number("FUZZ_FIRST", 1)?, number("FUZZ_COUNT", SHORT)?);
    let mut rules = BTreeMap::<String, u64>::new();
    let (mut lines, mut problems) = (0, vec![]);
    for from in (first..first + count).step_by(BATCH as usize) {
        let n = BATCH.min(first + count - from);
        let written = fuzz.write("write.js", &[&from.to_string(), &n.to_string()], from)?;
        for (rule, times) in &written.rules {
            *rules.entry(rule.clone()).or_default() += times;
        }
        lines += fuzz.compare(&written, &mut problems)?;
    }
    let counts: Vec<_> = rules.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
    println!("{count} programs, {lines} lines; {}", counts.join(", "));
    let never = rules.iter().filter(|(_, n)| **n == 0);
    problems.extend(never.map(|(rule, _)| format!("no program exercised the rule \"{rule}\"")));
    verdict(problems)
}

struct Fuzz {
    mlrun: std::path::PathBuf,
    scripts: std::path::PathBuf,
    /// More arguments of `drive.js`.
    extra: &'static [&'static str],
}

impl Fuzz {
    fn new(extra: &'static [&'static str]) -> Result<Self, String> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = tests.parent().ok_or("tests: has no parent folder")?;
        Ok(Self { mlrun: discover::binary(root)?, scripts: tests.join("fuzz"), extra })
    }

    /// What a script prints, and what it says besides, with how it ended.
    fn output(
        &self,
        mode: &[&str],
        script: &str,
        args: &[&str],
    ) -> Result<(String, String), String> {
        let mut command = Command::new(&self.mlrun);
        CACHE.iter().for_each(|name| _ = command.env_remove(name));
        command.args(mode).arg(self.scripts.join(script)).args(args);
        let out = command.output().map_err(|e| format!("{}: {e}", self.mlrun.display()))?;
        let [text, said] =
            [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok((text, format!("{said}{}", out.status)))
    }

    /// Programs that a script makes, in a folder, from number `first` on.
    fn write(&self, script: &str, args: &[&str], first: u64) -> Result<Written, String> {
        let folder = TempDir::new().map_err(|e| e.to_string())?;
        let (programs, said) = self.output(&[], script, args)?;
        let programs: Vec<&str> = programs.lines().collect();
        let text = |line: &str| serde_json::from_str(line).map_err(|e| format!("{e}: {line}"));
        let [programs @ .., last] = &programs[..] else {
            return Err(format!("no programs: {said}"));
        };
        for (seed, line) in (first..).zip(programs) {
            let program: String = text(line)?;
            let path = folder.path().join(format!("p{seed}.js"));
            std::fs::write(path, program).map_err(|e| e.to_string())?;
        }
        let prelude = "prelude.js";
        std::fs::copy(self.scripts.join(prelude), folder.path().join(prelude))
            .map_err(|e| format!("{prelude}: {e}"))?;
        let rules = serde_json::from_str(last).map_err(|e| format!("{e}: {last}"))?;
        Ok(Written { folder, first, count: programs.len() as u64, rules })
    }

    /// What each of some programs prints, by its number. One that ends its process has how as its last lines.
    fn outputs(
        &self,
        mode: &[&str],
        written: &Written,
        first: u64,
        count: u64,
    ) -> Result<BTreeMap<u64, String>, String> {
        let folder = written.folder.path().to_string_lossy();
        let (mut all, mut at) = (BTreeMap::new(), first);
        while at < first + count {
            let (from, n) = (at.to_string(), (first + count - at).to_string());
            let mut args = vec![&*folder, &from, &n];
            args.extend(self.extra);
            let (text, said) = self.output(mode, "drive.js", &args)?;
            let ran = by_program(&text);
            let Some((&last, _)) = ran.last_key_value() else {
                return Err(format!("{mode:?}: no program ran: {said}"));
            };
            all.extend(ran);
            at = last + 1;
            if at < first + count || said != "exit status: 0" {
                all.entry(last).and_modify(|text| *text += &said);
            }
        }
        Ok(all)
    }

    /// Runs programs in every mode; the number of lines that they print.
    fn compare(&self, written: &Written, problems: &mut Vec<String>) -> Result<usize, String> {
        let Written { first, count, .. } = *written;
        let expected = self.outputs(MODES[0], written, first, count)?;
        let broken = |text: &str| text.contains("uncaught TypeError: SyntaxError:");
        let broken = expected.iter().filter(|(_, text)| broken(text));
        problems.extend(broken.map(|(seed, _)| format!("program {seed} is not JavaScript")));
        for mode in &MODES[1..] {
            let got = self.outputs(mode, written, first, count)?;
            for (seed, expected) in &expected {
                let got = got.get(seed).map_or("", |text| text);
                let Some(found) = difference(expected, got) else { continue };
                let alone = self.outputs(MODES[0], written, *seed, 1)?
                    != self.outputs(mode, written, *seed, 1)?;
                let where_ = if alone { "alone too" } else { "not alone" };
                problems.push(format!("{mode:?}: program {seed}, {where_}, {found}"));
            }
        }
        Ok(expected.values().map(|text| text.lines().count()).sum())
    }
}

/// Programs in a folder, and how often each rule was exercised.
struct Written {
    folder: TempDir,
    first: u64,
    count: u64,
    rules: BTreeMap<String, u64>,
}

/// What follows each line `program N`.
fn by_program(text: &str) -> BTreeMap<u64, String> {
    let mut all = BTreeMap::<u64, String>::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("program ").and_then(|n| n.parse().ok()) {
            current = Some(number);
            all.entry(number).or_default();
        } else if let Some(text) = current.and_then(|number| all.get_mut(&number)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    all
}

/// The first line that differs.
fn difference(expected: &str, got: &str) -> Option<String> {
    let (mut before, mut after) = (expected.lines(), got.lines());
    for number in 1.. {
        match (before.next(), after.next()) {
            (None, None) => break,
            (a, b) if a != b => {
                let [a, b] = [a, b].map(|line| line.unwrap_or("nothing"));
                return Some(format!("line {number}: {a} became {b}"));
            }
            _ => {}
        }
    }
    None
}

fn differences_are_found() -> Result<(), String> {
    let expected = by_program("program 1\na\nprogram 2\nb\nc\n");
    if expected != BTreeMap::from([(1, "a\n".to_owned()), (2, "b\nc\n".to_owned())]) {
        return Err(format!("got {expected:?}"));
    }
    let cases = [
        ("program 1\na\nprogram 2\nb\nc", None),
        ("program 1\na\nprogram 2\nb\nd", Some("line 2: c became d")),
        ("program 1\na\nprogram 2\nb", Some("line 2: c became nothing")),
        ("program 2\nb\nc\nexit", Some("line 3: nothing became exit")),
    ];
    for (got, wanted) in cases {
        let found = difference(&expected[&2], &by_program(got)[&2]);
        if found.as_deref() != wanted {
            return Err(format!("got {found:?}, expected {wanted:?}"));
        }
    }
    Ok(())
}
