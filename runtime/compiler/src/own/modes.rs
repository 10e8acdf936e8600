//! How each variable takes part in counting. Deny by default: what is not understood is shared.

use super::tree::*;

/// Decides [`Var::mode`] of every variable. `script`: top-level variables are global.
pub(crate) fn decide(tree: &mut Tree, script: bool) {
    for i in 0..tree.uses.len() {
        let (sym, unit) = tree.uses[i];
        tree.vars[sym].exposed |= tree.units[unit].left_alone.is_some();
    }
    let Tree { units, vars, .. } = tree;
    for var in vars.iter_mut() {
        var.exposed |= units[var.unit].left_alone.is_some();
        var.exposed |= script && var.unit == 0;
        var.function = var.function.filter(|_| var.is_stable());
        var.plain_calls = var.function.is_some_and(|f| {
            !units[f].is_async && !units[f].is_generator && units[f].left_alone.is_none()
        });
    }
    loop {
        let facts =
            |v: &Var| (v.managed_values > 0, v.plain_calls, v.filled || v.passed, v.unclaimed);
        let before: Vec<_> = vars.iter().map(facts).collect();
        for unit in units.iter() {
            let mut flow = Flow { vars };
            unit.body.iter().for_each(|s| flow.statement(s));
        }
        for unit in units.iter_mut() {
            unit.plain_result = unit.body.iter().all(|s| gives_plain(s, vars));
        }
        for var in vars.iter_mut() {
            var.plain_calls &= var.function.is_some_and(|f| units[f].plain_result);
        }
        if vars.iter().map(facts).eq(before) {
            break;
        }
    }
    promises(units, vars);
    for var in vars.iter_mut() {
        var.managed_uses = 0;
    }
    for unit in units.iter() {
        let mut uses = Uses { vars };
        unit.body.iter().for_each(|s| uses.statement(s));
    }
    for i in 0..vars.len() {
        vars[i].mode = mode(&vars[i], &units[vars[i].unit]);
    }
}

/// Every value that a statement returns is plain.
fn gives_plain(s: &Stmt, vars: &[Var]) -> bool {
    let mut plain = match &s.kind {
        StmtKind::Return(Some(e)) => e.is_plain(vars),
        _ => true,
    };
    each_child(s, &mut |c| plain &= gives_plain(c, vars));
    plain
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
                    && var.is_simple()
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
    if var.managed_values == 0 || var.promise {
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
    if var.destructured && var.captured && var.assigned > 0 {
        return Mode::Shared { entry: false };
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
    use Position::*;
    match &s.kind {
        StmtKind::Nothing
        | StmtKind::Break(_)
        | StmtKind::Continue(_)
        | StmtKind::Unsupported(_) => {}
        StmtKind::Expr(e) => visit(e, Ignored),
        StmtKind::Declare(list) => {
            for d in list {
                d.target.children(&mut |e| visit(e, Managed));
                d.init.iter().for_each(|e| visit(e, Managed));
            }
        }
        StmtKind::Block(list) => list.iter().for_each(|s| each_expr(s, visit)),
        StmtKind::If(test, a, b) => {
            visit(test, Tested);
            each_expr(a, visit);
            b.iter().for_each(|s| each_expr(s, visit));
        }
        StmtKind::For { init, test, update, body } => {
            init.iter().for_each(|s| each_expr(s, visit));
            test.iter().for_each(|e| visit(e, Tested));
            update.iter().for_each(|e| visit(e, Ignored));
            each_expr(body, visit);
        }
        StmtKind::ForEach { target, right, body, .. } => {
            target.children(&mut |e| visit(e, Managed));
            visit(right, Managed);
            each_expr(body, visit);
        }
        StmtKind::While(test, body) | StmtKind::DoWhile(body, test) => {
            visit(test, Tested);
            each_expr(body, visit);
        }
        StmtKind::Label(_, body) => each_expr(body, visit),
        StmtKind::Return(e) => e.iter().for_each(|e| visit(e, Managed)),
        StmtKind::Throw(e) | StmtKind::Export(e) => visit(e, Managed),
        StmtKind::Switch(e, cases) => {
            visit(e, Tested);
            for case in cases {
                case.test.iter().for_each(|e| visit(e, Tested));
                case.body.iter().for_each(|s| each_expr(s, visit));
            }
        }
        StmtKind::Try { block, handler, finalizer } => {
            block.iter().for_each(|s| each_expr(s, visit));
            if let Some(handler) = handler {
                handler.pattern.exprs.iter().for_each(|e| visit(e, Managed));
                handler.body.iter().for_each(|s| each_expr(s, visit));
            }
            finalizer.iter().flatten().for_each(|s| each_expr(s, visit));
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

/// Finds out which variables can get a managed value.
struct Flow<'v> {
    vars: &'v mut Vec<Var>,
}

impl Flow<'_> {
    fn statement(&mut self, s: &Stmt) {
        self.declarations(s);
        each_head(s, &mut |pattern| self.bind(pattern));
        let mut found = vec![];
        each_expr(s, &mut |e, _| found.push(e));
        found.into_iter().for_each(|e| self.expr(e));
    }

    fn declarations(&mut self, s: &Stmt) {
        each_declarator(s, &mut |d| match (&d.target, &d.init) {
            (Target::Var(sym, _), Some(init)) => self.store(*sym, init),
            (Target::Pattern(pattern), _) => self.bind(pattern),
            _ => {}
        });
    }

    fn bind(&mut self, pattern: &Pattern) {
        for &sym in &pattern.vars {
            self.vars[sym].unclaimed = true;
            self.vars[sym].managed_values += 1;
            self.vars[sym].aliased = true;
        }
    }

    fn store(&mut self, sym: Sym, value: &Expr) {
        let var = &self.vars[sym];
        let empty = value.is_empty_literal();
        let filled =
            var.filled && matches!(value.kind, Kind::Literal { .. }) || var.passed && empty;
        let bare = empty || value.is_bare(self.vars);
        let plain = empty || value.is_plain(self.vars);
        self.vars[sym].unclaimed |= !bare;
        self.vars[sym].hinted |= gives_tensor(value) || matches!(value.kind, Kind::Construct(_));
        if filled || !plain {
            self.vars[sym].managed_values += 1;
            self.vars[sym].aliased |= !is_call(value);
        }
    }

    fn expr(&mut self, e: &Expr) {
        if let Kind::Call(call) | Kind::Construct(call) = &e.kind
            && !is_global(&call.callee)
        {
            for a in &call.args {
                if let Kind::Read(sym) = a.value.kind {
                    self.vars[sym].passed = true;
                }
            }
        }
        if let Kind::Call(call) = &e.kind
            && let Kind::Member(m) = &call.callee.kind
            && matches!(m.name.as_deref(), Some("push" | "unshift"))
            && let Kind::Read(sym) = m.object.kind
            && call.args.iter().any(|a| a.spread || !a.value.is_plain(self.vars))
        {
            self.vars[sym].filled = true;
        }
        if let Kind::Assign(a) = &e.kind {
            if let Target::Member(member) = &a.target
                && let Kind::Member(m) = &member.kind
                && let Kind::Read(sym) = m.object.kind
                && a.op != AssignOp::Arithmetic
                && !a.value.is_plain(self.vars)
            {
                self.vars[sym].filled = true;
            }
            match &a.target {
                Target::Var(sym, _) if a.op != AssignOp::Arithmetic => {
                    self.store(*sym, &a.value);
                }
                Target::Pattern(pattern) => self.bind(pattern),
                _ => {}
            }
        }
        e.children(&mut |c| self.expr(c));
    }
}

/// A global, or what is read from one.
fn is_global(e: &Expr) -> bool {
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

fn is_call(e: &Expr) -> bool {
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

/// Visits the patterns of loop heads.
fn each_head(s: &Stmt, visit: &mut dyn FnMut(&Pattern)) {
    if let StmtKind::ForEach { target: Target::Pattern(pattern), .. } = &s.kind {
        visit(pattern);
    }
    each_child(s, &mut |c| each_head(c, visit));
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
    vars: &'v mut Vec<Var>,
}

impl Uses<'_> {
    fn statement(&mut self, s: &Stmt) {
        let mut found = vec![];
        each_expr(s, &mut |e, position| found.push((e, position)));
        found.into_iter().for_each(|(e, p)| self.expr(e, p));
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
            _ => e.children(&mut |c| self.expr(c, Managed)),
        }
    }
}
