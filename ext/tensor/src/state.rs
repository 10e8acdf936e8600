//! What one isolate owns on the native side: its engine and its handle heap.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use deno_core::OpState;
use mlrun_tensor_core::heap::Releaser;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{Engine, Error, Heap, HeapId, Tensor};
use mlrun_tensor_cpu::CpuBackend;

use crate::collect::{Nursery, Pacer};
use crate::error::TensorError;

/// How to make a [`TensorState`].
#[derive(Clone, Default)]
pub struct TensorOptions {
    /// Threads of the kernels; `None`: one per core.
    pub threads: Option<std::num::NonZeroUsize>,
    /// Seed of the random numbers; `None`: drawn from the system.
    pub seed: Option<u64>,
    /// Decides when the collector runs; `None`: never on its own.
    pub pacer: Option<Rc<dyn Pacer>>,
}

pub struct TensorState {
    pub engine: Engine,
    pub heap: RefCell<Heap>,
    pub nursery: Nursery,
    /// Handles that a finalizer found while the heap was in use.
    late: RefCell<Vec<(HeapId, Releaser)>>,
    /// Who runs the collector right now, for the release counters.
    pub collecting: Cell<Option<Releaser>>,
}

impl TensorState {
    pub fn new(options: TensorOptions) -> TensorState {
        let pool = Arc::new(HostPool::new());
        let backend = Arc::new(match options.threads {
            Some(n) => CpuBackend::new(n.get()),
            None => CpuBackend::for_machine(),
        });
        let engine = Engine::new(backend, pool);
        engine.manual_seed(options.seed.unwrap_or_else(system_seed));
        TensorState {
            engine,
            heap: RefCell::default(),
            nursery: Nursery::new(options.pacer),
            late: RefCell::default(),
            collecting: Cell::new(None),
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
        Ok(if self.nursery.allocated(bytes) { -id } else { id })
    }

    /// Runs `f` with the heap. A disposed handle's id is the negative number of the record that
    /// JavaScript keeps of the disposal; the error carries it.
    pub fn with_heap<T>(
        &self,
        ids: &[f64],
        f: impl FnOnce(&Heap) -> Result<T, Error>,
    ) -> Result<T, TensorError> {
        f(&self.heap.borrow()).map_err(|error| match error {
            Error::Disposed { op } => {
                let record = ids.iter().find(|id| **id < 0.0).map_or(0.0, |id| -id);
                TensorError::Disposed { op, record }
            }
            error => TensorError::Core(error),
        })
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
