//! The one error type of the embedding API.

use std::path::PathBuf;

use deno_core::error::CoreError;

use crate::report::Report;

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program threw, rejected, or could not be loaded; the report names file, line and
    /// column of the user's source.
    #[error("{0}")]
    Uncaught(Box<Report>),
    /// The host ended the program ([`crate::Terminator`]).
    #[error("the program was ended by its host")]
    Terminated,
    /// No isolate could be made.
    #[error("runtime: the isolate could not be made: {0}")]
    Isolate(#[source] CoreError),
    /// The entry function of the snapshot is missing or threw.
    #[error("runtime: start-up failed: {0}")]
    Start(String),
    /// The event loop's reactor could not be made.
    #[error("runtime: the event loop could not be made: {0}")]
    EventLoop(#[source] std::io::Error),
    /// The current directory is gone or unreadable.
    #[error("runtime: the current directory cannot be read: {0}")]
    Cwd(#[source] std::io::Error),
    /// A path that no `file:` URL can name.
    #[error("runtime: not a path that can be loaded, got {}", path.display())]
    Path { path: PathBuf },
}
