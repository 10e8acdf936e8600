//! Measures kernels for `benches/kernels.py`, which compares them with PyTorch.
//!
//! Without arguments it prints what this machine can do at most and how fast matrix products
//! are. With `serve` it answers lines "CASE THREADS MILLISECONDS" by the median time of one
//! call in nanoseconds, measured for that long.

mod cases;

use cases::Bench;
use mlrun_tensor_cpu::Threads;
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
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
