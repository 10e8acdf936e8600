//! Runs rows of the op table: promotion, broadcasting, output allocation, kernel, tape.
//!
//! Invariant: a call either returns its outputs or leaves every tensor as it was. The one place
//! that decides about overwriting an operand is [`Engine::reusable`].

mod in_place;
mod parts;

pub use in_place::in_place_name;
pub(crate) use in_place::refuse_overlap;

use crate::attr::{Attr, Attrs, AttrsExt};
use crate::backend::{Backend, Call, Input, KernelId, View};
use crate::dtype::{DType, Operand, Scalar, result_type};
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, broadcast, check_dims, checked_numel};
use crate::pool::HostPool;
use crate::quick::Quick;
use crate::storage::Storage;
use crate::table::{InferFn, Kind, Meta, Op, OpDef, Outputs, Rule, ViewFn};
use crate::tape;
use crate::tensor::Tensor;
use crate::watch::Watch;
use smallvec::{SmallVec, smallvec};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// An argument of an op.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    Tensor(&'a Tensor),
    Scalar(Scalar),
    Absent,
}

impl<'a> Arg<'a> {
    pub fn tensor(self) -> Option<&'a Tensor> {
        match self {
            Arg::Tensor(t) => Some(t),
            _ => None,
        }
    }

    fn operand(self) -> Option<Operand> {
        match self {
            Arg::Tensor(t) if t.ndim() == 0 => Some(Operand::ZeroDim(t.dtype)),
            Arg::Tensor(t) => Some(Operand::Dim(t.dtype)),
            Arg::Scalar(s) => Some(Operand::Scalar(s)),
            Arg::Absent => None,
        }
    }
}

/// Converted inputs that a call must keep alive; `None`, or no entry, where the argument serves
/// as it is.
type Converted = Vec<Option<Tensor>>;

/// One isolate's engine.
pub struct Engine {
    pub pool: Arc<HostPool>,
    pub backend: Arc<dyn Backend>,
    pub(crate) quick: Quick,
    grad_enabled: Cell<bool>,
    seq: Cell<u64>,
    seed: Cell<u64>,
    draws: Cell<u64>,
    skipped: Cell<u64>,
    /// While NaN is watched for: where recorded ops were called, and which of them gave NaN.
    pub(crate) watch: RefCell<Option<Watch>>,
}

/// Restores the grad mode when it goes.
pub struct GradMode<'a> {
    engine: &'a Engine,
    old: bool,
}

impl Drop for GradMode<'_> {
    fn drop(&mut self) {
        self.engine.grad_enabled.set(self.old);
    }
}

impl Engine {
    pub fn new(backend: Arc<dyn Backend>, pool: Arc<HostPool>) -> Engine {
        Engine {
            pool,
            quick: Quick::new(&*backend),
            backend,
            grad_enabled: Cell::new(true),
            seq: Cell::new(0),
            seed: Cell::new(0x5eed),
            draws: Cell::new(0),
            skipped: Cell::new(0),
            watch: RefCell::new(None),
        }
    }

    pub fn grad_enabled(&self) -> bool {
        self.grad_enabled.get()
    }

    /// Sets the grad mode for good; the old one is returned.
    pub fn set_grad_enabled(&self, on: bool) -> bool {
        self.grad_enabled.replace(on)
    }

    /// Sets the grad mode until the guard goes.
    pub fn grad_mode(&self, on: bool) -> GradMode<'_> {
        GradMode { engine: self, old: self.grad_enabled.replace(on) }
    }

    pub fn next_seq(&self) -> u64 {
        let seq = self.seq.get();
        self.seq.set(seq + 1);
        seq
    }

    /// Restarts the random numbers: equal seeds give equal sequences.
    pub fn manual_seed(&self, seed: u64) {
        self.seed.set(seed);
        self.draws.set(0);
    }

    /// Key and counter for one random op over `n` elements.
    pub fn draw(&self, n: usize) -> (u64, u64) {
        let at = self.draws.get();
        self.draws.set(at.wrapping_add(n as u64));
        (self.seed.get(), at)
    }

    /// The seed and how many numbers were drawn with it.
    pub fn random_state(&self) -> (u64, u64) {
        (self.seed.get(), self.draws.get())
    }

    pub fn set_random_state(&self, (seed, draws): (u64, u64)) {
        self.seed.set(seed);
        self.draws.set(draws);
    }

    /// Calls that wanted a gradient while none was recorded.
    pub fn skipped(&self) -> u64 {
        self.skipped.get()
    }

    pub fn skip(&self) {
        self.skipped.set(self.skipped.get() + 1);
    }

    /// The number that the next recorded op gets.
    pub fn seq(&self) -> u64 {
        self.seq.get()
    }

    /// An uninitialised tensor; a kernel must write all of it.
    #[inline]
    pub fn empty(&self, shape: &[usize], dtype: DType) -> Result<Tensor> {
        let n = checked_numel(shape)?;
        let storage = Storage::new(&self.pool, n * dtype.size())?;
        Ok(Tensor::new(storage, Layout::contiguous(shape), dtype))
    }

    /// Calls a row with attributes in the order of the table.
    pub fn call(&self, op: Op, args: &[Arg], attrs: &Attrs) -> Result<Outputs> {
        if attrs.is_empty()
            && let Some(out) = self.quick_call(op, args)
        {
            return out.map(|out| smallvec![out]);
        }
        self.call_donating(op, args, attrs, 0)
    }

    /// As [`Engine::call`]. Bit i of `donated` says that the caller gives its only handle on
    /// argument i away if the call succeeds, so that its bytes may take the result.
    pub fn call_donating(
        &self,
        op: Op,
        args: &[Arg],
        attrs: &Attrs,
        donated: u8,
    ) -> Result<Outputs> {
        let def = op.def();
        let run = || -> Result<Outputs> {
            if self.grad_enabled() {
                tape::refuse_stale(args)?;
            }
            match def.rule {
                Rule::Unary(kind) => self.unary(op, kind, args, attrs, donated),
                Rule::Predicate => self.predicate(op, args),
                Rule::Binary(kind) => self.binary(op, kind, args, attrs, donated),
                Rule::Compare => self.compare(op, args),
                Rule::Bits => self.bits(op, args, donated),
                Rule::Select => self.select(op, args),
                Rule::View(f) => self.view(op, f, args, attrs),
                Rule::Kernel(infer) => self.kernel(op, infer, args, attrs),
                // Whatever part of it fails, the user called this one.
                Rule::Composite(f) => f(self, args, attrs).map_err(|e| e.of_op(def.name)),
                Rule::Raw(f) => self.raw(op, f, args, attrs).map_err(|e| e.of_op(def.name)),
            }
        };
        run().map_err(|e| e.in_op(def.name))
    }

    /// As [`Engine::call`] for rows with one output.
    pub fn call1(&self, op: Op, args: &[Arg], attrs: &Attrs) -> Result<Tensor> {
        only(self.call(op, args, attrs)?)
    }

    fn unary(
        &self,
        op: Op,
        kind: Kind,
        args: &[Arg],
        attrs: &Attrs,
        donated: u8,
    ) -> Result<Outputs> {
        let x = tensor_arg(op.def(), args, 0)?;
        let dtype = match kind {
            Kind::Float => x.dtype.to_float(),
            // Booleans have these two and, as in PyTorch, no other.
            Kind::Num if op == Op::Sign && x.dtype == DType::Bool => {
                return Ok(smallvec![self.clone_tensor(x)?]);
            }
            Kind::Num if op == Op::Square && x.dtype == DType::Bool => DType::I64,
            Kind::Num => numeric(x.dtype)?,
            Kind::Weak => {
                let mut all: SmallVec<[Operand; 3]> = args[0].operand().into_iter().collect();
                all.extend(attrs.floats().iter().map(|v| Operand::Scalar(Scalar::from_number(*v))));
                numeric(result_type(&all))?
            }
        };
        let x = self.as_dtype(x, dtype)?;
        let x = x.as_ref();
        let arg = [Arg::Tensor(x)];
        let shape = &x.layout.shape;
        let mut outputs: Outputs =
            smallvec![self.result_tensor(op.def(), &arg, shape, dtype, donated)?];
        self.run(KernelId::Forward(op), dtype, &[input(x)], &outputs, attrs)?;
        tape::record(self, op, &arg, attrs, &mut outputs);
        Ok(outputs)
    }

    /// `dx` of a unary row by the backend's fused kernel; not recorded.
    pub fn unary_grad(
        &self,
        op: Op,
        g: &Tensor,
        x: Option<&Tensor>,
        y: Option<&Tensor>,
        attrs: &Attrs,
    ) -> Result<Tensor> {
        let out = self.empty(&g.layout.shape, g.dtype)?;
        let inputs = [input(g), x.map_or(Input::Absent, input), y.map_or(Input::Absent, input)];
        let outputs: Outputs = smallvec![out];
        self.run(KernelId::UnaryGrad(op), g.dtype, &inputs, &outputs, attrs)?;
        only(outputs)
    }

    fn predicate(&self, op: Op, args: &[Arg]) -> Result<Outputs> {
        let x = tensor_arg(op.def(), args, 0)?;
        if !x.dtype.is_float() && op != Op::LogicalNot {
            // Whole numbers and booleans are all finite.
            let finite = (op == Op::Isfinite) as u8 as f64;
            return Ok(smallvec![self.full(x.shape(), finite, DType::Bool)?]);
        }
        let outputs: Outputs = smallvec![self.empty(x.shape(), DType::Bool)?];
        self.run(KernelId::Forward(op), x.dtype, &[input(x)], &outputs, &[])?;
        Ok(outputs)
    }

    fn binary(
        &self,
        op: Op,
        kind: Kind,
        args: &[Arg],
        attrs: &Attrs,
        donated: u8,
    ) -> Result<Outputs> {
        if let Some(inputs) = plain_operands(args) {
            let Arg::Tensor(a) = args[0] else { return Err(Error::argument("no tensor")) };
            let out = self.result_tensor(op.def(), args, &a.layout.shape, a.dtype, donated)?;
            let mut outputs: Outputs = smallvec![out];
            self.run(KernelId::Forward(op), a.dtype, &inputs, &outputs, attrs)?;
            tape::record(self, op, args, attrs, &mut outputs);
            return Ok(outputs);
        }
        let mut dtype = common_dtype(args)?;
        if kind == Kind::Float {
            dtype = dtype.to_float();
        }
        if dtype == DType::Bool && !matches!(op, Op::Add | Op::Mul | Op::Maximum | Op::Minimum) {
            numeric(dtype)?;
        }
        let shape = common_shape(args)?;
        let converted = self.convert(args, dtype, 0)?;
        let args = &*replaced(args, &converted);
        self.refuse_integers(op, dtype, args, &shape)?;
        let mut outputs: Outputs =
            smallvec![self.result_tensor(op.def(), args, &shape, dtype, donated)?];
        self.run_broadcast(KernelId::Forward(op), dtype, args, &outputs, attrs)?;
        tape::record(self, op, args, attrs, &mut outputs);
        Ok(outputs)
    }

    /// What integers have no result for: a division by 0, a negative power.
    fn refuse_integers(&self, op: Op, dtype: DType, args: &[Arg], shape: &[usize]) -> Result<()> {
        let [_, b] = args else { return Ok(()) };
        if dtype.is_float() || shape.contains(&0) {
            return Ok(());
        }
        match (op, b) {
            (Op::Remainder | Op::FloorDivide, b) => self.refuse_zero(*b),
            (Op::Pow, Arg::Scalar(s)) if s.to_f64() < 0.0 => Err(Error::shape(format!(
                "integers have no power {}, convert with to(\"float32\") first",
                s.to_f64()
            ))),
            _ => Ok(()),
        }
    }

    fn compare(&self, op: Op, args: &[Arg]) -> Result<Outputs> {
        let dtype = common_dtype(args)?;
        let shape = common_shape(args)?;
        let converted = self.convert(args, dtype, 0)?;
        let args = &*replaced(args, &converted);
        let outputs: Outputs = smallvec![self.empty(&shape, DType::Bool)?];
        self.run_broadcast(KernelId::Forward(op), dtype, args, &outputs, &[])?;
        Ok(outputs)
    }

    fn bits(&self, op: Op, args: &[Arg], donated: u8) -> Result<Outputs> {
        let dtype = common_dtype(args)?;
        if dtype.is_float() {
            return Err(Error::dtype(format!("got {dtype}, expected integers or booleans")));
        }
        let shape = common_shape(args)?;
        let converted = self.convert(args, dtype, 0)?;
        let args = &*replaced(args, &converted);
        let outputs: Outputs =
            smallvec![self.result_tensor(op.def(), args, &shape, dtype, donated)?];
        self.run_broadcast(KernelId::Forward(op), dtype, args, &outputs, &[])?;
        Ok(outputs)
    }

    fn select(&self, op: Op, args: &[Arg]) -> Result<Outputs> {
        let [Arg::Tensor(mask), ..] = args else {
            return Err(Error::argument("argument \"condition\" must be a tensor"));
        };
        if mask.dtype != DType::Bool {
            return Err(Error::dtype(format!("the condition is {}, expected bool", mask.dtype)));
        }
        let dtype = common_dtype(&args[1..])?;
        let shape = common_shape(args)?;
        let converted = self.convert(args, dtype, 1)?;
        let args = &*replaced(args, &converted);
        let mut outputs: Outputs = smallvec![self.empty(&shape, dtype)?];
        self.run_broadcast(KernelId::Forward(op), dtype, args, &outputs, &[])?;
        tape::record(self, op, args, &Attrs::new(), &mut outputs);
        Ok(outputs)
    }

    fn raw(
        &self,
        op: Op,
        f: crate::table::CompositeFn,
        args: &[Arg],
        attrs: &Attrs,
    ) -> Result<Outputs> {
        let mut outputs = {
            let _mode = self.grad_mode(false);
            f(self, args, attrs)?
        };
        tape::record(self, op, args, attrs, &mut outputs);
        Ok(outputs)
    }

    fn view(&self, op: Op, f: ViewFn, args: &[Arg], attrs: &Attrs) -> Result<Outputs> {
        let x = tensor_arg(op.def(), args, 0)?;
        let layout = f(&x.layout, attrs)?;
        check_dims(layout.ndim())?;
        if tape::weigh_too_much(self.pool.shared()) {
            return Err(self.pool.shared().memory_error(0));
        }
        let mut outputs: Outputs = smallvec![Tensor::new(x.storage.clone(), layout, x.dtype)];
        tape::record(self, op, args, attrs, &mut outputs);
        Ok(outputs)
    }

    fn kernel(&self, op: Op, infer: InferFn, args: &[Arg], attrs: &Attrs) -> Result<Outputs> {
        for (i, def) in op.def().args.iter().enumerate() {
            if !def.optional && matches!(args.get(i), None | Some(Arg::Absent)) {
                return Err(Error::argument(format!("argument \"{}\" is missing", def.name)));
            }
        }
        let metas: SmallVec<[Option<Meta>; 3]> = args
            .iter()
            .map(|a| a.tensor().map(|t| Meta { shape: t.shape(), dtype: t.dtype }))
            .collect();
        let plan = infer(&metas, attrs)?;
        let mut converted = self.convert(args, plan.compute, plan.keep | plan.index)?;
        for (i, a) in args.iter().enumerate().take(8) {
            if let Arg::Tensor(t) = a
                && plan.index & (1 << i) != 0
                && t.dtype != DType::I64
            {
                converted.resize(args.len(), None);
                converted[i] = Some(self.cast(t, DType::I64)?);
            }
        }
        let args = replaced(args, &converted);
        let mut outputs = Outputs::new();
        for (shape, dtype) in &plan.outputs {
            outputs.push(match shape[..] {
                [n, a, b, c] if plan.swapped => {
                    let mut out = self.empty(&[n, b, a, c], *dtype)?;
                    out.layout.shape.swap(1, 2);
                    out.layout.strides.swap(1, 2);
                    out
                }
                _ => self.empty(shape, *dtype)?,
            });
        }
        let inputs: SmallVec<[Input; 3]> = args
            .iter()
            .map(|a| match a {
                Arg::Tensor(t) => input(t),
                Arg::Scalar(s) => Input::Scalar(*s),
                Arg::Absent => Input::Absent,
            })
            .collect();
        self.run(KernelId::Forward(op), plan.compute, &inputs, &outputs, attrs)?;
        tape::record(self, op, &args, attrs, &mut outputs);
        Ok(outputs)
    }

    /// Converts tensor arguments to `dtype`, except those whose bit is in `keep`. Empty where
    /// nothing is to convert, which is the common case.
    fn convert(&self, args: &[Arg], dtype: DType, keep: u8) -> Result<Converted> {
        let wanted = |i: usize, a: &Arg| match a {
            Arg::Tensor(t) => t.dtype != dtype && (i >= 8 || keep & (1 << i) == 0),
            _ => false,
        };
        if !args.iter().enumerate().any(|(i, a)| wanted(i, a)) {
            return Ok(Converted::new());
        }
        args.iter()
            .enumerate()
            .map(|(i, a)| match a {
                Arg::Tensor(t) if wanted(i, a) => self.cast(t, dtype).map(Some),
                _ => Ok(None),
            })
            .collect()
    }

    /// Runs an elementwise kernel with inputs read at the output's shape.
    fn run_broadcast(
        &self,
        kernel: KernelId,
        dtype: DType,
        args: &[Arg],
        outputs: &Outputs,
        attrs: &[Attr],
    ) -> Result<()> {
        let shape = &outputs[0].layout.shape;
        let differs = |a: &Arg| matches!(a, Arg::Tensor(t) if t.layout.shape != *shape);
        let mut layouts: Vec<Option<Layout>> = Vec::new();
        if args.iter().any(differs) {
            for a in args {
                layouts.push(match a {
                    Arg::Tensor(t) if differs(a) => Some(t.layout.broadcast_to(shape)?),
                    _ => None,
                });
            }
        }
        let inputs: SmallVec<[Input; 3]> = args
            .iter()
            .enumerate()
            .map(|(i, a)| match a {
                Arg::Tensor(t) => Input::View(View {
                    storage: &t.storage,
                    layout: layouts.get(i).and_then(Option::as_ref).unwrap_or(&t.layout),
                    dtype: t.dtype,
                }),
                Arg::Scalar(s) => Input::Scalar(*s),
                Arg::Absent => Input::Absent,
            })
            .collect();
        self.run(kernel, dtype, &inputs, outputs, attrs)
    }

    fn run(
        &self,
        kernel: KernelId,
        dtype: DType,
        inputs: &[Input],
        outputs: &[Tensor],
        attrs: &[Attr],
    ) -> Result<()> {
        let outputs: SmallVec<[View; 2]> = outputs.iter().map(view).collect();
        self.backend.run(&Call { kernel, dtype, inputs, outputs: &outputs, attrs })
    }

    /// The output of an elementwise op: a donated operand's bytes, or new ones.
    fn result_tensor(
        &self,
        def: &OpDef,
        args: &[Arg],
        shape: &Dims,
        dtype: DType,
        donated: u8,
    ) -> Result<Tensor> {
        if donated != 0 {
            for (i, a) in args.iter().enumerate() {
                if let Arg::Tensor(t) = a
                    && donated & def.overwrite & (1 << i) != 0
                    && self.reusable(t, args, shape, dtype)
                {
                    return Ok(Tensor::new(t.storage.clone(), t.layout.clone(), dtype));
                }
            }
        }
        self.empty(shape, dtype)
    }

    /// Whether `t`'s bytes may take the result: one handle, no view, no tape entry, the layout
    /// spans the storage, shape and dtype fit, and the tape will not keep an operand.
    fn reusable(&self, t: &Tensor, args: &[Arg], shape: &Dims, dtype: DType) -> bool {
        t.storage.is_unique()
            && t.dtype == dtype
            && t.layout.shape == *shape
            && t.layout.offset == 0
            && t.layout.is_contiguous()
            && t.layout.numel() * dtype.size() == t.storage.bytes()
            && !(self.grad_enabled() && tape::wants_any(args))
    }

    /// `t` itself or a converted copy, without a clone where nothing is to do.
    fn as_dtype<'a>(&self, t: &'a Tensor, dtype: DType) -> Result<std::borrow::Cow<'a, Tensor>> {
        Ok(if t.dtype == dtype {
            std::borrow::Cow::Borrowed(t)
        } else {
            std::borrow::Cow::Owned(self.cast(t, dtype)?)
        })
    }
}

/// The only output of a row that has one.
#[inline]
pub fn only(mut outputs: Outputs) -> Result<Tensor> {
    outputs.pop().ok_or_else(|| Error::argument("the op has no output"))
}

fn view(t: &Tensor) -> View<'_> {
    View { storage: &t.storage, layout: &t.layout, dtype: t.dtype }
}

fn input(t: &Tensor) -> Input<'_> {
    Input::View(view(t))
}

/// Inputs of the common case that needs no promotion and no broadcasting: two float tensors of
/// one dtype and shape, or a float tensor and a number.
fn plain_operands<'a>(args: &[Arg<'a>]) -> Option<[Input<'a>; 2]> {
    match args {
        [Arg::Tensor(a), Arg::Tensor(b)]
            if a.dtype == b.dtype && a.dtype.is_float() && a.layout.shape == b.layout.shape =>
        {
            Some([input(a), input(b)])
        }
        [Arg::Tensor(a), Arg::Scalar(s)] if a.dtype.is_float() => {
            Some([input(a), Input::Scalar(*s)])
        }
        _ => None,
    }
}

fn replaced<'a>(args: &[Arg<'a>], converted: &'a Converted) -> SmallVec<[Arg<'a>; 3]> {
    args.iter()
        .enumerate()
        .map(|(i, a)| converted.get(i).and_then(Option::as_ref).map_or(*a, Arg::Tensor))
        .collect()
}

/// The tensor at argument `i`, or an error that names the argument.
pub fn tensor_arg<'a>(def: &OpDef, args: &[Arg<'a>], i: usize) -> Result<&'a Tensor> {
    args.get(i).copied().and_then(Arg::tensor).ok_or_else(|| {
        let name = def.args.get(i).map_or("input", |a| a.name);
        Error::argument(format!("argument \"{name}\" must be a tensor"))
    })
}

fn numeric(dtype: DType) -> Result<DType> {
    match dtype {
        DType::Bool => Err(Error::dtype("got bool, expected numbers; convert with to(\"int64\")")),
        d => Ok(d),
    }
}

fn common_dtype(args: &[Arg]) -> Result<DType> {
    if let [Arg::Tensor(a), Arg::Tensor(b)] = args
        && a.dtype == b.dtype
    {
        return Ok(a.dtype);
    }
    let operands: SmallVec<[Operand; 3]> = args.iter().filter_map(|a| a.operand()).collect();
    Ok(result_type(&operands))
}

fn common_shape(args: &[Arg]) -> Result<Dims> {
    let mut shape: Option<Dims> = None;
    for t in args.iter().filter_map(|a| a.tensor()) {
        shape = Some(match shape {
            None => t.layout.shape.clone(),
            Some(s) if s == t.layout.shape => s,
            Some(s) => broadcast(&s, t.shape())?,
        });
    }
    Ok(shape.unwrap_or_default())
}
