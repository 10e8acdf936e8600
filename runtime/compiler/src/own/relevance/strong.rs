//! What points at tensors, and what leads there.
//!
//! The program is read once, into a graph: functions, variables, classes and names of methods are
//! nodes, and an edge says that what makes one strong makes the other strong. Invariant: time grows
//! with the program, however long the ways through it are.

use std::collections::{HashMap, HashSet};

use super::super::hash::NumberMap;
use super::super::hints::{HINTS, PLAIN_GLOBALS};
use super::super::links::Links;
use super::super::modes::{each_child, each_own_expr};
use super::{Level, root};
use crate::own::tree::*;

/// What was found.
pub(super) struct Strong {
    pub units: Vec<Level>,
    /// Variables that may hold a tensor, or what leads to one.
    pub vars: Vec<bool>,
    /// Classes with a strong part or parent.
    pub classes: Vec<bool>,
    /// Functions that each variable may hold.
    pub holds: Links,
}

pub(super) fn search(
    source: &str,
    tree: &Tree,
    functions: &[Option<UnitId>],
    class_of: &[Option<usize>],
) -> Strong {
    let mut search = Search::new(source, tree, functions);
    for (id, unit) in tree.units.iter().enumerate() {
        unit.body.iter().for_each(|s| search.statement(id, s));
    }
    search.surroundings(class_of);
    let Search { mut graph, holds, .. } = search;
    graph.spread();
    let mut on = graph.on.into_iter();
    let strong = on.by_ref().take(tree.units.len());
    Strong {
        units: strong.map(|on| if on { Level::Strong } else { Level::None }).collect(),
        vars: on.by_ref().take(tree.vars.len()).collect(),
        classes: on.take(tree.classes.len()).collect(),
        holds,
    }
}

type Node = usize;

/// Who makes whom strong.
#[derive(Default)]
struct Graph {
    on: Vec<bool>,
    edges: Links,
}

impl Graph {
    fn add(&mut self) -> Node {
        self.on.push(false);
        self.on.len() - 1
    }

    fn edge(&mut self, from: Hint, to: Node) {
        match from {
            Hint::Never => {}
            Hint::Always => self.on[to] = true,
            Hint::If(from) if from == to => {}
            Hint::If(from) => self.edges.add(from, to),
        }
    }

    fn spread(&mut self) {
        let mut open: Vec<Node> = (0..self.on.len()).filter(|&node| self.on[node]).collect();
        while let Some(node) = open.pop() {
            for to in self.edges.of(node) {
                if !std::mem::replace(&mut self.on[to], true) {
                    open.push(to);
                }
            }
        }
    }
}

/// Whether an expression holds a hint.
#[derive(Clone, Copy, PartialEq)]
enum Hint {
    Never,
    Always,
    /// If this is strong.
    If(Node),
}

/// What there is to know of an expression.
#[derive(Clone, Copy)]
struct Hints {
    /// A hint is somewhere in it.
    any: Hint,
    /// The value may be a tensor or lead to one.
    carries: Hint,
}

struct Search<'t> {
    source: &'t str,
    tree: &'t Tree,
    graph: Graph,
    holds: Links,
    /// Nodes of names of methods.
    names: HashMap<&'t str, Node>,
    /// Names of methods in a file that takes nothing from outside: they mean its own.
    defined: HashSet<&'t str>,
    /// Classes by where their elements end.
    ends: NumberMap<u32, usize>,
    /// Hints of the operands that were seen of expressions in progress.
    any: Vec<Hint>,
    carried: Vec<Hint>,
}

impl<'t> Search<'t> {
    fn new(source: &'t str, tree: &'t Tree, functions: &[Option<UnitId>]) -> Self {
        let from_outside = |var: &Var| {
            let plain = |from: &str| from.starts_with("node:") || from.ends_with(".json");
            var.imported && !var.from.as_deref().is_some_and(plain)
        };
        let fixed = tree.units.len() + tree.vars.len() + tree.classes.len();
        let mut graph = Graph { on: vec![false; fixed], edges: Links::default() };
        let mut alone = true;
        for (sym, _) in tree.vars.iter().enumerate().filter(|(_, var)| from_outside(var)) {
            graph.on[tree.units.len() + sym] = true;
            alone = false;
        }
        let mut names = HashMap::new();
        for (name, _) in &tree.methods {
            names.entry(name.trim_start_matches('#')).or_insert_with(|| graph.add());
        }
        let mut holds = Links::default();
        for (sym, function) in functions.iter().enumerate() {
            function.iter().for_each(|&function| holds.add(sym, function));
        }
        let classes = tree.classes.iter().enumerate();
        Self {
            source,
            tree,
            graph,
            holds,
            defined: names.keys().filter(|_| alone).copied().collect(),
            names,
            ends: classes.map(|(class, info)| (info.inner.end, class)).collect(),
            any: vec![],
            carried: vec![],
        }
    }

    fn var(&self, sym: Sym) -> Node {
        self.tree.units.len() + sym
    }

    fn class(&self, class: usize) -> Node {
        self.tree.units.len() + self.tree.vars.len() + class
    }

    fn text(&self, e: &Expr) -> &'t str {
        self.source.get(e.span.start as usize..e.span.end as usize).unwrap_or_default()
    }

    /// What strong functions and classes make strong around them.
    fn surroundings(&mut self, class_of: &[Option<usize>]) {
        let tree = self.tree;
        for (id, unit) in tree.units.iter().enumerate() {
            if unit.kind == UnitKind::Default
                && let Some(parent) = unit.parent
            {
                self.graph.edge(Hint::If(id), parent);
            }
            if let Some(class) = class_of[id] {
                let class = self.class(class);
                self.graph.edge(Hint::If(id), class);
            }
        }
        for (class, info) in tree.classes.iter().enumerate() {
            if let Some(sym) = info.name {
                self.graph.edge(Hint::If(self.class(class)), self.var(sym));
            }
        }
        for (name, unit) in &tree.methods {
            let name = self.names[name.trim_start_matches('#')];
            self.graph.edge(Hint::If(*unit), name);
        }
        for sym in 0..tree.vars.len() {
            let var = self.var(sym);
            self.holds.of(sym).for_each(|unit| self.graph.edge(Hint::If(unit), var));
        }
    }

    fn statement(&mut self, id: UnitId, s: &'t Stmt) {
        match &s.kind {
            StmtKind::Declare(list) => list.iter().for_each(|d| self.declarator(id, d)),
            StmtKind::ForEach { target, right, .. } => {
                target.children(&mut |e| _ = self.whole(id, e));
                let hints = self.whole(id, right);
                self.bind(target, hints.any);
            }
            _ => each_own_expr(s, &mut |e, _| _ = self.whole(id, e)),
        }
        each_child(s, &mut |c| self.statement(id, c));
    }

    fn declarator(&mut self, id: UnitId, d: &'t Declarator) {
        d.target.children(&mut |e| _ = self.whole(id, e));
        if let Some(init) = &d.init {
            let hints = self.whole(id, init);
            self.assign(&d.target, init, hints.carries);
        }
    }

    /// An expression that no other is around.
    fn whole(&mut self, id: UnitId, e: &'t Expr) -> Hints {
        let hints = self.expr(e);
        self.graph.edge(hints.any, id);
        hints
    }

    fn assign(&mut self, target: &'t Target, value: &'t Expr, carries: Hint) {
        if let (Target::Var(sym, _), Kind::Function(unit)) = (target, &value.kind) {
            self.holds.add(*sym, *unit);
        }
        self.bind(target, carries);
    }

    fn bind(&mut self, target: &'t Target, hint: Hint) {
        match target {
            Target::Var(sym, _) => self.graph.edge(hint, self.var(*sym)),
            Target::Global => {}
            Target::Member(member) => self.fill(member, hint),
            Target::Pattern(pattern) => {
                let vars = pattern.vars.iter();
                vars.for_each(|&sym| self.graph.edge(hint, self.tree.units.len() + sym));
                pattern.members.iter().for_each(|m| self.fill(m, hint));
            }
        }
    }

    /// Something is put into what a member expression starts from.
    fn fill(&mut self, e: &'t Expr, hint: Hint) {
        if let Kind::Read(sym) = root(e).kind {
            self.graph.edge(hint, self.var(sym));
        }
    }

    /// Hints of an expression, after all that flows inside it.
    fn expr(&mut self, e: &'t Expr) -> Hints {
        let (any, carried) = (self.any.len(), self.carried.len());
        let own = self.hint(e);
        self.any.push(own);
        e.children(&mut |c| {
            let hints = self.expr(c);
            self.any.push(hints.any);
            self.carried.push(hints.carries);
        });
        self.flows(e, any, carried);
        let carries = match &e.kind {
            Kind::Plain | Kind::Operator(_) | Kind::Inspect(_) => Some(Hint::Never),
            Kind::Paren(_) | Kind::Sequence(_) => Some(self.last(carried, 1)),
            Kind::Conditional(_) | Kind::Logical(..) => Some(self.last(carried, 2)),
            Kind::Assign(a) if a.op == AssignOp::Arithmetic => Some(Hint::Never),
            Kind::Assign(_) => Some(self.last(carried, 1)),
            _ => None,
        };
        let hint = either(&mut self.graph, &self.any[any..]);
        self.any.truncate(any);
        self.carried.truncate(carried);
        Hints { any: hint, carries: carries.unwrap_or(hint) }
    }

    /// What the last operands of those that were seen since `from` carry.
    fn last(&mut self, from: usize, count: usize) -> Hint {
        let seen = &self.carried[from..];
        either(&mut self.graph, &seen[seen.len().saturating_sub(count)..])
    }

    /// Stores and fills of an expression whose operands stand behind these places of the lists.
    fn flows(&mut self, e: &'t Expr, any: usize, carried: usize) {
        match &e.kind {
            Kind::Assign(a) if a.op != AssignOp::Arithmetic => {
                let value = self.last(carried, 1);
                self.assign(&a.target, &a.value, value);
            }
            Kind::Call(call) if matches!(call.callee.kind, Kind::Member(_)) => {
                let args = self.last(carried, call.args.len());
                self.fill(&call.callee, args);
            }
            Kind::Class(_) => {
                if let Some(class) = self.class_at(e) {
                    let class = self.class(class);
                    let parts = self.any[any + 1..].iter();
                    parts.for_each(|&part| self.graph.edge(part, class));
                }
            }
            _ => {}
        }
    }

    fn class_at(&self, e: &Expr) -> Option<usize> {
        let class = *self.ends.get(&e.span.end)?;
        e.span.holds(self.tree.classes[class].inner).then_some(class)
    }

    /// The hint that an expression is without its operands.
    fn hint(&self, e: &'t Expr) -> Hint {
        let known = |hint: bool| if hint { Hint::Always } else { Hint::Never };
        match &e.kind {
            Kind::Read(sym) => Hint::If(self.var(*sym)),
            Kind::Global => known(!PLAIN_GLOBALS.has(self.text(e))),
            Kind::Function(unit) => Hint::If(*unit),
            Kind::Class(_) => {
                self.class_at(e).map_or(Hint::Never, |class| Hint::If(self.class(class)))
            }
            Kind::Member(m) => match m.object.kind {
                Kind::Global => Hint::Never,
                _ => self.named(m.name.as_deref(), m.computed.as_ref()),
            },
            // `import("...")`.
            Kind::Store(list) => {
                let plain = list.first().is_some_and(|from| {
                    self.text(from).trim_start_matches(['"', '\'']).starts_with("node:")
                });
                known(!plain && self.text(e).starts_with("import"))
            }
            _ => Hint::Never,
        }
    }

    fn named(&self, name: Option<&str>, computed: Option<&Expr>) -> Hint {
        let quoted = computed
            .filter(|c| matches!(c.kind, Kind::Plain))
            .map(|c| self.text(c).trim_matches(['"', '\'', '`']));
        let Some(name) = name.map(|n| n.trim_start_matches('#')).or(quoted) else {
            return Hint::Never;
        };
        match self.names.get(name) {
            _ if HINTS.has(name) && !self.defined.contains(name) => Hint::Always,
            Some(&node) => Hint::If(node),
            None => Hint::Never,
        }
    }
}

/// One of these.
fn either(graph: &mut Graph, hints: &[Hint]) -> Hint {
    let mut result = Hint::Never;
    let mut joined = None;
    for &hint in hints {
        match (result, hint) {
            (Hint::Always, _) | (_, Hint::Always) => return Hint::Always,
            (Hint::Never, hint) => result = hint,
            (_, Hint::Never) => {}
            (one, other) if one == other => {}
            (one, other) => {
                let node = *joined.get_or_insert_with(|| graph.add());
                graph.edge(one, node);
                graph.edge(other, node);
                result = Hint::If(node);
            }
        }
    }
    result
}
