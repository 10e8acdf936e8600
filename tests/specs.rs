//! Runs every spec as one test, in parallel over the cores. `cargo test -p mlrun_tests -- PART`
//! runs those whose name holds PART; `UPDATE_GOLDEN=1` rewrites what is expected.

#![expect(
    clippy::disallowed_methods,
    reason = "a test harness, no part of the runtime: it reads its own files"
)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use mlrun_tests::{browser, discover, readme, shared, spec};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let arguments = Arguments::from_args();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = tests.parent().ok_or("tests: has no parent folder")?;
    let found = discover::specs(tests, &root.join("examples"))?;
    if found.is_empty() {
        return Err("specs: found none below tests/".to_string());
    }
    let program = if arguments.list { Default::default() } else { discover::binary(root)? };
    let update = std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v != "0");
    // `--trace-leaks` looks for leaks in every spec, `--v8-flags=...` collects at bad moments.
    let extra = std::env::var("MLRUN_EXTRA_ARGS").unwrap_or_default();
    let extra = extra.split_whitespace().map(str::to_owned).collect();
    let setting = Arc::new(spec::Setting { program, root: root.to_path_buf(), update, extra });
    let mut trials: Vec<Trial> = found
        .into_iter()
        .map(|found| {
            let setting = setting.clone();
            // What does not run needs no package.
            let wanted = !arguments.list
                && arguments.filter.as_ref().is_none_or(|part| found.name.contains(part.as_str()));
            let lacks = wanted
                .then(|| spec::lacks(found.folder.as_deref().ok()?, root))
                .flatten()
                .inspect(|problem| println!("skipped: {}: {problem}", found.name));
            Trial::test(found.name, move || {
                let folder = found.folder?;
                spec::check(&folder, &setting)?;
                Ok(())
            })
            .with_ignored_flag(lacks.is_some())
        })
        .collect();
    trials.extend(readme_trials(root, &setting)?);
    trials.push(browser_trial(&setting));
    if let Some(folder) = std::env::var_os("MLRUN_SHARED") {
        trials.extend(shared_trials(tests, Path::new(&folder), &setting)?);
    }
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn browser_trial(setting: &Arc<spec::Setting>) -> Trial {
    let (setting, found) = (setting.clone(), browser::find());
    if found.is_none() {
        println!("skipped: browser/memory-report: no Chromium is installed");
    }
    let lacks = found.is_none();
    Trial::test("browser/memory-report", move || {
        browser::check(&found.unwrap_or_default(), &setting)?;
        Ok(())
    })
    .with_ignored_flag(lacks)
}

fn readme_trials(root: &Path, setting: &Arc<spec::Setting>) -> Result<Vec<Trial>, String> {
    let path = root.join("README.md");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let trials = readme::shown(&text).into_iter().enumerate().map(|(n, shown)| {
        let setting = setting.clone();
        Trial::test(format!("readme/{}", n + 1), move || {
            readme::check(&shown, &setting)?;
            Ok(())
        })
    });
    Ok(trials.collect())
}

fn shared_trials(
    tests: &Path,
    folder: &Path,
    setting: &Arc<spec::Setting>,
) -> Result<Vec<Trial>, String> {
    let list = tests.join("shared.txt");
    let text = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let programs = shared::programs(folder, &text)?;
    let not_yet = programs.iter().filter(|program| !program.expected).count();
    println!("shared: {} must pass, {not_yet} not yet", programs.len() - not_yet);
    let trials = programs.into_iter().map(|program| {
        let (setting, folder) = (setting.clone(), folder.to_path_buf());
        let expected = program.expected;
        Trial::test(program.name(), move || {
            shared::check(&program, &folder, &setting.program)?;
            Ok(())
        })
        .with_ignored_flag(!expected)
    });
    Ok(trials.collect())
}
