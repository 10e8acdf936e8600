//! test262's language folders, plain, compiled by the ownership pass, and with every object
//! counted and watched. `TEST262` names a checkout of the suite; without it the run is ignored,
//! visibly. `TEST262_FILTER` selects folders or tests whose path begins with it, as
//! `test/language/types`; the lines of whole folders are compared with `results.txt`, or recorded
//! with `UPDATE_GOLDEN=1`. All of it takes about a quarter of an hour on two cores.
//!
//! Invariant: a test that passes plain must pass compiled, and no released object may be used.
//! Deliberately not here: how a program runs (the library), what a test's header says (`header`).

#![expect(
    clippy::disallowed_methods,
    reason = "a test harness, no part of the runtime: it reads its own files"
)]

mod header;
mod summary;
mod verdict;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Trial};

use mlrun_conformance::{Engine, initialize, repository};
use summary::{Summary, Verdict, folder};
use verdict::Suite;

/// What of the suite is about the language itself.
const FOLDERS: [&str; 2] = ["test/language", "test/annexB/language"];
/// A realm costs memory that V8 gives back late: isolates are made anew after these many tests.
const TESTS_PER_ISOLATE: usize = 200;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let suite = std::env::var_os("TEST262").map(PathBuf::from);
    let title = match &suite {
        Some(_) => "conformance/test262".to_owned(),
        None => "conformance/test262 (not run: TEST262 names no checkout)".to_owned(),
    };
    let ignored = suite.is_none();
    let trials = vec![
        Trial::test("conformance/test262/headers", || Ok(header::check()?)),
        Trial::test(title, move || Ok(run(&suite.unwrap_or_default())?)).with_ignored_flag(ignored),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(root: &Path) -> Result<(), String> {
    initialize();
    let filter = std::env::var("TEST262_FILTER").unwrap_or_default();
    let mut files = vec![];
    for part in FOLDERS {
        collect(&root.join(part), &mut files)?;
    }
    files.sort();
    let name = |f: &Path| f.strip_prefix(root).unwrap_or(f).to_string_lossy().into_owned();
    let all: Vec<String> = files.iter().map(|f| name(f)).collect();
    let selected = |test: &String| test.starts_with(&filter);
    // Of a folder that is selected in part nothing can be recorded.
    let cut: BTreeSet<String> = all.iter().filter(|t| !selected(t)).map(|t| folder(t)).collect();
    let whole = !all.iter().filter(|t| selected(t)).any(|t| cut.contains(&folder(t)));
    files.retain(|f| selected(&name(f)));
    if files.is_empty() {
        return Err(format!("test262: found no tests in {}", root.display()));
    }
    let suite = Suite::new(root);
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(&suite, &files, &next, &verdicts));
        }
    });
    let mut verdicts = verdicts.into_inner().map_err(|e| e.to_string())?;
    verdicts.sort_by(|a: &Verdict, b| a.name.cmp(&b.name));
    let summary = Summary::of(&verdicts);
    println!("{summary}");
    match summary.problems().len() {
        _ if whole => summary.check(&repository().join("tests/conformance/test262")),
        0 => Ok(()),
        n => Err(format!("{n} problems")),
    }
}

/// Runs tests until there are none left.
fn work(suite: &Suite, files: &[PathBuf], next: &AtomicUsize, into: &Mutex<Vec<Verdict>>) {
    loop {
        let from = next.fetch_add(TESTS_PER_ISOLATE, Ordering::Relaxed);
        let Some(batch) = files.get(from..files.len().min(from + TESTS_PER_ISOLATE)) else {
            return;
        };
        if batch.is_empty() {
            return;
        }
        let done: Vec<_> = match Engine::new() {
            Ok(mut engine) => batch.iter().map(|file| suite.test(&mut engine, file)).collect(),
            Err(problem) => return println!("test262: {problem}"),
        };
        // A run takes minutes: what it finds is told at once.
        for problem in Summary::of(&done).problems() {
            println!("{problem}");
        }
        if let Ok(mut into) = into.lock() {
            into.extend(done);
        }
    }
}

/// The tests below a folder; files that tests import are none.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, into)?;
        } else if name.ends_with(".js") && !name.contains("_FIXTURE") {
            into.push(path);
        }
    }
    Ok(())
}
