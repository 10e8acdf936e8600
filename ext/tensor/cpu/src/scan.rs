//! Running sums and products along one dimension.

use crate::copy;
use crate::elementwise::Operand;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use smallvec::SmallVec;
use std::marker::PhantomData;

const GRAIN: usize = 1 << 13;
/// Elements that pass through the buffer at a time.
const BLOCK: usize = 256;
/// Lines that run side by side.
const WIDTH: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    Sum,
    Product,
}

/// A number that runs along: float32 runs in float64, as PyTorch's accumulate type does.
trait Running: Copy + Send + Sync + 'static {
    type Wide: Copy;
    const DTYPE: DType;
    fn start<const SUM: bool>() -> Self::Wide;
    fn step<const SUM: bool>(a: Self::Wide, x: Self) -> Self::Wide;
    fn narrow(a: Self::Wide) -> Self;
}

macro_rules! floats {
    ($($t:ty = $d:ident),*) => {$(
        impl Running for $t {
            type Wide = f64;
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn start<const SUM: bool>() -> f64 { if SUM { 0.0 } else { 1.0 } }
            #[inline(always)]
            fn step<const SUM: bool>(a: f64, x: $t) -> f64 {
                if SUM { a + x as f64 } else { a * x as f64 }
            }
            #[inline(always)]
            fn narrow(a: f64) -> $t { a as $t }
        }
    )*};
}
floats!(f32 = F32, f64 = F64);

impl Running for i64 {
    type Wide = i64;
    const DTYPE: DType = DType::I64;
    #[inline(always)]
    fn start<const SUM: bool>() -> i64 {
        if SUM { 0 } else { 1 }
    }
    #[inline(always)]
    fn step<const SUM: bool>(a: i64, x: i64) -> i64 {
        if SUM { a.wrapping_add(x) } else { a.wrapping_mul(x) }
    }
    #[inline(always)]
    fn narrow(a: i64) -> i64 {
        a
    }
}

/// Runs along `dim` of `shape`. Floats keep their dtype; everything else comes as int64.
///
/// # Safety
/// Operands cover the shape; the output overlaps the input nowhere.
pub unsafe fn scan(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    scan: Scan,
) {
    macro_rules! with {
        ($t:ty) => {
            match scan {
                Scan::Sum => run::<$t, true>(threads, shape, dim, out, src),
                Scan::Product => run::<$t, false>(threads, shape, dim, out, src),
            }
        };
    }
    match src.dtype {
        DType::F64 => with!(f64),
        DType::F32 | DType::F16 | DType::BF16 => with!(f32),
        _ => with!(i64),
    }
}

fn run<T: Running, const SUM: bool>(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
) {
    let n = shape.get(dim).copied().unwrap_or(1);
    let others = |strides: &[isize]| -> SmallVec<[isize; 4]> {
        (0..shape.len()).filter(|&i| i != dim).map(|i| strides[i]).collect()
    };
    let rest: SmallVec<[usize; 4]> =
        (0..shape.len()).filter(|&i| i != dim).map(|i| shape[i]).collect();
    let walk = Walk::new(&rest, [&others(out.strides), &others(src.strides)]);
    let step = |o: &Operand| o.strides.get(dim).copied().unwrap_or(1);
    let job = Job::<T> {
        n,
        out: SyncPtr(out.ptr),
        src: SyncPtr(src.ptr),
        dtypes: [out.dtype, src.dtype],
        steps: [step(&out), step(&src)],
        number: PhantomData,
    };
    let typed = job.dtypes == [T::DTYPE; 2];
    let lines = typed && (n == 1 || job.steps == [1, 1]);
    let columns = typed && walk.inner_strides == [1, 1] && walk.inner >= 8;
    threads.split(walk.len(), (GRAIN / n.max(1)).max(1), |range| {
        walk.runs(range, |at, count| {
            let [ko, ki] = walk.inner_strides;
            if !lines && columns {
                for first in (0..count).step_by(WIDTH) {
                    let at = at.map(|a| a + first as isize);
                    job.columns::<SUM>(at, WIDTH.min(count - first));
                }
                return;
            }
            let line = |k: usize| [at[0] + k as isize * ko, at[1] + k as isize * ki];
            let mut k = 0;
            while lines && k + 4 <= count {
                job.lines::<4, SUM>([0, 1, 2, 3].map(|j| line(k + j)));
                k += 4;
            }
            for k in k..count {
                match lines {
                    true => job.lines::<1, SUM>([line(k)]),
                    false => job.any::<SUM>(line(k)),
                }
            }
        });
    });
}

/// One call. Places are offsets of output and input in elements, inside the shape.
struct Job<T> {
    n: usize,
    out: SyncPtr<u8>,
    src: SyncPtr<u8>,
    dtypes: [DType; 2],
    /// From one element along the dimension to the next.
    steps: [isize; 2],
    number: PhantomData<T>,
}

impl<T: Running> Job<T> {
    /// R lines that are contiguous on both sides, next to each other: each addition waits for the
    /// one before, so that one line alone would leave the processor waiting.
    fn lines<const R: usize, const SUM: bool>(&self, places: [[isize; 2]; R]) {
        let out = places.map(|p| self.out.get().cast::<T>().wrapping_offset(p[0]));
        let x = places.map(|p| self.src.get().cast::<T>().wrapping_offset(p[1]).cast_const());
        let mut totals = [T::start::<SUM>(); R];
        for i in 0..self.n {
            for r in 0..R {
                // SAFETY: the lines lie inside the shape, which both operands cover.
                unsafe {
                    totals[r] = T::step::<SUM>(totals[r], *x[r].add(i));
                    *out[r].add(i) = T::narrow(totals[r]);
                }
            }
        }
    }

    /// `width` lines that begin side by side.
    fn columns<const SUM: bool>(&self, place: [isize; 2], width: usize) {
        dispatch(Columns::<T, SUM> {
            out: self.out.get().cast::<T>().wrapping_offset(place[0]),
            x: self.src.get().cast::<T>().wrapping_offset(place[1]).cast_const(),
            steps: self.steps,
            n: self.n,
            width,
        });
    }

    /// A line of any layout and dtype, through a buffer.
    fn any<const SUM: bool>(&self, place: [isize; 2]) {
        let [so, si] = self.dtypes.map(|d| d.size() as isize);
        let to = self.out.get().wrapping_offset(place[0] * so);
        let from = self.src.get().wrapping_offset(place[1] * si).cast_const();
        let [out_step, src_step] = [self.steps[0] * so, self.steps[1] * si];
        let mut buffer = std::mem::MaybeUninit::<[T; BLOCK]>::uninit();
        let b = buffer.as_mut_ptr().cast::<T>();
        let size = size_of::<T>() as isize;
        let mut total = T::start::<SUM>();
        for first in (0..self.n).step_by(BLOCK) {
            let (m, f) = (BLOCK.min(self.n - first), first as isize);
            // SAFETY: the line lies inside the shape, which both operands cover; the buffer holds
            // BLOCK numbers.
            unsafe {
                let x = from.offset(f * src_step);
                copy::run(b.cast(), size, T::DTYPE, x, src_step, self.dtypes[1], m);
                for i in 0..m {
                    total = T::step::<SUM>(total, *b.add(i));
                    *b.add(i) = T::narrow(total);
                }
                let y = to.offset(f * out_step);
                copy::run(y, out_step, self.dtypes[0], b.cast(), size, T::DTYPE, m);
            }
        }
    }
}

/// Lines of `n` elements that begin side by side.
struct Columns<T, const SUM: bool> {
    out: *mut T,
    x: *const T,
    steps: [isize; 2],
    n: usize,
    width: usize,
}

impl<T: Running, const SUM: bool> Kernel for Columns<T, SUM> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Columns { out, x, steps, n, width } = self;
        let mut totals = [T::start::<SUM>(); WIDTH];
        for i in 0..n as isize {
            let (out, x) = (out.wrapping_offset(i * steps[0]), x.wrapping_offset(i * steps[1]));
            for (j, total) in totals.iter_mut().enumerate().take(width) {
                // SAFETY: the lines lie inside the shape, which both operands cover.
                unsafe {
                    *total = T::step::<SUM>(*total, *x.add(j));
                    *out.add(j) = T::narrow(*total);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_along_each_dimension() {
        let shape = [3usize, 700, 4];
        let x: Vec<f32> = (0..3 * 700 * 4).map(|i| ((i * 7) % 11) as f32 * 0.25 - 1.0).collect();
        let strides = [2800isize, 4, 1];
        for (which, dim) in [(Scan::Sum, 0), (Scan::Sum, 1), (Scan::Sum, 2), (Scan::Product, 2)] {
            let mut y = vec![0f32; x.len()];
            let at = |p: *mut f32| Operand { ptr: p.cast(), strides: &strides, dtype: DType::F32 };
            // SAFETY: both vectors cover the shape.
            unsafe {
                let src = at(x.as_ptr().cast_mut());
                scan(&Threads::new(2), &shape, dim, at(y.as_mut_ptr()), src, which)
            };
            for i in 0..3 {
                for j in 0..700 {
                    for k in 0..4 {
                        let here = [i, j, k];
                        let mut want = if which == Scan::Sum { 0f64 } else { 1.0 };
                        for p in 0..=here[dim] {
                            let mut q = here;
                            q[dim] = p;
                            let v = x[(q[0] * 700 + q[1]) * 4 + q[2]] as f64;
                            want = if which == Scan::Sum { want + v } else { want * v };
                        }
                        assert_eq!(
                            y[(i * 700 + j) * 4 + k],
                            want as f32,
                            "{which:?} {dim} {here:?}"
                        );
                    }
                }
            }
        }
    }
}
