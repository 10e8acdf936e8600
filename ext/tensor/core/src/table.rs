//! The op table: one row per op, from which dispatch, shape and dtype rules, derivatives, the
//! JavaScript methods and the documentation follow.
//!
//! Elementwise rows are in [`crate::rows`], the others in [`crate::ops`].

use crate::attr::{Attr, AttrDef, AttrKind};
use crate::dtype::DType;
use crate::engine::{Arg, Engine};
use crate::error::Result;
use crate::layout::{Dims, Layout};
use crate::ops;
use crate::samples::Sample;
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// Results of an op; most have one.
pub type Outputs = SmallVec<[Tensor; 1]>;
/// Gradients by input, absent where none was asked for.
pub type Grads = SmallVec<[Option<Tensor>; 3]>;

/// How an op takes part in promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Computes in the promoted dtype.
    Num,
    /// As `Num`, and numeric attributes take part as weak scalars.
    Weak,
    /// Integers compute in float32.
    Float,
}

/// What an op's result shares with its inputs; the compiler's pass relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// New storage.
    Fresh,
    /// A new handle on the input's storage.
    View,
    /// A view where strides allow it, else a copy.
    ViewOrFresh,
    /// The first input's own handle, changed.
    Itself,
}

/// One tensor argument.
#[derive(Clone, Copy, Debug)]
pub struct ArgDef {
    pub name: &'static str,
    pub optional: bool,
}

/// What shape and dtype rules see of an input.
#[derive(Clone, Copy, Debug)]
pub struct Meta<'a> {
    pub shape: &'a [usize],
    pub dtype: DType,
}

/// What a kernel op will compute.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Inputs of other dtypes are converted to this one first, unless `keep` has their bit.
    pub compute: DType,
    pub keep: u8,
    /// Inputs with their bit here are indices and are converted to int64.
    pub index: u8,
    pub outputs: SmallVec<[(Dims, DType); 1]>,
    /// In memory, dimensions 1 and 2 of outputs of four change places.
    pub swapped: bool,
}

impl Plan {
    pub fn one(compute: DType, shape: Dims, dtype: DType) -> Plan {
        let outputs = smallvec::smallvec![(shape, dtype)];
        Plan { compute, keep: 0, index: 0, outputs, swapped: false }
    }
    pub fn keep(mut self, mask: u8) -> Plan {
        self.keep = mask;
        self
    }
    pub fn index(mut self, mask: u8) -> Plan {
        self.index = mask;
        self
    }
}

pub type InferFn = fn(&[Option<Meta>], &[Attr]) -> Result<Plan>;
pub type ViewFn = fn(&Layout, &[Attr]) -> Result<Layout>;
pub type CompositeFn = fn(&Engine, &[Arg], &[Attr]) -> Result<Outputs>;
pub type VjpFn = fn(&VjpCx) -> Result<Grads>;

/// How the engine runs a row.
#[derive(Clone, Copy)]
pub enum Rule {
    Unary(Kind),
    Predicate,
    Binary(Kind),
    Compare,
    Bits,
    /// `where`: a boolean and two operands.
    Select,
    View(ViewFn),
    /// A backend kernel after a shape rule.
    Kernel(InferFn),
    /// Made of other ops; the tape sees those.
    Composite(CompositeFn),
    /// Made of other ops that the tape does not see; recorded as one.
    Raw(CompositeFn),
}

/// What a derivative reads: bit i is input i, [`OUT`] is output 0, [`OUT1`] is output 1.
pub type Reads = u16;
pub const OUT: Reads = 1 << 8;
pub const OUT1: Reads = 1 << 9;
pub const fn input(i: u32) -> Reads {
    1 << i
}

/// The derivative of a row.
#[derive(Clone, Copy)]
pub enum Vjp {
    /// No derivative, and why.
    None(&'static str),
    /// From the scalar expressions of the elementwise row.
    Expression,
    /// By other ops; `f` returns one entry per input.
    Ops(VjpFn),
    /// The parts of a composite have their own.
    OfParts,
}

/// A row.
pub struct OpDef {
    pub name: &'static str,
    pub doc: &'static str,
    pub args: &'static [ArgDef],
    pub attrs: &'static [AttrDef],
    pub result: ResultKind,
    pub rule: Rule,
    pub vjp: Vjp,
    /// For each input, what its gradient reads.
    pub reads: &'static [Reads],
    /// Inputs that the kernel may overwrite while it reads them (same layout and dtype).
    pub overwrite: u8,
    /// What tests call the row with; elementwise rows have theirs in [`crate::samples`].
    pub samples: &'static [Sample],
    /// Largest relative error against float64 that tests accept.
    pub tolerance: f64,
}

pub const fn arg(name: &'static str) -> ArgDef {
    ArgDef { name, optional: false }
}
pub const fn opt(name: &'static str) -> ArgDef {
    ArgDef { name, optional: true }
}
pub const fn attr(name: &'static str, kind: AttrKind) -> AttrDef {
    AttrDef { name, kind }
}

impl OpDef {
    pub const fn new(name: &'static str, args: &'static [ArgDef], rule: Rule) -> OpDef {
        OpDef {
            name,
            doc: "",
            args,
            attrs: &[],
            result: ResultKind::Fresh,
            rule,
            vjp: Vjp::None("integers or booleans"),
            reads: &[],
            overwrite: 0,
            samples: &[],
            tolerance: 2e-6,
        }
    }
    pub const fn doc(mut self, doc: &'static str) -> OpDef {
        self.doc = doc;
        self
    }
    pub const fn attrs(mut self, attrs: &'static [AttrDef]) -> OpDef {
        self.attrs = attrs;
        self
    }
    pub const fn result(mut self, result: ResultKind) -> OpDef {
        self.result = result;
        self
    }
    pub const fn vjp(mut self, f: VjpFn, reads: &'static [Reads]) -> OpDef {
        self.vjp = Vjp::Ops(f);
        self.reads = reads;
        self
    }
    pub const fn no_vjp(mut self, reason: &'static str) -> OpDef {
        self.vjp = Vjp::None(reason);
        self
    }
    pub const fn of_parts(mut self) -> OpDef {
        self.vjp = Vjp::OfParts;
        self
    }
    const fn expression(mut self, reads: &'static [Reads]) -> OpDef {
        self.vjp = Vjp::Expression;
        self.reads = reads;
        self
    }
    const fn overwrite(mut self, mask: u8) -> OpDef {
        self.overwrite = mask;
        self
    }
    pub const fn samples(mut self, samples: &'static [Sample]) -> OpDef {
        self.samples = samples;
        self
    }
    pub const fn tolerance(mut self, tolerance: f64) -> OpDef {
        self.tolerance = tolerance;
        self
    }
}

macro_rules! kind {
    (num) => {
        Kind::Num
    };
    (weak) => {
        Kind::Weak
    };
    (float) => {
        Kind::Float
    };
}

macro_rules! read {
    (x) => {
        input(0)
    };
    (a) => {
        input(0)
    };
    (b) => {
        input(1)
    };
    (y) => {
        OUT
    };
}

const ONE: &[ArgDef] = &[arg("input")];
const TWO: &[ArgDef] = &[arg("input"), arg("other")];

/// Adds the rows of `ops` behind the elementwise ones.
macro_rules! with_other_rows {
    ($($elementwise:tt)*) => { ops::other_rows! { define_table $($elementwise)* } };
}

macro_rules! define_table {
    (
        unary { $($uv:ident, $uf:ident, $un:literal, $uk:ident, |$ux:ident, $up:ident| $ue:expr; reads ($($ur:ident)*); |$ug:ident, $ugx:ident, $ugy:ident, $ugp:ident| $ud:expr; [$($ua:ident)*] $udoc:literal;)* }
        binary { $($bv:ident, $bf:ident, $bn:literal, $bk:ident, |$ba:ident, $bb:ident, $bp:ident| $be:expr; |$b1g:ident, $b1a:ident, $b1b:ident, $b1y:ident, $b1p:ident| $b1:expr; |$b2g:ident, $b2a:ident, $b2b:ident, $b2y:ident, $b2p:ident| $b2:expr; reads ($($b1r:ident)*) ($($b2r:ident)*); [$($battr:ident)*] $bdoc:literal;)* }
        compare { $($cv:ident, $cf:ident, $cn:literal, |$ca:ident, $cb:ident| $ce:expr; $cdoc:literal;)* }
        predicate { $($pv:ident, $pf:ident, $pn:literal, |$px:ident| $pe:expr; $pdoc:literal;)* }
        bits { $($tv:ident, $tf:ident, $tn:literal, $te:tt; $tdoc:literal;)* }
        others { $($ov:ident = $orow:path;)* }
    ) => {
        /// Every op, in table order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Op { $($uv,)* $($bv,)* $($cv,)* $($pv,)* $($tv,)* $($ov,)* }

        impl Op {
            pub const ALL: &'static [Op] =
                &[$(Op::$uv,)* $(Op::$bv,)* $(Op::$cv,)* $(Op::$pv,)* $(Op::$tv,)* $(Op::$ov,)*];
        }

        static TABLE: &[OpDef] = &[
            $(OpDef::new($un, ONE, Rule::Unary(kind!($uk)))
                .doc($udoc)
                .attrs(&[$(attr(stringify!($ua), AttrKind::Float)),*])
                .overwrite(1)
                .expression(&[0 $(| read!($ur))*]),)*
            $(OpDef::new($bn, TWO, Rule::Binary(kind!($bk)))
                .doc($bdoc)
                .attrs(&[$(attr(stringify!($battr), AttrKind::Float)),*])
                .overwrite(3)
                .expression(&[0 $(| read!($b1r))*, 0 $(| read!($b2r))*]),)*
            $(OpDef::new($cn, TWO, Rule::Compare).doc($cdoc),)*
            $(OpDef::new($pn, ONE, Rule::Predicate).doc($pdoc),)*
            $(OpDef::new($tn, TWO, Rule::Bits).doc($tdoc).overwrite(3),)*
            $($orow,)*
        ];
    };
}

crate::elementwise_rows!(with_other_rows);

impl Op {
    #[inline]
    pub fn def(self) -> &'static OpDef {
        &TABLE[self as usize]
    }

    #[inline]
    pub fn name(self) -> &'static str {
        self.def().name
    }

    /// The op of a table index that came from JavaScript.
    #[inline]
    pub fn from_index(index: u32) -> Option<Op> {
        Op::ALL.get(index as usize).copied()
    }
}

/// What JavaScript calls a row in the name of another function: key, that function's name, which
/// errors speak of, and the row.
pub const ALIASES: &[(&str, &str, Op)] = &[
    ("narrow", "narrow", Op::Slice),
    ("split", "split", Op::Slice),
    ("unbind", "unbind", Op::Select),
    ("dot", "dot", Op::Matmul),
    ("linspace", "linspace", Op::Arange),
    ("tile", "tile", Op::Repeat),
    ("transpose", "transpose", Op::Permute),
    ("maxAll", "max", Op::Amax),
    ("minAll", "min", Op::Amin),
    ("max", "max", Op::MaxDim),
    ("min", "min", Op::MinDim),
    ("clampBelow", "clamp", Op::ClampMin),
    ("clampAbove", "clamp", Op::ClampMax),
    ("clampBelowOne", "clamp", Op::Maximum),
    ("clampAboveOne", "clamp", Op::Minimum),
    ("clampBelowTensor", "clamp", Op::ClampMinTensor),
    ("clampAboveTensor", "clamp", Op::ClampMaxTensor),
    ("lerpTensor", "lerp", Op::LerpTensor),
    ("to", "to", Op::Cast),
    ("zeros", "zeros", Op::Full),
    ("ones", "ones", Op::Full),
    ("empty", "empty", Op::Full),
    ("fill_", "fill_", Op::Full),
    ("indexPut", "indexPut", Op::IndexPut),
];

/// Aliases of which one call of the program makes several.
pub const OF_MANY: &[&str] = &["split", "unbind"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{PARTS, samples};
    use std::collections::HashSet;

    #[test]
    fn rows_are_complete_and_in_order() {
        let mut names = HashSet::new();
        assert_eq!(Op::ALL.len(), TABLE.len());
        for (i, op) in Op::ALL.iter().enumerate() {
            let def = op.def();
            assert_eq!(*op as usize, i);
            assert!(names.insert(def.name), "{} stands twice", def.name);
            assert!(def.doc.ends_with('.'), "{} has no documentation", def.name);
            assert!(def.tolerance > 0.0);
            let part_of = PARTS.iter().find(|(part, _)| part == op).map(|(_, whole)| *whole);
            assert!(!samples(part_of.unwrap_or(*op)).is_empty(), "{} has no samples", def.name);
            match def.vjp {
                Vjp::None(reason) => assert!(!reason.is_empty(), "{}", def.name),
                Vjp::Expression | Vjp::Ops(_) => {
                    assert_eq!(def.reads.len(), def.args.len(), "{}", def.name)
                }
                Vjp::OfParts => assert!(matches!(def.rule, Rule::Composite(_)), "{}", def.name),
            }
        }
    }
}
