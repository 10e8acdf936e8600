//! oxc's parser and early errors, with errors as [`CompileError`]s.
//!
//! Whatever V8 accepts must pass: regular expressions are left to V8, and the goal symbol is
//! the one that the loader will give to V8.

use oxc::allocator::Allocator;
use oxc::ast::ast::Program;
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::{Semantic, SemanticBuilder};

use crate::lines::{Lines, utf16_len};
use crate::{CompileError, SourceType};

/// Parses `source`.
pub(crate) fn parse<'a>(
    allocator: &'a Allocator,
    specifier: &str,
    source: &'a str,
    source_type: SourceType,
) -> Result<Program<'a>, CompileError> {
    let options = ParseOptions {
        parse_regular_expression: false,
        allow_return_outside_function: source_type == SourceType::CommonJs,
        preserve_parens: true,
        ..ParseOptions::default()
    };
    let parsed =
        Parser::new(allocator, source, oxc_source_type(source_type)).with_options(options).parse();
    match parsed.diagnostics.errors().next() {
        Some(diagnostic) => Err(error(specifier, source, diagnostic)),
        None => Ok(parsed.program),
    }
}

/// `f() = 1`, which sloppy code may say, and the engine knows when that is an error.
pub(crate) fn assigns_to_call(error: &CompileError, source: &str, source_type: SourceType) -> bool {
    let sloppy = matches!(source_type, SourceType::Script | SourceType::CommonJs);
    let at = Lines::new(source).offset(error.line - 1, error.column - 1) as usize;
    let rest = source.get(at..).unwrap_or_default();
    let units: Vec<u16> = rest.encode_utf16().take(error.length as usize).collect();
    sloppy
        && error.message == "Cannot assign to this expression"
        && String::from_utf16_lossy(&units).ends_with(')')
}

/// Scopes, symbols and references, after the early errors that need them.
pub(crate) fn analyse<'a>(
    specifier: &str,
    program: &'a Program<'a>,
) -> Result<Semantic<'a>, CompileError> {
    let built = SemanticBuilder::new().with_check_syntax_error(true).build(program);
    match built.diagnostics.errors().next() {
        Some(diagnostic) => Err(error(specifier, program.source_text, diagnostic)),
        None => Ok(built.semantic),
    }
}

fn oxc_source_type(source_type: SourceType) -> oxc::span::SourceType {
    use oxc::span::SourceType as Oxc;
    match source_type {
        SourceType::Module => Oxc::mjs(),
        SourceType::Jsx => Oxc::mjs().with_jsx(true),
        SourceType::TypeScript => Oxc::ts().with_module(true),
        SourceType::Tsx => Oxc::tsx().with_module(true),
        SourceType::CommonJs => Oxc::cjs(),
        SourceType::Script => Oxc::script(),
    }
}

/// A diagnostic with its place.
pub(crate) fn error(specifier: &str, source: &str, diagnostic: &OxcDiagnostic) -> CompileError {
    let labels = &diagnostic.labels;
    // Of a redeclaration, the second declaration is the wrong one.
    let twice = diagnostic.message.ends_with("already been declared");
    let label = if twice { labels.last() } else { labels.first() };
    let (start, length) = label.map_or((0, 0), |l| (l.offset() as usize, l.len() as usize));
    let help = diagnostic.help.as_deref().or_else(|| label.filter(|_| !twice)?.label());
    let help = help.map(str::to_owned);
    at(specifier, source, start as u32, length as u32, diagnostic.message.to_string(), help)
}

/// An error at a byte span.
pub(crate) fn at(
    specifier: &str,
    source: &str,
    start: u32,
    length: u32,
    message: String,
    help: Option<String>,
) -> CompileError {
    let lines = Lines::new(source);
    let (line, column) = lines.position(start);
    let end = (start + length).min(source.len() as u32) as usize;
    let marked = source.get(start as usize..end).unwrap_or("");
    let marked = marked.split(crate::lines::is_line_end).next().unwrap_or("");
    CompileError {
        message,
        specifier: specifier.to_owned(),
        line: line + 1,
        column: column + 1,
        length: utf16_len(marked).max(1),
        help,
        is_complaint: false,
    }
}

/// Scopes and symbols in the form that oxc's transformer wants.
pub(crate) fn analyse_for_transform<'a>(
    specifier: &str,
    program: &Program<'a>,
) -> Result<oxc::semantic::Scoping, CompileError> {
    let built =
        SemanticBuilder::new().with_enum_eval(true).with_excess_capacity(2.0).build(program);
    match built.diagnostics.errors().next() {
        Some(diagnostic) => Err(error(specifier, program.source_text, diagnostic)),
        None => Ok(built.semantic.into_scoping()),
    }
}
