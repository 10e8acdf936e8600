//! What V8 calls a callee in "x is not a function", and where its parenthesis is.

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
