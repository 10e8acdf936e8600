//! Finds V8's static library for cargo.
//!
//! Order: `--v8`, `RUSTY_V8_ARCHIVE`, the per-user cache that `cargo xtask v8` fills, else the
//! v8 crate downloads its release. An archive with a `SHA256SUMS` beside it is checked each
//! time. The cached archive is linked to where the v8 crate itself looks before it downloads,
//! so a plain `cargo build` uses it too. The version is the one in Cargo.lock.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{cargo, system};

const SUMS: &str = "SHA256SUMS";

/// Where the library comes from.
#[derive(Debug)]
pub enum Source {
    /// An archive that a person or a script named.
    Given(PathBuf),
    /// The per-user cache; the v8 crate finds it by its link.
    Cached,
    Download,
}

impl Source {
    /// Tells a cargo command. A cached archive needs no word, and gets none: the variable
    /// would make plain `cargo build` and this driver rebuild each other's work.
    pub fn apply(&self, command: &mut Command) {
        match self {
            Source::Given(path) => command.env("RUSTY_V8_ARCHIVE", path),
            Source::Cached | Source::Download => command.env_remove("RUSTY_V8_ARCHIVE"),
        };
    }

    /// After a failed build: names the way out where V8 is what was missing.
    pub fn explain_failure(&self, root: &Path) {
        if matches!(self, Source::Download) && !was_downloaded(root) {
            eprintln!(
                "\nV8's library could not be downloaded. Where it can't be, build it once from \
                 the v8 crate's\nown source (about two hours on two cores; Debian packages are \
                 named first):\n\n    cargo xtask v8\n\nor name an archive that fits v8 {}: \
                 RUSTY_V8_ARCHIVE=/path/of/{}\n",
                version(root).unwrap_or_default(),
                archive_name(&host().unwrap_or_default())
            );
        }
    }
}

/// The v8 crate unpacks its archive here as the first thing.
fn was_downloaded(root: &Path) -> bool {
    cargo::metadata(root)
        .ok()
        .and_then(|m| m["target_directory"].as_str().map(PathBuf::from))
        .is_some_and(|target| target.join("debug/gn_out/obj/librusty_v8.a").exists())
}

/// Finds the library; `given` is the command line's `--v8`.
pub fn locate(root: &Path, given: Option<&Path>) -> Result<Source> {
    if let Some(path) = given {
        return named("--v8", path);
    }
    if let Some(path) = std::env::var_os("RUSTY_V8_ARCHIVE") {
        return named("RUSTY_V8_ARCHIVE", Path::new(&path));
    }
    let archive = cache_folder(root)?.join(archive_name(&host()?));
    if archive.is_file() {
        if verify(&archive)?.is_none() {
            bail!("v8: no {SUMS} beside {}: `cargo xtask v8` makes both anew", archive.display());
        }
        link_for_cargo(root, &archive)?;
        return Ok(Source::Cached);
    }
    Ok(Source::Download)
}

fn named(by: &str, path: &Path) -> Result<Source> {
    // The v8 crate would take an address, too; only a file can be checked.
    let path = path
        .canonicalize()
        .with_context(|| format!("{by}: got {}, expected a file or folder", path.display()))?;
    let archive = if path.is_dir() { path.join(archive_name(&host()?)) } else { path };
    if !archive.is_file() {
        bail!("{by}: no such archive: {}", archive.display());
    }
    verify(&archive)?;
    Ok(Source::Given(archive))
}

/// Checks the archive against the SHA256SUMS beside it. None where there is none.
pub fn verify(archive: &Path) -> Result<Option<()>> {
    let sums = archive.with_file_name(SUMS);
    if !sums.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&sums).with_context(|| format!("v8: {}", sums.display()))?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let Some(want) = listed_sum(&text, &name) else {
        bail!("v8: {} does not list {name}", sums.display());
    };
    let got = sha256(archive)?;
    if got != want {
        bail!(
            "v8: {} is damaged: got SHA-256 {got}, expected {want}; remove it, or make it anew \
             with `cargo xtask v8 --force`",
            archive.display()
        );
    }
    Ok(Some(()))
}

/// The sum that a file in sha256sum's format gives for `name`.
fn listed_sum(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (sum, file) = line.split_once(char::is_whitespace)?;
        let file = file.trim_start().trim_start_matches('*');
        (file == name).then(|| sum.to_lowercase())
    })
}

/// Writes the SHA256SUMS beside the archive.
pub fn record(archive: &Path) -> Result<()> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let line = format!("{}  {name}\n", sha256(archive)?);
    fs::write(archive.with_file_name(SUMS), line).context("v8: cannot write SHA256SUMS")
}

fn sha256(path: &Path) -> Result<String> {
    let error = || format!("v8: cannot read {}", path.display());
    let mut file = fs::File::open(path).with_context(error)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut chunk).with_context(error)?;
        if n == 0 {
            return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hash.update(&chunk[..n]);
    }
}

/// The per-user folder of this V8: `$XDG_CACHE_HOME/mlrun/v8/VERSION`.
pub fn cache_folder(root: &Path) -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    // A relative XDG_CACHE_HOME is to be ignored, says its specification.
    let cache =
        cache.filter(|path| path.is_absolute()).or_else(|| home().map(|h| h.join(".cache")));
    let cache = cache.context("v8: neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("mlrun/v8").join(version(root)?))
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The v8 crate's version in Cargo.lock.
pub fn version(root: &Path) -> Result<String> {
    let path = root.join("Cargo.lock");
    let text = fs::read_to_string(&path).with_context(|| format!("v8: {}", path.display()))?;
    locked_version(&text, "v8").context("v8: Cargo.lock names no package v8")
}

fn locked_version(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.next()?;
    Some(lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?.to_string())
}

/// The name that the v8 crate's releases use for the features that deno_core asks for.
pub fn archive_name(target: &str) -> String {
    format!("librusty_v8_simdutf_release_{target}.a.gz")
}

/// The machine's target triple.
pub fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    system::capture(Command::new(rustc).arg("-vV"))
        .and_then(|text| {
            text.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_string))
        })
        .context("rustc -vV: failed, expected a Rust toolchain (https://rustup.rs)")
}

/// Links the archive to `$CARGO_HOME/.rusty_v8/NAME`, where the v8 crate looks for a download
/// that was made before. A real file there is the user's own and stays.
pub fn link_for_cargo(root: &Path, archive: &Path) -> Result<()> {
    let base = std::env::var("RUSTY_V8_MIRROR")
        .unwrap_or_else(|_| "https://github.com/denoland/rusty_v8/releases/download".into());
    let url = format!("{base}/v{}/{}", version(root)?, archive_name(&host()?));
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let folder = cargo_home
        .or_else(|| home().map(|h| h.join(".cargo")))
        .context("v8: neither CARGO_HOME nor HOME is set")?
        .join(".rusty_v8");
    let link = folder.join(escaped(&url));
    if fs::read_link(&link).is_ok_and(|to| to == archive) {
        return Ok(());
    }
    if fs::symlink_metadata(&link).is_ok_and(|m| !m.is_symlink()) {
        return Ok(());
    }
    let error = || format!("v8: cannot link {} to the archive", link.display());
    fs::create_dir_all(&folder).with_context(error)?;
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(archive, &link).with_context(error)
}

fn escaped(url: &str) -> String {
    url.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_comes_from_the_lock_file() {
        let lock = "[[package]]\nname = \"v8x\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"v8\"\nversion = \"150.4.0\"\n";
        assert_eq!(locked_version(lock, "v8").as_deref(), Some("150.4.0"));
        assert_eq!(locked_version(lock, "v"), None);
    }

    #[test]
    fn sums_are_read_as_sha256sum_writes_them() {
        let text = "AB12  a.gz\ncd34 *b.gz\n";
        assert_eq!(listed_sum(text, "a.gz").as_deref(), Some("ab12"));
        assert_eq!(listed_sum(text, "b.gz").as_deref(), Some("cd34"));
        assert_eq!(listed_sum(text, "c.gz"), None);
    }

    #[test]
    fn a_damaged_archive_is_refused() {
        let dir = std::env::temp_dir().join(format!("xtask-v8-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let archive = dir.join("a.gz");
        fs::write(&archive, "good").expect("a file");
        assert!(verify(&archive).expect("readable").is_none(), "nothing to check against");
        record(&archive).expect("recorded");
        assert!(verify(&archive).expect("intact").is_some());
        fs::write(&archive, "evil").expect("a file");
        let error = verify(&archive).expect_err("damaged").to_string();
        assert!(error.contains("is damaged"), "{error}");
        fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn what_is_named_must_exist() {
        let error = named("RUSTY_V8_ARCHIVE", Path::new("/nonexistent.gz")).expect_err("absent");
        assert!(error.to_string().starts_with("RUSTY_V8_ARCHIVE: got /nonexistent.gz"));
    }
}
