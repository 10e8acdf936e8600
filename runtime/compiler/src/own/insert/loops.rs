//! Values that come step by step: `for`-`of`, `yield`, `await`.
//!
//! Invariant: what a loop runs over is held until the loop ends, each element through its turn.

use super::{Inserter, Result_, Slot, quote};
use crate::own::modes::direct_call;
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    /// The iterated value is held through the loop, each element through its turn.
    pub(super) fn for_of(
        &mut self,
        target: &'t Target,
        right: &'t Expr,
        body: &'t Stmt,
        awaits: bool,
    ) -> Vec<String> {
        // An object of the file may have an iterator that makes tensors.
        let iterator = || {
            matches!(right.kind, Kind::Read(_) | Kind::Call(_))
                && self.source.contains("Symbol.iterator")
        };
        let plain = right.is_plain(&self.tree.vars) && !iterator();
        let driver = (!plain).then(|| self.driver());
        let holds = match target {
            Target::Pattern(Pattern { shape: Some(shape), .. }) => Some(format!("[{shape}]")),
            Target::Pattern(Pattern { keys, .. }) if keys.len() > 1 => Some("true".to_owned()),
            Target::Pattern(Pattern { array: true, .. }) => Some("null".to_owned()),
            _ => None,
        };
        // A head that keeps the pair that a step of `entries()` gives holds what nobody counts.
        let pairs = matches!(target, Target::Pattern(pattern) if pattern.array);
        let question = if pairs { "fnGen" } else { "fnEach" };
        let pending = self.top(right, |i, e| match &driver {
            Some(driver) => i.driven(e, driver, awaits, holds.as_deref(), question),
            None => i.value(e),
        });
        self.keep_from_use(&pending);
        self.reserved.extend(pending.iter().cloned());
        if let Target::Pattern(pattern) = target {
            let done = if plain { 0 } else { self.keys(&pattern.keys, |_, _| false) };
            let done: Vec<_> = pattern.keys.iter().take(done).map(|k| k.var).collect();
            let left = pattern.vars.iter().filter(|&&sym| !done.contains(&Some(sym)));
            let mut binds: String = left.map(|&sym| self.bind(sym, false)).collect();
            if let Some(driver) = &driver {
                binds.push_str(&format!("{}({driver});", self.own("yielded")));
            }
            self.nested(body, &binds);
        }
        self.reserved.truncate(self.reserved.len() - pending.len());
        self.release(&pending);
        pending
    }

    /// A variable that lives as long as the function.
    pub(super) fn driver(&mut self) -> String {
        let name = self.names.driver(self.drivers.len() + 1);
        self.drivers.push(name.clone());
        name
    }

    /// What a loop runs over, held until the loop ends. A generator that is called right here
    /// borrows its operands as long. `holds`: elements are held until a pattern has taken them apart.
    /// `question`: what is asked about a callee without operands.
    pub(super) fn driven(
        &mut self,
        e: &'t Expr,
        driver: &str,
        awaits: bool,
        holds: Option<&str>,
        question: &'static str,
    ) {
        let n = self.next();
        let function = self.steps(e, question);
        let pre = format!("{driver} = {}(", self.own("drive"));
        let holds = holds.unwrap_or("void 0");
        let (text, at) = self.says(e).unwrap_or((quote(""), e.span.start));
        let post = format!(", {function}, {awaits}, {holds}, {text})");
        self.wrap_from(n, e.span, &pre, &post, at);
    }

    /// Emits what is stepped through; gives the name of the function that made it right here.
    /// `question`: what is asked about a callee without operands.
    pub(super) fn steps(&mut self, e: &'t Expr, question: &'static str) -> String {
        self.callee = None;
        self.driving = direct_call(e).is_some().then_some(question);
        let _ = match &e.kind {
            Kind::Read(sym) if self.is_slot(*sym) => self.held_in_temp(e),
            _ if direct_call(e).is_some() => self.held_in_temp(e),
            _ => self.held(e),
        };
        self.driving = None;
        self.callee.take().unwrap_or_else(|| "void 0".to_owned())
    }

    /// `yield v`: whoever drives the generator takes over the count of `v`.
    pub(super) fn yielded(&mut self, e: &'t Expr, value: Option<&'t Expr>) {
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
    pub(super) fn complete(&mut self, e: &'t Expr) {
        if e.is_plain(&self.tree.vars) {
            return self.value(e);
        }
        let (token, n) = (self.names.token(), self.next());
        let (done, pass) = (self.own("done"), self.own("pass"));
        match &e.kind {
            Kind::Read(sym)
                if self.is_slot(*sym)
                    && self.live.last.contains(&e.span.start)
                    && !self.unstable.contains(*sym) =>
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

    /// `await f(x)`: a token takes the count of what `f` completes with.
    pub(super) fn awaited(&mut self, e: &'t Expr, inner: &'t Expr, slot: &Slot) {
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
    pub(super) fn promise_of(&self, e: &Expr) -> Option<String> {
        match &e.kind {
            Kind::Read(sym) if self.var(*sym).promise => self.promises.get(sym).cloned(),
            _ => None,
        }
    }

    pub(super) fn claim(&mut self, n: i32, e: &Expr, slot: &Slot, token: &str, drops: &str) {
        let (claim, put, name) = (self.own("claim"), self.own("put"), &slot.name);
        let tail = if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
        let (pre, post) = if slot.fresh {
            (format!("({name} = {claim}("), format!(", {token}){tail})"))
        } else {
            (format!("({name} = {put}({claim}("), format!(", {token}), {name}){tail})"))
        };
        self.wrap(n, e.span, &pre, &post);
    }

    /// `const p = f(x)`, where `p` is only awaited: the token waits beside it.
    pub(super) fn promise(&mut self, sym: Sym, value: &'t Expr) {
        let Some((at, call)) = direct_call(value) else { return self.value(value) };
        let n = self.next();
        let token = self.driver();
        self.promises.insert(sym, token.clone());
        self.wrap(n, value.span, &format!("({token} = void 0, "), ")");
        self.ticket = Some(token);
        self.call(at, call, Result_::Awaited);
    }
}
