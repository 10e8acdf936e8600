//! `mlrun eval CODE`: runs text as the main module. Prints nothing by itself.

use super::diagnostics::Diagnostics;
use super::runtime;
use crate::RuntimeOptions;

/// Runs the code; returns the exit code.
pub(super) fn eval(
    options: RuntimeOptions,
    diagnostics: &Diagnostics,
    code: &str,
    args: &[String],
) -> i32 {
    match runtime(options) {
        Ok(mut runtime) => {
            diagnostics.begin(&runtime);
            let ran = runtime.eval_with_args(code, args);
            diagnostics.finish(runtime, ran)
        }
        Err(code) => code,
    }
}
