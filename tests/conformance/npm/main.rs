//! The own test suites of packages, plain, compiled by the ownership pass, and with every object
//! counted and watched. `NPM_SUITES` names a folder with checkouts of them, and what they depend on in
//! `node_modules`; without it the run is ignored, visibly. `NPM_FILTER` selects files whose path holds it;
//! with `NPM_SHOW` the output of each is shown.
//!
//! Invariant: what a suite prints compiled is what it prints plain, and no released object is used.
//! Deliberately not here: how a program runs (the library), the frameworks of tests (`shims`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use mlrun_compiler::SourceType;
use mlrun_conformance::{Ended, Engine, Job, Kind, Mode, compile, initialize, read, repository};

/// Packages, and the files or folders that hold their tests.
const PACKAGES: [(&str, &str); 5] = [
    ("acorn", "test/run.js"),
    ("bignumber.js", "test/test.js"),
    ("d3-array", "test"),
    ("decimal.js", "test/test.js"),
    ("lodash", "test/test.js"),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = std::env::var_os("NPM_SUITES").map(PathBuf::from);
    let title = match &folder {
        Some(_) => "conformance/npm".to_owned(),
        None => "conformance/npm (not run: NPM_SUITES names no folder)".to_owned(),
    };
    let ignored = folder.is_none();
    let trial = Trial::test(title, move || Ok(run(&folder.unwrap_or_default())?));
    libtest_mimic::run(&arguments, vec![trial.with_ignored_flag(ignored)]).exit_code()
}

/// What became of a package.
#[derive(Default)]
struct Counts {
    files: usize,
    passed: usize,
    failed_plain: usize,
    differ_compiled: usize,
    differ_forced: usize,
    violations: usize,
    changed_forced: usize,
}

fn run(folder: &Path) -> Result<(), String> {
    initialize();
    let filter = std::env::var("NPM_FILTER").unwrap_or_default();
    let (mut rows, mut problems) = (vec![], vec![]);
    for (name, tests) in PACKAGES {
        let mut files = vec![];
        collect(&folder.join(name).join(tests), &mut files);
        files.retain(|f| f.to_string_lossy().contains(&filter));
        files.sort();
        let mut counts = Counts::default();
        for file in &files {
            let shown = file.strip_prefix(folder).unwrap_or(file).display().to_string();
            counts.files += 1;
            check(file, &shown, &mut counts, &mut problems)?;
        }
        let Counts { files, passed, failed_plain, differ_compiled, differ_forced, .. } = counts;
        let Counts { violations, changed_forced, .. } = counts;
        rows.push(format!("{files:>6} {passed:>7} {failed_plain:>12} {differ_compiled:>15} {differ_forced:>13} {violations:>10} {changed_forced:>13}  {name}"));
    }
    let title = " files  passed failed plain differ compiled differ forced violations changed forced  package";
    let text = format!("{title}\n{}\n{}", rows.join("\n"), problems.join("\n"));
    println!("{text}");
    let path = repository().join("tests/conformance/npm/results.txt");
    if filter.is_empty() && std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v != "0") {
        std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    match problems.len() {
        _ if filter.is_empty() && read(&path)? != text => {
            Err(format!("npm: differs from {}", path.display()))
        }
        0 => Ok(()),
        n if !filter.is_empty() => Err(format!("{n} problems")),
        _ => Ok(()),
    }
}

/// Runs a file of tests in all modes.
fn check(
    file: &Path,
    shown: &str,
    counts: &mut Counts,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let mut plain = Ended::default();
    for mode in Mode::ALL {
        let mut ended = program(file, mode)?;
        if let Some(thrown) = &ended.thrown {
            ended.output.push(format!("failed: {}: {}", thrown.phase, thrown.text));
        }
        if mode == Mode::Plain {
            if std::env::var_os("NPM_SHOW").is_some() {
                println!("{shown}\n  {}", ended.output.join("\n  "));
            }
            counts.passed += ended.output.iter().filter(|l| l.starts_with("passed ")).count();
            counts.failed_plain += ended.output.iter().filter(|l| l.starts_with("failed")).count();
            plain = ended;
            continue;
        }
        let different = (0..plain.output.len().max(ended.output.len()))
            .find(|&i| plain.output.get(i) != ended.output.get(i));
        if let Some(i) = different {
            let line = |of: &Ended| of.output.get(i).cloned().unwrap_or_default();
            problems.push(format!("{mode:?}: {shown}: {} became {}", line(&plain), line(&ended)));
            let of = if mode == Mode::Compiled {
                &mut counts.differ_compiled
            } else {
                &mut counts.differ_forced
            };
            *of += 1;
        }
        counts.violations += ended.violations.len();
        problems
            .extend(ended.violations.iter().take(1).map(|v| format!("violation: {shown}: {v}")));
        counts.changed_forced += usize::from(mode == Mode::Forced && ended.changed);
    }
    Ok(())
}

fn program(file: &Path, mode: Mode) -> Result<Ended, String> {
    let globals = read(&repository().join("tests/conformance/npm/globals.js"))?;
    let globals = compile(Mode::Plain, SourceType::Script, "globals.js", &globals)?;
    let job =
        Job { mode, kind: Kind::CommonJs, file, text: "", before: vec![Arc::new(globals)], target };
    Ok(Engine::new()?.run(&job))
}

fn collect(path: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else {
        return into.extend(path.is_file().then(|| path.to_owned()));
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let helpers = ["shared", "helpers", "utils", "asset", "utils.js", "asserts.js"];
        let is_test = name.ends_with(".js") || name.ends_with(".ts");
        if !helpers.contains(&name.as_str()) && (path.is_dir() || is_test) {
            collect(&path, into);
        }
    }
}

/// The file that a specifier names: relative, a shim, or in a `node_modules` above.
fn target(specifier: &str, from: &Path) -> Option<PathBuf> {
    if specifier.starts_with('/') {
        return Some(PathBuf::from(specifier));
    }
    if specifier.starts_with('.') {
        return file(&from.parent()?.join(specifier));
    }
    let bare = specifier.trim_start_matches("node:").trim_start_matches('@').replace('/', "-");
    let shim = repository().join("tests/conformance/npm/shims").join(format!("{bare}.js"));
    if shim.is_file() {
        return shim.canonicalize().ok();
    }
    for folder in from.ancestors() {
        let found = file(&folder.join("node_modules").join(specifier));
        // A package's own tests name it, too.
        let own = || {
            let named = folder.file_name()?.to_string_lossy().trim_end_matches("-js") == specifier;
            named.then(|| file(folder)).flatten()
        };
        if let Some(found) = found.or_else(own) {
            return Some(found);
        }
    }
    None
}

/// A file, with one of the endings that may be left out, or what a folder is known by.
fn file(path: &Path) -> Option<PathBuf> {
    let with = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let endings = ["", ".js", ".ts", ".mjs", ".cjs", ".json"];
    if let Some(found) = endings.iter().map(|e| with(e)).find(|p| p.is_file()) {
        return found.canonicalize().ok();
    }
    let package: serde_json::Value = read(&path.join("package.json"))
        .ok()
        .and_then(|t| serde_json::from_str(&t).ok())
        .unwrap_or_default();
    let named = ["module", "main"].iter().filter_map(|key| package[*key].as_str());
    let usual = ["src/index.js", "index.js", "index.ts"];
    let found = named.chain(usual).map(|n| path.join(n)).find(|p| p.is_file());
    found?.canonicalize().ok()
}
