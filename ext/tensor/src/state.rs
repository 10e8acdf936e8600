//! What one isolate owns on the native side: its engine and its handle heap.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use deno_core::OpState;
use mlrun_tensor_core::heap::Releaser;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::quick::Made;
use mlrun_tensor_core::tape::{self, DeadTokens, Walk};
use mlrun_tensor_core::{Engine, Error, Heap, HeapId, Tensor};
use mlrun_tensor_cpu::CpuBackend;

use crate::collect::{Nursery, Pacer};
use crate::error::TensorError;
use crate::memory::count_in;
use crate::modules::Modules;
use crate::ownership::{FunctionTexts, OwnedScripts};
use crate::trace::Trace;
use crate::turns::Turns;

/// How to make a [`TensorState`].
#[derive(Clone, Default)]
pub struct TensorOptions {
    /// Threads of the kernels; `None`: one per core.
    pub threads: Option<std::num::NonZeroUsize>,
    /// Seed of the random numbers; `None`: drawn from the system.
    pub seed: Option<u64>,
    /// A use of a tensor that the ownership pass released names the release.
    pub verify: bool,
    /// With `verify`: so does the use of any object.
    pub verify_all: bool,
    /// What the user wrote for functions that the ownership pass changed.
    pub texts: Option<Rc<dyn FunctionTexts>>,
    /// Bytes of tensors that may be live at once; `None`: as many as the system gives.
    pub memory_limit: Option<u64>,
    /// Decides when the collector runs; `None`: never on its own.
    pub pacer: Option<Rc<dyn Pacer>>,
    /// Every tensor is traced to the line that made it.
    pub trace: bool,
}

/// Places of the last disposals that were traced, by the number that the disposed handle keeps.
#[derive(Default)]
pub struct Disposals(VecDeque<(f64, String)>);

impl Disposals {
    /// Older records only cost an error message its detail.
    const MOST: usize = 4096;

    pub fn add(&mut self, record: f64, place: String) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((record, place));
    }

    fn place(&self, record: f64) -> Option<String> {
        let at = self.0.partition_point(|(r, _)| *r < record);
        self.0.get(at).filter(|(r, _)| *r == record).map(|(_, place)| place.clone())
    }
}

/// Parked walks by number; numbers are not used again.
#[derive(Default)]
struct Walks {
    next: u64,
    parked: HashMap<u64, Walk>,
}

pub struct TensorState {
    pub engine: Engine,
    pub heap: RefCell<Heap>,
    pub nursery: Nursery,
    pub disposals: RefCell<Disposals>,
    pub modules: RefCell<Modules>,
    pub trace: Trace,
    pub turns: Turns,
    /// Handles that a finalizer found while the heap was in use.
    late: RefCell<Vec<(HeapId, Releaser)>>,
    /// Backward passes that wait for a user-defined step.
    walks: RefCell<Walks>,
    pub dead_tokens: DeadTokens,
    /// Who runs the collector right now, for the release counters.
    pub collecting: Cell<Option<Releaser>>,
    pub owned: OwnedScripts,
    pub verify: bool,
    pub verify_all: bool,
    /// Released objects that were used.
    pub violations: Cell<u32>,
    pub texts: Option<Rc<dyn FunctionTexts>>,
}

impl TensorState {
    pub fn new(options: TensorOptions) -> TensorState {
        let pool = Arc::new(HostPool::new());
        if let Some(bytes) = options.memory_limit {
            pool.account.set_limit(bytes);
        }
        let backend = Arc::new(match options.threads {
            Some(n) => CpuBackend::new(n.get()),
            None => CpuBackend::for_machine(),
        });
        let engine = Engine::new(backend, pool);
        engine.manual_seed(options.seed.unwrap_or_else(system_seed));
        if options.trace {
            engine.pool.account.sample_all();
        }
        let nursery = Nursery::new(options.pacer);
        count_in(&engine.pool, &nursery.pending);
        TensorState {
            engine,
            heap: RefCell::default(),
            disposals: RefCell::default(),
            modules: RefCell::default(),
            trace: Trace::new(options.trace),
            turns: Turns::default(),
            nursery,
            late: RefCell::default(),
            walks: RefCell::default(),
            dead_tokens: DeadTokens::default(),
            collecting: Cell::new(None),
            owned: OwnedScripts::default(),
            verify: options.verify,
            verify_all: options.verify_all,
            violations: Cell::new(0),
            texts: options.texts,
        }
    }

    /// Makes the state of a new isolate.
    pub fn init(state: &mut OpState, options: TensorOptions) {
        state.put(Rc::new(TensorState::new(options)));
        // The isolate's memory may be that of one that is gone.
        LAST.set(NOBODY);
    }

    /// The state of the isolate that calls. A search in the isolate's map would cost a tiny op a
    /// tenth of its time.
    #[inline]
    pub fn of(state: &OpState) -> &Rc<TensorState> {
        let (isolate, found) = LAST.get();
        if std::ptr::eq(isolate, state) {
            // SAFETY: `found` was borrowed from this very isolate's map by this thread: `init`,
            // which alone puts a state there, and the state's end both empty LAST. The map keeps
            // its values in boxes, so that others put into it do not move this one.
            return unsafe { &*found };
        }
        let found = state.borrow::<Rc<TensorState>>();
        LAST.set((state, found));
        found
    }

    /// Puts an op's result on the heap. A negative id asks the caller to attend to it: its nursery
    /// is to be tracked, or the place where it was made to be noted.
    pub fn put(&self, tensor: Tensor) -> Result<f64, TensorError> {
        let bytes = tensor.storage.bytes() as u64;
        let id = self.heap.borrow_mut().insert(tensor)?;
        Ok(self.noted(id, bytes))
    }

    /// The number of a new handle for JavaScript.
    #[inline(always)]
    fn noted(&self, id: HeapId, bytes: u64) -> f64 {
        let account = &self.engine.pool.account;
        let due = self.nursery.allocated(bytes, || account.live());
        let attend = due || self.engine.pool.sites.wait() || self.trace.wants();
        if attend { -id.to_f64() } else { id.to_f64() }
    }

    /// The short way of an op whose first operand is `a`: `f` computes the result, or tells that
    /// the call is not for it.
    #[inline(always)]
    pub fn quick(
        &self,
        a: f64,
        f: impl FnOnce(&Engine, &Heap, &Tensor) -> Option<Result<Made, Error>>,
    ) -> Option<Result<f64, TensorError>> {
        let mut heap = self.heap.try_borrow_mut().ok()?;
        let a = HeapId::from_f64(a);
        let made = match f(&self.engine, &heap, heap.find(a)?)? {
            Ok(made) => made,
            Err(e) => return Some(Err(self.explained(&[], e))),
        };
        let bytes = made.storage.bytes() as u64;
        Some(heap.insert_made(made, a).map(|id| self.noted(id, bytes)).map_err(TensorError::Core))
    }

    /// Gives handles whose base was changed in place their way back to the tape anew.
    pub fn refresh(&self, ids: &[f64]) -> Result<(), Error> {
        let stale =
            |heap: &Heap, id: f64| heap.find(HeapId::from_f64(id)).is_some_and(Tensor::is_stale);
        if !ids.iter().any(|id| stale(&self.heap.borrow(), *id)) {
            return Ok(());
        }
        // Somebody who still reads the heap finds the tensors stale, which is an error.
        let Ok(mut heap) = self.heap.try_borrow_mut() else { return Ok(()) };
        for id in ids {
            if let Ok(t) = heap.get_mut(HeapId::from_f64(*id)) {
                tape::refresh(&self.engine, t)?;
            }
        }
        Ok(())
    }

    /// Runs `f` with the heap. A disposed handle's id is the negative number of its disposal,
    /// whose place the error names where it was traced.
    pub fn with_heap<T>(
        &self,
        ids: &[f64],
        f: impl FnOnce(&Heap) -> Result<T, Error>,
    ) -> Result<T, TensorError> {
        let run = || {
            self.refresh(ids)?;
            f(&self.heap.borrow())
        };
        run().map_err(|error| self.explained(ids, error))
    }

    /// An error of the core with what is known here: places, and who holds memory.
    #[cold]
    fn explained(&self, ids: &[f64], error: Error) -> TensorError {
        match error {
            Error::Disposed { op } => {
                let at = ids.iter().find_map(|id| self.disposal(*id));
                TensorError::Disposed { op, at: at.unwrap_or_default() }
            }
            error @ Error::Memory { .. } => {
                TensorError::Memory { error, holders: self.top_holders() }
            }
            error => TensorError::Core(error),
        }
    }

    /// Where a handle was disposed, by what stands for its id since.
    pub fn disposal(&self, id: f64) -> Option<String> {
        self.disposals.borrow().place(-id)
    }

    /// Keeps a walk while JavaScript runs a user-defined step; its number is above 0.
    pub fn park(&self, walk: Walk) -> f64 {
        let mut walks = self.walks.borrow_mut();
        walks.next += 1;
        let number = walks.next;
        walks.parked.insert(number, walk);
        number as f64
    }

    pub fn unpark(&self, number: f64) -> Result<Walk, Error> {
        let walk = self.walks.borrow_mut().parked.remove(&(number as u64));
        walk.ok_or_else(|| Error::autograd("this pass is over").in_op("backward"))
    }

    /// Releases a handle; a finalizer may call it while the heap is in use.
    pub fn release(&self, id: HeapId, by: Releaser) -> bool {
        match self.heap.try_borrow_mut() {
            Ok(mut heap) => {
                if !self.late.borrow().is_empty() {
                    for (id, by) in self.late.borrow_mut().drain(..) {
                        heap.release(id, by);
                    }
                }
                heap.release(id, by)
            }
            Err(_) => {
                self.late.borrow_mut().push((id, by));
                false
            }
        }
    }
}

/// The isolate whose op ran last on this thread, and its state.
type Last = (*const OpState, *const Rc<TensorState>);
const NOBODY: Last = (std::ptr::null(), std::ptr::null());
thread_local!(static LAST: Cell<Last> = const { Cell::new(NOBODY) });

impl Drop for TensorState {
    fn drop(&mut self) {
        LAST.set(NOBODY);
    }
}

fn system_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
