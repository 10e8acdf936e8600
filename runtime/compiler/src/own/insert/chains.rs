//! Optional chains. Only `o?.m(a)` is counted; receivers and arguments of others are shared.

use super::calls::Ask;
use super::{Inserter, Result_, quote};
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    pub(super) fn chain(&mut self, e: &'t Expr, inner: &'t Expr, result: Result_) {
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

    /// `o?.m(a)`: `((r = o) == null ? undefined : r.m(a))`.
    pub(super) fn optional_method(
        &mut self,
        e: &'t Expr,
        call: &'t Call,
        m: &'t Member,
        result: Result_,
    ) {
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
            let ask = Ask { name: "askFetched", text: Some(text), last: None };
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
    pub(super) fn skip_link(&self, from: u32) -> u32 {
        let rest = &self.source[from as usize..];
        from + rest.find("?.").map_or(0, |n| n as u32 + 2)
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

fn has_chain(e: &Expr) -> bool {
    match &e.kind {
        Kind::Call(c) => c.optional || has_chain(&c.callee),
        Kind::Member(m) => m.optional || has_chain(&m.object),
        _ => false,
    }
}
