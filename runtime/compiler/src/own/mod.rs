//! The ownership pass: counting is put into user programs. See DESIGN.md beside this crate.
//!
//! build (AST to [`tree`]) -> modes (how each variable counts) -> liveness (last uses) -> insert
//! (edits). Invariant: what is not understood is left alone, and then shared.

mod build;
mod insert;
mod liveness;
mod modes;
mod names;
mod tree;

use oxc::ast::ast::Program;
use oxc::semantic::Semantic;

use crate::text::Derived;

/// The module that user modules import the runtime half from.
pub const RUNTIME_MODULE: &str = "ext:mlrun/ownership.js";

/// Runs the pass. `None`: the program needs no change.
pub(crate) fn run<'a>(
    source: &str,
    program: &'a Program<'a>,
    semantic: &'a Semantic<'a>,
    module: bool,
    script: bool,
) -> Option<Derived> {
    let mut tree = build::build(program, semantic);
    if tree.dynamic {
        return None;
    }
    modes::decide(&mut tree, script);
    let names = names::Names::new(source, &tree);
    let mut edits = insert::insert(source, &tree, &names);
    if edits.is_empty() {
        return None;
    }
    if module {
        let text = format!("\nimport * as {} from \"{RUNTIME_MODULE}\";", names.runtime);
        edits.insert(source.len() as u32, i32::MAX, text, source.len() as u32);
    }
    Some(edits.apply(source))
}
