//! The inner loops of reductions, over contiguous elements.

use super::fold::Fold;
use crate::isa::{Isa, Kernel, dispatch};
use crate::simd::Element;

/// Elements that are folded in lanes before their total goes into the wide accumulator.
pub const BLOCK: usize = 1024;

/// Folds `n` <= [`BLOCK`] contiguous elements.
///
/// # Safety
/// `x` covers `n` elements.
#[inline]
pub unsafe fn row<F: Fold>(x: *const F::In, n: usize) -> F::Wide {
    dispatch(Row::<F> { x, n })
}

struct Row<F: Fold> {
    x: *const F::In,
    n: usize,
}

impl<F: Fold> Kernel for Row<F> {
    type Output = F::Wide;
    #[inline(always)]
    fn run<I: Isa>(self) -> F::Wide {
        if let Some(action) = F::ACTION {
            // SAFETY: `run` is compiled for `I`; `x` covers `n` elements.
            let total = unsafe { F::In::row::<I>(action, self.x, self.n) };
            return F::widen(F::lane(total));
        }
        // So many lanes that the compiler keeps the loop over them and vectorises it.
        if self.n >= 256 { self.lanes::<128>() } else { self.lanes::<16>() }
    }
}

impl<F: Fold> Row<F> {
    #[inline(always)]
    fn lanes<const N: usize>(&self) -> F::Wide {
        let (x, n) = (self.x, self.n);
        let mut acc = [F::IDENTITY; N];
        let whole = n / N * N;
        for i in (0..whole).step_by(N) {
            for (j, a) in acc.iter_mut().enumerate() {
                // SAFETY: i + j < n, which the caller of `row` vouches for.
                *a = F::step(*a, F::lane(unsafe { *x.add(i + j) }));
            }
        }
        for (j, a) in acc.iter_mut().enumerate().take(n - whole) {
            // SAFETY: as above.
            *a = F::step(*a, F::lane(unsafe { *x.add(whole + j) }));
        }
        let mut half = N / 2;
        while half > 0 {
            for j in 0..half {
                acc[j] = F::step(acc[j], acc[j + half]);
            }
            half /= 2;
        }
        F::widen(acc[0])
    }
}

/// Folds `count` rows of `n` contiguous elements that begin `step` apart, one result each.
///
/// # Safety
/// `x` covers the rows, `out` has room for `count` results.
pub unsafe fn rows<F: Fold>(
    x: *const F::In,
    step: isize,
    n: usize,
    count: usize,
    out: *mut F::Out,
) {
    dispatch(Rows::<F> { x, step, n, count, out });
}

struct Rows<F: Fold> {
    x: *const F::In,
    step: isize,
    n: usize,
    count: usize,
    out: *mut F::Out,
}

impl<F: Fold> Kernel for Rows<F> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for i in 0..self.count {
            let row = self.x.wrapping_offset(i as isize * self.step);
            let mut total = F::NOTHING;
            for at in (0..self.n).step_by(BLOCK) {
                let part = Row::<F> { x: row.wrapping_add(at), n: BLOCK.min(self.n - at) };
                total = F::merge(total, part.run::<I>());
            }
            // SAFETY: the caller of `rows` vouches for the room.
            unsafe { self.out.add(i).write(F::finish(total)) };
        }
    }
}

/// Folds `rows` rows of `width` contiguous elements, `step` apart, into `acc`.
///
/// # Safety
/// `x` covers the rows, `acc` `width` lanes; they do not overlap.
pub unsafe fn columns<F: Fold>(
    acc: *mut F::Lane,
    x: *const F::In,
    step: isize,
    rows: usize,
    width: usize,
) {
    dispatch(Columns::<F> { acc, x, step, rows, width });
}

struct Columns<F: Fold> {
    acc: *mut F::Lane,
    x: *const F::In,
    step: isize,
    rows: usize,
    width: usize,
}

impl<F: Fold> Kernel for Columns<F> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Columns { acc, x, step, rows, width } = self;
        if let Some(action) = F::ACTION {
            // SAFETY: the caller of `columns` vouches for rows and width; a fold by an action
            // has lanes of its elements' type.
            return unsafe { F::In::columns::<I>(action, acc.cast(), x, step, rows, width) };
        }
        let mut r = 0;
        while r + 8 <= rows {
            let row: [*const F::In; 8] =
                std::array::from_fn(|k| x.wrapping_offset((r + k) as isize * step));
            for j in 0..width {
                // SAFETY: the caller of `columns` vouches for rows and width.
                unsafe {
                    let v = |k: usize| F::lane(*row[k].add(j));
                    let pair = |k: usize| F::step(v(k), v(k + 1));
                    let (a, b) = (F::step(pair(0), pair(2)), F::step(pair(4), pair(6)));
                    *acc.add(j) = F::step(*acc.add(j), F::step(a, b));
                }
            }
            r += 8;
        }
        for r in r..rows {
            let row = x.wrapping_offset(r as isize * step);
            for j in 0..width {
                // SAFETY: as above.
                unsafe { *acc.add(j) = F::step(*acc.add(j), F::lane(*row.add(j))) };
            }
        }
    }
}
