//! The fault hook: tests make the n-th allocation fail, once or from then on.
//!
//! Invariant: every native allocation of tensor bytes passes [`FaultHook::check`].

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Counts allocations down; at zero one fails (`once`), or all after it do too.
#[derive(Debug)]
pub struct FaultHook {
    countdown: AtomicI64,
    forever: std::sync::atomic::AtomicBool,
}

const OFF: i64 = i64::MIN;

impl Default for FaultHook {
    fn default() -> Self {
        FaultHook { countdown: AtomicI64::new(OFF), forever: Default::default() }
    }
}

impl FaultHook {
    /// Lets `after` allocations succeed, then fails one, or with `forever` all later ones.
    pub fn arm(&self, after: u32, forever: bool) {
        self.forever.store(forever, Relaxed);
        self.countdown.store(after as i64, Relaxed);
    }

    pub fn disarm(&self) {
        self.countdown.store(OFF, Relaxed);
    }

    /// True where this allocation must fail.
    #[inline]
    pub fn check(&self) -> bool {
        self.countdown.load(Relaxed) != OFF && self.count_down()
    }

    #[cold]
    fn count_down(&self) -> bool {
        let left = self.countdown.fetch_sub(1, Relaxed);
        left == 0 || (left < 0 && self.forever.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fails_once_or_for_ever() {
        let run = |forever| {
            let h = FaultHook::default();
            h.arm(2, forever);
            (0..5).map(|_| h.check()).collect::<Vec<_>>()
        };
        assert_eq!(run(false), [false, false, true, false, false]);
        assert_eq!(run(true), [false, false, true, true, true]);
    }
}
