//! Ops of the table, called by row number.
//!
//! The three hot forms take ids directly; everything else goes through one buffer of numbers:
//! a kind and a value per argument, then the attributes. Results come back in the same buffer.

use deno_core::{OpState, op2};
use mlrun_tensor_core::dtype::Scalar;
use mlrun_tensor_core::engine::in_place_name;
use mlrun_tensor_core::heap::Releaser;
use mlrun_tensor_core::table::{ALIASES, OF_MANY};
use mlrun_tensor_core::tape::link_views;
use mlrun_tensor_core::{Arg, Attrs, Engine, Error, Heap, HeapId, Op, Tensor, attr};
use smallvec::SmallVec;

use crate::error::TensorError;
use crate::state::TensorState;

/// The row of a number, and the name under which the user called it: numbers behind the table
/// are those of [`ALIASES`].
fn row_and_name(op: u32) -> Result<(Op, &'static str), TensorError> {
    if let Some(row) = Op::from_index(op) {
        return Ok((row, row.name()));
    }
    let alias = (op as usize).checked_sub(Op::ALL.len()).and_then(|i| ALIASES.get(i));
    alias.map(|(_, name, row)| (*row, *name)).ok_or(TensorError::UnknownOp { op })
}

pub fn row(op: u32) -> Result<Op, TensorError> {
    Op::from_index(op).ok_or(TensorError::UnknownOp { op })
}

fn one(outputs: mlrun_tensor_core::table::Outputs) -> Result<mlrun_tensor_core::Tensor, Error> {
    mlrun_tensor_core::engine::only(outputs)
}

/// The buffer of an op as numbers.
pub fn numbers<'a>(op: &'static str, bytes: &'a mut [u8]) -> Result<&'a mut [f64], TensorError> {
    bytemuck::try_cast_slice_mut(bytes).map_err(|_| TensorError::Buffer { op, got: 0, expected: 1 })
}

/// Ends the handles that were donated to a call that succeeded.
fn end_donated(state: &TensorState, ids: &[f64], donated: u32) {
    for (i, id) in ids.iter().enumerate() {
        if donated & (1 << i) != 0 {
            let id = HeapId::from_f64(*id);
            // Else it would run when the handle is collected, and take that of the slot's next one.
            state.nursery.forget(id);
            state.release(id, Releaser::Pass);
        }
    }
}

/// The outcome of a call that went the short way, with the donated handles ended.
#[inline(always)]
fn ended(
    state: &TensorState,
    outcome: Result<f64, TensorError>,
    ids: &[f64],
    donated: u32,
) -> Result<f64, TensorError> {
    if donated != 0 && outcome.is_ok() {
        end_donated(state, ids, donated);
    }
    outcome
}

#[op2(fast)]
pub fn op_tensor_unary(state: &OpState, op: u32, a: f64, donated: u32) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let quick = |engine: &Engine, _: &Heap, x: &Tensor| engine.quick_unary(Op::from_index(op)?, x);
    match state.quick(a, quick) {
        Some(id) => ended(state, id, &[a], donated),
        None => unary(state, op, a, donated),
    }
}

#[inline(never)]
fn unary(state: &TensorState, op: u32, a: f64, donated: u32) -> Result<f64, TensorError> {
    let row = row(op)?;
    let out = state.with_heap(&[a], |heap| {
        let x = heap.get(HeapId::from_f64(a)).map_err(|e| e.in_op(row.name()))?;
        one(state.engine.call_donating(row, &[Arg::Tensor(x)], &Attrs::new(), donated as u8)?)
    })?;
    end_donated(state, &[a], donated);
    state.put(out)
}

#[op2(fast)]
pub fn op_tensor_binary(
    state: &OpState,
    op: u32,
    a: f64,
    b: f64,
    donated: u32,
) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let quick = |engine: &Engine, heap: &Heap, x: &Tensor| {
        engine.quick_binary(Op::from_index(op)?, x, heap.find(HeapId::from_f64(b))?)
    };
    match state.quick(a, quick) {
        Some(id) => ended(state, id, &[a, b], donated),
        None => binary(state, op, a, b, donated),
    }
}

#[inline(never)]
fn binary(state: &TensorState, op: u32, a: f64, b: f64, donated: u32) -> Result<f64, TensorError> {
    let row = row(op)?;
    let out = state.with_heap(&[a, b], |heap| {
        let get = |id| heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op(row.name()));
        let (x, y) = (get(a)?, get(b)?);
        let args = [Arg::Tensor(x), Arg::Tensor(y)];
        one(state.engine.call_donating(row, &args, &Attrs::new(), donated as u8)?)
    })?;
    end_donated(state, &[a, b], donated);
    state.put(out)
}

#[op2(fast)]
pub fn op_tensor_binary_scalar(
    state: &OpState,
    op: u32,
    a: f64,
    b: f64,
    donated: u32,
) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let quick = |engine: &Engine, _: &Heap, x: &Tensor| {
        engine.quick_binary_scalar(Op::from_index(op)?, x, b)
    };
    match state.quick(a, quick) {
        Some(id) => ended(state, id, &[a], donated & 1),
        None => binary_scalar(state, op, a, b, donated),
    }
}

#[inline(never)]
fn binary_scalar(
    state: &TensorState,
    op: u32,
    a: f64,
    b: f64,
    donated: u32,
) -> Result<f64, TensorError> {
    let row = row(op)?;
    let out = state.with_heap(&[a], |heap| {
        let x = heap.get(HeapId::from_f64(a)).map_err(|e| e.in_op(row.name()))?;
        let args = [Arg::Tensor(x), Arg::Scalar(Scalar::from_number(b))];
        one(state.engine.call_donating(row, &args, &Attrs::new(), donated as u8)?)
    })?;
    end_donated(state, &[a], donated & 1);
    state.put(out)
}

const ABSENT: f64 = 0.0;
const TENSOR: f64 = 1.0;
const NUMBER: f64 = 2.0;
const BOOL: f64 = 3.0;
/// The value's bits are an int64's.
const BIG: f64 = 4.0;

fn read_args<'a>(
    heap: &'a Heap,
    raw: &[f64],
    name: &'static str,
) -> Result<SmallVec<[Arg<'a>; 4]>, Error> {
    raw.chunks_exact(2)
        .map(|pair| match (pair[0], pair[1]) {
            (TENSOR, id) => {
                heap.get(HeapId::from_f64(id)).map(Arg::Tensor).map_err(|e| e.in_op(name))
            }
            (NUMBER, v) => Ok(Arg::Scalar(Scalar::from_number(v))),
            (BOOL, v) => Ok(Arg::Scalar(Scalar::Bool(v != 0.0))),
            (BIG, bits) => Ok(Arg::Scalar(Scalar::Int(bits.to_bits() as i64))),
            (ABSENT, _) => Ok(Arg::Absent),
            _ => Err(Error::argument("got an argument of unknown kind")),
        })
        .collect()
}

/// Any row: `buffer` holds `args` pairs of kind and value, then `attrs` numbers. Returns the
/// number of outputs, whose ids stand at the front of `buffer`.
#[op2(fast)]
pub fn op_tensor_call(
    state: &OpState,
    op: u32,
    args: u32,
    attrs: u32,
    #[buffer] buffer: &mut [u8],
) -> Result<u32, TensorError> {
    let state = TensorState::of(state);
    let (row, name) = row_and_name(op)?;
    let buffer = numbers(name, buffer)?;
    let (pairs, end) = (args as usize * 2, args as usize * 2 + attrs as usize);
    let got = buffer.len();
    let Some(raw) = buffer.get(..end) else {
        return Err(TensorError::Buffer { op: name, got, expected: end });
    };
    let outputs = {
        let ids: SmallVec<[f64; 4]> =
            raw[..pairs].chunks_exact(2).filter(|p| p[0] == TENSOR).map(|p| p[1]).collect();
        state.with_heap(&ids, |heap| {
            let args = read_args(heap, &raw[..pairs], name)?;
            let attrs = attr::decode(row.def().attrs, &raw[pairs..]).map_err(|e| e.in_op(name))?;
            let mut outputs = state
                .engine
                .call(row, &args, &attrs)
                .map_err(|e| if name == row.name() { e } else { e.of_op(name) })?;
            link_views(&state.engine, &args, &mut outputs, OF_MANY.contains(&name));
            Ok(outputs)
        })?
    };
    let n = outputs.len();
    for (slot, out) in buffer.iter_mut().zip(outputs) {
        *slot = state.put(out)?;
    }
    Ok(n as u32)
}

/// An operand of an in-place op; an error has the name that the program called.
fn in_place_operand(heap: &Heap, id: f64, row: Op) -> Result<&Tensor, Error> {
    heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op(in_place_name(row)))
}

/// `dst = op(dst, b)` in `dst`'s bytes.
#[op2(fast)]
pub fn op_tensor_in_place(state: &OpState, op: u32, dst: f64, b: f64) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    let row = row(op)?;
    state.with_heap(&[dst, b], |heap| {
        let (t, b) = (in_place_operand(heap, dst, row)?, in_place_operand(heap, b, row)?);
        let args = [Arg::Tensor(t), Arg::Tensor(b)];
        state.engine.call_in_place(row, t, &args, &Attrs::new())
    })
}

#[op2(fast)]
pub fn op_tensor_in_place_scalar(
    state: &OpState,
    op: u32,
    dst: f64,
    b: f64,
) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    let row = row(op)?;
    state.with_heap(&[dst], |heap| {
        let t = in_place_operand(heap, dst, row)?;
        let args = [Arg::Tensor(t), Arg::Scalar(Scalar::from_number(b))];
        state.engine.call_in_place(row, t, &args, &Attrs::new())
    })
}

/// Copies `src`, broadcast and converted, into `dst`'s bytes, for the `caller`-th of the
/// functions that do so.
#[op2(fast)]
pub fn op_tensor_copy_into(
    state: &OpState,
    caller: u32,
    dst: f64,
    src: f64,
) -> Result<(), TensorError> {
    let name = ["copy_", "fill_", "zero_"].get(caller as usize).copied().unwrap_or("copy_");
    let state = TensorState::of(state);
    state.with_heap(&[dst, src], |heap| {
        let get = |id| heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op(name));
        state.engine.copy_into(get(dst)?, get(src)?).map_err(|e| e.of_op(name))
    })
}

/// Names of the rows in table order, then the aliases, from which `js/` builds its numbers.
#[op2]
#[serde]
pub fn op_tensor_rows() -> Vec<&'static str> {
    Op::ALL.iter().map(|op| op.name()).chain(ALIASES.iter().map(|(key, ..)| *key)).collect()
}
