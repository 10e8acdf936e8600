//! Functions with their parameters, and classes.

use oxc::ast::ast::*;
use oxc::span::GetSpan;

use super::names::{Iterated, skip_to};
use super::{Builder, span};
use crate::own::tree::*;

/// Methods that run without a call in the program; the same as in the runtime half.
const HOOKS: &[&str] = &["valueOf", "toString", "toJSON", "then", "get"];

impl<'a> Builder<'a> {
    // Functions and classes.

    pub(super) fn function_declaration(&mut self, f: &'a Function<'a>) {
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

    pub(super) fn function(&mut self, f: &'a Function<'a>) -> UnitId {
        let Some(body) = &f.body else { return 0 };
        let inner = (body.span.start + 1, body.span.end - 1);
        let after = body.directives.last().map_or(inner.0, |d| d.span.end);
        let id = self.open(UnitKind::Function, f.span, (after, inner.1));
        self.enter(&f.scope_id);
        self.tree.units[id].is_async = f.r#async;
        self.tree.units[id].is_generator = f.generator;
        self.tree.units[id].is_declared = f.r#type == FunctionType::FunctionDeclaration;
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

    pub(super) fn arrow(&mut self, f: &'a ArrowFunctionExpression<'a>) -> UnitId {
        let at = f.body.span();
        let inner = match &f.body {
            ArrowFunctionBody::FunctionBody(body) => {
                let first = body.directives.last().map_or(at.start + 1, |d| d.span.end);
                (first, at.end - 1)
            }
            _ => (at.start, at.end),
        };
        let id = self.open(UnitKind::Arrow, f.span, inner);
        self.enter(&f.scope_id);
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

    pub(super) fn params(&mut self, params: &'a FormalParameters<'a>) {
        let unit = self.unit();
        let mut patterns = vec![];
        for param in &params.items {
            if let (BindingPattern::BindingIdentifier(id), None) =
                (&param.pattern, &param.initializer)
            {
                if let Some(sym) = self.declare(id, VarKind::Param, false) {
                    self.tree.units[unit].params.push(sym);
                }
            } else {
                let before = self.tree.units[unit].params.len();
                let part = self.complex_param(&param.pattern, param.initializer.as_deref());
                let flat = part.as_ref().is_none_or(|p| !p.iterates && p.shape.is_none());
                self.loosen(if part.is_some() { 0 } else { before }, before, flat);
                patterns.extend(part);
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
        self.take_apart(patterns);
    }

    /// Parameters from `from` to `before` are read before a pattern runs code, those behind while it does, unless it is `flat`;
    /// the body of a generator starts later than any guard lasts.
    fn loosen(&mut self, from: usize, before: usize, flat: bool) {
        let unit = self.unit();
        let here = &self.tree.units[unit];
        let end = if flat && !here.is_generator { before } else { here.params.len() };
        let start = if here.is_generator { 0 } else { from };
        for i in start..end {
            let sym = self.tree.units[unit].params[i];
            self.tree.vars[sym].loose = true;
        }
    }

    /// What a pattern binds is retained by its next key. There is no such place between two
    /// patterns, and nobody holds what a pattern inside takes apart.
    fn take_apart(&mut self, mut patterns: Vec<Pattern>) {
        let here = self.unit();
        let bound: usize = patterns.iter().map(|p| p.vars.len()).sum();
        let deep = patterns.iter().any(|p| p.shape.is_some());
        let unit = &mut self.tree.units[here];
        unit.opaque = bound > 1 && (patterns.len() > 1 || deep);
        if unit.opaque
            && !unit.is_generator
            && let [Pattern { shape: Some(shape), text, .. }] = patterns.as_slice()
            && text.is_empty()
            && is_quotable(shape)
        {
            unit.looks = Some(format!("[{shape}]"));
            unit.opaque = false;
            return;
        }
        if let (false, Some(pattern)) = (unit.opaque, patterns.pop()) {
            unit.keys = pattern.keys;
            for key in unit.keys.iter().rev().skip(1) {
                key.var.into_iter().for_each(|var| self.tree.vars[var].defaulted = true);
            }
        }
    }

    /// Bindings of patterns are not counted; what their defaults compute is.
    pub(super) fn complex_param(
        &mut self,
        b: &'a BindingPattern<'a>,
        init: Option<&'a Expression<'a>>,
    ) -> Option<Pattern> {
        let unit = self.unit();
        let mut pattern = Pattern::default();
        let early = self.early(&[]);
        pattern.text = if init.is_some() { "a default".to_owned() } else { String::new() };
        self.describe(b, &mut pattern);
        self.binding(b, VarKind::Param, &mut pattern);
        if pattern.vars.iter().any(|&v| self.tree.vars[v].rest) {
            self.leave_alone("rest in a parameter's pattern", b.span());
        }
        if let Some(init) = init {
            let default = self.default(init, VarKind::Param, &mut pattern, early);
            self.defaulted(default, b, &pattern.vars);
        }
        if pattern.exprs.iter().any(|e| !matches!(e.kind, Kind::Plain | Kind::Function(_))) {
            self.leave_alone("parameter with a computed key", b.span());
        }
        for &sym in &pattern.vars {
            self.tree.vars[sym].destructured = true;
        }
        self.tree.units[unit].complex_params = true;
        self.tree.units[unit].params.extend(&pattern.vars);
        (!matches!(b, BindingPattern::BindingIdentifier(_))).then_some(pattern)
    }

    pub(super) fn class(&mut self, c: &'a Class<'a>) -> Kind {
        let mut parts = vec![];
        self.enter(&c.scope_id);
        if let Some(id) = &c.id
            && let Some(sym) = id.symbol_id.get()
        {
            let unit = self.unit_of(sym.index());
            self.tree.vars[sym.index()].unit = unit;
        }
        if let Some(heritage) = &c.heritage {
            self.iterates(&heritage.expression, Iterated::Element);
            parts.push(self.expr(&heritage.expression));
        }
        let base = c.heritage.is_none();
        let mut class = ClassInfo {
            name: c.id.as_ref().and_then(|id| id.symbol_id.get()).map(|id| id.index()),
            parent: match parts.first() {
                Some(Expr { kind: Kind::Read(sym), .. }) => Some(*sym),
                _ => None,
            },
            inner: span(c.body.span),
            base,
            constructor: None,
            fields: vec![],
            implicit: vec![],
            odd: !c.decorators.is_empty(),
        };
        for element in &c.body.body {
            match element {
                ClassElement::MethodDefinition(m) => {
                    parts.extend(self.class_key(&m.key, m.computed));
                    let unit = self.function(&m.value);
                    let constructor = m.kind == MethodDefinitionKind::Constructor;
                    if let (true, PropertyKey::PrivateIdentifier(name)) =
                        (m.kind.is_accessor(), &m.key)
                    {
                        self.tree.private_accessors.insert(format!("#{}", name.name));
                    }
                    self.tree.units[unit].is_constructor = constructor;
                    self.tree.units[unit].counts_instance = constructor && base;
                    self.tree.methods.extend(m.key.name().map(|name| (name.into(), unit)));
                    if constructor {
                        class.constructor = Some(unit);
                    }
                    let named = m.key.name().filter(|_| !m.computed);
                    if m.kind == MethodDefinitionKind::Get
                        || named.is_none_or(|name| HOOKS.contains(&&*name))
                    {
                        self.tree.units[unit].implicit = true;
                        class.implicit.push(unit);
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
                            let name = p.key.name().map(|name| (name.into(), method));
                            self.tree.methods.extend(name);
                        }
                    }
                }
                ClassElement::StaticBlock(s) => {
                    let start = skip_to(self.source, s.span.start, b'{') + 1;
                    self.open(UnitKind::ClassPart, s.span, (start, s.span.end - 1));
                    self.enter(&s.scope_id);
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

    pub(super) fn class_key(&mut self, key: &'a PropertyKey<'a>, computed: bool) -> Option<Expr> {
        if computed { key.as_expression().map(|e| self.expr(e)) } else { None }
    }

    pub(super) fn capture_this(&mut self) {
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
}

/// The runtime half can read it from a comment.
fn is_quotable(shape: &str) -> bool {
    let list: Result<serde_json::Value, _> = serde_json::from_str(&format!("[{shape}]"));
    list.is_ok() && !shape.contains("*/") && !shape.contains("/*")
}
