//! README's programs as specs: a block of `js` that a block of `text` follows must print it.

use std::fs;

use crate::spec::{self, Setting};
use crate::tempdir::TempDir;

/// A program that README shows, and the output that it shows for it.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    pub program: String,
    pub output: String,
}

/// The pairs of blocks in a Markdown text.
pub fn shown(markdown: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut program: Option<String> = None;
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| format!("{line}\n"))
            .collect();
        program = match (language, program.take()) {
            ("js", _) => Some(block),
            ("text", Some(program)) => {
                found.push(Shown { program, output: block });
                None
            }
            _ => None,
        };
    }
    found
}

/// Runs the program; the error is what a person reads.
pub fn check(shown: &Shown, setting: &Setting) -> Result<(), String> {
    let error = |e: std::io::Error| format!("readme: cannot prepare a temporary folder: {e}");
    let dir = TempDir::new().map_err(error)?;
    for (name, text) in
        [("spec.json", "{}"), ("main.js", &*shown.program), ("expected.out", &*shown.output)]
    {
        fs::write(dir.path().join(name), text).map_err(error)?;
    }
    // README is written by hand: nothing may update the temporary copy and pass.
    let setting = Setting { update: false, ..setting.clone() };
    spec::check(dir.path(), &setting)
}
