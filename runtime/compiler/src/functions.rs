//! Which text the user wrote for a function that the ownership pass changed.
//!
//! `Function.prototype.toString` must give what stands in the source. A function of the source
//! begins with copied text, so its place is known. Found at run time by a hash of the emitted
//! text: equal texts come from equal sources.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use oxc::ast::ast::{
    ArrowFunctionExpression, Class, Function, MethodDefinition, ObjectProperty, Program,
    PropertyKind,
};
use oxc::ast_visit::{Visit, walk};
use oxc::span::GetSpan;
use oxc::syntax::scope::ScopeFlags;

use crate::text::Derived;

/// A function of a compiled file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionText {
    /// [`text_hash`] of its emitted text.
    pub hash: u64,
    /// Its byte span in the text that went into the ownership pass.
    pub start: u32,
    pub end: u32,
}

/// Hash by which a function's text is found.
pub fn text_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Functions whose emitted text differs from the source, by the spans of both.
pub(crate) fn changed(
    source: &str,
    derived: &Derived,
    before: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
) -> Vec<FunctionText> {
    let code = derived.code.as_str();
    let ends: HashMap<u32, u32> = before.into_iter().collect();
    let texts = after.into_iter().filter_map(|(from, to)| {
        let start = derived.copied_from(from)?;
        let end = *ends.get(&start)?;
        let written = source.get(start as usize..end as usize)?;
        let emitted = code.get(from as usize..to as usize)?;
        let hash = text_hash(emitted);
        (written != emitted).then_some(FunctionText { hash, start, end })
    });
    texts.collect()
}

/// Spans of the functions and classes of a program.
pub(crate) fn spans(program: &Program<'_>) -> Vec<(u32, u32)> {
    let mut functions = Functions { source: program.source_text, found: vec![], method: None };
    functions.visit(program);
    functions.found
}

struct Functions<'s> {
    source: &'s str,
    found: Vec<(u32, u32)>,
    /// The span of the method whose function comes next.
    method: Option<(u32, u32)>,
}

impl Functions<'_> {
    fn visit(&mut self, program: &Program<'_>) {
        self.visit_program(program);
    }

    /// A static method's text begins after the keyword.
    fn after_static(&self, start: u32) -> u32 {
        let mut at = start as usize + "static".len();
        loop {
            let rest = self.source.get(at..).unwrap_or_default();
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("/*") {
                trimmed.find("*/").map(|n| n + 2)
            } else if trimmed.starts_with("//") {
                trimmed.find('\n')
            } else {
                None
            };
            match comment {
                Some(n) => at += n,
                None => return at as u32,
            }
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_function(&mut self, f: &Function<'a>, flags: ScopeFlags) {
        let span = f.span();
        let own = self.method.take().filter(|&(_, end)| end == span.end);
        self.found.push(own.unwrap_or((span.start, span.end)));
        walk::walk_function(self, f, flags);
    }

    fn visit_arrow_function_expression(&mut self, f: &ArrowFunctionExpression<'a>) {
        self.found.push((f.span.start, f.span.end));
        walk::walk_arrow_function_expression(self, f);
    }

    fn visit_class(&mut self, c: &Class<'a>) {
        self.found.push((c.span.start, c.span.end));
        walk::walk_class(self, c);
    }

    fn visit_method_definition(&mut self, m: &MethodDefinition<'a>) {
        let start = if m.r#static { self.after_static(m.span.start) } else { m.span.start };
        self.visit_property_key(&m.key);
        self.method = Some((start, m.span.end));
        self.visit_function(&m.value, ScopeFlags::Function);
    }

    fn visit_object_property(&mut self, p: &ObjectProperty<'a>) {
        if !p.method && p.kind == PropertyKind::Init {
            return walk::walk_object_property(self, p);
        }
        self.visit_property_key(&p.key);
        self.method = Some((p.span.start, p.span.end));
        self.visit_expression(&p.value);
    }
}
