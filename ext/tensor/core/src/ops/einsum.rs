//! Sums of products by labels. The equation was read in JavaScript; here labels are numbers.
//!
//! Operands are joined from left to right, each pair by one batched matrix product, so that no
//! intermediate holds a label that nobody needs any more.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::Dims;
use crate::samples::{Input::Real, sample};
use crate::table::{Op, OpDef, Outputs, Rule, arg, attr};
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

type Labels = SmallVec<[i64; 6]>;

/// Takes any number of tensors. `labels` holds each operand's labels, one per dimension, and
/// the result's, with -1 between the lists.
pub const EINSUM: OpDef = OpDef::new("einsum", &[arg("tensors")], Rule::Composite(einsum))
    .attrs(&[attr("labels", AttrKind::Ints)])
    .doc("Products of tensors summed over the labels that the result lacks.")
    .tolerance(1e-5)
    .of_parts()
    .samples(&[
        sample(
            &[Real(&[2, 3, 2]), Real(&[2, 2, 3])],
            &[11.0, 0.0, 1.0, 2.0, -1.0, 0.0, 2.0, 3.0, -1.0, 0.0, 1.0, 3.0],
        ),
        sample(&[Real(&[3, 3])], &[4.0, 0.0, 0.0, -1.0, 0.0]),
        sample(&[Real(&[2]), Real(&[3])], &[5.0, 0.0, -1.0, 1.0, -1.0, 0.0]),
    ]);

/// A tensor with one distinct label per dimension.
struct Term {
    t: Tensor,
    labels: Labels,
}

impl Term {
    fn at(&self, label: i64) -> Option<usize> {
        self.labels.iter().position(|l| *l == label)
    }

    fn size(&self, label: i64) -> usize {
        self.at(label).map_or(1, |d| self.t.shape()[d])
    }
}

fn einsum(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let lists: Vec<Labels> =
        attrs.ints(0).unwrap_or_default().split(|l| *l == -1).map(Labels::from).collect();
    let Some((output, lists)) = lists.split_last().filter(|(_, l)| l.len() == args.len()) else {
        return Err(Error::argument("the labels fit no list of operands"));
    };
    let mut terms = Vec::new();
    for (i, labels) in lists.iter().enumerate() {
        terms.push(single(e, tensor_arg(&EINSUM, args, i)?, labels)?);
    }
    let first = terms.first().map(|t| t.t.dtype);
    if let Some(other) = terms.iter().find(|t| Some(t.t.dtype) != first) {
        return Err(Error::dtype(format!(
            "got {} and {}, expected equal dtypes; convert one with to(...)",
            terms[0].t.dtype, other.t.dtype
        )));
    }
    stretch(e, &mut terms)?;
    let mut rest = terms.into_iter();
    let mut joined = rest.next().ok_or_else(|| Error::argument("takes at least one tensor"))?;
    while let Some(next) = rest.next() {
        let later =
            |l: i64| output.contains(&l) || rest.as_slice().iter().any(|t| t.at(l).is_some());
        joined = join(e, joined, next, later)?;
    }
    let joined = without(e, joined, |l| output.contains(&l))?;
    let order = output
        .iter()
        .map(|&l| joined.at(l).ok_or_else(|| Error::argument("a label of the result is unknown")))
        .collect::<Result<Dims>>()?;
    Ok(smallvec![e.permute(&joined.t, &order)?])
}

/// Repeated labels become diagonals.
fn single(e: &Engine, t: &Tensor, labels: &[i64]) -> Result<Term> {
    if labels.len() != t.ndim() {
        return Err(Error::shape(format!(
            "got {} labels for a tensor of {} dimensions",
            labels.len(),
            t.ndim()
        )));
    }
    let mut term = Term { t: t.clone(), labels: labels.into() };
    while let Some((a, b)) = twice(&term.labels) {
        if term.t.shape()[a] != term.t.shape()[b] {
            return Err(Error::shape("a label that stands twice names different extents"));
        }
        let attrs = smallvec![Attr::Int(0), Attr::Int(a as i64), Attr::Int(b as i64)];
        term.t = e.call1(Op::Diagonal, &[Arg::Tensor(&term.t)], &attrs)?;
        let label = term.labels.remove(b);
        term.labels.remove(a);
        term.labels.push(label);
    }
    Ok(term)
}

fn twice(labels: &[i64]) -> Option<(usize, usize)> {
    labels.iter().enumerate().find_map(|(b, l)| {
        let a = labels[..b].iter().position(|m| m == l)?;
        Some((a, b))
    })
}

/// Extents of 1 that others exceed go: they would only be repeated.
fn stretch(e: &Engine, terms: &mut [Term]) -> Result<()> {
    let sizes: Vec<(i64, usize)> = terms
        .iter()
        .flat_map(|t| t.labels.iter().map(|&l| (l, t.size(l))).collect::<Vec<_>>())
        .collect();
    for term in terms {
        for label in term.labels.clone() {
            let own = term.size(label);
            let most = sizes.iter().filter(|s| s.0 == label).map(|s| s.1).max().unwrap_or(own);
            let zero = sizes.iter().any(|s| s.0 == label && s.1 == 0);
            if own == 1 && (most != 1 || zero) {
                let d = term.at(label).unwrap_or(0);
                let mut shape = term.t.layout.shape.clone();
                shape.remove(d);
                term.t = e.reshape(&term.t, &shape)?;
                term.labels.remove(d);
            } else if own != most {
                return Err(Error::shape(format!(
                    "a label names extents {own} and {most}, expected equal ones"
                )));
            }
        }
    }
    Ok(())
}

/// Sums the labels that `keep` refuses.
fn without(e: &Engine, term: Term, keep: impl Fn(i64) -> bool) -> Result<Term> {
    let dims: Dims = (0..term.labels.len()).filter(|&d| !keep(term.labels[d])).collect();
    if dims.is_empty() {
        return Ok(term);
    }
    let t = e.sum_dims(&term.t, &dims, false)?;
    let t = if t.dtype == term.t.dtype { t } else { e.cast(&t, term.t.dtype)? };
    Ok(Term { t, labels: term.labels.into_iter().filter(|&l| keep(l)).collect() })
}

/// Both terms' product, summed over the labels that nobody needs `later`.
fn join(e: &Engine, a: Term, b: Term, later: impl Fn(i64) -> bool) -> Result<Term> {
    let a = without(e, a, |l| later(l) || b.at(l).is_some())?;
    let b = without(e, b, |l| later(l) || a.at(l).is_some())?;
    let shared = |l: &i64| b.at(*l).is_some();
    let batch: Labels = a.labels.iter().copied().filter(|l| shared(l) && later(*l)).collect();
    let summed: Labels = a.labels.iter().copied().filter(|l| shared(l) && !later(*l)).collect();
    let left: Labels = a.labels.iter().copied().filter(|l| !shared(l)).collect();
    let right: Labels = b.labels.iter().copied().filter(|l| a.at(*l).is_none()).collect();
    let x = grouped(e, &a, [&batch, &left, &summed])?;
    let y = grouped(e, &b, [&batch, &summed, &right])?;
    let product = if summed.is_empty() { e.bin(Op::Mul, &x, &y)? } else { e.bin(Op::Bmm, &x, &y)? };
    let mut shape = Dims::new();
    shape.extend(batch.iter().chain(&left).map(|&l| a.size(l)));
    shape.extend(right.iter().map(|&l| b.size(l)));
    let labels = batch.iter().chain(&left).chain(&right).copied().collect();
    Ok(Term { t: e.reshape(&product, &shape)?, labels })
}

/// The term as `[first, second, third]`, each the product of a group's extents.
fn grouped(e: &Engine, term: &Term, groups: [&Labels; 3]) -> Result<Tensor> {
    let order: Dims = groups.iter().flat_map(|g| g.iter().filter_map(|&l| term.at(l))).collect();
    let shape: Dims = groups.iter().map(|g| g.iter().map(|&l| term.size(l)).product()).collect();
    e.reshape(&e.permute(&term.t, &order)?, &shape)
}
