//! The code cache, seen from outside: what a second start compiles, and what damage does.

#![allow(clippy::disallowed_methods, reason = "damages files of the cache")]

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use mlrun::CacheDir;
use mlrun::Runtime;
use mlrun::RuntimeOptions;
use mlrun::Stats;

/// A project with two modules, and a cache, in a folder of its own.
struct Project {
    dir: PathBuf,
}

impl Project {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("mlrun-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("temporary folder");
        let project = Self { dir };
        project.write(
            "main.ts",
            "import { two } from './two.js';\nif (two as number !== 2) throw 1;\n",
        );
        project.write("two.js", "export const two = 2;\n");
        project
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.join(name), text).expect("file of the project");
    }

    fn cache(&self) -> PathBuf {
        self.dir.join("cache")
    }

    fn run(&self) -> Stats {
        self.run_with(CacheDir::At(self.cache()))
    }

    fn run_with(&self, cache: CacheDir) -> Stats {
        let options = RuntimeOptions { cache, ..RuntimeOptions::default() };
        let mut runtime = Runtime::new(options).expect("a runtime");
        let exit = runtime.run_main(&self.dir.join("main.ts"), &[]).expect("runs");
        assert_eq!(exit.code, 0);
        runtime.stats()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let list = fs::read_dir(self.cache()).expect("cache folder");
        list.map(|entry| entry.expect("entry").path()).collect()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn compiled(stats: Stats) -> (u32, u32, u32) {
    (stats.modules, stats.compiled, stats.compiled_by_v8)
}

#[test]
fn a_second_start_compiles_nothing() {
    let project = Project::new("second");
    assert_eq!(compiled(project.run()), (2, 2, 2));
    assert_eq!(compiled(project.run()), (2, 0, 0));
    assert_eq!(project.entries().len(), 2, "one entry per module, no temporary file left");
}

#[test]
fn a_changed_module_is_compiled_again_and_the_other_is_not() {
    let project = Project::new("changed");
    project.run();
    project.write("two.js", "export const two = 1 + 1;\n");
    assert_eq!(compiled(project.run()), (2, 1, 1));
}

#[test]
fn damaged_entries_are_compiled_again_and_rewritten() {
    let project = Project::new("damaged");
    project.run();
    let damage: [&dyn Fn(&Path); 3] = [
        &|entry| fs::write(entry, b"").expect("truncates"),
        &|entry| fs::write(entry, b"not an entry").expect("overwrites"),
        &|entry| {
            let mut bytes = fs::read(entry).expect("reads");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(entry, bytes).expect("flips a bit");
        },
    ];
    for break_entry in damage {
        for entry in project.entries() {
            break_entry(&entry);
        }
        assert_eq!(compiled(project.run()), (2, 2, 2));
        assert_eq!(compiled(project.run()), (2, 0, 0));
    }
}

#[test]
fn without_a_usable_folder_everything_is_compiled() {
    let project = Project::new("unusable");
    project.write("file", "no folder");
    for cache in [CacheDir::Off, CacheDir::At(project.dir.join("file"))] {
        for _ in 0..2 {
            let stats = project.run_with(cache.clone());
            assert_eq!((stats.modules, stats.compiled), (2, 2), "{cache:?}");
        }
    }
}
