//! The inner loops of reductions, over contiguous elements.

use super::fold::Fold;
use crate::isa::{Isa, Kernel, dispatch};

/// Elements that are folded in lanes before their total goes into the wide accumulator.
pub const BLOCK: usize = 1024;
const LANES: usize = 32;

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
        let Row { x, n } = self;
        let mut acc = [F::IDENTITY; LANES];
        let whole = n / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            for (j, a) in acc.iter_mut().enumerate() {
                // SAFETY: i + j < n, which the caller of `row` vouches for.
                *a = F::step(*a, F::lane(unsafe { *x.add(i + j) }));
            }
        }
        for (j, i) in (whole..n).enumerate() {
            // SAFETY: as above.
            acc[j] = F::step(acc[j], F::lane(unsafe { *x.add(i) }));
        }
        let mut half = LANES / 2;
        while half > 0 {
            for j in 0..half {
                acc[j] = F::step(acc[j], acc[j + half]);
            }
            half /= 2;
        }
        F::widen(acc[0])
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
        let mut r = 0;
        while r + 4 <= rows {
            let at = |k: usize| x.wrapping_offset((r + k) as isize * step);
            let (x0, x1, x2, x3) = (at(0), at(1), at(2), at(3));
            for j in 0..width {
                // SAFETY: the caller of `columns` vouches for rows and width.
                unsafe {
                    let a = F::step(F::lane(*x0.add(j)), F::lane(*x1.add(j)));
                    let b = F::step(F::lane(*x2.add(j)), F::lane(*x3.add(j)));
                    *acc.add(j) = F::step(*acc.add(j), F::step(a, b));
                }
            }
            r += 4;
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
