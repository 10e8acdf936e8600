//! Brings operands of any layout and dtype to contiguous loops.
//!
//! Runs that are contiguous in every operand go to the loop as they are. Others pass through
//! small buffers on the stack: strided and repeated elements are gathered, halves become
//! float32, an input that shares the output's bytes is copied out of the way.

use super::loops::{Loop, Params, Row, Runs};
use crate::convert;
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use std::ops::Range;

/// Elements that pass through the buffers at a time.
const BLOCK: usize = 256;
/// Work (elements times cost) that is worth handing to another thread.
const GRAIN: usize = 1 << 15;

/// A view of elements: address of the first, strides in elements, dtype in memory.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    pub ptr: *mut u8,
    pub strides: &'a [isize],
    pub dtype: DType,
}

/// An input of a row.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    View(Operand<'a>),
    /// One number in the loop's dtype, as its bytes in native order.
    Number([u8; 8]),
}

/// What the loop reads for a dtype in memory.
fn loop_dtype(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        d => d,
    }
}

/// Elements on the stack, of up to 8 bytes each.
type Buffer = std::mem::MaybeUninit<[u64; BLOCK]>;

/// One operand within a run.
#[derive(Clone, Copy)]
struct Lane {
    ptr: *mut u8,
    /// Bytes of an element, and from one element to the next.
    size: isize,
    step: isize,
    dtype: DType,
    /// Goes through a buffer.
    staged: bool,
}

/// Computes `row` over `shape`.
///
/// # Safety
/// Operands cover the shape. An input may share bytes with the output only if both have the
/// same address, strides and dtype.
pub unsafe fn run(
    threads: &Threads,
    shape: &[usize],
    out: Operand,
    ins: &[Source],
    row: Row,
    p: &Params,
) {
    const NONE: &[isize] = &[];
    let mut numbers = [[0u8; 8]; 3];
    let mut ptrs = [SyncPtr(std::ptr::null_mut::<u8>()); 3];
    let mut strides = [NONE; 4];
    let mut dtypes = [out.dtype; 4];
    strides[0] = out.strides;
    for (i, source) in ins.iter().enumerate().take(3) {
        match source {
            Source::View(v) => {
                ptrs[i] = SyncPtr(v.ptr);
                strides[i + 1] = v.strides;
                dtypes[i + 1] = v.dtype;
            }
            Source::Number(bytes) => {
                numbers[i] = *bytes;
                ptrs[i] = SyncPtr(numbers[i].as_mut_ptr());
                dtypes[i + 1] = loop_dtype(out.dtype);
            }
        }
    }
    // A number keeps the dtype of the other input: comparisons have a boolean output.
    let of_view = ins.iter().find_map(|s| match s {
        Source::View(v) => Some(loop_dtype(v.dtype)),
        Source::Number(_) => None,
    });
    for (i, source) in ins.iter().enumerate().take(3) {
        if let (Source::Number(_), Some(dtype)) = (source, of_view) {
            dtypes[i + 1] = dtype;
        }
    }
    let walk = Walk::new(shape, strides);
    let count = ins.len().min(3);
    let long = walk.inner > 1;
    let lane = |k: usize, base: *mut u8| {
        let size = dtypes[k].size() as isize;
        let step = walk.inner_strides[k] * size;
        let half = dtypes[k] != loop_dtype(dtypes[k]);
        Lane { ptr: base, size, step, dtype: dtypes[k], staged: half || (step != size && long) }
    };
    let target = lane(0, out.ptr);
    let mut sources = [target; 3];
    for (k, source) in sources.iter_mut().enumerate().take(count) {
        *source = lane(k + 1, ptrs[k].get());
        source.staged |= source.ptr == target.ptr;
    }
    let lanes = Lanes { out: target, ins: sources, count };
    let plain = !lanes.out.staged && lanes.ins.iter().take(count).all(|l| !l.staged);
    let repeated = |l: &Lane| long && l.step == 0 && l.ptr != target.ptr && l.dtype == out.dtype;
    let direct = !lanes.out.staged
        && lanes.ins.iter().take(count).all(|l| !l.staged || repeated(l))
        && count == 2;
    if let (true, Some(runs), [(_, steps)]) = (direct, row.runs, walk.outer()) {
        let repeated = [repeated(&lanes.ins[0]), repeated(&lanes.ins[1])];
        let many = ManyRuns { runs, lanes, inner: walk.inner, steps: *steps, repeated };
        // SAFETY: the walk stays inside the shape, which the operands cover.
        threads.split(walk.len(), GRAIN / row.cost, |range| unsafe { many.compute(range) });
        return;
    }
    threads.split(walk.len(), GRAIN / row.cost, |range| {
        walk.runs(range, |at, n| {
            let here = |l: &Lane, k: usize| l.ptr.wrapping_offset(at[k] * l.size);
            if plain {
                // Rows with fewer inputs ignore the others; they get an address to read.
                let mut ptrs = [here(&lanes.ins[0], 1).cast_const(); 3];
                for (k, ptr) in ptrs.iter_mut().enumerate().take(lanes.count).skip(1) {
                    *ptr = here(&lanes.ins[k], k + 1);
                }
                // SAFETY: the walk stays inside the shape, which the operands cover; no input
                // shares the output's bytes.
                unsafe { (row.run)(here(&lanes.out, 0), ptrs, n, p) };
            } else {
                let mut moved = lanes;
                moved.out.ptr = here(&lanes.out, 0);
                for (k, l) in moved.ins.iter_mut().enumerate().take(count) {
                    l.ptr = here(l, k + 1);
                }
                // SAFETY: the walk stays inside the shape, which the operands cover.
                unsafe { staged_run(row.run, &moved, n, p) };
            }
        });
    });
}

/// The operands of a run.
#[derive(Clone, Copy)]
struct Lanes {
    out: Lane,
    ins: [Lane; 3],
    count: usize,
}

// SAFETY: plain addresses and numbers; tasks write disjoint runs.
unsafe impl Sync for Lanes {}

/// Runs of two operands that are contiguous, or one element for all, and follow each other at even
/// distances.
struct ManyRuns {
    runs: Runs,
    lanes: Lanes,
    /// Elements of a run.
    inner: usize,
    /// Elements from one run to the next, by operand.
    steps: [isize; 4],
    /// Operands of one element.
    repeated: [bool; 2],
}

impl ManyRuns {
    /// `count` runs of `n` elements from a place in a run on.
    ///
    /// # Safety
    /// The operands cover them.
    unsafe fn some(&self, run: usize, column: usize, n: usize, count: usize) {
        let Lanes { out, ins: [a, b, _], .. } = &self.lanes;
        let bytes = |l: &Lane, k: usize| self.steps[k] * l.size;
        let at = |l: &Lane, k: usize| {
            l.ptr.wrapping_offset(run as isize * bytes(l, k) + column as isize * l.step)
        };
        let ins = [at(a, 1), at(b, 2), at(b, 2)].map(<*mut u8>::cast_const);
        let steps = [bytes(out, 0), bytes(a, 1), bytes(b, 2), bytes(b, 2)];
        // SAFETY: passed on to the caller.
        unsafe { (self.runs)(at(out, 0), ins, n, count, steps, self.repeated) };
    }

    /// # Safety
    /// The operands cover the range.
    unsafe fn compute(&self, range: Range<usize>) {
        let inner = self.inner;
        let (first, last) = (range.start.div_ceil(inner), range.end / inner);
        // SAFETY: passed on to the caller.
        unsafe {
            if first > last {
                // Inside one run.
                return self.some(last, range.start % inner, range.len(), 1);
            }
            if range.start < first * inner {
                self.some(first - 1, range.start % inner, first * inner - range.start, 1);
            }
            if first < last {
                self.some(first, 0, inner, last - first);
            }
            if last * inner < range.end {
                self.some(last, 0, range.end - last * inner, 1);
            }
        }
    }
}

/// One run through the buffers.
///
/// # Safety
/// Lanes cover `n` elements.
unsafe fn staged_run(f: Loop, lanes: &Lanes, n: usize, p: &Params) {
    let Lanes { out, ins, count } = lanes;
    let mut buffers = [Buffer::uninit(); 4];
    let bases = buffers.each_mut().map(|b| b.as_mut_ptr().cast::<u8>());
    for at in (0..n).step_by(BLOCK) {
        let m = BLOCK.min(n - at);
        let here = |l: &Lane| l.ptr.wrapping_offset(at as isize * l.step);
        let mut ptrs = [bases[0].cast_const(); 3];
        for (k, lane) in ins.iter().enumerate().take(*count) {
            ptrs[k] = here(lane);
            if lane.staged {
                // A repeated element fills its buffer once.
                if lane.step != 0 || at == 0 {
                    // SAFETY: the buffer holds BLOCK elements of up to 8 bytes.
                    unsafe { convert::gather(bases[k], ptrs[k], lane.step, lane.dtype, m) };
                }
                ptrs[k] = bases[k];
            }
        }
        let first = ptrs[0];
        ptrs[*count..].fill(first);
        let target = if out.staged { bases[3] } else { here(out) };
        // SAFETY: as above; inputs that share the output's bytes were copied.
        unsafe { f(target, ptrs, m, p) };
        if out.staged {
            // SAFETY: the run covers `m` elements from here on.
            unsafe { convert::scatter(here(out), out.step, out.dtype, target, m) };
        }
    }
}

/// `out = mask ? a : b` for elements of any dtype; `mask` is boolean.
///
/// # Safety
/// As [`run`]; the output shares bytes with no input.
pub unsafe fn select(
    threads: &Threads,
    shape: &[usize],
    out: Operand,
    mask: Operand,
    a: Source,
    b: Source,
) {
    let size = out.dtype.size();
    let mut numbers = [[0u8; 8]; 2];
    let mut side = |s: Source, i: usize| match s {
        Source::View(v) => (SyncPtr(v.ptr), v.strides.to_vec()),
        Source::Number(bytes) => {
            numbers[i] = bytes;
            (SyncPtr(numbers[i].as_mut_ptr()), vec![0; shape.len()])
        }
    };
    let ((pa, sa), (pb, sb)) = (side(a, 0), side(b, 1));
    let walk = Walk::new(shape, [out.strides, mask.strides, &sa, &sb]);
    let (po, pm) = (SyncPtr(out.ptr), SyncPtr(mask.ptr));
    let steps = walk.inner_strides;
    threads.split(walk.len(), GRAIN, |range| {
        walk.runs(range, |at, n| {
            macro_rules! width {
                ($t:ty) => {
                    // SAFETY: the walk stays inside the shape, which the operands cover.
                    unsafe {
                        let out = po.get().cast::<$t>().offset(at[0]);
                        let mask = pm.get().offset(at[1]);
                        let a = pa.get().cast::<$t>().offset(at[2]);
                        let b = pb.get().cast::<$t>().offset(at[3]);
                        // One number for all is read once.
                        macro_rules! pick {
                            (|$i:ident| $x:expr, $y:expr) => {
                                for $i in 0..n {
                                    let (x, y) = ($x, $y);
                                    *out.add($i) = if *mask.add($i) != 0 { x } else { y };
                                }
                            };
                        }
                        let (first, second) = (*a, *b);
                        if steps == [1, 1, 1, 1] {
                            pick!(|i| *a.add(i), *b.add(i));
                        } else if steps == [1, 1, 0, 1] {
                            pick!(|i| first, *b.add(i));
                        } else if steps == [1, 1, 1, 0] {
                            pick!(|i| *a.add(i), second);
                        } else if steps == [1, 1, 0, 0] {
                            pick!(|i| first, second);
                        } else {
                            for i in 0..n as isize {
                                let (x, y) = (*a.offset(i * steps[2]), *b.offset(i * steps[3]));
                                let m = *mask.offset(i * steps[1]) != 0;
                                *out.offset(i * steps[0]) = if m { x } else { y };
                            }
                        }
                    }
                };
            }
            match size {
                1 => width!(u8),
                2 => width!(u16),
                4 => width!(u32),
                _ => width!(u64),
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::row;
    use mlrun_tensor_core::Op;
    use mlrun_tensor_core::backend::KernelId;

    #[test]
    fn runs_that_are_cut_anywhere_meet_the_broadcast_row() {
        let Some(add) = row(KernelId::Forward(Op::Add), DType::F32) else { panic!("no row") };
        for (rows, n) in [(1, 1), (3, 5), (1100, 67), (40, 3001), (2, 70_001), (70_001, 2)] {
            let mut a: Vec<f32> = (0..rows * n).map(|i| (i % 1013) as f32).collect();
            let mut b: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
            for count in [1, 2, 3, 5] {
                let mut y = vec![0f32; rows * n];
                let (whole, over) = ([n as isize, 1], [0, 1]);
                let view = |v: &mut Vec<f32>, strides| Operand {
                    ptr: v.as_mut_ptr().cast(),
                    strides,
                    dtype: DType::F32,
                };
                let ins = [Source::View(view(&mut a, &whole)), Source::View(view(&mut b, &over))];
                let out = view(&mut y, &whole);
                // SAFETY: the vectors cover the shape by these strides.
                unsafe { run(&Threads::new(count), &[rows, n], out, &ins, add, &[0.0; 4]) };
                let right = (0..rows * n).all(|i| y[i] == a[i] + b[i % n]);
                assert!(right, "{rows} x {n} on {count} threads");
                let mut column: Vec<f32> = (0..rows).map(|i| i as f32 * 0.25).collect();
                let along = [1, 0];
                for swapped in [false, true] {
                    let mut ins = [
                        Source::View(view(&mut a, &whole)),
                        Source::View(view(&mut column, &along)),
                    ];
                    if swapped {
                        ins.reverse();
                    }
                    let out = view(&mut y, &whole);
                    // SAFETY: as above.
                    unsafe { run(&Threads::new(count), &[rows, n], out, &ins, add, &[0.0; 4]) };
                    let right = (0..rows * n).all(|i| y[i] == a[i] + column[i / n]);
                    assert!(right, "{rows} x {n} and a column on {count} threads");
                }
            }
        }
    }
}
