//! Calls about running folds, order and positions.

use super::{no_kernel, operand, output, packed, view};
use crate::order::{self, Lines};
use crate::scan::{Scan, scan};
use crate::threads::Threads;
use mlrun_tensor_core::attr::AttrsExt;
use mlrun_tensor_core::backend::Call;
use mlrun_tensor_core::layout::wrap_dim;
use mlrun_tensor_core::{DType, Error, Op, Result};

pub fn running(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (out, x) = (output(call, 0)?, view(call, 0)?);
    if x.dtype != out.dtype || !(x.dtype.is_float() || x.dtype == DType::I64) {
        return Err(no_kernel(call));
    }
    let dim = wrap_dim(call.attrs.int(0)?, x.layout.ndim())?;
    let which = if op == Op::Cumsum { Scan::Sum } else { Scan::Product };
    // SAFETY: both views have the output's shape; the output is fresh.
    unsafe { scan(threads, &out.layout.shape, dim, operand(out), operand(x), which) };
    Ok(())
}

pub fn sort(threads: &Threads, call: &Call, op: Op) -> Result<()> {
    let (x, values, positions) = (view(call, 0)?, output(call, 0)?, output(call, 1)?);
    let at = if op == Op::Topk { 1 } else { 0 };
    let dim = wrap_dim(call.attrs.int(at)?, x.layout.ndim())?;
    if positions.dtype != DType::I64 || values.dtype != x.dtype {
        return Err(no_kernel(call));
    }
    let k = match x.layout.ndim() {
        0 => values.layout.numel(),
        _ => values.layout.shape[dim],
    };
    let lines = Lines {
        shape: &x.layout.shape,
        dim,
        k,
        descending: call.attrs.flag(at + 1),
        values: operand(values),
        positions: operand(positions),
        src: operand(x),
    };
    // SAFETY: the rule gave the outputs the input's shape with `k` at `dim`; they are fresh.
    unsafe { order::sort(threads, &lines)? };
    Ok(())
}

pub fn nonzero_rows(call: &Call) -> Result<()> {
    let (x, out) = (view(call, 0)?, packed(call, 0)?);
    if x.dtype != DType::Bool || out.dtype != DType::I64 {
        return Err(no_kernel(call));
    }
    let count = out.layout.shape.first().copied().unwrap_or(0);
    // SAFETY: the view covers its shape; the output is contiguous with `count` rows.
    unsafe { order::nonzero(&x.layout.shape, operand(x), out.ptr().cast(), count) };
    Ok(())
}

pub fn search(call: &Call) -> Result<()> {
    let (sorted, values, out) = (view(call, 0)?, view(call, 1)?, output(call, 0)?);
    let n = sorted.layout.shape.last().copied().unwrap_or(0);
    if sorted.dtype != DType::F64 || values.dtype != DType::F64 {
        return Err(no_kernel(call));
    }
    // SAFETY: the rule checked that leading dimensions are equal.
    unsafe {
        order::search(&values.layout.shape, n, operand(sorted), operand(values), operand(out));
    }
    Ok(())
}

pub fn wrap_index(threads: &Threads, call: &Call) -> Result<()> {
    let (index, out) = (view(call, 0)?, packed(call, 0)?);
    let extent = usize::try_from(call.attrs.int(0)?)
        .map_err(|_| Error::argument("the extent is negative"))?;
    if index.dtype != DType::I64 {
        return Err(no_kernel(call));
    }
    let shape = &index.layout.shape;
    // SAFETY: the view covers its shape; the output is contiguous and has as many elements.
    unsafe {
        crate::index::check(threads, shape, operand(index), extent, true)?;
        crate::index::wrap(shape, out.ptr().cast(), operand(index), extent);
    }
    Ok(())
}
