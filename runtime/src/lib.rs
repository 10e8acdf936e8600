//! mlrun as a library: a JavaScript isolate with the tensor library in it.
//!
//! ```no_run
//! let mut runtime = mlrun::Runtime::new(mlrun::RuntimeOptions::default())?;
//! let exit = runtime.run_main("train.js".as_ref(), &[])?;
//! # Ok::<(), mlrun::Error>(())
//! ```
//!
//! A runtime belongs to the thread that made it. The binary `mlrun` is a thin user of this
//! library; nothing here ends the process, prints, or installs signal handlers.

mod array_buffers;
mod budget;
pub mod cli;
mod error;
mod gc_clock;
mod heap_guard;
mod loader;
mod memory;
mod memory_report;
mod report;
mod runtime;
mod snapshot;
mod terminator;

pub use deno_core::v8;
pub use error::Error;
pub use loader::CacheDir;
pub use loader::LoadError;
pub use loader::LoadErrorKind;
pub use loader::Location;
pub use loader::Ownership;
pub use loader::Stats;
pub use memory_report::MemoryReport;
pub use mlrun_globals::Alive;
pub use mlrun_globals::Exit;
pub use mlrun_globals::Place;
pub use mlrun_globals::ProcessMemory;
pub use mlrun_globals::process_memory;
pub use report::Report;
pub use runtime::Runtime;
pub use runtime::RuntimeOptions;
pub use terminator::Terminator;
