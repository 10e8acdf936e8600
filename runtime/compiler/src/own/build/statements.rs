//! Statements, declarations and module items.

use oxc::ast::ast::*;
use oxc::span::GetSpan;

use super::names::{Iterated, callee_text};
use super::{Builder, span};
use crate::own::tree::*;

impl<'a> Builder<'a> {
    // Statements.

    pub(super) fn statements(&mut self, list: &'a [Statement<'a>]) -> Vec<Stmt> {
        list.iter()
            .map(|s| {
                self.in_list = true;
                self.statement(s)
            })
            .collect()
    }

    pub(super) fn boxed(&mut self, s: &'a Statement<'a>) -> Box<Stmt> {
        // Braces can be put around an expression, and then something behind it.
        self.in_list = matches!(s, Statement::ExpressionStatement(_));
        Box::new(self.statement(s))
    }

    pub(super) fn looped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(n) = self.loops.last_mut() {
            *n += 1;
        }
        let result = inside(self);
        if let Some(n) = self.loops.last_mut() {
            *n -= 1;
        }
        result
    }

    pub(super) fn statement(&mut self, s: &'a Statement<'a>) -> Stmt {
        let kind = self.statement_kind(s);
        if let StmtKind::Unsupported(reason) = kind {
            self.leave_alone(reason, s.span());
        }
        Stmt { span: span(s.span()), kind }
    }

    pub(super) fn statement_kind(&mut self, s: &'a Statement<'a>) -> StmtKind {
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
                    let target = b.for_target(&s.left, Over::Keys);
                    StmtKind::ForEach { target, right, body: b.boxed(&s.body), over: Over::Keys }
                })
            }
            Statement::ForOfStatement(s) => {
                let how = if s.r#await { Iterated::Awaited } else { Iterated::Loop };
                self.iterates(&s.right, how);
                let right = self.expr(&s.right);
                self.looped(|b| {
                    let over = if s.r#await { Over::Awaited } else { Over::Values };
                    let target = b.for_target(&s.left, over);
                    let retained = matches!(&target, Target::Pattern(p) if p.retained);
                    let over = if retained { over } else { Over::Uncounted };
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
                StmtKind::Label(s.label.name.as_str().into(), self.boxed(&s.body))
            }
            Statement::BreakStatement(s) => {
                StmtKind::Break(s.label.as_ref().map(|l| l.name.as_str().into()))
            }
            Statement::ContinueStatement(s) => {
                StmtKind::Continue(s.label.as_ref().map(|l| l.name.as_str().into()))
            }
            Statement::ReturnStatement(s) => {
                let unit = self.unit();
                self.tree.units[unit].returns |= s.argument.is_some();
                StmtKind::Return(s.argument.as_ref().map(|e| self.expr(e)))
            }
            Statement::ThrowStatement(s) => StmtKind::Throw(self.expr(&s.argument)),
            Statement::SwitchStatement(s) => {
                self.switches.extend(s.scope_id.get());
                let value = self.expr(&s.discriminant);
                let cases = s.cases.iter().map(|c| Case {
                    test: c.test.as_ref().map(|e| self.expr(e)),
                    body: self.statements(&c.consequent),
                });
                StmtKind::Switch(value, cases.collect())
            }
            Statement::TryStatement(s) => self.try_statement(s),
            Statement::WithStatement(_) => {
                self.tree.dynamic = true;
                StmtKind::Unsupported("with")
            }
            _ => self.module_statement(s),
        }
    }

    pub(super) fn module_statement(&mut self, s: &'a Statement<'a>) -> StmtKind {
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

    pub(super) fn for_statement(&mut self, s: &'a ForStatement<'a>) -> StmtKind {
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

    pub(super) fn try_statement(&mut self, s: &'a TryStatement<'a>) -> StmtKind {
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

    pub(super) fn declarators(&mut self, d: &'a VariableDeclaration<'a>) -> Vec<Declarator> {
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
                let mut target = self.binding_target(&d.id, kind, insertable);
                if let (Target::Pattern(pattern), Some(init)) = (&mut target, &d.init) {
                    pattern.text = callee_text(init);
                    self.iterates(init, Iterated::Declared);
                }
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
                let idle = kind == VarKind::Var && init.is_none();
                Declarator { target, init, idle }
            })
            .collect()
    }
}
