//! The end of a script that fills the JavaScript heap, before V8 would end the process.
//!
//! Invariant: V8 gets room for what it is doing when the limit is near, and the script is
//! terminated at its next check, so the host goes on. Deliberately not here: tensor bytes, whose
//! limit is an error that the script can catch.

use std::cell::Cell;
use std::rc::Rc;

use deno_core::JsRuntime;
use deno_core::v8;

/// By this factor the limit is raised at once: the backing store of an array that fills the heap,
/// grown by half in the middle of a builtin, must fit beside the old one.
const FIRST: usize = 4;
/// As far as the limit is ever raised while the script is being ended.
const LAST: usize = 8;

/// Watches one isolate.
#[derive(Debug)]
pub(crate) struct HeapGuard {
    limit: usize,
    reached: Rc<Cell<bool>>,
}

impl HeapGuard {
    /// Watches `js`, whose heap was made with `limit` bytes.
    pub fn new(js: &mut JsRuntime, limit: usize) -> HeapGuard {
        let guard = HeapGuard { limit, reached: Rc::default() };
        guard.watch(js);
        guard
    }

    fn watch(&self, js: &mut JsRuntime) {
        // SAFETY: the pointer is used only in the callback below, which V8 calls on this thread
        // while the isolate is alive; `js` owns both.
        let pointer = unsafe { js.v8_isolate().as_raw_isolate_ptr() };
        let reached = self.reached.clone();
        js.add_near_heap_limit_callback(move |current, initial| {
            // SAFETY: as above; statistics run no script and allocate nothing.
            let isolate = unsafe { &mut v8::Isolate::from_raw_isolate_ptr(pointer) };
            let used = isolate.get_heap_statistics().used_heap_size();
            // One request that is too large for a heap with room is V8's to refuse (a typed array)
            // or to grant; a heap that is filling up is not.
            if used > initial / 2 {
                reached.set(true);
                isolate.terminate_execution();
            }
            let most = initial.saturating_mul(LAST);
            current.saturating_add(initial).clamp(initial.saturating_mul(FIRST), most).max(current)
        });
    }

    /// After a run: whether the guard ended it. If so, the isolate can run scripts again.
    pub fn ended(&self, js: &mut JsRuntime) -> bool {
        if !self.reached.replace(false) {
            return false;
        }
        js.v8_isolate().cancel_terminate_execution();
        js.remove_near_heap_limit_callback(self.limit);
        self.watch(js);
        true
    }

    /// The error that the program ends with.
    pub fn message(&self) -> String {
        format!(
            "Uncaught RangeError: the JavaScript heap is full: the script's objects need more than \
             {} MB",
            self.limit >> 20
        )
    }
}
