//! The backward pass: walks the tape once, newest node first.
//!
//! Invariants: a node's turn comes when everything that it can still get has arrived; on an error no
//! `grad` has changed. A pass can stop for user-defined steps and go on. Deliberately not here: what
//! is recorded (the tape) and the derivatives (rows and `ops`).

use super::pieces::{self, Pieces};
use super::{
    Custom, Edge, Edges, Input, Kind, Leaf, Node, Origin, Place, TensorMeta, VjpCx, recycle,
    refresh, restore,
};
use crate::attr::Attrs;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::table::{Grads, Vjp};
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;
use std::rc::Rc;

/// What a backward pass does with its results.
pub struct Backward<'a> {
    pub roots: Vec<(Tensor, Tensor)>,
    /// Gradients wanted by value; leaves accumulate into `grad` where this is `None`.
    pub inputs: Option<&'a [Tensor]>,
    pub retain_graph: bool,
    pub create_graph: bool,
}

pub(super) type NodeKey = u64;
/// Gradients of a node's outputs; most have one.
type Arrived = SmallVec<[Option<Tensor>; 1]>;

/// Node numbers are consecutive: spreading their bits is all the hashing they need.
#[derive(Default)]
struct SeqHasher(u64);

impl std::hash::Hasher for SeqHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(self.0 ^ *b as u64));
    }
    fn write_u64(&mut self, seq: u64) {
        self.0 = seq.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A backward pass that can stop for user-defined steps and go on.
pub struct Walk {
    /// The newest node that waits, if it is not in `pending`: a chain of ops needs nothing else.
    newest: Option<(Rc<Node>, Arrived)>,
    pending: HashMap<NodeKey, (Rc<Node>, Arrived), BuildHasherDefault<SeqHasher>>,
    /// The keys of `pending`.
    queue: BinaryHeap<NodeKey>,
    /// Gradients among those that wait whose pieces have not all come.
    pieces: Vec<Pieces>,
    leaves: Vec<(Rc<Leaf>, Tensor)>,
    captured: Vec<(CaptureKey, Tensor)>,
    wanted: Vec<Option<CaptureKey>>,
    capture: bool,
    keep: bool,
    create_graph: bool,
    /// The user-defined step whose gradients are awaited.
    waiting: Option<Rc<Node>>,
}

/// A user-defined step whose turn it is.
pub struct CustomCall {
    pub token: u64,
    /// One per output, zeros where none arrived.
    pub grads: Vec<Tensor>,
    pub saved: Vec<Tensor>,
    /// The step is not needed again.
    pub last: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CaptureKey {
    Leaf(*const Leaf),
    Node(NodeKey, u32),
}

fn capture_key(edge: &Edge) -> Option<CaptureKey> {
    match edge {
        Edge::None => None,
        Edge::Leaf(l) => Some(CaptureKey::Leaf(Rc::as_ptr(l))),
        Edge::Node(n, i) => Some(CaptureKey::Node(n.seq, *i)),
    }
}

/// Walks the tape from `roots`, newest node first. Returns the gradients of `inputs`, in order.
/// On an error no `grad` has changed. For graphs without user-defined steps.
pub fn backward(engine: &Engine, pass: Backward) -> Result<Vec<Option<Tensor>>> {
    let mut walk = Walk::start(engine, pass)?;
    match walk.run(engine)? {
        None => walk.finish(engine),
        Some(_) => Err(Error::autograd("a user-defined step has nobody to call it")),
    }
}

/// A root that is NaN is an error that names the first op on the way to it that gave NaN.
fn refuse_nan_root(engine: &Engine, root: &Tensor) -> Result<()> {
    if !engine.has_nan(root)? {
        return Ok(());
    }
    let mut seen: HashMap<NodeKey, (), BuildHasherDefault<SeqHasher>> = HashMap::default();
    let mut pending = vec![root.edge.clone()];
    let mut first: Option<Rc<Node>> = None;
    while let Some(edge) = pending.pop() {
        let Edge::Node(node, _) = edge else { continue };
        if seen.insert(node.seq, ()).is_some() {
            continue;
        }
        pending.extend(node.edges.borrow().iter().cloned());
        if engine.gave_nan(node.seq) && first.as_ref().is_none_or(|f| node.seq < f.seq) {
            first = Some(node);
        }
    }
    Err(Error::autograd(match first {
        Some(node) => {
            let (op, at) = (node.name(), engine.place_of(node.seq));
            format!(
                "the tensor is NaN; {op} gave the first NaN on the way to it; {op} was called{at}"
            )
        }
        None => "the tensor is NaN, and no op recorded under the watch gave that".to_owned(),
    }))
}

impl Walk {
    pub fn start(engine: &Engine, pass: Backward) -> Result<Walk> {
        let inputs = pass.inputs.unwrap_or_default();
        let mut walk = Walk {
            newest: None,
            pending: HashMap::default(),
            queue: BinaryHeap::new(),
            pieces: Vec::new(),
            leaves: Vec::new(),
            captured: Vec::new(),
            wanted: inputs.iter().map(|t| capture_key(&t.edge)).collect(),
            capture: pass.inputs.is_some(),
            keep: pass.retain_graph || pass.create_graph,
            create_graph: pass.create_graph,
            waiting: None,
        };
        if engine.watches_nan() {
            for (root, _) in &pass.roots {
                refuse_nan_root(engine, root)?;
            }
        }
        walk.push_roots(engine, pass.roots)?;
        Ok(walk)
    }

    pub fn create_graph(&self) -> bool {
        self.create_graph
    }

    /// More gradients to start from: the recomputed outputs of a `checkpoint`.
    pub fn push_roots(&mut self, engine: &Engine, roots: Vec<(Tensor, Tensor)>) -> Result<()> {
        let _mode = engine.grad_mode(self.create_graph);
        self.waiting = None;
        for (root, seed) in roots {
            self.send(engine, root.edge, seed)?;
        }
        Ok(())
    }

    /// The gradients of a user-defined step's inputs.
    pub fn push_grads(&mut self, engine: &Engine, grads: Vec<Option<Tensor>>) -> Result<()> {
        let _mode = engine.grad_mode(self.create_graph);
        let Some(node) = self.waiting.take() else { return Ok(()) };
        let edges = self.free(&node);
        for (i, (edge, grad)) in edges.into_iter().zip(grads).enumerate() {
            if let (Some(g), Some(meta)) = (grad, node.input_meta(i)) {
                self.send(engine, edge, fitted(engine, &node, i, g, meta)?)?;
            }
        }
        Ok(())
    }

    /// Goes on until the end (`None`) or a user-defined step.
    pub fn run(&mut self, engine: &Engine) -> Result<Option<CustomCall>> {
        let _mode = engine.grad_mode(self.create_graph);
        self.run_nodes(engine).map_err(|e| e.in_op("backward"))
    }

    fn run_nodes(&mut self, engine: &Engine) -> Result<Option<CustomCall>> {
        while let Some((node, grads)) = self.next() {
            for (grad, output) in grads.iter().zip(0..) {
                if let Some(grad) = grad {
                    self.complete(engine, (node.seq, output), grad)?;
                }
            }
            if !self.wanted.is_empty() {
                self.capture_grads(&node, &grads);
            }
            if let Kind::Custom(custom) = &node.kind {
                let call = custom_call(engine, &node, custom, &grads, !self.keep)?;
                self.forget(&node);
                self.waiting = Some(node);
                return Ok(Some(call));
            }
            if hands_on(engine, &node) {
                self.hand_on(engine, node, grads)?;
                continue;
            }
            if let Some(place) = self.place(engine, &node) {
                self.send_piece(engine, node, grads, place)?;
                continue;
            }
            let results = step(engine, &node, &grads)?;
            drop(grads);
            engine.refuse_nan(node.seq, node.name(), &results)?;
            let edges = self.free(&node);
            recycle(node);
            for (edge, grad) in edges.into_iter().zip(results) {
                if let Some(grad) = grad {
                    self.send(engine, edge, grad)?;
                }
            }
        }
        Ok(None)
    }

    /// Sends the gradient of a node's output to all its inputs.
    fn hand_on(&mut self, engine: &Engine, node: Rc<Node>, mut grads: Arrived) -> Result<()> {
        let edges = self.free(&node);
        recycle(node);
        let Some(Some(grad)) = grads.pop() else { return Ok(()) };
        let mut edges = edges.into_iter().filter(|e| !matches!(e, Edge::None));
        let Some(first) = edges.next() else { return Ok(()) };
        for edge in edges {
            self.send(engine, edge, grad.clone())?;
        }
        self.send(engine, first, grad)
    }

    /// Where the gradient of a slice or selection goes in that of the tensor it was cut from.
    fn place(&self, engine: &Engine, node: &Node) -> Option<pieces::Place> {
        let Kind::Op(op, Some(attrs)) = &node.kind else { return None };
        let whole = matches!(node.edges.borrow().first(), Some(Edge::Node(..)));
        if !whole || self.create_graph || node.saved.borrow().is_none() || engine.watches_nan() {
            return None;
        }
        pieces::Place::of(node, *op, attrs)
    }

    fn send_piece(
        &mut self,
        engine: &Engine,
        node: Rc<Node>,
        mut grads: Arrived,
        place: pieces::Place,
    ) -> Result<()> {
        let edge = node.edges.borrow().first().cloned().unwrap_or_default();
        let (Edge::Node(whole, output), Some(Some(piece))) = (edge, grads.pop()) else {
            return Ok(());
        };
        let seq = whole.seq;
        let begun = self.begun(seq, output);
        let waits = self.waiting_grads(whole.clone()).get(output as usize).cloned().flatten();
        match (begun, waits) {
            (Some(at), Some(sum)) if self.pieces[at].takes(&place) => {
                self.pieces[at].put(engine, &place, &piece, &sum)?;
            }
            (None, None) => {
                let (pieces, sum) = Pieces::begin(engine, (seq, output), &place, &piece)?;
                self.pieces.push(pieces);
                if let Some(slot) = self.waiting_grads(whole).get_mut(output as usize) {
                    *slot = Some(sum);
                }
            }
            _ => {
                for grad in step(engine, &node, &smallvec![Some(piece)])?.into_iter().flatten() {
                    self.send(engine, Edge::Node(whole.clone(), output), grad)?;
                }
            }
        }
        let _edges = self.free(&node);
        recycle(node);
        Ok(())
    }

    /// Which pieces make up a gradient that waits, if any do.
    fn begun(&self, node: NodeKey, output: u32) -> Option<usize> {
        self.pieces.iter().position(|p| p.is_of(node, output))
    }

    /// Completes what arrived at a node's output in pieces, which nobody may read before.
    fn complete(
        &mut self,
        engine: &Engine,
        (node, output): (NodeKey, u32),
        grad: &Tensor,
    ) -> Result<()> {
        match self.begun(node, output) {
            Some(at) => self.pieces.swap_remove(at).complete(engine, grad),
            None => Ok(()),
        }
    }

    /// The newest node that waits: all that it can still get has arrived.
    fn next(&mut self) -> Option<(Rc<Node>, Arrived)> {
        if self.newest.is_some() {
            return self.newest.take();
        }
        let seq = self.queue.pop()?;
        self.pending.remove(&seq)
    }

    fn capture_grads(&mut self, node: &Node, grads: &Arrived) {
        for (i, g) in grads.iter().enumerate() {
            let key = CaptureKey::Node(node.seq, i as u32);
            if let Some(g) = g
                && self.wanted.contains(&Some(key))
            {
                self.captured.push((key, g.clone()));
            }
        }
    }

    /// Frees what a node kept, unless the graph is to be walked again.
    fn forget(&self, node: &Node) {
        if !self.keep {
            *node.saved.borrow_mut() = None;
        }
    }

    /// As [`Walk::forget`]; gives the node's edges, which go with what it kept.
    fn free(&self, node: &Node) -> Edges {
        self.forget(node);
        if self.keep {
            return node.edges.borrow().clone();
        }
        std::mem::take(&mut *node.edges.borrow_mut())
    }

    fn send(&mut self, engine: &Engine, edge: Edge, grad: Tensor) -> Result<()> {
        match edge {
            Edge::None => {}
            Edge::Leaf(leaf) => {
                if !self.capture {
                    accumulate(engine, &mut self.leaves, leaf, grad, Rc::ptr_eq)?;
                } else {
                    let key = CaptureKey::Leaf(Rc::as_ptr(&leaf));
                    if self.wanted.contains(&Some(key)) {
                        accumulate(engine, &mut self.captured, key, grad, |a, b| a == b)?;
                    }
                }
            }
            Edge::Node(node, i) => {
                if self.begun(node.seq, i).is_some()
                    && let Some(Some(old)) =
                        self.waiting_grads(node.clone()).get(i as usize).cloned()
                {
                    self.complete(engine, (node.seq, i), &old)?;
                }
                let grads = self.waiting_grads(node);
                let Some(slot) = grads.get_mut(i as usize) else { return Ok(()) };
                *slot = Some(match slot.take() {
                    Some(old) => engine.accumulate(old, grad)?,
                    None => grad,
                });
            }
        }
        Ok(())
    }

    /// What has arrived at a node; it waits from now on.
    fn waiting_grads(&mut self, node: Rc<Node>) -> &mut Arrived {
        let seq = node.seq;
        let newest = self.newest.as_ref().map(|(n, _)| n.seq);
        if newest.is_none_or(|n| n < seq) && self.queue.peek().is_none_or(|q| *q < seq) {
            let none = nothing_yet(&node);
            if let Some((old, grads)) = self.newest.take() {
                self.queue.push(old.seq);
                self.pending.insert(old.seq, (old, grads));
            }
            return &mut self.newest.insert((node, none)).1;
        }
        match &mut self.newest {
            Some((n, grads)) if n.seq == seq => grads,
            _ => {
                let queue = &mut self.queue;
                let entry = self.pending.entry(seq).or_insert_with(|| {
                    queue.push(seq);
                    let none = nothing_yet(&node);
                    (node, none)
                });
                &mut entry.1
            }
        }
    }

    /// The gradients of the wanted inputs; leaves get theirs where none were wanted.
    pub fn finish(self, engine: &Engine) -> Result<Vec<Option<Tensor>>> {
        let _mode = engine.grad_mode(self.create_graph);
        // All sums first: a failure must leave every `grad` as it was.
        let mut sums = Vec::with_capacity(self.leaves.len());
        for (leaf, grad) in self.leaves {
            let old = leaf.grad.borrow().clone();
            let sum = match old {
                Some(mut old) => {
                    refresh(engine, &mut old)?;
                    engine.add(&old, &grad)?
                }
                // Two leaves may have got the same tensor; a later in-place op on one gradient
                // must not change the other.
                None if grad.storage.is_unique() && grad.layout.is_contiguous() => grad,
                None => engine.clone_tensor(&grad)?,
            };
            sums.push((leaf, sum));
        }
        for (leaf, sum) in sums {
            *leaf.grad.borrow_mut() = Some(sum);
        }
        let captured = self.captured;
        Ok(self
            .wanted
            .iter()
            .map(|w| {
                let w = (*w)?;
                captured.iter().find(|(k, _)| *k == w).map(|(_, g)| g.clone())
            })
            .collect())
    }
}

/// Whether the inputs of a node get its output's gradient as it is.
fn hands_on(engine: &Engine, node: &Node) -> bool {
    let Kind::Op(op, None) = node.kind else { return false };
    engine.quick.hands_on(op)
        && node.saved.borrow().is_some()
        && node.inputs.iter().all(|i| !matches!(i, Input::Tensor(_)))
        && !engine.watches_nan()
}

fn nothing_yet(node: &Node) -> Arrived {
    match &node.outputs[..] {
        [_] => smallvec![None],
        all => all.iter().map(|_| None).collect(),
    }
}

fn accumulate<K>(
    engine: &Engine,
    list: &mut Vec<(K, Tensor)>,
    key: K,
    grad: Tensor,
    same: impl Fn(&K, &K) -> bool,
) -> Result<()> {
    if let Some(at) = list.iter().position(|(k, _)| same(k, &key)) {
        let (key, old) = list.swap_remove(at);
        list.push((key, engine.accumulate(old, grad)?));
    } else {
        list.push((key, grad));
    }
    Ok(())
}

fn already_freed() -> Error {
    Error::autograd(
        "the graph was already freed by an earlier backward(); pass { retainGraph: true } to the \
         first one to walk it again",
    )
}

fn custom_call(
    engine: &Engine,
    node: &Rc<Node>,
    custom: &Custom,
    grads: &Arrived,
    last: bool,
) -> Result<CustomCall> {
    let saved = node.saved.borrow();
    let saved = saved.as_ref().ok_or_else(already_freed)?;
    let grads = grads
        .iter()
        .zip(&node.outputs)
        .map(|(g, meta)| match g {
            Some(g) => Ok(g.clone()),
            None => engine.full(&meta.shape, 0.0, meta.dtype),
        })
        .collect::<Result<_>>()?;
    let saved = saved
        .iter()
        .map(|(from, kept)| {
            let edge = match from {
                Place::Custom(Origin::Edge(edge)) => edge.clone(),
                Place::Custom(Origin::Output(i)) => Edge::Node(node.clone(), *i),
                Place::Input(_) | Place::Output(_) => Edge::None,
            };
            restore(&custom.name, Some(kept), edge)
        })
        .collect::<Result<_>>()?;
    Ok(CustomCall { token: custom.token, grads, saved, last })
}

/// A gradient that a user's function gave, at its input's shape and dtype.
fn fitted(engine: &Engine, node: &Node, i: usize, g: Tensor, meta: &TensorMeta) -> Result<Tensor> {
    let wrong = || {
        Error::shape(format!(
            "{}: the gradient of input {i} has shape {}, expected the input's {}",
            node.name(),
            crate::layout::show(g.shape()),
            crate::layout::show(&meta.shape)
        ))
    };
    let fits = crate::layout::broadcast(g.shape(), &meta.shape)
        .is_ok_and(|shape| shape.as_slice() == g.shape());
    if !fits {
        return Err(wrong());
    }
    let g = engine.sum_to(&g, &meta.shape)?;
    if g.dtype == meta.dtype { Ok(g) } else { engine.cast(&g, meta.dtype) }
}

fn step(engine: &Engine, node: &Rc<Node>, grads: &Arrived) -> Result<Grads> {
    let saved = node.saved.borrow();
    let saved = saved.as_ref().ok_or_else(already_freed)?;
    match &node.kind {
        Kind::Custom(_) => Ok(Grads::new()),
        Kind::Op(op, attrs) => {
            let none = Attrs::new();
            let attrs = attrs.as_deref().unwrap_or(&none);
            let cx = VjpCx { engine, op: *op, attrs, grads, node, saved };
            match op.def().vjp {
                Vjp::Ops(f) => f(&cx),
                Vjp::Expression => crate::sym::expression_vjp(&cx),
                Vjp::None(_) | Vjp::OfParts => Ok(Grads::new()),
            }
        }
    }
}
