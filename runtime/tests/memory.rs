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

/// What is alive when the program ends itself.
const LEFT_WAITING: &str = "
    globalThis.kept = randn([256, 64]);
    setInterval(() => model.forward(globalThis.kept), 1000);
    setTimeout(() => {}, 1e6);
    AbortSignal.timeout(1e6).addEventListener('abort', () => optimizer.step());
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => model;
    port2.postMessage(new Float32Array(1000));
    const channel = new BroadcastChannel('left');
    channel.onmessage = () => optimizer;
    const all = new FinalizationRegistry(() => model);
    all.register({}, globalThis.kept);
    const stream = new ReadableStream({ pull: () => new Promise(() => {}) }).getReader();
    stream.read();
    (async () => { 'use yield'; for (;;) await new Promise((done) => setTimeout(done, 10)); })();
    setTimeout(() => process.exit(0), 0);
";

#[test]
fn runtimes_leave_nothing_behind() {
    let _alone = alone();
    let turn = || {
        let mut runtime = runtime();
        runtime.eval(&format!("{TRAIN} {LEFT_WAITING}")).expect("trains");
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
        // Builtins that end only when they are done, and need many times the limit.
        "JSON.parse('[' + '1,'.repeat(5e7) + '1]');",
        "new Array(2 ** 25 - 10).fill({}); for (;;);",
        "'\\u00df'.repeat(2 ** 28).toUpperCase(); for (;;);",
        // In what runs when nothing else does.
        "import { gc } from 'mlrun';
         const r = new FinalizationRegistry(() => { const a = []; for (;;) a.push({}); });
         (() => r.register({}, 1))();
         setTimeout(gc, 1);
         setInterval(() => {}, 1e6);",
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
fn one_large_request_does_not_lift_the_limit_of_the_heap() {
    let _alone = alone();
    let mut runtime =
        Runtime::new(RuntimeOptions { heap_limit: Some(64 << 20), ..options() }).expect("one");
    let ran = runtime.eval(
        "globalThis.most = 0;
         'x'.repeat(2 ** 27).charCodeAt(5);
         const a = [];
         for (;;) {
             for (let i = 0; i < 1e5; i++) a.push({});
             globalThis.most = Math.max(globalThis.most, process.memoryUsage().heapUsed);
         }",
    );
    assert!(matches!(ran, Err(Error::Uncaught(_))), "{ran:?}");
    let exit =
        runtime.eval("process.exitCode = Math.round(globalThis.most / 2 ** 20);").expect("goes on");
    assert!(exit.code < 256, "{} MB of objects under a limit of 64 MB", exit.code);
}

#[test]
fn an_ended_program_takes_no_channels_away() {
    let _alone = alone();
    let mut runtime = runtime();
    for _ in 0..2 {
        let exit = runtime
            .eval(
                "const one = new BroadcastChannel('a'), other = new BroadcastChannel('a');
                 one.onmessage = () => process.exit(3);
                 other.postMessage(1);",
            )
            .expect("channels work");
        assert_eq!(exit.code, 3);
    }
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
        "/(a+)+$/.test('a'.repeat(40) + 'b');",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
        "let x = 3n ** 1000000n; for (;;) x * x;",
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

/// Ways to wait, each counting what still happens in `globalThis.turns`.
const WAITING: &[&str] = &[
    "setInterval(() => globalThis.turns++, 1);",
    "setInterval(() => { for (;;) globalThis.turns++; }, 1);",
    "setTimeout(() => { for (;;) globalThis.turns++; }, 1);",
    "(async () => { 'use yield'; for (;;) globalThis.turns++; })();",
    "'use yield'; for (;;) globalThis.turns++;",
    "import { nextTurn } from 'mlrun'; for (;;) { await nextTurn(); globalThis.turns++; }",
    "globalThis.turns++; AbortSignal.timeout(220).addEventListener('abort', () => globalThis.turns++);",
    "globalThis.turns++; AbortSignal.any([AbortSignal.timeout(220)]).onabort = () => globalThis.turns++; setInterval(() => {}, 1);",
    "const { port1, port2 } = new MessageChannel();
     port1.onmessage = () => { globalThis.turns++; port2.postMessage(1); };
     port2.postMessage(1);",
    "async function* ticks() {
         for (;;) { await new Promise((resolve) => setTimeout(resolve, 1)); yield 1; }
     }
     for await (const tick of ticks()) globalThis.turns += tick;",
    "const stream = new ReadableStream({ async pull(c) {
         await new Promise((resolve) => setTimeout(resolve, 1)); c.enqueue(1);
     } });
     for await (const tick of stream) globalThis.turns += tick;",
];

#[test]
fn an_ended_program_does_not_go_on_beside_the_next() {
    let _alone = alone();
    for program in WAITING {
        let mut runtime = runtime();
        let terminator = runtime.terminator();
        for _ in 0..2 {
            let terminator = terminator.clone();
            let timer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                terminator.terminate();
            });
            let ran = runtime.eval(&format!("globalThis.turns = 0; {program}"));
            assert!(matches!(ran, Err(Error::Terminated)), "{program}: {ran:?}");
            timer.join().expect("no panic");
        }
        next_program_is_alone(&mut runtime, program);
    }
}

/// Another program ends by itself and does not see `globalThis.turns` change.
fn next_program_is_alone(runtime: &mut Runtime, program: &str) {
    let terminator = runtime.terminator();
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(20)).is_err() {
            terminator.terminate();
        }
    });
    let ran = runtime.eval(
        "const before = globalThis.turns;
         await new Promise((resolve) => setTimeout(resolve, 100));
         process.exitCode = before > 0 && globalThis.turns === before ? 3 : 4;",
    );
    let _waits = done.send(());
    guard.join().expect("no panic");
    let exit = ran.unwrap_or_else(|e| panic!("{program}: the next program: {e}"));
    assert_eq!(exit.code, 3, "{program} goes on");
}

#[test]
fn a_program_that_ends_itself_leaves_nothing_to_the_next() {
    let _alone = alone();
    let ends = ["process.exit(0);", "throw new Error('over');"];
    let waiting = WAITING
        .iter()
        .filter(|program| !program.contains("for (;;)") && !program.contains("for await"));
    for program in waiting {
        for end in ends {
            let mut runtime = runtime();
            let start = Instant::now();
            let ran = runtime.eval(&format!("globalThis.turns = 1; {program} {end}"));
            assert!(matches!(
                (end, &ran),
                ("process.exit(0);", Ok(_)) | (_, Err(Error::Uncaught(_)))
            ));
            assert!(start.elapsed() < Duration::from_secs(20), "{program} {end} waits");
            next_program_is_alone(&mut runtime, program);
        }
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
