//! The thread pool: fork and join over numbered chunks.
//!
//! Invariants: the caller takes chunks itself and never waits for a worker that has not begun,
//! so a job costs at most one wake-up more than running alone; what a chunk computes depends on
//! its number only, so results do not depend on the thread count. Each thread begins with the
//! same part of the numbers in every job, so that data stays in its cache from op to op, and
//! then helps the others. A job that arrives while
//! another runs (from a second isolate, or from inside a chunk) runs on its caller alone.
//!
//! Own pool instead of rayon: measured in `benches/README.md`.

use crate::scratch::NoScratch;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long an idle worker looks for the next job before it sleeps: at least and at most.
const SPIN: [Duration; 2] = [Duration::from_micros(30), Duration::from_micros(500)];
/// Most threads that can be asked for.
pub const MAX_THREADS: usize = 256;

type Job = *const (dyn Fn(usize) + Sync);

/// A counter with a cache line to itself.
#[repr(align(128))]
struct Lane(AtomicUsize);

struct Shared {
    /// Raised with each job, so that a sleeper sees that it missed one.
    epoch: AtomicU32,
    open: AtomicBool,
    /// Workers that may touch `job`.
    active: AtomicUsize,
    /// Next number of each lane; thread i begins with lane i.
    lanes: Vec<Lane>,
    chunks: AtomicUsize,
    lane_count: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
    panicked: AtomicBool,
    stop: AtomicBool,
}

// SAFETY: `job` is written only while `open` is false and `active` is 0, and read only by
// workers that raised `active` and then saw `open`; `Threads::run` orders both with SeqCst.
unsafe impl Sync for Shared {}
// SAFETY: the raw job pointer is only followed under the protocol above.
unsafe impl Send for Shared {}

struct Worker {
    asleep: Arc<AtomicBool>,
    thread: Thread,
    handle: Option<JoinHandle<()>>,
}

/// Whether tasks ran out of working memory, and the most bytes that one of them did not get.
#[derive(Default)]
struct Missing {
    failed: AtomicBool,
    bytes: AtomicUsize,
}

impl Missing {
    fn note(&self, result: Result<(), NoScratch>) {
        if let Err(NoScratch { bytes }) = result {
            self.bytes.fetch_max(bytes, Relaxed);
            self.failed.store(true, Relaxed);
        }
    }

    fn outcome(self) -> Result<(), NoScratch> {
        let bytes = self.bytes.into_inner();
        if self.failed.into_inner() { Err(NoScratch { bytes }) } else { Ok(()) }
    }
}

/// A pool of `count() - 1` workers beside the calling thread.
pub struct Threads {
    shared: Arc<Shared>,
    count: AtomicUsize,
    workers: Mutex<Vec<Worker>>,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Threads({})", self.count())
    }
}

impl Threads {
    /// A pool that uses `count` threads, the caller included.
    pub fn new(count: usize) -> Threads {
        let shared = Arc::new(Shared {
            epoch: AtomicU32::new(0),
            open: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            lanes: (0..MAX_THREADS).map(|_| Lane(AtomicUsize::new(0))).collect(),
            chunks: AtomicUsize::new(0),
            lane_count: AtomicUsize::new(1),
            job: UnsafeCell::new(None),
            panicked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let pool = Threads { shared, count: AtomicUsize::new(1), workers: Mutex::new(Vec::new()) };
        pool.set_count(count);
        pool
    }

    /// The pool of one thread, for kernels that run inside a task.
    pub fn alone() -> &'static Threads {
        static ALONE: OnceLock<Threads> = OnceLock::new();
        ALONE.get_or_init(|| Threads::new(1))
    }

    /// A pool with a thread for each processor that this process may use.
    pub fn for_machine() -> Threads {
        Threads::new(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }

    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Changes the number of threads; waits for a running job. Workers start with the first job
    /// that needs them.
    pub fn set_count(&self, count: usize) {
        let count = count.clamp(1, MAX_THREADS);
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        self.count.store(count, Relaxed);
        if workers.len() + 1 > count {
            self.stop_workers(&mut workers);
        }
    }

    fn stop_workers(&self, workers: &mut Vec<Worker>) {
        self.shared.stop.store(true, SeqCst);
        for w in workers.iter_mut() {
            w.thread.unpark();
            if let Some(handle) = w.handle.take() {
                let _ = handle.join();
            }
        }
        workers.clear();
        self.shared.stop.store(false, SeqCst);
    }

    fn start_workers(&self, workers: &mut Vec<Worker>) {
        while workers.len() + 1 < self.count() {
            let shared = self.shared.clone();
            let asleep = Arc::new(AtomicBool::new(false));
            let flag = asleep.clone();
            let id = workers.len() + 1;
            let name = format!("mlrun-cpu-{id}");
            match std::thread::Builder::new().name(name).spawn(move || work(&shared, &flag, id)) {
                Ok(handle) => {
                    let thread = handle.thread().clone();
                    workers.push(Worker { asleep, thread, handle: Some(handle) });
                }
                // A system without threads to spare runs with those that exist.
                Err(_) => self.count.store(workers.len() + 1, Relaxed),
            }
        }
    }

    /// Calls `f` once for each number below `chunks`, on any thread, and returns when all are
    /// done.
    pub fn run(&self, chunks: usize, f: &(dyn Fn(usize) + Sync)) {
        self.run_hinted(chunks, true, f);
    }

    /// As [`Threads::run`], for tasks that may run out of working memory.
    ///
    /// # Errors
    /// If any of them did.
    pub fn try_each(
        &self,
        count: usize,
        f: impl Fn(usize) -> Result<(), NoScratch> + Sync,
    ) -> Result<(), NoScratch> {
        let missing = Missing::default();
        self.run(count, &|i| missing.note(f(i)));
        missing.outcome()
    }

    /// Runs tasks on the pool, or one after the other with the pool for each where they are few.
    ///
    /// # Errors
    /// As [`Threads::try_each`].
    pub fn try_run(
        &self,
        count: usize,
        f: impl Fn(usize, &Threads) -> Result<(), NoScratch> + Sync,
    ) -> Result<(), NoScratch> {
        if count < self.count() || self.count() == 1 {
            return (0..count).try_for_each(|i| f(i, self));
        }
        self.try_each(count, |i| f(i, Threads::alone()))
    }

    /// As [`Threads::split`], for parts that may run out of working memory.
    ///
    /// # Errors
    /// As [`Threads::try_each`].
    pub fn try_split(
        &self,
        len: usize,
        grain: usize,
        f: impl Fn(Range<usize>) -> Result<(), NoScratch> + Sync,
    ) -> Result<(), NoScratch> {
        let missing = Missing::default();
        self.split(len, grain, |range| missing.note(f(range)));
        missing.outcome()
    }

    /// As [`Threads::run`]. Without `wake` only workers help that look for work just now: waking
    /// one costs its caller about 6 us, more than a short job can win.
    pub fn run_hinted(&self, chunks: usize, wake: bool, f: &(dyn Fn(usize) + Sync)) {
        if chunks <= 1 || self.count() == 1 {
            return (0..chunks).for_each(f);
        }
        let mut workers = match self.workers.try_lock() {
            Ok(workers) => workers,
            // A chunk that panicked on its caller; the list itself is never half changed.
            Err(TryLockError::Poisoned(workers)) => workers.into_inner(),
            Err(TryLockError::WouldBlock) => return (0..chunks).for_each(f),
        };
        if workers.len() + 1 < self.count() && wake {
            self.start_workers(&mut workers);
        }
        if !wake && workers.iter().all(|w| w.asleep.load(Relaxed)) {
            return (0..chunks).for_each(f);
        }
        let s = &*self.shared;
        // SAFETY: only the lifetime changes; the job is not followed after this function, which
        // waits below for every worker that may hold it, returns or unwinds (see `Close`).
        let job: Job = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), Job>(f) };
        // SAFETY: this thread holds `workers`, hence no other job is open, and the last one
        // waited until `active` was 0.
        unsafe { *s.job.get() = Some(job) };
        let lanes = (workers.len() + 1).min(chunks);
        for (i, lane) in s.lanes.iter().enumerate().take(lanes) {
            lane.0.store(i * chunks / lanes, Relaxed);
        }
        s.chunks.store(chunks, Relaxed);
        s.lane_count.store(lanes, Relaxed);
        s.open.store(true, SeqCst);
        s.epoch.fetch_add(1, SeqCst);
        for w in workers.iter().take(if wake { chunks - 1 } else { 0 }) {
            if w.asleep.load(SeqCst) && w.asleep.swap(false, SeqCst) {
                w.thread.unpark();
            }
        }
        let close = Close(s);
        take_chunks(s, f, 0);
        drop(close);
        drop(workers);
        if s.panicked.swap(false, SeqCst) {
            panic!("a kernel thread panicked");
        }
    }

    /// Calls `f` with parts of `0..len`, none shorter than `grain` except the last. `f` must
    /// give the same result however the range is cut. A grain is some 5 us of work: the caller
    /// runs less than two of them alone, and wakes no sleeping worker for less than ten.
    #[inline]
    pub fn split(&self, len: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
        let grain = grain.max(1);
        let threads = self.count();
        if threads == 1 || len < 2 * grain {
            if len > 0 {
                f(0..len);
            }
            return;
        }
        // A few parts per thread even out threads that the system holds up.
        let size = len.div_ceil(threads * 4).max(grain);
        // Parts of elements begin at cache lines; parts of rows stay as even as they are.
        let size = if grain >= 1024 { size.next_multiple_of(64) } else { size };
        let wake = len >= 10 * grain;
        self.run_hinted(len.div_ceil(size), wake, &|i| f(i * size..((i + 1) * size).min(len)));
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let workers = self.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut workers = std::mem::take(workers);
        self.stop_workers(&mut workers);
    }
}

/// Closes the job and waits for its workers, also when the caller's own chunk panics.
struct Close<'a>(&'a Shared);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        let s = self.0;
        // No chunk is left for a worker that enters late or that shares a panicked job.
        for lane in s.lanes.iter().take(s.lane_count.load(Relaxed)) {
            lane.0.store(usize::MAX / 2, SeqCst);
        }
        s.open.store(false, SeqCst);
        let mut spins = 0u32;
        while s.active.load(SeqCst) != 0 {
            spins += 1;
            if spins < 2000 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Takes numbers from the thread's own lane, then from the others'.
#[inline]
fn take_chunks(s: &Shared, f: &(dyn Fn(usize) + Sync), thread: usize) {
    let chunks = s.chunks.load(Relaxed);
    let lanes = s.lane_count.load(Relaxed);
    for step in 0..lanes {
        let lane = (thread + step) % lanes;
        let end = (lane + 1) * chunks / lanes;
        loop {
            let i = s.lanes[lane].0.fetch_add(1, SeqCst);
            if i >= end {
                break;
            }
            f(i);
        }
    }
}

/// A worker's life: look for a job for a while, sleep, until told to stop.
fn work(s: &Shared, asleep: &AtomicBool, thread: usize) {
    let mut seen = s.epoch.load(SeqCst);
    // A job that was open when this worker started counts as unseen.
    if s.open.load(SeqCst) {
        seen = seen.wrapping_sub(1);
    }
    let mut patience = SPIN[0];
    loop {
        if !await_job(s, asleep, seen, &mut patience) {
            return;
        }
        seen = s.epoch.load(SeqCst);
        s.active.fetch_add(1, SeqCst);
        if s.open.load(SeqCst) {
            // SAFETY: `active` was raised before `open` was seen, so the caller of `run` waits
            // for this worker before the job ends.
            let job = unsafe { *s.job.get() };
            if let Some(job) = job {
                // SAFETY: as above; the closure behind the pointer outlives the job.
                let f = unsafe { &*job };
                let run = std::panic::AssertUnwindSafe(|| take_chunks(s, f, thread));
                if std::panic::catch_unwind(run).is_err() {
                    s.panicked.store(true, SeqCst);
                }
            }
        }
        s.active.fetch_sub(1, SeqCst);
    }
}

/// Waits for an epoch other than `seen`; false when the pool stops. Looks for it for `patience`,
/// which grows where a little more would have spared the sleep and shrinks where it was in vain:
/// a wake-up takes longer than most ops, and a training step leaves its workers idle between two for
/// as long as JavaScript needs.
fn await_job(s: &Shared, asleep: &AtomicBool, seen: u32, patience: &mut Duration) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if s.epoch.load(SeqCst) != seen {
                return true;
            }
            std::hint::spin_loop();
        }
        if s.stop.load(SeqCst) {
            return false;
        }
        if start.elapsed() < *patience {
            continue;
        }
        asleep.store(true, SeqCst);
        // A job or a stop between the look above and the flag must not be slept through.
        if s.epoch.load(SeqCst) == seen && !s.stop.load(SeqCst) {
            std::thread::park();
            let near = start.elapsed() < SPIN[1];
            *patience = if near { *patience * 2 } else { *patience / 2 }.clamp(SPIN[0], SPIN[1]);
        }
        asleep.store(false, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn every_chunk_runs_once() {
        for threads in [1, 2, 3, 8] {
            let pool = Threads::new(threads);
            for chunks in [0usize, 1, 2, 7, 1000] {
                let hits: Vec<AtomicU64> = (0..chunks).map(|_| AtomicU64::new(0)).collect();
                pool.run(chunks, &|i| {
                    hits[i].fetch_add(1, Relaxed);
                });
                assert!(hits.iter().all(|h| h.load(Relaxed) == 1), "{threads} {chunks}");
            }
        }
    }

    #[test]
    fn many_short_jobs_and_changes_of_count() {
        let pool = Threads::new(4);
        let sum = AtomicU64::new(0);
        for round in 0..2000 {
            if round % 500 == 0 {
                pool.set_count(1 + (round / 500) % 4);
            }
            pool.run(8, &|i| {
                sum.fetch_add(i as u64, Relaxed);
            });
        }
        assert_eq!(sum.load(Relaxed), 2000 * 28);
    }

    #[test]
    fn nested_and_concurrent_jobs_finish() {
        let pool = Arc::new(Threads::new(3));
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        pool.run(4, &|_| {
                            pool.run(4, &|_| {
                                sum.fetch_add(1, Relaxed);
                            })
                        });
                    }
                });
            }
        });
        assert_eq!(sum.load(Relaxed), 3 * 200 * 16);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Threads::new(2);
        for at in [0, 5] {
            let run = std::panic::AssertUnwindSafe(|| {
                pool.run(8, &|i| assert!(i != at, "expected"));
            });
            assert!(std::panic::catch_unwind(run).is_err());
        }
        let sum = AtomicU64::new(0);
        pool.run(8, &|i| {
            sum.fetch_add(i as u64, Relaxed);
        });
        assert_eq!(sum.load(Relaxed), 28);
    }

    #[test]
    fn split_covers_the_range_once() {
        let pool = Threads::new(2);
        for (len, grain) in [(0, 16), (1, 16), (31, 16), (1000, 64), (100_001, 1024)] {
            let seen: Vec<AtomicU64> = (0..len).map(|_| AtomicU64::new(0)).collect();
            pool.split(len, grain, |r| {
                r.for_each(|i| {
                    seen[i].fetch_add(1, Relaxed);
                })
            });
            assert!(seen.iter().all(|h| h.load(Relaxed) == 1), "{len}");
        }
    }
}
