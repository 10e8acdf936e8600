//! One isolate with its event loop: the embedding API.
//!
//! Invariant: `process.exit` and uncaught errors end the program, never the host. Deliberately
//! not here: how modules are found and compiled (`loader`), how errors look (`report`).

use std::path::Path;
use std::rc::Rc;
use std::sync::Once;
use std::task::Poll;
use std::time::Duration;

use deno_core::JsRuntime;
use deno_core::ModuleSpecifier;
use deno_core::PollEventLoopOptions;
use deno_core::Resource;
use deno_core::error::CoreError;
use deno_core::v8;
use mlrun_globals::Alive;
use mlrun_globals::Exit;
use mlrun_globals::ProcessState;
use mlrun_globals::TensorOptions;
use mlrun_globals::TensorState;

use crate::array_buffers;
use crate::budget;
use crate::error::Error;
use crate::gc_clock::GcClock;
use crate::heap_guard::HeapGuard;
use crate::loader::CacheDir;
use crate::loader::Loader;
use crate::loader::Ownership;
use crate::loader::Stats;
use crate::memory;
use crate::memory::Pace;
use crate::memory_report::MemoryReport;
use crate::report;
use crate::report::Report;
use crate::snapshot;
use crate::terminator::Terminator;

/// How to make a [`Runtime`].
#[derive(Clone, Debug, Default)]
pub struct RuntimeOptions {
    /// Where compiled modules are kept between runs.
    pub cache: CacheDir,
    /// Threads of the kernels; `None`: one per core.
    pub threads: Option<std::num::NonZeroUsize>,
    /// Seed of the default random generator; `None`: a fresh one each run.
    pub seed: Option<u64>,
    /// Whether tensors are released at their last use.
    pub ownership: Ownership,
    /// A rule that the pass breaks in what it emits, where [`Ownership`] verifies: a check of the
    /// verification.
    pub mutant: Option<mlrun_compiler::Mutant>,
    /// Bytes of tensors that may be live at once; `None`: nine tenths of the memory that the
    /// machine or the control group has. Scripts can change it (`setMemoryLimit`).
    pub memory_limit: Option<u64>,
    /// Bytes of JavaScript objects, apart from tensors; a script that needs more ends with
    /// [`Error::Uncaught`]. `None`: a quarter of the memory, at most 4 GiB. Less than 16 MiB counts as
    /// those: a program begins with some.
    pub heap_limit: Option<usize>,
    /// Loops in asynchronous functions and at the top level of the program's own modules let timers,
    /// I/O and V8's own tasks have their turn about every 8 ms. The directive `"use yield"` asks
    /// for that in one function or module.
    pub yields: bool,
    /// Every tensor is traced to the line that made it, for [`Runtime::memory_report`] and
    /// [`Runtime::alive`]. Each costs some microseconds then.
    pub trace_memory: bool,
}

/// A JavaScript isolate. Not `Send`: it stays on the thread that made it.
pub struct Runtime {
    // Before the isolate: its handles must not outlive that.
    tensors: Rc<TensorState>,
    clear_timers: v8::Global<v8::Function>,
    js: JsRuntime,
    event_loop: tokio::runtime::Runtime,
    loader: Rc<Loader>,
    heap_guard: HeapGuard,
    /// Programs that were started.
    runs: u32,
    terminator: Terminator,
    // After the isolate, which refers to it.
    gc_clock: Rc<GcClock>,
}

/// While a program waits, memory that it does not use goes back to the system after three of these.
const TICK: Duration = Duration::from_millis(250);

impl Runtime {
    /// Makes an isolate from the startup snapshot.
    ///
    /// # Errors
    /// If the process has no file descriptors or memory left for an event loop or an isolate.
    ///
    /// # Panics
    /// Inside an asynchronous tokio context, as every blocking call does there.
    pub fn new(options: RuntimeOptions) -> Result<Self, Error> {
        let event_loop = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::EventLoop)?;
        static FLAGS: Once = Once::new();
        FLAGS.call_once(|| v8::V8::set_flags_from_string(memory::V8_FLAGS));
        let loader = Loader::new(&options.cache, options.ownership, options.mutant);
        let loader = Rc::new(loader.with_yields(options.yields));
        let gc_clock = GcClock::new();
        let heap_limit = options.heap_limit.unwrap_or_else(budget::default_heap_limit);
        let heap_limit = heap_limit.max(budget::LEAST_HEAP);
        let mut js = {
            // V8 posts delayed tasks to the event loop that is current when the isolate is made.
            let _entered = event_loop.enter();
            JsRuntime::try_new(deno_core::RuntimeOptions {
                module_loader: Some(loader.clone()),
                extensions: mlrun_globals::extensions(mlrun_globals::Options {
                    argv: Vec::new(),
                    tensor: TensorOptions {
                        threads: options.threads,
                        seed: options.seed,
                        verify: options.ownership.verifies(),
                        verify_all: options.ownership == Ownership::VerifyAll,
                        texts: Some(loader.clone()),
                        memory_limit: options.memory_limit.or_else(budget::default_tensor_limit),
                        pacer: Some(Rc::new(Pace::new(gc_clock.clone()))),
                        trace: options.trace_memory,
                    },
                }),
                startup_snapshot: Some(snapshot::SNAPSHOT),
                residual_lazy_js_sources: snapshot::lazy_js(),
                residual_lazy_esm_sources: snapshot::lazy_esm(),
                is_main: true,
                create_params: Some(
                    v8::CreateParams::default()
                        .heap_limits(0, heap_limit)
                        .array_buffer_allocator(array_buffers::allocator(budget::array_limit())),
                ),
                ..Default::default()
            })
            .map_err(Error::Isolate)?
        };
        gc_clock.watch(js.v8_isolate());
        js.v8_isolate().set_prepare_stack_trace_callback(report::prepare_stack_trace);
        let clear_timers = start_globals(&mut js)?;
        let heap_guard = HeapGuard::new(&mut js, heap_limit);
        let terminator = Terminator::new(js.v8_isolate());
        let tensors = js.op_state().borrow().borrow::<Rc<TensorState>>().clone();
        Ok(Self {
            tensors,
            clear_timers,
            js,
            event_loop,
            loader,
            heap_guard,
            runs: 0,
            terminator,
            gc_clock,
        })
    }

    /// Runs a file as the main module, until the event loop has nothing left to do, `process.exit` is
    /// called or an error is not caught. What waits then (timers, ports of messages) is over.
    ///
    /// `path` is relative to the current directory; `args` are the script's own arguments.
    ///
    /// # Errors
    /// [`Error::Uncaught`] for everything that the program itself is to blame for.
    pub fn run_main(&mut self, path: &Path, args: &[String]) -> Result<Exit, Error> {
        let cwd = std::env::current_dir().map_err(Error::Cwd)?;
        let path = normalise(&cwd.join(path));
        let specifier = ModuleSpecifier::from_file_path(&path)
            .map_err(|()| Error::Path { path: path.clone() })?;
        self.set_argv(path.to_string_lossy().into_owned(), args);
        self.run_module(&specifier)
    }

    /// Runs source text as the main module. Imports are relative to the current directory.
    ///
    /// # Errors
    /// As [`Runtime::run_main`].
    pub fn eval(&mut self, code: &str) -> Result<Exit, Error> {
        self.eval_with_args(code, &[])
    }

    /// [`Runtime::eval`] with arguments for `process.argv`.
    ///
    /// # Errors
    /// As [`Runtime::run_main`].
    pub fn eval_with_args(&mut self, code: &str, args: &[String]) -> Result<Exit, Error> {
        let cwd = std::env::current_dir().map_err(Error::Cwd)?;
        // A module is evaluated once under its name.
        let path = cwd.join(match self.runs {
            0 => "$eval.js".to_owned(),
            n => format!("$eval{}.js", n + 1),
        });
        let specifier =
            ModuleSpecifier::from_file_path(&path).map_err(|()| Error::Path { path })?;
        self.loader.add_virtual_file(&specifier, code);
        self.set_argv("[eval]".to_owned(), args);
        self.run_module(&specifier)
    }

    /// What the loader did so far.
    pub fn stats(&self) -> Stats {
        self.loader.stats()
    }

    /// Ends what this runtime runs, from any thread.
    pub fn terminator(&self) -> Terminator {
        self.terminator.clone()
    }

    /// What the program did with tensor memory so far.
    pub fn memory_report(&self) -> MemoryReport {
        MemoryReport::new(&self.tensors, &self.gc_clock)
    }

    /// Tensors that are alive after a full collection, by the line that made them, the most bytes
    /// first. The lines are known with [`RuntimeOptions::trace_memory`].
    pub fn alive(&mut self) -> Vec<Alive> {
        let tensors = self.tensors.clone();
        deno_core::scope!(scope, &mut self.js);
        mlrun_globals::alive(scope, &tensors)
    }

    /// Returns memory that waits for reuse to the system; the bytes returned. A run does so at its
    /// end, and while the program waits.
    pub fn trim(&mut self) -> u64 {
        self.tensors.engine.pool.trim()
    }

    /// Ends the isolate. Bytes of tensors that are alive afterwards are held by nothing that could
    /// release them: other than 0 is a bug of mlrun.
    pub fn end(self) -> u64 {
        let pool = self.tensors.engine.pool.clone();
        drop(self);
        pool.account.live()
    }

    pub(crate) fn isolate(&mut self) -> &mut v8::Isolate {
        self.js.v8_isolate()
    }

    fn set_argv(&mut self, script: String, args: &[String]) {
        let executable = std::env::current_exe().unwrap_or_default();
        let mut argv = vec![executable.to_string_lossy().into_owned(), script];
        argv.extend_from_slice(args);
        let state = self.js.op_state();
        state.borrow_mut().borrow_mut::<ProcessState>().argv = argv;
    }

    fn exit(&mut self) -> Exit {
        let state = self.js.op_state();
        let state = state.borrow();
        let mut exit = state.borrow::<ProcessState>().exit;
        if exit.code == 0 && mlrun_globals::violations(&state) > 0 {
            exit.code = 1;
        }
        exit
    }

    fn run_module(&mut self, specifier: &ModuleSpecifier) -> Result<Exit, Error> {
        let Self { js, event_loop, tensors, terminator, heap_guard, .. } = self;
        js.op_state().borrow_mut().borrow_mut::<ProcessState>().exit = Exit::default();
        let first = self.runs == 0;
        self.runs += 1;
        let ran: Result<(), CoreError> = event_loop.block_on(async {
            // An isolate has one main module.
            let id = match first {
                true => js.load_main_es_module(specifier).await?,
                false => js.load_side_es_module(specifier).await?,
            };
            let evaluated = js.mod_evaluate(id);
            match run_event_loop(js, tensors, terminator, heap_guard).await? {
                Ended::Done => evaluated.await,
                Ended::Terminated => Ok(()),
            }
        });
        self.trim();
        let outcome = self.outcome(ran);
        self.end_program();
        outcome
    }

    /// What a run comes to. Afterwards the isolate can run scripts again.
    fn outcome(&mut self, ran: Result<(), CoreError>) -> Result<Exit, Error> {
        if self.heap_guard.ended(&mut self.js) {
            return Err(Error::Uncaught(Box::new(Report::headline(self.heap_guard.message()))));
        }
        if self.terminator.ended() {
            return Err(Error::Terminated);
        }
        let exit = self.exit();
        if exit.requested {
            self.js.v8_isolate().cancel_terminate_execution();
            return Ok(exit);
        }
        match ran {
            Ok(()) => Ok(exit),
            Err(error) => {
                let report = Report::new(&error, &*self.loader);
                Err(Error::Uncaught(Box::new(report)))
            }
        }
    }
}

impl Runtime {
    /// What a program left waiting (timers, ports, loops that yield) does not go on beside the next one.
    fn end_program(&mut self) {
        self.tensors.turns.end_program();
        for resource in take_resources(&mut self.js) {
            resource.close();
        }
        self.drain();
        let _entered = self.event_loop.enter();
        deno_core::scope!(scope, &mut self.js);
        let clear = v8::Local::new(scope, &self.clear_timers);
        let this = v8::undefined(scope);
        v8::tc_scope!(let scope, scope);
        // It fails where the program is ended once more; the next end repeats it.
        clear.call(scope, this.into(), &[]);
    }

    /// Takes what is still under way off the event loop: its script can do nothing while it is being
    /// ended. An operation that was started in a line that was ended has no promise, and would be an
    /// error of the next program.
    fn drain(&mut self) {
        const MOST_TURNS: u32 = 8;
        let _entered = self.event_loop.enter();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..MOST_TURNS {
            self.js.v8_isolate().terminate_execution();
            let turn = self.js.poll_event_loop(&mut context, PollEventLoopOptions::default());
            self.js.v8_isolate().cancel_terminate_execution();
            if matches!(turn, Poll::Ready(Ok(()))) {
                break;
            }
        }
    }
}

/// Why an event loop ended.
enum Ended {
    Done,
    /// From outside, by `process.exit` or for its full heap.
    Terminated,
}

/// What the program's operations read from: ports of messages. Deno's BroadcastChannel has one
/// resource for all programs of an isolate, and would not work again without it.
fn take_resources(js: &mut JsRuntime) -> Vec<Rc<dyn Resource>> {
    let state = js.op_state();
    let table = &mut state.borrow_mut().resource_table;
    let own = |name: &str| !name.ends_with("BroadcastChannelResource");
    let ids: Vec<_> = table.names().filter(|(_, name)| own(name)).map(|(id, _)| id).collect();
    ids.into_iter().filter_map(|id| table.take_any(id).ok()).collect()
}

/// Whether the program called `process.exit`.
fn exit_requested(js: &mut JsRuntime) -> bool {
    js.op_state().borrow().borrow::<ProcessState>().exit.requested
}

/// Runs the event loop; while it waits, the pool ticks. Timers and the like that are still there do
/// not keep a program that is at its end.
async fn run_event_loop(
    js: &mut JsRuntime,
    tensors: &TensorState,
    terminator: &Terminator,
    heap_guard: &HeapGuard,
) -> Result<Ended, CoreError> {
    let pool = &tensors.engine.pool;
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    std::future::poll_fn(|cx| {
        if terminator.poll(cx.waker()) {
            return Poll::Ready(Ok(Ended::Terminated));
        }
        let done = js.poll_event_loop(cx, PollEventLoopOptions::default());
        if done.is_pending() && (heap_guard.is_reached() || exit_requested(js)) {
            return Poll::Ready(Ok(Ended::Terminated));
        }
        // Without memory that waits nobody is woken up for it.
        while done.is_pending() && pool.account.pooled() > 0 && ticks.poll_tick(cx).is_ready() {
            pool.tick();
        }
        done.map_ok(|()| Ended::Done)
    })
    .await
}

/// Calls the function that the snapshot left on the global object; it gives one that clears timers.
fn start_globals(js: &mut JsRuntime) -> Result<v8::Global<v8::Function>, Error> {
    deno_core::scope!(scope, js);
    let failed = |what: &str| Error::Start(what.to_owned());
    let global = scope.get_current_context().global(scope);
    let name = v8::String::new(scope, "__mlrunStart").ok_or_else(|| failed("no memory"))?;
    let start = global
        .get(scope, name.into())
        .and_then(|value| v8::Local::<v8::Function>::try_from(value).ok())
        .ok_or_else(|| failed("the snapshot has no entry function"))?;
    v8::tc_scope!(let scope, scope);
    let this = v8::undefined(scope);
    if let Some(clear) = start.call(scope, this.into(), &[]) {
        let clear = v8::Local::<v8::Function>::try_from(clear);
        return clear
            .map(|clear| v8::Global::new(scope, clear))
            .map_err(|_| failed("the entry function gives no function"));
    }
    let message = match scope.exception() {
        Some(exception) => exception.to_rust_string_lossy(scope),
        None => "the entry function was terminated".to_owned(),
    };
    Err(Error::Start(message))
}

/// Removes `.` and `..` without asking the file system, as resolution of URLs does.
fn normalise(path: &Path) -> std::path::PathBuf {
    use std::path::Component;
    let mut clean = std::path::PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
