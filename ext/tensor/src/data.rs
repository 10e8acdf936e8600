//! Data in and out: bytes from typed arrays, numbers, shapes and dtypes.

use deno_core::{OpState, op2};
use mlrun_tensor_core::layout::{Dims, checked_numel};
use mlrun_tensor_core::{Attr, DType, Error, HeapId, Layout, Op, Storage, Tensor};
use smallvec::smallvec;

use crate::call::numbers;
use crate::error::TensorError;
use crate::state::TensorState;

/// A new tensor of `dtype` with the elements in `bytes`; the shape stands in `shape`.
#[op2(fast)]
pub fn op_tensor_from_bytes(
    state: &OpState,
    dtype: u32,
    #[buffer] bytes: &[u8],
    ndim: u32,
    #[buffer] shape: &mut [u8],
) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let dtype = u8::try_from(dtype)
        .ok()
        .and_then(DType::from_code)
        .ok_or_else(|| Error::dtype("unknown dtype code").in_op("tensor"))?;
    let shape = read_shape(numbers("tensor", shape)?, ndim)?;
    let numel = checked_numel(&shape).map_err(|e| e.in_op("tensor"))?;
    let expected = numel * dtype.size();
    if bytes.len() != expected {
        return Err(TensorError::Bytes { op: "tensor", got: bytes.len(), expected });
    }
    let storage = Storage::new(&state.engine.pool, expected).map_err(|e| e.in_op("tensor"))?;
    // SAFETY: the storage was just made with `expected` bytes, which is the length of `bytes`,
    // and nobody else has it yet.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), storage.as_ptr(), expected) };
    state.put(Tensor::new(storage, Layout::contiguous(&shape), dtype))
}

fn read_shape(raw: &[f64], ndim: u32) -> Result<Dims, TensorError> {
    let raw = raw.get(..ndim as usize).ok_or(TensorError::Buffer {
        op: "tensor",
        got: raw.len(),
        expected: ndim as usize,
    })?;
    raw.iter()
        .map(|&d| {
            if d >= 0.0 && d.trunc() == d && d <= 9_007_199_254_740_992.0 {
                Ok(d as usize)
            } else {
                Err(Error::shape(format!("a shape cannot hold {d}, expected whole numbers"))
                    .in_op("tensor")
                    .into())
            }
        })
        .collect()
}

/// Writes the elements, row-major, into `out`, which must have the tensor's size in bytes.
#[op2(fast)]
pub fn op_tensor_read(
    state: &OpState,
    id: f64,
    #[buffer] out: &mut [u8],
) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    let t = state.with_heap(&[id], |heap| {
        let t = heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op("toTypedArray"))?;
        state.engine.contiguous(&t.detach())
    })?;
    let bytes = t.numel() * t.dtype.size();
    if out.len() != bytes {
        return Err(TensorError::Bytes { op: "toTypedArray", got: out.len(), expected: bytes });
    }
    // SAFETY: a contiguous tensor's elements lie at its offset without gaps, within its storage;
    // `out` has exactly as many bytes and is a JavaScript buffer, not a storage.
    unsafe { std::ptr::copy_nonoverlapping(element_ptr(&t), out.as_mut_ptr(), bytes) };
    Ok(())
}

fn element_ptr(t: &Tensor) -> *const u8 {
    t.storage.as_ptr().wrapping_add(t.layout.offset * t.dtype.size())
}

fn one_element(state: &TensorState, id: f64, dtype: DType) -> Result<Tensor, TensorError> {
    let t = state.with_heap(&[id], |heap| {
        let t = heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op("item"))?;
        if t.numel() != 1 || t.dtype == dtype {
            return Ok(t.detach());
        }
        state.engine.cast(&t.detach(), dtype)
    })?;
    match t.numel() {
        1 => Ok(t),
        numel => Err(TensorError::NotOneElement { op: "item", numel }),
    }
}

/// The one element as a double.
#[op2(fast)]
pub fn op_tensor_item(state: &OpState, id: f64) -> Result<f64, TensorError> {
    let t = one_element(TensorState::of(state), id, DType::F64)?;
    // SAFETY: the tensor has one element of eight bytes at its offset.
    Ok(unsafe { element_ptr(&t).cast::<f64>().read_unaligned() })
}

/// The one element of an int64 tensor, all bits kept.
#[op2(fast)]
#[bigint]
pub fn op_tensor_item_big(state: &OpState, id: f64) -> Result<i64, TensorError> {
    let t = one_element(TensorState::of(state), id, DType::I64)?;
    // SAFETY: the tensor has one element of eight bytes at its offset.
    Ok(unsafe { element_ptr(&t).cast::<i64>().read_unaligned() })
}

/// A 0-d int64 tensor of a BigInt.
#[op2(fast)]
pub fn op_tensor_fill_big(state: &OpState, #[bigint] value: i64) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let attrs = smallvec![Attr::Ints(smallvec![]), Attr::Int(value), Attr::DType(DType::I64)];
    let out = state.engine.call1(Op::Full, &[], &attrs)?;
    state.put(out)
}

/// Shape and more: `buffer` gets dtype code, flags (1 requiresGrad, 2 leaf) and the shape;
/// returns the number of dimensions.
#[op2(fast)]
pub fn op_tensor_meta(
    state: &OpState,
    id: f64,
    #[buffer] buffer: &mut [u8],
) -> Result<u32, TensorError> {
    let state = TensorState::of(state);
    let buffer = numbers("shape", buffer)?;
    let (dtype, flags, shape) = state.with_heap(&[id], |heap| {
        let t = heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op("shape"))?;
        let flags = t.requires_grad() as u8 | (t.is_leaf() as u8) << 1;
        Ok((t.dtype, flags, t.layout.shape.clone()))
    })?;
    let expected = 2 + shape.len();
    if buffer.len() < expected {
        return Err(TensorError::Buffer { op: "shape", got: buffer.len(), expected });
    }
    buffer[0] = dtype as u8 as f64;
    buffer[1] = flags as f64;
    for (slot, d) in buffer[2..].iter_mut().zip(&shape) {
        *slot = *d as f64;
    }
    Ok(shape.len() as u32)
}

#[op2(fast)]
pub fn op_tensor_is_contiguous(state: &OpState, id: f64) -> Result<bool, TensorError> {
    let state = TensorState::of(state);
    state.with_heap(&[id], |heap| {
        let t = heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op("contiguous"))?;
        Ok(t.layout.is_contiguous())
    })
}

/// Another handle on the same tensor, tape included.
#[op2(fast)]
pub fn op_tensor_alias(state: &OpState, id: f64) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let t = state.with_heap(&[id], |heap| {
        heap.get(HeapId::from_f64(id)).map(Tensor::alias).map_err(|e| e.in_op("view"))
    })?;
    state.put(t)
}
