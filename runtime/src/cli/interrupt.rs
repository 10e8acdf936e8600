//! Ctrl-C: the process ends at once with 130, whatever the program is doing.
//!
//! The handler leaves from inside the signal. A flag that the event loop looks at would not stop
//! `while (true) {}`, and V8's termination would not stop a long kernel. Nothing is lost: output
//! is never buffered after a write returns (see `mlrun_globals::stdio`). Only the binary installs
//! the handler; an embedder's signals are its own.
//!
//! Where something is to be said at the end (`--memory-report`), the first Ctrl-C ends the script
//! and lets that be said; a script that has not ended after [`PATIENCE`], or a second Ctrl-C, ends
//! the process as ever.

use std::io::Read;
use std::os::fd::IntoRawFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use super::print_error;
use crate::Terminator;

/// Exit code after SIGINT: 128 + 2.
pub(super) const INTERRUPTED: i32 = 130;

/// A kernel that is running ends in less; the user waits no longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the handler tells of Ctrl-C; -1: nobody listens.
static TELL: AtomicI32 = AtomicI32::new(-1);
/// Ctrl-C was pressed and told.
static TOLD: AtomicBool = AtomicBool::new(false);
/// The script has ended.
static ENDED: AtomicBool = AtomicBool::new(false);

extern "C" fn handle(_signal: libc::c_int) {
    let tell = TELL.load(SeqCst);
    if tell >= 0 && !TOLD.swap(true, SeqCst) {
        // SAFETY: `write` is async-signal-safe; the byte is a constant's.
        let told = unsafe { libc::write(tell, c"!".as_ptr().cast(), 1) };
        // Nothing else is done that could change `errno` under the code that was interrupted.
        if told == 1 {
            return;
        }
    }
    leave()
}

fn leave() -> ! {
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(INTERRUPTED) }
}

/// Installs the handler for the rest of the process's life.
pub(super) fn install() {
    let handler: extern "C" fn(libc::c_int) = handle;
    // SAFETY: `handle` has the signature of a signal handler and calls only what is
    // async-signal-safe.
    unsafe {
        libc::signal(libc::SIGINT, handler as libc::sighandler_t);
    }
}

/// From now on Ctrl-C ends the script by `terminator`. Without a pipe or a thread for that it ends
/// the process.
pub(super) fn end_script_by(terminator: Terminator) {
    let Ok((mut told, tell)) = std::io::pipe() else { return };
    let listener = std::thread::Builder::new().name("ctrl-c".to_owned()).spawn(move || {
        if told.read_exact(&mut [0]).is_err() {
            return;
        }
        terminator.terminate();
        std::thread::sleep(PATIENCE);
        if !ENDED.load(SeqCst) {
            print_error("error: interrupted; there is no report, as the program did not stop");
            leave()
        }
    });
    if listener.is_ok() {
        // Open for the rest of the process's life.
        TELL.store(tell.into_raw_fd(), SeqCst);
    }
}

/// The script has ended: Ctrl-C ends the process at once again. Whether it ended the script.
pub(super) fn ended_script() -> bool {
    ENDED.store(true, SeqCst);
    TELL.store(-1, SeqCst);
    TOLD.load(SeqCst)
}
