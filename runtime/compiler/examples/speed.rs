//! How fast files are compiled: `speed [ROUNDS] FILE...` prints bytes a second of source, with the
//! ownership pass off, on (functions that can meet a tensor) and whole. Files that end in `.cjs` are
//! CommonJS. `MLRUN_BENCH_CLOCK=cpu` leaves out the time that other programs took (Linux; a round
//! should take a second and more).

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
    let began = Instant::now();
    let processor = std::env::var("MLRUN_BENCH_CLOCK").is_ok_and(|clock| clock == "cpu");
    let clock = || match processor {
        true => processor_seconds(),
        false => began.elapsed().as_secs_f64(),
    };
    for (name, ownership) in
        [("off", Ownership::Off), ("on", Ownership::On), ("whole", Ownership::Whole)]
    {
        let mut best = f64::INFINITY;
        let mut owned = 0;
        for _ in 0..rounds.unwrap_or(5) {
            let start = clock();
            owned = 0;
            for (file, source) in &sources {
                let commonjs = file.ends_with(".cjs");
                let kind = if commonjs { SourceType::CommonJs } else { SourceType::Module };
                let options = Options { ownership, ..Options::new(kind) };
                if compile(file, source, &options).is_ok_and(|compiled| compiled.owned) {
                    owned += 1;
                }
            }
            best = best.min(clock() - start);
        }
        println!("{name}: {:.2} MB/s, {owned} files changed", bytes as f64 / best / 1e6);
    }
}

/// Seconds that processors have spent on this process and its threads, by the ticks of Linux.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    // utime and stime, the 14th and 15th of all.
    let ticks: u64 = fields.skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}
