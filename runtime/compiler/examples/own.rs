//! Compiles files with the ownership pass: `own OUT_DIR FILE...`; for looking at what is emitted.

#![allow(clippy::disallowed_methods)] // reads test programs, not modules

use mlrun_compiler::{FrameStyle, Options, Ownership, SourceType, compile};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((out, files)) = args.split_first() else { return };
    for file in files {
        let Ok(source) = std::fs::read_to_string(file) else { continue };
        let options = Options { ownership: Ownership::On, ..Options::new(SourceType::Module) };
        let name = file.rsplit('/').next().unwrap_or(file);
        match compile(name, &source, &options) {
            Ok(compiled) => {
                let _ = std::fs::write(format!("{out}/{name}"), compiled.code);
            }
            Err(e) => println!("{}", e.render(&source, &FrameStyle::default())),
        }
    }
}
