//! Finds specs, and the mlrun binary that they run.
//!
//! A folder that looks like a spec and cannot be one, or an example without a spec, is found
//! too, as a problem: what is forgotten must fail, not vanish.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A test to be: its name, and its folder or what is wrong with it.
pub struct Found {
    pub name: String,
    pub folder: Result<PathBuf, String>,
}

/// All specs below `tests`, sorted by name, and one problem per example that no spec runs.
pub fn specs(tests: &Path, examples: &Path) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for suite in entries(tests)? {
        let name = file_name(&suite);
        if suite.is_dir() && !["src", "target"].contains(&name.as_str()) {
            walk(&suite, &name, &mut found)?;
        }
    }
    for example in entries(examples)? {
        let is_script = example.extension().is_some_and(|e| e == "js" || e == "ts");
        let stem = example.file_stem().map(|s| s.to_string_lossy().into_owned());
        let stem = stem.unwrap_or_default();
        if is_script && !tests.join("examples").join(&stem).join("spec.json").is_file() {
            let problem = format!("examples: nothing runs it, expected tests/examples/{stem}/");
            found.push(Found { name: format!("examples/{stem}"), folder: Err(problem) });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn walk(dir: &Path, name: &str, found: &mut Vec<Found>) -> Result<(), String> {
    if dir.join("spec.json").is_file() {
        found.push(Found { name: name.to_string(), folder: Ok(dir.to_path_buf()) });
        return Ok(());
    }
    for entry in entries(dir)? {
        let inner = file_name(&entry);
        if entry.is_dir() {
            walk(&entry, &format!("{name}/{inner}"), found)?;
        } else if inner.starts_with("expected.") {
            let problem = format!("spec: {} lies in a folder without spec.json", entry.display());
            found.push(Found { name: name.to_string(), folder: Err(problem) });
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The entries of `dir`, sorted; none where there is no such folder.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let error = |e: std::io::Error| format!("specs: cannot list {}: {e}", dir.display());
    let list = match fs::read_dir(dir) {
        Ok(list) => list,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(error(e)),
    };
    let mut paths =
        list.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(error)?;
    paths.sort();
    Ok(paths)
}

/// The binary named by MLRUN_BIN, else the one that cargo builds from this workspace, so that
/// a plain `cargo test` never runs a stale one.
pub fn binary(root: &Path) -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("MLRUN_BIN") {
        let path = PathBuf::from(path);
        return path
            .canonicalize()
            .map_err(|e| format!("MLRUN_BIN: got {}: {e}, expected a file", path.display()));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // The whole workspace is selected so that features, and thus artifacts, are those of
    // `cargo test --workspace`.
    let output = Command::new(cargo)
        .args(["build", "--workspace", "--bin", "mlrun"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo build: cannot start: {e}"))?;
    if !output.status.success() {
        return Err("cargo build --bin mlrun: failed (`cargo xtask test` finds V8)".to_string());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "mlrun")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo build --bin mlrun: named no executable".to_string())
}
