//! Reductions that combine elements by an associative operation.

use super::Split;
use super::kernels::{BLOCK, columns, row, rows};
use crate::convert;
use crate::copy;
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::simd::{Action, Element};
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use std::mem::MaybeUninit;

/// Reduced elements of one output that form one task.
const CHUNK: usize = 1 << 15;
/// Columns that are folded side by side.
const WIDTH: usize = 512;
/// Rows that are folded in lanes before their total goes into the wide accumulator.
const ROWS: usize = 256;

/// Runs below this many elements are collected before they are folded.
const SHORT: usize = 256;

/// An associative operation on elements of one dtype.
pub trait Fold: Copy + Send + Sync + 'static {
    /// An element as the loops read it; halves arrive as float32.
    type In: Element;
    /// What is combined within a block; with an [`Fold::ACTION`] the type of an element.
    type Lane: Copy;
    /// What is combined across blocks.
    type Wide: Copy + Send;
    type Out: Copy;
    const IN: DType;
    const OUT: DType;
    /// The action on elements that does the same, where there is one.
    const ACTION: Option<Action> = None;
    const IDENTITY: Self::Lane;
    const NOTHING: Self::Wide;
    fn lane(x: Self::In) -> Self::Lane;
    fn step(a: Self::Lane, b: Self::Lane) -> Self::Lane;
    fn widen(a: Self::Lane) -> Self::Wide;
    fn merge(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn finish(a: Self::Wide) -> Self::Out;
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
        // Few rows of numbers that are their own folds' type need no other room than the output.
        let own = F::ACTION.is_some() && (F::IN, F::IN) == (F::OUT, out_dtype) && length <= ROWS;
        let lanes = own.then_some(SyncPtr(out.cast::<F::Lane>()));
        return fold_columns::<F>(threads, split, src, lanes, &store);
    }
    let run = split.reduced.outer().is_empty() && split.reduced.inner_strides[1] == 1;
    let chunks = length.div_ceil(CHUNK).max(1);
    if run && chunks == 1 && length > 0 && (dtype, out_dtype) == (F::IN, F::OUT) {
        threads.split(outputs, (CHUNK / length).max(1), |range| {
            let mut i = range.start;
            split.kept.runs(range, |at, n| {
                let x = src.ptr.get().cast::<F::In>().wrapping_offset(at[1]).cast_const();
                let (step, out) = (split.kept.inner_strides[1], to.get().cast::<F::Out>());
                // SAFETY: the rows lie inside the input; `out` has room for each output.
                unsafe { rows::<F>(x, step, length, n, out.add(i)) };
                i += n;
            });
        });
        return Ok(());
    }
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
    let short = reduced.inner < SHORT;
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

/// Outputs lie side by side in the input: whole rows are folded at once, in the output itself where
/// `direct` is its address and there are at most ROWS of them.
fn fold_columns<F: Fold>(
    threads: &Threads,
    split: &Split,
    src: Source,
    direct: Option<SyncPtr<F::Lane>>,
    store: &(impl Fn(usize, F::Wide) + Sync),
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
        let mut lanes = [const { MaybeUninit::uninit() }; WIDTH];
        let mut wide = [const { MaybeUninit::uninit() }; WIDTH];
        let lanes = match &direct {
            // SAFETY: the output has room for the columns, which no other task writes.
            Some(out) => unsafe {
                std::slice::from_raw_parts_mut(out.get().add(first).cast(), width)
            },
            None => &mut lanes[..width],
        };
        let mut totals = Totals::<F>::new(lanes, &mut wide[..width]);
        fold_rows(&split.reduced, src, base, rows, &mut totals);
        if direct.is_some() {
            return;
        }
        for j in 0..width {
            let w = totals.value(j);
            if chunks == 1 {
                store(first + j, w);
            } else {
                // SAFETY: the scratch has a place for each output and chunk.
                unsafe { part.get().add(c * outputs + first + j).write(w) };
            }
        }
    };
    let tasks = groups * blocks * chunks;
    let grain = (CHUNK / (length.min(per_task) * inner.min(WIDTH))).max(1);
    threads.split(tasks, grain, |range| range.for_each(job));
    for i in 0..if chunks > 1 { outputs } else { 0 } {
        // SAFETY: all tasks have written their places.
        let totals = (0..chunks).map(|c| unsafe { *part.get().add(c * outputs + i) });
        store(i, totals.fold(F::NOTHING, F::merge));
    }
    Ok(())
}

/// Running folds of some columns, in room that the caller has: what is not needed is not written,
/// short columns would be done before all of it was.
struct Totals<'a, F: Fold> {
    /// Rows that the lanes hold.
    in_lanes: usize,
    lanes: &'a mut [MaybeUninit<F::Lane>],
    /// Whether `wide`, as long as `lanes`, has values.
    begun: bool,
    wide: &'a mut [MaybeUninit<F::Wide>],
}

impl<'a, F: Fold> Totals<'a, F> {
    #[inline]
    fn new(lanes: &'a mut [MaybeUninit<F::Lane>], wide: &'a mut [MaybeUninit<F::Wide>]) -> Self {
        lanes.fill(MaybeUninit::new(F::IDENTITY));
        Totals { in_lanes: 0, lanes, begun: false, wide }
    }

    /// The fold of column `j`.
    #[inline(always)]
    fn value(&self, j: usize) -> F::Wide {
        // SAFETY: `new` wrote all lanes, `flush` all wide values where these begun.
        unsafe {
            let w = F::widen(self.lanes[j].assume_init());
            if self.begun { F::merge(self.wide[j].assume_init(), w) } else { w }
        }
    }

    /// Moves the lanes into the wide values.
    fn flush(&mut self) {
        for j in 0..self.lanes.len() {
            self.wide[j] = MaybeUninit::new(self.value(j));
        }
        self.lanes.fill(MaybeUninit::new(F::IDENTITY));
        (self.in_lanes, self.begun) = (0, true);
    }
}

/// Folds some rows of columns that begin at `base`.
fn fold_rows<F: Fold>(
    reduced: &Walk<2>,
    src: Source,
    base: isize,
    rows: std::ops::Range<usize>,
    totals: &mut Totals<F>,
) {
    let step = reduced.inner_strides[1];
    reduced.runs(rows, |at, n| {
        let mut done = 0;
        while done < n {
            if totals.in_lanes == ROWS {
                totals.flush();
            }
            let m = (ROWS - totals.in_lanes).min(n - done);
            let offset = base + at[1] + done as isize * step;
            let x = src.ptr.get().cast::<F::In>().wrapping_offset(offset).cast_const();
            // SAFETY: the walk stays inside the input; there is a lane for every column.
            unsafe {
                columns::<F>(totals.lanes.as_mut_ptr().cast(), x, step, m, totals.lanes.len())
            };
            totals.in_lanes += m;
            done += m;
        }
    });
}
