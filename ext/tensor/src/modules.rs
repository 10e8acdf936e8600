//! Which nn.Modules are alive, for errors that name a layer's path in its model.
//!
//! Weak handles of V8's own: a JavaScript WeakRef would keep each module to the end of the turn.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::{OpState, op2, v8};

use crate::state::TensorState;

/// Modules in the order they were made.
#[derive(Default)]
pub struct Modules {
    alive: Vec<v8::Weak<v8::Object>>,
    /// Length at which the dead ones are taken out.
    limit: usize,
}

impl Modules {
    fn note(&mut self, module: v8::Weak<v8::Object>) {
        if self.alive.len() >= self.limit {
            self.alive.retain(|weak| !weak.is_empty());
            self.limit = 64.max(self.alive.len() * 2);
        }
        self.alive.push(module);
    }
}

/// Called by the constructor of nn.Module.
#[op2(nofast)]
pub fn op_tensor_note_module(
    scope: &mut v8::PinScope,
    state: Rc<RefCell<OpState>>,
    module: v8::Local<v8::Object>,
) {
    let state = TensorState::of(&state.borrow()).clone();
    let weak = v8::Weak::new(scope, module);
    state.modules.borrow_mut().note(weak);
}

/// The modules that are alive.
#[op2]
pub fn op_tensor_noted_modules<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: Rc<RefCell<OpState>>,
) -> v8::Local<'s, v8::Array> {
    let state = TensorState::of(&state.borrow()).clone();
    let modules = state.modules.borrow();
    let alive: Vec<v8::Local<v8::Value>> =
        modules.alive.iter().filter_map(|weak| Some(weak.to_local(scope)?.into())).collect();
    v8::Array::new_with_elements(scope, &alive)
}
