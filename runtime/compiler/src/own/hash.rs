//! Maps and sets of small numbers: offsets, indices, addresses. Nothing in a program chooses them, so
//! a multiplication is hash enough.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
pub(crate) type NumberSet<K> = HashSet<K, BuildHasherDefault<Mix>>;

#[derive(Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_u64(&mut self, n: u64) {
        // An odd constant whose bits look random; the table takes the low ones, the product's best
        // are the high ones.
        self.0 = (self.0 ^ n).wrapping_mul(0xf135_7aea_2e62_a9c5).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
