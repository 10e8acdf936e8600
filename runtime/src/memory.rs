//! When the collector runs for the sake of tensors.
//!
//! Invariant: nothing else in the product makes the collector run (see clippy.toml). Bytes
//! decide, never object counts: one handle can hold gigabytes. A program whose tensors are
//! released early never reaches a threshold. Deliberately not here: memory limits.

use std::cell::Cell;

use deno_core::v8;
use mlrun_globals::GcKind;
use mlrun_globals::Pacer;

/// V8 flag without which a requested minor collection does nothing. It also shows
/// `globalThis.gc`, which the global scope takes away again.
pub(crate) const V8_FLAGS: &str = "--expose-gc";

/// New bytes after which a minor collection is worth its tenth of a millisecond.
const YOUNG: u64 = 64 << 20;

/// Minor collections by allocation, major ones by growth.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Live bytes after the last major collection.
    floor: Cell<u64>,
}

impl Pacer for Pace {
    fn threshold(&self) -> u64 {
        YOUNG
    }

    /// A minor collection; a major one too if what survives has grown, since the last major
    /// one, by [`YOUNG`] and by half of what was live then.
    fn pace(&self, _pending: u64, _live: u64, collect: &mut dyn FnMut(GcKind) -> u64) {
        let live = collect(GcKind::Minor);
        let floor = self.floor.get();
        if live >= floor.saturating_add(YOUNG.max(floor / 2)) {
            self.floor.set(collect(GcKind::Major));
        } else {
            // Releases without a collection lower the floor as well.
            self.floor.set(floor.min(live));
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this module makes the collector run")]
    fn collect(&self, isolate: &mut v8::Isolate, kind: GcKind) {
        match kind {
            GcKind::Minor => {
                isolate.request_garbage_collection_for_testing(v8::GarbageCollectionType::Minor);
            }
            GcKind::Major => isolate.low_memory_notification(),
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
        pace.pace(YOUNG, 0, &mut |kind| {
            asked.push(kind);
            after[asked.len() - 1]
        });
        asked
    }

    #[test]
    fn major_collections_follow_growth() {
        use GcKind::{Major, Minor};
        let pace = Pace::default();
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
}
