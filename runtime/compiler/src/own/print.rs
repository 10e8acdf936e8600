//! The program as it is counted, for people: `mlrun compile --print`.
//!
//! What is held stands behind `using`, a temporary that is held gets a name and a line of its own,
//! and a note says where a value ends before its block does, or why it is the collector's. Made
//! from the story, which is read from what is emitted: it claims no release that is not there.
//! Deliberately not here: code that runs; an order of operands that is right to the last read.

use std::collections::{BTreeMap, BTreeSet};

use super::explain::{Event, Story, What};
use super::tree::*;
use crate::lines::Lines;
use crate::text::Edits;

const HEAD: &str = "// To be read, not to be run. `using x` holds x until a note says that it ends, or else until its function does.\n";

/// Prints `source` with the names of slots and temporaries.
pub(crate) fn print(source: &str, tree: &Tree, story: &Story) -> String {
    let mut printer = Printer {
        source,
        tree,
        story,
        lines: Lines::new(source),
        edits: Edits::default(),
        notes: BTreeMap::new(),
        said: BTreeSet::new(),
        heads: BTreeSet::new(),
        named: vec![],
        names: BTreeMap::new(),
        prefix: prefix(source),
    };
    for unit in tree.units.iter().filter(|u| u.left_alone.is_none() && !u.expression_body) {
        printer.list(&unit.body);
    }
    printer.tell();
    printer.finish()
}

/// The same of a file in which nothing is counted.
pub(crate) fn plain(source: &str, story: &Story) -> String {
    let reasons: Vec<&str> = story.fates.iter().filter_map(|f| f.reason.as_deref()).collect();
    format!("// Nothing in it is counted: {}.\n{source}", reasons.join(", "))
}

/// What names of temporaries begin with: no name of the program.
fn prefix(source: &str) -> &'static str {
    let free = |p: &&str| {
        !source
            .match_indices(p)
            .any(|(at, _)| source[at + p.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    ["t", "temp", "$t"].into_iter().find(free).unwrap_or("$temp")
}

/// A line of the source, or that of a temporary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Line(u32),
    Named(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Event(What),
    Why(String),
}

struct Printer<'s> {
    source: &'s str,
    tree: &'s Tree,
    story: &'s Story,
    lines: Lines<'s>,
    edits: Edits,
    /// What is said where, and of whom.
    notes: BTreeMap<Place, BTreeMap<Note, BTreeSet<String>>>,
    /// Ends of loops, and variables of their heads.
    heads: BTreeSet<(u32, u32)>,
    /// Where `using` says by itself that a variable is held: its name, and the place.
    said: BTreeSet<(u32, Place)>,
    /// Temporaries with a line of their own: where, and the line that this is in.
    named: Vec<(Span, usize)>,
    /// Names of temporaries, by fate.
    names: BTreeMap<usize, String>,
    prefix: &'static str,
}

impl<'s> Printer<'s> {
    fn list(&mut self, list: &'s [Stmt]) {
        for s in list {
            match &s.kind {
                StmtKind::Declare(all) => {
                    let vars: Vec<Sym> = all.iter().flat_map(|d| bound(&d.target)).collect();
                    self.keyword(s.span.start, s.span.end, &vars);
                    if let [Declarator { init: Some(e), .. }] = all.as_slice() {
                        self.temporaries(s, e, false);
                    }
                }
                StmtKind::Expr(e) => self.temporaries(s, e, false),
                StmtKind::Return(Some(e)) | StmtKind::Throw(e) => self.temporaries(s, e, true),
                _ => {}
            }
            self.inside(s);
        }
    }

    fn inside(&mut self, s: &'s Stmt) {
        match &s.kind {
            StmtKind::Block(list) => return self.list(list),
            StmtKind::Switch(_, cases) => return cases.iter().for_each(|c| self.list(&c.body)),
            StmtKind::Try { block, handler, finalizer } => {
                self.list(block);
                handler.iter().for_each(|h| self.list(&h.body));
                return finalizer.iter().for_each(|f| self.list(f));
            }
            StmtKind::ForEach { target, right, .. } => {
                let vars = bound(target).into_iter().map(|sym| self.tree.vars[sym].at);
                self.heads.extend(vars.map(|at| (s.span.end, at)));
                self.keyword(s.span.start, right.span.start, &bound(target));
            }
            _ => {}
        }
        crate::own::modes::each_child(s, &mut |c| self.inside(c));
    }

    /// `const`, `let` or `var` becomes `using` if all that it declares is held.
    fn keyword(&mut self, start: u32, end: u32, vars: &[Sym]) {
        let held = |&sym: &Sym| matches!(self.tree.vars[sym].mode, Mode::Slot { .. });
        if vars.is_empty() || !vars.iter().all(held) {
            return;
        }
        let text = &self.source[start as usize..end as usize];
        let found = ["const", "let", "var"].iter().filter_map(|k| Some((text.find(k)?, k.len())));
        if let Some((at, len)) = found.min() {
            let at = start + at as u32;
            self.edits.replace(at, at + len as u32, "using");
            for &sym in vars {
                let at = self.tree.vars[sym].at;
                // The head of a loop, or the end of a declaration.
                for line in [at, end] {
                    self.said.insert((at, Place::Line(self.lines.position(line).0)));
                }
            }
        }
    }

    /// Gives temporaries of a statement lines of their own, up to the first that may not be
    /// evaluated, or not first. `whole`: the value of the statement can be one.
    fn temporaries(&mut self, s: &'s Stmt, e: &'s Expr, whole: bool) {
        let mut always = vec![];
        surely(e, &mut always);
        let within = |at: Span| s.span.holds(at) && (whole || at != e.span);
        let fates = self.story.fates.iter().enumerate();
        let mut found: Vec<(usize, Span)> =
            fates.filter_map(|(i, f)| Some((i, f.span?))).filter(|(_, at)| within(*at)).collect();
        // As they are evaluated.
        found.sort_by_key(|(_, at)| (at.end, std::cmp::Reverse(at.start)));
        let mut text = String::new();
        let indent = self.indent(s.span.start);
        for (fate, at) in found {
            let one_line = !self.source[at.start as usize..at.end as usize].contains('\n');
            if !always.contains(&at) || !one_line {
                break;
            }
            let name = format!("{}{}", self.prefix, self.names.len() + 1);
            let value = self.with_names(at);
            self.names.insert(fate, name.clone());
            self.named.push((at, fate));
            let notes = format!("\u{0}{fate}\u{0}");
            match &indent {
                Some(indent) => text.push_str(&format!("using {name} = {value};{notes}\n{indent}")),
                None => text.push_str(&format!("using {name} = {value}; ")),
            }
        }
        if !text.is_empty() {
            self.edits.insert(s.span.start, i32::MIN, text, s.span.start);
            for (at, name) in self.outermost(s.span) {
                self.edits.replace(at.start, at.end, name);
            }
        }
    }

    /// What stands before a statement that begins its line.
    fn indent(&self, at: u32) -> Option<String> {
        let before = &self.source[..at as usize];
        let line = before.rsplit(crate::lines::is_line_end).next().unwrap_or_default();
        line.chars().all(char::is_whitespace).then(|| line.to_owned())
    }

    /// Named temporaries directly inside a span, in order.
    fn outermost(&self, inside: Span) -> Vec<(Span, String)> {
        let named: Vec<_> =
            self.named.iter().filter(|(at, _)| inside.holds(*at) && *at != inside).collect();
        let outer = named
            .iter()
            .filter(|(at, _)| !named.iter().any(|(other, _)| other.holds(*at) && other != at));
        let mut all: Vec<_> =
            outer.filter_map(|(at, fate)| Some((*at, self.names.get(fate)?.clone()))).collect();
        all.sort_by_key(|(at, _)| at.start);
        all
    }

    /// Source text in which named temporaries are names.
    fn with_names(&self, at: Span) -> String {
        let (mut out, mut from) = (String::new(), at.start as usize);
        for (inner, name) in self.outermost(at) {
            out.push_str(&self.source[from..inner.start as usize]);
            out.push_str(&name);
            from = inner.end as usize;
        }
        out + &self.source[from..at.end as usize]
    }

    /// Notes on all that happens, on the lines of temporaries or on those of the source.
    fn tell(&mut self) {
        for fate in &self.story.fates {
            if let Some(reason) = &fate.reason {
                let place = Place::Line(self.lines.position(fate.at).0);
                self.note(place, Note::Why(reason.clone()), fate.name.clone());
            }
        }
        let mut ended = BTreeMap::new();
        for event in &self.story.events {
            if self.repeats(event, &mut ended) {
                continue;
            }
            let name = match event.fate {
                Some(fate) => self.names.get(&fate).unwrap_or(&event.name).clone(),
                None => event.name.clone(),
            };
            let around =
                self.named.iter().filter(|(at, _)| at.start < event.at && event.at <= at.end);
            let place = match around.min_by_key(|(at, _)| at.len()) {
                Some(&(_, fate)) => Place::Named(fate),
                None => Place::Line(self.lines.position(event.at).0),
            };
            let said = event.fate.is_some_and(|f| self.names.contains_key(&f))
                || event.fate.is_some_and(|f| self.said.contains(&(self.story.fates[f].at, place)));
            if event.what != What::Using || !said {
                self.note(place, Note::Event(event.what), name);
            }
        }
    }

    /// An end of what has ended already, unless its statement was left before.
    fn repeats(&self, event: &Event, ended: &mut BTreeMap<usize, u32>) -> bool {
        let Some(fate) = event.fate else { return false };
        match event.what {
            What::Drop => {}
            What::Using => {
                ended.remove(&fate);
                return false;
            }
            _ => return false,
        }
        let line = self.lines.position(event.at).0;
        let before = ended.insert(fate, line);
        before == Some(line)
            || before.is_some() && self.heads.contains(&(event.at, self.story.fates[fate].at))
    }

    fn note(&mut self, place: Place, note: Note, name: String) {
        self.notes.entry(place).or_default().entry(note).or_default().insert(name);
    }

    fn notes_at(&self, place: Place) -> String {
        let Some(notes) = self.notes.get(&place) else { return String::new() };
        let texts: Vec<String> = notes.iter().map(|(note, names)| say(note, names)).collect();
        format!("  // {}", texts.join("; "))
    }

    fn finish(mut self) -> String {
        for number in 0..self.lines.len() {
            let notes = self.notes_at(Place::Line(number));
            let Some(line) = self.lines.line(number).filter(|_| !notes.is_empty()) else {
                continue;
            };
            let end = self.lines.offset(number, u32::MAX);
            let _ = line;
            self.edits.insert(end, i32::MAX, notes, end);
        }
        let edits = std::mem::take(&mut self.edits);
        let code = edits.apply(self.source).code;
        let mut out = HEAD.to_owned();
        for (i, part) in code.split('\0').enumerate() {
            match part.parse().ok().filter(|_| i % 2 == 1) {
                Some(fate) => out.push_str(&self.notes_at(Place::Named(fate))),
                None => out.push_str(part),
            }
        }
        out
    }
}

fn say(note: &Note, names: &BTreeSet<String>) -> String {
    let list = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let are = if names.len() == 1 { "is" } else { "are" };
    match note {
        Note::Event(What::Drop) if names.len() == 1 => format!("{list} ends"),
        Note::Event(What::Drop) => format!("{list} end"),
        Note::Event(What::Donate) => "memory may be used again".to_owned(),
        Note::Event(What::Give) => format!("{list} {are} handed on"),
        Note::Event(What::Using) => format!("{list} {are} held"),
        Note::Event(What::Share) => format!("{list} {are} the collector's from here"),
        Note::Why(reason) => format!("{list}: {reason}"),
    }
}

/// Variables that a target declares.
fn bound(target: &Target) -> Vec<Sym> {
    match target {
        Target::Var(sym, _) => vec![*sym],
        Target::Pattern(pattern) => pattern.vars.clone(),
        _ => vec![],
    }
}

/// Spans of what is evaluated once whenever `e` is.
fn surely(e: &Expr, into: &mut Vec<Span>) {
    into.push(e.span);
    match &e.kind {
        Kind::Conditional(parts) => surely(&parts[0], into),
        Kind::Logical(_, parts) => surely(&parts[0], into),
        Kind::Chain(_) | Kind::Optional(_) | Kind::Yield(_) | Kind::Class(_) => {}
        Kind::Assign(a) if a.op != AssignOp::Simple => {}
        _ => e.children(&mut |c| surely(c, into)),
    }
}
