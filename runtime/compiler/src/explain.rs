//! What the ownership pass does to a file, for people: `mlrun compile --print` and `mlrun explain`.
//!
//! Positions are those of the file that the user wrote. Not here: how the pass decides (own/).

use std::collections::BTreeMap;
use std::fmt::Write;

use oxc::allocator::Allocator;

use crate::lines::Lines;
use crate::own::What;
use crate::{CompileError, Options, SourceType, own, parse, reject, strip, text, with_stack};

/// A file with notes, and a list of what becomes of each variable and temporary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The program without types; lines end in `// using x, drop y` where counting happens.
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
    let story = own::story(plain, &program, &semantic, source_type);
    let places = Places { plain: Lines::new(plain), user: Lines::new(source), stripped: &stripped };
    Ok(Explained { annotated: annotate(plain, &story, &places), list: list(&story, &places) })
}

struct Places<'s> {
    plain: Lines<'s>,
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

fn annotate(plain: &str, story: &own::Story, places: &Places) -> String {
    let mut notes: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for event in &story.events {
        let word = match event.what {
            What::Using => "using",
            What::Drop => "drop",
            What::Give => "give",
            What::Share => "share",
        };
        let note = format!("{word} {}", event.name);
        let line = notes.entry(places.plain.position(event.at).0).or_default();
        if !line.contains(&note) {
            line.push(note);
        }
    }
    let mut out = String::with_capacity(plain.len() * 2);
    for number in 0..places.plain.len() {
        let text = places.plain.line(number).unwrap_or_default();
        if number + 1 == places.plain.len() && text.is_empty() {
            break;
        }
        out.push_str(text);
        if let Some(notes) = notes.get(&number) {
            let _ = write!(out, "  // {}", notes.join(", "));
        }
        out.push('\n');
    }
    out
}

fn list(story: &own::Story, places: &Places) -> String {
    let mut out = String::new();
    for fate in &story.fates {
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
