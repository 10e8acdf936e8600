//! Calls of rows that are neither elementwise nor products.

use super::{Operand, no_kernel, number, operand, output, packed, view};
use crate::adam::{self, Settings};
use crate::index::{self, ToRows};
use crate::join::{Part, join};
use crate::random::{self, Draw};
use crate::reduce::folds::{AllOf, AnyOf, Largest, Product, Smallest, Sum};
use crate::reduce::{Extreme, Fold, Split, arg_extreme, fold};
use crate::scratch::Scratch;
use crate::threads::Threads;
use mlrun_tensor_core::attr::AttrsExt;
use mlrun_tensor_core::backend::{Call, View};
use mlrun_tensor_core::layout::wrap_dim;
use mlrun_tensor_core::ops::reduce::reduced_flags;
use mlrun_tensor_core::{DType, Error, Op, Result, Scalar};
use smallvec::SmallVec;

pub fn create(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let out = packed(call, 0)?;
    let (n, attrs) = (out.layout.numel(), call.attrs);
    match op {
        Op::Full => {
            let value = number(Scalar::Float(attrs.float(1)?), out.dtype);
            // SAFETY: the output is contiguous and has `n` elements.
            unsafe { crate::copy::fill(threads, out.ptr(), out.dtype.size(), value, n) };
            Ok(())
        }
        Op::Arange => arange(threads, out, attrs.float(0)?, attrs.float(1)?, n),
        Op::RandPerm => {
            let (seed, counter) = (attrs.int(2)? as u64, attrs.int(3)? as u64);
            whole_numbers(threads, out, n, |p| {
                // SAFETY: `whole_numbers` hands out room for `n` elements.
                unsafe { random::permutation(p, n, seed, counter) }
            })
        }
        _ => draw(threads, call, op, out, n),
    }
}

fn draw(threads: &Threads, call: &Call, op: Op, out: &View, n: usize) -> Result<()> {
    let attrs = call.attrs;
    let (seed, counter) = (attrs.int(4)? as u64, attrs.int(5)? as u64);
    if op == Op::RandInt {
        let (low, high) = (attrs.int(1)?, attrs.int(2)?);
        let range = high.wrapping_sub(low) as u64;
        return whole_numbers(threads, out, n, |p| {
            // SAFETY: `whole_numbers` hands out room for `n` elements.
            unsafe { random::fill_i64(threads, p, n, seed, counter, Draw::Whole { low, range }) }
        });
    }
    let (a, b) = (attrs.float(1)?, attrs.float(2)?);
    let draw = match op {
        Op::Uniform => Draw::Uniform { low: a, high: b },
        _ => Draw::Normal { mean: a, std: b },
    };
    match out.dtype {
        // SAFETY: the output is contiguous and has `n` elements.
        DType::F32 => unsafe {
            random::fill_f32(threads, out.ptr().cast(), n, seed, counter, draw)
        },
        // SAFETY: as above.
        DType::F64 => unsafe {
            random::fill_f64(threads, out.ptr().cast(), n, seed, counter, draw)
        },
        DType::F16 | DType::BF16 => {
            let scratch = Scratch::new::<f32>(n)?;
            // SAFETY: the scratch holds `n` elements, as does the output.
            unsafe {
                random::fill_f32(threads, scratch.as_ptr(), n, seed, counter, draw);
                let from = scratch.as_ptr::<u8>();
                crate::convert::cast(out.ptr(), out.dtype, from, DType::F32, n);
            }
        }
        _ => return Err(no_kernel(call)),
    }
    Ok(())
}

/// Lets `make` write int64 numbers, directly or to be converted to the output's dtype.
fn whole_numbers(_: &Threads, out: &View, n: usize, make: impl FnOnce(*mut i64)) -> Result<()> {
    if out.dtype == DType::I64 {
        make(out.ptr().cast());
        return Ok(());
    }
    let scratch = Scratch::new::<i64>(n)?;
    make(scratch.as_ptr());
    // SAFETY: the scratch holds `n` elements, as does the contiguous output.
    unsafe { crate::convert::cast(out.ptr(), out.dtype, scratch.as_ptr(), DType::I64, n) };
    Ok(())
}

fn arange(threads: &Threads, out: &View, start: f64, step: f64, n: usize) -> Result<()> {
    let whole = start.trunc() == start && step.trunc() == step;
    let (to, dtype) = (crate::ptr::SyncPtr(out.ptr()), out.dtype);
    threads.split(n, 1 << 14, |range| {
        for i in range {
            let value = if whole && !dtype.is_float() {
                Scalar::Int((start as i64).wrapping_add((step as i64).wrapping_mul(i as i64)))
            } else {
                Scalar::Float(start + step * i as f64)
            };
            let bytes = number(value, dtype);
            let at = to.get().wrapping_add(i * dtype.size());
            // SAFETY: the output is contiguous and has `n` elements.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, dtype.size()) };
        }
    });
    Ok(())
}

pub fn copy(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (out, x) = (output(call, 0)?, view(call, 0)?);
    let shape = &out.layout.shape;
    if op == Op::Flip {
        let mut strides = x.layout.strides.clone();
        let mut ptr = x.ptr();
        for &d in call.attrs.ints(0).unwrap_or_default() {
            let d = wrap_dim(d, shape.len())?;
            let Some(s) = strides.get_mut(d) else { continue };
            let last = shape[d].saturating_sub(1) as isize * *s * x.dtype.size() as isize;
            ptr = ptr.wrapping_offset(last);
            *s = -*s;
        }
        let from = Operand { ptr, strides: &strides, dtype: x.dtype };
        // SAFETY: the same elements from the other end; the output is fresh.
        unsafe { crate::copy::copy(threads, shape, operand(out), from) };
        return Ok(());
    }
    // SAFETY: the engine broadcast the input to the output's shape; they do not overlap.
    unsafe { crate::copy::copy(threads, shape, operand(out), operand(x)) };
    match op {
        Op::Tril => triangle(packed(call, 0)?, call.attrs.int(0)?, true),
        Op::Triu => triangle(packed(call, 0)?, call.attrs.int(0)?, false),
        _ => {}
    }
    Ok(())
}

/// Writes zeros above (or below) a diagonal of the last two dimensions.
fn triangle(out: &View, diagonal: i64, lower: bool) {
    let shape = &out.layout.shape;
    let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let size = out.dtype.size();
    let count = out.layout.numel() / columns.max(1);
    for row in 0..count {
        let edge = ((row % rows) as i64).saturating_add(diagonal);
        let range = if lower {
            edge.saturating_add(1).clamp(0, columns as i64) as usize..columns
        } else {
            0..edge.clamp(0, columns as i64) as usize
        };
        let at = out.ptr().wrapping_add((row * columns + range.start) * size);
        // SAFETY: the output is contiguous; the range lies within one row. Zero bytes are the
        // number 0 in every dtype.
        unsafe { std::ptr::write_bytes(at, 0, range.len() * size) };
    }
}

pub fn concat(threads: &Threads, call: &Call) -> Result<()> {
    let out = packed(call, 0)?;
    let shape = &out.layout.shape;
    let dim = wrap_dim(call.attrs.int(0)?, shape.len())?;
    let part = |i: usize| -> Result<Part> {
        let v = view(call, i)?;
        Ok(Part { shape: &v.layout.shape, src: operand(v), packed: v.layout.is_contiguous() })
    };
    let parts: SmallVec<[Part; 4]> = (0..call.inputs.len()).map(part).collect::<Result<_>>()?;
    // SAFETY: the op gave the output the parts' shape with the sum of their extents; it is fresh.
    unsafe { join(threads, shape, dim, operand(out), &parts) };
    Ok(())
}

fn split_of(call: &Call, x: &View) -> Result<Split> {
    let flags = reduced_flags(call.attrs.ints(0), x.layout.ndim())?;
    Ok(Split::new(&x.layout.shape, &x.layout.strides, &flags))
}

pub fn reduce(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (out, x) = (packed(call, 0)?, view(call, 0)?);
    let split = split_of(call, x)?;
    fn with<F: Fold>(t: &Threads, s: &Split, x: &View, out: &View) -> Result<()> {
        let bytes = |d: DType| if d == DType::Bool { DType::U8 } else { d };
        // Booleans are bytes of 0 and 1 on both sides.
        let (from, to) =
            (bytes(x.dtype), if F::OUT == DType::U8 { bytes(out.dtype) } else { out.dtype });
        // SAFETY: the split describes the input's view; the output is contiguous and holds the
        // kept elements.
        unsafe { fold::<F>(t, s, x.ptr(), from, out.ptr(), to)? };
        Ok(())
    }
    macro_rules! by_dtype {
        ($fold:ident) => {
            match x.dtype {
                DType::F32 | DType::F16 | DType::BF16 => {
                    with::<$fold<f32>>(threads, &split, x, out)
                }
                DType::F64 => with::<$fold<f64>>(threads, &split, x, out),
                DType::I8 => with::<$fold<i8>>(threads, &split, x, out),
                DType::U8 | DType::Bool => with::<$fold<u8>>(threads, &split, x, out),
                DType::I16 => with::<$fold<i16>>(threads, &split, x, out),
                DType::I32 => with::<$fold<i32>>(threads, &split, x, out),
                DType::I64 => with::<$fold<i64>>(threads, &split, x, out),
            }
        };
    }
    match op {
        Op::Sum => match x.dtype {
            DType::F32 | DType::F16 | DType::BF16 => with::<Sum<f32>>(threads, &split, x, out),
            DType::F64 => with::<Sum<f64>>(threads, &split, x, out),
            DType::I64 => with::<Sum<i64>>(threads, &split, x, out),
            _ => Err(no_kernel(call)),
        },
        Op::Prod => match x.dtype {
            DType::F32 | DType::F16 | DType::BF16 => with::<Product<f32>>(threads, &split, x, out),
            DType::F64 => with::<Product<f64>>(threads, &split, x, out),
            DType::I64 => with::<Product<i64>>(threads, &split, x, out),
            _ => Err(no_kernel(call)),
        },
        Op::Amax => by_dtype!(Largest),
        Op::Amin => by_dtype!(Smallest),
        Op::Any => by_dtype!(AnyOf),
        Op::All => by_dtype!(AllOf),
        _ => Err(no_kernel(call)),
    }
}

pub fn extreme(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let x = view(call, 0)?;
    let (split, values, positions) = match op {
        Op::MaxDim | Op::MinDim => {
            let dim = [call.attrs.int(0)?];
            let flags = reduced_flags(Some(&dim), x.layout.ndim())?;
            let split = Split::new(&x.layout.shape, &x.layout.strides, &flags);
            (split, Some(packed(call, 0)?), packed(call, 1)?)
        }
        _ => (split_of(call, x)?, None, packed(call, 0)?),
    };
    if split.reduced.is_empty() || positions.dtype != DType::I64 {
        return Err(no_kernel(call));
    }
    let which = match op {
        Op::Argmax | Op::MaxDim => Extreme::Largest,
        _ => Extreme::Smallest,
    };
    // SAFETY: the split describes the input's view; outputs are contiguous and hold the kept
    // elements.
    unsafe {
        arg_extreme(
            threads,
            &split,
            x.ptr(),
            x.dtype,
            which,
            values.map(|v| v.ptr()),
            positions.ptr().cast(),
        );
    }
    Ok(())
}

pub fn positions(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (out, x, i) = (output(call, 0)?, view(call, 0)?, view(call, 1)?);
    let dim = wrap_dim(call.attrs.int(0)?, x.layout.ndim())?;
    let extent = x.layout.shape.get(dim).copied().unwrap_or(1);
    if i.dtype != DType::I64 {
        return Err(no_kernel(call));
    }
    let (ishape, ioperand) = (&i.layout.shape, operand(i));
    // SAFETY: the engine checked the shapes against each other, so views cover what is read;
    // positions are checked first; outputs are fresh, or the input itself.
    unsafe {
        crate::index::check(threads, ishape, ioperand, extent, false)?;
        match op {
            Op::IndexSelect => {
                let shape = &out.layout.shape;
                crate::index::index_select(threads, shape, dim, operand(out), operand(x), ioperand);
            }
            Op::Gather => {
                crate::index::gather(threads, ishape, dim, operand(out), operand(x), ioperand);
            }
            _ => {
                let source = view(call, 2)?;
                let (to, from) = (operand(out), operand(source));
                if !(out.storage.same(x.storage) && out.layout == x.layout) {
                    crate::copy::copy(threads, &x.layout.shape, operand(out), operand(x));
                }
                if op == Op::ScatterAdd {
                    crate::index::scatter_add(ishape, dim, to, from, ioperand);
                } else {
                    let shape = &source.layout.shape;
                    let rows = ToRows { shape, dim, out: to, src: from, index: ioperand };
                    let write =
                        if op == Op::IndexAdd { index::index_add } else { index::index_copy };
                    write(threads, extent, rows);
                }
            }
        }
    }
    Ok(())
}

pub fn softmax(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (out, x) = (output(call, 0)?, view(call, 0)?);
    if !x.dtype.is_float() {
        return Err(no_kernel(call));
    }
    let dim = wrap_dim(call.attrs.int(0)?, x.layout.ndim())?;
    let log = op == Op::LogSoftmax;
    // SAFETY: both views have the output's shape; the output is fresh.
    unsafe {
        crate::softmax::softmax(threads, &out.layout.shape, dim, operand(out), operand(x), log)?;
    }
    Ok(())
}

pub fn adam(threads: &Threads, call: &Call) -> Result<()> {
    let (g, p) = (view(call, 0)?, output(call, 0)?);
    let a = call.attrs;
    let settings = Settings {
        lr: a.float(0)?,
        beta1: a.float(1)?,
        beta2: a.float(2)?,
        eps: a.float(3)?,
        weight_decay: a.float(4)?,
        decoupled: a.flag(5),
        step: a.int(6)?,
    };
    let all: SmallVec<[Operand; 3]> = call.outputs.iter().map(operand).collect();
    let Ok(own) = <[Operand; 3]>::try_from(all.as_slice()) else { return Err(no_kernel(call)) };
    if !p.dtype.is_float() {
        return Err(Error::dtype(format!("got {}, expected floats", p.dtype)));
    }
    // SAFETY: the op checked that shapes and dtypes agree; parameter, gradient and moments have
    // storages of their own.
    unsafe { adam::step(threads, &p.layout.shape, own, operand(g), &settings) };
    Ok(())
}
