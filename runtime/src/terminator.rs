//! Ending a program from outside: time limits and the like of an embedding host.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::task::Waker;

use deno_core::v8;

/// Ends what a [`crate::Runtime`] runs, from any thread, also a loop that allocates nothing. The
/// run gives [`crate::Error::Terminated`]; the runtime can be used again. Timers of the program that
/// was ended, its ports of messages and its loops that yield do not go on then.
#[derive(Clone, Debug)]
pub struct Terminator {
    isolate: v8::IsolateHandle,
    shared: Arc<Mutex<Shared>>,
}

/// Under one lock with V8's own request, so that a run which saw the wish takes both back, and none
/// is left to end the next one.
#[derive(Debug, Default)]
struct Shared {
    asked: bool,
    /// Of an event loop that may be waiting.
    waker: Option<Waker>,
}

impl Terminator {
    pub(crate) fn new(isolate: &mut v8::Isolate) -> Terminator {
        Terminator { isolate: isolate.thread_safe_handle(), shared: Arc::default() }
    }

    /// Ends the current run, or else the next one.
    pub fn terminate(&self) {
        let mut shared = self.shared();
        shared.asked = true;
        self.isolate.terminate_execution();
        if let Some(waker) = shared.waker.take() {
            waker.wake();
        }
    }

    /// Whether the run is to end; `waker` is woken when that changes.
    pub(crate) fn poll(&self, waker: &Waker) -> bool {
        let mut shared = self.shared();
        shared.waker = Some(waker.clone());
        shared.asked
    }

    /// After a run: whether it was ended. If so, the isolate can run scripts again.
    pub(crate) fn ended(&self) -> bool {
        let mut shared = self.shared();
        let asked = std::mem::take(&mut shared.asked);
        if asked {
            self.isolate.cancel_terminate_execution();
        }
        asked
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
