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

/// When the event loop had its last turn, and for which of the programs that run one after another.
pub struct Turns {
    last: Cell<Instant>,
    program: Cell<u32>,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { last: Cell::new(Instant::now()), program: Cell::new(0) }
    }
}

impl Turns {
    /// The program was ended: its loops that wait for a turn do not go on beside the next one.
    pub fn end_program(&self) {
        self.program.set(self.program.get().wrapping_add(1));
    }
}

/// Whether a loop should let the event loop have its turn.
#[op2(fast)]
pub fn op_tensor_turn_due(state: &OpState) -> bool {
    TensorState::of(state).turns.last.get().elapsed() >= DUE
}

/// Completes when the event loop had a turn; false where the program of the loop was ended meanwhile.
#[op2]
pub async fn op_tensor_turn(state: Rc<RefCell<OpState>>) -> bool {
    let program = TensorState::of(&state.borrow()).turns.program.get();
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    let state = state.borrow();
    let turns = &TensorState::of(&state).turns;
    turns.last.set(Instant::now());
    turns.program.get() == program
}
