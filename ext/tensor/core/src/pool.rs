//! Host memory for storages: 64-byte aligned blocks, reused by size class, counted exactly.
//!
//! Invariants: `live` is the sum of the sizes that storages asked for, `pooled` the sum of the
//! capacities that wait for reuse; both change in the call that moves the block. Any thread may
//! take and give; the one that made the pool (an isolate's) does so without locks and without
//! read-modify-write instructions, which is most of what a tiny op costs. What waits is bounded by
//! what was in use lately (`tick`). Deliberately not here: budgets and when the collector runs (the
//! runtime's memory module), memory of the system (`system`), who made a block (`sites`), byte counts
//! (`account`).

pub use crate::account::Account;
use crate::error::{Error, Result};
use crate::fault::FaultHook;
use crate::sites::Sites;
use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicUsize, Mutex, MutexGuard, this_thread};
use crate::system;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// Alignment of every block in bytes: a cache line and the widest vector register.
pub const ALIGN: usize = 64;
/// Blocks above this size go straight back to the system.
const MAX_POOLED_BLOCK: usize = 64 << 20;
/// Waiting blocks are kept up to this, up to the live bytes, or as long as both together are no
/// more than what was live lately.
const ALWAYS_POOLED: u64 = 64 << 20;
/// Waiting bytes that are left to a pool that is not used.
const IDLE_POOLED: u64 = 1 << 20;
/// Number of size classes of blocks that are pooled.
const CLASSES: usize = class_of(MAX_POOLED_BLOCK).0 + 1;

/// What stands in front of a block's bytes, in the same allocation.
#[repr(C, align(64))]
pub(crate) struct Header {
    /// Counts of the storage that the block belongs to.
    pub count: AtomicUsize,
    /// Bytes that were asked for.
    pub bytes: usize,
    /// Raised by in-place ops; the tape compares it (autograd's version check).
    pub version: AtomicU32,
    /// Number of the sample that this block is (`sites`); 0: none.
    sample: u32,
    capacity: usize,
    /// The next waiting block of a list.
    next: *mut Header,
    /// Held by waiting blocks too, so that reuse touches no count; [`Shared::close`] ends that.
    pool: Arc<Shared>,
}

const HEADER: usize = std::mem::size_of::<Header>();

impl Header {
    pub fn data(header: NonNull<Header>) -> *mut u8 {
        header.as_ptr().cast::<u8>().wrapping_add(HEADER)
    }
}

/// One isolate's memory. Dropping it returns what waits; blocks in use are returned to the system
/// when their storages end.
#[derive(Debug)]
pub struct HostPool(Arc<Shared>);

impl std::ops::Deref for HostPool {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Default for HostPool {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for HostPool {
    fn drop(&mut self) {
        self.0.closed.store(true, Relaxed);
        self.0.trim();
    }
}

/// What a pool's blocks know of it.
pub struct Shared {
    pub account: Account,
    pub fault: FaultHook,
    pub sites: Sites,
    owner: u64,
    closed: AtomicBool,
    /// Waiting blocks by class, for the owner only.
    own: UnsafeCell<[*mut Header; CLASSES]>,
    /// Waiting blocks that other threads gave.
    others: Mutex<Vec<Waiting>>,
    waiting_others: AtomicUsize,
}

/// A waiting block on its way between threads.
struct Waiting(NonNull<Header>);

// SAFETY: a waiting block is plain memory that nobody refers to.
unsafe impl Send for Waiting {}
// SAFETY: `own` is touched only after `is_owner`, hence by one thread; the rest is atomic or locked.
unsafe impl Sync for Shared {}
// SAFETY: nothing in it belongs to a thread but `own`, which is asked for as above.
unsafe impl Send for Shared {}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostPool").field("account", &self.account).finish_non_exhaustive()
    }
}

/// Class and capacity for a request: multiples of 64 bytes up to 256, then four steps per power
/// of two, so that at most a fifth of a large block is unused.
#[inline]
const fn class_of(bytes: usize) -> (usize, usize) {
    let bytes = if bytes == 0 { 1 } else { bytes };
    if bytes <= 256 {
        let class = bytes.div_ceil(ALIGN) - 1;
        return (class, (class + 1) * ALIGN);
    }
    let top = (bytes - 1).ilog2();
    let (base, step) = (1usize << top, 1usize << (top - 2));
    let quarter = (bytes - base).div_ceil(step);
    (4 * (top as usize - 7) + quarter - 1, base.saturating_add(quarter * step))
}

impl HostPool {
    /// A pool that belongs to the calling thread.
    pub fn new() -> Self {
        HostPool(Arc::new(Shared {
            account: Account::new(),
            fault: FaultHook::default(),
            sites: Sites::default(),
            owner: this_thread(),
            closed: AtomicBool::new(false),
            own: UnsafeCell::new([std::ptr::null_mut(); CLASSES]),
            others: Mutex::default(),
            waiting_others: AtomicUsize::new(0),
        }))
    }

    /// What outlives the pool while blocks are in use.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// A block of at least `bytes` bytes with undefined contents and a count of one.
    #[inline]
    pub(crate) fn take(&self, bytes: usize) -> Result<NonNull<Header>> {
        let shared = &self.0;
        let account = &shared.account;
        if shared.fault.check() || account.live().saturating_add(bytes as u64) > account.limit() {
            return Err(shared.memory_error(bytes));
        }
        let own = shared.is_owner();
        let (class, capacity) = class_of(bytes);
        let block = match shared.waiting(own, class) {
            Some(block) => {
                // SAFETY: a block from a list is a header that nobody else refers to.
                let header = unsafe { &mut *block.as_ptr() };
                header.bytes = bytes;
                header.count = AtomicUsize::new(1);
                header.version = AtomicU32::new(0);
                header.sample = 0;
                account.add_pooled(own, -(header.capacity as i64));
                block
            }
            None => self.fresh(bytes, capacity)?,
        };
        account.add_live(own, bytes as i64);
        if own && let Some(taken) = account.sample_due(bytes as u64) {
            // SAFETY: nobody else refers to the block yet.
            unsafe { &mut *block.as_ptr() }.sample = shared.sampled(bytes as u64, taken);
        }
        Ok(block)
    }

    #[cold]
    fn fresh(&self, bytes: usize, capacity: usize) -> Result<NonNull<Header>> {
        let size = capacity.checked_add(HEADER).ok_or_else(|| self.memory_error(bytes))?;
        self.make_room(capacity as u64);
        let take = || NonNull::new(system::take(size).cast::<Header>());
        let block = take().or_else(|| {
            self.trim();
            take()
        });
        let block = block.ok_or_else(|| self.memory_error(bytes))?;
        let header = Header {
            count: AtomicUsize::new(1),
            bytes,
            version: AtomicU32::new(0),
            sample: 0,
            capacity,
            next: std::ptr::null_mut(),
            pool: self.0.clone(),
        };
        // SAFETY: the allocation begins with room for a header at its alignment.
        unsafe { block.write(header) };
        Ok(block)
    }
}

impl Shared {
    #[inline]
    fn is_owner(&self) -> bool {
        self.owner == this_thread()
    }

    /// Waiting blocks leave where they and `more` bytes would pass the limit by much.
    fn make_room(&self, more: u64) {
        let account = &self.account;
        let limit = account.limit();
        let most = limit.saturating_add(limit / 16);
        let live = account.live().saturating_add(more);
        if live.saturating_add(account.pooled()) > most {
            self.shrink(most.saturating_sub(live));
        }
    }

    /// A block of `bytes` bytes is a sample, for all that was taken since the last one.
    #[cold]
    fn sampled(&self, bytes: u64, taken: u64) -> u32 {
        self.sites.add(self.account.sampled(taken).max(bytes))
    }

    pub(crate) fn memory_error(&self, bytes: usize) -> Error {
        self.account.set_refused(bytes as u64);
        Error::Memory {
            op: "".into(),
            requested: bytes as u64,
            live: self.account.live(),
            limit: self.account.limit(),
        }
    }

    /// A waiting block of a class.
    #[inline]
    fn waiting(&self, own: bool, class: usize) -> Option<NonNull<Header>> {
        if own {
            // SAFETY: the caller is the owner, and no reference into `own` outlives a function.
            let head = unsafe { (*self.own.get()).get_mut(class)? };
            if let Some(block) = NonNull::new(*head) {
                // SAFETY: blocks in a list are headers that nobody else refers to.
                *head = unsafe { block.as_ref().next };
                return Some(block);
            }
        }
        if self.waiting_others.load(Relaxed) == 0 { None } else { self.waiting_other(own, class) }
    }

    #[cold]
    fn waiting_other(&self, own: bool, class: usize) -> Option<NonNull<Header>> {
        let mut others = lock(&self.others);
        // SAFETY: waiting blocks are headers that nobody else refers to.
        let at =
            others.iter().position(|b| class_of(unsafe { b.0.as_ref() }.capacity).0 == class)?;
        let block = others.swap_remove(at).0;
        self.waiting_others.store(others.len(), Relaxed);
        if own {
            // The caller takes it off the owner's count.
            // SAFETY: as above.
            let capacity = unsafe { block.as_ref() }.capacity as i64;
            self.account.add_pooled(false, -capacity);
            self.account.add_pooled(true, capacity);
        }
        Some(block)
    }

    /// Returns every waiting block that this thread may touch to the system; the bytes returned.
    pub fn trim(&self) -> u64 {
        self.shrink(0)
    }

    /// To be called now and then by the owner: what was not in use since the last call but one
    /// has waited long enough. A pool that is not used keeps a tenth of what is live.
    pub fn tick(&self) -> u64 {
        let account = &self.account;
        let (live, lately) = (account.live(), account.lately());
        account.tick(live);
        let most = lately.saturating_sub(live).max(live / 10).max(IDLE_POOLED);
        if account.pooled() > most { self.shrink(most) } else { 0 }
    }

    /// Returns waiting blocks, large ones first, until at most `most` bytes wait.
    fn shrink(&self, most: u64) -> u64 {
        let before = self.account.pooled();
        // A closed pool must meet whoever gives a block right now: its count may not be seen yet.
        if before > most || most == 0 {
            self.shrink_others();
        }
        if self.is_owner() {
            self.shrink_own(most);
        }
        let gone = before.saturating_sub(self.account.pooled());
        if gone >= IDLE_POOLED {
            system::settle();
        }
        gone
    }

    fn shrink_others(&self) {
        let others = {
            let mut others = lock(&self.others);
            self.waiting_others.store(0, Relaxed);
            std::mem::take(&mut *others)
        };
        for block in others {
            // SAFETY: waiting blocks are headers that nobody else refers to.
            let capacity = unsafe { block.0.as_ref() }.capacity;
            self.account.add_pooled(false, -(capacity as i64));
            free(block.0);
        }
    }

    /// For the owner only.
    fn shrink_own(&self, most: u64) {
        for class in (0..CLASSES).rev() {
            // To the last block without a look at the count, which other threads change meanwhile.
            while most == 0 || self.account.pooled() > most {
                // SAFETY: only the owner calls this; the reference ends before `free`.
                let head = unsafe { &mut (*self.own.get())[class] };
                let Some(block) = NonNull::new(*head) else { break };
                // SAFETY: blocks in a list are headers that nobody else refers to.
                let header = unsafe { block.as_ref() };
                *head = header.next;
                self.account.add_pooled(true, -(header.capacity as i64));
                free(block);
            }
        }
    }

    /// Whether a block may wait for its next use.
    #[inline]
    fn keeps(&self, capacity: usize) -> bool {
        let pooled = self.account.pooled() + capacity as u64;
        let live = self.account.live();
        capacity <= MAX_POOLED_BLOCK
            && (pooled <= live.max(ALWAYS_POOLED) || live + pooled <= self.account.lately())
            && !self.closed.load(Relaxed)
    }

    /// Counts memory that blocks do not hold, or no longer.
    pub(crate) fn weigh(&self, bytes: i64) {
        self.account.add_live(self.is_owner(), bytes);
    }
}

/// Takes back a block whose last count is gone.
///
/// # Safety
/// `take` made the block, it was not given before and nobody refers to it.
#[inline]
pub(crate) unsafe fn give(mut block: NonNull<Header>) {
    // SAFETY: the caller holds the only reference.
    let header = unsafe { block.as_mut() };
    let shared: &Shared = &header.pool;
    let own = shared.is_owner();
    shared.account.add_live(own, -(header.bytes as i64));
    if header.sample != 0 {
        shared.sites.remove(header.sample);
    }
    if !shared.keeps(header.capacity) {
        return free_and_trim(block, own);
    }
    let capacity = header.capacity;
    shared.account.add_pooled(own, capacity as i64);
    if own {
        // SAFETY: this thread is the owner; the class is one of the pooled ones (`keeps`).
        let head = unsafe { &mut (*shared.own.get())[class_of(capacity).0] };
        header.next = *head;
        *head = block.as_ptr();
        return;
    }
    give_other(shared, block);
}

#[cold]
fn give_other(shared: &Shared, block: NonNull<Header>) {
    let mut others = lock(&shared.others);
    if !shared.closed.load(Relaxed) {
        others.push(Waiting(block));
        shared.waiting_others.store(others.len(), Relaxed);
        return;
    }
    drop(others);
    // SAFETY: the caller's block is a header that nobody else refers to.
    shared.account.add_pooled(false, -(unsafe { block.as_ref() }.capacity as i64));
    free(block);
}

#[cold]
fn free_and_trim(block: NonNull<Header>, own: bool) {
    // SAFETY: the caller's block is a header that nobody else refers to.
    let shared = unsafe { block.as_ref() }.pool.clone();
    free(block);
    // A pool that was closed on another thread could not touch the owner's blocks.
    if own && shared.closed.load(Relaxed) {
        shared.shrink_own(0);
    }
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn free(block: NonNull<Header>) {
    // SAFETY: the block is a header that nobody refers to any more; `fresh` made it with exactly
    // this size, and it is freed once. The pool's count outlives it.
    unsafe {
        let header = block.read();
        system::give(block.as_ptr().cast(), header.capacity + HEADER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{SAMPLED, process_peak};

    fn give_back(block: NonNull<Header>) {
        // SAFETY: every test gives a block that it took, once.
        unsafe { give(block) }
    }

    #[test]
    fn a_block_of_a_class_serves_every_request_of_that_class() {
        for bytes in (1..5000).chain([65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1]) {
            let (class, capacity) = class_of(bytes);
            assert!(capacity >= bytes && capacity % ALIGN == 0, "{bytes}");
            assert_eq!(class_of(capacity).0, class, "{bytes} with capacity {capacity}");
            assert_eq!(class_of(capacity).1, capacity, "{bytes}");
        }
    }

    #[test]
    fn counts_are_exact() {
        let pool = HostPool::new();
        let a = pool.take(100).unwrap();
        let b = pool.take(1000).unwrap();
        assert_eq!(pool.account.live(), 1100);
        give_back(a);
        assert_eq!(pool.account.live(), 1000);
        assert_eq!(pool.account.pooled(), 128);
        let c = pool.take(128).unwrap();
        assert_eq!(pool.account.pooled(), 0);
        give_back(b);
        give_back(c);
        assert_eq!(pool.account.peak(), 1128);
        assert!(pool.trim() > 0);
        assert_eq!((pool.account.pooled(), pool.account.live()), (0, 0));
    }

    #[test]
    fn the_peak_of_the_process_is_that_of_all_pools_together() {
        let pools = [HostPool::new(), HostPool::new()];
        let blocks = pools.each_ref().map(|pool| pool.take(100 << 20).unwrap());
        let peak = process_peak();
        assert!(peak >= 200 << 20, "{peak}");
        blocks.into_iter().for_each(give_back);
        assert!(process_peak() >= peak);
    }

    #[test]
    fn a_limit_is_an_error_and_changes_nothing() {
        let pool = HostPool::new();
        pool.account.set_limit(1000);
        let a = pool.take(600).unwrap();
        assert!(matches!(pool.take(600), Err(Error::Memory { requested: 600, .. })));
        assert_eq!(pool.account.live(), 600);
        give_back(a);
    }

    #[test]
    fn blocks_move_between_threads_and_are_reused() {
        let pool = Arc::new(HostPool::new());
        let mine = Waiting(pool.take(500).unwrap());
        let other = pool.clone();
        let theirs = std::thread::spawn(move || {
            let mine = mine;
            give_back(mine.0);
            Waiting(other.take(5000).unwrap())
        })
        .join()
        .unwrap();
        assert_eq!(pool.account.live(), 5000);
        assert_eq!(pool.account.pooled(), 512);
        let again = pool.take(512).unwrap();
        assert_eq!((pool.account.live(), pool.account.pooled()), (5512, 0));
        give_back(theirs.0);
        give_back(again);
        assert_eq!(pool.account.live(), 0);
        assert!(pool.account.pooled() >= 5512);
        pool.trim();
        assert_eq!(pool.account.pooled(), 0);
    }

    #[test]
    fn what_waits_for_long_leaves_large_blocks_first() {
        let pool = HostPool::new();
        let stays = pool.take(1 << 20).unwrap();
        let blocks: Vec<_> = (0..40).map(|_| pool.take(4 << 20).unwrap()).collect();
        let small = pool.take(64 << 10).unwrap();
        blocks.into_iter().for_each(give_back);
        give_back(small);
        let all = 40 * (4 << 20) + (64 << 10);
        assert_eq!(pool.account.pooled(), all, "no more waits than was live");
        pool.tick();
        assert_eq!(pool.account.pooled(), all, "it was in use since the tick before");
        pool.tick();
        assert_eq!(pool.account.pooled(), all, "it was in use between the two ticks before");
        pool.tick();
        assert_eq!(pool.account.pooled(), 64 << 10);
        assert_eq!(pool.account.live(), 1 << 20);
        give_back(stays);
    }

    #[test]
    fn the_limit_holds_for_live_and_waiting_blocks() {
        let pool = HostPool::new();
        pool.account.set_limit(32 << 20);
        let blocks: Vec<_> = (0..8).map(|_| pool.take(4 << 20).unwrap()).collect();
        blocks.into_iter().for_each(give_back);
        assert_eq!(pool.account.pooled(), 32 << 20);
        let other = pool.take(16 << 20).unwrap();
        assert!(pool.account.live() + pool.account.pooled() <= 34 << 20);
        give_back(other);
    }

    #[test]
    fn samples_stand_for_what_was_taken_since_the_last() {
        let pool = HostPool::new();
        let small: Vec<_> = (0..SAMPLED / 1024 * 3).map(|_| pool.take(1024).unwrap()).collect();
        let large = pool.take(3 * SAMPLED as usize).unwrap();
        pool.sites.settle(1);
        let held = pool.sites.held()[1];
        assert_eq!((held.bytes, held.blocks), (6 * SAMPLED, 4));
        small.into_iter().for_each(give_back);
        assert_eq!(pool.sites.held()[1].bytes, 3 * SAMPLED);
        pool.account.sample_all();
        let tiny = pool.take(10).unwrap();
        pool.sites.settle(2);
        assert_eq!((pool.sites.held()[2].bytes, pool.sites.held()[2].blocks), (10, 1));
        give_back(large);
        give_back(tiny);
        assert!(pool.sites.held().iter().all(|h| h.bytes == 0));
    }

    #[test]
    fn a_dropped_pool_leaves_nothing_behind() {
        let pool = HostPool::new();
        let shared = Arc::downgrade(&pool.0);
        let (used, waits) = (pool.take(64).unwrap(), pool.take(64).unwrap());
        give_back(waits);
        drop(pool);
        assert!(shared.upgrade().is_some(), "a block is still in use");
        give_back(used);
        assert!(shared.upgrade().is_none());
    }
}
