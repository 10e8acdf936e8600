//! The few file operations that the library's data readers and checkpoints need beside tensor
//! files: read a text, list and make a folder, remove a file. Not a file API for programs.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind};

use deno_core::op2;
use deno_error::{AdditionalProperties, JsErrorClass};

use crate::error::{code_property, system_code};

/// Why a file operation failed; `op` is the function that the program called.
#[derive(Debug, thiserror::Error)]
#[error("{op}: {path}: {problem}")]
pub struct FileError {
    op: String,
    path: String,
    problem: String,
    code: Option<&'static str>,
}

impl JsErrorClass for FileError {
    fn get_class(&self) -> Cow<'static, str> {
        Cow::Borrowed("Error")
    }
    fn get_message(&self) -> Cow<'static, str> {
        Cow::Owned(self.to_string())
    }
    fn get_additional_properties(&self) -> AdditionalProperties {
        code_property(self.code)
    }
    fn get_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }
}

pub(crate) fn failed(op: &str, path: &str, problem: impl ToString) -> FileError {
    FileError {
        op: op.to_string(),
        path: path.to_string(),
        problem: problem.to_string(),
        code: None,
    }
}

/// What the system refused, with its code.
pub(crate) fn refused(op: &str, path: &str, error: &io::Error) -> FileError {
    FileError { code: error.raw_os_error().and_then(system_code), ..failed(op, path, error) }
}

/// A whole file as text.
#[op2]
#[string]
pub fn op_tensor_read_text(#[string] op: &str, #[string] path: &str) -> Result<String, FileError> {
    #[expect(clippy::disallowed_methods, reason = "data of the program, not a module")]
    let bytes = fs::read(path).map_err(|e| refused(op, path, &e))?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        failed(op, path, format!("is no UTF-8, got a wrong byte at offset {at}"))
    })
}

/// Names in a folder, in order; none where there is no such folder.
#[op2]
#[serde]
pub fn op_tensor_list_folder(
    #[string] op: &str,
    #[string] path: &str,
) -> Result<Vec<String>, FileError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(refused(op, path, &e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| refused(op, path, &e))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// Makes a folder and those above it.
#[op2(fast)]
pub fn op_tensor_make_folder(#[string] op: &str, #[string] path: &str) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|e| refused(op, path, &e))
}

/// Removes a file; one that is gone already is no error.
#[op2(fast)]
pub fn op_tensor_remove_file(#[string] op: &str, #[string] path: &str) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(refused(op, path, &e)),
        _ => Ok(()),
    }
}
