//! Errors of ops as JavaScript sees them.

use std::borrow::Cow;

use deno_error::{AdditionalProperties, JsErrorClass, PropertyValue};
use mlrun_tensor_core::{Error, ErrorClass};
use mlrun_tensor_io::ErrorClass as FileErrorClass;

/// Why an op refused.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    #[error(transparent)]
    Core(#[from] Error),
    #[error(transparent)]
    File(#[from] mlrun_tensor_io::Error),
    #[error("{op}: got a number that is no op of the table")]
    UnknownOp { op: u32 },
    #[error("{op}: the argument buffer holds {got} numbers, expected at least {expected}")]
    Buffer { op: &'static str, got: usize, expected: usize },
    #[error("{op}: the tensor has {numel} elements, expected exactly 1")]
    NotOneElement { op: &'static str, numel: usize },
    #[error("{op}: {got} bytes of data do not fit, expected {expected}")]
    Bytes { op: &'static str, got: usize, expected: usize },
    /// At the memory limit: who holds most.
    #[error("{error}{holders}")]
    Memory { error: Error, holders: String },
    #[error("{op}: the tensor was disposed{at}; a disposed tensor cannot be used again")]
    Disposed { op: Cow<'static, str>, at: String },
}

impl JsErrorClass for TensorError {
    fn get_class(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            TensorError::Core(e) => class_name(e.class()),
            TensorError::File(e) => match e.class() {
                FileErrorClass::Core(class) => class_name(class),
                FileErrorClass::Type => "TypeError",
                FileErrorClass::Generic => "Error",
            },
            TensorError::Memory { error, .. } => class_name(error.class()),
            TensorError::Disposed { .. } => "ReferenceError",
            TensorError::Bytes { .. } | TensorError::NotOneElement { .. } => "RangeError",
            TensorError::UnknownOp { .. } | TensorError::Buffer { .. } => "TypeError",
        })
    }

    fn get_message(&self) -> Cow<'static, str> {
        Cow::Owned(self.to_string())
    }

    fn get_additional_properties(&self) -> AdditionalProperties {
        // As in Node: programs tell a missing file from a damaged one by it.
        let code = match self {
            TensorError::File(e) => e.os_error().and_then(system_code),
            _ => None,
        };
        code_property(code)
    }

    fn get_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }
}

/// The property `code` of an error of the system.
pub(crate) fn code_property(code: Option<&'static str>) -> AdditionalProperties {
    Box::new(code.map(|code| ("code".into(), PropertyValue::String(code.into()))).into_iter())
}

fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Type => "TypeError",
        ErrorClass::Range => "RangeError",
        ErrorClass::Reference => "ReferenceError",
        ErrorClass::Memory => "TensorMemoryError",
        ErrorClass::Generic => "Error",
    }
}

/// The name of a system error that opening, reading or writing a file can give.
pub(crate) fn system_code(number: i32) -> Option<&'static str> {
    let known = [
        (libc::EACCES, "EACCES"),
        (libc::EDQUOT, "EDQUOT"),
        (libc::EFBIG, "EFBIG"),
        (libc::EIO, "EIO"),
        (libc::EISDIR, "EISDIR"),
        (libc::ELOOP, "ELOOP"),
        (libc::EMFILE, "EMFILE"),
        (libc::ENAMETOOLONG, "ENAMETOOLONG"),
        (libc::ENOENT, "ENOENT"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::ENOTDIR, "ENOTDIR"),
        (libc::EPERM, "EPERM"),
        (libc::EROFS, "EROFS"),
        (libc::ETXTBSY, "ETXTBSY"),
    ];
    known.iter().find(|(n, _)| *n == number).map(|(_, code)| *code)
}
