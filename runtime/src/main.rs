//! The binary `mlrun`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mlrun::cli::main()
}
