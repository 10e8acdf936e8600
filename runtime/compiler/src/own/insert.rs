//! Puts counting into the program, as edits of its text.
//!
//! The only stage that edits. Each expression is emitted in one of six ways, by what happens to
//! its value: ignored (`effect`), looked at (`value`), used as an operand (`held`), kept in a
//! slot (`own_into`), stored where nobody counts (`share`), returned (`give`). Subexpressions stay
//! in place and in order, so evaluation order, positions and texts of the user's code survive.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::escape::Escape;
use super::liveness::{self, Liveness};
use super::modes::direct_call;
use super::names::Names;
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
            names,
            escape,
            unit,
            id,
            live,
            edits: &mut edits,
            seq: &mut seq,
            pending: vec![],
            busy: vec![],
            unstable: HashSet::new(),
            slots: BTreeSet::new(),
            cells: BTreeSet::new(),
            binds: String::new(),
            tickets: vec![],
            ticket: None,
            driving: false,
            drives: false,
            counts_private: counts_private(source, tree, unit),
            callee: None,
            overridden: vec![],
            drivers: vec![],
            regiven: vec![],
            promises: HashMap::new(),
            reserved: vec![],
            free: vec![],
            temps: 0,
            raw_free: vec![],
            raws: 0,
        };
        inserter.unit();
        let temps = inserter.temp_spans;
        log.push(Log { first, last: edits.len(), temps });
    }
    classes(tree, names, &mut edits);
    (edits, log)
}

/// Every function that can name a private field which `unit` can name is compiled.
fn counts_private(source: &str, tree: &Tree, unit: &Unit) -> bool {
    let around = tree.classes.iter().map(|c| c.inner).filter(|c| c.holds(unit.span));
    let Some(outermost) = around.max_by_key(|c| c.len()) else { return false };
    let names = |s: Span| {
        source.get(s.start as usize..s.end as usize).is_none_or(|text| text.contains('#'))
    };
    let inside = |u: &&Unit| u.left_alone.is_some() && outermost.holds(u.span);
    !tree.units.iter().filter(inside).any(|u| u.kind == UnitKind::Field || names(u.span))
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
    unstable: HashSet<Sym>,
    slots: BTreeSet<String>,
    cells: BTreeSet<String>,
    /// Statements that retain what a pattern has bound.
    binds: String,
    /// Tokens of the calls in progress, innermost last.
    tickets: Vec<Option<String>>,
    /// The token for the next call.
    ticket: Option<String>,
    /// The next call makes what a loop runs over.
    driving: bool,
    /// The present call makes what a loop runs over.
    drives: bool,
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
    promises: HashMap<Sym, String>,
    /// Temporaries of loops around the present statement.
    reserved: Vec<String>,
    free: Vec<usize>,
    temps: usize,
    raw_free: Vec<usize>,
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

    fn own(&self, operation: &str) -> String {
        format!("{}.{operation}", self.names.runtime)
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
        let n = self.raw_free.pop().unwrap_or_else(|| {
            self.raws += 1;
            self.raws
        });
        self.names.raw(n)
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

    // Units.

    fn unit(&mut self) {
        let whole = self.next();
        for (sym, var) in self.tree.vars.iter().enumerate() {
            if var.unit == self.id && var.mode == Mode::Cell {
                self.slot_of(sym);
            }
        }
        self.statements(&self.unit.body);
        if matches!(self.unit.kind, UnitKind::Field | UnitKind::Default) {
            return self.part(whole);
        }
        let entry = self.entry();
        if self.unit.kind == UnitKind::Program {
            self.program_slots();
            return;
        }
        let own = self.own("drop");
        let declared: Vec<String> = self.declared();
        let mut open = String::new();
        if !declared.is_empty() {
            open = format!("let {};", declared.join(", "));
        }
        if self.tree.vars.iter().any(|v| v.unit == self.id && v.lent) {
            open.push_str(&format!("let {}=false;", self.names.escaped()));
        }
        open.push_str(&entry);
        if let Some(take) = self.token_source() {
            open.insert_str(0, &format!("let {}={}();", self.names.token(), self.own(take)));
        }
        let mut close = String::new();
        let cells: Vec<String> = (0..self.tree.vars.len())
            .filter(|&s| self.var(s).unit == self.id && self.var(s).lent)
            .map(|s| self.names.slot(s))
            .collect();
        if !self.slots.is_empty() || !cells.is_empty() || !self.regiven.is_empty() {
            let mut drops: String = self.slots.iter().map(|s| format!("{own}({s});")).collect();
            let escaped = self.names.escaped();
            drops.extend(cells.iter().map(|s| format!("{escaped}||{own}({s});")));
            // Other code may have run since the value was given.
            let again = self.own("again");
            drops.extend(self.regiven.iter().map(|s| format!("{again}({s});")));
            open.push_str("try{");
            close = format!("}}finally{{{drops}}}");
        }
        close.push_str(match self.token_source() {
            Some("enter") => TOKEN_MARK,
            Some(_) => GENERATOR_MARK,
            None if self.unit.is_generator => "",
            None => MARK,
        });
        let Span { start, end } = self.unit.inner;
        if self.unit.expression_body {
            let (before, after) = (PRE + whole, POST - whole);
            if open.is_empty() {
                self.edits.insert(start, before, "(", start);
                self.edits.insert(end, after, format!("{close})"), start);
            } else {
                self.edits.insert(start, before, format!("{{{open}return "), start);
                self.edits.insert(end, after, format!("{close}}}"), start);
            }
            return;
        }
        if self.source.as_bytes().get(start as usize - 1) != Some(&b'{') && !open.is_empty() {
            open.insert(0, ';');
        }
        if !open.is_empty() {
            self.edits.insert(start, i32::MIN, open, start);
        }
        if !close.is_empty() {
            let newline = self.ends_in_line_comment(start, end);
            self.edits.insert(
                end,
                i32::MAX,
                format!("{}{close}", if newline { "\n" } else { "" }),
                start,
            );
        }
    }

    /// Nothing of the program runs between a call of this function and its body.
    fn takes_token(&self) -> bool {
        self.unit.is_async && !self.unit.is_generator && !self.unit.complex_params
    }

    /// Where the token of an activation comes from.
    fn token_source(&self) -> Option<&'static str> {
        match self.unit.is_generator {
            true => (!self.unit.delegates).then_some("resume"),
            false => self.takes_token().then_some("enter"),
        }
    }

    /// A field's initialiser or a parameter's default: its value brings a count, which goes to
    /// the place. One that needs slots becomes a function.
    fn part(&mut self, whole: i32) {
        let Some(Stmt { kind: StmtKind::Return(Some(e)), .. }) = self.unit.body.first() else {
            return;
        };
        let declared = self.declared();
        let (mut open, mut close) = (String::new(), String::new());
        if !declared.is_empty() {
            let own = self.own("drop");
            let drops: String = self.slots.iter().map(|s| format!("{own}({s});")).collect();
            open = format!("(() => {{let {};", declared.join(", "));
            let body = if drops.is_empty() { "return " } else { "try{return " };
            open.push_str(body);
            close = if drops.is_empty() { String::new() } else { format!("}}finally{{{drops}}}") };
            close.push_str(&format!("{MARK}}})()"));
        }
        if !e.is_plain(&self.tree.vars) && !is_definition(e) {
            let alone = self.unit.binds.is_some_and(|sym| !self.var(sym).captured);
            let take = if alone { "dflt" } else { "field" };
            open.insert_str(0, &format!("{}(", self.own(take)));
            close.push(')');
        } else if self.unit.kind == UnitKind::Field && !e.is_bare(&self.tree.vars) {
            open.insert_str(0, &format!("{}(", self.own("hold")));
            close.push(')');
        }
        self.wrap(whole, self.unit.inner, &open, &close);
    }

    fn ends_in_line_comment(&self, start: u32, end: u32) -> bool {
        let body = &self.source[start as usize..end as usize];
        body.rsplit(crate::lines::is_line_end).next().is_some_and(|l| l.contains("//"))
    }

    fn declared(&self) -> Vec<String> {
        let raws = (1..=self.raws).map(|n| self.names.raw(n));
        let slots = self.slots.iter().chain(&self.cells).chain(&self.drivers);
        slots.cloned().chain(raws).collect()
    }

    /// Statements that take over or share parameters.
    fn entry(&mut self) -> String {
        let mut text = String::new();
        for &sym in &self.unit.params {
            if matches!(
                self.var(sym).mode,
                Mode::Slot { entry: true }
                    | Mode::Lent { entry: true }
                    | Mode::Kept { entry: true }
                    | Mode::Shared { entry: true }
            ) {
                text.push_str(&self.bind(sym, true));
            }
        }
        if self.unit.counts_instance {
            text.push_str(&format!("{}(this, new.target);", self.own("made")));
            if self.unit.keeps_instance {
                text.push_str(&format!("{}(this);", self.own("hold")));
            }
        }
        if self.unit.uses_arguments {
            text.push_str(&format!("{}(arguments);", self.own("shareAll")));
        }
        let hold = self.own("hold");
        let outlives = self.unit.this_captured || self.unit.is_async;
        if outlives && self.unit.kind == UnitKind::Function && !self.unit.is_constructor {
            text.push_str(&format!("{hold}(this);"));
        }
        text
    }

    /// A statement that retains what a pattern or the caller has put into a variable.
    fn bind(&mut self, sym: Sym, fresh: bool) -> String {
        let var = self.var(sym);
        let take = self.own(match var.rest {
            true => "lit",
            false if var.defaulted && !var.captured => "arg",
            false => "hold",
        });
        let name = &var.name;
        match var.mode {
            Mode::Slot { .. } | Mode::Cell | Mode::Lent { .. } => {
                let slot = self.slot_of(sym);
                if fresh {
                    format!("{slot} = {take}({name});")
                } else {
                    format!("{slot} = {}({take}({name}), {slot});", self.own("put"))
                }
            }
            Mode::Kept { .. } => format!("{take}({name});"),
            Mode::Shared { .. } if var.rest => format!("{}({take}({name}));", self.own("share")),
            Mode::Shared { .. } => format!("{}({name});", self.own("share")),
            Mode::Plain | Mode::Borrowed => String::new(),
        }
    }

    fn program_slots(&mut self) {
        let declared = self.declared();
        if declared.is_empty() {
            return;
        }
        // Hoisted functions may run before the module's body does.
        let at = self.unit.inner.start;
        self.edits.insert(at, i32::MIN, format!("var {};", declared.join(", ")), at);
    }

    // Statements.

    fn statements(&mut self, list: &'t [Stmt]) {
        for s in list {
            let flush = self.statement(s);
            self.after(s, flush);
        }
    }

    /// Drops after a statement: temporaries, and variables that are not needed any more.
    fn after(&mut self, s: &Stmt, flush: Vec<String>) {
        let binds = std::mem::take(&mut self.binds);
        if ends_abruptly(s) {
            return;
        }
        let mut dead: Vec<String> = flush;
        let needed = self.live.after.get(&liveness::key(s)).cloned().unwrap_or_default();
        let mut mentioned = BTreeSet::new();
        self.mentions(s, &mut mentioned);
        for sym in mentioned {
            if !needed.contains(&sym) {
                let slot = self.slot_of(sym);
                if !dead.contains(&slot) {
                    dead.push(slot);
                }
            }
        }
        if dead.is_empty() && binds.is_empty() {
            return;
        }
        let drop = self.own("drop");
        let mut text = binds;
        text.extend(dead.iter().map(|s| format!("{s} = {drop}({s});")));
        if !self.source[..s.span.end as usize].ends_with([';', '}']) || needs_semicolon(s) {
            text.insert(0, ';');
        }
        self.edits.insert(s.span.end, AFTER, text, s.span.start);
    }

    fn mentions(&self, s: &Stmt, into: &mut BTreeSet<Sym>) {
        super::modes::each_expr(s, &mut |e, _| self.mentions_in(e, into));
        super::modes::each_declarator(s, &mut |d| {
            let vars = match &d.target {
                Target::Var(sym, _) => std::slice::from_ref(sym),
                Target::Pattern(pattern) => &pattern.vars,
                _ => &[],
            };
            into.extend(vars.iter().filter(|&&sym| self.is_slot(sym)));
        });
        self.heads(s, into);
    }

    /// Variables of loop heads.
    fn heads(&self, s: &Stmt, into: &mut BTreeSet<Sym>) {
        if let StmtKind::ForEach { target: Target::Pattern(pattern), .. } = &s.kind {
            into.extend(pattern.vars.iter().filter(|&&sym| self.is_slot(sym)));
        }
        super::modes::each_child(s, &mut |c| self.heads(c, into));
    }

    fn mentions_in(&self, e: &Expr, into: &mut BTreeSet<Sym>) {
        match &e.kind {
            Kind::Read(sym) if self.is_slot(*sym) => {
                into.insert(*sym);
            }
            Kind::Assign(a) => {
                let vars = match &a.target {
                    Target::Var(sym, _) => std::slice::from_ref(sym),
                    Target::Pattern(pattern) => &pattern.vars,
                    _ => &[],
                };
                into.extend(vars.iter().filter(|&&sym| self.is_slot(sym)));
            }
            _ => {}
        }
        e.children(&mut |c| self.mentions_in(c, into));
    }

    /// Emits a statement. Gives slots to drop right after it.
    fn statement(&mut self, s: &'t Stmt) -> Vec<String> {
        match &s.kind {
            StmtKind::Nothing
            | StmtKind::Unsupported(_)
            | StmtKind::Break(_)
            | StmtKind::Continue(_)
            | StmtKind::Return(None) => {}
            StmtKind::Expr(e) => return self.top(e, |i, e| i.effect(e)),
            StmtKind::Declare(list) => {
                let mut flush = vec![];
                for d in list {
                    let done = self.declarator(d);
                    // They are dropped after the statement: the next declarator needs others.
                    self.free.retain(|&n| !done.contains(&self.names.temp(n)));
                    flush.extend(done);
                }
                self.release(&flush);
                return flush;
            }
            StmtKind::Block(list) => self.statements(list),
            StmtKind::If(test, a, b) => {
                self.flushed(test, |i, e| i.value(e));
                self.nested(a, "");
                if let Some(b) = b {
                    self.nested(b, "");
                }
            }
            StmtKind::For { init, test, update, body } => {
                if let Some(init) = init {
                    match &init.kind {
                        StmtKind::Expr(e) => self.flushed(e, |i, e| i.effect(e)),
                        StmtKind::Declare(list) => {
                            for d in list {
                                self.for_declarator(d);
                            }
                        }
                        _ => {}
                    }
                }
                if let Some(test) = test {
                    self.flushed(test, |i, e| i.value(e));
                }
                if let Some(update) = update {
                    self.flushed(update, |i, e| i.effect(e));
                }
                self.nested(body, "");
            }
            StmtKind::ForEach { target, right, body, over: Over::Values } => {
                return self.for_of(target, right, body, false);
            }
            StmtKind::ForEach { target, right, body, over: Over::Awaited } => {
                return self.for_of(target, right, body, true);
            }
            StmtKind::ForEach { target, right, body, over: Over::Keys } => {
                self.flushed(right, |i, e| i.value(e));
                self.pattern_exprs(target);
                self.nested(body, "");
            }
            StmtKind::ForEach { target, right, body, .. } => {
                self.flushed(right, |i, e| i.share(e));
                self.pattern_exprs(target);
                self.nested(body, "");
            }
            StmtKind::While(test, body) | StmtKind::DoWhile(body, test) => {
                self.flushed(test, |i, e| i.value(e));
                self.nested(body, "");
            }
            StmtKind::Label(_, body) => return self.statement(body),
            StmtKind::Return(Some(e)) => {
                let n = self.next();
                let pending = self.top(e, |i, e| i.give(e));
                self.release(&pending);
                // A `finally` that goes elsewhere gives it up.
                if let Some(given) = self.overridden.last().cloned()
                    && !e.is_plain(&self.tree.vars)
                {
                    self.wrap(n, e.span, &format!("({given} = "), ")");
                }
            }
            StmtKind::Throw(e) => {
                self.top(e, |i, e| i.share(e));
            }
            StmtKind::Export(e) => self.flushed(e, |i, e| i.share(e)),
            StmtKind::Switch(e, cases) => {
                self.flushed(e, |i, e| i.value(e));
                for case in cases {
                    if let Some(test) = &case.test {
                        self.flushed(test, |i, e| i.value(e));
                    }
                    self.statements(&case.body);
                }
            }
            StmtKind::Try { block, handler, finalizer } => {
                let given = match finalizer {
                    Some(_) if !self.unit.is_async && !self.unit.is_generator => {
                        Some(self.driver())
                    }
                    _ => None,
                };
                self.overridden.extend(given.clone());
                self.regiven.extend(given.clone());
                self.statements(block);
                if let Some(handler) = handler {
                    self.handler(block, handler);
                }
                if let Some(finalizer) = finalizer {
                    if let Some(given) = given {
                        self.overridden.pop();
                        finalizer.iter().for_each(|s| self.override_at(s, &given));
                    }
                    self.statements(finalizer);
                }
            }
        }
        vec![]
    }

    /// Jumps out of a `finally` give up what the `try` was about to return.
    fn override_at(&mut self, s: &Stmt, given: &str) {
        if matches!(s.kind, StmtKind::Return(_)) {
            let text = format!("{{{given} = {}({given});", self.own("drop"));
            self.edits.insert(s.span.start, i32::MIN + 1, text, s.span.start);
            self.edits.insert(s.span.end, AFTER + 1, "}", s.span.start);
        }
        if !matches!(s.kind, StmtKind::Try { .. }) {
            super::modes::each_child(s, &mut |c| self.override_at(c, given));
        }
    }

    /// The iterated value is held through the loop, each element through its turn.
    fn for_of(
        &mut self,
        target: &'t Target,
        right: &'t Expr,
        body: &'t Stmt,
        awaits: bool,
    ) -> Vec<String> {
        let plain = right.is_plain(&self.tree.vars);
        let driver = (!plain).then(|| self.driver());
        let pending = self.top(right, |i, e| match &driver {
            Some(driver) => i.driven(e, driver, awaits),
            None => i.value(e),
        });
        self.free.retain(|&n| !pending.contains(&self.names.temp(n)));
        self.reserved.extend(pending.iter().cloned());
        if let Target::Pattern(pattern) = target {
            let mut binds: String = pattern.vars.iter().map(|&sym| self.bind(sym, false)).collect();
            if let Some(driver) = &driver {
                binds.push_str(&format!("{}({driver});", self.own("yielded")));
            }
            self.nested(body, &binds);
        }
        self.reserved.truncate(self.reserved.len() - pending.len());
        self.release(&pending);
        pending
    }

    /// Emits a statement that stands alone below another, with `first` before it.
    fn nested(&mut self, s: &'t Stmt, first: &str) {
        let at = s.span.start;
        if matches!(s.kind, StmtKind::Block(_)) {
            if !first.is_empty() {
                self.edits.insert(at + 1, i32::MIN + 1, first, at);
            }
            self.statement(s);
            return;
        }
        let flush = self.statement(s);
        let drop = self.own("drop");
        let drops: String = flush.iter().map(|s| format!("{s} = {drop}({s});")).collect();
        if first.is_empty() && drops.is_empty() {
            return;
        }
        self.edits.insert(at, i32::MIN + 1, format!("{{{first}"), at);
        let close = if ends_abruptly(s) { "}".to_owned() } else { format!(";{drops}}}") };
        self.edits.insert(s.span.end, AFTER, close, at);
    }

    /// A variable that lives as long as the function.
    fn driver(&mut self) -> String {
        let name = self.names.driver(self.drivers.len() + 1);
        self.drivers.push(name.clone());
        name
    }

    /// What a loop runs over, held until the loop ends. A generator that is called right here
    /// borrows its operands as long.
    fn driven(&mut self, e: &'t Expr, driver: &str, awaits: bool) {
        let n = self.next();
        self.callee = None;
        self.driving = direct_call(e).is_some();
        let _ = match &e.kind {
            Kind::Read(sym) if self.is_slot(*sym) => self.held_in_temp(e),
            _ if direct_call(e).is_some() => self.held_in_temp(e),
            _ => self.held(e),
        };
        self.driving = false;
        let function = self.callee.take().unwrap_or_else(|| "void 0".to_owned());
        let pre = format!("{driver} = {}(", self.own("drive"));
        self.wrap(n, e.span, &pre, &format!(", {function}, {awaits})"));
    }

    /// A value that goes through the iterator protocol, held until `pending` is flushed.
    fn iterated(&mut self, e: &'t Expr) {
        if e.is_plain(&self.tree.vars) {
            return self.value(e);
        }
        let n = self.next();
        let _ = match &e.kind {
            Kind::Read(sym) if self.is_slot(*sym) => self.held_in_temp(e),
            _ => self.held(e),
        };
        let pre = format!("{}(", self.own("spread"));
        self.wrap(n, e.span, &pre, ")");
    }

    /// What an exception left in slots that nobody needs any more.
    fn handler(&mut self, block: &'t [Stmt], handler: &'t Handler) {
        for e in &handler.pattern.exprs {
            self.flushed(e, |i, e| i.share(e));
        }
        self.statements(&handler.body);
        let needed = self.live.handlers.get(&handler.start).cloned().unwrap_or_default();
        let mut mentioned = BTreeSet::new();
        block.iter().for_each(|s| self.mentions(s, &mut mentioned));
        let mut dead: Vec<String> =
            mentioned.iter().filter(|s| !needed.contains(s)).map(|&s| self.slot_of(s)).collect();
        let temps = (1..=self.temps).map(|n| self.names.temp(n));
        dead.extend(temps.filter(|t| !self.reserved.contains(t)));
        let drop = self.own("drop");
        let text: String = dead.iter().map(|s| format!("{s} = {drop}({s});")).collect();
        if !text.is_empty() {
            self.edits.insert(handler.start, i32::MIN, text, handler.start);
        }
    }

    fn declarator(&mut self, d: &'t Declarator) -> Vec<String> {
        match &d.init {
            Some(init) => self.top(init, |i, e| i.store(&d.target, e, true)),
            None => vec![],
        }
    }

    fn for_declarator(&mut self, d: &'t Declarator) {
        if let Some(init) = &d.init {
            self.flushed(init, |i, e| i.store(&d.target, e, true));
        }
    }

    /// Emits a whole expression. Gives the slots that are to be dropped after it.
    fn top(&mut self, e: &'t Expr, emit: impl FnOnce(&mut Self, &'t Expr)) -> Vec<String> {
        let mut assigned = HashSet::new();
        match &e.kind {
            // The target of the outermost assignment changes after everything else.
            Kind::Assign(a) if matches!(a.target, Target::Var(..)) => {
                assigned_in(&a.value, &mut assigned);
            }
            _ => assigned_in(e, &mut assigned),
        }
        let outer = std::mem::replace(&mut self.unstable, assigned);
        let pending = std::mem::take(&mut self.pending);
        let busy = std::mem::take(&mut self.busy);
        emit(self, e);
        self.busy = busy;
        let mut done = std::mem::replace(&mut self.pending, pending);
        done.retain(|s| !s.is_empty());
        self.unstable = outer;
        self.release(&done);
        done
    }

    /// Temporaries can be used again by the next statement.
    fn release(&mut self, slots: &[String]) {
        for n in 1..=self.temps {
            if slots.contains(&self.names.temp(n)) && !self.free.contains(&n) {
                self.free.push(n);
            }
        }
        self.raw_free = (1..=self.raws).rev().collect();
    }

    /// Emits an expression where no statement can follow: drops happen inside it.
    fn flushed(&mut self, e: &'t Expr, emit: impl FnOnce(&mut Self, &'t Expr)) {
        let n = self.next();
        let pending = self.top(e, emit);
        if pending.is_empty() {
            return;
        }
        let result = self.raw();
        let drops = self.drops(&pending);
        let (open, close) = match e.kind {
            Kind::Sequence(_) => ("(", ")"),
            _ => guarded(e),
        };
        let pre = format!("({result} = {open}");
        self.wrap(n, e.span, &pre, &format!("{close}{drops}, {result})"));
    }

    // Expressions.

    fn effect(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Await(inner) if direct_call(inner).is_some() => {
                let _ = self.held_in_temp(e);
            }
            Kind::Construct(call) => self.construct(e, call, Result_::Ignored),
            Kind::Call(call) => self.call(e, call, Result_::Ignored),
            Kind::Assign(a) => self.assign(e, a),
            Kind::Paren(inner) => self.effect(inner),
            Kind::Sequence(list) => list.iter().for_each(|e| self.effect(e)),
            Kind::Conditional(parts) => {
                self.value(&parts[0]);
                self.effect(&parts[1]);
                self.effect(&parts[2]);
            }
            Kind::Logical(_, parts) => {
                self.value(&parts[0]);
                self.effect(&parts[1]);
            }
            _ => self.value(e),
        }
    }

    /// Emits an expression whose value is looked at or goes on uncounted.
    fn value(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Plain | Kind::Global | Kind::This | Kind::Function(_) | Kind::Unsupported(_) => {}
            Kind::Read(sym) => {
                let _ = self.read(e, *sym);
            }
            Kind::Operator(list) => {
                for (i, e) in list.iter().enumerate() {
                    // Its conversion waits for the operands after it.
                    if list[i + 1..].iter().any(Expr::has_effects) {
                        let _ = self.held(e);
                    } else {
                        self.value(e);
                    }
                }
            }
            Kind::Literal { items, .. } => items.iter().for_each(|i| self.share(&i.value)),
            Kind::Inspect(list) => {
                for e in list {
                    let _ = self.held(e);
                }
            }
            Kind::Store(list) | Kind::Class(list) => list.iter().for_each(|e| self.share(e)),
            Kind::New(list) => {
                for (i, e) in list.iter().enumerate() {
                    match &e.kind {
                        Kind::Member(m) if i == 0 => {
                            // In parentheses: `new f(x).C()` is `(new f(x)).C()`.
                            let n = self.next();
                            self.share(&m.object);
                            self.wrap(n, m.object.span, "(", ")");
                            m.computed.iter().for_each(|c| self.value(c));
                        }
                        _ if i == 0 => self.value(e),
                        _ => self.share(e),
                    }
                }
            }
            Kind::Call(call) => self.call(e, call, Result_::Looked),
            Kind::Member(m) if view_of(m).is_some() => {
                let _ = self.held_in_temp(e);
            }
            Kind::Member(m) => self.member(m),
            Kind::Assign(a) => self.assign(e, a),
            Kind::Conditional(parts) => parts.iter().for_each(|e| self.value(e)),
            Kind::Logical(_, parts) => parts.iter().for_each(|e| self.value(e)),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.value(e)),
            Kind::Paren(inner) => self.value(inner),
            Kind::Chain(inner) => self.chain(e, inner, Result_::Looked),
            Kind::Construct(call) => self.construct(e, call, Result_::Looked),
            Kind::Yield(value) => self.yielded(e, value.as_deref()),
            Kind::Await(inner) if direct_call(inner).is_some() => {
                let _ = self.held_in_temp(e);
            }
            Kind::Await(inner) => match &inner.kind {
                Kind::Read(sym) if self.var(*sym).promise => {
                    let _ = self.held_in_temp(e);
                }
                _ => self.share(inner),
            },
        }
    }

    /// `yield v`: whoever drives the generator takes over the count of `v`.
    fn yielded(&mut self, e: &'t Expr, value: Option<&'t Expr>) {
        let Some(resume) = self.token_source() else {
            return value.into_iter().for_each(|v| self.share(v));
        };
        let n = self.next();
        if let Some(value) = value {
            self.complete(value);
        }
        let token = self.names.token();
        let post = format!(", {token} = {}())", self.own(resume));
        self.wrap(n, e.span, &format!("{}(", self.own("resumed")), &post);
    }

    /// Emits a value that a token takes over.
    fn complete(&mut self, e: &'t Expr) {
        if e.is_plain(&self.tree.vars) {
            return self.value(e);
        }
        let (token, n) = (self.names.token(), self.next());
        let (done, pass) = (self.own("done"), self.own("pass"));
        match &e.kind {
            Kind::Read(sym)
                if self.is_slot(*sym)
                    && self.live.last.contains(&e.span.start)
                    && !self.unstable.contains(sym) =>
            {
                let slot = self.slot_of(*sym);
                self.wrap(n, e.span, &format!("{done}({token}, "), &format!(", {slot} = void 0)"));
            }
            Kind::Read(_) | Kind::This | Kind::Global => {
                self.wrap(n, e.span, &format!("{pass}({token}, "), ")");
            }
            _ => {
                let temp = self.held_in_temp(e).text.unwrap_or_default();
                self.wrap(n, e.span, &format!("{done}({token}, "), &format!(", {temp} = void 0)"));
            }
        }
    }

    /// A read of a variable as an operand.
    fn read(&mut self, e: &'t Expr, sym: Sym) -> Operand {
        let var = self.var(sym);
        let named = |check| Operand { text: Some(var.name.clone()), check };
        match var.mode {
            Mode::Shared { .. } if var.imported => named(true),
            Mode::Plain | Mode::Shared { .. } => Operand::default(),
            Mode::Borrowed | Mode::Kept { .. } | Mode::Lent { .. } => named(true),
            Mode::Slot { .. } if !self.unstable.contains(&sym) => {
                let slot = self.slot_of(sym);
                self.busy.push(slot.clone());
                if self.live.last.contains(&e.span.start) {
                    self.pending.push(slot);
                }
                named(true)
            }
            Mode::Slot { .. } | Mode::Cell => {
                let slot = self.temp();
                self.own_into(e, &slot);
                Operand { text: Some(slot.name), check: true }
            }
        }
    }

    /// Emits an operand, which stays held until `pending` is flushed.
    fn held(&mut self, e: &'t Expr) -> Operand {
        if e.is_plain(&self.tree.vars) {
            self.value(e);
            return Operand::default();
        }
        match &e.kind {
            Kind::Read(sym) => self.read(e, *sym),
            Kind::This => Operand { text: Some("this".to_owned()), check: true },
            Kind::Paren(inner) => self.held(inner),
            Kind::Call(_)
            | Kind::Conditional(_)
            | Kind::Logical(..)
            | Kind::Sequence(_)
            | Kind::Chain(_) => self.held_in_temp(e),
            Kind::Member(_) if self.is_uncounted(e) => {
                self.value(e);
                Operand::default()
            }
            Kind::Member(_)
            | Kind::Literal { .. }
            | Kind::New(_)
            | Kind::Construct(_)
            | Kind::Yield(_)
            | Kind::Await(_)
            | Kind::Assign(_) => self.held_in_temp(e),
            _ => {
                self.value(e);
                Operand::default()
            }
        }
    }

    fn held_in_temp(&mut self, e: &'t Expr) -> Operand {
        // Operands of `e` are flushed when `e` is in its slot, the slot itself later.
        let mark = self.pending.len();
        let slot = self.temp();
        self.temp_spans.push((slot.name.clone(), e.span));
        let own = self.pending.pop().unwrap_or_default();
        self.own_into(e, &slot);
        self.pending.insert(mark, own);
        Operand { text: Some(slot.name), check: true }
    }

    /// Emits an expression so that its value, with one count, ends up in a slot too.
    fn own_into(&mut self, e: &'t Expr, slot: &Slot) {
        match &e.kind {
            Kind::Paren(inner) => self.own_into(inner, slot),
            Kind::Call(call) => self.call(e, call, Result_::Into(slot.clone())),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.own_into(e, slot)),
            Kind::Conditional(parts) if !e.is_plain(&self.tree.vars) => {
                self.value(&parts[0]);
                self.own_into(&parts[1], slot);
                self.own_into(&parts[2], slot);
            }
            // The right operand may still read what the slot holds.
            Kind::Logical(..) if !slot.fresh && !e.is_plain(&self.tree.vars) => {
                let n = self.next();
                let temp = self.held_in_temp(e).text.unwrap_or_default();
                let (put, name) = (self.own("put"), &slot.name);
                let pre = format!("({name} = {put}(");
                self.wrap(n, e.span, &pre, &format!(", {name}), {temp} = void 0, {name})"));
            }
            Kind::Logical(op, parts) if !e.is_plain(&self.tree.vars) => {
                self.own_into(&parts[0], slot);
                // A truthy left operand of `&&` was owned and is given up.
                let fresh = slot.fresh && *op != Logic::And;
                self.own_into(&parts[1], &Slot { fresh, ..slot.clone() });
            }
            Kind::Chain(inner) => self.chain(e, inner, Result_::Into(slot.clone())),
            Kind::Member(m) if view_of(m).is_some() => self.view(e, m, slot),
            Kind::Construct(call) if !e.is_plain(&self.tree.vars) => {
                self.construct(e, call, Result_::Into(slot.clone()));
            }
            Kind::Await(inner) if direct_call(inner).is_some() => {
                self.awaited(e, inner, slot);
            }
            Kind::Await(inner) if self.promise_of(inner).is_some() => {
                let n = self.next();
                let token = self.promise_of(inner).unwrap_or_default();
                self.claim(n, e, slot, &token, "");
            }
            Kind::Literal { items, countable: true } if !e.is_plain(&self.tree.vars) => {
                let n = self.next();
                let mark = self.mark();
                self.literal(items);
                let drops = self.flush(mark, slot);
                self.take(n, e, slot, "lit", &drops);
            }
            Kind::Read(sym) if self.var(*sym).mode != Mode::Plain => {
                let n = self.next();
                if self.is_slot(*sym) && self.live.last.contains(&e.span.start) {
                    let from = self.slot_of(*sym);
                    self.pending.push(from);
                }
                self.retain(n, e, slot, "");
            }
            Kind::This | Kind::Global => {
                let n = self.next();
                self.retain(n, e, slot, "");
            }
            Kind::Member(_)
            | Kind::Assign(_)
            | Kind::New(_)
            | Kind::Await(_)
            | Kind::Yield(_)
            | Kind::Store(_)
            | Kind::Literal { .. }
                if !e.is_plain(&self.tree.vars) =>
            {
                let n = self.next();
                let mark = self.mark();
                self.value(e);
                let drops = self.flush(mark, slot);
                self.retain(n, e, slot, &drops);
            }
            // Never managed, or never counted.
            _ => {
                let n = self.next();
                self.value(e);
                if !slot.fresh {
                    let (put, name) = (self.own("put"), &slot.name);
                    let pre = format!("({name} = {put}(");
                    self.wrap(n, e.span, &pre, &format!(", {name}))"));
                }
            }
        }
    }

    /// `await f(x)`: a token takes the count of what `f` completes with.
    fn awaited(&mut self, e: &'t Expr, inner: &'t Expr, slot: &Slot) {
        let Some((at, call)) = direct_call(inner) else { return };
        let n = self.next();
        let mark = self.mark();
        let token = self.raw();
        self.ticket = Some(token.clone());
        self.call(at, call, Result_::Awaited);
        let drops = self.flush(mark, slot);
        self.claim(n, e, slot, &token, &drops);
    }

    /// The token of the variable whose promise is awaited.
    fn promise_of(&self, e: &Expr) -> Option<String> {
        match &e.kind {
            Kind::Read(sym) if self.var(*sym).promise => self.promises.get(sym).cloned(),
            _ => None,
        }
    }

    fn claim(&mut self, n: i32, e: &Expr, slot: &Slot, token: &str, drops: &str) {
        let (claim, put, name) = (self.own("claim"), self.own("put"), &slot.name);
        let tail = if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
        let (pre, post) = if slot.fresh {
            (format!("({name} = {claim}("), format!(", {token}){tail})"))
        } else {
            (format!("({name} = {put}({claim}("), format!(", {token}), {name}){tail})"))
        };
        self.wrap(n, e.span, &pre, &post);
    }

    /// `(slot = hold(E), drops, slot)`.
    fn retain(&mut self, n: i32, e: &Expr, slot: &Slot, drops: &str) {
        self.take(n, e, slot, "hold", drops);
    }

    /// `(slot = operation(E), drops, slot)`.
    fn take(&mut self, n: i32, e: &Expr, slot: &Slot, operation: &str, drops: &str) {
        let (hold, put, name) = (self.own(operation), self.own("put"), &slot.name);
        let tail = if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
        let (pre, post) = if slot.fresh {
            (format!("({name} = {hold}("), format!("){tail})"))
        } else {
            (format!("({name} = {put}({hold}("), format!("), {name}){tail})"))
        };
        self.wrap(n, e.span, &pre, &post);
    }

    /// `x.T`: an accessor of tensors that makes a new handle.
    fn view(&mut self, e: &'t Expr, m: &'t Member, slot: &Slot) {
        let key = quote(view_of(m).unwrap_or_default());
        let n = self.next();
        let mark = self.mark();
        let _ = self.held(&m.object);
        let drops = self.flush(mark, slot);
        let (view, put, name) = (self.own("view"), self.own("put"), &slot.name);
        let tail = if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
        let (pre, post) = if slot.fresh {
            (format!("({name} = {view}("), format!(", {key}){tail})"))
        } else {
            (format!("({name} = {put}({view}("), format!(", {key}), {name}){tail})"))
        };
        self.edits.replace(m.object.span.end, e.span.end, "");
        self.wrap(n, e.span, &pre, &post);
    }

    /// Emits a value that goes where nobody counts.
    fn share(&mut self, e: &'t Expr) {
        if let Kind::Paren(inner) = &e.kind
            && inner.span == e.span
        {
            // The value of a shorthand property.
            if let Kind::Read(sym) = &inner.kind
                && self.may_be_unshared(*sym)
            {
                let n = self.next();
                let pre = format!("{}: {}(", self.var(*sym).name, self.own("share"));
                self.wrap(n, e.span, &pre, ")");
            }
            return;
        }
        if e.is_plain(&self.tree.vars) {
            self.value(e);
            return;
        }
        let needed = match &e.kind {
            Kind::Read(sym) => self.may_be_unshared(*sym),
            Kind::Member(_) => !self.is_uncounted(e),
            Kind::New(_) | Kind::Await(_) | Kind::Construct(_) => true,
            Kind::Call(call) => {
                self.call(e, call, Result_::Shared);
                return;
            }
            Kind::Paren(inner) => return self.share(inner),
            Kind::Sequence(list) => return self.sequence(list, |i, e| i.share(e)),
            Kind::This
            | Kind::Conditional(_)
            | Kind::Logical(..)
            | Kind::Assign(_)
            | Kind::Chain(_) => true,
            _ => false,
        };
        let n = self.next();
        self.value(e);
        if needed {
            let pre = format!("{}(", self.own("share"));
            self.wrap(n, e.span, &pre, ")");
        }
    }

    fn may_be_unshared(&self, sym: Sym) -> bool {
        let var = self.var(sym);
        match var.mode {
            Mode::Slot { .. }
            | Mode::Borrowed
            | Mode::Cell
            | Mode::Lent { .. }
            | Mode::Kept { .. } => true,
            Mode::Shared { .. } => var.imported,
            Mode::Plain => false,
        }
    }

    /// Elements of a counted literal.
    fn literal(&mut self, items: &'t [Argument]) {
        for item in items {
            if item.spread {
                self.iterated(&item.value);
            } else if let Kind::Paren(inner) = &item.value.kind
                && inner.span == item.value.span
            {
                // A shorthand property must stay an identifier: its variable holds the value
                // unless a later element changes it.
                self.shorthand(inner);
            } else {
                let _ = self.held(&item.value);
            }
        }
    }

    fn shorthand(&mut self, e: &'t Expr) {
        let Kind::Read(sym) = &e.kind else { return };
        let n = self.next();
        let operand = self.read(e, *sym);
        if operand.text.is_some_and(|t| t != self.var(*sym).name) {
            let pre = format!("{}: ", self.var(*sym).name);
            self.wrap(n, e.span, &pre, "");
        }
    }

    /// Emits a value that is returned.
    fn give(&mut self, e: &'t Expr) {
        if self.unit.is_generator {
            return self.share(e);
        }
        if e.is_plain(&self.tree.vars) {
            let counts = !self.unit.is_async && !is_part(self.unit);
            if counts && !e.is_bare(&self.tree.vars) {
                let n = self.next();
                self.wrap(n, e.span, &format!("{}(", self.own("bare")), ")");
            }
            return self.value(e);
        }
        // An asynchronous function completes with it: the token, if there is one, takes the count.
        let done = self.takes_token();
        let lend = if done {
            format!("{}({}, ", self.own("pass"), self.names.token())
        } else if self.unit.is_async {
            format!("{}(", self.own("share"))
        } else {
            format!("{}(", self.own("lend"))
        };
        match &e.kind {
            Kind::Paren(inner) => self.give(inner),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.give(e)),
            Kind::Conditional(parts) => {
                self.value(&parts[0]);
                self.give(&parts[1]);
                self.give(&parts[2]);
            }
            Kind::Logical(op, parts) => {
                match op {
                    Logic::And => {
                        let _ = self.held(&parts[0]);
                    }
                    _ => self.give(&parts[0]),
                }
                self.give(&parts[1]);
            }
            Kind::Call(call) if !self.unit.is_async => self.call(e, call, Result_::Given),
            Kind::Read(sym)
                if self.is_slot(*sym)
                    && self.live.last.contains(&e.span.start)
                    && !self.unstable.contains(sym) =>
            {
                let slot = self.slot_of(*sym);
                let give = if done {
                    format!("{}({}, ", self.own("done"), self.names.token())
                } else {
                    format!("{}(", self.own(if self.unit.is_async { "leave" } else { "give" }))
                };
                let n = self.next();
                self.wrap(n, e.span, &give, &format!(", {slot} = void 0)"));
            }
            Kind::Read(_) | Kind::This | Kind::Global => {
                let n = self.next();
                self.wrap(n, e.span, &lend, ")");
            }
            Kind::Member(_)
            | Kind::Assign(_)
            | Kind::Chain(_)
            | Kind::Call(_)
            | Kind::Construct(_)
            | Kind::Yield(_)
            | Kind::New(_)
            | Kind::Await(_) => {
                let n = self.next();
                let _ = self.held_in_temp(e);
                self.wrap(n, e.span, &lend, ")");
            }
            Kind::Literal { items, countable: true } => {
                let n = self.next();
                self.literal(items);
                let lit = self.own("lit");
                if done {
                    let done = self.own("done");
                    let pre = format!("{done}({}, {lit}(", self.names.token());
                    self.wrap(n, e.span, &pre, "))");
                } else if self.unit.is_async {
                    let share = self.own("share");
                    self.wrap(n, e.span, &format!("{share}({lit}("), "))");
                } else {
                    self.wrap(n, e.span, &format!("{}({lit}(", self.own("give")), "))");
                }
            }
            _ => self.value(e),
        }
    }

    /// Emits all but the last as ignored.
    fn sequence(&mut self, list: &'t [Expr], last: impl FnOnce(&mut Self, &'t Expr)) {
        if let Some((end, before)) = list.split_last() {
            before.iter().for_each(|e| self.effect(e));
            last(self, end);
        }
    }

    fn member(&mut self, m: &'t Member) {
        match &m.object.kind {
            Kind::Member(inner)
                if view_of(inner).is_none()
                    && !m.computed.as_ref().is_some_and(Expr::has_effects) =>
            {
                self.member(inner);
            }
            _ => {
                let _ = self.held(&m.object);
            }
        }
        if let Some(key) = &m.computed {
            self.value(key);
        }
    }

    // Assignments.

    fn assign(&mut self, e: &'t Expr, a: &'t Assign) {
        let _ = e;
        match a.op {
            AssignOp::Arithmetic => {
                if let Target::Member(member) = &a.target
                    && let Kind::Member(m) = &member.kind
                {
                    self.member(m);
                }
                self.value(&a.value);
            }
            AssignOp::Simple | AssignOp::Logical(_) => {
                self.store(&a.target, &a.value, false);
            }
        }
    }

    /// Emits `value` so that it can be stored in `target`. `first`: by a declaration.
    fn store(&mut self, target: &'t Target, value: &'t Expr, first: bool) {
        match target {
            Target::Var(sym, at) => match self.var(*sym).mode {
                Mode::Plain if self.var(*sym).promise => self.promise(*sym, value),
                Mode::Plain => self.value(value),
                Mode::Slot { .. } | Mode::Cell | Mode::Lent { .. } => {
                    let var = self.var(*sym);
                    let fresh = first && !var.in_loop && var.kind != VarKind::Var;
                    let name = self.slot_of(*sym);
                    if is_definition(value) {
                        // It gets its name from the variable, so nothing may stand between. The
                        // slot keeps the old value a little longer.
                        return self.value(value);
                    }
                    let into = Slot { name: name.clone(), fresh };
                    match &value.kind {
                        Kind::Literal { items, countable: true }
                            if var.filled && value.is_plain(&self.tree.vars) =>
                        {
                            let n = self.next();
                            self.literal(items);
                            self.take(n, value, &into, "lit", "");
                        }
                        _ => self.own_into(value, &into),
                    }
                    // Its old value was given up when the new one came.
                    self.pending.iter_mut().filter(|s| **s == name).for_each(String::clear);
                    if self.live.dead_stores.contains(&at.start) && self.is_slot(*sym) {
                        self.pending.push(name);
                    }
                }
                Mode::Kept { .. } => match &value.kind {
                    Kind::Literal { items, countable: true } if self.var(*sym).filled => {
                        let n = self.next();
                        self.literal(items);
                        self.wrap(n, value.span, &format!("{}(", self.own("lit")), ")");
                    }
                    _ => self.keep(value),
                },
                Mode::Borrowed | Mode::Shared { .. } => self.share(value),
            },
            Target::Global => self.share(value),
            Target::Member(member) => {
                if let Kind::Member(m) = &member.kind {
                    self.store_member(m, value);
                }
            }
            Target::Pattern(pattern) if pattern.retained => {
                if pattern.iterates {
                    self.iterated(value);
                } else {
                    let _ = self.held(value);
                }
                for &sym in &pattern.vars {
                    let fresh =
                        first && !self.var(sym).in_loop && self.var(sym).kind != VarKind::Var;
                    let bind = self.bind(sym, fresh);
                    self.binds.push_str(&bind);
                    if self.is_slot(sym) {
                        // Its old value is given up when the new one comes.
                        let name = self.slot_of(sym);
                        self.pending.iter_mut().filter(|s| **s == name).for_each(String::clear);
                    }
                }
            }
            Target::Pattern(_) => {
                self.share(value);
                self.pattern_exprs(target);
            }
        }
    }

    /// `o.p = V`: the container retains the new value and gives up the old one.
    fn store_member(&mut self, m: &'t Member, value: &'t Expr) {
        let private = m.name.as_ref().is_some_and(|n| n.starts_with('#'));
        let empties = self.is_empty(value);
        if private && matches!(m.object.kind, Kind::This) && self.counts_private {
            return self.store_private(m, value);
        }
        if private || m.is_super || (value.is_bare(&self.tree.vars) && !empties) {
            self.member(m);
            return self.share(value);
        }
        let n = self.next();
        let operand = self.held(&m.object);
        let object = match operand.text {
            Some(text) => text,
            None => {
                let raw = self.raw();
                self.wrap(n, m.object.span, &format!("({raw} = "), ")");
                raw
            }
        };
        let key = match (&m.name, &m.computed) {
            (Some(name), _) => quote(name),
            (None, Some(key)) => {
                let raw = self.raw();
                let n = self.next();
                self.value(key);
                self.wrap(n, key.span, &format!("{raw} = "), "");
                raw
            }
            (None, None) => return self.share(value),
        };
        let n = self.next();
        let _ = self.held(value);
        let pre = format!("{}({object}, {key}, ", self.own("store"));
        self.wrap(n, value.span, &pre, ")");
    }

    fn is_empty(&self, e: &Expr) -> bool {
        matches!(
            self.source.get(e.span.start as usize..e.span.end as usize),
            Some("null" | "undefined" | "void 0")
        )
    }

    /// `this.#p = V`: only code of the class sees the place, which holds a count.
    fn store_private(&mut self, m: &Member, value: &'t Expr) {
        if is_definition(value) {
            return self.value(value);
        }
        let bare = value.is_bare(&self.tree.vars);
        if bare && !self.is_empty(value) {
            return self.value(value);
        }
        let n = self.next();
        let (swap, hold) = (self.own("swap"), self.own("hold"));
        let name = m.name.as_deref().unwrap_or_default();
        let old = format!("{name} in this ? this.{name} : void 0");
        if bare || value.is_plain(&self.tree.vars) {
            self.value(value);
            let close = format!("), {old})");
            return self.wrap(n, value.span, &format!("{swap}({hold}("), &close);
        }
        let temp = self.held_in_temp(value).text.unwrap_or_default();
        let post = format!(", {old}, {temp} = void 0)");
        self.wrap(n, value.span, &format!("{swap}("), &post);
    }

    /// `const p = f(x)`, where `p` is only awaited: the token waits beside it.
    fn promise(&mut self, sym: Sym, value: &'t Expr) {
        let Some((at, call)) = direct_call(value) else { return self.value(value) };
        let n = self.next();
        let token = self.driver();
        self.promises.insert(sym, token.clone());
        self.wrap(n, value.span, &format!("({token} = void 0, "), ")");
        self.ticket = Some(token);
        self.call(at, call, Result_::Awaited);
    }

    fn pattern_exprs(&mut self, target: &'t Target) {
        if let Target::Pattern(pattern) = target {
            for e in &pattern.members {
                // Its store is not counted.
                if let Kind::Member(m) = &e.kind {
                    self.share(&m.object);
                    m.computed.iter().for_each(|c| self.value(c));
                }
            }
            pattern.exprs.iter().for_each(|e| self.share(e));
        }
    }

    /// Emits a value that a variable keeps for ever.
    fn keep(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Paren(inner) => self.keep(inner),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.keep(e)),
            Kind::Call(call) => self.call(e, call, Result_::Kept),
            _ if e.is_plain(&self.tree.vars) => self.value(e),
            Kind::Store(_) | Kind::Class(_) | Kind::New(_) | Kind::Await(_) | Kind::Yield(_) => {
                self.value(e);
            }
            Kind::Construct(call) => self.construct(e, call, Result_::Kept),
            Kind::Literal { items, countable: true } => {
                let n = self.next();
                self.literal(items);
                let pre = format!("{}(", self.own("lit"));
                self.wrap(n, e.span, &pre, ")");
            }
            _ => {
                let n = self.next();
                self.value(e);
                let pre = format!("{}(", self.own("hold"));
                self.wrap(n, e.span, &pre, ")");
            }
        }
    }

    // Calls.

    fn call(&mut self, e: &'t Expr, call: &'t Call, result: Result_) {
        let n = self.next();
        let m = self.next();
        let mark = self.mark();
        let claims =
            matches!(result, Result_::Ignored | Result_::Given | Result_::Kept | Result_::Into(_));
        let callee = &call.callee;
        let driving = std::mem::take(&mut self.driving);
        let outer = std::mem::replace(&mut self.drives, driving);
        let unstable = self.unstable.clone();
        if driving {
            // The loop holds them, whatever happens to the variables.
            let vars = self.tree.vars.iter().enumerate();
            self.unstable.extend(vars.filter(|(_, v)| v.assigned > 0).map(|(sym, _)| sym));
        }
        let last_spread = call.args.last().is_some_and(|a| a.spread);
        let ticket = self.ticket.take().filter(|_| !last_spread);
        let named = ticket.is_none() || !call.args.is_empty();
        self.tickets.push(ticket);
        let function =
            if call.is_super || matches!(&callee.kind, Kind::Paren(p) if leads_to_member(p)) {
                self.opaque_call(call);
                None
            } else {
                match &callee.kind {
                    Kind::Member(member) => self.method_call(e, call, member, m, claims, &result),
                    Kind::Read(sym) if named && self.is_stable_function(*sym, call) => {
                        Some(self.named_call(call, &self.var(*sym).name))
                    }
                    _ => self.fetched_call(e, call, m, &result),
                }
            };
        self.tickets.pop();
        self.drives = outer;
        self.unstable = unstable;
        self.finish_call(n, e, function.clone(), result, mark, driving);
        self.callee = function;
    }

    /// Wraps a call so that its result is claimed, given, shared or ignored.
    fn finish_call(
        &mut self,
        n: i32,
        e: &Expr,
        function: Option<String>,
        result: Result_,
        mark: Mark,
        driving: bool,
    ) {
        let function = function.unwrap_or_else(|| "void 0".to_owned());
        let known = self.is_known(e);
        let callee = if known { ")".to_owned() } else { format!(", {function})") };
        if !matches!(result, Result_::Into(_)) {
            self.busy.truncate(mark.busy);
        }
        let claimed = function != "void 0";
        match result {
            Result_::Looked | Result_::Awaited => {}
            Result_::Shared => {
                let pre = format!("{}(", self.own("share"));
                self.wrap(n, e.span, &pre, ")");
            }
            _ if e.is_plain(&self.tree.vars) && !matches!(result, Result_::Into(_)) => {}
            Result_::Ignored if claimed => {
                let pre = format!("{}(", self.own(if known { "lose" } else { "ignore" }));
                self.wrap(n, e.span, &pre, &callee);
            }
            Result_::Ignored => {}
            // A known callee has left the register as it must be.
            Result_::Given if known => {}
            Result_::Given => {
                let pre = format!("{}(", self.own("tail"));
                self.wrap(n, e.span, &pre, &callee);
            }
            Result_::Kept => {
                let pre = format!("{}(", self.own(if known { "took" } else { "own" }));
                self.wrap(n, e.span, &pre, &callee);
            }
            Result_::Into(slot) => {
                // A loop that drives a generator holds its operands.
                let drops = if driving { String::new() } else { self.flush(mark, &slot) };
                let own = match known {
                    true => "took",
                    false if self.makes_generator(e) => "ownGen",
                    false => "own",
                };
                let (own, put, name) = (self.own(own), self.own("put"), &slot.name);
                let tail =
                    if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
                let (pre, post) = if slot.fresh {
                    (format!("({name} = {own}("), format!("{callee}{tail})"))
                } else {
                    (format!("({name} = {put}({own}("), format!("{callee}, {name}){tail})"))
                };
                self.wrap(n, e.span, &pre, &post);
            }
        }
    }

    /// A call of a function of this file that follows the protocol.
    fn is_known(&self, e: &Expr) -> bool {
        let Kind::Call(call) = &e.kind else { return false };
        let Kind::Read(sym) = call.callee.kind else { return false };
        self.var(sym).is_stable() && self.function_of(sym).is_some()
    }

    /// The compiled function that a variable always holds; generators excepted.
    fn function_of(&self, sym: Sym) -> Option<UnitId> {
        let known = |f: &UnitId| {
            let unit = &self.tree.units[*f];
            unit.left_alone.is_none() && !unit.is_generator
        };
        self.var(sym).function.filter(known)
    }

    /// A function that the present call cannot replace while it runs.
    fn is_stable_function(&self, sym: Sym, call: &Call) -> bool {
        let _ = call;
        self.var(sym).is_stable()
    }

    /// A call of a generator function of this file.
    fn makes_generator(&self, e: &Expr) -> bool {
        let Kind::Call(call) = &e.kind else { return false };
        match call.callee.kind {
            Kind::Read(sym) => self.var(sym).function.is_some_and(|f| {
                self.tree.units[f].is_generator && self.tree.units[f].left_alone.is_none()
            }),
            _ => false,
        }
    }

    /// `new C(a)`: operands are asked about, and the instance's first count is claimed.
    fn construct(&mut self, e: &'t Expr, call: &'t Call, result: Result_) {
        let n = self.next();
        let m = self.next();
        let mark = self.mark();
        let operands = call.args.iter().any(|a| a.spread || !self.is_uncounted(&a.value));
        let known = matches!(call.callee.kind, Kind::Global);
        if known && !operands && self.escaping(call).is_none() {
            self.value(&call.callee);
            call.args.iter().for_each(|a| self.value(&a.value));
            return;
        }
        self.driving = false;
        self.tickets.push(None);
        let stable = matches!(call.callee.kind, Kind::Read(sym) if self.var(sym).is_stable());
        let inner = self.next();
        let function = match &call.callee.kind {
            Kind::Read(sym) if stable => self.var(*sym).name.clone(),
            _ => {
                let raw = self.raw();
                self.value(&call.callee);
                self.wrap(inner, call.callee.span, &format!("({raw} = "), ")");
                raw
            }
        };
        let token = self.raw();
        let (first, birth) = (self.own("first"), self.own("birth"));
        match call.args.last() {
            None => {
                let pre = format!("({first}(");
                let post = format!(", {token} = {birth}({function}, {})))", quote(&call.text));
                self.wrap_from(m, call.callee.span, &pre, &post, e.span.start);
            }
            Some(last) => {
                let text = if stable { "void 0".to_owned() } else { quote(&call.text) };
                let ask = format!("{}({function}, ", self.own("ask"));
                // The token is made when all operands are there.
                let end = format!(", {token} = {birth}({function}, {text}))");
                self.wrap_from(m, last.value.span, &format!("{first}("), &end, e.span.start);
                self.arguments(call, &function, &ask, vec![], true);
            }
        }
        self.tickets.pop();
        self.finish_construct(n, e, &token, result, mark);
    }

    fn finish_construct(&mut self, n: i32, e: &Expr, token: &str, result: Result_, mark: Mark) {
        let (fresh, end) = (self.own("fresh"), format!(", {token})"));
        if !matches!(result, Result_::Into(_)) {
            self.busy.truncate(mark.busy);
        }
        match result {
            Result_::Looked | Result_::Awaited => {}
            Result_::Ignored => {
                let pre = format!("{}({fresh}(", self.own("drop"));
                self.wrap(n, e.span, &pre, &format!("{end})"));
            }
            Result_::Shared | Result_::Given | Result_::Kept => {
                self.wrap(n, e.span, &format!("{fresh}("), &end);
            }
            Result_::Into(slot) => {
                let drops = self.flush(mark, &slot);
                let (put, name) = (self.own("put"), &slot.name);
                let tail =
                    if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
                let (pre, post) = if slot.fresh {
                    (format!("({name} = {fresh}("), format!("{end}{tail})"))
                } else {
                    (format!("({name} = {put}({fresh}("), format!("{end}, {name}){tail})"))
                };
                self.wrap(n, e.span, &pre, &post);
            }
        }
    }

    /// Operands of all arguments; the last one is wrapped so that the callee is asked about.
    fn arguments(
        &mut self,
        call: &'t Call,
        function: &str,
        ask: &str,
        mut named: Vec<String>,
        always: bool,
    ) {
        let count = call.args.len();
        let n = self.next();
        let mut check = !named.is_empty();
        for (i, a) in call.args.iter().enumerate() {
            let operand =
                if a.spread { self.spread_argument(&a.value) } else { self.held(&a.value) };
            check |= operand.check;
            if i + 1 < count
                && operand.check
                && let Some(text) = operand.text
            {
                named.push(text);
            }
        }
        let escaping = self.escaping(call);
        let ticket = self.tickets.last().cloned().flatten();
        if let Some(last) = call.args.last() {
            let (mut pre, mut post) = (String::new(), String::new());
            if (check || always) && !ask.is_empty() {
                let names: String = named.iter().map(|t| format!("{t}, ")).collect();
                pre = format!("{ask}{names}");
                post.push(')');
            }
            if let Some((confined, slots)) = escaping {
                let keeps = self.own("keeps");
                pre = format!("({keeps}({function}, {confined}) && ({slots}), {pre}");
                post.push(')');
            }
            if let Some(token) = ticket {
                let (ticket, new) = (self.own("ticket"), self.own("token"));
                pre = format!("{ticket}({token} = {new}(), {function}, {pre}");
                post.push(')');
            }
            self.wrap_call(n, last.value.span, &pre, &post, call);
        }
    }

    /// `...xs`: elements are held by a list of their own.
    fn spread_argument(&mut self, e: &'t Expr) -> Operand {
        if e.is_plain(&self.tree.vars) {
            self.value(e);
            return Operand::default();
        }
        let n = self.next();
        let list = self.temp();
        let _ = self.held(e);
        let pre = format!("{} = {}(", list.name, self.own("list"));
        self.wrap(n, e.span, &pre, ")");
        Operand { text: Some(list.name), check: true }
    }

    /// Slots of variables that closures among the operands capture, if those are confined only
    /// as long as the callee does not keep them.
    fn escaping(&self, call: &Call) -> Option<(bool, String)> {
        let mut slots = BTreeSet::new();
        let mut confined = true;
        for a in &call.args {
            let mut e = &a.value;
            while let Kind::Paren(inner) = &e.kind {
                e = inner;
            }
            let Kind::Function(unit) = e.kind else { continue };
            let Some(Some(result)) = self.escape.confined(self.tree, unit) else { continue };
            confined &= result;
            for &(sym, user) in &self.tree.uses {
                if user != unit || self.var(sym).unit != self.id {
                    continue;
                }
                if matches!(self.var(sym).mode, Mode::Lent { .. }) {
                    slots.insert(format!("{} = void 0", self.names.slot(sym)));
                }
                if self.var(sym).lent {
                    slots.insert(format!("{} = true", self.names.escaped()));
                }
            }
        }
        let slots = slots.into_iter().collect::<Vec<_>>().join(", ");
        (!slots.is_empty()).then_some((confined, slots))
    }

    /// What makes the present call's token around its callee, where it has no arguments.
    fn ticket_for(&self) -> (String, &'static str) {
        match self.tickets.last().cloned().flatten() {
            Some(token) => {
                let (ticket, new) = (self.own("ticketFor"), self.own("token"));
                (format!("{ticket}({token} = {new}(), "), ")")
            }
            None => (String::new(), ""),
        }
    }

    /// `f(a, b)` with a name for `f` that means the same before and after.
    fn named_call(&mut self, call: &'t Call, name: &str) -> String {
        let known = matches!(call.callee.kind, Kind::Read(sym) if self.function_of(sym).is_some());
        let ask = match (known, self.drives) {
            (true, _) => String::new(),
            (false, true) => format!("{}({name}, ", self.own("askGen")),
            (false, false) => format!("{}({name}, ", self.own("ask")),
        };
        self.arguments(call, name, &ask, vec![], false);
        name.to_owned()
    }

    /// `o.m(a)`: the method is fetched once, before the arguments, and asked about.
    fn method_call(
        &mut self,
        e: &'t Expr,
        call: &'t Call,
        member: &'t Member,
        n: i32,
        claims: bool,
        result: &Result_,
    ) -> Option<String> {
        let receiver_plain = member.is_super || self.is_uncounted(&member.object);
        let args_uncounted = call.args.iter().all(|a| !a.spread && self.is_uncounted(&a.value));
        let ignored = matches!(result, Result_::Ignored);
        let ticket = self.tickets.last().cloned().flatten();
        if receiver_plain
            && args_uncounted
            && (!claims || ignored)
            && ticket.is_none()
            && self.escaping(call).is_none()
        {
            self.member(member);
            call.args.iter().for_each(|a| self.value(&a.value));
            return None;
        }
        let function = self.raw();
        let m = self.next();
        let operand = if member.is_super {
            Operand { text: Some("this".into()), check: false }
        } else {
            self.held(&member.object)
        };
        let receiver = match &operand.text {
            Some(text) => text.clone(),
            None => {
                let raw = self.raw();
                let (pre, post) = guarded(&member.object);
                self.wrap(m, member.object.span, &format!("({raw} = {pre}"), &format!("{post})"));
                raw
            }
        };
        if let Some(key) = &member.computed {
            self.value(key);
        }
        let text = quote(&call.text);
        let named = if operand.check { vec![receiver.clone()] } else { vec![] };
        if call.args.is_empty() {
            let fetched = self.own(match operand.check && claims {
                _ if self.drives => "fnGen",
                true => "fnOn",
                false => "fn",
            });
            let (ticket, close) = self.ticket_for();
            let fetch = format!("{}({ticket}{fetched}({function} = ", self.own("call"));
            let known = named.iter().map(|t| format!(", {t}")).collect::<String>();
            let text = format!(", {text}{known}){close}, {receiver}");
            self.edits.replace(call.open, call.open + 1, text);
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        } else {
            // Library methods that are known by what they do need their result to pass by.
            let known = operand.check && claims;
            let ask = self.own(match (known, operand.check) {
                _ if self.drives => "askGenFetched",
                (true, _) => "askOn",
                (false, true) => "askSeen",
                (false, false) => "askFetched",
            });
            let ask = format!("{ask}({function}, {text}, ");
            self.arguments(call, &function, &ask, named, true);
            let fetch = format!("{}({function} = ", self.own("call"));
            self.edits.replace(call.open, call.open + 1, format!(", {receiver}, "));
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        }
        Some(function)
    }

    /// Any other callee: its value is fetched before the arguments.
    fn fetched_call(
        &mut self,
        e: &'t Expr,
        call: &'t Call,
        n: i32,
        result: &Result_,
    ) -> Option<String> {
        let looked = matches!(result, Result_::Looked | Result_::Shared);
        let ignored =
            matches!(result, Result_::Ignored) && matches!(call.callee.kind, Kind::Global);
        if (looked || ignored)
            && self.escaping(call).is_none()
            && self.is_uncounted(&call.callee)
            && call.args.iter().all(|a| !a.spread && self.is_uncounted(&a.value))
        {
            self.value(&call.callee);
            call.args.iter().for_each(|a| self.value(&a.value));
            return None;
        }
        let function = self.raw();
        let m = self.next();
        self.value(&call.callee);
        let (pre, post) = guarded(&call.callee);
        self.wrap(m, call.callee.span, pre, post);
        let text = quote(&call.text);
        if call.args.is_empty() {
            let (ticket, close) = self.ticket_for();
            let (call_, fetched) = (self.own("call"), self.own("fn"));
            let fetch = format!("{call_}({ticket}{fetched}({function} = ");
            self.edits.replace(call.open, call.open + 1, format!(", {text}){close}, void 0"));
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        } else {
            let ask = if self.drives { "askGenFetched" } else { "askFetched" };
            let ask = format!("{}({function}, {text}, ", self.own(ask));
            self.arguments(call, &function, &ask, vec![], true);
            let fetch = format!("{}({function} = ", self.own("call"));
            self.edits.replace(call.open, call.open + 1, ", void 0, ");
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        }
        Some(function)
    }

    /// A call that is left as it stands: everything it gets is shared.
    fn opaque_call(&mut self, call: &'t Call) {
        self.give_away(call);
        match &call.callee.kind {
            Kind::Member(m) => {
                self.share(&m.object);
                m.computed.iter().for_each(|c| self.value(c));
            }
            Kind::Paren(inner) => self.opaque_callee(inner),
            _ => self.value(&call.callee),
        }
        call.args.iter().for_each(|a| self.share(&a.value));
    }

    /// Closures among the operands of a call that nobody can be asked about.
    fn give_away(&mut self, call: &'t Call) {
        if let Some((_, slots)) = self.escaping(call)
            && let Some(last) = call.args.last()
        {
            let n = self.next();
            let pre = format!("({slots}, ");
            self.wrap(n, last.value.span, &pre, ")");
        }
    }

    fn opaque_callee(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Paren(inner) => self.opaque_callee(inner),
            Kind::Member(m) => {
                self.share(&m.object);
                m.computed.iter().for_each(|c| self.value(c));
            }
            Kind::Chain(inner) => self.links(inner, true),
            _ => self.value(e),
        }
    }

    /// Neither evaluation nor value of this operand needs counting.
    fn is_uncounted(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Plain | Kind::Global | Kind::Function(_) => true,
            Kind::Read(sym) => !self.may_be_unshared(*sym),
            // Of globals' properties only: anything else may be a counted container.
            Kind::Member(m) => {
                !m.is_super
                    && matches!(m.object.kind, Kind::Global | Kind::Member(_))
                    && self.is_uncounted(&m.object)
                    && m.computed.as_ref().is_none_or(|c| self.is_uncounted(c))
            }
            Kind::Paren(inner) => self.is_uncounted(inner),
            Kind::Operator(list) => list.iter().all(|e| self.is_uncounted(e)),
            _ => false,
        }
    }

    // Optional chains.

    fn chain(&mut self, e: &'t Expr, inner: &'t Expr, result: Result_) {
        if let Kind::Call(call) = &inner.kind
            && !call.optional
            && let Kind::Member(m) = &call.callee.kind
            && m.optional
            && !has_chain(&m.object)
        {
            return self.optional_method(e, call, m, result);
        }
        let n = self.next();
        let mark = self.mark();
        self.links(inner, false);
        match result {
            Result_::Looked | Result_::Ignored | Result_::Awaited => {}
            Result_::Shared => {
                let pre = format!("{}(", self.own("share"));
                self.wrap(n, e.span, &pre, ")");
            }
            Result_::Given | Result_::Kept => {
                let pre = format!("{}(", self.own("lend"));
                self.wrap(n, e.span, &pre, ")");
            }
            Result_::Into(slot) => {
                let drops = self.flush(mark, &slot);
                self.retain(n, e, &slot, &drops);
            }
        }
    }

    /// `o?.m(a)`: `((r = o) == null ? undefined : r.m(a))`.
    fn optional_method(&mut self, e: &'t Expr, call: &'t Call, m: &'t Member, result: Result_) {
        let n = self.next();
        let inner = self.next();
        let mark = self.mark();
        let operand = self.held(&m.object);
        let receiver = self.raw();
        let function = self.raw();
        let text = quote(&call.text);
        let named = if operand.check { vec![receiver.clone()] } else { vec![] };
        let link = m.object.span.end;
        let at = self.skip_link(link);
        // Text from the object to the property: `?.name` or `?.[key]`.
        let (pre, post);
        let mut slot_text = String::new();
        match &result {
            Result_::Into(slot) if slot.fresh => {
                slot_text = slot.name.clone();
                pre = format!("{slot_text} = {}(", self.own("own"));
                post = format!(", {function})");
            }
            Result_::Into(slot) => {
                slot_text = slot.name.clone();
                pre = format!("{slot_text} = {}({}(", self.own("put"), self.own("own"));
                post = format!(", {function}), {slot_text})");
            }
            Result_::Ignored => {
                pre = format!("{}(", self.own("ignore"));
                post = format!(", {function})");
            }
            Result_::Given => {
                pre = format!("{}(", self.own("tail"));
                post = format!(", {function})");
            }
            Result_::Kept => {
                pre = format!("{}(", self.own("own"));
                post = format!(", {function})");
            }
            Result_::Shared => {
                pre = format!("{}(", self.own("share"));
                post = ")".to_owned();
            }
            Result_::Looked | Result_::Awaited => (pre, post) = (String::new(), String::new()),
        }
        // Where the chain stops, a slot that is not fresh still has to give up its old value.
        let stop = match &result {
            Result_::Into(slot) if !slot.fresh => {
                format!("{0} = {1}(void 0, {0})", slot.name, self.own("put"))
            }
            _ => "void 0".to_owned(),
        };
        let call_text = self.own("call");
        let fetch = if call.args.is_empty() {
            format!("{call_text}({}({function} = {receiver}", self.own("fn"))
        } else {
            format!("{call_text}({function} = {receiver}")
        };
        let computed = self.source.as_bytes().get(at as usize) == Some(&b'[');
        let dot = if computed { "" } else { "." };
        self.edits.replace(link, at, format!(") == null ? {stop} : {pre}{fetch}{dot}"));
        if let Some(key) = &m.computed {
            self.value(key);
        }
        if call.args.is_empty() {
            let known = named.iter().map(|t| format!(", {t}")).collect::<String>();
            self.edits.replace(call.open, call.open + 1, format!(", {text}{known}), {receiver}"));
        } else {
            self.edits.replace(call.open, call.open + 1, format!(", {receiver}, "));
            let ask = format!("{}({function}, {text}, ", self.own("askFetched"));
            self.arguments(call, &function, &ask, named, true);
        }
        let drops = match &result {
            Result_::Into(slot) => self.flush(mark, slot),
            _ => String::new(),
        };
        let (open, close) = if drops.is_empty() {
            ("(", format!("{post})"))
        } else {
            ("((", format!("{post}){drops}, {slot_text})"))
        };
        self.wrap(n, e.span, open, &close);
        let object = Span { start: m.object.span.start, end: m.object.span.start };
        self.wrap(inner, object, &format!("({receiver} = "), "");
    }

    /// Offset after `?.` of an optional link whose object ends at `from`.
    fn skip_link(&self, from: u32) -> u32 {
        let rest = &self.source[from as usize..];
        from + rest.find("?.").map_or(0, |n| n as u32 + 2)
    }

    /// Links of a chain that stays as it is: receivers and arguments are shared.
    fn links(&mut self, e: &'t Expr, called: bool) {
        match &e.kind {
            Kind::Call(call) => {
                self.links(&call.callee, true);
                self.give_away(call);
                call.args.iter().for_each(|a| self.share(&a.value));
            }
            Kind::Member(m) => {
                self.links(&m.object, called);
                m.computed.iter().for_each(|c| self.value(c));
            }
            _ if called => self.share(e),
            _ => {
                let _ = self.held(e);
            }
        }
    }
}

/// The accessor of tensors that a member read may run, if its result is a new handle.
fn view_of(m: &Member) -> Option<&str> {
    let name = m.name.as_deref()?;
    (matches!(name, "T" | "grad") && !m.is_super && !m.optional).then_some(name)
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

/// A function or class, perhaps in parentheses: an assignment would name it.
fn is_definition(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => is_definition(inner),
        Kind::Function(_) | Kind::Class(_) => true,
        _ => false,
    }
}

fn is_part(unit: &Unit) -> bool {
    matches!(unit.kind, UnitKind::Field | UnitKind::Default)
}

fn has_chain(e: &Expr) -> bool {
    match &e.kind {
        Kind::Call(c) => c.optional || has_chain(&c.callee),
        Kind::Member(m) => m.optional || has_chain(&m.object),
        _ => false,
    }
}

fn leads_to_member(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => leads_to_member(inner),
        Kind::Member(_) | Kind::Chain(_) => true,
        _ => false,
    }
}

/// Variables that an expression assigns.
fn assigned_in(e: &Expr, into: &mut HashSet<Sym>) {
    if let Kind::Assign(a) = &e.kind {
        match &a.target {
            Target::Var(sym, _) => {
                into.insert(*sym);
            }
            Target::Pattern(pattern) => into.extend(&pattern.vars),
            _ => {}
        }
    }
    e.children(&mut |c| assigned_in(c, into));
}

fn ends_abruptly(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Return(_) | StmtKind::Throw(_) | StmtKind::Break(_) | StmtKind::Continue(_) => {
            true
        }
        StmtKind::Block(list) => list.last().is_some_and(ends_abruptly),
        _ => false,
    }
}

/// Ends in `}` without being closed by it, as `x = function () {}`.
fn needs_semicolon(s: &Stmt) -> bool {
    matches!(
        s.kind,
        StmtKind::Expr(_) | StmtKind::Declare(_) | StmtKind::DoWhile(..) | StmtKind::Export(_)
    )
}

/// Text that keeps an assignment from naming a function.
fn guarded(e: &Expr) -> (&'static str, &'static str) {
    if is_definition(e) { ("(0, ", ")") } else { ("", "") }
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
