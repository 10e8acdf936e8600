//! What a case of `benches/kernels.py` calls: `KIND[.DTYPE]:SHAPE[/OPTION]`.
//!
//! A kind that ends in `fb` is called with the gradients of its float inputs.

use mlrun_tensor_core::layout::Layout;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::tape::{self, Edge};
use mlrun_tensor_core::{Arg, Attr, Attrs, DType, Engine, Op, Scalar, Storage, Tensor};
use mlrun_tensor_cpu::CpuBackend;
use smallvec::smallvec;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of the short index: each is read many times.
const FEW: usize = 50;

pub struct Bench {
    engine: Engine,
    tensors: HashMap<String, Tensor>,
}

/// One call.
struct Case {
    op: Op,
    inputs: Vec<Input>,
    attrs: Attrs,
}

enum Input {
    Tensor(Tensor),
    Number(f64),
}

impl Case {
    fn new(op: Op, inputs: &[&Tensor], attrs: Attrs) -> Case {
        let inputs = inputs.iter().map(|t| Input::Tensor((*t).clone())).collect();
        Case { op, inputs, attrs }
    }

    fn args(&self) -> Vec<Arg<'_>> {
        let arg = |i| match i {
            &Input::Number(v) => Arg::Scalar(Scalar::Float(v)),
            Input::Tensor(t) => Arg::Tensor(t),
        };
        self.inputs.iter().map(arg).collect()
    }
}

fn ints(values: impl IntoIterator<Item = usize>) -> Attr {
    Attr::Ints(values.into_iter().map(|d| d as i64).collect())
}

/// The parts of a case's name.
struct Name<'a> {
    kind: &'a str,
    dtype: DType,
    shape: Vec<usize>,
    option: &'a str,
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Option<Name<'a>> {
        let (kind, rest) = name.split_once(':')?;
        let (kind, dtype) = kind.split_once('.').unwrap_or((kind, "float32"));
        let dtype = [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64]
            .into_iter()
            .find(|d| d.name() == dtype)?;
        let (shape, option) = rest.split_once('/').unwrap_or((rest, ""));
        let shape = shape.split('x').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Name { kind, dtype, shape, option })
    }

    /// The option as dimensions; none are all of them.
    fn dims(&self) -> Vec<usize> {
        self.option.split(',').filter_map(|d| d.parse().ok()).collect()
    }

    fn dim(&self) -> usize {
        self.dims().first().copied().unwrap_or(self.shape.len() - 1)
    }
}

impl Bench {
    pub fn new(threads: usize) -> Bench {
        let backend = Arc::new(CpuBackend::new(threads));
        let engine = Engine::new(backend, Arc::new(HostPool::new()));
        engine.set_grad_enabled(false);
        Bench { engine, tensors: HashMap::new() }
    }

    /// A tensor of random numbers, made once; whole ones lie between -100 and 100 or so.
    fn random(&mut self, name: &str, shape: &[usize], dtype: DType) -> Tensor {
        let key = format!("{name}{shape:?}{dtype}");
        if let Some(t) = self.tensors.get(&key) {
            return t.clone();
        }
        let (mean, std) = if dtype.is_float() { (0.0, 1.0) } else { (0.0, 40.0) };
        let dims = ints(shape.iter().copied());
        let attrs = smallvec![dims, Attr::Float(mean), Attr::Float(std), Attr::Absent];
        let t = self.engine.call1(Op::Randn, &[], &attrs).expect("randn");
        let t = self.engine.cast(&t, dtype).expect("cast");
        self.tensors.insert(key, t.clone());
        t
    }

    /// Positions below `below` in an order without a pattern.
    fn index(&self, shape: &[usize], below: usize) -> Tensor {
        let n: usize = shape.iter().product();
        let storage = Storage::new(&self.engine.pool, n * 8).expect("memory");
        let p = storage.as_ptr().cast::<i64>();
        for i in 0..n {
            // SAFETY: the storage holds `n` positions.
            unsafe { p.add(i).write((i * 7919 % below) as i64) };
        }
        Tensor::new(storage, Layout::contiguous(shape), DType::I64)
    }

    /// The call that a case names, or nothing for an unknown name.
    pub fn case<'a>(&'a mut self, name: &str) -> Option<Box<dyn FnMut() + 'a>> {
        let name = Name::parse(name)?;
        if let Some(kind) = name.kind.strip_suffix("fb") {
            return self.both_ways(Name { kind, ..name });
        }
        if name.kind == "gelugrad" {
            let (x, g) = (
                self.random("x", &name.shape, DType::F32),
                self.random("y", &name.shape, DType::F32),
            );
            let e = &self.engine;
            return Some(Box::new(move || {
                drop(e.unary_grad(Op::GeluTanh, &g, Some(&x), None, &Attrs::new()).expect("grad"))
            }));
        }
        let case = self.of_name(&name)?;
        let e = &self.engine;
        if let ([Input::Tensor(a), Input::Tensor(b)], true) =
            (&case.inputs[..], case.attrs.is_empty())
        {
            // Without a list of arguments, which would cost as much as the smallest of these calls.
            let (op, a, b) = (case.op, a.clone(), b.clone());
            return Some(Box::new(move || drop(e.bin(op, &a, &b).expect("op"))));
        }
        Some(Box::new(move || drop(e.call(case.op, &case.args(), &case.attrs).expect("op"))))
    }

    /// A call with its gradients by all float inputs.
    fn both_ways<'a>(&'a mut self, name: Name) -> Option<Box<dyn FnMut() + 'a>> {
        let mut case = self.of_name(&name)?;
        let mut leaves = Vec::new();
        for (i, input) in case.inputs.iter_mut().enumerate() {
            // Images have no gradient of their own in the first layer.
            let image = case.op == Op::Conv2d && i == 0 && name.shape[1] == 1;
            if let Input::Tensor(t) = input
                && t.dtype.is_float()
                && !image
            {
                t.edge = Edge::Leaf(Default::default());
                leaves.push(t.clone());
            }
        }
        let e = &self.engine;
        let seed = {
            let y = e.call(case.op, &case.args(), &case.attrs).ok()?.swap_remove(0);
            e.full(y.shape(), 0.5, y.dtype).ok()?
        };
        Some(Box::new(move || {
            e.set_grad_enabled(true);
            let y = e.call(case.op, &case.args(), &case.attrs).expect("op").swap_remove(0);
            let pass = tape::Backward {
                roots: vec![(y, seed.clone())],
                inputs: Some(&leaves),
                retain_graph: false,
                create_graph: false,
            };
            drop(tape::backward(e, pass).expect("backward"));
            e.set_grad_enabled(false);
        }))
    }

    fn of_name(&mut self, name: &Name) -> Option<Case> {
        // Shapes of products are no shapes of tensors: those below would make one.
        self.other(name)
            .or_else(|| self.elementwise(name))
            .or_else(|| self.reduction(name))
            .or_else(|| self.movement(name))
            .or_else(|| self.positions(name))
            .or_else(|| self.layer(name))
    }

    fn elementwise(&mut self, name: &Name) -> Option<Case> {
        let op = match name.kind {
            "add" | "addrow" | "addcol" | "addnum" => Op::Add,
            "mul" => Op::Mul,
            "div" => Op::Div,
            "maximum" => Op::Maximum,
            "less" => Op::Lt,
            "equalnum" => Op::Eq,
            "relu" => Op::Relu,
            "exp" => Op::Exp,
            "tanh" => Op::Tanh,
            "sigmoid" => Op::Sigmoid,
            "gelu" => Op::GeluTanh,
            "gelu2" => Op::Gelu,
            "silu" => Op::Silu,
            "sqrt" => Op::Sqrt,
            "sin" => Op::Sin,
            "log1p" => Op::Log1p,
            "square" => Op::Square,
            "where" => Op::Where,
            "maskedfill" => Op::MaskedFill,
            _ => return None,
        };
        let (shape, last) = (&name.shape, name.shape.len() - 1);
        let x = self.random("x", shape, name.dtype);
        let y = self.random("y", shape, name.dtype);
        let mut column = shape.clone();
        column[last] = 1;
        let none = Attrs::new();
        Some(match name.kind {
            "addrow" => Case::new(op, &[&x, &self.random("row", &shape[last..], name.dtype)], none),
            "addcol" => Case::new(op, &[&x, &self.random("column", &column, name.dtype)], none),
            "addnum" | "equalnum" => {
                Case { op, inputs: vec![Input::Tensor(x), Input::Number(2.0)], attrs: none }
            }
            "add" | "mul" | "div" | "maximum" | "less" => Case::new(op, &[&x, &y], none),
            "where" => {
                let mask = self.engine.bin(Op::Lt, &x, &y).ok()?;
                Case::new(op, &[&mask, &x, &y], none)
            }
            "maskedfill" => {
                let mask = self.engine.bin(Op::Lt, &x, &y).ok()?;
                let inputs = vec![Input::Tensor(x), Input::Tensor(mask), Input::Number(0.0)];
                Case { op, inputs, attrs: none }
            }
            _ => Case::new(op, &[&x], none),
        })
    }

    fn reduction(&mut self, name: &Name) -> Option<Case> {
        let dims = match name.dims() {
            d if d.is_empty() => Attr::Absent,
            d => ints(d),
        };
        let over: Attrs = smallvec![dims.clone(), Attr::Bool(false)];
        let with = |v: f64| -> Attrs { smallvec![dims.clone(), Attr::Bool(false), Attr::Float(v)] };
        let (op, attrs) = match name.kind {
            "sum" => (Op::Sum, over),
            "mean" => (Op::Mean, over),
            "amax" => (Op::Amax, over),
            "amin" => (Op::Amin, over),
            "prod" => (Op::Prod, over),
            "argmax" => (Op::Argmax, over),
            "argmin" => (Op::Argmin, over),
            "any" => (Op::Any, over),
            "logsumexp" => (Op::Logsumexp, over),
            "var" => (Op::Variance, with(1.0)),
            "std" => (Op::Std, with(1.0)),
            "norm" => (Op::Norm, with(2.0)),
            "norm1" => (Op::Norm, with(1.0)),
            "maxdim" => (Op::MaxDim, smallvec![Attr::Int(name.dim() as i64), Attr::Bool(false)]),
            _ => return None,
        };
        Some(Case::new(op, &[&self.random("x", &name.shape, name.dtype)], attrs))
    }

    /// Elements that get a new place.
    fn movement(&mut self, name: &Name) -> Option<Case> {
        let x = self.random("x", &name.shape, name.dtype);
        let e = &self.engine;
        let (none, along) = (Attrs::new(), smallvec![Attr::Int(name.dim() as i64)]);
        let copy = |t: &Tensor| Some(Case::new(Op::Copy, &[t], Attrs::new()));
        match name.kind {
            "copy" => copy(&x),
            "copyT" => copy(&e.transpose_last(&x).ok()?),
            "permute" => copy(&e.permute(&x, &name.dims()).ok()?),
            "expand" => {
                let column = self.random("column", &[&name.shape[..1], &[1]].concat(), name.dtype);
                copy(&self.engine.expand(&column, &name.shape).ok()?)
            }
            "every2nd" => {
                let last = Attr::Int(name.shape.len() as i64 - 1);
                let half = Attr::Int(name.shape[name.shape.len() - 1] as i64 / 2);
                let attrs = smallvec![last, Attr::Int(0), half, Attr::Int(2)];
                copy(&e.call1(Op::Slice, &[Arg::Tensor(&x)], &attrs).ok()?)
            }
            "cast" => {
                let to = [DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::F32];
                let to = to.into_iter().find(|d| d.name() == name.option)?;
                Some(Case::new(Op::Cast, &[&x], smallvec![Attr::DType(to)]))
            }
            "cat" | "stack" => {
                let y = self.random("y", &name.shape, name.dtype);
                let op = if name.kind == "cat" { Op::Concat } else { Op::Stack };
                Some(Case::new(op, &[&x, &y], along))
            }
            "flip" => Some(Case::new(Op::Flip, &[&x], smallvec![ints(name.dims())])),
            "tril" => Some(Case::new(Op::Tril, &[&x], smallvec![Attr::Int(0)])),
            "cumsum" => Some(Case::new(Op::Cumsum, &[&x], along)),
            "cumprod" => Some(Case::new(Op::Cumprod, &[&x], along)),
            "sort" | "argsort" => {
                let op = if name.kind == "sort" { Op::Sort } else { Op::Argsort };
                let attrs = smallvec![Attr::Int(name.dim() as i64), Attr::Bool(false)];
                Some(Case::new(op, &[&x], attrs))
            }
            "topk" => {
                let k = Attr::Int(name.option.parse().ok()?);
                Some(Case::new(Op::Topk, &[&x], smallvec![k, Attr::Int(-1), Attr::Bool(true)]))
            }
            "nonzero" => {
                let mask = e.bin_scalar(Op::Gt, &x, 0.0).ok()?;
                Some(Case::new(Op::Nonzero, &[&mask], none))
            }
            _ => None,
        }
    }

    fn positions(&mut self, name: &Name) -> Option<Case> {
        let Name { kind, ref shape, dtype, .. } = *name;
        let x = self.random("x", shape, dtype);
        let (dim, n) = (name.dim(), shape[0]);
        let along = |dim: usize| -> Attrs { smallvec![Attr::Int(dim as i64)] };
        Some(match kind {
            "rows" => Case::new(Op::IndexSelect, &[&x, &self.index(&[n], n)], along(0)),
            "fewrows" => Case::new(Op::IndexSelect, &[&x, &self.index(&[n], FEW)], along(0)),
            "select" => {
                let index = self.index(&[shape[dim]], shape[dim]);
                Case::new(Op::IndexSelect, &[&x, &index], along(dim))
            }
            "embedding" => {
                let index = self.index(&[name.option.parse().ok()?], n);
                Case::new(Op::Embedding, &[&index, &x], smallvec![Attr::Absent])
            }
            "gather" => Case::new(Op::Gather, &[&x, &self.index(shape, shape[dim])], along(dim)),
            "scatteradd" => {
                let y = self.random("y", shape, dtype);
                let index = self.index(shape, shape[dim]);
                Case::new(Op::ScatterAdd, &[&x, &index, &y], along(dim))
            }
            "indexadd" => {
                let y = self.random("y", shape, dtype);
                Case::new(Op::IndexAdd, &[&x, &self.index(&[n], FEW), &y], along(0))
            }
            _ => return None,
        })
    }

    fn layer(&mut self, name: &Name) -> Option<Case> {
        let Name { ref shape, dtype, option, .. } = *name;
        let last = *shape.last()?;
        let x = self.random("x", shape, dtype);
        let along: Attrs = smallvec![Attr::Int(name.dim() as i64)];
        let mut more = |name: &str, shape: &[usize]| self.random(name, shape, dtype);
        let pair = |v: usize| ints([v, v]);
        Some(match name.kind {
            "softmax" => Case::new(Op::Softmax, &[&x], along),
            "logsoftmax" => Case::new(Op::LogSoftmax, &[&x], along),
            "layernorm" => {
                let attrs = smallvec![ints([last]), Attr::Float(1e-5)];
                Case::new(Op::LayerNorm, &[&x, &more("w", &[last]), &more("b", &[last])], attrs)
            }
            "conv2d" => {
                let out: usize = option.parse().ok()?;
                let attrs = smallvec![pair(1), pair(0), pair(1), Attr::Int(1), Attr::Bool(false)];
                let (w, b) = (more("w", &[out, shape[1], 3, 3]), more("b", &[out]));
                Case::new(Op::Conv2d, &[&x, &w, &b], attrs)
            }
            "attention" => {
                let attrs =
                    smallvec![Attr::Bool(option == "causal"), Attr::Absent, Attr::Float(0.0)];
                let (k, v) = (more("k", shape), more("v", shape));
                Case::new(Op::ScaledDotProductAttention, &[&x, &k, &v], attrs)
            }
            "crossentropy" => {
                let target = self.index(&shape[..1], last);
                let attrs = smallvec![Attr::Int(1), Attr::Int(-100), Attr::Float(0.0)];
                Case::new(Op::CrossEntropy, &[&x, &target], attrs)
            }
            "mse" => Case::new(Op::MseLoss, &[&x, &more("y", shape)], smallvec![Attr::Int(1)]),
            _ => return None,
        })
    }

    fn other(&mut self, name: &Name) -> Option<Case> {
        let Name { ref shape, option, .. } = *name;
        match name.kind {
            "matmul" => {
                let [m, k, n] = shape[..] else { return None };
                let (ta, tb) = (option.starts_with('T'), option.ends_with('T'));
                let a = self.random("a", &if ta { [k, m] } else { [m, k] }, name.dtype);
                let b = self.random("b", &if tb { [n, k] } else { [k, n] }, name.dtype);
                let a = if ta { self.engine.transpose_last(&a).ok()? } else { a };
                let b = if tb { self.engine.transpose_last(&b).ok()? } else { b };
                Some(Case::new(Op::Bmm, &[&a, &b], Attrs::new()))
            }
            "randn" => {
                let dims = ints(shape.iter().copied());
                let attrs = smallvec![dims, Attr::Float(0.0), Attr::Float(1.0), Attr::Absent];
                Some(Case::new(Op::Randn, &[], attrs))
            }
            "adamw" => {
                let (p, g) =
                    (self.random("x", shape, DType::F32), self.random("y", shape, DType::F32));
                let m = self.engine.full(shape, 0.0, DType::F32).ok()?;
                let v = self.engine.full(shape, 0.0, DType::F32).ok()?;
                let attrs = [1e-3, 0.9, 0.999, 1e-8, 0.01]
                    .into_iter()
                    .map(Attr::Float)
                    .chain([Attr::Bool(true), Attr::Int(10)])
                    .collect();
                Some(Case::new(Op::AdamStep, &[&p, &g, &m, &v], attrs))
            }
            _ => None,
        }
    }
}
