//! Destructuring patterns, and loop heads, which are some.
//!
//! Invariant: a pattern that runs code or that nothing can be put after is not retained.

use oxc::ast::ast::*;
use oxc::semantic::SymbolId;
use oxc::span::GetSpan;

use super::shapes::is_inert;
use super::{Builder, span};
use crate::own::tree::*;

impl<'a> Builder<'a> {
    pub(super) fn binding_target(
        &mut self,
        b: &'a BindingPattern<'a>,
        kind: VarKind,
        insertable: bool,
    ) -> Target {
        match b {
            BindingPattern::BindingIdentifier(id) if kind != VarKind::Other => {
                match self.declare(id, kind, false) {
                    Some(sym) => Target::Var(sym, span(id.span)),
                    None => Target::Global,
                }
            }
            _ => {
                let mut pattern = Pattern::default();
                self.describe(b, &mut pattern);
                self.binding(b, kind, &mut pattern);
                self.settle(&mut pattern, insertable && kind != VarKind::Other);
                Target::Pattern(pattern)
            }
        }
    }

    /// Decides whether the variables of a pattern can be retained after it.
    pub(super) fn settle(&mut self, pattern: &mut Pattern, insertable: bool) {
        pattern.retained = insertable && pattern.is_simple() && !pattern.throws;
        for &sym in &pattern.vars {
            if pattern.retained {
                self.tree.vars[sym].destructured = true;
            } else {
                self.tree.vars[sym].pattern = true;
            }
        }
    }

    pub(super) fn binding(&mut self, b: &'a BindingPattern<'a>, kind: VarKind, into: &mut Pattern) {
        match b {
            BindingPattern::BindingIdentifier(id) => {
                into.vars.extend(self.declare(id, kind, false));
            }
            BindingPattern::ObjectPattern(p) => {
                for property in &p.properties {
                    if property.computed
                        && let Some(key) = property.key.as_expression()
                    {
                        let key = self.expr(key);
                        into.exprs.push(key);
                    }
                    self.binding(&property.value, kind, into);
                }
                if let Some(rest) = &p.rest {
                    self.rest(&rest.argument, kind, into);
                }
            }
            BindingPattern::ArrayPattern(p) => {
                for element in p.elements.iter().flatten() {
                    self.binding(element, kind, into);
                }
                if let Some(rest) = &p.rest {
                    self.rest(&rest.argument, kind, into);
                }
            }
            BindingPattern::AssignmentPattern(p) => {
                let before = into.vars.len();
                let early = self.early(&into.vars);
                self.default_of(&p.left, &p.right);
                let unit = self.default(&p.right, kind, into, early);
                self.binding(&p.left, kind, into);
                self.defaulted(unit, &p.left, &into.vars[before..]);
            }
        }
    }

    /// The default of a pattern. A parameter's is a function of its own, which may need slots.
    pub(super) fn default(
        &mut self,
        value: &'a Expression<'a>,
        kind: VarKind,
        into: &mut Pattern,
        early: Vec<Sym>,
    ) -> Option<UnitId> {
        if kind != VarKind::Param {
            if !is_inert(value) {
                let value = self.expr(value);
                into.exprs.push(value);
            }
            return None;
        }
        let at = value.span();
        let unit = self.part(UnitKind::Default, at, value);
        if !is_quiet(value) {
            if matches!(value, Expression::ClassExpression(_)) && !early.is_empty() {
                self.leave_alone("class as a default behind a pattern", at);
            }
            for &sym in &early {
                self.tree.vars[sym].defaulted = true;
            }
            self.tree.units[unit].early = early;
        }
        into.exprs.push(Expr { span: span(at), kind: Kind::Function(unit) });
        Some(unit)
    }

    /// Parameters that patterns have bound by now: those of this one, and earlier ones.
    pub(super) fn early(&self, vars: &[Sym]) -> Vec<Sym> {
        let params = self.tree.units[self.unit()].params.iter();
        let bound = params.filter(|&&sym| self.tree.vars[sym].destructured);
        bound.chain(vars).copied().collect()
    }

    pub(super) fn defaulted(&mut self, unit: Option<UnitId>, b: &BindingPattern<'a>, vars: &[Sym]) {
        if let (Some(unit), BindingPattern::BindingIdentifier(_), [sym]) = (unit, b, vars) {
            self.tree.units[unit].binds = Some(*sym);
            self.tree.vars[*sym].defaulted = true;
        }
    }

    /// An expression as a function of its own.
    pub(super) fn part(
        &mut self,
        kind: UnitKind,
        at: oxc::span::Span,
        value: &'a Expression<'a>,
    ) -> UnitId {
        let unit = self.open(kind, at, (at.start, at.end));
        self.tree.units[unit].expression_body = true;
        let value = self.expr(value);
        self.close(vec![Stmt { span: value.span, kind: StmtKind::Return(Some(value)) }]);
        unit
    }

    /// `...rest`: a fresh container that the variable owns.
    pub(super) fn rest(&mut self, b: &'a BindingPattern<'a>, kind: VarKind, into: &mut Pattern) {
        let before = into.vars.len();
        self.binding(b, kind, into);
        let single = matches!(b, BindingPattern::BindingIdentifier(_));
        for i in before..into.vars.len() {
            let var = &mut self.tree.vars[into.vars[i]];
            var.rest = single;
            var.pattern |= !single;
        }
    }

    /// `over`: what the loop can do for what a pattern takes apart.
    pub(super) fn for_target(&mut self, left: &'a ForStatementLeft<'a>, over: Over) -> Target {
        let mut pattern = Pattern::default();
        match left {
            ForStatementLeft::VariableDeclaration(d) => {
                let kind = match d.kind {
                    VariableDeclarationKind::Var => VarKind::Var,
                    VariableDeclarationKind::Let => VarKind::Let,
                    VariableDeclarationKind::Const => VarKind::Const,
                    _ => VarKind::Other,
                };
                for declarator in &d.declarations {
                    pattern.array = matches!(declarator.id, BindingPattern::ArrayPattern(_));
                    self.describe(&declarator.id, &mut pattern);
                    self.binding(&declarator.id, kind, &mut pattern);
                    if let Some(init) = &declarator.init {
                        let init = self.expr(init);
                        pattern.exprs.push(init);
                    }
                }
                let counted = match over {
                    Over::Values => true,
                    // What is awaited cannot be looked at before it is taken apart.
                    Over::Awaited => pattern.shape.is_none(),
                    Over::Keys | Over::Uncounted => false,
                };
                self.settle(&mut pattern, counted && kind != VarKind::Other);
            }
            other => {
                if let Some(target) = other.as_assignment_target() {
                    self.assignment_pattern(target, &mut pattern);
                }
                self.settle(&mut pattern, false);
            }
        }
        Target::Pattern(pattern)
    }

    pub(super) fn assignment_pattern(&mut self, t: &'a AssignmentTarget<'a>, into: &mut Pattern) {
        match t {
            AssignmentTarget::AssignmentTargetIdentifier(id) => self.assign_part(id, into),
            AssignmentTarget::ArrayAssignmentTarget(p) => {
                for element in p.elements.iter().flatten() {
                    self.maybe_default(element, into);
                }
                if let Some(rest) = &p.rest {
                    let before = into.vars.len();
                    self.assignment_pattern(&rest.target, into);
                    self.gathers(&into.vars[before..]);
                }
            }
            AssignmentTarget::ObjectAssignmentTarget(p) => {
                for property in &p.properties {
                    self.assignment_property(property, into);
                }
                if let Some(rest) = &p.rest {
                    let before = into.vars.len();
                    self.assignment_pattern(&rest.target, into);
                    self.gathers(&into.vars[before..]);
                }
            }
            other => match other.as_member_expression() {
                Some(member) => {
                    let member = self.member(member);
                    into.members.push(member);
                }
                None => self.leave_alone("assignment target", t.span()),
            },
        }
    }

    fn assign_part(&mut self, id: &IdentifierReference<'a>, into: &mut Pattern) {
        let sym = self.assigned(id);
        // What was assigned before stays, and nothing has retained it.
        into.throws |= !into.vars.is_empty() && self.may_refuse(id, sym);
        into.vars.extend(sym);
    }

    /// Whether an assignment to this name may throw.
    fn may_refuse(&self, id: &IdentifierReference<'a>, sym: Option<Sym>) -> bool {
        let Some(sym) = sym else { return true };
        let (scoping, symbol) = (self.semantic.scoping(), SymbolId::from_usize(sym));
        let flags = scoping.symbol_flags(symbol);
        if !flags.is_block_scoped() || flags.is_catch_variable() {
            return flags.is_import() || flags.is_function();
        }
        flags.is_const_variable()
            || flags.is_class()
            || flags.is_function()
            || scoping.symbol_span(symbol).start > id.span.start
            || self.switches.contains(&scoping.symbol_scope_id(symbol))
            || self.runs_before(sym)
    }

    /// A declared function around is called by whoever likes, maybe before the variable is there.
    fn runs_before(&self, sym: Sym) -> bool {
        let (mut unit, home) = (self.unit(), self.tree.vars[sym].unit);
        while unit != home {
            if self.tree.units[unit].is_declared {
                return true;
            }
            match self.tree.units[unit].parent {
                Some(parent) => unit = parent,
                None => return true,
            }
        }
        false
    }

    /// A rest element puts a fresh list or object into variables, which nobody has counted.
    fn gathers(&mut self, vars: &[Sym]) {
        for &sym in vars {
            self.tree.vars[sym].pattern = true;
            self.tree.vars[sym].gathers = true;
        }
    }

    pub(super) fn assignment_property(
        &mut self,
        property: &'a AssignmentTargetProperty<'a>,
        into: &mut Pattern,
    ) {
        match property {
            AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(p) => {
                if let Some(init) = p.init.as_ref().filter(|e| !is_inert(e)) {
                    let init = self.expr(init);
                    into.exprs.push(init);
                }
                self.assign_part(&p.binding, into);
            }
            AssignmentTargetProperty::AssignmentTargetPropertyProperty(p) => {
                if p.computed
                    && let Some(key) = p.name.as_expression()
                {
                    let key = self.expr(key);
                    into.exprs.push(key);
                }
                self.maybe_default(&p.binding, into);
            }
        }
    }

    pub(super) fn maybe_default(
        &mut self,
        t: &'a AssignmentTargetMaybeDefault<'a>,
        into: &mut Pattern,
    ) {
        match t {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(t) => {
                self.default_of_target(&t.binding, &t.init);
                if !is_inert(&t.init) {
                    let init = self.expr(&t.init);
                    into.exprs.push(init);
                }
                self.assignment_pattern(&t.binding, into);
            }
            other => {
                if let Some(target) = other.as_assignment_target() {
                    self.assignment_pattern(target, into);
                }
            }
        }
    }
}

/// An expression that certainly runs no code of the program.
fn is_quiet(e: &Expression) -> bool {
    match e.get_inner_expression() {
        Expression::Identifier(_) | Expression::ArrowFunctionExpression(_) => true,
        Expression::FunctionExpression(_) => true,
        e => is_inert(e),
    }
}
