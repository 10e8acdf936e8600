//! Reads files for modules. The only place that does (see clippy.toml).

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use super::error::LoadErrorKind;
use super::error::read_error;
use super::error::shown;

/// Longest module. V8 cannot hold strings of 2^29 characters or more, and would not say so.
const MAX_BYTES: u64 = 256 << 20;

/// Extensions that an import may have forgotten, in the order in which they are suggested.
const EXTENSIONS: &[&str] = &["js", "ts", "mjs", "mts", "json"];

/// The bytes of a file.
#[expect(clippy::disallowed_methods, reason = "this is the loader's reader")]
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, LoadErrorKind> {
    let failed = |source: io::Error| read_error(path.to_owned(), source);
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(LoadErrorKind::Directory { path: shown(path) });
    }
    let too_large = |bytes| LoadErrorKind::TooLarge { path: shown(path), bytes, limit: MAX_BYTES };
    if metadata.len() > MAX_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut content = Vec::with_capacity(metadata.len() as usize + 1);
    // A device or pipe has no length in advance.
    file.by_ref().take(MAX_BYTES + 1).read_to_end(&mut content).map_err(failed)?;
    match content.len() as u64 {
        length if length > MAX_BYTES => Err(too_large(length)),
        _ => Ok(content),
    }
}

/// The text of a file, without a byte order mark.
pub(super) fn text(path: &Path) -> Result<String, LoadErrorKind> {
    let mut text = String::from_utf8(bytes(path)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(offset).copied().unwrap_or_default();
        LoadErrorKind::NotUtf8 { path: shown(path), byte, offset }
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// A file that the importer of a missing one may have meant.
pub(super) fn similar_file(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = path.file_stem()?.to_str()?;
    let candidates = EXTENSIONS
        .iter()
        .map(|extension| format!("{name}.{extension}"))
        .chain(EXTENSIONS.iter().map(|extension| format!("{stem}.{extension}")));
    candidates.into_iter().find(|candidate| path.with_file_name(candidate).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &[u8]) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("mlrun-read-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("temporary folder");
        let path = dir.join(name);
        std::fs::write(&path, content).expect("temporary file");
        path
    }

    #[test]
    fn text_table() {
        let cases: &[(&str, &[u8], Result<&str, &str>)] = &[
            ("plain.js", b"1\n", Ok("1\n")),
            ("bom.js", b"\xef\xbb\xbf1", Ok("1")),
            ("empty.js", b"", Ok("")),
            ("latin.js", b"caf\xe9", Err("not UTF-8, got byte 0xe9 at offset 3")),
        ];
        for (name, content, expected) in cases {
            let got = text(&file(name, content)).map_err(|error| error.to_string());
            match expected {
                Ok(text) => assert_eq!(got.as_deref(), Ok(*text), "{name}"),
                Err(part) => {
                    let message = got.expect_err(name);
                    assert!(message.contains(part), "{name}: {message}");
                }
            }
        }
    }

    #[test]
    fn missing_files_and_directories() {
        let present = file("near.ts", b"");
        let missing = text(&present.with_file_name("near")).expect_err("missing").to_string();
        assert!(missing.contains("did you mean \"near.ts\"?"), "{missing}");
        let renamed = text(&present.with_file_name("near.js")).expect_err("missing").to_string();
        assert!(renamed.contains("did you mean \"near.ts\"?"), "{renamed}");
        let dir = text(present.parent().expect("parent")).expect_err("directory").to_string();
        assert!(dir.contains("is a directory, expected a file"), "{dir}");
    }
}
