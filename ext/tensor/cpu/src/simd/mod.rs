//! Vectors by name, for the loops that the compiler does not vectorise well by itself: the
//! inner loop of a matrix product, sums and extremes of a row, tiles of a transposed copy.
//!
//! Everything else is scalar source that [`crate::isa::dispatch`] has vectorised.

mod fold;
mod whole;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use fold::{Action, Element, fold_row_f32};
#[cfg(target_arch = "x86_64")]
pub use x86::transpose8;

use crate::isa::{Isa, Level};

/// A register of `LANES` numbers.
pub trait Vector: Copy {
    type Elem: Copy;
    const LANES: usize;

    /// # Safety
    /// The processor has the vector's instruction set. The same holds for the methods below.
    unsafe fn splat(v: Self::Elem) -> Self;
    /// # Safety
    /// `p` points to `LANES` readable numbers.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// The first `n` < `LANES` numbers, and `rest` in the other lanes.
    ///
    /// # Safety
    /// `p` points to `n` readable numbers.
    unsafe fn load_part(p: *const Self::Elem, n: usize, rest: Self::Elem) -> Self;
    /// # Safety
    /// `p` points to room for `LANES` numbers.
    unsafe fn store(self, p: *mut Self::Elem);
    /// self * b + c
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// # Safety
    /// As `splat`.
    unsafe fn add(self, o: Self) -> Self;
    /// # Safety
    /// As `splat`.
    unsafe fn mul(self, o: Self) -> Self;
    /// The larger one; NaN wins.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn max(self, o: Self) -> Self;
    /// The smaller one; NaN wins.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn min(self, o: Self) -> Self;
    /// `self` where it is larger, else `o`: NaN in `self` is passed over. Given here for whole numbers,
    /// which have none; so are the next two.
    ///
    /// # Safety
    /// As `splat`.
    #[inline(always)]
    unsafe fn above(self, o: Self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { self.max(o) }
    }
    /// `self` where it is smaller, else `o`.
    ///
    /// # Safety
    /// As `splat`.
    #[inline(always)]
    unsafe fn below(self, o: Self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { self.min(o) }
    }
    /// Whether any number of either is NaN.
    ///
    /// # Safety
    /// As `splat`.
    #[inline(always)]
    unsafe fn any_nan(self, _o: Self) -> bool {
        false
    }
    /// All lanes in one: the upper half is folded into the lower one until one is left.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn fold(self, action: Action) -> Self::Elem;
}

/// Number types for which the widest vector of an instruction set is known.
pub trait Fits: crate::dense::Number {
    /// [`crate::norm::pair_sums`] in the vectors of `I`.
    ///
    /// # Safety
    /// The code runs in a function compiled for `I`; the pair covers `n` elements.
    unsafe fn sums<I: Isa>(n: usize, p: impl crate::norm::Pair<Self>) -> (Self, Self);
    /// [`crate::norm::share`] in the vectors of `I`.
    ///
    /// # Safety
    /// As `sums`; the addresses cover `n` elements.
    unsafe fn share<I: Isa>(
        n: usize,
        g: *const Self,
        x: *const Self,
        shift: Self,
        rstd: Self,
        gw: *mut Self,
        gb: *mut Self,
    );
    /// `out = exp(x)` for x <= 0.
    ///
    /// # Safety
    /// As `sums`.
    unsafe fn exp_row<I: Isa>(out: *mut Self, x: *const Self, n: usize);
}

macro_rules! fits {
    ($t:ty, $v512:ident, $v256:ident, $n:literal, $exp:expr) => {
        impl Fits for $t {
            #[inline(always)]
            unsafe fn sums<I: Isa>(n: usize, p: impl crate::norm::Pair<$t>) -> ($t, $t) {
                use crate::norm::pair_sums;
                // SAFETY: passed on to the caller.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    match I::LEVEL {
                        Level::Avx512 => return pair_sums::<std::arch::x86_64::$v512, _>(n, p),
                        Level::Avx2 => return pair_sums::<std::arch::x86_64::$v256, _>(n, p),
                        Level::Base => {}
                    }
                    pair_sums::<Portable<$t, $n>, _>(n, p)
                }
            }
            #[inline(always)]
            unsafe fn share<I: Isa>(
                n: usize,
                g: *const $t,
                x: *const $t,
                shift: $t,
                rstd: $t,
                gw: *mut $t,
                gb: *mut $t,
            ) {
                use crate::norm::share;
                // SAFETY: passed on to the caller.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    match I::LEVEL {
                        Level::Avx512 => {
                            return share::<std::arch::x86_64::$v512>(n, g, x, shift, rstd, gw, gb);
                        }
                        Level::Avx2 => {
                            return share::<std::arch::x86_64::$v256>(n, g, x, shift, rstd, gw, gb);
                        }
                        Level::Base => {}
                    }
                    share::<Portable<$t, $n>>(n, g, x, shift, rstd, gw, gb)
                }
            }
            #[inline(always)]
            unsafe fn exp_row<I: Isa>(out: *mut $t, x: *const $t, n: usize) {
                // SAFETY: passed on to the caller.
                (0..n).for_each(|i| unsafe { *out.add(i) = $exp(*x.add(i)) });
            }
        }
    };
}
fits!(f32, __m512, __m256, 4, crate::math::exp_nonpositive::<I>);
fits!(f64, __m512d, __m256d, 2, f64::exp);

/// Plain arrays, which compilers put into registers; for targets without a wider vector.
#[derive(Clone, Copy)]
pub struct Portable<T, const N: usize>([T; N]);

macro_rules! portable {
    ($t:ty, $n:literal) => {
        impl Vector for Portable<$t, $n> {
            type Elem = $t;
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(v: $t) -> Self {
                Portable([v; $n])
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller vouches for `LANES` numbers.
                Portable(unsafe { p.cast::<[$t; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, n: usize, rest: $t) -> Self {
                // SAFETY: the caller vouches for `n` numbers.
                Portable(unsafe { fold::padded(p, n, rest) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller vouches for room for `LANES` numbers.
                unsafe { p.cast::<[$t; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                Portable(std::array::from_fn(|i| {
                    if cfg!(target_arch = "aarch64") {
                        self.0[i].mul_add(b.0[i], c.0[i])
                    } else {
                        self.0[i] * b.0[i] + c.0[i]
                    }
                }))
            }
            #[inline(always)]
            unsafe fn add(self, o: Self) -> Self {
                Portable(std::array::from_fn(|i| self.0[i] + o.0[i]))
            }
            #[inline(always)]
            unsafe fn mul(self, o: Self) -> Self {
                Portable(std::array::from_fn(|i| self.0[i] * o.0[i]))
            }
            #[inline(always)]
            unsafe fn max(self, o: Self) -> Self {
                Portable(std::array::from_fn(|i| {
                    let (a, b) = (self.0[i], o.0[i]);
                    let m = if a > b { a } else { b };
                    if a.is_nan() { a } else { m }
                }))
            }
            #[inline(always)]
            unsafe fn min(self, o: Self) -> Self {
                Portable(std::array::from_fn(|i| {
                    let (a, b) = (self.0[i], o.0[i]);
                    let m = if a < b { a } else { b };
                    if a.is_nan() { a } else { m }
                }))
            }
            #[inline(always)]
            unsafe fn above(self, o: Self) -> Self {
                Portable(std::array::from_fn(
                    |i| {
                        if self.0[i] > o.0[i] { self.0[i] } else { o.0[i] }
                    },
                ))
            }
            #[inline(always)]
            unsafe fn below(self, o: Self) -> Self {
                Portable(std::array::from_fn(
                    |i| {
                        if self.0[i] < o.0[i] { self.0[i] } else { o.0[i] }
                    },
                ))
            }
            #[inline(always)]
            unsafe fn any_nan(self, o: Self) -> bool {
                self.0.iter().zip(&o.0).any(|(a, b)| a.is_nan() | b.is_nan())
            }
            #[inline(always)]
            unsafe fn fold(self, action: Action) -> $t {
                fold::lanes(action, self.0)
            }
        }
    };
}
portable!(f32, 4);
portable!(f64, 2);
