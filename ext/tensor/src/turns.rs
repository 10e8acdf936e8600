//! Turns of the event loop for loops that yield on request.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use deno_core::{OpState, op2};

use crate::state::TensorState;

/// So long a loop may run: a timer of 10 ms then fires at least every 20 ms.
const DUE: Duration = Duration::from_millis(8);

/// When the event loop had its last turn.
pub struct Turns(Cell<Instant>);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Cell::new(Instant::now()))
    }
}

/// Whether a loop should let the event loop have its turn.
#[op2(fast)]
pub fn op_tensor_turn_due(state: &OpState) -> bool {
    TensorState::of(state).turns.0.get().elapsed() >= DUE
}

/// Completes when the event loop had a turn.
#[op2]
pub async fn op_tensor_turn(state: Rc<RefCell<OpState>>) {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    TensorState::of(&state.borrow()).turns.0.set(Instant::now());
}
