//! Calls of attention: where each head's rows lie.
//!
//! Rows of contiguous numbers are read and written where they lie, however far apart they are: heads that
//! were split off a wider tensor need no copy. All else passes through one.

use super::nn::wrong;
use super::{output, view};
use crate::attention::{self, Exp, Extents, Mask, Rows, Saved};
use crate::dense::{Dense, DenseOut, Number};
use crate::threads::Threads;
use mlrun_tensor_core::Result;
use mlrun_tensor_core::attr::AttrsExt;
use mlrun_tensor_core::backend::{Call, Input, View};
use mlrun_tensor_core::layout::{Layout, contiguous_strides};

/// Bytes between rows that put all of them into the same few places of the first cache.
const ALIAS: usize = 4096;

/// Extents from the views of q, k and v.
fn extents(call: &Call, q: &View, k: &View, v: &View) -> Result<Extents> {
    let n = q.layout.ndim();
    let end = |v: &View, i: usize| v.layout.shape[n - i];
    let same =
        |v: &View| v.layout.ndim() == n && v.layout.shape[..n - 2] == q.layout.shape[..n - 2];
    if n < 2 || !same(k) || !same(v) || end(q, 1) != end(k, 1) || end(k, 2) != end(v, 2) {
        return Err(wrong("shapes"));
    }
    Ok(Extents {
        heads: q.layout.shape[..n - 2].iter().product(),
        l: end(q, 2),
        s: end(k, 2),
        e: end(q, 1),
        ev: end(v, 1),
        causal: call.attrs.flag(0),
        scale: call.attrs.float(1)?,
    })
}

/// The address of each head: of what all dimensions but the last two count.
fn heads<T>(base: *mut T, shape: &[usize], strides: &[isize]) -> Vec<*mut T> {
    let lead = &shape[..shape.len() - 2];
    (0..lead.iter().product())
        .map(|h: usize| {
            let (mut rest, mut offset) = (h, 0isize);
            for (d, s) in lead.iter().zip(strides).rev() {
                offset += (rest % d) as isize * s;
                rest /= d;
            }
            base.wrapping_offset(offset)
        })
        .collect()
}

fn rows<T>(base: *mut T, shape: &[usize], strides: &[isize]) -> Rows<T> {
    Rows { heads: heads(base, shape, strides), stride: strides[shape.len() - 2] }
}

/// Whether the kernel can work where the numbers lie.
fn serves<T: Number>(v: &View) -> bool {
    let (shape, strides) = (&v.layout.shape, &v.layout.strides);
    let n = shape.len();
    v.dtype == T::DTYPE && (shape[n - 1] <= 1 || strides[n - 1] == 1)
}

/// Rows of an input, and the copy that holds them where one was needed.
fn read<T: Number>(t: &Threads, v: &View) -> Result<(Rows<T>, Option<Dense<T>>)> {
    let (shape, strides) = (&v.layout.shape, &v.layout.strides);
    let apart = strides[shape.len() - 2].unsigned_abs() * size_of::<T>();
    if serves::<T>(v) && (v.layout.is_contiguous() || !apart.is_multiple_of(ALIAS)) {
        return Ok((rows(v.ptr().cast(), shape, strides), None));
    }
    let copy = Dense::<T>::new(t, v)?;
    Ok((rows(copy.ptr().cast_mut(), shape, &contiguous_strides(shape)), Some(copy)))
}

/// Rows of an output, and what puts them into their place at last.
fn write<'a, T: Number>(v: &'a View) -> Result<(Rows<T>, Option<DenseOut<'a, T>>)> {
    let Layout { shape, strides, .. } = v.layout;
    if serves::<T>(v) {
        return Ok((rows(v.ptr().cast(), shape, strides), None));
    }
    let copy = DenseOut::<T>::new(v)?;
    Ok((rows(copy.ptr(), shape, &contiguous_strides(shape)), Some(copy)))
}

/// A mask and, where it is a copy, what keeps that alive.
type HeldMask<T> = (Mask<T>, Option<Dense<T>>);

/// The mask as float numbers with the addresses of each head's part, and what keeps them alive.
fn mask_of<T: Number>(
    t: &Threads,
    call: &Call,
    i: usize,
    x: &Extents,
) -> Result<Option<HeldMask<T>>> {
    let Some(Input::View(m)) = call.inputs.get(i) else { return Ok(None) };
    let n = m.layout.ndim();
    let numel: usize = m.layout.shape.iter().product();
    if n < 2 || numel != x.heads * x.l * x.s {
        return Err(wrong("masks"));
    }
    let (mut layout, mut base, mut copy) = (m.layout.clone(), m.ptr().cast::<T>(), None);
    if m.dtype != T::DTYPE {
        // A half is widened where it lies: repeated parts once.
        for (d, s) in layout.shape.iter_mut().zip(&layout.strides) {
            *d = if *s == 0 { 1 } else { *d };
        }
        let wide = Dense::<T>::laid_out(t, m.ptr(), &layout, m.dtype)?;
        let packed = contiguous_strides(&layout.shape);
        layout.strides = layout
            .strides
            .iter()
            .zip(packed)
            .map(|(old, new)| if *old == 0 { 0 } else { new })
            .collect();
        layout.shape = m.layout.shape.clone();
        (base, copy) = (wide.ptr().cast_mut(), Some(wide));
    }
    let rows = rows(base, &layout.shape, &layout.strides);
    Ok(Some((Mask { rows, cs: layout.strides[n - 1] }, copy)))
}

pub fn forward<T: Exp>(t: &Threads, call: &Call) -> Result<()> {
    let views = [view(call, 0)?, view(call, 1)?, view(call, 2)?];
    let x = extents(call, views[0], views[1], views[2])?;
    let [q, k, v] = views.map(|v| read::<T>(t, v));
    let ((q, _q), (k, _k), (v, _v)) = (q?, k?, v?);
    let mask = mask_of::<T>(t, call, 3, &x)?;
    let ((y, copy), lse) = (write::<T>(output(call, 0)?)?, DenseOut::new(output(call, 1)?)?);
    // SAFETY: extents and mask were checked against the views; outputs are fresh.
    unsafe {
        attention::forward(t, &x, [&q, &k, &v], mask.as_ref().map(|m| &m.0), &y, lse.ptr())?;
    }
    copy.into_iter().for_each(|c| c.finish(t));
    lse.finish(t);
    Ok(())
}

pub fn backward<T: Exp>(t: &Threads, call: &Call) -> Result<()> {
    let x = extents(call, view(call, 1)?, view(call, 2)?, view(call, 3)?)?;
    let rows = (0..5).map(|i| read::<T>(t, view(call, i)?)).collect::<Result<Vec<_>>>()?;
    let lse = Dense::<T>::new(t, view(call, 5)?)?;
    let mask = mask_of::<T>(t, call, 6, &x)?;
    let [g, q, k, v, y] = [0, 1, 2, 3, 4].map(|i| &rows[i].0);
    let saved = Saved { g, q, k, v, y, lse: lse.ptr() };
    let outs = (0..3).map(|i| write::<T>(output(call, i)?)).collect::<Result<Vec<_>>>()?;
    let grads = [0, 1, 2].map(|i| &outs[i].0);
    // SAFETY: as for the forward pass.
    unsafe { attention::backward(t, &x, saved, mask.as_ref().map(|m| &m.0), grads)? };
    outs.into_iter().filter_map(|(_, copy)| copy).for_each(|copy| copy.finish(t));
    Ok(())
}
