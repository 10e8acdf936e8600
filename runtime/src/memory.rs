//! When the collector runs for the sake of tensors.
//!
//! Invariant: nothing else in the product makes the collector run (see clippy.toml). Bytes
//! decide, never object counts: one handle can hold gigabytes. A program whose tensors are
//! released early never reaches a threshold. Deliberately not here: memory limits.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use deno_core::v8;
use mlrun_globals::GcKind;
use mlrun_globals::Pacer;

use crate::gc_clock::GcClock;

/// V8 flags, before the first isolate. Without the first a requested minor collection does nothing
/// (it also shows `globalThis.gc`, which the global scope takes away again). Without the second V8
/// marks all the time where tensors come and go: it would let them grow by a tenth between two
/// major collections. The third: while V8 compiles a running loop in the background, the loop's
/// code looks for interrupts after some 10^7 turns only, so that neither a full heap nor a host could
/// end it (`for (;;) a.push(new Array(1000))`). The fourth belongs to it: a running loop in Maglev's
/// code would ask for better code at every turn, and get none but in the background: 3e7 additions took 1,700
/// instead of 30 ms. The last: small tensors leave much to the young half,
/// and in V8's usual 1 MB a third of its collections' time is theirs whatever they find.
pub(crate) const V8_FLAGS: &str = "--expose-gc --external-memory-max-growing-factor=4 \
     --no-concurrent-osr --no-maglev-osr --min-semi-space-size=2";

/// New bytes after which a minor collection is worth its tenth of a millisecond, at least.
const YOUNG: u64 = 64 << 20;

/// Of a program's processor time that collections may take, in thousandths: more doubles the bytes
/// between them, less than the second halves these.
const SHARE: (u32, u32) = (12, 3);

/// A step of 512 MB is more than any program should need.
const MOST_DOUBLED: u32 = 3;

/// A judgement of the share needs so much processor time.
const WINDOW: Duration = Duration::from_millis(100);

/// Minor collections by allocation, major ones by growth.
#[derive(Debug)]
pub(crate) struct Pace {
    clock: Rc<GcClock>,
    /// Live bytes after the last major collection.
    floor: Cell<u64>,
    /// Bytes between collections are [`YOUNG`] times two to this.
    doubled: Cell<u32>,
    /// The limit of live bytes.
    limit: Cell<u64>,
    /// Processor time of the program and of collections at the start of the current window.
    window: Cell<(Duration, Duration)>,
}

impl Pace {
    pub fn new(clock: Rc<GcClock>) -> Pace {
        Pace {
            clock,
            floor: Cell::default(),
            doubled: Cell::default(),
            limit: Cell::new(u64::MAX),
            window: Cell::default(),
        }
    }

    /// Bytes between two collections. Close to the limit frequent ones cost less than full ones.
    fn step(&self) -> u64 {
        (YOUNG << self.doubled.get()).min(self.limit.get() / 8).max(1 << 20)
    }

    /// Lengthens or shortens the step by what collections cost lately.
    fn adjust(&self) {
        let (start, spent) = self.window.get();
        let (now, spent_now) = (self.clock.busy(), self.clock.spent());
        let passed = now.saturating_sub(start);
        if passed < WINDOW {
            return;
        }
        self.window.set((now, spent_now));
        let doubled = self.doubled.get();
        let cost = spent_now.saturating_sub(spent) * 1000;
        if cost > passed * SHARE.0 && self.step() < self.limit.get() / 8 {
            self.doubled.set((doubled + 1).min(MOST_DOUBLED));
        } else if cost < passed * SHARE.1 {
            self.doubled.set(doubled.saturating_sub(1));
        }
    }
}

impl Pacer for Pace {
    fn threshold(&self) -> u64 {
        self.step()
    }

    /// A minor collection; a major one too if what survives has grown, since the last major
    /// one, by the step and by half of what was live then.
    fn pace(&self, _pending: u64, limit: u64, collect: &mut dyn FnMut(GcKind) -> u64) {
        self.limit.set(limit);
        let live = collect(GcKind::Minor);
        let floor = self.floor.get();
        if live >= floor.saturating_add(self.step().max(floor / 2)) {
            collect(GcKind::Major);
        } else {
            // Releases without a collection lower the floor as well.
            self.floor.set(floor.min(live));
        }
        self.adjust();
    }

    fn collected(&self, kind: GcKind, live: u64) {
        if kind != GcKind::Minor {
            self.floor.set(live);
        }
    }

    fn spent(&self) -> Duration {
        self.clock.spent()
    }

    #[expect(clippy::disallowed_methods, reason = "this module makes the collector run")]
    fn collect(&self, isolate: &mut v8::Isolate, kind: GcKind) {
        match kind {
            GcKind::Minor => {
                isolate.request_garbage_collection_for_testing(v8::GarbageCollectionType::Minor);
            }
            // One pass; the notification below makes several and empties V8's caches of code.
            GcKind::Major => {
                isolate.request_garbage_collection_for_testing(v8::GarbageCollectionType::Full);
            }
            GcKind::All => isolate.low_memory_notification(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Live bytes after each collection that the pacer asks for; returns what it asked for.
    fn paced(pace: &Pace, after: &[u64]) -> Vec<GcKind> {
        let mut asked = Vec::new();
        pace.pace(YOUNG, u64::MAX, &mut |kind| {
            asked.push(kind);
            let live = after[asked.len() - 1];
            pace.collected(kind, live);
            live
        });
        asked
    }

    #[test]
    fn major_collections_follow_growth() {
        use GcKind::{Major, Minor};
        let pace = Pace::new(GcClock::new());
        let steps: &[(&[u64], &[GcKind])] = &[
            (&[MIB], &[Minor]),
            (&[63 * MIB], &[Minor]),
            (&[65 * MIB, 40 * MIB], &[Minor, Major]),
            (&[100 * MIB], &[Minor]),
            (&[400 * MIB, 400 * MIB], &[Minor, Major]),
            (&[590 * MIB], &[Minor]),
            (&[600 * MIB, 600 * MIB], &[Minor, Major]),
            (&[10 * MIB], &[Minor]),
            (&[74 * MIB, 74 * MIB], &[Minor, Major]),
        ];
        for (index, (after, expected)) in steps.iter().enumerate() {
            assert_eq!(paced(&pace, after), *expected, "step {index}");
        }
    }

    #[test]
    fn a_collection_that_others_want_tells_what_lives() {
        let pace = Pace::new(GcClock::new());
        pace.collected(GcKind::All, 300 * MIB);
        assert_eq!(paced(&pace, &[440 * MIB]), [GcKind::Minor]);
        pace.collected(GcKind::Minor, 10 * MIB);
        assert_eq!(paced(&pace, &[440 * MIB]), [GcKind::Minor]);
    }

    #[test]
    fn the_step_is_a_part_of_the_limit() {
        let pace = Pace::new(GcClock::new());
        assert_eq!(pace.threshold(), YOUNG);
        pace.pace(YOUNG, 256 * MIB, &mut |_| 0);
        assert_eq!(pace.threshold(), 32 * MIB);
        pace.pace(YOUNG, 0, &mut |_| 0);
        assert_eq!(pace.threshold(), MIB);
    }
}
