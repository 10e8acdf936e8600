//! The native half of `process`.
//!
//! Invariant: a script never ends the host. `process.exit` records the code and terminates
//! execution of its own isolate; the embedder decides what that means.

use std::sync::LazyLock;
use std::time::Instant;

use deno_core::OpState;
use deno_core::op2;
use deno_core::v8;

/// Origin of `process.hrtime`, which promises a monotonic clock with an arbitrary origin.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How a program said that it wants to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// `process.exitCode`, 0 if never set.
    pub code: i32,
    /// Whether `process.exit` was called.
    pub requested: bool,
}

/// What `process` reads and writes, one per isolate, kept in the op state.
#[derive(Debug)]
pub struct ProcessState {
    pub argv: Vec<String>,
    pub exit: Exit,
    started: Instant,
}

impl ProcessState {
    pub(crate) fn new(argv: Vec<String>) -> Self {
        Self { argv, exit: Exit::default(), started: Instant::now() }
    }
}

/// What can go wrong in `process`.
#[derive(Debug, thiserror::Error, deno_error::JsError)]
pub enum ProcessError {
    #[class(generic)]
    #[error("process.cwd: the current directory cannot be read: {0}")]
    Cwd(std::io::Error),
}

#[op2]
pub fn op_mlrun_argv(state: &OpState) -> Vec<String> {
    state.borrow::<ProcessState>().argv.clone()
}

#[op2]
#[string]
pub fn op_mlrun_cwd() -> Result<String, ProcessError> {
    let path = std::env::current_dir().map_err(ProcessError::Cwd)?;
    Ok(path.to_string_lossy().into_owned())
}

/// The environment as alternating names and values; what is not Unicode is shown lossily.
#[op2]
pub fn op_mlrun_env() -> Vec<String> {
    std::env::vars_os()
        .flat_map(|(name, value)| [name, value])
        .map(|text| text.to_string_lossy().into_owned())
        .collect()
}

/// Facts that never change: executable, platform, architecture, process id, mlrun's version, V8's.
#[op2]
pub fn op_mlrun_process_info() -> Vec<String> {
    let executable = std::env::current_exe().unwrap_or_default();
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "x86" => "ia32",
        other => other,
    };
    vec![
        executable.to_string_lossy().into_owned(),
        platform.to_owned(),
        arch.to_owned(),
        std::process::id().to_string(),
        env!("CARGO_PKG_VERSION").to_owned(),
        v8::V8::get_version().to_owned(),
    ]
}

#[op2(fast)]
#[smi]
pub fn op_mlrun_exit_code(state: &OpState) -> i32 {
    state.borrow::<ProcessState>().exit.code
}

#[op2(fast)]
pub fn op_mlrun_set_exit_code(state: &mut OpState, #[smi] code: i32) {
    state.borrow_mut::<ProcessState>().exit.code = code;
}

/// Ends the program: no further JavaScript of this isolate runs, not even `finally` blocks.
#[op2(fast)]
pub fn op_mlrun_exit(scope: &mut v8::PinScope, state: &mut OpState) {
    state.borrow_mut::<ProcessState>().exit.requested = true;
    scope.terminate_execution();
}

/// Nanoseconds since an arbitrary moment.
#[op2(fast)]
#[bigint]
pub fn op_mlrun_hrtime() -> u64 {
    u64::try_from(ORIGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Bytes of the process that are in memory; 0 where the system does not tell.
#[op2(fast)]
pub fn op_mlrun_rss() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel, not of the program")]
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

/// Microseconds of processor time, of this thread or of the whole process: in the program itself and in
/// the system, as two numbers; 0 where the system does not tell.
#[op2(fast)]
pub fn op_mlrun_cpu(thread: bool, #[buffer] out: &mut [u8]) {
    let clock = if thread { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_PROCESS_CPUTIME_ID };
    #[cfg(target_os = "linux")]
    let who = if thread { libc::RUSAGE_THREAD } else { libc::RUSAGE_SELF };
    #[cfg(not(target_os = "linux"))]
    let who = libc::RUSAGE_SELF;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut all = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the calls write to `usage` and `all`, which live on this stack; zeroed numbers are valid.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        libc::clock_gettime(clock, &mut all);
        usage.assume_init()
    };
    let system = usage.ru_stime.tv_sec as f64 * 1e6 + usage.ru_stime.tv_usec as f64;
    // The clock is exact; the share of the system is brought up to date now and then.
    let all = all.tv_sec as f64 * 1e6 + all.tv_nsec as f64 / 1e3;
    let system = system.min(all);
    let times = [(all - system).round().to_ne_bytes(), system.round().to_ne_bytes()].concat();
    if let Some(out) = out.get_mut(..times.len()) {
        out.copy_from_slice(&times);
    }
}

/// Seconds since the isolate was made.
#[op2(fast)]
pub fn op_mlrun_uptime(state: &OpState) -> f64 {
    state.borrow::<ProcessState>().started.elapsed().as_secs_f64()
}
