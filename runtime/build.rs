//! Makes the startup snapshot. The work is done by `mlrun_globals`, which the library links as
//! well: the two must see the same extensions.

use std::path::PathBuf;
use std::process::ExitCode;

/// The tensor library goes through the ownership pass like a user's module.
fn compile(specifier: &str, source: &str) -> Result<String, String> {
    let options = mlrun_compiler::Options {
        ownership: mlrun_compiler::Ownership::Whole,
        ..mlrun_compiler::Options::new(mlrun_compiler::SourceType::Module)
    };
    let compiled = mlrun_compiler::compile(specifier, source, &options)
        .map_err(|error| error.render(source, &mlrun_compiler::FrameStyle::default()))?;
    Ok(compiled.code.replace(mlrun_compiler::RUNTIME_MODULE, mlrun_globals::OWNERSHIP_MODULE))
}

fn main() -> ExitCode {
    let Some(out_dir) = std::env::var_os("OUT_DIR").map(PathBuf::from) else {
        eprintln!("OUT_DIR is not set: run by cargo only");
        return ExitCode::FAILURE;
    };
    match mlrun_globals::snapshot::write(&out_dir, compile) {
        Ok(files) => {
            println!("cargo:rerun-if-changed=build.rs");
            for file in files {
                println!("cargo:rerun-if-changed={}", file.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
