//! Assignments: into variables, patterns, properties and private fields.
//!
//! Invariant: the new value is retained before the old one is given up.

use super::{Inserter, Slot, is_definition, quote};
use crate::own::modes::gives_tensor;
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    pub(super) fn assign(&mut self, e: &'t Expr, a: &'t Assign) {
        let _ = e;
        match a.op {
            AssignOp::Arithmetic => {
                if let Target::Member(member) = &a.target
                    && let Kind::Member(m) = &member.kind
                {
                    self.member(m);
                }
                if gives_tensor(&a.value) {
                    let _ = self.held(&a.value);
                } else {
                    self.value(&a.value);
                }
            }
            AssignOp::Simple | AssignOp::Logical(_) => {
                self.store(&a.target, &a.value, false);
            }
        }
    }

    /// Emits `value` so that it can be stored in `target`. `first`: by a declaration.
    pub(super) fn store(&mut self, target: &'t Target, value: &'t Expr, first: bool) {
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
                        Kind::Literal { items, countable: true, shape }
                            if var.filled && value.is_plain(&self.tree.vars) =>
                        {
                            let n = self.next();
                            self.literal(items, *shape);
                            self.take(n, value, &into, shape.stamp(), "");
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
                    Kind::Literal { items, countable: true, shape } if self.var(*sym).filled => {
                        let n = self.next();
                        self.literal(items, *shape);
                        self.wrap(n, value.span, &format!("{}(", self.own(shape.stamp())), ")");
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
            Target::Pattern(pattern) => {
                self.taken_apart(pattern, value);
                if pattern.retained {
                    self.binds(pattern, value, first);
                } else {
                    self.pattern_exprs(target);
                }
            }
        }
    }

    /// `o.p = V`: the container retains the new value and gives up the old one.
    pub(super) fn store_member(&mut self, m: &'t Member, value: &'t Expr) {
        let private = m.name.as_ref().is_some_and(|n| n.starts_with('#'));
        let field = m.name.as_deref().is_some_and(|n| !self.tree.private_accessors.contains(n));
        // So does a shorter length.
        let empties = self.is_empty(value) || m.name.as_deref() == Some("length");
        if private && field && matches!(m.object.kind, Kind::This) && self.counts_private {
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

    pub(super) fn is_empty(&self, e: &Expr) -> bool {
        matches!(
            self.source.get(e.span.start as usize..e.span.end as usize),
            Some("null" | "undefined" | "void 0")
        )
    }

    /// `this.#p = V`: only code of the class sees the place, which holds a count.
    pub(super) fn store_private(&mut self, m: &Member, value: &'t Expr) {
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

    pub(super) fn pattern_exprs(&mut self, target: &'t Target) {
        if let Target::Pattern(pattern) = target {
            for e in &pattern.members {
                // Its store is not counted.
                if let Kind::Member(m) = &e.kind {
                    self.share(&m.object);
                    m.computed.iter().for_each(|c| self.value(c));
                }
            }
            pattern.exprs.iter().for_each(|e| self.default(e));
        }
    }

    /// A default of a pattern, which may take it apart.
    fn default(&mut self, e: &'t Expr) {
        let (n, edits) = (self.next(), self.edits.len());
        self.share(e);
        if self.edits.len() > edits
            && let Some(Says { text, at }) = self.tree.apart.get(&e.span.start)
        {
            self.wrap_from(n, e.span, &format!("{}(", self.own("apart")), text, *at);
        }
    }
}
