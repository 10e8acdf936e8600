//! The crate's one error type. A message reads "op: problem, got ..., expected ...".

use std::borrow::Cow;

/// The JavaScript class that an [`Error`] becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    Type,
    Range,
    Reference,
    Memory,
    Generic,
}

/// What an op, the heap or the tape can refuse. `op` is filled in by the engine, so that shape
/// and dtype rules need not know who calls them.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("{op}: {message}")]
    Shape { op: Cow<'static, str>, message: String },
    #[error("{op}: {message}")]
    DType { op: Cow<'static, str>, message: String },
    #[error("{op}: {message}")]
    Argument { op: Cow<'static, str>, message: String },
    #[error("{op}: {message}")]
    Range { op: Cow<'static, str>, message: String },
    #[error("{op}: the tensor was disposed; a disposed tensor cannot be used again")]
    Disposed { op: Cow<'static, str> },
    #[error("{op}: no {dtype} kernel on {device}; convert the input with to(...) first")]
    NoKernel { op: Cow<'static, str>, dtype: String, device: String },
    #[error("{op}: {}", out_of_memory(*requested, *live, *limit))]
    Memory { op: Cow<'static, str>, requested: u64, live: u64, limit: u64 },
    #[error("{op}: {message}")]
    Autograd { op: Cow<'static, str>, message: String },
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

fn out_of_memory(requested: u64, live: u64, limit: u64) -> String {
    // Without a limit it was the system that had no more.
    if limit == u64::MAX {
        return format!("out of memory, the system refused {requested} bytes");
    }
    format!(
        "out of tensor memory, requested {requested} bytes, {live} bytes are live, limit {limit} bytes"
    )
}

impl Error {
    pub fn shape(message: impl Into<String>) -> Self {
        Error::Shape { op: Cow::Borrowed(""), message: message.into() }
    }
    pub fn dtype(message: impl Into<String>) -> Self {
        Error::DType { op: Cow::Borrowed(""), message: message.into() }
    }
    pub fn argument(message: impl Into<String>) -> Self {
        Error::Argument { op: Cow::Borrowed(""), message: message.into() }
    }
    /// A number of the right type and with a wrong value.
    pub fn range(message: impl Into<String>) -> Self {
        Error::Range { op: Cow::Borrowed(""), message: message.into() }
    }
    pub fn autograd(message: impl Into<String>) -> Self {
        Error::Autograd { op: Cow::Borrowed(""), message: message.into() }
    }

    fn op_mut(&mut self) -> &mut Cow<'static, str> {
        match self {
            Error::Shape { op, .. }
            | Error::DType { op, .. }
            | Error::Argument { op, .. }
            | Error::Range { op, .. }
            | Error::Disposed { op }
            | Error::NoKernel { op, .. }
            | Error::Memory { op, .. }
            | Error::Autograd { op, .. } => op,
        }
    }

    /// Names the op unless an inner call has done so already.
    pub fn in_op(mut self, name: &'static str) -> Self {
        let op = self.op_mut();
        if op.is_empty() {
            *op = Cow::Borrowed(name);
        }
        self
    }

    /// Names the op that the user called in place of a part of it.
    pub fn of_op(mut self, name: &'static str) -> Self {
        *self.op_mut() = Cow::Borrowed(name);
        self
    }

    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Shape { .. } | Error::Range { .. } => ErrorClass::Range,
            Error::DType { .. } | Error::NoKernel { .. } | Error::Argument { .. } => {
                ErrorClass::Type
            }
            Error::Disposed { .. } => ErrorClass::Reference,
            Error::Memory { .. } => ErrorClass::Memory,
            Error::Autograd { .. } => ErrorClass::Generic,
        }
    }
}
