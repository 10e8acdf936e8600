//! Checks an emitted program, knowing nothing of how it was made.
//!
//! Rules: (1) every name of the compiler is declared by the function that uses it, or by one
//! around it; (2) a function's `finally` drops each of its slots once; (3) once a slot has been
//! emptied, the variable beside it is not read on any path until the slot is filled again
//! ([`slots`]). Only the tree builder is common with the pass.

mod slots;

use std::collections::{BTreeSet, HashSet};

use super::hash::NumberMap;
use super::names::Names;
use super::tree::*;

/// `Err`: what is wrong, and the offset in the emitted text. `suspects`: a name of the compiler's is not
/// declared by anything around it.
pub(crate) fn verify(
    code: &str,
    tree: &Tree,
    names: &Names,
    suspects: bool,
) -> Result<(), (String, u32)> {
    let index = Index::new(tree);
    for (id, unit) in tree.units.iter().enumerate() {
        let mut check = Check { vars: &index.vars[id], code, tree, names, id, error: None };
        if suspects {
            check.names_declared(unit);
        }
        if unit.kind != UnitKind::Program {
            check.finally_drops(unit);
        }
        let error = check.error.take().or_else(|| slots::read_after_drop(&check, unit));
        if let Some(error) = error {
            return Err(error);
        }
    }
    Ok(())
}

/// One function.
struct Check<'t> {
    /// Variables of the function.
    vars: &'t [Sym],
    code: &'t str,
    tree: &'t Tree,
    names: &'t Names,
    id: UnitId,
    error: Option<(String, u32)>,
}

impl<'t> Check<'t> {
    fn fail(&mut self, what: String, at: u32) {
        self.error.get_or_insert((what, at));
    }

    fn name(&self, sym: Sym) -> &'t str {
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
