//! Who holds memory: places of handles, the course of bytes over time, top holders.
//!
//! Off, a block in some megabytes is a sample, which is enough for an error to name the top
//! holders; a program's first handles are traced too, for errors about disposed tensors. On, every
//! block and handle is. Deliberately not here: how a report looks (the runtime).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use deno_core::{OpState, op2, v8};
use mlrun_tensor_core::HeapId;
use mlrun_tensor_core::sites::{Held, UNKNOWN};
use mlrun_tensor_core::tape::node_bytes;

use crate::error::TensorError;
use crate::files::{FileError, failed, refused};
use crate::heap_snapshot::HeapSnapshot;
use crate::places::{Place, Places, called};
use crate::state::TensorState;

/// Handles that are traced in any program.
const FIRST: u32 = 256;
/// Moments of a timeline; where there are more, every second one goes.
const MOMENTS: usize = 512;

/// Bytes at one moment.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Since the program's start.
    pub at: Duration,
    pub live: u64,
    /// By the number of a place.
    pub held: Vec<u64>,
}

/// The course of bytes: of each interval the moment with most.
struct Timeline {
    moments: Vec<Moment>,
    every: Duration,
    highest: Moment,
}

/// What is traced of one isolate.
pub struct Trace {
    /// Every handle and block is traced.
    pub all: bool,
    pub places: Places,
    pub start: Instant,
    /// Handles that are to be traced yet.
    left: Cell<u32>,
    /// By slot: a handle and its place.
    handles: RefCell<Vec<(f64, u32)>>,
    timeline: RefCell<Timeline>,
    /// Moves the nursery's handles to where the collector can free them.
    pub tracker: RefCell<Option<v8::Global<v8::Function>>>,
}

/// A place with what was made there.
#[derive(Clone, Debug)]
pub struct Holder {
    /// `None`: what a part of the library made on its own account.
    pub place: Option<Place>,
    pub held: Held,
}

impl Trace {
    pub fn new(all: bool) -> Trace {
        let every = Duration::from_millis(1);
        Trace {
            all,
            places: Places::default(),
            start: Instant::now(),
            left: Cell::new(if all { u32::MAX } else { FIRST }),
            handles: RefCell::default(),
            timeline: RefCell::new(Timeline {
                moments: Vec::new(),
                every,
                highest: Moment::default(),
            }),
            tracker: RefCell::default(),
        }
    }

    /// Whether a new handle is to be traced.
    #[inline]
    pub fn wants(&self) -> bool {
        let left = self.left.get();
        if left == 0 {
            return false;
        }
        if !self.all {
            self.left.set(left - 1);
        }
        true
    }

    fn note(&self, id: f64, place: u32) {
        let index = HeapId::from_f64(id).index();
        let mut handles = self.handles.borrow_mut();
        if handles.len() <= index {
            handles.resize(index + 1, (0.0, UNKNOWN));
        }
        handles[index] = (id, place);
    }

    /// Where a handle was made, if that was traced.
    pub fn made_at(&self, id: HeapId) -> Option<Place> {
        let (of, place) = *self.handles.borrow().get(id.index())?;
        if HeapId::from_f64(of) == id { self.places.get(place) } else { None }
    }

    fn sample(&self, live: u64, held: impl FnOnce() -> Vec<Held>) {
        let mut timeline = self.timeline.borrow_mut();
        let at = self.start.elapsed();
        if live > timeline.highest.live || timeline.highest.held.is_empty() {
            let held = held().iter().map(|h| h.bytes).collect();
            timeline.highest = Moment { at, live, held };
        }
        let last = timeline.moments.last().map_or(Duration::ZERO, |m| m.at);
        if at - last >= timeline.every {
            timeline.next();
        }
    }

    /// The moments, oldest first.
    pub fn moments(&self) -> Vec<Moment> {
        let mut timeline = self.timeline.borrow_mut();
        timeline.next();
        timeline.moments.clone()
    }
}

impl Timeline {
    fn next(&mut self) {
        if self.highest.held.is_empty() {
            return;
        }
        self.moments.push(std::mem::take(&mut self.highest));
        if self.moments.len() >= MOMENTS {
            // Of two neighbours the higher one stays.
            let pairs = std::mem::take(&mut self.moments);
            self.moments = pairs
                .chunks(2)
                .filter_map(|pair| pair.iter().max_by_key(|m| m.live).cloned())
                .collect();
            self.every *= 2;
        }
    }
}

/// Bytes as people read them.
pub fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog10() / 3).min(4) as usize;
    let number = bytes as f64 / 1000f64.powi(power as i32);
    let digits = if number < 99.95 { 1 } else { 0 };
    format!("{number:.digits$} {}", UNITS[power])
}

impl TensorState {
    /// Places and what they hold, those that hold most first.
    pub fn holders(&self) -> Vec<Holder> {
        let held = self.engine.pool.sites.held();
        let mut holders: Vec<Holder> = (0..)
            .zip(held)
            .map(|(place, held)| Holder { place: self.trace.places.get(place), held })
            .filter(|holder| holder.held.made_blocks > 0)
            .collect();
        holders.sort_by_key(|h| std::cmp::Reverse((h.held.bytes, h.held.made_bytes)));
        holders
    }

    /// The end of an error at the memory limit: who holds most.
    pub fn top_holders(&self) -> String {
        const MOST: usize = 3;
        let about = if self.trace.all { "" } else { "about " };
        let known: Vec<String> = self
            .holders()
            .into_iter()
            .filter(|holder| holder.held.bytes > 0)
            .filter_map(|holder| {
                let at = holder.place?.short();
                Some(format!("{at} ({about}{})", readable(holder.held.bytes)))
            })
            .take(MOST)
            .collect();
        let mut text = String::new();
        let records = node_bytes(self.engine.pool.shared());
        if records > 0 {
            let readable = readable(records);
            text = format!(
                "; records of ops for gradients take about {readable}: detach() what a loop carries on"
            );
        }
        if !known.is_empty() {
            text += &format!("; most is held by tensors made at {}", known.join(", "));
        }
        text
    }
}

/// Notes where the program is, for handle `id` (0: none) and for what was allocated lately. True
/// where the nursery should be tracked now.
#[op2(nofast)]
pub fn op_tensor_attend(scope: &mut v8::PinScope, state: Rc<RefCell<OpState>>, id: f64) -> bool {
    let state = TensorState::of(&state.borrow()).clone();
    let trace = &state.trace;
    let sites = &state.engine.pool.sites;
    let place = trace.places.here(scope, state.texts.as_ref());
    sites.settle(place);
    if id > 0.0 {
        trace.note(id, place);
    }
    if trace.all {
        trace.sample(state.engine.pool.account.live(), || sites.held());
    }
    state.nursery.is_due()
}

/// Whether every tensor is traced; if so, `tracker` is kept for the end of the program.
#[op2(nofast)]
pub fn op_tensor_traces(
    scope: &mut v8::PinScope,
    state: Rc<RefCell<OpState>>,
    tracker: v8::Local<v8::Function>,
) -> bool {
    let state = TensorState::of(&state.borrow()).clone();
    if state.trace.all {
        *state.trace.tracker.borrow_mut() = Some(v8::Global::new(scope, tracker));
    }
    state.trace.all
}

/// Throws the error of a disposed tensor's use, in the name of the function that the user called.
#[op2(nofast)]
pub fn op_tensor_disposed(
    scope: &mut v8::PinScope,
    state: Rc<RefCell<OpState>>,
    id: f64,
) -> Result<(), TensorError> {
    let state = TensorState::of(&state.borrow()).clone();
    let op = called(scope).map_or("shape".into(), std::borrow::Cow::Owned);
    Err(TensorError::Disposed { op, at: state.disposal(id).unwrap_or_default() })
}

/// Writes V8's heap snapshot, with the memory of tensors in it.
#[op2(nofast)]
pub fn op_tensor_heap_snapshot(
    scope: &mut v8::PinScope,
    state: Rc<RefCell<OpState>>,
    #[string] path: &str,
) -> Result<(), FileError> {
    let state = TensorState::of(&state.borrow()).clone();
    let failed = |problem: String| failed("heapSnapshot", path, problem);
    let snapshot = HeapSnapshot::take(scope, &state).map_err(failed)?;
    let heap = state.heap.borrow();
    let handled: HashMap<usize, u64> =
        heap.iter().map(|(_, t)| (t.storage.as_ptr() as usize, t.storage.bytes() as u64)).collect();
    let rest = state.engine.pool.account.live().saturating_sub(handled.values().sum());
    let describe = |id: HeapId| {
        let t = heap.get(id).ok()?;
        let made = state.trace.made_at(id);
        let made = made.map_or_else(String::new, |at| format!(", made at {}", at.short()));
        let text = format!("{} {:?}{made}", t.dtype, t.layout.shape.as_slice());
        Some((t.storage.as_ptr() as usize, t.storage.bytes() as u64, text))
    };
    let text = snapshot.write(describe, rest).map_err(failed)?;
    std::fs::write(path, text).map_err(|e| refused("heapSnapshot", path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_readable() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (16_777_216, "16.8 MB"),
            (123_456_789, "123 MB"),
            (5_000_000_000, "5.0 GB"),
            (u64::MAX, "18446744 TB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(readable(bytes), text);
        }
    }

    #[test]
    fn a_long_timeline_keeps_its_heights() {
        let mut timeline =
            Timeline { moments: vec![], every: Duration::ZERO, highest: Moment::default() };
        for i in 0..10_000u64 {
            let live = if i == 4567 { 1 << 40 } else { i };
            timeline.highest = Moment { at: Duration::from_millis(i), live, held: vec![live] };
            timeline.next();
        }
        assert!(timeline.moments.len() < MOMENTS);
        assert!(timeline.moments.iter().any(|m| m.live == 1 << 40));
        assert!(timeline.moments.is_sorted_by_key(|m| m.at));
    }
}
