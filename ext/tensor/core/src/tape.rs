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

/// Tokens of user-defined steps whose nodes are gone.
pub type DeadTokens = Rc<RefCell<Vec<u64>>>;

/// A user-defined step of the tape (`autograd.Function`, `checkpoint`). Who walks the tape calls
/// it, by its token; the tape only tells when it is its turn.
pub struct Custom {
    pub token: u64,
    pub name: String,
    pub dead: DeadTokens,
}

impl Drop for Custom {
    fn drop(&mut self) {
        self.dead.borrow_mut().push(self.token);
    }
}

enum Kind {
    Op { op: Op, attrs: Attrs },
    Custom(Custom),
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
    custom: Vec<(Saved, Origin)>,
}

fn find(list: &[(u8, Saved)], i: usize) -> Option<&Saved> {
    list.iter().find(|(at, _)| *at as usize == i).map(|(_, saved)| saved)
}

impl Node {
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Op { op, .. } => op.name(),
            Kind::Custom(c) => &c.name,
        }
    }

    fn input_meta(&self, i: usize) -> Option<&TensorMeta> {
        match self.inputs.get(i)? {
            Input::LikeOutput => self.outputs.first(),
            Input::Tensor(meta) => Some(meta),
            Input::Absent | Input::Scalar(_) => None,
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
    if matches!(def.vjp, Vjp::None(_) | Vjp::OfParts) {
        return;
    }
    if !wants_any(args) || !outputs.iter().any(|o| o.dtype.is_float()) {
        return;
    }
    if !engine.grad_enabled() {
        return engine.skip();
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

/// Records a user-defined step from `args` to `outputs`, which keeps `saved` for its turn.
pub fn record_custom(
    engine: &Engine,
    custom: Custom,
    args: &[Tensor],
    saved: &[Tensor],
    outputs: &mut [Tensor],
) {
    let edges = args.iter().map(|t| t.edge.clone()).collect();
    let inputs = args.iter().map(|t| Input::of(t, outputs)).collect();
    // An output keeps no edge to its own node: that would be a cycle.
    let from = |t: &Tensor| {
        let same = |o: &&Tensor| o.storage.same(&t.storage) && o.layout == t.layout;
        match args.iter().find(same) {
            Some(input) => Origin::Edge(input.edge.clone()),
            None => match outputs.iter().position(|o| same(&o)) {
                Some(i) => Origin::Output(i as u32),
                None => Origin::Edge(t.edge.clone()),
            },
        }
    };
    let custom_saved = saved
        .iter()
        .map(|t| {
            let version = t.storage.version();
            (Saved { version, tensor: t.detach_plain() }, from(t))
        })
        .collect();
    let set = SavedSet { custom: custom_saved, ..SavedSet::default() };
    push(engine, Kind::Custom(custom), edges, inputs, set, outputs);
}

/// Where the gradient of a tensor that a user-defined step kept goes.
enum Origin {
    Edge(Edge),
    Output(u32),
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
        self.node.input_meta(i).ok_or_else(|| {
            Error::autograd(format!("{}: input {i} is not a tensor", self.op.name()))
        })
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

/// A backward pass that can stop for user-defined steps and go on.
pub struct Walk {
    pending: HashMap<NodeKey, (Rc<Node>, Grads), BuildHasherDefault<SeqHasher>>,
    queue: BinaryHeap<NodeKey>,
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

impl Walk {
    pub fn start(engine: &Engine, pass: Backward) -> Result<Walk> {
        let inputs = pass.inputs.unwrap_or_default();
        let mut walk = Walk {
            pending: HashMap::default(),
            queue: BinaryHeap::new(),
            leaves: Vec::new(),
            captured: Vec::new(),
            wanted: inputs.iter().map(|t| capture_key(&t.edge)).collect(),
            capture: pass.inputs.is_some(),
            keep: pass.retain_graph || pass.create_graph,
            create_graph: pass.create_graph,
            waiting: None,
        };
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
        let edges: SmallVec<[Edge; 2]> = node.edges.borrow().clone();
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
        while let Some(seq) = self.queue.pop() {
            let Some((node, grads)) = self.pending.remove(&seq) else { continue };
            for (i, g) in grads.iter().enumerate() {
                let key = CaptureKey::Node(seq, i as u32);
                if let Some(g) = g
                    && self.wanted.contains(&Some(key))
                {
                    self.captured.push((key, g.clone()));
                }
            }
            if let Kind::Custom(custom) = &node.kind {
                let call = custom_call(engine, &node, custom, &grads, !self.keep)?;
                self.forget(&node);
                self.waiting = Some(node);
                return Ok(Some(call));
            }
            let results = step(engine, &node, &grads)?;
            drop(grads);
            engine.refuse_nan(node.seq, node.name(), &results)?;
            let edges: SmallVec<[Edge; 2]> = node.edges.borrow().clone();
            self.forget(&node);
            for (edge, grad) in edges.into_iter().zip(results) {
                if let Some(grad) = grad {
                    self.send(engine, edge, grad)?;
                }
            }
        }
        Ok(None)
    }

    /// Frees what a node kept, unless the graph is to be walked again.
    fn forget(&self, node: &Node) {
        if !self.keep {
            *node.saved.borrow_mut() = None;
        }
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

    /// The gradients of the wanted inputs; leaves get theirs where none were wanted.
    pub fn finish(self, engine: &Engine) -> Result<Vec<Option<Tensor>>> {
        let _mode = engine.grad_mode(self.create_graph);
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
    grads: &Grads,
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
        .custom
        .iter()
        .map(|(kept, from)| {
            let edge = match from {
                Origin::Edge(edge) => edge.clone(),
                Origin::Output(i) => Edge::Node(node.clone(), *i),
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

fn step(engine: &Engine, node: &Rc<Node>, grads: &Grads) -> Result<Grads> {
    let saved = node.saved.borrow();
    let saved = saved.as_ref().ok_or_else(already_freed)?;
    match &node.kind {
        Kind::Custom(_) => Ok(Grads::new()),
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
