//! Which variables can get a managed value.
//!
//! The program is read once. What it says of a variable may depend on others: a store of `f(x)` is
//! plain as long as `f` gives plain values only. Such a claim is looked at again when one of those
//! changes. Invariant: facts change in one direction, so the order does not matter, and each change
//! settles a claim that waited for it.

use super::links::Links;
use super::modes::{each_child, each_own_expr, gives_tensor, is_call, is_global};
use super::tree::*;

/// Finds out `managed`, `unclaimed`, `filled`, `passed`, `aliased`, `hinted` and `plain_calls` of
/// variables, and `plain_result` of functions.
pub(super) fn solve(units: &mut [Unit], vars: &mut [Var]) {
    let mut callers = Links::default();
    for (sym, var) in vars.iter().enumerate().filter(|(_, var)| var.plain_calls) {
        var.function.iter().for_each(|&unit| callers.add(unit, sym));
    }
    let count = vars.len();
    let mut flow = Flow {
        vars,
        callers,
        plain: vec![true; units.len()],
        has_this: units.iter().map(|u| u.kind == UnitKind::Function).collect(),
        claims: vec![],
        waiting: Links::default(),
        changed: vec![],
        is_changed: vec![false; count],
    };
    for (id, unit) in units.iter().enumerate() {
        unit.body.iter().for_each(|s| flow.statement(id, s));
    }
    flow.settle();
    let plain = flow.plain;
    for (unit, plain) in units.iter_mut().zip(plain) {
        unit.plain_result = plain;
    }
}

/// What is to be found out about a value.
#[derive(Clone, Copy)]
enum Claim {
    /// It is stored in the variable.
    Store(Sym),
    /// It gets into what the variable holds.
    Fill(Sym),
    /// The function returns it.
    Return(UnitId),
}

struct Flow<'t> {
    vars: &'t mut [Var],
    /// Variables whose calls give what the function returns.
    callers: Links,
    /// Functions that have returned plain values only.
    plain: Vec<bool>,
    /// Functions with a `this` of their own.
    has_this: Vec<bool>,
    /// Claims that wait for variables.
    claims: Vec<(Claim, &'t Expr)>,
    /// Claims to look at again when a variable changes.
    waiting: Links,
    changed: Vec<Sym>,
    is_changed: Vec<bool>,
}

impl<'t> Flow<'t> {
    fn statement(&mut self, id: UnitId, s: &'t Stmt) {
        match &s.kind {
            StmtKind::Declare(list) => {
                for d in list {
                    match (&d.target, &d.init) {
                        (Target::Var(sym, _), Some(init)) => self.store(*sym, init),
                        (Target::Pattern(pattern), _) => self.bind(pattern),
                        _ => {}
                    }
                }
            }
            StmtKind::ForEach { target: Target::Pattern(pattern), .. } => self.bind(pattern),
            StmtKind::Return(Some(e)) => self.claim(Claim::Return(id), e),
            _ => {}
        }
        each_own_expr(s, &mut |e, _| self.expr(e));
        each_child(s, &mut |c| self.statement(id, c));
    }

    fn bind(&mut self, pattern: &Pattern) {
        for &sym in &pattern.vars {
            self.vars[sym].aliased = true;
            self.change(sym, |var| (var.unclaimed, var.managed) = (true, true));
        }
    }

    fn store(&mut self, sym: Sym, value: &'t Expr) {
        self.vars[sym].hinted |= gives_tensor(value) || matches!(value.kind, Kind::Construct(_));
        // Its methods may fill it.
        if let Kind::Literal { items, .. } = &value.kind
            && items.iter().any(|i| matches!(i.value.kind, Kind::Function(f) if self.has_this[f]))
        {
            self.change(sym, |var| var.filled = true);
        }
        self.claim(Claim::Store(sym), value);
    }

    fn expr(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Call(call) => {
                self.pass(call);
                self.push(call);
            }
            Kind::Construct(call) => self.pass(call),
            Kind::Assign(a) => self.assign(a),
            _ => {}
        }
        e.children(&mut |c| self.expr(c));
    }

    fn pass(&mut self, call: &'t Call) {
        if is_global(&call.callee) {
            return;
        }
        for a in &call.args {
            if let Kind::Read(sym) = a.value.kind {
                self.change(sym, |var| var.passed = true);
            }
        }
    }

    fn push(&mut self, call: &'t Call) {
        if let Kind::Member(m) = &call.callee.kind
            && matches!(m.name.as_deref(), Some("push" | "unshift" | "set" | "add"))
            && let Kind::Read(sym) = m.object.kind
        {
            for a in &call.args {
                match a.spread {
                    true => self.change(sym, |var| var.filled = true),
                    false => self.claim(Claim::Fill(sym), &a.value),
                }
            }
        }
    }

    fn assign(&mut self, a: &'t Assign) {
        match &a.target {
            Target::Member(member) if a.op != AssignOp::Arithmetic => {
                if let Kind::Member(m) = &member.kind
                    && let Kind::Read(sym) = m.object.kind
                {
                    self.claim(Claim::Fill(sym), &a.value);
                }
            }
            Target::Var(sym, _) if a.op != AssignOp::Arithmetic => self.store(*sym, &a.value),
            Target::Pattern(pattern) => self.bind(pattern),
            _ => {}
        }
    }

    fn change(&mut self, sym: Sym, set: impl FnOnce(&mut Var)) {
        let facts = |v: &Var| (v.managed, v.plain_calls, v.filled, v.passed, v.unclaimed);
        let var = &mut self.vars[sym];
        let before = facts(var);
        set(var);
        if facts(var) != before && !std::mem::replace(&mut self.is_changed[sym], true) {
            self.changed.push(sym);
        }
    }

    /// Looks at a claim, now and whenever something changes that it depends on.
    fn claim(&mut self, claim: Claim, value: &'t Expr) {
        if self.look(claim, value) {
            return;
        }
        let number = self.claims.len();
        self.claims.push((claim, value));
        if let Claim::Store(sym) = claim {
            self.waiting.add(sym, number);
        }
        self.wait(number, value);
    }

    /// A claim waits for the variables by which a value may be plain.
    fn wait(&mut self, claim: usize, value: &Expr) {
        match &value.kind {
            Kind::Read(sym) => self.waiting.add(*sym, claim),
            Kind::Call(call) => {
                if let Kind::Read(sym) = call.callee.kind {
                    self.waiting.add(sym, claim);
                }
            }
            Kind::Construct(call) if call.makes_collection() => {
                call.args.iter().for_each(|a| self.wait(claim, &a.value));
            }
            Kind::Paren(inner) => self.wait(claim, inner),
            Kind::Sequence(list) => list.last().iter().for_each(|e| self.wait(claim, e)),
            Kind::Literal { items, .. } => items.iter().for_each(|i| self.wait(claim, &i.value)),
            Kind::Conditional(parts) => parts[1..].iter().for_each(|e| self.wait(claim, e)),
            Kind::Logical(_, parts) => parts.iter().for_each(|e| self.wait(claim, e)),
            Kind::Assign(a) => self.wait(claim, &a.value),
            _ => {}
        }
    }

    fn settle(&mut self) {
        while let Some(sym) = self.changed.pop() {
            self.is_changed[sym] = false;
            for number in self.waiting.of(sym).collect::<Vec<_>>() {
                let (claim, value) = self.claims[number];
                self.look(claim, value);
            }
        }
    }

    /// Whether nothing can change any more.
    fn look(&mut self, claim: Claim, value: &'t Expr) -> bool {
        match claim {
            Claim::Store(sym) => self.look_at_store(sym, value),
            Claim::Fill(sym) => {
                let settled = self.vars[sym].filled || !value.is_plain(self.vars);
                if settled {
                    self.change(sym, |var| var.filled = true);
                }
                settled
            }
            Claim::Return(unit) => {
                let settled = !self.plain[unit] || !value.is_plain(self.vars);
                if settled && std::mem::replace(&mut self.plain[unit], false) {
                    for sym in self.callers.of(unit).collect::<Vec<_>>() {
                        self.change(sym, |var| var.plain_calls = false);
                    }
                }
                settled
            }
        }
    }

    fn look_at_store(&mut self, sym: Sym, value: &'t Expr) -> bool {
        let var = &self.vars[sym];
        let aliases = !is_call(value);
        if var.unclaimed && var.managed && (var.aliased || !aliases) {
            return true;
        }
        let empty = value.is_empty_literal();
        let made = empty || matches!(value.kind, Kind::Literal { .. });
        let filled = var.filled && made || var.passed && empty;
        let bare = empty || value.is_bare(self.vars);
        let managed = filled || !(empty || value.is_plain(self.vars));
        self.vars[sym].aliased |= managed && aliases;
        self.change(sym, |var| {
            var.unclaimed |= !bare;
            var.managed |= managed;
        });
        !bare && managed
    }
}
