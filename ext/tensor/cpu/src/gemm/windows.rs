//! Products with operands whose rows begin at offsets: convolutions read their windows in place.
//!
//! On one thread; the panels of B that results share are packed by the caller. Invariant: as for other products, each element is summed in one order.

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

/// Some columns of B, at most as many as a panel has.
#[derive(Clone, Copy)]
pub struct Panel<T> {
    /// The first row's numbers; a packed one has whole panels, one behind the other.
    pub b: *const T,
    pub cols: usize,
}

impl<T: Gemm> Panel<T> {
    /// A tile of the panel, packed.
    fn tile(&self) -> Tile<T> {
        let b_rs = panel::<T>() as isize;
        Tile { b: self.b, b_rs, cols: self.cols, ..Tile::NONE }
    }

    /// The tiles for its columns: those of one vector where that is enough.
    fn of<'a>(&self, wide: &'a [TileFn<T>], narrow: &'a [TileFn<T>]) -> &'a [TileFn<T>] {
        if self.cols <= T::kernels().lanes { narrow } else { wide }
    }
}

/// Runs tiles of `m` rows; `of` gives the one that begins at a row.
///
/// # Safety
/// As [`TileFn`] for each tile.
unsafe fn each_tile<T>(m: usize, tiles: &[TileFn<T>], of: impl Fn(usize) -> Tile<T>) {
    for i in (0..m).step_by(tiles.len()) {
        // SAFETY: passed on to the caller.
        unsafe { tiles[tiles.len().min(m - i) - 1](&of(i)) };
    }
}

/// C (offsets x cols) = A B where row i of A begins at `a + offsets[i]` and consists of runs, and B is
/// packed. Rows of C are `c_rs` apart.
///
/// # Safety
/// Each row of A covers its runs, B as many rows, C its rows; C overlaps neither.
pub unsafe fn of_windows<T: Gemm>(
    a: *const T,
    offsets: &[isize],
    runs: Runs,
    b: Panel<T>,
    c: *mut T,
    c_rs: usize,
) {
    let kernels = T::kernels();
    let tile = |i: usize| Tile {
        k: runs.length,
        a,
        c: c.wrapping_add(i * c_rs),
        c_rs: c_rs as isize,
        offsets: offsets[i..].as_ptr(),
        runs: runs.count,
        gap: runs.gap,
        ..b.tile()
    };
    // SAFETY: passed on to the caller.
    unsafe { each_tile(offsets.len(), b.of(kernels.windows, kernels.windows_narrow), tile) };
}

/// C (offsets x cols) += A B where A has contiguous rows of `k` numbers, one behind the other, B is
/// packed, and row i of C begins at `c + offsets[i]`.
///
/// # Safety
/// As [`of_windows`]; no two rows of C share an element.
pub unsafe fn add_spread<T: Gemm>(
    k: usize,
    a: *const T,
    b: Panel<T>,
    c: *mut T,
    offsets: &[isize],
) {
    let kernels = T::kernels();
    let tile = |i: usize| Tile {
        k,
        a: a.wrapping_add(i * k),
        a_rs: k as isize,
        c,
        add: true,
        offsets: offsets[i..].as_ptr(),
        ..b.tile()
    };
    // SAFETY: passed on to the caller.
    unsafe { each_tile(offsets.len(), b.of(kernels.spread, kernels.spread_narrow), tile) };
}

/// C (m x cols) = A B, or C += A B where `add`: A has contiguous rows, one behind the other, and row p
/// of B begins at `b + offsets[p]`. Rows of C are `c_rs` apart.
///
/// # Safety
/// As [`of_windows`]; each row of B covers a whole panel.
pub unsafe fn add_taps<T: Gemm>(
    m: usize,
    a: *const T,
    b: Panel<T>,
    offsets: &[isize],
    c: *mut T,
    c_rs: usize,
    add: bool,
) {
    let (kernels, k) = (T::kernels(), offsets.len());
    let tile = |i: usize| Tile {
        k,
        a: a.wrapping_add(i * k),
        a_rs: k as isize,
        c: c.wrapping_add(i * c_rs),
        c_rs: c_rs as isize,
        add,
        offsets: offsets.as_ptr(),
        ..b.tile()
    };
    // SAFETY: passed on to the caller.
    unsafe { each_tile(m, b.of(kernels.over, kernels.over_narrow), tile) };
}
