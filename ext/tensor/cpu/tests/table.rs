//! Every row of the op table with its own samples: gradients of first and second order against
//! differences, repeated runs, thread counts, and every allocation failing in turn.

use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::samples::{Input, Sample, samples};
use mlrun_tensor_core::table::Vjp;
use mlrun_tensor_core::tape::{Backward, Edge, Leaf, backward};
use mlrun_tensor_core::{
    Arg, Attr, Attrs, DType, Engine, Op, Result, Scalar, Storage, Tensor, attr,
};
use mlrun_tensor_core::{Layout, error::Error};
use mlrun_tensor_cpu::CpuBackend;
use smallvec::smallvec;
use std::rc::Rc;
use std::sync::Arc;

fn engine(threads: usize) -> Engine {
    Engine::new(Arc::new(CpuBackend::new(threads)), Arc::new(HostPool::new()))
}

/// A small generator, so that the tests need no crate and repeat.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn from_values(e: &Engine, shape: &[usize], dtype: DType, values: &[f64]) -> Tensor {
    let storage = Storage::new(&e.pool, values.len() * 8).unwrap();
    for (i, v) in values.iter().enumerate() {
        // SAFETY: the storage holds eight bytes for each value.
        unsafe { storage.as_ptr().cast::<f64>().add(i).write(*v) };
    }
    let t = Tensor::new(storage, Layout::contiguous(shape), DType::F64);
    e.cast(&t, dtype).unwrap()
}

fn values(e: &Engine, t: &Tensor) -> Vec<f64> {
    let wide = e.contiguous(&e.cast(&t.detach(), DType::F64).unwrap()).unwrap();
    let at = wide.storage.as_ptr().wrapping_add(wide.layout.offset * 8).cast::<f64>();
    // SAFETY: a contiguous float64 tensor has its elements behind its offset.
    (0..wide.numel()).map(|i| unsafe { at.add(i).read() }).collect()
}

enum Made {
    Tensor(Tensor),
    Number(f64),
    Absent,
}

fn make(e: &Engine, input: &Input, noise: &mut Noise, float: DType) -> Made {
    let mut fill = |shape: &[usize], dtype: DType, f: &mut dyn FnMut(usize, f64) -> f64| {
        let n = shape.iter().product();
        let all: Vec<f64> = (0..n).map(|i| f(i, noise.next())).collect();
        Made::Tensor(from_values(e, shape, dtype, &all))
    };
    let sign = |r: f64| if r < 0.5 { -1.0 } else { 1.0 };
    match *input {
        // Distinct by a step per element, so that no two tie within a difference.
        Input::Real(s) => fill(s, float, &mut |i, r| sign(r) * (0.3 + r + 0.037 * i as f64)),
        Input::Positive(s) => fill(s, float, &mut |_, r| 0.4 + 1.6 * r),
        Input::Unit(s) => fill(s, float, &mut |_, r| sign(r) * (0.1 + 0.8 * r)),
        Input::Chance(s) => fill(s, float, &mut |_, r| r),
        Input::Index(s, n) => fill(s, DType::I64, &mut |_, r| (r * n as f64).floor()),
        Input::Mask(s) => fill(s, DType::Bool, &mut |i, _| (i % 2 == 0) as u8 as f64),
        Input::Whole(s) => fill(s, DType::I64, &mut |_, r| sign(r) * (1.0 + (r * 4.0).floor())),
        Input::Number(v) => Made::Number(v),
        Input::Absent => Made::Absent,
    }
}

fn inputs(e: &Engine, sample: &Sample, float: DType) -> Vec<Made> {
    let mut noise = Noise(17);
    sample.inputs.iter().map(|i| make(e, i, &mut noise, float)).collect()
}

fn args(made: &[Made]) -> Vec<Arg<'_>> {
    made.iter()
        .map(|m| match m {
            Made::Tensor(t) => Arg::Tensor(t),
            Made::Number(v) => Arg::Scalar(Scalar::from_number(*v)),
            Made::Absent => Arg::Absent,
        })
        .collect()
}

fn attrs(op: Op, sample: &Sample) -> Attrs {
    attr::decode(op.def().attrs, sample.attrs)
        .unwrap_or_else(|e| panic!("{}: its sample's attributes: {e}", op.name()))
}

fn leaf(t: &Tensor) -> Tensor {
    Tensor { edge: Edge::Leaf(Rc::new(Leaf::default())), ..t.detach() }
}

/// `sum(output * weights)` over the float outputs, with weights that follow from their number.
fn total(e: &Engine, outputs: &[Tensor]) -> Result<Tensor> {
    let mut sum = e.full(&[], 0.0, DType::F64)?;
    for (k, out) in outputs.iter().enumerate().filter(|(_, o)| o.dtype.is_float()) {
        let mut noise = Noise(91 + k as u64);
        let weights: Vec<f64> = (0..out.numel()).map(|_| noise.next() - 0.4).collect();
        let weights = from_values(e, out.shape(), DType::F64, &weights);
        let part = e.bin(Op::Mul, out, &weights)?;
        let all = smallvec![Attr::Absent, Attr::Bool(false)];
        sum = e.add(&sum, &e.call1(Op::Sum, &[Arg::Tensor(&part)], &all)?)?;
    }
    Ok(sum)
}

/// The loss of a call with float inputs replaced by `x`.
fn loss(e: &Engine, op: Op, sample: &Sample, x: &[Tensor]) -> Result<Tensor> {
    let mut made = inputs(e, sample, DType::F64);
    let mut rest = x.iter();
    for m in &mut made {
        if let Made::Tensor(t) = m
            && t.dtype.is_float()
        {
            *t = rest.next().expect("as many as there are float inputs").clone();
        }
    }
    total(e, &e.call(op, &args(&made), &attrs(op, sample))?)
}

fn gradients(e: &Engine, y: Tensor, x: &[Tensor], create_graph: bool) -> Result<Vec<Tensor>> {
    let seed = e.full(&[], 1.0, DType::F64)?;
    let pass = Backward {
        roots: vec![(y, seed)],
        inputs: Some(x),
        retain_graph: create_graph,
        create_graph,
    };
    let found = backward(e, pass)?;
    found
        .into_iter()
        .zip(x)
        .map(|(g, x)| g.map_or_else(|| e.full(x.shape(), 0.0, DType::F64), Ok))
        .collect()
}

/// Largest distance between `analytic` and central differences of `f`.
fn distance(
    e: &Engine,
    x: &[Tensor],
    analytic: &[Tensor],
    f: &dyn Fn(&[Tensor]) -> Result<f64>,
) -> Result<f64> {
    let step = 1e-5;
    let mut worst = 0f64;
    for (k, (t, g)) in x.iter().zip(analytic).enumerate() {
        let (at, got) = (values(e, t), values(e, g));
        assert_eq!(t.shape(), g.shape(), "a gradient has its input's shape");
        for i in 0..at.len() {
            let moved = |d: f64| {
                let mut v = at.clone();
                v[i] += d;
                let mut x = x.to_vec();
                x[k] = from_values(e, t.shape(), DType::F64, &v);
                f(&x)
            };
            let want = (moved(step)? - moved(-step)?) / (2.0 * step);
            worst = worst.max((got[i] - want).abs() / want.abs().max(1.0));
        }
    }
    Ok(worst)
}

fn scalar(e: &Engine, t: &Tensor) -> f64 {
    values(e, t)[0]
}

fn differentiable(op: Op) -> bool {
    !matches!(op.def().vjp, Vjp::None(_))
}

fn float_leaves(e: &Engine, sample: &Sample) -> Vec<Tensor> {
    inputs(e, sample, DType::F64)
        .iter()
        .filter_map(|m| match m {
            Made::Tensor(t) if t.dtype.is_float() => Some(leaf(t)),
            _ => None,
        })
        .collect()
}

/// Rows whose result follows from random numbers: differences say nothing about them.
fn random(op: Op) -> bool {
    op.def().attrs.iter().any(|a| a.name == "seed") || {
        let e = engine(1);
        samples(op).iter().any(|s| {
            let before = e.random_state();
            let made = inputs(&e, s, DType::F64);
            let _ = e.call(op, &args(&made), &attrs(op, s));
            e.random_state() != before
        })
    }
}

#[test]
fn gradients_of_first_and_second_order_agree_with_differences() {
    let e = engine(1);
    let mut wrong = Vec::new();
    for &op in Op::ALL.iter().filter(|op| differentiable(**op) && !random(**op)) {
        for (n, sample) in samples(op).iter().enumerate() {
            let x = float_leaves(&e, sample);
            if x.is_empty() {
                continue;
            }
            let mut check = || -> Result<()> {
                let g = gradients(&e, loss(&e, op, sample, &x)?, &x, false)?;
                let value = |x: &[Tensor]| Ok(scalar(&e, &loss(&e, op, sample, x)?));
                let first = distance(&e, &x, &g, &value)?;
                if first.is_nan() || first > 1e-6 {
                    wrong
                        .push(format!("{} sample {n}: first order is off by {first:e}", op.name()));
                }
                // The slope along a direction, and its own gradient.
                let slope = |x: &[Tensor]| -> Result<Tensor> {
                    let y = loss(&e, op, sample, x)?;
                    if !y.requires_grad() {
                        return e.full(&[], 0.0, DType::F64);
                    }
                    total(&e, &gradients(&e, y, x, true)?)
                };
                let s = slope(&x)?;
                let g = match s.requires_grad() {
                    true => gradients(&e, s, &x, false)?,
                    false => x
                        .iter()
                        .map(|x| e.full(x.shape(), 0.0, DType::F64))
                        .collect::<Result<_>>()?,
                };
                let value = |x: &[Tensor]| {
                    let x: Vec<Tensor> = x.iter().map(leaf).collect();
                    Ok(scalar(&e, &slope(&x)?))
                };
                let second = distance(&e, &x, &g, &value)?;
                if second.is_nan() || second > 1e-4 {
                    wrong.push(format!(
                        "{} sample {n}: second order is off by {second:e}",
                        op.name()
                    ));
                }
                Ok(())
            };
            match check() {
                Err(Error::Autograd { message, .. }) if message.contains("second derivative") => {}
                Err(error) => wrong.push(format!("{} sample {n}: {error}", op.name())),
                Ok(()) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The bytes of a call's results, or the error.
fn bits(
    e: &Engine,
    op: Op,
    sample: &Sample,
    float: DType,
) -> std::result::Result<Vec<u64>, String> {
    let made = inputs(e, sample, float);
    match e.call(op, &args(&made), &attrs(op, sample)) {
        Ok(outputs) => {
            let one = |t: &Tensor| values(e, t).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            Ok(outputs.iter().flat_map(one).collect())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn results_repeat_for_any_number_of_threads_and_in_every_float_type() {
    for &op in Op::ALL {
        for (n, sample) in samples(op).iter().enumerate() {
            for float in [DType::F64, DType::F32, DType::F16, DType::BF16] {
                let run = |threads| {
                    let e = engine(threads);
                    e.manual_seed(3);
                    bits(&e, op, sample, float)
                };
                let first = run(1);
                assert!(first.is_ok(), "{} sample {n} in {float}: {first:?}", op.name());
                assert_eq!(first, run(1), "{} sample {n} in {float} again", op.name());
                assert_eq!(first, run(3), "{} sample {n} in {float} on 3 threads", op.name());
            }
        }
    }
}

/// A call and, where there is one, its backward pass.
fn forward_and_backward(e: &Engine, op: Op, sample: &Sample, made: &[Made]) -> Result<()> {
    let outputs = e.call(op, &args(made), &attrs(op, sample))?;
    if outputs.iter().any(Tensor::requires_grad) {
        let out = outputs.into_iter().find(Tensor::requires_grad).expect("one was found");
        let seed = e.full(out.shape(), 1.0, out.dtype)?;
        let pass = Backward {
            roots: vec![(out, seed)],
            inputs: None,
            retain_graph: false,
            create_graph: false,
        };
        backward(e, pass)?;
    }
    Ok(())
}

#[test]
fn every_allocation_may_fail() {
    for &op in Op::ALL {
        for (n, sample) in samples(op).iter().enumerate() {
            for forever in [false, true] {
                fail_each(op, n, sample, forever);
            }
        }
    }
}

fn fail_each(op: Op, n: usize, sample: &Sample, forever: bool) {
    let e = engine(1);
    for after in 0..1000 {
        let mut made = inputs(&e, sample, DType::F32);
        if differentiable(op) {
            for m in &mut made {
                if let Made::Tensor(t) = m
                    && t.dtype.is_float()
                {
                    *t = leaf(t);
                }
            }
        }
        let before = e.pool.account.live();
        e.pool.fault.arm(after, forever);
        let result = forward_and_backward(&e, op, sample, &made);
        e.pool.fault.disarm();
        let what = format!("{} sample {n}, allocation {after}, forever {forever}", op.name());
        match result {
            Err(Error::Memory { .. }) => {
                assert_eq!(e.pool.account.live(), before, "{what}: bytes stayed");
                forward_and_backward(&e, op, sample, &made)
                    .unwrap_or_else(|e| panic!("{what}: no use afterwards: {e}"));
            }
            Err(error) => panic!("{what}: {error}"),
            Ok(()) => return,
        }
    }
    panic!("{}: more than 1000 allocations", op.name());
}
