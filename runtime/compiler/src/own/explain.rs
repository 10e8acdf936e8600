//! Tells people what the pass did: which line counts what, and why something is left alone.
//!
//! Reads the edits that `insert` made, so it cannot say anything that is not emitted. `(x.add(1))`
//! is a temporary.

use std::collections::{BTreeMap, BTreeSet};

use super::insert::Log;
use super::names::Names;
use super::tree::*;
use crate::text::Edits;

/// What happens at one place of the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub at: u32,
    pub what: What,
    pub name: String,
    /// Of what is counted, its place in [`Story::fates`].
    pub fate: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// From here on a slot holds a count of it.
    Using,
    /// Its last use ends here.
    Drop,
    /// The operation whose last use it is may write into its memory.
    Donate,
    /// Its count goes to whoever gets it.
    Give,
    /// From here on it is the collector's.
    Share,
}

/// What happens to one variable or temporary.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    pub at: u32,
    /// Of a temporary, what it holds.
    pub span: Option<Span>,
    pub name: String,
    /// Where its count ends, and how.
    pub ends: BTreeSet<(u32, What)>,
    /// Why the collector frees it, or who else does.
    pub reason: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Story {
    pub events: Vec<Event>,
    pub fates: Vec<Fate>,
}

/// The story of a file.
pub(crate) fn tell(source: &str, tree: &Tree, names: &Names, edits: &Edits, log: &[Log]) -> Story {
    let mut story = Story::default();
    if tree.dynamic {
        return untouched("direct eval or `with` can see every variable");
    }
    let mut slots: BTreeMap<String, usize> = BTreeMap::new();
    for (sym, var) in tree.vars.iter().enumerate() {
        let Some(reason) = reason(tree, var) else { continue };
        slots.insert(names.slot(sym), story.fates.len());
        let (at, name) = (var.at, var.name.clone());
        let fate = Fate { at, span: None, name: name.to_string(), ends: BTreeSet::new(), reason };
        story.fates.push(fate);
    }
    for unit in &tree.units {
        if let Some((reason, at)) = unit.left_alone {
            story.fates.push(Fate {
                at: unit.span.start,
                span: None,
                name: snippet(source, unit.span.start, at.start.max(unit.span.start + 1)),
                ends: BTreeSet::new(),
                reason: Some(format!("the function is left alone: {reason}")),
            });
        }
    }
    for unit in log {
        let mut teller = Teller { source, names, story: &mut story, slots: slots.clone() };
        teller.unit(edits, unit);
    }
    story.events.sort();
    story.events.dedup();
    story
}

/// The story of a file that stays as it is.
pub(crate) fn untouched(reason: &str) -> Story {
    let name = "the whole file".to_owned();
    let fate =
        Fate { at: 0, span: None, name, ends: BTreeSet::new(), reason: Some(reason.to_owned()) };
    Story { events: vec![], fates: vec![fate] }
}

struct Teller<'t> {
    source: &'t str,
    names: &'t Names,
    story: &'t mut Story,
    /// Fates by the name of the slot that holds the count now.
    slots: BTreeMap<String, usize>,
}

impl Teller<'_> {
    fn unit(&mut self, edits: &Edits, log: &Log) {
        let mut temps = log.temps.iter().peekable();
        for (at, text) in edits.texts(log.first..log.last) {
            // Temporaries that begin up to here; a name that comes again is another one.
            while let Some((name, span)) = temps.next_if(|(_, span)| span.start <= at) {
                let shown = format!("({})", snippet(self.source, span.start, span.end));
                self.slots.insert(name.clone(), self.story.fates.len());
                let ends = BTreeSet::new();
                let (at, span) = (span.start, Some(*span));
                let fate = Fate { at, span, name: shown, ends, reason: None };
                self.story.fates.push(fate);
            }
            self.text(at, text);
        }
    }

    fn text(&mut self, at: u32, text: &str) {
        let drop = format!(" = {}.drop(", self.names.runtime);
        let slots: Vec<(String, usize)> = self.slots.iter().map(|(s, &f)| (s.clone(), f)).collect();
        for (slot, fate) in slots {
            let what = if text.contains(&format!("{slot}{drop}{slot})")) {
                What::Drop
            } else if text.contains(&format!("{slot} = void 0)")) {
                What::Give
            } else if text.contains(&format!("{slot} = {}.", self.names.runtime)) {
                What::Using
            } else {
                continue;
            };
            let name = self.story.fates[fate].name.clone();
            if what != What::Using {
                self.story.fates[fate].ends.insert((at, what));
            }
            self.story.events.push(Event { at, what, name, fate: Some(fate) });
        }
        if text.contains(".askLast(") || text.contains(".fnLast(") {
            let name = String::new();
            self.story.events.push(Event { at, what: What::Donate, name, fate: None });
        }
        if text.ends_with(&format!("{}.share(", self.names.runtime)) {
            let rest = self.source.get(at as usize..).unwrap_or_default();
            let stops = [rest.find([';', ',', '\n']), rest.find(" {")];
            let end = stops.into_iter().flatten().min().unwrap_or(rest.len()).min(40);
            let name = snippet(self.source, at, at + end as u32);
            self.story.events.push(Event { at, what: What::Share, name, fate: None });
        }
    }
}

/// `None`: not worth telling. `Some(None)`: it has a slot.
fn reason(tree: &Tree, var: &Var) -> Option<Option<String>> {
    let unit = &tree.units[var.unit];
    if var.name.is_empty() || var.imported || var.function.is_some() {
        return None;
    }
    let why = |text: &str| Some(Some(text.to_owned()));
    match var.mode {
        Mode::Plain => None,
        Mode::Borrowed => why("the caller holds it"),
        Mode::Slot { .. } => Some(None),
        Mode::Cell if var.lent => why("released when the call ends, unless a closure got away"),
        Mode::Cell => why(
            "each value is released when the next comes; the last one is the collector's, since closures may outlive the call",
        ),
        Mode::Lent { .. } => why("released when the call ends, unless a closure got away"),
        Mode::Kept { .. } if var.exported => why("the collector's: it is exported"),
        Mode::Kept { .. } if var.captured => {
            why("the collector's: a closure that may outlive the call captures it")
        }
        Mode::Kept { .. } => None,
        Mode::Shared { .. } if var.kind == VarKind::Other => None,
        Mode::Shared { .. } if var.exported => {
            why("the collector's: it is exported and assigned, and others can copy it")
        }
        Mode::Shared { .. } if unit.uses_arguments => why("the collector's: `arguments` shows it"),
        Mode::Shared { .. } if var.exposed => {
            why("the collector's: code that is left alone can see it")
        }
        Mode::Shared { .. } if var.pattern => {
            why("the collector's: a pattern that runs code binds it")
        }
        Mode::Shared { .. } if var.captured => {
            why("the collector's: closures capture it, and it is assigned or made anew by a loop")
        }
        Mode::Shared { .. } => why("the collector's: it is declared more than once"),
    }
}

/// Source text on one line, cut short.
fn snippet(source: &str, start: u32, end: u32) -> String {
    let mut to = (end as usize).min(source.len());
    while !source.is_char_boundary(to) {
        to -= 1;
    }
    let text = source.get(start as usize..to).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(40) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}
