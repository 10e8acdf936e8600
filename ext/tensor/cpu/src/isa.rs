//! Instruction sets: what the processor offers, and running one generic kernel compiled for
//! each of them.
//!
//! Invariant: a kernel's body is inlined into a function that carries the target features, so
//! the compiler vectorises the same source three times; which one runs is decided once per
//! process. Deliberately not here: hand-written vector code, except the small [`crate::simd`].

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// How far the processor goes. Ordered: a higher level includes the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Whatever the target triple guarantees (SSE2 on x86-64).
    Base = 1,
    /// AVX2 with FMA and F16C.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512 = 3,
}

/// Properties of an instruction set that change how a formula is best written.
pub trait Isa: Copy + Send + Sync + 'static {
    /// A fused multiply-add is one instruction.
    const FMA: bool;
    const LEVEL: Level;

    /// `a * b + c`, fused where that is one instruction.
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }

    /// `a * b + c` in float64, fused where that is one instruction.
    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        if Self::FMA { a.mul_add(b, c) } else { a * b + c }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Base;
#[derive(Clone, Copy, Debug)]
pub struct Avx2;
#[derive(Clone, Copy, Debug)]
pub struct Avx512;

impl Isa for Base {
    const FMA: bool = cfg!(target_arch = "aarch64");
    const LEVEL: Level = Level::Base;
}
impl Isa for Avx2 {
    const FMA: bool = true;
    const LEVEL: Level = Level::Avx2;
}
impl Isa for Avx512 {
    const FMA: bool = true;
    const LEVEL: Level = Level::Avx512;
}

/// A computation that [`dispatch`] compiles for each instruction set. `run` must be
/// `#[inline(always)]`, as must everything it calls in its loops.
pub trait Kernel {
    type Output;
    fn run<I: Isa>(self) -> Self::Output;
}

static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level in use: the processor's, or a lower one that `MLRUN_CPU` (`base`, `avx2`) asks for.
#[inline(always)]
pub fn level() -> Level {
    match LEVEL.load(Relaxed) {
        1 => Level::Base,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => detect(),
    }
}

#[cold]
fn detect() -> Level {
    let cap = match std::env::var("MLRUN_CPU").as_deref() {
        Ok("base") => Level::Base,
        Ok("avx2") => Level::Avx2,
        _ => Level::Avx512,
    };
    let found = supported().min(cap);
    LEVEL.store(found as u8, Relaxed);
    found
}

/// The highest level that this processor can run.
pub fn supported() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Base
}

/// Runs `kernel` compiled for [`level`].
#[inline(always)]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    dispatch_at(level(), kernel)
}

/// Runs `kernel` compiled for `level`, which must come from [`level`] or [`supported`].
#[inline(always)]
pub fn dispatch_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match level {
        // SAFETY: `level()` reports only what `supported()` found on this processor.
        Level::Avx512 => unsafe { x86::avx512(kernel) },
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::avx2(kernel) },
        Level::Base => kernel.run::<Base>(),
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        kernel.run::<Base>()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Avx2, Avx512, Kernel};

    /// # Safety
    /// The processor has AVX-512 F, BW, DQ and VL.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    pub unsafe fn avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Avx512>()
    }

    /// # Safety
    /// The processor has AVX2, FMA and F16C.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub unsafe fn avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Avx2>()
    }
}
