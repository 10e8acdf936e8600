//! Errors of ops as JavaScript sees them.

use std::borrow::Cow;

use deno_error::{AdditionalProperties, JsErrorClass};
use mlrun_tensor_core::{Error, ErrorClass};

/// Why an op refused.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    #[error(transparent)]
    Core(#[from] Error),
    #[error("{op}: got a number that is no op of the table")]
    UnknownOp { op: u32 },
    #[error("{op}: the argument buffer holds {got} numbers, expected at least {expected}")]
    Buffer { op: &'static str, got: usize, expected: usize },
    #[error("{op}: the tensor has {numel} elements, expected exactly 1")]
    NotOneElement { op: &'static str, numel: usize },
    #[error("{op}: {got} bytes of data do not fit, expected {expected}")]
    Bytes { op: &'static str, got: usize, expected: usize },
    #[error("{op}: the tensor was disposed{at}; a disposed tensor cannot be used again")]
    Disposed { op: Cow<'static, str>, at: String },
}

impl JsErrorClass for TensorError {
    fn get_class(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            TensorError::Core(e) => match e.class() {
                ErrorClass::Type => "TypeError",
                ErrorClass::Range => "RangeError",
                ErrorClass::Reference => "ReferenceError",
                ErrorClass::Memory => "TensorMemoryError",
                ErrorClass::Generic => "Error",
            },
            TensorError::Disposed { .. } => "ReferenceError",
            TensorError::Bytes { .. } | TensorError::NotOneElement { .. } => "RangeError",
            TensorError::UnknownOp { .. } | TensorError::Buffer { .. } => "TypeError",
        })
    }

    fn get_message(&self) -> Cow<'static, str> {
        Cow::Owned(self.to_string())
    }

    fn get_additional_properties(&self) -> AdditionalProperties {
        Box::new(std::iter::empty())
    }

    fn get_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }
}
