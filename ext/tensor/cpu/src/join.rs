//! Tensors one behind the other along a dimension.
//!
//! Where all of them are packed, the output is written from its beginning to its end, a piece of
//! each in turn: copied one after the other, each would pass over the whole output again.

use crate::copy;
use crate::elementwise::Operand;
use crate::ptr::SyncPtr;
use crate::threads::Threads;
use smallvec::SmallVec;

/// Bytes that are worth a part of a job.
const GRAIN: usize = 1 << 17;
/// Bytes below which a piece costs less as part of a strided copy.
const SHORT: usize = 16;

/// One of the tensors.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub shape: &'a [usize],
    pub src: Operand<'a>,
    /// Its elements lie one behind the other.
    pub packed: bool,
}

/// Writes the parts into `out`, which is contiguous.
///
/// # Safety
/// Every part covers its shape; these differ from the output's along `dim` only, where they add up
/// to its extent. No part overlaps the output.
pub unsafe fn join(threads: &Threads, shape: &[usize], dim: usize, out: Operand, parts: &[Part]) {
    let outer: usize = shape[..dim].iter().product();
    let behind = shape[dim + 1..].iter().product::<usize>() * out.dtype.size();
    let line = shape[dim] * behind;
    let plain = parts.iter().all(|p| p.packed && p.src.dtype == out.dtype);
    if plain && outer > 1 && line >= SHORT * parts.len() {
        let pieces: SmallVec<[(SyncPtr<u8>, usize); 4]> =
            parts.iter().map(|p| (SyncPtr(p.src.ptr), p.shape[dim] * behind)).collect();
        let to = SyncPtr(out.ptr);
        threads.split(outer, (GRAIN / line).max(1), |rows| {
            for row in rows {
                let mut at = to.get().wrapping_add(row * line);
                for (from, bytes) in &pieces {
                    // SAFETY: the pieces of a row are as long as the output's row together.
                    unsafe { piece(at, from.get().wrapping_add(row * bytes), *bytes) };
                    at = at.wrapping_add(*bytes);
                }
            }
        });
        return;
    }
    let mut at = out.ptr;
    for part in parts {
        // SAFETY: the part's place in the output has its shape.
        unsafe { copy::copy(threads, part.shape, Operand { ptr: at, ..out }, part.src) };
        at = at.wrapping_add(part.shape[dim] * behind);
    }
}

/// Copies a few bytes, common lengths without a call.
///
/// # Safety
/// Both sides cover `n` bytes and do not overlap.
#[inline(always)]
unsafe fn piece(to: *mut u8, from: *const u8, n: usize) {
    macro_rules! whole {
        ($n:literal) => {
            // SAFETY: passed on to the caller.
            unsafe {
                to.cast::<[u8; $n]>().write_unaligned(from.cast::<[u8; $n]>().read_unaligned())
            }
        };
    }
    match n {
        16 => whole!(16),
        32 => whole!(32),
        64 => whole!(64),
        // SAFETY: as above.
        _ => unsafe { copy::bytes(to, from, n) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlrun_tensor_core::DType;
    use mlrun_tensor_core::layout::contiguous_strides;

    #[test]
    fn pieces_of_every_length_and_layout_meet() {
        for (outer, extents, behind) in [
            (1, [3, 4], 5),
            (7, [2, 2], 1),
            (300, [4, 1], 4),
            (300, [16, 0], 1),
            (9, [3, 5], 67),
            (2000, [2, 6], 8),
        ] {
            let total = extents[0] + extents[1];
            let shape = [outer, total, behind];
            let data = extents.map(|d| -> Vec<f32> {
                (0..outer * d * behind).map(|i| (i * 7 + d) as f32).collect()
            });
            for turned in [false, true] {
                // The second part with its first and last dimension in the other order in memory.
                let shapes = extents.map(|d| [outer, d, behind]);
                let plain = shapes.map(|s| contiguous_strides(&s));
                let other = [1, outer as isize, (outer * extents[1]) as isize];
                let strides: [&[isize]; 2] = [&plain[0], if turned { &other } else { &plain[1] }];
                let part = |k: usize| Part {
                    shape: &shapes[k],
                    src: Operand {
                        ptr: data[k].as_ptr().cast_mut().cast(),
                        strides: strides[k],
                        dtype: DType::F32,
                    },
                    packed: k == 0 || !turned,
                };
                let mut y = vec![0f32; outer * total * behind];
                let order = contiguous_strides(&shape);
                let to = Operand { ptr: y.as_mut_ptr().cast(), strides: &order, dtype: DType::F32 };
                // SAFETY: the vectors cover the shapes by these strides.
                unsafe { join(&Threads::new(3), &shape, 1, to, &[part(0), part(1)]) };
                for (i, got) in y.iter().enumerate() {
                    let (a, b, c) = (i / behind / total, i / behind % total, i % behind);
                    let (k, b) = if b < extents[0] { (0, b) } else { (1, b - extents[0]) };
                    let at: isize =
                        [a, b, c].iter().zip(strides[k]).map(|(i, s)| *i as isize * s).sum();
                    assert_eq!(*got, data[k][at as usize], "{shape:?} {extents:?} at {i}");
                }
            }
        }
    }
}
