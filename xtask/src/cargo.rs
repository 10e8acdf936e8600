//! The cargo commands that build mlrun, all with the same features and the same V8, so that
//! none of them compiles a dependency a second time.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::v8;

/// `cargo SUBCOMMAND` for the workspace at `root`.
pub fn command(root: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.stdin(Stdio::null());
    command
}

/// Builds the mlrun binary and returns its path.
pub fn build_mlrun(root: &Path, v8: &v8::Source) -> Result<PathBuf> {
    let mut build = command(root, "build");
    // Selecting one package would choose other features than `cargo test --workspace` does.
    build.args(["--workspace", "--bin", "mlrun"]);
    build.arg("--message-format=json-render-diagnostics");
    v8.apply(&mut build);
    let output = build.stderr(Stdio::inherit()).output().context("cargo build: cannot start")?;
    if !output.status.success() {
        v8.explain_failure(root);
        bail!("cargo build: failed, see above");
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "mlrun")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo build: named no executable, expected mlrun")
}

/// Becomes mlrun, so that signals and the exit code are its own.
pub fn replace_process(binary: &Path, args: &[OsString]) -> Result<ExitCode> {
    let error = Command::new(binary).args(args).exec();
    Err(error).with_context(|| format!("cannot run {}", binary.display()))
}

/// What `cargo metadata` knows of the workspace at `root`.
pub fn metadata(root: &Path) -> Result<Value> {
    let output = command(root, "metadata")
        .args(["--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo metadata: cannot start")?;
    if !output.status.success() {
        bail!("cargo metadata: failed, see above");
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata: printed no JSON")
}

/// The folder of a package's source, from `cargo metadata`.
pub fn source_folder(metadata: &Value, name: &str) -> Result<PathBuf> {
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == name)
        .and_then(|package| package["manifest_path"].as_str())
        .and_then(|manifest| Path::new(manifest).parent())
        .map(Path::to_path_buf)
        .with_context(|| format!("cargo metadata: knows no package {name}"))
}
