//! The deno_core extension `mlrun_tensor`: the ops that JavaScript sees, and the library in
//! `js/` on top of them.
//!
//! Invariant: data crosses this boundary once; ops take and give heap ids, numbers and byte
//! buffers, and nothing that comes from JavaScript can panic here.

mod autograd;
mod call;
mod collect;
mod data;
mod error;
mod files;
mod heap_snapshot;
mod io;
mod leaks;
mod memory;
mod modules;
mod ownership;
mod places;
mod state;
mod trace;
mod turns;

pub use crate::collect::{GcKind, Pacer};
pub use crate::error::TensorError;
pub use crate::leaks::{Alive, alive};
pub use crate::memory::{ProcessMemory, Stats, process_memory};
pub use crate::ownership::{FunctionTexts, violations};
pub use crate::places::Place;
pub use crate::state::{TensorOptions, TensorState};
pub use crate::trace::{Holder, Moment, readable};

/// The module in the snapshot that `import ... from "mlrun"` gives.
pub const LIBRARY_MODULE: &str = "ext:mlrun_tensor/mlrun.js";

/// The module in the snapshot that code compiled by the ownership pass calls.
pub const OWNERSHIP_MODULE: &str = "ext:mlrun_tensor/00_ownership.js";

/// The module in the snapshot that yields in loops call.
pub const TURNS_MODULE: &str = "ext:mlrun_tensor/08_turns.js";

/// Files of the library that are written by hand for the ownership pass, or need none.
pub const UNCOMPILED: &[&str] = &[
    OWNERSHIP_MODULE,
    "ext:mlrun_tensor/00_own_known.js",
    "ext:mlrun_tensor/00_own_counts.js",
    "ext:mlrun_tensor/00_own_places.js",
    "ext:mlrun_tensor/00_own_steps.js",
    "ext:mlrun_tensor/00_own_arrays.js",
    "ext:mlrun_tensor/00_own_calls.js",
    "ext:mlrun_tensor/00_own_collections.js",
    "ext:mlrun_tensor/00_function_text.js",
    "ext:mlrun_tensor/00_handle.js",
    "ext:mlrun_tensor/00_ops.js",
    "ext:mlrun_tensor/00_direct.js",
    "ext:mlrun_tensor/00_data.js",
    "ext:mlrun_tensor/00_einsum.js",
    "ext:mlrun_tensor/00_makers.js",
    "ext:mlrun_tensor/00_rows.js",
    "ext:mlrun_tensor/00_specs.js",
    "ext:mlrun_tensor/02_rows.js",
    "ext:mlrun_tensor/02_walk.js",
    "ext:mlrun_tensor/00_verify.js",
    LIBRARY_MODULE,
];

deno_core::extension!(
    mlrun_tensor,
    ops = [
        autograd::op_tensor_autograd_grad,
        autograd::op_tensor_backward,
        autograd::op_tensor_called_at,
        autograd::op_tensor_dead_tokens,
        autograd::op_tensor_detach,
        autograd::op_tensor_grad,
        autograd::op_tensor_grad_mode,
        autograd::op_tensor_random_state,
        autograd::op_tensor_record_custom,
        autograd::op_tensor_requires_grad,
        autograd::op_tensor_seq,
        autograd::op_tensor_set_grad,
        autograd::op_tensor_skipped,
        autograd::op_tensor_walk_end,
        autograd::op_tensor_walk_grads,
        autograd::op_tensor_walk_roots,
        autograd::op_tensor_watch_nan,
        call::op_tensor_binary,
        call::op_tensor_binary_scalar,
        call::op_tensor_call,
        call::op_tensor_copy_into,
        call::op_tensor_in_place,
        call::op_tensor_in_place_scalar,
        call::op_tensor_rows,
        call::op_tensor_unary,
        collect::op_tensor_collect,
        collect::op_tensor_make_room,
        collect::op_tensor_track,
        data::op_tensor_alias,
        data::op_tensor_fill_big,
        data::op_tensor_from_bytes,
        data::op_tensor_is_contiguous,
        data::op_tensor_item,
        data::op_tensor_item_big,
        data::op_tensor_meta,
        data::op_tensor_read,
        io::op_tensor_load,
        io::op_tensor_safetensors_header,
        io::op_tensor_save,
        ownership::op_own_is,
        ownership::op_own_module,
        ownership::op_own_verify,
        ownership::op_own_violation,
        ownership::op_own_written,
        files::op_tensor_list_folder,
        files::op_tensor_make_folder,
        files::op_tensor_read_text,
        files::op_tensor_remove_file,
        memory::op_tensor_disposed_at,
        memory::op_tensor_memory_limit,
        memory::op_tensor_memory_stats,
        memory::op_tensor_release,
        memory::op_tensor_reset_peak,
        memory::op_tensor_seed,
        memory::op_tensor_threads,
        modules::op_tensor_note_module,
        modules::op_tensor_noted_modules,
        trace::op_tensor_attend,
        trace::op_tensor_disposed,
        trace::op_tensor_heap_snapshot,
        trace::op_tensor_traces,
        turns::op_tensor_turn,
        turns::op_tensor_turn_due,
    ],
    esm_entry_point = "ext:mlrun_tensor/mlrun.js",
    esm = [
        dir "../../js",
        "00_own_known.js",
        "00_own_counts.js",
        "00_own_places.js",
        "00_own_steps.js",
        "00_own_arrays.js",
        "00_own_calls.js",
        "00_own_collections.js",
        "00_ownership.js",
        "00_verify.js",
        "00_function_text.js",
        "00_handle.js",
        "00_ops.js",
        "00_format.js",
        "00_makers.js",
        "00_data.js",
        "00_make.js",
        "00_shape.js",
        "00_specs.js",
        "00_index.js",
        "00_einsum.js",
        "00_direct.js",
        "00_rows.js",
        "00_reduce.js",
        "00_json.js",
        "01_modes.js",
        "01_custom.js",
        "01_autograd.js",
        "02_rows.js",
        "02_functional.js",
        "02_walk.js",
        "02_module.js",
        "02_init.js",
        "02_layers.js",
        "02_activations.js",
        "02_attention.js",
        "02_recurrent.js",
        "02_utils.js",
        "02_nn.js",
        "03_schedules.js",
        "03_optim.js",
        "04_data.js",
        "04_csv.js",
        "04_metrics.js",
        "05_io.js",
        "06_memory.js",
        "07_training.js",
        "07_checkpoints.js",
        "08_turns.js",
        "mlrun.js",
    ],
    options = { options: TensorOptions },
    state = |state, config| TensorState::init(state, config.options),
);
