//! Every instruction set gives the same results, up to rounding. The test writes what the
//! highest level computes for random operands and runs itself again under the lower ones.

use mlrun_tensor_core::backend::{Call, Input, KernelId, View};
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::table::Rule;
use mlrun_tensor_core::{Arg, Attr, Attrs, DType, Engine, Op, Tensor};
use mlrun_tensor_cpu::CpuBackend;
use smallvec::smallvec;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

const DUMP: &str = "MLRUN_TEST_DUMP_LEVEL";

/// A generator of small quality, the same on every run (xorshift).
struct Rng(u64);
impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

fn ints(v: &[usize]) -> Attr {
    Attr::Ints(v.iter().map(|&d| d as i64).collect())
}

struct Fuzz {
    e: Engine,
    rng: Rng,
    out: Vec<(String, Vec<f64>)>,
}

impl Fuzz {
    /// A random tensor, contiguous, transposed or every second element.
    fn tensor(&mut self, shape: &[usize], dtype: DType, special: bool) -> Tensor {
        let n: usize = shape.iter().product();
        let seed = self.rng.below(1 << 30) as i64;
        let kind = self.rng.below(3);
        let draw = |shape: &[usize]| {
            let attrs = smallvec![
                ints(shape),
                // Bounds with which no rounding differs between levels.
                Attr::Float(-4.0),
                Attr::Float(4.0),
                Attr::DType(dtype),
                Attr::Int(seed),
                Attr::Int(0)
            ];
            self.e.call1(Op::Uniform, &[], &attrs).expect("uniform")
        };
        let t = match kind {
            1 if shape.len() == 2 => {
                self.e.transpose_last(&draw(&[shape[1], shape[0]])).expect("transposed")
            }
            2 if !shape.is_empty() => {
                let mut wide = shape.to_vec();
                let last = wide.len() - 1;
                wide[last] *= 2;
                let mut t = draw(&wide);
                t.layout.shape[last] = shape[last];
                t.layout.strides[last] = 2;
                t
            }
            _ => draw(shape),
        };
        if special && n > 0 && dtype == DType::F32 && t.layout.is_contiguous() {
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-40, 3e38, -90.0];
            for _ in 0..n.div_ceil(7) {
                let (at, v) = (self.rng.below(n), odd[self.rng.below(odd.len())]);
                // SAFETY: a contiguous float32 tensor of n elements.
                unsafe { *t.storage.as_ptr().cast::<f32>().add(at) = v };
            }
        }
        t
    }

    fn keep(&mut self, name: String, t: &Tensor) {
        let t = self.e.cast(&self.e.contiguous(t).expect("copy"), DType::F64).expect("cast");
        // SAFETY: a contiguous float64 tensor.
        let v = unsafe { std::slice::from_raw_parts(t.storage.as_ptr().cast::<f64>(), t.numel()) };
        self.out.push((name, v.to_vec()));
    }

    fn run(&mut self, op: Op, args: &[&Tensor], attrs: &Attrs) {
        let given: Vec<Arg> = args.iter().map(|t| Arg::Tensor(t)).collect();
        let shapes: Vec<&[usize]> = args.iter().map(|t| t.shape()).collect();
        let name = format!("{} {shapes:?} {:?}", op.name(), args.first().map(|t| t.dtype));
        for t in self.e.call(op, &given, attrs).unwrap_or_else(|e| panic!("{name}: {e}")) {
            self.keep(name.clone(), &t);
        }
    }

    fn elementwise(&mut self) {
        for &op in Op::ALL {
            let def = op.def();
            let attrs: Attrs = def.attrs.iter().map(|_| Attr::Float(0.7)).collect();
            for _ in 0..6 {
                let shape = if self.rng.below(2) == 0 {
                    vec![1 + self.rng.below(70)]
                } else {
                    vec![1 + self.rng.below(9), 1 + self.rng.below(40)]
                };
                let dtype = [DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16]
                    [self.rng.below(5)];
                match def.rule {
                    Rule::Unary(_) | Rule::Predicate => {
                        let x = self.tensor(&shape, dtype, true);
                        self.run(op, &[&x], &attrs);
                        if matches!(def.rule, Rule::Unary(_)) && dtype == DType::F32 {
                            self.gradient(op, &shape, &attrs);
                        }
                    }
                    Rule::Binary(_) | Rule::Compare => {
                        let (a, b) =
                            (self.tensor(&shape, dtype, true), self.tensor(&shape, dtype, true));
                        self.run(op, &[&a, &b], &attrs);
                    }
                    _ => {}
                }
            }
        }
    }

    fn gradient(&mut self, op: Op, shape: &[usize], attrs: &Attrs) {
        let (g, x) = (self.tensor(shape, DType::F32, false), self.tensor(shape, DType::F32, false));
        let y = self.e.call1(op, &[Arg::Tensor(&x)], attrs).expect("forward");
        let d = self.e.unary_grad(op, &g, Some(&x), Some(&y), attrs).expect("gradient");
        self.keep(format!("gradient of {} {shape:?}", op.name()), &d);
    }

    fn others(&mut self) {
        for _ in 0..60 {
            let dtype = if self.rng.below(3) == 0 { DType::F64 } else { DType::F32 };
            let (m, n, k) =
                (1 + self.rng.below(70), 1 + self.rng.below(70), 1 + self.rng.below(140));
            let (a, b) = (self.tensor(&[m, k], dtype, false), self.tensor(&[k, n], dtype, false));
            self.run(Op::Bmm, &[&a, &b], &Attrs::new());
            let x = self.tensor(&[m, n], dtype, false);
            let dim = self.rng.below(2);
            for op in [Op::Sum, Op::Amax, Op::Amin, Op::Argmax] {
                self.run(op, &[&x], &smallvec![ints(&[dim]), Attr::Bool(false)]);
            }
            for op in [Op::Softmax, Op::LogSoftmax] {
                self.run(op, &[&x], &smallvec![Attr::Int(dim as i64)]);
            }
            let (g, w) = (self.tensor(&[m, n], dtype, false), self.tensor(&[n], dtype, false));
            let y = self
                .e
                .call1(Op::Softmax, &[Arg::Tensor(&x)], &smallvec![Attr::Int(dim as i64)])
                .expect("softmax");
            for log in [false, true] {
                self.run(
                    Op::SoftmaxBackward,
                    &[&g, &y],
                    &smallvec![Attr::Int(dim as i64), Attr::Bool(log)],
                );
            }
            let norm = smallvec![Attr::Int(n as i64), Attr::Float(1e-3), Attr::Bool(dim == 0)];
            self.run(Op::NormRows, &[&x, &w, &w], &norm);
            let stats =
                self.e.call(Op::NormRows, &[Arg::Tensor(&x)], &norm).expect("norm").remove(1);
            self.run(
                Op::NormRowsBackward,
                &[&g, &x, &stats, &w],
                &smallvec![Attr::Int(n as i64), Attr::Bool(dim == 0), Attr::Int(7)],
            );
            self.run(Op::Copy, &[&x], &Attrs::new());
            self.run(
                Op::DropoutSeeded,
                &[&x],
                &smallvec![Attr::Float(0.3), Attr::Int(5), Attr::Int(n as i64)],
            );
        }
        for _ in 0..8 {
            let (c, o) = (1 + self.rng.below(5), 1 + self.rng.below(20));
            let x = self.tensor(&[2, c, 7 + self.rng.0 as usize % 9, 9], DType::F32, false);
            let w = self.tensor(&[o, c, 3, 2], DType::F32, false);
            let window: Attrs =
                smallvec![ints(&[1, 2]), ints(&[1, 0]), ints(&[1, 1]), Attr::Int(1)];
            self.run(Op::Convolve, &[&x, &w], &window);
            let q = self.tensor(&[3, 20, 9], DType::F32, false);
            self.run(
                Op::Attention,
                &[&q, &q, &q],
                &smallvec![Attr::Bool(o % 2 == 0), Attr::Float(0.4)],
            );
        }
        let (mut p, g) =
            (self.tensor(&[77], DType::F32, false), self.tensor(&[77], DType::F32, false));
        p = self.e.contiguous(&p).expect("copy");
        let moments = [0, 1].map(|_| self.e.full(&[77], 0.25, DType::F32).expect("full"));
        fn view(t: &Tensor) -> View<'_> {
            View { storage: &t.storage, layout: &t.layout, dtype: t.dtype }
        }
        let attrs: Attrs = [1e-2, 0.9, 0.99, 1e-8, 0.01]
            .map(Attr::Float)
            .into_iter()
            .chain([Attr::Bool(true), Attr::Int(3)])
            .collect();
        let call = Call {
            kernel: KernelId::Forward(Op::AdamStep),
            dtype: DType::F32,
            inputs: &[Input::View(view(&g))],
            outputs: &[view(&p), view(&moments[0]), view(&moments[1])],
            attrs: &attrs,
        };
        self.e.backend.run(&call).expect("adam");
        self.keep("adamStep".into(), &p);
    }
}

fn computed() -> Vec<(String, Vec<f64>)> {
    let e = Engine::new(Arc::new(CpuBackend::new(1)), Arc::new(HostPool::new()));
    e.set_grad_enabled(false);
    let mut f = Fuzz { e, rng: Rng(0x1234_5678_9abc_def1), out: Vec::new() };
    f.elementwise();
    f.others();
    f.out
}

#[test]
fn instruction_sets_agree() {
    let own = computed();
    if std::env::var_os(DUMP).is_some() {
        let bytes: Vec<u8> =
            own.iter().flat_map(|(_, v)| v.iter().flat_map(|x| x.to_le_bytes())).collect();
        std::io::stderr().write_all(&bytes).expect("stderr");
        return;
    }
    for level in ["base", "avx2"] {
        let mut child = Command::new(std::env::current_exe().expect("own path"))
            .args(["--exact", "instruction_sets_agree", "--nocapture"])
            .envs([("MLRUN_CPU", level), (DUMP, "1")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the test runs again");
        let mut bytes = Vec::new();
        child.stderr.take().expect("piped").read_to_end(&mut bytes).expect("numbers");
        assert!(child.wait().expect("ends").success(), "{level}");
        let mut other =
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight")));
        for (name, v) in &own {
            // Relative to the largest number of the result: sums have another order.
            let scale =
                v.iter().filter(|x| x.is_finite()).fold(1.0, |m: f64, x| m.max(x.abs().min(1e6)));
            let tolerance = if name.contains("BF16") {
                8e-3
            } else if name.contains("F16") {
                1e-3
            } else {
                2e-5
            };
            for (i, &a) in v.iter().enumerate() {
                let b = other.next().expect("as many numbers");
                let same = a == b
                    || (a.is_nan() && b.is_nan())
                    || (a - b).abs() <= tolerance * scale.max(a.abs());
                assert!(same, "{name} element {i}: {a}, but {b} at level {level}");
            }
        }
        assert!(other.next().is_none());
    }
}
