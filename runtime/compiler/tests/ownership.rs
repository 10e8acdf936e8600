//! The ownership pass against its oracle: programs run plain and compiled under node, on a
//! stand-in heap that complains about any use after release. Skipped, visibly, without node.

#![allow(clippy::disallowed_methods)] // reads test programs, not modules

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mlrun_compiler::{Options, Ownership, SourceType, compile};

/// With functions left alone for lack of a hint, and without.
const BOTH: [(&str, Ownership); 2] = [("chosen", Ownership::On), ("whole", Ownership::Whole)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ownership")
}

fn has_node() -> bool {
    let found = Command::new("node").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        println!("SKIPPED: node was not found");
    }
    found
}

fn node(args: &[&Path], env: &[(&str, &str)]) -> Output {
    Command::new("node")
        .arg("--no-warnings")
        .args(args)
        .envs(env.iter().copied())
        .output()
        .expect("node starts")
}

/// Compiles every program of a folder into another.
fn compile_all(from: &Path, to: &Path, ownership: Ownership) {
    fs::create_dir_all(to).expect("folder");
    fs::copy(folder().join("package.json"), to.join("package.json")).expect("package.json");
    let options = Options { ownership, ..Options::new(SourceType::Module) };
    for entry in fs::read_dir(from).expect("programs") {
        let path = entry.expect("entry").path();
        if path.extension().is_none_or(|e| e != "js") {
            continue;
        }
        let source = fs::read_to_string(&path).expect("program");
        let name = path.file_name().expect("name").to_string_lossy().into_owned();
        let compiled = compile(&name, &source, &options)
            .unwrap_or_else(|e| panic!("{}", e.render(&source, &Default::default())));
        fs::write(to.join(name), compiled.code).expect("compiled program");
    }
}

fn differ(plain: &Path, compiled: &Path, env: &[(&str, &str)]) {
    let out = node(&[&folder().join("differ.mjs"), plain, compiled], env);
    let text = String::from_utf8_lossy(&out.stdout);
    println!("{text}");
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("scratch folder");
    dir
}

/// Random programs `first .. first + count` in `dir/plain`, compiled in `dir/compiled`.
fn generate(dir: &Path, first: u32, count: u32) -> (PathBuf, PathBuf) {
    let (plain, compiled) = (dir.join("plain"), dir.join("compiled"));
    let (first, count) = (first.to_string(), count.to_string());
    let out =
        node(&[&folder().join("generate.mjs"), &plain, Path::new(&first), Path::new(&count)], &[]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    fs::copy(folder().join("package.json"), plain.join("package.json")).expect("package.json");
    compile_all(&plain, &compiled, Ownership::Whole);
    (plain, compiled)
}

#[test]
fn programs_print_the_same() {
    if !has_node() {
        return;
    }
    for (name, ownership) in BOTH {
        let compiled = scratch(&format!("programs-{name}"));
        compile_all(&folder().join("programs"), &compiled, ownership);
        differ(&folder().join("programs"), &compiled, &[]);
    }
}

#[test]
fn random_programs_print_the_same() {
    if !has_node() {
        return;
    }
    let dir = scratch("random");
    let count = std::env::var("FUZZ_COUNT").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (plain, compiled) = generate(&dir, 100_000, count);
    for (name, ownership) in BOTH {
        println!("{name}");
        compile_all(&plain, &compiled, ownership);
        differ(&plain, &compiled, &[]);
    }
}

#[test]
fn broken_rules_are_caught() {
    if !has_node() {
        return;
    }
    let dir = scratch("mutants");
    let (plain, compiled) = generate(&dir, 1, 40);
    for entry in fs::read_dir(folder().join("programs")).expect("programs") {
        let path = entry.expect("entry").path();
        fs::copy(&path, plain.join(path.file_name().expect("name"))).expect("copy");
    }
    compile_all(&plain, &compiled, Ownership::Whole);
    differ(&plain, &compiled, &[("MUTANTS", "all")]);
}
