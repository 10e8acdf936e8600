//! How fast files are compiled: `speed [ROUNDS] FILE...` prints bytes a second of source, with the
//! ownership pass off, on (functions that can meet a tensor) and whole.

#![allow(clippy::disallowed_methods)] // reads programs to measure with, not modules

use std::time::Instant;

use mlrun_compiler::{Options, Ownership, SourceType, compile};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let rounds = args.first().and_then(|a| a.parse::<u32>().ok());
    args.drain(..usize::from(rounds.is_some()));
    let sources: Vec<(String, String)> = args
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(&file).ok().map(|source| (file, source)))
        .collect();
    let bytes: usize = sources.iter().map(|(_, source)| source.len()).sum();
    println!("{} files, {bytes} bytes", sources.len());
    for (name, ownership) in
        [("off", Ownership::Off), ("on", Ownership::On), ("whole", Ownership::Whole)]
    {
        let mut best = f64::INFINITY;
        let mut owned = 0;
        for _ in 0..rounds.unwrap_or(5) {
            let start = Instant::now();
            owned = 0;
            for (file, source) in &sources {
                let options = Options { ownership, ..Options::new(SourceType::Module) };
                if compile(file, source, &options).is_ok_and(|compiled| compiled.owned) {
                    owned += 1;
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name}: {:.2} MB/s, {owned} files changed", bytes as f64 / best / 1e6);
    }
}
