//! One step of Adam or AdamW over one parameter, fused.
//! Source: Kingma and Ba 2015; Loshchilov and Hutter 2019; the order of operations is PyTorch's.

use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use half::{bf16, f16};
use mlrun_tensor_core::DType;

const GRAIN: usize = 1 << 14;

/// The settings of a step; `step` counts from 1.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub lr: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay: f64,
    /// AdamW: the decay acts on the parameter, not on the gradient.
    pub decoupled: bool,
    pub step: i64,
}

/// Factors that are the same for every element.
#[derive(Clone, Copy)]
struct Factors<T> {
    keep: T,
    decay: T,
    beta1: T,
    beta2: T,
    rest1: T,
    rest2: T,
    /// lr / (1 - beta1^t)
    rate: T,
    /// 1 / sqrt(1 - beta2^t)
    correction: T,
    eps: T,
}

macro_rules! factors {
    ($t:ty, $s:expr) => {{
        let s: &Settings = $s;
        let exponent = s.step as f64;
        Factors::<$t> {
            keep: if s.decoupled { (1.0 - s.lr * s.weight_decay) as $t } else { 1.0 },
            decay: if s.decoupled { 0.0 } else { s.weight_decay as $t },
            beta1: s.beta1 as $t,
            beta2: s.beta2 as $t,
            rest1: (1.0 - s.beta1) as $t,
            rest2: (1.0 - s.beta2) as $t,
            rate: (s.lr / (1.0 - s.beta1.powf(exponent))) as $t,
            correction: (1.0 / (1.0 - s.beta2.powf(exponent)).sqrt()) as $t,
            eps: s.eps as $t,
        }
    }};
}

macro_rules! update {
    ($f:expr, $p:expr, $g:expr, $m:expr, $v:expr) => {{
        let (f, p, g) = ($f, $p, $g);
        let g = g + f.decay * p;
        let m = f.beta1 * $m + f.rest1 * g;
        let v = f.beta2 * $v + f.rest2 * g * g;
        let p = p * f.keep - f.rate * m / (v.sqrt() * f.correction + f.eps);
        (p, m, v)
    }};
}

struct Slice<T> {
    p: *mut T,
    m: *mut T,
    v: *mut T,
    g: *const T,
    n: usize,
    factors: Factors<T>,
}

macro_rules! slice_kernel {
    ($t:ty) => {
        impl Kernel for Slice<$t> {
            type Output = ();
            #[inline(always)]
            fn run<I: Isa>(self) {
                // SAFETY: the caller of `step` vouches for four ranges of `n` elements that do
                // not overlap.
                let (p, m, v, g) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(self.p, self.n),
                        std::slice::from_raw_parts_mut(self.m, self.n),
                        std::slice::from_raw_parts_mut(self.v, self.n),
                        std::slice::from_raw_parts(self.g, self.n),
                    )
                };
                let f = self.factors;
                for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
                    (*p, *m, *v) = update!(f, *p, *g, *m, *v);
                }
            }
        }
    };
}
slice_kernel!(f32);
slice_kernel!(f64);

/// Updates parameter and moments in place. All four have one shape and dtype.
///
/// # Safety
/// Operands cover the shape and share no bytes.
pub unsafe fn step(
    threads: &Threads,
    shape: &[usize],
    [p, m, v]: [Operand; 3],
    g: Operand,
    settings: &Settings,
) {
    let walk = Walk::new(shape, [p.strides, m.strides, v.strides, g.strides]);
    let ptrs = [p.ptr, m.ptr, v.ptr, g.ptr].map(SyncPtr);
    macro_rules! vector {
        ($t:ty) => {{
            let factors = factors!($t, settings);
            each::<$t>(threads, &walk, ptrs, |[p, m, v, g], n| {
                dispatch(Slice { p, m, v, g: g.cast_const(), n, factors })
            });
        }};
    }
    macro_rules! half {
        ($t:ty) => {{
            let f = factors!(f32, settings);
            each::<$t>(threads, &walk, ptrs, |at, n| {
                for i in 0..n {
                    // SAFETY: the caller vouches for `n` elements at each address.
                    unsafe {
                        let [p, m, v, g] = at.map(|q| (*q.add(i)).to_f32());
                        let (p, m, v) = update!(f, p, g, m, v);
                        for (q, value) in at.iter().zip([p, m, v]) {
                            *q.add(i) = <$t>::from_f32(value);
                        }
                    }
                }
            });
        }};
    }
    match p.dtype {
        DType::F64 => vector!(f64),
        DType::F16 => half!(f16),
        DType::BF16 => half!(bf16),
        _ => vector!(f32),
    }
}

/// Calls `f` with runs that are contiguous in all four; strided ones come element by element.
fn each<T>(
    threads: &Threads,
    walk: &Walk<4>,
    ptrs: [SyncPtr<u8>; 4],
    f: impl Fn([*mut T; 4], usize) + Sync,
) {
    threads.split(walk.len(), GRAIN, |range| {
        walk.runs(range, |at, n| {
            let first: [*mut T; 4] =
                std::array::from_fn(|k| ptrs[k].get().cast::<T>().wrapping_offset(at[k]));
            if walk.inner_strides == [1; 4] {
                return f(first, n);
            }
            for i in 0..n as isize {
                let here =
                    std::array::from_fn(|k| first[k].wrapping_offset(i * walk.inner_strides[k]));
                f(here, 1);
            }
        });
    });
}
