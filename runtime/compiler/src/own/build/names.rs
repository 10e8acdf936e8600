//! What V8 calls a callee in "x is not a function", where its parenthesis is, and names of getters.

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
pub(super) fn callee_text(e: &Expression<'_>) -> String {
    match e {
        Expression::Identifier(id) => id.name.to_string(),
        Expression::ThisExpression(_) => "this".to_owned(),
        Expression::Super(_) => "super".to_owned(),
        Expression::ParenthesizedExpression(p) => callee_text(&p.expression),
        Expression::CallExpression(c) => format!("{}(...)", callee_text(&c.callee)),
        Expression::TaggedTemplateExpression(t) => format!("{}(...)", callee_text(&t.tag)),
        Expression::NumericLiteral(n) => n.raw.map_or_else(String::new, |r| r.to_string()),
        Expression::StringLiteral(s) => format!("\"{}\"", s.value),
        Expression::RegExpLiteral(r) => r.raw.map_or_else(String::new, |r| r.to_string()),
        Expression::NullLiteral(_) => "null".to_owned(),
        Expression::BooleanLiteral(b) => b.value.to_string(),
        Expression::TemplateLiteral(t) => match t.single_quasi() {
            Some(text) => format!("\"{text}\""),
            None => t.expressions.iter().map(callee_text).collect(),
        },
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
        Expression::AssignmentExpression(a) => a
            .left
            .as_simple_assignment_target()
            .map_or_else(|| INTERMEDIATE.to_owned(), target_text),
        Expression::LogicalExpression(l) => row_text(&l.left, l.operator.as_str(), true, &l.right),
        Expression::BinaryExpression(b) => {
            // Comparisons stay pairs.
            let row = b.operator.is_arithmetic() || b.operator.is_bitwise();
            row_text(&b.left, b.operator.as_str(), row, &b.right)
        }
        Expression::UnaryExpression(u) => {
            let op = u.operator.as_str();
            let space = if op.ends_with(char::is_alphabetic) { " " } else { "" };
            format!("({op}{space}{})", callee_text(&u.argument))
        }
        Expression::UpdateExpression(u) => {
            let (op, target) = (u.operator.as_str(), target_text(&u.argument));
            if u.prefix { format!("({op}{target})") } else { format!("({target}{op})") }
        }
        other => other.as_member_expression().map_or_else(|| INTERMEDIATE.to_owned(), member_text),
    }
}

const INTERMEDIATE: &str = "(intermediate value)";

/// `left op right`; V8 takes a row of one operator as one expression.
fn row_text(left: &Expression<'_>, op: &str, row: bool, right: &Expression<'_>) -> String {
    let before = match left.get_inner_expression() {
        Expression::LogicalExpression(l) => l.operator.as_str(),
        Expression::BinaryExpression(b) => b.operator.as_str(),
        _ => "",
    };
    let text = callee_text(left);
    let joined = if row && op != "**" && before == op { &text[1..text.len() - 1] } else { &*text };
    format!("({joined} {op} {})", callee_text(right))
}

fn target_text(target: &SimpleAssignmentTarget<'_>) -> String {
    match target {
        SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => id.name.to_string(),
        other => other.as_member_expression().map_or_else(|| INTERMEDIATE.to_owned(), member_text),
    }
}

fn member_text(member: &MemberExpression<'_>) -> String {
    match member {
        MemberExpression::StaticMemberExpression(m) if m.object.is_super() => {
            format!("(intermediate value).{}", m.property.name)
        }
        MemberExpression::StaticMemberExpression(m) => {
            let link = if m.optional { "?." } else { "." };
            format!("{}{link}{}", callee_text(&m.object), m.property.name)
        }
        MemberExpression::PrivateFieldExpression(m) => {
            format!("{}[#{}]", callee_text(&m.object), m.field.name)
        }
        MemberExpression::ComputedMemberExpression(m) => {
            let object = callee_text(&m.object);
            match &m.expression {
                Expression::StringLiteral(s) => format!("{object}.{}", s.value),
                Expression::TemplateLiteral(t) if t.is_no_substitution_template() => {
                    format!("{object}.{}", t.single_quasi().map_or("", |s| s.as_str()))
                }
                key => format!("{object}[{}]", callee_text(key)),
            }
        }
    }
}

fn element_text(e: &ArrayExpressionElement<'_>) -> String {
    match e {
        ArrayExpressionElement::SpreadElement(s) => format!("(...{})", callee_text(&s.argument)),
        ArrayExpressionElement::Elision(_) => String::new(),
        _ => e.as_expression().map_or_else(|| INTERMEDIATE.to_owned(), callee_text),
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
