//! `mlrun eval CODE`: runs text as the main module. Prints nothing by itself.

use super::finish;
use super::runtime;
use crate::RuntimeOptions;

/// Runs the code; returns the exit code.
pub(super) fn eval(options: RuntimeOptions, code: &str, args: &[String]) -> i32 {
    match runtime(options) {
        Ok(mut runtime) => finish(runtime.eval_with_args(code, args)),
        Err(code) => code,
    }
}
