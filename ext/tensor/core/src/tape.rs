//! The autograd tape: nodes recorded by ops, walked once by a backward pass.
//!
//! Invariants: a node keeps only the inputs and outputs that its row's derivative reads; a walk
//! frees them as it goes unless the graph is kept; nothing here recurses, so chains of any
//! length are fine. Deliberately not here: the derivatives (rows and `ops`).

mod in_place;
mod nodes;
mod pieces;
mod views;
mod walk;

pub use in_place::{record_in_place, record_overwrite, records_in_place};
pub use nodes::{node_bytes, weigh_too_much};
pub use views::{Base, ViewKind, link_views, refresh, refuse_stale};
pub use walk::{Backward, CustomCall, Walk, backward};

use crate::attr::Attrs;
use crate::dtype::DType;
use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, copy_dims};
use crate::storage::Storage;
use crate::table::{OUT, OUT1, Op, Reads, Vjp, input};
use crate::tensor::Tensor;
use nodes::{blank, recycle, recycle_all};
use smallvec::SmallVec;
use std::cell::RefCell;
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
    /// `None`: the row has no attributes.
    Op(Op, Option<Box<Attrs>>),
    Custom(Box<Custom>),
}

/// A tensor kept for the backward pass, without its edge and its base: those would make a cycle for
/// outputs, and the edge is known from the node for inputs.
struct Saved {
    tensor: Tensor,
    version: u32,
}

impl Saved {
    #[inline]
    fn of(t: &Tensor) -> Saved {
        Saved { version: t.storage.version(), tensor: t.detach() }
    }
}

/// What a derivative must know of an input or output even if it was not kept.
#[derive(Clone, Debug)]
pub struct TensorMeta {
    pub shape: Dims,
    pub dtype: DType,
}

impl TensorMeta {
    fn of(t: &Tensor) -> TensorMeta {
        TensorMeta { shape: copy_dims(&t.layout.shape), dtype: t.dtype }
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
    #[inline]
    fn of(t: &Tensor, output: Option<&Tensor>) -> Input {
        match output {
            Some(o) if std::ptr::eq(o, t) => Input::LikeOutput,
            Some(o) if o.dtype == t.dtype && o.layout.shape == t.layout.shape => Input::LikeOutput,
            _ => Input::Tensor(Box::new(TensorMeta::of(t))),
        }
    }
}

/// One recorded op. Small, since a chain of tiny ops makes one for each.
pub struct Node {
    seq: u64,
    kind: Kind,
    /// Where the gradients of the inputs go; empty after the node was freed.
    edges: RefCell<Edges>,
    inputs: SmallVec<[Input; 2]>,
    outputs: SmallVec<[TensorMeta; 1]>,
    /// `None` after the node was freed.
    saved: RefCell<Option<SavedSet>>,
}

type Edges = SmallVec<[Edge; 2]>;
/// What a node kept; no allocation where that is nothing.
type SavedSet = Vec<(Place, Saved)>;

/// What a kept tensor was to its node.
enum Place {
    Input(u8),
    Output(u8),
    /// A user-defined step kept it; its gradient goes there.
    Custom(Origin),
}

fn find_input(set: &SavedSet, i: usize) -> Option<&Saved> {
    set.iter().find(|(at, _)| matches!(at, Place::Input(at) if *at as usize == i)).map(|(_, s)| s)
}

fn find_output(set: &SavedSet, i: usize) -> Option<&Saved> {
    set.iter().find(|(at, _)| matches!(at, Place::Output(at) if *at as usize == i)).map(|(_, s)| s)
}

impl Default for Node {
    fn default() -> Node {
        Node {
            seq: 0,
            kind: Kind::Op(Op::Copy, None),
            edges: RefCell::default(),
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            saved: RefCell::default(),
        }
    }
}

impl Node {
    /// Notes the arguments of an op in an empty node; gives those that its gradients `reads`.
    #[inline]
    fn read(&mut self, args: &[Arg], reads: Reads, output: Option<&Tensor>) -> SavedSet {
        let mut saved = SavedSet::new();
        let edges = self.edges.get_mut();
        for (i, a) in args.iter().enumerate() {
            let (edge, known) = match a {
                Arg::Tensor(t) => {
                    if i < 8 && reads & input(i as u32) != 0 {
                        saved.push((Place::Input(i as u8), Saved::of(t)));
                    }
                    (t.edge.clone(), Input::of(t, output))
                }
                Arg::Scalar(s) => (Edge::None, Input::Scalar(s.to_f64())),
                Arg::Absent => (Edge::None, Input::Absent),
            };
            edges.push(edge);
            self.inputs.push(known);
        }
        saved
    }

    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Op(op, _) => op.name(),
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
        recycle_all(std::mem::take(self.edges.get_mut()));
        nodes::gone();
    }
}

/// What the gradients of those of `args` that want one will read.
#[inline]
pub fn reads(op: Op, args: &[Arg]) -> Reads {
    let each = args.iter().zip(op.def().reads);
    each.filter(|(a, _)| wants(a)).fold(0, |mask, (_, reads)| mask | reads)
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
    let mut node = blank(engine.pool.shared());
    let Some(at) = Rc::get_mut(&mut node) else { return };
    let reads = reads(op, args);
    at.seq = engine.next_seq();
    at.kind = Kind::Op(op, (!attrs.is_empty()).then(|| Box::new(attrs.clone())));
    let mut saved = at.read(args, reads, outputs.first());
    for (i, bit) in [OUT, OUT1].into_iter().enumerate().take(outputs.len()) {
        if reads & bit != 0 {
            saved.push((Place::Output(i as u8), Saved::of(&outputs[i])));
        }
    }
    at.saved = RefCell::new(Some(saved));
    at.outputs.extend(outputs.iter().map(TensorMeta::of));
    if engine.watches_nan() {
        engine.note_nan(at.seq, outputs);
    }
    attach(node, outputs);
}

/// As [`record`] for an elementwise float row without attributes whose output is `made`, laid out
/// as `like`, one of `args`, from the first byte on. Gives the output's node.
#[inline]
pub fn record_like(
    engine: &Engine,
    op: Op,
    args: &[Arg],
    like: &Tensor,
    made: &Storage,
) -> Option<Rc<Node>> {
    if matches!(op.def().vjp, Vjp::None(_) | Vjp::OfParts) {
        return None;
    }
    if !engine.grad_enabled() {
        engine.skip();
        return None;
    }
    let mut node = blank(engine.pool.shared());
    let at = Rc::get_mut(&mut node)?;
    let reads = reads(op, args);
    at.seq = engine.next_seq();
    at.kind = Kind::Op(op, None);
    let mut saved = at.read(args, reads, Some(like));
    let watched = engine.watches_nan();
    if watched || reads & OUT != 0 {
        let layout = Layout { offset: 0, ..like.layout.clone() };
        let out = Tensor::new(made.clone(), layout, like.dtype);
        if reads & OUT != 0 {
            saved.push((Place::Output(0), Saved::of(&out)));
        }
        if watched {
            engine.note_nan(at.seq, std::slice::from_ref(&out));
        }
    }
    at.saved = RefCell::new(Some(saved));
    at.outputs.push(TensorMeta::of(like));
    Some(node)
}

/// Records a user-defined step from `args` to `outputs`, which keeps `saved` for its turn.
pub fn record_custom(
    engine: &Engine,
    custom: Custom,
    args: &[Tensor],
    saved: &[Tensor],
    outputs: &mut [Tensor],
) {
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
    let mut node = blank(engine.pool.shared());
    let Some(at) = Rc::get_mut(&mut node) else { return };
    at.seq = engine.next_seq();
    at.kind = Kind::Custom(Box::new(custom));
    at.edges.get_mut().extend(args.iter().map(|t| t.edge.clone()));
    at.inputs.extend(args.iter().map(|t| Input::of(t, outputs.first())));
    let kept = saved.iter().map(|t| (Place::Custom(from(t)), Saved::of(t)));
    at.saved = RefCell::new(Some(kept.collect()));
    at.outputs.extend(outputs.iter().map(TensorMeta::of));
    if engine.watches_nan() {
        engine.note_nan(at.seq, outputs);
    }
    attach(node, outputs);
}

/// Where the gradient of a tensor that a user-defined step kept goes.
enum Origin {
    Edge(Edge),
    Output(u32),
}

/// Gives the outputs of a new node their edges.
fn attach(node: Rc<Node>, outputs: &mut [Tensor]) {
    if let [out] = outputs {
        out.edge = Edge::Node(node, 0);
        return;
    }
    for (i, out) in outputs.iter_mut().enumerate() {
        if out.dtype.is_float() {
            out.edge = Edge::Node(node.clone(), i as u32);
        }
    }
}

#[inline]
fn wants(arg: &Arg) -> bool {
    matches!(arg, Arg::Tensor(t) if t.requires_grad())
}

/// Whether any argument wants a gradient.
#[inline]
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
        let saved = find_input(self.saved, i);
        let edge = self.node.edges.borrow().get(i).cloned().unwrap_or_default();
        restore(self.op.name(), saved, edge)
    }

    pub fn has_input(&self, i: usize) -> bool {
        find_input(self.saved, i).is_some()
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
        let saved = find_output(self.saved, i);
        restore(self.op.name(), saved, Edge::Node(self.node.clone(), i as u32))
    }

    pub fn has_output(&self, i: usize) -> bool {
        find_output(self.saved, i).is_some()
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
        let meta = self.meta(i)?;
        if g.shape() == meta.shape.as_slice() {
            return Ok(g);
        }
        self.engine.sum_to(&g, &meta.shape)
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
