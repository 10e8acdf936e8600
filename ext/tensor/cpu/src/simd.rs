//! Vectors by name, for the one kernel that the compiler does not vectorise well by itself:
//! the inner loop of a matrix product.
//!
//! Everything else is scalar source that [`crate::isa::dispatch`] has vectorised.

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
}

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
        }
    };
}
portable!(f32, 4);
portable!(f64, 2);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($v:ty, $t:ty, $n:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident) => {
            impl Vector for $v {
                type Elem = $t;
                const LANES: usize = $n;
                #[inline(always)]
                unsafe fn splat(v: $t) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $splat(v) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $t) -> Self {
                    // SAFETY: the caller vouches for the instruction set and `LANES` numbers.
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $t) {
                    // SAFETY: the caller vouches for the instruction set and the room.
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn fma(self, b: Self, c: Self) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $fma(self, b, c) }
                }
                #[inline(always)]
                unsafe fn add(self, o: Self) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $add(self, o) }
                }
            }
        };
    }
    vector!(
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps
    );
    vector!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd
    );
    vector!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps
    );
    vector!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd
    );
}
