//! Bytes by the place in the program that made them.
//!
//! Blocks of a pool are sampled: one in so many bytes, or each while a program is traced. A sampled
//! block stands for the bytes since the last one. It waits for its place until JavaScript, which
//! alone knows the place, is asked (`settle`). Invariant: a place's bytes are the sum of the
//! weights of its sampled blocks that are alive, whoever holds them and on whichever thread they
//! end. Deliberately not here: what a place's number stands for.

use crate::sync::{AtomicBool, Mutex, MutexGuard};
use std::sync::atomic::Ordering::Relaxed;

/// Bytes and blocks of one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub bytes: u64,
    pub blocks: u64,
    /// All that the place ever made.
    pub made_bytes: u64,
    pub made_blocks: u64,
    /// Bytes when all places together held most.
    pub at_peak: u64,
}

/// A sampled block that is alive.
#[derive(Clone, Copy)]
struct Sample {
    place: u32,
    weight: u64,
    waits: bool,
}

#[derive(Default)]
struct Table {
    samples: Vec<Sample>,
    free: Vec<u32>,
    /// Samples without a place yet.
    waiting: Vec<u32>,
    /// By place; 0 is the one that nobody told.
    places: Vec<Held>,
    /// Sum of the weights.
    total: u64,
    /// Sum of the weights when `at_peak` was last written.
    written: u64,
}

/// The samples of one pool.
#[derive(Default)]
pub struct Sites {
    table: Mutex<Table>,
    waiting: AtomicBool,
}

/// Place of what nobody told.
pub const UNKNOWN: u32 = 0;

impl Sites {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether samples wait for their place.
    #[inline]
    pub fn wait(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// A new sample; its number, at least 1, goes into the block's header.
    pub(crate) fn add(&self, weight: u64) -> u32 {
        let mut table = self.lock();
        let sample = Sample { place: UNKNOWN, weight, waits: true };
        let index = match table.free.pop() {
            Some(index) => {
                table.samples[index as usize] = sample;
                index
            }
            None => {
                table.samples.push(sample);
                (table.samples.len() - 1) as u32
            }
        };
        table.waiting.push(index);
        table.held(UNKNOWN).enter(weight);
        table.total += weight;
        self.waiting.store(true, Relaxed);
        index + 1
    }

    /// A sampled block ended.
    pub(crate) fn remove(&self, number: u32) {
        let mut table = self.lock();
        let index = number.wrapping_sub(1);
        let Some(sample) = table.samples.get(index as usize).copied() else { return };
        table.held(sample.place).leave(sample.weight);
        table.total -= sample.weight;
        if sample.waits
            && let Some(at) = table.waiting.iter().rposition(|w| *w == index)
        {
            table.waiting.swap_remove(at);
        }
        table.free.push(index);
    }

    /// Everything that waits was made at `place`.
    pub fn settle(&self, place: u32) {
        let mut table = self.lock();
        self.waiting.store(false, Relaxed);
        for index in std::mem::take(&mut table.waiting) {
            let sample = &mut table.samples[index as usize];
            sample.place = place;
            sample.waits = false;
            let weight = sample.weight;
            let unknown = table.held(UNKNOWN);
            unknown.leave(weight);
            unknown.made_bytes -= weight;
            unknown.made_blocks -= 1;
            table.held(place).enter(weight);
        }
        table.write_peak();
    }

    /// What each place holds, by its number.
    pub fn held(&self) -> Vec<Held> {
        self.lock().places.clone()
    }

    /// The sum of all samples' weights at the moment that [`Held::at_peak`] tells of.
    pub fn peak(&self) -> u64 {
        self.lock().written
    }
}

impl Held {
    fn enter(&mut self, weight: u64) {
        self.bytes += weight;
        self.blocks += 1;
        self.made_bytes += weight;
        self.made_blocks += 1;
    }

    fn leave(&mut self, weight: u64) {
        self.bytes -= weight;
        self.blocks -= 1;
    }
}

impl Table {
    fn held(&mut self, place: u32) -> &mut Held {
        let index = place as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, Held::default());
        }
        &mut self.places[index]
    }

    /// Notes who holds what, if that is the most so far; a hundredth more is not worth a note.
    fn write_peak(&mut self) {
        if self.total > self.written + self.written / 100 {
            self.written = self.total;
            for held in &mut self.places {
                held.at_peak = held.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_their_blocks_to_the_end() {
        let sites = Sites::default();
        let (a, b) = (sites.add(100), sites.add(50));
        assert!(sites.wait());
        sites.settle(2);
        assert!(!sites.wait());
        let c = sites.add(7);
        sites.remove(a);
        sites.remove(c);
        assert!(sites.lock().waiting.is_empty(), "a block that ended waits for nothing");
        sites.settle(1);
        let held = sites.held();
        assert_eq!(
            (held[2].bytes, held[2].blocks, held[2].made_bytes, held[2].at_peak),
            (50, 1, 150, 150)
        );
        assert_eq!((held[0].bytes, held[0].made_bytes), (0, 7), "it ended without a place");
        sites.remove(b);
        assert_eq!(sites.held().iter().map(|h| h.bytes).sum::<u64>(), 0);
        assert_eq!(sites.peak(), 150);
    }

    #[test]
    fn numbers_are_used_again() {
        let sites = Sites::default();
        for _ in 0..10 {
            let number = sites.add(1);
            assert_eq!(number, 1);
            sites.remove(number);
        }
    }
}
