//! Source text to source text: what V8 gets to run for one user module.
//!
//! Pipeline: parse -> (strip types) -> (yields) -> (ownership pass) -> emit with a source map. Pure: the
//! result depends on the arguments and on [`VERSION`] only, so it can be cached by content.
//! Deliberately not here: module resolution, reading files, caching, V8.

mod explain;
mod frame;
mod functions;
mod lines;
mod mutants;
mod own;
mod parse;
mod reject;
mod source_map;
mod strip;
mod text;
mod yields;

use std::fmt;

use oxc::allocator::Allocator;

pub use explain::{Explained, explain};
pub use frame::{FrameStyle, code_frame};
pub use functions::{FunctionText, text_hash};
pub use mutants::{MUTANTS, Mutant};
pub use own::RUNTIME_MODULE;
pub use yields::TURNS_MODULE;

/// Part of every cache key: changes whenever the emitted text can change.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("MLRUN_COMPILER_SOURCES"));

/// How a file is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceType {
    /// An ECMAScript module.
    Module,
    /// An ECMAScript module with TypeScript's syntax.
    TypeScript,
    /// TypeScript with JSX. JSX itself is a clear error: there is no transform for it.
    Tsx,
    /// An ECMAScript module with JSX. JSX itself is a clear error.
    Jsx,
    /// The body of a CommonJS function: sloppy unless it says otherwise, `return` allowed.
    CommonJs,
    /// A classic script, sloppy unless it says otherwise.
    Script,
}

/// Whether the ownership pass runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ownership {
    /// The program runs as the user wrote it; tensors are left to the collector.
    #[default]
    Off,
    /// Tensors are released at last use.
    On,
    /// The same, and functions are compiled also where nothing points at tensors: for the
    /// library, whose functions get tensors under other names, and for tests of the pass.
    Whole,
    /// Like [`Ownership::Whole`], and every object literal is counted, whatever it holds: so that
    /// any program tests the pass.
    Force,
}

/// What [`compile`] needs to know about a file besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    pub source_type: SourceType,
    pub ownership: Ownership,
    /// Loops yield to the event loop, also where no directive asks for it.
    pub yields: bool,
}

impl Options {
    /// Options with the ownership pass off.
    pub fn new(source_type: SourceType) -> Self {
        Self { source_type, ownership: Ownership::Off, yields: false }
    }
}

/// What V8 gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    pub code: String,
    /// JSON, version 3, with `sourcesContent`. `None`: the code is the source text, unchanged.
    pub source_map: Option<String>,
    /// The ownership pass changed it, so it imports [`RUNTIME_MODULE`].
    pub owned: bool,
    /// Functions that the ownership pass changed, as spans of [`Compiled::plain`] or the source.
    pub functions: Vec<FunctionText>,
    /// What the ownership pass got, where that was not the source itself: without types, with
    /// yields.
    pub plain: Option<String>,
}

/// A file that cannot be compiled, with the place in the user's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    pub message: String,
    pub specifier: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in UTF-16 code units as V8 counts.
    pub column: u32,
    /// Length of the offending text on that line in UTF-16 code units, at least 1.
    pub length: u32,
    pub help: Option<String>,
    /// The file is right, but the ownership pass is not: compile it without.
    pub is_complaint: bool,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, specifier, line, column, .. } = self;
        write!(f, "{message} ({specifier}:{line}:{column})")
    }
}

impl std::error::Error for CompileError {}

impl CompileError {
    /// The error with its place and a code frame, as a terminal shows it.
    pub fn render(&self, source: &str, style: &FrameStyle) -> String {
        let Self { message, specifier, line, column, .. } = self;
        let frame = code_frame(source, *line, *column, self.length, style);
        let mut out =
            format!("SyntaxError: {message}\n    at {specifier}:{line}:{column}\n{frame}");
        if let Some(help) = &self.help {
            out.push_str("\nhelp: ");
            out.push_str(help);
        }
        out
    }
}

/// Compiles one file.
///
/// # Errors
/// A syntax error of the file, or syntax that has no meaning at run time here (JSX, decorators).
pub fn compile(specifier: &str, source: &str, options: &Options) -> Result<Compiled, CompileError> {
    with_stack(specifier, source, || compile_here(specifier, source, options))
}

/// Runs `work` on a stack that is deep enough for the nesting of `source`.
fn with_stack<T: Send>(
    specifier: &str,
    source: &str,
    work: impl FnOnce() -> Result<T, CompileError> + Send,
) -> Result<T, CompileError> {
    if source.len() < SHALLOW {
        return work();
    }
    // The parser recurses as deep as the source nests, which may be a level per byte.
    let stack = source.len().saturating_mul(STACK_PER_LEVEL).clamp(MIN_STACK, MAX_STACK);
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work);
        let failed = |message: &str| CompileError {
            message: message.to_owned(),
            specifier: specifier.to_owned(),
            line: 1,
            column: 1,
            length: 1,
            help: None,
            is_complaint: false,
        };
        match worker.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(failed("the compiler failed on this file; this is a bug of mlrun")),
            Err(_) => Err(failed("there is no memory left to compile this file")),
        }
    })
}

/// Sources below this many bytes cannot nest deep enough for a thread's ordinary stack.
const SHALLOW: usize = 1024;
/// Stack of one level of nesting, parser and later passes, with room to spare.
const STACK_PER_LEVEL: usize = 8 << 10;
const MIN_STACK: usize = 16 << 20;
/// Address space, not memory: only what the recursion touches is ever backed.
const MAX_STACK: usize = 8 << 30;

fn compile_here(
    specifier: &str,
    source: &str,
    options: &Options,
) -> Result<Compiled, CompileError> {
    let typed = matches!(options.source_type, SourceType::TypeScript | SourceType::Tsx);
    let mut stages = vec![];
    if typed {
        stages.push(strip::strip(specifier, source, options.source_type)?);
    }
    let plain = stages.last().map_or(source, |s| s.code.as_str());
    stages.extend(yields::insert(specifier, plain, own_type(options), options.yields)?);
    let plain = stages.last().map_or(source, |s| s.code.as_str());
    let owned = own(specifier, plain, options)?;
    let is_owned = owned.is_some();
    let plain = (is_owned && !stages.is_empty()).then(|| plain.to_owned());
    let (owned, functions) = owned.unzip();
    let functions = functions.unwrap_or_default();
    stages.extend(owned);
    match stages.pop() {
        Some(last) if last.code != source => {
            let all: Vec<_> = stages.iter().chain([&last]).collect();
            let source_map = Some(source_map::generate(specifier, source, &all));
            Ok(Compiled { code: last.code, source_map, owned: is_owned, functions, plain })
        }
        _ => Ok(Compiled {
            code: source.to_owned(),
            source_map: None,
            owned: false,
            functions,
            plain: None,
        }),
    }
}

/// What a file is once its types are gone.
fn own_type(options: &Options) -> SourceType {
    match options.source_type {
        SourceType::TypeScript | SourceType::Tsx => SourceType::Module,
        other => other,
    }
}

/// Early errors of JavaScript, and the ownership pass if it is on: its text and its functions.
fn own(
    specifier: &str,
    source: &str,
    options: &Options,
) -> Result<Option<own::Owned>, CompileError> {
    let source_type = own_type(options);
    if options.ownership == Ownership::Off && source_type != options.source_type {
        return Ok(None);
    }
    let allocator = Allocator::default();
    let program = match parse::parse(&allocator, specifier, source, source_type) {
        Err(error) if parse::assigns_to_call(&error, source, source_type) => return Ok(None),
        parsed => parsed?,
    };
    reject::reject(specifier, &program)?;
    let semantic = parse::analyse(specifier, &program)?;
    if options.ownership == Ownership::Off {
        return Ok(None);
    }
    let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        own::run(source, &program, &semantic, source_type, options.ownership)
    }));
    let passed = passed.unwrap_or_else(|_| Err(("the pass failed".to_owned(), 0)));
    passed.map_err(|(problem, at)| {
        let message = format!("ownership: the emitted program is wrong, {problem}");
        let help =
            Some("This is a bug of the compiler; --no-ownership runs the program".to_owned());
        CompileError { is_complaint: true, ..parse::at(specifier, source, at, 1, message, help) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_sloppy_code_may_say_is_left_to_the_engine() {
        for source in
            ["f() = 1", "f()++", "--f()", "f() += 1", "for (f() of []);", "for (f() in {});"]
        {
            let compiled = |source_type| {
                let options = Options { ownership: Ownership::Whole, ..Options::new(source_type) };
                compile("f.js", source, &options)
            };
            let script = compiled(SourceType::Script);
            assert_eq!(
                script.map(|c| (c.code, c.owned)),
                Ok((source.to_owned(), false)),
                "{source}"
            );
            assert!(compiled(SourceType::Module).is_err(), "{source}");
        }
        let options = Options::new(SourceType::Script);
        for source in ["1 = 2", "f( = 1", "a b"] {
            assert!(compile("f.js", source, &options).is_err(), "{source}");
        }
    }
}
