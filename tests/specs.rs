//! Runs every spec as one test, in parallel over the cores. `cargo test -p mlrun_tests -- PART`
//! runs those whose name holds PART; `UPDATE_GOLDEN=1` rewrites what is expected.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use mlrun_tests::{discover, spec};

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
    let setting = Arc::new(spec::Setting { program, root: root.to_path_buf(), update });
    let trials = found
        .into_iter()
        .map(|found| {
            let setting = setting.clone();
            Trial::test(found.name, move || {
                let folder = found.folder?;
                spec::check(&folder, &setting)?;
                Ok(())
            })
        })
        .collect();
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}
