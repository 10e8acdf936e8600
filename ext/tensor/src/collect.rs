//! The floor under handles that nobody released: weak finalizers, and when to ask for a
//! collection.
//!
//! New handles stay in a short list on the JavaScript side (the nursery). Those that outlive it
//! get a weak finalizer, so what is released early never pays for one. Deliberately not here:
//! the decision to collect, which is the [`Pacer`]'s (the runtime's memory module).

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use deno_core::{OpState, op2, v8};
use mlrun_tensor_core::HeapId;
use mlrun_tensor_core::heap::Releaser;

use crate::state::TensorState;

/// A collection that a [`Pacer`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcKind {
    /// Of young objects.
    Minor,
    /// Of all objects, once.
    Major,
    /// Until nothing more is found, V8's caches included.
    All,
}

/// Decides when the collector runs for the sake of tensors. Called with V8 in a state where a
/// collection is allowed.
pub trait Pacer {
    /// Bytes of new tensors after which [`Pacer::pace`] wants to be asked; asked for after each.
    fn threshold(&self) -> u64;
    /// `pending`: bytes allocated since the last call and not released; `limit`: the most that may
    /// be live. `collect` runs a collection and gives the live bytes after it.
    fn pace(&self, pending: u64, limit: u64, collect: &mut dyn FnMut(GcKind) -> u64);
    /// Processor time that V8 spent collecting so far, whoever asked for it.
    fn spent(&self) -> Duration;
    /// A collection of that kind, whoever wanted it, left so many live bytes.
    fn collected(&self, kind: GcKind, live: u64);
    /// Runs one collection.
    fn collect(&self, isolate: &mut v8::Isolate, kind: GcKind);
}

/// Between two ticks of the pool in a program that never waits.
const TICK: Duration = Duration::from_secs(2);

/// Full collections that one refused request may ask for.
const MOST_ROUNDS: u32 = 7;

/// A handle and its finalizer.
type Watched = (HeapId, v8::Weak<v8::Object>);

/// Byte counts between two calls of the pacer. One thread writes them; others read them for the
/// process's figures.
#[derive(Debug, Default)]
pub struct Pending {
    /// Bytes that were allocated, at most.
    since: AtomicU64,
    /// The least that was live meanwhile.
    base: AtomicU64,
}

impl Pending {
    /// Bytes allocated since the last pacing and still there.
    pub fn bytes(&self, live: u64) -> u64 {
        live.saturating_sub(self.base.load(Relaxed)).min(self.since.load(Relaxed))
    }
}

/// When the pacer is to be called next, and the finalizers of tracked handles.
pub struct Nursery {
    pub pacer: Option<Rc<dyn Pacer>>,
    threshold: Cell<u64>,
    pub pending: Arc<Pending>,
    reported: Cell<i64>,
    /// The pool's last tick.
    ticked: Cell<Instant>,
    /// Collections that were run for the sake of tensors: minor, major.
    pub collections: [Cell<u64>; 2],
    /// By slot index; a slot names one handle until it is released.
    weak: RefCell<Vec<Option<Watched>>>,
}

impl Nursery {
    pub fn new(pacer: Option<Rc<dyn Pacer>>) -> Nursery {
        let threshold = pacer.as_ref().map_or(u64::MAX, |p| p.threshold());
        Nursery {
            pacer,
            threshold: Cell::new(threshold),
            pending: Arc::default(),
            reported: Cell::new(0),
            ticked: Cell::new(Instant::now()),
            collections: Default::default(),
            weak: RefCell::default(),
        }
    }

    /// Counts an allocation; true where the nursery should be tracked now. What was released
    /// meanwhile does not count, so a program that releases early never gets there.
    pub fn allocated(&self, bytes: u64, live: impl FnOnce() -> u64) -> bool {
        let Pending { since, base } = &*self.pending;
        let all = since.load(Relaxed) + bytes;
        since.store(all, Relaxed);
        if all < self.threshold.get() {
            return false;
        }
        let live = live();
        base.store(base.load(Relaxed).min(live), Relaxed);
        since.store(self.pending.bytes(live), Relaxed);
        self.is_due()
    }

    /// Whether so much was allocated that the pacer wants to be asked.
    pub fn is_due(&self) -> bool {
        self.pending.since.load(Relaxed) >= self.threshold.get()
    }

    /// Drops the finalizer of a handle that was released in another way.
    pub fn forget(&self, id: HeapId) {
        if let Ok(mut weak) = self.weak.try_borrow_mut()
            && let Some(slot) = weak.get_mut(id.index())
        {
            *slot = None;
        }
    }

    fn watch(&self, id: HeapId, finalizer: v8::Weak<v8::Object>) {
        let mut weak = self.weak.borrow_mut();
        if weak.len() <= id.index() {
            weak.resize_with(id.index() + 1, || None);
        }
        weak[id.index()] = Some((id, finalizer));
    }

    /// Live handles with a finalizer, by slot.
    pub fn handles<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
    ) -> Vec<(HeapId, v8::Local<'s, v8::Value>)> {
        let weak = self.weak.borrow();
        let alive = weak.iter().flatten();
        alive.filter_map(|(id, weak)| Some((*id, weak.to_local(scope)?.into()))).collect()
    }
}

/// Gives every live handle of `handles` (their ids in `ids`, same order) a weak finalizer,
/// reports external memory and lets the pacer collect.
#[op2(nofast)]
pub fn op_tensor_track(
    scope: &mut v8::PinScope,
    state: Rc<RefCell<OpState>>,
    handles: v8::Local<v8::Array>,
    #[buffer] ids: &[u8],
    count: u32,
) {
    let state = TensorState::of(&state.borrow()).clone();
    watch_all(scope, &state, handles, ids, count);
    // Whoever still holds the handles keeps them from the collection below.
    if let Some(length) = v8::String::new(scope, "length") {
        let none = v8::Integer::new(scope, 0);
        handles.set(scope, length.into(), none.into());
    }
    report_external(&state, scope, false);
    pace(&state, scope);
    if state.nursery.ticked.get().elapsed() >= TICK {
        state.nursery.ticked.set(Instant::now());
        state.engine.pool.tick();
    }
}

fn watch_all(
    scope: &mut v8::PinScope,
    state: &Rc<TensorState>,
    handles: v8::Local<v8::Array>,
    ids: &[u8],
    count: u32,
) {
    // Its end drops the local references to the handles.
    v8::scope!(let scope, scope);
    let ids: Vec<f64> = ids
        .chunks_exact(8)
        .take(count as usize)
        .map(|c| f64::from_ne_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]))
        .collect();
    for (i, id) in ids.into_iter().enumerate() {
        let id = HeapId::from_f64(id);
        if !state.heap.borrow().contains(id) {
            continue;
        }
        let Some(Ok(handle)) =
            handles.get_index(scope, i as u32).map(v8::Local::<v8::Object>::try_from)
        else {
            continue;
        };
        let finalizer_state = Rc::downgrade(state);
        let weak = v8::Weak::with_finalizer(
            scope,
            handle,
            Box::new(move |_| {
                if let Some(state) = finalizer_state.upgrade() {
                    finalize(&state, id);
                }
            }),
        );
        state.nursery.watch(id, weak);
    }
}

fn finalize(state: &TensorState, id: HeapId) {
    // A collection that nobody here asked for is V8's own: mostly a scavenge.
    let by = state.collecting.get().unwrap_or(Releaser::MinorGc);
    state.nursery.forget(id);
    state.release(id, by);
}

fn live_bytes(state: &TensorState) -> u64 {
    state.engine.pool.account.live()
}

/// Tells V8 of tensor memory: what survived a collection at its end (`survived`), what went away at
/// once. New tensors are the pacer's: V8 would mark its whole heap for them again and again.
fn report_external(state: &TensorState, isolate: &mut v8::Isolate, survived: bool) {
    let live = live_bytes(state) as i64;
    let reported = state.nursery.reported.get();
    let now = if survived { live } else { live.min(reported) };
    if now != reported {
        state.nursery.reported.set(now);
        // May run a collection: no borrow of the heap is held here.
        isolate.adjust_amount_of_external_allocated_memory(now - reported);
    }
}

fn pace(state: &Rc<TensorState>, isolate: &mut v8::Isolate) {
    let Some(pacer) = state.nursery.pacer.clone() else { return };
    if !state.nursery.is_due() {
        return;
    }
    let pending = state.nursery.pending.bytes(live_bytes(state));
    let limit = state.engine.pool.account.limit();
    pacer.pace(pending, limit, &mut |kind| run_collection(state, isolate, &*pacer, kind));
    state.nursery.threshold.set(pacer.threshold());
    let Pending { since, base } = &*state.nursery.pending;
    since.store(0, Relaxed);
    base.store(live_bytes(state), Relaxed);
}

/// Runs a collection and gives the live bytes after it.
pub fn run_collection(
    state: &TensorState,
    isolate: &mut v8::Isolate,
    pacer: &dyn Pacer,
    kind: GcKind,
) -> u64 {
    state.collecting.set(Some(match kind {
        GcKind::Minor => Releaser::MinorGc,
        GcKind::Major | GcKind::All => Releaser::MajorGc,
    }));
    pacer.collect(isolate, kind);
    state.collecting.set(None);
    let count = &state.nursery.collections[usize::from(kind != GcKind::Minor)];
    count.set(count.get() + 1);
    report_external(state, isolate, true);
    let live = live_bytes(state);
    pacer.collected(kind, live);
    live
}

/// At the memory limit: `major` or else only young handles are collected. False where that cannot
/// help, as one request is more than everything.
#[op2(nofast)]
pub fn op_tensor_make_room(
    isolate: &mut v8::Isolate,
    state: Rc<RefCell<OpState>>,
    major: bool,
) -> bool {
    let state = TensorState::of(&state.borrow()).clone();
    let account = &state.engine.pool.account;
    let refused = account.refused();
    if refused > account.limit() {
        return false;
    }
    let fits = |live: u64| live.saturating_add(refused) <= account.limit();
    let Some(pacer) = state.nursery.pacer.clone() else { return major };
    if !major {
        return fits(run_collection(&state, isolate, &*pacer, GcKind::Minor));
    }
    // What a finalizer releases may hold further handles (functions that the tape kept).
    for _ in 0..MOST_ROUNDS {
        let before = state.heap.borrow().live();
        let live = run_collection(&state, isolate, &*pacer, GcKind::Major);
        if fits(live) || state.heap.borrow().live() == before {
            break;
        }
    }
    true
}

/// `gc()`: a full collection now.
#[op2(nofast)]
pub fn op_tensor_collect(isolate: &mut v8::Isolate, state: Rc<RefCell<OpState>>) {
    let state = TensorState::of(&state.borrow()).clone();
    if let Some(pacer) = state.nursery.pacer.clone() {
        run_collection(&state, isolate, &*pacer, GcKind::All);
    }
}
