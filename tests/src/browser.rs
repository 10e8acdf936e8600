//! The page of `--memory-report=FILE.html` in a real browser, where one is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::spec::Setting;
use crate::tempdir::TempDir;

const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell"];

const PROGRAM: &str = "import { ones } from 'mlrun';
const kept = ones([250, 1000]);
for (let i = 0; i < 10; i++) kept.mul(i);
kept.dispose();
";

/// Chromium or a browser of its kind.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

/// Lets the browser draw a report; the error is what a person reads.
pub fn check(browser: &Path, setting: &Setting) -> Result<(), String> {
    let error = |e: std::io::Error| format!("browser: {e}");
    let dir = TempDir::new().map_err(error)?;
    fs::write(dir.path().join("main.js"), PROGRAM).map_err(error)?;
    let ran = Command::new(&setting.program)
        .args(["--memory-report=page.html", "main.js"])
        .current_dir(dir.path())
        .env("MLRUN_CACHE_DIR", dir.path().join("cache"))
        .output()
        .map_err(error)?;
    if !ran.status.success() {
        return Err(format!("browser: mlrun: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    let drawn = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .arg(format!("file://{}", dir.path().join("page.html").display()))
        .stdin(Stdio::null())
        .output()
        .map_err(error)?;
    let page = String::from_utf8_lossy(&drawn.stdout);
    // The second stands in the data as well; rows and paths come from the page's own script.
    let parts = ["<title>Memory of tensors: at most 2.0 MB", "<td>main.js:3:", "<path d=\"M"];
    match parts.iter().find(|part| !page.contains(**part)) {
        Some(part) => Err(format!("browser: expected {part} in the page, got\n{page}")),
        None => Ok(()),
    }
}
