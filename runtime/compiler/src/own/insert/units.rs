//! Whole functions: entry, exit, tokens and marks.
//!
//! Invariant: every slot that the body uses is declared here and dropped once when it ends.

use super::{GENERATOR_MARK, Inserter, LOOK_MARK, MARK, POST, PRE, TOKEN_MARK, is_definition};
use crate::own::tree::*;

impl<'t> Inserter<'t> {
    pub(super) fn unit(&mut self) {
        let whole = self.next();
        let vars = &self.index.vars[self.id];
        for &sym in vars.iter().filter(|&&sym| self.tree.vars[sym].mode == Mode::Cell) {
            self.slot_of(sym);
        }
        self.statements(&self.unit.body);
        if matches!(self.unit.kind, UnitKind::Field | UnitKind::Default) {
            return self.part(whole);
        }
        let guarded = self.parameter_keys();
        let mut entry = self.entry();
        if guarded {
            entry.insert_str(0, &format!("{}();", self.own("arrived")));
        }
        if self.unit.kind == UnitKind::Program {
            self.program_slots();
            return;
        }
        let own = self.own("drop");
        let declared: Vec<String> = self.declared();
        let mut open = String::new();
        if !declared.is_empty() {
            open = format!("let {};", declared.join(", "));
        }
        if vars.iter().any(|&sym| self.var(sym).lent) {
            open.push_str(&format!("let {}=false;", self.names.escaped()));
        }
        open.push_str(&entry);
        if let Some(take) = self.token_source() {
            open.insert_str(0, &format!("let {}={}();", self.names.token(), self.own(take)));
        }
        let mut close = String::new();
        let lent = vars.iter().filter(|&&sym| self.var(sym).lent);
        let cells: Vec<String> = lent.map(|&sym| self.names.slot(sym)).collect();
        if !self.slots.is_empty() || !cells.is_empty() || !self.regiven.is_empty() {
            let mut drops: String = self.slots.iter().map(|s| format!("{own}({s});")).collect();
            let escaped = self.names.escaped();
            drops.extend(cells.iter().map(|s| format!("{escaped}||{own}({s});")));
            // Other code may have run since the value was given.
            let again = self.own("again");
            drops.extend(self.regiven.iter().map(|s| format!("{again}({s});")));
            open.push_str("try{");
            close = format!("}}finally{{{drops}}}");
        }
        let mark = match (self.token_source(), &self.unit.looks) {
            (Some("enter"), _) => TOKEN_MARK.to_owned(),
            (Some(_), _) => GENERATOR_MARK.to_owned(),
            (None, Some(shape)) => format!("{LOOK_MARK}{shape}*/"),
            (None, None) if self.shares_results() => String::new(),
            (None, None) => MARK.to_owned(),
        };
        close.push_str(&mark);
        let Span { start, end } = self.unit.inner;
        if self.unit.expression_body {
            let (before, after) = (PRE + whole, POST - whole);
            if open.is_empty() {
                self.edits.insert(start, before, "(", start);
                self.edits.insert(end, after, format!("{close})"), start);
            } else {
                self.edits.insert(start, before, format!("{{{open}return "), start);
                self.edits.insert(end, after, format!("{close}}}"), start);
            }
            return;
        }
        if self.source.as_bytes().get(start as usize - 1) != Some(&b'{') && !open.is_empty() {
            open.insert(0, ';');
        }
        if !open.is_empty() {
            self.edits.insert(start, i32::MIN, open, start);
        }
        if !close.is_empty() {
            let newline = self.ends_in_line_comment(start, end);
            self.edits.insert(
                end,
                i32::MAX,
                format!("{}{close}", if newline { "\n" } else { "" }),
                start,
            );
        }
    }

    /// Nothing of the program runs between a call of this function and its body.
    pub(super) fn takes_token(&self) -> bool {
        self.unit.is_async && !self.unit.is_generator && !self.unit.complex_params
    }

    /// What it gives is shared: nobody claims it.
    pub(super) fn shares_results(&self) -> bool {
        self.unit.is_generator || self.unit.opaque
    }

    /// Where the token of an activation comes from.
    pub(super) fn token_source(&self) -> Option<&'static str> {
        match self.unit.is_generator {
            true => (!self.unit.delegates && !self.unit.opaque).then_some("resume"),
            false => self.takes_token().then_some("enter"),
        }
    }

    /// A field's initialiser or a parameter's default: its value brings a count, which goes to
    /// the place. One that needs slots becomes a function.
    pub(super) fn part(&mut self, whole: i32) {
        let Some(Stmt { kind: StmtKind::Return(Some(e)), .. }) = self.unit.body.first() else {
            return;
        };
        let declared = self.declared();
        let (mut open, mut close) = (String::new(), String::new());
        if !declared.is_empty() {
            let own = self.own("drop");
            let drops: String = self.slots.iter().map(|s| format!("{own}({s});")).collect();
            open = format!("(() => {{let {};", declared.join(", "));
            let body = if drops.is_empty() { "return " } else { "try{return " };
            open.push_str(body);
            close = if drops.is_empty() { String::new() } else { format!("}}finally{{{drops}}}") };
            close.push_str(&format!("{MARK}}})()"));
        }
        if !e.is_plain(&self.tree.vars) && !is_definition(e) {
            let waits = |sym: Sym| !self.var(sym).captured && !self.var(sym).loose;
            let alone = self.unit.binds.is_some_and(waits);
            let text = match alone {
                true if e.runs_no_code() => format!("{}(", self.own("dflt")),
                true => format!("{}({}(), ", self.own("computed"), self.own("compute")),
                false => format!("{}(", self.own("field")),
            };
            open.insert_str(0, &text);
            close.push(')');
        } else if self.unit.kind == UnitKind::Field && !e.is_bare(&self.tree.vars) {
            open.insert_str(0, &format!("{}(", self.own("hold")));
            close.push(')');
        }
        // Keys of the pattern that it stands in have retained what they bound.
        let keys = self.unit.parent.map_or(&[][..], |p| &self.tree.units[p].keys);
        let bound = |sym: Sym| keys.iter().rev().skip(1).any(|k| k.var == Some(sym));
        let takes = self.unit.early.iter().filter(|&&sym| !bound(sym)).map(|&sym| self.early(sym));
        let early: String = takes.filter(|t| !t.is_empty()).map(|t| t + ", ").collect();
        if !early.is_empty() {
            // What it runs must not take what waits.
            if !open.starts_with(&self.own("computed")) {
                open.insert_str(0, &format!("{}({}(), ", self.own("guarded"), self.own("compute")));
                close.push(')');
            }
            open.insert_str(0, &format!("({early}"));
            close.push(')');
        }
        self.wrap(whole, self.unit.inner, &open, &close);
    }

    pub(super) fn ends_in_line_comment(&self, start: u32, end: u32) -> bool {
        let body = &self.source[start as usize..end as usize];
        body.rsplit(crate::lines::is_line_end).next().is_some_and(|l| l.contains("//"))
    }

    pub(super) fn declared(&self) -> Vec<String> {
        let raws = (1..=self.raws).map(|n| self.names.raw(n));
        let slots = self.slots.iter().chain(&self.cells).chain(&self.drivers);
        slots.cloned().chain(raws).collect()
    }

    /// Statements that take over or share parameters.
    pub(super) fn entry(&mut self) -> String {
        let mut text = String::new();
        for &sym in &self.unit.params {
            if matches!(
                self.var(sym).mode,
                Mode::Slot { entry: true }
                    | Mode::Lent { entry: true }
                    | Mode::Kept { entry: true }
                    | Mode::Shared { entry: true }
            ) {
                text.push_str(&self.bind(sym, true));
            }
        }
        if self.unit.counts_instance {
            text.push_str(&format!("{}(this, new.target);", self.own("made")));
            if self.unit.keeps_instance {
                text.push_str(&format!("{}(this);", self.own("hold")));
            }
        }
        if self.unit.uses_arguments {
            text.push_str(&format!("{}(arguments);", self.own("shareAll")));
        }
        let hold = self.own("hold");
        let outlives = self.unit.this_captured || self.unit.is_async;
        if self.unit.implicit && !outlives && reads_this_late(self.unit) {
            let slot = self.names.this();
            text.push_str(&format!("{slot} = {hold}(this);"));
            self.slots.insert(slot);
        }
        if outlives && self.unit.kind == UnitKind::Function && !self.unit.is_constructor {
            text.push_str(&format!("{hold}(this);"));
        }
        text
    }

    /// A statement that retains what a pattern or the caller has put into a variable.
    pub(super) fn bind(&mut self, sym: Sym, fresh: bool) -> String {
        let var = self.var(sym);
        let take = self.own(match var.rest {
            true => "lit",
            false if var.defaulted && !var.captured && !var.loose => "arg",
            false => "hold",
        });
        let name = &var.name;
        match var.mode {
            Mode::Slot { .. } | Mode::Cell | Mode::Lent { .. } => {
                let slot = self.slot_of(sym);
                if fresh {
                    format!("{slot} = {take}({name});")
                } else {
                    format!("{slot} = {}({take}({name}), {slot});", self.own("put"))
                }
            }
            Mode::Kept { .. } => format!("{take}({name});"),
            Mode::Shared { .. } if var.rest => format!("{}({take}({name}));", self.own("share")),
            Mode::Shared { .. } if var.gathers => format!("{}({name});", self.own("strew")),
            Mode::Shared { .. } => format!("{}({name});", self.own("share")),
            Mode::Plain | Mode::Borrowed => String::new(),
        }
    }

    pub(super) fn program_slots(&mut self) {
        let declared = self.declared();
        if declared.is_empty() {
            return;
        }
        // Hoisted functions may run before the module's body does.
        let at = self.unit.inner.start;
        self.edits.insert(at, i32::MIN, format!("var {};", declared.join(", ")), at);
    }
}

/// Something may run before its last use of `this`: it is not all that is read, and first.
fn reads_this_late(unit: &Unit) -> bool {
    let mut count = 0;
    let mut visit = |e: &Expr| count_this(e, &mut count);
    unit.body.iter().for_each(|s| crate::own::modes::each_expr(s, &mut |e, _| visit(e)));
    match unit.body.as_slice() {
        [Stmt { kind: StmtKind::Return(Some(e)), .. }] if starts_with_this(e) => count > 1,
        _ => count > 0,
    }
}

fn count_this(e: &Expr, count: &mut usize) {
    let inherited = matches!(&e.kind, Kind::Member(m) if m.is_super);
    *count += usize::from(inherited || matches!(e.kind, Kind::This));
    e.children(&mut |c| count_this(c, count));
}

/// Its first operand is `this`.
fn starts_with_this(e: &Expr) -> bool {
    let mut first = None;
    e.children(&mut |c| _ = first.get_or_insert(c));
    match first {
        Some(first) => starts_with_this(first),
        None => matches!(e.kind, Kind::This),
    }
}
