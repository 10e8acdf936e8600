//! One program in a realm of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deno_core::v8;
use mlrun_compiler::SourceType;

use crate::{Code, Ended, Mode, Thrown, compile, host, modules, read, repository};

/// Longer than any program takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);
pub(crate) const OWNERSHIP: &str = "00_ownership.js";
const VERIFY: &str = "00_verify.js";

/// The exception that a scope has caught.
macro_rules! thrown {
    ($scope:expr, $phase:expr) => {{
        if $scope.has_terminated() {
            crate::realm::broken("wait longer")
        } else if let Some(exception) = $scope.exception() {
            $scope.reset();
            crate::realm::describe($scope, exception, $phase)
        } else {
            crate::realm::broken("find the exception")
        }
    }};
}

/// How a program is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Script,
    Module,
    /// A file that `require` loads.
    CommonJs,
}

/// A program, and what runs before it.
pub struct Job<'a> {
    pub mode: Mode,
    pub kind: Kind,
    pub file: &'a Path,
    pub text: &'a str,
    pub before: Vec<Arc<Code>>,
    /// The file that a specifier names, by the file that it stands in.
    pub target: fn(&str, &Path) -> Option<PathBuf>,
}

/// What native functions need to know about the program in progress.
pub(crate) struct Run {
    pub mode: Mode,
    pub kind: Kind,
    pub js: PathBuf,
    pub setup: String,
    pub target: fn(&str, &Path) -> Option<PathBuf>,
    pub modules: Vec<(PathBuf, v8::Global<v8::Module>)>,
    pub written: HashMap<u64, String>,
    pub ended: Ended,
}

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

pub(crate) fn with_run<T>(f: impl FnOnce(&mut Run) -> T) -> Option<T> {
    RUN.with_borrow_mut(|run| run.as_mut().map(f))
}

/// Starts V8.
pub fn initialize() {
    v8::V8::set_flags_from_string("--stack-size=1000");
    deno_core::JsRuntime::init_platform(None);
}

/// An isolate, and the clock that ends programs which do not end.
pub struct Engine {
    isolate: v8::OwnedIsolate,
    start: Instant,
    /// Milliseconds after `start` at which the present program began; 0: there is none.
    began: Arc<AtomicU64>,
    js: PathBuf,
    setup: String,
}

const OVER: u64 = u64::MAX;

impl Engine {
    /// An engine without a program.
    ///
    /// # Errors
    /// If the script that sets realms up cannot be read.
    pub fn new() -> Result<Self, String> {
        let parameters = v8::CreateParams::default().heap_limits(0, 3 << 30);
        let mut isolate = v8::Isolate::new(parameters);
        isolate.set_host_import_module_dynamically_callback(modules::import);
        isolate.set_host_import_module_with_phase_dynamically_callback(modules::import_phase);
        let (start, began) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let (handle, clock) = (isolate.thread_safe_handle(), began.clone());
        std::thread::spawn(move || {
            loop {
                match clock.load(Ordering::Relaxed) {
                    OVER => return,
                    0 => {}
                    at if start.elapsed() > LIMIT + Duration::from_millis(at) => {
                        handle.terminate_execution();
                    }
                    _ => {}
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let js = repository().join("js");
        let setup = read(&repository().join("tests/conformance/realm.js"))?;
        Ok(Self { isolate, start, began, js, setup })
    }

    /// Runs a program in a new realm.
    pub fn run(&mut self, job: &Job) -> Ended {
        RUN.set(Some(Run {
            mode: job.mode,
            kind: job.kind,
            js: self.js.clone(),
            setup: self.setup.clone(),
            target: job.target,
            modules: vec![],
            written: HashMap::new(),
            ended: Ended::default(),
        }));
        self.began.store(self.start.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
        let thrown = {
            v8::scope!(let scope, &mut self.isolate);
            let context = v8::Context::new(scope, Default::default());
            let scope = &mut v8::ContextScope::new(scope, context);
            let thrown = execute(scope, job).err();
            scope.cancel_terminate_execution();
            thrown
        };
        self.began.store(0, Ordering::Relaxed);
        let run = RUN.with_borrow_mut(Option::take);
        let ended = run.map(|run| run.ended).unwrap_or_default();
        Ended { thrown, ..ended }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.began.store(OVER, Ordering::Relaxed);
    }
}

/// A failure of the runner itself.
pub(crate) fn broken(what: &str) -> Thrown {
    let text = format!("the runner cannot {what}");
    Thrown { phase: "runner", class: String::new(), text }
}

fn execute(scope: &mut v8::PinScope<'_, '_>, job: &Job) -> Result<(), Thrown> {
    v8::tc_scope!(let scope, scope);
    if prepare(scope, job.mode).is_none() {
        return Err(thrown!(scope, "runner"));
    }
    for code in &job.before {
        with_run(|run| run.written.extend(code.functions.iter().cloned()));
        if script(scope, &code.name, &code.text).is_none() {
            return Err(thrown!(scope, "harness"));
        }
    }
    match job.kind {
        Kind::Script => {
            let name = job.file.to_string_lossy();
            let code = match compile(job.mode, SourceType::Script, &name, job.text) {
                Ok(code) => code,
                Err(text) => {
                    return Err(Thrown { phase: "parse", class: "SyntaxError".to_owned(), text });
                }
            };
            let source = v8::String::new(scope, &code.text).ok_or_else(|| broken("hold a text"))?;
            note(code);
            let origin = origin(scope, &name, false);
            let Some(compiled) = v8::Script::compile(scope, source, Some(&origin)) else {
                return Err(thrown!(scope, "parse"));
            };
            if compiled.run(scope).is_none() {
                return Err(thrown!(scope, "runtime"));
            }
        }
        Kind::Module => {
            let Some(module) = modules::load_text(scope, job.file, job.text) else {
                return Err(thrown!(scope, "parse"));
            };
            if modules::link(scope, module).is_none() {
                return Err(thrown!(scope, "resolution"));
            }
            let Some(value) = module.evaluate(scope) else {
                return Err(thrown!(scope, "runtime"));
            };
            scope.perform_microtask_checkpoint();
            if let Ok(promise) = value.try_cast::<v8::Promise>()
                && promise.state() == v8::PromiseState::Rejected
            {
                let reason = promise.result(scope);
                return Err(describe(scope, reason, "runtime"));
            }
        }
        Kind::CommonJs => {
            let path = job.file.to_string_lossy().replace('\\', "/");
            if script(scope, "main", &format!("$host.main({path:?})")).is_none() {
                return Err(thrown!(scope, "runtime"));
            }
        }
    }
    // Timers of the realm run when nothing else is left to do.
    loop {
        scope.perform_microtask_checkpoint();
        let Some(more) = script(scope, "timers", "$host.tick()") else {
            return Err(thrown!(scope, "runtime"));
        };
        if !more.is_true() {
            return Ok(());
        }
    }
}

/// What is known of a compiled text while it runs.
pub(crate) fn note(code: Code) {
    with_run(|run| {
        run.written.extend(code.functions);
        run.ended.changed |= code.changed;
    });
}

pub(crate) fn describe(
    scope: &mut v8::PinScope<'_, '_>,
    exception: v8::Local<v8::Value>,
    phase: &'static str,
) -> Thrown {
    v8::tc_scope!(let scope, scope);
    let class = (|| {
        let object = exception.to_object(scope)?;
        let constructor = get(scope, object, "constructor")?.to_object(scope)?;
        let name = get(scope, constructor, "name")?;
        Some(name.to_rust_string_lossy(scope))
    })();
    scope.reset();
    let text = exception.to_rust_string_lossy(scope);
    Thrown { phase, class: class.unwrap_or_default(), text }
}

pub(crate) fn get<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let name = v8::String::new(scope, name)?;
    object.get(scope, name.into())
}

pub(crate) fn origin<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    module: bool,
) -> v8::ScriptOrigin<'s> {
    let name = v8::String::new(scope, name).unwrap_or_else(|| v8::String::empty(scope));
    v8::ScriptOrigin::new(scope, name.into(), 0, 0, false, 0, None, false, false, module, None)
}

pub(crate) fn script<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    text: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let source = v8::String::new(scope, text)?;
    let origin = origin(scope, name, false);
    v8::Script::compile(scope, source, Some(&origin))?.run(scope)
}

/// Gives a new realm what programs ask of it, and the runtime half if they are compiled. What goes
/// wrong is thrown.
fn prepare(scope: &mut v8::PinScope<'_, '_>, mode: Mode) -> Option<()> {
    let js = with_run(|run| run.js.clone())?;
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let mut halves = [undefined; 2];
    if mode != Mode::Plain {
        for (half, name) in halves.iter_mut().zip([OWNERSHIP, VERIFY]) {
            let module = modules::load(scope, &js.join(name))?;
            modules::link(scope, module)?;
            module.evaluate(scope)?;
            *half = module.get_module_namespace();
        }
    }
    let force = v8::Boolean::new(scope, mode == Mode::Forced).into();
    let [own, verify] = halves;
    let host = host::set_up(scope, &[own, verify, force])?;
    // Names of the scripts' own scope: no properties of the global object.
    let text = "(own, host) => { globalThis.own = own; globalThis.host = host; }";
    let bind = script(scope, "bind", text)?.try_cast::<v8::Function>().ok()?;
    bind.call(scope, undefined, &[own, host])?;
    // The name grows where a program has names like it.
    let own = match mode {
        Mode::Plain => "",
        _ => "const $own = globalThis.own, $_own = $own, $__own = $own, $___own = $own; ",
    };
    let text = format!(
        "{own}const $host = globalThis.host; delete globalThis.own; delete globalThis.host;"
    );
    script(scope, "bind", &text).map(drop)
}
