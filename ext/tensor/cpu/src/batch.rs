//! batchNorm while training, forward and backward: the passes over a channel one after the other,
//! so that its numbers stay in a near cache.
//!
//! `y = (x - mean) * rstd * weight + bias` over the planes of a channel (Ioffe and Szegedy 2015).
//! Sums of planes are joined in float64. Invariant: a channel is one task's, so the thread count
//! changes nothing.

use crate::dense::Number;
use crate::isa::{Isa, Kernel, dispatch};
use crate::norm::{Backward, Forward, SumGrad, SumOf};
use crate::simd::Fits;
use crate::threads::Threads;

/// Elements per thread that make a split worth it.
const GRAIN: usize = 1 << 13;

/// Images `[n, channels, plane]`.
#[derive(Clone, Copy, Debug)]
pub struct Planes {
    pub n: usize,
    pub channels: usize,
    pub plane: usize,
}

impl Planes {
    /// Where the planes of channel `c` begin.
    #[inline(always)]
    fn of(self, c: usize) -> impl Iterator<Item = usize> {
        (0..self.n).map(move |i| (i * self.channels + c) * self.plane)
    }

    fn each(self, threads: &Threads, f: impl Fn(usize) + Sync) {
        let grain = (GRAIN / (self.n * self.plane).max(1)).max(1);
        threads.split(self.channels, grain, |channels| channels.for_each(&f));
    }
}

struct ForwardChannel<T> {
    p: Planes,
    f: Forward<T>,
    c: usize,
}

impl<T: Number + Fits> Kernel for ForwardChannel<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let ForwardChannel { p, f, c } = self;
        let count = (p.n * p.plane) as f64;
        // SAFETY: the caller of `forward` vouches for the channel, `run` is compiled for `I`.
        unsafe {
            let mut sum = 0.0;
            for at in p.of(c) {
                sum += T::sums::<I>(p.plane, SumOf::of(f.x.add(at), T::default())).0.wide();
            }
            let mean = T::of(sum / count);
            let mut square = 0.0;
            for at in p.of(c) {
                let shifted = SumOf::of(f.x.add(at), T::default() - mean);
                square += T::sums::<I>(p.plane, shifted).1.wide();
            }
            let rstd = T::of(1.0 / (square / count + f.eps).sqrt());
            *f.mean.add(c) = mean;
            *f.rstd.add(c) = rstd;
            let scale = f.weight.map_or(rstd, |w| rstd * *w.add(c));
            let bias = f.bias.map_or(T::default(), |b| *b.add(c));
            for at in p.of(c) {
                let (x, y) = (f.x.add(at), f.y.add(at));
                (0..p.plane).for_each(|i| *y.add(i) = (*x.add(i) - mean) * scale + bias);
            }
        }
    }
}

/// Normalises channels.
///
/// # Safety
/// The addresses cover the planes of x, y and their gradients, and have one number per channel for
/// all else; outputs overlap no input.
pub unsafe fn forward<T: Number + Fits>(threads: &Threads, p: Planes, f: Forward<T>) {
    let f = &f;
    p.each(threads, |c| dispatch(ForwardChannel { p, f: *f, c }));
}

struct BackwardChannel<T> {
    p: Planes,
    b: Backward<T>,
    c: usize,
}

impl<T: Number + Fits> Kernel for BackwardChannel<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let BackwardChannel { p, b, c } = self;
        let count = (p.n * p.plane) as f64;
        // SAFETY: the caller of `backward` vouches for the channel, `run` is compiled for `I`.
        unsafe {
            let (mean, rstd) = (*b.mean.add(c), *b.rstd.add(c));
            let shift = T::default() - mean;
            let (mut sum, mut along) = (0.0, 0.0);
            for at in p.of(c) {
                let pair = SumGrad::shifted(b.g.add(at), b.x.add(at), shift);
                let (s, t) = T::sums::<I>(p.plane, pair);
                (sum, along) = (sum + s.wide(), along + t.wide());
            }
            let along = along * rstd.wide();
            if let Some(gw) = b.gw {
                *gw.add(c) = T::of(along);
            }
            if let Some(gb) = b.gb {
                *gb.add(c) = T::of(sum);
            }
            let Some(gx) = b.gx else { return };
            let scale = b.weight.map_or(rstd, |w| rstd * *w.add(c));
            let level = T::of(sum / count);
            let slope = T::of(along / count * rstd.wide());
            for at in p.of(c) {
                let (g, x, gx) = (b.g.add(at), b.x.add(at), gx.add(at));
                (0..p.plane).for_each(|i| {
                    *gx.add(i) = (*g.add(i) - level - (*x.add(i) - mean) * slope) * scale;
                });
            }
        }
    }
}

/// Gradients by input, weight and bias.
///
/// # Safety
/// As [`forward`].
pub unsafe fn backward<T: Number + Fits>(threads: &Threads, p: Planes, b: Backward<T>) {
    let b = &b;
    p.each(threads, |c| dispatch(BackwardChannel { p, b: *b, c }));
}
