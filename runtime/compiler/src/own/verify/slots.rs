//! Rule 3: no variable is read where its slot may have been emptied since it was filled.
//!
//! A forward walk over one function. Its state is the set of *stale* variables: what they hold may have been given up.
//! What the walk does not know about a way through the function only adds to the set, and so does liveness to what is
//! needed; the two must be equally exact, or the verifier complains about programs that are right.

use std::collections::HashMap;

use super::Check;
use crate::own::hash::NumberMap;
use crate::own::liveness::key;
use crate::own::tree::*;

type State = crate::own::sets::Set;

/// What is wrong, and where.
pub(super) fn read_after_drop(check: &Check, unit: &Unit) -> Option<(String, u32)> {
    let beside = pairs(check);
    if beside.is_empty() {
        return None;
    }
    let turns = NumberMap::default();
    let mut walk = Walk {
        check,
        beside,
        error: None,
        targets: vec![],
        thrown: vec![],
        turns,
        emptied: vec![],
    };
    walk.list(&unit.body, State::default());
    walk.error
}

/// The variable beside each slot. Where it is not known which variable a slot belongs to, it has none.
fn pairs(check: &Check) -> NumberMap<Sym, Sym> {
    let mut pairs = NumberMap::default();
    let is_slot = |&&sym: &&Sym| check.is_slot(sym);
    if !check.vars.iter().any(|sym| is_slot(&sym)) {
        return pairs;
    }
    let mut variables: HashMap<&str, Vec<Sym>> = HashMap::new();
    for &sym in check.vars.iter().filter(|sym| !is_slot(sym)) {
        variables.entry(check.name(sym)).or_default().push(sym);
    }
    // Of variables with one name, all slots but that of the file's first have a number.
    let mut slots: HashMap<&str, Vec<(u32, Sym)>> = HashMap::new();
    for &sym in check.vars.iter().filter(is_slot) {
        let Some(whole) = check.names.beside(check.name(sym)) else { continue };
        let numbered = whole.rsplit_once('_').and_then(|(name, n)| Some((name, n.parse().ok()?)));
        let numbered = numbered.filter(|(name, _)| variables.contains_key(name));
        match (variables.contains_key(whole), numbered) {
            (true, None) => slots.entry(whole).or_default().push((0, sym)),
            (false, Some((name, n))) => slots.entry(name).or_default().push((n, sym)),
            _ => {}
        }
    }
    for (name, mut slots) in slots {
        let variables = &variables[name];
        // Both are numbered in the order of their declarations.
        if slots.len() == variables.len() {
            slots.sort_unstable();
            let both = slots.iter().zip(variables);
            // A captured variable's slot may be given up while the variable lives on.
            let both = both.filter(|(_, var)| !check.tree.vars[**var].captured);
            pairs.extend(both.map(|(&(_, slot), &var)| (slot, var)));
        }
    }
    pairs
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Loop,
    Switch,
    Label,
}

/// What can be left or continued; the states are those of the jumps, if there are any.
struct Target_ {
    labels: Vec<Name>,
    reach: Reach,
    broken: Option<State>,
    continued: Option<State>,
}

struct Walk<'t> {
    check: &'t Check<'t>,
    /// Variables by their slots.
    beside: NumberMap<Sym, Sym>,
    error: Option<(String, u32)>,
    targets: Vec<Target_>,
    /// What may be stale when an exception arrives.
    thrown: Vec<State>,
    /// What may be stale at the beginning of a loop's turn, by the loop's address.
    turns: NumberMap<usize, State>,
    /// Variables whose slots were emptied, in the order of the walk.
    emptied: Vec<Sym>,
}

impl Walk<'_> {
    fn list(&mut self, list: &[Stmt], mut state: State) -> Option<State> {
        for s in list {
            state = self.statement(s, state, vec![])?;
        }
        Some(state)
    }

    /// `None`: the statement does not end normally.
    fn statement(&mut self, s: &Stmt, state: State, mut labels: Vec<Name>) -> Option<State> {
        if let StmtKind::Label(name, body) = &s.kind {
            labels.push(name.clone());
            return self.statement(body, state, labels);
        }
        if s.repeats() {
            return self.repeat(s, state, labels);
        }
        if labels.is_empty() {
            return self.unlabelled(s, state);
        }
        let (end, target) = self.target(labels, Reach::Label, |w| w.unlabelled(s, state));
        join(end, target.broken)
    }

    fn target<T>(
        &mut self,
        labels: Vec<Name>,
        reach: Reach,
        inside: impl FnOnce(&mut Self) -> T,
    ) -> (T, Target_) {
        self.targets.push(Target_ { labels, reach, broken: None, continued: None });
        let result = inside(self);
        let none = || Target_ { labels: vec![], reach, broken: None, continued: None };
        (result, self.targets.pop().unwrap_or_else(none))
    }

    fn unlabelled(&mut self, s: &Stmt, state: State) -> Option<State> {
        match &s.kind {
            StmtKind::Expr(e) | StmtKind::Export(e) => Some(self.expr(e, state)),
            StmtKind::Declare(list) => {
                Some(list.iter().fold(state, |state, d| self.declarator(d, state)))
            }
            StmtKind::Block(list) => self.list(list, state),
            StmtKind::If(test, a, b) => {
                let state = self.expr(test, state);
                let first = self.statement(a, state.clone(), vec![]);
                let second = match b {
                    Some(b) => self.statement(b, state, vec![]),
                    None => Some(state),
                };
                join(first, second)
            }
            StmtKind::Break(label) => self.jump(label.as_ref(), state, false),
            StmtKind::Continue(label) => self.jump(label.as_ref(), state, true),
            StmtKind::Return(e) => {
                e.iter().for_each(|e| _ = self.expr(e, state.clone()));
                None
            }
            StmtKind::Throw(e) => {
                self.expr(e, state);
                None
            }
            StmtKind::Switch(e, cases) => self.switch(e, cases, state),
            StmtKind::Try { block, handler, finalizer } => {
                self.try_statement(block, handler.as_ref(), finalizer.as_deref(), state)
            }
            _ => Some(state),
        }
    }

    fn declarator(&mut self, d: &Declarator, state: State) -> State {
        let mut state = d.init.iter().fold(state, |state, e| self.expr(e, state));
        // `let x;` makes x undefined, also when a loop comes back to it.
        if let Target::Var(sym, _) = d.target
            && !d.idle
            && d.init.as_ref().is_none_or(needs_no_count)
        {
            state.remove(sym);
        }
        self.pattern(&d.target, state)
    }

    fn switch(&mut self, e: &Expr, cases: &[Case], state: State) -> Option<State> {
        let mut state = self.expr(e, state);
        let mut entries = vec![];
        for case in cases {
            state = case.test.iter().fold(state, |state, e| self.expr(e, state));
            entries.push(state.clone());
        }
        let mut through = None;
        let (_, target) = self.target(vec![], Reach::Switch, |w| {
            for (case, entry) in cases.iter().zip(entries) {
                // The default comes after all tests.
                let entry = if case.test.is_some() { entry } else { state.clone() };
                let from = join(through.take(), Some(entry)).unwrap_or_default();
                through = w.list(&case.body, from);
            }
        });
        let none_fits = cases.iter().all(|c| c.test.is_some()).then_some(state);
        join(join(through, none_fits), target.broken)
    }

    fn jump(&mut self, label: Option<&Name>, state: State, again: bool) -> Option<State> {
        let target = self.targets.iter_mut().rev().find(|t| match label {
            Some(label) => t.labels.contains(label),
            None => t.reach == Reach::Loop || t.reach == Reach::Switch && !again,
        });
        if let Some(target) = target {
            let into = if again { &mut target.continued } else { &mut target.broken };
            *into = join(into.take(), Some(state));
        }
        None
    }

    fn repeat(&mut self, s: &Stmt, mut state: State, labels: Vec<Name>) -> Option<State> {
        if let StmtKind::For { init: Some(init), .. } = &s.kind {
            state = self.statement(init, state.clone(), vec![]).unwrap_or(state);
        }
        if let StmtKind::ForEach { right, .. } = &s.kind {
            state = self.expr(right, state);
        }
        // A turn of a loop around this one only adds to what may be stale.
        if let Some(known) = self.turns.get(&key(s)) {
            state.extend(known);
        }
        // What one turn empties, the next may read.
        loop {
            let before = state.clone();
            let (end, target) =
                self.target(labels.clone(), Reach::Loop, |w| w.turn(s, before.clone()));
            state.extend(&end.next.unwrap_or_default());
            if state.is_subset(&before) {
                self.turns.insert(key(s), state);
                return join(end.exit, target.broken);
            }
        }
    }

    fn turn(&mut self, s: &Stmt, state: State) -> Turn {
        match &s.kind {
            StmtKind::For { test, update, body, .. } => {
                let state = test.iter().fold(state, |state, e| self.expr(e, state));
                let exit = test.is_some().then(|| state.clone());
                let next = self.body(body, state);
                let next = next.map(|next| update.iter().fold(next, |next, e| self.expr(e, next)));
                Turn { next, exit }
            }
            StmtKind::While(test, body) => {
                let state = self.expr(test, state);
                Turn { exit: Some(state.clone()), next: self.body(body, state) }
            }
            StmtKind::DoWhile(body, test) => {
                let next = self.body(body, state).map(|state| self.expr(test, state));
                Turn { exit: next.clone(), next }
            }
            StmtKind::ForEach { target, body, over, .. } => {
                let exit = Some(state.clone());
                let mut state = self.pattern(target, state);
                if let (Target::Var(sym, _), Over::Keys) = (target, over) {
                    state.remove(*sym);
                }
                Turn { next: self.body(body, state), exit }
            }
            _ => Turn { next: None, exit: Some(state) },
        }
    }

    /// A loop's body. Gives what follows it: its end, and every `continue`.
    fn body(&mut self, body: &Stmt, state: State) -> Option<State> {
        let end = self.statement(body, state, vec![]);
        join(end, self.targets.last_mut().and_then(|t| t.continued.take()))
    }

    fn try_statement(
        &mut self,
        block: &[Stmt],
        handler: Option<&Handler>,
        finalizer: Option<&[Stmt]>,
        state: State,
    ) -> Option<State> {
        self.thrown.push(state.clone());
        let mut out = self.list(block, state);
        let mut any = self.thrown.pop().unwrap_or_default();
        if let Some(handler) = handler {
            self.thrown.push(any.clone());
            let mut caught = any.clone();
            for e in &handler.pattern.exprs {
                caught = self.expr(e, caught);
            }
            out = join(out, self.list(&handler.body, caught));
            any.extend(&self.thrown.pop().unwrap_or_default());
        }
        // A finalizer that leaves at once lets no exception through.
        let first = finalizer.and_then(|list| list.first()).map(|s| &s.kind);
        let leaves = matches!(
            first,
            Some(StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Return(None))
        );
        if let Some(outer) = self.thrown.last_mut().filter(|_| !leaves) {
            outer.extend(&any);
        }
        let Some(finalizer) = finalizer else { return out };
        out.iter().for_each(|out| any.extend(out));
        let first = self.emptied.len();
        let after = self.list(finalizer, any)?;
        // Jumps went through it.
        for sym in self.emptied[first..].iter().filter(|&&sym| after.contains(sym)) {
            for target in &mut self.targets {
                for state in [&mut target.broken, &mut target.continued].into_iter().flatten() {
                    state.insert(*sym);
                }
            }
        }
        out.map(|_| after)
    }

    fn pattern(&mut self, target: &Target, mut state: State) -> State {
        let mut found = vec![];
        target.children(&mut |e| found.push(e));
        for e in found {
            state = self.expr(e, state);
        }
        state
    }

    fn expr(&mut self, e: &Expr, mut state: State) -> State {
        match &e.kind {
            Kind::Read(sym) => self.read(*sym, &state, e.span.start),
            Kind::Assign(a) => return self.assign(a, state, e.span.start),
            Kind::Conditional(parts) => {
                state = self.expr(&parts[0], state);
                let other = self.expr(&parts[2], state.clone());
                state = self.expr(&parts[1], state);
                state.extend(&other);
            }
            Kind::Logical(_, parts) => {
                state = self.expr(&parts[0], state);
                let right = self.expr(&parts[1], state.clone());
                state.extend(&right);
            }
            Kind::Optional(o) => {
                state = self.expr(&o.head, state);
                let rest = self.expr(&o.rest, state.clone());
                state.extend(&rest);
            }
            Kind::Chain(inner) => {
                let mut stopped = State::default();
                state = self.chain(inner, state, &mut stopped);
                state.extend(&stopped);
            }
            _ => e.children(&mut |c| state = self.expr(c, std::mem::take(&mut state))),
        }
        state
    }

    /// A link of an optional chain; `stopped`: what is stale where the chain stops early.
    fn chain(&mut self, e: &Expr, state: State, stopped: &mut State) -> State {
        let (object, optional) = match &e.kind {
            Kind::Call(call) => (&call.callee, call.optional),
            Kind::Member(m) => (&m.object, m.optional),
            _ => return self.expr(e, state),
        };
        let mut state = self.chain(object, state, stopped);
        if optional {
            stopped.extend(&state);
        }
        match &e.kind {
            Kind::Call(call) => {
                for a in &call.args {
                    state = self.expr(&a.value, state);
                }
            }
            Kind::Member(m) => state = m.computed.iter().fold(state, |s, key| self.expr(key, s)),
            _ => {}
        }
        state
    }

    fn assign(&mut self, a: &Assign, state: State, at: u32) -> State {
        match (&a.target, a.op) {
            (Target::Var(sym, _), op) => match self.beside.get(sym) {
                Some(&var) => self.slot(var, &a.value, state),
                None => self.variable(*sym, op, &a.value, state, at),
            },
            // The object and the key come first.
            (Target::Member(member), op) => {
                let mut state = self.expr(member, state);
                let done = self.expr(&a.value, state.clone());
                match op {
                    AssignOp::Logical(_) => state.extend(&done),
                    _ => state = done,
                }
                state
            }
            _ => {
                let state = self.expr(&a.value, state);
                self.pattern(&a.target, state)
            }
        }
    }

    /// A variable gets a value; its slot gets it on its own.
    fn variable(
        &mut self,
        sym: Sym,
        op: AssignOp,
        value: &Expr,
        mut state: State,
        at: u32,
    ) -> State {
        match op {
            AssignOp::Simple => {
                state = self.expr(value, state);
                if needs_no_count(value) {
                    state.remove(sym);
                }
            }
            AssignOp::Arithmetic => {
                // Converted after the right operand.
                state = self.expr(value, state);
                self.read(sym, &state, at);
                state.remove(sym);
            }
            AssignOp::Logical(_) => {
                self.read(sym, &state, at);
                let done = self.expr(value, state.clone());
                state.extend(&done);
            }
        }
        state
    }

    /// The slot beside `var` is filled or emptied.
    fn slot(&mut self, var: Sym, value: &Expr, state: State) -> State {
        let (mut state, empties) = match &value.kind {
            // What a pattern has bound goes into its slot.
            Kind::Call(call) if self.binds(call, var) => (state, false),
            Kind::Call(call) => {
                let empties = self.check.operation(call) == Some("drop");
                (self.expr(value, state), empties)
            }
            Kind::Plain | Kind::Operator(_) | Kind::Inspect(_) => (state, true),
            _ => (self.expr(value, state), false),
        };
        if empties {
            state.insert(var);
            self.emptied.push(var);
            if let Some(thrown) = self.thrown.last_mut() {
                thrown.insert(var);
            }
        } else {
            state.remove(var);
        }
        state
    }

    /// `hold(x)`, `lit(x)` or `put(hold(x), slot)` for the variable itself.
    fn binds(&self, call: &Call, var: Sym) -> bool {
        let Some(first) = call.args.first() else { return false };
        match (self.check.operation(call), &first.value.kind) {
            (Some("hold" | "lit" | "arg"), Kind::Read(sym)) => *sym == var,
            (Some("put"), Kind::Call(inner)) => self.binds(inner, var),
            _ => false,
        }
    }

    fn read(&mut self, sym: Sym, state: &State, at: u32) {
        if state.contains(sym) {
            let what = format!("{} is read after its slot was emptied", self.check.name(sym));
            self.error.get_or_insert((what, at));
        }
    }
}

/// What follows a turn of a loop: another one, and what is behind the loop. `None`: never.
struct Turn {
    next: Option<State>,
    exit: Option<State>,
}

/// A value that is never managed: nothing that a slot has lost.
fn needs_no_count(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => needs_no_count(inner),
        Kind::Plain | Kind::Function(_) | Kind::Class(_) => true,
        Kind::Operator(_) | Kind::Inspect(_) | Kind::InstanceOf(_) => true,
        _ => false,
    }
}

fn join(a: Option<State>, b: Option<State>) -> Option<State> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.union(&b)),
        (a, b) => a.or(b),
    }
}
