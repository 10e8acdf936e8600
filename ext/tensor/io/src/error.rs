//! The crate's errors. A message reads "op: file: problem, got ..., expected ...".

use std::io;
use std::path::Path;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The JavaScript class that an [`Error`] becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    Type,
    Generic,
    Core(mlrun_tensor_core::ErrorClass),
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{op}: {file}: {problem}")]
    Format { op: &'static str, file: String, problem: String },
    #[error("{op}: {file}: cannot {doing}: {source}")]
    Io { op: &'static str, file: String, doing: &'static str, source: io::Error },
    #[error("{op}: {problem}")]
    Argument { op: &'static str, problem: String },
    #[error(transparent)]
    Core(mlrun_tensor_core::Error),
}

impl Error {
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Format { .. } | Error::Io { .. } => ErrorClass::Generic,
            Error::Argument { .. } => ErrorClass::Type,
            Error::Core(e) => ErrorClass::Core(e.class()),
        }
    }

    /// The number of the system's error, where there is one.
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Error::Io { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// An error before it is known which call on which file failed.
#[derive(Debug)]
pub(crate) enum Problem {
    Format(String),
    Io(&'static str, io::Error),
    Argument(String),
    Core(mlrun_tensor_core::Error),
}

impl From<mlrun_tensor_core::Error> for Problem {
    fn from(error: mlrun_tensor_core::Error) -> Self {
        Problem::Core(error)
    }
}

impl Problem {
    pub fn read(error: io::Error) -> Problem {
        Problem::Io("read", error)
    }

    pub fn write(error: io::Error) -> Problem {
        Problem::Io("write", error)
    }

    /// The error as a user sees it.
    pub fn at(self, op: &'static str, path: &Path) -> Error {
        let file = path.display().to_string();
        match self {
            Problem::Format(problem) => Error::Format { op, file, problem },
            Problem::Io(doing, source) => Error::Io { op, file, doing, source },
            Problem::Argument(problem) => Error::Argument { op, problem },
            Problem::Core(error) => Error::Core(error.in_op(op)),
        }
    }

    /// Names the part of the file that is wrong.
    pub fn inside(self, part: &str) -> Problem {
        match self {
            Problem::Format(problem) => Problem::Format(format!("{}: {problem}", shown(part))),
            other => other,
        }
    }
}

/// `Err` with a text that says what is wrong with the file.
macro_rules! malformed {
    ($($text:tt)*) => { Err($crate::error::Problem::Format(format!($($text)*))) };
}
pub(crate) use malformed;

/// A name out of a file as an error shows it: quoted, escaped, not endless.
pub(crate) fn shown(name: &str) -> String {
    const MOST: usize = 80;
    let cut: String = name.chars().take(MOST).collect();
    let more = if cut.len() < name.len() { "..." } else { "" };
    format!("{cut:?}{more}")
}
