//! The end of a script that fills the JavaScript heap, before V8 would end the process.
//!
//! Invariant: V8 gets room for what it is doing when the limit is near, and the script is
//! terminated at its next check, so the host goes on. Deliberately not here: tensor bytes, whose
//! limit is an error that the script can catch.

use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

use deno_core::JsRuntime;
use deno_core::v8;

use crate::budget;

/// By so much the limit is raised at least: the largest object that V8 makes (2^27 elements or 2^29
/// characters of two bytes, 1 GiB) must fit beside the one that it replaces, in the middle of a builtin.
const STEP: usize = 5 << 29;
/// By so much of the limit it is raised at least.
const FACTOR: usize = 3;

/// Watches one isolate.
#[derive(Debug)]
pub(crate) struct HeapGuard(Rc<Watch>);

#[derive(Debug)]
struct Watch {
    limit: usize,
    /// The script is being ended.
    reached: Cell<bool>,
    /// V8's own limit is above `limit`.
    raised: Cell<bool>,
}

impl HeapGuard {
    /// Watches `js`, whose heap was made with `limit` bytes. The guard must outlive it.
    pub fn new(js: &mut JsRuntime, limit: usize) -> HeapGuard {
        let watch = Watch { limit, reached: Cell::default(), raised: Cell::default() };
        let guard = HeapGuard(Rc::new(watch));
        guard.watch(js);
        let data = Rc::as_ptr(&guard.0).cast_mut().cast::<c_void>();
        let major = v8::GCType::kGCTypeMarkSweepCompact;
        js.v8_isolate().add_gc_epilogue_callback(collected, data, major);
        guard
    }

    fn watch(&self, js: &mut JsRuntime) {
        // SAFETY: the pointer is used only in the callback below, which V8 calls on this thread
        // while the isolate is alive; `js` owns both.
        let pointer = unsafe { js.v8_isolate().as_raw_isolate_ptr() };
        let watch = self.0.clone();
        let most = budget::heap_maximum(watch.limit);
        js.add_near_heap_limit_callback(move |current, initial| {
            // SAFETY: as above; statistics run no script and allocate nothing.
            let isolate = unsafe { &mut v8::Isolate::from_raw_isolate_ptr(pointer) };
            watch.raised.set(true);
            // One request that is too large for a heap with room is V8's to refuse (a typed array)
            // or to grant; a heap that is filling up is not.
            watch.end_above(initial / 2, isolate);
            // Some builtins (`JSON.parse`, `structuredClone`) end only when they are done.
            current.saturating_add(initial.saturating_mul(FACTOR).max(STEP)).min(most).max(current)
        });
    }

    /// Whether the script is being ended.
    pub fn is_reached(&self) -> bool {
        self.0.reached.get()
    }

    /// After a run: whether the guard ended it. If so, the isolate can run scripts again.
    pub fn ended(&self, js: &mut JsRuntime) -> bool {
        if !self.0.reached.replace(false) {
            return false;
        }
        js.v8_isolate().cancel_terminate_execution();
        js.remove_near_heap_limit_callback(self.0.limit);
        self.0.raised.set(false);
        self.watch(js);
        true
    }

    /// The error that the program ends with.
    pub fn message(&self) -> String {
        format!(
            "Uncaught RangeError: the JavaScript heap is full: the script's objects need more than \
             {} MB",
            self.0.limit >> 20
        )
    }
}

impl Watch {
    /// Ends the script where it uses more than so many bytes.
    fn end_above(&self, bytes: usize, isolate: &mut v8::Isolate) {
        if isolate.get_heap_statistics().used_heap_size() > bytes {
            self.reached.set(true);
            isolate.terminate_execution();
        }
    }
}

/// What one large request raised is no room for others.
unsafe extern "C" fn collected(
    isolate: v8::UnsafeRawIsolatePtr,
    _kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: `HeapGuard::new` passed a watch that outlives the isolate, on the isolate's own thread.
    let watch = unsafe { &*data.cast::<Watch>() };
    if watch.raised.get() {
        // SAFETY: V8 calls with an isolate that is alive; statistics and a request to end run no script.
        let isolate = unsafe { &mut v8::Isolate::from_raw_isolate_ptr(isolate) };
        watch.end_above(watch.limit, isolate);
    }
}
