//! Values that are iterated, and spread into calls and literals.
//!
//! Invariant: what cannot be iterated is found before V8 sees it, whose message would name the runtime half.
//! Deliberately not here: loops, which step through values.

use super::{Inserter, Operand, quote};
use crate::own::modes::direct_call;
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    /// What V8 says where `e` cannot be iterated: an operand, and a place.
    pub(super) fn says(&self, e: &Expr) -> Option<(String, u32)> {
        self.tree.iterated.get(&e.span.start).map(|says| (quote(&says.text), says.at))
    }

    /// `...xs`: elements are held by a list of their own.
    pub(super) fn spread_argument(&mut self, e: &'t Expr) -> Operand {
        self.spread_copy(e, "list")
    }

    /// A spread whose values a copy of its own holds until `pending` is flushed.
    fn spread_copy(&mut self, e: &'t Expr, copy: &str) -> Operand {
        if e.is_plain(&self.tree.vars) {
            self.value(e);
            return Operand::default();
        }
        let n = self.next();
        let list = self.temp();
        let (text, at) = match self.says(e) {
            Some((text, at)) => (format!(", {text}"), at),
            None => (String::new(), e.span.start),
        };
        if copy == "list" && direct_call(e).is_some() {
            let function = self.steps(e, "fnSteps");
            let pre = format!("{} = {}(", list.name, self.own("collect"));
            self.wrap_from(n, e.span, &pre, &format!(", {function}{text})"), at);
        } else {
            let _ = self.held(e);
            let pre = format!("{} = {}(", list.name, self.own(copy));
            self.wrap_from(n, e.span, &pre, &format!("{text})"), at);
        }
        Operand { text: Some(list.name), check: true, slot: None }
    }

    /// `...v` in a literal. `kept`: code runs before the literal has counted what it got.
    pub(super) fn spread_item(&mut self, e: &'t Expr, object: bool, kept: bool) {
        match (object, kept) {
            (_, true) => {
                let _ = self.spread_copy(e, if object { "copy" } else { "list" });
            }
            (false, false) if direct_call(e).is_some() => {
                let _ = self.spread_copy(e, "list");
            }
            (true, false) => self.spread_source(e, "parts"),
            (false, false) => self.iterated(e),
        }
    }

    /// A value that goes through the iterator protocol, held until `pending` is flushed.
    pub(super) fn iterated(&mut self, e: &'t Expr) {
        self.spread_source(e, "spread");
    }

    /// Asks whether `e`, which an operation that is no user's would name, can be iterated.
    pub(super) fn checked(&mut self, n: i32, e: &Expr) {
        // What is awaited is asked for another iterator.
        let says = self.tree.iterated.get(&e.span.start);
        if let Some(Says { text, at }) = says.filter(|s| !s.text.contains("async")) {
            let post = format!(", {})", quote(text));
            self.wrap_from(n, e.span, &format!("{}(", self.own("spread")), &post, *at);
        }
    }

    /// `share` of what is iterated then.
    pub(super) fn share_iterated(&mut self, e: &'t Expr) {
        let (n, edits) = (self.next(), self.edits.len());
        self.share(e);
        if self.edits.len() > edits {
            self.checked(n, e);
        }
    }

    /// What others see of it, `question` decides.
    pub(super) fn spread_source(&mut self, e: &'t Expr, question: &str) {
        if e.is_plain(&self.tree.vars) {
            return self.value(e);
        }
        let n = self.next();
        let _ = match &e.kind {
            Kind::Read(sym) if self.is_slot(*sym) => self.held_in_temp(e),
            _ => self.held(e),
        };
        let pre = format!("{}(", self.own(question));
        match self.says(e) {
            Some((text, at)) => self.wrap_from(n, e.span, &pre, &format!(", {text})"), at),
            None => self.wrap(n, e.span, &pre, ")"),
        }
    }

    /// The list of `f.apply(o, list)`: a copy holds what it holds.
    pub(super) fn applied(&mut self, e: &'t Expr, function: &str) -> Operand {
        if self.is_uncounted(e) {
            self.value(e);
            return Operand::default();
        }
        let n = self.next();
        let list = self.temp();
        let _ = self.held(e);
        let pre = format!("{} = {}({function}, ", list.name, self.own("applied"));
        self.wrap(n, e.span, &pre, ")");
        Operand { text: Some(list.name), check: true, slot: None }
    }
}

/// Bits of the operands that are spread: of the last one, then of those with names.
pub(super) fn lists(call: &Call, named: &[usize]) -> String {
    let last = call.args.len() - 1;
    let spread = |(bit, &i): (usize, &usize)| u32::from(call.args[i].spread) << bit;
    std::iter::once(&last).chain(named).enumerate().map(spread).sum::<u32>().to_string()
}
