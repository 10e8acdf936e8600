//! `mlrun compile`: shows what the compiler makes of a file, without running it.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use mlrun_globals::stdio::Stream;

use super::path_arg;
use crate::loader;

#[derive(Debug, Args)]
pub(super) struct CompileArgs {
    #[command(flatten)]
    action: Action,
    /// A program, which is not run
    file: OsString,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Action {
    /// Print the program as it is counted, for reading: `using x` where x is held, notes on where it ends
    #[arg(long)]
    print: bool,
    /// Write what really runs to FILE.out.js and its source map to FILE.out.js.map
    #[arg(long)]
    emit: bool,
}

/// Compiles the file; returns the exit code.
pub(super) fn compile(args: &CompileArgs) -> i32 {
    let path = path_arg(args.file.clone());
    if args.action.print {
        return show(&path, |explained| explained.annotated);
    }
    let compiled = match loader::compile_file(&path) {
        Ok(compiled) => compiled,
        Err(report) => {
            super::print_error(&report.render(Stream::Stderr.use_colour()));
            return super::FAILURE;
        }
    };
    match emit(&path, &compiled) {
        Ok(()) => 0,
        Err(message) => {
            super::print_error(&format!("error: {message}"));
            super::FAILURE
        }
    }
}

/// Says what becomes of each variable and temporary; returns the exit code.
pub(super) fn explain(file: OsString) -> i32 {
    show(&path_arg(file), |explained| explained.list)
}

fn show(path: &Path, part: impl FnOnce(mlrun_compiler::Explained) -> String) -> i32 {
    let explained = match loader::explain_file(path) {
        Ok(explained) => explained,
        Err(report) => {
            super::print_error(&report.render(Stream::Stderr.use_colour()));
            return super::FAILURE;
        }
    };
    match Stream::Stdout.write(part(explained).as_bytes()) {
        Ok(()) => 0,
        Err(error) => {
            super::print_error(&format!("error: {error}"));
            super::FAILURE
        }
    }
}

fn emit(path: &Path, compiled: &loader::CompiledFile) -> Result<(), String> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::path::PathBuf::from(name)
    };
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::write(&path, text)
            .map_err(|error| format!("compile: cannot write {}: {error}", path.display()))
    };
    let mut code = compiled.code.clone();
    if let Some(map) = &compiled.source_map {
        let map_path = beside(".out.js.map");
        let map_name = map_path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        write(map_path, map)?;
        if !code.ends_with('\n') {
            code.push('\n');
        }
        code.push_str(&format!("//# sourceMappingURL={map_name}\n"));
    }
    write(beside(".out.js"), &code)
}
