//! Patterns: what one binds is retained before anything else runs.
//!
//! Invariant: between a read of a pattern and the retain of what it gave, no code of the program
//! runs: a key retains what the one before it has bound. Where there is no such place, since a
//! pattern stands inside, `open` asks whether reading runs code, and shares what is taken apart if it does.

use super::{Inserter, PRE};
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    /// Emits `value`, which a pattern takes apart.
    pub(super) fn taken_apart(&mut self, pattern: &'t Pattern, value: &'t Expr) {
        let (outer, inner) = (self.next(), self.next());
        let edits = self.edits.len();
        match (pattern.retained, pattern.iterates) {
            // A pattern inside holds nothing of what a step gave while the generator goes on.
            (true, true) if pattern.shape.is_none() && self.makes_generator(value) => {
                let driver = self.driver();
                self.driven(value, &driver, false, None, "fnSteps");
                self.steps = Some(driver);
            }
            (true, true) => self.iterated(value),
            (true, false) => _ = self.held(value),
            (false, _) => self.share(value),
        }
        let plain = value.is_plain(&self.tree.vars);
        if let Some(shape) = &pattern.shape
            && pattern.retained
            && !plain
        {
            let pre = format!("{}(", self.own("open"));
            self.wrap(inner, value.span, &pre, &format!(", {shape})"));
        }
        // What is made right here can be taken apart. Of what stays as it is V8 says why it cannot.
        let made = matches!(value.kind, Kind::Construct(_) | Kind::Literal { .. });
        if made || self.edits.len() == edits {
            return;
        }
        if !pattern.iterates {
            let Says { text, at } = pattern.says();
            self.wrap_from(outer, value.span, &format!("{}(", self.own("apart")), &text, at);
        } else if !pattern.retained {
            self.checked(outer, value);
        }
    }

    /// What `pattern` binds is retained, by its keys or by statements after it.
    pub(super) fn binds(&mut self, pattern: &'t Pattern, value: &'t Expr, first: bool) {
        let plain = value.is_plain(&self.tree.vars);
        let fresh =
            |i: &Self, sym: Sym| first && !i.var(sym).in_loop && i.var(sym).kind != VarKind::Var;
        let retained = if plain { 0 } else { self.keys(&pattern.keys, fresh) };
        for &sym in &pattern.vars {
            // The last one, and those that no key follows.
            let done = pattern.keys.iter().take(retained).any(|k| k.var == Some(sym));
            let again = pattern.keys.iter().skip(retained).any(|k| k.var == Some(sym));
            if !done || again {
                let bind = self.bind(sym, fresh(self, sym));
                self.binds.push_str(&bind);
            }
            if self.is_slot(sym) {
                // Its old value is given up when the new one comes.
                let name = self.slot_of(sym);
                self.pending.iter_mut().filter(|s| **s == name).for_each(String::clear);
            }
        }
        if let Some(driver) = self.steps.take() {
            self.binds.push_str(&format!("{}({driver});", self.own("yielded")));
        }
    }

    /// Each key retains what the one before it has bound; so many of them are done.
    pub(super) fn keys(&mut self, keys: &[Key], fresh: impl Fn(&Self, Sym) -> bool) -> usize {
        for pair in keys.windows(2) {
            let Some(sym) = pair[0].var else { continue };
            let bind = self.bind(sym, fresh(self, sym));
            self.before_key(&pair[1], bind.trim_end_matches(';'));
        }
        keys.len().saturating_sub(1)
    }

    /// The same for parameters, whose slots do not exist yet. Gives whether a guard is left.
    pub(super) fn parameter_keys(&mut self) -> bool {
        let mut guarded = false;
        for pair in self.unit.keys.windows(2) {
            let Some(sym) = pair[0].var else { continue };
            let mut take = self.early(sym);
            if take.starts_with(&self.own("early")) {
                let again = if guarded { ", true" } else { "" };
                take = format!("{}({}{again})", self.own("keyed"), self.var(sym).name);
                guarded = true;
            }
            self.before_key(&pair[1], &take);
        }
        guarded
    }

    /// Retains a parameter before the function begins; nothing where that is not needed. One that a
    /// closure captures is held for ever.
    pub(super) fn early(&self, sym: Sym) -> String {
        let var = self.var(sym);
        if matches!(var.mode, Mode::Plain | Mode::Borrowed) {
            return String::new();
        }
        let take = if var.captured || var.loose { "hold" } else { "early" };
        format!("{}({})", self.own(take), var.name)
    }

    /// Runs `text` just before a pattern reads `key`.
    fn before_key(&mut self, key: &Key, text: &str) {
        if text.is_empty() {
            return;
        }
        let (Span { start, end }, name) = (key.at, &key.name);
        if key.shorthand {
            let n = self.next();
            self.edits.insert(start, PRE + n, format!("[({text}, {name})]: "), start);
        } else {
            self.edits.replace(start, end, format!("[({text}, {name})]"));
        }
    }

    /// What patterns of the same declaration have bound is retained before the next value is
    /// computed: its code may take it from where it came from.
    pub(super) fn bind_before(&mut self, d: &'t Declarator, n: i32) {
        let Some(init) = &d.init else { return };
        // A function is named after its variable, and runs no code yet.
        if self.binds.is_empty() || is_function(init) {
            return;
        }
        let binds = std::mem::take(&mut self.binds).replace(';', ", ");
        match d.target {
            // So is a class, which runs code.
            Target::Var(sym, _) if super::is_definition(init) => {
                let name = super::quote(&self.var(sym).name);
                let pre = format!("({binds}{{[{name}]: ");
                self.wrap(n, init.span, &pre, &format!("}}[{name}])"));
            }
            _ => self.wrap(n, init.span, &format!("({binds}"), ")"),
        }
    }
}

fn is_function(e: &Expr) -> bool {
    match &e.kind {
        Kind::Paren(inner) => is_function(inner),
        Kind::Function(_) => true,
        _ => false,
    }
}
