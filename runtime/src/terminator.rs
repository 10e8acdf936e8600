//! Ending a program from outside: time limits and the like of an embedding host.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Waker;

use deno_core::v8;

/// Ends what a [`crate::Runtime`] runs, from any thread, also a loop that allocates nothing. The
/// run gives [`crate::Error::Terminated`]; the runtime can be used again. Timers of the program that
/// was ended, and its loops that yield, do not go on then.
#[derive(Clone, Debug)]
pub struct Terminator {
    isolate: v8::IsolateHandle,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    asked: AtomicBool,
    /// Of an event loop that may be waiting.
    waker: Mutex<Option<Waker>>,
}

impl Terminator {
    pub(crate) fn new(isolate: &mut v8::Isolate) -> Terminator {
        Terminator { isolate: isolate.thread_safe_handle(), shared: Arc::default() }
    }

    /// Ends the current run, or else the next one.
    pub fn terminate(&self) {
        self.shared.asked.store(true, SeqCst);
        self.isolate.terminate_execution();
        if let Some(waker) = self.waker().take() {
            waker.wake();
        }
    }

    /// Whether the run is to end; `waker` is woken when that changes.
    pub(crate) fn poll(&self, waker: &Waker) -> bool {
        *self.waker() = Some(waker.clone());
        self.shared.asked.load(SeqCst)
    }

    /// After a run: whether it was ended. If so, the isolate can run scripts again.
    pub(crate) fn ended(&self) -> bool {
        let asked = self.shared.asked.swap(false, SeqCst);
        if asked {
            self.isolate.cancel_terminate_execution();
        }
        asked
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.shared.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
