//! What a pattern reads, in order; of bindings and of assignments alike.

use oxc::ast::ast::*;
use oxc::span::GetSpan;

use super::names::callee_text;
use super::{Builder, span};
use crate::own::tree::{Key, Pattern, Sym};

/// A pattern, or what stands in one, without its default.
enum Part {
    Name(Option<Sym>),
    /// The second: where a rest stands, if that is all, or the pattern.
    Object(Vec<Field>, u32),
    Elements(Vec<Option<Part>>),
    /// A pattern whose default can be taken apart by it.
    Defaulted(Box<Part>),
    Other,
}

/// A property that an object pattern reads.
struct Field {
    key: Key,
    computed: bool,
    part: Part,
    /// Where what is bound to it stands.
    at: u32,
    /// It has a default.
    defaulted: bool,
}

impl Part {
    fn is_pattern(&self) -> bool {
        matches!(self, Self::Object(..) | Self::Elements(_) | Self::Defaulted(_))
    }

    /// A pattern stands inside.
    fn is_deep(&self) -> bool {
        match self {
            Self::Object(fields, _) => fields.iter().any(|f| f.part.is_pattern()),
            Self::Elements(list) => list.iter().flatten().any(Self::is_pattern),
            Self::Defaulted(part) => part.is_deep(),
            Self::Name(_) | Self::Other => false,
        }
    }

    /// The part with its default.
    fn or(self, default: &Expression) -> Part {
        let fits = matches!(
            (&self, default.get_inner_expression()),
            (Self::Object(..), Expression::ObjectExpression(_) | Expression::ArrayExpression(_))
                | (Self::Elements(_), Expression::ArrayExpression(_))
        );
        if fits && !self.is_deep() { Self::Defaulted(Box::new(self)) } else { self }
    }

    /// Keys, each followed by the list of a pattern inside, and `true` where that has a default; those
    /// of an array follow `null`.
    fn shape(&self) -> String {
        let inner = |key: String, part: &Self| match part {
            Self::Defaulted(_) => format!("{key}, [{}], true", part.shape()),
            _ if part.is_pattern() => format!("{key}, [{}]", part.shape()),
            _ => key,
        };
        let list: Vec<String> = match self {
            Self::Object(fields, _) => {
                fields.iter().map(|f| inner(f.key.name.clone(), &f.part)).collect()
            }
            Self::Elements(list) => {
                let elements = list.iter().enumerate().filter_map(|(i, p)| Some((i, p.as_ref()?)));
                let elements = elements.map(|(i, p)| inner(i.to_string(), p));
                std::iter::once("null".to_owned()).chain(elements).collect()
            }
            Self::Defaulted(part) => return part.shape(),
            Self::Name(_) | Self::Other => vec![],
        };
        list.join(", ")
    }
}

impl<'a> Builder<'a> {
    pub(super) fn describe(&self, b: &BindingPattern<'a>, into: &mut Pattern) {
        tell(self.binding_part(b), into);
    }

    pub(super) fn describe_target(&self, t: &AssignmentTarget<'a>, into: &mut Pattern) {
        tell(self.target_part(t), into);
    }

    /// Notes what V8 says where the default of a pattern inside cannot be taken apart.
    pub(super) fn default_of(&mut self, left: &BindingPattern<'a>, value: &Expression<'a>) {
        let mut inside = Pattern { text: callee_text(value), ..Pattern::default() };
        self.describe(left, &mut inside);
        if matches!(left, BindingPattern::ObjectPattern(_)) {
            self.tree.apart.insert(value.span().start, inside.says());
        }
    }

    /// The same of an assignment.
    pub(super) fn default_of_target(
        &mut self,
        left: &AssignmentTarget<'a>,
        value: &Expression<'a>,
    ) {
        let mut inside = Pattern { text: callee_text(value), ..Pattern::default() };
        self.describe_target(left, &mut inside);
        if matches!(left, AssignmentTarget::ObjectAssignmentTarget(_)) {
            self.tree.apart.insert(value.span().start, inside.says());
        }
    }

    fn binding_part(&self, b: &BindingPattern<'a>) -> Part {
        match b {
            BindingPattern::BindingIdentifier(id) => {
                Part::Name(id.symbol_id.get().map(|id| id.index()))
            }
            BindingPattern::AssignmentPattern(p) => self.binding_part(&p.left).or(&p.right),
            BindingPattern::ArrayPattern(p) => {
                let parts = p.elements.iter().map(|e| e.as_ref().map(|b| self.binding_part(b)));
                Part::Elements(parts.collect())
            }
            BindingPattern::ObjectPattern(p) => {
                let fields = p.properties.iter().map(|property| {
                    let part = self.binding_part(&property.value);
                    let field =
                        self.field(&property.key, property.shorthand, property.computed, part);
                    let defaulted = matches!(property.value, BindingPattern::AssignmentPattern(_));
                    Field { at: property.value.span().start, defaulted, ..field }
                });
                let rest = p.rest.as_ref().filter(|_| p.properties.is_empty());
                let rest = rest.map_or(p.span, |r| r.argument.span());
                Part::Object(fields.collect(), rest.start)
            }
        }
    }

    fn target_part(&self, t: &AssignmentTarget<'a>) -> Part {
        match t {
            AssignmentTarget::AssignmentTargetIdentifier(id) => Part::Name(self.symbol(id)),
            AssignmentTarget::ArrayAssignmentTarget(p) => {
                let parts = p.elements.iter().map(|e| e.as_ref().map(|e| self.element_part(e)));
                Part::Elements(parts.collect())
            }
            AssignmentTarget::ObjectAssignmentTarget(p) => {
                let fields = p.properties.iter().map(|property| match property {
                    AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(p) => {
                        let var = self.symbol(&p.binding);
                        let name = quoted(&p.binding.name);
                        let key = Key { at: span(p.binding.span), name, shorthand: true, var };
                        let (at, defaulted) = (p.binding.span.start, p.init.is_some());
                        Field { key, computed: false, part: Part::Name(var), at, defaulted }
                    }
                    AssignmentTargetProperty::AssignmentTargetPropertyProperty(p) => {
                        let part = self.element_part(&p.binding);
                        let field = self.field(&p.name, false, p.computed, part);
                        let defaulted = matches!(
                            p.binding,
                            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(_)
                        );
                        Field { at: p.binding.span().start, defaulted, ..field }
                    }
                });
                let rest = p.rest.as_ref().filter(|_| p.properties.is_empty());
                let rest = rest.map_or(p.span, |r| r.target.span());
                Part::Object(fields.collect(), rest.start)
            }
            _ => Part::Other,
        }
    }

    fn element_part(&self, t: &AssignmentTargetMaybeDefault<'a>) -> Part {
        match t {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(t) => {
                self.target_part(&t.binding).or(&t.init)
            }
            other => other.as_assignment_target().map_or(Part::Other, |t| self.target_part(t)),
        }
    }

    fn field(&self, key: &PropertyKey<'a>, shorthand: bool, computed: bool, part: Part) -> Field {
        let at = key.span();
        let name = match key {
            PropertyKey::StaticIdentifier(id) => quoted(&id.name),
            PropertyKey::StringLiteral(s) if !s.lone_surrogates => quoted(&s.value),
            _ => self.source.get(at.start as usize..at.end as usize).unwrap_or("").to_owned(),
        };
        let var = match part {
            Part::Name(var) => var,
            _ => None,
        };
        let key = Key { at: span(at), name, shorthand, var };
        Field { key, computed, part, at: at.start, defaulted: false }
    }

    fn symbol(&self, id: &IdentifierReference<'a>) -> Option<Sym> {
        let reference = self.semantic.scoping().get_reference(id.reference_id.get()?);
        reference.symbol_id().map(|id| id.index())
    }
}

fn tell(part: Part, into: &mut Pattern) {
    into.iterates = matches!(part, Part::Elements(_));
    into.shape = part.is_deep().then(|| part.shape());
    let flat = into.shape.is_none();
    if let Part::Object(fields, rest) = part {
        let first = fields.first().filter(|f| !f.computed);
        into.reads = first.is_some_and(|f| f.defaulted || matches!(f.part, Part::Other));
        into.first = match first {
            Some(f) => (Some(f.key.name.clone()), f.at),
            None => (None, rest),
        };
        if flat {
            into.keys = fields.into_iter().map(|f| f.key).collect();
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An expression that runs no code and gives nothing that could be counted.
pub(super) fn is_inert(e: &Expression) -> bool {
    match e.get_inner_expression() {
        Expression::Identifier(id) => id.name == "undefined",
        Expression::UnaryExpression(u) => u.argument.is_literal(),
        Expression::ArrayExpression(a) => a.elements.is_empty(),
        Expression::ObjectExpression(o) => o.properties.is_empty(),
        e => e.is_literal(),
    }
}
