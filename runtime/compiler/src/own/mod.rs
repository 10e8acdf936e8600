//! The ownership pass: counting is put into user programs. See DESIGN.md beside this crate.
//!
//! build (AST to [`tree`]) -> relevance (which functions are worth it) -> modes (how each variable counts) -> liveness (last uses) -> insert
//! (edits). Invariant: what is not understood is left alone, and then shared.

mod build;
mod escape;
mod explain;
mod facts;
mod flow;
mod glance;
mod hash;
mod hints;
mod insert;
mod links;
mod liveness;
mod modes;
mod names;
mod print;
mod relevance;
mod sets;
mod tree;
mod verify;

use oxc::allocator::Allocator;
use oxc::ast::ast::Program;
use oxc::semantic::Semantic;
use oxc::span::GetSpan;

use crate::text::Derived;
use crate::{FunctionText, Ownership, SourceType, functions};

/// The module that user modules import the runtime half from.
pub const RUNTIME_MODULE: &str = "ext:mlrun/ownership.js";

/// What the pass made: its text, and the functions that it changed.
pub(crate) type Owned = (Derived, Vec<FunctionText>);

/// Runs the pass. `None`: the program needs no change.
///
/// # Errors
/// The verifier's complaint about what was emitted, and the offset in the source: a bug here.
pub(crate) fn run<'a>(
    source: &str,
    program: &'a Program<'a>,
    semantic: &'a Semantic<'a>,
    source_type: SourceType,
    ownership: Ownership,
) -> Result<Option<Owned>, (String, u32)> {
    let module = matches!(source_type, SourceType::Module | SourceType::Jsx);
    if forges(source, program) {
        return Ok(None);
    }
    let script = source_type == SourceType::Script;
    let force = ownership == Ownership::Force;
    let whole = force || ownership == Ownership::Whole;
    if !whole && !glance::may_have_hint(source, program, semantic) {
        return Ok(None);
    }
    let mut tree = build::build(program, semantic, force);
    if tree.dynamic || !decide(source, &mut tree, script, whole) {
        return Ok(None);
    }
    let escape = escape::Escape::analyse(&tree);
    escape.lend(&mut tree);
    let names = names::Names::new(source, &tree);
    let (mut edits, _) = insert::insert(source, &tree, &names, &escape);
    if edits.is_empty() {
        return Ok(None);
    }
    if module {
        let text = format!("\nimport * as {} from \"{RUNTIME_MODULE}\";", names.runtime);
        edits.insert(source.len() as u32, i32::MAX, text, source.len() as u32);
        // Before everything else of the body, so that its own functions are known.
        let start = program.body.first().map_or(0, |s| s.span().start);
        edits.insert(start, i32::MIN, format!("{}.module(() => {{}});", names.runtime), start);
    }
    let derived = edits.apply(source);
    match check(&derived.code, &names, source_type) {
        Ok(after) => {
            let functions = functions::changed(source, &derived, functions::spans(program), after);
            Ok(Some((derived, functions)))
        }
        Err((problem, at)) => Err((problem, derived.origin(at).unwrap_or(0))),
    }
}

/// Decides what is compiled and how variables count. `false`: nothing is.
fn decide(source: &str, tree: &mut tree::Tree, script: bool, whole: bool) -> bool {
    let functions: Vec<_> = tree.vars.iter().map(|v| v.function).collect();
    relevance::spread(tree);
    modes::decide(tree, script);
    if whole {
        return true;
    }
    let found = relevance::choose(source, tree, &functions);
    if found {
        relevance::spread(tree);
        // What is left alone sees more; everything found so far still holds.
        modes::decide(tree, script);
    }
    found
}

pub(crate) use explain::{Story, What};

/// What [`run`] would do, and why.
pub(crate) fn story<'a>(
    source: &str,
    program: &'a Program<'a>,
    semantic: &'a Semantic<'a>,
    source_type: SourceType,
) -> (Story, String) {
    let mut tree = build::build(program, semantic, false);
    let script = source_type == SourceType::Script;
    let found = !tree.dynamic && decide(source, &mut tree, script, false);
    let escape = escape::Escape::analyse(&tree);
    escape.lend(&mut tree);
    let names = names::Names::new(source, &tree);
    let (edits, log) = match found {
        true => insert::insert(source, &tree, &names, &escape),
        false => Default::default(),
    };
    if !found && !tree.dynamic {
        let story = explain::untouched(relevance::REASON);
        let printed = print::plain(source, &story);
        return (story, printed);
    }
    let story = explain::tell(source, &tree, &names, &edits, &log);
    let printed = match tree.dynamic {
        true => print::plain(source, &story),
        false => print::print(source, &tree, &story),
    };
    (story, printed)
}

/// A program that writes our marks or asks for the runtime half: nothing of it is compiled.
fn forges(source: &str, program: &Program) -> bool {
    source.contains("/*$own")
        || program.body.iter().any(|s| {
            s.as_module_declaration()
                .and_then(|m| m.source())
                .is_some_and(|source| source.value == RUNTIME_MODULE)
        })
}

/// Parses an emitted program again and verifies it; gives the spans of its functions.
fn check(
    code: &str,
    names: &names::Names,
    source_type: SourceType,
) -> Result<Vec<(u32, u32)>, (String, u32)> {
    let allocator = Allocator::default();
    let bad = |e: crate::CompileError| {
        let at = crate::lines::Lines::new(code).offset(e.line - 1, e.column - 1);
        (format!("does not parse: {}", e.message), at)
    };
    let program = crate::parse::parse(&allocator, "", code, source_type).map_err(bad)?;
    let semantic = crate::parse::analyse("", &program).map_err(bad)?;
    let tree = build::outline(&program, &semantic);
    let unresolved = semantic.scoping().root_unresolved_references();
    let suspects = unresolved.keys().any(|name| names.is_own(name.as_str()));
    verify::verify(code, &tree, names, suspects)?;
    Ok(functions::spans(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The emitted text of a module of functions, each change of it that the verifier must see, and what it says.
    fn seeded(source: &str, bugs: &[(&str, &str, &str)]) {
        let options = crate::Options {
            ownership: crate::Ownership::Whole,
            ..crate::Options::new(SourceType::Module)
        };
        let code = crate::compile("f.js", source, &options).expect("compiles").code;
        let allocator = Allocator::default();
        let program =
            crate::parse::parse(&allocator, "", source, SourceType::Module).expect("parses");
        let semantic = crate::parse::analyse("", &program).expect("analyses");
        let mut tree = build::build(&program, &semantic, false);
        modes::decide(&mut tree, false);
        let names = names::Names::new(source, &tree);
        assert!(check(&code, &names, SourceType::Module).is_ok());
        for (from, to, want) in bugs {
            let broken = code.replacen(from, to, 1);
            assert_ne!(broken, code, "{from} is not in\n{code}");
            let result = check(&broken, &names, SourceType::Module);
            let (problem, _) = result.expect_err(&broken);
            assert!(problem.contains(want), "{problem}:\n{broken}");
        }
    }

    #[test]
    fn seeded_bugs_are_found() {
        let source = "export function f(x, n) {\n  let h = x.add(1);\n  for (let i = 0; i < n; i++) {\n    const g = h.mul(2);\n    h = h.sub(g);\n  }\n  h.sum();\n  return n;\n}\n";
        let bugs = [
            ("$own.drop($0g);$own.drop($0h);", "$own.drop($0g);", "dropped 0 times"),
            (
                "$own.drop($0g);$own.drop($0h);",
                "$own.drop($0g);$own.drop($0h);$own.drop($0h);",
                "dropped 2 times",
            ),
            ("let $0g, $0h,", "let $0g,", "$0h is not declared"),
            ("    h = (", "    $0h = $own.drop($0h); h = (", "h is read after"),
            (
                "  return $own.lend(n);",
                "  $0h = $own.drop($0h); h.sum(); return $own.lend(n);",
                "h is read after",
            ),
            ("  for (let i", "  $0h = $own.drop($0h);  for (let i", "h is read after"),
        ];
        seeded(source, &bugs);
    }

    /// One for every way through a function: `DROP` stands where a release would be too early.
    #[test]
    fn early_releases_are_found_on_every_way() {
        const DROP: &str = "$0x = $own.drop($0x);";
        let bodies = [
            "L: try { g(); DROP(); break L; } catch { return; } x.sum();",
            "L: try { g(); return; } catch { DROP(); break L; } x.sum();",
            "L: if (g()) { DROP(); break L; } else return; x.sum();",
            "L: switch (g()) { case 1: DROP(); break L; default: return; } x.sum();",
            "switch (g()) { case 1: DROP(); case 2: x.sum(); }",
            "switch (g()) { case 1: DROP(); break; case 2: return; } x.sum();",
            "L: { g(); try { if (g()) break L; return; } finally { DROP(); } } x.sum();",
            "for (;;) { if (g()) { DROP(); break; } } x.sum();",
            "for (;;) { try { if (g()) break; } finally { DROP(); } return; } x.sum();",
            "do { if (g()) { DROP(); continue; } return; } while (g()); x.sum();",
            "while (g()) { x.sum(); DROP(); }",
            "for (const k in g()) { DROP(); if (k) break; } x.sum();",
            "L: { if (g()) break L; return; } DROP(); x.sum();",
            "DROP(); x += 1;",
            "DROP(); x ||= 1;",
            "if (g()) { DROP(); } x.y = 1;",
            "DROP(); try { g(); } catch ({ e = x.sum() }) { g(e); }",
            "if (g()) { x = () => 1; } else { DROP(); } x.sum();",
        ];
        for body in bodies {
            // The second function's variables have slots with numbers, as most have in a file.
            let source = |body: &str| {
                format!(
                    "export function e(g) {{ let x = g(); x.sum(); x = g(); x.sum(); }}\n\
                     export function f(g) {{ let x = g(); x.sum(); x = g(); {body} g(); }}\n"
                )
            };
            let marked = source(&body.replace("DROP()", "g(9)"));
            let mark = "$own.ignore(g(9), g);";
            let drop = DROP.replace("$0x", "$0x_1");
            seeded(&marked, &[(mark, &drop, "x is read after its slot was emptied")]);
        }
    }
}
