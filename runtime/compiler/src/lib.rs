//! Source text to source text: what V8 gets to run for one user module.
//!
//! Pipeline: parse -> (strip types) -> (ownership pass) -> emit with a source map. Pure: the
//! result depends on the arguments and on [`VERSION`] only, so it can be cached by content.
//! Deliberately not here: module resolution, reading files, caching, V8.

use std::fmt;

/// Part of every cache key: changes whenever the emitted text can change.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

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
}

/// What [`compile`] needs to know about a file besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    pub source_type: SourceType,
    pub ownership: Ownership,
}

impl Options {
    /// Options with the ownership pass off.
    pub fn new(source_type: SourceType) -> Self {
        Self { source_type, ownership: Ownership::Off }
    }
}

/// What V8 gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    pub code: String,
    /// JSON, version 3, with `sourcesContent`. `None`: the code is the source text, unchanged.
    pub source_map: Option<String>,
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
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, specifier, line, column, .. } = self;
        write!(f, "{message} ({specifier}:{line}:{column})")
    }
}

impl std::error::Error for CompileError {}

/// Compiles one file.
///
/// # Errors
/// A syntax error of the file, or syntax that has no meaning at run time here (JSX).
pub fn compile(
    _specifier: &str,
    source: &str,
    _options: &Options,
) -> Result<Compiled, CompileError> {
    Ok(Compiled { code: source.to_owned(), source_map: None })
}

/// How [`code_frame`] draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStyle {
    /// Use ANSI colours.
    pub colour: bool,
    /// Lines shown before and after the marked one.
    pub context: u32,
    /// Terminal columns of source shown; longer lines are cut around the mark.
    pub width: u32,
}

impl Default for FrameStyle {
    fn default() -> Self {
        Self { colour: false, context: 2, width: 100 }
    }
}

/// Draws the lines around a position with a mark under it. `line` and `column` are 1-based, the
/// column and `length` in UTF-16 code units. Empty if the source has no such line.
pub fn code_frame(
    _source: &str,
    _line: u32,
    _column: u32,
    _length: u32,
    _style: &FrameStyle,
) -> String {
    String::new()
}
