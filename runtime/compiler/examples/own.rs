//! Compiles files with the ownership pass: `own [--whole] OUT_DIR FILE...`; for looking at what is
//! emitted. `--whole`: also functions in which nothing points at tensors.

#![allow(clippy::disallowed_methods)] // reads test programs, not modules

use mlrun_compiler::{FrameStyle, Options, Ownership, SourceType, compile};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let whole = args.first().is_some_and(|a| a == "--whole");
    args.drain(..usize::from(whole));
    let ownership = if whole { Ownership::Whole } else { Ownership::On };
    let Some((out, files)) = args.split_first() else { return };
    for file in files {
        let Ok(source) = std::fs::read_to_string(file) else { continue };
        let options = Options { ownership, ..Options::new(SourceType::Module) };
        let name = file.rsplit('/').next().unwrap_or(file);
        match compile(name, &source, &options) {
            Ok(compiled) => {
                let _ = std::fs::write(format!("{out}/{name}"), compiled.code);
            }
            Err(e) => println!("{}", e.render(&source, &FrameStyle::default())),
        }
    }
}
