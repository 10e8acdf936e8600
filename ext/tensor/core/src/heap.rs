//! The handle heap: slots that JavaScript names by id.
//!
//! An id is one number that a double holds exactly: slot index and generation. Invariants: only
//! this module makes and ends slots; a released slot's id never names another tensor (a slot
//! whose generation would wrap is retired); every live slot holds one count on its storage.

use crate::error::{Error, Result};
use crate::quick::Made;
use crate::tensor::Tensor;
use std::mem::MaybeUninit;

const INDEX_BITS: u32 = 26;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
const MAX_GENERATION: u32 = (1 << 27) - 1;

/// Slot index and generation in 53 bits. 0 and negative numbers name nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapId(u64);

impl HeapId {
    #[inline]
    pub fn from_f64(v: f64) -> HeapId {
        HeapId(v as u64) // saturates; NaN and negative numbers become 0
    }
    #[inline]
    pub fn to_f64(self) -> f64 {
        self.0 as f64
    }
    #[inline]
    fn new(index: u32, generation: u32) -> HeapId {
        HeapId((generation as u64) << INDEX_BITS | index as u64)
    }
    /// The slot's number.
    #[inline]
    pub fn index(self) -> usize {
        (self.0 & INDEX_MASK) as usize
    }
    #[inline]
    fn generation(self) -> u32 {
        u32::try_from(self.0 >> INDEX_BITS).unwrap_or(0)
    }
}

/// A place for a tensor. By hand and not an `Option`, so that a tensor can be made in it.
struct Slot {
    generation: u32,
    live: bool,
    /// Initialised while `live`.
    tensor: MaybeUninit<Tensor>,
}

impl Slot {
    fn empty() -> Slot {
        Slot { generation: 1, live: false, tensor: MaybeUninit::uninit() }
    }

    #[inline]
    fn get(&self, id: HeapId) -> Option<&Tensor> {
        if !self.live || self.generation != id.generation() {
            return None;
        }
        // SAFETY: `live` says that the tensor is there.
        Some(unsafe { self.tensor.assume_init_ref() })
    }

    #[inline]
    fn get_mut(&mut self, id: HeapId) -> Option<&mut Tensor> {
        if !self.live || self.generation != id.generation() {
            return None;
        }
        // SAFETY: `live` says that the tensor is there.
        Some(unsafe { self.tensor.assume_init_mut() })
    }

    #[inline]
    fn fill(&mut self, tensor: Tensor) {
        self.clear();
        self.tensor.write(tensor);
        self.live = true;
    }

    /// Makes the result of a call whose first operand is `like`.
    #[inline(always)]
    fn make(&mut self, made: Made, like: &Tensor) {
        self.clear();
        // SAFETY: the slot was just emptied, so that nothing is overwritten, and `write` fills it.
        unsafe { made.write(like, self.tensor.as_mut_ptr()) };
        self.live = true;
    }

    #[inline]
    fn clear(&mut self) {
        if self.live {
            self.live = false;
            // SAFETY: the slot was live, and is not any more: this is the only drop.
            unsafe { self.tensor.assume_init_drop() };
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Who let go of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Releaser {
    Pass = 0,
    MinorGc = 1,
    MajorGc = 2,
    Dispose = 3,
}

/// Handles and bytes that one releaser freed. Bytes count when the last count on a storage goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Released {
    pub tensors: u64,
    pub bytes: u64,
}

#[derive(Default)]
pub struct Heap {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
    released: [Released; 4],
}

impl Heap {
    #[inline]
    pub fn insert(&mut self, tensor: Tensor) -> Result<HeapId> {
        let index = self.vacant()?;
        Ok(self.fill(index, tensor))
    }

    /// Inserts what the short way made for a call whose first operand is `like`.
    #[inline(always)]
    pub fn insert_made(&mut self, made: Made, like: HeapId) -> Result<HeapId> {
        let index = self.vacant()?;
        let both = self.slots.get_disjoint_mut([like.index(), index]);
        let Ok([operand, slot]) = both else { return Err(disposed()) };
        slot.make(made, operand.get(like).ok_or_else(disposed)?);
        self.live += 1;
        self.free.pop();
        Ok(HeapId::new(index as u32, slot.generation))
    }

    /// The number of an empty slot, the last one on the free list.
    #[inline]
    fn vacant(&mut self) -> Result<usize> {
        match self.free.last() {
            Some(index) => Ok(*index as usize),
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> Result<usize> {
        let index = self.slots.len();
        if index as u64 > INDEX_MASK {
            return Err(Error::argument("too many live tensors, expected at most 2^26"));
        }
        self.slots.push(Slot::empty());
        self.free.push(index as u32);
        Ok(index)
    }

    #[inline]
    fn fill(&mut self, index: usize, tensor: Tensor) -> HeapId {
        let slot = &mut self.slots[index];
        slot.fill(tensor);
        self.live += 1;
        self.free.pop();
        HeapId::new(index as u32, slot.generation)
    }

    #[inline]
    pub fn find(&self, id: HeapId) -> Option<&Tensor> {
        self.slots.get(id.index())?.get(id)
    }

    #[inline]
    pub fn get(&self, id: HeapId) -> Result<&Tensor> {
        self.find(id).ok_or_else(disposed)
    }

    pub fn get_mut(&mut self, id: HeapId) -> Result<&mut Tensor> {
        self.slots.get_mut(id.index()).and_then(|slot| slot.get_mut(id)).ok_or_else(disposed)
    }

    pub fn contains(&self, id: HeapId) -> bool {
        self.find(id).is_some()
    }

    /// Ends a slot; false where the id names none (it was released before).
    #[inline]
    pub fn release(&mut self, id: HeapId, by: Releaser) -> bool {
        let Some(slot) = self.slots.get_mut(id.index()) else { return false };
        let Some(tensor) = slot.get(id) else { return false };
        let entry = &mut self.released[by as usize];
        entry.tensors += 1;
        if tensor.storage.is_unique() {
            entry.bytes += tensor.storage.bytes() as u64;
        }
        slot.clear();
        self.live -= 1;
        if slot.generation < MAX_GENERATION {
            slot.generation += 1;
            self.free.push(id.index() as u32);
        }
        true
    }

    /// Live handles and their tensors.
    pub fn iter(&self) -> impl Iterator<Item = (HeapId, &Tensor)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let id = HeapId::new(index as u32, slot.generation);
            Some((id, slot.get(id)?))
        })
    }

    /// Number of live handles.
    pub fn live(&self) -> usize {
        self.live
    }

    pub fn released(&self, by: Releaser) -> Released {
        self.released[by as usize]
    }
}

#[cold]
fn disposed() -> Error {
    Error::Disposed { op: "".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::layout::Layout;
    use crate::pool::HostPool;
    use crate::storage::Storage;
    use std::sync::Arc;

    fn tensor(pool: &Arc<HostPool>) -> Tensor {
        Tensor::new(Storage::new(pool, 4).unwrap(), Layout::contiguous(&[1]), DType::F32)
    }

    #[test]
    fn a_released_id_never_names_another_tensor() {
        let pool = Arc::new(HostPool::new());
        let mut heap = Heap::default();
        let a = heap.insert(tensor(&pool)).unwrap();
        assert!(heap.release(a, Releaser::Pass));
        let b = heap.insert(tensor(&pool)).unwrap();
        assert_ne!(a, b);
        assert!(heap.get(a).is_err() && heap.get(b).is_ok());
        assert!(!heap.release(a, Releaser::MinorGc), "a second release is refused");
        assert_eq!(heap.live(), 1);
        assert_eq!(heap.released(Releaser::Pass).bytes, 4);
        assert_eq!(heap.released(Releaser::MinorGc).tensors, 0);
    }

    #[test]
    fn a_slot_retires_before_its_generation_wraps() {
        let pool = Arc::new(HostPool::new());
        let mut heap = Heap::default();
        let a = heap.insert(tensor(&pool)).unwrap();
        heap.slots[a.index()].generation = MAX_GENERATION;
        let last = HeapId::new(a.index() as u32, MAX_GENERATION);
        assert_eq!(HeapId::from_f64(last.to_f64()), last, "a double holds the largest id");
        assert!(heap.release(last, Releaser::Pass));
        let next = heap.insert(tensor(&pool)).unwrap();
        assert_ne!(next.index(), a.index());
    }

    #[test]
    fn what_the_short_way_made_is_laid_out_as_its_operand() {
        let pool = Arc::new(HostPool::new());
        let mut heap = Heap::default();
        let made = || Made { storage: Storage::new(&pool, 4).unwrap(), node: None };
        // Five dimensions do not fit into the lists' own room.
        for ndim in [0, 1, 4, 5] {
            let like = Tensor {
                layout: Layout { offset: 0, ..Layout::contiguous(&vec![1; ndim]) },
                ..tensor(&pool)
            };
            let a = heap.insert(like).unwrap();
            heap.get_mut(a).unwrap().layout.offset = 3;
            let b = heap.insert_made(made(), a).unwrap();
            let (a, b) = (heap.get(a).unwrap(), heap.get(b).unwrap());
            assert_eq!((a.layout.offset, b.layout.offset), (3, 0));
            assert_eq!((&a.layout.shape, &a.layout.strides), (&b.layout.shape, &b.layout.strides));
            assert!(!b.storage.same(&a.storage) && b.dtype == a.dtype && b.is_leaf());
        }
        assert_eq!((heap.live(), pool.account.live()), (8, 32));
        assert!(heap.insert_made(made(), HeapId::from_f64(0.0)).is_err());
        assert_eq!((heap.live(), pool.account.live()), (8, 32), "nothing is left of a failure");
        drop(heap);
        assert_eq!(pool.account.live(), 0);
    }

    #[test]
    fn strange_numbers_name_nothing() {
        let heap = Heap::default();
        for v in [f64::NAN, -1.0, 0.0, 1e300, f64::INFINITY] {
            assert!(heap.get(HeapId::from_f64(v)).is_err());
        }
    }
}
