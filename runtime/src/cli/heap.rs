//! The last resort where the JavaScript heap is full: the process ends with an error and exit code
//! 1 instead of V8's abort.
//!
//! `heap_guard` ends nearly every such script before this; V8 does not notice its request in a few
//! tight loops of builtins. Only the binary installs the handler; an embedder's process is its own.

use std::ffi::c_char;

use deno_core::v8;

use crate::Runtime;

const MESSAGE: &str = "error: Uncaught RangeError: the JavaScript heap is full\n";

unsafe extern "C" fn leave(_location: *const c_char, _details: &v8::OomDetails) {
    // SAFETY: the pointer and the length are those of a constant; `_exit` does not return, and
    // nothing is buffered that it would lose (see `mlrun_globals::stdio`).
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(1)
    }
}

/// Ends the process when V8 finds no way on for this runtime.
pub(super) fn install(runtime: &mut Runtime) {
    runtime.isolate().set_oom_error_handler(leave);
}
