//! Rows about the order of elements and about where they are: sort, topk, nonzero, and draws
//! from given probabilities.
//!
//! NaN counts as larger than every number and equals keep their order, as in PyTorch.

use crate::attr::{Attr, AttrDef, AttrKind, AttrsExt};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, show, wrap_dim};
use crate::ops::movement::first;
use crate::ops::reduce::X;
use crate::samples::{
    Input::{Chance, Mask, Positive, Real},
    sample,
};
use crate::table::{Grads, Meta, OUT1, Op, OpDef, Outputs, Plan, Rule, arg, attr};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const SORT_ATTRS: &[AttrDef] = &[attr("dim", AttrKind::Int), attr("descending", AttrKind::Bool)];

/// Kernel: output 0 the elements of each line along `dim` in order, output 1 where they were.
/// Always stable.
pub const SORT: OpDef = OpDef::new(
    "sort",
    X,
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        wrap_dim(a.int(0)?, x.shape.len())?;
        Ok(with_positions(x, x.shape.into()))
    }),
)
.attrs(SORT_ATTRS)
.doc("Elements along a dimension in order, and where they were.")
.vjp(moved_vjp, &[OUT1])
.samples(&[sample(&[Real(&[2, 4])], &[1.0, 0.0]), sample(&[Real(&[4, 2])], &[0.0, 1.0])]);

fn with_positions(x: Meta, shape: Dims) -> Plan {
    let mut plan = Plan::one(x.dtype, shape.clone(), x.dtype);
    plan.outputs.push((shape, DType::I64));
    plan
}

/// The gradient goes to the places that the elements came from.
fn moved_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let (g, at, shape) = (cx.grad()?, cx.output(1)?, &cx.meta(0)?.shape);
    let dim = cx.attrs.int(cx.op.def().attrs.iter().position(|a| a.name == "dim").unwrap_or(0))?;
    Ok(smallvec![Some(e.added_to_zeros(Op::ScatterAdd, shape, &at, &g, dim)?)])
}

pub const ARGSORT: OpDef = OpDef::new(
    "argsort",
    X,
    Rule::Raw(|e, args, attrs| {
        let x = tensor_arg(&ARGSORT, args, 0)?;
        let mut sorted = e.call(Op::Sort, &[Arg::Tensor(x)], &attrs.into())?;
        Ok(sorted.pop().into_iter().collect())
    }),
)
.attrs(SORT_ATTRS)
.doc("Where the elements along a dimension are, in order.")
.samples(&[sample(&[Real(&[2, 4])], &[1.0, 0.0])]);

/// Kernel: as `sort`, the first `k` only; all of them in order whatever `sorted` says.
pub const TOPK: OpDef = OpDef::new(
    "topk",
    X,
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        let dim = wrap_dim(a.int(1)?, x.shape.len())?;
        let (k, extent) = (a.int(0)?, x.shape.get(dim).copied().unwrap_or(1));
        let mut shape: Dims = x.shape.into();
        match usize::try_from(k) {
            Ok(k) if k <= extent => {
                if let Some(d) = shape.get_mut(dim) {
                    *d = k;
                }
            }
            _ => {
                return Err(Error::shape(format!(
                    "k is {k}, expected 0 to {extent} as dim {dim} of shape {} has",
                    show(x.shape)
                )));
            }
        }
        Ok(with_positions(x, shape))
    }),
)
.attrs(&[attr("k", AttrKind::Int), attr("dim", AttrKind::Int), attr("largest", AttrKind::Bool)])
.doc("The k largest or smallest elements along a dimension, in order, and where they are.")
.vjp(moved_vjp, &[OUT1])
.samples(&[sample(&[Real(&[2, 4])], &[2.0, 1.0, 1.0]), sample(&[Real(&[4, 2])], &[3.0, 0.0, 0.0])]);

/// Kernel: `[x]`; row-major coordinates of elements that are not 0, `count` rows of them.
pub const NONZERO_ROWS: OpDef = OpDef::new(
    "nonzeroRows",
    X,
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        let n = usize::try_from(a.int(0)?).map_err(|_| Error::argument("count is negative"))?;
        Ok(Plan::one(x.dtype, smallvec![n, x.shape.len()], DType::I64))
    }),
)
.attrs(&[attr("count", AttrKind::Int)])
.doc("Coordinates of a known number of elements that are not 0.")
.samples(&[sample(&[Mask(&[2, 4])], &[2.0])]);

pub const NONZERO: OpDef = OpDef::new(
    "nonzero",
    X,
    Rule::Raw(|e, args, _| {
        let x = tensor_arg(&NONZERO, args, 0)?;
        let truth = e.cast(&x.detach(), DType::Bool)?;
        let n = e.whole_item(&e.call1(
            Op::Sum,
            &[Arg::Tensor(&truth)],
            &smallvec![Attr::Absent, Attr::Bool(false)],
        )?)?;
        e.call(Op::NonzeroRows, &[Arg::Tensor(&truth)], &smallvec![Attr::Int(n)])
    }),
)
.doc("Coordinates of the elements that are not 0, `[count, ndim]`.")
.no_vjp("gives positions")
.samples(&[sample(&[Mask(&[2, 4])], &[])]);

/// Kernel: `[sorted, values]`, both float64 with equal leading dims; how many elements of a
/// sorted line are at most each value of the same line.
pub const SEARCH: OpDef = OpDef::new(
    "searchSorted",
    &[arg("sorted"), arg("values")],
    Rule::Kernel(|m, _| {
        let (Some(Some(s)), Some(Some(v))) = (m.first(), m.get(1)) else {
            return Err(Error::argument("takes two tensors"));
        };
        let fits = s.shape.len() == v.shape.len()
            && !s.shape.is_empty()
            && s.shape[..s.shape.len() - 1] == v.shape[..v.shape.len() - 1];
        if !fits {
            return Err(Error::shape(format!(
                "got sorted lines {} and values {}, expected equal leading dimensions",
                show(s.shape),
                show(v.shape)
            )));
        }
        Ok(Plan::one(DType::F64, v.shape.into(), DType::I64))
    }),
)
.doc("Where values would go in sorted lines, behind equals.")
.samples(&[sample(&[Real(&[2, 4]), Real(&[2, 3])], &[])]);

/// Whether a number is negative, infinite or NaN.
fn no_probabilities(e: &Engine, p: &Tensor) -> Result<bool> {
    let wrong = e.bin_scalar(Op::Lt, p, 0.0)?;
    let finite = e.un(Op::Isfinite, p)?;
    let wrong = e.bin(Op::LogicalOr, &wrong, &e.un(Op::LogicalNot, &finite)?)?;
    let any =
        e.call1(Op::Any, &[Arg::Tensor(&wrong)], &smallvec![Attr::Absent, Attr::Bool(false)])?;
    Ok(e.whole_item(&any)? != 0)
}

pub const MULTINOMIAL: OpDef = OpDef::new("multinomial", &[arg("probs")], Rule::Raw(multinomial))
    .attrs(&[attr("numSamples", AttrKind::Int), attr("replacement", AttrKind::Bool)])
    .doc("Indices drawn with the probabilities of each row, which need not add up to 1.")
    .no_vjp("draws whole numbers")
    .samples(&[sample(&[Positive(&[2, 4])], &[3.0, 0.0]), sample(&[Positive(&[4])], &[3.0, 1.0])]);

fn multinomial(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let p = tensor_arg(&MULTINOMIAL, args, 0)?;
    let (n, replacement) = (attrs.int(0)?, attrs.flag(1));
    let last = p.shape().last().copied().unwrap_or(0);
    if !(1..=2).contains(&p.ndim()) || !p.dtype.is_float() {
        return Err(Error::shape(format!(
            "got probabilities of shape {} and dtype {}, expected floats [categories] or [rows, \
             categories]",
            show(p.shape()),
            p.dtype
        )));
    }
    if n < 1 || last == 0 || (!replacement && n as usize > last) {
        return Err(Error::range(format!(
            "cannot draw {n} samples of {last} categories {} replacement",
            if replacement { "with" } else { "without" }
        )));
    }
    let p = e.cast(&p.detach(), DType::F64)?;
    if no_probabilities(e, &p)? {
        return Err(Error::range("probabilities must be finite and not negative"));
    }
    let positive = over_last(e, Op::Sum, &e.bin_scalar(Op::Gt, &p, 0.0)?)?;
    let least = if replacement { 1 } else { n };
    if e.whole_item(&least_of(e, &positive)?)? < least {
        return Err(Error::range(format!(
            "a row has fewer than {least} categories whose probability is above 0"
        )));
    }
    let mut shape = p.layout.shape.clone();
    let dim = smallvec![Attr::Int(-1)];
    if !replacement {
        // The largest of p / Exp(1): Gumbel's trick (Efraimidis and Spirakis 2006).
        let u = uniform(e, &shape)?;
        let waiting = e.un(Op::Neg, &e.un(Op::Log1p, &e.un(Op::Neg, &u)?)?)?;
        // A waiting time of 0 would divide by 0 where p is 0.
        let waiting =
            e.call1(Op::ClampMin, &[Arg::Tensor(&waiting)], &smallvec![Attr::Float(1e-300)])?;
        let keys = e.bin(Op::Div, &p, &waiting)?;
        let attrs = smallvec![Attr::Int(n), Attr::Int(-1), Attr::Bool(true)];
        let mut out = e.call(Op::Topk, &[Arg::Tensor(&keys)], &attrs)?;
        return Ok(out.pop().into_iter().collect());
    }
    let sums = e.call1(Op::Cumsum, &[Arg::Tensor(&p)], &dim)?;
    if let Some(d) = shape.last_mut() {
        *d = n as usize;
    }
    let total = e.call1(
        Op::Slice,
        &[Arg::Tensor(&sums)],
        &smallvec![Attr::Int(-1), Attr::Int(last as i64 - 1), Attr::Int(1), Attr::Int(1)],
    )?;
    let at = e.bin(Op::Mul, &uniform(e, &shape)?, &total)?;
    let found = e.bin(Op::Search, &sums, &at)?;
    // A product that rounds up to the total would lie behind the last category.
    Ok(smallvec![e.bin(Op::Minimum, &found, &last_positive(e, &sums, &total)?)?])
}

/// Index of the last category whose probability is above 0: the first at which the running sum
/// has reached the total.
fn last_positive(e: &Engine, sums: &Tensor, total: &Tensor) -> Result<Tensor> {
    let below = e.bin(Op::Lt, sums, total)?;
    e.call1(
        Op::Sum,
        &[Arg::Tensor(&below)],
        &smallvec![Attr::Ints(smallvec![-1]), Attr::Bool(true)],
    )
}

fn over_last(e: &Engine, op: Op, x: &Tensor) -> Result<Tensor> {
    e.call1(op, &[Arg::Tensor(x)], &smallvec![Attr::Ints(smallvec![-1]), Attr::Bool(false)])
}

fn least_of(e: &Engine, x: &Tensor) -> Result<Tensor> {
    if x.numel() == 0 {
        return e.full(&[], i32::MAX as f64, DType::I64);
    }
    e.call1(Op::Amin, &[Arg::Tensor(x)], &smallvec![Attr::Absent, Attr::Bool(false)])
}

fn uniform(e: &Engine, shape: &[usize]) -> Result<Tensor> {
    let dims = Attr::Ints(shape.iter().map(|&d| d as i64).collect());
    let attrs = smallvec![dims, Attr::Float(0.0), Attr::Float(1.0), Attr::DType(DType::F64)];
    e.call1(Op::Rand, &[], &attrs)
}

pub const BERNOULLI: OpDef = OpDef::new(
    "bernoulli",
    &[arg("p")],
    Rule::Raw(|e, args, _| {
        let p = tensor_arg(&BERNOULLI, args, 0)?;
        if !p.dtype.is_float() {
            return Err(Error::dtype(format!("got {}, expected a float dtype", p.dtype)));
        }
        let p = p.detach();
        let above = e.bin_scalar(Op::Gt, &p, 1.0)?;
        let none = &smallvec![Attr::Absent, Attr::Bool(false)];
        let any = e.call1(Op::Any, &[Arg::Tensor(&above)], none)?;
        if e.whole_item(&any)? != 0 || no_probabilities(e, &p)? {
            return Err(Error::shape("probabilities must lie between 0 and 1"));
        }
        let wide = e.cast(&p, DType::F64)?;
        let hit = e.bin(Op::Lt, &uniform(e, p.shape())?, &wide)?;
        Ok(smallvec![e.cast(&hit, p.dtype)?])
    }),
)
.doc("1 with the probability that each element gives, else 0.")
.no_vjp("draws whole numbers")
.samples(&[sample(&[Chance(&[2, 3])], &[])]);

impl Engine {
    /// The one element of an integer or boolean tensor.
    pub fn whole_item(&self, t: &Tensor) -> Result<i64> {
        let wide = self.contiguous(&self.cast(&t.detach(), DType::I64)?)?;
        if wide.numel() != 1 {
            return Err(Error::shape(format!("got shape {}, expected 1 element", show(t.shape()))));
        }
        let at = wide.storage.as_ptr().wrapping_add(wide.layout.offset * DType::I64.size());
        // SAFETY: a contiguous int64 tensor of one element has eight bytes at its offset.
        Ok(unsafe { at.cast::<i64>().read_unaligned() })
    }

    /// Integers among `t` that are 0 are refused, as what divides.
    pub fn refuse_zero(&self, t: Arg) -> Result<()> {
        let zero = match t {
            Arg::Scalar(Scalar::Int(v)) => v == 0,
            Arg::Scalar(Scalar::Bool(v)) => !v,
            Arg::Scalar(Scalar::Float(v)) => v == 0.0,
            Arg::Tensor(t) => {
                let attrs = smallvec![Attr::Absent, Attr::Bool(false)];
                self.whole_item(&self.call1(Op::All, &[Arg::Tensor(&t.detach())], &attrs)?)? == 0
            }
            Arg::Absent => false,
        };
        match zero {
            true => Err(Error::shape("division of integers by zero")),
            false => Ok(()),
        }
    }
}
