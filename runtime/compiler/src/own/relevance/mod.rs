//! Which functions are worth compiling: those that can meet a tensor, as far as names tell.
//!
//! A function is *strong* if something in it points at tensors: an import of another module, a
//! name of the tensor API, or what such functions made. It is *weak* if strong functions may
//! hand it a tensor. All others are left alone, so plain programs keep their speed.
//! Invariant: only speed and leaks depend on a choice made here, since functions that are left
//! alone count as uncompiled. When in doubt, strong. Not here: what compiling means.

mod strong;
mod weak;

use super::tree::*;

/// Why a function without hints is left alone.
pub(crate) const REASON: &str = "nothing in it points at tensors";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    #[default]
    None,
    Weak,
    Strong,
}

/// Leaves functions alone that no hint leads to. `false`: there is no hint in the whole file.
/// `functions`: what variables hold at first, also those that are assigned later.
pub(crate) fn choose(source: &str, tree: &mut Tree, functions: &[Option<UnitId>]) -> bool {
    let class_of = parts_of_classes(tree);
    let strong = strong::search(source, tree, functions, &class_of);
    if !strong.units.contains(&Level::Strong) {
        return leave_alone(tree, &strong.units, &vec![false; tree.classes.len()]);
    }
    let (units, touched) = weak::search(source, tree, strong, &class_of);
    leave_alone(tree, &units, &touched)
}

/// `touched`: classes some of which is compiled, so that their instances are worth counting.
fn leave_alone(tree: &mut Tree, units: &[Level], touched: &[bool]) -> bool {
    for (unit, level) in tree.units.iter_mut().zip(units).skip(1) {
        if *level == Level::None {
            unit.left_alone.get_or_insert((REASON, unit.span));
        }
    }
    for (class, touched) in tree.classes.iter_mut().zip(touched) {
        class.odd |= !touched;
    }
    units.contains(&Level::Strong)
}

/// The class that each function is a part of.
fn parts_of_classes(tree: &Tree) -> Vec<Option<usize>> {
    let around = classes_around(tree);
    let part = |unit: &Unit, class: usize| {
        let parent = unit.parent.map(|p| tree.units[p].span)?;
        (!tree.classes[class].inner.holds(parent)).then_some(class)
    };
    let innermost = around.iter().map(|list| list.map(|(_, innermost)| innermost));
    tree.units.iter().zip(innermost).map(|(unit, class)| part(unit, class?)).collect()
}

/// A function whose text ends with the text of a function inside would carry that one's mark:
/// what is inside an arrow with an expression that is left alone, is left alone as well.
pub(crate) fn spread(tree: &mut Tree) {
    for id in 0..tree.units.len() {
        let Some(parent) = tree.units[id].parent.map(|p| &tree.units[p]) else { continue };
        if parent.expression_body && parent.kind == UnitKind::Arrow && parent.left_alone.is_some() {
            let reason = parent.left_alone;
            let unit = &mut tree.units[id];
            unit.left_alone = unit.left_alone.or(reason);
        }
    }
    let Tree { units, classes, .. } = tree;
    let alone = units
        .iter()
        .filter(|u| u.kind == UnitKind::Arrow && u.expression_body && u.left_alone.is_some());
    let mut spans: Vec<Span> = alone.map(|u| u.span).collect();
    spans.sort_by_key(|s| s.start);
    // Spans lie in each other or apart: one that starts before and ends behind holds the class.
    let mut end = 0;
    for span in &mut spans {
        end = end.max(span.end);
        span.end = end;
    }
    for class in classes {
        let before = spans.partition_point(|s| s.start <= class.inner.start);
        class.odd |= spans[..before].last().is_some_and(|s| s.end >= class.inner.end);
    }
}

/// What a chain of members, calls and awaits starts from.
fn root(e: &Expr) -> &Expr {
    match &e.kind {
        Kind::Paren(inner) | Kind::Chain(inner) | Kind::Await(inner) => root(inner),
        Kind::Member(m) => root(&m.object),
        Kind::Call(call) => root(&call.callee),
        Kind::Optional(o) => root(&o.head),
        _ => e,
    }
}

#[cfg(test)]
mod tests {
    use super::super::hints::{COMMON, HINTS};
    use super::*;
    use oxc::allocator::Allocator;

    /// Names of the functions that are compiled, and of the source's functions in all.
    fn compiled(source: &str) -> String {
        let allocator = Allocator::default();
        let kind = crate::SourceType::Module;
        let program = crate::parse::parse(&allocator, "", source, kind).expect("parses");
        let semantic = crate::parse::analyse("", &program).expect("analyses");
        let mut tree = super::super::build::build(&program, &semantic, false);
        let functions: Vec<_> = tree.vars.iter().map(|v| v.function).collect();
        super::super::modes::decide(&mut tree, false);
        choose(source, &mut tree, &functions);
        let shown = |u: &Unit| {
            let text = &source[u.span.start as usize..u.span.end as usize];
            text.split(['{', ';']).next().unwrap_or_default().trim().to_owned()
        };
        let kept = tree.units.iter().skip(1).filter(|u| u.left_alone.is_none());
        kept.map(shown).collect::<Vec<_>>().join(" | ")
    }

    const IMPORT: &str = "import { randn, nn } from 'mlrun';\n";

    #[test]
    fn choices() {
        let table = [
            ("function f(a) { return a[0]; }", ""),
            ("function f(a) { return a.matmul(a); }", "function f(a)"),
            ("function f(a) { return a['matmul'](a); }", "function f(a)"),
            ("function f(a) { return Math.sqrt(a) + a.at(0).length; }", ""),
            ("function f() { return randn([2]); }", "function f()"),
            // Through variables, and who uses what such functions give.
            (
                "const F = nn.functional; function f(x) { return F.pad(x); } function g() { return f(0); } function h() { return 1; }",
                "function f(x) | function g()",
            ),
            (
                "let w; function f() { w = randn([1]); } function g() { return w; }",
                "function f() | function g()",
            ),
            (
                "const o = []; function f() { o.push(randn([1])); } function g() { o.length = 0; }",
                "function f() | function g()",
            ),
            // A number that a tensor gave is none.
            ("const n = randn([1]).item() + 1; function f() { return n; }", ""),
            // Weak: handed a tensor, and what it hands on.
            (
                "function keep(x) { put(x); } function put(x) { return [x]; } function f() { keep(randn([1])); } function other(x) { put(x); }",
                "function keep(x) | function put(x) | function f()",
            ),
            (
                "function fmt(n) { return '' + n; } function f() { fmt(randn([1]).item() * 2); }",
                "function f()",
            ),
            // Classes: constructor and fields come with any method.
            (
                "class Box { n = 1; constructor(v) { this.v = v; } put(v) { this.v = v; } size() { return 1; } } const b = new Box(null); b.put(randn([1]));",
                "1 | (v) | (v)",
            ),
            ("class Net extends nn.Module { pick(x) { return x[0]; } }", "(x)"),
            ("class Vec { constructor(x) { this.x = x; } len() { return this.x; } }", ""),
            (
                "class P { get v() { return this.x; } set v(x) { this.x = x; } } function f(p) { p.v = randn([1]); }",
                "() | (x) | function f(p)",
            ),
            (
                "class P { get v() { return this.x; } } function f(p) { p.n = randn([1]); return p.v; }",
                "() | function f(p)",
            ),
            (
                "class P { get v() { return this.x; } } function f(p) { return randn([1]); } function g(p) { return p.v; }",
                "function f(p)",
            ),
            // Functions inside of each other.
            ("function f() { const x = randn([1]); return () => x; }", "function f() | () => x"),
            ("function f() { return [1].map((x) => x + 1); }", ""),
            ("[1].map((x) => x + 1); randn([1]);", "(x) => x + 1"),
            ("function f(a = randn([1])) { return a; }", "function f(a = randn([1])) | randn([1])"),
            // Unknown globals and dynamic imports.
            ("function f() { return something(); }", "function f()"),
            ("async function f() { return import('./x.js'); }", "async function f()"),
            ("async function f() { return import('node:fs'); }", ""),
        ];
        for (text, want) in table {
            let source = format!("{IMPORT}{text}");
            assert_eq!(compiled(&source), want, "{text}");
        }
    }

    /// A file that imports nothing means its own methods.
    #[test]
    fn names_of_own_methods() {
        let class = "class P { sum() { return 1; } } function f(p) { return p.sum(); }";
        assert_eq!(compiled(class), "");
        assert_eq!(compiled(&format!("{IMPORT}{class}")), "() | function f(p)");
        let strong = "class P { sum(x) { return x.relu(); } } function f(p) { return p.sum(); }";
        assert_eq!(compiled(strong), "(x) | function f(p)");
    }

    /// Every member of the declared classes is either a hint or common, so new ones are decided.
    #[test]
    fn every_member_of_the_api_is_known() {
        let declared = include_str!("../../../../../js/mlrun.d.ts");
        let mut class = None;
        let mut seen = 0;
        for line in declared.lines() {
            let text = line.trim_start();
            let indent = line.len() - text.len();
            let opens = text.trim_start_matches("export ").starts_with("class ");
            if opens && !text.ends_with('}') {
                class = Some(indent);
            } else if class == Some(indent) && text.starts_with('}') {
                class = None;
            } else if class == Some(indent.wrapping_sub(2)) && !text.starts_with(['/', '*', '}']) {
                let text = ["private ", "static ", "readonly ", "get ", "set "]
                    .iter()
                    .fold(text, |t, word| t.strip_prefix(word).unwrap_or(t));
                let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &text[..end.unwrap_or(text.len())];
                let rest = text[name.len()..].trim_start_matches('?');
                if !name.is_empty() && rest.starts_with(['(', ':', '<']) {
                    assert!(HINTS.has(name) != COMMON.has(name), "{name}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 150, "{seen}");
    }
}
