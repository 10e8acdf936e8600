//! A look at a file before anything is built: whether something in it could point at tensors.
//!
//! Invariant: it finds whatever [`super::relevance`] takes for a hint in itself, so a file in which it
//! finds nothing stays as it is. It may find more. Deliberately not here: what a hint leads to.

use std::collections::HashSet;

use oxc::ast::ast::*;
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::Semantic;
use oxc::span::Span;
use oxc::syntax::scope::ScopeFlags;

use super::hints::{HINTS, PLAIN_GLOBALS};

/// Whether there may be a hint.
pub(super) fn may_have_hint<'a>(
    source: &'a str,
    program: &Program<'a>,
    semantic: &Semantic<'a>,
) -> bool {
    let mut glance =
        Glance { source, semantic, found: false, named: HashSet::new(), defined: HashSet::new() };
    glance.visit_program(program);
    // A file that imports nothing means its own methods.
    glance.found || glance.named.iter().any(|name| !glance.defined.contains(name))
}

struct Glance<'s, 'a> {
    source: &'a str,
    semantic: &'s Semantic<'a>,
    found: bool,
    /// Members of the tensor API that are named.
    named: HashSet<&'a str>,
    /// Of those, names of methods of the file.
    defined: HashSet<&'a str>,
}

impl<'a> Glance<'_, 'a> {
    fn text(&self, span: Span) -> &'a str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn is_global(&self, id: &IdentifierReference<'a>) -> bool {
        let reference = id.reference_id.get().map(|id| self.semantic.scoping().get_reference(id));
        reference.is_none_or(|r| r.symbol_id().is_none())
    }

    fn member(&mut self, object: &Expression<'a>, name: &'a str) {
        let builtin = matches!(object, Expression::Identifier(id) if self.is_global(id));
        if !builtin && HINTS.has(name) {
            self.named.insert(name);
        }
    }

    fn method(&mut self, key: &PropertyKey<'a>) {
        let name = match key {
            PropertyKey::StaticIdentifier(name) => name.name.as_str(),
            PropertyKey::PrivateIdentifier(name) => name.name.as_str(),
            _ => return,
        };
        if HINTS.has(name) {
            self.defined.insert(name);
        }
    }
}

impl<'a> Visit<'a> for Glance<'_, 'a> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        if !self.found {
            walk::walk_statement(self, it);
        }
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let from = it.source.value.as_str();
        let plain = from.starts_with("node:") || from.ends_with(".json");
        self.found |= !plain && it.specifiers.as_ref().is_some_and(|list| !list.is_empty());
    }

    fn visit_import_expression(&mut self, _: &ImportExpression<'a>) {
        self.found = true;
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let text = self.text(it.span);
        self.found |= self.is_global(it) && text != "undefined" && !PLAIN_GLOBALS.has(text);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        self.member(&it.object, it.property.name.as_str());
        walk::walk_static_member_expression(self, it);
    }

    fn visit_private_field_expression(&mut self, it: &PrivateFieldExpression<'a>) {
        self.member(&it.object, it.field.name.as_str());
        walk::walk_private_field_expression(self, it);
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        if let Expression::StringLiteral(key) = &it.expression {
            self.member(&it.object, self.text(key.span).trim_matches(['"', '\'', '`']));
        }
        walk::walk_computed_member_expression(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.method(&it.key);
        self.visit_property_key(&it.key);
        self.visit_function(&it.value, ScopeFlags::Function);
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        if matches!(it.value, Expression::FunctionExpression(_)) {
            self.method(&it.key);
        }
        walk::walk_object_property(self, it);
    }

    /// The pass does not look inside.
    fn visit_accessor_property(&mut self, _: &AccessorProperty<'a>) {
        self.found = true;
    }
}
