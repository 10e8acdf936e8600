//! What the ownership pass does to a file, for people: `mlrun compile --print` and `mlrun explain`.
//!
//! Positions are those of the file that the user wrote. Not here: how the pass decides (own/).

use std::fmt::Write;

use oxc::allocator::Allocator;

use crate::lines::Lines;
use crate::own::What;
use crate::{CompileError, Options, SourceType, own, parse, reject, strip, text, with_stack};

/// A file with notes, and a list of what becomes of each variable and temporary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The program without types, where `using` and notes say what is held and for how long.
    pub annotated: String,
    /// One line for each: `LINE:COLUMN name: what becomes of it`.
    pub list: String,
}

/// Explains one file.
///
/// # Errors
/// Those of [`crate::compile`].
pub fn explain(
    specifier: &str,
    source: &str,
    options: &Options,
) -> Result<Explained, CompileError> {
    with_stack(specifier, source, || explain_here(specifier, source, options.source_type))
}

fn explain_here(
    specifier: &str,
    source: &str,
    source_type: SourceType,
) -> Result<Explained, CompileError> {
    let typed = matches!(source_type, SourceType::TypeScript | SourceType::Tsx);
    let stripped = match typed {
        true => Some(strip::strip(specifier, source, source_type)?),
        false => None,
    };
    let plain = stripped.as_ref().map_or(source, |s| s.code.as_str());
    let source_type = if typed { SourceType::Module } else { source_type };
    let allocator = Allocator::default();
    let program = parse::parse(&allocator, specifier, plain, source_type)?;
    reject::reject(specifier, &program)?;
    let semantic = parse::analyse(specifier, &program)?;
    let (story, annotated) = own::story(plain, &program, &semantic, source_type);
    let places = Places { user: Lines::new(source), stripped: &stripped };
    Ok(Explained { annotated, list: list(&story, &places) })
}

struct Places<'s> {
    user: Lines<'s>,
    stripped: &'s Option<text::Derived>,
}

impl Places<'_> {
    /// `LINE:COLUMN` in the user's file.
    fn show(&self, at: u32) -> String {
        let at = self.stripped.as_ref().map_or(at, |s| s.origin(at).unwrap_or(0));
        let (line, column) = self.user.position(at);
        format!("{}:{}", line + 1, column + 1)
    }
}

fn list(story: &own::Story, places: &Places) -> String {
    let mut out = String::new();
    let mut fates: Vec<_> = story.fates.iter().collect();
    fates.sort_by_key(|f| f.at);
    for fate in fates {
        let mut ends: Vec<String> = vec![];
        for &(at, what) in &fate.ends {
            let verb = if what == What::Give { "handed over" } else { "released" };
            ends.push(format!("{verb} at {}", places.show(at)));
        }
        let text = match (&fate.reason, ends.is_empty()) {
            (Some(reason), _) => reason.clone(),
            (None, false) => ends.join(", "),
            (None, true) => "released when the call ends".to_owned(),
        };
        let _ = writeln!(out, "{} {}: {text}", places.show(fate.at), fate.name);
    }
    for event in story.events.iter().filter(|e| e.what == What::Share) {
        let place = places.show(event.at);
        let _ = writeln!(out, "{place} {}: the collector's from here", event.name);
    }
    out
}
