//! `mlrun info`: what a bug report should say about build and machine.

use std::thread::available_parallelism;

use mlrun_globals::stdio::Stream;

use crate::CacheDir;

/// Processor features that kernels may use, in the order of usefulness.
#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<&'static str> {
    let mut features = Vec::new();
    macro_rules! detect {
        ($($name:tt),*) => {
            $(if std::arch::is_x86_feature_detected!($name) { features.push($name); })*
        };
    }
    detect!(
        "avx512f",
        "avx512vl",
        "avx512bw",
        "avx512dq",
        "avx512bf16",
        "avx512fp16",
        "avx512vnni",
        "avx2",
        "fma",
        "f16c",
        "avx",
        "sse4.2"
    );
    features
}

#[cfg(target_arch = "aarch64")]
fn cpu_features() -> Vec<&'static str> {
    let mut features = Vec::new();
    macro_rules! detect {
        ($($name:tt),*) => {
            $(if std::arch::is_aarch64_feature_detected!($name) { features.push($name); })*
        };
    }
    detect!("sve2", "sve", "i8mm", "bf16", "fp16", "dotprod", "neon");
    features
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}

/// Prints the table; returns the exit code.
pub(super) fn info() -> i32 {
    let features = cpu_features();
    let cache = CacheDir::PerUser.path();
    let rows = [
        ("mlrun", env!("CARGO_PKG_VERSION").to_owned()),
        ("V8", crate::v8::V8::get_version().to_owned()),
        ("compiler", mlrun_compiler::VERSION.to_owned()),
        ("platform", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("cpu features", if features.is_empty() { "none".into() } else { features.join(" ") }),
        ("threads", available_parallelism().map_or(1, usize::from).to_string()),
        ("cache", cache.map_or_else(|| "off".to_owned(), |path| path.display().to_string())),
    ];
    let text: String = rows.iter().map(|(name, value)| format!("{name:<13} {value}\n")).collect();
    match Stream::Stdout.write(text.as_bytes()) {
        Ok(()) => 0,
        Err(error) => {
            super::print_error(&format!("error: {error}"));
            super::FAILURE
        }
    }
}
