//! Reductions that combine elements by an associative operation.

use super::Split;
use super::kernels::{BLOCK, columns, row, short_rows};
use crate::convert;
use crate::copy;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::simd::Action;
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;

/// Reduced elements of one output that form one task.
const CHUNK: usize = 1 << 15;
/// Columns that are folded side by side.
const WIDTH: usize = 512;
/// Rows that are folded in lanes before their total goes into the wide accumulator.
const ROWS: usize = 256;

/// An associative operation on elements of one dtype.
pub trait Fold: Copy + Send + Sync + 'static {
    /// An element as the loops read it; halves arrive as float32.
    type In: Copy;
    /// What is combined within a block.
    type Lane: Copy;
    /// What is combined across blocks.
    type Wide: Copy + Send;
    type Out: Copy;
    const IN: DType;
    const OUT: DType;
    /// The action on float32 numbers that does the same, where there is one.
    const FLOAT32: Option<Action> = None;
    const IDENTITY: Self::Lane;
    const NOTHING: Self::Wide;
    fn lane(x: Self::In) -> Self::Lane;
    fn step(a: Self::Lane, b: Self::Lane) -> Self::Lane;
    fn widen(a: Self::Lane) -> Self::Wide;
    fn merge(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn finish(a: Self::Wide) -> Self::Out;
    /// The wide value of a total that [`Fold::FLOAT32`] gave.
    fn from_f32(_: f32) -> Self::Wide {
        Self::NOTHING
    }
}

/// The input of a reduction.
#[derive(Clone, Copy)]
pub struct Source {
    pub ptr: SyncPtr<u8>,
    pub dtype: DType,
}

/// Folds `src` into the contiguous `out` of dtype `out_dtype`.
///
/// # Safety
/// The split describes what `src` covers; `out` has room for the kept elements.
pub unsafe fn fold<F: Fold>(
    threads: &Threads,
    split: &Split,
    src: *mut u8,
    dtype: DType,
    out: *mut u8,
    out_dtype: DType,
) -> Result<(), NoScratch> {
    let src = Source { ptr: SyncPtr(src), dtype };
    let (outputs, length) = (split.kept.len(), split.reduced.len());
    if outputs == 0 {
        return Ok(());
    }
    let to = SyncPtr(out);
    let store = |i: usize, w: F::Wide| {
        let v = F::finish(w);
        if out_dtype == F::OUT {
            // SAFETY: `out` has room for element `i`.
            return unsafe { to.get().cast::<F::Out>().add(i).write(v) };
        }
        let from = std::ptr::from_ref(&v).cast::<u8>();
        // SAFETY: `out` has room for element `i`; the value is one element of `F::OUT`.
        unsafe {
            let at = to.get().add(i * out_dtype.size());
            convert::cast(at, out_dtype, from, F::OUT, 1);
        }
    };
    let by_columns = dtype == F::IN
        && split.kept.inner_strides == [1, 1]
        && split.kept.inner > 1
        && (split.reduced.inner_strides[1] != 1 || length == 1 || split.reduced.inner < 16)
        && length > 0;
    if by_columns {
        return fold_columns::<F>(threads, split, src, &store);
    }
    let run = split.reduced.outer().is_empty() && split.reduced.inner_strides[1] == 1;
    if let Some(action) = F::FLOAT32
        && run
        && (1..=BLOCK).contains(&length)
        && (dtype, out_dtype) == (DType::F32, DType::F32)
    {
        threads.split(outputs, (CHUNK / length).max(1), |range| {
            let mut i = range.start;
            split.kept.runs(range, |at, n| {
                let x = src.ptr.get().cast::<f32>().wrapping_offset(at[1]).cast_const();
                let (step, out) = (split.kept.inner_strides[1], to.get().cast::<f32>());
                // SAFETY: the rows lie inside the input; `out` has room for each output.
                unsafe { short_rows(action, x, step, length, n, out.add(i)) };
                i += n;
            });
        });
        return Ok(());
    }
    let chunks = length.div_ceil(CHUNK).max(1);
    if chunks == 1 {
        threads.split(outputs, (CHUNK / length.max(1)).max(1), |range| {
            let mut i = range.start;
            split.kept.runs(range, |at, n| {
                for k in 0..n as isize {
                    let base = at[1] + k * split.kept.inner_strides[1];
                    store(i, fold_part::<F>(&split.reduced, src, base, 0..length));
                    i += 1;
                }
            });
        });
        return Ok(());
    }
    // Long reductions are cut at fixed places; parts are merged in order.
    let parts = Scratch::new::<F::Wide>(outputs.saturating_mul(chunks))?;
    let part = SyncPtr(parts.as_ptr::<F::Wide>());
    threads.run(outputs * chunks, &|task| {
        let (i, c) = (task / chunks, task % chunks);
        let mut base = 0;
        split.kept.runs(i..i + 1, |at, _| base = at[1]);
        let range = c * CHUNK..((c + 1) * CHUNK).min(length);
        let total = fold_part::<F>(&split.reduced, src, base, range);
        // SAFETY: the scratch has a place for each task.
        unsafe { part.get().add(task).write(total) };
    });
    for i in 0..outputs {
        let mut total = F::NOTHING;
        for c in 0..chunks {
            // SAFETY: all tasks have written their place.
            total = F::merge(total, unsafe { *part.get().add(i * chunks + c) });
        }
        store(i, total);
    }
    Ok(())
}

/// Folds part of the reduced elements of one output, whose first element is at `base`.
fn fold_part<F: Fold>(
    reduced: &Walk<2>,
    src: Source,
    base: isize,
    range: std::ops::Range<usize>,
) -> F::Wide {
    let size = src.dtype.size() as isize;
    let step = reduced.inner_strides[1] * size;
    let direct = src.dtype == F::IN && step == size;
    let mut total = F::NOTHING;
    if direct && reduced.outer().is_empty() {
        // One run: no walk and no buffer.
        let first = src.ptr.get().cast::<F::In>().wrapping_offset(base);
        for i in range.clone().step_by(BLOCK) {
            let m = BLOCK.min(range.end - i);
            // SAFETY: the reduced elements lie one behind the other inside the input.
            total = F::merge(total, unsafe { row::<F>(first.wrapping_add(i), m) });
        }
        return total;
    }
    let mut filled = 0;
    let mut buffer = std::mem::MaybeUninit::<[u64; BLOCK]>::uninit();
    let place = buffer.as_mut_ptr().cast::<u8>();
    let short = reduced.inner < BLOCK / 4;
    reduced.runs(range, |at, n| {
        let first = src.ptr.get().wrapping_offset((base + at[1]) * size).cast_const();
        let mut done = 0;
        while done < n {
            let from = first.wrapping_offset(done as isize * step);
            // SAFETY: the walk stays inside the input; the buffer holds BLOCK elements.
            unsafe {
                if direct && !short {
                    let m = BLOCK.min(n - done);
                    total = F::merge(total, row::<F>(from.cast(), m));
                    done += m;
                    continue;
                }
                // Short or strided runs are collected, so that the lanes have work.
                let m = (BLOCK - filled).min(n - done);
                let to = place.add(filled * F::IN.size());
                let into = step_of(F::IN);
                copy::run(to, into, F::IN, from, step, src.dtype, m);
                filled += m;
                done += m;
                if filled == BLOCK {
                    total = F::merge(total, row::<F>(place.cast(), filled));
                    filled = 0;
                }
            }
        }
    });
    if filled > 0 {
        // SAFETY: the buffer holds `filled` elements.
        total = F::merge(total, unsafe { row::<F>(place.cast(), filled) });
    }
    total
}

fn step_of(dtype: DType) -> isize {
    dtype.size() as isize
}

/// Outputs lie side by side in the input: whole rows are folded at once.
fn fold_columns<F: Fold>(
    threads: &Threads,
    split: &Split,
    src: Source,
    store: &(dyn Fn(usize, F::Wide) + Sync),
) -> Result<(), NoScratch> {
    let (outputs, length) = (split.kept.len(), split.reduced.len());
    let inner = split.kept.inner;
    let blocks = inner.div_ceil(WIDTH);
    let groups = outputs / inner;
    // Rows of one task: whole blocks of ROWS, about CHUNK elements.
    let per_task = (CHUNK / inner.min(WIDTH)).next_multiple_of(ROWS);
    let chunks = length.div_ceil(per_task);
    let parts = if chunks > 1 { outputs.saturating_mul(chunks) } else { 0 };
    let parts = Scratch::new::<F::Wide>(parts)?;
    let part = SyncPtr(parts.as_ptr::<F::Wide>());
    let job = |task: usize| {
        let (c, rest) = (task % chunks, task / chunks);
        let (group, block) = (rest / blocks, rest % blocks);
        let first = group * inner + block * WIDTH;
        let width = WIDTH.min(inner - block * WIDTH);
        let mut base = 0;
        split.kept.runs(first..first + 1, |at, _| base = at[1]);
        let rows = c * per_task..((c + 1) * per_task).min(length);
        let mut wide = [F::NOTHING; WIDTH];
        fold_rows::<F>(&split.reduced, src, base, rows, &mut wide[..width]);
        for (j, w) in wide.iter().enumerate().take(width) {
            if chunks == 1 {
                store(first + j, *w);
            } else {
                // SAFETY: the scratch has a place for each output and chunk.
                unsafe { part.get().add(c * outputs + first + j).write(*w) };
            }
        }
    };
    let tasks = groups * blocks * chunks;
    if outputs.saturating_mul(length) < 2 * CHUNK {
        (0..tasks).for_each(job);
    } else if tasks > 1 {
        threads.split(tasks, 1, |range| range.for_each(job));
    } else {
        job(0);
    }
    if chunks > 1 {
        for i in 0..outputs {
            let mut total = F::NOTHING;
            for c in 0..chunks {
                // SAFETY: all tasks have written their places.
                total = F::merge(total, unsafe { *part.get().add(c * outputs + i) });
            }
            store(i, total);
        }
    }
    Ok(())
}

/// Folds some rows of `wide.len()` columns that begin at `base`.
fn fold_rows<F: Fold>(
    reduced: &Walk<2>,
    src: Source,
    base: isize,
    rows: std::ops::Range<usize>,
    wide: &mut [F::Wide],
) {
    let step = reduced.inner_strides[1];
    let mut acc = [F::IDENTITY; WIDTH];
    let mut in_lanes = 0;
    let width = wide.len();
    let mut flush = |acc: &mut [F::Lane; WIDTH]| {
        for (w, a) in wide.iter_mut().zip(acc.iter_mut()) {
            *w = F::merge(*w, F::widen(*a));
            *a = F::IDENTITY;
        }
    };
    reduced.runs(rows, |at, n| {
        let mut done = 0;
        while done < n {
            let m = (ROWS - in_lanes).min(n - done);
            let offset = base + at[1] + done as isize * step;
            let x = src.ptr.get().cast::<F::In>().wrapping_offset(offset).cast_const();
            // SAFETY: the walk stays inside the input; WIDTH lanes hold every column.
            unsafe { columns::<F>(acc.as_mut_ptr(), x, step, m, width) };
            in_lanes += m;
            done += m;
            if in_lanes == ROWS {
                flush(&mut acc);
                in_lanes = 0;
            }
        }
    });
    flush(&mut acc);
}
