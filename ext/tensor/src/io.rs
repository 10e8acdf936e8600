//! Files of tensors as JavaScript calls them; the formats are mlrun_tensor_io's.
//!
//! Invariant: a load that fails leaves no handle behind.

use std::path::Path;

use deno_core::{OpState, op2};
use mlrun_tensor_core::heap::Releaser;
use mlrun_tensor_core::{HeapId, Tensor};
use mlrun_tensor_io::{Named, npy, npz, safetensors};

use crate::error::TensorError;
use crate::state::TensorState;

/// Heap ids by name; `format` is the function's name after "load".
#[op2]
#[serde]
pub fn op_tensor_load(
    state: &OpState,
    #[string] format: &str,
    #[string] path: &str,
    #[serde] names: Option<Vec<String>>,
) -> Result<Vec<(String, f64)>, TensorError> {
    let state = TensorState::of(state);
    let (path, pool) = (Path::new(path), &state.engine.pool);
    let (op, tensors): (_, Named) = match format {
        "Safetensors" => ("io.loadSafetensors", safetensors::load(path, pool, names.as_deref())?),
        "Npz" => ("io.loadNpz", npz::load(path, pool, names.as_deref())?),
        _ => ("io.loadNpy", vec![(String::new(), npy::load(path, pool)?)]),
    };
    let mut out = Vec::with_capacity(tensors.len());
    for (name, t) in tensors {
        // What the file has in Fortran order.
        let put = state.engine.contiguous(&t).map_err(|e| e.in_op(op).into());
        match put.and_then(|t| state.put(t)) {
            Ok(id) => out.push((name, id)),
            Err(error) => {
                for (_, id) in out {
                    state.release(HeapId::from_f64(f64::abs(id)), Releaser::Pass);
                }
                return Err(error);
            }
        }
    }
    Ok(out)
}

/// Metadata, then name, dtype, shape and bytes of each tensor.
type Header = (Vec<(String, String)>, Vec<(String, String, Vec<f64>, f64)>);

#[op2]
#[serde]
pub fn op_tensor_safetensors_header(#[string] path: &str) -> Result<Header, TensorError> {
    let header = safetensors::header(Path::new(path))?;
    let tensors = header.tensors.into_iter().map(|info| {
        let shape = info.shape.iter().map(|d| *d as f64).collect();
        let bytes = info.bytes() as f64;
        let dtype = info.known().map_or(info.dtype, |dtype| dtype.name().to_owned());
        (info.name, dtype, shape, bytes)
    });
    Ok((header.metadata, tensors.collect()))
}

/// Writes the tensors `ids` under `names`; `format` is the function's name after "save".
#[op2]
pub fn op_tensor_save(
    state: &OpState,
    #[string] format: &str,
    #[string] path: &str,
    #[serde] names: Vec<String>,
    #[serde] ids: Vec<f64>,
    #[serde] metadata: Vec<(String, String)>,
    compressed: bool,
) -> Result<(), TensorError> {
    let state = TensorState::of(state);
    let path = Path::new(path);
    let op = match format {
        "Safetensors" => "io.saveSafetensors",
        "Npz" => "io.saveNpz",
        _ => "io.saveNpy",
    };
    let tensors: Vec<Tensor> = state.with_heap(&ids, |heap| {
        let get = |id: &f64| heap.get(HeapId::from_f64(*id)).map(Tensor::detach);
        ids.iter().map(|id| get(id).map_err(|e| e.in_op(op))).collect()
    })?;
    let tensors: Named = names.into_iter().zip(tensors).collect();
    match (op, &tensors[..]) {
        ("io.saveNpz", _) => npz::save(path, &tensors, compressed)?,
        ("io.saveNpy", [(_, t), ..]) => npy::save(path, t)?,
        _ => safetensors::save(path, &tensors, &metadata)?,
    }
    Ok(())
}
