//! Writes files completely or not at all: a temporary file beside the target, synced, renamed.
//!
//! Invariant: the target's name always has its old contents or the complete new ones. A failure
//! removes the temporary file; only a killed process leaves one (`.mlrun-*.tmp`) behind.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Problem, malformed};
use crate::source::check_regular;

/// As many links as Linux follows.
const MOST_LINKS: usize = 40;

/// Replaces `path`'s contents by what `fill` writes. A symbolic link is followed and stays, an
/// existing file keeps its mode and, where the system allows it, its owner; other hard links to
/// it keep the old contents.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let target = follow(path)?;
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let old = existing(&target)?;
    let (temporary, file) = Temporary::create(folder)?;
    if let Some(old) = old {
        adopt(&file, &old)?;
    }
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    let file = out.into_inner().map_err(|e| Problem::write(e.into_error()))?;
    file.sync_all().map_err(Problem::write)?;
    fs::rename(&temporary.path, &target).map_err(Problem::write)?;
    // The file is complete either way; this makes its name survive a power cut.
    #[expect(clippy::disallowed_methods, reason = "a folder is synced, nothing is read")]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Where a chain of symbolic links ends, whether or not there is a file.
fn follow(path: &Path) -> Result<PathBuf, Problem> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) if path.file_name().is_some() => return Ok(path),
            Err(_) => return malformed!("is no name of a file"),
        }
    }
    malformed!("is a chain of more than {MOST_LINKS} symbolic links")
}

/// The file that is to be replaced; an error where the caller may not write it.
#[expect(clippy::disallowed_methods, reason = "asks whether the file may be written")]
fn existing(target: &Path) -> Result<Option<Metadata>, Problem> {
    let failed = |e| Problem::Io("write", e);
    match fs::metadata(target) {
        Ok(metadata) => {
            check_regular(&metadata)?;
            OpenOptions::new().write(true).open(target).map_err(failed)?;
            Ok(Some(metadata))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed(e)),
    }
}

fn adopt(file: &File, old: &Metadata) -> Result<(), Problem> {
    // Only root may give a file away; others keep what they made.
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    file.set_permissions(Permissions::from_mode(old.mode() & 0o777)).map_err(Problem::write)
}

/// A file that vanishes unless it was renamed.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    #[expect(clippy::disallowed_methods, reason = "a new file, nothing is read")]
    fn create(folder: &Path) -> Result<(Temporary, File), Problem> {
        loop {
            let random = RandomState::new().build_hasher().finish();
            let name = OsString::from(format!(".mlrun-{}-{random:016x}.tmp", std::process::id()));
            let path = folder.join(name);
            // The mode is the umask's, as for any new file.
            let made = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&path);
            match made {
                Ok(file) => return Ok((Temporary { path }, file)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Problem::write(e)),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing of this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Lets a formatter that wants a plain writer report in this crate's errors.
pub(crate) fn put(out: &mut impl Write, bytes: &[u8]) -> Result<(), Problem> {
    out.write_all(bytes).map_err(Problem::write)
}
