//! Runs one program to its end: input, captured output, time limit, interrupt.
//!
//! The child leads its own process group; when the limit runs out the whole group is killed,
//! so that no grandchild keeps a pipe open. What the output should be is not known here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// More output than this is read and thrown away, so that an endless loop cannot fill memory.
const MAX_OUTPUT: usize = 16 << 20;

/// What to run. The environment is exactly `env`; nothing is inherited.
pub struct Job {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: BTreeMap<OsString, OsString>,
    pub dir: PathBuf,
    pub stdin: String,
    pub limit: Duration,
    /// Sends SIGINT to the group once this text has appeared on standard output.
    pub interrupt_at: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Exit code, or 128 + signal as a shell reports it.
    Code(i32),
    TimedOut,
}

pub struct Outcome {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
}

pub fn run(job: &Job) -> io::Result<Outcome> {
    let start = Instant::now();
    let mut child = Command::new(&job.program)
        .args(&job.args)
        .env_clear()
        .envs(&job.env)
        .current_dir(&job.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let (seen, on_seen) = mpsc::channel();
    feed(&mut child, job.stdin.clone());
    let stdout = collect(child.stdout.take(), job.interrupt_at.clone(), Some(seen));
    let stderr = collect(child.stderr.take(), None, None);

    let end = match wait(&mut child, start, job.limit, &on_seen)? {
        Some(status) => End::Code(code(status)),
        None => End::TimedOut,
    };
    release_pipes(&child, &[&stdout, &stderr]);
    Ok(Outcome { end, stdout: finish(stdout)?, stderr: finish(stderr)? })
}

/// A grandchild that outlived the program may hold its pipes; the readers would wait for it.
fn release_pipes(child: &Child, readers: &[&Reader]) {
    let until = Instant::now() + Duration::from_millis(500);
    while readers.iter().any(|r| !r.is_finished()) {
        if Instant::now() > until {
            signal_group(child, "KILL");
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn wait(
    child: &mut Child,
    start: Instant,
    limit: Duration,
    on_seen: &Receiver<()>,
) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            signal_group(child, "KILL");
            child.wait()?;
            return Ok(None);
        }
        if on_seen.try_recv().is_ok() {
            signal_group(child, "INT");
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(-1)
}

/// Through the shell's own `kill`: a minimal system has no such program. An error only says
/// that the group is gone.
fn signal_group(child: &Child, signal: &str) {
    let _ = Command::new("sh")
        .arg("-c")
        .arg(format!("kill -{signal} -{}", child.id()))
        .stderr(Stdio::null())
        .status();
}

/// Writes the input from a thread of its own; a program that does not read it is no error.
fn feed(child: &mut Child, text: String) {
    let Some(mut pipe) = child.stdin.take() else { return };
    thread::spawn(move || {
        let _ = pipe.write_all(text.as_bytes());
    });
}

type Reader = JoinHandle<io::Result<Vec<u8>>>;

fn collect(
    pipe: Option<impl Read + Send + 'static>,
    needle: Option<String>,
    seen: Option<Sender<()>>,
) -> Reader {
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return Ok(Vec::new()) };
        let mut needle = needle.map(String::into_bytes);
        let mut all = Vec::new();
        let mut chunk = [0u8; 8192];
        loop {
            let n = match pipe.read(&mut chunk) {
                Ok(0) => return Ok(all),
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if all.len() < MAX_OUTPUT {
                all.extend_from_slice(&chunk[..n]);
            }
            if needle.as_ref().is_some_and(|text| contains(&all, text)) {
                needle = None;
                if let Some(seen) = &seen {
                    let _ = seen.send(());
                }
            }
        }
    })
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|w| w == text)
}

fn finish(reader: Reader) -> io::Result<String> {
    let bytes = reader.join().map_err(|_| io::Error::other("the reading thread panicked"))??;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
