//! What V8 calls expressions in its messages, where the parenthesis of a call is, and names of getters.

use std::collections::HashSet;

use oxc::ast::ast::*;

/// Offset of `byte` after `from`, past comments.
pub(super) fn skip_to(source: &str, from: u32, byte: u8) -> u32 {
    let bytes = source.as_bytes();
    let mut at = from as usize;
    while at < bytes.len() {
        if bytes[at] == byte {
            break;
        }
        if bytes[at..].starts_with(b"/*") {
            at += source[at..].find("*/").map_or(2, |n| n + 2);
        } else if bytes[at..].starts_with(b"//") {
            at += source[at..].find(crate::lines::is_line_end).unwrap_or(2);
        } else {
            at += 1;
        }
    }
    at as u32
}

/// What V8 prints for a callee in "x is not a function".
pub(super) fn callee_text(e: &Expression<'_>) -> String {
    Printer { iterated: false }.text(e)
}

/// Where a value is iterated, for V8's message if it cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iterated {
    /// `[...E]`
    Element,
    /// `f(...E, x)`
    Operand,
    /// `f(...E)`
    Last,
    /// `for (x of E)`
    Loop,
    /// `for await (x of E)`
    Awaited,
    /// `const [x] = E`
    Declared,
    /// `[x] = E`
    Assigned,
}

/// What V8 says of a value that cannot be iterated; empty where it names the value, not the expression. Of a
/// last operand, the expression behind three dots.
pub(super) fn not_iterable(e: &Expression<'_>, at: Iterated) -> String {
    const UNREAD: &str = "is not iterable (cannot read property Symbol(Symbol.iterator))";
    let called = |callee: &Expression<'_>| Printer { iterated: true }.text(callee);
    let bare = e.get_inner_expression();
    match (at, bare) {
        (Iterated::Assigned, _) => String::new(),
        (Iterated::Last, _) => format!("...{}", callee_text(e)),
        (Iterated::Operand, Expression::CallExpression(c)) => {
            format!("{} {UNREAD}", called(&c.callee))
        }
        (Iterated::Operand, Expression::NewExpression(n)) => {
            format!("{} {UNREAD}", called(&n.callee))
        }
        (Iterated::Operand, _) => String::new(),
        (Iterated::Awaited, Expression::ConditionalExpression(_)) => {
            "undefined is not a function".to_owned()
        }
        (Iterated::Awaited, Expression::ChainExpression(c)) => {
            format!("{} is not a function", chain_end(c).as_deref().unwrap_or("undefined"))
        }
        (Iterated::Awaited, Expression::CallExpression(_)) => {
            format!(
                "{} is not a function or its return value is not async iterable",
                callee_text(e)
            )
        }
        (Iterated::Awaited, _) => format!("{} is not async iterable", callee_text(e)),
        (Iterated::Loop, Expression::ChainExpression(c)) => {
            chain_end(c).map_or_else(String::new, |callee| format!("{callee} {UNREAD}"))
        }
        (
            Iterated::Loop,
            Expression::ConditionalExpression(_) | Expression::ObjectExpression(_),
        ) => String::new(),
        (Iterated::Element | Iterated::Loop, Expression::CallExpression(c)) => {
            format!("{} is not a function or its return value is not iterable", called(&c.callee))
        }
        (Iterated::Element | Iterated::Loop, _) => format!("{} is not iterable", called(e)),
        (Iterated::Declared, _) => declared(e).unwrap_or_default(),
    }
}

/// The same of `const [x] = E`: V8 looks for what starts where `E` does.
fn declared(e: &Expression<'_>) -> Option<String> {
    let callee = match e {
        Expression::Identifier(_)
        | Expression::ThisExpression(_)
        | Expression::ConditionalExpression(_)
        | Expression::ObjectExpression(_)
        | Expression::AwaitExpression(_) => {
            return Some(format!("{} is not iterable", callee_text(e)));
        }
        Expression::CallExpression(c) if c.callee.is_identifier_reference() => {
            let callee = callee_text(&c.callee);
            return Some(format!("{callee} is not a function or its return value is not iterable"));
        }
        other => first_call(other)?,
    };
    Some(format!("{callee} is not iterable (cannot read property Symbol(Symbol.iterator))"))
}

/// The callee of the call or `new` that an expression starts with.
fn first_call(e: &Expression<'_>) -> Option<String> {
    match e {
        Expression::NewExpression(n) => Some(callee_text(&n.callee)),
        Expression::CallExpression(c) if c.callee.is_identifier_reference() => {
            Some(callee_text(&c.callee))
        }
        Expression::CallExpression(c) => first_call(&c.callee),
        other => first_call(other.as_member_expression()?.object()),
    }
}

/// The callee, if an optional chain ends in a call.
fn chain_end(c: &ChainExpression<'_>) -> Option<String> {
    match &c.expression {
        ChainElement::CallExpression(c) => Some(Printer { iterated: true }.text(&c.callee)),
        _ => None,
    }
}

/// It is a call, or a member of one: V8 says that what is read of it is at its dot.
pub(super) fn ends_in_call(e: &Expression<'_>) -> bool {
    match e {
        Expression::CallExpression(_) => true,
        other => {
            other.as_member_expression().is_some_and(|m| m.optional() || ends_in_call(m.object()))
        }
    }
}

/// Prints expressions as V8 does in messages.
#[derive(Clone, Copy)]
struct Printer {
    /// The message is about iteration: calls are named by their callee.
    iterated: bool,
}

const INTERMEDIATE: &str = "(intermediate value)";

impl Printer {
    fn text(self, e: &Expression<'_>) -> String {
        match e {
            Expression::Identifier(id) => id.name.to_string(),
            Expression::ThisExpression(_) => "this".to_owned(),
            Expression::Super(_) => "super".to_owned(),
            Expression::ParenthesizedExpression(p) => self.text(&p.expression),
            Expression::CallExpression(c) if self.iterated => self.text(&c.callee),
            Expression::NewExpression(n) if self.iterated => self.text(&n.callee),
            Expression::CallExpression(c) => format!("{}(...)", self.text(&c.callee)),
            Expression::TaggedTemplateExpression(t) => format!("{}(...)", self.text(&t.tag)),
            Expression::NumericLiteral(n) => n.raw.map_or_else(String::new, |r| r.to_string()),
            Expression::StringLiteral(s) => format!("\"{}\"", s.value),
            Expression::RegExpLiteral(r) => r.raw.map_or_else(String::new, |r| r.to_string()),
            Expression::NullLiteral(_) => "null".to_owned(),
            Expression::BooleanLiteral(b) => b.value.to_string(),
            Expression::TemplateLiteral(t) => match t.single_quasi() {
                Some(text) => format!("\"{text}\""),
                None => t.expressions.iter().map(|e| self.text(e)).collect(),
            },
            Expression::ObjectExpression(o) => {
                format!("{{{}}}", INTERMEDIATE.repeat(o.properties.len()))
            }
            Expression::ConditionalExpression(_) => INTERMEDIATE.repeat(3),
            Expression::ArrayExpression(a) => {
                let elements: Vec<_> = a.elements.iter().map(|e| self.element(e)).collect();
                format!("[{}]", elements.join(","))
            }
            Expression::SequenceExpression(s) => {
                let parts: Vec<_> = s.expressions.iter().map(|e| self.text(e)).collect();
                format!("({})", parts.join(" , "))
            }
            Expression::AssignmentExpression(a) => a
                .left
                .as_simple_assignment_target()
                .map_or_else(|| INTERMEDIATE.to_owned(), |t| self.target(t)),
            Expression::LogicalExpression(l) => {
                self.row(&l.left, l.operator.as_str(), true, &l.right)
            }
            Expression::BinaryExpression(b) => {
                // Comparisons stay pairs.
                let row = b.operator.is_arithmetic() || b.operator.is_bitwise();
                self.row(&b.left, b.operator.as_str(), row, &b.right)
            }
            Expression::UnaryExpression(u) => {
                let op = u.operator.as_str();
                let space = if op.ends_with(char::is_alphabetic) { " " } else { "" };
                format!("({op}{space}{})", self.text(&u.argument))
            }
            Expression::UpdateExpression(u) => {
                let (op, target) = (u.operator.as_str(), self.target(&u.argument));
                if u.prefix { format!("({op}{target})") } else { format!("({target}{op})") }
            }
            other => other
                .as_member_expression()
                .map_or_else(|| INTERMEDIATE.to_owned(), |m| self.member(m)),
        }
    }

    /// `left op right`; V8 takes a row of one operator as one expression.
    fn row(self, left: &Expression<'_>, op: &str, row: bool, right: &Expression<'_>) -> String {
        let before = match left.get_inner_expression() {
            Expression::LogicalExpression(l) => l.operator.as_str(),
            Expression::BinaryExpression(b) => b.operator.as_str(),
            _ => "",
        };
        let text = self.text(left);
        let joined =
            if row && op != "**" && before == op { &text[1..text.len() - 1] } else { &*text };
        format!("({joined} {op} {})", self.text(right))
    }

    fn target(self, target: &SimpleAssignmentTarget<'_>) -> String {
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => id.name.to_string(),
            other => other
                .as_member_expression()
                .map_or_else(|| INTERMEDIATE.to_owned(), |m| self.member(m)),
        }
    }

    fn member(self, member: &MemberExpression<'_>) -> String {
        match member {
            MemberExpression::StaticMemberExpression(m) if m.object.is_super() => {
                format!("(intermediate value).{}", m.property.name)
            }
            MemberExpression::StaticMemberExpression(m) => {
                let link = if m.optional { "?." } else { "." };
                [&self.text(&m.object), link, m.property.name.as_str()].concat()
            }
            MemberExpression::PrivateFieldExpression(m) => {
                format!("{}[#{}]", self.text(&m.object), m.field.name)
            }
            MemberExpression::ComputedMemberExpression(m) => {
                let object = self.text(&m.object);
                let link = if m.optional { "?." } else { "" };
                match &m.expression {
                    Expression::StringLiteral(s) => {
                        format!("{object}{}.{}", link.trim_end_matches('.'), s.value)
                    }
                    Expression::TemplateLiteral(t) if t.is_no_substitution_template() => {
                        let key = t.single_quasi().map_or("", |s| s.as_str());
                        format!("{object}{}.{key}", link.trim_end_matches('.'))
                    }
                    key => format!("{object}{link}[{}]", self.text(key)),
                }
            }
        }
    }

    fn element(self, e: &ArrayExpressionElement<'_>) -> String {
        match e {
            ArrayExpressionElement::SpreadElement(s) => format!("(...{})", self.text(&s.argument)),
            ArrayExpressionElement::Elision(_) => String::new(),
            _ => e.as_expression().map_or_else(|| INTERMEDIATE.to_owned(), |e| self.text(e)),
        }
    }
}

/// Getters that run more often than they make a tensor; reading these names costs nothing extra.
const FREQUENT: &[&str] = &["length", "size", "count", "value", "name", "index", "done"];

/// Names after `get` in a text. Some may be no getters: reading one as a getter costs time only.
pub(super) fn getters(source: &str) -> HashSet<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
    let mut found = HashSet::new();
    for (at, _) in source.match_indices("get ") {
        if source[..at].ends_with(is_part) {
            continue;
        }
        let rest = source[at + 4..].trim_start();
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        if rest[name.len()..].trim_start().starts_with('(') && !FREQUENT.contains(&name) {
            found.insert(name);
        }
    }
    found
}
