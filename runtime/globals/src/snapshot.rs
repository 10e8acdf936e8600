//! Makes the startup snapshot; called from the build script of the crate `mlrun`.
//!
//! Invariant: every lazily loaded script is either inside the snapshot or in the residual table,
//! so that no script is looked up on the machine that runs the program.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::rc::Rc;

use deno_core::Extension;
use deno_core::ExtensionFileSource;
use deno_core::FastString;
use deno_core::error::CoreError;
use deno_core::snapshot::CreateSnapshotOptions;
use deno_core::snapshot::create_snapshot;
use deno_error::JsErrorBox;

/// Why no snapshot was written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("snapshot: a script of an extension failed: {0}")]
    Script(#[from] CoreError),
    #[error("snapshot: cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("snapshot: cannot read the source of {specifier}: {source}")]
    Source { specifier: &'static str, source: io::Error },
    #[error("snapshot: {specifier} must be ASCII, because V8 reads it in place")]
    NotAscii { specifier: &'static str },
}

/// Scripts that no global reaches; they need extensions that mlrun does not have.
const NEVER_LOADED: &[&str] = &["ext:deno_web/webtransport.js"];

/// Compiles a file of the tensor library: specifier and text to text, or an error.
pub type Compile = fn(&str, &str) -> Result<String, String>;

/// The ownership pass over the files of the tensor library that are written for it.
fn compiled(compile: Compile, specifier: &str, text: FastString) -> Result<FastString, JsErrorBox> {
    let left_alone = !specifier.starts_with("ext:mlrun_tensor/")
        || mlrun_tensor::UNCOMPILED.contains(&specifier);
    if left_alone {
        return Ok(text);
    }
    Ok(compile(specifier, text.as_str()).map_err(JsErrorBox::generic)?.into())
}

/// Writes `snapshot.bin` and `residual.rs` into `out_dir` and returns the files that a rebuild
/// depends on. `residual.rs` defines `LAZY_JS` and `LAZY_ESM`, sorted as deno_core wants them.
///
/// # Errors
/// A script of an extension that throws, a file that cannot be read or written.
pub fn write(out_dir: &Path, compile: Compile) -> Result<Vec<PathBuf>, SnapshotError> {
    let made = create_snapshot(
        CreateSnapshotOptions {
            cargo_manifest_dir: env!("CARGO_MANIFEST_DIR"),
            startup_snapshot: None,
            skip_op_registration: false,
            extensions: crate::extensions(crate::Options::default()),
            extension_transpiler: Some(Rc::new(move |name, text| {
                Ok((compiled(compile, name.as_str(), text)?, None))
            })),
            with_runtime_cb: None,
        },
        None,
    )?;
    write_file(&out_dir.join("snapshot.bin"), &made.output)?;

    let extensions = crate::extensions(crate::Options::default());
    let consumed = &made.consumed_lazy_specifiers;
    let scripts = |files: fn(&Extension) -> &[ExtensionFileSource]| {
        extensions
            .iter()
            .flat_map(files)
            .filter(|file| !NEVER_LOADED.contains(&file.specifier))
            .filter(|file| !consumed.iter().any(|c| c == file.specifier))
            .collect::<Vec<_>>()
    };
    let mut table = String::new();
    residual_table(&mut table, out_dir, "LAZY_JS", scripts(|e| &e.lazy_loaded_js_files))?;
    residual_table(&mut table, out_dir, "LAZY_ESM", scripts(|e| &e.lazy_loaded_esm_files))?;
    write_file(&out_dir.join("residual.rs"), table.as_bytes())?;
    Ok(made.files_loaded_during_snapshot)
}

fn residual_table(
    table: &mut String,
    out_dir: &Path,
    name: &str,
    mut files: Vec<&ExtensionFileSource>,
) -> Result<(), SnapshotError> {
    files.sort_by_key(|file| file.specifier);
    table.push_str(&format!("static {name}: &[(&str, &str)] = &[\n"));
    for file in files {
        let specifier = file.specifier;
        let source = file.load().map_err(|source| SnapshotError::Source { specifier, source })?;
        if !source.as_str().is_ascii() {
            return Err(SnapshotError::NotAscii { specifier });
        }
        let file_name = specifier.replace([':', '/'], "_");
        write_file(&out_dir.join(&file_name), source.as_str().as_bytes())?;
        table.push_str(&format!("    ({specifier:?}, include_str!({file_name:?})),\n"));
    }
    table.push_str("];\n");
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), SnapshotError> {
    fs::write(path, bytes).map_err(|source| SnapshotError::Write { path: path.to_owned(), source })
}
