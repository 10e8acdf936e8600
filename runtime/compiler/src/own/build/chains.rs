//! Optional chains: `o?.a?.b(x)` becomes `o`, then `.a`, then `.b(x)`, each of which is evaluated if
//! the one before is there.
//!
//! Deliberately not here: chains of which more than the value counts, see `reference`.

use crate::own::tree::{Expr, Kind, Optional, Span};

/// A chain, split at its first `?.`, the rest likewise; as it is where a call needs the receiver of
/// what is called.
pub(super) fn split(source: &str, chain: Expr) -> Kind {
    if keeps_receiver(&chain) {
        return Kind::Chain(Box::new(chain));
    }
    match dot(source, &chain) {
        Some(_) => parts(source, chain).kind,
        None => Kind::Chain(Box::new(chain)),
    }
}

/// `(o.m)?.()` or `super.m?.()`: what is called is a reference of another form.
fn keeps_receiver(e: &Expr) -> bool {
    match &e.kind {
        Kind::Call(call) => {
            let odd = call.is_super || call.optional && !is_known(&call.callee);
            odd || keeps_receiver(&call.callee)
        }
        Kind::Member(m) => keeps_receiver(&m.object),
        _ => false,
    }
}

/// A callee whose receiver is known.
fn is_known(e: &Expr) -> bool {
    match &e.kind {
        Kind::Member(m) => !m.is_super,
        Kind::Read(_) | Kind::Global | Kind::Call(_) | Kind::Function(_) | Kind::This => true,
        // A reference in parentheses keeps its receiver.
        Kind::Paren(inner) => {
            !matches!(inner.kind, Kind::Member(_) | Kind::Chain(_) | Kind::Paren(_))
        }
        _ => false,
    }
}

/// Offset of the dot of the first `?.`, if every link is where it is expected.
fn dot(source: &str, e: &Expr) -> Option<Option<u32>> {
    let (inner, optional) = match &e.kind {
        Kind::Call(call) => (&call.callee, call.optional),
        Kind::Member(m) => (&m.object, m.optional),
        _ => return Some(None),
    };
    let first = dot(source, inner)?;
    if !optional {
        return Some(first);
    }
    let rest = source.get(inner.span.end as usize..)?;
    let found = rest.trim_start();
    let at = inner.span.end + (rest.len() - found.len()) as u32 + 1;
    found.starts_with("?.").then_some(first.or(Some(at)))
}

fn parts(source: &str, mut e: Expr) -> Expr {
    let Some(Some(at)) = dot(source, &e) else { return e };
    let span = e.span;
    let Some((head, form)) = detach(&mut e, at) else { return e };
    let rest = parts(source, e);
    let method = form == Form::Call && matches!(head.kind, Kind::Member(_));
    let dot = form == Form::Name;
    Expr { span, kind: Kind::Optional(Box::new(Optional { head, rest, at, dot, method })) }
}

/// What follows `?.`.
#[derive(PartialEq)]
enum Form {
    Name,
    Key,
    Call,
}

/// Takes what stands before the `?.` at `at` out of a chain.
fn detach(e: &mut Expr, at: u32) -> Option<(Expr, Form)> {
    e.span.start = at;
    let (inner, optional, form) = match &mut e.kind {
        Kind::Call(call) => (&mut call.callee, &mut call.optional, Form::Call),
        Kind::Member(m) => {
            let form = if m.computed.is_some() { Form::Key } else { Form::Name };
            (&mut m.object, &mut m.optional, form)
        }
        _ => return None,
    };
    if *optional && inner.span.end < at && !has_link(inner) {
        *optional = false;
        let link = Expr { span: Span { start: at, end: at }, kind: Kind::Link };
        return Some((std::mem::replace(inner, link), form));
    }
    detach(inner, at)
}

/// It holds another `?.`, which comes first.
fn has_link(e: &Expr) -> bool {
    match &e.kind {
        Kind::Call(call) => call.optional || has_link(&call.callee),
        Kind::Member(m) => m.optional || has_link(&m.object),
        _ => false,
    }
}
