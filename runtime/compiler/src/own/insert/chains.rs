//! Optional chains. Of those that stay as they are, receivers and arguments are shared.

use super::{Inserter, Operand, Result_, Slot, guarded};
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    pub(super) fn chain(&mut self, e: &'t Expr, inner: &'t Expr, result: Result_) {
        let n = self.next();
        let mark = self.mark();
        // Before the chain, so that an error in it still names the variable. Only where its value
        // is used as one: `delete o.p?.q` wants a reference.
        let early = match (base(inner, false), &result) {
            (_, Result_::Looked) | (None, _) => false,
            (Some(sym), _) => self.may_be_unshared(sym),
        };
        if early && let Some(sym) = base(inner, false) {
            let inside = self.next();
            let pre = format!("({}({}), ", self.own("share"), self.var(sym).name);
            self.wrap(inside, e.span, &pre, ")");
        }
        self.links(inner, false, early);
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

    /// `head?.rest`: `(head == null ? void 0 : rest)`, where `rest` starts from the name of `head`.
    pub(super) fn optional(
        &mut self,
        e: &'t Expr,
        o: &'t Optional,
        rest: impl FnOnce(&mut Self, &'t Expr),
    ) {
        let n = self.next();
        self.wrap(n, e.span, "(", ")");
        self.optional_parts(o, "void 0", rest);
    }

    /// The same, its value in a slot.
    pub(super) fn optional_into(&mut self, e: &'t Expr, o: &'t Optional, slot: &Slot) {
        let n = self.next();
        let mark = self.mark();
        // Where the chain stops, the slot still has to give up its old value.
        let stop = match slot.fresh {
            true => "void 0".to_owned(),
            false => format!("{0} = {1}(void 0, {0})", slot.name, self.own("put")),
        };
        self.optional_parts(o, &stop, |i, rest| i.own_into(rest, slot));
        let drops = self.flush(mark, slot);
        if drops.is_empty() {
            self.wrap(n, e.span, "(", ")");
        } else {
            let value = self.raw();
            self.wrap(n, e.span, &format!("({value} = ("), &format!("){drops}, {value})"));
        }
    }

    fn optional_parts(
        &mut self,
        o: &'t Optional,
        stop: &str,
        rest: impl FnOnce(&mut Self, &'t Expr),
    ) {
        let head = match &o.head.kind {
            Kind::Member(m) if o.method => {
                let n = self.next();
                let receiver = self.named(&m.object);
                m.computed.iter().for_each(|key| self.value(key));
                self.behind(m);
                let function = self.raw();
                self.wrap(n, o.head.span, &format!("({function} = "), ")");
                self.receivers.insert(o.at, receiver);
                Operand { text: Some(function), ..Operand::default() }
            }
            _ => self.named(&o.head),
        };
        self.edits.replace(o.head.span.end, o.at, format!(" == null ? {stop} : "));
        if !o.dot {
            self.edits.replace(o.at, o.at + 1, "");
        }
        // An operation in the rest may not end what its caller still holds.
        self.links.insert(o.at, Operand { slot: None, ..head });
        rest(self, &o.rest);
    }

    /// An operand with a name.
    fn named(&mut self, e: &'t Expr) -> Operand {
        let n = self.next();
        let mut operand = self.held(e);
        if operand.text.is_none() {
            let raw = self.raw();
            let (pre, post) = guarded(e);
            self.wrap(n, e.span, &format!("({raw} = {pre}"), &format!("{post})"));
            operand.text = Some(raw);
        }
        operand
    }

    /// What the rest of an optional chain starts from.
    pub(super) fn link(&mut self, e: &'t Expr) -> Operand {
        let head = self.links.get(&e.span.start).cloned().unwrap_or_default();
        let n = self.next();
        let text = head.text.clone().unwrap_or_default();
        self.wrap(n, e.span, &text, "");
        head
    }

    /// Links of a chain that stays as it is: receivers and arguments are shared. `early`: what it
    /// starts from is shared already.
    pub(super) fn links(&mut self, e: &'t Expr, called: bool, early: bool) {
        match &e.kind {
            Kind::Call(call) => {
                self.links(&call.callee, true, early);
                self.give_away(call);
                call.args.iter().for_each(|a| self.share(&a.value));
            }
            Kind::Member(m) => {
                self.links(&m.object, called, early);
                m.computed.iter().for_each(|c| self.value(c));
            }
            // `(o.m)?.()` calls with the receiver o.
            Kind::Paren(inner) | Kind::Chain(inner) if called && is_reference(inner) => {
                self.links(inner, called, early);
            }
            _ if early => self.value(e),
            _ if called => self.share(e),
            _ => {
                let _ = self.held(e);
            }
        }
    }
}

/// The variable that a chain with a call starts from.
fn base(e: &Expr, called: bool) -> Option<Sym> {
    match &e.kind {
        Kind::Call(c) => base(&c.callee, true),
        Kind::Member(m) => base(&m.object, called),
        Kind::Read(sym) => called.then_some(*sym),
        _ => None,
    }
}

fn is_reference(e: &Expr) -> bool {
    match &e.kind {
        Kind::Member(_) => true,
        Kind::Paren(inner) | Kind::Chain(inner) => is_reference(inner),
        _ => false,
    }
}

pub(super) fn leads_to_chain(e: &Expr) -> bool {
    matches!(without_parens(e).kind, Kind::Chain(_))
}

/// `(o.m)(x)` calls with the receiver `o`.
pub(super) fn without_parens(e: &Expr) -> &Expr {
    match &e.kind {
        Kind::Paren(inner)
            if matches!(without_parens(inner).kind, Kind::Member(_) | Kind::Chain(_)) =>
        {
            without_parens(inner)
        }
        _ => e,
    }
}
