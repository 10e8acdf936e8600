//! Scaled dot product attention (Vaswani et al. 2017), `softmax(q k^T scale + mask) v`.
//!
//! The fused kernel never holds the matrix of weights; its backward kernel computes them again
//! by rows. Where it does not serve (dropout, a mask with a gradient, a gradient that is
//! differentiated), the same is composed of other ops.

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, broadcast, show};
use crate::ops::norm::{float_dtype, masked};
use crate::table::{
    Grads, Meta, OUT, OUT1, Op, OpDef, Outputs, Plan, Reads, Rule, arg, attr, input, opt,
};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

const QKV: &[crate::table::ArgDef] = &[arg("query"), arg("key"), arg("value"), opt("mask")];
const ATTRS: &[crate::attr::AttrDef] =
    &[attr("isCausal", AttrKind::Bool), attr("scale", AttrKind::Float)];
const ALL: Reads = input(0) | input(1) | input(2) | input(3) | OUT | OUT1;

/// Kernel: q `[..., l, e]`, k `[..., s, e]`, v `[..., s, ev]` with equal leading dimensions, mask
/// `[..., l, s]` of any strides, added. Output 0 is `[..., l, ev]`, of four dimensions with the heads
/// beside the elements in memory; output 1 `[..., l]` the
/// logarithm of the sum of exponentials of each row, -infinity for a row that sees nothing,
/// whose output is 0.
pub const ATTENTION: OpDef = OpDef::new(
    "attention",
    QKV,
    Rule::Kernel(|m, a| {
        let _ = a;
        let [Some(q), Some(_), Some(v), ..] = m else {
            return Err(Error::argument("takes three tensors"));
        };
        let n = q.shape.len();
        let lse: Dims = q.shape[..n - 1].into();
        let mut shape = lse.clone();
        shape.push(v.shape[n - 1]);
        let mut plan = Plan::one(q.dtype, shape, q.dtype);
        // Heads come together again right after, and then need no copy.
        plan.swapped = true;
        plan.outputs.push((lse, if q.dtype == DType::F64 { DType::F64 } else { DType::F32 }));
        Ok(plan)
    }),
)
.attrs(ATTRS)
.doc("softmax(q k^T scale + mask) v.")
.tolerance(1e-5)
.vjp(attention_vjp, &[ALL, ALL, ALL, 0]);

fn attention_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let g = cx.grad()?;
    let (q, k, v) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let mask = cx.has_input(3).then(|| cx.input(3)).transpose()?;
    if !e.grad_enabled() {
        let (y, lse) = (cx.output(0)?, cx.output(1)?);
        let m = mask.as_ref().map_or(Arg::Absent, Arg::Tensor);
        let args = [&g, &q, &k, &v, &y, &lse].map(Arg::Tensor);
        let all = e.call(Op::AttentionBackward, &[&args[..], &[m]].concat(), cx.attrs)?;
        return Ok(all.into_iter().map(Some).chain([None]).collect());
    }
    let scale = cx.attrs.float(1)?;
    let p = weights(e, &q, &k, mask.as_ref(), cx.attrs.flag(0), scale)?;
    let gv = e.matmul(&e.transpose_last(&p)?, &g)?;
    let gp = e.matmul(&g, &e.transpose_last(&v)?)?;
    let inner = e.bin(Op::Mul, &gp, &p)?;
    let along = e.sum_dims(&inner, &[p.ndim() - 1], true)?;
    let gs =
        e.bin_scalar(Op::Mul, &e.bin(Op::Sub, &inner, &e.bin(Op::Mul, &p, &along)?)?, scale)?;
    Ok(smallvec![
        Some(e.matmul(&gs, &k)?),
        Some(e.matmul(&e.transpose_last(&gs)?, &q)?),
        Some(gv),
        None
    ])
}

/// Kernel: gradients of `attention` by q, k and v.
pub const ATTENTION_BACKWARD: OpDef = OpDef::new(
    "attentionBackward",
    &[arg("grad"), arg("query"), arg("key"), arg("value"), arg("output"), arg("lse"), opt("mask")],
    Rule::Kernel(|m: &[Option<Meta>], _| {
        let [Some(g), Some(q), Some(k), Some(v), ..] = m else {
            return Err(Error::argument("takes six tensors"));
        };
        let mut plan = Plan::one(g.dtype, q.shape.into(), g.dtype).keep(1 << 5);
        plan.outputs.push((k.shape.into(), g.dtype));
        plan.outputs.push((v.shape.into(), g.dtype));
        // As they were when the heads were split, so that joining them needs no copy.
        plan.swapped = true;
        Ok(plan)
    }),
)
.attrs(ATTRS)
.doc("Gradients of attention.")
.no_vjp("a gradient that is differentiated is composed of other ops");

/// `softmax(q k^T scale + mask)`; rows that see nothing are 0.
fn weights(
    e: &Engine,
    q: &Tensor,
    k: &Tensor,
    mask: Option<&Tensor>,
    causal: bool,
    scale: f64,
) -> Result<Tensor> {
    let s = e.matmul(&e.bin_scalar(Op::Mul, q, scale)?, &e.transpose_last(k)?)?;
    let mut s = match mask {
        Some(m) => e.add(&s, m)?,
        None => s,
    };
    let (l, width) = (s.shape()[s.ndim() - 2], s.shape()[s.ndim() - 1]);
    if causal {
        let ones = e.full(&[l, width], 1.0, DType::F32)?;
        let low = e.call1(Op::Tril, &[Arg::Tensor(&ones)], &smallvec![Attr::Int(0)])?;
        let seen = e.bin_scalar(Op::Ne, &low, 0.0)?;
        s = masked(e, &seen, &s, f64::NEG_INFINITY)?;
    }
    if width == 0 || (mask.is_none() && !causal) {
        return softmax(e, &s);
    }
    let last = smallvec![Attr::Ints(smallvec![-1]), Attr::Bool(true)];
    let most = e.call1(Op::Amax, &[Arg::Tensor(&s.detach())], &last)?;
    let any = e.bin_scalar(Op::Ne, &most, f64::NEG_INFINITY)?;
    masked(e, &any, &softmax(e, &masked(e, &any, &s, 0.0)?)?, 0.0)
}

fn softmax(e: &Engine, s: &Tensor) -> Result<Tensor> {
    e.call1(Op::Softmax, &[Arg::Tensor(s)], &smallvec![Attr::Int(-1)])
}

pub const SCALED_DOT_PRODUCT_ATTENTION: OpDef =
    OpDef::new("scaledDotProductAttention", QKV, Rule::Composite(sdpa))
        .attrs(&[
            attr("isCausal", AttrKind::Bool),
            attr("scale", AttrKind::OptFloat),
            attr("dropoutP", AttrKind::Float),
        ])
        .doc("Means of values weighted by the softmax of scaled products of queries and keys.")
        .tolerance(1e-5)
        .of_parts();

fn sdpa(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let def = &SCALED_DOT_PRODUCT_ATTENTION;
    let (q, k, v) =
        (tensor_arg(def, args, 0)?, tensor_arg(def, args, 1)?, tensor_arg(def, args, 2)?);
    let lead = check(q, k, v)?;
    let (n, l, s) = (q.ndim(), q.shape()[q.ndim() - 2], k.shape()[k.ndim() - 2]);
    let scale = attrs.opt_float(1).unwrap_or_else(|| 1.0 / (q.shape()[n - 1].max(1) as f64).sqrt());
    let (causal, drop) = (attrs.flag(0), attrs.float(2)?);
    let mask = match args.get(3).and_then(|a| a.tensor()) {
        Some(m) => Some(additive_mask(e, m, q.dtype, &lead, l, s)?),
        None => None,
    };
    let spread = |t: &Tensor| {
        let mut shape = lead.clone();
        shape.extend(t.shape()[t.ndim() - 2..].iter().copied());
        if t.layout.shape == shape { Ok(t.clone()) } else { e.expand(t, &shape) }
    };
    let (q, k, v) = (spread(q)?, spread(k)?, spread(v)?);
    if drop > 0.0 || mask.as_ref().is_some_and(|m| m.requires_grad()) {
        let mut p = weights(e, &q, &k, mask.as_ref(), causal, scale)?;
        if drop > 0.0 {
            p = e.call1(Op::Dropout, &[Arg::Tensor(&p)], &smallvec![Attr::Float(drop)])?;
        }
        return Ok(smallvec![e.matmul(&p, &v)?]);
    }
    let mask = mask.as_ref().map_or(Arg::Absent, Arg::Tensor);
    let args = [Arg::Tensor(&q), Arg::Tensor(&k), Arg::Tensor(&v), mask];
    let out = e.call(Op::Attention, &args, &smallvec![Attr::Bool(causal), Attr::Float(scale)])?;
    Ok(out.into_iter().take(1).collect())
}

/// Checks the operands; their common leading dimensions.
fn check(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Dims> {
    let wrong = || {
        Error::shape(format!(
            "got query {}, key {} and value {}, expected [..., l, e], [..., s, e] and [..., s, ev]",
            show(q.shape()),
            show(k.shape()),
            show(v.shape())
        ))
    };
    for t in [q, k, v] {
        float_dtype(t.dtype)?;
        if t.dtype != q.dtype {
            return Err(Error::dtype(format!(
                "got {}, {} and {}, expected equal dtypes; convert with to(...)",
                q.dtype, k.dtype, v.dtype
            )));
        }
        if t.ndim() < 2 {
            return Err(wrong());
        }
    }
    let end = |t: &Tensor, i: usize| t.shape()[t.ndim() - i];
    if end(q, 1) != end(k, 1) || end(k, 2) != end(v, 2) {
        return Err(wrong());
    }
    let lead = |t: &Tensor| -> Dims { t.shape()[..t.ndim() - 2].into() };
    let both = broadcast(&lead(q), &lead(k)).map_err(|_| wrong())?;
    broadcast(&both, &lead(v)).map_err(|_| wrong())
}

/// A mask that is added: 0 where a boolean one holds, else -infinity; with the shape of the
/// weights and without a copy of repeated parts.
fn additive_mask(
    e: &Engine,
    m: &Tensor,
    dtype: DType,
    lead: &[usize],
    l: usize,
    s: usize,
) -> Result<Tensor> {
    let mut shape: Dims = lead.into();
    shape.extend([l, s]);
    if m.dtype != DType::Bool && !m.dtype.is_float() {
        return Err(Error::dtype(format!("the mask is {}, expected bool or {dtype}", m.dtype)));
    }
    if broadcast(m.shape(), &shape).ok().is_none_or(|b| b != shape) {
        return Err(Error::shape(format!(
            "the mask has shape {}, expected one that broadcasts to {}",
            show(m.shape()),
            show(&shape)
        )));
    }
    let m = if m.dtype == DType::Bool {
        let numbers = [0.0, f64::NEG_INFINITY].map(|v| Arg::Scalar(Scalar::Float(v)));
        let all = e.call1(Op::Where, &[Arg::Tensor(m), numbers[0], numbers[1]], &smallvec![])?;
        if all.dtype == dtype { all } else { e.cast(&all, dtype)? }
    } else if m.dtype == dtype {
        m.clone()
    } else {
        e.cast(m, dtype)?
    };
    e.expand(&m, &shape)
}
