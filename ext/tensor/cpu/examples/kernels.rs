//! Prints how fast the kernels are on this machine: GFLOP/s of matrix products beside the
//! processor's own peak, and nanoseconds and GB/s of the others.
//!
//! `cargo run --profile release -p mlrun_tensor_cpu --example kernels [-- gemm|...]`

use mlrun_tensor_cpu::gemm::{Mat, MatMut, Shape, gemm};
use mlrun_tensor_cpu::threads::Threads;
use std::hint::black_box;
use std::time::Instant;

/// Best seconds of one call over at least `seconds` of calls.
fn best(seconds: f64, mut f: impl FnMut()) -> f64 {
    f();
    let (mut calls, mut best, begin) = (1u32, f64::MAX, Instant::now());
    while begin.elapsed().as_secs_f64() < seconds {
        let t = Instant::now();
        (0..calls).for_each(|_| f());
        let d = t.elapsed().as_secs_f64();
        if d < 0.0005 {
            calls *= 2;
        } else {
            best = best.min(d / calls as f64);
        }
    }
    best
}

/// Multiply-adds in registers only: what the cores can do at most.
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
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: checked above.
            let t = best(0.3, || {
                black_box(unsafe { avx512(n, black_box(0.999)) });
            });
            return n as f64 * 12.0 * 32.0 / t / 1e9;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: checked above.
            let t = best(0.3, || {
                black_box(unsafe { avx2(n, black_box(0.999)) });
            });
            return n as f64 * 12.0 * 16.0 / t / 1e9;
        }
    }
    f64::NAN
}

fn products(pools: &[Threads]) {
    println!("f32 multiply-add peak of one core: {:.1} GFLOP/s", peak());
    println!("{:>16} {:>3} {:>8} {:>8}", "m x k x n", "", "1 thread", "2");
    let sizes = [
        (1, 1024, 1024),
        (64, 64, 64),
        (128, 128, 128),
        (192, 192, 192),
        (256, 256, 256),
        (512, 512, 512),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (768, 128, 512),
    ];
    for (m, k, n) in sizes {
        let a: Vec<f32> = (0..m * k).map(|i| (i % 13) as f32 * 0.1).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i % 7) as f32 * 0.1).collect();
        let mut c = vec![0f32; m * n];
        for (name, ars, acs, brs, bcs) in
            [("NN", k, 1, n, 1), ("NT", k, 1, 1, k), ("TN", 1, m, n, 1), ("TT", 1, m, 1, k)]
        {
            print!("{:>16} {name:>3}", format!("{m}x{k}x{n}"));
            for pool in pools {
                let t = best(0.25, || {
                    let am = Mat { ptr: a.as_ptr(), rs: ars as isize, cs: acs as isize };
                    let bm = Mat { ptr: b.as_ptr(), rs: brs as isize, cs: bcs as isize };
                    let cm = MatMut { ptr: c.as_mut_ptr(), rs: n as isize, cs: 1 };
                    // SAFETY: the vectors have the sizes that shape and strides state.
                    unsafe { gemm(pool, Shape { m, n, k }, am, bm, cm, false) }.expect("scratch");
                });
                print!(" {:>8.1}", 2.0 * (m * n * k) as f64 / t / 1e9);
            }
            println!();
        }
    }
}

fn forks(pools: &[Threads]) {
    for pool in pools {
        let t = best(0.3, || {
            pool.run(2, &|i| {
                black_box(i);
            })
        });
        println!("fork and join of 2 empty chunks, {} threads: {:.0} ns", pool.count(), t * 1e9);
    }
}

fn main() {
    let part = std::env::args().nth(1);
    let wants = |name: &str| part.as_deref().is_none_or(|p| p == name);
    let pools = [Threads::new(1), Threads::new(2)];
    if wants("forks") {
        forks(&pools);
    }
    if wants("gemm") {
        products(&pools);
    }
}
