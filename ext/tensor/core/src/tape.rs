//! The autograd tape: nodes recorded by ops, walked once by a backward pass.
//!
//! Invariants: a node keeps only the inputs and outputs that its row's derivative reads; a walk
//! frees them as it goes unless the graph is kept; nothing here recurses, so chains of any
//! length are fine. Deliberately not here: the derivatives (rows and `ops`).

use crate::attr::Attrs;
use crate::dtype::DType;
use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::layout::Dims;
use crate::table::{Grads, OUT, OUT1, Op, Reads, Vjp, input};
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;
use std::rc::Rc;

/// Where a tensor's gradient goes.
#[derive(Clone, Default)]
pub enum Edge {
    #[default]
    None,
    /// A leaf: gradients accumulate there.
    Leaf(Rc<Leaf>),
    /// Output `.1` of a recorded op.
    Node(Rc<Node>, u32),
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Edge::None => f.write_str("None"),
            Edge::Leaf(_) => f.write_str("Leaf"),
            Edge::Node(n, i) => write!(f, "Node({}#{i})", n.name()),
        }
    }
}

/// A tensor that the user asked gradients for.
#[derive(Default)]
pub struct Leaf {
    pub grad: RefCell<Option<Tensor>>,
}

/// A user-defined step of the tape (`autograd.Function`, `checkpoint`): gets one gradient per
/// output and gives one per input.
pub trait CustomVjp {
    fn name(&self) -> &str;
    fn backward(&self, engine: &Engine, grads: &[Option<Tensor>]) -> Result<Grads>;
}

enum Kind {
    Op { op: Op, attrs: Attrs },
    Custom(Box<dyn CustomVjp>),
}

/// A tensor kept for the backward pass, without its edge: that would make a cycle for outputs
/// and is known from the node for inputs.
struct Saved {
    tensor: Tensor,
    version: u32,
}

/// What a derivative must know of an input or output even if it was not kept.
#[derive(Clone, Debug)]
pub struct TensorMeta {
    pub shape: Dims,
    pub dtype: DType,
}

impl TensorMeta {
    fn of(t: &Tensor) -> TensorMeta {
        TensorMeta { shape: Dims::from_slice(&t.layout.shape), dtype: t.dtype }
    }
}

/// What a node knows of an argument.
enum Input {
    Absent,
    Scalar(f64),
    /// A tensor of the shape and dtype of output 0, which most are.
    LikeOutput,
    Tensor(Box<TensorMeta>),
}

impl Input {
    fn of(t: &Tensor, outputs: &[Tensor]) -> Input {
        match outputs.first() {
            Some(o) if o.dtype == t.dtype && o.layout.shape == t.layout.shape => Input::LikeOutput,
            _ => Input::Tensor(Box::new(TensorMeta::of(t))),
        }
    }
}

/// One recorded op. Small, since a chain of tiny ops makes one for each.
pub struct Node {
    seq: u64,
    kind: Kind,
    edges: RefCell<SmallVec<[Edge; 2]>>,
    inputs: SmallVec<[Input; 2]>,
    outputs: SmallVec<[TensorMeta; 1]>,
    /// `None` after the node was freed.
    saved: RefCell<Option<SavedSet>>,
}

/// Saved inputs and outputs with their positions; no allocation where nothing is saved.
#[derive(Default)]
struct SavedSet {
    inputs: Vec<(u8, Saved)>,
    outputs: Vec<(u8, Saved)>,
}

fn find(list: &[(u8, Saved)], i: usize) -> Option<&Saved> {
    list.iter().find(|(at, _)| *at as usize == i).map(|(_, saved)| saved)
}

impl Node {
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Op { op, .. } => op.name(),
            Kind::Custom(c) => c.name(),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A chain of nodes is taken apart by a list, not by recursion.
        let mut pending: Vec<Edge> = self.edges.get_mut().drain(..).collect();
        while let Some(edge) = pending.pop() {
            if let Edge::Node(node, _) = edge
                && let Some(mut last) = Rc::into_inner(node)
            {
                pending.extend(last.edges.get_mut().drain(..));
            }
        }
    }
}

/// Records `op` on its outputs where a gradient is wanted.
pub fn record(engine: &Engine, op: Op, args: &[Arg], attrs: &Attrs, outputs: &mut [Tensor]) {
    let def = op.def();
    if matches!(def.vjp, Vjp::None(_) | Vjp::OfParts) || !engine.grad_enabled() {
        return;
    }
    if !wants_any(args) || !outputs.iter().any(|o| o.dtype.is_float()) {
        return;
    }
    let reads: Reads = args
        .iter()
        .zip(def.reads)
        .filter(|(a, _)| wants(a))
        .fold(0, |mask, (_, reads)| mask | reads);
    let save = |t: &Tensor| Saved { version: t.storage.version(), tensor: t.detach_plain() };
    let mut set = SavedSet::default();
    let mut edges = SmallVec::new();
    let mut inputs = SmallVec::new();
    for (i, a) in args.iter().enumerate() {
        let keep = i < 8 && reads & input(i as u32) != 0;
        match a {
            Arg::Tensor(t) => {
                edges.push(t.edge.clone());
                inputs.push(Input::of(t, outputs));
                if keep {
                    set.inputs.push((i as u8, save(t)));
                }
            }
            Arg::Scalar(s) => {
                edges.push(Edge::None);
                inputs.push(Input::Scalar(s.to_f64()));
            }
            Arg::Absent => {
                edges.push(Edge::None);
                inputs.push(Input::Absent);
            }
        }
    }
    for (i, bit) in [OUT, OUT1].into_iter().enumerate().take(outputs.len()) {
        if reads & bit != 0 {
            set.outputs.push((i as u8, save(&outputs[i])));
        }
    }
    push(engine, Kind::Op { op, attrs: attrs.clone() }, edges, inputs, set, outputs);
}

/// Records a user-defined step from `args` to `outputs`.
pub fn record_custom(
    engine: &Engine,
    custom: Box<dyn CustomVjp>,
    args: &[&Tensor],
    outputs: &mut [Tensor],
) {
    let edges = args.iter().map(|t| t.edge.clone()).collect();
    let inputs = args.iter().map(|t| Input::of(t, outputs)).collect();
    push(engine, Kind::Custom(custom), edges, inputs, SavedSet::default(), outputs);
}

fn push(
    engine: &Engine,
    kind: Kind,
    edges: SmallVec<[Edge; 2]>,
    inputs: SmallVec<[Input; 2]>,
    set: SavedSet,
    outputs: &mut [Tensor],
) {
    let node = Rc::new(Node {
        seq: engine.next_seq(),
        kind,
        edges: RefCell::new(edges),
        inputs,
        outputs: outputs.iter().map(TensorMeta::of).collect(),
        saved: RefCell::new(Some(set)),
    });
    for (i, out) in outputs.iter_mut().enumerate() {
        if out.dtype.is_float() {
            out.edge = Edge::Node(node.clone(), i as u32);
        }
    }
}

fn wants(arg: &Arg) -> bool {
    matches!(arg, Arg::Tensor(t) if t.requires_grad())
}

/// Whether any argument wants a gradient.
pub fn wants_any(args: &[Arg]) -> bool {
    args.iter().any(wants)
}

/// What a derivative works with.
pub struct VjpCx<'a> {
    pub engine: &'a Engine,
    pub op: Op,
    pub attrs: &'a Attrs,
    /// Gradients of the outputs.
    pub grads: &'a [Option<Tensor>],
    node: &'a Rc<Node>,
    saved: &'a SavedSet,
}

impl VjpCx<'_> {
    /// Whether input i wants a gradient.
    pub fn wants(&self, i: usize) -> bool {
        !matches!(self.node.edges.borrow().get(i), None | Some(Edge::None))
    }

    /// The gradient of output 0, zeros where none arrived.
    pub fn grad(&self) -> Result<Tensor> {
        self.grad_of(0)
    }

    pub fn grad_of(&self, i: usize) -> Result<Tensor> {
        match self.grads.get(i).and_then(Option::as_ref) {
            Some(g) => Ok(g.clone()),
            None => {
                let meta = &self.node.outputs[i];
                self.engine.full(&meta.shape, 0.0, meta.dtype)
            }
        }
    }

    /// Input i, which the row's `reads` kept.
    pub fn input(&self, i: usize) -> Result<Tensor> {
        let saved = find(&self.saved.inputs, i);
        let edge = self.node.edges.borrow().get(i).cloned().unwrap_or_default();
        restore(self.op.name(), saved, edge)
    }

    pub fn has_input(&self, i: usize) -> bool {
        find(&self.saved.inputs, i).is_some()
    }

    /// The number that stood at argument i, if one did.
    pub fn scalar(&self, i: usize) -> Option<f64> {
        match self.node.inputs.get(i) {
            Some(Input::Scalar(v)) => Some(*v),
            _ => None,
        }
    }

    /// Output i, which the row's `reads` kept.
    pub fn output(&self, i: usize) -> Result<Tensor> {
        let saved = find(&self.saved.outputs, i);
        restore(self.op.name(), saved, Edge::Node(self.node.clone(), i as u32))
    }

    pub fn has_output(&self, i: usize) -> bool {
        find(&self.saved.outputs, i).is_some()
    }

    /// Shape and dtype of input i.
    pub fn meta(&self, i: usize) -> Result<&TensorMeta> {
        match self.node.inputs.get(i) {
            Some(Input::LikeOutput) => Ok(&self.node.outputs[0]),
            Some(Input::Tensor(meta)) => Ok(meta),
            _ => Err(Error::autograd(format!("{}: input {i} is not a tensor", self.op.name()))),
        }
    }

    pub fn arity(&self) -> usize {
        self.node.inputs.len()
    }

    /// `g` summed over the dimensions along which input i was broadcast.
    pub fn unbroadcast(&self, g: Tensor, i: usize) -> Result<Tensor> {
        self.engine.sum_to(&g, &self.meta(i)?.shape.clone())
    }
}

fn restore(op: &str, saved: Option<&Saved>, edge: Edge) -> Result<Tensor> {
    let saved =
        saved.ok_or_else(|| Error::autograd(format!("{op}: a value that was not kept is read")))?;
    if saved.tensor.storage.version() != saved.version {
        return Err(Error::autograd(format!(
            "{op}: a tensor of shape {} that its gradient needs was changed in place after {op} read it \
             (version {}, expected {}); use an out-of-place op or clone() first",
            crate::layout::show(saved.tensor.shape()),
            saved.tensor.storage.version(),
            saved.version
        )));
    }
    Ok(Tensor { edge, ..saved.tensor.clone() })
}

/// What a backward pass does with its results.
pub struct Backward<'a> {
    pub roots: Vec<(Tensor, Tensor)>,
    /// Gradients wanted by value; leaves accumulate into `grad` where this is `None`.
    pub inputs: Option<&'a [Tensor]>,
    pub retain_graph: bool,
    pub create_graph: bool,
}

type NodeKey = u64;

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

struct Walk {
    pending: HashMap<NodeKey, (Rc<Node>, Grads), BuildHasherDefault<SeqHasher>>,
    queue: BinaryHeap<NodeKey>,
    leaves: Vec<(Rc<Leaf>, Tensor)>,
    captured: Vec<(CaptureKey, Tensor)>,
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
/// On an error no `grad` has changed.
pub fn backward(engine: &Engine, pass: Backward) -> Result<Vec<Option<Tensor>>> {
    walk(engine, pass).map_err(|e| e.in_op("backward"))
}

fn walk(engine: &Engine, pass: Backward) -> Result<Vec<Option<Tensor>>> {
    let _mode = engine.grad_mode(pass.create_graph);
    let wanted: Vec<Option<CaptureKey>> =
        pass.inputs.unwrap_or_default().iter().map(|t| capture_key(&t.edge)).collect();
    let mut walk = Walk {
        pending: HashMap::default(),
        queue: BinaryHeap::new(),
        leaves: Vec::new(),
        captured: Vec::new(),
    };
    let capture = pass.inputs.is_some();
    for (root, seed) in pass.roots {
        walk.send(engine, root.edge, seed, capture, &wanted)?;
    }
    while let Some(seq) = walk.queue.pop() {
        let Some((node, grads)) = walk.pending.remove(&seq) else { continue };
        for (i, g) in grads.iter().enumerate() {
            let key = CaptureKey::Node(seq, i as u32);
            if let Some(g) = g
                && wanted.contains(&Some(key))
            {
                walk.captured.push((key, g.clone()));
            }
        }
        let results = step(engine, &node, &grads)?;
        drop(grads);
        let edges: SmallVec<[Edge; 2]> = node.edges.borrow().clone();
        if !pass.retain_graph && !pass.create_graph {
            *node.saved.borrow_mut() = None;
        }
        for (edge, grad) in edges.into_iter().zip(results) {
            if let Some(grad) = grad {
                walk.send(engine, edge, grad, capture, &wanted)?;
            }
        }
    }
    walk.finish(engine, &wanted)
}

impl Walk {
    fn send(
        &mut self,
        engine: &Engine,
        edge: Edge,
        grad: Tensor,
        capture: bool,
        wanted: &[Option<CaptureKey>],
    ) -> Result<()> {
        match edge {
            Edge::None => {}
            Edge::Leaf(leaf) => {
                if !capture {
                    accumulate(engine, &mut self.leaves, leaf, grad, Rc::ptr_eq)?;
                } else {
                    let key = CaptureKey::Leaf(Rc::as_ptr(&leaf));
                    if wanted.contains(&Some(key)) {
                        accumulate(engine, &mut self.captured, key, grad, |a, b| a == b)?;
                    }
                }
            }
            Edge::Node(node, i) => {
                let seq = node.seq;
                let outputs = node.outputs.len();
                let entry = self.pending.entry(seq).or_insert_with(|| {
                    self.queue.push(seq);
                    (node, smallvec::smallvec![None; outputs])
                });
                let slot = &mut entry.1[i as usize];
                *slot = Some(match slot.take() {
                    Some(old) => engine.accumulate(old, grad)?,
                    None => grad,
                });
            }
        }
        Ok(())
    }

    fn finish(self, engine: &Engine, wanted: &[Option<CaptureKey>]) -> Result<Vec<Option<Tensor>>> {
        // All sums first: a failure must leave every `grad` as it was.
        let mut sums = Vec::with_capacity(self.leaves.len());
        for (leaf, grad) in self.leaves {
            let old = leaf.grad.borrow().clone();
            let sum = match old {
                Some(old) => engine.add(&old, &grad)?,
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
        Ok(wanted
            .iter()
            .map(|w| {
                let w = (*w)?;
                captured.iter().find(|(k, _)| *k == w).map(|(_, g)| g.clone())
            })
            .collect())
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

fn step(engine: &Engine, node: &Rc<Node>, grads: &Grads) -> Result<Grads> {
    let saved = node.saved.borrow();
    let Some(saved) = saved.as_ref() else {
        return Err(Error::autograd(
            "the graph was already freed by an earlier backward(); pass { retainGraph: true } to \
             the first one to walk it again",
        ));
    };
    match &node.kind {
        Kind::Custom(c) => c.backward(engine, grads),
        Kind::Op { op, attrs } => {
            let cx = VjpCx { engine, op: *op, attrs, grads, node, saved };
            match op.def().vjp {
                Vjp::Ops(f) => f(&cx),
                Vjp::Expression => crate::sym::expression_vjp(&cx),
                Vjp::None(_) | Vjp::OfParts => Ok(Grads::new()),
            }
        }
    }
}

impl Tensor {
    fn detach_plain(&self) -> Tensor {
        Tensor {
            storage: self.storage.clone(),
            layout: self.layout.clone(),
            dtype: self.dtype,
            edge: Edge::None,
            is_view: self.is_view,
        }
    }
}
