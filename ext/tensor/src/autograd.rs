//! Gradients: marking leaves, walking the tape, reading `grad`.

use std::rc::Rc;

use deno_core::{OpState, op2};
use mlrun_tensor_core::tape::{Backward, Custom, Edge, Leaf, Walk, record_custom, refuse_stale};
use mlrun_tensor_core::{Arg, Error, HeapId, Tensor};

use crate::call::numbers;
use crate::error::TensorError;
use crate::state::TensorState;

/// Makes a tensor a leaf that gathers gradients, or ends that.
#[op2(fast)]
pub fn op_tensor_requires_grad(state: &OpState, id: f64, on: bool) -> Result<(), TensorError> {
    const OP: &str = "requiresGrad_";
    let state = TensorState::of(state);
    state.refresh(&[id])?;
    let mut heap = state.heap.borrow_mut();
    let t = heap.get_mut(HeapId::from_f64(id)).map_err(|e| e.in_op(OP))?;
    if on && !t.dtype.is_float() {
        return Err(Error::dtype(format!("got {}, only float tensors have gradients", t.dtype))
            .in_op(OP)
            .into());
    }
    match (&t.edge, on) {
        (Edge::None, true) => t.set_edge(Edge::Leaf(Rc::new(Leaf::default()))),
        (Edge::Leaf(_), false) => t.set_edge(Edge::None),
        (Edge::Node(..), false) => {
            return Err(Error::autograd(
                "only a leaf can stop requiring a gradient, this tensor was computed; use detach()",
            )
            .in_op(OP)
            .into());
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
            Edge::Leaf(leaf) => leaf.grad.borrow().as_ref().map(Tensor::alias),
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
            Some(g.alias())
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
        refuse_stale(&[Arg::Tensor(t)]).map_err(name)?;
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

/// Runs a walk until its end or a user-defined step. At a step the number of the parked walk
/// comes back, and `buffer` holds token, whether the step is not needed again, whether gradients
/// are recorded, the counts of gradients and saved tensors, and their ids. At the end 0 comes
/// back, and `buffer` holds the ids of the wanted gradients, 0 for an input that plays no part.
fn advance(state: &TensorState, mut walk: Walk, buffer: &mut [f64]) -> Result<f64, TensorError> {
    let Some(call) = walk.run(&state.engine)? else {
        for (slot, g) in buffer.iter_mut().zip(walk.finish(&state.engine)?) {
            *slot = g.map_or(Ok(0.0), |g| state.put(g))?;
        }
        return Ok(0.0);
    };
    let expected = 5 + call.grads.len() + call.saved.len();
    if buffer.len() < expected {
        return Err(TensorError::Buffer { op: "backward", got: buffer.len(), expected });
    }
    buffer[0] = call.token as f64;
    buffer[1] = call.last as u8 as f64;
    buffer[2] = walk.create_graph() as u8 as f64;
    buffer[3] = call.grads.len() as f64;
    buffer[4] = call.saved.len() as f64;
    for (slot, t) in buffer[5..].iter_mut().zip(call.grads.into_iter().chain(call.saved)) {
        *slot = state.put(t)?;
    }
    Ok(state.park(walk))
}

/// Walks the tape from `id` and adds to the leaves' gradients; see [`advance`].
#[op2(fast)]
pub fn op_tensor_backward(
    state: &OpState,
    id: f64,
    seed: f64,
    retain_graph: bool,
    create_graph: bool,
    #[buffer] buffer: &mut [u8],
) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let roots = vec![root(state, id, seed)?];
    let pass = Backward { roots, inputs: None, retain_graph, create_graph };
    let walk = Walk::start(&state.engine, pass).map_err(|e| e.in_op("backward"))?;
    advance(state, walk, numbers("backward", buffer)?)
}

/// Gradients by value: `buffer` holds `outputs` pairs of id and seed, then `inputs` ids; see
/// [`advance`].
#[op2(fast)]
pub fn op_tensor_autograd_grad(
    state: &OpState,
    outputs: u32,
    inputs: u32,
    retain_graph: bool,
    create_graph: bool,
    #[buffer] buffer: &mut [u8],
) -> Result<f64, TensorError> {
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
    let wanted = tensors(state, OP, &buffer[pairs..end])?;
    let pass = Backward { roots, inputs: Some(&wanted), retain_graph, create_graph };
    let walk = Walk::start(&state.engine, pass).map_err(|e| e.in_op("backward"))?;
    advance(state, walk, buffer)
}

fn tensors(state: &TensorState, op: &'static str, ids: &[f64]) -> Result<Vec<Tensor>, TensorError> {
    state.with_heap(ids, |heap| {
        ids.iter()
            .map(|id| heap.get(HeapId::from_f64(*id)).cloned().map_err(|e| e.in_op(op)))
            .collect()
    })
}

/// The walk goes on with the gradients of a user-defined step's inputs: `n` ids in `buffer`, 0
/// for none.
#[op2(fast)]
pub fn op_tensor_walk_grads(
    state: &OpState,
    walk: f64,
    n: u32,
    #[buffer] buffer: &mut [u8],
) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let buffer = numbers("backward", buffer)?;
    let mut walk = state.unpark(walk)?;
    let given = buffer.get(..n as usize).unwrap_or_default();
    let grads = state.with_heap(given, |heap| {
        given
            .iter()
            .map(|&id| match id {
                0.0 => Ok(None),
                id => heap
                    .get(HeapId::from_f64(id))
                    .map(|t| Some(t.clone()))
                    .map_err(|e| e.in_op("backward")),
            })
            .collect::<Result<Vec<_>, _>>()
    })?;
    walk.push_grads(&state.engine, grads).map_err(|e| e.in_op("backward"))?;
    advance(state, walk, buffer)
}

/// The walk goes on from a checkpoint's recomputed outputs: `n` pairs of output and gradient.
#[op2(fast)]
pub fn op_tensor_walk_roots(
    state: &OpState,
    walk: f64,
    n: u32,
    #[buffer] buffer: &mut [u8],
) -> Result<f64, TensorError> {
    let state = TensorState::of(state);
    let buffer = numbers("checkpoint", buffer)?;
    let mut walk = state.unpark(walk)?;
    let pairs = buffer.get(..2 * n as usize).unwrap_or_default();
    let mut roots = Vec::new();
    for pair in tensors(state, "checkpoint", pairs)?.chunks_exact(2) {
        let [output, grad] = pair else { continue };
        if output.shape() != grad.shape() || output.dtype != grad.dtype {
            return Err(Error::autograd(
                "the function gave other shapes or dtypes when it ran again",
            )
            .in_op("checkpoint")
            .into());
        }
        roots.push((output.clone(), grad.clone()));
    }
    walk.push_roots(&state.engine, roots).map_err(|e| e.in_op("checkpoint"))?;
    advance(state, walk, buffer)
}

/// Ends a parked walk whose user-defined step failed.
#[op2(fast)]
pub fn op_tensor_walk_end(state: &OpState, walk: f64) {
    let _ = TensorState::of(state).unpark(walk);
}

/// Records a user-defined step: `buffer` holds ids of inputs, outputs and tensors to keep.
#[op2(fast)]
pub fn op_tensor_record_custom(
    state: &OpState,
    token: f64,
    #[string] name: &str,
    inputs: u32,
    outputs: u32,
    saved: u32,
    #[buffer] buffer: &mut [u8],
) -> Result<(), TensorError> {
    const OP: &str = "autograd.Function";
    let state = TensorState::of(state);
    let buffer = numbers(OP, buffer)?;
    let (a, b) = (inputs as usize, (inputs + outputs) as usize);
    let end = b + saved as usize;
    if buffer.len() < end {
        return Err(TensorError::Buffer { op: OP, got: buffer.len(), expected: end });
    }
    let all = tensors(state, OP, &buffer[..end])?;
    for t in &all[..a] {
        refuse_stale(&[Arg::Tensor(t)]).map_err(|e| e.in_op(OP))?;
    }
    let custom =
        Custom { token: token as u64, name: name.to_owned(), dead: state.dead_tokens.clone() };
    let mut made = all[a..b].to_vec();
    for t in &mut made {
        t.edge = Edge::None;
    }
    record_custom(&state.engine, custom, &all[..a], &all[b..], &mut made);
    let mut heap = state.heap.borrow_mut();
    for (id, t) in buffer[a..b].iter().zip(made) {
        heap.get_mut(HeapId::from_f64(*id)).map_err(|e| e.in_op(OP))?.set_custom_edge(t.edge);
    }
    Ok(())
}

/// Tokens of user-defined steps that are gone, as many as `buffer` takes; their number.
#[op2(fast)]
pub fn op_tensor_dead_tokens(
    state: &OpState,
    #[buffer] buffer: &mut [u8],
) -> Result<u32, TensorError> {
    let state = TensorState::of(state);
    let buffer = numbers("backward", buffer)?;
    let mut dead = state.dead_tokens.borrow_mut();
    let n = dead.len().min(buffer.len());
    let rest = dead.len() - n;
    for (slot, token) in buffer.iter_mut().zip(dead.drain(rest..)) {
        *slot = token as f64;
    }
    Ok(n as u32)
}

/// Reads (`set` false) or restores the state of the random numbers: four words of 32 bits.
#[op2(fast)]
pub fn op_tensor_random_state(
    state: &OpState,
    set: bool,
    #[buffer] buffer: &mut [u8],
) -> Result<(), TensorError> {
    let engine = &TensorState::of(state).engine;
    let buffer = numbers("checkpoint", buffer)?;
    let Some([a, b, c, d]) = buffer.first_chunk_mut::<4>() else {
        return Err(TensorError::Buffer { op: "checkpoint", got: buffer.len(), expected: 4 });
    };
    if set {
        let join = |low: f64, high: f64| low as u64 | (high as u64) << 32;
        engine.set_random_state((join(*a, *b), join(*c, *d)));
    } else {
        let (seed, draws) = engine.random_state();
        (*a, *b) = (seed as u32 as f64, (seed >> 32) as f64);
        (*c, *d) = (draws as u32 as f64, (draws >> 32) as f64);
    }
    Ok(())
}

/// Begins or ends the watch for NaN in gradients; tells whether it was on.
#[op2(fast)]
pub fn op_tensor_watch_nan(state: &OpState, on: bool) -> bool {
    TensorState::of(state).engine.watch_nan(on)
}

/// The number that the next recorded op gets.
#[op2(fast)]
pub fn op_tensor_seq(state: &OpState) -> f64 {
    TensorState::of(state).engine.seq() as f64
}

/// Where the ops from number `from` on were called; `place` begins with a space.
#[op2(fast)]
pub fn op_tensor_called_at(state: &OpState, from: f64, #[string] place: &str) {
    let engine = &TensorState::of(state).engine;
    engine.called_at(from as u64..engine.seq(), place);
}

/// How many calls were kept off the tape that it would else have recorded.
#[op2(fast)]
pub fn op_tensor_skipped(state: &OpState) -> f64 {
    TensorState::of(state).engine.skipped() as f64
}
