//! Yields to the event loop in long loops, where a program asks for them.
//!
//! ```text
//! for (let step = 0; step < n; step++) { train(step); }
//! for (let step = 0; step < n; step++) {if ($yield.due()) await $yield.turn(); train(step); }
//! ```
//!
//! At the start of each turn of a loop, in asynchronous functions and at a module's top level: that
//! is its back-edge, also for `continue`. A program asks with an option, or with the directive
//! `"use yield"` at the top of a module or of a function, for what is inside. Invariant: without
//! that the text stays as it is. Deliberately not here: when a turn is due (the library).

use oxc::allocator::Allocator;
use oxc::ast::ast::*;
use oxc::ast_visit::{Visit, walk};
use oxc::span::{GetSpan, Span};
use oxc::syntax::scope::ScopeFlags;

use crate::text::{Derived, Edits};
use crate::{CompileError, SourceType, parse};

/// What the inserted code calls.
pub const TURNS_MODULE: &str = "mlrun:turns";

const DIRECTIVE: &str = "use yield";

/// Inserts yields into `source`, in all of it with `everywhere`. `None`: there is nothing to do.
pub(crate) fn insert(
    specifier: &str,
    source: &str,
    source_type: SourceType,
    everywhere: bool,
) -> Result<Option<Derived>, CompileError> {
    let is_module = matches!(source_type, SourceType::Module | SourceType::Jsx);
    if !is_module || !(everywhere || source.contains(DIRECTIVE)) {
        return Ok(None);
    }
    let allocator = Allocator::default();
    let program = parse::parse(&allocator, specifier, source, source_type)?;
    let name = free_name(source);
    let here = Here { may_await: true, wanted: everywhere || asks(&program.directives) };
    let mut inserter = Inserter { name: &name, edits: Edits::default(), here };
    inserter.visit_program(&program);
    let mut edits = inserter.edits;
    if edits.is_empty() {
        return Ok(None);
    }
    let end = source.len() as u32;
    // After the brace of a loop that ends the text.
    edits.insert(end, i32::MAX, format!("\nimport * as {name} from \"{TURNS_MODULE}\";"), 0);
    Ok(Some(edits.apply(source)))
}

fn asks(directives: &[Directive]) -> bool {
    directives.iter().any(|d| d.directive == DIRECTIVE)
}

/// A name that the program uses nowhere.
fn free_name(source: &str) -> String {
    let names = std::iter::once("$yield".to_owned()).chain((1..).map(|n| format!("$yield{n}")));
    names.into_iter().find(|name| !source.contains(name.as_str())).unwrap_or_default()
}

/// What holds at the current place.
#[derive(Clone, Copy)]
struct Here {
    may_await: bool,
    wanted: bool,
}

struct Inserter<'n> {
    name: &'n str,
    edits: Edits,
    here: Here,
}

impl Inserter<'_> {
    fn body(&mut self, body: &Statement<'_>) {
        if !self.here.may_await || !self.here.wanted {
            return;
        }
        let name = self.name;
        let text = format!("if ({name}.due()) await {name}.turn();");
        let Span { start, end, .. } = body.span();
        if matches!(body, Statement::BlockStatement(_)) {
            self.edits.insert(start + 1, 0, text, start);
        } else {
            self.edits.insert(start, -1, format!("{{{text} "), start);
            self.edits.insert(end, 1, "}", start);
        }
    }

    fn inside(&mut self, here: Here, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.here, here);
        walk(self);
        self.here = outer;
    }
}

impl<'a> Visit<'a> for Inserter<'_> {
    fn visit_function(&mut self, f: &Function<'a>, flags: ScopeFlags) {
        let asked = f.body.as_ref().is_some_and(|body| asks(&body.directives));
        let here = Here { may_await: f.r#async, wanted: self.here.wanted || asked };
        self.inside(here, |this| walk::walk_function(this, f, flags));
    }

    fn visit_arrow_function_expression(&mut self, f: &ArrowFunctionExpression<'a>) {
        let asked = matches!(&f.body, ArrowFunctionBody::FunctionBody(b) if asks(&b.directives));
        let wanted = self.here.wanted || asked;
        let here = Here { may_await: f.r#async, wanted };
        self.inside(here, |this| walk::walk_arrow_function_expression(this, f));
    }

    fn visit_static_block(&mut self, block: &StaticBlock<'a>) {
        let here = Here { may_await: false, ..self.here };
        self.inside(here, |this| walk::walk_static_block(this, block));
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.body(&it.body);
        walk::walk_for_statement(self, it);
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.body(&it.body);
        walk::walk_for_in_statement(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        self.body(&it.body);
        walk::walk_for_of_statement(self, it);
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        self.body(&it.body);
        walk::walk_while_statement(self, it);
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        self.body(&it.body);
        walk::walk_do_while_statement(self, it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yielded(source: &str, everywhere: bool) -> Option<String> {
        let derived = insert("a.js", source, SourceType::Module, everywhere).expect("parses");
        let code = derived?.code;
        let (code, import) = code.rsplit_once('\n').expect("an import");
        assert!(import.ends_with("from \"mlrun:turns\";"), "{import}");
        Some(code.replace("if ($yield.due()) await $yield.turn();", "@"))
    }

    #[test]
    fn loops_yield_where_await_may_stand() {
        let cases = [
            ("for (;;) { f(); }", Some("for (;;) {@ f(); }")),
            ("for (const x of y) f(x)\ng()", Some("for (const x of y) {@ f(x)}\ng()")),
            ("for (const x in y);", Some("for (const x in y){@ ;}")),
            ("a: while (1) { continue a; }", Some("a: while (1) {@ continue a; }")),
            ("do x(); while (y);", Some("do {@ x();} while (y);")),
            ("for (;;) for (;;) x;", Some("for (;;) {@ for (;;) {@ x;}}")),
            ("if (1) for (;;) break; else y", Some("if (1) for (;;) {@ break;} else y")),
            ("function f() { for (;;) {} }", None),
            ("const f = () => { while (1) {} };", None),
            ("async function f() { for (;;) {} }", Some("async function f() { for (;;) {@} }")),
            ("async () => { while (1) {} };", Some("async () => { while (1) {@} };")),
            ("async () => { () => { while (1) {} } };", None),
            ("class C { static { for (;;) {} } }", None),
            (
                "class C { async m() { for (;;) {} } }",
                Some("class C { async m() { for (;;) {@} } }"),
            ),
            ("for await (const x of y) {}", Some("for await (const x of y) {@}")),
            ("f()", None),
        ];
        for (source, expected) in cases {
            assert_eq!(yielded(source, true).as_deref(), expected, "{source}");
            assert_eq!(yielded(source, false), None, "{source}: nobody asked");
        }
    }

    #[test]
    fn a_directive_asks_for_what_is_inside() {
        let cases = [
            ("'use yield'; for (;;) {}", Some("'use yield'; for (;;) {@}")),
            (
                "async () => { 'use yield'; for (;;) {} }; for (;;) {}",
                Some("async () => { 'use yield'; for (;;) {@} }; for (;;) {}"),
            ),
            ("f('use yield'); for (;;) {}", None),
            ("function f() { 'use yield'; for (;;) {} }", None),
            (
                "function f() { 'use yield'; return async () => { for (;;) {} } }",
                Some("function f() { 'use yield'; return async () => { for (;;) {@} } }"),
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(yielded(source, false).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn names_of_the_program_are_left_to_it() {
        let source = "'use yield'; const $yield = 1; for (;;) {}";
        let code = insert("a.js", source, SourceType::Module, false).expect("parses");
        assert!(code.expect("changed").code.contains("if ($yield1.due())"));
    }
}
