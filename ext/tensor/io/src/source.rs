//! Opens files for reading. The only place in this crate that does.
//!
//! Invariant: positions are explicit and a file that became shorter is an error, never a fault.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Problem, malformed};

/// A regular file and the length that it had when it was opened.
pub(crate) struct Source {
    file: File,
    pub len: u64,
}

impl Source {
    #[expect(clippy::disallowed_methods, reason = "tensor files, no modules")]
    pub fn open(path: &Path) -> Result<Source, Problem> {
        let failed = |e| Problem::Io("open", e);
        // Opening a pipe would wait for a writer.
        check_regular(&std::fs::metadata(path).map_err(failed)?)?;
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        check_regular(&metadata)?;
        Ok(Source { file, len: metadata.len() })
    }

    /// Fills `out` from `offset` on.
    pub fn read_at(&self, out: &mut [u8], offset: u64) -> Result<(), Problem> {
        self.file.read_exact_at(out, offset).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => {
                Problem::Format("the file became shorter while it was read".into())
            }
            _ => Problem::read(e),
        })
    }

    /// A reader of the bytes from `begin` to before `end`.
    pub fn range(&self, begin: u64, end: u64) -> Range<'_> {
        Range { source: self, at: begin, end }
    }
}

pub(crate) fn check_regular(metadata: &std::fs::Metadata) -> Result<(), Problem> {
    if metadata.is_dir() {
        return malformed!("is a directory, expected a file");
    }
    if !metadata.is_file() {
        return malformed!("is a device, pipe or socket, expected a regular file");
    }
    Ok(())
}

/// A part of a file as a stream.
pub(crate) struct Range<'a> {
    source: &'a Source,
    at: u64,
    end: u64,
}

impl Read for Range<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(out.len());
        let n = self.source.file.read_at(&mut out[..most], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
