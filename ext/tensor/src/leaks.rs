//! Tensors that are alive at the end of a program: who made them and who holds them.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use deno_core::v8;

use crate::collect::{GcKind, run_collection};
use crate::heap_snapshot::HeapSnapshot;
use crate::places::Place;
use crate::state::TensorState;

/// Tensors of one place that are alive.
#[derive(Clone, Debug, Default)]
pub struct Alive {
    pub place: Option<Place>,
    pub tensors: u64,
    /// Bytes of their storages, each counted once and for one place.
    pub bytes: u64,
    /// The way from the program's variables to one of them, as far as that is known.
    pub held_by: Option<String>,
}

/// What is alive after a full collection, the most bytes first. Of a program that is not traced
/// the places are not known.
pub fn alive(scope: &mut v8::PinScope, state: &Rc<TensorState>) -> Vec<Alive> {
    collect(scope, state);
    if state.heap.borrow().live() == 0 {
        return Vec::new();
    }
    // What cannot be told is left out: the list itself is known.
    let holders = HeapSnapshot::take(scope, state).map(|s| s.holders()).unwrap_or_default();
    let mut by_place: HashMap<Option<Place>, Alive> = HashMap::new();
    let mut seen = HashSet::new();
    for (id, t) in state.heap.borrow().iter() {
        let place = state.trace.made_at(id);
        let entry = by_place.entry(place.clone()).or_default();
        entry.place = place;
        entry.tensors += 1;
        if seen.insert(t.storage.as_ptr()) {
            entry.bytes += t.storage.bytes() as u64;
        }
        let path = holders.get(&id.to_f64().to_bits());
        // Of several the shortest text says most.
        if path.is_some_and(|p| entry.held_by.as_ref().is_none_or(|held| p.len() < held.len())) {
            entry.held_by = path.cloned();
        }
    }
    let mut all: Vec<Alive> = by_place.into_values().collect();
    let place = |a: &Alive| a.place.as_ref().map(|p| (p.file.clone(), p.line, p.column));
    all.sort_by_key(|a| (std::cmp::Reverse((a.bytes, a.tensors)), place(a)));
    all
}

/// Moves the nursery to the collector and runs a full collection.
fn collect(scope: &mut v8::PinScope, state: &Rc<TensorState>) {
    let tracker = state.trace.tracker.borrow().clone();
    if let Some(tracker) = tracker {
        v8::scope!(let scope, scope);
        let tracker = v8::Local::new(scope, tracker);
        let this = v8::undefined(scope);
        tracker.call(scope, this.into(), &[]);
    }
    if let Some(pacer) = state.nursery.pacer.clone() {
        run_collection(state, scope, &*pacer, GcKind::All);
    }
}
