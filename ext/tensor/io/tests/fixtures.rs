//! Files that NumPy and the safetensors package wrote (fixtures/make.py), read bit for bit; and
//! what is written is read again as it was.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Folder, counting, elements, pool, read};
use mlrun_tensor_core::{DType, Layout, Tensor};
use mlrun_tensor_io::{npy, npz, safetensors};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// "NAME DTYPE SHAPE HEX", as values.txt has it.
fn described(name: &str, t: &Tensor) -> String {
    let or_dash = |text: String| if text.is_empty() { "-".into() } else { text };
    let shape = t.shape().iter().map(|d| d.to_string()).collect::<Vec<_>>().join("x");
    let hex = elements(t).iter().map(|b| format!("{b:02x}")).collect();
    format!("{name} {} {} {}", t.dtype, or_dash(shape), or_dash(hex))
}

#[test]
fn files_of_numpy_and_safetensors() {
    let text = String::from_utf8(read(&fixtures().join("values.txt"))).expect("UTF-8");
    let mut expected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let (file, rest) = line.split_once(' ').expect("file and values");
        expected.entry(file).or_default().push(rest);
    }
    assert!(expected.len() >= 6, "values.txt lists {} files", expected.len());
    for (file, mut lines) in expected {
        let path = fixtures().join(file);
        let got = match file.rsplit('.').next() {
            Some("npz") => npz::load(&path, &pool(), None),
            Some("npy") => npy::load(&path, &pool()).map(|t| vec![("-".to_string(), t)]),
            _ => safetensors::load(&path, &pool(), None),
        };
        let got = got.unwrap_or_else(|e| panic!("{file}: {e}"));
        let mut got: Vec<String> = got.iter().map(|(name, t)| described(name, t)).collect();
        got.sort();
        lines.sort();
        assert_eq!(got, lines, "{file}");
    }
}

#[test]
fn metadata_and_a_choice_of_names() {
    let path = fixtures().join("all.safetensors");
    let header = safetensors::header(&path).expect("header");
    let mut metadata = header.metadata.clone();
    metadata.sort();
    let want = [("format", "pt"), ("größe", "中\n\"\\")].map(|(k, v)| (k.into(), v.into()));
    assert_eq!(metadata, want);
    for load in [
        safetensors::load(&path, &pool(), Some(&["int64".into(), "bool".into()])),
        npz::load(&fixtures().join("stored.npz"), &pool(), Some(&["int64".into(), "bool".into()])),
    ] {
        let mut names: Vec<String> = load.expect("loaded").into_iter().map(|(n, _)| n).collect();
        names.sort();
        assert_eq!(names, ["bool", "int64"]);
    }
    let missing = npz::load(&fixtures().join("stored.npz"), &pool(), Some(&["other".into()]));
    assert!(missing.expect_err("missing").to_string().ends_with("has no array \"other\""));
    let missing = safetensors::load(&path, &pool(), Some(&["other".into()]));
    assert!(missing.expect_err("missing").to_string().ends_with("has no tensor \"other\""));
}

/// Every dtype, shapes with and without elements, and layouts that are not row-major.
fn samples() -> Vec<(String, Tensor)> {
    let mut out = Vec::new();
    for dtype in DType::ALL {
        // The long one takes more than one piece of the buffers.
        for shape in [&[][..], &[0], &[3, 0, 2], &[7], &[2, 3, 4], &[70_001]] {
            out.push((format!("{dtype} {shape:?}"), counting(dtype, shape)));
        }
        let t = counting(dtype, &[6, 8]);
        for (name, strides, offset) in
            [("transposed", [1, 8], 0), ("strided", [16, -2], 7), ("expanded", [0, 1], 8)]
        {
            let shape = if name == "transposed" { [8, 6] } else { [3, 4] };
            let layout = Layout { shape: shape[..].into(), strides: strides[..].into(), offset };
            out.push((format!("{dtype} {name}"), Tensor { layout, ..t.clone() }));
        }
    }
    out
}

fn same(got: &[(String, Tensor)], want: &[(String, Tensor)]) {
    let show = |list: &[(String, Tensor)]| {
        list.iter().map(|(name, t)| (name.clone(), described(name, t))).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(show(got), show(want));
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new();
    let samples = samples();
    let metadata = [("a".to_string(), "\u{0}\"中".to_string())];
    let path = folder.file("a.safetensors");
    safetensors::save(&path, &samples, &metadata).expect("saved");
    same(&safetensors::load(&path, &pool(), None).expect("loaded"), &samples);
    assert_eq!(safetensors::header(&path).expect("header").metadata, metadata);
    for compressed in [false, true] {
        let path = folder.file("a.npz");
        npz::save(&path, &samples, compressed).expect("saved");
        same(&npz::load(&path, &pool(), None).expect("loaded"), &samples);
    }
    for (name, t) in samples {
        let path = folder.file("a.npy");
        npy::save(&path, &t).expect("saved");
        let got = npy::load(&path, &pool()).expect("loaded");
        assert_eq!(described(&name, &got), described(&name, &t));
    }
    assert_eq!(folder.names(), ["a.npy", "a.npz", "a.safetensors"]);
}

#[test]
fn names_that_no_file_can_hold() {
    let folder = Folder::new();
    let t = counting(DType::F32, &[1]);
    let named = |names: &[&str]| -> Vec<(String, Tensor)> {
        names.iter().map(|n| (n.to_string(), t.clone())).collect()
    };
    let safe = |names: &[&str]| safetensors::save(&folder.file("a"), &named(names), &[]);
    let zip = |names: &[&str]| npz::save(&folder.file("a"), &named(names), false);
    let table = [
        (safe(&["a", "a"]), "io.saveSafetensors: two tensors are named \"a\""),
        (safe(&["__metadata__"]), "io.saveSafetensors: __metadata__ cannot name a tensor"),
        (zip(&["a", "a"]), "io.saveNpz: two tensors have the same name"),
        (zip(&[""]), "io.saveNpz: \"\" cannot name an array"),
        (zip(&["a\0b"]), "io.saveNpz: \"a\\0b\" cannot name an array"),
    ];
    for (result, start) in table {
        let message = result.expect_err(start).to_string();
        assert!(message.starts_with(start), "{message}");
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}
