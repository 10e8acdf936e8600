//! Syntax that oxc parses and neither V8 nor this compiler can run: clear errors for it.

use oxc::ast::ast::*;
use oxc::ast_visit::{Visit, walk};
use oxc::span::Span;

use crate::{CompileError, parse};

/// Fails at the first piece of such syntax.
pub(crate) fn reject(specifier: &str, program: &Program<'_>) -> Result<(), CompileError> {
    let mut finder = Finder { found: None };
    if program.source_type.is_jsx() || may_decorate(program) {
        finder.visit_program(program);
    }
    match finder.found {
        None => Ok(()),
        Some((span, message, help)) => Err(parse::at(
            specifier,
            program.source_text,
            span.start,
            span.end - span.start,
            message.to_owned(),
            Some(help.to_owned()),
        )),
    }
}

/// There is a sign outside of comments that decorators begin with.
fn may_decorate(program: &Program<'_>) -> bool {
    let mut comments = program.comments.iter().peekable();
    program.source_text.match_indices('@').any(|(at, _)| {
        while comments.next_if(|c| c.span.end as usize <= at).is_some() {}
        comments.peek().is_none_or(|c| at < c.span.start as usize)
    })
}

struct Finder {
    found: Option<(Span, &'static str, &'static str)>,
}

impl Finder {
    fn find(&mut self, span: Span, message: &'static str, help: &'static str) {
        self.found.get_or_insert((span, message, help));
    }

    fn jsx(&mut self, span: Span) {
        self.find(span, "JSX is not supported", "Call functions instead of writing elements");
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_jsx_element(&mut self, it: &JSXElement<'a>) {
        self.jsx(it.opening_element.span);
    }

    fn visit_jsx_fragment(&mut self, it: &JSXFragment<'a>) {
        self.jsx(it.opening_fragment.span);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.find(
            it.span,
            "Decorators are not supported",
            "Wrap the class or method by a function call",
        );
        walk::walk_decorator(self, it);
    }
}
