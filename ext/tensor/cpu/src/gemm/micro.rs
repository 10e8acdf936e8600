//! The inner loop of a matrix product: one tile of C held in registers.
//!
//! Invariant: a tile reads `k` rows of `nr` numbers of B (contiguous within a row) and `k`
//! columns of up to `mr` numbers of A, and writes only the `cols` columns it is told to.

use crate::isa::Level;
use crate::simd::{Portable, Vector};
use std::mem::MaybeUninit;
use std::ops::{Add, Mul};

/// Arguments of one tile. Strides count elements.
#[derive(Clone, Copy)]
pub struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub a_rs: isize,
    pub a_cs: isize,
    pub b: *const T,
    pub b_rs: isize,
    pub c: *mut T,
    pub c_rs: isize,
    pub c_cs: isize,
    /// Valid columns, at most `nr`.
    pub cols: usize,
    /// Adds to C instead of replacing it.
    pub add: bool,
    /// What is added to the result, null for nothing, and its strides.
    pub plus: *const T,
    pub plus_rs: isize,
    pub plus_cs: isize,
    /// Where rows of B begin, or of A or C, for the tiles that say so.
    pub offsets: *const isize,
    /// Rows of A in runs of `k` numbers with `gap` numbers between them.
    pub runs: usize,
    pub gap: usize,
}

impl<T> Tile<T> {
    /// A tile without extents; callers state what differs.
    pub const NONE: Tile<T> = Tile {
        k: 0,
        a: std::ptr::null(),
        a_rs: 0,
        a_cs: 0,
        b: std::ptr::null(),
        b_rs: 0,
        c: std::ptr::null_mut(),
        c_rs: 0,
        c_cs: 1,
        cols: 0,
        add: false,
        plus: std::ptr::null(),
        plus_rs: 0,
        plus_cs: 0,
        offsets: std::ptr::null(),
        runs: 1,
        gap: 0,
    };
}

/// How a tile finds its operands.
mod place {
    /// A in columns of contiguous numbers, `a_cs` apart.
    pub const COLUMNS: u8 = 0;
    /// A in contiguous rows.
    pub const ROWS: u8 = 1;
    /// A in contiguous rows, each row of B at its own offset.
    pub const OVER: u8 = 2;
    /// Each row of A at its own offset, in runs.
    pub const WINDOWS: u8 = 3;
    /// A in contiguous rows, each row of C at its own offset.
    pub const SPREAD: u8 = 4;
}

/// Computes one tile.
///
/// # Safety
/// The pointers and strides of the tile cover its operands, and the processor has the
/// instruction set of the table that the function came from.
pub type TileFn<T> = unsafe fn(&Tile<T>);

/// The tiles of one instruction set. Function `[rows - 1]` computes `rows` rows.
pub struct Kernels<T: 'static> {
    pub mr: usize,
    pub nr: usize,
    /// Depth of a block, so that `mr` rows of A stay in the first cache.
    pub kc: usize,
    /// Columns of a block of B, so that it stays in the second cache.
    pub nc: usize,
    /// A packed in columns of `mr` (zero padded).
    pub packed: &'static [TileFn<T>],
    /// A in place, its rows contiguous.
    pub rows: &'static [TileFn<T>],
    /// As `rows`, the rows of B at offsets.
    pub over: &'static [TileFn<T>],
    /// Rows of A at offsets.
    pub windows: &'static [TileFn<T>],
    /// As `rows`, the rows of C at offsets.
    pub spread: &'static [TileFn<T>],
    /// The last three with `lanes` columns.
    pub over_narrow: &'static [TileFn<T>],
    pub windows_narrow: &'static [TileFn<T>],
    pub spread_narrow: &'static [TileFn<T>],
    /// As `rows`, `lanes` columns.
    pub narrow: &'static [TileFn<T>],
    pub lanes: usize,
    /// A in place, its columns contiguous.
    pub columns: &'static [TileFn<T>],
    /// One row, `wide` columns: products with a vector.
    pub row: TileFn<T>,
    pub wide: usize,
    pub dot: DotFn<T>,
}

/// Dot products of `k` numbers from the second argument with `count` <= 4 columns that begin
/// `stride` apart.
///
/// # Safety
/// The pointers cover what is read; instruction set as [`TileFn`].
pub type DotFn<T> = unsafe fn(usize, *const T, *const T, isize, usize, &mut [T; 4]);

/// # Safety
/// As [`DotFn`].
#[inline(always)]
unsafe fn dot<V: Vector, const N: usize>(
    k: usize,
    x: *const V::Elem,
    y: *const V::Elem,
    stride: isize,
    out: &mut [V::Elem; 4],
) where
    V::Elem: Mul<Output = V::Elem> + Add<Output = V::Elem>,
{
    // SAFETY: the caller vouches for k numbers of x and of each of N columns; zeroed numbers
    // are valid.
    unsafe {
        let zero: V::Elem = std::mem::zeroed();
        let mut acc = [[V::splat(zero); 2]; N];
        let step = 2 * V::LANES;
        let whole = k / step * step;
        for p in (0..whole).step_by(step) {
            let (x0, x1) = (V::load(x.add(p)), V::load(x.add(p + V::LANES)));
            for (j, a) in acc.iter_mut().enumerate() {
                let y = y.offset(j as isize * stride).add(p);
                a[0] = x0.fma(V::load(y), a[0]);
                a[1] = x1.fma(V::load(y.add(V::LANES)), a[1]);
                // The columns of the next call.
                let next = y.wrapping_offset(N as isize * stride);
                prefetch(next);
                prefetch(next.wrapping_add(V::LANES));
            }
        }
        for (j, a) in acc.iter().enumerate() {
            let mut lanes: [V::Elem; 16] = std::mem::zeroed();
            a[0].add(a[1]).store(lanes.as_mut_ptr());
            let mut half = V::LANES / 2;
            while half > 0 {
                for i in 0..half {
                    lanes[i] = lanes[i] + lanes[i + half];
                }
                half /= 2;
            }
            let mut sum = lanes[0];
            for p in whole..k {
                sum = sum + *x.add(p) * *y.offset(j as isize * stride).add(p);
            }
            out[j] = sum;
        }
    }
}

/// Asks for the cache line of an address; the address need not be valid.
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// As `prefetch`, into the second cache only.
#[inline(always)]
fn prefetch_far<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(p.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Runs the body for each row of a tile. Written out, not a loop: the rows must be known to be
/// registers before loops are unrolled, else each sum goes through memory at every step.
macro_rules! rows {
    ($mr:expr, |$i:ident| $body:expr) => {
        rows!(@ $mr, $i, $body, 0 1 2 3 4 5 6 7 8 9 10 11)
    };
    (@ $mr:expr, $i:ident, $body:expr, $($n:literal)*) => {
        $(if $n < $mr {
            let $i: usize = $n;
            $body;
        })*
    };
}

/// Steps by which B, and packed A, are asked for before they are read.
const AHEAD: isize = 8;
/// Bytes of a cache line.
const LINE: usize = 64;

/// `PLACE` says how the operands are found: none needs address arithmetic per row of the tile.
///
/// # Safety
/// As [`TileFn`]; `a_cs` replaces the tile's.
#[inline(always)]
unsafe fn tile<V: Vector, const MR: usize, const NV: usize, const PLACE: u8>(
    t: &Tile<V::Elem>,
    a_cs: isize,
) where
    V::Elem: Add<Output = V::Elem>,
{
    // SAFETY: the caller vouches for the operands' extents and the instruction set; reads and
    // writes below stay inside MR rows, k columns and `cols` columns.
    unsafe {
        let zero: V::Elem = std::mem::zeroed();
        let mut acc = [[V::splat(zero); NV]; MR];
        let (mut a, mut b) = (t.a, t.b);
        let row_of_c = |i: usize| {
            let spread = PLACE == place::SPREAD;
            t.c.wrapping_offset(if spread { *t.offsets.add(i) } else { i as isize * t.c_rs })
        };
        for i in 0..MR {
            // The tile's rows of C are needed when the loop below is done.
            prefetch(row_of_c(i));
            prefetch(row_of_c(i).wrapping_add(NV * V::LANES - 1));
        }
        let row: [*const V::Elem; MR] = std::array::from_fn(|i| {
            if PLACE == place::WINDOWS {
                t.a.wrapping_offset(*t.offsets.add(i))
            } else {
                t.a.wrapping_offset(i as isize * t.a_rs)
            }
        });
        let in_rows = PLACE != place::COLUMNS;
        let runs = if PLACE == place::WINDOWS { t.runs } else { 1 };
        let mut at = 0;
        for _ in 0..runs {
            for p in 0..t.k {
                if PLACE == place::OVER {
                    b = t.b.wrapping_offset(*t.offsets.add(p));
                } else {
                    prefetch(b.wrapping_offset(AHEAD * t.b_rs));
                    prefetch(b.wrapping_offset(AHEAD * t.b_rs + (NV * V::LANES) as isize - 1));
                }
                let mut bv = [V::splat(zero); NV];
                for (j, v) in bv.iter_mut().enumerate() {
                    *v = V::load(b.add(j * V::LANES));
                }
                if !in_rows {
                    prefetch(a.wrapping_offset(2 * AHEAD * a_cs));
                }
                if NV == 1 && PLACE == place::ROWS {
                    // A has many rows, of weights that come from memory: those of the next tile.
                    let next = t.a.wrapping_offset(MR as isize * t.a_rs);
                    prefetch_far(next.wrapping_add(p * (LINE / size_of::<V::Elem>())));
                }
                rows!(MR, |i| {
                    let av = V::splat(if in_rows { *row[i].add(at) } else { *a.add(i) });
                    for (v, b) in acc[i].iter_mut().zip(bv) {
                        *v = av.fma(b, *v);
                    }
                });
                at += 1;
                a = a.offset(a_cs);
                b = b.wrapping_offset(t.b_rs);
            }
            at += t.gap;
        }
        let plain = t.plus.is_null();
        if t.cols == NV * V::LANES && t.c_cs == 1 && (plain || t.plus_cs == 1) {
            rows!(MR, |i| {
                let c = row_of_c(i);
                let plus = t.plus.wrapping_offset(i as isize * t.plus_rs);
                for (j, v) in acc[i].iter().enumerate() {
                    let p = c.add(j * V::LANES);
                    let v = if t.add { v.add(V::load(p)) } else { *v };
                    let v = if plain { v } else { v.add(V::load(plus.add(j * V::LANES))) };
                    v.store(p);
                }
            });
        } else {
            let mut stored = MaybeUninit::<[V::Elem; LARGEST]>::uninit();
            let to = stored.as_mut_ptr().cast::<V::Elem>();
            rows!(MR, |i| {
                for (j, v) in acc[i].iter().enumerate() {
                    v.store(to.add((i * NV + j) * V::LANES));
                }
            });
            if PLACE == place::SPREAD {
                for i in 0..MR {
                    let row = Tile { c: row_of_c(i), ..*t };
                    scatter(&row, to.add(i * NV * V::LANES), 1, NV * V::LANES);
                }
            } else {
                scatter(t, to, MR, NV * V::LANES);
            }
        }
    }
}

/// Numbers of the largest tile.
const LARGEST: usize = 384;

/// Stores a tile of which not all columns exist or whose columns are not contiguous.
///
/// # Safety
/// `from` holds `rows` rows of `width` numbers; otherwise as [`tile`].
#[inline(never)]
unsafe fn scatter<T: Copy + Add<Output = T>>(
    t: &Tile<T>,
    from: *const T,
    rows: usize,
    width: usize,
) {
    let put = |i: usize, j: usize| {
        let to = t.c.wrapping_offset(i as isize * t.c_rs + j as isize * t.c_cs);
        // SAFETY: C is touched at `cols` columns of the rows only.
        unsafe {
            let v = *from.add(i * width + j);
            let v = if t.add { *to + v } else { v };
            let plus = t.plus.wrapping_offset(i as isize * t.plus_rs + j as isize * t.plus_cs);
            *to = if t.plus.is_null() { v } else { v + *plus };
        }
    };
    if t.c_rs == 1 {
        (0..t.cols).for_each(|j| (0..rows).for_each(|i| put(i, j)));
    } else {
        (0..rows).for_each(|i| (0..t.cols).for_each(|j| put(i, j)));
    }
}

macro_rules! tile_fns {
    ($module:ident, $feature:literal, $v:ty, $t:ty, $nv:literal, $wide:literal, $kc:literal, $nc:literal, [$($mr:literal)*]) => {
        mod $module {
            use super::*;
            const MR: usize = [$($mr),*].len();
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn packed<const R: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, $nv, { place::COLUMNS }>(t, MR as isize) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn in_rows<const R: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, $nv, { place::ROWS }>(t, 1) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn over<const R: usize, const NV: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, NV, { place::OVER }>(t, 1) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn windows<const R: usize, const NV: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, NV, { place::WINDOWS }>(t, 1) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn spread<const R: usize, const NV: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, NV, { place::SPREAD }>(t, 1) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn narrow<const R: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, 1, { place::ROWS }>(t, 1) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn in_columns<const R: usize>(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, R, $nv, { place::COLUMNS }>(t, t.a_cs) }
            }
            /// # Safety
            /// As [`TileFn`].
            #[target_feature(enable = $feature)]
            unsafe fn row(t: &Tile<$t>) {
                // SAFETY: passed on to the caller.
                unsafe { tile::<$v, 1, $wide, { place::COLUMNS }>(t, t.a_cs) }
            }
            /// # Safety
            /// As [`DotFn`].
            #[target_feature(enable = $feature)]
            unsafe fn dots(k: usize, x: *const $t, y: *const $t, s: isize, n: usize, o: &mut [$t; 4]) {
                // SAFETY: passed on to the caller.
                unsafe {
                    match n {
                        1 => dot::<$v, 1>(k, x, y, s, o),
                        2 => dot::<$v, 2>(k, x, y, s, o),
                        3 => dot::<$v, 3>(k, x, y, s, o),
                        _ => dot::<$v, 4>(k, x, y, s, o),
                    }
                }
            }
            pub static KERNELS: Kernels<$t> = Kernels {
                mr: MR,
                nr: <$v as Vector>::LANES * $nv,
                kc: $kc,
                nc: $nc,
                packed: &[$(packed::<$mr>),*],
                rows: &[$(in_rows::<$mr>),*],
                over: &[$(over::<$mr, $nv>),*],
                windows: &[$(windows::<$mr, $nv>),*],
                spread: &[$(spread::<$mr, $nv>),*],
                over_narrow: &[$(over::<$mr, 1>),*],
                windows_narrow: &[$(windows::<$mr, 1>),*],
                spread_narrow: &[$(spread::<$mr, 1>),*],
                narrow: &[$(narrow::<$mr>),*],
                lanes: <$v as Vector>::LANES,
                columns: &[$(in_columns::<$mr>),*],
                row,
                wide: <$v as Vector>::LANES * $wide,
                dot: dots,
            };
        }
    };
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

#[cfg(target_arch = "x86_64")]
tile_fns!(avx512_f32, "avx512f", __m512, f32, 2, 4, 512, 512, [1 2 3 4 5 6 7 8 9 10 11 12]);
#[cfg(target_arch = "x86_64")]
tile_fns!(avx512_f64, "avx512f", __m512d, f64, 2, 4, 256, 512, [1 2 3 4 5 6 7 8 9 10 11 12]);
#[cfg(target_arch = "x86_64")]
tile_fns!(avx2_f32, "avx2,fma", __m256, f32, 2, 8, 384, 160, [1 2 3 4 5 6]);
#[cfg(target_arch = "x86_64")]
tile_fns!(avx2_f64, "avx2,fma", __m256d, f64, 2, 8, 256, 112, [1 2 3 4 5 6]);
#[cfg(target_arch = "x86_64")]
tile_fns!(base_f32, "sse2", Portable<f32, 4>, f32, 2, 4, 320, 160, [1 2 3 4]);
#[cfg(target_arch = "x86_64")]
tile_fns!(base_f64, "sse2", Portable<f64, 2>, f64, 2, 4, 256, 96, [1 2 3 4]);
#[cfg(target_arch = "aarch64")]
tile_fns!(base_f32, "neon", Portable<f32, 4>, f32, 2, 4, 320, 160, [1 2 3 4 5 6 7 8]);
#[cfg(target_arch = "aarch64")]
tile_fns!(base_f64, "neon", Portable<f64, 2>, f64, 2, 4, 256, 96, [1 2 3 4 5 6 7 8]);

/// The tiles for `level`.
pub fn f32_kernels(level: Level) -> &'static Kernels<f32> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => &avx512_f32::KERNELS,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => &avx2_f32::KERNELS,
        _ => &base_f32::KERNELS,
    }
}

/// The tiles for `level`.
pub fn f64_kernels(level: Level) -> &'static Kernels<f64> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => &avx512_f64::KERNELS,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => &avx2_f64::KERNELS,
        _ => &base_f64::KERNELS,
    }
}
