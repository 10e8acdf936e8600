//! `new C(a)`, classes, and operators that code of the program may stand behind.

use super::calls::Ask;
use super::{Inserter, Mark, Result_, guarded, position, quote};
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    /// `new C(a)`: operands are asked about, and the instance's first count is claimed.
    pub(super) fn construct(&mut self, e: &'t Expr, call: &'t Call, result: Result_) {
        let n = self.next();
        let m = self.next();
        let mark = self.mark();
        let operands = call.args.iter().any(|a| a.spread || !self.is_uncounted(&a.value));
        if call.makes_collection() && matches!(result, Result_::Into(_) | Result_::Kept) {
            return self.collection(n, e, call, result);
        }
        let known = matches!(call.callee.kind, Kind::Global);
        if known && !operands && self.escaping(call).is_none() {
            self.value(&call.callee);
            call.args.iter().for_each(|a| self.value(&a.value));
            return;
        }
        self.driving = None;
        self.tickets.push(None);
        let stable = matches!(call.callee.kind, Kind::Read(sym) if self.var(sym).is_stable());
        let inner = self.next();
        if let (Kind::Read(_) | Kind::Global, Span { start, end }) =
            (&call.callee.kind, call.callee.span)
        {
            // V8 says of a class without a value that it is at `new`.
            let text = &self.source[start as usize..end as usize];
            self.edits.replace_from(start, end, text, e.span.start);
        }
        let function = match &call.callee.kind {
            Kind::Read(sym) if stable => self.var(*sym).name.to_string(),
            _ => {
                let raw = self.raw();
                self.value(&call.callee);
                let (pre, post) = guarded(&call.callee);
                self.wrap(inner, call.callee.span, &format!("({raw} = {pre}"), &format!("{post})"));
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
                // The token is made when all operands are there.
                let end = format!(", {token} = {birth}({function}, {text}))");
                self.wrap_from(m, last.value.span, &format!("{first}("), &end, e.span.start);
                let ask = Ask { name: "ask", ..Ask::default() };
                self.arguments(call, &function, &ask, vec![], true);
            }
        }
        self.tickets.pop();
        self.finish_construct(n, e, &token, result, mark);
    }

    /// `new Map(xs)`: counted, if `Map` is what its name says.
    fn collection(&mut self, n: i32, e: &'t Expr, call: &'t Call, result: Result_) {
        let (mark, inner) = (self.mark(), self.next());
        let class = self.raw();
        self.value(&call.callee);
        self.wrap(inner, call.callee.span, &format!("({class} = "), ")");
        let mut operands = class.clone();
        if let Some(from) = call.args.first() {
            let n = self.next();
            let _ = self.held(&from.value);
            let raw = self.raw();
            let pre = format!("{raw} = {}({class}, ", self.own("source"));
            self.wrap(n, from.value.span, &pre, ")");
            operands.push_str(&format!(", {raw}"));
        }
        let made = self.own("collection");
        let end = format!(", {operands})");
        let Result_::Into(slot) = result else {
            self.busy.truncate(mark.busy);
            return self.wrap(n, e.span, &format!("{made}("), &end);
        };
        let drops = self.flush(mark, &slot);
        let (put, name) = (self.own("put"), &slot.name);
        let tail = if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
        let (pre, post) = match slot.fresh {
            true => (format!("({name} = {made}("), format!("{end}{tail})")),
            false => (format!("({name} = {put}({made}("), format!("{end}, {name}){tail})")),
        };
        self.wrap(n, e.span, &pre, &post);
    }

    pub(super) fn finish_construct(
        &mut self,
        n: i32,
        e: &Expr,
        token: &str,
        result: Result_,
        mark: Mark,
    ) {
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

    /// `delete o.p`: `delete o[gone(o, "p")]`.
    pub(super) fn deleted(&mut self, e: &'t Expr, m: &'t Member) {
        let operand = self.held(&m.object);
        let gone =
            operand.text.filter(|_| operand.check).map(|o| format!("{}({o}, ", self.own("gone")));
        // V8 says that it is where the object is read, or at the operator.
        let at = match &m.object.kind {
            Kind::Member(inner) => inner.at,
            Kind::Call(call) => position(call),
            _ => self.source[..e.span.start as usize].rfind("delete").unwrap_or(0) as u32,
        };
        match (&m.computed, gone) {
            (Some(key), Some(gone)) => {
                let n = self.next();
                self.value(key);
                self.wrap_from(n, key.span, &gone, ")", at);
            }
            (Some(key), None) => self.value(key),
            (None, Some(gone)) => {
                let name = quote(m.name.as_deref().unwrap_or_default());
                let text = format!("[{gone}{name})]");
                self.edits.replace_from(m.object.span.end, e.span.end, text, at);
            }
            (None, None) => {}
        }
    }

    /// What a class extends, or a computed key.
    pub(super) fn class_part(&mut self, e: &'t Expr) {
        let (n, edits) = (self.next(), self.edits.len());
        self.share(e);
        if let Some((_, at)) = self.says(e).filter(|_| self.edits.len() > edits) {
            self.wrap_from(n, e.span, &format!("{}(", self.own("heir")), ")", at);
        }
    }

    /// `v instanceof C`: `v` is shared where `C` has a test that is not the language's.
    pub(super) fn instance_of(&mut self, parts: &'t [Expr; 2]) {
        let operand = self.held(&parts[0]);
        let n = self.next();
        self.share(&parts[1]);
        if let Some(text) = operand.text.filter(|_| operand.check) {
            let pre = format!("{}(", self.own("tested"));
            self.wrap(n, parts[1].span, &pre, &format!(", {text})"));
        }
    }
}
