//! npz files: a zip archive with one npy file per array. Format: NumPy's `savez`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use mlrun_tensor_core::Tensor;
use mlrun_tensor_core::pool::HostPool;

use crate::error::{Problem, Result, malformed, shown};
use crate::source::Source;
use crate::zip::{self, Entry};
use crate::{Named, atomic, npy};

const SUFFIX: &str = ".npy";

/// Reads all arrays, or those of `names`, in the archive's order.
pub fn load(path: &Path, pool: &Arc<HostPool>, names: Option<&[String]>) -> Result<Named> {
    read(path, pool, names).map_err(|e| e.at("io.loadNpz", path))
}

/// Writes the arrays as NumPy's `savez` does, or as `savez_compressed` with `compressed`.
pub fn save(path: &Path, tensors: &[(String, Tensor)], compressed: bool) -> Result<()> {
    let write = || {
        if let Some((name, _)) = tensors.iter().find(|(name, _)| !can_name(name)) {
            return Err(Problem::Argument(format!(
                "{} cannot name an array, expected 1 to 60000 bytes without NUL",
                shown(name)
            )));
        }
        atomic::write(path, |out| {
            let mut zip = zip::Writer::new(out);
            for (name, t) in tensors {
                zip.part(format!("{name}{SUFFIX}"), compressed, |mut out| npy::write(t, &mut out))?;
            }
            zip.finish()
        })
    };
    write().map_err(|e| e.at("io.saveNpz", path))
}

fn can_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('\0') && name.len() <= 60_000
}

fn read(path: &Path, pool: &Arc<HostPool>, names: Option<&[String]>) -> Result<Named, Problem> {
    let source = Source::open(path)?;
    let entries = zip::entries(&source)?;
    let mut wanted: Option<HashSet<&str>> =
        names.map(|names| names.iter().map(String::as_str).collect());
    let mut out = Named::new();
    for entry in &entries {
        let name = array_name(entry)?;
        if wanted.as_mut().is_none_or(|wanted| wanted.remove(name)) {
            let array = || {
                let mut part = entry.open(&source)?;
                let t = npy::read(&mut part, entry.size, pool)?;
                part.end()?;
                Ok(t)
            };
            out.push((name.to_owned(), array().map_err(|e: Problem| e.inside(name))?));
        }
    }
    match wanted.and_then(|wanted| wanted.into_iter().min()) {
        Some(missing) => malformed!("has no array {}", shown(missing)),
        None => Ok(out),
    }
}

/// A part's name without its suffix.
fn array_name(entry: &Entry) -> Result<&str, Problem> {
    let Ok(name) = std::str::from_utf8(&entry.name) else {
        return malformed!("the name {} is no valid UTF-8", shown(&entry.lossy_name()));
    };
    match name.strip_suffix(SUFFIX) {
        Some(array) => Ok(array),
        None => malformed!("holds {}, expected only arrays (names that end in .npy)", shown(name)),
    }
}
