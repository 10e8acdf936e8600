//! The short way of small elementwise calls gives what the general way gives, bit for bit.

use mlrun_tensor_core::attr::Attrs;
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::table::Rule;
use mlrun_tensor_core::{Arg, DType, Engine, Op, Scalar, Tensor};
use mlrun_tensor_cpu::CpuBackend;
use std::sync::Arc;

fn engine() -> Engine {
    Engine::new(Arc::new(CpuBackend::new(1)), Arc::new(HostPool::new()))
}

fn random(engine: &Engine, n: usize, dtype: DType) -> Tensor {
    let base = engine.full(&[n], 1.5, dtype).unwrap();
    // SAFETY: the tensor is fresh, contiguous and has n elements of this dtype.
    unsafe {
        for i in 0..n {
            let v = ((i * 2654435761) % 1000) as f64 / 250.0 - 2.0;
            match dtype {
                DType::F32 => base.storage.as_ptr().cast::<f32>().add(i).write(v as f32),
                _ => base.storage.as_ptr().cast::<f64>().add(i).write(v),
            }
        }
    }
    base
}

fn bytes(t: &Tensor) -> Vec<u8> {
    let n = t.numel() * t.dtype.size();
    // SAFETY: results are contiguous and hold n bytes.
    unsafe { std::slice::from_raw_parts(t.storage.as_ptr(), n) }.to_vec()
}

#[test]
fn gives_what_the_general_way_gives() {
    let e = engine();
    let mut compared = 0;
    for dtype in [DType::F32, DType::F64] {
        for n in [1, 3, 16, 17, 1000] {
            let (x, y) = (random(&e, n, dtype), random(&e, n, dtype));
            for &op in Op::ALL {
                let quick = match op.def().rule {
                    Rule::Unary(_) => vec![(e.quick_unary(op, &x), vec![Arg::Tensor(&x)])],
                    Rule::Binary(_) => vec![
                        (e.quick_binary(op, &x, &y), vec![Arg::Tensor(&x), Arg::Tensor(&y)]),
                        (
                            e.quick_binary_scalar(op, &x, 0.75),
                            vec![Arg::Tensor(&x), Arg::Scalar(Scalar::Float(0.75))],
                        ),
                    ],
                    _ => continue,
                };
                for (quick, args) in quick {
                    let Some(quick) = quick else { continue };
                    let quick = quick.unwrap().tensor(&x);
                    let general = e.call_donating(op, &args, &Attrs::new(), 0).unwrap().remove(0);
                    assert_eq!(quick.shape(), general.shape(), "{}", op.name());
                    assert_eq!(quick.dtype, general.dtype, "{}", op.name());
                    assert_eq!(bytes(&quick), bytes(&general), "{} of {n} {dtype}", op.name());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 300, "{compared} calls went the short way");
}

#[test]
fn leaves_other_calls_alone() {
    let e = engine();
    let x = random(&e, 4, DType::F32);
    let (long, other) = (random(&e, 1025, DType::F32), random(&e, 4, DType::F64));
    assert!(e.quick_unary(Op::Exp, &long).is_none(), "too large");
    assert!(e.quick_binary(Op::Add, &x, &other).is_none(), "two dtypes");
    let row = e.reshape(&x, &[1, 4]).unwrap();
    assert!(e.quick_binary(Op::Add, &x, &row).is_none(), "broadcasting");
    let wide = e.expand(&row, &[3, 4]).unwrap();
    assert!(e.quick_unary(Op::Exp, &wide).is_none(), "not contiguous");
    assert!(e.quick_unary(Op::LeakyRelu, &x).is_none(), "has attributes");
    let part = e.reshape(&x, &[4]).unwrap();
    assert!(e.quick_unary(Op::Exp, &part).is_some(), "a contiguous view");
}
