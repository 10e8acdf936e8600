//! The embedding API: exit codes, errors, isolation.

use mlrun::CacheDir;
use mlrun::Error;
use mlrun::Exit;
use mlrun::Runtime;
use mlrun::RuntimeOptions;

fn runtime() -> Runtime {
    let options = RuntimeOptions { cache: CacheDir::Off, ..RuntimeOptions::default() };
    Runtime::new(options).expect("a runtime")
}

#[test]
fn exit_table() {
    let cases = [
        ("", 0, false),
        ("process.exitCode = 3", 3, false),
        ("process.exit(4)", 4, true),
        ("process.exitCode = 5; process.exit()", 5, true),
        ("try { process.exit(6) } finally { process.exitCode = 1 }", 6, true),
        ("setTimeout(() => process.exit(7), 1); await new Promise(() => {})", 7, true),
        ("process.exitCode = '8'", 8, false),
        ("setInterval(() => {}, 1e6); process.exit(9)", 9, true),
        ("setInterval(() => {}, 1e6); await 1; process.exit(10)", 10, true),
        ("setInterval(() => {}, 1e6); (async () => { await 1; process.exit(11); })()", 11, true),
        (
            "const { port1, port2 } = new MessageChannel();
             port2.onmessage = () => process.exit(12);
             port1.postMessage(1);",
            12,
            true,
        ),
        (
            "import { gc } from 'mlrun';
             const all = new FinalizationRegistry(() => process.exit(13));
             (() => all.register({}, 1))();
             setInterval(() => {}, 1e6);
             setTimeout(gc, 1);",
            13,
            true,
        ),
    ];
    for (code, exit_code, requested) in cases {
        let exit = runtime().eval(code).unwrap_or_else(|error| panic!("{code}: {error}"));
        assert_eq!(exit, Exit { code: exit_code, requested }, "{code}");
    }
}

#[test]
fn uncaught_table() {
    let cases = [
        ("throw new TypeError('boom')", "TypeError: boom"),
        ("throw 5", "Uncaught 5"),
        ("throw { a: 1 }", "{ a: 1 }"),
        ("throw null", "Uncaught null"),
        ("await Promise.reject(new Error('later'))", "Error: later"),
        ("Promise.reject(new Error('stray'))", "Uncaught Error: stray"),
        ("setTimeout(() => { throw new RangeError('timer') }, 1)", "RangeError: timer"),
        ("throw new Error('outer', { cause: new Error('inner') })", "Caused by: Error: inner"),
        ("throw new AggregateError([new Error('one'), new Error('two')], 'all')", "Error: two"),
        ("await new Promise(() => {})", "Top-level await"),
        ("let x = ;", "SyntaxError"),
        ("import './missing.js'", "module not found"),
        ("await import('./missing.js')", "module not found"),
        ("import 'no-such-package'", "package not found"),
        ("process.exit('nonsense')", "TypeError"),
    ];
    for (code, part) in cases {
        match runtime().eval(code) {
            Err(Error::Uncaught(report)) => {
                let text = report.to_string();
                assert!(text.contains(part), "{code}: {text}");
                // A thrown value that is no Error carries no place.
                let is_error = !["throw 5", "throw { a: 1 }", "throw null"].contains(&code);
                assert_eq!(text.contains("$eval.js"), is_error, "{code}: {text}");
                assert!(!text.contains("ext:"), "{code} shows internals: {text}");
            }
            other => panic!("{code}: {other:?}"),
        }
    }
}

#[test]
fn runtimes_live_on_any_thread_and_share_nothing() {
    let threads: Vec<_> = (0..3)
        .map(|index| {
            std::thread::spawn(move || {
                let code = format!(
                    "if ('mark' in globalThis) throw 1; globalThis.mark = 1; process.exitCode = {index};"
                );
                runtime().eval(&code).expect("runs").code
            })
        })
        .collect();
    for (index, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().expect("no panic"), index as i32);
    }
}
