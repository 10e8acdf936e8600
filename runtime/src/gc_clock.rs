//! How long V8 collects, whoever asked for it, and when.
//!
//! Invariant: the time between V8's own notes before and after a collection, and that of the
//! finalizers that follow it. The sum is processor time of the isolate's thread, so that other
//! programs of a busy machine are no part of it. Steps of incremental marking between collections
//! are V8's and are not seen here.

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
    /// As long as the program stood still.
    pub took: Duration,
    /// Of young objects only.
    pub minor: bool,
}

/// What V8 is at, and since when.
#[derive(Clone, Copy, Debug)]
struct Began {
    wall: Instant,
    busy: Duration,
}

/// The clock of one isolate.
#[derive(Debug)]
pub(crate) struct GcClock {
    start: Instant,
    busy_at_start: Duration,
    began: Cell<Option<Began>>,
    /// Notes of a beginning whose end is not there yet.
    depth: Cell<u32>,
    spent: Cell<Duration>,
    count: Cell<u64>,
    events: RefCell<Vec<Collection>>,
}

/// Processor time of this thread.
pub(crate) fn busy() -> Duration {
    #[cfg(unix)]
    {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to `t`, which lives on this stack.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) } == 0 {
            let seconds = u64::try_from(t.tv_sec).unwrap_or(0);
            return Duration::new(seconds, u32::try_from(t.tv_nsec).unwrap_or(0));
        }
    }
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}

impl GcClock {
    pub fn new() -> Rc<GcClock> {
        Rc::new(GcClock {
            start: Instant::now(),
            busy_at_start: busy(),
            began: Cell::default(),
            depth: Cell::default(),
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

    /// Processor time of all collections.
    pub fn spent(&self) -> Duration {
        self.spent.get()
    }

    /// Processor time of the isolate's thread since the runtime was made.
    pub fn busy(&self) -> Duration {
        busy().saturating_sub(self.busy_at_start)
    }

    /// Number of collections of any kind.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    pub fn events(&self) -> Vec<Collection> {
        self.events.borrow().clone()
    }

    fn begins(&self) {
        let depth = self.depth.get();
        self.depth.set(depth + 1);
        if depth == 0 {
            self.began.set(Some(Began { wall: Instant::now(), busy: busy() }));
        }
    }

    fn ends(&self, kind: v8::GCType) {
        let depth = self.depth.get().saturating_sub(1);
        self.depth.set(depth);
        if depth > 0 {
            return;
        }
        let Some(began) = self.began.take() else { return };
        self.spent.set(self.spent.get() + busy().saturating_sub(began.busy));
        let took = began.wall.elapsed();
        let mut events = self.events.borrow_mut();
        match kind {
            // Finalizers belong to the collection that found them; V8 begins to mark in steps.
            v8::GCType::kGCTypeProcessWeakCallbacks | v8::GCType::kGCTypeIncrementalMarking => {
                let complete = events.len() as u64 == self.count.get();
                if let Some(last) = events.last_mut().filter(|_| complete) {
                    last.took += took;
                }
            }
            kind => {
                self.count.set(self.count.get() + 1);
                let minor = kind == v8::GCType::kGCTypeScavenge
                    || kind == v8::GCType::kGCTypeMinorMarkSweep;
                if events.len() < EVENTS {
                    events.push(Collection { at: began.wall - self.start, took, minor });
                }
            }
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
    unsafe { &*data.cast::<GcClock>() }.begins();
}

unsafe extern "C" fn after(
    _isolate: v8::UnsafeRawIsolatePtr,
    kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: as above.
    unsafe { &*data.cast::<GcClock>() }.ends(kind);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_are_a_part_of_their_collection() {
        use v8::GCType as Kind;
        let clock = GcClock::new();
        let note = |kind| {
            clock.begins();
            std::thread::sleep(Duration::from_millis(2));
            clock.ends(kind);
        };
        note(Kind::kGCTypeScavenge);
        note(Kind::kGCTypeProcessWeakCallbacks);
        note(Kind::kGCTypeMarkSweepCompact);
        let events = clock.events();
        assert_eq!((clock.count(), events.len()), (2, 2));
        assert!(events[0].minor && events[0].took >= Duration::from_millis(4));
        assert!(!events[1].minor && events[1].took >= Duration::from_millis(2));
        // A thread that sleeps is not busy.
        assert!(clock.spent() < Duration::from_millis(4), "{:?}", clock.spent());
    }

    #[test]
    fn a_note_within_another_is_counted_once() {
        let clock = GcClock::new();
        clock.begins();
        clock.begins();
        clock.ends(v8::GCType::kGCTypeScavenge);
        clock.ends(v8::GCType::kGCTypeMarkSweepCompact);
        assert_eq!((clock.count(), clock.events().len()), (1, 1));
    }
}
