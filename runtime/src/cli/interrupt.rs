//! Ctrl-C: the process ends at once with 130, whatever the program is doing.
//!
//! The handler leaves from inside the signal. A flag that the event loop looks at would not stop
//! `while (true) {}`, and V8's termination would not stop a long kernel. Nothing is lost: output
//! is never buffered after a write returns (see `mlrun_globals::stdio`). Only the binary installs
//! the handler; an embedder's signals are its own.

/// Exit code after SIGINT: 128 + 2.
const INTERRUPTED: libc::c_int = 130;

extern "C" fn leave(_signal: libc::c_int) {
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(INTERRUPTED) }
}

/// Installs the handler for the rest of the process's life.
pub(super) fn install() {
    let handler: extern "C" fn(libc::c_int) = leave;
    // SAFETY: `leave` has the signature of a signal handler and calls only what is
    // async-signal-safe.
    unsafe {
        libc::signal(libc::SIGINT, handler as libc::sighandler_t);
    }
}
