//! Calls: the callee is asked about once all operands are there, and the result is claimed.
//!
//! Invariant: a callee is fetched once, before its operands, as in the user's program.

use std::collections::BTreeSet;

use super::chains::{leads_to_chain, without_parens};
use super::spreads::lists;
use super::{Inserter, Mark, Operand, Result_, guarded, quote};
use crate::own::tree::*;

/// The question about a callee: what asks, and what an error calls the callee. Text that comes after
/// the last operand, so that the short answer needs only two.
#[derive(Default)]
pub(super) struct Ask {
    pub name: &'static str,
    pub text: Option<String>,
    /// Of an operation that may end its operands: the receiver's slot, and what was pending before.
    pub last: Option<(Option<String>, Mark)>,
}

/// Operations that may end an operand whose last use they are, and write into its memory.
const ENDING: &[&str] = &[
    "abs",
    "acos",
    "add",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floorDivide",
    "log",
    "log10",
    "log1p",
    "log2",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
    "trunc",
];

impl<'t> Inserter<'t> {
    pub(super) fn call(&mut self, e: &'t Expr, call: &'t Call, result: Result_) {
        let n = self.next();
        let m = self.next();
        let mark = self.mark();
        let claims =
            matches!(result, Result_::Ignored | Result_::Given | Result_::Kept | Result_::Into(_));
        let callee = &call.callee;
        let driving = std::mem::take(&mut self.driving);
        let outer = std::mem::replace(&mut self.drives, driving);
        let unstable = self.unstable.clone();
        if driving.is_some() {
            // The loop holds them, whatever happens to the variables.
            self.unstable.extend(self.assigned);
        }
        let last_spread = call.args.last().is_some_and(|a| a.spread);
        let ticket = self.ticket.take().filter(|_| !last_spread);
        let named = ticket.is_none() || !call.args.is_empty();
        self.tickets.push(ticket);
        let function = if call.is_super && self.parent_call(call) {
            None
        } else if call.is_super || matches!(&callee.kind, Kind::Paren(p) if leads_to_chain(p)) {
            self.opaque_call(call);
            None
        } else {
            match &without_parens(callee).kind {
                Kind::Member(member) => self.method_call(e, call, member, m, claims, &result),
                Kind::Read(sym) if named && self.is_stable_function(*sym, call) => {
                    Some(self.named_call(call, &self.var(*sym).name))
                }
                _ => self.fetched_call(e, call, m, &result),
            }
        };
        self.tickets.pop();
        self.drives = outer;
        self.unstable = unstable;
        self.finish_call(n, e, function.clone(), result, mark, driving.is_some());
        self.callee = function;
    }

    /// Wraps a call so that its result is claimed, given, shared or ignored.
    pub(super) fn finish_call(
        &mut self,
        n: i32,
        e: &Expr,
        function: Option<String>,
        result: Result_,
        mark: Mark,
        driving: bool,
    ) {
        let function = function.unwrap_or_else(|| "void 0".to_owned());
        let known = self.is_known(e);
        let callee = if known { ")".to_owned() } else { format!(", {function})") };
        if !matches!(result, Result_::Into(_)) {
            self.busy.truncate(mark.busy);
        }
        let claimed = function != "void 0";
        match result {
            Result_::Looked | Result_::Awaited => {}
            Result_::Shared => {
                let pre = format!("{}(", self.own("share"));
                self.wrap(n, e.span, &pre, ")");
            }
            _ if e.is_plain(&self.tree.vars) && !matches!(result, Result_::Into(_)) => {}
            Result_::Ignored if claimed => {
                let pre = format!("{}(", self.own(if known { "lose" } else { "ignore" }));
                self.wrap(n, e.span, &pre, &callee);
            }
            Result_::Ignored => {}
            // A known callee has left the register as it must be.
            Result_::Given if known => {}
            Result_::Given => {
                let pre = format!("{}(", self.own("tail"));
                self.wrap(n, e.span, &pre, &callee);
            }
            Result_::Kept => {
                let pre = format!("{}(", self.own(if known { "took" } else { "own" }));
                self.wrap(n, e.span, &pre, &callee);
            }
            Result_::Into(slot) => {
                // A loop that drives a generator holds its operands.
                let drops = if driving { String::new() } else { self.flush(mark, &slot) };
                let own = match known {
                    true => "took",
                    false if self.makes_generator(e) => "ownGen",
                    false => "own",
                };
                let (own, put, name) = (self.own(own), self.own("put"), &slot.name);
                let tail =
                    if drops.is_empty() { String::new() } else { format!("{drops}, {name}") };
                let (pre, post) = if slot.fresh {
                    (format!("({name} = {own}("), format!("{callee}{tail})"))
                } else {
                    (format!("({name} = {put}({own}("), format!("{callee}, {name}){tail})"))
                };
                self.wrap(n, e.span, &pre, &post);
            }
        }
    }

    /// A call of a function of this file that follows the protocol.
    pub(super) fn is_known(&self, e: &Expr) -> bool {
        let Kind::Call(call) = &e.kind else { return false };
        let Kind::Read(sym) = call.callee.kind else { return false };
        self.var(sym).is_stable() && self.function_of(sym).is_some()
    }

    /// The compiled function that a variable always holds; generators excepted.
    pub(super) fn function_of(&self, sym: Sym) -> Option<UnitId> {
        let known = |f: &UnitId| {
            let unit = &self.tree.units[*f];
            unit.left_alone.is_none() && !unit.is_generator && !unit.opaque && unit.looks.is_none()
        };
        self.var(sym).function.filter(known)
    }

    /// A function that the present call cannot replace while it runs.
    pub(super) fn is_stable_function(&self, sym: Sym, call: &Call) -> bool {
        let _ = call;
        self.var(sym).is_stable()
    }

    /// A call of a generator function of this file.
    pub(super) fn makes_generator(&self, e: &Expr) -> bool {
        let Kind::Call(call) = &e.kind else { return false };
        match call.callee.kind {
            Kind::Read(sym) => self.var(sym).function.is_some_and(|f| {
                self.tree.units[f].is_generator && self.tree.units[f].left_alone.is_none()
            }),
            _ => false,
        }
    }

    /// Operands of all arguments; the last one is wrapped so that the callee is asked about.
    pub(super) fn arguments(
        &mut self,
        call: &'t Call,
        function: &str,
        ask: &Ask,
        mut named: Vec<String>,
        always: bool,
    ) {
        let count = call.args.len();
        let n = self.next();
        let mut check = !named.is_empty();
        let mut unnamed = false;
        let spread = call.args.iter().any(|a| a.spread);
        let (mut last_slot, mut named_args) = (None, vec![]);
        for (i, a) in call.args.iter().enumerate() {
            // A callback in front of an initial value, or of its `this`, is replaced.
            let walks = i == 0 && count == 2 && call.walks_array() && ask.name.ends_with("More");
            let keys = i == 0 && ask.name == "askSet";
            let n = if walks || a.spread || keys { self.next() } else { 0 };
            let operand = match a.spread {
                true => self.spread_argument(&a.value),
                false if i == 1 && call.applies() => self.applied(&a.value, function),
                false => self.held(&a.value),
            };
            if a.spread && i + 1 == count && operand.text.is_none() {
                self.checked(n, &a.value);
            }
            check |= operand.check;
            unnamed |= i + 1 < count && !operand.check;
            last_slot = operand.slot;
            if keys {
                let text = self.key_of(n, &a.value, operand.text);
                named.push(text);
            } else if walks && !a.spread {
                let (called, raw) = (self.own("called"), self.raw());
                let pre = format!("{raw} = {called}({function}, {}, ", named[0]);
                self.wrap(n, a.value.span, &pre, ")");
                named.push(raw);
            } else if i + 1 < count
                && operand.check
                && let Some(text) = operand.text
            {
                named.push(text);
                named_args.push(i);
            }
        }
        let escaping = self.escaping(call);
        let ticket = self.tickets.last().cloned().flatten();
        if let Some(last) = call.args.last() {
            let (mut pre, mut post) = (String::new(), String::new());
            let ends = ask.last.as_ref().map_or(0, |(receiver, mark)| {
                self.ends(receiver.as_ref(), *mark) + 2 * self.ends(last_slot.as_ref(), *mark)
            });
            let (name, ends) = match ends {
                0 if spread && ask.name.starts_with("askGen") => ("askGenFetched", None),
                0 if spread && ask.text.is_some() && ask.name != "askFetched" => {
                    ("askSpread", None)
                }
                // It writes from one operand to the next, so all of them must be seen.
                0 if unnamed && call.text == "Object.assign" => ("askFetched", None),
                0 => (ask.name, None),
                _ => ("askLast", Some(ends.to_string())),
            };
            if (check || always) && !name.is_empty() {
                pre = format!("{}({function}, ", self.own(name));
                // Which operands, the last one first, are lists.
                let lists = (name == "askSpread").then(|| lists(call, &named_args));
                let details = ends.iter().chain(&ask.text).chain(&lists).chain(&named);
                post.extend(details.map(|t| format!(", {t}")));
                post.push(')');
            }
            if let Some((confined, slots)) = escaping {
                let keeps = self.own("keeps");
                pre = format!("({keeps}({function}, {confined}) && ({slots}), {pre}");
                post.push(')');
            }
            if let Some(token) = ticket {
                let (ticket, new) = (self.own("ticket"), self.own("token"));
                pre = format!("{ticket}({token} = {new}(), {function}, {pre}");
                post.push(')');
            }
            self.wrap_call(n, last.value.span, &pre, &post, call);
        }
    }

    /// A name for the first operand of `o.set(key, value)`, `text` if it has one.
    fn key_of(&mut self, n: i32, e: &'t Expr, text: Option<String>) -> String {
        let literal = self.source.get(e.span.start as usize..e.span.end as usize);
        let simple = |t: &&str| t.starts_with(['"', '\'']) || t.bytes().all(|b| b.is_ascii_digit());
        match (text, literal.filter(simple), &e.kind) {
            (Some(text), ..) => text,
            (None, Some(literal), Kind::Plain) => literal.to_owned(),
            _ => {
                let raw = self.raw();
                let (pre, post) = guarded(e);
                self.wrap(n, e.span, &format!("{raw} = {pre}"), post);
                raw
            }
        }
    }

    /// 1 if the present call, before which there was `mark`, is the last use of a slot.
    fn ends(&self, slot: Option<&String>, mark: Mark) -> u8 {
        slot.is_some_and(|s| {
            self.pending[mark.pending..].contains(s) && !self.busy[..mark.busy].contains(s)
        })
        .into()
    }

    /// Slots of variables that closures among the operands capture, if those are confined only
    /// as long as the callee does not keep them.
    pub(super) fn escaping(&self, call: &Call) -> Option<(bool, String)> {
        let mut slots = BTreeSet::new();
        let mut confined = true;
        for a in &call.args {
            let mut e = &a.value;
            while let Kind::Paren(inner) = &e.kind {
                e = inner;
            }
            let Kind::Function(unit) = e.kind else { continue };
            let Some(Some(result)) = self.escape.confined(self.tree, unit) else { continue };
            confined &= result;
            for &sym in &self.index.used[unit] {
                if self.var(sym).unit != self.id {
                    continue;
                }
                if matches!(self.var(sym).mode, Mode::Lent { .. }) {
                    slots.insert(format!("{} = void 0", self.names.slot(sym)));
                }
                if self.var(sym).lent {
                    slots.insert(format!("{} = true", self.names.escaped()));
                }
            }
        }
        let slots = slots.into_iter().collect::<Vec<_>>().join(", ");
        (!slots.is_empty()).then_some((confined, slots))
    }

    /// What makes the present call's token around its callee, where it has no arguments.
    pub(super) fn ticket_for(&self) -> (String, &'static str) {
        match self.tickets.last().cloned().flatten() {
            Some(token) => {
                let (ticket, new) = (self.own("ticketFor"), self.own("token"));
                (format!("{ticket}({token} = {new}(), "), ")")
            }
            None => (String::new(), ""),
        }
    }

    /// `f(a, b)` with a name for `f` that means the same before and after.
    pub(super) fn named_call(&mut self, call: &'t Call, name: &str) -> String {
        let known = matches!(call.callee.kind, Kind::Read(sym) if self.function_of(sym).is_some());
        let ask = match (known, self.drives.is_some()) {
            (true, _) => "",
            (false, true) => "askGen",
            (false, false) => "ask",
        };
        self.arguments(call, name, &Ask { name: ask, ..Ask::default() }, vec![], false);
        name.to_owned()
    }

    /// `o.m(a)`: the method is fetched once, before the arguments, and asked about.
    pub(super) fn method_call(
        &mut self,
        e: &'t Expr,
        call: &'t Call,
        member: &'t Member,
        n: i32,
        claims: bool,
        result: &Result_,
    ) -> Option<String> {
        let receiver_plain = member.is_super || self.is_uncounted(&member.object);
        let args_uncounted = call.args.iter().all(|a| !a.spread && self.is_uncounted(&a.value));
        let ignored = matches!(result, Result_::Ignored);
        let ticket = self.tickets.last().cloned().flatten();
        if receiver_plain
            && args_uncounted
            && (!claims || ignored)
            && ticket.is_none()
            && self.escaping(call).is_none()
        {
            self.member(member);
            call.args.iter().for_each(|a| self.value(&a.value));
            return None;
        }
        let function = self.raw();
        let m = self.next();
        let mark = self.mark();
        let ending =
            self.drives.is_none() && member.name.as_deref().is_some_and(|n| ENDING.contains(&n));
        let operand = if member.is_super {
            Operand { text: Some("this".into()), ..Operand::default() }
        } else {
            self.held(&member.object)
        };
        let receiver = match &operand.text {
            Some(text) => text.clone(),
            None => {
                let raw = self.raw();
                let (pre, post) = guarded(&member.object);
                self.wrap(m, member.object.span, &format!("({raw} = {pre}"), &format!("{post})"));
                raw
            }
        };
        if let Some(key) = &member.computed {
            self.value(key);
        }
        self.behind(member);
        let text = quote(self.callee_text(e, call));
        // Of these builtins more is known than of a callee that gets a counted receiver.
        let builtin = call.walks_array() || call.makes_container();
        let check = operand.check || builtin;
        let named = if check { vec![receiver.clone()] } else { vec![] };
        if call.args.is_empty() {
            let ends = ending && self.ends(operand.slot.as_ref(), mark) == 1;
            let fetched = self.own(match operand.check && claims {
                _ if let Some(steps) = self.drives => steps,
                true if ends => "fnLast",
                true => "fnOn",
                false => "fn",
            });
            let (ticket, close) = self.ticket_for();
            let fetch = format!("{}({ticket}{fetched}({function} = ", self.own("call"));
            let known = named.iter().map(|t| format!(", {t}")).collect::<String>();
            let text = format!(", {text}{known}){close}, {receiver}");
            self.edits.replace(call.open, call.open + 1, text);
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        } else {
            // Library methods that are known by what they do need their result to pass by.
            let (known, more) = (check && claims, call.args.len() > 1);
            let keyed = check
                && member.name.as_deref() == Some("set")
                && call.args.len() == 2
                && !call.args.iter().any(|a| a.spread);
            let through = call.passes_through();
            let named = if through { vec![receiver.clone()] } else { named };
            let ask = match (known, check) {
                _ if through && self.drives.is_none() => "askCall",
                _ if keyed && self.drives.is_none() => "askSet",
                (true, _) if self.drives.is_some() && !builtin => {
                    if more {
                        "askGenMore"
                    } else {
                        "askGenOn"
                    }
                }
                (false, _) if self.drives.is_some() && !builtin => "askGenFetched",
                (true, _) if more => "askMore",
                (true, _) => "askOn",
                (false, true) if more => "askSeenMore",
                (false, true) => "askSeen",
                (false, false) => "askFetched",
            };
            let may_end = known && ending && call.args.len() == 1 && !call.args[0].spread;
            let last = may_end.then_some((operand.slot, mark));
            let ask = Ask { name: ask, text: Some(text), last };
            self.arguments(call, &function, &ask, named, true);
            let fetch = format!("{}({function} = ", self.own("call"));
            self.edits.replace(call.open, call.open + 1, format!(", {receiver}, "));
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        }
        match call.passes_through() && !call.args.is_empty() && self.drives.is_none() {
            true => Some(format!("{}({function}, {receiver})", self.own("target"))),
            false => Some(function),
        }
    }

    /// What V8 calls the callee, or all that it says where the result is iterated right here.
    fn callee_text<'s>(&'s self, e: &Expr, call: &'s Call) -> &'s str {
        const EITHER: &str = " is not a function or ";
        let says = self.tree.iterated.get(&e.span.start).map_or("", |says| &says.text);
        // A call inside begins at the same place. What is iterated V8 prints without its calls.
        let own = says.find(EITHER).is_some_and(|at| says[..at] == call.text.replace("(...)", ""));
        match own || (self.drives.is_some() && says.contains(EITHER)) {
            true => says,
            false => &call.text,
        }
    }

    /// Any other callee: its value is fetched before the arguments.
    pub(super) fn fetched_call(
        &mut self,
        e: &'t Expr,
        call: &'t Call,
        n: i32,
        result: &Result_,
    ) -> Option<String> {
        let looked = matches!(result, Result_::Looked | Result_::Shared);
        let ignored =
            matches!(result, Result_::Ignored) && matches!(call.callee.kind, Kind::Global);
        if (looked || ignored)
            && self.escaping(call).is_none()
            && self.is_uncounted(&call.callee)
            && call.args.iter().all(|a| !a.spread && self.is_uncounted(&a.value))
        {
            self.value(&call.callee);
            call.args.iter().for_each(|a| self.value(&a.value));
            return None;
        }
        let function = self.raw();
        let m = self.next();
        self.value(&call.callee);
        let (pre, post) = guarded(&call.callee);
        self.wrap(m, call.callee.span, pre, post);
        let text = quote(self.callee_text(e, call));
        // `o.m?.(x)` calls with a receiver.
        let link = matches!(call.callee.kind, Kind::Link).then_some(call.callee.span.start);
        let operand = link.and_then(|at| self.receivers.remove(&at)).unwrap_or_default();
        let receiver = operand.text.unwrap_or_else(|| "void 0".to_owned());
        let named = if operand.check { vec![receiver.clone()] } else { vec![] };
        if call.args.is_empty() {
            let (ticket, close) = self.ticket_for();
            let (call_, fetched) = (self.own("call"), self.own("fn"));
            let fetch = format!("{call_}({ticket}{fetched}({function} = ");
            let known = named.iter().map(|t| format!(", {t}")).collect::<String>();
            let text = format!(", {text}{known}){close}, {receiver}");
            self.edits.replace(call.open, call.open + 1, text);
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        } else {
            let ask = if self.drives.is_some() { "askGenFetched" } else { "askFetched" };
            let ask = Ask { name: ask, text: Some(text), last: None };
            self.arguments(call, &function, &ask, named, true);
            let fetch = format!("{}({function} = ", self.own("call"));
            self.edits.replace(call.open, call.open + 1, format!(", {receiver}, "));
            self.wrap_call(n, Span { start: e.span.start, end: e.span.start }, &fetch, "", call);
        }
        Some(function)
    }

    /// `super(a)` in the constructor of a class with a name: its parent is asked. `false`: nothing
    /// was emitted, the parent cannot be named.
    fn parent_call(&mut self, call: &'t Call) -> bool {
        let id = self.id;
        let class = self.tree.classes.iter().find(|c| c.constructor == Some(id));
        let Some(sym) = class.and_then(|c| c.name) else { return false };
        let name = &self.var(sym).name;
        let shadowed = self.index.vars[id].iter().any(|&v| self.var(v).name == *name);
        if shadowed || call.args.is_empty() || call.args.iter().any(|a| a.spread) {
            return false;
        }
        let function = self.raw();
        let n = self.next();
        // V8 finds the parent before it evaluates the operands.
        let pre = format!("({function} = {}({name}), ", self.own("parent"));
        self.wrap(n, call.args[0].value.span, &pre, ")");
        self.arguments(call, &function, &Ask { name: "ask", ..Ask::default() }, vec![], true);
        true
    }

    /// A call that is left as it stands: everything it gets is shared.
    pub(super) fn opaque_call(&mut self, call: &'t Call) {
        self.give_away(call);
        match &call.callee.kind {
            Kind::Member(m) => {
                self.share(&m.object);
                m.computed.iter().for_each(|c| self.value(c));
            }
            Kind::Paren(inner) => self.opaque_callee(inner),
            _ => self.value(&call.callee),
        }
        call.args.iter().for_each(|a| self.share_iterated(&a.value));
    }

    /// Closures among the operands of a call that nobody can be asked about.
    pub(super) fn give_away(&mut self, call: &'t Call) {
        if let Some((_, slots)) = self.escaping(call)
            && let Some(last) = call.args.last()
        {
            let n = self.next();
            let pre = format!("({slots}, ");
            self.wrap(n, last.value.span, &pre, ")");
        }
    }

    pub(super) fn opaque_callee(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Paren(inner) => self.opaque_callee(inner),
            Kind::Member(m) => {
                self.share(&m.object);
                m.computed.iter().for_each(|c| self.value(c));
            }
            Kind::Chain(inner) => self.links(inner, true, false),
            _ => self.value(e),
        }
    }

    /// Neither evaluation nor value of this operand needs counting.
    pub(super) fn is_uncounted(&self, e: &Expr) -> bool {
        match &e.kind {
            Kind::Plain | Kind::Global | Kind::Function(_) => true,
            Kind::Read(sym) => !self.may_be_unshared(*sym),
            // Of globals' properties only: anything else may be a counted container.
            Kind::Member(m) => {
                !m.is_super
                    && matches!(m.object.kind, Kind::Global | Kind::Member(_))
                    && self.is_uncounted(&m.object)
                    && m.computed.as_ref().is_none_or(|c| self.is_uncounted(c))
            }
            Kind::Paren(inner) => self.is_uncounted(inner),
            Kind::Operator(list) => list.iter().all(|e| self.is_uncounted(e)),
            _ => false,
        }
    }
}
