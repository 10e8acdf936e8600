//! oxc's AST and scopes to a [`Tree`].

use oxc::ast::ast::{self, *};
use oxc::semantic::Semantic;
use oxc::span::GetSpan;

use super::tree::{self, *};

/// Converts a parsed and analysed program.
pub(crate) fn build<'a>(program: &'a Program<'a>, semantic: &'a Semantic<'a>) -> Tree {
    let scoping = semantic.scoping();
    let vars = scoping
        .symbol_ids()
        .map(|id| {
            let flags = scoping.symbol_flags(id);
            Var {
                name: scoping.symbol_name(id).to_owned(),
                kind: VarKind::Other,
                unit: 0,
                captured: false,
                exposed: false,
                exported: false,
                imported: flags.is_import(),
                from: None,
                pattern: false,
                destructured: false,
                rest: false,
                defaulted: false,
                function: None,
                plain_calls: false,
                unclaimed: false,
                filled: false,
                promise: false,
                in_loop: false,
                at: 0,
                declared: 0,
                redeclared: !scoping.symbol_redeclarations(id).is_empty(),
                assigned: 0,
                managed_values: 0,
                managed_uses: 0,
                aliased: false,
                mode: Mode::Plain,
                lent: false,
            }
        })
        .collect();
    let mut builder = Builder {
        source: program.source_text,
        semantic,
        tree: Tree { vars, ..Tree::default() },
        stack: vec![],
        loops: vec![0],
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
    source: &'a str,
    semantic: &'a Semantic<'a>,
    tree: Tree,
    stack: Vec<UnitId>,
    /// Loops around the current place, per open unit.
    loops: Vec<u32>,
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
            delegates: false,
            uses_arguments: false,
            plain_result: false,
            is_constructor: false,
            counts_instance: false,
            params: vec![],
            complex_params: false,
            body: vec![],
            inner: tree::Span { start: inner.0, end: inner.1 },
            expression_body: false,
            left_alone: None,
            binds: None,
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
        self.tree.vars[sym].captured |= declared != unit;
        Some(sym)
    }

    /// The unit that owns a variable: where its scope's function is.
    fn unit_of(&self, sym: Sym) -> UnitId {
        let scoping = self.semantic.scoping();
        let id = oxc::semantic::SymbolId::from_usize(sym);
        let scope = scoping.symbol_scope_id(id);
        // The innermost open unit whose span holds the scope's node.
        let node = self.semantic.nodes().kind(scoping.get_node_id(scope)).span();
        self.stack
            .iter()
            .rev()
            .copied()
            .find(|&u| {
                let s = self.tree.units[u].span;
                s.start <= node.start && node.end <= s.end
            })
            .unwrap_or(0)
    }

    fn declare(&mut self, id: &BindingIdentifier<'a>, kind: VarKind, pattern: bool) -> Option<Sym> {
        let sym = id.symbol_id.get()?.index();
        let unit = self.unit_of(sym);
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

    // Statements.

    fn statements(&mut self, list: &'a [Statement<'a>]) -> Vec<Stmt> {
        list.iter()
            .map(|s| {
                self.in_list = true;
                self.statement(s)
            })
            .collect()
    }

    fn boxed(&mut self, s: &'a Statement<'a>) -> Box<Stmt> {
        self.in_list = false;
        Box::new(self.statement(s))
    }

    fn looped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(n) = self.loops.last_mut() {
            *n += 1;
        }
        let result = inside(self);
        if let Some(n) = self.loops.last_mut() {
            *n -= 1;
        }
        result
    }

    fn statement(&mut self, s: &'a Statement<'a>) -> Stmt {
        let kind = self.statement_kind(s);
        if let StmtKind::Unsupported(reason) = kind {
            self.leave_alone(reason, s.span());
        }
        Stmt { span: span(s.span()), kind }
    }

    fn statement_kind(&mut self, s: &'a Statement<'a>) -> StmtKind {
        match s {
            Statement::EmptyStatement(_) | Statement::DebuggerStatement(_) => StmtKind::Nothing,
            Statement::ExpressionStatement(s) => {
                self.at_statement = self.in_list;
                StmtKind::Expr(self.expr(&s.expression))
            }
            Statement::BlockStatement(s) => StmtKind::Block(self.statements(&s.body)),
            Statement::VariableDeclaration(s) => StmtKind::Declare(self.declarators(s)),
            Statement::FunctionDeclaration(f) => {
                self.function_declaration(f);
                StmtKind::Nothing
            }
            Statement::ClassDeclaration(c) => {
                StmtKind::Expr(Expr { span: span(c.span), kind: self.class(c) })
            }
            Statement::IfStatement(s) => StmtKind::If(
                self.expr(&s.test),
                self.boxed(&s.consequent),
                s.alternate.as_ref().map(|a| self.boxed(a)),
            ),
            Statement::ForStatement(s) => self.for_statement(s),
            Statement::ForInStatement(s) => {
                let right = self.expr(&s.right);
                self.looped(|b| {
                    let target = b.for_target(&s.left, false);
                    StmtKind::ForEach { target, right, body: b.boxed(&s.body), over: Over::Keys }
                })
            }
            Statement::ForOfStatement(s) => {
                let right = self.expr(&s.right);
                self.looped(|b| {
                    let target = b.for_target(&s.left, true);
                    let retained = matches!(&target, Target::Pattern(p) if p.retained);
                    let over = match (retained, s.r#await) {
                        (true, false) => Over::Values,
                        (true, true) => Over::Awaited,
                        (false, _) => Over::Uncounted,
                    };
                    StmtKind::ForEach { target, right, body: b.boxed(&s.body), over }
                })
            }
            Statement::WhileStatement(s) => {
                self.looped(|b| StmtKind::While(b.expr(&s.test), b.boxed(&s.body)))
            }
            Statement::DoWhileStatement(s) => self.looped(|b| {
                let body = b.boxed(&s.body);
                StmtKind::DoWhile(body, b.expr(&s.test))
            }),
            Statement::LabeledStatement(s) => {
                StmtKind::Label(s.label.name.to_string(), self.boxed(&s.body))
            }
            Statement::BreakStatement(s) => {
                StmtKind::Break(s.label.as_ref().map(|l| l.name.to_string()))
            }
            Statement::ContinueStatement(s) => {
                StmtKind::Continue(s.label.as_ref().map(|l| l.name.to_string()))
            }
            Statement::ReturnStatement(s) => {
                let unit = self.unit();
                self.tree.units[unit].returns |= s.argument.is_some();
                StmtKind::Return(s.argument.as_ref().map(|e| self.expr(e)))
            }
            Statement::ThrowStatement(s) => StmtKind::Throw(self.expr(&s.argument)),
            Statement::SwitchStatement(s) => StmtKind::Switch(
                self.expr(&s.discriminant),
                s.cases
                    .iter()
                    .map(|c| Case {
                        test: c.test.as_ref().map(|e| self.expr(e)),
                        body: self.statements(&c.consequent),
                    })
                    .collect(),
            ),
            Statement::TryStatement(s) => self.try_statement(s),
            Statement::WithStatement(_) => {
                self.tree.dynamic = true;
                StmtKind::Unsupported("with")
            }
            _ => self.module_statement(s),
        }
    }

    fn module_statement(&mut self, s: &'a Statement<'a>) -> StmtKind {
        match s {
            Statement::ImportDeclaration(i) => {
                for id in i.specifiers.iter().flatten().filter_map(|s| s.local().symbol_id.get()) {
                    self.tree.vars[id.index()].from = Some(i.source.value.to_string());
                }
                StmtKind::Nothing
            }
            Statement::ExportAllDeclaration(_) | Statement::ExportFromDeclaration(_) => {
                StmtKind::Nothing
            }
            Statement::ExportNamedDeclaration(e) => {
                for specifier in &e.specifiers {
                    if let ModuleExportName::IdentifierReference(id) = &specifier.local
                        && let Some(sym) = self.resolve(id)
                    {
                        self.tree.vars[sym].exported = true;
                    }
                }
                StmtKind::Nothing
            }
            Statement::ExportDeclaration(e) => match &e.declaration {
                Declaration::VariableDeclaration(d) => {
                    let declarators = self.declarators(d);
                    for declarator in &declarators {
                        let vars = match &declarator.target {
                            Target::Var(sym, _) => std::slice::from_ref(sym),
                            Target::Pattern(pattern) => &pattern.vars,
                            _ => &[],
                        };
                        for &sym in vars {
                            self.tree.vars[sym].exported = true;
                        }
                    }
                    StmtKind::Declare(declarators)
                }
                Declaration::FunctionDeclaration(f) => {
                    self.function_declaration(f);
                    StmtKind::Nothing
                }
                Declaration::ClassDeclaration(c) => {
                    StmtKind::Expr(Expr { span: span(c.span), kind: self.class(c) })
                }
                _ => StmtKind::Unsupported("TypeScript"),
            },
            Statement::ExportDefaultDeclaration(e) => match &e.declaration {
                ExportDefaultDeclarationKind::FunctionDeclaration(f) => {
                    self.function_declaration(f);
                    StmtKind::Nothing
                }
                ExportDefaultDeclarationKind::ClassDeclaration(c) => {
                    StmtKind::Expr(Expr { span: span(c.span), kind: self.class(c) })
                }
                other => match other.as_expression() {
                    Some(e) => StmtKind::Export(self.expr(e)),
                    None => StmtKind::Unsupported("TypeScript"),
                },
            },
            _ => StmtKind::Unsupported("TypeScript"),
        }
    }

    fn for_statement(&mut self, s: &'a ForStatement<'a>) -> StmtKind {
        // A binding of the head lives once per iteration.
        self.looped(|b| {
            b.in_list = false;
            let init = s.init.as_ref().map(|init| {
                let kind = match init {
                    ForStatementInit::VariableDeclaration(d) => StmtKind::Declare(b.declarators(d)),
                    other => match other.as_expression() {
                        Some(e) => StmtKind::Expr(b.expr(e)),
                        None => StmtKind::Unsupported("for"),
                    },
                };
                Box::new(Stmt { span: span(init.span()), kind })
            });
            StmtKind::For {
                init,
                test: s.test.as_ref().map(|e| b.expr(e)),
                update: s.update.as_ref().map(|e| b.expr(e)),
                body: b.boxed(&s.body),
            }
        })
    }

    fn try_statement(&mut self, s: &'a TryStatement<'a>) -> StmtKind {
        let block = self.statements(&s.block.body);
        let handler = s.handler.as_ref().map(|h| {
            let mut pattern = Pattern::default();
            if let Some(param) = &h.param {
                self.binding(&param.pattern, VarKind::Other, &mut pattern);
            }
            Handler { pattern, body: self.statements(&h.body.body), start: h.body.span.start + 1 }
        });
        let finalizer = s.finalizer.as_ref().map(|f| self.statements(&f.body));
        StmtKind::Try { block, handler, finalizer }
    }

    fn declarators(&mut self, d: &'a VariableDeclaration<'a>) -> Vec<Declarator> {
        let kind = match d.kind {
            VariableDeclarationKind::Var => VarKind::Var,
            VariableDeclarationKind::Let => VarKind::Let,
            VariableDeclarationKind::Const => VarKind::Const,
            VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing => VarKind::Other,
        };
        let insertable = self.in_list;
        d.declarations
            .iter()
            .map(|d| {
                let target = self.binding_target(&d.id, kind, insertable);
                let init = d.init.as_ref().map(|e| self.expr(e));
                if let (Target::Var(sym, _), Some(Kind::Function(unit)), VarKind::Const) =
                    (&target, init.as_ref().map(|e| &e.kind), kind)
                {
                    self.tree.vars[*sym].function = Some(*unit);
                }
                let vars = match &target {
                    Target::Var(sym, _) => std::slice::from_ref(sym),
                    Target::Pattern(pattern) => &pattern.vars,
                    _ => &[],
                };
                for &sym in vars {
                    self.tree.vars[sym].declared = d.span.end;
                }
                Declarator { target, init }
            })
            .collect()
    }

    fn binding_target(
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
                self.binding(b, kind, &mut pattern);
                self.settle(&mut pattern, insertable && kind != VarKind::Other);
                Target::Pattern(pattern)
            }
        }
    }

    /// Decides whether the variables of a pattern can be retained after it.
    fn settle(&mut self, pattern: &mut Pattern, insertable: bool) {
        pattern.retained = insertable && pattern.is_simple();
        for &sym in &pattern.vars {
            if pattern.retained {
                self.tree.vars[sym].destructured = true;
            } else {
                self.tree.vars[sym].pattern = true;
            }
        }
    }

    fn binding(&mut self, b: &'a BindingPattern<'a>, kind: VarKind, into: &mut Pattern) {
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
                into.iterates = true;
                for element in p.elements.iter().flatten() {
                    self.binding(element, kind, into);
                }
                if let Some(rest) = &p.rest {
                    self.rest(&rest.argument, kind, into);
                }
            }
            BindingPattern::AssignmentPattern(p) => {
                let before = into.vars.len();
                let unit = self.default(&p.right, kind, into);
                self.binding(&p.left, kind, into);
                self.defaulted(unit, &p.left, &into.vars[before..]);
            }
        }
    }

    /// The default of a pattern. A parameter's is a function of its own, which may need slots.
    fn default(
        &mut self,
        value: &'a Expression<'a>,
        kind: VarKind,
        into: &mut Pattern,
    ) -> Option<UnitId> {
        if kind != VarKind::Param {
            let value = self.expr(value);
            into.exprs.push(value);
            return None;
        }
        let at = value.span();
        let unit = self.part(UnitKind::Default, at, value);
        into.exprs.push(Expr { span: span(at), kind: Kind::Function(unit) });
        Some(unit)
    }

    fn defaulted(&mut self, unit: Option<UnitId>, b: &BindingPattern<'a>, vars: &[Sym]) {
        if let (Some(unit), BindingPattern::BindingIdentifier(_), [sym]) = (unit, b, vars) {
            self.tree.units[unit].binds = Some(*sym);
            self.tree.vars[*sym].defaulted = true;
        }
    }

    /// An expression as a function of its own.
    fn part(&mut self, kind: UnitKind, at: oxc::span::Span, value: &'a Expression<'a>) -> UnitId {
        let unit = self.open(kind, at, (at.start, at.end));
        self.tree.units[unit].expression_body = true;
        let value = self.expr(value);
        self.close(vec![Stmt { span: value.span, kind: StmtKind::Return(Some(value)) }]);
        unit
    }

    /// `...rest`: a fresh container that the variable owns.
    fn rest(&mut self, b: &'a BindingPattern<'a>, kind: VarKind, into: &mut Pattern) {
        let before = into.vars.len();
        self.binding(b, kind, into);
        let single = matches!(b, BindingPattern::BindingIdentifier(_));
        for i in before..into.vars.len() {
            let var = &mut self.tree.vars[into.vars[i]];
            var.rest = single;
            var.pattern |= !single;
        }
    }

    fn for_target(&mut self, left: &'a ForStatementLeft<'a>, counted: bool) -> Target {
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
                    self.binding(&declarator.id, kind, &mut pattern);
                    if let Some(init) = &declarator.init {
                        let init = self.expr(init);
                        pattern.exprs.push(init);
                    }
                }
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

    fn assignment_pattern(&mut self, t: &'a AssignmentTarget<'a>, into: &mut Pattern) {
        match t {
            AssignmentTarget::AssignmentTargetIdentifier(id) => {
                if let Some(sym) = self.resolve(id) {
                    self.tree.vars[sym].assigned += 1;
                    into.vars.push(sym);
                }
            }
            AssignmentTarget::ArrayAssignmentTarget(p) => {
                into.iterates = true;
                for element in p.elements.iter().flatten() {
                    self.maybe_default(element, into);
                }
                if let Some(rest) = &p.rest {
                    let before = into.vars.len();
                    self.assignment_pattern(&rest.target, into);
                    for i in before..into.vars.len() {
                        self.tree.vars[into.vars[i]].pattern = true;
                    }
                }
            }
            AssignmentTarget::ObjectAssignmentTarget(p) => {
                for property in &p.properties {
                    self.assignment_property(property, into);
                }
                if let Some(rest) = &p.rest {
                    let before = into.vars.len();
                    self.assignment_pattern(&rest.target, into);
                    for i in before..into.vars.len() {
                        self.tree.vars[into.vars[i]].pattern = true;
                    }
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

    fn assignment_property(
        &mut self,
        property: &'a AssignmentTargetProperty<'a>,
        into: &mut Pattern,
    ) {
        match property {
            AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(p) => {
                if let Some(init) = &p.init {
                    let init = self.expr(init);
                    into.exprs.push(init);
                }
                if let Some(sym) = self.resolve(&p.binding) {
                    self.tree.vars[sym].assigned += 1;
                    into.vars.push(sym);
                }
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

    fn maybe_default(&mut self, t: &'a AssignmentTargetMaybeDefault<'a>, into: &mut Pattern) {
        match t {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(t) => {
                let init = self.expr(&t.init);
                into.exprs.push(init);
                self.assignment_pattern(&t.binding, into);
            }
            other => {
                if let Some(target) = other.as_assignment_target() {
                    self.assignment_pattern(target, into);
                }
            }
        }
    }

    // Functions and classes.

    fn function_declaration(&mut self, f: &'a Function<'a>) {
        if let Some(id) = &f.id
            && let Some(sym) = id.symbol_id.get()
        {
            let unit = self.unit_of(sym.index());
            self.tree.vars[sym.index()].unit = unit;
            let here = self.unit();
            self.tree.units[here].hoisted.push(sym.index());
            let function = self.function(f);
            self.tree.vars[sym.index()].function = Some(function);
            return;
        }
        self.function(f);
    }

    fn function(&mut self, f: &'a Function<'a>) -> UnitId {
        let Some(body) = &f.body else { return 0 };
        let inner = (body.span.start + 1, body.span.end - 1);
        let after = body.directives.last().map_or(inner.0, |d| d.span.end);
        let id = self.open(UnitKind::Function, f.span, (after, inner.1));
        self.tree.units[id].is_async = f.r#async;
        self.tree.units[id].is_generator = f.generator;
        if let Some(name) = f.id.as_ref().and_then(|name| name.symbol_id.get())
            && f.r#type == FunctionType::FunctionExpression
        {
            self.tree.vars[name.index()].unit = id;
        }
        self.params(&f.params);
        let body = self.statements(&body.statements);
        self.close(body);
        id
    }

    fn arrow(&mut self, f: &'a ArrowFunctionExpression<'a>) -> UnitId {
        let at = f.body.span();
        let inner = match &f.body {
            ArrowFunctionBody::FunctionBody(body) => {
                let first = body.directives.last().map_or(at.start + 1, |d| d.span.end);
                (first, at.end - 1)
            }
            _ => (at.start, at.end),
        };
        let id = self.open(UnitKind::Arrow, f.span, inner);
        self.tree.units[id].is_async = f.r#async;
        self.params(&f.params);
        let body = match &f.body {
            ArrowFunctionBody::FunctionBody(body) => self.statements(&body.statements),
            other => {
                self.tree.units[id].expression_body = true;
                match other.as_expression() {
                    Some(e) => {
                        let value = self.expr(e);
                        vec![Stmt { span: value.span, kind: StmtKind::Return(Some(value)) }]
                    }
                    None => vec![],
                }
            }
        };
        self.close(body);
        id
    }

    fn params(&mut self, params: &'a FormalParameters<'a>) {
        let unit = self.unit();
        for param in &params.items {
            if let (BindingPattern::BindingIdentifier(id), None) =
                (&param.pattern, &param.initializer)
            {
                if let Some(sym) = self.declare(id, VarKind::Param, false) {
                    self.tree.units[unit].params.push(sym);
                }
            } else {
                self.complex_param(&param.pattern, param.initializer.as_deref());
            }
        }
        if let Some(rest) = &params.rest {
            match &rest.rest.argument {
                BindingPattern::BindingIdentifier(id) => {
                    if let Some(sym) = self.declare(id, VarKind::Param, false) {
                        self.tree.vars[sym].rest = true;
                        self.tree.units[unit].params.push(sym);
                    }
                }
                other => {
                    self.complex_param(other, None);
                    self.leave_alone("rest parameter with a pattern", other.span());
                }
            }
        }
    }

    /// Bindings of patterns are not counted; what their defaults compute is.
    fn complex_param(&mut self, b: &'a BindingPattern<'a>, init: Option<&'a Expression<'a>>) {
        let unit = self.unit();
        let mut pattern = Pattern::default();
        self.binding(b, VarKind::Param, &mut pattern);
        if pattern.vars.iter().any(|&v| self.tree.vars[v].rest) {
            self.leave_alone("rest in a parameter's pattern", b.span());
        }
        if let Some(init) = init {
            let default = self.default(init, VarKind::Param, &mut pattern);
            self.defaulted(default, b, &pattern.vars);
        }
        if pattern.exprs.iter().any(|e| !matches!(e.kind, Kind::Plain | Kind::Function(_))) {
            self.leave_alone("parameter with a computed key", b.span());
        }
        for &sym in &pattern.vars {
            self.tree.vars[sym].destructured = true;
        }
        self.tree.units[unit].complex_params = true;
        self.tree.units[unit].params.extend(pattern.vars);
    }

    fn class(&mut self, c: &'a Class<'a>) -> Kind {
        let mut parts = vec![];
        if let Some(id) = &c.id
            && let Some(sym) = id.symbol_id.get()
        {
            let unit = self.unit_of(sym.index());
            self.tree.vars[sym.index()].unit = unit;
        }
        if let Some(heritage) = &c.heritage {
            parts.push(self.expr(&heritage.expression));
        }
        let base = c.heritage.is_none();
        let mut class = ClassInfo {
            name: c.id.as_ref().and_then(|id| id.symbol_id.get()).map(|id| id.index()),
            inner: span(c.body.span),
            base,
            constructor: None,
            fields: vec![],
            odd: !c.decorators.is_empty(),
        };
        for element in &c.body.body {
            match element {
                ClassElement::MethodDefinition(m) => {
                    parts.extend(self.class_key(&m.key, m.computed));
                    let unit = self.function(&m.value);
                    let constructor = m.kind == MethodDefinitionKind::Constructor;
                    self.tree.units[unit].is_constructor = constructor;
                    self.tree.units[unit].counts_instance = constructor && base;
                    self.tree.methods.extend(m.key.name().map(|name| (name.into_owned(), unit)));
                    if constructor {
                        class.constructor = Some(unit);
                    }
                }
                ClassElement::PropertyDefinition(p) => {
                    parts.extend(self.class_key(&p.key, p.computed));
                    if let Some(value) = &p.value {
                        let unit = self.part(UnitKind::Field, value.span(), value);
                        class.fields.push(unit);
                        if let [Stmt { kind: StmtKind::Return(Some(value)), .. }] =
                            &self.tree.units[unit].body[..]
                            && let Kind::Function(method) = value.kind
                        {
                            let name = p.key.name().map(|name| (name.into_owned(), method));
                            self.tree.methods.extend(name);
                        }
                    }
                }
                ClassElement::StaticBlock(s) => {
                    let start = skip_to(self.source, s.span.start, b'{') + 1;
                    self.open(UnitKind::ClassPart, s.span, (start, s.span.end - 1));
                    let body = self.statements(&s.body);
                    self.close(body);
                }
                ClassElement::AccessorProperty(p) => {
                    class.odd = true;
                    self.leave_alone("accessor", p.span);
                }
                ClassElement::TSIndexSignature(_) => {}
            }
        }
        if let Some(constructor) = class.constructor {
            let keeps = self.tree.keeps_instance(&class);
            self.tree.units[constructor].keeps_instance = keeps;
        }
        self.tree.classes.push(class);
        Kind::Class(parts)
    }

    fn class_key(&mut self, key: &'a PropertyKey<'a>, computed: bool) -> Option<Expr> {
        if computed { key.as_expression().map(|e| self.expr(e)) } else { None }
    }

    // Expressions.

    fn expr(&mut self, e: &'a Expression<'a>) -> Expr {
        if !matches!(
            e,
            Expression::AssignmentExpression(_) | Expression::ParenthesizedExpression(_)
        ) {
            self.at_statement = false;
        }
        let kind = self.kind(e);
        if let Kind::Unsupported(reason) = kind {
            self.leave_alone(reason, e.span());
        }
        Expr { span: span(e.span()), kind }
    }

    fn list<'e>(&mut self, list: impl IntoIterator<Item = &'a Expression<'a>>) -> Vec<Expr>
    where
        'a: 'e,
    {
        list.into_iter().map(|e| self.expr(e)).collect()
    }

    fn kind(&mut self, e: &'a Expression<'a>) -> Kind {
        match e {
            Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BigIntLiteral(_)
            | Expression::StringLiteral(_)
            | Expression::RegExpLiteral(_)
            | Expression::ImportMeta(_)
            | Expression::NewTarget(_) => Kind::Plain,
            Expression::TemplateLiteral(t) => Kind::Operator(self.list(&t.expressions)),
            Expression::Identifier(id) => self.read(id),
            Expression::ThisExpression(_) => {
                self.capture_this();
                Kind::This
            }
            Expression::ArrowFunctionExpression(f) => Kind::Function(self.arrow(f)),
            Expression::FunctionExpression(f) => Kind::Function(self.function(f)),
            Expression::ClassExpression(c) => self.class(c),
            Expression::ArrayExpression(a) => {
                let mut items = vec![];
                for element in &a.elements {
                    let (spread, value) = match element {
                        ArrayExpressionElement::SpreadElement(s) => (true, Some(&s.argument)),
                        ArrayExpressionElement::Elision(_) => continue,
                        other => (false, other.as_expression()),
                    };
                    if let Some(value) = value {
                        let value = self.expr(value);
                        items.push(tree::Argument { spread, value });
                    }
                }
                Kind::Literal { items, countable: true }
            }
            Expression::ObjectExpression(o) => self.object(o),
            Expression::UnaryExpression(u) => self.unary(u),
            Expression::BinaryExpression(b) => {
                let parts = vec![self.expr(&b.left), self.expr(&b.right)];
                match b.operator {
                    // A user's Symbol.hasInstance gets the operand.
                    oxc::syntax::operator::BinaryOperator::Instanceof => Kind::Store(parts),
                    oxc::syntax::operator::BinaryOperator::In => Kind::Inspect(parts),
                    _ => Kind::Operator(parts),
                }
            }
            Expression::PrivateInExpression(p) => Kind::Operator(vec![self.expr(&p.right)]),
            Expression::UpdateExpression(u) => self.update(u),
            Expression::LogicalExpression(l) => Kind::Logical(
                logic(l.operator),
                Box::new([self.expr(&l.left), self.expr(&l.right)]),
            ),
            Expression::ConditionalExpression(c) => Kind::Conditional(Box::new([
                self.expr(&c.test),
                self.expr(&c.consequent),
                self.expr(&c.alternate),
            ])),
            Expression::SequenceExpression(s) => Kind::Sequence(self.list(&s.expressions)),
            Expression::ParenthesizedExpression(p) => {
                Kind::Paren(Box::new(self.expr(&p.expression)))
            }
            Expression::AssignmentExpression(a) => self.assign(a),
            Expression::CallExpression(c) => self.call(c),
            Expression::NewExpression(n) => {
                let callee = self.expr(&n.callee);
                let args = n.arguments.iter().map(|a| self.argument(a)).collect();
                Kind::Construct(Box::new(Call {
                    callee,
                    optional: false,
                    args,
                    open: n.callee.span().end,
                    text: callee_text(&n.callee),
                    is_super: false,
                }))
            }
            Expression::TaggedTemplateExpression(t) => {
                let mut list = vec![self.expr(&t.tag)];
                list.extend(self.list(&t.quasi.expressions));
                Kind::New(list)
            }
            Expression::ChainExpression(c) => Kind::Chain(Box::new(self.chain(&c.expression))),
            Expression::AwaitExpression(a) => Kind::Await(Box::new(self.expr(&a.argument))),
            Expression::YieldExpression(y) if y.delegate => {
                let unit = self.unit();
                self.tree.units[unit].delegates = true;
                Kind::Store(y.argument.iter().map(|e| self.expr(e)).collect())
            }
            Expression::YieldExpression(y) => {
                Kind::Yield(y.argument.as_ref().map(|e| Box::new(self.expr(e))))
            }
            Expression::ImportExpression(i) => {
                let mut list = vec![self.expr(&i.source)];
                list.extend(i.options.iter().map(|e| self.expr(e)));
                Kind::Store(list)
            }
            other => match other.as_member_expression() {
                Some(member) => self.member(member).kind,
                None => Kind::Unsupported("unknown expression"),
            },
        }
    }

    fn unary(&mut self, u: &'a ast::UnaryExpression<'a>) -> Kind {
        use oxc::syntax::operator::UnaryOperator as Op;
        let operand = self.expr(&u.argument);
        match u.operator {
            // `delete x` is about the variable, not about its value.
            Op::Delete if matches!(operand.kind, Kind::Read(_)) => Kind::Plain,
            Op::Void | Op::Typeof => Kind::Inspect(vec![operand]),
            _ => Kind::Operator(vec![operand]),
        }
    }

    fn capture_this(&mut self) {
        for &unit in self.stack.iter().rev() {
            match self.tree.units[unit].kind {
                UnitKind::Arrow | UnitKind::Default => {}
                _ => {
                    if unit != self.unit() {
                        self.tree.units[unit].this_captured = true;
                    }
                    return;
                }
            }
        }
    }

    fn object(&mut self, o: &'a ObjectExpression<'a>) -> Kind {
        let mut items = vec![];
        let mut countable = true;
        for property in &o.properties {
            let (spread, value) = match property {
                ObjectPropertyKind::ObjectProperty(p) => {
                    countable &=
                        p.kind == PropertyKind::Init && !p.key.is_specific_static_name("__proto__");
                    if p.computed {
                        // A key's conversion runs code while earlier values wait.
                        countable = false;
                        if let Some(key) = p.key.as_expression() {
                            let value = self.expr(key);
                            let value =
                                Expr { span: value.span, kind: Kind::Operator(vec![value]) };
                            items.push(tree::Argument { spread: false, value });
                        }
                    }
                    let mut value = self.expr(&p.value);
                    if let Kind::Function(unit) = value.kind {
                        self.tree.methods.extend(p.key.name().map(|n| (n.into_owned(), unit)));
                    }
                    if p.shorthand {
                        // `{ x }` has one identifier for key and value.
                        let inner = Expr { span: value.span, kind: value.kind };
                        value = Expr { span: inner.span, kind: Kind::Paren(Box::new(inner)) };
                    }
                    (false, value)
                }
                ObjectPropertyKind::SpreadProperty(s) => (true, self.expr(&s.argument)),
            };
            items.push(tree::Argument { spread, value });
        }
        Kind::Literal { items, countable }
    }

    fn update(&mut self, u: &'a ast::UpdateExpression<'a>) -> Kind {
        let target = match &u.argument {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => match self.resolve(id) {
                Some(sym) => {
                    self.tree.vars[sym].assigned += 1;
                    Target::Var(sym, span(id.span))
                }
                None => Target::Global,
            },
            other => match other.as_member_expression() {
                Some(member) => Target::Member(Box::new(self.member(member))),
                None => return Kind::Unsupported("update target"),
            },
        };
        let at = span(u.span);
        let value = Expr { span: tree::Span { start: at.end, end: at.end }, kind: Kind::Plain };
        Kind::Assign(Box::new(Assign { target, op: AssignOp::Arithmetic, value }))
    }

    fn assign(&mut self, a: &'a AssignmentExpression<'a>) -> Kind {
        use oxc::syntax::operator::AssignmentOperator as Op;
        if a.left.as_assignment_target_pattern().is_none() {
            self.at_statement = false;
        }
        let op = match a.operator {
            Op::Assign => AssignOp::Simple,
            Op::LogicalAnd => AssignOp::Logical(Logic::And),
            Op::LogicalOr => AssignOp::Logical(Logic::Or),
            Op::LogicalNullish => AssignOp::Logical(Logic::Nullish),
            _ => AssignOp::Arithmetic,
        };
        let target = match &a.left {
            AssignmentTarget::AssignmentTargetIdentifier(id) => match self.resolve(id) {
                Some(sym) => {
                    self.tree.vars[sym].assigned += 1;
                    Target::Var(sym, span(id.span))
                }
                None => Target::Global,
            },
            AssignmentTarget::ArrayAssignmentTarget(_)
            | AssignmentTarget::ObjectAssignmentTarget(_) => {
                let whole = std::mem::take(&mut self.at_statement);
                let mut pattern = Pattern::default();
                self.assignment_pattern(&a.left, &mut pattern);
                self.settle(&mut pattern, whole);
                Target::Pattern(pattern)
            }
            other => match other.as_member_expression() {
                Some(member) => Target::Member(Box::new(self.member(member))),
                None => return Kind::Unsupported("assignment target"),
            },
        };
        let value = self.expr(&a.right);
        if let (Target::Member(member), Kind::Function(unit)) = (&target, &value.kind)
            && let Kind::Member(m) = &member.kind
        {
            self.tree.methods.extend(m.name.clone().map(|name| (name, *unit)));
        }
        Kind::Assign(Box::new(Assign { target, op, value }))
    }

    fn argument(&mut self, a: &'a ast::Argument<'a>) -> tree::Argument {
        match a {
            ast::Argument::SpreadElement(s) => {
                tree::Argument { spread: true, value: self.expr(&s.argument) }
            }
            other => match other.as_expression() {
                Some(e) => tree::Argument { spread: false, value: self.expr(e) },
                None => {
                    let at = span(a.span());
                    let value = Expr { span: at, kind: Kind::Unsupported("argument") };
                    tree::Argument { spread: false, value }
                }
            },
        }
    }

    fn call(&mut self, c: &'a CallExpression<'a>) -> Kind {
        let callee_end = c.callee.span().end;
        if c.callee.is_specific_id("eval") && !c.optional {
            self.tree.dynamic = true;
        }
        let is_super = c.callee.is_super();
        let callee = if is_super {
            Expr { span: span(c.callee.span()), kind: Kind::Plain }
        } else {
            self.expr(&c.callee)
        };
        let args = c.arguments.iter().map(|a| self.argument(a)).collect();
        let open = skip_to(self.source, callee_end, b'(');
        Kind::Call(Box::new(Call {
            callee,
            optional: c.optional,
            args,
            open,
            text: callee_text(&c.callee),
            is_super,
        }))
    }

    fn chain(&mut self, c: &'a ChainElement<'a>) -> Expr {
        match c {
            ChainElement::CallExpression(call) => {
                Expr { span: span(call.span), kind: self.call(call) }
            }
            other => match other.as_member_expression() {
                Some(member) => self.member(member),
                None => {
                    self.leave_alone("TypeScript", c.span());
                    Expr { span: span(c.span()), kind: Kind::Unsupported("TypeScript") }
                }
            },
        }
    }

    fn member(&mut self, m: &'a MemberExpression<'a>) -> Expr {
        let is_super = m.object().is_super();
        let object = if is_super {
            self.capture_this();
            Expr { span: span(m.object().span()), kind: Kind::Plain }
        } else {
            self.expr(m.object())
        };
        let (name, computed) = match m {
            MemberExpression::StaticMemberExpression(m) => {
                (Some(m.property.name.to_string()), None)
            }
            MemberExpression::PrivateFieldExpression(m) => {
                (Some(format!("#{}", m.field.name)), None)
            }
            MemberExpression::ComputedMemberExpression(m) => (None, Some(self.expr(&m.expression))),
        };
        let member = Member { object, is_super, optional: m.optional(), name, computed };
        Expr { span: span(m.span()), kind: Kind::Member(Box::new(member)) }
    }
}

/// Offset of `byte` after `from`, past comments.
fn skip_to(source: &str, from: u32, byte: u8) -> u32 {
    let bytes = source.as_bytes();
    let mut at = from as usize;
    while at < bytes.len() {
        if bytes[at] == byte {
            break;
        }
        if source[at..].starts_with("/*") {
            at += source[at..].find("*/").map_or(2, |n| n + 2);
        } else if source[at..].starts_with("//") {
            at += source[at..].find(crate::lines::is_line_end).unwrap_or(2);
        } else {
            at += 1;
        }
    }
    at as u32
}

/// What V8 prints for a callee in "x is not a function".
fn callee_text(e: &Expression<'_>) -> String {
    match e {
        Expression::Identifier(id) => id.name.to_string(),
        Expression::ThisExpression(_) => "this".to_owned(),
        Expression::Super(_) => "super".to_owned(),
        Expression::ParenthesizedExpression(p) => callee_text(&p.expression),
        Expression::CallExpression(c) => format!("{}(...)", callee_text(&c.callee)),
        Expression::LogicalExpression(l) => {
            let left = callee_text(&l.left);
            // V8 takes a row of one operator as one expression.
            let left = match &l.left {
                Expression::LogicalExpression(inner) if inner.operator == l.operator => {
                    left[1..left.len() - 1].to_owned()
                }
                _ => left,
            };
            format!("({left} {} {})", l.operator.as_str(), callee_text(&l.right))
        }
        Expression::NumericLiteral(n) => n.raw.map_or_else(String::new, |r| r.to_string()),
        Expression::StringLiteral(s) => format!("\"{}\"", s.value),
        Expression::NullLiteral(_) => "null".to_owned(),
        Expression::StaticMemberExpression(m) if m.object.is_super() => {
            format!("(intermediate value).{}", m.property.name)
        }
        Expression::StaticMemberExpression(m) => {
            let link = if m.optional { "?." } else { "." };
            format!("{}{link}{}", callee_text(&m.object), m.property.name)
        }
        Expression::PrivateFieldExpression(m) => {
            format!("{}.#{}", callee_text(&m.object), m.field.name)
        }
        Expression::ComputedMemberExpression(m) => {
            let key = match &m.expression {
                Expression::StringLiteral(s) => {
                    return format!("{}.{}", callee_text(&m.object), s.value);
                }
                Expression::NumericLiteral(n) => n.raw.map_or_else(String::new, |r| r.to_string()),
                Expression::Identifier(id) => id.name.to_string(),
                other => callee_text(other),
            };
            format!("{}[{key}]", callee_text(&m.object))
        }
        Expression::ObjectExpression(o) => {
            format!("{{{}}}", INTERMEDIATE.repeat(o.properties.len()))
        }
        Expression::ConditionalExpression(_) => INTERMEDIATE.repeat(3),
        Expression::ArrayExpression(a) => {
            let elements: Vec<_> = a.elements.iter().map(element_text).collect();
            format!("[{}]", elements.join(","))
        }
        Expression::SequenceExpression(s) => {
            let parts: Vec<_> = s.expressions.iter().map(callee_text).collect();
            format!("({})", parts.join(" , "))
        }
        Expression::BooleanLiteral(b) => b.value.to_string(),
        _ => INTERMEDIATE.to_owned(),
    }
}

const INTERMEDIATE: &str = "(intermediate value)";

fn element_text(e: &ArrayExpressionElement<'_>) -> String {
    match e {
        ArrayExpressionElement::SpreadElement(s) => format!("(...{})", callee_text(&s.argument)),
        ArrayExpressionElement::Elision(_) => INTERMEDIATE.to_owned(),
        _ => e.as_expression().map_or_else(|| INTERMEDIATE.to_owned(), callee_text),
    }
}
