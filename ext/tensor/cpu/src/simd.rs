//! Vectors by name, for the loops that the compiler does not vectorise well by itself: the
//! inner loop of a matrix product, sums and extremes of a row, tiles of a transposed copy.
//!
//! Everything else is scalar source that [`crate::isa::dispatch`] has vectorised.

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
    /// `self` where it is larger, else `o`: NaN in `self` is passed over.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn above(self, o: Self) -> Self;
    /// `self` where it is smaller, else `o`.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn below(self, o: Self) -> Self;
    /// Whether any number of either is NaN.
    ///
    /// # Safety
    /// As `splat`.
    unsafe fn any_nan(self, o: Self) -> bool;
}

/// How a row is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Add,
    Mul,
    Max,
    Min,
}

/// One step of a fold. A function that is always inlined, not a closure: intrinsics are only
/// inlined into code that carries their target feature.
///
/// # Safety
/// The processor has the vector's instruction set.
#[inline(always)]
unsafe fn act<V: Vector>(action: Action, a: V, b: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        match action {
            Action::Add => a.add(b),
            Action::Mul => a.mul(b),
            Action::Max => a.max(b),
            Action::Min => a.min(b),
        }
    }
}

/// The extreme of `n` numbers, or nothing where one of them is NaN: asked for all of them, two
/// vectors at a time, that costs less than to let it win at each step. `start` is the identity.
///
/// # Safety
/// As [`fold_row`].
#[inline(always)]
unsafe fn extreme_row<V: Vector>(
    largest: bool,
    start: V::Elem,
    x: *const V::Elem,
    n: usize,
) -> Option<V::Elem>
where
    V::Elem: PartialOrd,
{
    // SAFETY: as in `fold_row`.
    unsafe {
        let better = |v: V, a: V| if largest { v.above(a) } else { v.below(a) };
        let (mut acc, mut nan, mut i) = ([V::splat(start); 4], false, 0);
        while i + 4 * V::LANES <= n {
            let v: [V; 4] = std::array::from_fn(|k| V::load(x.add(i + k * V::LANES)));
            nan |= v[0].any_nan(v[1]) | v[2].any_nan(v[3]);
            acc = std::array::from_fn(|k| better(v[k], acc[k]));
            i += 4 * V::LANES;
        }
        while i + V::LANES <= n {
            let v = V::load(x.add(i));
            nan |= v.any_nan(v);
            acc[0] = better(v, acc[0]);
            i += V::LANES;
        }
        let all = better(better(acc[0], acc[1]), better(acc[2], acc[3]));
        let mut lanes = [start; 16];
        all.store(lanes.as_mut_ptr());
        let mut best = start;
        for v in lanes.into_iter().take(V::LANES).chain((i..n).map(|i| *x.add(i))) {
            nan |= v.partial_cmp(&v).is_none();
            if if largest { v > best } else { v < best } {
                best = v;
            }
        }
        (!nan).then_some(best)
    }
}

/// Folds `n` numbers in 8 vectors side by side; `start` is the action's identity.
///
/// # Safety
/// The processor has the vector's instruction set; `x` covers `n` numbers.
#[inline(always)]
pub unsafe fn fold_row<V: Vector>(
    action: Action,
    start: V::Elem,
    step: impl Fn(V::Elem, V::Elem) -> V::Elem,
    x: *const V::Elem,
    n: usize,
) -> V::Elem {
    // SAFETY: the caller vouches for the instruction set and `n` numbers; reads below stay
    // under `n`.
    unsafe {
        let mut acc = [V::splat(start); 8];
        let mut i = 0;
        while i + 8 * V::LANES <= n {
            for (k, a) in acc.iter_mut().enumerate() {
                *a = act(action, *a, V::load(x.add(i + k * V::LANES)));
            }
            i += 8 * V::LANES;
        }
        while i + V::LANES <= n {
            acc[0] = act(action, acc[0], V::load(x.add(i)));
            i += V::LANES;
        }
        for half in [4, 2, 1] {
            for k in 0..half {
                acc[k] = act(action, acc[k], acc[k + half]);
            }
        }
        let mut lanes = [start; 16];
        acc[0].store(lanes.as_mut_ptr());
        for lane in lanes.iter_mut().take(n - i) {
            *lane = step(*lane, *x.add(i));
            i += 1;
        }
        let mut half = V::LANES / 2;
        while half > 0 {
            for j in 0..half {
                lanes[j] = step(lanes[j], lanes[j + half]);
            }
            half /= 2;
        }
        lanes[0]
    }
}

/// [`fold_row`] of float32 numbers for the instruction set `I`.
///
/// # Safety
/// The code runs in a function compiled for `I`; `x` covers `n` numbers.
#[inline(always)]
pub unsafe fn fold_row_f32<I: Isa>(action: Action, x: *const f32, n: usize) -> f32 {
    let start = match action {
        Action::Add => 0.0,
        Action::Mul => 1.0,
        Action::Max => f32::NEG_INFINITY,
        Action::Min => f32::INFINITY,
    };
    let step = |a: f32, b: f32| match action {
        Action::Add => a + b,
        Action::Mul => a * b,
        Action::Max => {
            if a.is_nan() || a > b {
                a
            } else {
                b
            }
        }
        Action::Min => {
            if a.is_nan() || a < b {
                a
            } else {
                b
            }
        }
    };
    macro_rules! folded {
        ($v:ty) => {
            match action {
                Action::Add | Action::Mul => fold_row::<$v>(action, start, step, x, n),
                Action::Max => extreme_row::<$v>(true, start, x, n).unwrap_or(f32::NAN),
                Action::Min => extreme_row::<$v>(false, start, x, n).unwrap_or(f32::NAN),
            }
        };
    }
    // SAFETY: passed on to the caller.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        match I::LEVEL {
            Level::Avx512 => return folded!(std::arch::x86_64::__m512),
            Level::Avx2 => return folded!(std::arch::x86_64::__m256),
            Level::Base => {}
        }
        folded!(Portable<f32, 4>)
    }
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
        }
    };
}
portable!(f32, 4);
portable!(f64, 2);

#[cfg(target_arch = "x86_64")]
pub use x86::transpose8;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($v:ty, $t:ty, $n:literal, $splat:ident, $load:ident, $store:ident, $fma:ident,
         $add:ident, $mul:ident, $max:ident, $min:ident, |$a:ident, $m:ident| $keep_nan:expr,
         |$x:ident, $y:ident| $any_nan:expr) => {
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
                #[inline(always)]
                unsafe fn mul(self, o: Self) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $mul(self, o) }
                }
                #[inline(always)]
                unsafe fn max(self, o: Self) -> Self {
                    // The instruction returns its second operand where either is NaN.
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe {
                        let ($a, $m) = (self, $max(self, o));
                        $keep_nan
                    }
                }
                #[inline(always)]
                unsafe fn min(self, o: Self) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe {
                        let ($a, $m) = (self, $min(self, o));
                        $keep_nan
                    }
                }
                #[inline(always)]
                unsafe fn above(self, o: Self) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $max(self, o) }
                }
                #[inline(always)]
                unsafe fn below(self, o: Self) -> Self {
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $min(self, o) }
                }
                #[inline(always)]
                unsafe fn any_nan(self, o: Self) -> bool {
                    let ($x, $y) = (self, o);
                    // SAFETY: the caller vouches for the instruction set.
                    unsafe { $any_nan }
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
        _mm256_add_ps,
        _mm256_mul_ps,
        _mm256_max_ps,
        _mm256_min_ps,
        |a, m| _mm256_blendv_ps(m, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a)),
        |x, y| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, y)) != 0
    );
    vector!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_mul_pd,
        _mm256_max_pd,
        _mm256_min_pd,
        |a, m| _mm256_blendv_pd(m, a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a)),
        |x, y| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(x, y)) != 0
    );
    vector!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        _mm512_mul_ps,
        _mm512_max_ps,
        _mm512_min_ps,
        |a, m| _mm512_mask_mov_ps(m, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), a),
        |x, y| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, y) != 0
    );
    vector!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_mul_pd,
        _mm512_max_pd,
        _mm512_min_pd,
        |a, m| _mm512_mask_mov_pd(m, _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a), a),
        |x, y| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x, y) != 0
    );

    /// `dst[i * ds + j] = src[i + j * ss]` for i, j < 8, where j beyond `last` reads `last`
    /// again.
    ///
    /// # Safety
    /// The processor has AVX2; both sides cover the tile, `src` up to j = `last`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn transpose8(dst: *mut f32, ds: isize, src: *const f32, ss: isize, last: isize) {
        // SAFETY: the caller vouches for 8 numbers at each address that is used.
        unsafe {
            let r: [__m256; 8] =
                std::array::from_fn(|k| _mm256_loadu_ps(src.offset((k as isize).min(last) * ss)));
            // Pairs of rows, then quarters, then halves.
            let lo = |a, b| _mm256_unpacklo_ps(a, b);
            let hi = |a, b| _mm256_unpackhi_ps(a, b);
            let t = [
                lo(r[0], r[1]),
                hi(r[0], r[1]),
                lo(r[2], r[3]),
                hi(r[2], r[3]),
                lo(r[4], r[5]),
                hi(r[4], r[5]),
                lo(r[6], r[7]),
                hi(r[6], r[7]),
            ];
            let low = |a, b| _mm256_shuffle_ps::<0x44>(a, b);
            let high = |a, b| _mm256_shuffle_ps::<0xee>(a, b);
            let u = [
                low(t[0], t[2]),
                high(t[0], t[2]),
                low(t[1], t[3]),
                high(t[1], t[3]),
                low(t[4], t[6]),
                high(t[4], t[6]),
                low(t[5], t[7]),
                high(t[5], t[7]),
            ];
            // In rising order: packing lets a row's store run into the next row's place.
            for k in 0..4 {
                let v = _mm256_permute2f128_ps::<0x20>(u[k], u[k + 4]);
                _mm256_storeu_ps(dst.offset(k as isize * ds), v);
            }
            for k in 0..4 {
                let v = _mm256_permute2f128_ps::<0x31>(u[k], u[k + 4]);
                _mm256_storeu_ps(dst.offset((k as isize + 4) * ds), v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Kernel, dispatch};

    struct Fold<'a>(Action, &'a [f32]);

    impl Kernel for Fold<'_> {
        type Output = f32;
        #[inline(always)]
        fn run<I: Isa>(self) -> f32 {
            // SAFETY: `run` is compiled for `I`; the slice has as many numbers as it says.
            unsafe { fold_row_f32::<I>(self.0, self.1.as_ptr(), self.1.len()) }
        }
    }

    #[test]
    fn extremes_stand_anywhere_and_nan_wins_from_anywhere() {
        for n in 1..=150 {
            for at in 0..n {
                let mut x: Vec<f32> = (0..n).map(|i| ((i * 37) % 11) as f32 - 5.0).collect();
                x[at] = 99.0;
                assert_eq!(dispatch(Fold(Action::Max, &x)), 99.0, "{at} of {n}");
                x[at] = -99.0;
                assert_eq!(dispatch(Fold(Action::Min, &x)), -99.0, "{at} of {n}");
                x[at] = f32::NAN;
                for action in [Action::Max, Action::Min] {
                    assert!(dispatch(Fold(action, &x)).is_nan(), "{action:?}, {at} of {n}");
                }
            }
            let infinite = vec![f32::INFINITY; n];
            assert_eq!(dispatch(Fold(Action::Min, &infinite)), f32::INFINITY);
            assert_eq!(dispatch(Fold(Action::Max, &infinite)), f32::INFINITY);
        }
    }
}
