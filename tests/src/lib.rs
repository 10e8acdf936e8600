//! Harness for spec folders: `tests/SUITE/NAME/spec.json` with a program beside it.
//!
//! A spec's copy runs in a temporary folder by the real mlrun binary, which is found or built
//! here and never linked: this crate compiles without V8. The specs themselves are data; what
//! a spec is stands in [`spec`], what wildcards mean in [`pattern`].

#![expect(
    clippy::disallowed_methods,
    reason = "a test harness, no part of the runtime: it reads its own files"
)]

pub mod browser;
pub mod discover;
pub mod packages;
pub mod pattern;
pub mod process;
pub mod readme;
pub mod shared;
pub mod spec;
pub mod tempdir;

#[cfg(test)]
mod selftest;
