//! What one isolate owns on the native side: its engine and its handle heap.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use deno_core::OpState;
use mlrun_tensor_core::heap::Releaser;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::tape::{DeadTokens, Walk};
use mlrun_tensor_core::{Engine, Error, Heap, HeapId, Tensor};
use mlrun_tensor_cpu::CpuBackend;

use crate::collect::{Nursery, Pacer};
use crate::error::TensorError;
use crate::modules::Modules;
use crate::ownership::{FunctionTexts, OwnedScripts};

/// How to make a [`TensorState`].
#[derive(Clone, Default)]
pub struct TensorOptions {
    /// Threads of the kernels; `None`: one per core.
    pub threads: Option<std::num::NonZeroUsize>,
    /// Seed of the random numbers; `None`: drawn from the system.
    pub seed: Option<u64>,
    /// A use of a tensor that the ownership pass released names the release.
    pub verify: bool,
    /// What the user wrote for functions that the ownership pass changed.
    pub texts: Option<Rc<dyn FunctionTexts>>,
    /// Bytes of tensors that may be live at once; `None`: as many as the system gives.
    pub memory_limit: Option<u64>,
    /// Decides when the collector runs; `None`: never on its own.
    pub pacer: Option<Rc<dyn Pacer>>,
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
    /// Handles that a finalizer found while the heap was in use.
    late: RefCell<Vec<(HeapId, Releaser)>>,
    /// Backward passes that wait for a user-defined step.
    walks: RefCell<Walks>,
    pub dead_tokens: DeadTokens,
    /// Who runs the collector right now, for the release counters.
    pub collecting: Cell<Option<Releaser>>,
    pub owned: OwnedScripts,
    pub verify: bool,
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
        TensorState {
            engine,
            heap: RefCell::default(),
            disposals: RefCell::default(),
            modules: RefCell::default(),
            nursery: Nursery::new(options.pacer),
            late: RefCell::default(),
            walks: RefCell::default(),
            dead_tokens: DeadTokens::default(),
            collecting: Cell::new(None),
            owned: OwnedScripts::default(),
            verify: options.verify,
            texts: options.texts,
        }
    }

    pub fn of(state: &OpState) -> &Rc<TensorState> {
        state.borrow::<Rc<TensorState>>()
    }

    /// Puts an op's result on the heap. A negative id asks the caller to have its nursery
    /// tracked soon.
    pub fn put(&self, tensor: Tensor) -> Result<f64, TensorError> {
        let bytes = tensor.storage.bytes() as u64;
        let id = self.heap.borrow_mut().insert(tensor)?.to_f64();
        let account = &self.engine.pool.account;
        let due = self.nursery.allocated(bytes, || account.live());
        Ok(if due { -id } else { id })
    }

    /// Runs `f` with the heap. A disposed handle's id is the negative number of its disposal,
    /// whose place the error names where it was traced.
    pub fn with_heap<T>(
        &self,
        ids: &[f64],
        f: impl FnOnce(&Heap) -> Result<T, Error>,
    ) -> Result<T, TensorError> {
        f(&self.heap.borrow()).map_err(|error| match error {
            Error::Disposed { op } => {
                let at = ids.iter().find_map(|id| self.disposals.borrow().place(-id));
                TensorError::Disposed { op, at: at.unwrap_or_default() }
            }
            error => TensorError::Core(error),
        })
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
                for (id, by) in self.late.borrow_mut().drain(..) {
                    heap.release(id, by);
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

fn system_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
