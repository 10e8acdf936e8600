//! Reading and writing at positions given by an index tensor.
//!
//! Kernels check every index against its dimension and give an error for one outside, negative
//! ones included, as PyTorch does (`index` wraps them). Repeated indices add up in the additive
//! ops.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::engine::Arg;
use crate::error::{Error, Result};
use crate::layout::{Dims, copy_dims, show, wrap_dim};
use crate::samples::{
    Input::{Index, Real},
    sample,
};
use crate::table::{Grads, Meta, Op, OpDef, Plan, Rule, arg, attr, input};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const DIM: &[crate::attr::AttrDef] = &[attr("dim", AttrKind::Int)];

fn two<'a>(metas: &[Option<Meta<'a>>]) -> Result<(Meta<'a>, Meta<'a>)> {
    match metas {
        [Some(x), Some(i), ..] => {
            if i.dtype.is_float() || i.dtype == crate::DType::Bool {
                return Err(Error::dtype(format!("the index is {}, expected integers", i.dtype)));
            }
            Ok((*x, *i))
        }
        _ => Err(Error::argument("takes a tensor and an index tensor")),
    }
}

/// Refuses an index that is no list of row numbers.
fn of_rows(x: &Meta, i: &Meta) -> Result<()> {
    if i.shape.len() <= 1 {
        return Ok(());
    }
    Err(Error::shape(format!(
        "got input {} and index {}, expected an index of one dimension",
        show(x.shape),
        show(i.shape)
    )))
}

/// Kernel: `[x, index]`, index 1-d; output row i along `dim` is input row `index[i]`.
pub const INDEX_SELECT: OpDef = OpDef::new(
    "indexSelect",
    &[arg("input"), arg("index")],
    Rule::Kernel(|m, a| {
        let (x, i) = two(m)?;
        let dim = wrap_dim(a.int(0)?, x.shape.len())?;
        of_rows(&x, &i)?;
        if x.shape.is_empty() {
            return Err(Error::shape("cannot select from a 0-d tensor"));
        }
        let mut shape: Dims = x.shape.into();
        shape[dim] = i.shape.first().copied().unwrap_or(1);
        crate::layout::checked_numel(&shape)?;
        Ok(Plan::one(x.dtype, shape, x.dtype).index(2))
    }),
)
.attrs(DIM)
.doc("Rows of a dimension in the order of an index.")
.vjp(
    |cx| {
        let (shape, dim) = (&cx.meta(0)?.shape, cx.attrs.int(0)?);
        let (i, g) = (cx.input(1)?, cx.grad()?);
        Ok(smallvec![Some(cx.engine.added_to_zeros(Op::IndexAdd, shape, &i, &g, dim)?), None])
    },
    &[input(1), 0],
)
.samples(&[sample(&[Real(&[2, 3]), Index(&[4], 3)], &[1.0])]);

/// Shapes of `[x, index, source]` where source row i goes to row `index[i]`.
fn rows_of_source(m: &[Option<Meta>], a: &[Attr]) -> Result<Plan> {
    let (x, i) = two(m)?;
    let dim = wrap_dim(a.int(0)?, x.shape.len())?;
    of_rows(&x, &i)?;
    let mut want: Dims = x.shape.into();
    if let Some(d) = want.get_mut(dim) {
        *d = i.shape.first().copied().unwrap_or(1);
    }
    match m.get(2) {
        Some(Some(s)) if s.shape == want.as_slice() => {}
        Some(Some(s)) => {
            return Err(Error::shape(format!(
                "the source has shape {}, expected {} for an index of shape {}",
                show(s.shape),
                show(&want),
                show(i.shape)
            )));
        }
        _ => return Err(Error::argument("argument \"source\" must be a tensor")),
    }
    Ok(Plan::one(x.dtype, x.shape.into(), x.dtype).index(2))
}

/// The rows of a gradient that an index names.
fn named_rows(cx: &VjpCx, g: &Tensor) -> Result<Tensor> {
    cx.engine.call1(Op::IndexSelect, &[Arg::Tensor(g), Arg::Tensor(&cx.input(1)?)], cx.attrs)
}

/// Kernel: `[x, index, source]`; a copy of x with source row i added to row `index[i]`. Where the
/// output is x itself, nothing is copied.
pub const INDEX_ADD: OpDef = OpDef::new(
    "indexAdd",
    &[arg("input"), arg("index"), arg("source")],
    Rule::Kernel(rows_of_source),
)
.attrs(DIM)
.doc("A copy with rows of a source added at the rows that an index names.")
.vjp(
    |cx| {
        let g = cx.grad()?;
        let source = cx.wants(2).then(|| named_rows(cx, &g)).transpose()?;
        Ok(smallvec![Some(g), None, source])
    },
    &[0, 0, input(1)],
)
.samples(&[sample(&[Real(&[2, 3]), Index(&[4], 3), Real(&[2, 4])], &[1.0])]);

/// Kernel: as `indexAdd`, with rows replaced; the last one of equal rows stays.
pub const INDEX_COPY: OpDef = OpDef::new(
    "indexCopy",
    &[arg("input"), arg("index"), arg("source")],
    Rule::Kernel(rows_of_source),
)
.attrs(DIM)
.doc("A copy with the rows that an index names replaced by those of a source.")
.vjp(
    |cx| {
        let (e, g) = (cx.engine, cx.grad()?);
        let others = || -> Result<Tensor> {
            let i = cx.input(1)?;
            let mut shape = copy_dims(&g.layout.shape);
            if let Some(d) = shape.get_mut(wrap_dim(cx.attrs.int(0)?, g.ndim())?) {
                *d = i.numel();
            }
            let zeros = e.expand(&e.full(&[], 0.0, g.dtype)?, &shape)?;
            let args = [Arg::Tensor(&g), Arg::Tensor(&i), Arg::Tensor(&zeros)];
            e.call1(Op::IndexCopy, &args, cx.attrs)
        };
        let x = cx.wants(0).then(others).transpose()?;
        let source = cx.wants(2).then(|| named_rows(cx, &g)).transpose()?;
        Ok(smallvec![x, None, source])
    },
    &[input(1), 0, input(1)],
)
.samples(&[sample(&[Real(&[2, 3]), Index(&[1], 3), Real(&[2, 1])], &[1.0])]);

/// Shapes of gather and scatter: as many dims, and no extent beyond the input's outside `dim`.
fn same_rank(op: &str, x: &Meta, i: &Meta, dim: usize) -> Result<()> {
    let fits = x.shape.len() == i.shape.len()
        && x.shape.iter().zip(i.shape).enumerate().all(|(k, (a, b))| k == dim || b <= a);
    if fits {
        return Ok(());
    }
    Err(Error::shape(format!(
        "got input {} and index {}, expected an index of as many dimensions, none larger outside \
         dim {dim}, to {op}",
        show(x.shape),
        show(i.shape)
    )))
}

/// Kernel: `[x, index]`; output has the index's shape and reads x with the index in place of
/// the position along `dim`.
pub const GATHER: OpDef = OpDef::new(
    "gather",
    &[arg("input"), arg("index")],
    Rule::Kernel(|m, a| {
        let (x, i) = two(m)?;
        let dim = wrap_dim(a.int(0)?, x.shape.len())?;
        same_rank("gather", &x, &i, dim)?;
        Ok(Plan::one(x.dtype, i.shape.into(), x.dtype).index(2))
    }),
)
.attrs(DIM)
.doc("Elements along a dimension at the positions of an index.")
.vjp(
    |cx| {
        let (shape, dim) = (&cx.meta(0)?.shape, cx.attrs.int(0)?);
        let (i, g) = (cx.input(1)?, cx.grad()?);
        Ok(smallvec![Some(cx.engine.added_to_zeros(Op::ScatterAdd, shape, &i, &g, dim)?), None])
    },
    &[input(1), 0],
)
.samples(&[sample(&[Real(&[2, 3]), Index(&[2, 4], 3)], &[1.0])]);

/// Kernel: `[x, index, source]`; a copy of x with each source element under the index added at
/// the position that gather would read.
pub const SCATTER_ADD: OpDef = OpDef::new(
    "scatterAdd",
    &[arg("input"), arg("index"), arg("source")],
    Rule::Kernel(|m, a| {
        let (x, i) = two(m)?;
        let dim = wrap_dim(a.int(0)?, x.shape.len())?;
        same_rank("scatterAdd", &x, &i, dim)?;
        match m.get(2) {
            Some(Some(s))
                if s.shape.len() == i.shape.len()
                    && i.shape.iter().zip(s.shape).all(|(a, b)| a <= b) => {}
            Some(Some(s)) => {
                return Err(Error::shape(format!(
                    "the source has shape {}, expected at least the index's {}",
                    show(s.shape),
                    show(i.shape)
                )));
            }
            _ => return Err(Error::argument("argument \"source\" must be a tensor")),
        }
        Ok(Plan::one(x.dtype, x.shape.into(), x.dtype).index(2))
    }),
)
.attrs(DIM)
.doc("A copy with elements of a source added at the positions of an index.")
.vjp(scatter_vjp, &[0, 0, input(1)])
.samples(&[sample(&[Real(&[2, 3]), Index(&[2, 4], 3), Real(&[2, 5])], &[1.0])]);

fn scatter_vjp(cx: &VjpCx) -> Result<Grads> {
    let g = cx.grad()?;
    let e = cx.engine;
    let mut source = None;
    if cx.wants(2) {
        let i = cx.input(1)?;
        let mut part = e.call1(Op::Gather, &[Arg::Tensor(&g), Arg::Tensor(&i)], cx.attrs)?;
        // Source elements beyond the index were not read.
        let full = cx.meta(2)?.shape.clone();
        for (dim, &extent) in full.iter().enumerate() {
            if part.shape()[dim] != extent {
                let n = part.shape()[dim] as i64;
                let mut shape = part.layout.shape.clone();
                shape[dim] = extent;
                let attrs = smallvec![
                    Attr::Int(dim as i64),
                    Attr::Int(0),
                    Attr::Int(n),
                    Attr::Int(1),
                    Attr::Ints(shape.iter().map(|&d| d as i64).collect())
                ];
                part = e.call1(Op::SliceBackward, &[Arg::Tensor(&part)], &attrs)?;
            }
        }
        source = Some(part);
    }
    Ok(smallvec![Some(g), None, source])
}
