//! What can be said of an expression, a target or a variable by looking at it.

use super::tree::*;

impl Expr {
    /// The value can never be a managed one.
    pub fn is_plain(&self, vars: &[Var]) -> bool {
        match &self.kind {
            Kind::Plain
            | Kind::Operator(_)
            | Kind::Inspect(_)
            | Kind::InstanceOf(_)
            | Kind::Function(_)
            | Kind::Class(_) => true,
            Kind::Read(sym) => !vars[*sym].managed && vars[*sym].is_simple(),
            // Nobody claims what comes back, so it needs no counting.
            Kind::Construct(call) if call.makes_collection() => {
                !call.args.is_empty() && call.args.iter().all(|a| a.value.is_plain(vars))
            }
            Kind::Construct(call) => matches!(call.callee.kind, Kind::Global),
            Kind::Call(call) => match &call.callee.kind {
                Kind::Global => true,
                Kind::Member(m) => {
                    matches!(m.object.kind, Kind::Global)
                        && m.computed.is_none()
                        && !call.makes_container()
                }
                Kind::Read(sym) => vars[*sym].plain_calls,
                _ => false,
            },
            Kind::Paren(inner) => inner.is_plain(vars),
            Kind::Sequence(list) => list.last().is_none_or(|e| e.is_plain(vars)),
            // An empty one is made to be filled.
            Kind::Literal { items, countable, .. } => {
                !(*countable && items.is_empty())
                    && items.iter().all(|i| !i.spread && i.value.is_plain(vars))
            }
            Kind::Conditional(parts) => parts[1].is_plain(vars) && parts[2].is_plain(vars),
            Kind::Logical(_, parts) => parts.iter().all(|e| e.is_plain(vars)),
            Kind::Assign(a) => match a.op {
                AssignOp::Arithmetic => true,
                AssignOp::Simple => a.value.is_plain(vars),
                AssignOp::Logical(_) => false,
            },
            _ => false,
        }
    }

    /// Plain without the help of a call whose result nobody claims.
    pub fn is_bare(&self, vars: &[Var]) -> bool {
        match &self.kind {
            Kind::Plain
            | Kind::Operator(_)
            | Kind::Inspect(_)
            | Kind::InstanceOf(_)
            | Kind::Function(_)
            | Kind::Class(_) => true,
            // What a parameter or a caught error is, nobody knows.
            Kind::Read(sym) => !vars[*sym].unclaimed && self.is_plain(vars),
            Kind::Paren(inner) => inner.is_bare(vars),
            Kind::Sequence(list) => list.last().is_none_or(|e| e.is_bare(vars)),
            Kind::Literal { items, countable, .. } => {
                !(*countable && items.is_empty()) && items.iter().all(|i| i.value.is_bare(vars))
            }
            Kind::Conditional(parts) => parts[1].is_bare(vars) && parts[2].is_bare(vars),
            Kind::Logical(_, parts) => parts.iter().all(|e| e.is_bare(vars)),
            Kind::Assign(a) => a.op == AssignOp::Arithmetic || a.value.is_bare(vars),
            _ => false,
        }
    }

    /// `[]` or `{}`, `new Map()` or `new Set()`.
    pub fn is_empty_literal(&self) -> bool {
        match &self.kind {
            Kind::Construct(call) => call.makes_collection() && call.args.is_empty(),
            Kind::Paren(inner) => inner.is_empty_literal(),
            Kind::Literal { items, countable, .. } => *countable && items.is_empty(),
            _ => false,
        }
    }

    /// Calls `visit` on direct children in evaluation order, functions excepted.
    pub fn children<'t>(&'t self, visit: &mut dyn FnMut(&'t Expr)) {
        match &self.kind {
            Kind::Plain
            | Kind::Read(_)
            | Kind::Global
            | Kind::This
            | Kind::Function(_)
            | Kind::Link
            | Kind::Unsupported(_) => {}
            Kind::Optional(o) => {
                visit(&o.head);
                visit(&o.rest);
            }
            Kind::Operator(list)
            | Kind::Inspect(list)
            | Kind::Store(list)
            | Kind::Class(list)
            | Kind::New(list)
            | Kind::Sequence(list) => list.iter().for_each(visit),
            Kind::Literal { items, .. } => items.iter().for_each(|i| visit(&i.value)),
            Kind::Yield(value) => value.iter().for_each(|e| visit(e)),
            Kind::Call(call) | Kind::Construct(call) => {
                visit(&call.callee);
                call.args.iter().for_each(|a| visit(&a.value));
            }
            Kind::Member(member) | Kind::Deleted(member) => {
                visit(&member.object);
                member.computed.iter().for_each(visit);
            }
            Kind::Assign(assign) => {
                assign.target.children(visit);
                visit(&assign.value);
            }
            Kind::Conditional(parts) => parts.iter().for_each(visit),
            Kind::Logical(_, parts) | Kind::InstanceOf(parts) => parts.iter().for_each(visit),
            Kind::Paren(inner) | Kind::Chain(inner) | Kind::Await(inner) => visit(inner),
        }
    }
}

impl Call {
    /// `new Map([...])` or `new Set()`, as far as the name tells. One made of anything else is seldom filled
    /// with tensors and often read, which costs more where it is counted.
    pub fn makes_collection(&self) -> bool {
        matches!(self.callee.kind, Kind::Global)
            && matches!(self.text.as_str(), "Map" | "Set")
            && self.args.len() < 2
            && self.args.iter().all(|a| !a.spread && matches!(a.value.kind, Kind::Literal { .. }))
    }

    /// `f.call(o, x)` or `f.apply(o, xs)`, whose callee is `f`.
    pub fn passes_through(&self) -> bool {
        let Kind::Member(m) = &self.callee.kind else { return false };
        let named = matches!(
            (m.name.as_deref(), self.args.len()),
            (Some("call"), 1..) | (Some("apply"), 1..=2)
        );
        named && !m.is_super && !self.args.iter().any(|a| a.spread)
    }

    /// `f.apply(o, xs)`.
    pub fn applies(&self) -> bool {
        self.passes_through() && self.text.ends_with(".apply")
    }

    /// A function of Array or Object whose result holds what its operands hold, or what a callback gave.
    pub fn makes_container(&self) -> bool {
        matches!(
            self.text.as_str(),
            "Array.from"
                | "Array.of"
                | "Object.assign"
                | "Object.values"
                | "Object.entries"
                | "Object.fromEntries"
        )
    }

    /// An array method whose callback is called with what the array holds.
    pub fn walks_array(&self) -> bool {
        let Kind::Member(m) = &self.callee.kind else { return false };
        !m.is_super
            && matches!(
                m.name.as_deref(),
                Some(
                    "map"
                        | "flatMap"
                        | "filter"
                        | "forEach"
                        | "some"
                        | "every"
                        | "find"
                        | "findIndex"
                        | "findLast"
                        | "findLastIndex"
                        | "reduce"
                        | "reduceRight"
                )
            )
    }
}

impl Target {
    pub fn children<'t>(&'t self, visit: &mut dyn FnMut(&'t Expr)) {
        match self {
            Self::Var(..) | Self::Global => {}
            Self::Member(member) => visit(member),
            Self::Pattern(pattern) => {
                pattern.exprs.iter().for_each(&mut *visit);
                pattern.members.iter().for_each(visit);
            }
        }
    }
}

impl Expr {
    /// Evaluating it runs no code of the program, not even a getter or a conversion.
    pub fn runs_no_code(&self) -> bool {
        match &self.kind {
            Kind::Plain | Kind::Read(_) | Kind::This | Kind::Function(_) => true,
            Kind::Paren(inner) => inner.runs_no_code(),
            Kind::Literal { items, countable, .. } => {
                *countable && items.iter().all(|i| !i.spread && i.value.runs_no_code())
            }
            _ => false,
        }
    }

    /// Evaluating it can run code of the program or change variables.
    pub fn has_effects(&self) -> bool {
        let mut found = matches!(
            self.kind,
            Kind::Call(_)
                | Kind::New(_)
                | Kind::Construct(_)
                | Kind::Yield(_)
                | Kind::Assign(_)
                | Kind::Await(_)
                | Kind::Store(_)
                | Kind::InstanceOf(_)
                | Kind::Deleted(_)
                | Kind::Unsupported(_)
        );
        self.children(&mut |c| found |= c.has_effects());
        found
    }
}

impl Var {
    /// Nothing replaces its first value.
    pub fn is_stable(&self) -> bool {
        !self.imported
            && !self.exposed
            && (self.kind == VarKind::Const
                || self.assigned == 0 && !self.pattern && !self.redeclared)
    }

    /// Every store to it is an ordinary assignment in code that the pass handles.
    pub fn is_simple(&self) -> bool {
        matches!(self.kind, VarKind::Let | VarKind::Const | VarKind::Var)
            && !self.exposed
            && !self.imported
            && !self.pattern
            && !self.redeclared
    }
}
