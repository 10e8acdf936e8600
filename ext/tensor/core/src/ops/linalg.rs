//! Matrix products.

use crate::Dims;
use crate::attr::{Attr, Attrs};
use crate::dtype::DType;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{broadcast, show};
use crate::samples::{Input::Real, sample};
use crate::table::{Grads, Meta, Op, OpDef, Outputs, Plan, ResultKind, Rule, arg, input, opt};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const AB: &[crate::table::ArgDef] = &[arg("input"), arg("other")];

/// Kernel: `[..., m, k] x [..., k, n]` with broadcast batch dims; the last two dims of either
/// input may have any strides (transposed inputs need no copy).
pub const BMM: OpDef = OpDef::new("bmm", AB, Rule::Kernel(infer))
    .doc("Products of matrices in the last two dimensions, batches broadcast.")
    .tolerance(1e-5)
    .vjp(vjp, &[input(1), input(0)])
    .samples(&[
        sample(&[Real(&[2, 3]), Real(&[3, 2])], &[]),
        sample(&[Real(&[2, 2, 3]), Real(&[1, 3, 2])], &[]),
    ]);

fn infer(metas: &[Option<Meta>], _: &[Attr]) -> Result<Plan> {
    let [Some(a), Some(b)] = metas else {
        return Err(Error::argument("takes two tensors"));
    };
    if a.dtype != b.dtype {
        return Err(Error::dtype(format!(
            "got {} and {}, expected equal dtypes; convert one with to(...)",
            a.dtype, b.dtype
        )));
    }
    let (m, n) = (a.shape.len(), b.shape.len());
    let wrong = || {
        Error::shape(format!(
            "cannot multiply shapes {} and {}, expected [..., m, k] and [..., k, n]",
            show(a.shape),
            show(b.shape)
        ))
    };
    if m < 2 || n < 2 || a.shape[m - 1] != b.shape[n - 2] {
        return Err(wrong());
    }
    let mut shape = broadcast(&a.shape[..m - 2], &b.shape[..n - 2]).map_err(|_| wrong())?;
    shape.extend([a.shape[m - 2], b.shape[n - 1]]);
    crate::layout::checked_numel(&shape)?;
    Ok(Plan::one(a.dtype, shape, a.dtype))
}

fn vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let g = cx.grad()?;
    let mut out: Grads = smallvec![None, None];
    if cx.wants(0) {
        let b = cx.input(1)?;
        out[0] = Some(cx.unbroadcast(e.bin(Op::Bmm, &g, &e.transpose_last(&b)?)?, 0)?);
    }
    if cx.wants(1) {
        let a = cx.input(0)?;
        out[1] = Some(cx.unbroadcast(e.bin(Op::Bmm, &e.transpose_last(&a)?, &g)?, 1)?);
    }
    Ok(out)
}

/// Kernel: `[m, k] x [k, n] + [n]`, of any strides.
pub const ADDMM: OpDef = OpDef::new(
    "addmm",
    &[arg("input"), arg("other"), arg("bias")],
    Rule::Kernel(|metas, attrs| {
        let [a, b, Some(bias)] = metas else {
            return Err(Error::argument("takes three tensors"));
        };
        let plan = infer(&[*a, *b], attrs)?;
        let shape = &plan.outputs[0].0;
        if shape.len() != 2 || *bias.shape != shape[1..] || bias.dtype != plan.compute {
            return Err(Error::shape(format!(
                "got a product {} and a bias {} of {}, expected matrices and a bias of {} in {}",
                show(shape),
                show(bias.shape),
                bias.dtype,
                show(&shape[1..]),
                plan.compute
            )));
        }
        Ok(plan)
    }),
)
.doc("A matrix product with a row added to each of its rows.")
.tolerance(1e-5)
.vjp(
    |cx| {
        let mut out = vjp(cx)?;
        out.push(if cx.wants(2) { Some(cx.unbroadcast(cx.grad()?, 2)?) } else { None });
        Ok(out)
    },
    &[input(1), input(0), 0],
)
.samples(&[sample(&[Real(&[2, 3]), Real(&[3, 2]), Real(&[2])], &[])]);

pub const MATMUL: OpDef = OpDef::new("matmul", AB, Rule::Composite(matmul))
    .result(ResultKind::Fresh)
    .doc("Matrix product of vectors, matrices and batches, as in PyTorch.")
    .tolerance(1e-5)
    .of_parts()
    .samples(&[
        sample(&[Real(&[2, 2, 3]), Real(&[3, 2])], &[]),
        sample(&[Real(&[3]), Real(&[3])], &[]),
        sample(&[Real(&[2, 3]), Real(&[3])], &[]),
    ]);

/// Weights of layers stand as `[out, in]`.
pub const LINEAR: OpDef =
    OpDef::new("linear", &[arg("input"), arg("weight"), opt("bias")], Rule::Composite(linear))
        .result(ResultKind::Fresh)
        .doc("input times the transposed weight, plus bias.")
        .tolerance(1e-5)
        .of_parts()
        .samples(&[
            sample(&[Real(&[2, 2, 3]), Real(&[4, 3]), Real(&[4])], &[]),
            sample(&[Real(&[3]), Real(&[4, 3])], &[]),
        ]);

fn linear(e: &Engine, args: &[Arg], _: &[Attr]) -> Result<Outputs> {
    let (x, w) = (tensor_arg(&LINEAR, args, 0)?, tensor_arg(&LINEAR, args, 1)?);
    if let (Some(&width), &[_, want]) = (x.shape().last(), w.shape())
        && width != want
    {
        return Err(Error::shape(format!(
            "got input {} and weight {}, expected an input of {want} in the last dimension",
            show(x.shape()),
            show(w.shape())
        )));
    }
    if x.dtype != w.dtype {
        return Err(Error::dtype(format!(
            "got an input of {} and a weight of {}, expected equal dtypes; convert one with to(...)",
            x.dtype, w.dtype
        )));
    }
    let reversed: Dims = (0..w.ndim()).rev().collect();
    let w = e.permute(w, &reversed)?;
    if let Some(Arg::Tensor(bias)) = args.get(2)
        && let Some(y) = with_bias(e, x, &w, bias)?
    {
        return Ok(smallvec![y]);
    }
    let y = e.matmul(x, &w)?;
    match args.get(2) {
        Some(bias @ Arg::Tensor(_)) => {
            e.call_donating(Op::Add, &[Arg::Tensor(&y), *bias], &Attrs::new(), 1)
        }
        _ => Ok(smallvec![y]),
    }
}

/// Rows times a matrix plus a bias in one kernel, where there is one for it.
fn with_bias(e: &Engine, x: &Tensor, w: &Tensor, bias: &Tensor) -> Result<Option<Tensor>> {
    let (Some((&k, lead)), [_, width]) = (x.shape().split_last(), w.shape()) else {
        return Ok(None);
    };
    let floats = matches!(x.dtype, DType::F32 | DType::F64) && bias.dtype == x.dtype;
    if !floats || lead.is_empty() || x.numel() == 0 || bias.shape() != [*width] {
        return Ok(None);
    }
    let rows = e.reshape(x, &[x.numel() / k, k])?;
    let y = e.call1(Op::Addmm, &[&rows, w, bias].map(Arg::Tensor), &Attrs::new())?;
    let mut shape: Dims = lead.into();
    shape.push(*width);
    e.reshape(&y, &shape).map(Some)
}

fn matmul(e: &Engine, args: &[Arg], _: &[Attr]) -> Result<Outputs> {
    let (a, b) = (tensor_arg(&MATMUL, args, 0)?, tensor_arg(&MATMUL, args, 1)?);
    let (m, n) = (a.ndim(), b.ndim());
    if m == 0 || n == 0 {
        return Err(Error::shape(format!(
            "cannot multiply shapes {} and {}, expected at least one dimension each",
            show(a.shape()),
            show(b.shape())
        )));
    }
    // A shape that does not fit is told as the caller knows it.
    let bmm = |x: &Tensor, y: &Tensor| {
        e.bin(Op::Bmm, x, y).map_err(|error| match error {
            Error::Shape { .. } => Error::shape(format!(
                "cannot multiply shapes {} and {}, expected [..., m, k] and [..., k, n]",
                show(a.shape()),
                show(b.shape())
            )),
            error => error,
        })
    };
    let product = match (m, n) {
        (1, 1) => {
            let (row, column) = (e.reshape(a, &[1, a.numel()])?, e.reshape(b, &[b.numel(), 1])?);
            e.reshape(&bmm(&row, &column)?, &[])?
        }
        (1, _) => {
            let y = bmm(&e.reshape(a, &[1, a.numel()])?, b)?;
            let mut shape = y.layout.shape.clone();
            shape.remove(y.ndim() - 2);
            e.reshape(&y, &shape)?
        }
        (_, 1) => {
            let y = bmm(a, &e.reshape(b, &[b.numel(), 1])?)?;
            e.reshape(&y, &y.shape()[..y.ndim() - 1])?
        }
        // One matrix for all of a batch: one large product, and one for its gradient.
        (3.., 2) if a.shape()[m - 1] == b.shape()[0] && a.numel() > 0 => {
            let k = a.shape()[m - 1];
            let y = bmm(&e.reshape(a, &[a.numel() / k, k])?, b)?;
            let mut shape = a.layout.shape.clone();
            shape[m - 1] = b.shape()[1];
            e.reshape(&y, &shape)?
        }
        _ => bmm(a, b)?,
    };
    Ok(smallvec![product])
}
