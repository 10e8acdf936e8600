//! Statements: what is dropped after each, and what an exception leaves behind.
//!
//! Invariant: a slot is dropped after the last statement that needs it, on every path.

use std::collections::BTreeSet;

use super::{AFTER, Inserter, guarded};
use crate::own::liveness;
use crate::own::sets::Set;
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    pub(super) fn statements(&mut self, list: &'t [Stmt]) {
        for (i, s) in list.iter().enumerate() {
            let first = self.edits.len();
            let flush = self.statement(s);
            self.after(s, flush);
            let before = i.checked_sub(1).map(|i| &list[i]);
            self.separate(before, s, first);
        }
    }

    /// Ends what only the end of a line ended, where the next statement now begins with a
    /// parenthesis; `first`: the first edit of that.
    fn separate(&mut self, before: Option<&Stmt>, s: &Stmt, first: usize) {
        let end = before.map_or(s.span.start, |b| b.span.end);
        let text = self.source[..end as usize].trim_end();
        // Without a statement before there may be a directive.
        let open = match before {
            Some(_) => !text.ends_with(';'),
            None => text.ends_with(['"', '\'']),
        };
        if open && self.edits.opens(first, s.span.start) {
            let rank = if before.is_some() { AFTER } else { i32::MIN };
            self.edits.insert(end, rank, ";", end);
        }
    }

    /// Drops after a statement: temporaries, and variables that are not needed any more.
    pub(super) fn after(&mut self, s: &Stmt, flush: Vec<String>) {
        let binds = std::mem::take(&mut self.binds);
        if ends_abruptly(s) {
            return;
        }
        let mut dead: Vec<String> = flush;
        let needed = self.live.after.get(&liveness::key(s)).cloned().unwrap_or_default();
        let mut mentioned = BTreeSet::new();
        self.mentions(s, &mut mentioned);
        for sym in mentioned {
            if !needed.contains(sym) {
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

    pub(super) fn mentions(&self, s: &Stmt, into: &mut BTreeSet<Sym>) {
        crate::own::modes::each_expr(s, &mut |e, _| self.mentions_in(e, into));
        crate::own::modes::each_declarator(s, &mut |d| {
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
    pub(super) fn heads(&self, s: &Stmt, into: &mut BTreeSet<Sym>) {
        if let StmtKind::ForEach { target: Target::Pattern(pattern), .. } = &s.kind {
            into.extend(pattern.vars.iter().filter(|&&sym| self.is_slot(sym)));
        }
        crate::own::modes::each_child(s, &mut |c| self.heads(c, into));
    }

    pub(super) fn mentions_in(&self, e: &Expr, into: &mut BTreeSet<Sym>) {
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
    pub(super) fn statement(&mut self, s: &'t Stmt) -> Vec<String> {
        match &s.kind {
            StmtKind::Nothing
            | StmtKind::Unsupported(_)
            | StmtKind::Break(_)
            | StmtKind::Continue(_)
            | StmtKind::Return(None) => {}
            StmtKind::Expr(e) => return self.top(e, |i, e| i.effect(e)),
            StmtKind::Declare(list) => {
                let mut flush: Vec<String> = vec![];
                for d in list {
                    self.superseded(s, d, &mut flush);
                    let early = self.next();
                    self.bind_before(d, early);
                    let done = self.declarator(d);
                    // They are dropped after the statement: the next declarator needs others.
                    self.keep_from_use(&done);
                    flush.extend(done);
                }
                self.release(&flush);
                return flush;
            }
            StmtKind::Block(list) => self.statements(list),
            StmtKind::If(test, a, b) => {
                self.flushed(test, |i, e| i.test(e));
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
                    self.flushed(test, |i, e| i.test(e));
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
                self.flushed(right, |i, e| i.share_iterated(e));
                self.pattern_exprs(target);
                self.nested(body, "");
            }
            StmtKind::While(test, body) | StmtKind::DoWhile(body, test) => {
                self.flushed(test, |i, e| i.test(e));
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
                        self.flushed(test, |i, e| i.test(e));
                    }
                    self.statements(&case.body);
                }
            }
            StmtKind::Try { block, handler, finalizer } => {
                let given = match finalizer {
                    Some(_) if !self.unit.is_async && !self.shares_results() => Some(self.driver()),
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
    pub(super) fn override_at(&mut self, s: &Stmt, given: &str) {
        if matches!(s.kind, StmtKind::Return(_)) {
            let text = format!("{{{given} = {}({given});", self.own("drop"));
            self.edits.insert(s.span.start, i32::MIN + 1, text, s.span.start);
            self.edits.insert(s.span.end, AFTER + 1, "}", s.span.start);
        }
        if !matches!(s.kind, StmtKind::Try { .. }) {
            crate::own::modes::each_child(s, &mut |c| self.override_at(c, given));
        }
    }

    /// Slots of a declaration that one of its next declarators fills: that gives up the old value itself.
    fn superseded(&mut self, s: &Stmt, d: &Declarator, flush: &mut Vec<String>) {
        if flush.is_empty() {
            return;
        }
        let mut given = Set::default();
        d.init.iter().for_each(|e| assigned_in(e, &mut given));
        match &d.target {
            Target::Var(sym, _) => _ = given.insert(*sym),
            Target::Pattern(pattern) => pattern.vars.iter().for_each(|&v| _ = given.insert(v)),
            _ => {}
        }
        let mut mentioned = BTreeSet::new();
        if !given.is_empty() {
            self.mentions(s, &mut mentioned);
        }
        for sym in mentioned.into_iter().filter(|&sym| given.contains(sym)) {
            let slot = self.slot_of(sym);
            flush.retain(|s| *s != slot);
        }
    }

    /// Emits a statement that stands alone below another, with `first` before it.
    pub(super) fn nested(&mut self, s: &'t Stmt, first: &str) {
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
        let mut drops = std::mem::take(&mut self.binds);
        drops.extend(flush.iter().map(|s| format!("{s} = {drop}({s});")));
        if first.is_empty() && drops.is_empty() {
            return;
        }
        self.edits.insert(at, i32::MIN + 1, format!("{{{first}"), at);
        let close = if ends_abruptly(s) { "}".to_owned() } else { format!(";{drops}}}") };
        self.edits.insert(s.span.end, AFTER, close, at);
    }

    /// What an exception left in slots that nobody needs any more.
    pub(super) fn handler(&mut self, block: &'t [Stmt], handler: &'t Handler) {
        for e in &handler.pattern.exprs {
            self.flushed(e, |i, e| i.share(e));
        }
        self.statements(&handler.body);
        let needed = self.live.handlers.get(&handler.start).cloned().unwrap_or_default();
        let mut mentioned = BTreeSet::new();
        block.iter().for_each(|s| self.mentions(s, &mut mentioned));
        let mut dead: Vec<String> =
            mentioned.iter().filter(|&&s| !needed.contains(s)).map(|&s| self.slot_of(s)).collect();
        let temps = (1..=self.temps).map(|n| self.names.temp(n));
        dead.extend(temps.filter(|t| !self.reserved.contains(t)));
        let drop = self.own("drop");
        let text: String = dead.iter().map(|s| format!("{s} = {drop}({s});")).collect();
        if !text.is_empty() {
            self.edits.insert(handler.start, i32::MIN, text, handler.start);
        }
    }

    pub(super) fn declarator(&mut self, d: &'t Declarator) -> Vec<String> {
        match &d.init {
            Some(init) => self.top(init, |i, e| i.store(&d.target, e, true)),
            None => vec![],
        }
    }

    pub(super) fn for_declarator(&mut self, d: &'t Declarator) {
        if let Some(init) = &d.init {
            self.flushed(init, |i, e| i.store(&d.target, e, true));
        }
    }

    /// Emits a whole expression. Gives the slots that are to be dropped after it.
    pub(super) fn top(
        &mut self,
        e: &'t Expr,
        emit: impl FnOnce(&mut Self, &'t Expr),
    ) -> Vec<String> {
        let mut assigned = Set::default();
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
    pub(super) fn release(&mut self, slots: &[String]) {
        for n in self.names.temps(slots) {
            if !self.free.contains(&n) {
                self.free.push(n);
            }
        }
        self.raws_in_use = 0;
    }

    /// Temporaries that the next expression must not use.
    pub(super) fn keep_from_use(&mut self, slots: &[String]) {
        let kept = self.names.temps(slots);
        self.free.retain(|n| kept.binary_search(n).is_err());
    }

    /// Emits an expression where no statement can follow: drops happen inside it.
    pub(super) fn flushed(&mut self, e: &'t Expr, emit: impl FnOnce(&mut Self, &'t Expr)) {
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
}

/// Variables that an expression assigns.
fn assigned_in(e: &Expr, into: &mut Set) {
    if let Kind::Assign(a) = &e.kind {
        match &a.target {
            Target::Var(sym, _) => {
                into.insert(*sym);
            }
            Target::Pattern(pattern) => pattern.vars.iter().for_each(|&sym| _ = into.insert(sym)),
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
    match &s.kind {
        StmtKind::If(_, s, None) | StmtKind::If(_, _, Some(s)) => needs_semicolon(s),
        StmtKind::For { body, .. }
        | StmtKind::ForEach { body, .. }
        | StmtKind::While(_, body)
        | StmtKind::Label(_, body) => needs_semicolon(body),
        StmtKind::Expr(_)
        | StmtKind::Declare(_)
        | StmtKind::DoWhile(..)
        | StmtKind::Return(_)
        | StmtKind::Throw(_)
        | StmtKind::Export(_) => true,
        _ => false,
    }
}
