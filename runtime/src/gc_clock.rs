//! How long V8 collects, whoever asked for it, and when.
//!
//! Invariant: the time between V8's own notes before and after a collection, finalizers included
//! that run in it. Steps of incremental marking between them are V8's and are not seen here.

use std::cell::Cell;
use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::time::Duration;
use std::time::Instant;

use deno_core::v8;

/// Collections that are remembered one by one.
const EVENTS: usize = 4096;

/// One collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// Since the runtime was made.
    pub at: Duration,
    pub took: Duration,
    /// Of young objects only.
    pub minor: bool,
}

/// The clock of one isolate.
#[derive(Debug)]
pub(crate) struct GcClock {
    start: Instant,
    began: Cell<Option<Instant>>,
    spent: Cell<Duration>,
    count: Cell<u64>,
    events: RefCell<Vec<Collection>>,
}

impl GcClock {
    pub fn new() -> Rc<GcClock> {
        Rc::new(GcClock {
            start: Instant::now(),
            began: Cell::default(),
            spent: Cell::default(),
            count: Cell::default(),
            events: RefCell::default(),
        })
    }

    /// Starts to listen. The caller keeps a count on the clock as long as the isolate lives.
    pub fn watch(self: &Rc<Self>, isolate: &mut v8::Isolate) {
        let data = Rc::as_ptr(self).cast_mut().cast::<c_void>();
        isolate.add_gc_prologue_callback(before, data, v8::GCType::kGCTypeAll);
        isolate.add_gc_epilogue_callback(after, data, v8::GCType::kGCTypeAll);
    }

    pub fn spent(&self) -> Duration {
        self.spent.get()
    }

    /// Number of collections of any kind.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    pub fn events(&self) -> Vec<Collection> {
        self.events.borrow().clone()
    }

    fn ended(&self, minor: bool) {
        let Some(began) = self.began.take() else { return };
        let took = began.elapsed();
        self.spent.set(self.spent.get() + took);
        self.count.set(self.count.get() + 1);
        let mut events = self.events.borrow_mut();
        if events.len() < EVENTS {
            events.push(Collection { at: began - self.start, took, minor });
        }
    }
}

unsafe extern "C" fn before(
    _isolate: v8::UnsafeRawIsolatePtr,
    _kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: `watch` passed a clock that outlives the isolate, on the isolate's own thread.
    let clock = unsafe { &*data.cast::<GcClock>() };
    clock.began.set(Some(Instant::now()));
}

unsafe extern "C" fn after(
    _isolate: v8::UnsafeRawIsolatePtr,
    kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: as above.
    let clock = unsafe { &*data.cast::<GcClock>() };
    clock.ended(kind == v8::GCType::kGCTypeScavenge || kind == v8::GCType::kGCTypeMinorMarkSweep);
}
