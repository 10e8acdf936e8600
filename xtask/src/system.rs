//! What a machine must have, which Debian package brings it, and installing that on request.
//! Nothing is installed without `--install`, and each command is shown before it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::v8;

/// One requirement.
pub struct Need {
    /// What it is, for the message.
    pub what: &'static str,
    pub present: bool,
    /// Debian's and Ubuntu's package.
    pub package: String,
}

impl Need {
    pub fn program(name: &'static str, package: &str) -> Self {
        Self { what: name, present: on_path(name).is_some(), package: package.to_string() }
    }

    pub fn file(what: &'static str, path: &Path, package: String) -> Self {
        Self { what, present: path.exists(), package }
    }
}

/// What building and testing mlrun needs besides the Rust toolchain.
pub fn build_needs(v8: &v8::Source) -> Vec<Need> {
    let mut needs = vec![
        Need::program("cc", "build-essential"),
        Need::file("C headers", Path::new("/usr/include/stdio.h"), "build-essential".to_string()),
    ];
    let can_download = ["python3", "curl", "deno"].iter().any(|name| on_path(name).is_some());
    if matches!(v8, v8::Source::Download) && !can_download {
        needs.push(Need::program("curl", "curl"));
    }
    if !cfg!(target_os = "linux") {
        needs.retain(|need| need.what == "cc");
    }
    needs
}

/// Fails with the exact command unless all is there, or installs it.
pub fn require(needs: &[Need], install: bool) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !need.present).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|need| need.what).collect();
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package.as_str()).collect();
    packages.sort_unstable();
    packages.dedup();
    eprintln!("missing on this machine: {}", names.join(", "));
    if !install || on_path("apt-get").is_none() {
        bail!(
            "missing: {}; on Debian or Ubuntu: sudo apt-get update && sudo apt-get install {} \
             (or the same cargo xtask command with --install)",
            names.join(", "),
            packages.join(" ")
        );
    }
    apt_get(&["update"])?;
    let mut args = vec!["install", "--yes", "--no-install-recommends"];
    args.extend(&packages);
    apt_get(&args)
}

/// Runs apt-get, through sudo unless root.
fn apt_get(args: &[&str]) -> Result<()> {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    };
    let prefix = if is_root() { "" } else { "sudo " };
    let line = format!("{prefix}apt-get {}", args.join(" "));
    eprintln!("+ {line}");
    let status = command
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .with_context(|| format!("cannot start {line}"))?;
    if !status.success() {
        bail!("{line}: failed, see above");
    }
    Ok(())
}

fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_some_and(|id| id == "0")
}

/// The program's path, if PATH has it.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Standard output without the line break, if the command succeeds.
pub fn capture(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    output.status.success().then_some(text)
}

/// Fails unless the file system of `dir` has room for `bytes` more.
pub fn require_space(dir: &Path, bytes: u64) -> Result<()> {
    let table = capture(Command::new("df").arg("-Pk").arg(dir)).context("df: failed")?;
    let free = table
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(3))
        .and_then(|kib| kib.parse::<u64>().ok())
        .with_context(|| format!("df: cannot read its answer {table:?}"))?
        * 1024;
    if free < bytes {
        let gib = |n: u64| n as f64 / f64::from(1 << 30);
        bail!(
            "disk space: got {:.1} GiB free in {}, expected at least {:.1} GiB \
             (XDG_CACHE_HOME moves the cache)",
            gib(free),
            dir.display(),
            gib(bytes)
        );
    }
    Ok(())
}
