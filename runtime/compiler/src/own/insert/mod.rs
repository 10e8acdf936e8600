//! Puts counting into the program, as edits of its text.
//!
//! The only stage that edits. Each expression is emitted in one of six ways, by what happens to
//! its value: ignored (`effect`), looked at (`value`), used as an operand (`held`), kept in a
//! slot (`own_into`), stored where nobody counts (`share`), returned (`give`). Subexpressions stay
//! in place and in order, so evaluation order, positions and texts of the user's code survive.

use std::collections::BTreeSet;

mod calls;
mod chains;
mod constructs;
mod loops;
mod patterns;
mod spreads;
mod statements;
mod stores;
mod units;
mod values;

use super::escape::Escape;
use super::hash::NumberMap;
use super::liveness::{self, Liveness};
use super::names::Names;
use super::sets::Set;
use super::tree::*;
use crate::text::Edits;

/// Text that ends a function which follows the protocol; the runtime half looks for it.
pub(crate) const MARK: &str = "/*$own*/";
/// The same, of an asynchronous function that takes a token when it is entered.
pub(crate) const TOKEN_MARK: &str = "/*$own!*/";
/// The same, of a class that hands the arguments of `new` on to its parent.
pub(crate) const FORWARD_MARK: &str = "/*$own^*/";
/// The same, of a generator that takes a token whenever it is resumed.
pub(crate) const GENERATOR_MARK: &str = "/*$own~*/";

/// The beginning of the same, of a function whose callers look at what its parameters' pattern reads.
pub(crate) const LOOK_MARK: &str = "/*$own?";

/// What was emitted for one function: its edits, by their place in the list, and temporaries.
pub(crate) struct Log {
    pub first: usize,
    pub last: usize,
    pub temps: Vec<(String, Span)>,
}

/// Edits that put counting into `source`.
pub(crate) fn insert(
    source: &str,
    tree: &Tree,
    names: &Names,
    escape: &Escape,
) -> (Edits, Vec<Log>) {
    let mut edits = Edits::default();
    let mut log = vec![];
    let mut seq = 0;
    let index = Index::new(tree);
    let around = classes_around(tree);
    let outermost = |unit: UnitId| around[unit].map(|(outermost, _)| outermost);
    let private = private_counts(source, tree, &outermost);
    let mut assigned = Set::default();
    for (sym, _) in tree.vars.iter().enumerate().filter(|(_, v)| v.assigned > 0) {
        assigned.insert(sym);
    }
    for (id, unit) in tree.units.iter().enumerate() {
        if unit.left_alone.is_some() {
            continue;
        }
        let slotted = |sym: Sym| {
            tree.vars[sym].unit == id && matches!(tree.vars[sym].mode, Mode::Slot { .. })
        };
        let live = liveness::analyse(unit, &slotted);
        let first = edits.len();
        let mut inserter = Inserter {
            temp_spans: vec![],
            source,
            tree,
            index: &index,
            names,
            escape,
            unit,
            id,
            live,
            edits: &mut edits,
            seq: &mut seq,
            pending: vec![],
            busy: vec![],
            unstable: Set::default(),
            assigned: &assigned,
            slots: BTreeSet::new(),
            cells: BTreeSet::new(),
            binds: String::new(),
            steps: None,
            tickets: vec![],
            ticket: None,
            driving: None,
            drives: None,
            counts_private: outermost(id).is_some_and(|class| private[class]),
            callee: None,
            overridden: vec![],
            drivers: vec![],
            regiven: vec![],
            promises: NumberMap::default(),
            links: NumberMap::default(),
            receivers: NumberMap::default(),
            reserved: vec![],
            free: vec![],
            temps: 0,
            raws_in_use: 0,
            raws: 0,
        };
        inserter.unit();
        let temps = inserter.temp_spans;
        log.push(Log { first, last: edits.len(), temps });
    }
    classes(tree, names, &mut edits);
    (edits, log)
}

/// By outermost class: every function that can name a private field of those inside is compiled.
fn private_counts(
    source: &str,
    tree: &Tree,
    outermost: &dyn Fn(UnitId) -> Option<usize>,
) -> Vec<bool> {
    let mut counts = vec![true; tree.classes.len()];
    let names = |s: Span| {
        source.get(s.start as usize..s.end as usize).is_none_or(|text| text.contains('#'))
    };
    for (id, unit) in tree.units.iter().enumerate().filter(|(_, u)| u.left_alone.is_some()) {
        if let Some(class) = outermost(id)
            && counts[class]
            && (unit.kind == UnitKind::Field || names(unit.span))
        {
            counts[class] = false;
        }
    }
    counts
}

/// Marks classes whose instances are counted, and gives base classes a constructor that says so.
fn classes(tree: &Tree, names: &Names, edits: &mut Edits) {
    for class in tree.classes.iter().filter(|c| tree.is_counting(c)) {
        let Span { start, end } = class.inner;
        if class.base && class.constructor.is_none() {
            let own = &names.runtime;
            let hold = match tree.keeps_instance(class) {
                true => format!("{own}.hold(this);"),
                false => String::new(),
            };
            let text = format!("constructor(){{{own}.made(this, new.target);{hold}{MARK}}}");
            edits.insert(start + 1, i32::MIN, text, start);
        }
        let forwards = !class.base && class.constructor.is_none();
        edits.insert(end - 1, i32::MAX, if forwards { FORWARD_MARK } else { MARK }, start);
    }
}

/// Where an owned value goes.
#[derive(Clone, Debug)]
struct Slot {
    name: String,
    /// Known to be empty before.
    fresh: bool,
}

/// How a consumer can name an operand, and whether it may be managed and unshared.
#[derive(Clone, Debug, Default)]
struct Operand {
    text: Option<String>,
    check: bool,
    /// The slot that holds it.
    slot: Option<String>,
}

/// A point in emission: what is pending or in use since then belongs to one consumer.
#[derive(Clone, Copy, Debug)]
struct Mark {
    pending: usize,
    busy: usize,
}

/// What happens to a call's result.
#[derive(Clone, Debug)]
enum Result_ {
    Ignored,
    Looked,
    Shared,
    Given,
    /// Claimed, and never given up.
    Kept,
    /// A promise that only the `await` around sees.
    Awaited,
    Into(Slot),
}

struct Inserter<'t> {
    /// Temporaries in the order of emission, and what they hold.
    temp_spans: Vec<(String, Span)>,
    source: &'t str,
    tree: &'t Tree,
    index: &'t Index,
    names: &'t Names,
    escape: &'t Escape,
    unit: &'t Unit,
    id: UnitId,
    live: Liveness,
    edits: &'t mut Edits,
    /// Orders insertions at one place: outer nodes take lower numbers.
    seq: &'t mut i32,
    /// Slots to be dropped once their consumer has returned.
    pending: Vec<String>,
    /// Slots of variables that consumers in progress use as operands.
    busy: Vec<String>,
    /// Variables that the present expression assigns while it may still use old values.
    unstable: Set,
    /// Variables of the whole file that are assigned.
    assigned: &'t Set,
    slots: BTreeSet<String>,
    cells: BTreeSet<String>,
    /// Statements that retain what a pattern has bound.
    binds: String,
    /// What steps through a generator for the present pattern.
    steps: Option<String>,
    /// Tokens of the calls in progress, innermost last.
    tickets: Vec<Option<String>>,
    /// The token for the next call.
    ticket: Option<String>,
    /// The next call makes what a loop runs over: what is asked about a callee without operands.
    driving: Option<&'static str>,
    /// The present call makes what a loop runs over.
    drives: Option<&'static str>,
    /// Private fields are seen by code that counts only.
    counts_private: bool,
    /// The function that the last call called.
    callee: Option<String>,
    /// Variables that hold what a `return` inside `try` gave, until `finally` has its way.
    overridden: Vec<String>,
    drivers: Vec<String>,
    /// Of those, the ones whose count goes to the caller after all.
    regiven: Vec<String>,
    /// Tokens of variables that hold promises.
    promises: NumberMap<Sym, String>,
    /// What the rest of an optional chain starts from, by the offset of its dot.
    links: NumberMap<u32, Operand>,
    /// Receivers of methods that are called after such a dot.
    receivers: NumberMap<u32, Operand>,
    /// Temporaries of loops around the present statement.
    reserved: Vec<String>,
    free: Vec<usize>,
    temps: usize,
    raws_in_use: usize,
    raws: usize,
}

// Ranks of insertions at one offset: ends of nodes, ends of statements, starts of nodes.
const POST: i32 = -1_500_000_000;
const AFTER: i32 = -1_200_000_000;
const PRE: i32 = -1_000_000_000;

impl<'t> Inserter<'t> {
    fn next(&mut self) -> i32 {
        *self.seq += 1;
        *self.seq
    }

    fn wrap(&mut self, n: i32, span: Span, pre: &str, post: &str) {
        if !pre.is_empty() {
            self.edits.insert(span.start, PRE + n, pre, span.start);
        }
        if !post.is_empty() {
            self.edits.insert(span.end, POST - n, post, span.start);
        }
    }

    /// `wrap` of text that the stack of a user's function, or of an error, goes through.
    fn wrap_call(&mut self, n: i32, span: Span, pre: &str, post: &str, call: &Call) {
        self.wrap_from(n, span, pre, post, position(call));
    }

    fn wrap_from(&mut self, n: i32, span: Span, pre: &str, post: &str, origin: u32) {
        self.edits.insert(span.start, PRE + n, pre, origin);
        if !post.is_empty() {
            self.edits.insert(span.end, POST - n, post, origin);
        }
    }

    /// A read behind a call is where its dot is, whatever stands before that now.
    fn behind(&mut self, m: &Member) {
        if let Some(name) = m.behind {
            let text = &self.source[name.start as usize..name.end as usize];
            self.edits.replace_from(name.start, name.end, text, m.at);
        }
    }

    fn own(&self, operation: &str) -> String {
        [&self.names.runtime, ".", operation].concat()
    }

    fn temp(&mut self) -> Slot {
        let n = self.free.pop().unwrap_or_else(|| {
            self.temps += 1;
            self.temps
        });
        let name = self.names.temp(n);
        self.slots.insert(name.clone());
        self.pending.push(name.clone());
        Slot { name, fresh: true }
    }

    fn raw(&mut self) -> String {
        self.raws_in_use += 1;
        self.raws = self.raws.max(self.raws_in_use);
        self.names.raw(self.raws_in_use)
    }

    fn var(&self, sym: Sym) -> &'t Var {
        &self.tree.vars[sym]
    }

    /// The slot beside a variable of this unit, or of an outer unit for cells.
    fn slot_of(&mut self, sym: Sym) -> String {
        let name = self.names.slot(sym);
        if self.var(sym).unit == self.id {
            match self.var(sym).mode {
                Mode::Cell => self.cells.insert(name.clone()),
                _ => self.slots.insert(name.clone()),
            };
        }
        name
    }

    fn is_slot(&self, sym: Sym) -> bool {
        self.var(sym).unit == self.id && matches!(self.var(sym).mode, Mode::Slot { .. })
    }

    fn drops(&self, slots: &[String]) -> String {
        let drop = self.own("drop");
        slots.iter().map(|s| format!(", {s} = {drop}({s})")).collect()
    }

    /// Drops of what became pending since `mark`, once the value is in `slot`. The slot's own
    /// old value was given up when the new one came.
    fn flush(&mut self, mark: Mark, slot: &Slot) -> String {
        let mut done = self.pending.split_off(mark.pending);
        done.retain(|s| *s != slot.name && !s.is_empty());
        self.busy.truncate(mark.busy);
        // A consumer further out still uses these as operands.
        let (later, now): (Vec<_>, Vec<_>) = done.into_iter().partition(|s| self.busy.contains(s));
        self.pending.extend(later);
        self.drops(&now)
    }

    fn mark(&self) -> Mark {
        Mark { pending: self.pending.len(), busy: self.busy.len() }
    }
}

/// The accessor that a member read may run: one of tensors that makes a new handle, or one of the file.
fn view_of(m: &Member) -> Option<&str> {
    let name = m.name.as_deref()?;
    let known = m.getter && !name.starts_with('#') || matches!(name, "T" | "grad");
    (known && !m.is_super && !m.optional).then_some(name)
}

/// A function or class, perhaps in parentheses: an assignment would name it.
fn is_definition(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => is_definition(inner),
        Kind::Function(_) | Kind::Class(_) => true,
        _ => false,
    }
}

/// Text that keeps an assignment from naming a function.
fn guarded(e: &Expr) -> (&'static str, &'static str) {
    if is_definition(e) { ("(0, ", ")") } else { ("", "") }
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where V8 says that a call is: at the name that it ends in, else at the parenthesis.
fn position(call: &Call) -> u32 {
    let Span { start, end } = call.callee.span;
    match &call.callee.kind {
        Kind::Read(_) | Kind::Global => start,
        Kind::Member(m) => match &m.name {
            Some(name) if !name.starts_with('#') => end - name.len() as u32,
            _ => call.open,
        },
        _ => call.open,
    }
}
