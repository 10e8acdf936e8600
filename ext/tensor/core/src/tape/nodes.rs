//! The memory of nodes: kept between steps, and counted where there are very many.
//!
//! Invariant: nodes above [`BATCH`] weigh on the pool that live bytes are counted in, so that a loop
//! that records for ever meets the limit of tensors before the system's. Deliberately not here: what
//! a node holds (the tape).

use super::{Edge, Edges, Kind, Node};
use crate::pool::Shared;
use crate::table::Op;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Nodes whose memory waits for the next recorded op: a step of training makes as many as the one
/// before it, and the system's allocator is slower than what a tiny op computes.
const MOST_WAITING: usize = 1 << 14;
/// Nodes that are counted at a time. Fewer weigh nothing: no ordinary step has as many.
const BATCH: usize = 1 << 16;
/// Bytes of a node and of what it notes of a tensor that it keeps; measured, 280 to 880.
const NODE_BYTES: usize = 896;

thread_local! {
    static WAITING: RefCell<Vec<Rc<Node>>> = const { RefCell::new(Vec::new()) };
    /// Nodes that exist, those that wait included.
    static MADE: Cell<usize> = const { Cell::new(0) };
    /// The pools that batches of them weigh on.
    static CHARGED: RefCell<Vec<Arc<Shared>>> = const { RefCell::new(Vec::new()) };
}

/// Lets go of a node. Where nobody else has it, what it holds ends now and its memory waits.
pub(super) fn recycle(node: Rc<Node>) {
    recycle_all(smallvec::smallvec![Edge::Node(node, 0)]);
}

/// As [`recycle`] for the nodes behind edges. A chain is taken apart by a list, not by recursion.
pub(super) fn recycle_all(mut edges: Edges) {
    while let Some(edge) = edges.pop() {
        let Edge::Node(mut node, _) = edge else { continue };
        let Some(last) = Rc::get_mut(&mut node) else { continue };
        edges.extend(last.edges.get_mut().drain(..));
        last.kind = Kind::Op(Op::Copy, None);
        *last.saved.get_mut() = None;
        last.inputs.clear();
        last.outputs.clear();
        // Where the thread ends, or a token's end got here, the node just goes.
        let _ = WAITING.try_with(|waiting| {
            if let Ok(mut waiting) = waiting.try_borrow_mut()
                && waiting.len() < MOST_WAITING
            {
                waiting.push(node);
            }
        });
    }
}

/// A node to be filled, from those that wait if one does.
#[inline]
pub(super) fn blank(pool: &Arc<Shared>) -> Rc<Node> {
    let waiting = WAITING.try_with(|w| w.try_borrow_mut().ok().and_then(|mut w| w.pop()));
    if let Ok(Some(node)) = waiting { node } else { made(pool) }
}

#[cold]
fn made(pool: &Arc<Shared>) -> Rc<Node> {
    let _ = MADE.try_with(|made| {
        made.set(made.get() + 1);
        let _ = CHARGED.try_with(|charged| {
            if let Ok(mut charged) = charged.try_borrow_mut()
                && made.get() >= (charged.len() + 1) * BATCH
            {
                pool.weigh((BATCH * NODE_BYTES) as i64);
                charged.push(pool.clone());
            }
        });
    });
    Rc::default()
}

/// Bytes that batches of nodes weigh on `pool`.
pub fn node_bytes(pool: &Arc<Shared>) -> u64 {
    let of_pool = |charged: &RefCell<Vec<Arc<Shared>>>| {
        charged.try_borrow().map_or(0, |c| c.iter().filter(|p| Arc::ptr_eq(p, pool)).count())
    };
    CHARGED.try_with(of_pool).unwrap_or(0) as u64 * (BATCH * NODE_BYTES) as u64
}

/// Whether nodes alone have brought `pool` above its limit: views take no memory that would be refused.
#[inline]
pub fn weigh_too_much(pool: &Arc<Shared>) -> bool {
    MADE.try_with(|made| made.get() >= BATCH).unwrap_or(false)
        && pool.account.live() > pool.account.limit()
}

/// A node's memory goes.
pub(super) fn gone() {
    let _ = MADE.try_with(|made| {
        made.set(made.get().saturating_sub(1));
        let _ = CHARGED.try_with(|charged| {
            if let Ok(mut charged) = charged.try_borrow_mut()
                && made.get() < charged.len() * BATCH
                && let Some(pool) = charged.pop()
            {
                pool.weigh(-((BATCH * NODE_BYTES) as i64));
            }
        });
    });
}
