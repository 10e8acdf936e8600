//! Calls of neural network rows: normalisation, convolution, pooling, attention.
//!
//! Kernels want contiguous float32 or float64 numbers; what is not so passes through a copy.

use super::{attention, no_kernel, output, view};
use crate::attention::Exp;
use crate::batch::{self, Planes};
use crate::conv::{self, Geometry};
use crate::dense::{Dense, DenseOut, Number};
use crate::norm::{self, Rows};
use crate::pool::{self, Divisor, Windows};
use crate::simd::Fits;
use crate::threads::Threads;
use mlrun_tensor_core::attr::AttrsExt;
use mlrun_tensor_core::backend::{Call, Input, View};
use mlrun_tensor_core::layout::{Layout, wrap_dim};
use mlrun_tensor_core::ops::conv::Window;
use mlrun_tensor_core::ops::pool::Pool;
use mlrun_tensor_core::{DType, Error, Op, Result};

pub fn run(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    match call.dtype {
        DType::F32 | DType::F16 | DType::BF16 => typed::<f32>(threads, call, op),
        DType::F64 => typed::<f64>(threads, call, op),
        _ => Err(no_kernel(call)),
    }
}

fn typed<T: Exp + Fits>(t: &Threads, call: &Call, op: Op) -> Result<()> {
    match op {
        Op::SoftmaxBackward => softmax_backward::<T>(t, call),
        Op::NormRows => norm_rows::<T>(t, call),
        Op::NormRowsBackward => norm_backward::<T>(t, call),
        Op::BatchNormTrain => batch_norm::<T>(t, call),
        Op::BatchNormTrainBackward => batch_backward::<T>(t, call),
        Op::DropoutSeeded => dropout::<T>(t, call),
        Op::Convolve | Op::ConvolveInput | Op::ConvolveWeight => convolve::<T>(t, call, op),
        Op::MaxPoolPlanes => max_pool::<T>(t, call),
        Op::AvgPoolPlanes => avg_pool::<T>(t, call, false),
        Op::AvgPoolPlanesBackward => avg_pool::<T>(t, call, true),
        Op::Attention => attention::forward::<T>(t, call),
        Op::AttentionBackward => attention::backward::<T>(t, call),
        _ => Err(no_kernel(call)),
    }
}

/// Input `i` as contiguous numbers.
fn dense<T: Number>(t: &Threads, call: &Call, i: usize) -> Result<Dense<T>> {
    Ok(Dense::new(t, view(call, i)?)?)
}

/// Input `i` where there is one.
fn optional<T: Number>(t: &Threads, call: &Call, i: usize) -> Result<Option<Dense<T>>> {
    match call.inputs.get(i) {
        Some(Input::View(v)) => Ok(Some(Dense::new(t, v)?)),
        _ => Ok(None),
    }
}

fn dense_out<'a, T: Number>(call: &'a Call, i: usize) -> Result<DenseOut<'a, T>> {
    Ok(DenseOut::new(output(call, i)?)?)
}

pub(super) fn wrong(what: &str) -> Error {
    Error::shape(format!("the kernel got {what} that do not fit together"))
}

fn softmax_backward<T: Number + Fits>(t: &Threads, call: &Call) -> Result<()> {
    let (g, y, out) = (view(call, 0)?, view(call, 1)?, output(call, 0)?);
    let n = g.layout.ndim();
    let dim = wrap_dim(call.attrs.int(0)?, n)?;
    // Rows along `dim`: the last dimension of a permuted view.
    let last = |l: &Layout| {
        let mut l = l.clone();
        if n > 0 {
            let (d, s) = (l.shape.remove(dim), l.strides.remove(dim));
            l.shape.push(d);
            l.strides.push(s);
        }
        l
    };
    let (gl, yl, ol) = (last(g.layout), last(y.layout), last(out.layout));
    let length = ol.shape.last().copied().unwrap_or(1);
    let rows = ol.numel() / length.max(1);
    let (g, y) = (
        Dense::<T>::laid_out(t, g.ptr(), &gl, g.dtype)?,
        Dense::<T>::laid_out(t, y.ptr(), &yl, y.dtype)?,
    );
    let to = DenseOut::<T>::laid_out(out.ptr(), &ol, out.dtype)?;
    // SAFETY: all three hold the rows.
    unsafe {
        crate::softmax::backward(t, [rows, length], g.ptr(), y.ptr(), to.ptr(), call.attrs.flag(1))
    };
    to.finish(t);
    Ok(())
}

fn norm_rows<T: Number + Fits>(t: &Threads, call: &Call) -> Result<()> {
    let n = call.attrs.int(0)?.max(0) as usize;
    let x = dense::<T>(t, call, 0)?;
    let (w, b) = (optional::<T>(t, call, 1)?, optional::<T>(t, call, 2)?);
    let (y, stats) = (dense_out::<T>(call, 0)?, dense_out::<T>(call, 1)?);
    let rows =
        Rows { rows: view(call, 0)?.layout.numel() / n.max(1), n, centered: call.attrs.flag(2) };
    // SAFETY: the row's shape rule gives outputs of these extents; weight and bias have n
    // elements. A kernel without weight has no bias.
    unsafe {
        let ones = match (&w, &b) {
            (None, Some(_)) => Some(ones::<T>(n)?),
            _ => None,
        };
        let weight =
            w.as_ref().map(Dense::ptr).or(ones.as_ref().map(|s| s.as_ptr::<T>().cast_const()));
        let f = norm::Forward {
            x: x.ptr(),
            weight,
            bias: b.as_ref().map(Dense::ptr),
            y: y.ptr(),
            mean: stats.ptr(),
            rstd: stats.ptr().wrapping_add(rows.rows),
            eps: call.attrs.float(1)?,
        };
        norm::forward(t, rows, f);
    }
    y.finish(t);
    stats.finish(t);
    Ok(())
}

fn ones<T: Number>(n: usize) -> Result<crate::scratch::Scratch> {
    let s = crate::scratch::Scratch::new::<T>(n)?;
    // SAFETY: the scratch holds n numbers.
    unsafe { std::slice::from_raw_parts_mut(s.as_ptr::<T>(), n).fill(T::of(1.0)) };
    Ok(s)
}

fn norm_backward<T: Number + Fits>(t: &Threads, call: &Call) -> Result<()> {
    let (n, want) = (call.attrs.int(0)?.max(0) as usize, call.attrs.int(2)?);
    let (g, x, stats) = (dense::<T>(t, call, 0)?, dense::<T>(t, call, 1)?, dense::<T>(t, call, 2)?);
    let w = optional::<T>(t, call, 3)?;
    let rows =
        Rows { rows: view(call, 0)?.layout.numel() / n.max(1), n, centered: call.attrs.flag(1) };
    let outs = [dense_out::<T>(call, 0)?, dense_out::<T>(call, 1)?, dense_out::<T>(call, 2)?];
    let to = |i: usize| (want >> i & 1 == 1).then(|| outs[i].ptr());
    let b = norm::Backward {
        g: g.ptr(),
        x: x.ptr(),
        weight: w.as_ref().map(Dense::ptr),
        mean: stats.ptr(),
        rstd: stats.ptr().wrapping_add(rows.rows),
        gx: to(0),
        gw: to(1),
        gb: to(2),
    };
    // SAFETY: as for the forward pass.
    unsafe { norm::backward(t, rows, b)? };
    outs.into_iter().for_each(|o| o.finish(t));
    Ok(())
}

/// The extents of `[n, channels, ...]`.
fn planes(shape: &[usize]) -> Result<Planes> {
    match shape {
        [n, channels, rest @ ..] => {
            Ok(Planes { n: *n, channels: *channels, plane: rest.iter().product() })
        }
        _ => Err(wrong("extents")),
    }
}

fn batch_norm<T: Number + Fits>(t: &Threads, call: &Call) -> Result<()> {
    let x = dense::<T>(t, call, 0)?;
    let (w, b) = (optional::<T>(t, call, 1)?, optional::<T>(t, call, 2)?);
    let (y, stats) = (dense_out::<T>(call, 0)?, dense_out::<T>(call, 1)?);
    let p = planes(&view(call, 0)?.layout.shape)?;
    let f = norm::Forward {
        x: x.ptr(),
        weight: w.as_ref().map(Dense::ptr),
        bias: b.as_ref().map(Dense::ptr),
        y: y.ptr(),
        mean: stats.ptr(),
        rstd: stats.ptr().wrapping_add(p.channels),
        eps: call.attrs.float(0)?,
    };
    // SAFETY: the row's shape rule gives outputs of these extents; batchNorm checked that weight
    // and bias have a number for each channel.
    unsafe { batch::forward(t, p, f) };
    y.finish(t);
    stats.finish(t);
    Ok(())
}

fn batch_backward<T: Number + Fits>(t: &Threads, call: &Call) -> Result<()> {
    let want = call.attrs.int(0)?;
    let (g, x, stats) = (dense::<T>(t, call, 0)?, dense::<T>(t, call, 1)?, dense::<T>(t, call, 2)?);
    let w = optional::<T>(t, call, 3)?;
    let p = planes(&view(call, 1)?.layout.shape)?;
    let outs = [dense_out::<T>(call, 0)?, dense_out::<T>(call, 1)?, dense_out::<T>(call, 2)?];
    let to = |i: usize| (want >> i & 1 == 1).then(|| outs[i].ptr());
    let b = norm::Backward {
        g: g.ptr(),
        x: x.ptr(),
        weight: w.as_ref().map(Dense::ptr),
        mean: stats.ptr(),
        rstd: stats.ptr().wrapping_add(p.channels),
        gx: to(0),
        gw: to(1),
        gb: to(2),
    };
    // SAFETY: as for the forward pass.
    unsafe { batch::backward(t, p, b) };
    outs.into_iter().for_each(|o| o.finish(t));
    Ok(())
}

fn dropout<T: Number>(t: &Threads, call: &Call) -> Result<()> {
    let (x, out) = (view(call, 0)?, output(call, 0)?);
    let n = out.layout.numel();
    let (p, seed, counter) =
        (call.attrs.float(0)?, call.attrs.int(1)? as u64, call.attrs.int(2)? as u64);
    let y = DenseOut::<T>::new(out)?;
    let strides = mlrun_tensor_core::layout::contiguous_strides(&out.layout.shape);
    let to = super::Operand { ptr: y.ptr().cast(), strides: &strides, dtype: T::DTYPE };
    // SAFETY: both hold all elements of the shape.
    unsafe {
        crate::copy::copy(t, &out.layout.shape, to, super::operand(x));
        crate::random::keep(t, y.ptr(), n, seed, counter, p);
    }
    y.finish(t);
    Ok(())
}

/// Extents of image, weight and result.
fn geometry(call: &Call, image: &View, weight: &View, result: &View) -> Result<Geometry> {
    let Window { stride, padding, dilation } = Window::new(call.attrs)?;
    let (x, w, y) = (&image.layout.shape, &weight.layout.shape, &result.layout.shape);
    let groups = usize::try_from(call.attrs.int(3)?).unwrap_or(0);
    if x.len() != 4 || w.len() != 4 || y.len() != 4 || groups == 0 {
        return Err(wrong("operands"));
    }
    let (n, c, o) = (x[0], x[1], w[0]);
    let fits = y[0] == n && y[1] == o && w[1] * groups == c && o.is_multiple_of(groups);
    let window = Window { stride, padding, dilation };
    let reach = |d: usize| window.positions(d, x[d + 2], w[d + 2]).is_some_and(|p| p >= y[d + 2]);
    if !fits || !reach(0) || !reach(1) {
        return Err(wrong("shapes"));
    }
    Ok(Geometry {
        n,
        c,
        o,
        groups,
        image: [x[2], x[3]],
        kernel: [w[2], w[3]],
        out: [y[2], y[3]],
        stride,
        padding,
        dilation,
    })
}

fn convolve<T: Number>(t: &Threads, call: &Call, op: Op) -> Result<()> {
    let (a, b, out) = (view(call, 0)?, view(call, 1)?, output(call, 0)?);
    let g = match op {
        Op::Convolve => geometry(call, a, b, out)?,
        Op::ConvolveInput => geometry(call, out, b, a)?,
        _ => geometry(call, b, out, a)?,
    };
    let (a, b, to) = (Dense::<T>::new(t, a)?, Dense::<T>::new(t, b)?, DenseOut::<T>::new(out)?);
    let bias = optional::<T>(t, call, 2)?;
    // SAFETY: the geometry was checked against the views; the output is fresh.
    unsafe {
        match op {
            Op::Convolve => {
                conv::forward(t, &g, a.ptr(), b.ptr(), bias.as_ref().map(Dense::ptr), to.ptr())?
            }
            Op::ConvolveInput => conv::input(t, &g, a.ptr(), b.ptr(), to.ptr())?,
            _ => conv::weight(t, &g, a.ptr(), b.ptr(), to.ptr())?,
        }
    }
    to.finish(t);
    Ok(())
}

fn windows(call: &Call, image: &View, out: &View) -> Result<Windows> {
    let Pool { window, kernel, .. } = Pool::new(call.attrs)?;
    let (x, y) = (&image.layout.shape, &out.layout.shape);
    if x.len() != 3 || y.len() != 3 || x[0] != y[0] {
        return Err(wrong("planes"));
    }
    let Window { stride, padding, dilation } = window;
    Ok(Windows {
        planes: x[0],
        image: [x[1], x[2]],
        out: [y[1], y[2]],
        kernel,
        stride,
        padding,
        dilation,
    })
}

fn max_pool<T: Number>(t: &Threads, call: &Call) -> Result<()> {
    let (x, y, at) = (view(call, 0)?, output(call, 0)?, super::packed(call, 1)?);
    let w = windows(call, x, y)?;
    let (x, y) = (Dense::<T>::new(t, x)?, DenseOut::<T>::new(y)?);
    // SAFETY: the row's shape rule gives both outputs an element for each window.
    unsafe { pool::max(t, &w, x.ptr(), y.ptr(), at.ptr().cast()) };
    y.finish(t);
    Ok(())
}

fn avg_pool<T: Number>(t: &Threads, call: &Call, back: bool) -> Result<()> {
    let (from, to) = (view(call, 0)?, output(call, 0)?);
    let w = if back { windows(call, to, from)? } else { windows(call, from, to)? };
    let divisor = Divisor { fixed: call.attrs.int(6)?, with_padding: call.attrs.flag(5) };
    let (from, to) = (Dense::<T>::new(t, from)?, DenseOut::<T>::new(to)?);
    // SAFETY: the windows were made from the views.
    unsafe { pool::mean(t, &w, divisor, from.ptr(), to.ptr(), back) };
    to.finish(t);
    Ok(())
}
