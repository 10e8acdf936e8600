//! Goldens: `NAME.{js,ts,cjs,tsx}` must compile to `NAME.out.js` or fail with `NAME.err`.
//!
//! `UPDATE_GOLDEN=1` rewrites them. Files under `own/` run with the ownership pass; of those under
//! `explain/`, `NAME.txt` has what `compile --print` and `explain` say.

#![allow(clippy::disallowed_methods)] // reads test programs, not modules

use std::fs;
use std::path::{Path, PathBuf};

use mlrun_compiler::{FrameStyle, Options, Ownership, SourceType, compile, explain};

fn source_type(path: &Path) -> Option<SourceType> {
    let name = path.file_name()?.to_str()?;
    if name.ends_with(".out.js") {
        return None;
    }
    match path.extension()?.to_str()? {
        "js" => Some(SourceType::Module),
        "ts" => Some(SourceType::TypeScript),
        "tsx" => Some(SourceType::Tsx),
        "jsx" => Some(SourceType::Jsx),
        "cjs" => Some(SourceType::CommonJs),
        "script" => Some(SourceType::Script),
        _ => None,
    }
}

fn inputs(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).expect("golden folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(inputs(&path));
        } else if source_type(&path).is_some() {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn goldens() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut failures = vec![];
    let files = inputs(&dir);
    assert!(files.len() > 10, "only {} goldens found", files.len());
    for path in files {
        let source = fs::read_to_string(&path).expect("golden input");
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if path.parent().is_some_and(|p| p.ends_with("explain")) {
            let options = Options::new(source_type(&path).expect("filtered"));
            let explained = explain(&name, &source, &options).expect("compiles");
            let got = format!("{}\n{}", explained.annotated, explained.list);
            let want = path.with_extension("txt");
            if update {
                fs::write(&want, &got).expect("golden output");
            } else if fs::read_to_string(&want).ok().as_deref() != Some(got.as_str()) {
                failures.push(format!("{}:\n{got}", want.display()));
            }
            continue;
        }
        let mut options = Options::new(source_type(&path).expect("filtered"));
        if path.parent().is_some_and(|p| p.ends_with("own")) {
            let whole = path.file_stem().is_none_or(|name| name != "relevance");
            options.ownership = if whole { Ownership::Whole } else { Ownership::On };
        }
        let (got, extension, other) = match compile(&name, &source, &options) {
            Ok(compiled) => (compiled.code, "out.js", "err"),
            Err(e) => (e.render(&source, &FrameStyle::default()) + "\n", "err", "out.js"),
        };
        let want = path.with_extension(extension);
        if update {
            fs::write(&want, &got).expect("golden output");
            let _ = fs::remove_file(path.with_extension(other));
        } else if fs::read_to_string(&want).ok().as_deref() != Some(got.as_str()) {
            failures.push(format!("{}:\n{got}", want.display()));
        }
    }
    assert!(failures.is_empty(), "differ (UPDATE_GOLDEN=1 rewrites):\n{}", failures.join("\n"));
}
