//! What is said about memory when a program has ended, also by Ctrl-C: `--memory-report` and
//! `--trace-leaks`, on standard error, so that the program prints the same.

use clap::Args;
use mlrun_globals::Place;
use mlrun_globals::readable;

use super::fail;
use super::interrupt;
use super::print_error;
use crate::Alive;
use crate::Error;
use crate::Exit;
use crate::Runtime;

#[derive(Clone, Debug, Default, Args)]
pub(super) struct Diagnostics {
    /// Say at the end what tensors held memory, by line; with =FILE.html as a page
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "FILE.html")]
    memory_report: Option<String>,
    /// List the tensors that are alive at the end, by the line that made them
    #[arg(long)]
    trace_leaks: bool,
}

impl Diagnostics {
    /// Whether tensors are to be traced; an error for the user where the file's name is odd.
    pub fn trace(&self) -> Result<bool, String> {
        match self.memory_report.as_deref() {
            Some(file) if !file.is_empty() && !file.ends_with(".html") => {
                Err(format!("--memory-report: got \"{file}\", expected nothing or FILE.html"))
            }
            report => Ok(self.trace_leaks || report.is_some()),
        }
    }

    /// Before a program starts: where there is something to say at its end, Ctrl-C leaves time for it.
    pub fn begin(&self, runtime: &Runtime) {
        if self.trace_leaks || self.memory_report.is_some() {
            interrupt::end_script_by(runtime.terminator());
        }
    }

    /// Ends a program: prints its error if it has one, then what was asked for; the exit code.
    pub fn finish(&self, mut runtime: Runtime, ran: Result<Exit, Error>) -> i32 {
        let interrupted = interrupt::ended_script();
        let code = match ran {
            Ok(exit) => exit.code,
            Err(Error::Terminated) if interrupted => interrupt::INTERRUPTED,
            Err(error) => fail(&error),
        };
        let reported = self.report(&runtime);
        if let Err(message) = &reported {
            print_error(&format!("error: {message}"));
        }
        if self.trace_leaks {
            print_error(&alive_text(&runtime.alive()));
            let left = runtime.end();
            if left > 0 {
                let left = readable(left);
                print_error(&format!(
                    "leak: {left} of tensors are held by nothing; this is a bug of mlrun"
                ));
                return super::FAILURE;
            }
        }
        if reported.is_err() && code == 0 { super::FAILURE } else { code }
    }

    fn report(&self, runtime: &Runtime) -> Result<(), String> {
        match self.memory_report.as_deref() {
            None => Ok(()),
            Some("") => {
                print_error(runtime.memory_report().to_string().trim_end());
                Ok(())
            }
            Some(file) => std::fs::write(file, runtime.memory_report().to_html())
                .map_err(|e| format!("memory report: cannot write {file}: {e}")),
        }
    }
}

fn alive_text(alive: &[Alive]) -> String {
    let plural = |n: u64| if n == 1 { "1 tensor".to_owned() } else { format!("{n} tensors") };
    let tensors: u64 = alive.iter().map(|a| a.tensors).sum();
    let bytes: u64 = alive.iter().map(|a| a.bytes).sum();
    let mut out = match tensors {
        0 => "alive at the end: no tensors".to_owned(),
        n => format!("alive at the end: {} of {}", plural(n), readable(bytes)),
    };
    for a in alive {
        let line = a.place.as_ref().map_or_else(|| "the library".to_owned(), Place::short);
        out.push_str(&format!(
            "\n  {} of {}, made at {line}",
            plural(a.tensors),
            readable(a.bytes)
        ));
        if let Some(path) = &a.held_by {
            out.push_str(&format!(", held by {path}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alive_is_a_line_per_place() {
        assert_eq!(alive_text(&[]), "alive at the end: no tensors");
        let place = Place { file: "file:///a/b.js".into(), line: 3, column: 4 };
        let alive = [
            Alive { place: Some(place), tensors: 2, bytes: 4096, held_by: Some("cache[1]".into()) },
            Alive { tensors: 1, ..Alive::default() },
        ];
        assert_eq!(
            alive_text(&alive),
            "alive at the end: 3 tensors of 4.1 kB\n  2 tensors of 4.1 kB, made at \
             /a/b.js:3:4, held by cache[1]\n  1 tensor of 0 B, made at the library"
        );
    }

    #[test]
    fn a_report_is_a_page_or_a_text() {
        let given =
            |file: &str| Diagnostics { memory_report: Some(file.into()), trace_leaks: false };
        assert_eq!(given("").trace(), Ok(true));
        assert_eq!(given("a.html").trace(), Ok(true));
        assert!(given("a.txt").trace().is_err());
        assert_eq!(Diagnostics::default().trace(), Ok(false));
    }
}
