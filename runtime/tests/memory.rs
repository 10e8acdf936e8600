//! Memory seen from an embedding host: what runtimes leave behind, heaps that fill up beside
//! others, programs that are ended from outside.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::time::Instant;

use mlrun::CacheDir;
use mlrun::Error;
use mlrun::Runtime;
use mlrun::RuntimeOptions;
use mlrun::process_memory;

fn options() -> RuntimeOptions {
    RuntimeOptions {
        cache: CacheDir::Off,
        threads: std::num::NonZeroUsize::new(1),
        ..RuntimeOptions::default()
    }
}

fn runtime() -> Runtime {
    Runtime::new(options()).expect("a runtime")
}

/// Tests here measure the process, so only one may be at work.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib << 10
}

const TRAIN: &str = "
    import { nn, optim, randn } from 'mlrun';
    const model = new nn.Linear(64, 8), optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    for (let i = 0; i < 5; i++) {
        const loss = model.forward(randn([256, 64])).square().mean();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
    }
";

#[test]
fn runtimes_leave_nothing_behind() {
    let _alone = alone();
    let turn = || {
        let mut runtime = runtime();
        runtime.eval(TRAIN).expect("trains");
        assert_eq!(runtime.end(), 0, "bytes of tensors outlive their runtime");
    };
    (0..20).for_each(|_| turn());
    let (before, threads) = (resident(), thread_count());
    (0..180).for_each(|_| turn());
    let growth = resident().saturating_sub(before);
    assert!(growth < 16 << 20, "200 runtimes: {} MB more than after 20", growth >> 20);
    assert!(thread_count() <= threads, "threads outlive their runtime");
}

#[test]
fn the_process_knows_all_isolates() {
    let _alone = alone();
    assert_eq!(process_memory().isolates, 0);
    let mut first = runtime();
    first
        .eval("import { ones } from 'mlrun'; globalThis.kept = ones([1 << 18]);")
        .expect("makes a tensor");
    let second = std::thread::spawn(|| {
        let mut second = runtime();
        let exit = second
            .eval(
                "import { memoryStats, ones } from 'mlrun';
                 const kept = ones([1 << 19]);
                 const { isolates, liveBytes, peakBytes } = memoryStats().process;
                 process.exitCode = isolates === 2 && liveBytes === 3 << 20
                   && peakBytes >= (3 << 20) - (2 << 16) && kept.size > 0 ? 3 : 4;",
            )
            .expect("sees both");
        exit.code
    });
    assert_eq!(second.join().expect("no panic"), 3);
    let all = process_memory();
    assert_eq!((all.isolates, all.live), (1, 1 << 20));
    assert!(all.peak >= (3 << 20) - (2 << 16), "{all:?}");
    assert_eq!(first.end(), 0);
    let all = process_memory();
    assert_eq!((all.isolates, all.live, all.pooled, all.pending), (0, 0, 0, 0));
}

fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux tells").count()
}

#[test]
fn a_full_heap_ends_its_script_and_nothing_else() {
    let _alone = alone();
    const BOMBS: &[&str] = &[
        "const a = []; for (;;) a.push({});",
        "const a = []; for (;;) a.push(new Array(1000));",
        "const m = new Map(); for (let i = 0;; i++) m.set(i, { i });",
        "const a = []; for (;;) a.push(String(Math.random()).repeat(1000).split('').join('-'));",
        "let s = 'x'; for (;;) s += s + Math.random();",
        "const a = []; for (;;) a.push(new Float64Array(1 << 20));",
    ];
    static DONE: AtomicBool = AtomicBool::new(false);
    let trainer = std::thread::spawn(|| {
        let mut runtime = runtime();
        let mut runs = 0;
        while !DONE.load(SeqCst) {
            runtime.eval(TRAIN).expect("trains beside full heaps");
            runs += 1;
        }
        runs
    });
    for bomb in BOMBS {
        let mut runtime =
            Runtime::new(RuntimeOptions { heap_limit: Some(64 << 20), ..options() }).expect("one");
        match runtime.eval(bomb) {
            Err(Error::Uncaught(report)) => {
                assert!(report.to_string().contains("RangeError"), "{bomb}: {report}");
            }
            other => panic!("{bomb}: {other:?}"),
        }
        assert!(runtime.eval("1").is_ok(), "the runtime can be used again after {bomb}");
    }
    DONE.store(true, SeqCst);
    assert!(trainer.join().expect("no panic") > 0);
}

#[test]
fn a_host_ends_a_program_from_another_thread() {
    let _alone = alone();
    let programs = [
        "for (;;);",
        "import { ones } from 'mlrun'; const a = ones([4]); for (;;) a.add(1);",
        "import { ones } from 'mlrun'; for (;;) ones([1 << 18]);",
        "await new Promise((resolve) => setTimeout(resolve, 1e6));",
        "setInterval(() => {}, 1);",
        "for (;;) { try { for (;;); } catch {} finally {} }",
    ];
    for program in programs {
        let mut runtime = runtime();
        let terminator = runtime.terminator();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            terminator.terminate();
        });
        let start = Instant::now();
        let ran = runtime.eval(program);
        assert!(matches!(ran, Err(Error::Terminated)), "{program}: {ran:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{program}");
        timer.join().expect("no panic");
        let start = Instant::now();
        let exit = runtime.eval("process.exitCode = 3").expect("it can be used again");
        assert_eq!(exit.code, 3, "after {program}");
        assert!(start.elapsed() < Duration::from_secs(20), "after {program}");
    }
}

#[test]
fn an_ended_program_does_not_go_on_beside_the_next() {
    let _alone = alone();
    let programs = [
        "globalThis.turns = 0; setInterval(() => globalThis.turns++, 1);",
        "globalThis.turns = 0; setInterval(() => { for (;;) globalThis.turns++; }, 1);",
        "globalThis.turns = 0; setTimeout(() => { for (;;) globalThis.turns++; }, 1);",
        "globalThis.turns = 0; (async () => { 'use yield'; for (;;) globalThis.turns++; })();",
        "'use yield'; globalThis.turns = 0; for (;;) globalThis.turns++;",
    ];
    for program in programs {
        let mut runtime = runtime();
        let terminator = runtime.terminator();
        for _ in 0..2 {
            let terminator = terminator.clone();
            let timer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                terminator.terminate();
            });
            let ran = runtime.eval(program);
            assert!(matches!(ran, Err(Error::Terminated)), "{program}: {ran:?}");
            timer.join().expect("no panic");
        }
        let exit = runtime
            .eval(
                "const before = globalThis.turns;
                 await new Promise((resolve) => setTimeout(resolve, 100));
                 process.exitCode = before > 0 && globalThis.turns === before ? 3 : 4;",
            )
            .expect("it can be used again");
        assert_eq!(exit.code, 3, "{program} goes on");
    }
}

#[test]
fn a_run_gives_its_memory_back() {
    let _alone = alone();
    let mut runtime = runtime();
    let before = resident();
    runtime
        .eval(
            "import { ones } from 'mlrun';
             function burst() {
                 const all = [];
                 for (let i = 0; i < 50; i++) all.push(ones([1 << 20]));
             }
             burst();",
        )
        .expect("runs");
    assert_eq!(runtime.trim(), 0, "the end of a run has trimmed already");
    let growth = resident().saturating_sub(before);
    assert!(growth < 64 << 20, "{} MB are left of 200", growth >> 20);
}
