//! Gradients: marking leaves, walking the tape, reading `grad`.

use std::rc::Rc;

use deno_core::{OpState, op2};
use mlrun_tensor_core::tape::{Backward, Edge, Leaf, backward};
use mlrun_tensor_core::{Error, HeapId, Tensor};

use crate::call::numbers;
use crate::error::TensorError;
use crate::state::TensorState;

/// Makes a tensor a leaf that gathers gradients, or ends that.
#[op2(fast)]
pub fn op_tensor_requires_grad(state: &OpState, id: f64, on: bool) -> Result<(), TensorError> {
    const OP: &str = "requiresGrad_";
    let state = TensorState::of(state);
    let mut heap = state.heap.borrow_mut();
    let t = heap.get_mut(HeapId::from_f64(id)).map_err(|e| e.in_op(OP))?;
    if on && !t.dtype.is_float() {
        return Err(Error::dtype(format!("got {}, only float tensors have gradients", t.dtype))
            .in_op(OP)
            .into());
    }
    match (&t.edge, on) {
        (Edge::None, true) => t.edge = Edge::Leaf(Rc::new(Leaf::default())),
        (Edge::Leaf(_), false) => t.edge = Edge::None,
        (Edge::Node(..), false) => {
            return Err(
                Error::autograd("only a leaf can stop requiring a gradient, use detach()").into()
            );
        }
        _ => {}
    }
    Ok(())
}

/// A handle on the gradient of a leaf; 0 where there is none.
#[op2(fast)]
pub fn op_tensor_grad(state: &OpState, id: f64) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let grad = state.with_heap(&[id], |heap| {
        Ok(match &heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op("grad"))?.edge {
            Edge::Leaf(leaf) => leaf.grad.borrow().clone(),
            _ => None,
        })
    })?;
    grad.map_or(Ok(0.0), |g| state.put(g))
}

/// Sets (`value` an id) or clears (`value` 0) the gradient of a leaf.
#[op2(fast)]
pub fn op_tensor_set_grad(state: &OpState, id: f64, value: f64) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    state.with_heap(&[id, value], |heap| {
        let t = heap.get(HeapId::from_f64(id)).map_err(|e| e.in_op("grad"))?;
        let Edge::Leaf(leaf) = &t.edge else {
            return if value == 0.0 {
                Ok(())
            } else {
                Err(Error::autograd("only a leaf that requires a gradient can be given one")
                    .in_op("grad"))
            };
        };
        let grad = if value == 0.0 {
            None
        } else {
            let g = heap.get(HeapId::from_f64(value)).map_err(|e| e.in_op("grad"))?;
            if g.shape() != t.shape() || g.dtype != t.dtype {
                return Err(Error::shape(format!(
                    "a gradient of shape {:?} and dtype {} does not fit, expected {:?} and {}",
                    g.shape(),
                    g.dtype,
                    t.shape(),
                    t.dtype
                ))
                .in_op("grad"));
            }
            Some(g.clone())
        };
        *leaf.grad.borrow_mut() = grad;
        Ok(())
    })
}

#[op2(fast)]
pub fn op_tensor_detach(state: &OpState, id: f64) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let t = state.with_heap(&[id], |heap| {
        heap.get(HeapId::from_f64(id)).map(Tensor::detach).map_err(|e| e.in_op("detach"))
    })?;
    state.put(t)
}

/// Switches recording on or off and returns what it was.
#[op2(fast)]
pub fn op_tensor_grad_mode(state: &OpState, on: bool) -> bool {
    TensorState::of(state).engine.set_grad_enabled(on)
}

/// The start of a walk: `seed` is the gradient's id, or 0 for a scalar's 1.
fn root(state: &TensorState, id: f64, seed: f64) -> Result<(Tensor, Tensor), TensorError> {
    let name = |e: Error| e.in_op("backward");
    state.with_heap(&[id, seed], |heap| {
        let t = heap.get(HeapId::from_f64(id)).map_err(name)?;
        if !t.requires_grad() {
            return Err(Error::autograd(
                "the tensor does not require a gradient and was not computed from one that does",
            )
            .in_op("backward"));
        }
        let seed = if seed != 0.0 {
            let g = heap.get(HeapId::from_f64(seed)).map_err(name)?;
            if g.shape() != t.shape() {
                return Err(Error::shape(format!(
                    "the gradient has shape {:?}, expected the tensor's {:?}",
                    g.shape(),
                    t.shape()
                ))
                .in_op("backward"));
            }
            if g.dtype == t.dtype { g.clone() } else { state.engine.cast(g, t.dtype)? }
        } else if t.numel() == 1 {
            state.engine.full(t.shape(), 1.0, t.dtype)?
        } else {
            return Err(Error::autograd(format!(
                "a tensor of shape {:?} needs a gradient as argument, only one of 1 element does \
                 without",
                t.shape()
            ))
            .in_op("backward"));
        };
        Ok((t.clone(), seed))
    })
}

/// Walks the tape from `id` and adds to the leaves' gradients.
#[op2(fast)]
pub fn op_tensor_backward(
    state: &OpState,
    id: f64,
    seed: f64,
    retain_graph: bool,
    create_graph: bool,
) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    let roots = vec![root(state, id, seed)?];
    backward(&state.engine, Backward { roots, inputs: None, retain_graph, create_graph })?;
    Ok(())
}

/// Gradients by value: `buffer` holds `outputs` pairs of id and seed, then `inputs` ids; the
/// gradients' ids come back at its front, 0 for an input that plays no part.
#[op2(fast)]
pub fn op_tensor_autograd_grad(
    state: &OpState,
    outputs: u32,
    inputs: u32,
    retain_graph: bool,
    create_graph: bool,
    #[buffer] buffer: &mut [u8],
) -> Result<(), TensorError> {
    const OP: &str = "autograd.grad";
    let state = TensorState::of(state);
    let buffer = numbers(OP, buffer)?;
    let (pairs, end) = (outputs as usize * 2, outputs as usize * 2 + inputs as usize);
    if buffer.len() < end {
        return Err(TensorError::Buffer { op: OP, got: buffer.len(), expected: end });
    }
    let roots = buffer[..pairs]
        .chunks_exact(2)
        .map(|p| root(state, p[0], p[1]))
        .collect::<Result<Vec<_>, _>>()?;
    let wanted = state.with_heap(&buffer[pairs..end], |heap| {
        buffer[pairs..end]
            .iter()
            .map(|id| heap.get(HeapId::from_f64(*id)).cloned().map_err(|e| e.in_op(OP)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let grads = backward(
        &state.engine,
        Backward { roots, inputs: Some(&wanted), retain_graph, create_graph },
    )?;
    for (slot, g) in buffer.iter_mut().zip(grads) {
        *slot = g.map_or(Ok(0.0), |g| state.put(g))?;
    }
    Ok(())
}
