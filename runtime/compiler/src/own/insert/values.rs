//! Expressions, by what happens to their value.
//!
//! Invariant: subexpressions stay in place and in order. Deliberately not here: calls.

use super::{Inserter, Operand, Result_, Slot, quote, view_of};
use crate::own::modes::{direct_call, gives_tensor};
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    pub(super) fn effect(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Await(inner) if direct_call(inner).is_some() => {
                let _ = self.held_in_temp(e);
            }
            Kind::Construct(call) => self.construct(e, call, Result_::Ignored),
            Kind::Call(call) => self.call(e, call, Result_::Ignored),
            Kind::Optional(o) => self.optional(e, o, Self::effect),
            Kind::Assign(a) => self.assign(e, a),
            Kind::Paren(inner) => self.effect(inner),
            Kind::Sequence(list) => list.iter().for_each(|e| self.effect(e)),
            Kind::Conditional(parts) => {
                self.test(&parts[0]);
                self.effect(&parts[1]);
                self.effect(&parts[2]);
            }
            Kind::Logical(op, parts) => {
                match op {
                    Logic::Nullish => self.value(&parts[0]),
                    _ => self.test(&parts[0]),
                }
                self.effect(&parts[1]);
            }
            _ => self.value(e),
        }
    }

    /// Emits an expression of whose value only the truth counts: a call's result goes at once.
    pub(super) fn test(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Paren(inner) => self.test(inner),
            Kind::Optional(o) => self.optional(e, o, Self::test),
            Kind::Call(call) if !e.is_plain(&self.tree.vars) => {
                self.call(e, call, Result_::Ignored);
            }
            Kind::Logical(Logic::And | Logic::Or, parts) => {
                parts.iter().for_each(|e| self.test(e));
            }
            _ => self.value(e),
        }
    }

    /// Emits an expression whose value is looked at or goes on uncounted.
    pub(super) fn value(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Plain | Kind::Global | Kind::This | Kind::Function(_) | Kind::Unsupported(_) => {}
            Kind::Read(sym) => {
                let _ = self.read(e, *sym);
            }
            Kind::Operator(list) => {
                for (i, e) in list.iter().enumerate() {
                    // Its conversion waits for the operands after it, or uses a tensor up.
                    if list[i + 1..].iter().any(Expr::has_effects) || gives_tensor(e) {
                        let _ = self.held(e);
                    } else {
                        self.value(e);
                    }
                }
            }
            Kind::Literal { items, .. } => {
                for i in items {
                    if i.spread {
                        self.share_iterated(&i.value);
                    } else {
                        self.share(&i.value);
                    }
                }
            }
            Kind::Inspect(list) => {
                for e in list {
                    let _ = self.held(e);
                }
            }
            Kind::InstanceOf(parts) => self.instance_of(parts),
            Kind::Store(list) => list.iter().for_each(|e| self.share(e)),
            Kind::Class(list) => list.iter().for_each(|e| self.class_part(e)),
            Kind::New(list) => {
                for (i, part) in list.iter().enumerate() {
                    match &part.kind {
                        Kind::Member(m) if i == 0 => {
                            match m.object.kind {
                                // Before the call, whose error then names the variable.
                                Kind::Read(sym) => {
                                    if self.may_be_unshared(sym) {
                                        let (n, share) = (self.next(), self.own("share"));
                                        let pre = format!("({share}({}), ", self.var(sym).name);
                                        self.wrap(n, e.span, &pre, ")");
                                    }
                                    self.value(&m.object);
                                }
                                // In parentheses: `new f(x).C()` is `(new f(x)).C()`.
                                _ => {
                                    let n = self.next();
                                    self.share(&m.object);
                                    self.wrap(n, m.object.span, "(", ")");
                                }
                            }
                            m.computed.iter().for_each(|c| self.value(c));
                        }
                        _ if i == 0 => self.value(part),
                        _ => self.share(part),
                    }
                }
            }
            Kind::Call(call) => self.call(e, call, Result_::Looked),
            Kind::Member(m) if view_of(m).is_some() => {
                let _ = self.held_in_temp(e);
            }
            Kind::Member(m) => self.member(m),
            Kind::Deleted(m) => self.deleted(e, m),
            Kind::Assign(a) => self.assign(e, a),
            Kind::Conditional(parts) => {
                self.test(&parts[0]);
                self.value(&parts[1]);
                self.value(&parts[2]);
            }
            Kind::Logical(_, parts) => parts.iter().for_each(|e| self.value(e)),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.value(e)),
            Kind::Paren(inner) => self.value(inner),
            Kind::Chain(inner) => self.chain(e, inner, Result_::Looked),
            Kind::Optional(o) => self.optional(e, o, Self::value),
            Kind::Link => {
                let _ = self.link(e);
            }
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

    /// A read of a variable as an operand.
    pub(super) fn read(&mut self, e: &'t Expr, sym: Sym) -> Operand {
        let var = self.var(sym);
        let named = |check| Operand { text: Some(var.name.to_string()), check, slot: None };
        match var.mode {
            Mode::Shared { .. } if var.imported => named(true),
            Mode::Plain | Mode::Shared { .. } => Operand::default(),
            Mode::Borrowed | Mode::Kept { .. } | Mode::Lent { .. } => named(true),
            Mode::Slot { .. } if !self.unstable.contains(sym) => {
                let slot = self.slot_of(sym);
                self.busy.push(slot.clone());
                if self.live.last.contains(&e.span.start) {
                    self.pending.push(slot.clone());
                }
                Operand { slot: Some(slot), ..named(true) }
            }
            Mode::Slot { .. } | Mode::Cell => {
                let slot = self.temp();
                self.own_into(e, &slot);
                Operand { text: Some(slot.name.clone()), check: true, slot: Some(slot.name) }
            }
        }
    }

    /// Emits an operand, which stays held until `pending` is flushed.
    pub(super) fn held(&mut self, e: &'t Expr) -> Operand {
        if e.is_plain(&self.tree.vars) {
            self.value(e);
            return Operand::default();
        }
        match &e.kind {
            Kind::Read(sym) => self.read(e, *sym),
            Kind::This => Operand { text: Some("this".to_owned()), check: true, slot: None },
            Kind::Paren(inner) => self.held(inner),
            Kind::Link => self.link(e),
            Kind::Call(_)
            | Kind::Conditional(_)
            | Kind::Logical(..)
            | Kind::Sequence(_)
            | Kind::Optional(_)
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

    pub(super) fn held_in_temp(&mut self, e: &'t Expr) -> Operand {
        // Operands of `e` are flushed when `e` is in its slot, the slot itself later.
        let mark = self.pending.len();
        let slot = self.temp();
        self.temp_spans.push((slot.name.clone(), e.span));
        let own = self.pending.pop().unwrap_or_default();
        self.own_into(e, &slot);
        self.pending.insert(mark, own);
        Operand { text: Some(slot.name.clone()), check: true, slot: Some(slot.name) }
    }

    /// Emits an expression so that its value, with one count, ends up in a slot too.
    pub(super) fn own_into(&mut self, e: &'t Expr, slot: &Slot) {
        match &e.kind {
            Kind::Paren(inner) => self.own_into(inner, slot),
            Kind::Call(call) => self.call(e, call, Result_::Into(slot.clone())),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.own_into(e, slot)),
            Kind::Conditional(parts) if !e.is_plain(&self.tree.vars) => {
                self.test(&parts[0]);
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
            Kind::Optional(o) => self.optional_into(e, o, slot),
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
            Kind::Literal { items, countable: true, shape } if !e.is_plain(&self.tree.vars) => {
                let n = self.next();
                let mark = self.mark();
                self.literal(items, *shape);
                let drops = self.flush(mark, slot);
                self.take(n, e, slot, shape.stamp(), &drops);
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
                } else if self.names.is_temp(&slot.name) {
                    // A consumer names the operand by its slot, whichever branch it came from.
                    let pre = format!("({} = {}(", slot.name, self.own("hold"));
                    self.wrap(n, e.span, &pre, "))");
                }
            }
        }
    }

    /// `(slot = hold(E), drops, slot)`.
    pub(super) fn retain(&mut self, n: i32, e: &Expr, slot: &Slot, drops: &str) {
        self.take(n, e, slot, "hold", drops);
    }

    /// `(slot = operation(E), drops, slot)`.
    pub(super) fn take(&mut self, n: i32, e: &Expr, slot: &Slot, operation: &str, drops: &str) {
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
    pub(super) fn view(&mut self, e: &'t Expr, m: &'t Member, slot: &Slot) {
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
        self.wrap_from(n, e.span, &pre, &post, m.at);
    }

    /// Emits a value that goes where nobody counts.
    pub(super) fn share(&mut self, e: &'t Expr) {
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
            | Kind::Optional(_)
            | Kind::Chain(_) => true,
            Kind::Link => {
                let Some(Operand { text: Some(text), .. }) = self.links.get(&e.span.start) else {
                    return;
                };
                let text = format!("{}({text})", self.own("share"));
                let n = self.next();
                return self.wrap(n, e.span, &text, "");
            }
            _ => false,
        };
        let n = self.next();
        self.value(e);
        if needed {
            let pre = format!("{}(", self.own("share"));
            self.wrap(n, e.span, &pre, ")");
        }
    }

    pub(super) fn may_be_unshared(&self, sym: Sym) -> bool {
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
    pub(super) fn literal(&mut self, items: &'t [Argument], shape: Shape) {
        for (i, item) in items.iter().enumerate() {
            if item.spread {
                // What runs later could take out of it what the literal has copied.
                let kept = items[i + 1..].iter().any(|i| i.spread || !i.value.runs_no_code());
                self.spread_item(&item.value, shape != Shape::List, kept);
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

    pub(super) fn shorthand(&mut self, e: &'t Expr) {
        let Kind::Read(sym) = &e.kind else { return };
        let n = self.next();
        let operand = self.read(e, *sym);
        if operand.text.is_some_and(|t| self.var(*sym).name != t) {
            let pre = format!("{}: ", self.var(*sym).name);
            self.wrap(n, e.span, &pre, "");
        }
    }

    /// Emits a value that is returned.
    pub(super) fn give(&mut self, e: &'t Expr) {
        if self.shares_results() {
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
                self.test(&parts[0]);
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
                    && !self.unstable.contains(*sym) =>
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
            | Kind::Optional(_)
            | Kind::Call(_)
            | Kind::Construct(_)
            | Kind::Yield(_)
            | Kind::New(_)
            | Kind::Await(_) => {
                let n = self.next();
                let _ = self.held_in_temp(e);
                self.wrap(n, e.span, &lend, ")");
            }
            Kind::Literal { items, countable: true, shape } => {
                let n = self.next();
                self.literal(items, *shape);
                let lit = self.own(shape.stamp());
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
    pub(super) fn sequence(&mut self, list: &'t [Expr], last: impl FnOnce(&mut Self, &'t Expr)) {
        if let Some((end, before)) = list.split_last() {
            before.iter().for_each(|e| self.effect(e));
            last(self, end);
        }
    }

    pub(super) fn member(&mut self, m: &'t Member) {
        self.behind(m);
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

    /// Emits a value that a variable keeps for ever.
    pub(super) fn keep(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Paren(inner) => self.keep(inner),
            Kind::Sequence(list) => self.sequence(list, |i, e| i.keep(e)),
            Kind::Call(call) => self.call(e, call, Result_::Kept),
            Kind::Optional(o) => self.optional(e, o, Self::keep),
            _ if e.is_plain(&self.tree.vars) => self.value(e),
            Kind::Store(_) | Kind::Class(_) | Kind::New(_) | Kind::Yield(_) => self.value(e),
            Kind::Construct(call) => self.construct(e, call, Result_::Kept),
            Kind::Literal { items, countable: true, shape } => {
                let n = self.next();
                self.literal(items, *shape);
                let pre = format!("{}(", self.own(shape.stamp()));
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
}

fn is_part(unit: &Unit) -> bool {
    matches!(unit.kind, UnitKind::Field | UnitKind::Default)
}
