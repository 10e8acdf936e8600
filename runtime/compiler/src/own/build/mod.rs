//! oxc's AST and scopes to a [`Tree`].

use std::collections::HashSet;

use oxc::ast::ast::*;
use oxc::semantic::Semantic;
use oxc::span::GetSpan;

mod chains;
mod expressions;
mod functions;
mod names;
mod patterns;
mod shapes;
mod statements;

use super::tree::{self, *};

/// Converts a parsed and analysed program. `force`: no literal is plain, whatever it holds.
pub(crate) fn build<'a>(program: &'a Program<'a>, semantic: &'a Semantic<'a>, force: bool) -> Tree {
    converted(program, semantic, force, false)
}

/// The same, without what callees are called: nothing will be emitted.
pub(crate) fn outline<'a>(program: &'a Program<'a>, semantic: &'a Semantic<'a>) -> Tree {
    converted(program, semantic, false, true)
}

fn converted<'a>(
    program: &'a Program<'a>,
    semantic: &'a Semantic<'a>,
    force: bool,
    outline: bool,
) -> Tree {
    let scoping = semantic.scoping();
    let vars = scoping
        .symbol_ids()
        .map(|id| {
            let flags = scoping.symbol_flags(id);
            Var {
                name: scoping.symbol_name(id).into(),
                kind: VarKind::Other,
                unit: 0,
                captured: false,
                exposed: false,
                exported: false,
                imported: flags.is_import(),
                from: None,
                pattern: false,
                gathers: false,
                destructured: false,
                rest: false,
                defaulted: false,
                loose: false,
                function: None,
                plain_calls: false,
                unclaimed: false,
                filled: false,
                passed: false,
                hinted: false,
                promise: false,
                in_loop: false,
                at: 0,
                declared: 0,
                redeclared: !scoping.symbol_redeclarations(id).is_empty(),
                assigned: 0,
                managed: false,
                managed_uses: 0,
                aliased: false,
                mode: Mode::Plain,
                lent: false,
            }
        })
        .collect();
    let mut builder = Builder {
        getters: names::getters(program.source_text),
        reference: false,
        source: program.source_text,
        semantic,
        force,
        outline,
        tree: Tree { vars, ..Tree::default() },
        stack: vec![],
        scopes: vec![None; scoping.scopes_len()],
        loops: vec![0],
        switches: HashSet::new(),
        at_statement: false,
        in_list: false,
    };
    let inner = (program.body.first().map_or(0, |s| s.span().start), program.span.end);
    builder.open(UnitKind::Program, program.span, inner);
    let body = builder.statements(&program.body);
    builder.close(body);
    builder.tree
}

struct Builder<'a> {
    /// The next expression, an optional chain, is more than its value: it keeps its form.
    reference: bool,
    /// Names of getters that the file defines: reading one claims what it gives.
    getters: HashSet<&'a str>,
    source: &'a str,
    semantic: &'a Semantic<'a>,
    /// Every literal is taken to hold something that needs counting.
    force: bool,
    /// Texts of callees are left out.
    outline: bool,
    tree: Tree,
    stack: Vec<UnitId>,
    /// Units of scopes, as far as they are known; others lie where the scope around them does.
    scopes: Vec<Option<UnitId>>,
    /// Loops around the current place, per open unit.
    loops: Vec<u32>,
    /// Scopes of `switch` statements: a jump may leave their declarations out.
    switches: HashSet<oxc::semantic::ScopeId>,
    /// The next expression is a whole statement.
    at_statement: bool,
    /// The present statement stands in a list, so another can follow it.
    in_list: bool,
}

fn span(s: oxc::span::Span) -> tree::Span {
    tree::Span { start: s.start, end: s.end }
}

fn logic(op: oxc::syntax::operator::LogicalOperator) -> Logic {
    match op {
        oxc::syntax::operator::LogicalOperator::And => Logic::And,
        oxc::syntax::operator::LogicalOperator::Or => Logic::Or,
        oxc::syntax::operator::LogicalOperator::Coalesce => Logic::Nullish,
    }
}

impl<'a> Builder<'a> {
    fn unit(&self) -> UnitId {
        self.stack.last().copied().unwrap_or(0)
    }

    fn open(&mut self, kind: UnitKind, at: oxc::span::Span, inner: (u32, u32)) -> UnitId {
        let id = self.tree.units.len();
        self.tree.units.push(Unit {
            kind,
            span: span(at),
            parent: self.stack.last().copied(),
            is_async: false,
            is_generator: false,
            is_declared: false,
            delegates: false,
            uses_arguments: false,
            plain_result: false,
            is_constructor: false,
            counts_instance: false,
            implicit: false,
            opaque: false,
            looks: None,
            keys: vec![],
            params: vec![],
            complex_params: false,
            body: vec![],
            inner: tree::Span { start: inner.0, end: inner.1 },
            expression_body: false,
            left_alone: None,
            binds: None,
            early: vec![],
            returns: false,
            keeps_instance: false,
            this_captured: false,
            hoisted: vec![],
        });
        self.stack.push(id);
        self.loops.push(0);
        id
    }

    fn close(&mut self, body: Vec<Stmt>) {
        let id = self.unit();
        self.tree.units[id].body = body;
        self.stack.pop();
        self.loops.pop();
    }

    fn leave_alone(&mut self, reason: &'static str, at: oxc::span::Span) {
        let id = self.unit();
        self.tree.units[id].left_alone.get_or_insert((reason, span(at)));
    }

    fn read(&mut self, id: &IdentifierReference<'a>) -> Kind {
        if id.name == "arguments" && self.function_unit().is_some() {
            let unit = self.function_unit().unwrap_or(0);
            self.tree.units[unit].uses_arguments = true;
        }
        match self.resolve(id) {
            Some(sym) => Kind::Read(sym),
            None if id.name == "undefined" => Kind::Plain,
            None => Kind::Global,
        }
    }

    /// The innermost function that has its own `arguments` and `this`.
    fn function_unit(&self) -> Option<UnitId> {
        self.stack
            .iter()
            .rev()
            .copied()
            .find(|&u| !matches!(self.tree.units[u].kind, UnitKind::Arrow | UnitKind::Default))
            .filter(|&u| self.tree.units[u].kind != UnitKind::Program)
    }

    fn resolve(&mut self, id: &IdentifierReference<'a>) -> Option<Sym> {
        let reference = self.semantic.scoping().get_reference(id.reference_id.get()?);
        let sym = reference.symbol_id()?.index();
        let unit = self.unit();
        self.tree.uses.push((sym, unit));
        let declared = self.unit_of(sym);
        // A default runs before the body: what it reads of the other parameters is held meanwhile.
        let here = &self.tree.units[unit];
        let reads = here.kind == UnitKind::Default && here.parent == Some(declared);
        self.tree.vars[sym].captured |= declared != unit && !reads;
        Some(sym)
    }

    /// A variable that is assigned.
    fn assigned(&mut self, id: &IdentifierReference<'a>) -> Option<Sym> {
        let sym = self.resolve(id)?;
        let elsewhere = self.unit_of(sym) != self.unit();
        self.tree.vars[sym].assigned += 1;
        self.tree.vars[sym].captured |= elsewhere;
        Some(sym)
    }

    /// The unit that owns a variable: where its scope's function is.
    fn unit_of(&mut self, sym: Sym) -> UnitId {
        let scoping = self.semantic.scoping();
        let id = oxc::semantic::SymbolId::from_usize(sym);
        let scope = scoping.symbol_scope_id(id);
        let known = scoping.scope_ancestors(scope).find_map(|s| self.scopes[s.index()]);
        let unit = known.unwrap_or(0);
        self.scopes[scope.index()] = Some(unit);
        unit
    }

    /// The innermost open unit is where a scope lies.
    fn enter(&mut self, scope: &std::cell::Cell<Option<oxc::semantic::ScopeId>>) {
        if let Some(scope) = scope.get() {
            self.scopes[scope.index()] = Some(self.unit());
        }
    }

    fn declare(&mut self, id: &BindingIdentifier<'a>, kind: VarKind, pattern: bool) -> Option<Sym> {
        let sym = id.symbol_id.get()?.index();
        let unit = self.unit_of(sym);
        if id.name == "arguments" {
            // What is passed cannot be named.
            let reason = ("a variable is called arguments", span(id.span));
            self.tree.units[unit].left_alone.get_or_insert(reason);
        }
        let in_loop = self.loops.last().is_some_and(|&n| n > 0) && kind != VarKind::Var;
        let var = &mut self.tree.vars[sym];
        var.unit = unit;
        var.kind = kind;
        var.pattern |= pattern;
        var.in_loop |= in_loop;
        var.at = id.span.start;
        var.declared = var.declared.max(id.span.end);
        Some(sym)
    }
}
