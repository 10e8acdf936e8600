//! Copies between layouts and dtypes: runs where both sides have them, blocks where one side
//! is the other transposed.

use crate::convert;
use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, Level, dispatch};
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;

/// Elements per thread that make a split worth it.
const GRAIN: usize = 1 << 15;
/// Edge of the tile that is transposed in registers.
const TILE: usize = 8;
/// Rows of a strip, and columns of a block of it, of a transposed copy: few enough for the first
/// cache, many enough that each of its lines is used whole (measured).
const STRIP: usize = 64;

/// Writes `src` into `out`, converting the dtype.
///
/// # Safety
/// Both cover `shape`; they do not overlap, and no two elements of `out` share an address.
pub unsafe fn copy(threads: &Threads, shape: &[usize], out: Operand, src: Operand) {
    let walk = Walk::new(shape, [out.strides, src.strides]);
    if walk.is_empty() {
        return;
    }
    let (to, from) = (SyncPtr(out.ptr), SyncPtr(src.ptr));
    if out.dtype == src.dtype
        && walk.inner_strides[0] == 1
        && walk.inner_strides[1] != 1
        && let Some(at) = walk.outer().iter().position(|d| d.1[1] == 1 && d.0 >= 8)
        && walk.inner >= 8
    {
        return transposed(threads, &walk, at, to, from, out.dtype.size());
    }
    let (so, si) = (out.dtype.size() as isize, src.dtype.size() as isize);
    let steps = [walk.inner_strides[0] * so, walk.inner_strides[1] * si];
    threads.split(walk.len(), GRAIN, |range| {
        walk.runs(range, |at, n| {
            let dst = to.get().wrapping_offset(at[0] * so);
            let src_at = from.get().wrapping_offset(at[1] * si).cast_const();
            // SAFETY: the walk stays inside the shape, which both operands cover.
            unsafe { run(dst, steps[0], out.dtype, src_at, steps[1], src.dtype, n) };
        });
    });
}

/// Copies one run of elements that lie `so` and `si` bytes apart.
///
/// # Safety
/// Both sides cover `n` elements and do not overlap.
pub unsafe fn run(
    dst: *mut u8,
    so: isize,
    to: DType,
    src: *const u8,
    si: isize,
    from: DType,
    n: usize,
) {
    let packed = |step: isize, d: DType| step == d.size() as isize || n == 1;
    if packed(so, to) && packed(si, from) {
        // SAFETY: passed on to the caller.
        return unsafe { convert::cast(dst, to, src, from, n) };
    }
    // Elements of one dtype move as they are; a half is moved as an integer of its size.
    let (to, from) = if to == from { (as_bits(to), as_bits(from)) } else { (to, from) };
    if to == from && packed(so, to) {
        // SAFETY: passed on to the caller.
        return unsafe { convert::gather(dst, src, si, from, n) };
    }
    if to == from && packed(si, from) {
        // SAFETY: as above.
        return unsafe { convert::scatter(dst, so, to, src, n) };
    }
    let wide = |d: DType| if matches!(d, DType::F16 | DType::BF16) { DType::F32 } else { d };
    let mut gathered = std::mem::MaybeUninit::<[u64; 256]>::uninit();
    let mut converted = std::mem::MaybeUninit::<[u64; 256]>::uninit();
    let (a, b) = (gathered.as_mut_ptr().cast::<u8>(), converted.as_mut_ptr().cast::<u8>());
    for at in (0..n).step_by(256) {
        let m = 256.min(n - at) as isize;
        let here = at as isize;
        // SAFETY: the buffers hold 256 elements of up to 8 bytes; both sides cover the run.
        unsafe {
            convert::gather(a, src.offset(here * si), si, from, m as usize);
            let ready = if wide(to) == wide(from) {
                a
            } else {
                convert::cast(b, wide(to), a, wide(from), m as usize);
                b
            };
            convert::scatter(dst.offset(here * so), so, to, ready, m as usize);
        }
    }
}

/// Copies `n` bytes, vector by vector from some length on: a system's own copying of 1 to 256 KB was
/// found to take three times as long where they are in no cache.
///
/// # Safety
/// Both sides cover `n` bytes and do not overlap.
#[inline(always)]
pub unsafe fn bytes(dst: *mut u8, src: *const u8, n: usize) {
    match n {
        // SAFETY: passed on to the caller.
        0..256 => unsafe { std::ptr::copy_nonoverlapping(src, dst, n) },
        _ => dispatch(Bytes { dst, src, n }),
    }
}

/// At least 64 bytes.
struct Bytes {
    dst: *mut u8,
    src: *const u8,
    n: usize,
}

impl Kernel for Bytes {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        type Block = [u64; 8];
        let last = self.n - size_of::<Block>();
        let block = |at: usize| {
            // SAFETY: whoever makes the job vouches for both sides.
            unsafe {
                let block = self.src.add(at).cast::<Block>().read_unaligned();
                self.dst.add(at).cast::<Block>().write_unaligned(block);
            }
        };
        let mut at = 0;
        while at < last {
            block(at);
            at += size_of::<Block>();
        }
        block(last);
    }
}

fn as_bits(d: DType) -> DType {
    match d.size() {
        1 => DType::U8,
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    }
}

/// The walk's inner dimension is contiguous in the output, dimension `at` in the source.
fn transposed(
    threads: &Threads,
    walk: &Walk<2>,
    at: usize,
    to: SyncPtr<u8>,
    from: SyncPtr<u8>,
    size: usize,
) {
    let outer = walk.outer();
    let (rows, row_strides) = outer[at];
    let strips = rows.div_ceil(STRIP);
    let others: usize =
        outer.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, d)| d.0).product();
    let step = walk.inner_strides[1];
    let job = |task: usize| {
        let (mut rest, first) = (task / strips, task % strips * STRIP);
        let mut offset = [first as isize * row_strides[0], first as isize];
        for (i, d) in outer.iter().enumerate().rev() {
            if i != at {
                let index = (rest % d.0) as isize;
                rest /= d.0;
                offset[0] += index * d.1[0];
                offset[1] += index * d.1[1];
            }
        }
        let strip = Strip {
            rows: STRIP.min(rows - first),
            columns: walk.inner,
            row_step: row_strides[0],
            column_step: step,
        };
        macro_rules! width {
            ($t:ty) => {{
                let dst = to.get().cast::<$t>().wrapping_offset(offset[0]);
                let src = from.get().cast::<$t>().wrapping_offset(offset[1]).cast_const();
                // SAFETY: the strip lies inside the shape, which both operands cover.
                dispatch(StripOf { strip, dst, src })
            }};
        }
        match size {
            1 => width!(u8),
            2 => width!(u16),
            4 => width!(u32),
            _ => width!(u64),
        }
    };
    if walk.len() < 2 * GRAIN {
        (0..others * strips).for_each(job);
    } else {
        threads.run(others * strips, &job);
    }
}

/// `dst[i * row_step + j] = src[i + j * column_step]` for `rows` rows i and `columns` columns j.
///
/// # Safety
/// Both sides cover that and do not overlap.
pub unsafe fn turned<T: Copy>(
    dst: *mut T,
    row_step: usize,
    src: *const T,
    column_step: usize,
    rows: usize,
    columns: usize,
) {
    let (row_step, column_step) = (row_step as isize, column_step as isize);
    dispatch(StripOf { strip: Strip { rows, columns, row_step, column_step }, dst, src });
}

/// `dst[i * row_step + j] = src[i + j * column_step]`.
struct Strip {
    rows: usize,
    columns: usize,
    row_step: isize,
    column_step: isize,
}

/// A strip with its addresses, which cover it.
struct StripOf<T> {
    strip: Strip,
    dst: *mut T,
    src: *const T,
}

impl<T: Copy> Kernel for StripOf<T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        // SAFETY: whoever makes a `StripOf` vouches for both sides.
        unsafe { self.strip.copy::<T, I>(self.dst, self.src) }
    }
}

impl Strip {
    /// # Safety
    /// Both sides cover the strip.
    #[inline(always)]
    unsafe fn copy<T: Copy, I: Isa>(&self, dst: *mut T, src: *const T) {
        let (rows, columns) = (self.rows, self.columns);
        if rows < TILE || columns < TILE {
            for i in 0..rows {
                for j in 0..columns {
                    // SAFETY: inside the strip.
                    unsafe { self.element(dst, src, i, j) };
                }
            }
            return;
        }
        for block in (0..columns).step_by(STRIP) {
            for i in (0..rows).step_by(TILE) {
                for j in (block..columns.min(block + STRIP)).step_by(TILE) {
                    // The last tiles begin earlier: what they share with others is written twice.
                    let (i, j) = (i.min(rows - TILE), j.min(columns - TILE));
                    // SAFETY: the tile lies inside the strip.
                    unsafe { self.tile::<T, I>(dst, src, i, j) };
                }
            }
        }
    }

    /// # Safety
    /// The element lies inside the strip, which both sides cover.
    #[inline(always)]
    unsafe fn element<T: Copy>(&self, dst: *mut T, src: *const T, i: usize, j: usize) {
        let to = i as isize * self.row_step + j as isize;
        let from = i as isize + j as isize * self.column_step;
        // SAFETY: passed on to the caller.
        unsafe { *dst.offset(to) = *src.offset(from) };
    }

    /// # Safety
    /// The tile at row `i` and column `j` lies inside the strip, which both sides cover.
    #[inline(always)]
    unsafe fn tile<T: Copy, I: Isa>(&self, dst: *mut T, src: *const T, i: usize, j: usize) {
        #[cfg(target_arch = "x86_64")]
        if size_of::<T>() == 4 && I::LEVEL >= Level::Avx2 {
            let to = dst.wrapping_offset(i as isize * self.row_step + j as isize);
            let from = src.wrapping_offset(i as isize + j as isize * self.column_step);
            // SAFETY: the level says that the processor has AVX2; the tile is 8 x 8.
            return unsafe {
                crate::simd::transpose8(to.cast(), self.row_step, from.cast(), self.column_step, 7)
            };
        }
        for ii in i..i + TILE {
            for jj in j..j + TILE {
                // SAFETY: passed on to the caller.
                unsafe { self.element(dst, src, ii, jj) };
            }
        }
    }
}

/// Fills `out` with one number, given as its bytes.
///
/// # Safety
/// `out` covers `n` contiguous elements of `size` bytes.
pub unsafe fn fill(threads: &Threads, out: *mut u8, size: usize, value: [u8; 8], n: usize) {
    let to = SyncPtr(out);
    threads.split(n, GRAIN * 2, |range| {
        macro_rules! width {
            ($t:ty, $n:literal) => {{
                let mut bytes = [0u8; $n];
                bytes.copy_from_slice(&value[..$n]);
                let v = <$t>::from_ne_bytes(bytes);
                // SAFETY: parts of `split` are disjoint and inside `n`.
                let part = unsafe {
                    std::slice::from_raw_parts_mut(
                        to.get().cast::<$t>().add(range.start),
                        range.len(),
                    )
                };
                part.fill(v);
            }};
        }
        match size {
            1 => width!(u8, 1),
            2 => width!(u16, 2),
            4 => width!(u32, 4),
            _ => width!(u64, 8),
        }
    });
}
