//! Batches of matrix products.

use super::{no_kernel, output, view};
use crate::gemm::{Gemm, Mat, MatMut, Shape, gemm, gemm_plus};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::strided::Walk;
use crate::threads::Threads;
use mlrun_tensor_core::backend::{Call, View};
use mlrun_tensor_core::layout::{Layout, contiguous_strides};
use mlrun_tensor_core::{DType, Error, Result};
use smallvec::SmallVec;
use std::ops::Range;

/// One operand: address, strides per batch dimension (0 where broadcast), matrix strides.
struct Side {
    ptr: *mut u8,
    batch: SmallVec<[isize; 4]>,
    rs: isize,
    cs: isize,
}

impl Side {
    fn new(ptr: *mut u8, layout: &Layout, batch: &[usize]) -> Side {
        let n = layout.ndim();
        let pad = batch.len() + 2 - n;
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, batch.len());
        for i in 0..n - 2 {
            if layout.shape[i] == batch[pad + i] {
                strides[pad + i] = layout.strides[i];
            }
        }
        Side { ptr, batch: strides, rs: layout.strides[n - 2], cs: layout.strides[n - 1] }
    }
}

pub fn bmm(threads: &Threads, call: &Call) -> Result<()> {
    let (a, b, out) = (view(call, 0)?, view(call, 1)?, output(call, 0)?);
    let (n, na, nb) = (out.layout.ndim(), a.layout.ndim(), b.layout.ndim());
    if n < 2 || na < 2 || nb < 2 || na > n || nb > n {
        return Err(Error::shape("got fewer than 2 dimensions"));
    }
    match call.dtype {
        DType::F32 => typed::<f32>(threads, a, b, out)?,
        DType::F64 => typed::<f64>(threads, a, b, out)?,
        DType::F16 | DType::BF16 => through_f32(threads, a, b, out)?,
        DType::I8 => {
            integers::<i8>(threads, a, b, out, |s, x, y| s.wrapping_add(x.wrapping_mul(y)))
        }
        DType::U8 => {
            integers::<u8>(threads, a, b, out, |s, x, y| s.wrapping_add(x.wrapping_mul(y)))
        }
        DType::I16 => {
            integers::<i16>(threads, a, b, out, |s, x, y| s.wrapping_add(x.wrapping_mul(y)))
        }
        DType::I32 => {
            integers::<i32>(threads, a, b, out, |s, x, y| s.wrapping_add(x.wrapping_mul(y)))
        }
        DType::I64 => {
            integers::<i64>(threads, a, b, out, |s, x, y| s.wrapping_add(x.wrapping_mul(y)))
        }
        DType::Bool => integers::<u8>(threads, a, b, out, |s, x, y| s | (x & y)),
    }
    Ok(())
}

pub fn addmm(threads: &Threads, call: &Call) -> Result<()> {
    let views = [view(call, 0)?, view(call, 1)?, view(call, 2)?];
    let out = output(call, 0)?;
    if out.layout.ndim() != 2 || views[2].layout.ndim() != 1 {
        return Err(Error::shape("got other operands than two matrices and a row"));
    }
    let (_, shape) = shapes(views[0], out);
    let to = (out.ptr(), &out.layout.strides[..]);
    match call.dtype {
        DType::F32 => with_row::<f32>(threads, shape, views.map(place), to)?,
        DType::F64 => with_row::<f64>(threads, shape, views.map(place), to)?,
        DType::F16 | DType::BF16 => {
            let [a, b, row] = views.map(|v| widened(threads, v));
            let wide = [a?, b?, row?];
            let from = [0, 1, 2].map(|i| (wide[i].0.as_ptr(), &wide[i].1.strides[..]));
            let result = Scratch::new::<f32>(out.layout.numel())?;
            let strides = contiguous_strides(&out.layout.shape);
            with_row::<f32>(threads, shape, from, (result.as_ptr(), &strides))?;
            rounded(threads, &result, out);
        }
        _ => return Err(no_kernel(call)),
    }
    Ok(())
}

/// An address and its strides.
type Place<'a> = (*mut u8, &'a [isize]);

fn place<'a>(v: &'a View) -> Place<'a> {
    (v.ptr(), &v.layout.strides)
}

fn with_row<T: Gemm>(
    threads: &Threads,
    shape: Shape,
    [a, b, row]: [Place; 3],
    (to, strides): Place,
) -> Result<(), NoScratch> {
    let mat = |(ptr, s): Place| Mat { ptr: ptr.cast::<T>().cast_const(), rs: s[0], cs: s[1] };
    let row = Mat { ptr: row.0.cast::<T>().cast_const(), rs: 0, cs: row.1[0] };
    let c = MatMut { ptr: to.cast(), rs: strides[0], cs: strides[1] };
    // SAFETY: the row's shape rule made the views fit; the output is fresh.
    unsafe { gemm_plus(threads, shape, mat(a), mat(b), c, row) }
}

/// The batch dimensions and the shape of one product.
fn shapes(a: &View, out: &View) -> (SmallVec<[usize; 4]>, Shape) {
    let dims = &out.layout.shape;
    let (batch, mn) = dims.split_at(dims.len() - 2);
    let k = a.layout.shape.last().copied().unwrap_or(0);
    (batch.into(), Shape { m: mn[0], n: mn[1], k })
}

fn typed<T: Gemm>(threads: &Threads, a: &View, b: &View, out: &View) -> Result<(), NoScratch> {
    let (batch, shape) = shapes(a, out);
    let sides = [
        Side::new(out.ptr(), &out.layout.clone(), &batch),
        Side::new(a.ptr(), &a.layout.clone(), &batch),
        Side::new(b.ptr(), &b.layout.clone(), &batch),
    ];
    products::<T>(threads, &batch, shape, &sides)
}

fn products<T: Gemm>(
    threads: &Threads,
    batch: &[usize],
    shape: Shape,
    sides: &[Side; 3],
) -> Result<(), NoScratch> {
    let walk = Walk::new(batch, [&sides[0].batch, &sides[1].batch, &sides[2].batch]);
    let count = walk.len();
    let [c, a, b] = sides;
    let at = |offsets: [isize; 3]| {
        let place = |s: &Side, o: isize| s.ptr.cast::<T>().wrapping_offset(o);
        (
            MatMut { ptr: place(c, offsets[0]), rs: c.rs, cs: c.cs },
            Mat { ptr: place(a, offsets[1]).cast_const(), rs: a.rs, cs: a.cs },
            Mat { ptr: place(b, offsets[2]).cast_const(), rs: b.rs, cs: b.cs },
        )
    };
    // A batch of left operands on one right operand is one tall product.
    if walk.outer().is_empty() && count > 1 {
        let [sc, sa, sb] = walk.inner_strides;
        let rows = shape.m as isize;
        if sb == 0 && sa == rows * a.rs && sc == rows * c.rs {
            let (cm, am, bm) = at([0; 3]);
            let tall = Shape { m: shape.m * count, ..shape };
            // SAFETY: the engine made the views cover the products; the output is fresh.
            return unsafe { gemm(threads, tall, am, bm, cm, false) };
        }
    }
    let work = shape.m.saturating_mul(shape.n).saturating_mul(shape.k);
    let each = |offsets: [isize; 3], threads: &Threads| {
        let (cm, am, bm) = at(offsets);
        // SAFETY: as above; products of a batch write disjoint parts.
        unsafe { gemm(threads, shape, am, bm, cm, false) }
    };
    let offsets_of = |offsets: [isize; 3], i: usize| {
        std::array::from_fn(|k| offsets[k] + i as isize * walk.inner_strides[k])
    };
    let some = |range: Range<usize>, product: &dyn Fn([isize; 3]) -> Result<(), NoScratch>| {
        let mut result = Ok(());
        walk.runs(range, |offsets, n| {
            for i in 0..n {
                if result.is_ok() {
                    result = product(offsets_of(offsets, i));
                }
            }
        });
        result
    };
    // Many small products are shared out whole; large ones are split within.
    if count > 1 && threads.count() > 1 && (count >= 4 * threads.count() || work < 1 << 20) {
        let shared = SyncSides(&each, Threads::alone());
        let grain = ((1usize << 16) / work.max(1)).max(1);
        return threads.try_split(count, grain, |range| some(range, &|o| shared.run(o)));
    }
    some(0..count, &|offsets| each(offsets, threads))
}

/// A product that tasks may call side by side.
struct SyncSides<'a, F>(&'a F, &'a Threads);

// SAFETY: the closure holds addresses of views and plain numbers; products write disjoint parts.
unsafe impl<F> Sync for SyncSides<'_, F> {}

impl<F: Fn([isize; 3], &Threads) -> Result<(), NoScratch>> SyncSides<'_, F> {
    fn run(&self, offsets: [isize; 3]) -> Result<(), NoScratch> {
        (self.0)(offsets, self.1)
    }
}

/// A view's elements as float32.
fn widened(threads: &Threads, v: &View) -> Result<(Scratch, Layout), NoScratch> {
    let scratch = Scratch::new::<f32>(v.layout.numel())?;
    let layout = Layout::contiguous(&v.layout.shape);
    let to = super::Operand { ptr: scratch.as_ptr(), strides: &layout.strides, dtype: DType::F32 };
    // SAFETY: the scratch holds all elements of the view.
    unsafe { crate::copy::copy(threads, &v.layout.shape, to, super::operand(v)) };
    Ok((scratch, layout))
}

/// Writes float32 numbers to an output of halves.
fn rounded(threads: &Threads, from: &Scratch, out: &View) {
    let strides = contiguous_strides(&out.layout.shape);
    let from = super::Operand { ptr: from.as_ptr(), strides: &strides, dtype: DType::F32 };
    // SAFETY: the scratch holds all elements of the output.
    unsafe { crate::copy::copy(threads, &out.layout.shape, super::operand(out), from) };
}

/// Halves are multiplied in float32 and rounded once.
fn through_f32(threads: &Threads, a: &View, b: &View, out: &View) -> Result<(), NoScratch> {
    let (batch, shape) = shapes(a, out);
    let ((sa, la), (sb, lb)) = (widened(threads, a)?, widened(threads, b)?);
    let result = Scratch::new::<f32>(out.layout.numel())?;
    let lc = Layout::contiguous(&out.layout.shape);
    let sides = [
        Side::new(result.as_ptr(), &lc, &batch),
        Side::new(sa.as_ptr(), &la, &batch),
        Side::new(sb.as_ptr(), &lb, &batch),
    ];
    products::<f32>(threads, &batch, shape, &sides)?;
    rounded(threads, &result, out);
    Ok(())
}

/// Integers and booleans, row by row.
fn integers<T: Copy + Default>(
    threads: &Threads,
    a: &View,
    b: &View,
    out: &View,
    step: impl Fn(T, T, T) -> T + Sync,
) {
    let (batch, Shape { m, n, k }) = shapes(a, out);
    let [c, a, b] = [out, a, b].map(|v| Side::new(v.ptr(), v.layout, &batch));
    let (pc, pa, pb) =
        (SyncPtr(c.ptr.cast::<T>()), SyncPtr(a.ptr.cast::<T>()), SyncPtr(b.ptr.cast::<T>()));
    let walk = Walk::new(&batch, [&c.batch, &a.batch, &b.batch]);
    let count = walk.len();
    let (crs, ccs, ars, acs, brs, bcs) = (c.rs, c.cs, a.rs, a.cs, b.rs, b.cs);
    let grain = ((1usize << 14) / (n * k).max(1)).max(1);
    threads.split(count * m, grain, |rows| {
        for row in rows {
            let (index, i) = (row / m, (row % m) as isize);
            walk.runs(index..index + 1, |at, _| {
                let c = pc.get().wrapping_offset(at[0] + i * crs);
                let a = pa.get().wrapping_offset(at[1] + i * ars);
                let b = pb.get().wrapping_offset(at[2]);
                for j in 0..n as isize {
                    // SAFETY: the engine made the views cover the products.
                    unsafe { *c.offset(j * ccs) = T::default() };
                }
                for p in 0..k as isize {
                    // SAFETY: as above; each row belongs to one part.
                    unsafe {
                        let x = *a.offset(p * acs);
                        for j in 0..n as isize {
                            let to = c.offset(j * ccs);
                            *to = step(*to, x, *b.offset(p * brs + j * bcs));
                        }
                    }
                }
            });
        }
    });
}
