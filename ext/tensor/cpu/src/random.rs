//! Random numbers from a counter: Philox4x32-10 (Salmon et al., "Parallel random numbers: as
//! easy as 1, 2, 3", 2011).
//!
//! Invariant: the value of element `i` of a draw follows from the seed and `counter + i` alone,
//! so neither the thread count nor the vector width changes it.

use crate::isa::{Isa, Kernel, dispatch};
use crate::math;
use crate::ptr::SyncPtr;
use crate::threads::Threads;

/// Philox blocks that are computed side by side.
const WIDE: usize = 16;
const GRAIN: usize = 1 << 14;

/// Which numbers are drawn; also keeps their streams apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// In [low, high).
    Uniform {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        std: f64,
    },
    /// Whole numbers in [low, low + range).
    Whole {
        low: i64,
        range: u64,
    },
}

/// Four words for each of `WIDE` counters.
#[expect(clippy::needless_range_loop, reason = "four arrays side by side; vectorises as it stands")]
#[inline(always)]
fn philox(key: u64, counter: [u64; WIDE], stream: u32) -> [[u32; WIDE]; 4] {
    const M: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const W: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let mut x = [[0u32; WIDE]; 4];
    for (i, c) in counter.iter().enumerate() {
        x[0][i] = *c as u32;
        x[1][i] = (*c >> 32) as u32;
        x[2][i] = stream;
    }
    let mut k = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        for i in 0..WIDE {
            let a = x[0][i] as u64 * M[0] as u64;
            let b = x[2][i] as u64 * M[1] as u64;
            let (x1, x3) = (x[1][i], x[3][i]);
            x[0][i] = (b >> 32) as u32 ^ x1 ^ k[0];
            x[1][i] = b as u32;
            x[2][i] = (a >> 32) as u32 ^ x3 ^ k[1];
            x[3][i] = a as u32;
        }
        k = [k[0].wrapping_add(W[0]), k[1].wrapping_add(W[1])];
    }
    x
}

#[inline(always)]
fn counters(first: u64) -> [u64; WIDE] {
    std::array::from_fn(|i| first.wrapping_add(i as u64))
}

/// Elements of 64 random bits: two to a block.
#[inline(always)]
fn words64(seed: u64, first: u64, stream: u32) -> [[u64; WIDE]; 2] {
    let x = philox(seed, counters(first), stream);
    let join = |lo: &[u32; WIDE], hi: &[u32; WIDE]| {
        std::array::from_fn(|i| lo[i] as u64 | (hi[i] as u64) << 32)
    };
    [join(&x[0], &x[1]), join(&x[2], &x[3])]
}

/// One thread's part of a draw: elements `start..start + n`, by absolute number.
struct Part<T> {
    out: *mut T,
    start: u64,
    n: usize,
    seed: u64,
    draw: Draw,
}

impl<T: Copy> Part<T> {
    /// Calls `make` for groups of blocks with `per` elements to a block and stores what falls
    /// into the part. `make` gets the first block and returns its elements in order.
    #[inline(always)]
    fn store<const N: usize>(&self, per: u64, mut make: impl FnMut(u64) -> [T; N]) {
        let mut done = 0;
        while done < self.n {
            let at = self.start.wrapping_add(done as u64);
            let skip = (at % per) as usize;
            let values = make(at / per);
            let count = (N - skip).min(self.n - done);
            // SAFETY: the caller of `fill_*` vouches for `n` elements.
            unsafe {
                std::ptr::copy_nonoverlapping(values.as_ptr().add(skip), self.out.add(done), count)
            };
            done += count;
        }
    }
}

impl Kernel for Part<f32> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        const N: usize = 4 * WIDE;
        match self.draw {
            Draw::Uniform { low, high } => {
                let (low, span, top) = (low as f32, (high - low) as f32, high as f32);
                let below = if top > low { top.next_down() } else { low };
                self.store::<N>(4, |block| {
                    let x = philox(self.seed, counters(block), 0);
                    std::array::from_fn(|i| {
                        let u = (x[i % 4][i / 4] >> 8) as i32 as f32 * (1.0 / 16_777_216.0);
                        let v = I::fma(u, span, low);
                        if v > below { below } else { v }
                    })
                });
            }
            Draw::Normal { mean, std } => {
                let (mean, std) = (mean as f32, std as f32);
                self.store::<N>(4, |block| {
                    let x = philox(self.seed, counters(block), 1);
                    let mut pairs = [[0f32; WIDE]; 4];
                    for half in [0, 2] {
                        for i in 0..WIDE {
                            let (z0, z1) = box_muller::<I>(x[half][i], x[half + 1][i]);
                            pairs[half][i] = I::fma(z0, std, mean);
                            pairs[half + 1][i] = I::fma(z1, std, mean);
                        }
                    }
                    std::array::from_fn(|i| pairs[i % 4][i / 4])
                });
            }
            Draw::Whole { .. } => {}
        }
    }
}

/// Two normal numbers from two words (Box and Muller 1958).
#[inline(always)]
fn box_muller<I: Isa>(a: u32, b: u32) -> (f32, f32) {
    // In (0, 1], so that the logarithm is finite.
    let u = ((a >> 8) as i32 as f32 + 1.0) * (1.0 / 16_777_216.0);
    let angle = (b >> 8) as i32 as f32 * (std::f32::consts::TAU / 16_777_216.0);
    let r = (-2.0 * math::log::<I>(u)).sqrt();
    (r * math::cos::<I>(angle), r * math::sin::<I>(angle))
}

impl Kernel for Part<f64> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        const N: usize = 2 * WIDE;
        const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;
        match self.draw {
            Draw::Uniform { low, high } => {
                let below = if high > low { high.next_down() } else { low };
                self.store::<N>(2, |block| {
                    let x = words64(self.seed, block, 0);
                    std::array::from_fn(|i| {
                        let u = (x[i % 2][i / 2] >> 11) as f64 * UNIT;
                        (low + u * (high - low)).min(below)
                    })
                });
            }
            Draw::Normal { mean, std } => self.store::<N>(2, |block| {
                let x = words64(self.seed, block, 1);
                let mut y = [0f64; N];
                for i in 0..WIDE {
                    let u = ((x[0][i] >> 11) as f64 + 1.0) * UNIT;
                    let angle = (x[1][i] >> 11) as f64 * (UNIT * std::f64::consts::TAU);
                    let r = (-2.0 * u.ln()).sqrt() * std;
                    y[2 * i] = mean + r * angle.cos();
                    y[2 * i + 1] = mean + r * angle.sin();
                }
                y
            }),
            Draw::Whole { .. } => {}
        }
    }
}

impl Kernel for Part<i64> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        const N: usize = 2 * WIDE;
        if let Draw::Whole { low, range } = self.draw {
            self.store::<N>(2, |block| {
                let x = words64(self.seed, block, 2);
                std::array::from_fn(|i| {
                    // The high half of a product maps 64 random bits to the range.
                    let scaled = (x[i % 2][i / 2] as u128 * range as u128) >> 64;
                    low.wrapping_add(scaled as i64)
                })
            });
        }
    }
}

/// Draws `n` numbers into `out`, element `i` at `counter + i` of the seed's sequence.
///
/// # Safety
/// `out` has room for `n` elements.
unsafe fn fill<T: Copy>(
    threads: &Threads,
    out: *mut T,
    n: usize,
    seed: u64,
    counter: u64,
    draw: Draw,
) where
    Part<T>: Kernel<Output = ()>,
{
    let to = SyncPtr(out);
    threads.split(n, GRAIN, |range| {
        let start = counter.wrapping_add(range.start as u64);
        let out = to.get().wrapping_add(range.start);
        dispatch(Part { out, start, n: range.len(), seed, draw });
    });
}

/// Uniform or normal float32 numbers.
///
/// # Safety
/// As [`fill`].
pub unsafe fn fill_f32(t: &Threads, out: *mut f32, n: usize, seed: u64, counter: u64, draw: Draw) {
    // SAFETY: passed on to the caller.
    unsafe { fill(t, out, n, seed, counter, draw) }
}

/// Uniform or normal float64 numbers.
///
/// # Safety
/// As [`fill`].
pub unsafe fn fill_f64(t: &Threads, out: *mut f64, n: usize, seed: u64, counter: u64, draw: Draw) {
    // SAFETY: passed on to the caller.
    unsafe { fill(t, out, n, seed, counter, draw) }
}

/// Whole numbers.
///
/// # Safety
/// As [`fill`].
pub unsafe fn fill_i64(t: &Threads, out: *mut i64, n: usize, seed: u64, counter: u64, draw: Draw) {
    // SAFETY: passed on to the caller.
    unsafe { fill(t, out, n, seed, counter, draw) }
}

/// Elements that [`keep`] draws at a time.
const KEEP_BLOCK: usize = 1024;

/// Multiplies element i of `x` by `factor` where the uniform float32 number at `counter + i` is at
/// least `p`, else by 0.
///
/// # Safety
/// `x` covers `n` elements.
pub unsafe fn keep<T: crate::dense::Number>(
    threads: &Threads,
    x: *mut T,
    n: usize,
    seed: u64,
    counter: u64,
    p: f64,
) {
    let x = SyncPtr(x);
    let factor = T::of(if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 });
    let draw = Draw::Uniform { low: 0.0, high: 1.0 };
    threads.split(n, GRAIN, |range| {
        let mut numbers = [0f32; KEEP_BLOCK];
        for at in range.clone().step_by(KEEP_BLOCK) {
            let m = KEEP_BLOCK.min(range.end - at);
            let start = counter.wrapping_add(at as u64);
            dispatch(Part { out: numbers.as_mut_ptr(), start, n: m, seed, draw });
            for (i, u) in numbers.iter().enumerate().take(m) {
                let f = if *u as f64 >= p { factor } else { T::default() };
                // SAFETY: parts of `split` are disjoint and inside `n`.
                unsafe {
                    let to = x.get().add(at + i);
                    *to = *to * f;
                }
            }
        }
    });
}

/// A permutation of `0..n` (Fisher and Yates), one thread.
///
/// # Safety
/// As [`fill`].
pub unsafe fn permutation(out: *mut i64, n: usize, seed: u64, counter: u64) {
    // SAFETY: the caller vouches for `n` elements, all of which are written here first.
    let p = unsafe {
        (0..n).for_each(|i| out.add(i).write(i as i64));
        std::slice::from_raw_parts_mut(out, n)
    };
    let mut words = [[0u64; WIDE]; 2];
    for i in 0..n.saturating_sub(1) {
        let at = i % (2 * WIDE);
        if at == 0 {
            // Element numbers advance by n per draw; two elements share a block.
            words = words64(seed ^ 0x7065_726d, (counter / 2).wrapping_add(i as u64 / 2), 3);
        }
        let left = (n - i) as u128;
        let j = i + ((words[at % 2][at / 2] as u128 * left) >> 64) as usize;
        p.swap(i, j);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_matches_the_published_vectors() {
        // From the reference implementation's known-answer file: philox4x32, 10 rounds.
        let first = philox(0, [0; WIDE], 0);
        assert_eq!(
            [0, 1, 2, 3].map(|k| first[k][0]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
    }

    fn normal(threads: usize, n: usize, counter: u64) -> Vec<f32> {
        let mut v = vec![0f32; n];
        let draw = Draw::Normal { mean: 0.0, std: 1.0 };
        // SAFETY: the vector has `n` elements.
        unsafe { fill_f32(&Threads::new(threads), v.as_mut_ptr(), n, 7, counter, draw) };
        v
    }

    #[test]
    fn values_depend_on_the_position_only() {
        let n = 100_003;
        let all = normal(1, n, 0);
        assert_eq!(all, normal(3, n, 0));
        for at in [1usize, 2, 3, 5, 63, 64, 65] {
            assert_eq!(all[at..at + 17], normal(1, 17, at as u64)[..]);
        }
    }

    #[test]
    fn moments_fit() {
        let n = 1 << 20;
        let v = normal(2, n, 12345);
        let mean = v.iter().map(|&x| x as f64).sum::<f64>() / n as f64;
        let var = v.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / n as f64;
        let tail = v.iter().filter(|x| x.abs() > 3.0).count() as f64 / n as f64;
        assert!(mean.abs() < 0.005 && (var - 1.0).abs() < 0.01, "{mean} {var}");
        assert!((tail - 0.0027).abs() < 0.0004, "{tail}");
        let mut u = vec![0f32; n];
        let draw = Draw::Uniform { low: -1.0, high: 3.0 };
        // SAFETY: the vector has `n` elements.
        unsafe { fill_f32(&Threads::new(2), u.as_mut_ptr(), n, 1, 0, draw) };
        assert!(u.iter().all(|&x| (-1.0..3.0).contains(&x)));
        let mean = u.iter().map(|&x| x as f64).sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let mut w = vec![0i64; n];
        // SAFETY: the vector has `n` elements.
        unsafe {
            fill_i64(&Threads::new(2), w.as_mut_ptr(), n, 1, 3, Draw::Whole { low: -2, range: 5 })
        };
        for want in -2..3 {
            let share = w.iter().filter(|&&x| x == want).count() as f64 / n as f64;
            assert!((share - 0.2).abs() < 0.005, "{want}: {share}");
        }
        assert!(w.iter().all(|x| (-2..3).contains(x)));
    }

    #[test]
    fn permutations_hold_every_number_once() {
        for n in [0usize, 1, 2, 33, 1000] {
            let mut p = vec![0i64; n];
            // SAFETY: the vector has `n` elements.
            unsafe { permutation(p.as_mut_ptr(), n, 5, 9) };
            assert!(n < 33 || p.iter().enumerate().any(|(i, &v)| i as i64 != v));
            p.sort_unstable();
            assert!(p.iter().enumerate().all(|(i, &v)| i as i64 == v));
        }
    }
}
