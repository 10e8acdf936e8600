//! Ops through the engine, each dtype in each layout, against plain references in float64 that
//! do not come from the op table's expressions.

use half::{bf16, f16};
use mlrun_tensor_core::layout::{Layout, Strides};
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{Arg, Attr, Attrs, DType, Engine, Op, Scalar, Storage, Tensor};
use mlrun_tensor_cpu::CpuBackend;
use smallvec::smallvec;
use std::sync::Arc;

fn engine(threads: usize) -> Engine {
    Engine::new(Arc::new(CpuBackend::new(threads)), Arc::new(HostPool::new()))
}

fn put(t: &Tensor, at: isize, v: f64) {
    let p = t.storage.as_ptr();
    macro_rules! put {
        ($t:ty, $v:expr) => {
            // SAFETY: `at` lies inside the storage, which the tests make large enough.
            unsafe { *p.cast::<$t>().offset(at) = $v }
        };
    }
    match t.dtype {
        DType::F32 => put!(f32, v as f32),
        DType::F16 => put!(f16, f16::from_f64(v)),
        DType::BF16 => put!(bf16, bf16::from_f64(v)),
        DType::F64 => put!(f64, v),
        DType::I8 => put!(i8, v as i8),
        DType::U8 => put!(u8, v as u8),
        DType::I16 => put!(i16, v as i16),
        DType::I32 => put!(i32, v as i32),
        DType::I64 => put!(i64, v as i64),
        DType::Bool => put!(u8, (v != 0.0) as u8),
    }
}

fn get(t: &Tensor, at: isize) -> f64 {
    let p = t.storage.as_ptr();
    macro_rules! get {
        ($t:ty, |$v:ident| $e:expr) => {{
            // SAFETY: `at` lies inside the storage.
            let $v = unsafe { *p.cast::<$t>().offset(at) };
            $e
        }};
    }
    match t.dtype {
        DType::F32 => get!(f32, |v| v as f64),
        DType::F16 => get!(f16, |v| v.to_f64()),
        DType::BF16 => get!(bf16, |v| v.to_f64()),
        DType::F64 => get!(f64, |v| v),
        DType::I8 => get!(i8, |v| v as f64),
        DType::U8 | DType::Bool => get!(u8, |v| v as f64),
        DType::I16 => get!(i16, |v| v as f64),
        DType::I32 => get!(i32, |v| v as f64),
        DType::I64 => get!(i64, |v| v as f64),
    }
}

/// Elements in row-major order.
fn values(t: &Tensor) -> Vec<f64> {
    let l = &t.layout;
    (0..l.numel())
        .map(|flat| {
            let (mut rest, mut at) = (flat, l.offset as isize);
            for d in (0..l.ndim()).rev() {
                at += (rest % l.shape[d]) as isize * l.strides[d];
                rest /= l.shape[d];
            }
            get(t, at)
        })
        .collect()
}

const LAYOUTS: [&str; 6] = ["contiguous", "transposed", "strided", "stride 0", "offset", "flipped"];

/// A tensor of `shape` in one of [`LAYOUTS`] with `v(i)` at element i (of the first row only,
/// repeated, for stride 0).
fn make(
    e: &Engine,
    layout: &str,
    shape: &[usize],
    dtype: DType,
    v: impl Fn(usize) -> f64,
) -> Tensor {
    let n: usize = shape.iter().product();
    let last = shape.last().copied().unwrap_or(1);
    let contiguous = Layout::contiguous(shape);
    let l = match layout {
        "transposed" => {
            let mut step = 1isize;
            let mut strides: Strides = smallvec![0; shape.len()];
            for d in 0..shape.len() {
                strides[d] = step;
                step *= shape[d].max(1) as isize;
            }
            Layout { strides, ..contiguous }
        }
        "strided" => Layout {
            strides: contiguous.strides.iter().map(|s| s * 3).collect(),
            offset: 2,
            ..contiguous
        },
        "stride 0" => {
            let mut strides: Strides = smallvec![0; shape.len()];
            if let Some(s) = strides.last_mut() {
                *s = 1;
            }
            Layout { strides, ..contiguous }
        }
        "offset" => Layout { offset: 5, ..contiguous },
        "flipped" => Layout {
            strides: contiguous.strides.iter().map(|s| -s).collect(),
            offset: n.saturating_sub(1),
            ..contiguous
        },
        _ => contiguous,
    };
    let storage = Storage::new(&e.pool, (3 * n + 16) * dtype.size()).unwrap();
    let t = Tensor::new(storage, l, dtype);
    for flat in 0..n {
        let (mut rest, mut at) = (flat, t.layout.offset as isize);
        for d in (0..shape.len()).rev() {
            at += (rest % shape[d]) as isize * t.layout.strides[d];
            rest /= shape[d];
        }
        put(&t, at, v(if layout == "stride 0" { flat % last } else { flat }));
    }
    t
}

fn shapes() -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = (0..=17).map(|n| vec![n]).collect();
    all.extend([vec![], vec![3, 5], vec![4, 1, 7], vec![2, 0, 3], vec![3, 300], vec![40, 67]]);
    all
}

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-6,
        DType::F16 => 1.1e-3,
        DType::BF16 => 8e-3,
        DType::F64 => 1e-13,
        _ => 0.0,
    }
}

fn close(got: f64, want: f64, dtype: DType, slack: f64) -> bool {
    got == want
        || (got.is_nan() && want.is_nan())
        || (got - want).abs() <= tolerance(dtype) * slack * want.abs().max(1.0)
}

fn same(name: &str, got: &Tensor, want: &[f64], slack: f64) {
    let got_values = values(got);
    assert_eq!(got_values.len(), want.len(), "{name}");
    for (i, (g, w)) in got_values.iter().zip(want).enumerate() {
        assert!(close(*g, *w, got.dtype, slack), "{name} element {i}: got {g}, expected {w}");
    }
}

type Unary = (Op, fn(f64) -> f64);
type Binary = (Op, fn(f64, f64) -> f64);

/// Valid for arguments in (0, 1).
const FLOAT_UNARY: &[Unary] = &[
    (Op::Exp, |x| x.exp()),
    (Op::Expm1, |x| x.exp_m1()),
    (Op::Log, |x| x.ln()),
    (Op::Log1p, |x| x.ln_1p()),
    (Op::Log2, |x| x.log2()),
    (Op::Log10, |x| x.log10()),
    (Op::Sqrt, |x| x.sqrt()),
    (Op::Rsqrt, |x| 1.0 / x.sqrt()),
    (Op::Reciprocal, |x| 1.0 / x),
    (Op::Sin, |x| x.sin()),
    (Op::Cos, |x| x.cos()),
    (Op::Tan, |x| x.tan()),
    (Op::Asin, |x| x.asin()),
    (Op::Acos, |x| x.acos()),
    (Op::Atan, |x| x.atan()),
    (Op::Sinh, |x| x.sinh()),
    (Op::Cosh, |x| x.cosh()),
    (Op::Tanh, |x| x.tanh()),
    (Op::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
    (Op::Erf, libm::erf),
    (Op::Silu, |x| x / (1.0 + (-x).exp())),
    (Op::Gelu, |x| 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt()))),
];

const NUMBER_UNARY: &[Unary] = &[
    (Op::Neg, |x| -x),
    (Op::Abs, |x| x.abs()),
    (Op::Sign, |x| if x == 0.0 { 0.0 } else { x.signum() }),
    (Op::Square, |x| x * x),
    (Op::Relu, |x| x.max(0.0)),
    (Op::Floor, |x| x.floor()),
    (Op::Ceil, |x| x.ceil()),
    (Op::Round, |x| x.round_ties_even()),
    (Op::Trunc, |x| x.trunc()),
];

const NUMBER_BINARY: &[Binary] = &[
    (Op::Add, |a, b| a + b),
    (Op::Sub, |a, b| a - b),
    (Op::Mul, |a, b| a * b),
    (Op::Maximum, f64::max),
    (Op::Minimum, f64::min),
    (Op::Remainder, |a, b| a - (a / b).floor() * b),
    (Op::FloorDivide, |a, b| (a / b).floor()),
];

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const SIGNED: [DType; 8] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
];

/// The value as the dtype stores it.
fn stored(dtype: DType, v: f64) -> f64 {
    match dtype {
        DType::F32 => v as f32 as f64,
        DType::F16 => f16::from_f64(v).to_f64(),
        DType::BF16 => bf16::from_f64(v).to_f64(),
        DType::F64 => v,
        _ => v.trunc(),
    }
}

fn unary(ops: &[Unary], dtypes: &[DType], of: fn(usize) -> f64) {
    let e = engine(2);
    for &(op, f) in ops {
        for &dtype in dtypes {
            for layout in LAYOUTS {
                for shape in shapes() {
                    let x = make(&e, layout, &shape, dtype, of);
                    let want: Vec<f64> = values(&x).into_iter().map(f).collect();
                    let y = e.un(op, &x).unwrap();
                    same(&format!("{op:?} {dtype} {layout} {shape:?}"), &y, &want, 2.0);
                }
            }
        }
    }
}

#[test]
fn float_functions() {
    unary(FLOAT_UNARY, &FLOATS, |i| ((i * 37) % 89) as f64 / 90.0 + 0.004);
}

#[test]
fn number_functions() {
    unary(NUMBER_UNARY, &SIGNED, |i| ((i * 37) % 23) as f64 * 0.5 - 5.0);
}

#[test]
fn pairs_of_layouts() {
    let e = engine(2);
    let a_of = |i: usize| ((i * 37) % 23) as f64 - 11.0;
    let b_of = |i: usize| [3.0, -2.0, 1.0, 5.0, -7.0][i % 5];
    for &(op, f) in NUMBER_BINARY {
        for dtype in SIGNED {
            for (k, la) in LAYOUTS.iter().enumerate() {
                for lb in [LAYOUTS[(k + 1) % 6], LAYOUTS[(k * 3) % 6]] {
                    for shape in shapes() {
                        let a = make(&e, la, &shape, dtype, a_of);
                        let b = make(&e, lb, &shape, dtype, b_of);
                        let want: Vec<f64> =
                            values(&a).iter().zip(values(&b)).map(|(a, b)| f(*a, b)).collect();
                        let name = format!("{op:?} {dtype} {la} with {lb} {shape:?}");
                        same(&name, &e.bin(op, &a, &b).unwrap(), &want, 1.0);
                        let scalar = Arg::Scalar(Scalar::Int(3));
                        let y = e.call1(op, &[Arg::Tensor(&a), scalar], &Attrs::new()).unwrap();
                        let want: Vec<f64> = values(&a).iter().map(|a| f(*a, 3.0)).collect();
                        same(&format!("{name}, scalar"), &y, &want, 1.0);
                    }
                }
            }
        }
    }
}

#[test]
fn an_operand_overwritten_while_it_is_read() {
    let e = engine(2);
    for dtype in SIGNED {
        for n in [1usize, 7, 64, 1000, 3000, 200_000] {
            let make = |k: usize| {
                let storage = Storage::new(&e.pool, n * dtype.size()).unwrap();
                let t = Tensor::new(storage, Layout::contiguous(&[n]), dtype);
                (0..n).for_each(|i| put(&t, i as isize, ((i * k) % 11) as f64));
                t
            };
            for donated in [0u8, 1, 2, 3] {
                let (a, b) = (make(3), make(5));
                let want: Vec<f64> =
                    values(&a).iter().zip(values(&b)).map(|(a, b)| a - b).collect();
                let args = [Arg::Tensor(&a), Arg::Tensor(&b)];
                let y = e.call_donating(Op::Sub, &args, &Attrs::new(), donated).unwrap();
                same(&format!("{dtype} {n} donated {donated}"), &y[0], &want, 1.0);
                let taken = y[0].storage.same(&a.storage) || y[0].storage.same(&b.storage);
                assert_eq!(taken, donated != 0);
            }
        }
    }
}

#[test]
fn comparisons_and_selection() {
    let e = engine(2);
    type Comparison = fn(f64, f64) -> bool;
    let ops: [(Op, Comparison); 6] = [
        (Op::Eq, |a, b| a == b),
        (Op::Ne, |a, b| a != b),
        (Op::Lt, |a, b| a < b),
        (Op::Le, |a, b| a <= b),
        (Op::Gt, |a, b| a > b),
        (Op::Ge, |a, b| a >= b),
    ];
    for dtype in DType::ALL {
        for (k, la) in LAYOUTS.iter().enumerate() {
            for shape in shapes() {
                let a = make(&e, la, &shape, dtype, |i| ((i * 5) % 4) as f64);
                let b = make(&e, LAYOUTS[(k + 2) % 6], &shape, dtype, |i| ((i * 3) % 4) as f64);
                let (va, vb) = (values(&a), values(&b));
                for (op, f) in ops {
                    let y = e.bin(op, &a, &b).unwrap();
                    assert_eq!(y.dtype, DType::Bool);
                    let want: Vec<f64> =
                        va.iter().zip(&vb).map(|(a, b)| f(*a, *b) as u8 as f64).collect();
                    same(&format!("{op:?} {dtype} {la} {shape:?}"), &y, &want, 1.0);
                }
                let mask = make(&e, LAYOUTS[(k + 1) % 6], &shape, DType::Bool, |i| (i % 3) as f64);
                let args = [Arg::Tensor(&mask), Arg::Tensor(&a), Arg::Tensor(&b)];
                let y = e.call1(Op::Where, &args, &Attrs::new()).unwrap();
                let want: Vec<f64> = values(&mask)
                    .iter()
                    .zip(va.iter().zip(&vb))
                    .map(|(m, (a, b))| if *m != 0.0 { *a } else { *b })
                    .collect();
                same(&format!("where {dtype} {la} {shape:?}"), &y, &want, 1.0);
            }
        }
    }
}

#[test]
fn copies_between_all_dtypes_and_layouts() {
    let e = engine(2);
    for from in DType::ALL {
        for to in DType::ALL {
            for layout in LAYOUTS {
                for shape in shapes() {
                    let x = make(&e, layout, &shape, from, |i| ((i * 7) % 100) as f64);
                    let want: Vec<f64> = values(&x)
                        .into_iter()
                        .map(|v| if to == DType::Bool { (v != 0.0) as u8 as f64 } else { v })
                        .collect();
                    let y = e.cast(&x, to).unwrap();
                    same(&format!("{from} to {to} {layout} {shape:?}"), &y, &want, 1.0);
                    if from == to {
                        let y = e.clone_tensor(&x).unwrap();
                        same(&format!("clone {from} {layout} {shape:?}"), &y, &want, 1.0);
                        let dst = make(&e, LAYOUTS[1], &shape, to, |_| 0.0);
                        e.copy_into(&dst, &x).unwrap();
                        same(&format!("copy into {from} {layout} {shape:?}"), &dst, &want, 1.0);
                    }
                }
            }
        }
    }
}

/// Sums, extremes and positions over each set of dimensions, by plain loops.
#[test]
fn reductions_over_any_dimensions() {
    let e = engine(3);
    let cases: [(&[usize], &[&[i64]]); 8] = [
        (&[5], &[&[0]]),
        (&[17], &[&[-1]]),
        (&[3, 5], &[&[0], &[1], &[0, 1]]),
        (&[4, 1, 7], &[&[0], &[1], &[2], &[0, 2], &[1, 2]]),
        (&[3, 4, 5, 6], &[&[0], &[1], &[2], &[3], &[0, 2], &[1, 3], &[1, 2], &[0, 3]]),
        (&[3, 40_000], &[&[0], &[1]]),
        (&[40_000, 3], &[&[0], &[1]]),
        (&[300, 700], &[&[0], &[1], &[0, 1]]),
    ];
    for (shape, lists) in cases {
        for dtype in DType::ALL {
            for layout in LAYOUTS {
                let x = make(&e, layout, shape, dtype, |i| {
                    let v = ((i * 31 + i / 7) % 7) as f64;
                    if dtype.is_float() { v * 0.25 - 0.5 } else { v }
                });
                let v = values(&x);
                for dims in lists {
                    let flags: Vec<bool> = (0..shape.len() as i64)
                        .map(|d| dims.iter().any(|&k| k == d || k + shape.len() as i64 == d))
                        .collect();
                    let kept: usize =
                        shape.iter().zip(&flags).filter(|(_, r)| !**r).map(|(d, _)| d).product();
                    // Elements of each output, in row-major order of the reduced dimensions.
                    let mut groups: Vec<Vec<f64>> = vec![Vec::new(); kept];
                    for (flat, value) in v.iter().enumerate() {
                        let (mut rest, mut out, mut step) = (flat, 0, 1);
                        for d in (0..shape.len()).rev() {
                            if !flags[d] {
                                out += rest % shape[d] * step;
                                step *= shape[d];
                            }
                            rest /= shape[d];
                        }
                        groups[out].push(*value);
                    }
                    let name = format!("{dtype} {layout} {shape:?} over {dims:?}");
                    check_reductions(&e, &x, dims, &groups, &name);
                }
            }
        }
    }
}

fn check_reductions(e: &Engine, x: &Tensor, dims: &[i64], groups: &[Vec<f64>], name: &str) {
    let list = Attr::Ints(dims.iter().copied().collect());
    let attrs: Attrs = smallvec![list, Attr::Bool(false)];
    let call = |op: Op| e.call1(op, &[Arg::Tensor(x)], &attrs).unwrap();
    let by = |f: &dyn Fn(&[f64]) -> f64| -> Vec<f64> { groups.iter().map(|g| f(g)).collect() };
    let max = |g: &[f64]| g.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let min = |g: &[f64]| g.iter().copied().fold(f64::INFINITY, f64::min);
    let at = |g: &[f64], v: f64| g.iter().position(|x| *x == v).unwrap() as f64;
    same(&format!("sum {name}"), &call(Op::Sum), &by(&|g| g.iter().sum()), 2.0);
    same(&format!("amax {name}"), &call(Op::Amax), &by(&max), 1.0);
    same(&format!("amin {name}"), &call(Op::Amin), &by(&min), 1.0);
    let any = by(&|g| g.iter().any(|v| *v != 0.0) as u8 as f64);
    let all = by(&|g| g.iter().all(|v| *v != 0.0) as u8 as f64);
    same(&format!("any {name}"), &call(Op::Any), &any, 1.0);
    same(&format!("all {name}"), &call(Op::All), &all, 1.0);
    if dims.len() == 1 {
        same(&format!("argmax {name}"), &call(Op::Argmax), &by(&|g| at(g, max(g))), 1.0);
        same(&format!("argmin {name}"), &call(Op::Argmin), &by(&|g| at(g, min(g))), 1.0);
        let attrs: Attrs = smallvec![Attr::Int(dims[0]), Attr::Bool(true)];
        let both = e.call(Op::MaxDim, &[Arg::Tensor(x)], &attrs).unwrap();
        same(&format!("max {name}"), &both[0], &by(&max), 1.0);
        same(&format!("max at {name}"), &both[1], &by(&|g| at(g, max(g))), 1.0);
    }
}

#[test]
fn nan_wins_wherever_it_stands() {
    let e = engine(1);
    let attrs: Attrs = smallvec![Attr::Absent, Attr::Bool(false)];
    for n in 1..=70 {
        for at in 0..n {
            let x =
                make(
                    &e,
                    "contiguous",
                    &[n],
                    DType::F32,
                    |i| if i == at { f64::NAN } else { i as f64 },
                );
            for op in [Op::Amax, Op::Amin, Op::Sum] {
                let y = e.call1(op, &[Arg::Tensor(&x)], &attrs).unwrap();
                assert!(values(&y)[0].is_nan(), "{op:?} {n} {at}");
            }
            for op in [Op::Argmax, Op::Argmin] {
                let y = e.call1(op, &[Arg::Tensor(&x)], &attrs).unwrap();
                assert_eq!(values(&y)[0], at as f64, "{op:?} {n}");
            }
        }
    }
}

#[test]
fn a_long_float32_sum_is_exact_to_a_few_units() {
    for threads in [1, 2, 5] {
        let e = engine(threads);
        let n = 1_000_003;
        let x = make(&e, "contiguous", &[n], DType::F32, |i| 0.1 + (i % 10) as f64 * 1e-3);
        let exact: f64 = values(&x).iter().sum();
        let attrs: Attrs = smallvec![Attr::Absent, Attr::Bool(false)];
        let y = e.call1(Op::Sum, &[Arg::Tensor(&x)], &attrs).unwrap();
        assert!((values(&y)[0] - exact).abs() / exact < 1e-7, "{} {exact}", values(&y)[0]);
    }
}

#[test]
fn thread_count_does_not_change_a_bit() {
    let results: Vec<Vec<u64>> = [1, 2, 3, 8]
        .into_iter()
        .map(|threads| {
            let e = engine(threads);
            let x = make(&e, "contiguous", &[400, 611], DType::F32, |i| (i as f64 * 0.37).sin());
            let mut bits = Vec::new();
            let mut add = |t: &Tensor| bits.extend(values(t).iter().map(|v| v.to_bits()));
            add(&e.sum_dims(&x, &[0], false).unwrap());
            add(&e.sum_dims(&x, &[1], false).unwrap());
            add(&e.sum_dims(&x, &[0, 1], false).unwrap());
            add(&e.un(Op::Gelu, &x).unwrap());
            add(&e.matmul(&e.transpose_last(&x).unwrap(), &x).unwrap());
            for dim in [0, 1] {
                let attrs: Attrs = smallvec![Attr::Int(dim)];
                add(&e.call1(Op::Softmax, &[Arg::Tensor(&x)], &attrs).unwrap());
            }
            bits
        })
        .collect();
    assert!(results.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn softmax_along_each_dimension() {
    let e = engine(2);
    for dtype in FLOATS {
        for layout in LAYOUTS {
            for shape in [vec![1], vec![17], vec![3, 40], vec![4, 5, 33], vec![70, 3]] {
                let x = make(&e, layout, &shape, dtype, |i| ((i * 13) % 29) as f64 * 0.25 - 3.0);
                let v = values(&x);
                for dim in 0..shape.len() {
                    let inner: usize = shape[dim + 1..].iter().product();
                    let n = shape[dim];
                    let soft: Vec<f64> = (0..v.len())
                        .map(|flat| {
                            let first = flat / (n * inner) * (n * inner) + flat % inner;
                            let sum: f64 = (0..n).map(|k| v[first + k * inner].exp()).sum();
                            v[flat].exp() / sum
                        })
                        .collect();
                    let attrs: Attrs = smallvec![Attr::Int(dim as i64)];
                    let name = format!("softmax {dtype} {layout} {shape:?} {dim}");
                    let y = e.call1(Op::Softmax, &[Arg::Tensor(&x)], &attrs).unwrap();
                    same(&name, &y, &soft, 1.0);
                    let y = e.call1(Op::LogSoftmax, &[Arg::Tensor(&x)], &attrs).unwrap();
                    let logs: Vec<f64> = soft.iter().map(|v| v.ln()).collect();
                    same(&format!("log{name}"), &y, &logs, 1.0);
                }
            }
        }
    }
}

#[test]
fn positions_from_an_index() {
    let e = engine(2);
    let shape = [6usize, 5, 7];
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            let x = make(&e, layout, &shape, dtype, |i| ((i * 7) % 90) as f64);
            let v = values(&x);
            let at = |i: [usize; 3]| v[(i[0] * 5 + i[1]) * 7 + i[2]];
            for dim in 0..3usize {
                let attrs: Attrs = smallvec![Attr::Int(dim as i64)];
                let rows = make(&e, "strided", &[4], DType::I64, |i| [2.0, 0.0, 2.0, 4.0][i]);
                let list = [2usize, 0, 2, 4];
                let y = e
                    .call1(Op::IndexSelect, &[Arg::Tensor(&x), Arg::Tensor(&rows)], &attrs)
                    .unwrap();
                let mut out_shape = shape;
                out_shape[dim] = 4;
                let each = |f: &mut dyn FnMut([usize; 3])| {
                    for i in 0..out_shape[0] {
                        for j in 0..out_shape[1] {
                            for k in 0..out_shape[2] {
                                f([i, j, k]);
                            }
                        }
                    }
                };
                let mut want = Vec::new();
                each(&mut |mut i| {
                    i[dim] = list[i[dim]];
                    want.push(at(i));
                });
                same(&format!("indexSelect {dtype} {layout} {dim}"), &y, &want, 1.0);
                let index = make(&e, layout, &out_shape, DType::I64, |i| ((i * 3) % 5) as f64);
                let iv = values(&index);
                let y =
                    e.call1(Op::Gather, &[Arg::Tensor(&x), Arg::Tensor(&index)], &attrs).unwrap();
                let (mut want, mut flat) = (Vec::new(), 0);
                each(&mut |mut i| {
                    i[dim] = iv[flat] as usize;
                    flat += 1;
                    want.push(at(i));
                });
                same(&format!("gather {dtype} {layout} {dim}"), &y, &want, 1.0);
                if dtype == DType::Bool || dtype.size() == 1 {
                    continue;
                }
                let source = make(&e, layout, &out_shape, dtype, |i| ((i * 5) % 9) as f64);
                let sv = values(&source);
                let (mut rowed, mut scattered, mut flat) = (v.clone(), v.clone(), 0);
                each(&mut |i| {
                    let (mut r, mut s) = (i, i);
                    r[dim] = list[i[dim]];
                    s[dim] = iv[flat] as usize;
                    rowed[(r[0] * 5 + r[1]) * 7 + r[2]] += sv[flat];
                    scattered[(s[0] * 5 + s[1]) * 7 + s[2]] += sv[flat];
                    flat += 1;
                });
                let args = [Arg::Tensor(&x), Arg::Tensor(&rows), Arg::Tensor(&source)];
                let y = e.call1(Op::IndexAdd, &args, &attrs).unwrap();
                same(&format!("indexAdd {dtype} {layout} {dim}"), &y, &rowed, 1.0);
                let args = [Arg::Tensor(&x), Arg::Tensor(&index), Arg::Tensor(&source)];
                let y = e.call1(Op::ScatterAdd, &args, &attrs).unwrap();
                same(&format!("scatterAdd {dtype} {layout} {dim}"), &y, &scattered, 1.0);
            }
        }
    }
    let x = make(&e, "contiguous", &shape, DType::F32, |_| 0.0);
    for bad in [-1.0, 5.0, 1e18] {
        let rows = make(&e, "contiguous", &[2], DType::I64, |i| if i == 1 { bad } else { 0.0 });
        let attrs: Attrs = smallvec![Attr::Int(1)];
        let error =
            e.call1(Op::IndexSelect, &[Arg::Tensor(&x), Arg::Tensor(&rows)], &attrs).unwrap_err();
        assert!(error.to_string().contains("out of range, expected 0 to 4"), "{error}");
    }
}

#[test]
fn products_of_batches() {
    let e = engine(2);
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            for (sa, sb) in [
                (vec![3, 4], vec![4, 5]),
                (vec![2, 3, 4], vec![2, 4, 5]),
                (vec![9, 3, 4], vec![4, 5]),
                (vec![1, 6, 2, 3], vec![5, 1, 3, 2]),
                (vec![20, 8, 9], vec![20, 9, 8]),
                (vec![2, 0, 3], vec![2, 3, 4]),
                (vec![2, 3, 0], vec![2, 0, 4]),
            ] {
                let a = make(&e, layout, &sa, dtype, |i| ((i * 5) % 3) as f64);
                let b = make(&e, layout, &sb, dtype, |i| ((i * 7) % 3) as f64);
                let y = e.bin(Op::Bmm, &a, &b).unwrap();
                let (va, vb) = (values(&a), values(&b));
                let (m, k, n) = (sa[sa.len() - 2], sa[sa.len() - 1], sb[sb.len() - 1]);
                let batch: Vec<usize> = y.shape()[..y.ndim() - 2].to_vec();
                let place = |s: &[usize], flat: usize| {
                    let (mut rest, mut at, mut step) = (flat, 0, 1);
                    let own = &s[..s.len() - 2];
                    for d in (0..batch.len()).rev() {
                        let i = rest % batch[d];
                        rest /= batch[d];
                        if let Some(o) = (d + own.len()).checked_sub(batch.len()) {
                            at += if own[o] == 1 { 0 } else { i * step };
                            step *= own[o];
                        }
                    }
                    at
                };
                let mut want = Vec::new();
                for flat in 0..batch.iter().product() {
                    let (oa, ob) = (place(&sa, flat) * m * k, place(&sb, flat) * k * n);
                    for i in 0..m {
                        for j in 0..n {
                            let sum: f64 =
                                (0..k).map(|p| va[oa + i * k + p] * vb[ob + p * n + j]).sum();
                            want.push(if dtype == DType::Bool {
                                (sum != 0.0) as u8 as f64
                            } else {
                                sum
                            });
                        }
                    }
                }
                same(&format!("{dtype} {layout} {sa:?} {sb:?}"), &y, &want, 1.0);
            }
        }
    }
}

#[test]
fn adam_steps_follow_the_formula() {
    let e = engine(2);
    for dtype in [DType::F32, DType::F64] {
        for decoupled in [false, true] {
            for n in [1usize, 7, 40_000] {
                let p = make(&e, "contiguous", &[n], dtype, |i| (i % 13) as f64 * 0.1 - 0.5);
                let g = make(&e, "strided", &[n], dtype, |i| (i % 7) as f64 * 0.2 - 0.6);
                let m = make(&e, "contiguous", &[n], dtype, |_| 0.0);
                let v = make(&e, "contiguous", &[n], dtype, |_| 0.0);
                let gv = values(&g);
                let (mut pw, mut mw, mut vw) = (values(&p), vec![0.0; n], vec![0.0; n]);
                for step in 1..=3i64 {
                    let attrs: Attrs = [1e-2, 0.9, 0.999, 1e-8, 0.1]
                        .into_iter()
                        .map(Attr::Float)
                        .chain([Attr::Bool(decoupled), Attr::Int(step)])
                        .collect();
                    let args = [&p, &g, &m, &v].map(Arg::Tensor);
                    e.call(Op::AdamStep, &args, &attrs).unwrap();
                    for i in 0..n {
                        let grad = if decoupled { gv[i] } else { gv[i] + 0.1 * pw[i] };
                        mw[i] = 0.9 * mw[i] + 0.1 * grad;
                        vw[i] = 0.999 * vw[i] + 0.001 * grad * grad;
                        let mh = mw[i] / (1.0 - 0.9f64.powi(step as i32));
                        let vh = vw[i] / (1.0 - 0.999f64.powi(step as i32));
                        let keep = if decoupled { 1.0 - 1e-3 } else { 1.0 };
                        pw[i] = pw[i] * keep - 1e-2 * mh / (vh.sqrt() + 1e-8);
                    }
                }
                same(&format!("adam {dtype} {decoupled} {n}"), &p, &pw, 2.0);
            }
        }
    }
}

#[test]
fn large_angles_are_reduced_exactly() {
    let e = engine(1);
    let angles = [3e8, 1e10, 1e20, 3.4e38, -7e15, 5.0, f64::INFINITY, 1e9];
    let x = make(&e, "contiguous", &[8], DType::F32, |i| angles[i]);
    let v = values(&x);
    for (op, f) in [(Op::Sin, f64::sin as fn(f64) -> f64), (Op::Cos, f64::cos), (Op::Tan, f64::tan)]
    {
        let want: Vec<f64> = v.iter().map(|x| f(*x)).collect();
        same(&format!("{op:?}"), &e.un(op, &x).unwrap(), &want, 1.0);
    }
}

#[test]
fn stored_values_round_trip() {
    let e = engine(1);
    for dtype in FLOATS {
        let t = make(&e, "contiguous", &[3], dtype, |i| 0.1 * (i + 1) as f64);
        let want: Vec<f64> = (0..3).map(|i| stored(dtype, 0.1 * (i + 1) as f64)).collect();
        assert_eq!(values(&t), want);
    }
}
