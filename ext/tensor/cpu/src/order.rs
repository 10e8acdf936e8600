//! Sorting and searching along one dimension, and finding what is not 0.
//!
//! Elements become unsigned keys whose order is theirs (NaN last, both zeros equal), packed with
//! their position: any sort of the pairs is then a stable sort of the elements.

use crate::elementwise::Operand;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::strided::Walk;
use crate::threads::Threads;
use half::{bf16, f16};
use mlrun_tensor_core::DType;
use smallvec::SmallVec;

/// Elements that are worth another thread.
const GRAIN: usize = 1 << 12;

/// An element as a number whose order is the element's.
trait Sortable: Copy + 'static {
    fn key(self) -> u64;
}

fn key32(v: f32) -> u64 {
    if v.is_nan() {
        return u32::MAX as u64;
    }
    let bits = (v + 0.0).to_bits();
    (if bits >> 31 != 0 { !bits } else { bits | 1 << 31 }) as u64
}

macro_rules! sortable {
    ($($t:ty, |$v:ident| $key:expr;)*) => {
        $(impl Sortable for $t {
            #[inline(always)]
            fn key(self) -> u64 {
                let $v = self;
                $key
            }
        })*
    };
}
sortable! {
    f32, |v| key32(v);
    f16, |v| key32(v.to_f32());
    bf16, |v| key32(v.to_f32());
    f64, |v| {
        let bits = (v + 0.0).to_bits();
        let ordered = if bits >> 63 != 0 { !bits } else { bits | 1 << 63 };
        if v.is_nan() { u64::MAX } else { ordered }
    };
    i8, |v| (v as i32 as u32 ^ 1 << 31) as u64;
    u8, |v| v as u64;
    i16, |v| (v as i32 as u32 ^ 1 << 31) as u64;
    i32, |v| (v as u32 ^ 1 << 31) as u64;
    i64, |v| v as u64 ^ 1 << 63;
}

/// Key and position in one number.
trait Packed: Copy + Ord + Send + Sync + 'static {
    fn pack(key: u64, at: usize, descending: bool) -> Self;
    fn at(self) -> usize;
}

/// Keys of 32 bits in lines shorter than 2^32.
impl Packed for u64 {
    #[inline(always)]
    fn pack(key: u64, at: usize, descending: bool) -> u64 {
        let key = if descending { !(key as u32) as u64 } else { key };
        key << 32 | at as u64
    }
    #[inline(always)]
    fn at(self) -> usize {
        self as u32 as usize
    }
}

impl Packed for u128 {
    #[inline(always)]
    fn pack(key: u64, at: usize, descending: bool) -> u128 {
        let key = if descending { !key } else { key };
        (key as u128) << 64 | at as u128
    }
    #[inline(always)]
    fn at(self) -> usize {
        self as u64 as usize
    }
}

/// One call's operands: the first `k` elements in order of each line of `n` along `dim`.
pub struct Lines<'a> {
    pub shape: &'a [usize],
    pub dim: usize,
    pub k: usize,
    pub descending: bool,
    pub values: Operand<'a>,
    pub positions: Operand<'a>,
    pub src: Operand<'a>,
}

/// Writes the first `k` elements of each line in order, and where they were.
///
/// # Safety
/// `src` covers the shape, the outputs the shape with `k` at `dim`; they overlap nowhere;
/// positions are int64, values have the source's dtype; `k` is at most the line's length.
pub unsafe fn sort(threads: &Threads, lines: &Lines) -> Result<(), NoScratch> {
    macro_rules! with {
        ($t:ty, $narrow:expr) => {
            if $narrow && lines.shape.get(lines.dim).is_none_or(|n| *n <= u32::MAX as usize) {
                run::<$t, u64>(threads, lines)
            } else {
                run::<$t, u128>(threads, lines)
            }
        };
    }
    match lines.src.dtype {
        DType::F32 => with!(f32, true),
        DType::F16 => with!(f16, true),
        DType::BF16 => with!(bf16, true),
        DType::F64 => with!(f64, false),
        DType::I8 => with!(i8, true),
        DType::U8 | DType::Bool => with!(u8, true),
        DType::I16 => with!(i16, true),
        DType::I32 => with!(i32, true),
        DType::I64 => with!(i64, false),
    }
}

fn run<T: Sortable, P: Packed>(threads: &Threads, lines: &Lines) -> Result<(), NoScratch> {
    let Lines { shape, dim, k, descending, values, positions, src } = *lines;
    let n = shape.get(dim).copied().unwrap_or(1);
    let others = |strides: &[isize]| -> SmallVec<[isize; 4]> {
        (0..shape.len()).filter(|&i| i != dim).map(|i| strides[i]).collect()
    };
    let rest: SmallVec<[usize; 4]> =
        (0..shape.len()).filter(|&i| i != dim).map(|i| shape[i]).collect();
    let walk = Walk::new(
        &rest,
        [&others(positions.strides), &others(values.strides), &others(src.strides)],
    );
    let along = |o: &Operand| o.strides.get(dim).copied().unwrap_or(1);
    let (to_at, to_value, from) = (along(&positions), along(&values), along(&src));
    let (pp, pv, ps) = (
        SyncPtr(positions.ptr.cast::<i64>()),
        SyncPtr(values.ptr.cast::<T>()),
        SyncPtr(src.ptr.cast::<T>()),
    );
    let done = threads.try_split(walk.len(), (GRAIN / n.max(1)).max(1), |range| {
        let scratch = Scratch::new::<P>(n)?;
        walk.runs(range, |at, count| {
            for j in 0..count as isize {
                let [a, b, c]: [isize; 3] =
                    std::array::from_fn(|i| at[i] + j * walk.inner_strides[i]);
                let line = ps.get().wrapping_offset(c).cast_const();
                // SAFETY: the scratch holds `n` keys, all written before the slice is made; the
                // walk stays inside the shape, which the operands cover.
                unsafe {
                    for i in 0..n {
                        let key = (*line.offset(i as isize * from)).key();
                        scratch.as_ptr::<P>().add(i).write(P::pack(key, i, descending));
                    }
                    let keys = std::slice::from_raw_parts_mut(scratch.as_ptr::<P>(), n);
                    let first = first_in_order(keys, k);
                    for (i, key) in first.iter().enumerate() {
                        let (i, at) = (i as isize, key.at() as isize);
                        *pp.get().offset(a + i * to_at) = at as i64;
                        *pv.get().offset(b + i * to_value) = *line.offset(at * from);
                    }
                }
            }
        });
        Ok(())
    });
    done.map_err(|_| NoScratch { bytes: n.saturating_mul(size_of::<P>()) })
}

/// The `k` smallest keys, in order.
fn first_in_order<P: Packed>(keys: &mut [P], k: usize) -> &[P] {
    if k > 0 && k < keys.len() {
        keys.select_nth_unstable(k - 1);
    }
    let first = &mut keys[..k];
    first.sort_unstable();
    first
}

/// Writes the coordinates of elements that are not 0, row-major, at most `count` rows; rows that
/// are left become zeros.
///
/// # Safety
/// `src` holds bytes and covers the shape; `out` has room for `count` rows of `shape.len()`.
pub unsafe fn nonzero(shape: &[usize], src: Operand, out: *mut i64, count: usize) {
    let ndim = shape.len();
    let total: usize = shape.iter().product();
    let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, ndim);
    let mut offset = 0isize;
    let mut row = 0;
    for _ in 0..total {
        if row == count {
            return;
        }
        // SAFETY: the coordinates stay inside the shape, the rows below `count`.
        unsafe {
            if *src.ptr.offset(offset) != 0 {
                for (d, &i) in at.iter().enumerate() {
                    *out.add(row * ndim + d) = i as i64;
                }
                row += 1;
            }
        }
        for d in (0..ndim).rev() {
            at[d] += 1;
            offset += src.strides[d];
            if at[d] < shape[d] {
                break;
            }
            offset -= src.strides[d] * shape[d] as isize;
            at[d] = 0;
        }
    }
    // SAFETY: what is left of the `count` rows.
    unsafe { std::ptr::write_bytes(out.add(row * ndim), 0, (count - row) * ndim) };
}

/// For each value how many elements of its sorted line are at most as large.
///
/// # Safety
/// Float64 operands cover `[lines.., n]` and `shape`, which is `[lines.., m]`; `out` is int64.
pub unsafe fn search(shape: &[usize], n: usize, sorted: Operand, values: Operand, out: Operand) {
    let last = shape.len().saturating_sub(1);
    let mut base: SmallVec<[isize; 4]> = sorted.strides.into();
    let step = base.get_mut(last).map_or(0, std::mem::take);
    let walk = Walk::new(shape, [out.strides, values.strides, &base]);
    let s = walk.inner_strides;
    walk.runs(0..walk.len(), |at, count| {
        for j in 0..count as isize {
            // SAFETY: the walk stays inside the shape; `low` and `high` inside the line.
            unsafe {
                let v = *values.ptr.cast::<f64>().offset(at[1] + j * s[1]);
                let line = sorted.ptr.cast::<f64>().offset(at[2] + j * s[2]);
                let (mut low, mut high) = (0, n);
                while low < high {
                    let middle = low + (high - low) / 2;
                    match *line.offset(middle as isize * step) <= v {
                        true => low = middle + 1,
                        false => high = middle,
                    }
                }
                *out.ptr.cast::<i64>().offset(at[0] + j * s[0]) = low as i64;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(x: &[f32], k: usize, descending: bool) -> (Vec<f32>, Vec<i64>) {
        let (mut values, mut positions) = (vec![0f32; k], vec![0i64; k]);
        let lines = Lines {
            shape: &[x.len()],
            dim: 0,
            k,
            descending,
            values: Operand { ptr: values.as_mut_ptr().cast(), strides: &[1], dtype: DType::F32 },
            positions: Operand {
                ptr: positions.as_mut_ptr().cast(),
                strides: &[1],
                dtype: DType::I64,
            },
            src: Operand { ptr: x.as_ptr().cast_mut().cast(), strides: &[1], dtype: DType::F32 },
        };
        // SAFETY: the vectors cover the shape and `k`.
        unsafe { sort(&Threads::new(1), &lines).unwrap() };
        (values, positions)
    }

    #[test]
    fn nan_is_last_equals_keep_their_order_and_zeros_are_equal() {
        let x = [2.0, f32::NAN, -1.0, 0.0, -0.0, 2.0, -f32::NAN, f32::NEG_INFINITY];
        assert_eq!(sorted(&x, 8, false).1, [7, 2, 3, 4, 0, 5, 1, 6]);
        assert_eq!(sorted(&x, 8, true).1, [1, 6, 0, 5, 3, 4, 2, 7]);
        assert_eq!(sorted(&x, 3, true).1, [1, 6, 0]);
        assert_eq!(sorted(&x, 0, true).1, []);
        assert_eq!(sorted(&[3.0, 1.0, 2.0], 3, false).0, [1.0, 2.0, 3.0]);
    }
}
