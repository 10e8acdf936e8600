//! Which slots are still needed where: backward liveness over one function's structure.
//!
//! Only variables with a slot take part; their value is needed as long as the user's variable may
//! be read. Too live is safe, too dead is not: exceptions can leave from any expression inside
//! `try`, jumps run enclosing `finally` blocks, and all of those count as successors.

use super::hash::{NumberMap, NumberSet};
use super::tree::*;

/// A set of variables.
pub(crate) type Live = super::sets::Set;

/// Results for one function.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// Offsets of reads after which the variable is not needed.
    pub last: NumberSet<u32>,
    /// Variables needed after a statement, by the statement's address.
    pub after: NumberMap<usize, Live>,
    /// Variables needed when a handler starts, by the offset of its body.
    pub handlers: NumberMap<u32, Live>,
    /// Offsets of assignment targets whose new value is not needed.
    pub dead_stores: NumberSet<u32>,
}

pub(crate) fn key(s: &Stmt) -> usize {
    std::ptr::from_ref(s) as usize
}

/// Analyses a unit. `slots` tells which variables take part.
pub(crate) fn analyse(unit: &Unit, slots: &dyn Fn(Sym) -> bool) -> Liveness {
    let mut walk = Walk {
        slots,
        result: Liveness::default(),
        thrown: vec![Live::default()],
        finals: vec![],
        targets: vec![],
        pending_label: vec![],
        heads: NumberMap::default(),
    };
    walk.list(&unit.body, Live::default());
    walk.result
}

struct Target_ {
    labels: Vec<Name>,
    is_loop: bool,
    on_break: Live,
    on_continue: Live,
}

struct Walk<'s> {
    slots: &'s dyn Fn(Sym) -> bool,
    result: Liveness,
    /// What is needed when an exception leaves this place.
    thrown: Vec<Live>,
    /// What enclosing `finally` blocks need.
    finals: Vec<Live>,
    targets: Vec<Target_>,
    pending_label: Vec<Name>,
    /// What a turn of a loop needs, by the loop's address.
    heads: NumberMap<usize, Live>,
}

impl Walk<'_> {
    fn list(&mut self, list: &[Stmt], mut out: Live) -> Live {
        for s in list.iter().rev() {
            out = self.statement(s, out);
        }
        out
    }

    fn may_throw(&self, mut live: Live) -> Live {
        if let Some(thrown) = self.thrown.last() {
            live.extend(thrown);
        }
        live
    }

    fn jump(&self, mut live: Live) -> Live {
        for needed in &self.finals {
            live.extend(needed);
        }
        live
    }

    fn statement(&mut self, s: &Stmt, out: Live) -> Live {
        let out = self.may_throw(out);
        let labels = match s.kind {
            StmtKind::Label(..) => vec![],
            _ => std::mem::take(&mut self.pending_label),
        };
        self.result.after.insert(key(s), out.clone());
        if !labels.is_empty() && !s.repeats() {
            // Whatever has a label can be left by it: a `try` and a condition, too.
            return self.target(labels, false, out.clone(), Live::default(), |w| {
                w.unlabelled(s, vec![], out)
            });
        }
        self.unlabelled(s, labels, out)
    }

    /// `labels`: those of a loop.
    fn unlabelled(&mut self, s: &Stmt, labels: Vec<Name>, out: Live) -> Live {
        match &s.kind {
            StmtKind::Nothing => out,
            StmtKind::Unsupported(_) => out,
            StmtKind::Expr(e) | StmtKind::Export(e) => self.expr(e, out),
            StmtKind::Declare(list) => list.iter().rev().fold(out, |out, d| {
                let out = if d.idle { out } else { self.bind(&d.target, out) };
                match &d.init {
                    Some(e) => self.expr(e, out),
                    None => out,
                }
            }),
            StmtKind::Block(list) => self.list(list, out),
            StmtKind::If(test, a, b) => {
                let mut either = self.statement(a, out.clone());
                either.extend(&match b {
                    Some(b) => self.statement(b, out),
                    None => out,
                });
                self.expr(test, either)
            }
            StmtKind::For { .. }
            | StmtKind::ForEach { .. }
            | StmtKind::While(..)
            | StmtKind::DoWhile(..) => self.repeat(s, labels, out),
            StmtKind::Label(name, body) => {
                self.pending_label.push(name.clone());
                self.statement(body, out)
            }
            StmtKind::Break(label) => {
                let target = self.targets.iter().rev().find(|t| match label {
                    Some(l) => t.labels.contains(l),
                    None => t.is_loop || t.labels.iter().any(|l| l.is_empty()),
                });
                self.jump(target.map_or_else(|| self.everything(), |t| t.on_break.clone()))
            }
            StmtKind::Continue(label) => {
                let target = self
                    .targets
                    .iter()
                    .rev()
                    .find(|t| t.is_loop && label.as_ref().is_none_or(|l| t.labels.contains(l)));
                self.jump(target.map_or_else(|| self.everything(), |t| t.on_continue.clone()))
            }
            StmtKind::Return(e) => {
                let out = self.may_throw(self.jump(Live::default()));
                match e {
                    Some(e) => self.expr(e, out),
                    None => out,
                }
            }
            StmtKind::Throw(e) => {
                let out = self.may_throw(Live::default());
                self.expr(e, out)
            }
            StmtKind::Switch(e, cases) => self.switch(e, cases, out),
            StmtKind::Try { block, handler, finalizer } => {
                self.try_statement(block, handler.as_ref(), finalizer.as_deref(), out)
            }
        }
    }

    /// All that any jump target or handler needs: for jumps that are not understood.
    fn everything(&self) -> Live {
        let mut live = Live::default();
        for t in &self.targets {
            live.extend(&t.on_break);
            live.extend(&t.on_continue);
        }
        live
    }

    fn target(
        &mut self,
        labels: Vec<Name>,
        is_loop: bool,
        on_break: Live,
        on_continue: Live,
        inside: impl FnOnce(&mut Self) -> Live,
    ) -> Live {
        self.targets.push(Target_ { labels, is_loop, on_break, on_continue });
        let live = inside(self);
        self.targets.pop();
        live
    }

    fn repeat(&mut self, s: &Stmt, labels: Vec<Name>, out: Live) -> Live {
        // A turn of a loop around this one only adds to what is needed: found before, found again.
        let mut head = self.heads.get(&key(s)).cloned().unwrap_or_default();
        loop {
            let entry = self.once(s, labels.clone(), out.clone(), head.clone());
            if entry.is_subset(&head) {
                break;
            }
            head.extend(&entry);
        }
        self.heads.insert(key(s), head.clone());
        match &s.kind {
            StmtKind::For { init: Some(init), .. } => self.statement(init, head),
            StmtKind::ForEach { right, .. } => self.expr(right, head),
            _ => head,
        }
    }

    /// One pass over a loop; `head` is what the next turn needs. Gives what this turn needs.
    fn once(&mut self, s: &Stmt, labels: Vec<Name>, out: Live, head: Live) -> Live {
        match &s.kind {
            StmtKind::For { test, update, body, .. } => {
                let next = match update {
                    Some(update) => self.expr(update, head),
                    None => head,
                };
                let mut entry = self
                    .target(labels, true, out.clone(), next.clone(), |w| w.statement(body, next));
                if let Some(test) = test {
                    entry.extend(&out);
                    entry = self.expr(test, entry);
                }
                entry
            }
            StmtKind::While(test, body) => {
                let mut entry = self
                    .target(labels, true, out.clone(), head.clone(), |w| w.statement(body, head));
                entry.extend(&out);
                self.expr(test, entry)
            }
            StmtKind::DoWhile(body, test) => {
                let mut again = head;
                again.extend(&out);
                let tested = self.expr(test, again);
                self.target(labels, true, out, tested.clone(), |w| w.statement(body, tested))
            }
            StmtKind::ForEach { target, body, .. } => {
                // The iterator's return method may throw or run anything on the way out.
                let mut next = self.may_throw(head);
                next.extend(&out);
                let entry = self
                    .target(labels, true, out, next.clone(), |w| w.statement(body, next.clone()));
                let mut entry = self.bind(target, entry);
                entry.extend(&next);
                entry
            }
            _ => head,
        }
    }

    fn switch(&mut self, e: &Expr, cases: &[Case], out: Live) -> Live {
        let mut all = out.clone();
        let after = out.clone();
        self.target(vec![Name::from("")], false, out, Live::default(), |w| {
            let mut next = after;
            for case in cases.iter().rev() {
                next = w.list(&case.body, next);
                all.extend(&next);
            }
            for case in cases.iter().rev() {
                if let Some(test) = &case.test {
                    let entry = w.expr(test, all.clone());
                    all.extend(&entry);
                }
            }
            w.expr(e, all)
        })
    }

    fn try_statement(
        &mut self,
        block: &[Stmt],
        handler: Option<&Handler>,
        finalizer: Option<&[Stmt]>,
        out: Live,
    ) -> Live {
        let mut after = out;
        if let Some(finalizer) = finalizer {
            // It runs on every way out, towards any target.
            let mut any = self.everything();
            any.extend(&after);
            for needed in &self.finals {
                any.extend(needed);
            }
            let any = self.may_throw(any);
            after = self.list(finalizer, any);
            self.finals.push(after.clone());
            self.thrown.push(after.clone());
        }
        let mut caught = None;
        if let Some(handler) = handler {
            let body = self.list(&handler.body, after.clone());
            self.result.handlers.insert(handler.start, body.clone());
            let mut entry = body;
            for e in handler.pattern.exprs.iter().rev() {
                let with = self.expr(e, entry.clone());
                entry.extend(&with);
            }
            caught = Some(entry);
        }
        let needed = match caught {
            Some(entry) => self.may_throw(entry),
            None => self.may_throw(Live::default()),
        };
        self.thrown.push(needed);
        let entry = self.list(block, after);
        let entry = self.may_throw(entry);
        self.thrown.pop();
        if finalizer.is_some() {
            self.thrown.pop();
            self.finals.pop();
        }
        entry
    }

    /// Effects of storing to a target, after the value is known.
    fn bind(&mut self, target: &Target, mut out: Live) -> Live {
        match target {
            Target::Var(sym, at) => {
                if (self.slots)(*sym) {
                    let needed = out.remove(*sym);
                    self.note(at.start, !needed, true);
                }
                self.may_throw(out)
            }
            Target::Global => out,
            Target::Member(member) => self.expr(member, out),
            Target::Pattern(pattern) => {
                if pattern.retained {
                    for sym in &pattern.vars {
                        out.remove(*sym);
                    }
                    return self.may_throw(out);
                }
                for e in pattern.members.iter().chain(&pattern.exprs).rev() {
                    let with = self.expr(e, out.clone());
                    out.extend(&with);
                }
                out
            }
        }
    }

    fn note(&mut self, at: u32, dead: bool, store: bool) {
        let set = if store { &mut self.result.dead_stores } else { &mut self.result.last };
        if dead {
            set.insert(at);
        } else {
            set.remove(&at);
        }
    }

    fn expr(&mut self, e: &Expr, out: Live) -> Live {
        let mut out = self.may_throw(out);
        match &e.kind {
            Kind::Read(sym) => {
                if (self.slots)(*sym) {
                    let needed = !out.insert(*sym);
                    self.note(e.span.start, !needed, false);
                }
                out
            }
            Kind::Conditional(parts) => {
                let mut either = self.expr(&parts[1], out.clone());
                either.extend(&self.expr(&parts[2], out));
                self.expr(&parts[0], either)
            }
            Kind::Logical(_, parts) => {
                let right = self.expr(&parts[1], out.clone());
                out.extend(&right);
                self.expr(&parts[0], out)
            }
            Kind::Optional(o) => {
                let rest = self.expr(&o.rest, out.clone());
                out.extend(&rest);
                self.expr(&o.head, out)
            }
            Kind::Assign(a) => self.assign(e, a, out),
            Kind::Call(call) => {
                // Behind the call it is read once more: who gives the result?
                if let Kind::Read(sym) = &call.callee.kind
                    && (self.slots)(*sym)
                {
                    out.insert(*sym);
                }
                self.children(e, out)
            }
            Kind::Chain(inner) => self.chain(inner, out.clone(), &out),
            _ => self.children(e, out),
        }
    }

    fn children(&mut self, e: &Expr, out: Live) -> Live {
        let mut children = vec![];
        e.children(&mut |c| children.push(c));
        children.into_iter().rev().fold(out, |out, c| self.expr(c, out))
    }

    /// A link of an optional chain; `skip` is needed where the chain stops early.
    fn chain(&mut self, e: &Expr, out: Live, skip: &Live) -> Live {
        match &e.kind {
            Kind::Call(call) => {
                let mut out = call.args.iter().rev().fold(out, |out, a| self.expr(&a.value, out));
                if call.optional {
                    out.extend(skip);
                }
                self.chain(&call.callee, out, skip)
            }
            Kind::Member(m) => {
                let mut out = match &m.computed {
                    Some(key) => self.expr(key, out),
                    None => out,
                };
                if m.optional {
                    out.extend(skip);
                }
                self.chain(&m.object, out, skip)
            }
            _ => self.expr(e, out),
        }
    }

    fn assign(&mut self, e: &Expr, a: &Assign, out: Live) -> Live {
        let _ = e;
        match (&a.target, a.op) {
            (Target::Var(..) | Target::Pattern(_) | Target::Global, AssignOp::Simple) => {
                let out = self.bind(&a.target, out);
                self.expr(&a.value, out)
            }
            (Target::Member(member), AssignOp::Simple | AssignOp::Arithmetic) => {
                let out = self.expr(&a.value, out);
                self.expr(member, out)
            }
            (Target::Member(member), AssignOp::Logical(_)) => {
                let mut either = self.expr(&a.value, out.clone());
                either.extend(&out);
                self.expr(member, either)
            }
            (Target::Var(sym, at), op) => {
                // Reads the old value; a logical assignment may keep it.
                let mut either = match op {
                    AssignOp::Logical(_) => out.clone(),
                    _ => Live::default(),
                };
                let mut stored = self.bind(&a.target, out);
                if op == AssignOp::Arithmetic && (self.slots)(*sym) {
                    // Converted after the right operand; its slot is not filled anew.
                    stored.insert(*sym);
                }
                either.extend(&self.expr(&a.value, stored));
                if (self.slots)(*sym) {
                    let needed = !either.insert(*sym);
                    self.note(at.start, !needed, false);
                }
                either
            }
            _ => {
                let with = self.expr(&a.value, out.clone());
                let mut either = out;
                either.extend(&with);
                either
            }
        }
    }
}
