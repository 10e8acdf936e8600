//! Which functions the ownership pass compiled, by the script that they came from.
//!
//! Invariant: a script is in the set only because its own code, which alone can reach the
//! runtime half, said so. Neither question looks at anything that a program can replace.

use std::cell::RefCell;
use std::collections::HashSet;

use deno_core::{OpState, op2, v8};

use crate::state::TensorState;

/// Scripts that the ownership pass compiled.
#[derive(Default)]
pub struct OwnedScripts(RefCell<HashSet<i32>>);

/// Knows what stands in the source for what the ownership pass changed.
pub trait FunctionTexts {
    /// The user's line and column (1-based) for those of a file that V8 runs.
    fn position(&self, file: &str, line: u32, column: u32) -> Option<(u32, u32)>;
    /// The user's text of the function whose emitted text is `emitted`.
    fn written(&self, emitted: &str) -> Option<String>;
}

/// The user's text of a function; null where it was not changed.
#[op2]
#[string]
pub fn op_own_written(state: &OpState, #[string] emitted: &str) -> Option<String> {
    TensorState::of(state).texts.as_ref()?.written(emitted)
}

fn script_of(f: v8::Local<v8::Value>) -> Option<i32> {
    let f = v8::Local::<v8::Function>::try_from(f).ok()?;
    Some(f.script_id()).filter(|id| *id > 0)
}

/// 0: nothing is verified; 1: the use of a tensor after its release names the release; 2: so does
/// the use of any object.
#[op2(fast)]
pub fn op_own_verify(state: &OpState) -> u32 {
    let state = TensorState::of(state);
    u32::from(state.verify) + u32::from(state.verify && state.verify_all)
}

/// A released object was used; the report of it is printed.
#[op2(fast)]
pub fn op_own_violation(state: &OpState) {
    let violations = &TensorState::of(state).violations;
    violations.set(violations.get().saturating_add(1));
}

/// How many released objects were used, where every object is verified.
pub fn violations(state: &OpState) -> u32 {
    TensorState::of(state).violations.get()
}

/// The script of `f` was compiled by the ownership pass.
#[op2(fast)]
pub fn op_own_module(state: &OpState, f: v8::Local<v8::Value>) {
    if let Some(script) = script_of(f) {
        TensorState::of(state).owned.0.borrow_mut().insert(script);
    }
}

/// Whether the script of `f` was compiled by the ownership pass.
#[op2(fast)]
pub fn op_own_is(state: &OpState, f: v8::Local<v8::Value>) -> bool {
    script_of(f).is_some_and(|script| TensorState::of(state).owned.0.borrow().contains(&script))
}
