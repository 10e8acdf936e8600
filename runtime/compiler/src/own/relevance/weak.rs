//! What strong functions may hand a tensor to.
//!
//! Each function is looked at once, when it is found to be compiled. Invariant: time grows with the
//! program and with what it names.

use std::collections::HashMap;

use super::super::hash::{NumberMap, NumberSet};
use super::super::links::Links;
use super::super::modes::{Position, each_expr};
use super::strong::Strong;
use super::{Level, root};
use crate::own::tree::*;

/// Levels of all functions, and the classes some of which is compiled.
pub(super) fn search(
    source: &str,
    tree: &Tree,
    strong: Strong,
    class_of: &[Option<usize>],
) -> (Vec<Level>, Vec<bool>) {
    let mut search = Search::new(source, tree, strong, class_of);
    search.begin();
    while let Some(unit) = search.open.pop() {
        search.compiled(unit);
    }
    (search.strong.units, search.touched)
}

struct Search<'t> {
    source: &'t str,
    tree: &'t Tree,
    strong: Strong,
    class_of: &'t [Option<usize>],
    /// Functions that are found to be compiled, but not looked at.
    open: Vec<UnitId>,
    /// Methods by name; those of a name that was called are gone.
    methods: HashMap<&'t str, Vec<UnitId>>,
    /// Classes by the variable that names them.
    named: NumberMap<Sym, usize>,
    /// Parts of each class.
    parts: Links,
    /// Parts without which no instance can be counted.
    essential: Vec<bool>,
    /// Functions that are compiled if this one is: defaults of its parameters, users of a variable of its.
    follow: Links,
    touched: Vec<bool>,
    /// Variables whose functions are compiled.
    called: NumberSet<Sym>,
}

impl<'t> Search<'t> {
    fn new(source: &'t str, tree: &'t Tree, strong: Strong, class_of: &'t [Option<usize>]) -> Self {
        let mut methods: HashMap<&str, Vec<UnitId>> = HashMap::new();
        for (name, unit) in &tree.methods {
            methods.entry(name.trim_start_matches('#')).or_default().push(*unit);
        }
        let mut parts = Links::default();
        for (unit, class) in class_of.iter().enumerate() {
            class.iter().for_each(|&class| parts.add(class, unit));
        }
        let mut essential = vec![false; tree.units.len()];
        for class in &tree.classes {
            let units = class.implicit.iter().chain(&class.fields).chain(&class.constructor);
            units.for_each(|&unit| essential[unit] = true);
        }
        let names = tree.classes.iter().enumerate().rev();
        Self {
            source,
            tree,
            strong,
            class_of,
            open: vec![],
            methods,
            named: names.filter_map(|(class, info)| Some((info.name?, class))).collect(),
            parts,
            essential,
            follow: Links::default(),
            touched: vec![false; tree.classes.len()],
            called: NumberSet::default(),
        }
    }

    fn raise(&mut self, unit: UnitId) {
        if self.strong.units[unit] == Level::None {
            self.strong.units[unit] = Level::Weak;
            self.open.push(unit);
        }
    }

    /// What is compiled whatever else is.
    fn begin(&mut self) {
        let tree = self.tree;
        for (id, unit) in tree.units.iter().enumerate() {
            if self.strong.units[id] == Level::Strong {
                self.open.push(id);
            }
            if unit.kind == UnitKind::Default {
                self.follow.add(unit.parent.unwrap_or(0), id);
            }
        }
        self.raise(0);
        self.captures();
        for class in (0..tree.classes.len()).filter(|&c| self.strong.classes[c]).collect::<Vec<_>>()
        {
            self.touch(class);
        }
    }

    /// Functions that use a captured variable which may hold a tensor.
    fn captures(&mut self) {
        let tree = self.tree;
        for &(sym, user) in &tree.uses {
            let var = &tree.vars[sym];
            if user == var.unit
                || var.mode == Mode::Plain
                || var.kind == VarKind::Other
                || self.strong.holds.has(sym)
            {
                continue;
            }
            if self.strong.vars[sym] {
                self.raise(user);
            } else if var.unit != 0 {
                self.follow.add(var.unit, user);
            }
        }
    }

    /// What comes with a function that is compiled.
    fn compiled(&mut self, id: UnitId) {
        let unit = &self.tree.units[id];
        self.raise(unit.parent.unwrap_or(0));
        if let Some(class) = self.class_of[id] {
            self.touch(class);
        }
        for other in self.follow.of(id).collect::<Vec<_>>() {
            self.raise(other);
        }
        for s in &unit.body {
            each_expr(s, &mut |e, _: Position| self.calls(id, e));
        }
    }

    /// Instances of a class are worth counting: what fills them must be compiled.
    fn touch(&mut self, class: usize) {
        if std::mem::replace(&mut self.touched[class], true) {
            return;
        }
        let tree = self.tree;
        let info = &tree.classes[class];
        let whole = self.strong.classes[class] && !info.base;
        // Its parent's constructor gets what `super` is called with.
        if let Some(parent) = info.parent.and_then(|p| self.named.get(&p).copied()) {
            self.touch(parent);
        }
        for id in self.parts.of(class).collect::<Vec<_>>() {
            let span = tree.units[id].span;
            let text = self.source.get(span.start as usize..span.end as usize);
            let says = |what: &str| text.is_some_and(|t| t.contains(what));
            if whole || self.essential[id] || says("#") || says("return this") {
                self.raise(id);
            }
        }
    }

    /// What the calls of a compiled function reach.
    fn calls(&mut self, id: UnitId, e: &'t Expr) {
        match &e.kind {
            Kind::Function(unit) if self.strong.units[id] == Level::Strong && id != 0 => {
                self.raise(*unit);
            }
            Kind::Call(call) | Kind::Construct(call) => {
                // What it makes is filled right here.
                if let (Kind::Construct(_), Kind::Read(sym)) = (&e.kind, &call.callee.kind)
                    && self.strong.units[id] == Level::Strong
                    && let Some(&class) = self.named.get(sym)
                {
                    self.touch(class);
                }
                for a in &call.args {
                    if let Kind::Function(unit) = a.value.kind {
                        self.raise(unit);
                    }
                }
                self.callee(id, call);
            }
            // `f?.(x)`
            Kind::Optional(o) => {
                if let Kind::Read(sym) = o.head.kind {
                    self.call(sym);
                }
            }
            // A setter.
            Kind::Assign(a) if a.op != AssignOp::Arithmetic => {
                if let Target::Member(member) = &a.target
                    && let Kind::Member(m) = &member.kind
                    && self.passes(id, &a.value)
                {
                    self.named(m);
                }
            }
            // A getter.
            Kind::Member(m) if self.passes(id, &m.object) => self.named(m),
            _ => {}
        }
        e.children(&mut |c| self.calls(id, c));
    }

    /// The functions that a variable may hold.
    fn call(&mut self, sym: Sym) {
        if self.called.insert(sym) {
            for unit in self.strong.holds.of(sym).collect::<Vec<_>>() {
                self.raise(unit);
            }
        }
    }

    /// Whether a function may hand on a tensor in this.
    fn passes(&self, id: UnitId, e: &Expr) -> bool {
        let vars = &self.tree.vars;
        // A weak function hands on only what it was handed.
        let handed = || match root(e).kind {
            Kind::This | Kind::Link => true,
            Kind::Read(sym) => vars[sym].kind == VarKind::Param || self.strong.vars[sym],
            _ => false,
        };
        (self.strong.units[id] == Level::Strong || handed()) && !e.is_plain(vars)
    }

    /// The functions that a property of this name may be.
    fn named(&mut self, m: &'t Member) {
        let Some(name) = m.name.as_deref() else { return };
        let methods = self.methods.remove(name.trim_start_matches('#'));
        methods.into_iter().flatten().for_each(|unit| self.raise(unit));
    }

    fn callee(&mut self, id: UnitId, call: &'t Call) {
        let strong = self.strong.units[id] == Level::Strong;
        let passes = |e: &Expr| self.passes(id, e);
        let args = || call.args.iter().any(|a| a.spread && strong || passes(&a.value));
        match &call.callee.kind {
            Kind::Read(sym) if args() => {
                self.call(*sym);
                if let Some(&class) = self.named.get(sym) {
                    self.touch(class);
                }
            }
            Kind::Member(m) if args() || m.is_super || passes(&m.object) => {
                // `f.call(o, x)`
                if let (Kind::Read(sym), true) = (&m.object.kind, call.passes_through()) {
                    self.call(*sym);
                }
                self.named(m);
            }
            _ => {}
        }
    }
}
