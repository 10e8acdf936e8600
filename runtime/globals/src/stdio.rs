//! Standard output and error as scripts see them: writes, terminals, colours.
//!
//! Invariant: nothing is buffered after a write returns, so an exit at any moment loses no
//! output. A reader that went away (EPIPE) does not end the program: what it computes, and saves
//! elsewhere, may be worth more than its log. Standard input is deliberately not here yet.

use std::io;
use std::io::IsTerminal;
use std::io::Write;

use deno_core::op2;

/// Which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn from_fd(fd: u32) -> Result<Self, StdioError> {
        match fd {
            1 => Ok(Self::Stdout),
            2 => Ok(Self::Stderr),
            _ => Err(StdioError::Descriptor { fd }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    /// Whether the stream is a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }

    /// Whether to write ANSI colours: NO_COLOR (<https://no-color.org>) wins, then FORCE_COLOR,
    /// then whether it is a terminal.
    pub fn use_colour(self) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if set("NO_COLOR") {
            return false;
        }
        match std::env::var_os("FORCE_COLOR") {
            Some(value) => value != "0" && value != "false",
            None => self.is_terminal(),
        }
    }

    /// Writes all bytes and flushes.
    ///
    /// # Errors
    /// Any I/O error except a closed pipe.
    pub fn write(self, bytes: &[u8]) -> Result<(), StdioError> {
        let done = match self {
            Self::Stdout => write_and_flush(io::stdout().lock(), bytes),
            Self::Stderr => write_and_flush(io::stderr().lock(), bytes),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(source) => Err(StdioError::Write { stream: self.name(), source }),
            Ok(()) => Ok(()),
        }
    }
}

fn write_and_flush(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// What can go wrong with a standard stream.
#[derive(Debug, thiserror::Error, deno_error::JsError)]
pub enum StdioError {
    #[class(range)]
    #[error("stdio: no such stream, got file descriptor {fd}, expected 1 or 2")]
    Descriptor { fd: u32 },
    #[class(generic)]
    #[error("{stream}: write failed: {source}")]
    Write { stream: &'static str, source: io::Error },
}

#[op2(fast)]
pub fn op_mlrun_write(#[smi] fd: u32, #[string] text: &str) -> Result<(), StdioError> {
    Stream::from_fd(fd)?.write(text.as_bytes())
}

#[op2(fast)]
pub fn op_mlrun_write_bytes(#[smi] fd: u32, #[buffer] bytes: &[u8]) -> Result<(), StdioError> {
    Stream::from_fd(fd)?.write(bytes)
}

#[op2(fast)]
pub fn op_mlrun_is_terminal(#[smi] fd: u32) -> bool {
    Stream::from_fd(fd).is_ok_and(Stream::is_terminal)
}

#[op2(fast)]
pub fn op_mlrun_use_colour(#[smi] fd: u32) -> bool {
    Stream::from_fd(fd).is_ok_and(Stream::use_colour)
}

/// Width of the terminal in columns, 0 if the stream is no terminal.
#[op2(fast)]
#[smi]
pub fn op_mlrun_columns(#[smi] fd: u32) -> u32 {
    if !Stream::from_fd(fd).is_ok_and(Stream::is_terminal) {
        return 0;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize`, which `size` is, and keeps no pointer.
    let status = unsafe { libc::ioctl(fd as libc::c_int, libc::TIOCGWINSZ, &mut size) };
    if status == 0 { u32::from(size.ws_col) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stdout_and_stderr_are_streams() {
        assert_eq!(Stream::from_fd(1).ok(), Some(Stream::Stdout));
        assert_eq!(Stream::from_fd(2).ok(), Some(Stream::Stderr));
        for fd in [0, 3, u32::MAX] {
            let error = Stream::from_fd(fd).expect_err("no stream");
            assert!(error.to_string().contains(&fd.to_string()), "{error}");
        }
    }
}
