//! `mlrun FILE [ARGS]`: runs a file as the main module.

use std::ffi::OsString;
use std::path::PathBuf;

use super::diagnostics::Diagnostics;
use super::path_arg;
use super::runtime;
use crate::RuntimeOptions;

/// A file and its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub file: PathBuf,
    pub args: Vec<String>,
}

impl Program {
    /// Splits the words that follow mlrun's own options.
    ///
    /// # Errors
    /// A message for the user, if an argument is not Unicode.
    pub fn parse(words: Vec<OsString>) -> Result<Self, String> {
        let mut words = words.into_iter();
        let file = words.next().map(path_arg).ok_or("a file is missing")?;
        let args = words
            .map(|word| {
                word.into_string().map_err(|word| {
                    format!("an argument is not Unicode, got {}", word.to_string_lossy())
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { file, args })
    }
}

/// Runs the program; returns the exit code.
pub(super) fn run(options: RuntimeOptions, diagnostics: &Diagnostics, program: &Program) -> i32 {
    match runtime(options) {
        Ok(mut runtime) => {
            diagnostics.begin(&runtime);
            let ran = runtime.run_main(&program.file, &program.args);
            diagnostics.finish(runtime, ran)
        }
        Err(code) => code,
    }
}
