//! Writing at positions that are given as `index` takes them.
//!
//! What the specs leave of the tensor is a view; without index tensors the value is copied into it,
//! else it is written into rows of the merged dimensions, in the order of the indices: the last one
//! of equal positions stays.

use crate::attr::{Attr, AttrDef, AttrKind, Attrs, AttrsExt};
use crate::engine::{Arg, Engine, refuse_overlap, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, show};
use crate::ops::advanced::{Located, plain};
use crate::samples::{
    Input::{Index, Mask, Number, Real},
    Sample, sample,
};
use crate::table::{ArgDef, Op, OpDef, ResultKind, Rule, arg, attr};
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

const ARGS: &[ArgDef] = &[arg("input"), arg("value"), arg("indices")];
/// Specs as those of `index`; values are added to what is there where `accumulate`.
const ATTRS: &[AttrDef] = &[attr("specs", AttrKind::Ints), attr("accumulate", AttrKind::Bool)];
const SAMPLES: &[Sample] = &[
    sample(&[Real(&[3, 4]), Real(&[2, 1])], &[8.0, 1.0, 1.0, 2.0, 1.0, 1.0, 0.0, 2.0, 2.0, 0.0]),
    sample(&[Real(&[3, 4]), Real(&[4]), Index(&[5], 3)], &[4.0, 4.0, 0.0, 0.0, 0.0, 1.0]),
    sample(&[Real(&[2, 3]), Number(0.5), Mask(&[2, 3])], &[4.0, 4.0, 0.0, 0.0, 0.0, 0.0]),
    sample(
        &[Real(&[2, 3, 4]), Real(&[1, 3]), Index(&[2], 1), Index(&[2, 1], 4)],
        &[12.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0],
    ),
];

/// Gives nothing: the first argument's own elements change.
pub const INDEX_PUT: OpDef = OpDef::new(
    "indexPut_",
    ARGS,
    Rule::Composite(|e, args, attrs| {
        put(e, tensor_arg(&INDEX_PUT, args, 0)?, args, attrs)?;
        Ok(smallvec![])
    }),
)
.attrs(ATTRS)
.result(ResultKind::Itself)
.doc("Writes a value at positions given by numbers, slices, tensors of integers or masks.")
.no_vjp("changes its first argument in place, which the tape records of its parts")
.samples(SAMPLES);

fn put(e: &Engine, dst: &Tensor, args: &[Arg], attrs: &[Attr]) -> Result<()> {
    refuse_overlap(dst)?;
    let specs = attrs.ints(0).unwrap_or_default();
    let mut plain = plain(e, dst, args.get(2..).unwrap_or_default(), specs)?;
    plain.x.become_view(dst);
    let value = match args.get(1) {
        Some(Arg::Tensor(t)) if t.dtype == dst.dtype => (*t).clone(),
        Some(Arg::Tensor(t)) => e.cast(t, dst.dtype)?,
        Some(Arg::Scalar(s)) => e.full(&[], s.to_f64(), dst.dtype)?,
        _ => return Err(Error::argument("argument \"value\" must be a tensor or a number")),
    };
    let accumulate = attrs.flag(1);
    if !plain.indices.is_empty() {
        let mut located = Located::new(e, &plain)?;
        located.merged.become_view(dst);
        return put_rows(e, &located, &value, accumulate);
    }
    let (x, value) = (&plain.x, fitted(e, value, plain.x.shape())?);
    match accumulate {
        true => e.call_in_place(Op::Add, x, &[Arg::Tensor(x), Arg::Tensor(&value)], &Attrs::new()),
        false => e.copy_into(x, &value),
    }
}

fn put_rows(e: &Engine, located: &Located, value: &Tensor, accumulate: bool) -> Result<()> {
    let op = if accumulate { Op::IndexAdd } else { Op::IndexCopy };
    let (numbers, source) = (located.numbers(e)?, source(e, located, value)?);
    let (merged, shape) = (&located.merged, located.lines());
    let mut lines = e.reshape(merged, &shape)?;
    if lines.storage.same(&merged.storage) {
        lines.become_view(merged);
        return e.rows_into(op, &lines, &numbers, &source, located.at);
    }
    // The indexed dimensions do not lie so that one stride runs through them.
    let args = [Arg::Tensor(&lines), Arg::Tensor(&numbers), Arg::Tensor(&source)];
    let lines = e.call1(op, &args, &smallvec![Attr::Int(located.at as i64)])?;
    e.copy_into(merged, &e.reshape(&lines, merged.shape())?)
}

/// The value at the shape of the elements that it replaces; dimensions of extent 1 in front go.
fn fitted(e: &Engine, value: Tensor, shape: &[usize]) -> Result<Tensor> {
    let extra = value.ndim().saturating_sub(shape.len());
    let value = match value.shape()[..extra].iter().all(|&d| d == 1) {
        true if extra > 0 => e.reshape(&value, &value.shape()[extra..])?,
        _ => value,
    };
    let wide = value.layout.broadcast_to(shape).map_err(|_| {
        Error::shape(format!(
            "the value has shape {}, expected one that broadcasts to {}, the shape of the elements \
             that it replaces",
            show(value.shape()),
            show(shape)
        ))
    })?;
    e.expand(&value, &wide.shape)
}

/// The value as rows, in the order of the row numbers.
fn source(e: &Engine, located: &Located, value: &Tensor) -> Result<Tensor> {
    let spread = located.spread();
    let value = match located.order() {
        Some(order) => {
            let shape: Dims = order.iter().map(|&d| spread[d]).collect();
            let mut inverse: Dims = SmallVec::from_elem(0, order.len());
            order.iter().enumerate().for_each(|(i, &d)| inverse[d] = i);
            e.permute(&fitted(e, value.clone(), &shape)?, &inverse)?
        }
        None => fitted(e, value.clone(), &spread)?,
    };
    e.reshape(&value, &located.picked())
}
