//! The command line: options, subcommands, exit codes.
//!
//! Exit codes: 0, 1 for an uncaught error, 2 for bad usage, 130 after Ctrl-C, and whatever the
//! program asks for. An option or command that is planned but not there yet is bad usage, never
//! silently accepted.

mod compile;
mod diagnostics;
mod eval;
mod heap;
mod info;
mod interrupt;
mod run;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::CommandFactory;
use clap::Parser;
use clap::Subcommand;
use clap::error::ErrorKind;
use mlrun_compiler::MUTANTS;
use mlrun_compiler::Mutant;
use mlrun_globals::stdio::Stream;

use self::diagnostics::Diagnostics;
use crate::CacheDir;
use crate::Error;
use crate::Ownership;
use crate::Runtime;
use crate::RuntimeOptions;
use crate::budget::{LEAST_HEAP, Size};

const FAILURE: i32 = 1;

/// A JavaScript runtime for machine learning.
#[derive(Debug, Parser)]
#[command(name = "mlrun", bin_name = "mlrun", version, arg_required_else_help = false)]
#[command(override_usage = "mlrun [OPTIONS] FILE [ARGS]...\n       mlrun [OPTIONS] COMMAND")]
#[command(allow_external_subcommands = true, subcommand_value_name = "FILE | COMMAND")]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    runtime: RuntimeArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options for every command that runs a program. They stand before the file name; what stands
/// after it belongs to the program.
#[derive(Debug, Args)]
struct RuntimeArgs {
    /// Threads of the kernels [default: one per core]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// Seed of the random generator, for runs that repeat
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Leave tensors to the collector instead of releasing them at their last use
    #[arg(long, conflicts_with = "verify_ownership")]
    no_ownership: bool,
    /// Make every use of a tensor after its release an error that names the release
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "all")]
    verify_ownership: Option<String>,
    /// Break a rule of the ownership pass, to see that the verification notices
    #[arg(long, hide = true, value_name = "RULE", requires = "verify_ownership")]
    break_rule: Option<String>,
    /// Most bytes of tensors at once, such as 512MB or 2GB [default: 90 % of the memory]
    #[arg(long, value_name = "SIZE")]
    memory_limit: Option<Size>,
    /// Most bytes of JavaScript objects [default: 25 % of the memory, at most 4GB]
    #[arg(long, value_name = "SIZE")]
    heap_limit: Option<Size>,
    /// Let timers and I/O have their turn in long loops of async functions and of modules
    #[arg(long = "yield")]
    yields: bool,
    /// Flags for V8, such as "--trace-gc --stress-compaction"
    #[arg(long, value_name = "FLAGS", require_equals = true)]
    v8_flags: Vec<String>,
    #[command(flatten)]
    diagnostics: Diagnostics,
    #[command(flatten)]
    planned: PlannedArgs,
}

fn thread_count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("got \"{text}\", expected a whole number of at least 1"))
}

impl RuntimeArgs {
    fn ownership(&self) -> Result<Ownership, String> {
        match self.verify_ownership.as_deref() {
            Some("") => Ok(Ownership::Verify),
            Some("all") => Ok(Ownership::VerifyAll),
            Some(other) => {
                Err(format!("--verify-ownership: got \"{other}\", expected nothing or \"all\""))
            }
            None if self.no_ownership => Ok(Ownership::Off),
            None => Ok(Ownership::On),
        }
    }

    fn mutant(&self) -> Result<Option<Mutant>, String> {
        let Some(rule) = &self.break_rule else { return Ok(None) };
        let known = || MUTANTS.iter().map(|m| m.rule).collect::<Vec<_>>().join(", ");
        let unknown = || format!("--break-rule: got \"{rule}\", expected one of {}", known());
        Mutant::of(rule).map(Some).ok_or_else(unknown)
    }
}

/// Options with a fixed name and no implementation yet.
#[derive(Debug, Args)]
struct PlannedArgs {
    #[arg(long, hide = true)]
    device: Option<String>,
}

impl PlannedArgs {
    /// The first of these options that was given.
    fn given(&self) -> Option<&'static str> {
        let options = [("--device", self.device.is_some())];
        options.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run CODE as an ES module
    Eval {
        code: String,
        /// Arguments for process.argv
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Show what the compiler makes of a file
    Compile(compile::CompileArgs),
    /// Show versions, processor features and threads
    Info,
    /// Show where tensors are released, or why they are left to the collector
    Explain {
        /// A program, which is not run
        file: OsString,
    },
    /// A file and its arguments.
    #[command(external_subcommand)]
    Run(Vec<OsString>),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    interrupt::install();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are "errors" that go to standard output and exit with 0.
            let _ = error.print();
            return exit_code(error.exit_code());
        }
    };
    exit_code(execute(cli))
}

fn execute(cli: Cli) -> i32 {
    if let Some(option) = cli.runtime.planned.given() {
        return usage(&format!("the option {option} is not available yet"));
    }
    let (ownership, mutant) = match (cli.runtime.ownership(), cli.runtime.mutant()) {
        (Ok(ownership), Ok(mutant)) => (ownership, mutant),
        (Err(message), _) | (_, Err(message)) => return usage(&message),
    };
    for flags in &cli.runtime.v8_flags {
        crate::v8::V8::set_flags_from_string(flags);
    }
    let diagnostics = cli.runtime.diagnostics;
    let trace_memory = match diagnostics.trace() {
        Ok(trace) => trace,
        Err(message) => return usage(&message),
    };
    if let Some(Size(bytes)) = cli.runtime.heap_limit
        && bytes < LEAST_HEAP as u64
    {
        return usage(&format!("--heap-limit: expected at least 16MB, got {bytes} bytes"));
    }
    let options = RuntimeOptions {
        trace_memory,
        yields: cli.runtime.yields,
        ownership,
        mutant,
        cache: CacheDir::PerUser,
        threads: cli.runtime.threads,
        seed: cli.runtime.seed,
        memory_limit: cli.runtime.memory_limit.map(|size| size.0),
        heap_limit: cli
            .runtime
            .heap_limit
            .map(|size| usize::try_from(size.0).unwrap_or(usize::MAX)),
    };
    match cli.command {
        Some(Command::Run(words)) => match run::Program::parse(words) {
            Ok(program) => run::run(options, &diagnostics, &program),
            Err(message) => usage(&message),
        },
        Some(Command::Eval { code, args }) => eval::eval(options, &diagnostics, &code, &args),
        Some(Command::Compile(args)) => compile::compile(&args),
        Some(Command::Info) => info::info(),
        Some(Command::Explain { file }) => compile::explain(file),
        None => usage("a file is missing (the REPL is not available yet)"),
    }
}

/// Reports bad usage.
fn usage(message: &str) -> i32 {
    let error = Cli::command().error(ErrorKind::InvalidValue, message);
    let _ = error.print();
    error.exit_code()
}

/// Prints an error as the program's last words.
fn fail(error: &Error) -> i32 {
    let text = match error {
        Error::Uncaught(report) => report.render(Stream::Stderr.use_colour()),
        other => format!("error: {other}"),
    };
    print_error(&text);
    FAILURE
}

fn print_error(text: &str) {
    // Nothing can be done for a program whose standard error is gone.
    let _ = Stream::Stderr.write(format!("{text}\n").as_bytes());
}

/// The lowest eight bits are all that a parent process sees.
fn exit_code(code: i32) -> ExitCode {
    ExitCode::from((code & 0xff) as u8)
}

/// Makes a runtime or says why not.
fn runtime(options: RuntimeOptions) -> Result<Runtime, i32> {
    let mut runtime = Runtime::new(options).map_err(|error| fail(&error))?;
    heap::install(&mut runtime);
    Ok(runtime)
}

/// A path given on the command line.
fn path_arg(word: OsString) -> PathBuf {
    PathBuf::from(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_end_at_the_file() {
        let cli = Cli::try_parse_from(["mlrun", "--seed", "7", "a.js", "--seed", "x", "-h"])
            .expect("parses");
        assert_eq!(cli.runtime.seed, Some(7));
        let Some(Command::Run(words)) = cli.command else { panic!("not a run") };
        assert_eq!(words, ["a.js", "--seed", "x", "-h"]);
    }

    #[test]
    fn planned_options_are_refused() {
        let cases: &[&[&str]] = &[&["--device", "gpu"]];
        for case in cases {
            let words = ["mlrun"].iter().chain(*case).chain(&["a.js"]);
            let cli = Cli::try_parse_from(words).expect("parses");
            let name = case[0].split('=').next();
            assert_eq!(cli.runtime.planned.given(), name, "{case:?}");
            assert_eq!(execute(cli), 2, "{case:?}");
        }
    }
}
