//! The elements of a view within the tensor behind it, read and replaced.
//!
//! Where the elements lie is given by strides and an offset in the base's memory, as `Layout` has
//! them, so that views of views need no more than one step. A base that is not laid out so is
//! copied first. Made for the tape of in-place ops on views.

use crate::attr::{Attr, AttrDef, AttrKind, Attrs, AttrsExt};
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, Layout, Strides, show};
use crate::ops::create::shape_attr;
use crate::samples::{Input::Real, sample};
use crate::table::{Grads, Op, OpDef, Outputs, ResultKind, Rule, arg, attr};
use crate::tape::VjpCx;
use crate::tensor::Tensor;
use smallvec::smallvec;

/// Elements of a view: its layout, counted from the base's first element, and the base's strides.
pub struct Elements {
    view: Layout,
    base: Strides,
}

const ATTRS: &[AttrDef] = &[
    attr("shape", AttrKind::Ints),
    attr("strides", AttrKind::Ints),
    attr("offset", AttrKind::Int),
    attr("baseStrides", AttrKind::Ints),
];

impl Elements {
    /// Those of `view`, which lies within `base`.
    pub fn of(view: &Layout, base: &Layout) -> Elements {
        // An empty view may begin anywhere.
        let offset = view.offset.saturating_sub(base.offset);
        Elements { view: Layout { offset, ..view.clone() }, base: base.strides.clone() }
    }

    pub fn attrs(&self) -> Attrs {
        let ints = |v: &[isize]| Attr::Ints(v.iter().map(|&s| s as i64).collect());
        smallvec![
            Attr::Ints(self.view.shape.iter().map(|&d| d as i64).collect()),
            ints(&self.view.strides),
            Attr::Int(self.view.offset as i64),
            ints(&self.base),
        ]
    }

    /// What the attributes of a call say, checked against the base's shape.
    fn read(attrs: &[Attr], base: &[usize]) -> Result<Elements> {
        let strides = |i: usize| -> Strides {
            attrs.ints(i).unwrap_or_default().iter().map(|&s| s as isize).collect()
        };
        let offset = usize::try_from(attrs.int(2)?).ok();
        let view = Layout {
            shape: shape_attr(attrs, 0)?,
            strides: strides(1),
            offset: offset.ok_or_else(|| Error::shape("an offset is 0 or more"))?,
        };
        let own = Elements { view, base: strides(3) };
        let fits = own.view.shape.len() == own.view.strides.len()
            && own.base.len() == base.len()
            && own.view.strides.iter().chain(&own.base).all(|&s| s >= 0)
            && (own.view.numel() == 0 || own.view.span() <= own.whole(base).span());
        match fits {
            true => Ok(own),
            false => Err(Error::shape(format!(
                "strides {:?} of shape {} leave a tensor of shape {} with strides {:?}",
                &own.view.strides[..],
                show(&own.view.shape),
                show(base),
                &own.base[..]
            ))),
        }
    }

    fn whole(&self, shape: &[usize]) -> Layout {
        Layout { shape: shape.into(), strides: self.base.clone(), offset: 0 }
    }

    /// The view within a tensor that is laid out as the base.
    fn within(&self, base: &Tensor) -> Tensor {
        let offset = base.layout.offset + self.view.offset;
        Tensor { layout: Layout { offset, ..self.view.clone() }, ..base.detach() }
    }

    /// A copy of `x` that is laid out as the base.
    fn copied(&self, e: &Engine, x: &Tensor) -> Result<Tensor> {
        let layout = self.whole(x.shape());
        let room = e.empty(&[layout.span()], x.dtype)?;
        let out = Tensor { layout, ..room };
        e.copy_into(&out, &x.detach())?;
        Ok(out)
    }
}

/// `[x]`; a view where x is laid out as the strides of the attributes say.
pub const AS_STRIDED: OpDef = OpDef::new(
    "asStrided",
    &[arg("input")],
    Rule::Raw(|e, args, attrs| {
        let x = tensor_arg(&AS_STRIDED, args, 0)?;
        let elements = Elements::read(attrs, x.shape())?;
        if x.layout.strides == elements.base {
            return Ok(smallvec![elements.within(x)]);
        }
        Ok(smallvec![elements.within(&elements.copied(e, x)?)])
    }),
)
.attrs(ATTRS)
.result(ResultKind::ViewOrFresh)
.doc("Elements at given strides of a tensor's memory.")
.vjp(as_strided_vjp, &[0])
.samples(&[
    sample(&[Real(&[2, 3])], &[2.0, 2.0, 2.0, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0, 1.0]),
    sample(&[Real(&[2, 3])], &[2.0, 4.0, 2.0, 2.0, 0.0, 3.0, 0.0, 2.0, 1.0, 2.0]),
]);

fn as_strided_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let meta = cx.meta(0)?;
    let mut elements = Elements::read(cx.attrs, &meta.shape)?;
    // Where a dimension is expanded, all its gradients go to one element.
    let Layout { shape, strides, .. } = &mut elements.view;
    let expanded: Dims = (0..shape.len()).filter(|&d| strides[d] == 0 && shape[d] > 1).collect();
    let mut g = cx.grad()?;
    if !expanded.is_empty() {
        g = e.sum_dims(&g, &expanded, true)?;
        expanded.iter().for_each(|&d| shape[d] = 1);
    }
    let zeros = e.expand(&e.full(&[], 0.0, meta.dtype)?, &meta.shape)?;
    let both = [Arg::Tensor(&zeros), Arg::Tensor(&g)];
    Ok(smallvec![Some(e.call1(Op::ViewScatter, &both, &elements.attrs())?)])
}

/// `[x, source]`, the source broadcast to the elements' shape.
pub const VIEW_SCATTER: OpDef =
    OpDef::new("viewScatter", &[arg("input"), arg("source")], Rule::Raw(view_scatter))
        .attrs(ATTRS)
        .doc("A copy with the elements at given strides replaced.")
        .vjp(view_scatter_vjp, &[0, 0])
        .samples(&[
            sample(
                &[Real(&[2, 3]), Real(&[2, 2])],
                &[2.0, 2.0, 2.0, 2.0, 3.0, 1.0, 1.0, 2.0, 3.0, 1.0],
            ),
            sample(
                &[Real(&[2, 3]), Real(&[3, 1])],
                &[2.0, 3.0, 2.0, 2.0, 2.0, 1.0, 0.0, 2.0, 1.0, 2.0],
            ),
        ]);

fn view_scatter(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&VIEW_SCATTER, args, 0)?;
    let source = tensor_arg(&VIEW_SCATTER, args, 1)?;
    let elements = Elements::read(attrs, x.shape())?;
    let out = elements.copied(e, x)?;
    e.copy_into(&elements.within(&out), &source.detach())?;
    Ok(smallvec![out])
}

fn view_scatter_vjp(cx: &VjpCx) -> Result<Grads> {
    let e = cx.engine;
    let g = cx.grad()?;
    let rest = || -> Result<Tensor> {
        let zero = e.full(&[], 0.0, g.dtype)?;
        e.call1(Op::ViewScatter, &[Arg::Tensor(&g), Arg::Tensor(&zero)], cx.attrs)
    };
    let part = || -> Result<Tensor> {
        let part = e.call1(Op::AsStrided, &[Arg::Tensor(&g)], cx.attrs)?;
        cx.unbroadcast(part, 1)
    };
    let x = cx.wants(0).then(rest).transpose()?;
    Ok(smallvec![x, cx.wants(1).then(part).transpose()?])
}
