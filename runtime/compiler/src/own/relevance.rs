//! Which functions are worth compiling: those that can meet a tensor, as far as names tell.
//!
//! A function is *strong* if something in it points at tensors: an import of another module, a
//! name of the tensor API, or what such functions made. It is *weak* if strong functions may
//! hand it a tensor. All others are left alone, so plain programs keep their speed.
//! Invariant: only speed and leaks depend on a choice made here, since functions that are left
//! alone count as uncompiled. When in doubt, strong. Not here: what compiling means.

use std::collections::{HashMap, HashSet};

use super::hints::{HINTS, PLAIN_GLOBALS};
use super::modes::{Position, each_declarator, each_expr};
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
    let mut search = Search::new(source, tree, functions);
    while std::mem::take(&mut search.changed) {
        search.strong();
    }
    let found = search.units.contains(&Level::Strong);
    search.changed = found;
    while std::mem::take(&mut search.changed) {
        search.weak();
    }
    let Search { units, touched, .. } = search;
    for (unit, level) in tree.units.iter_mut().zip(&units).skip(1) {
        if *level == Level::None {
            unit.left_alone.get_or_insert((REASON, unit.span));
        }
    }
    for (class, touched) in tree.classes.iter_mut().zip(touched) {
        class.odd |= !touched;
    }
    found
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
    for class in classes {
        class.odd |= units.iter().any(|u| {
            u.kind == UnitKind::Arrow
                && u.expression_body
                && u.left_alone.is_some()
                && u.span.holds(class.inner)
        });
    }
}

struct Search<'t> {
    source: &'t str,
    tree: &'t Tree,
    units: Vec<Level>,
    /// Variables that may hold a tensor, or what leads to one.
    vars: Vec<bool>,
    /// Functions that variables may hold.
    holds: Vec<Vec<UnitId>>,
    /// Methods by name.
    methods: HashMap<&'t str, Vec<UnitId>>,
    /// Classes by the variable that names them.
    named: HashMap<Sym, usize>,
    /// Parts of each class, and whether they were raised as those of a strong one.
    parts: Vec<(Vec<UnitId>, Option<bool>)>,
    /// Names of strong methods.
    names: HashSet<&'t str>,
    /// Names of methods in a file that takes nothing from outside: they mean its own.
    defined: HashSet<&'t str>,
    /// The class that a function is a part of.
    class_of: Vec<Option<usize>>,
    /// Classes some of which is compiled, so that their instances are worth counting.
    touched: Vec<bool>,
    /// Classes with a strong part or parent.
    classes: Vec<bool>,
    changed: bool,
}

impl<'t> Search<'t> {
    fn new(source: &'t str, tree: &'t Tree, functions: &[Option<UnitId>]) -> Self {
        let innermost = |unit: &Unit| {
            let around =
                (0..tree.classes.len()).filter(|&c| tree.classes[c].inner.holds(unit.span));
            let class = around.min_by_key(|&c| tree.classes[c].inner.len())?;
            let parent = unit.parent.map(|p| tree.units[p].span)?;
            (!tree.classes[class].inner.holds(parent)).then_some(class)
        };
        let from_outside = |var: &Var| {
            let plain = |from: &str| from.starts_with("node:") || from.ends_with(".json");
            var.imported && !var.from.as_deref().is_some_and(plain)
        };
        let alone = !tree.vars.iter().any(from_outside);
        let defined = tree.methods.iter().filter(|_| alone);
        let mut methods: HashMap<&str, Vec<UnitId>> = HashMap::new();
        for (name, unit) in &tree.methods {
            methods.entry(name.trim_start_matches('#')).or_default().push(*unit);
        }
        let class_of: Vec<_> = tree.units.iter().map(innermost).collect();
        let mut parts = vec![(vec![], None); tree.classes.len()];
        for (unit, class) in class_of.iter().enumerate() {
            class.iter().for_each(|&class| parts[class].0.push(unit));
        }
        let names = tree.classes.iter().enumerate().rev();
        Self {
            methods,
            named: names.filter_map(|(class, info)| Some((info.name?, class))).collect(),
            parts,
            source,
            tree,
            defined: defined.map(|(name, _)| name.trim_start_matches('#')).collect(),
            units: vec![Level::None; tree.units.len()],
            vars: tree.vars.iter().map(from_outside).collect(),
            holds: functions.iter().map(|f| f.iter().copied().collect()).collect(),
            names: HashSet::new(),
            class_of,
            touched: vec![false; tree.classes.len()],
            classes: vec![false; tree.classes.len()],
            changed: true,
        }
    }

    fn raise(&mut self, unit: UnitId, level: Level) {
        if self.units[unit] < level {
            self.units[unit] = level;
            self.changed = true;
        }
    }

    fn mark(&mut self, sym: Sym) {
        self.changed |= !std::mem::replace(&mut self.vars[sym], true);
    }

    fn text(&self, e: &Expr) -> &'t str {
        self.source.get(e.span.start as usize..e.span.end as usize).unwrap_or_default()
    }

    // Strong.

    /// One round over the whole file.
    fn strong(&mut self) {
        let tree = self.tree;
        for id in 0..tree.units.len() {
            for s in &tree.units[id].body {
                self.statement(id, s);
            }
            if self.units[id] == Level::Strong {
                self.is_strong(id);
            }
        }
        for sym in 0..tree.vars.len() {
            if self.holds[sym].iter().any(|&f| self.units[f] == Level::Strong) {
                self.mark(sym);
            }
        }
        for (class, info) in tree.classes.iter().enumerate() {
            if self.classes[class]
                && let Some(sym) = info.name
            {
                self.mark(sym);
            }
        }
        for (name, unit) in &tree.methods {
            if self.units[*unit] == Level::Strong {
                self.changed |= self.names.insert(name.trim_start_matches('#'));
            }
        }
    }

    /// What a strong function makes strong around it.
    fn is_strong(&mut self, id: UnitId) {
        if self.tree.units[id].kind == UnitKind::Default
            && let Some(parent) = self.tree.units[id].parent
        {
            self.raise(parent, Level::Strong);
        }
        if let Some(class) = self.class_of[id] {
            self.changed |= !std::mem::replace(&mut self.classes[class], true);
        }
    }

    fn statement(&mut self, id: UnitId, s: &'t Stmt) {
        each_declarator(s, &mut |d| {
            let Some(init) = &d.init else { return };
            self.assign(&d.target, init);
        });
        self.heads(s);
        let mut found = vec![];
        each_expr(s, &mut |e, _: Position| found.push(e));
        for e in found {
            if self.any(e) {
                self.raise(id, Level::Strong);
            }
            self.flows(e);
        }
    }

    /// Bindings of loops over something.
    fn heads(&mut self, s: &'t Stmt) {
        if let StmtKind::ForEach { target, right, .. } = &s.kind
            && self.any(right)
        {
            self.bind(target);
        }
        super::modes::each_child(s, &mut |c| self.heads(c));
    }

    fn assign(&mut self, target: &'t Target, value: &'t Expr) {
        if let (Target::Var(sym, _), Kind::Function(unit)) = (target, &value.kind)
            && !self.holds[*sym].contains(unit)
        {
            self.holds[*sym].push(*unit);
            self.changed = true;
        }
        if self.carries(value) {
            self.bind(target);
        }
    }

    fn bind(&mut self, target: &'t Target) {
        match target {
            Target::Var(sym, _) => self.mark(*sym),
            Target::Global => {}
            Target::Member(member) => self.fill(member),
            Target::Pattern(pattern) => {
                pattern.vars.iter().for_each(|&sym| self.mark(sym));
                pattern.members.iter().for_each(|m| self.fill(m));
            }
        }
    }

    /// Something is put into what a member expression starts from.
    fn fill(&mut self, e: &'t Expr) {
        if let Kind::Read(sym) = root(e).kind {
            self.mark(sym);
        }
    }

    /// Stores and fills inside an expression.
    fn flows(&mut self, e: &'t Expr) {
        match &e.kind {
            Kind::Assign(a) if a.op != AssignOp::Arithmetic => self.assign(&a.target, &a.value),
            Kind::Call(call)
                if matches!(call.callee.kind, Kind::Member(_))
                    && call.args.iter().any(|a| self.carries(&a.value)) =>
            {
                self.fill(&call.callee);
            }
            Kind::Class(parts) => {
                if let Some(class) = self.class_at(e)
                    && parts.iter().any(|p| self.any(p))
                {
                    self.changed |= !std::mem::replace(&mut self.classes[class], true);
                }
            }
            _ => {}
        }
        e.children(&mut |c| self.flows(c));
    }

    fn class_at(&self, e: &Expr) -> Option<usize> {
        let classes = &self.tree.classes;
        classes.iter().position(|c| c.inner.end == e.span.end && e.span.holds(c.inner))
    }

    /// A hint is somewhere in the expression.
    fn any(&self, e: &'t Expr) -> bool {
        let mut found = self.hint(e);
        if !found {
            e.children(&mut |c| found = found || self.any(c));
        }
        found
    }

    fn hint(&self, e: &'t Expr) -> bool {
        match &e.kind {
            Kind::Read(sym) => self.vars[*sym],
            Kind::Global => !PLAIN_GLOBALS.has(self.text(e)),
            Kind::Function(unit) => self.units[*unit] == Level::Strong,
            Kind::Class(_) => self.class_at(e).is_some_and(|c| self.classes[c]),
            Kind::Member(m) => {
                let builtin = matches!(m.object.kind, Kind::Global);
                !builtin && self.names_tensor(m.name.as_deref(), m.computed.as_ref())
            }
            // `import("...")`.
            Kind::Store(list) => {
                let plain = list.first().is_some_and(|from| {
                    self.text(from).trim_start_matches(['"', '\'']).starts_with("node:")
                });
                !plain && self.text(e).starts_with("import")
            }
            _ => false,
        }
    }

    fn names_tensor(&self, name: Option<&str>, computed: Option<&Expr>) -> bool {
        let quoted = computed
            .filter(|c| matches!(c.kind, Kind::Plain))
            .map(|c| self.text(c).trim_matches(['"', '\'', '`']));
        name.map(|n| n.trim_start_matches('#'))
            .or(quoted)
            .is_some_and(|n| self.names.contains(n) || HINTS.has(n) && !self.defined.contains(n))
    }

    /// The value may be a tensor or lead to one.
    fn carries(&self, e: &'t Expr) -> bool {
        match &e.kind {
            Kind::Plain | Kind::Operator(_) | Kind::Inspect(_) => false,
            Kind::Paren(inner) => self.carries(inner),
            Kind::Sequence(list) => list.last().is_some_and(|e| self.carries(e)),
            Kind::Conditional(parts) => self.carries(&parts[1]) || self.carries(&parts[2]),
            Kind::Logical(_, parts) => parts.iter().any(|e| self.carries(e)),
            Kind::Assign(a) => a.op != AssignOp::Arithmetic && self.carries(&a.value),
            _ => self.any(e),
        }
    }

    // Weak.

    /// One round over what is compiled so far.
    fn weak(&mut self) {
        let tree = self.tree;
        self.units[0] = self.units[0].max(Level::Weak);
        for (id, unit) in tree.units.iter().enumerate() {
            let parent = unit.parent.unwrap_or(0);
            if self.units[id] == Level::None {
                let part = unit.kind == UnitKind::Default && self.units[parent] != Level::None;
                if part {
                    self.raise(id, Level::Weak);
                }
                continue;
            }
            self.raise(parent, Level::Weak);
            if let Some(class) = self.class_of[id] {
                self.touch(class);
            }
            for s in &unit.body {
                each_expr(s, &mut |e, _: Position| self.calls(id, e));
            }
        }
        let strong = (0..tree.classes.len()).filter(|&c| self.classes[c]);
        strong.collect::<Vec<_>>().into_iter().for_each(|class| self.touch(class));
        self.captures();
    }

    /// Functions that use a captured variable which may hold a tensor.
    fn captures(&mut self) {
        let tree = self.tree;
        for &(sym, user) in &tree.uses {
            let var = &tree.vars[sym];
            let local = var.unit != 0 && self.units[var.unit] != Level::None;
            if user != var.unit
                && var.mode != Mode::Plain
                && var.kind != VarKind::Other
                && self.holds[sym].is_empty()
                && (self.vars[sym] || local)
            {
                self.raise(user, Level::Weak);
            }
        }
    }

    /// Instances of a class are worth counting: what fills them must be compiled.
    fn touch(&mut self, class: usize) {
        self.changed |= !std::mem::replace(&mut self.touched[class], true);
        let tree = self.tree;
        let info = &tree.classes[class];
        let whole = self.classes[class] && !info.base;
        if self.parts[class].1.replace(whole) == Some(whole) {
            return;
        }
        let parent = info.parent.and_then(|p| self.named.get(&p).copied());
        // Its parent's constructor gets what `super` is called with.
        if let Some(parent) = parent.filter(|&p| !self.touched[p]) {
            self.touch(parent);
        }
        for id in self.parts[class].0.clone() {
            let span = tree.units[id].span;
            let text = self.source.get(span.start as usize..span.end as usize);
            let private = text.is_some_and(|t| t.contains('#'));
            let iterates = text.is_some_and(|t| t.contains("return this"));
            if whole
                || private
                || iterates
                || info.implicit.contains(&id)
                || info.fields.contains(&id)
                || info.constructor == Some(id)
            {
                self.raise(id, Level::Weak);
            }
        }
    }

    /// What the calls of a compiled function reach.
    fn calls(&mut self, id: UnitId, e: &'t Expr) {
        match &e.kind {
            Kind::Function(unit) if self.units[id] == Level::Strong && id != 0 => {
                self.raise(*unit, Level::Weak);
            }
            Kind::Call(call) | Kind::Construct(call) => {
                for a in &call.args {
                    if let Kind::Function(unit) = a.value.kind {
                        self.raise(unit, Level::Weak);
                    }
                }
                self.callee(id, call);
            }
            // `f?.(x)`
            Kind::Optional(o) => {
                if let Kind::Read(sym) = o.head.kind {
                    for f in self.holds[sym].clone() {
                        self.raise(f, Level::Weak);
                    }
                }
            }
            _ => {}
        }
        e.children(&mut |c| self.calls(id, c));
    }

    fn callee(&mut self, id: UnitId, call: &'t Call) {
        let vars = &self.tree.vars;
        let strong = self.units[id] == Level::Strong;
        // A weak function hands on only what it was handed.
        let handed = |e: &Expr| match root(e).kind {
            Kind::This | Kind::Link => true,
            Kind::Read(sym) => vars[sym].kind == VarKind::Param || self.vars[sym],
            _ => false,
        };
        let passes = |e: &Expr| !e.is_plain(vars) && (strong || handed(e));
        let args = call.args.iter().any(|a| a.spread && strong || passes(&a.value));
        match &call.callee.kind {
            Kind::Read(sym) if args => {
                for f in self.holds[*sym].clone() {
                    self.raise(f, Level::Weak);
                }
                if let Some(&class) = self.named.get(sym) {
                    self.touch(class);
                }
            }
            Kind::Member(m) if args || m.is_super || passes(&m.object) => {
                let Some(name) = m.name.as_deref() else { return };
                for unit in
                    self.methods.get(name.trim_start_matches('#')).cloned().unwrap_or_default()
                {
                    self.raise(unit, Level::Weak);
                }
            }
            _ => {}
        }
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
    use super::super::hints::COMMON;
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
        let declared = include_str!("../../../../js/mlrun.d.ts");
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
