//! `cargo xtask`: builds and runs mlrun, runs every test, builds V8 where it cannot be
//! downloaded. What cargo does by itself is left to cargo; this only finds V8 for it, says
//! what is missing on a machine, and adds up what the test programs report.

#![expect(
    clippy::disallowed_methods,
    reason = "a build driver, no part of the runtime: it reads its own files"
)]

mod cargo;
mod system;
mod test;
mod v8;
mod v8_build;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Builds, runs and tests mlrun")]
struct Cli {
    /// V8's library: the archive, or a folder that holds it.
    #[arg(long, global = true, value_name = "PATH")]
    v8: Option<PathBuf>,

    /// Install missing Debian packages with apt-get instead of only naming them.
    #[arg(long, global = true)]
    install: bool,

    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Builds mlrun and runs it with the arguments that follow.
    Run {
        /// What mlrun gets, such as `examples/digits.js --epochs 5`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        args: Vec<std::ffi::OsString>,
    },
    /// Checks format and lints, then runs all tests.
    Test {
        /// A folder of programs/ and oracle/: those named in tests/shared.txt run too.
        #[arg(long, value_name = "DIR")]
        shared: Option<PathBuf>,
    },
    /// Builds V8 from the v8 crate's own source into the per-user cache (about two hours on
    /// two cores). Only needed where the crate cannot download its release.
    V8 {
        /// Compilers at the same time; by default ninja chooses.
        #[arg(long, value_name = "N")]
        jobs: Option<u32>,
        /// Build although an intact archive is there.
        #[arg(long)]
        force: bool,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    let root = root()?;
    match cli.task {
        Task::Run { args } => {
            let v8 = v8::locate(&root, cli.v8.as_deref())?;
            system::require(&system::build_needs(&v8), cli.install)?;
            let binary = cargo::build_mlrun(&root, &v8)?;
            cargo::replace_process(&binary, &args)
        }
        Task::Test { shared } => {
            let v8 = v8::locate(&root, cli.v8.as_deref())?;
            system::require(&system::build_needs(&v8), cli.install)?;
            test::run(&root, &v8, shared.as_deref())
        }
        Task::V8 { jobs, force } => {
            v8_build::run(&root, &v8_build::Options { jobs, force, install: cli.install })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The repository. cargo names the package's folder when it runs this program, which stays
/// right when two checkouts share one target folder.
fn root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map(Path::to_path_buf).context("xtask: its folder has no parent")
}
