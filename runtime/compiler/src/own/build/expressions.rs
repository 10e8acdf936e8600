//! Expressions. What has no [`Kind`] leaves the function around it alone.

use oxc::ast::ast::{self, *};
use oxc::span::GetSpan;

use super::names::{Iterated, callee_text, ends_in_call, skip_to};
use super::{Builder, logic, span};
use crate::own::tree::{self, *};

/// A method under one of these names runs without a call in the program; see `hooks` of the runtime half.
const HOOKS: &[&str] = &["valueOf", "toString", "toJSON", "then"];

impl<'a> Builder<'a> {
    // Expressions.

    pub(super) fn expr(&mut self, e: &'a Expression<'a>) -> Expr {
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

    pub(super) fn list<'e>(
        &mut self,
        list: impl IntoIterator<Item = &'a Expression<'a>>,
    ) -> Vec<Expr>
    where
        'a: 'e,
    {
        list.into_iter().map(|e| self.expr(e)).collect()
    }

    pub(super) fn kind(&mut self, e: &'a Expression<'a>) -> Kind {
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
                        if spread {
                            self.iterates(value, Iterated::Element);
                        }
                        let value = self.expr(value);
                        items.push(tree::Argument { spread, value });
                    }
                }
                items.extend(self.unknown_item(a.span.end));
                Kind::Literal { items, countable: true, shape: tree::Shape::List }
            }
            Expression::ObjectExpression(o) => self.object(o),
            Expression::UnaryExpression(u) => self.unary(u),
            Expression::BinaryExpression(b) => {
                use oxc::syntax::operator::BinaryOperator as Op;
                let parts = [self.expr(&b.left), self.expr(&b.right)];
                match b.operator {
                    Op::Instanceof => Kind::InstanceOf(Box::new(parts)),
                    Op::In => Kind::Inspect(Vec::from(parts)),
                    _ => Kind::Operator(Vec::from(parts)),
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
                let args = self.arguments(&n.arguments, n.span.start);
                Kind::Construct(Box::new(Call {
                    callee,
                    optional: false,
                    args,
                    open: n.callee.span().end,
                    text: self.name_of(&n.callee),
                    is_super: false,
                }))
            }
            Expression::TaggedTemplateExpression(t) => {
                let mut list = vec![self.referred(&t.tag)];
                list.extend(self.list(&t.quasi.expressions));
                Kind::New(list)
            }
            Expression::ChainExpression(c) => {
                let reference = std::mem::take(&mut self.reference);
                let chain = self.chain(&c.expression);
                if reference {
                    Kind::Chain(Box::new(chain))
                } else {
                    super::chains::split(self.source, chain)
                }
            }
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

    pub(super) fn unary(&mut self, u: &'a ast::UnaryExpression<'a>) -> Kind {
        use oxc::syntax::operator::UnaryOperator as Op;
        let operand = match u.operator {
            Op::Delete => self.referred(&u.argument),
            _ => self.expr(&u.argument),
        };
        match (u.operator, operand.kind) {
            // `delete x` is about the variable, not about its value, and `delete o.x` reads no property.
            (Op::Delete, Kind::Read(_)) => Kind::Plain,
            (Op::Delete, Kind::Member(m)) if !m.is_super => {
                Kind::Operator(vec![Expr { span: operand.span, kind: Kind::Deleted(m) }])
            }
            (op, kind) => self.unary_of(op, Expr { span: operand.span, kind }),
        }
    }

    fn unary_of(&mut self, op: oxc::syntax::operator::UnaryOperator, operand: Expr) -> Kind {
        use oxc::syntax::operator::UnaryOperator as Op;
        match op {
            Op::Void | Op::Typeof => Kind::Inspect(vec![operand]),
            _ => Kind::Operator(vec![operand]),
        }
    }

    pub(super) fn object(&mut self, o: &'a ObjectExpression<'a>) -> Kind {
        let mut items = vec![];
        let mut countable = true;
        let mut hooked = false;
        for property in &o.properties {
            let (spread, value) = match property {
                ObjectPropertyKind::ObjectProperty(p) => {
                    countable &=
                        p.kind == PropertyKind::Init && !p.key.is_specific_static_name("__proto__");
                    hooked |=
                        p.computed || p.key.name().is_none_or(|n| HOOKS.contains(&n.as_ref()));
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
                        // `get` of a descriptor, or of a proxy's handler.
                        self.tree.units[unit].implicit =
                            p.kind == PropertyKind::Get || p.key.is_specific_static_name("get");
                        self.tree.methods.extend(p.key.name().map(|n| (n.into(), unit)));
                    }
                    if p.shorthand {
                        // `{ x }` has one identifier for key and value.
                        let inner = Expr { span: value.span, kind: value.kind };
                        value = Expr { span: inner.span, kind: Kind::Paren(Box::new(inner)) };
                    }
                    (false, value)
                }
                ObjectPropertyKind::SpreadProperty(s) => {
                    hooked = true;
                    (true, self.expr(&s.argument))
                }
            };
            items.push(tree::Argument { spread, value });
        }
        items.extend(self.unknown_item(o.span.end));
        let shape = if hooked { tree::Shape::Object } else { tree::Shape::Record };
        Kind::Literal { items, countable, shape }
    }

    /// One more element, of no text, that may be anything: it makes a literal counted.
    fn unknown_item(&self, end: u32) -> Option<tree::Argument> {
        let at = tree::Span { start: end - 1, end: end - 1 };
        let value = Expr { span: at, kind: Kind::Global };
        self.force.then_some(tree::Argument { spread: false, value })
    }

    pub(super) fn update(&mut self, u: &'a ast::UpdateExpression<'a>) -> Kind {
        let target = match &u.argument {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => match self.assigned(id) {
                Some(sym) => Target::Var(sym, span(id.span)),
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

    pub(super) fn assign(&mut self, a: &'a AssignmentExpression<'a>) -> Kind {
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
            AssignmentTarget::AssignmentTargetIdentifier(id) => match self.assigned(id) {
                Some(sym) => Target::Var(sym, span(id.span)),
                None => Target::Global,
            },
            AssignmentTarget::ArrayAssignmentTarget(_)
            | AssignmentTarget::ObjectAssignmentTarget(_) => {
                let whole = std::mem::take(&mut self.at_statement);
                let mut pattern = Pattern { text: callee_text(&a.right), ..Pattern::default() };
                self.describe_target(&a.left, &mut pattern);
                self.assignment_pattern(&a.left, &mut pattern);
                self.settle(&mut pattern, whole);
                self.iterates_at(
                    &a.right,
                    Iterated::Assigned,
                    skip_to(self.source, a.left.span().end, b'='),
                );
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

    /// `at`: where V8 says that the call is.
    fn arguments(&mut self, list: &'a [ast::Argument<'a>], at: u32) -> Vec<tree::Argument> {
        for (i, a) in list.iter().enumerate() {
            match a {
                ast::Argument::SpreadElement(s) if i + 1 == list.len() => {
                    self.iterates_at(&s.argument, Iterated::Last, at);
                }
                ast::Argument::SpreadElement(s) => self.iterates(&s.argument, Iterated::Operand),
                _ => {}
            }
        }
        list.iter().map(|a| self.argument(a)).collect()
    }

    pub(super) fn argument(&mut self, a: &'a ast::Argument<'a>) -> tree::Argument {
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

    pub(super) fn call(&mut self, c: &'a CallExpression<'a>) -> Kind {
        let callee_end = c.callee.span().end;
        if c.callee.is_specific_id("eval") && !c.optional {
            self.tree.dynamic = true;
        }
        let is_super = c.callee.is_super();
        let callee = if is_super {
            Expr { span: span(c.callee.span()), kind: Kind::Plain }
        } else {
            self.referred(&c.callee)
        };
        let at = self.place_of_call(c);
        let args = self.arguments(&c.arguments, at);
        let open = skip_to(self.source, callee_end, b'(');
        Kind::Call(Box::new(Call {
            callee,
            optional: c.optional,
            args,
            open,
            text: self.name_of(&c.callee),
            is_super,
        }))
    }

    /// What V8 calls a callee.
    fn name_of(&self, callee: &Expression<'a>) -> Name {
        if self.outline { Name::from("") } else { callee_text(callee).into() }
    }

    /// An expression of which more than its value counts: what is called keeps its receiver.
    fn referred(&mut self, e: &'a Expression<'a>) -> Expr {
        self.reference = matches!(e.get_inner_expression(), Expression::ChainExpression(_));
        self.expr(e)
    }

    pub(super) fn chain(&mut self, c: &'a ChainElement<'a>) -> Expr {
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

    pub(super) fn member(&mut self, m: &'a MemberExpression<'a>) -> Expr {
        let is_super = m.object().is_super();
        let object = if is_super {
            self.capture_this();
            Expr { span: span(m.object().span()), kind: Kind::Plain }
        } else {
            self.expr(m.object())
        };
        let (name, computed) = match m {
            MemberExpression::StaticMemberExpression(m) => {
                (Some(m.property.name.as_str().into()), None)
            }
            MemberExpression::PrivateFieldExpression(m) => {
                (Some(format!("#{}", m.field.name).into()), None)
            }
            MemberExpression::ComputedMemberExpression(m) => (None, Some(self.expr(&m.expression))),
        };
        let getter = name.as_deref().is_some_and(|n| self.getters.contains(n));
        let at = self.place_of_member(m);
        let behind = match m {
            MemberExpression::StaticMemberExpression(m)
                if at < m.property.span.start && !m.optional =>
            {
                Some(span(m.property.span))
            }
            _ => None,
        };
        let optional = m.optional();
        let member = Member { object, is_super, optional, name, at, behind, getter, computed };
        Expr { span: span(m.span()), kind: Kind::Member(Box::new(member)) }
    }

    /// Notes what V8 says where `e` cannot be iterated.
    pub(super) fn iterates(&mut self, e: &Expression<'a>, how: Iterated) {
        let at = match e.get_inner_expression() {
            Expression::ConditionalExpression(c)
                if matches!(how, Iterated::Loop | Iterated::Awaited) =>
            {
                self.place(&c.alternate)
            }
            _ if how == Iterated::Declared => e.span().start,
            e => self.place(e),
        };
        self.iterates_at(e, how, at);
    }

    fn iterates_at(&mut self, e: &Expression<'a>, how: Iterated, at: u32) {
        let text = super::names::not_iterable(e, how);
        self.tree.iterated.insert(e.span().start, Says { text, at });
    }

    /// Where V8 says that an expression is.
    fn place(&self, e: &Expression<'a>) -> u32 {
        match e {
            Expression::ParenthesizedExpression(p) => self.place(&p.expression),
            Expression::SequenceExpression(s) => {
                s.expressions.last().map_or(s.span.start, |e| self.place(e))
            }
            Expression::LogicalExpression(l) => self.place(&l.right),
            Expression::AssignmentExpression(a) => skip_to(self.source, a.left.span().end, b'='),
            Expression::CallExpression(c) => self.place_of_call(c),
            Expression::ChainExpression(c) => match &c.expression {
                ChainElement::CallExpression(c) => self.place_of_call(c),
                other => {
                    other.as_member_expression().map_or(c.span.start, |m| self.place_of_member(m))
                }
            },
            other => {
                other.as_member_expression().map_or(e.span().start, |m| self.place_of_member(m))
            }
        }
    }

    fn place_of_call(&self, c: &CallExpression<'a>) -> u32 {
        match &c.callee {
            Expression::Identifier(id) => id.span.start,
            Expression::StaticMemberExpression(m) => m.property.span.start,
            callee => skip_to(self.source, callee.span().end, b'('),
        }
    }

    fn place_of_member(&self, m: &MemberExpression<'a>) -> u32 {
        let end = m.object().span().end;
        match m {
            _ if m.optional() => skip_to(self.source, end, b'?'),
            MemberExpression::ComputedMemberExpression(_) => skip_to(self.source, end, b'['),
            MemberExpression::StaticMemberExpression(m) if !ends_in_call(&m.object) => {
                m.property.span.start
            }
            _ => skip_to(self.source, end, b'.'),
        }
    }
}
