//! Which closures cannot outlive the call that makes them.
//!
//! A captured variable that is assigned once is kept for ever unless every closure over it is
//! confined: called on the spot, bound to a constant that is only called, or handed to a callee
//! that is asked at run time whether it keeps what it gets. Then the variable gets a slot that
//! is dropped when the call ends; the slot is emptied where a closure gets away after all.
//! Deliberately not here: function declarations and closures inside closures, which escape.

use super::hash::NumberMap;
use super::tree::*;

/// Where a function expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Called,
    /// The value of a constant.
    Bound(Sym),
    /// An operand of a call; `confined`: what the call gives is only called.
    Operand {
        result: Outcome,
    },
    Elsewhere,
}

/// What happens to the result of a call that got a closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Called,
    Bound(Sym),
    Elsewhere,
}

#[derive(Debug)]
pub(crate) struct Escape {
    /// Of each function.
    places: Vec<Option<Place>>,
    /// Of each variable.
    reads: Vec<u32>,
    calls: Vec<u32>,
}

impl Escape {
    pub fn analyse(tree: &Tree) -> Self {
        let vars = tree.vars.len();
        let places = vec![None; tree.units.len()];
        let mut result = Self { places, reads: vec![0; vars], calls: vec![0; vars] };
        for unit in &tree.units {
            for s in &unit.body {
                result.statement(s);
            }
        }
        result
    }

    fn statement(&mut self, s: &Stmt) {
        let mut bound = NumberMap::default();
        super::modes::each_declarator(s, &mut |d| {
            if let (Target::Var(sym, _), Some(init)) = (&d.target, &d.init) {
                bound.insert(init.span.start, *sym);
            }
        });
        super::modes::each_expr(s, &mut |e, position| {
            let place = match bound.get(&e.span.start) {
                Some(&sym) if position == super::modes::Position::Managed => Place::Bound(sym),
                _ => Place::Elsewhere,
            };
            self.expr(e, place);
        });
    }

    fn expr(&mut self, e: &Expr, place: Place) {
        match &e.kind {
            Kind::Function(unit) => {
                // A function that is seen in two places is not confined.
                let known = self.places[*unit].filter(|&known| known != place);
                self.places[*unit] = Some(known.map_or(place, |_| Place::Elsewhere));
            }
            Kind::Read(sym) => {
                self.reads[*sym] += 1;
                self.calls[*sym] += u32::from(place == Place::Called);
            }
            Kind::Paren(inner) => self.expr(inner, place),
            Kind::Call(call) => {
                let result = match place {
                    Place::Called => Outcome::Called,
                    Place::Bound(sym) => Outcome::Bound(sym),
                    _ => Outcome::Elsewhere,
                };
                self.expr(&call.callee, Place::Called);
                let spread = call.args.iter().any(|a| a.spread);
                for a in &call.args {
                    let place = if spread { Place::Elsewhere } else { Place::Operand { result } };
                    self.expr(&a.value, place);
                }
            }
            _ => e.children(&mut |c| self.expr(c, Place::Elsewhere)),
        }
    }

    fn only_called(&self, tree: &Tree, sym: Sym) -> bool {
        let var = &tree.vars[sym];
        var.kind == VarKind::Const
            && !var.captured
            && !var.exported
            && !var.exposed
            && !var.redeclared
            && self.reads[sym] == self.calls[sym]
    }

    /// `Some(None)`: confined. `Some(Some(confined))`: depends on the callee; `confined` tells
    /// whether what it gives is only called. `None`: escapes.
    pub fn confined(&self, tree: &Tree, unit: UnitId) -> Option<Option<bool>> {
        let closure = &tree.units[unit];
        if closure.is_async || closure.is_generator || closure.left_alone.is_some() {
            return None;
        }
        if closure.kind == UnitKind::Default {
            return Some(None);
        }
        match self.places[unit].as_ref()? {
            Place::Called => Some(None),
            Place::Bound(sym) => self.only_called(tree, *sym).then_some(None),
            Place::Operand { result } => Some(Some(match result {
                Outcome::Called => true,
                Outcome::Bound(sym) => self.only_called(tree, *sym),
                Outcome::Elsewhere => false,
            })),
            Place::Elsewhere => None,
        }
    }

    /// Captured variables whose closures are all confined get a slot.
    pub fn lend(&self, tree: &mut Tree) {
        let Index { users, .. } = Index::new(tree);
        for sym in 0..tree.vars.len() {
            let users = &users[sym];
            let var = &tree.vars[sym];
            let cell = var.mode == Mode::Cell;
            let entry = match var.mode {
                Mode::Kept { entry } => entry,
                Mode::Cell => false,
                _ => continue,
            };
            let local = tree.units[var.unit].kind != UnitKind::Program || var.in_loop;
            if var.exported || !var.captured || !local || tree.units[var.unit].is_generator {
                continue;
            }
            let confined = users.iter().all(|&user| {
                user == var.unit
                    || tree.units[user].parent == Some(var.unit)
                        && (cell || tree.units[user].span.start >= var.declared)
                        && self.confined(tree, user).is_some()
            });
            if confined && cell {
                tree.vars[sym].lent = true;
            } else if confined {
                tree.vars[sym].mode = Mode::Lent { entry };
            }
        }
    }
}
