//! How each variable takes part in counting. Deny by default: what is not understood is shared.

use super::tree::*;

/// Decides [`Var::mode`] of every variable. `script`: top-level variables are global.
pub(crate) fn decide(tree: &mut Tree, script: bool) {
    for i in 0..tree.uses.len() {
        let (sym, unit) = tree.uses[i];
        tree.vars[sym].exposed |= tree.units[unit].left_alone.is_some();
    }
    let Tree { units, vars, counted, .. } = tree;
    for var in vars.iter_mut() {
        var.exposed |= units[var.unit].left_alone.is_some();
        var.exposed |= script && var.unit == 0;
        var.function = var.function.filter(|_| var.is_stable());
        var.plain_calls = var.function.is_some_and(|f| {
            !units[f].is_async && !units[f].is_generator && units[f].left_alone.is_none()
        });
    }
    super::flow::solve(units, vars);
    if !std::mem::replace(counted, true) {
        count_uses(units, vars);
    }
    for var in vars.iter_mut() {
        var.promise &= var.is_simple();
    }
    for i in 0..vars.len() {
        vars[i].mode = mode(&vars[i], &units[vars[i].unit]);
    }
}

/// What does not depend on what else is found out.
fn count_uses(units: &[Unit], vars: &mut [Var]) {
    let mut uses = Uses { vars, awaits: false };
    for unit in units {
        unit.body.iter().for_each(|s| uses.statement(s));
    }
    if uses.awaits {
        promises(units, vars);
    }
}

/// Finds constants that hold the promise of a direct call and are awaited once.
fn promises(units: &[Unit], vars: &mut [Var]) {
    let mut reads = vec![(0u32, 0u32); vars.len()];
    for unit in units {
        let mut count = |e: &Expr| count_reads(e, &mut reads);
        unit.body.iter().for_each(|s| each_expr(s, &mut |e, _| count(e)));
        // What a loop awaits it may await again, when its count is gone.
        unit.body.iter().for_each(|s| in_loops(s, &mut count));
    }
    for unit in units {
        unit.body.iter().for_each(|s| {
            each_declarator(s, &mut |d| {
                let (Target::Var(sym, _), Some(init)) = (&d.target, &d.init) else { return };
                let (read, awaited) = reads[*sym];
                let var = &mut vars[*sym];
                var.promise = direct_call(init).is_some()
                    && var.assigned == 0
                    && !var.captured
                    && !var.exported
                    && (read, awaited) == (1, 1);
            });
        });
    }
}

/// Visits the expressions of outermost loops.
fn in_loops(s: &Stmt, visit: &mut dyn FnMut(&Expr)) {
    use StmtKind::{DoWhile, For, ForEach, While};
    match &s.kind {
        For { .. } | ForEach { .. } | While(..) | DoWhile(..) => each_expr(s, &mut |e, _| visit(e)),
        _ => each_child(s, &mut |s| in_loops(s, visit)),
    }
}

fn count_reads(e: &Expr, into: &mut [(u32, u32)]) {
    match &e.kind {
        Kind::Read(sym) => into[*sym].0 += 1,
        Kind::Await(inner) => {
            if let Kind::Read(sym) = &inner.kind {
                into[*sym].1 += 1;
            }
        }
        _ => {}
    }
    e.children(&mut |c| count_reads(c, into));
}

/// The call that an expression is, without parentheses.
pub(crate) fn direct_call(e: &Expr) -> Option<(&Expr, &Call)> {
    match &e.kind {
        Kind::Paren(inner) => direct_call(inner),
        Kind::Call(call) => Some((e, call)),
        _ => None,
    }
}

fn mode(var: &Var, unit: &Unit) -> Mode {
    let param = var.kind == VarKind::Param;
    if param && (unit.uses_arguments || unit.opaque) {
        return Mode::Shared { entry: true };
    }
    if var.exposed || var.imported || var.pattern || var.redeclared || var.kind == VarKind::Other {
        return Mode::Shared { entry: param };
    }
    if param {
        let borrowed = !unit.is_async && !var.destructured && !var.rest;
        return match (var.captured, var.assigned > 0) {
            (true, true) => Mode::Shared { entry: true },
            (true, false) => Mode::Kept { entry: true },
            (false, false) if borrowed => Mode::Borrowed,
            (false, _) => Mode::Slot { entry: true },
        };
    }
    if !var.managed || var.promise {
        return Mode::Plain;
    }
    if var.kind == VarKind::Const && var.assigned > 0 {
        // The assignment throws, after its value is there.
        return Mode::Shared { entry: false };
    }
    if var.exported {
        let constant = var.kind == VarKind::Const;
        return if constant { Mode::Kept { entry: false } } else { Mode::Shared { entry: false } };
    }
    if var.captured {
        return match (var.assigned > 0, var.in_loop) {
            (false, _) => Mode::Kept { entry: false },
            (true, true) => Mode::Shared { entry: false },
            (true, false) => Mode::Cell,
        };
    }
    if var.managed_uses == 0 && !var.aliased && !var.hinted {
        return Mode::Kept { entry: false };
    }
    Mode::Slot { entry: false }
}

/// Visits every expression of a statement, outermost first; nested functions excepted.
pub(crate) fn each_expr<'t>(s: &'t Stmt, visit: &mut dyn FnMut(&'t Expr, Position)) {
    each_own_expr(s, visit);
    each_child(s, &mut |c| each_expr(c, visit));
}

/// The same, without those of the statements inside.
pub(crate) fn each_own_expr<'t>(s: &'t Stmt, visit: &mut dyn FnMut(&'t Expr, Position)) {
    use Position::*;
    match &s.kind {
        StmtKind::Nothing
        | StmtKind::Break(_)
        | StmtKind::Continue(_)
        | StmtKind::Block(_)
        | StmtKind::Label(..)
        | StmtKind::Unsupported(_) => {}
        StmtKind::Expr(e) => visit(e, Ignored),
        StmtKind::Declare(list) => {
            for d in list {
                d.target.children(&mut |e| visit(e, Managed));
                d.init.iter().for_each(|e| visit(e, Managed));
            }
        }
        StmtKind::If(test, ..) => visit(test, Tested),
        StmtKind::For { test, update, .. } => {
            test.iter().for_each(|e| visit(e, Tested));
            update.iter().for_each(|e| visit(e, Ignored));
        }
        StmtKind::ForEach { target, right, .. } => {
            target.children(&mut |e| visit(e, Managed));
            visit(right, Managed);
        }
        StmtKind::While(test, _) | StmtKind::DoWhile(_, test) => visit(test, Tested),
        StmtKind::Return(e) => e.iter().for_each(|e| visit(e, Managed)),
        StmtKind::Throw(e) | StmtKind::Export(e) => visit(e, Managed),
        StmtKind::Switch(e, cases) => {
            visit(e, Tested);
            cases.iter().flat_map(|c| &c.test).for_each(|e| visit(e, Tested));
        }
        StmtKind::Try { handler, .. } => {
            let exprs = handler.iter().flat_map(|h| &h.pattern.exprs);
            exprs.for_each(|e| visit(e, Managed));
        }
    }
}

/// What a value is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Ignored,
    /// Only its truth, identity or arithmetic value counts.
    Tested,
    Managed,
}

/// A global, or what is read from one.
pub(super) fn is_global(e: &Expr) -> bool {
    match &e.kind {
        Kind::Global => true,
        Kind::Member(m) => is_global(&m.object),
        _ => false,
    }
}

/// The call of a method whose name says that it gives a tensor.
pub(crate) fn gives_tensor(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => gives_tensor(inner),
        Kind::Call(call) => match &call.callee.kind {
            Kind::Member(m) => {
                !is_global(&m.object) && m.name.as_deref().is_some_and(super::hints::gives_tensor)
            }
            _ => false,
        },
        _ => false,
    }
}

pub(super) fn is_call(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => is_call(inner),
        Kind::Call(_)
        | Kind::Store(_)
        | Kind::Literal { .. }
        | Kind::New(_)
        | Kind::Construct(_)
        | Kind::Yield(_)
        | Kind::Await(_) => true,
        _ => false,
    }
}

pub(crate) fn each_declarator<'t>(s: &'t Stmt, visit: &mut dyn FnMut(&'t Declarator)) {
    match &s.kind {
        StmtKind::Declare(list) => list.iter().for_each(visit),
        StmtKind::Block(list) => list.iter().for_each(|s| each_declarator(s, visit)),
        StmtKind::If(_, a, b) => {
            each_declarator(a, visit);
            b.iter().for_each(|s| each_declarator(s, visit));
        }
        StmtKind::For { init, body, .. } => {
            init.iter().for_each(|s| each_declarator(s, visit));
            each_declarator(body, visit);
        }
        StmtKind::ForEach { body, .. }
        | StmtKind::While(_, body)
        | StmtKind::DoWhile(body, _)
        | StmtKind::Label(_, body) => each_declarator(body, visit),
        StmtKind::Switch(_, cases) => {
            cases.iter().flat_map(|c| &c.body).for_each(|s| each_declarator(s, visit));
        }
        StmtKind::Try { block, handler, finalizer } => {
            block.iter().for_each(|s| each_declarator(s, visit));
            handler.iter().flat_map(|h| &h.body).for_each(|s| each_declarator(s, visit));
            finalizer.iter().flatten().for_each(|s| each_declarator(s, visit));
        }
        _ => {}
    }
}

/// Visits the statements directly inside a statement.
pub(crate) fn each_child<'t>(s: &'t Stmt, visit: &mut dyn FnMut(&'t Stmt)) {
    match &s.kind {
        StmtKind::Block(list) => list.iter().for_each(visit),
        StmtKind::If(_, a, b) => {
            visit(a);
            b.iter().for_each(|s| visit(s));
        }
        StmtKind::For { init, body, .. } => {
            init.iter().for_each(|s| visit(s));
            visit(body);
        }
        StmtKind::ForEach { body, .. }
        | StmtKind::While(_, body)
        | StmtKind::DoWhile(body, _)
        | StmtKind::Label(_, body) => visit(body),
        StmtKind::Switch(_, cases) => cases.iter().flat_map(|c| &c.body).for_each(visit),
        StmtKind::Try { block, handler, finalizer } => {
            block.iter().for_each(&mut *visit);
            handler.iter().flat_map(|h| &h.body).for_each(&mut *visit);
            finalizer.iter().flatten().for_each(visit);
        }
        _ => {}
    }
}

/// Counts uses in which a managed value would matter.
struct Uses<'v> {
    vars: &'v mut [Var],
    /// A variable is awaited.
    awaits: bool,
}

impl Uses<'_> {
    fn statement(&mut self, s: &Stmt) {
        each_expr(s, &mut |e, position| self.expr(e, position));
    }

    fn expr(&mut self, e: &Expr, position: Position) {
        use Position::*;
        match &e.kind {
            Kind::Read(sym) => self.vars[*sym].managed_uses += u32::from(position == Managed),
            Kind::Operator(list) => list.iter().for_each(|c| self.expr(c, Tested)),
            Kind::Paren(inner) => self.expr(inner, position),
            Kind::Sequence(list) => {
                for (i, c) in list.iter().enumerate() {
                    self.expr(c, if i + 1 == list.len() { position } else { Ignored });
                }
            }
            Kind::Conditional(parts) => {
                self.expr(&parts[0], Tested);
                self.expr(&parts[1], position);
                self.expr(&parts[2], position);
            }
            Kind::Logical(_, parts) => parts.iter().for_each(|c| self.expr(c, position)),
            Kind::Member(m) => {
                self.expr(&m.object, Managed);
                m.computed.iter().for_each(|c| self.expr(c, Tested));
            }
            Kind::Assign(a) if a.op == AssignOp::Arithmetic => {
                a.target.children(&mut |c| self.expr(c, Managed));
                self.expr(&a.value, Tested);
            }
            _ => {
                if let Kind::Await(inner) = &e.kind {
                    self.awaits |= matches!(inner.kind, Kind::Read(_));
                }
                e.children(&mut |c| self.expr(c, Managed));
            }
        }
    }
}
