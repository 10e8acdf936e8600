//! Rows that make tensors from numbers: constants, ranges, random values; and `where`.

use crate::attr::{Attr, AttrKind, Attrs, AttrsExt};
use crate::dtype::DType;
use crate::engine::{Arg, Engine};
use crate::error::{Error, Result};
use crate::layout::{Dims, checked_numel};
use crate::samples::{
    Input::{Mask, Number, Real},
    sample,
};
use crate::table::{Grads, Meta, Op, OpDef, Outputs, Plan, Rule, arg, attr, input};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

/// A shape from JavaScript: no negative extents, no overflow.
pub fn shape_attr(attrs: &[Attr], i: usize) -> Result<Dims> {
    let ints =
        attrs.ints(i).ok_or_else(|| Error::argument("shape must be an array of integers"))?;
    let mut shape = Dims::new();
    for &d in ints {
        shape.push(
            usize::try_from(d).map_err(|_| {
                Error::shape(format!("a shape cannot hold {d}, expected 0 or more"))
            })?,
        );
    }
    checked_numel(&shape)?;
    Ok(shape)
}

fn infer_shaped(attrs: &[Attr], dtype_at: usize) -> Result<Plan> {
    let dtype = attrs.dtype(dtype_at).unwrap_or(DType::F32);
    Ok(Plan::one(dtype, shape_attr(attrs, 0)?, dtype))
}

const SHAPE: AttrKind = AttrKind::Ints;
const FLOAT: AttrKind = AttrKind::Float;
const INT: AttrKind = AttrKind::Int;
const DTYPE: AttrKind = AttrKind::OptDType;

/// Kernel: fills the output, of any strides, with `value`.
pub const FULL: OpDef = OpDef::new(
    "full",
    &[],
    Rule::Kernel(|_, a| {
        if let (Some(Attr::Float(v)), Some(dtype)) = (a.get(1), a.dtype(2)) {
            dtype.check_number(*v)?;
        }
        infer_shaped(a, 2)
    }),
)
.attrs(&[attr("shape", SHAPE), attr("value", FLOAT), attr("dtype", DTYPE)])
.doc("A tensor filled with one value.")
.no_vjp("has no tensor input")
.samples(&[sample(&[], &[2.0, 2.0, 3.0, 1.5, -1.0])]);

/// Kernel: element i is `start + i * step`, computed in float64 (integers in int64).
pub const ARANGE: OpDef = OpDef::new("arange", &[], Rule::Kernel(infer_arange))
    .attrs(&[attr("start", FLOAT), attr("step", FLOAT), attr("length", INT), attr("dtype", DTYPE)])
    .doc("Evenly spaced numbers from start on.")
    .no_vjp("has no tensor input")
    .samples(&[sample(&[], &[1.0, 2.0, 5.0, -1.0])]);

fn infer_arange(_: &[Option<Meta>], attrs: &[Attr]) -> Result<Plan> {
    let n = usize::try_from(attrs.int(2)?).map_err(|_| Error::range("length is negative"))?;
    checked_numel(&[n])?;
    let dtype = attrs.dtype(3).unwrap_or(DType::F32);
    if n > 0 {
        let (first, step) = (attrs.float(0)?, attrs.float(1)?);
        dtype.check_number(first)?;
        dtype.check_number(first + (n - 1) as f64 * step)?;
    }
    Ok(Plan::one(dtype, smallvec![n], dtype))
}

pub const EYE: OpDef = OpDef::new(
    "eye",
    &[],
    Rule::Composite(|e, _, attrs| {
        let line = |n: i64, shape: [i64; 2]| -> Result<Tensor> {
            let settings = smallvec![
                Attr::Float(0.0),
                Attr::Float(1.0),
                Attr::Int(n),
                Attr::DType(DType::I64)
            ];
            let numbers = e.call1(Op::Arange, &[], &settings)?;
            let shape = smallvec![Attr::Ints(shape.into_iter().collect())];
            e.call1(Op::Reshape, &[Arg::Tensor(&numbers)], &shape)
        };
        let (n, m) = (attrs.int(0)?, attrs.int(1)?);
        let (rows, columns) = (line(n, [n, 1])?, line(m, [1, m])?);
        let same = e.bin(Op::Eq, &rows, &columns)?;
        Ok(smallvec![e.cast(&same, attrs.dtype(2).unwrap_or(DType::F32))?])
    }),
)
.attrs(&[attr("n", INT), attr("m", INT), attr("dtype", DTYPE)])
.doc("The identity matrix with n rows and m columns.")
.of_parts()
.samples(&[sample(&[], &[2.0, 3.0, -1.0])]);

/// Kernel: Philox4x32-10 with key `seed`, element i uses counter `counter + i`; uniform in
/// `[low, high)`.
pub const UNIFORM: OpDef = OpDef::new("uniform", &[], Rule::Kernel(|_, a| infer_shaped(a, 3)))
    .attrs(&[
        attr("shape", SHAPE),
        attr("low", FLOAT),
        attr("high", FLOAT),
        attr("dtype", DTYPE),
        attr("seed", INT),
        attr("counter", INT),
    ])
    .doc("Uniform random numbers for a seed and a counter.")
    .no_vjp("has no tensor input")
    .samples(&[sample(&[], &[1.0, 4.0, 0.0, 1.0, -1.0, 7.0, 0.0])]);

/// Kernel: as `uniform`, normal with `mean` and `std` (Box-Muller).
pub const NORMAL: OpDef = OpDef::new("normal", &[], Rule::Kernel(|_, a| infer_shaped(a, 3)))
    .attrs(&[
        attr("shape", SHAPE),
        attr("mean", FLOAT),
        attr("std", FLOAT),
        attr("dtype", DTYPE),
        attr("seed", INT),
        attr("counter", INT),
    ])
    .doc("Normal random numbers for a seed and a counter.")
    .no_vjp("has no tensor input")
    .samples(&[sample(&[], &[1.0, 4.0, 0.0, 1.0, -1.0, 7.0, 0.0])]);

/// Kernel: as `uniform`, whole numbers in `[low, high)`.
pub const RAND_INT: OpDef =
    OpDef::new("randIntSeeded", &[], Rule::Kernel(|_, a| infer_shaped(a, 3)))
        .attrs(&[
            attr("shape", SHAPE),
            attr("low", INT),
            attr("high", INT),
            attr("dtype", DTYPE),
            attr("seed", INT),
            attr("counter", INT),
        ])
        .doc("Random whole numbers for a seed and a counter.")
        .no_vjp("has no tensor input")
        .samples(&[sample(&[], &[1.0, 4.0, 0.0, 9.0, -1.0, 7.0, 0.0])]);

/// Kernel: a Fisher-Yates shuffle of `0..length` driven by Philox from `counter` on.
pub const RAND_PERM: OpDef = OpDef::new("randPermSeeded", &[], Rule::Kernel(infer_perm))
    .attrs(&[attr("length", INT), attr("dtype", DTYPE), attr("seed", INT), attr("counter", INT)])
    .doc("A random permutation for a seed and a counter.")
    .no_vjp("has no tensor input")
    .samples(&[sample(&[], &[6.0, -1.0, 7.0, 0.0])]);

fn infer_perm(_: &[Option<Meta>], attrs: &[Attr]) -> Result<Plan> {
    let n = usize::try_from(attrs.int(0)?)
        .map_err(|_| Error::range("the length of a permutation is negative"))?;
    checked_numel(&[n])?;
    let dtype = attrs.dtype(1).unwrap_or(DType::I64);
    Ok(Plan::one(dtype, smallvec![n], dtype))
}

fn with_draw(engine: &Engine, op: Op, attrs: &[Attr], n: usize) -> Result<Outputs> {
    let (seed, counter) = engine.draw(n);
    let mut all: Attrs = attrs.iter().cloned().collect();
    all.push(Attr::Int(seed as i64));
    all.push(Attr::Int(counter as i64));
    engine.call(op, &[], &all)
}

fn draw_shaped(engine: &Engine, op: Op, attrs: &[Attr]) -> Result<Outputs> {
    let n = checked_numel(&shape_attr(attrs, 0)?)?;
    with_draw(engine, op, attrs, n)
}

fn float_only(attrs: &[Attr], what: &str) -> Result<()> {
    match attrs.dtype(3) {
        Some(d) if !d.is_float() => {
            Err(Error::dtype(format!("{what} numbers cannot be {d}, expected a float dtype")))
        }
        _ => Ok(()),
    }
}

pub const RAND: OpDef = OpDef::new(
    "rand",
    &[],
    Rule::Composite(|e, _, a| {
        float_only(a, "uniform")?;
        draw_shaped(e, Op::Uniform, a)
    }),
)
.attrs(&[attr("shape", SHAPE), attr("low", FLOAT), attr("high", FLOAT), attr("dtype", DTYPE)])
.doc("Uniform random numbers in [low, high).")
.of_parts()
.samples(&[sample(&[], &[1.0, 4.0, 0.0, 1.0, -1.0])]);

pub const RANDN: OpDef = OpDef::new(
    "randn",
    &[],
    Rule::Composite(|e, _, a| {
        float_only(a, "normal")?;
        draw_shaped(e, Op::Normal, a)
    }),
)
.attrs(&[attr("shape", SHAPE), attr("mean", FLOAT), attr("std", FLOAT), attr("dtype", DTYPE)])
.doc("Normal random numbers.")
.of_parts()
.samples(&[sample(&[], &[1.0, 4.0, 0.0, 1.0, -1.0])]);

pub const DRAW_INT: OpDef = OpDef::new(
    "randint",
    &[],
    Rule::Composite(|e, _, a| {
        let (low, high) = (a.int(1)?, a.int(2)?);
        if low >= high {
            return Err(Error::range(format!(
                "low must be below high, got low {low} and high {high}"
            )));
        }
        draw_shaped(e, Op::RandInt, a)
    }),
)
.attrs(&[attr("shape", SHAPE), attr("low", INT), attr("high", INT), attr("dtype", DTYPE)])
.doc("Random whole numbers in [low, high).")
.of_parts()
.samples(&[sample(&[], &[1.0, 4.0, 0.0, 9.0, -1.0])]);

pub const DRAW_PERM: OpDef = OpDef::new(
    "randperm",
    &[],
    Rule::Composite(|e, _, a| {
        let n = usize::try_from(a.int(0)?)
            .map_err(|_| Error::range("the length of a permutation is negative"))?;
        with_draw(e, Op::RandPerm, a, n)
    }),
)
.attrs(&[attr("length", INT), attr("dtype", DTYPE)])
.doc("A random permutation of 0 to length - 1.")
.of_parts()
.samples(&[sample(&[], &[6.0, -1.0])]);

/// Kernel: elementwise; input 0 is boolean, inputs 1 and 2 have the call's dtype.
pub const WHERE: OpDef =
    OpDef::new("where", &[arg("condition"), arg("input"), arg("other")], Rule::Select)
        .doc("Elements of input where condition holds, else of other.")
        .vjp(where_vjp, &[0, input(0), input(0)])
        .samples(&[
            sample(&[Mask(&[2, 3]), Real(&[2, 3]), Real(&[3])], &[]),
            sample(&[Mask(&[3]), Real(&[2, 1]), Number(0.0)], &[]),
        ]);

fn where_vjp(cx: &VjpCx) -> Result<Grads> {
    let g = cx.grad()?;
    let mask = cx.input(0)?;
    let zero = Arg::Scalar(crate::Scalar::Float(0.0));
    let pick = |wanted: bool, a: Arg, b: Arg, i: usize| {
        wanted
            .then(|| {
                let d = cx.engine.call1(Op::Where, &[Arg::Tensor(&mask), a, b], &Attrs::new())?;
                cx.unbroadcast(d, i)
            })
            .transpose()
    };
    Ok(smallvec![
        None,
        pick(cx.wants(1), Arg::Tensor(&g), zero, 1)?,
        pick(cx.wants(2), zero, Arg::Tensor(&g), 2)?
    ])
}
