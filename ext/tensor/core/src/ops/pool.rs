//! Pooling: the largest element or the mean of windows over the last two dimensions.
//!
//! Kernels see planes `[planes, h, w]`; the derivative of the mean is a kernel of its own and
//! that one's derivative the mean again, that of the maximum goes through the positions.

use crate::attr::{Attr, AttrDef, AttrKind, Attrs, AttrsExt};
use crate::dtype::DType;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, checked_numel, show};
use crate::ops::conv::{Window, out_of_range};
use crate::ops::movement::first;
use crate::ops::norm::float_dtype;
use crate::table::{Grads, Meta, OUT1, Op, OpDef, Outputs, Plan, Rule, arg, attr};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

/// The largest extent of a window.
const MOST: i64 = 1 << 30;

const STRIDE: AttrDef = attr("stride", AttrKind::Ints);
const PADDING: AttrDef = attr("padding", AttrKind::Ints);
const DILATION: AttrDef = attr("dilation", AttrKind::Ints);
const KERNEL: AttrDef = attr("kernel", AttrKind::Ints);
const CEIL: AttrDef = attr("ceilMode", AttrKind::Bool);
const MAX_ATTRS: &[AttrDef] = &[STRIDE, PADDING, DILATION, KERNEL, CEIL];
/// `divisor` 0 is the number of elements in the window.
const AVG_ATTRS: &[AttrDef] = &[
    STRIDE,
    PADDING,
    DILATION,
    KERNEL,
    CEIL,
    attr("countIncludePad", AttrKind::Bool),
    attr("divisor", AttrKind::Int),
];
const AVG_BACK: &[AttrDef] = &[
    AVG_ATTRS[0],
    AVG_ATTRS[1],
    AVG_ATTRS[2],
    AVG_ATTRS[3],
    AVG_ATTRS[4],
    AVG_ATTRS[5],
    AVG_ATTRS[6],
    attr("size", AttrKind::Ints),
];

/// The windows of a pooling.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    pub window: Window,
    pub kernel: [usize; 2],
    pub ceil: bool,
}

impl Pool {
    pub fn new(attrs: &[Attr]) -> Result<Pool> {
        let window = Window::new(attrs)?;
        let k = attrs.ints(3).unwrap_or_default();
        let [kh, kw] = *k else {
            return Err(Error::argument(format!(
                "kernelSize must be one or two numbers, got {k:?}"
            )));
        };
        if let Some(bad) = k.iter().find(|k| !(1..=MOST).contains(k)) {
            return Err(out_of_range("kernelSize", *bad, 1, MOST));
        }
        let kernel = [kh as usize, kw as usize];
        for (padding, extent) in window.padding.iter().zip(kernel) {
            if *padding > extent / 2 {
                return Err(Error::range(format!(
                    "padding must be at most half of the kernel size, got padding {padding} and kernel size {extent}"
                )));
            }
        }
        Ok(Pool { window, kernel, ceil: attrs.flag(4) })
    }

    /// Output extent along dimension `d` of extent `n`.
    pub fn extent(&self, d: usize, n: usize) -> Option<usize> {
        let floor = self.window.positions(d, n, self.kernel[d]);
        if !self.ceil {
            return floor;
        }
        let (s, p) = (self.window.stride[d], self.window.padding[d]);
        let reach = self.window.dilation[d] * (self.kernel[d] - 1) + 1;
        let room = (n + 2 * p + s - 1).checked_sub(reach)?;
        let out = room / s + 1;
        // The last window begins inside the input or its left padding.
        Some(if (out - 1) * s >= n + p { out - 1 } else { out }).filter(|o| *o > 0)
    }

    fn shape(&self, x: &[usize]) -> Result<Dims> {
        let mut shape: Dims = smallvec![x[0]];
        for d in 0..2 {
            shape.push(self.extent(d, x[d + 1]).ok_or_else(|| {
                Error::shape(format!(
                    "the kernel of size {:?} is larger than the padded input of extents {:?}",
                    self.kernel,
                    &x[1..]
                ))
            })?);
        }
        checked_numel(&shape)?;
        Ok(shape)
    }
}

/// Kernel: output 0 the largest element of each window, NaN if it has one; output 1 its
/// position `row * w + column` in the plane.
pub const MAX_POOL_PLANES: OpDef = OpDef::new(
    "maxPoolPlanes",
    &[arg("input")],
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        let shape = Pool::new(a)?.shape(x.shape)?;
        let d = float_dtype(x.dtype)?;
        let mut plan = Plan::one(d, shape.clone(), d);
        plan.outputs.push((shape, DType::I64));
        Ok(plan)
    }),
)
.attrs(MAX_ATTRS)
.doc("The largest elements of windows of planes, and where they are.")
.vjp(max_vjp, &[OUT1]);

fn max_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let shape = cx.meta(0)?.shape.clone();
    let (g, at) = (cx.grad()?, cx.output(1)?);
    let flat = |t: &Tensor| e.reshape(t, &[shape[0], t.numel() / shape[0].max(1)]);
    let planes = [shape[0], shape[1] * shape[2]];
    let sum = e.added_to_zeros(Op::ScatterAdd, &planes, &flat(&at)?, &flat(&g)?, 1)?;
    Ok(smallvec![Some(e.reshape(&sum, &shape)?)])
}

/// Kernel: the sum of each window over its divisor.
pub const AVG_POOL_PLANES: OpDef = OpDef::new(
    "avgPoolPlanes",
    &[arg("input")],
    Rule::Kernel(|m, a| {
        let x = first(m)?;
        let d = float_dtype(x.dtype)?;
        Ok(Plan::one(d, Pool::new(a)?.shape(x.shape)?, d))
    }),
)
.attrs(AVG_ATTRS)
.doc("The means of windows of planes.")
.tolerance(1e-5)
.vjp(
    |cx| {
        let mut attrs = cx.attrs.clone();
        let shape = &cx.meta(0)?.shape;
        attrs.push(Attr::Ints(shape[1..].iter().map(|&d| d as i64).collect()));
        Ok(smallvec![Some(cx.engine.call1(
            Op::AvgPoolPlanesBackward,
            &[Arg::Tensor(&cx.grad()?)],
            &attrs
        )?)])
    },
    &[0],
);

/// Kernel: spreads each element over its window; `size` holds h and w of the result.
pub const AVG_POOL_PLANES_BACKWARD: OpDef = OpDef::new(
    "avgPoolPlanesBackward",
    &[arg("grad")],
    Rule::Kernel(|m: &[Option<Meta>], a| {
        let g = first(m)?;
        let mut shape: Dims = smallvec![g.shape[0]];
        shape.extend(a.ints(7).unwrap_or_default().iter().map(|&d| d.max(0) as usize));
        checked_numel(&shape)?;
        Ok(Plan::one(g.dtype, shape, g.dtype))
    }),
)
.attrs(AVG_BACK)
.doc("The gradient of avgPoolPlanes.")
.tolerance(1e-5)
.vjp(
    |cx| {
        let attrs: Attrs = cx.attrs[..7].iter().cloned().collect();
        Ok(smallvec![Some(cx.engine.call1(
            Op::AvgPoolPlanes,
            &[Arg::Tensor(&cx.grad()?)],
            &attrs
        )?)])
    },
    &[0],
);

pub const MAX_POOL2D: OpDef = OpDef::new(
    "maxPool2d",
    &[arg("input")],
    Rule::Composite(|e, x, a| pooled(e, &MAX_POOL2D, Op::MaxPoolPlanes, x, a)),
)
.attrs(MAX_ATTRS)
.doc("The largest element of windows over the last two dimensions.")
.of_parts();

pub const AVG_POOL2D: OpDef = OpDef::new(
    "avgPool2d",
    &[arg("input")],
    Rule::Composite(|e, x, a| pooled(e, &AVG_POOL2D, Op::AvgPoolPlanes, x, a)),
)
.attrs(AVG_ATTRS)
.doc("The mean of windows over the last two dimensions.")
.tolerance(1e-5)
.of_parts();

fn pooled(e: &Engine, def: &OpDef, op: Op, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(def, args, 0)?;
    float_dtype(x.dtype)?;
    let n = x.ndim();
    if n != 3 && n != 4 {
        return Err(Error::shape(format!(
            "got input {}, expected [n, channels, h, w] or [channels, h, w]",
            show(x.shape())
        )));
    }
    let (h, w) = (x.shape()[n - 2], x.shape()[n - 1]);
    let count = x.shape()[..n - 2].iter().product();
    let planes = e.contiguous(&e.reshape(x, &[count, h, w])?)?;
    let out = e.call(op, &[Arg::Tensor(&planes)], &attrs.iter().cloned().collect())?;
    let y = out.into_iter().next().ok_or_else(|| Error::argument("the op has no output"))?;
    let mut shape: Dims = x.shape()[..n - 2].into();
    shape.extend(y.shape()[1..].iter().copied());
    Ok(smallvec![e.reshape(&y, &shape)?])
}
