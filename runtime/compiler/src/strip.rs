//! TypeScript to JavaScript.
//!
//! ```text
//! const f = (a: number, b?: T): T => a as T;
//! const f = (a        , b    )    => a     ;
//! ```
//!
//! Types are blanked in place, so what is left keeps its lines, columns and source text. Syntax
//! with a meaning at run time (enums, namespaces, parameter properties, `import =`) makes the
//! whole file go through oxc's transformer and code generator instead; both ways give the
//! semantics of TypeScript's `isolatedModules`. Imports that are never used as values are
//! removed, as TypeScript and Deno do. Deliberately not here: type checking.

use oxc::allocator::Allocator;
use oxc::ast::ast::*;
use oxc::ast_visit::{Visit, walk};
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::semantic::{Semantic, SymbolId};
use oxc::span::{GetSpan, Span};
use oxc::transformer::{TransformOptions, Transformer};

use crate::lines::{Lines, is_line_end};
use crate::text::{Derived, Edits, blanked};
use crate::{CompileError, SourceType, parse, reject};

/// Removes types from `source`.
pub(crate) fn strip(
    specifier: &str,
    source: &str,
    source_type: SourceType,
) -> Result<Derived, CompileError> {
    let allocator = Allocator::default();
    let program = parse::parse(&allocator, specifier, source, source_type)?;
    reject::reject(specifier, &program)?;
    let semantic = parse::analyse(specifier, &program)?;
    let mut blanker = Blanker {
        source,
        semantic: &semantic,
        edits: Edits::default(),
        ends: vec![],
        lowered: false,
    };
    blanker.visit_program(&program);
    if !blanker.lowered {
        let Blanker { edits, .. } = blanker;
        let derived = edits.apply(source);
        let check = Allocator::default();
        if parse::parse(&check, specifier, &derived.code, SourceType::Module).is_ok() {
            return Ok(derived);
        }
    }
    lower(specifier, source, source_type)
}

/// TypeScript's run-time syntax by oxc's transformer, reprinted.
fn lower(specifier: &str, source: &str, source_type: SourceType) -> Result<Derived, CompileError> {
    let allocator = Allocator::default();
    let mut program = parse::parse(&allocator, specifier, source, source_type)?;
    let scoping = parse::analyse_for_transform(specifier, &program)?;
    let options = TransformOptions::default();
    let path = std::path::Path::new(specifier);
    let done =
        Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(diagnostic) = done.diagnostics.errors().next() {
        return Err(parse::error(specifier, source, diagnostic));
    }
    let printed = Codegen::new()
        .with_options(CodegenOptions {
            source_map_path: Some(path.to_path_buf()),
            ..CodegenOptions::default()
        })
        .with_source_text(source)
        .build(&program);
    let tokens: Vec<(u32, u32)> = printed.map.map_or_else(Vec::new, |map| {
        let (from, to) = (Lines::new(source), Lines::new(&printed.code));
        map.get_tokens()
            .map(|t| {
                let out = to.offset(t.get_dst_line(), t.get_dst_col());
                (out, from.offset(t.get_src_line(), t.get_src_col()))
            })
            .collect()
    });
    Ok(Derived::from_tokens(printed.code, tokens.into_iter()))
}

struct Blanker<'s, 'a> {
    source: &'s str,
    semantic: &'s Semantic<'a>,
    edits: Edits,
    /// Ends of enclosing statements that automatic semicolon insertion closes.
    ends: Vec<u32>,
    /// The file needs the transformer.
    lowered: bool,
}

impl Blanker<'_, '_> {
    fn blank(&mut self, span: Span) {
        self.blank_range(span.start, span.end);
    }

    /// Blanks a range. Where it ends a statement that has no semicolon, one is put there: what
    /// follows must not become a continuation.
    fn blank_range(&mut self, start: u32, end: u32) {
        if start >= end {
            return;
        }
        let mut text = blanked(&self.source[start as usize..end as usize]);
        if self.ends.contains(&end) && text.starts_with(' ') {
            text.replace_range(0..1, ";");
        }
        self.edits.replace(start, end, text);
    }

    /// Blanks a whole statement or class element.
    fn blank_statement(&mut self, span: Span) {
        let before = self.source[..span.start as usize].trim_end();
        let mut text = blanked(&self.source[span.start as usize..span.end as usize]);
        if !(before.is_empty() || before.ends_with([';', '{'])) && text.starts_with(' ') {
            text.replace_range(0..1, ";");
        }
        self.edits.replace(span.start, span.end, text);
    }

    /// Blanks a list element together with the comma after it.
    fn blank_element(&mut self, span: Span) {
        let end = self.find(span.end, b',').map_or(span.end, |comma| comma + 1);
        self.blank_range(span.start, end);
    }

    /// Offset of `byte` if it is the next token at or after `from`.
    fn find(&self, from: u32, byte: u8) -> Option<u32> {
        let at = self.skip_trivia(from);
        (self.source.as_bytes().get(at as usize) == Some(&byte)).then_some(at)
    }

    /// Offset of the next token at or after `from`.
    fn skip_trivia(&self, from: u32) -> u32 {
        let mut at = from as usize;
        loop {
            let rest = &self.source[at..];
            at += rest.len() - rest.trim_start().len();
            let rest = &self.source[at..];
            let comment = if rest.starts_with("//") {
                rest.find(is_line_end)
            } else if rest.starts_with("/*") {
                rest.find("*/").map(|n| n + 2)
            } else {
                return at as u32;
            };
            match comment {
                Some(length) => at += length,
                None => return self.source.len() as u32,
            }
        }
    }

    fn blank_token(&mut self, from: u32, byte: u8) {
        if let Some(at) = self.find(from, byte) {
            self.blank_range(at, at + 1);
        }
    }

    /// Blanks TypeScript's modifiers among the words from `at` to `end`.
    fn blank_modifiers(&mut self, mut at: u32, end: u32) {
        const MODIFIERS: [&str; 7] =
            ["public", "private", "protected", "readonly", "override", "declare", "abstract"];
        loop {
            at = self.skip_trivia(at);
            let rest = &self.source[at as usize..];
            let length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            if at >= end || length == 0 {
                return;
            }
            if MODIFIERS.contains(&&rest[..length]) {
                self.blank_range(at, at + length as u32);
            }
            at += length as u32;
        }
    }

    /// Visits with the knowledge that the node ends without a semicolon.
    fn within(&mut self, span: Span, visit: impl FnOnce(&mut Self)) {
        let open = !self.source[..span.end as usize].ends_with([';', '}']);
        if open {
            self.ends.push(span.end);
        }
        visit(self);
        if open {
            self.ends.pop();
        }
    }

    fn is_value(&self, symbol: Option<SymbolId>) -> bool {
        let Some(symbol) = symbol else { return true };
        self.semantic.symbol_references(symbol).any(|r| r.flags().is_value())
    }

    /// `(a): {\n} => b`: no line end may stand before the arrow, so the parenthesis moves.
    fn blank_arrow_types(&mut self, it: &ArrowFunctionExpression<'_>) {
        if let Some(types) = &it.type_parameters {
            let span = types.span();
            if self.source[span.start as usize..span.end as usize].contains(is_line_end)
                && let Some(open) = self.find(span.end, b'(')
            {
                let text = blanked(&self.source[span.start as usize..=open as usize]);
                self.edits.replace(span.start, open + 1, format!("({}", &text[1..]));
            } else {
                self.blank(span);
            }
        }
        if let Some(result) = &it.return_type {
            let (start, end) = (it.params.span.end - 1, result.span.end);
            let text = blanked(&self.source[start as usize..end as usize]);
            if text.contains(is_line_end) {
                let flat = &text[..text.len() - 1];
                self.edits.replace(start, end, format!("{flat})"));
            } else {
                self.blank(result.span);
            }
        }
    }

    fn blank_implements(&mut self, it: &Class<'_>) {
        let Some(last) = it.implements.last() else { return };
        let from = [
            it.id.as_ref().map(|id| id.span.end),
            it.type_parameters.as_ref().map(|t| t.span.end),
            it.heritage.as_ref().map(|h| h.expression.span().end),
            it.heritage.as_ref().and_then(|h| h.type_arguments.as_ref()).map(|t| t.span.end),
        ];
        let after = from.into_iter().flatten().max();
        let after = after.unwrap_or_else(|| self.skip_trivia(it.span.start) + 5);
        self.blank_range(self.skip_trivia(after), last.span.end);
    }

    fn lower_or_blank(&mut self, declare: bool, span: Span) {
        if declare {
            self.blank_statement(span);
        } else {
            self.lowered = true;
        }
    }
}

impl<'a> Visit<'a> for Blanker<'_, 'a> {
    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank_element(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_range(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_range(it.expression.span().end, it.span.end);
    }

    /// `<T>x` becomes `(x)`: a parenthesis keeps `return <T>\nx` and `() => <T>{}` whole.
    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let (start, inner) = (it.span.start, it.expression.span().start);
        let text = blanked(&self.source[start as usize..inner as usize]);
        self.edits.replace(start, inner, format!("({}", &text[1..]));
        self.visit_expression(&it.expression);
        self.edits.insert(it.span.end, -1, ")", it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_token(it.expression.span().end, b'!');
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.blank_arrow_types(it);
        self.visit_formal_parameters(&it.params);
        self.visit_arrow_function_body(&it.body);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: oxc::semantic::ScopeFlags) {
        if it.body.is_none() || it.declare {
            self.blank_statement(it.span);
            return;
        }
        walk::walk_function(self, it, flags);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.lowered = true;
        }
        if it.optional {
            self.blank_token(it.pattern.span().end, b'?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_token(it.id.span().end, b'!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if it.declare {
            self.blank_statement(it.span);
        } else {
            self.within(it.span, |s| walk::walk_variable_declaration(s, it));
        }
    }

    fn visit_expression_statement(&mut self, it: &ExpressionStatement<'a>) {
        self.within(it.span, |s| walk::walk_expression_statement(s, it));
    }

    fn visit_return_statement(&mut self, it: &ReturnStatement<'a>) {
        self.within(it.span, |s| walk::walk_return_statement(s, it));
    }

    fn visit_throw_statement(&mut self, it: &ThrowStatement<'a>) {
        self.within(it.span, |s| walk::walk_throw_statement(s, it));
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {
                self.blank_statement(it.span);
            }
            ExportDefaultDeclarationKind::FunctionDeclaration(f) if f.body.is_none() => {
                self.blank_statement(it.span);
            }
            _ => self.within(it.span, |s| walk::walk_export_default_declaration(s, it)),
        }
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.declare {
            self.blank_statement(it.span);
            return;
        }
        if it.r#abstract {
            let from = it.decorators.last().map_or(it.span.start, |d| d.span.end);
            self.blank_modifiers(from, from + 1);
        }
        self.blank_implements(it);
        walk::walk_decorators(self, &it.decorators);
        if let Some(types) = &it.type_parameters {
            self.blank(types.span);
        }
        if let Some(heritage) = &it.heritage {
            self.visit_expression(&heritage.expression);
            if let Some(types) = &heritage.type_arguments {
                self.blank(types.span);
            }
        }
        self.visit_class_body(&it.body);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let signature = it.value.body.is_none();
        if signature || it.r#type == MethodDefinitionType::TSAbstractMethodDefinition {
            self.blank_statement(it.span);
            return;
        }
        let from = it.decorators.last().map_or(it.span.start, |d| d.span.end);
        self.blank_modifiers(from, it.key.span().start);
        if it.optional {
            self.blank_optional(it.key.span().end, it.computed);
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        if it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition {
            self.blank_statement(it.span);
            return;
        }
        let from = it.decorators.last().map_or(it.span.start, |d| d.span.end);
        self.blank_modifiers(from, it.key.span().start);
        if it.optional || it.definite {
            self.blank_optional(it.key.span().end, it.computed);
        }
        self.within(it.span, |s| walk::walk_property_definition(s, it));
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        let from = it.decorators.last().map_or(it.span.start, |d| d.span.end);
        self.blank_modifiers(from, it.key.span().start);
        self.within(it.span, |s| walk::walk_accessor_property(s, it));
    }

    fn visit_ts_index_signature(&mut self, it: &TSIndexSignature<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.lower_or_blank(it.declare, it.span);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.lower_or_blank(it.declare, it.span);
    }

    fn visit_ts_external_module_declaration(&mut self, it: &TSExternalModuleDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_global_declaration(&mut self, it: &TSGlobalDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.lower_or_blank(it.import_kind.is_type(), it.span);
    }

    fn visit_ts_export_assignment(&mut self, _: &TSExportAssignment<'a>) {
        self.lowered = true;
    }

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.blank_statement(it.span);
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        let erased = match &it.declaration {
            Declaration::VariableDeclaration(d) => d.declare,
            Declaration::FunctionDeclaration(d) => d.declare || d.body.is_none(),
            Declaration::ClassDeclaration(d) => d.declare,
            Declaration::TSEnumDeclaration(d) => d.declare,
            Declaration::TSNamespaceDeclaration(d) => d.declare,
            Declaration::TSImportEqualsDeclaration(d) => d.import_kind.is_type(),
            Declaration::TSTypeAliasDeclaration(_)
            | Declaration::TSInterfaceDeclaration(_)
            | Declaration::TSExternalModuleDeclaration(_)
            | Declaration::TSGlobalDeclaration(_) => true,
        };
        if erased {
            self.blank_statement(it.span);
        } else {
            walk::walk_export_declaration(self, it);
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind.is_type() {
            self.blank_statement(it.span);
            return;
        }
        self.blank_type_exports(&it.specifiers);
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        if it.export_kind.is_type() {
            self.blank_statement(it.span);
            return;
        }
        self.blank_type_exports(&it.specifiers);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind.is_type() {
            self.blank_statement(it.span);
        }
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let Some(specifiers) = it.specifiers.as_ref().filter(|s| !s.is_empty()) else {
            if it.import_kind.is_type() {
                self.blank_statement(it.span);
            }
            return;
        };
        let erased: Vec<bool> = specifiers.iter().map(|s| self.is_erased_import(s)).collect();
        if it.import_kind.is_type() || erased.iter().all(|&e| e) {
            self.blank_statement(it.span);
            return;
        }
        for (specifier, _) in specifiers.iter().zip(erased).filter(|(_, e)| *e) {
            self.blank_import(specifier, specifiers.len());
        }
    }
}

impl Blanker<'_, '_> {
    fn blank_optional(&mut self, key_end: u32, computed: bool) {
        let from =
            if computed { self.find(key_end, b']').map_or(key_end, |b| b + 1) } else { key_end };
        self.blank_token(from, b'?');
        self.blank_token(from, b'!');
    }

    fn blank_type_exports(&mut self, specifiers: &[ExportSpecifier<'_>]) {
        for specifier in specifiers.iter().filter(|s| s.export_kind.is_type()) {
            self.blank_element(specifier.span);
        }
    }

    fn is_erased_import(&self, specifier: &ImportDeclarationSpecifier<'_>) -> bool {
        use ImportDeclarationSpecifier as Kind;
        match specifier {
            Kind::ImportSpecifier(s) => {
                s.import_kind.is_type() || !self.is_value(s.local.symbol_id.get())
            }
            Kind::ImportDefaultSpecifier(s) => !self.is_value(s.local.symbol_id.get()),
            Kind::ImportNamespaceSpecifier(s) => !self.is_value(s.local.symbol_id.get()),
        }
    }

    fn blank_import(&mut self, specifier: &ImportDeclarationSpecifier<'_>, count: usize) {
        let span = specifier.span();
        match specifier {
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) if count > 1 => {
                let before = self.source[..span.start as usize].trim_end();
                if before.ends_with(',') {
                    self.blank_range(before.len() as u32 - 1, span.end);
                } else {
                    self.lowered = true;
                }
            }
            _ => self.blank_element(span),
        }
    }
}
