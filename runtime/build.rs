//! Makes the startup snapshot. The work is done by `mlrun_globals`, which the library links as
//! well: the two must see the same extensions.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(out_dir) = std::env::var_os("OUT_DIR").map(PathBuf::from) else {
        eprintln!("OUT_DIR is not set: run by cargo only");
        return ExitCode::FAILURE;
    };
    match mlrun_globals::snapshot::write(&out_dir) {
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
