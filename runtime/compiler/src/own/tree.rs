//! The program as the pass sees it: functions, statements and expressions by how values flow.
//!
//! Built once from oxc's AST and scopes, so that the later stages need neither. Children stand in
//! evaluation order. What has no place here becomes [`Kind::Unsupported`], and the function that
//! holds it is left alone.

/// A name of the program; a short one needs no memory of its own.
pub(crate) type Name = oxc::str::CompactStr;
/// Index of a function or of the program (0) in [`Tree::units`].
pub(crate) type UnitId = usize;
/// Index of a variable, the same as oxc's symbol index.
pub(crate) type Sym = usize;

#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub units: Vec<Unit>,
    pub vars: Vec<Var>,
    /// Every use of a variable: where it stands.
    pub uses: Vec<(Sym, UnitId)>,
    pub classes: Vec<ClassInfo>,
    /// Functions that are methods: of classes, of object literals, or assigned to a property.
    pub methods: Vec<(Name, UnitId)>,
    /// Private names that some class has an accessor for: a read of it would run code.
    pub private_accessors: std::collections::HashSet<String>,
    /// What V8 says where the value that starts at an offset cannot be iterated.
    pub iterated: std::collections::HashMap<u32, Says>,
    /// What V8 says where the default that starts at an offset cannot be taken apart: operands of the question.
    pub apart: std::collections::HashMap<u32, Says>,
    /// Direct eval or `with` somewhere: nothing can be known about any variable.
    pub dynamic: bool,
    /// Uses of variables have been counted.
    pub counted: bool,
}

/// A message of V8: empty where it names a value, not an expression. See `spread` of the runtime half.
#[derive(Clone, Debug)]
pub(crate) struct Says {
    pub text: String,
    /// Where V8 says that it happened.
    pub at: u32,
}

/// Where a class's elements stand, with braces.
#[derive(Debug)]
pub(crate) struct ClassInfo {
    pub name: Option<Sym>,
    /// The variable that names its parent.
    pub parent: Option<Sym>,
    pub inner: Span,
    pub base: bool,
    pub constructor: Option<UnitId>,
    pub fields: Vec<UnitId>,
    /// Getters and methods that run without a call in the program.
    pub implicit: Vec<UnitId>,
    /// It has elements that the pass does not know.
    pub odd: bool,
}

impl Shape {
    /// The operation that counts a fresh one.
    pub fn stamp(self) -> &'static str {
        if self == Self::Record { "record" } else { "lit" }
    }
}

impl Span {
    pub fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub fn len(self) -> u32 {
        self.end - self.start
    }
}

impl Tree {
    /// Instances can be counted: every field that the class defines brings a count.
    pub fn is_counting(&self, class: &ClassInfo) -> bool {
        let mut parts = class.fields.iter().chain(&class.constructor).map(|&u| &self.units[u]);
        // Nobody asks about a getter: one that is not compiled could keep `this`.
        let mut implicit = class.implicit.iter().map(|&u| &self.units[u]);
        // A closure over `this` keeps the instance, which a derived class cannot hold in time.
        !class.odd
            && implicit.all(|u| u.left_alone.is_none())
            && parts.all(|u| {
                let known = u.left_alone.is_none() && !u.opaque && u.looks.is_none();
                known && !u.returns && (class.base || !u.this_captured)
            })
    }

    /// A closure of its fields or constructor keeps the instance.
    pub fn keeps_instance(&self, class: &ClassInfo) -> bool {
        class.fields.iter().chain(&class.constructor).any(|&u| self.units[u].this_captured)
    }
}

/// The outermost and the innermost class around each unit.
pub(crate) fn classes_around(tree: &Tree) -> Vec<Option<(usize, usize)>> {
    let mut classes: Vec<usize> = (0..tree.classes.len()).collect();
    classes.sort_by_key(|&c| tree.classes[c].inner.start);
    let mut units: Vec<UnitId> = (0..tree.units.len()).collect();
    units.sort_by_key(|&u| tree.units[u].span.start);
    let mut around = vec![None; tree.units.len()];
    let mut open: Vec<usize> = vec![];
    let mut classes = classes.into_iter().peekable();
    for unit in units {
        let span = tree.units[unit].span;
        // Classes and functions lie in each other or apart.
        let close = |open: &mut Vec<usize>, at: u32| {
            while open.last().is_some_and(|&c| tree.classes[c].inner.end <= at) {
                open.pop();
            }
        };
        while let Some(class) = classes.next_if(|&c| tree.classes[c].inner.start <= span.start) {
            close(&mut open, tree.classes[class].inner.start);
            open.push(class);
        }
        close(&mut open, span.start);
        around[unit] = open.first().copied().zip(open.last().copied());
    }
    around
}

/// What a tree holds, by function and by variable: a large file has many of each.
pub(crate) struct Index {
    /// Variables of each unit.
    pub vars: Rows,
    /// Variables that each unit uses, once for every use.
    pub used: Rows,
    /// Units that use each variable.
    pub users: Rows,
}

/// Lists of numbers, one after the other.
pub(crate) struct Rows {
    starts: Vec<u32>,
    items: Vec<usize>,
}

impl Rows {
    /// Lists for `count` keys, each in the order of its pairs of key and number.
    fn new(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let mut starts = vec![0; count + 1];
        pairs.clone().for_each(|(key, _)| starts[key + 1] += 1);
        for key in 0..count {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let mut items = vec![0; starts[count] as usize];
        for (key, item) in pairs {
            items[next[key] as usize] = item;
            next[key] += 1;
        }
        Self { starts, items }
    }
}

impl std::ops::Index<usize> for Rows {
    type Output = [usize];

    fn index(&self, key: usize) -> &[usize] {
        &self.items[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

impl Index {
    pub fn new(tree: &Tree) -> Self {
        let (units, uses) = (tree.units.len(), tree.uses.iter());
        Self {
            vars: Rows::new(units, tree.vars.iter().enumerate().map(|(sym, var)| (var.unit, sym))),
            used: Rows::new(units, uses.clone().map(|&(sym, unit)| (unit, sym))),
            users: Rows::new(tree.vars.len(), uses.copied()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Program,
    Function,
    Arrow,
    /// A static block: a function in all but name.
    ClassPart,
    /// A class field's initialiser.
    Field,
    /// A parameter's default. `this` and `arguments` are those of its function.
    Default,
}

#[derive(Debug)]
pub(crate) struct Unit {
    pub kind: UnitKind,
    pub span: Span,
    pub parent: Option<UnitId>,
    pub is_async: bool,
    pub is_generator: bool,
    /// A declaration, which may be called before its place is reached.
    pub is_declared: bool,
    /// A generator with `yield*`: what drives it may not speak to its own body.
    pub delegates: bool,
    /// Its parameters can be read through `arguments`.
    pub uses_arguments: bool,
    /// A derived class's constructor may not touch `this` at entry.
    pub is_constructor: bool,
    /// A constructor whose instances get all their fields from counted stores.
    pub counts_instance: bool,
    /// Code that no call shows runs it: a getter, a conversion, an iterator. Nobody holds `this`.
    pub implicit: bool,
    /// Patterns among its parameters may run code before what they bound can be retained, so
    /// callers share what they hand over: it does not follow the protocol.
    pub opaque: bool,
    /// What its one pattern with patterns inside reads: callers look whether that runs code.
    pub looks: Option<String>,
    /// Keys of the one object pattern among its parameters.
    pub keys: Vec<Key>,
    pub params: Vec<Sym>,
    /// Parameters with defaults or patterns.
    pub complex_params: bool,
    pub body: Vec<Stmt>,
    /// Where statements may be inserted: after directives, and before the closing brace. For an
    /// arrow with an expression body: the expression's span.
    pub inner: Span,
    pub expression_body: bool,
    /// Every value that it returns is plain.
    pub plain_result: bool,
    /// Why the function is left alone.
    pub left_alone: Option<(&'static str, Span)>,
    /// The parameter that a default is for.
    pub binds: Option<Sym>,
    /// What patterns have put into parameters before this default runs, which may take it from
    /// where it came from.
    pub early: Vec<Sym>,
    /// `return E` in it: what `new` gives need not be the instance.
    pub returns: bool,
    /// A base class's constructor whose instances closures keep.
    pub keeps_instance: bool,
    /// An arrow inside uses `this`.
    pub this_captured: bool,
    /// Names of function declarations directly in the body.
    pub hoisted: Vec<Sym>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VarKind {
    Param,
    Let,
    Const,
    Var,
    /// `using`, catch parameters, classes, functions, imports: never counted.
    Other,
}

/// How a variable takes part in counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Never holds a managed value.
    Plain,
    /// A slot beside it holds a count; emptied at last use. `entry`: a parameter, retained at
    /// entry.
    Slot { entry: bool },
    /// The caller holds the value through the call.
    Borrowed,
    /// Captured and reassigned: a slot beside it holds the count of the present value.
    Cell,
    /// Keeps what it gets for ever: no release follows. `entry`: a parameter, retained at entry.
    Kept { entry: bool },
    /// Captured by closures that do not outlive the call: a slot, dropped when the call ends.
    Lent { entry: bool },
    /// Others can see it: whatever is stored is shared. `entry`: a parameter, shared at entry.
    Shared { entry: bool },
}

/// A variable of the program and everything the pass must know about it.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub name: Name,
    pub kind: VarKind,
    pub unit: UnitId,
    /// Used in a unit other than its own.
    pub captured: bool,
    /// Used in a unit that is left alone.
    pub exposed: bool,
    pub exported: bool,
    pub imported: bool,
    /// The module that it is imported from.
    pub from: Option<String>,
    /// Bound by a pattern that runs code, or where nothing can be put after it.
    pub pattern: bool,
    /// The rest of an assignment's pattern, which the engine makes.
    pub gathers: bool,
    /// Bound by a simple pattern or loop head: retained right after.
    pub destructured: bool,
    /// A rest parameter or the rest of a pattern: a fresh container.
    pub rest: bool,
    /// A parameter whose default is counted.
    pub defaulted: bool,
    /// A parameter: code of the program runs between its binding and the function's body, where no guard can be put.
    pub loose: bool,
    /// The function that the variable always holds.
    pub function: Option<UnitId>,
    /// The function above gives plain values only.
    pub plain_calls: bool,
    /// It may hold what came back from a call that claims nothing.
    pub unclaimed: bool,
    /// It gets elements or properties that may be managed.
    pub filled: bool,
    /// A callee gets it, which may fill it.
    pub passed: bool,
    /// It may hold a tensor that a method gave whose name says so.
    pub hinted: bool,
    /// Holds the promise of a direct call, and is only awaited.
    pub promise: bool,
    pub in_loop: bool,
    /// Offset of its name.
    pub at: u32,
    /// Offset at which its declaration has happened.
    pub declared: u32,
    /// Declared more than once, or together with a function or parameter.
    pub redeclared: bool,
    /// Assignments besides the initialiser.
    pub assigned: u32,
    /// An initialiser or assigned value is not provably unmanaged.
    pub managed: bool,
    /// Uses in which a managed value would matter.
    pub managed_uses: u32,
    /// Some value it gets may be held by another variable.
    pub aliased: bool,
    pub mode: Mode,
    /// A cell whose closures do not outlive the call: dropped when the call ends.
    pub lent: bool,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub span: Span,
    pub kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// Never a managed value, nothing to evaluate.
    Plain,
    Read(Sym),
    /// A global or otherwise unknown name.
    Global,
    This,
    Function(UnitId),
    /// Evaluates operands, gives a value that is never managed; retains nothing.
    Operator(Vec<Expr>),
    /// `delete o.p`, the operand of an `Operator`.
    Deleted(Box<Member>),
    /// Like `Operator`, for `void`, `typeof` and `in`, whose operands are worth claiming.
    Inspect(Vec<Expr>),
    /// `v instanceof C`: gives a boolean; code of the program may get `v`.
    InstanceOf(Box<[Expr; 2]>),
    /// Stores its operands where nobody counts; the result is not counted either.
    Store(Vec<Expr>),
    /// An array or object literal. Not `countable`: it has accessors or sets its prototype.
    Literal {
        items: Vec<Argument>,
        countable: bool,
        shape: Shape,
    },
    /// A class: its parent and computed keys.
    Class(Vec<Expr>),
    /// A tagged template: like `Store`, but the first operand is what is called.
    New(Vec<Expr>),
    /// `new C(...)`.
    Construct(Box<Call>),
    /// `yield v`; `yield*` is a `Store`.
    Yield(Option<Box<Expr>>),
    Call(Box<Call>),
    Member(Box<Member>),
    Assign(Box<Assign>),
    Conditional(Box<[Expr; 3]>),
    Logical(Logic, Box<[Expr; 2]>),
    Sequence(Vec<Expr>),
    Paren(Box<Expr>),
    /// An optional chain that stays as it is; the links inside have `optional` set.
    Chain(Box<Expr>),
    /// An optional chain from its first `?.` on.
    Optional(Box<Optional>),
    /// The value that the rest of an optional chain starts from; no text of its own.
    Link,
    Await(Box<Expr>),
    Unsupported(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Nullish,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub callee: Expr,
    pub optional: bool,
    pub args: Vec<Argument>,
    /// Offsets of the parentheses.
    pub open: u32,
    /// What V8 calls the callee in "x is not a function".
    pub text: Name,
    /// `super(...)`.
    pub is_super: bool,
}

#[derive(Debug)]
pub(crate) struct Argument {
    pub spread: bool,
    pub value: Expr,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub object: Expr,
    pub is_super: bool,
    pub optional: bool,
    /// `.name`; private names with `#`.
    pub name: Option<Name>,
    /// Where V8 says that the read is: at the name, or at the dot behind a call.
    pub at: u32,
    /// Where the name stands, if that is not `at`.
    pub behind: Option<Span>,
    /// A getter of the file has this name.
    pub getter: bool,
    pub computed: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    List,
    /// An object of which some property may be called without a call, such as `then`.
    Object,
    /// Any other object.
    Record,
}

/// `head?.rest`. Nodes on the way from `rest` down to its [`Kind::Link`] start at `at`.
#[derive(Debug)]
pub(crate) struct Optional {
    pub head: Expr,
    pub rest: Expr,
    /// Offset of the dot in `?.`.
    pub at: u32,
    /// A name follows, which needs the dot.
    pub dot: bool,
    /// `o.m?.(x)`: `head` is a member, and what it is read from the receiver.
    pub method: bool,
}

#[derive(Debug)]
pub(crate) struct Assign {
    pub target: Target,
    pub op: AssignOp,
    pub value: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AssignOp {
    Simple,
    Arithmetic,
    Logical(Logic),
}

#[derive(Debug)]
pub(crate) enum Target {
    Var(Sym, Span),
    Global,
    Member(Box<Expr>),
    Pattern(Pattern),
}

/// A destructuring pattern: the variables it binds, and the expressions inside it (defaults,
/// computed keys, member targets), all of which may or may not be evaluated.
#[derive(Debug, Default)]
pub(crate) struct Pattern {
    pub vars: Vec<Sym>,
    pub exprs: Vec<Expr>,
    /// Member targets that are assigned.
    pub members: Vec<Expr>,
    /// Goes through the iterator protocol.
    pub iterates: bool,
    /// Keys of an object pattern that has no patterns inside.
    pub keys: Vec<Key>,
    /// What a pattern with patterns inside reads: operands of the question whether that runs code.
    pub shape: Option<String>,
    /// The key that it reads first, as an expression, and where what is bound to it stands.
    pub first: (Option<String>, u32),
    /// V8 speaks of that read, not of the pattern.
    pub reads: bool,
    /// What V8 calls the value that is taken apart.
    pub text: String,
    /// It takes an array apart.
    pub array: bool,
    /// An assignment may throw after another one was made.
    pub throws: bool,
    /// What it binds can be retained by the next key or right after it.
    pub retained: bool,
}

/// A key of an object pattern.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub at: Span,
    /// As an expression.
    pub name: String,
    /// `{ x }`: the key is the variable as well.
    pub shorthand: bool,
    pub var: Option<Sym>,
}

impl Pattern {
    /// What V8 says where an object pattern cannot take its value apart, as operands of the question.
    pub fn says(&self) -> Says {
        let (key, at) = &self.first;
        let text = serde_json::Value::from(if self.reads { "" } else { &self.text });
        let key = key.iter().map(|k| format!(", {k}")).collect::<String>();
        Says { text: format!(", {text}{key})"), at: *at }
    }

    /// No expression stands in it.
    pub fn is_simple(&self) -> bool {
        self.exprs.is_empty() && self.members.is_empty()
    }
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub span: Span,
    pub kind: StmtKind,
}

impl Stmt {
    pub fn repeats(&self) -> bool {
        use StmtKind::{DoWhile, For, ForEach, While};
        matches!(self.kind, For { .. } | ForEach { .. } | While(..) | DoWhile(..))
    }
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Nothing,
    Expr(Expr),
    Declare(Vec<Declarator>),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    For {
        init: Option<Box<Stmt>>,
        test: Option<Expr>,
        update: Option<Expr>,
        body: Box<Stmt>,
    },
    ForEach {
        target: Target,
        right: Expr,
        body: Box<Stmt>,
        over: Over,
    },
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    Label(Name, Box<Stmt>),
    Break(Option<Name>),
    Continue(Option<Name>),
    Return(Option<Expr>),
    Throw(Expr),
    Switch(Expr, Vec<Case>),
    Try {
        block: Vec<Stmt>,
        handler: Option<Handler>,
        finalizer: Option<Vec<Stmt>>,
    },
    /// A value that leaves the module: `export default E`.
    Export(Expr),
    Unsupported(&'static str),
}

/// What a loop runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Keys,
    /// A simple pattern takes elements, which are retained as they come.
    Values,
    /// The same, awaited.
    Awaited,
    /// Elements, asynchronous or taken apart by code, that go uncounted.
    Uncounted,
}

#[derive(Debug)]
pub(crate) struct Declarator {
    pub target: Target,
    pub init: Option<Expr>,
    /// `var x;`, which does nothing when it is reached: `x` keeps its value.
    pub idle: bool,
}

#[derive(Debug)]
pub(crate) struct Case {
    pub test: Option<Expr>,
    pub body: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) struct Handler {
    pub pattern: Pattern,
    pub body: Vec<Stmt>,
    /// Just after the opening brace.
    pub start: u32,
}
