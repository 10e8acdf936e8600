//! Sorting and searching along one dimension, and finding what is not 0.
//!
//! Elements become unsigned keys whose order is theirs (NaN last, both zeros equal), packed with
//! their position: any sort of the pairs is then a stable sort of the elements. Keys count from the
//! first one of their line, so that nearly all pairs fit into a word.

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
trait Packed: Copy + Ord {
    fn pack(key: u64, at: usize) -> Self;
    fn at(self) -> usize;
}

/// Keys below 2^32 in lines shorter than 2^32.
impl Packed for u64 {
    #[inline(always)]
    fn pack(key: u64, at: usize) -> u64 {
        key << 32 | at as u64
    }
    #[inline(always)]
    fn at(self) -> usize {
        self as u32 as usize
    }
}

impl Packed for u128 {
    #[inline(always)]
    fn pack(key: u64, at: usize) -> u128 {
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
    match lines.src.dtype {
        DType::F32 => run::<f32>(threads, lines),
        DType::F16 => run::<f16>(threads, lines),
        DType::BF16 => run::<bf16>(threads, lines),
        DType::F64 => run::<f64>(threads, lines),
        DType::I8 => run::<i8>(threads, lines),
        DType::U8 | DType::Bool => run::<u8>(threads, lines),
        DType::I16 => run::<i16>(threads, lines),
        DType::I32 => run::<i32>(threads, lines),
        DType::I64 => run::<i64>(threads, lines),
    }
}

fn run<T: Sortable>(threads: &Threads, lines: &Lines) -> Result<(), NoScratch> {
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
    // Room for wide pairs, or for narrow ones twice.
    let words = if n >= RADIX || size_of::<T>() == 8 { 2 * n } else { n };
    let done = threads.try_split(walk.len(), (GRAIN / n.max(1)).max(1), |range| {
        let scratch = Scratch::new::<u64>(words)?;
        walk.runs(range, |at, count| {
            for j in 0..count as isize {
                let [a, b, c]: [isize; 3] =
                    std::array::from_fn(|i| at[i] + j * walk.inner_strides[i]);
                let line = Line {
                    x: ps.get().wrapping_offset(c),
                    from,
                    n,
                    k,
                    descending,
                    values: pv.get().wrapping_offset(b),
                    to_value,
                    positions: pp.get().wrapping_offset(a),
                    to_at,
                };
                // SAFETY: the walk stays inside the shape, which the operands cover; the scratch
                // has `words` words.
                unsafe { line.sort(scratch.as_ptr()) };
            }
        });
        Ok(())
    });
    done.map_err(|_| NoScratch { bytes: words.saturating_mul(8) })
}

/// From this length on keys are distributed by their digits, not compared.
const RADIX: usize = 2048;
/// Bits of a digit.
const DIGIT: u32 = 11;

/// One line: where its elements are and where the sorted ones go, each with its step.
struct Line<T> {
    x: *const T,
    from: isize,
    n: usize,
    k: usize,
    descending: bool,
    values: *mut T,
    to_value: isize,
    positions: *mut i64,
    to_at: isize,
}

impl<T: Sortable> Line<T> {
    /// # Safety
    /// The addresses cover the line; `room` has a word for each element, two for elements of 8
    /// bytes and from RADIX elements on.
    unsafe fn sort(&self, room: *mut u64) {
        let digits = self.n >= RADIX && self.k == self.n;
        let (mut low, mut high) = (u64::MAX, 0);
        if size_of::<T>() == 8 || digits {
            for i in 0..self.n as isize {
                // SAFETY: passed on to the caller.
                let key = unsafe { *self.x.offset(i * self.from) }.key();
                (low, high) = (low.min(key), high.max(key));
            }
        } else {
            (low, high) = (0, u32::MAX as u64);
        }
        let range = high.saturating_sub(low);
        // Counted from the first one on, most keys fit into half a word.
        let key = |key: u64| if self.descending { high - key } else { key - low };
        // SAFETY: passed on to the caller; only keys of 8 bytes have a wider range.
        unsafe {
            if range > u32::MAX as u64 || self.n > u32::MAX as usize {
                let pairs = self.pairs(room.cast::<u128>(), key);
                return self.put(first_in_order(pairs, self.k));
            }
            let pairs = self.pairs(room, key);
            if digits {
                std::ptr::write_bytes(room.add(self.n), 0, self.n);
                let spare = std::slice::from_raw_parts_mut(room.add(self.n), self.n);
                return self.put(by_digits(pairs, spare, range as u32));
            }
            self.put(first_in_order(pairs, self.k));
        }
    }

    /// # Safety
    /// As `sort`, with room for a pair for each element.
    unsafe fn pairs<'a, P: Packed>(&self, room: *mut P, key: impl Fn(u64) -> u64) -> &'a mut [P] {
        // SAFETY: passed on to the caller; all pairs are written before the slice is made.
        unsafe {
            for i in 0..self.n {
                let k = key((*self.x.offset(i as isize * self.from)).key());
                room.add(i).write(P::pack(k, i));
            }
            std::slice::from_raw_parts_mut(room, self.n)
        }
    }

    /// # Safety
    /// As `sort`.
    unsafe fn put<P: Packed>(&self, first: &[P]) {
        for (i, pair) in first.iter().enumerate() {
            let (i, at) = (i as isize, pair.at() as isize);
            // SAFETY: passed on to the caller.
            unsafe {
                *self.positions.offset(i * self.to_at) = at as i64;
                *self.values.offset(i * self.to_value) = *self.x.offset(at * self.from);
            }
        }
    }
}

/// Sorts pairs by their keys, which are at most `range`, the lowest digit first: pairs of equal
/// digits keep their order, so that equal keys stay in order of their positions.
fn by_digits<'a>(mut pairs: &'a mut [u64], mut spare: &'a mut [u64], range: u32) -> &'a [u64] {
    const COUNT: usize = 1 << DIGIT;
    let digits = (u32::BITS - range.leading_zeros()).div_ceil(DIGIT);
    let digit = |pair: u64, d: u32| (pair >> (32 + d * DIGIT)) as usize & (COUNT - 1);
    let mut counts = [[0u32; COUNT]; 3];
    for pair in pairs.iter() {
        (0..digits).for_each(|d| counts[d as usize][digit(*pair, d)] += 1);
    }
    for d in 0..digits {
        let places = &mut counts[d as usize];
        let mut next = 0;
        for place in places.iter_mut() {
            (*place, next) = (next, next + *place);
        }
        for pair in pairs.iter() {
            let place = &mut places[digit(*pair, d)];
            spare[*place as usize] = *pair;
            *place += 1;
        }
        std::mem::swap(&mut pairs, &mut spare);
    }
    pairs
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
    let (outer, n, step) = match shape.split_last() {
        Some((n, outer)) => (outer, *n, src.strides[ndim - 1]),
        None => (shape, 1, 0),
    };
    let lines: usize = outer.iter().product();
    let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, ndim);
    let mut line = src.ptr.cast_const();
    let mut row = 0;
    for _ in 0..lines {
        for i in 0..n {
            if row == count {
                return;
            }
            // Written in any case and kept where the element is not 0: whether it is nothing
            // foretells, and a wrong guess costs more. SAFETY: the coordinates stay inside the
            // shape, the rows below `count`.
            unsafe {
                let to = out.add(row * ndim);
                for (d, &i) in at.iter().enumerate().take(outer.len()) {
                    *to.add(d) = i as i64;
                }
                if ndim > 0 {
                    *to.add(ndim - 1) = i as i64;
                }
                row += (*line.offset(i as isize * step) != 0) as usize;
            }
        }
        for d in (0..outer.len()).rev() {
            at[d] += 1;
            line = line.wrapping_offset(src.strides[d]);
            if at[d] < shape[d] {
                break;
            }
            line = line.wrapping_offset(-src.strides[d] * shape[d] as isize);
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
    fn long_lines_are_sorted_as_short_ones() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1.5];
        for n in [RADIX - 1, RADIX, 10_007] {
            let mut noise = 1u32;
            let x: Vec<f32> = (0..n)
                .map(|i| {
                    noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Some of everything, and many equals.
                    match i % 5 {
                        0 => odd[(noise >> 16) as usize % odd.len()],
                        1 => ((noise >> 20) % 50) as f32,
                        _ => f32::from_bits(noise),
                    }
                })
                .collect();
            for descending in [false, true] {
                let mut want: Vec<i64> = (0..n as i64).collect();
                want.sort_by(|a, b| {
                    let (a, b) = (x[*a as usize], x[*b as usize]);
                    let order = a.is_nan().cmp(&b.is_nan());
                    let order = order.then(a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal));
                    if descending { order.reverse() } else { order }
                });
                assert_eq!(sorted(&x, n, descending).1, want, "{n} {descending}");
                assert_eq!(sorted(&x, 300, descending).1, want[..300], "{n} {descending}");
            }
        }
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
