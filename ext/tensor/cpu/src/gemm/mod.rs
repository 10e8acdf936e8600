//! Matrix products: C = A B or C += A B for float32 and float64, any strides, batches.
//!
//! The scheme is Goto's ("Anatomy of high-performance matrix multiplication", 2008) as BLIS has
//! it: B is packed in panels, A in blocks, a tile of C stays in registers. Small products skip
//! the packing. Invariant: each element of C is summed in one order that depends on shapes
//! only, so the thread count never changes a result.
//!
//! Own kernel instead of a library: measured in `benches/README.md`.

mod micro;
mod pack;
mod paths;
mod windows;

pub use pack::Mat;
pub use windows::{Panel, Runs, add_spread, add_taps, of_windows, over, panel, windows};

use crate::isa::level;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use micro::{Kernels, Tile, TileFn};
use pack::{SLACK, pack_panel};
use std::ops::Range;

/// Below this many multiply-adds one thread works alone: about 10 us.
const SPLIT_WORK: usize = 1 << 19;
/// From this many on sleeping threads are woken.
const WAKE_WORK: usize = 1 << 21;
/// Up to this many multiply-adds operands are read in place.
const DIRECT_WORK: usize = 1 << 21;
/// The same with rows of A contiguous and up to [`DIRECT_DEPTH`] long.
const DIRECT_ROWS: usize = 1 << 24;
const DIRECT_DEPTH: usize = 256;
/// Numbers of A, its rows contiguous, up to which packing B costs more than it saves: each number
/// of B serves few rows then.
const FEW_NUMBERS: usize = 1 << 15;

/// An element type with tiles.
pub trait Gemm: Copy + Default + Send + Sync + 'static {
    fn kernels() -> &'static Kernels<Self>;
    fn sum(a: Self, b: Self) -> Self;
}
impl Gemm for f32 {
    fn kernels() -> &'static Kernels<f32> {
        micro::f32_kernels(level())
    }
    fn sum(a: f32, b: f32) -> f32 {
        a + b
    }
}
impl Gemm for f64 {
    fn kernels() -> &'static Kernels<f64> {
        micro::f64_kernels(level())
    }
    fn sum(a: f64, b: f64) -> f64 {
        a + b
    }
}

/// Where results go. As [`Mat`], writable.
#[derive(Clone, Copy, Debug)]
pub struct MatMut<T> {
    pub ptr: *mut T,
    pub rs: isize,
    pub cs: isize,
}

// SAFETY: a plain address; tasks write disjoint tiles of it.
unsafe impl<T: Send> Send for MatMut<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for MatMut<T> {}

impl<T> MatMut<T> {
    #[inline]
    fn at(&self, row: usize, col: usize) -> *mut T {
        self.ptr.wrapping_offset(row as isize * self.rs + col as isize * self.cs)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// C (m x n) = A (m x k) B (k x n), or C += A B where `add`.
///
/// # Safety
/// The matrices cover their extents; C overlaps neither A nor B, and no two of its elements
/// share an address.
pub unsafe fn gemm<T: Gemm>(
    threads: &Threads,
    shape: Shape,
    a: Mat<T>,
    b: Mat<T>,
    c: MatMut<T>,
    add: bool,
) -> Result<(), NoScratch> {
    // SAFETY: passed on to the caller.
    unsafe { Job { shape, a, b, c, add, plus: Mat::NONE }.start(threads) }
}

/// C = A B + D.
///
/// # Safety
/// As [`gemm`]; D covers C's extents.
pub unsafe fn gemm_plus<T: Gemm>(
    threads: &Threads,
    shape: Shape,
    a: Mat<T>,
    b: Mat<T>,
    c: MatMut<T>,
    plus: Mat<T>,
) -> Result<(), NoScratch> {
    // SAFETY: passed on to the caller.
    unsafe { Job { shape, a, b, c, add: false, plus }.start(threads) }
}

/// One product.
#[derive(Clone, Copy)]
struct Job<T> {
    shape: Shape,
    a: Mat<T>,
    b: Mat<T>,
    c: MatMut<T>,
    add: bool,
    /// What is added to the product, if anything.
    plus: Mat<T>,
}

impl<T: Gemm> Job<T> {
    /// The same product, written as that of the transposed operands.
    fn transposed(&self) -> Job<T> {
        let Shape { m, n, k } = self.shape;
        Job {
            shape: Shape { m: n, n: m, k },
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: MatMut { ptr: self.c.ptr, rs: self.c.cs, cs: self.c.rs },
            add: self.add,
            plus: self.plus.transposed(),
        }
    }

    /// # Safety
    /// As [`gemm`].
    unsafe fn start(&self, threads: &Threads) -> Result<(), NoScratch> {
        let Shape { m, n, k } = self.shape;
        if m == 0 || n == 0 {
            return Ok(());
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if k == 0 {
                self.empty();
                return Ok(());
            }
            // Tiles want contiguous columns of C; a column vector is cheaper as a row.
            if (self.c.cs != 1 && self.c.rs == 1) || (n == 1 && m > 1) {
                return self.transposed().run(threads);
            }
            self.run(threads)
        }
    }

    /// Sums of nothing.
    ///
    /// # Safety
    /// As [`gemm`].
    unsafe fn empty(&self) {
        for i in 0..self.shape.m {
            for j in 0..self.shape.n {
                let (c, plus) = (self.c.at(i, j), self.plus_at(i, j));
                // SAFETY: inside C and what is added to it.
                unsafe {
                    let v = if self.add { *c } else { T::default() };
                    *c = if plus.is_null() { v } else { T::sum(v, *plus) };
                }
            }
        }
    }

    /// Whether tiles can read A where it lies.
    fn in_place(&self) -> bool {
        self.a.cs == 1 || self.a.rs == 1 || self.shape.m == 1
    }

    fn small(&self, work: usize) -> bool {
        let Shape { m, k, .. } = self.shape;
        let rows = self.a.cs == 1 && k <= DIRECT_DEPTH;
        let few = self.a.cs == 1 && self.b.cs == 1 && m.saturating_mul(k) <= FEW_NUMBERS;
        few || work <= if rows { DIRECT_ROWS } else { DIRECT_WORK }
    }

    /// Few rows times a larger matrix whose columns are contiguous, which are then read once and
    /// in place as the rows of the transposed product.
    fn columns_of_few_rows(&self) -> bool {
        let Shape { m, n, .. } = self.shape;
        self.b.rs == 1 && self.b.cs != 1 && m <= T::kernels().nr && n >= 4 * m
    }

    /// # Safety
    /// As [`gemm`].
    unsafe fn run(&self, threads: &Threads) -> Result<(), NoScratch> {
        let Shape { m, n, k } = self.shape;
        let work = m.saturating_mul(n).saturating_mul(k);
        // SAFETY: passed on to the caller.
        unsafe {
            if m <= 4 && self.b.rs == 1 && self.b.cs != 1 {
                self.dots(threads)
            } else if self.columns_of_few_rows() {
                self.transposed().direct(threads, work)
            } else if self.in_place() && (self.small(work) || (m <= 4 && self.b.cs == 1)) {
                self.direct(threads, work)
            } else {
                self.blocked(threads)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize, seed: u64) -> Vec<f32> {
        // Small whole numbers: float32 sums of their products are exact in any order.
        (0..n as u64).map(|i| ((i * 2_654_435_761 + seed * 97) % 17) as f32 - 8.0).collect()
    }

    /// A matrix of `rows` x `cols` within a buffer, as layout `kind` has it.
    fn strides(kind: usize, rows: usize, cols: usize) -> (isize, isize, usize) {
        let (r, c) = (rows.max(1) as isize, cols.max(1) as isize);
        match kind {
            0 => (c, 1, rows * cols),
            1 => (1, r, rows * cols),
            2 => (2 * c + 3, 2, rows * (2 * cols + 3)),
            _ => (0, 1, cols),
        }
    }

    fn check<T: Gemm + PartialEq + std::fmt::Debug>(
        threads: &Threads,
        shape: Shape,
        kinds: [usize; 3],
        add: bool,
        from: fn(f32) -> T,
        to: fn(T) -> f32,
    ) {
        let Shape { m, n, k } = shape;
        let (ars, acs, alen) = strides(kinds[0], m, k);
        let (brs, bcs, blen) = strides(kinds[1], k, n);
        let (crs, ccs, clen) = strides(kinds[2], m, n);
        let a: Vec<T> = values(alen, 1).into_iter().map(from).collect();
        let b: Vec<T> = values(blen, 2).into_iter().map(from).collect();
        let old: Vec<T> = values(clen, 3).into_iter().map(from).collect();
        let mut c = old.clone();
        let am = Mat { ptr: a.as_ptr(), rs: ars, cs: acs };
        let bm = Mat { ptr: b.as_ptr(), rs: brs, cs: bcs };
        let cm = MatMut { ptr: c.as_mut_ptr(), rs: crs, cs: ccs };
        // SAFETY: the vectors have the lengths that `strides` states.
        unsafe { gemm(threads, shape, am, bm, cm, add) }.unwrap();
        let bias: Vec<T> = values(n.max(1), 4).into_iter().map(from).collect();
        let plus = Mat { ptr: bias.as_ptr(), rs: 0, cs: 1 };
        let mut summed = old.clone();
        let sm = MatMut { ptr: summed.as_mut_ptr(), ..cm };
        // SAFETY: as above; the row of what is added has n numbers.
        unsafe { gemm_plus(threads, shape, am, bm, sm, plus) }.unwrap();
        let mut want = old;
        let mut wanted = want.clone();
        for i in 0..m as isize {
            for j in 0..n as isize {
                let at = (i * crs + j * ccs) as usize;
                let mut sum = if add { to(want[at]) } else { 0.0 };
                for p in 0..k as isize {
                    sum +=
                        to(a[(i * ars + p * acs) as usize]) * to(b[(p * brs + j * bcs) as usize]);
                }
                let before = if add { to(want[at]) } else { 0.0 };
                wanted[at] = from(sum - before + to(bias[j as usize]));
                want[at] = from(sum);
            }
        }
        assert_eq!(summed, wanted, "{shape:?} layouts {kinds:?} plus");
        assert_eq!(c, want, "{shape:?} layouts {kinds:?} add {add} threads {}", threads.count());
    }

    #[test]
    fn products_of_all_layouts_are_exact() {
        let sizes = [0, 1, 2, 5, 7, 16, 17, 33];
        for threads in [Threads::new(1), Threads::new(3)] {
            for (i, &m) in sizes.iter().enumerate() {
                for (j, &n) in sizes.iter().enumerate() {
                    for (p, &k) in sizes.iter().enumerate() {
                        let kinds = [(i + j + p) % 4, (i * 3 + p) % 4, (i + 2 * j) % 3];
                        let shape = Shape { m, n, k };
                        check::<f32>(&threads, shape, kinds, (i + j) % 2 == 0, |v| v, |v| v);
                        check::<f64>(&threads, shape, kinds, p % 2 == 0, f64::from, |v| v as f32);
                    }
                }
            }
        }
    }

    #[test]
    fn blocked_products_are_exact() {
        let shapes =
            [(150, 170, 200), (5, 2100, 400), (300, 40, 1100), (2, 900, 900), (130, 2070, 40)];
        for threads in [Threads::new(1), Threads::new(2), Threads::new(5)] {
            for (at, &(m, n, k)) in shapes.iter().enumerate() {
                for kind in 0..3 {
                    let kinds = [kind, (kind + at) % 3, (kind + 2 * at) % 3];
                    check::<f32>(&threads, Shape { m, n, k }, kinds, kind == 1, |v| v, |v| v);
                }
                let shape = Shape { m, n, k };
                check::<f64>(&threads, shape, [at % 3, 1, 0], false, f64::from, |v| v as f32);
            }
        }
    }

    #[test]
    fn thread_count_does_not_change_a_bit() {
        let (m, n, k) = (97, 203, 611);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.73).cos()).collect();
        let mut results = Vec::new();
        for threads in [1, 2, 3, 7] {
            let threads = Threads::new(threads);
            let mut c = vec![0f32; m * n];
            let am = Mat { ptr: a.as_ptr(), rs: k as isize, cs: 1 };
            let bm = Mat { ptr: b.as_ptr(), rs: n as isize, cs: 1 };
            let cm = MatMut { ptr: c.as_mut_ptr(), rs: n as isize, cs: 1 };
            // SAFETY: the vectors have these sizes.
            unsafe { gemm(&threads, Shape { m, n, k }, am, bm, cm, false) }.unwrap();
            results.push(c);
        }
        assert!(results.windows(2).all(|w| w[0] == w[1]));
    }
}
