//! Products with operands whose rows begin at offsets: convolutions read their windows in place.
//!
//! On one thread. Invariant: as for other products, each element is summed in one order.

use super::*;

/// Columns that a panel of [`over`] has: it reads and writes whole ones.
pub fn panel<T: Gemm>() -> usize {
    T::kernels().nr
}

/// C (m x n) = A B where A's rows are contiguous and row p of B begins at `b + offsets[p]`.
///
/// # Safety
/// `n` is a multiple of [`panel`]; A covers m rows of `offsets.len()` numbers, each row of B `n`
/// numbers, C m rows of `n` contiguous numbers that overlap neither.
pub unsafe fn over<T: Gemm>(
    m: usize,
    n: usize,
    a: Mat<T>,
    b: *const T,
    offsets: &[isize],
    c: MatMut<T>,
) {
    let kernels = T::kernels();
    for j in (0..n).step_by(kernels.nr) {
        for i in (0..m).step_by(kernels.mr) {
            let tile = Tile {
                k: offsets.len(),
                a: a.at(i, 0).ptr,
                a_rs: a.rs,
                b: b.wrapping_add(j),
                c: c.at(i, j),
                c_rs: c.rs,
                cols: kernels.nr,
                offsets: offsets.as_ptr(),
                ..Tile::NONE
            };
            // SAFETY: passed on to the caller.
            unsafe { kernels.over[kernels.mr.min(m - i) - 1](&tile) };
        }
    }
}

/// Runs of numbers in rows that are read.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub count: usize,
    pub length: usize,
    /// Numbers between one run and the next.
    pub gap: usize,
}

/// C (m x n) += A B where row i of A begins at `a + offsets[i]` and consists of runs.
///
/// # Safety
/// As [`gemm`]; each row of A covers its runs.
pub unsafe fn windows<T: Gemm>(
    n: usize,
    a: *const T,
    offsets: &[isize],
    runs: Runs,
    b: Mat<T>,
    c: MatMut<T>,
) -> Result<(), NoScratch> {
    let (kernels, m, depth) = (T::kernels(), offsets.len(), runs.count * runs.length);
    let nr = kernels.nr;
    let packed = Scratch::new::<T>(depth * nr + SLACK)?;
    for j in (0..n).step_by(nr) {
        let cols = nr.min(n - j);
        // SAFETY: the scratch holds a panel; B covers depth x n.
        unsafe { pack_panel(packed.as_ptr(), nr, b.at(0, j), depth, cols) };
        for i in (0..m).step_by(kernels.mr) {
            let tile = Tile {
                k: runs.length,
                a,
                b: packed.as_ptr::<T>().cast_const(),
                b_rs: nr as isize,
                c: c.at(i, j),
                c_rs: c.rs,
                c_cs: c.cs,
                cols,
                add: true,
                offsets: offsets[i..].as_ptr(),
                runs: runs.count,
                gap: runs.gap,
                ..Tile::NONE
            };
            // SAFETY: passed on to the caller.
            unsafe { kernels.windows[kernels.mr.min(m - i) - 1](&tile) };
        }
    }
    Ok(())
}
