//! Whole numbers in plain arrays, which compilers put into registers.

use super::Vector;
use super::fold::{self, Action};

#[derive(Clone, Copy)]
pub struct Whole<T, const N: usize>([T; N]);

macro_rules! whole {
    ($($t:ty, $n:literal;)*) => {$(
        impl Vector for Whole<$t, $n> {
            type Elem = $t;
            const LANES: usize = $n;
            #[inline(always)]
            unsafe fn splat(v: $t) -> Self {
                Whole([v; $n])
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller vouches for `LANES` numbers.
                Whole(unsafe { p.cast::<[$t; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, n: usize, rest: $t) -> Self {
                // SAFETY: the caller vouches for `n` numbers.
                Whole(unsafe { fold::padded(p, n, rest) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller vouches for room for `LANES` numbers.
                unsafe { p.cast::<[$t; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                // SAFETY: plain arrays.
                unsafe { self.mul(b).add(c) }
            }
            #[inline(always)]
            unsafe fn add(self, o: Self) -> Self {
                Whole(std::array::from_fn(|i| self.0[i].wrapping_add(o.0[i])))
            }
            #[inline(always)]
            unsafe fn mul(self, o: Self) -> Self {
                Whole(std::array::from_fn(|i| self.0[i].wrapping_mul(o.0[i])))
            }
            #[inline(always)]
            unsafe fn max(self, o: Self) -> Self {
                Whole(std::array::from_fn(|i| self.0[i].max(o.0[i])))
            }
            #[inline(always)]
            unsafe fn min(self, o: Self) -> Self {
                Whole(std::array::from_fn(|i| self.0[i].min(o.0[i])))
            }
            #[inline(always)]
            unsafe fn fold(self, action: Action) -> $t {
                fold::lanes(action, self.0)
            }
        }
    )*};
}
whole! {
    i32, 4;
    i64, 2;
    i8, 16;
    u8, 16;
    i16, 16;
}
