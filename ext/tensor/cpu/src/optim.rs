//! Steps of SGD, RMSprop, Adagrad, Lion and moving averages over one parameter, each fused.
//! The formulas and their sources stand at the rows of the op table.
//!
//! A block of elements is read into local arrays, updated there and written back: one loop serves
//! all dtypes and strides and is vectorised for each instruction set.

use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use half::{bf16, f16};
use mlrun_tensor_core::DType;

const GRAIN: usize = 1 << 14;
const BLOCK: usize = 64;
/// Parameter, gradient and at most three states.
pub const MAX: usize = 5;

/// What a step does to each element.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Sgd { lr: f64, momentum: f64, dampening: f64, weight_decay: f64, nesterov: bool, first: bool },
    Rmsprop { lr: f64, alpha: f64, eps: f64, weight_decay: f64, momentum: f64, centered: bool },
    Adagrad { lr: f64, eps: f64, weight_decay: f64 },
    Lion { lr: f64, beta1: f64, beta2: f64, weight_decay: f64 },
    Ema { weight: f64 },
}

type Blocks<R> = [[R; BLOCK]; MAX];

/// An element in memory and the number that it is computed as.
trait Element: Copy + 'static {
    type Real: Copy;
    const ZERO: Self::Real;
    fn load(self) -> Self::Real;
    fn store(v: Self::Real) -> Self;
    fn update(rule: &Rule, blocks: &mut Blocks<Self::Real>);
}

macro_rules! element {
    ($t:ty, $real:ty, $update:ident, $load:expr, $store:expr) => {
        impl Element for $t {
            type Real = $real;
            const ZERO: $real = 0.0;
            #[inline(always)]
            fn load(self) -> $real {
                $load(self)
            }
            #[inline(always)]
            fn store(v: $real) -> $t {
                $store(v)
            }
            #[inline(always)]
            fn update(rule: &Rule, blocks: &mut Blocks<$real>) {
                $update(rule, blocks);
            }
        }
    };
}
element!(f32, f32, update32, |v| v, |v| v);
element!(f64, f64, update64, |v| v, |v| v);
element!(f16, f32, update32, f16::to_f32, f16::from_f32);
element!(bf16, f32, update32, bf16::to_f32, bf16::from_f32);

macro_rules! update {
    ($name:ident, $r:ty) => {
        #[inline(always)]
        fn $name(rule: &Rule, blocks: &mut Blocks<$r>) {
            let [p, g, s, mean, b] = blocks;
            match *rule {
                Rule::Sgd { lr, momentum, dampening, weight_decay, nesterov, first } => {
                    let (lr, momentum, wd) = (lr as $r, momentum as $r, weight_decay as $r);
                    let share = if first { 1.0 } else { (1.0 - dampening) as $r };
                    let keep = if first { 0.0 } else { momentum };
                    for i in 0..BLOCK {
                        let g = g[i] + wd * p[i];
                        if momentum == 0.0 {
                            p[i] -= lr * g;
                        } else {
                            s[i] = keep * s[i] + share * g;
                            p[i] -= lr * if nesterov { g + momentum * s[i] } else { s[i] };
                        }
                    }
                }
                Rule::Rmsprop { lr, alpha, eps, weight_decay, momentum, centered } => {
                    let rest = (1.0 - alpha) as $r;
                    let (lr, alpha, eps) = (lr as $r, alpha as $r, eps as $r);
                    let (wd, momentum) = (weight_decay as $r, momentum as $r);
                    for i in 0..BLOCK {
                        let g = g[i] + wd * p[i];
                        s[i] = alpha * s[i] + rest * g * g;
                        let mut square = s[i];
                        if centered {
                            mean[i] += rest * (g - mean[i]);
                            square -= mean[i] * mean[i];
                        }
                        let d = g / (square.sqrt() + eps);
                        if momentum == 0.0 {
                            p[i] -= lr * d;
                        } else {
                            b[i] = momentum * b[i] + d;
                            p[i] -= lr * b[i];
                        }
                    }
                }
                Rule::Adagrad { lr, eps, weight_decay } => {
                    let (lr, eps, wd) = (lr as $r, eps as $r, weight_decay as $r);
                    for i in 0..BLOCK {
                        let g = g[i] + wd * p[i];
                        s[i] += g * g;
                        p[i] -= lr * g / (s[i].sqrt() + eps);
                    }
                }
                Rule::Lion { lr, beta1, beta2, weight_decay } => {
                    let keep = (1.0 - lr * weight_decay) as $r;
                    let (rest1, rest2) = ((1.0 - beta1) as $r, (1.0 - beta2) as $r);
                    let (lr, beta1, beta2) = (lr as $r, beta1 as $r, beta2 as $r);
                    for i in 0..BLOCK {
                        let c = beta1 * s[i] + rest1 * g[i];
                        let sign = if c > 0.0 {
                            lr
                        } else if c < 0.0 {
                            -lr
                        } else {
                            c * 0.0
                        };
                        p[i] = keep * p[i] - sign;
                        s[i] = beta2 * s[i] + rest2 * g[i];
                    }
                }
                Rule::Ema { weight } => {
                    let weight = weight as $r;
                    for i in 0..BLOCK {
                        p[i] += weight * (g[i] - p[i]);
                    }
                }
            }
        }
    };
}
update!(update32, f32);
update!(update64, f64);

/// `n` elements, at most a block, at each address that is there.
struct Piece<'a, T> {
    at: [Option<*mut T>; MAX],
    strides: [isize; MAX],
    n: usize,
    rule: &'a Rule,
}

impl<T: Element> Kernel for Piece<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut blocks = [[T::ZERO; BLOCK]; MAX];
        for (k, block) in blocks.iter_mut().enumerate() {
            let Some(at) = self.at[k] else { continue };
            for (i, v) in block.iter_mut().enumerate().take(self.n) {
                // SAFETY: the caller of `step` vouches for the operand's elements.
                *v = unsafe { *at.offset(i as isize * self.strides[k]) }.load();
            }
        }
        T::update(self.rule, &mut blocks);
        for (k, block) in blocks.iter().enumerate() {
            let Some(at) = self.at[k].filter(|_| k != GRADIENT) else { continue };
            for (i, v) in block.iter().enumerate().take(self.n) {
                // SAFETY: as above; nobody else writes these elements meanwhile.
                unsafe { *at.offset(i as isize * self.strides[k]) = T::store(*v) };
            }
        }
    }
}

/// Place of the gradient among the operands, which is only read.
const GRADIENT: usize = 1;

/// Updates all operands but the gradient. Their places: parameter, gradient, then what the rule
/// keeps: squares (or momentum, for SGD and Lion), mean of gradients, momentum of RMSprop.
///
/// # Safety
/// Operands cover the shape, have one dtype and share no bytes.
pub unsafe fn step(
    threads: &Threads,
    dtype: DType,
    shape: &[usize],
    operands: [Option<Operand>; MAX],
    rule: &Rule,
) {
    match dtype {
        DType::F64 => each::<f64>(threads, shape, &operands, rule),
        DType::F16 => each::<f16>(threads, shape, &operands, rule),
        DType::BF16 => each::<bf16>(threads, shape, &operands, rule),
        _ => each::<f32>(threads, shape, &operands, rule),
    }
}

fn each<T: Element>(
    threads: &Threads,
    shape: &[usize],
    operands: &[Option<Operand>; MAX],
    rule: &Rule,
) {
    // An absent operand walks along with the first that is there and is never touched.
    let Some(first) = operands.iter().flatten().next() else { return };
    let all: [&Operand; MAX] = std::array::from_fn(|k| operands[k].as_ref().unwrap_or(first));
    let walk = Walk::new(shape, all.map(|o| o.strides));
    let ptrs = all.map(|o| SyncPtr(o.ptr));
    let there: [bool; MAX] = std::array::from_fn(|k| operands[k].is_some());
    threads.split(walk.len(), GRAIN, |range| {
        walk.runs(range, |at, n| {
            for from in (0..n).step_by(BLOCK) {
                let strides = walk.inner_strides;
                let address = |k: usize| {
                    let offset = at[k] + from as isize * strides[k];
                    there[k].then(|| ptrs[k].get().cast::<T>().wrapping_offset(offset))
                };
                let n = BLOCK.min(n - from);
                dispatch(Piece { at: std::array::from_fn(address), strides, n, rule });
            }
        });
    });
}
