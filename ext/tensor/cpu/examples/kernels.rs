//! Measures kernels for `benches/kernels.py`, which compares them with PyTorch.
//!
//! Without arguments it prints what this machine can do at most and how fast matrix products
//! are. With `serve` it answers lines "CASE THREADS MILLISECONDS" by the median time of one
//! call in nanoseconds, measured for that long.

use mlrun_tensor_core::layout::Layout;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::tape::{self, Edge};
use mlrun_tensor_core::{Arg, Attr, Attrs, DType, Engine, Op, Storage, Tensor};
use mlrun_tensor_cpu::{CpuBackend, Threads};
use smallvec::smallvec;
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

/// Seconds that this thread ran on a processor, where the system says so.
fn on_processor() -> Option<f64> {
    #[cfg(unix)]
    {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes one timespec.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
        if failed == 0 {
            return Some(t.tv_sec as f64 + t.tv_nsec as f64 / 1e9);
        }
    }
    None
}

/// Median seconds of a call, over batches that last a fifth of a millisecond or one call.
/// With `MLRUN_BENCH_CLOCK=cpu` the time that other programs took is left out, which makes one
/// thread's times comparable on a busy machine.
fn median(seconds: f64, f: &mut dyn FnMut()) -> f64 {
    f();
    let cpu = std::env::var("MLRUN_BENCH_CLOCK").is_ok_and(|v| v == "cpu");
    let (mut calls, mut times, begin) = (1u32, Vec::new(), Instant::now());
    let now = || match cpu.then(on_processor).flatten() {
        Some(t) => t,
        None => begin.elapsed().as_secs_f64(),
    };
    while begin.elapsed().as_secs_f64() < seconds || times.len() < 3 {
        let t = now();
        (0..calls).for_each(|_| f());
        let d = now() - t;
        if d < if cpu { 0.002 } else { 0.0002 } && calls < 1 << 24 {
            calls *= 2;
        } else {
            times.push(d / calls as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Multiply-adds in registers only, in GFLOP/s: what one core can do at most.
fn peak() -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        #[target_feature(enable = "avx2,fma")]
        fn avx2(n: usize, mul: f32) -> f32 {
            let (b, c) = (_mm256_set1_ps(mul), _mm256_set1_ps(0.001));
            let mut acc = [_mm256_set1_ps(1.0); 12];
            for _ in 0..n {
                for a in &mut acc {
                    *a = _mm256_fmadd_ps(*a, b, c);
                }
            }
            acc.iter().map(|a| _mm256_cvtss_f32(*a)).sum()
        }
        #[target_feature(enable = "avx512f")]
        fn avx512(n: usize, mul: f32) -> f32 {
            let (b, c) = (_mm512_set1_ps(mul), _mm512_set1_ps(0.001));
            let mut acc = [_mm512_set1_ps(1.0); 12];
            for _ in 0..n {
                for a in &mut acc {
                    *a = _mm512_fmadd_ps(*a, b, c);
                }
            }
            acc.iter().map(|a| _mm512_cvtss_f32(*a)).sum()
        }
        let n = 20_000;
        let flops = |lanes: f64, t: f64| n as f64 * 12.0 * 2.0 * lanes / t / 1e9;
        if is_x86_feature_detected!("avx512f") {
            let t = median(0.3, &mut || {
                // SAFETY: checked above.
                black_box(unsafe { avx512(n, black_box(0.999)) });
            });
            return flops(16.0, t);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let t = median(0.3, &mut || {
                // SAFETY: checked above.
                black_box(unsafe { avx2(n, black_box(0.999)) });
            });
            return flops(8.0, t);
        }
    }
    f64::NAN
}

struct Bench {
    engine: Engine,
    tensors: HashMap<String, Tensor>,
}

impl Bench {
    fn new(threads: usize) -> Bench {
        let backend = Arc::new(CpuBackend::new(threads));
        let engine = Engine::new(backend, Arc::new(HostPool::new()));
        engine.set_grad_enabled(false);
        Bench { engine, tensors: HashMap::new() }
    }

    /// A float32 tensor of random numbers, made once.
    fn random(&mut self, name: &str, shape: &[usize]) -> Tensor {
        let key = format!("{name}{shape:?}");
        if let Some(t) = self.tensors.get(&key) {
            return t.clone();
        }
        let dims = Attr::Ints(shape.iter().map(|&d| d as i64).collect());
        let attrs = smallvec![dims, Attr::Float(0.0), Attr::Float(1.0), Attr::Absent];
        let t = self.engine.call1(Op::Randn, &[], &attrs).expect("randn");
        self.tensors.insert(key, t.clone());
        t
    }

    fn index(&self, n: usize, below: usize) -> Tensor {
        let storage = Storage::new(&self.engine.pool, n * 8).expect("memory");
        let p = storage.as_ptr().cast::<i64>();
        for i in 0..n {
            // SAFETY: the storage holds `n` positions.
            unsafe { p.add(i).write((i * 7919 % below) as i64) };
        }
        Tensor::new(storage, Layout::contiguous(&[n]), DType::I64)
    }

    /// A call with its gradients by all inputs.
    fn both_ways<'a>(
        &'a mut self,
        kind: &str,
        shape: &[usize],
        option: &str,
    ) -> Option<Box<dyn FnMut() + 'a>> {
        let last = *shape.last()?;
        let ints = |v: &[i64]| Attr::Ints(v.iter().copied().collect());
        let x = self.random("x", shape);
        let (op, more, attrs): (Op, Vec<Tensor>, Attrs) = match kind {
            "gelu" => (Op::GeluTanh, vec![], Attrs::new()),
            "softmax" => (Op::Softmax, vec![], smallvec![Attr::Int(-1)]),
            "logsoftmax" => (Op::LogSoftmax, vec![], smallvec![Attr::Int(-1)]),
            "layernorm" => {
                let affine = vec![self.random("w", &[last]), self.random("b", &[last])];
                (Op::LayerNorm, affine, smallvec![ints(&[last as i64]), Attr::Float(1e-5)])
            }
            "conv2d" => {
                let out: usize = option.parse().ok()?;
                let affine =
                    vec![self.random("w", &[out, shape[1], 3, 3]), self.random("b", &[out])];
                let attrs = smallvec![
                    ints(&[1, 1]),
                    ints(&[0, 0]),
                    ints(&[1, 1]),
                    Attr::Int(1),
                    Attr::Bool(false)
                ];
                (Op::Conv2d, affine, attrs)
            }
            "attention" => {
                let more = vec![self.random("k", shape), self.random("v", shape)];
                let attrs =
                    smallvec![Attr::Bool(option == "causal"), Attr::Absent, Attr::Float(0.0)];
                (Op::ScaledDotProductAttention, more, attrs)
            }
            _ => return None,
        };
        let mut inputs = vec![x];
        inputs.extend(more);
        // Images have no gradient of their own in the first layer.
        let free = if kind == "conv2d" && shape[1] == 1 { 1 } else { 0 };
        for t in inputs.iter_mut().skip(free) {
            t.edge = Edge::Leaf(Default::default());
        }
        let e = &self.engine;
        let seed = {
            let args: Vec<Arg> = inputs.iter().map(Arg::Tensor).collect();
            let y = e.call1(op, &args, &attrs).ok()?;
            e.full(y.shape(), 0.5, DType::F32).ok()?
        };
        Some(Box::new(move || {
            e.set_grad_enabled(true);
            let args: Vec<Arg> = inputs.iter().map(Arg::Tensor).collect();
            let y = e.call1(op, &args, &attrs).expect("op");
            let pass = tape::Backward {
                roots: vec![(y, seed.clone())],
                inputs: Some(&inputs[free..]),
                retain_graph: false,
                create_graph: false,
            };
            drop(tape::backward(e, pass).expect("backward"));
            e.set_grad_enabled(false);
        }))
    }

    /// The call that a case names, or nothing for an unknown name.
    fn case<'a>(&'a mut self, name: &str) -> Option<Box<dyn FnMut() + 'a>> {
        let (kind, rest) = name.split_once(':')?;
        let shape: Vec<usize> =
            rest.split('/').next()?.split('x').map(str::parse).collect::<Result<_, _>>().ok()?;
        let option = rest.split_once('/').map_or("", |o| o.1).to_string();
        if kind == "matmul" {
            let [m, k, n] = shape[..] else { return None };
            let (ta, tb) = (option.starts_with('T'), option.ends_with('T'));
            let a = self.random("a", &if ta { [k, m] } else { [m, k] });
            let b = self.random("b", &if tb { [n, k] } else { [k, n] });
            let a = if ta { self.engine.transpose_last(&a).ok()? } else { a };
            let b = if tb { self.engine.transpose_last(&b).ok()? } else { b };
            let e = &self.engine;
            return Some(Box::new(move || drop(e.bin(Op::Bmm, &a, &b).expect("bmm"))));
        }
        if let Some(kind) = kind.strip_suffix("fb") {
            return self.both_ways(kind, &shape, &option);
        }
        let x = self.random("x", &shape);
        let y = self.random("y", &shape);
        let (dim, last) = (option.parse::<i64>().ok(), shape.len() - 1);
        let over: Attrs =
            smallvec![dim.map_or(Attr::Absent, |d| Attr::Ints(smallvec![d])), Attr::Bool(false)];
        let along: Attrs = smallvec![Attr::Int(dim.unwrap_or(last as i64))];
        let row = self.random("row", &shape[last..]);
        let index = self.index(shape[0], shape[0]);
        let e = &self.engine;
        let one = move |op: Op, attrs: Attrs| -> Option<Box<dyn FnMut() + 'a>> {
            Some(Box::new(move || {
                drop(e.call(op, &[Arg::Tensor(&x)], &attrs).expect("op"));
            }))
        };
        let none = Attrs::new();
        match kind {
            "add" => {
                let x = self.tensors.get(&format!("x{shape:?}"))?.clone();
                Some(Box::new(move || drop(e.bin(Op::Add, &x, &y).expect("add"))))
            }
            "addrow" => Some(Box::new(move || drop(e.bin(Op::Add, &y, &row).expect("add")))),
            "relu" => one(Op::Relu, none),
            "exp" => one(Op::Exp, none),
            "tanh" => one(Op::Tanh, none),
            "sigmoid" => one(Op::Sigmoid, none),
            "gelu" => one(Op::GeluTanh, none),
            "gelugrad" => {
                let x = self.tensors.get(&format!("x{shape:?}"))?.clone();
                Some(Box::new(move || {
                    drop(
                        e.unary_grad(Op::GeluTanh, &y, Some(&x), None, &Attrs::new())
                            .expect("grad"),
                    );
                }))
            }
            "sum" => one(Op::Sum, over),
            "mean" => one(Op::Mean, over),
            "amax" => one(Op::Amax, over),
            "argmax" => one(Op::Argmax, over),
            "softmax" => one(Op::Softmax, along),
            "logsoftmax" => one(Op::LogSoftmax, along),
            "copy" => one(Op::Copy, none),
            "copyT" => {
                let t = e.transpose_last(&y).ok()?;
                Some(Box::new(move || drop(e.clone_tensor(&t).expect("copy"))))
            }
            "rows" => Some(Box::new(move || {
                let args = [Arg::Tensor(&y), Arg::Tensor(&index)];
                drop(e.call(Op::IndexSelect, &args, &smallvec![Attr::Int(0)]).expect("rows"));
            })),
            "randn" => {
                let dims = Attr::Ints(shape.iter().map(|&d| d as i64).collect());
                let attrs: Attrs =
                    smallvec![dims, Attr::Float(0.0), Attr::Float(1.0), Attr::Absent];
                Some(Box::new(move || drop(e.call(Op::Randn, &[], &attrs).expect("randn"))))
            }
            "adamw" => {
                let m = e.full(&shape, 0.0, DType::F32).ok()?;
                let v = e.full(&shape, 0.0, DType::F32).ok()?;
                let p = self.tensors.get(&format!("x{shape:?}"))?.clone();
                let attrs: Attrs = [1e-3, 0.9, 0.999, 1e-8, 0.01]
                    .into_iter()
                    .map(Attr::Float)
                    .chain([Attr::Bool(true), Attr::Int(10)])
                    .collect();
                Some(Box::new(move || {
                    let args = [&p, &y, &m, &v].map(Arg::Tensor);
                    drop(e.call(Op::AdamStep, &args, &attrs).expect("adam"));
                }))
            }
            _ => None,
        }
    }
}

fn overview() {
    println!("float32 multiply-add peak of one core: {:.1} GFLOP/s", peak());
    for threads in [1, 2] {
        let pool = Threads::new(threads);
        let t = median(0.2, &mut || {
            pool.run(2, &|i| {
                black_box(i);
            });
        });
        println!("fork and join of two empty chunks, {threads} threads: {:.0} ns", t * 1e9);
    }
    println!("{:>24} {:>9} {:>9}  GFLOP/s", "m x k x n", "1 thread", "2");
    let sizes = [
        "64x64x64",
        "128x128x128",
        "256x256x256",
        "512x512x512",
        "1024x1024x1024",
        "2048x2048x2048",
        "768x128x512",
    ];
    for size in sizes {
        for layout in ["NN", "NT", "TN"] {
            print!("{size:>20} {layout:>3}");
            for threads in [1, 2] {
                let mut bench = Bench::new(threads);
                let flops: f64 = size.split('x').filter_map(|d| d.parse::<f64>().ok()).product();
                if let Some(mut f) = bench.case(&format!("matmul:{size}/{layout}")) {
                    print!(" {:>9.1}", 2.0 * flops / median(0.25, &mut f) / 1e9);
                }
            }
            println!();
        }
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() != Some("serve") {
        return overview();
    }
    let mut benches: HashMap<usize, Bench> = HashMap::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(threads), Some(millis)) = (words.next(), words.next(), words.next())
        else {
            break;
        };
        let threads = threads.parse().unwrap_or(1);
        let bench = benches.entry(threads).or_insert_with(|| Bench::new(threads));
        let millis: f64 = millis.parse().unwrap_or(100.0);
        match bench.case(name) {
            Some(mut f) => println!("{:.1}", median(millis / 1e3, &mut f) * 1e9),
            None => println!("unknown"),
        }
        if std::io::stdout().flush().is_err() {
            break;
        }
    }
}
