//! What a script finds before its first line: the extensions of an mlrun isolate and its global
//! scope.
//!
//! The same list of extensions makes the startup snapshot (at build time) and runs from it, in
//! the same order; deno_core refuses anything else. Extensions keep their upstream names and
//! `ext:` specifiers, so that further Deno extensions fit beside them.
//!
//! Ops that JavaScript captured while the snapshot was made have no fast-call path: V8 cannot
//! serialise those. deno_core gives `core.ops` its fast functions back when the first script is
//! lazily loaded at run time, which the entry function in `js/99_main.js` brings about. Code in
//! the snapshot that calls an op in a hot loop therefore reads it from `core.ops` after
//! `internals.onStart` callbacks have run, never while its module is evaluated.
//!
//! Deliberately not here: loading user modules, V8 flags, printing errors (crate `mlrun`).

mod process;
pub mod snapshot;
pub mod stdio;

use std::sync::Arc;

use deno_core::Extension;

pub use crate::process::Exit;
pub use crate::process::ProcessError;
pub use crate::process::ProcessState;

pub use mlrun_tensor::Alive;
pub use mlrun_tensor::FunctionTexts;
pub use mlrun_tensor::GcKind;
pub use mlrun_tensor::Holder;
pub use mlrun_tensor::LIBRARY_MODULE;
pub use mlrun_tensor::Moment;
pub use mlrun_tensor::OWNERSHIP_MODULE;
pub use mlrun_tensor::Pacer;
pub use mlrun_tensor::Place;
pub use mlrun_tensor::ProcessMemory;
pub use mlrun_tensor::Stats;
pub use mlrun_tensor::TURNS_MODULE;
pub use mlrun_tensor::TensorOptions;
pub use mlrun_tensor::TensorState;
pub use mlrun_tensor::alive;
pub use mlrun_tensor::process_memory;
pub use mlrun_tensor::readable;
pub use mlrun_tensor::violations;

/// What the global scope of one isolate depends on.
#[derive(Clone, Default)]
pub struct Options {
    /// `process.argv`: the executable, the script, then the script's own arguments.
    pub argv: Vec<String>,
    /// Threads, seed and collector of the tensor library.
    pub tensor: TensorOptions,
}

deno_core::extension!(
    mlrun_globals,
    deps = [deno_webidl, deno_web],
    ops = [
        process::op_mlrun_argv,
        process::op_mlrun_cpu,
        process::op_mlrun_cwd,
        process::op_mlrun_env,
        process::op_mlrun_exit,
        process::op_mlrun_exit_code,
        process::op_mlrun_hrtime,
        process::op_mlrun_process_info,
        process::op_mlrun_rss,
        process::op_mlrun_set_exit_code,
        process::op_mlrun_uptime,
        stdio::op_mlrun_columns,
        stdio::op_mlrun_is_terminal,
        stdio::op_mlrun_use_colour,
        stdio::op_mlrun_write,
        stdio::op_mlrun_write_bytes,
    ],
    esm_entry_point = "ext:mlrun_globals/99_main.js",
    esm = [dir "js", "01_process.js", "02_scope.js", "99_main.js"],
    lazy_loaded_js = [dir "js", "03_fast_ops.js"],
    options = { argv: Vec<String> },
    state = |state, config| state.put(ProcessState::new(config.argv)),
);

/// The extensions of an isolate, in the order of the snapshot.
pub fn extensions(options: Options) -> Vec<Extension> {
    let blobs: Arc<dyn deno_web::BlobStoreTrait> = Arc::new(deno_web::BlobStore::default());
    vec![
        deno_webidl::deno_webidl::init(),
        deno_web::deno_web::init(blobs, None, false, deno_web::InMemoryBroadcastChannel::default()),
        mlrun_globals::init(options.argv),
        // Last: the library registers itself with `internals.onStart`.
        mlrun_tensor::mlrun_tensor::init(options.tensor),
    ]
}
