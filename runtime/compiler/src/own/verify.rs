//! Checks an emitted program, knowing nothing of how it was made.
//!
//! Rules: (1) every name of the compiler is declared by the function that uses it, or by one
//! around it; (2) a function's `finally` drops each of its slots once; (3) once a slot has been
//! emptied, the variable beside it is not read on any path until the slot is filled again. Only
//! the tree builder is common with the pass.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::hash::NumberMap;
use super::liveness::key;
use super::names::Names;
use super::tree::*;

type State = super::sets::Set;

/// `Err`: what is wrong, and the offset in the emitted text. `suspects`: a name of the compiler's is not
/// declared by anything around it.
pub(crate) fn verify(
    code: &str,
    tree: &Tree,
    names: &Names,
    suspects: bool,
) -> Result<(), (String, u32)> {
    let mut count: HashMap<(UnitId, &str), u32> = HashMap::new();
    for var in &tree.vars {
        *count.entry((var.unit, var.name.as_str())).or_default() += 1;
    }
    let index = Index::new(tree);
    for (id, unit) in tree.units.iter().enumerate() {
        let mut walk = Walk {
            suspects,
            vars: &index.vars[id],
            code,
            tree,
            names,
            id,
            count: &count,
            error: None,
            targets: vec![],
            thrown: vec![],
            turns: NumberMap::default(),
            slots: HashMap::new(),
        };
        walk.unit(unit);
        if let Some(error) = walk.error {
            return Err(error);
        }
    }
    Ok(())
}

struct Walk<'t> {
    suspects: bool,
    /// Variables of the function.
    vars: &'t [Sym],
    code: &'t str,
    tree: &'t Tree,
    names: &'t Names,
    id: UnitId,
    /// Variables of one name in one function.
    count: &'t HashMap<(UnitId, &'t str), u32>,
    error: Option<(String, u32)>,
    /// Labels, is a loop, states at `break`, states at `continue`.
    targets: Vec<(Vec<Name>, bool, State, State)>,
    /// What may be empty when an exception arrives.
    thrown: Vec<State>,
    /// What may be empty at the beginning of a loop's turn, by the loop's address.
    turns: NumberMap<usize, State>,
    /// Slots of the function, by the name of the variable beside them.
    slots: HashMap<&'t str, Vec<Sym>>,
}

impl Walk<'_> {
    fn fail(&mut self, what: String, at: u32) {
        self.error.get_or_insert((what, at));
    }

    fn unit(&mut self, unit: &Unit) {
        if self.suspects {
            self.names_declared(unit);
        }
        if unit.kind != UnitKind::Program {
            self.finally_drops(unit);
        }
        for &sym in self.vars {
            if let Some(beside) = self.names.beside(&self.tree.vars[sym].name) {
                self.slots.entry(beside).or_default().push(sym);
            }
        }
        if !self.slots.is_empty() {
            self.list(&unit.body, State::default());
        }
    }

    fn name(&self, sym: Sym) -> &str {
        &self.tree.vars[sym].name
    }

    fn is_slot(&self, sym: Sym) -> bool {
        self.tree.vars[sym].unit == self.id && self.names.is_slot(self.name(sym))
    }

    /// Rule 1.
    fn names_declared(&mut self, unit: &Unit) {
        let mut found = vec![];
        let is_own = |name: &str| self.names.is_own(name);
        let mut visit = |e: &Expr| find_globals(e, self.code, &is_own, &mut found);
        unit.body.iter().for_each(|s| super::modes::each_expr(s, &mut |e, _| visit(e)));
        for (name, at) in found {
            self.fail(format!("{name} is not declared"), at);
        }
    }

    /// Rule 2.
    fn finally_drops(&mut self, unit: &Unit) {
        let mut declared = BTreeSet::new();
        for s in &unit.body {
            if let StmtKind::Declare(list) = &s.kind {
                declared.extend(list.iter().filter_map(|d| match d.target {
                    Target::Var(sym, _) if self.is_slot(sym) || self.is_temp(sym) => Some(sym),
                    _ => None,
                }));
            }
        }
        let mut dropped: NumberMap<Sym, usize> = NumberMap::default();
        for s in &unit.body {
            if let StmtKind::Try { finalizer: Some(finalizer), .. } = &s.kind {
                for sym in finalizer.iter().filter_map(|s| self.dropped(s)) {
                    *dropped.entry(sym).or_default() += 1;
                }
            }
        }
        let vars = self.vars.iter().map(|&sym| &self.tree.vars[sym]);
        let captured = vars.filter(|v| v.captured).map(|v| v.name.as_str()).collect();
        for sym in declared {
            let times = dropped.get(&sym).copied().unwrap_or_default();
            let cell = self.tree.vars[sym].captured || self.is_beside(sym, &captured);
            if times != 1 && !cell {
                let name = self.name(sym).to_owned();
                self.fail(format!("{name} is dropped {times} times at the end"), unit.span.start);
            }
        }
    }

    /// A captured variable's slot outlives the call.
    fn is_beside(&self, slot: Sym, captured: &HashSet<&str>) -> bool {
        let Some(name) = self.names.beside(self.name(slot)) else { return false };
        // Of several variables with one name, all but the first get a number.
        let shorter = name.match_indices('_').map(|(end, _)| &name[..end]);
        std::iter::once(name).chain(shorter).any(|name| captured.contains(name))
    }

    fn is_temp(&self, sym: Sym) -> bool {
        self.names.is_temp(self.name(sym))
    }

    /// The slot of a statement `drop(slot)`.
    fn dropped(&self, s: &Stmt) -> Option<Sym> {
        let StmtKind::Expr(e) = &s.kind else { return None };
        let Kind::Call(call) = &e.kind else { return None };
        match call.args.as_slice() {
            [Argument { value: Expr { kind: Kind::Read(sym), .. }, .. }]
                if self.operation(call) == Some("drop") =>
            {
                Some(*sym)
            }
            _ => None,
        }
    }

    fn operation<'c>(&self, call: &'c Call) -> Option<&'c str> {
        match &call.callee.kind {
            Kind::Member(m) if self.text(m.object.span) == self.names.runtime => m.name.as_deref(),
            _ => None,
        }
    }

    fn text(&self, span: Span) -> &str {
        self.code.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    // Rule 3: which slots may be empty although they were filled.

    fn list(&mut self, list: &[Stmt], mut state: State) -> Option<State> {
        for s in list {
            state = self.statement(s, state, vec![])?;
        }
        Some(state)
    }

    /// `None`: the statement does not end normally.
    fn statement(&mut self, s: &Stmt, state: State, labels: Vec<Name>) -> Option<State> {
        match &s.kind {
            StmtKind::Nothing | StmtKind::Unsupported(_) => Some(state),
            StmtKind::Expr(e) | StmtKind::Export(e) => Some(self.expr(e, state)),
            StmtKind::Declare(list) => Some(list.iter().fold(state, |state, d| {
                let mut state = d.init.iter().fold(state, |state, e| self.expr(e, state));
                if let (Target::Var(sym, _), None, false) = (&d.target, &d.init, d.idle) {
                    self.unset(*sym, &mut state);
                }
                self.pattern(&d.target, state)
            })),
            StmtKind::Block(list) => {
                self.targets.push((labels, false, State::default(), State::default()));
                let end = self.list(list, state);
                let (_, _, broken, _) = self.targets.pop()?;
                join(end, broken)
            }
            StmtKind::If(test, a, b) => {
                let state = self.expr(test, state);
                let first = self.statement(a, state.clone(), vec![]);
                let second = match b {
                    Some(b) => self.statement(b, state, vec![]),
                    None => Some(state),
                };
                match (first, second) {
                    (Some(a), Some(b)) => Some(a.union(&b)),
                    (a, b) => a.or(b),
                }
            }
            StmtKind::Label(name, body) => {
                let mut labels = labels;
                labels.push(name.clone());
                self.statement(body, state, labels)
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
            StmtKind::Switch(e, cases) => {
                let entry = cases
                    .iter()
                    .filter_map(|c| c.test.as_ref())
                    .fold(self.expr(e, state), |state, e| self.expr(e, state));
                self.targets.push((vec![Name::from("")], true, State::default(), State::default()));
                let mut through = Some(entry.clone());
                for case in cases {
                    let from = through.map_or_else(|| entry.clone(), |t| t.union(&entry));
                    through = self.list(&case.body, from);
                }
                let (_, _, broken, continued) = self.targets.pop()?;
                if let Some(outer) = self.targets.iter_mut().rev().find(|t| t.1) {
                    outer.3.extend(&continued);
                }
                join(through.or(Some(entry)), broken)
            }
            StmtKind::Try { block, handler, finalizer } => {
                self.try_statement(block, handler.as_ref(), finalizer.as_deref(), state)
            }
            _ => Some(self.repeat(s, state, labels)),
        }
    }

    fn jump(&mut self, label: Option<&Name>, state: State, again: bool) -> Option<State> {
        let target = self.targets.iter_mut().rev().find(|t| match label {
            Some(label) => t.0.contains(label),
            None => t.1,
        });
        if let Some((_, _, broken, continued)) = target {
            if again { continued.extend(&state) } else { broken.extend(&state) }
        }
        None
    }

    fn repeat(&mut self, s: &Stmt, mut state: State, labels: Vec<Name>) -> State {
        if let StmtKind::For { init: Some(init), .. } = &s.kind {
            state = self.statement(init, state.clone(), vec![]).unwrap_or(state);
        }
        if let StmtKind::ForEach { right, .. } = &s.kind {
            state = self.expr(right, state);
        }
        // A turn of a loop around this one only adds to what may be empty.
        if let Some(known) = self.turns.get(&key(s)) {
            state.extend(known);
        }
        let mut exits = state.clone();
        // What one turn empties, the next may read.
        loop {
            let before = state.clone();
            self.targets.push((labels.clone(), true, State::default(), State::default()));
            let end = self.turn(s, state.clone(), &mut exits);
            if let Some((_, _, broken, continued)) = self.targets.pop() {
                exits.extend(&broken);
                state.extend(&continued);
                exits.extend(&continued);
            }
            exits.extend(&end);
            state.extend(&end);
            if state.is_subset(&before) {
                break;
            }
        }
        self.turns.insert(key(s), state);
        exits
    }

    fn turn(&mut self, s: &Stmt, state: State, exits: &mut State) -> State {
        match &s.kind {
            StmtKind::For { test, update, body, .. } => {
                let state = test.iter().fold(state, |state, e| self.expr(e, state));
                exits.extend(&state);
                let end = self.statement(body, state, vec![]);
                let mut next = self.targets.last().map(|t| t.3.clone()).unwrap_or_default();
                end.iter().for_each(|end| next.extend(end));
                update.iter().fold(next, |state, e| self.expr(e, state))
            }
            StmtKind::While(test, body) => {
                let state = self.expr(test, state);
                exits.extend(&state);
                self.statement(body, state, vec![]).unwrap_or_default()
            }
            StmtKind::DoWhile(body, test) => {
                let end = self.statement(body, state, vec![]);
                let mut next = self.targets.last().map(|t| t.3.clone()).unwrap_or_default();
                end.iter().for_each(|end| next.extend(end));
                self.expr(test, next)
            }
            StmtKind::ForEach { target, body, .. } => {
                let state = self.pattern(target, state);
                self.statement(body, state, vec![]).unwrap_or_default()
            }
            _ => state,
        }
    }

    fn try_statement(
        &mut self,
        block: &[Stmt],
        handler: Option<&Handler>,
        finalizer: Option<&[Stmt]>,
        state: State,
    ) -> Option<State> {
        self.thrown.push(state.clone());
        let end = self.list(block, state);
        let thrown = self.thrown.pop().unwrap_or_default();
        let mut out = end;
        let mut any = thrown.clone();
        if let Some(handler) = handler {
            self.thrown.push(thrown.clone());
            let caught = self.list(&handler.body, thrown);
            any.extend(&self.thrown.pop().unwrap_or_default());
            out = match (out, caught) {
                (Some(a), Some(b)) => Some(a.union(&b)),
                (a, b) => a.or(b),
            };
        }
        if let Some(outer) = self.thrown.last_mut() {
            outer.extend(&any);
        }
        if let Some(finalizer) = finalizer {
            out.iter().for_each(|out| any.extend(out));
            let after = self.list(finalizer, any);
            if out.is_some() {
                out = after;
            }
        }
        out
    }

    /// `let x;` makes x undefined, also when a loop comes back to it: nothing that a slot has lost.
    fn unset(&self, sym: Sym, state: &mut State) {
        let var = &self.tree.vars[sym];
        if var.kind == VarKind::Let {
            for &slot in self.slots.get(var.name.as_str()).into_iter().flatten() {
                state.remove(slot);
            }
        }
    }

    fn pattern(&mut self, target: &Target, state: State) -> State {
        let mut state = state;
        let mut found = vec![];
        target.children(&mut |e| found.push(e));
        for e in found {
            state = self.expr(e, state);
        }
        state
    }

    fn expr(&mut self, e: &Expr, state: State) -> State {
        let mut state = state;
        match &e.kind {
            Kind::Read(sym) => self.check(*sym, &state, e.span.start),
            Kind::Assign(a) => return self.assign(a, state),
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
            _ => e.children(&mut |c| state = self.expr(c, std::mem::take(&mut state))),
        }
        state
    }

    fn assign(&mut self, a: &Assign, state: State) -> State {
        let Target::Var(sym, _) = a.target else {
            let state = self.expr(&a.value, state);
            return self.pattern(&a.target, state);
        };
        if !self.is_slot(sym) {
            return self.expr(&a.value, state);
        }
        let (mut state, empties) = match &a.value.kind {
            // What a pattern has bound goes into its slot.
            Kind::Call(call) if self.binds(call, sym) => (state, false),
            Kind::Call(call) => {
                let empties = self.operation(call) == Some("drop");
                (self.expr(&a.value, state), empties)
            }
            Kind::Plain | Kind::Operator(_) | Kind::Inspect(_) => (state, true),
            _ => (self.expr(&a.value, state), false),
        };
        if empties {
            state.insert(sym);
            if let Some(thrown) = self.thrown.last_mut() {
                thrown.insert(sym);
            }
        } else {
            state.remove(sym);
        }
        state
    }

    /// `hold(x)`, `lit(x)` or `put(hold(x), slot)` for the variable beside `slot`.
    fn binds(&self, call: &Call, slot: Sym) -> bool {
        let Some(first) = call.args.first() else { return false };
        match (self.operation(call), &first.value.kind) {
            (Some("hold" | "lit" | "arg"), Kind::Read(sym)) => {
                self.names.beside(self.name(slot)) == Some(self.name(*sym))
            }
            (Some("put"), Kind::Call(inner)) => self.binds(inner, slot),
            _ => false,
        }
    }

    fn check(&mut self, sym: Sym, state: &State, at: u32) {
        // A captured variable's slot may be given up while the variable lives on.
        let var = &self.tree.vars[sym];
        if state.is_empty() || var.unit != self.id || var.captured {
            return;
        }
        let read = var.name.as_str();
        let mut slots = self.slots.get(read).into_iter().flatten();
        let stale = slots.any(|&slot| state.contains(slot));
        // Of several variables with one name it is not known which one the slot belongs to.
        if stale && self.count.get(&(self.id, read)) == Some(&1) {
            let problem = format!("{read} is read after its slot was emptied");
            self.fail(problem, at);
        }
    }
}

fn join(end: Option<State>, broken: State) -> Option<State> {
    match end {
        Some(end) => Some(end.union(&broken)),
        None if broken.is_empty() => None,
        None => Some(broken),
    }
}

/// Names of the compiler's that nothing declares.
fn find_globals<'c>(
    e: &Expr,
    code: &'c str,
    is_own: &dyn Fn(&str) -> bool,
    into: &mut Vec<(&'c str, u32)>,
) {
    let mut found = |name: &'c str| {
        if is_own(name) {
            into.push((name, e.span.start));
        }
    };
    if matches!(e.kind, Kind::Global) {
        found(code.get(e.span.start as usize..e.span.end as usize).unwrap_or(""));
    }
    if let Kind::Assign(a) = &e.kind
        && matches!(a.target, Target::Global)
    {
        let rest = code.get(e.span.start as usize..).unwrap_or("");
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        found(&rest[..end]);
    }
    e.children(&mut |c| find_globals(c, code, is_own, into));
}
