//! Elements between files and storages, through a small buffer.
//!
//! Invariant: what a storage gets is fully written, and bools are 0 or 1, whatever the file says.

use std::io::{self, Write};
use std::sync::Arc;

use mlrun_tensor_core::layout::checked_numel;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{DType, Layout, Storage, Tensor};

use crate::error::Problem;

/// Fits the second-level cache; a multiple of every element size.
const CHUNK: usize = 128 << 10;

/// A contiguous tensor whose bytes `read` gives, piece by piece; `swap` for big-endian ones.
/// The caller has checked that the file can hold that many.
pub(crate) fn read_tensor(
    pool: &Arc<HostPool>,
    dtype: DType,
    shape: &[usize],
    swap: bool,
    read: &mut dyn FnMut(&mut [u8]) -> Result<(), Problem>,
) -> Result<Tensor, Problem> {
    let total = checked_numel(shape)? * dtype.size();
    let storage = Storage::new(pool, total)?;
    let mut buffer = vec![0; total.min(CHUNK)];
    let mut done = 0;
    while done < total {
        let part = &mut buffer[..(total - done).min(CHUNK)];
        read(part)?;
        if dtype == DType::Bool {
            part.iter_mut().for_each(|b| *b = (*b != 0) as u8);
        }
        if swap {
            part.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
        }
        // SAFETY: `done + part.len() <= total`, the size that the storage was made with, and
        // nobody else has the storage yet.
        unsafe {
            std::ptr::copy_nonoverlapping(part.as_ptr(), storage.as_ptr().add(done), part.len());
        }
        done += part.len();
    }
    Ok(Tensor::new(storage, Layout::contiguous(shape), dtype))
}

/// Bytes of a tensor's elements in a file.
pub(crate) fn size(t: &Tensor) -> u64 {
    t.numel() as u64 * t.dtype.size() as u64
}

/// Writes the elements row-major, whatever the tensor's layout.
pub fn write_tensor(t: &Tensor, out: &mut dyn Write) -> io::Result<()> {
    let size = t.dtype.size();
    let Layout { shape, strides, offset } = &t.layout;
    if t.numel() == 0 {
        return Ok(());
    }
    // The longest inner part that lies in one piece.
    let (mut outer, mut run) = (shape.len(), 1);
    while outer > 0 && (strides[outer - 1] == run as isize || shape[outer - 1] == 1) {
        outer -= 1;
        run *= shape[outer];
    }
    // The dimension around the pieces has a loop of its own.
    let (pieces, stride) = if outer > 0 { (shape[outer - 1], strides[outer - 1]) } else { (1, 0) };
    outer = outer.saturating_sub(1);
    let mut gather = Gather { out, buffer: Vec::new(), piece: run * size, pieces };
    let mut index = vec![0; outer];
    let mut at = *offset as isize;
    loop {
        // SAFETY: a layout's elements lie within the tensor's storage: at each step `pieces`
        // pieces of `run` elements from `at` on, `stride` elements apart; every storage is
        // written before a handle to it is given out.
        unsafe {
            let base = t.storage.as_ptr().offset(at * size as isize);
            gather.row(base, stride * size as isize)?;
        }
        let mut dim = outer;
        loop {
            if dim == 0 {
                return gather.out.write_all(&gather.buffer);
            }
            dim -= 1;
            index[dim] += 1;
            at += strides[dim];
            if index[dim] < shape[dim] {
                break;
            }
            at -= strides[dim] * shape[dim] as isize;
            index[dim] = 0;
        }
    }
}

/// Pieces of equal size on their way into a file.
struct Gather<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    /// Bytes of one piece.
    piece: usize,
    pieces: usize,
}

impl Gather<'_> {
    /// Takes the pieces from `base` on, `stride` bytes apart.
    ///
    /// # Safety
    /// All bytes of these pieces can be read.
    unsafe fn row(&mut self, base: *const u8, stride: isize) -> io::Result<()> {
        let most = (CHUNK / self.piece).max(1);
        let mut done = 0;
        while done < self.pieces {
            let n = (self.pieces - done).min(most);
            // SAFETY: the caller's promise; `done + n` is at most the number of pieces.
            unsafe {
                let from = base.offset(done as isize * stride);
                match self.piece {
                    1 => self.elements::<1>(from, stride, n),
                    2 => self.elements::<2>(from, stride, n),
                    4 => self.elements::<4>(from, stride, n),
                    8 => self.elements::<8>(from, stride, n),
                    piece => {
                        for i in 0..n as isize {
                            let from = from.offset(i * stride);
                            let bytes = std::slice::from_raw_parts(from, piece);
                            if self.buffer.is_empty() && piece >= CHUNK {
                                self.out.write_all(bytes)?;
                            } else {
                                self.buffer.extend_from_slice(bytes);
                            }
                        }
                    }
                }
            }
            if self.buffer.len() >= CHUNK {
                self.out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
            done += n;
        }
        Ok(())
    }

    /// Takes `n` single elements of `N` bytes.
    ///
    /// # Safety
    /// As for [`Gather::row`].
    unsafe fn elements<const N: usize>(&mut self, from: *const u8, stride: isize, n: usize) {
        let old = self.buffer.len();
        self.buffer.resize(old + n * N, 0);
        for (i, place) in self.buffer[old..].as_chunks_mut::<N>().0.iter_mut().enumerate() {
            // SAFETY: the caller's promise; arrays of bytes need no alignment.
            *place = unsafe { *from.offset(i as isize * stride).cast::<[u8; N]>() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_written_row_major() {
        let pool = Arc::new(HostPool::new());
        let mut next = 0u8;
        let t = read_tensor(&pool, DType::I16, &[2, 3, 4], false, &mut |part| {
            for pair in part.chunks_exact_mut(2) {
                pair.copy_from_slice(&[next, 0]);
                next += 1;
            }
            Ok(())
        })
        .expect("tensor");
        let layout = |shape: &[usize], strides: &[isize], offset| Layout {
            shape: shape.into(),
            strides: strides.into(),
            offset,
        };
        let table: [(Layout, Vec<u8>); 6] = [
            (layout(&[2, 3, 4], &[12, 4, 1], 0), (0..24).collect()),
            (layout(&[4, 2], &[1, 12], 0), vec![0, 12, 1, 13, 2, 14, 3, 15]),
            (layout(&[2, 3], &[0, 4], 1), vec![1, 5, 9, 1, 5, 9]),
            (layout(&[3], &[-1], 2), vec![2, 1, 0]),
            (layout(&[], &[], 7), vec![7]),
            (layout(&[0, 2], &[2, 1], 0), vec![]),
        ];
        for (layout, want) in table {
            let view = Tensor { layout: layout.clone(), ..t.clone() };
            let mut out = Vec::new();
            write_tensor(&view, &mut out).expect("written");
            let got: Vec<u8> = out.chunks_exact(2).map(|pair| pair[0]).collect();
            assert_eq!(got, want, "{layout:?}");
        }
    }
}
