//! Running sums and products along one dimension.

use crate::copy;
use crate::elementwise::Operand;
use crate::ptr::SyncPtr;
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use smallvec::SmallVec;

const GRAIN: usize = 1 << 13;
const BLOCK: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    Sum,
    Product,
}

/// A number that runs along: float32 runs in float64, as PyTorch's accumulate type does.
trait Running: Copy + 'static {
    type Wide: Copy;
    const DTYPE: DType;
    fn start(scan: Scan) -> Self::Wide;
    fn step(scan: Scan, a: Self::Wide, x: Self) -> Self::Wide;
    fn narrow(a: Self::Wide) -> Self;
}

macro_rules! floats {
    ($($t:ty = $d:ident),*) => {$(
        impl Running for $t {
            type Wide = f64;
            const DTYPE: DType = DType::$d;
            #[inline(always)]
            fn start(scan: Scan) -> f64 { (scan == Scan::Product) as u8 as f64 }
            #[inline(always)]
            fn step(scan: Scan, a: f64, x: $t) -> f64 {
                if scan == Scan::Sum { a + x as f64 } else { a * x as f64 }
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
    fn start(scan: Scan) -> i64 {
        (scan == Scan::Product) as i64
    }
    #[inline(always)]
    fn step(scan: Scan, a: i64, x: i64) -> i64 {
        if scan == Scan::Sum { a.wrapping_add(x) } else { a.wrapping_mul(x) }
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
    match src.dtype {
        DType::F64 => run::<f64>(threads, shape, dim, out, src, scan),
        DType::F32 | DType::F16 | DType::BF16 => run::<f32>(threads, shape, dim, out, src, scan),
        _ => run::<i64>(threads, shape, dim, out, src, scan),
    }
}

fn run<T: Running>(
    threads: &Threads,
    shape: &[usize],
    dim: usize,
    out: Operand,
    src: Operand,
    scan: Scan,
) {
    let n = shape.get(dim).copied().unwrap_or(1);
    let others = |strides: &[isize]| -> SmallVec<[isize; 4]> {
        (0..shape.len()).filter(|&i| i != dim).map(|i| strides[i]).collect()
    };
    let rest: SmallVec<[usize; 4]> =
        (0..shape.len()).filter(|&i| i != dim).map(|i| shape[i]).collect();
    let walk = Walk::new(&rest, [&others(out.strides), &others(src.strides)]);
    let (so, si) = (out.dtype.size() as isize, src.dtype.size() as isize);
    let step = |o: &Operand, size: isize| o.strides.get(dim).copied().unwrap_or(1) * size;
    let (out_step, src_step) = (step(&out, so), step(&src, si));
    let (po, ps) = (SyncPtr(out.ptr), SyncPtr(src.ptr));
    let (to_dtype, from_dtype) = (out.dtype, src.dtype);
    threads.split(walk.len(), (GRAIN / n.max(1)).max(1), |range| {
        walk.runs(range, |at, count| {
            for k in 0..count as isize {
                let [ko, ki] = walk.inner_strides;
                let to = po.get().wrapping_offset((at[0] + k * ko) * so);
                let from = ps.get().wrapping_offset((at[1] + k * ki) * si).cast_const();
                let mut buffer = std::mem::MaybeUninit::<[T; BLOCK]>::uninit();
                let b = buffer.as_mut_ptr().cast::<T>();
                let size = size_of::<T>() as isize;
                let mut total = T::start(scan);
                for first in (0..n).step_by(BLOCK) {
                    let (m, f) = (BLOCK.min(n - first), first as isize);
                    // SAFETY: the walk stays inside the shape, which both operands cover; the
                    // buffer holds BLOCK numbers.
                    unsafe {
                        let x = from.offset(f * src_step);
                        copy::run(b.cast(), size, T::DTYPE, x, src_step, from_dtype, m);
                        for i in 0..m {
                            total = T::step(scan, total, *b.add(i));
                            *b.add(i) = T::narrow(total);
                        }
                        let y = to.offset(f * out_step);
                        copy::run(y, out_step, to_dtype, b.cast(), size, T::DTYPE, m);
                    }
                }
            }
        });
    });
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
