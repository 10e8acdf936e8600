//! Folds of rows and of columns in vectors: sums, products and extremes of whole vectors at a time.
//!
//! Invariant: what is combined with what follows from the extents and the vector's length alone.

use super::whole::Whole;
use super::{Portable, Vector};
use crate::isa::{Isa, Level};

/// How numbers are folded.
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
pub unsafe fn act<V: Vector>(action: Action, a: V, b: V) -> V {
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

/// An array in one number, the upper half folded into the lower one until one is left.
#[inline(always)]
pub fn lanes<T: Element, const N: usize>(action: Action, mut all: [T; N]) -> T {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            all[i] = T::step(action, all[i], all[i + half]);
        }
        half /= 2;
    }
    all[0]
}

/// `n` < N numbers with `rest` behind them.
///
/// # Safety
/// `p` points to `n` readable numbers.
#[inline(always)]
pub unsafe fn padded<T: Copy, const N: usize>(p: *const T, n: usize, rest: T) -> [T; N] {
    let mut all = [rest; N];
    for (i, v) in all.iter_mut().enumerate().take(n) {
        // SAFETY: passed on to the caller.
        *v = unsafe { *p.add(i) };
    }
    all
}

/// A number type whose rows and columns are folded in the vectors of an instruction set.
pub trait Element: Copy + PartialOrd + Send + Sync + 'static {
    /// What changes nothing.
    fn start(action: Action) -> Self;
    fn step(action: Action, a: Self, b: Self) -> Self;
    /// Folds `n` numbers.
    ///
    /// # Safety
    /// The code runs in a function compiled for `I`; `x` covers `n` numbers.
    unsafe fn row<I: Isa>(action: Action, x: *const Self, n: usize) -> Self;
    /// Folds `rows` rows of `width` numbers, `step` apart, into `acc`.
    ///
    /// # Safety
    /// As `row`; `x` covers the rows, `acc` `width` numbers; they do not overlap.
    unsafe fn columns<I: Isa>(
        action: Action,
        acc: *mut Self,
        x: *const Self,
        step: isize,
        rows: usize,
        width: usize,
    );
}

/// The extreme of `n` numbers, or nothing where one of them is NaN: asked for all of them, two
/// vectors at a time, that costs less than to let it win at each step.
///
/// # Safety
/// As [`fold_row`].
#[inline(always)]
unsafe fn extreme_row<V: Vector>(action: Action, x: *const V::Elem, n: usize) -> Option<V::Elem>
where
    V::Elem: Element,
{
    // SAFETY: as in `fold_row`.
    unsafe {
        let start = V::Elem::start(action);
        let better = |v: V, a: V| if action == Action::Max { v.above(a) } else { v.below(a) };
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
        if i < n {
            let v = V::load_part(x.add(i), n - i, start);
            nan |= v.any_nan(v);
            acc[1] = better(v, acc[1]);
        }
        let all = better(better(acc[0], acc[1]), better(acc[2], acc[3]));
        (!nan).then(|| all.fold(action))
    }
}

/// Folds `n` numbers in 8 vectors side by side.
///
/// # Safety
/// The processor has the vector's instruction set; `x` covers `n` numbers.
#[inline(always)]
unsafe fn fold_row<V: Vector>(action: Action, x: *const V::Elem, n: usize) -> V::Elem
where
    V::Elem: Element,
{
    // SAFETY: the caller vouches for the instruction set and `n` numbers; reads below stay
    // under `n`.
    unsafe {
        let start = V::Elem::start(action);
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
        if i < n {
            acc[1] = act(action, acc[1], V::load_part(x.add(i), n - i, start));
        }
        for half in [4, 2, 1] {
            for k in 0..half {
                acc[k] = act(action, acc[k], acc[k + half]);
            }
        }
        acc[0].fold(action)
    }
}

/// Rows that one register takes before it goes into the accumulators: more make sums less exact.
const DEEP: usize = 32;

/// [`Element::columns`] in vectors `V`.
///
/// # Safety
/// As [`Element::columns`].
#[inline(always)]
unsafe fn fold_columns<V: Vector>(
    action: Action,
    acc: *mut V::Elem,
    x: *const V::Elem,
    step: isize,
    rows: usize,
    width: usize,
) where
    V::Elem: Element,
{
    let lanes = V::LANES;
    // Few columns leave registers for more rows side by side.
    let deep = if width >= 8 * lanes { DEEP } else { 2 * DEEP };
    for first in (0..rows).step_by(deep) {
        let (n, x) = (deep.min(rows - first), x.wrapping_offset(first as isize * step));
        let mut at = 0;
        // SAFETY: strips stay below `width`, which the caller vouches for.
        unsafe {
            while at + 8 * lanes <= width {
                strip::<V, 8, 1>(action, acc.add(at), x.wrapping_add(at), step, n);
                at += 8 * lanes;
            }
            if at + 4 * lanes <= width {
                strip::<V, 4, 2>(action, acc.add(at), x.wrapping_add(at), step, n);
                at += 4 * lanes;
            }
            if at + 2 * lanes <= width {
                strip::<V, 2, 4>(action, acc.add(at), x.wrapping_add(at), step, n);
                at += 2 * lanes;
            }
            if at + lanes <= width {
                strip::<V, 1, 8>(action, acc.add(at), x.wrapping_add(at), step, n);
                at += lanes;
            }
            if at < width {
                rest::<V>(action, acc.add(at), x.wrapping_add(at), step, n, width - at);
            }
        }
    }
}

/// Folds rows of W vectors, R of them side by side.
///
/// # Safety
/// As [`Element::columns`] for W vectors.
#[inline(always)]
unsafe fn strip<V: Vector, const W: usize, const R: usize>(
    action: Action,
    acc: *mut V::Elem,
    x: *const V::Elem,
    step: isize,
    rows: usize,
) where
    V::Elem: Element,
{
    // SAFETY: passed on to the caller.
    unsafe {
        let mut all = [[V::splat(V::Elem::start(action)); W]; R];
        let whole = rows / R * R;
        for r in (0..whole).step_by(R) {
            for (k, sums) in all.iter_mut().enumerate() {
                let row = x.offset((r + k) as isize * step);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = act(action, *sum, V::load(row.add(j * V::LANES)));
                }
            }
        }
        for r in whole..rows {
            let row = x.offset(r as isize * step);
            for (j, sum) in all[0].iter_mut().enumerate() {
                *sum = act(action, *sum, V::load(row.add(j * V::LANES)));
            }
        }
        let mut half = R / 2;
        while half > 0 {
            for k in 0..half {
                let other = all[k + half];
                for (sum, more) in all[k].iter_mut().zip(other) {
                    *sum = act(action, *sum, more);
                }
            }
            half /= 2;
        }
        for (j, sum) in all[0].iter().enumerate() {
            let to = acc.add(j * V::LANES);
            act(action, V::load(to), *sum).store(to);
        }
    }
}

/// As [`strip`] for `width` columns, fewer than a vector has lanes.
///
/// # Safety
/// As [`Element::columns`].
#[inline(always)]
unsafe fn rest<V: Vector>(
    action: Action,
    acc: *mut V::Elem,
    x: *const V::Elem,
    step: isize,
    rows: usize,
    width: usize,
) where
    V::Elem: Element,
{
    let start = V::Elem::start(action);
    // SAFETY: passed on to the caller.
    unsafe {
        let mut all = [V::splat(start); 4];
        let whole = rows / 4 * 4;
        for r in (0..whole).step_by(4) {
            for (k, sum) in all.iter_mut().enumerate() {
                let row = x.offset((r + k) as isize * step);
                *sum = act(action, *sum, V::load_part(row, width, start));
            }
        }
        for r in whole..rows {
            all[0] = act(action, all[0], V::load_part(x.offset(r as isize * step), width, start));
        }
        let (a, b) = (act(action, all[0], all[2]), act(action, all[1], all[3]));
        let sum = act(action, act(action, a, b), V::load_part(acc, width, start));
        // Room for any vector's lanes.
        let mut lanes = [start; 16];
        sum.store(lanes.as_mut_ptr());
        for (j, v) in lanes.into_iter().enumerate().take(width) {
            *acc.add(j) = v;
        }
    }
}

macro_rules! element {
    ($($t:ty, $v512:ty, $v256:ty, $base:ty, [$zero:expr, $one:expr, $low:expr, $high:expr],
       |$a:ident, $b:ident| $add:expr, $mul:expr, |$x:ident| $is_nan:expr, $nan:expr;)*) => {$(
        impl Element for $t {
            #[inline(always)]
            fn start(action: Action) -> $t {
                match action {
                    Action::Add => $zero,
                    Action::Mul => $one,
                    Action::Max => $low,
                    Action::Min => $high,
                }
            }
            #[inline(always)]
            fn step(action: Action, $a: $t, $b: $t) -> $t {
                let $x = $a;
                match action {
                    Action::Add => $add,
                    Action::Mul => $mul,
                    Action::Max => if $is_nan || $a > $b { $a } else { $b },
                    Action::Min => if $is_nan || $a < $b { $a } else { $b },
                }
            }
            #[inline(always)]
            unsafe fn row<I: Isa>(action: Action, x: *const $t, n: usize) -> $t {
                macro_rules! folded {
                    ($v:ty) => {
                        match action {
                            Action::Add | Action::Mul => fold_row::<$v>(action, x, n),
                            _ => extreme_row::<$v>(action, x, n).unwrap_or($nan),
                        }
                    };
                }
                // SAFETY: passed on to the caller.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    match I::LEVEL {
                        Level::Avx512 => return folded!($v512),
                        Level::Avx2 => return folded!($v256),
                        Level::Base => {}
                    }
                    folded!($base)
                }
            }
            #[inline(always)]
            unsafe fn columns<I: Isa>(
                action: Action,
                acc: *mut $t,
                x: *const $t,
                step: isize,
                rows: usize,
                width: usize,
            ) {
                // SAFETY: passed on to the caller.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    match I::LEVEL {
                        Level::Avx512 => {
                            return fold_columns::<$v512>(action, acc, x, step, rows, width);
                        }
                        Level::Avx2 => {
                            return fold_columns::<$v256>(action, acc, x, step, rows, width);
                        }
                        Level::Base => {}
                    }
                    fold_columns::<$base>(action, acc, x, step, rows, width)
                }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod wide {
    pub use super::super::x86::{I32x8, I32x16, I64x4, I64x8};
    pub use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};
}
#[cfg(not(target_arch = "x86_64"))]
mod wide {
    //! Names for the vectors that this target does not have; its level is always the lowest.
    use super::{Portable, Whole};
    pub type I32x8 = Whole<i32, 4>;
    pub type I32x16 = Whole<i32, 4>;
    pub type I64x4 = Whole<i64, 2>;
    pub type I64x8 = Whole<i64, 2>;
    pub type __m256 = Portable<f32, 4>;
    pub type __m512 = Portable<f32, 4>;
    pub type __m256d = Portable<f64, 2>;
    pub type __m512d = Portable<f64, 2>;
}

element! {
    f32, wide::__m512, wide::__m256, Portable<f32, 4>, [0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY],
        |a, b| a + b, a * b, |x| x.is_nan(), f32::NAN;
    f64, wide::__m512d, wide::__m256d, Portable<f64, 2>, [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY],
        |a, b| a + b, a * b, |x| x.is_nan(), f64::NAN;
    i32, wide::I32x16, wide::I32x8, Whole<i32, 4>, [0, 1, i32::MIN, i32::MAX],
        |a, b| a.wrapping_add(b), a.wrapping_mul(b), |_x| false, i32::MIN;
    i64, wide::I64x8, wide::I64x4, Whole<i64, 2>, [0, 1, i64::MIN, i64::MAX],
        |a, b| a.wrapping_add(b), a.wrapping_mul(b), |_x| false, i64::MIN;
    i8, Whole<i8, 16>, Whole<i8, 16>, Whole<i8, 16>, [0, 1, i8::MIN, i8::MAX],
        |a, b| a.wrapping_add(b), a.wrapping_mul(b), |_x| false, i8::MIN;
    u8, Whole<u8, 16>, Whole<u8, 16>, Whole<u8, 16>, [0, 1, u8::MIN, u8::MAX],
        |a, b| a.wrapping_add(b), a.wrapping_mul(b), |_x| false, u8::MIN;
    i16, Whole<i16, 16>, Whole<i16, 16>, Whole<i16, 16>, [0, 1, i16::MIN, i16::MAX],
        |a, b| a.wrapping_add(b), a.wrapping_mul(b), |_x| false, i16::MIN;
}

/// [`Element::row`] of float32 numbers.
///
/// # Safety
/// As [`Element::row`].
#[inline(always)]
pub unsafe fn fold_row_f32<I: Isa>(action: Action, x: *const f32, n: usize) -> f32 {
    // SAFETY: passed on to the caller.
    unsafe { f32::row::<I>(action, x, n) }
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

    struct Columns<'a, T> {
        action: Action,
        acc: &'a mut [T],
        x: &'a [T],
        rows: usize,
    }

    impl<T: Element> Kernel for Columns<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<I: Isa>(self) {
            let width = self.acc.len();
            assert!(self.x.len() >= self.rows * (width + 3));
            let (acc, x) = (self.acc.as_mut_ptr(), self.x.as_ptr());
            // SAFETY: `run` is compiled for `I`; rows of `width` numbers begin `width + 3` apart.
            unsafe { T::columns::<I>(self.action, acc, x, width as isize + 3, self.rows, width) }
        }
    }

    fn check<T: Element + std::fmt::Debug>(of: impl Fn(usize) -> T) {
        for width in (1..=40).chain([64, 100, 127, 128, 129, 300]) {
            for rows in [1, 2, 7, 33, 150] {
                let x: Vec<T> = (0..rows * (width + 3)).map(&of).collect();
                for action in [Action::Add, Action::Max, Action::Min] {
                    let mut acc = vec![T::start(action); width];
                    dispatch(Columns { action, acc: &mut acc, x: &x, rows });
                    for (j, got) in acc.iter().enumerate() {
                        let want = (0..rows)
                            .map(|r| x[r * (width + 3) + j])
                            .fold(T::start(action), |a, b| T::step(action, a, b));
                        let nan = |v: &T| v.partial_cmp(v).is_none();
                        let same = *got == want || (nan(&want) && nan(got));
                        assert!(same, "{action:?} {rows} x {width} at {j}: {got:?} {want:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn columns_of_every_width() {
        // Whole numbers, whose sums round nowhere.
        check(|i| if i % 97 == 5 { f32::NAN } else { (i * 37 % 101) as f32 - 50.0 });
        check(|i| if i % 97 == 5 { f64::NAN } else { (i * 37 % 101) as f64 - 50.0 });
        check(|i| (i * 37 % 101) as i32 - 50);
        check(|i| (i * 37 % 101) as i64 - 50);
        check(|i| (i * 37 % 101) as i8);
        check(|i| (i * 37 % 101) as i16);
    }
}
