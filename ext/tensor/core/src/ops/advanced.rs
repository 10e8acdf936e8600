//! Indexing with tensors of integers and masks, as NumPy does it.
//!
//! Every set of indices becomes one row number per element: the indexed dimensions are merged
//! into one, and `indexSelect` with its derivative does the rest, repeats included. Deliberately not
//! here: writing at such positions (`put`).

use crate::attr::{Attr, AttrKind, AttrsExt};
use crate::dtype::DType;
use crate::engine::{Arg, Engine, tensor_arg};
use crate::error::{Error, Result};
use crate::layout::{Dims, broadcast, show};
use crate::ops::movement::first;
use crate::samples::{
    Input::{Index, Mask, Real},
    sample,
};
use crate::table::{Op, OpDef, Outputs, Plan, ResultKind, Rule, arg, attr};
use crate::tensor::Tensor;
use smallvec::smallvec;

/// Kernel: `[index]`; int64 positions below `extent`, negative ones counted from the end.
pub const WRAP_INDEX: OpDef = OpDef::new(
    "wrapIndex",
    &[arg("index")],
    Rule::Kernel(|m, _| {
        let i = first(m)?;
        if i.dtype.is_float() || i.dtype == DType::Bool {
            return Err(Error::dtype(format!(
                "the index is {}, expected integers or booleans",
                i.dtype
            )));
        }
        Ok(Plan::one(i.dtype, i.shape.into(), DType::I64).index(1))
    }),
)
.attrs(&[attr("extent", AttrKind::Int)])
.doc("Positions checked against an extent, negative ones counted from the end.")
.samples(&[sample(&[Index(&[4], 3)], &[3.0])]);

/// What one spec of an index does, as the first of its four numbers.
const WHOLE: i64 = 0;
/// Then start, length and step.
const SLICE: i64 = 1;
/// Then the position; the dimension goes.
const PICK: i64 = 2;
const NEW_DIM: i64 = 3;
/// The next tensor: integers for one dimension, a mask for as many as it has.
const TENSOR: i64 = 4;
/// An ellipsis that stands for no dimension, which keeps indices apart all the same.
const GAP: i64 = 5;

/// `[x, index...]` with four numbers per spec. Views only where no index is a tensor. Else the
/// indices' common shape takes their place if they stand side by side, and comes first if not.
pub const INDEX: OpDef =
    OpDef::new("index", &[arg("input"), arg("indices")], Rule::Composite(index))
        .attrs(&[attr("specs", AttrKind::Ints)])
        .result(ResultKind::ViewOrFresh)
        .doc("Elements at positions given by numbers, slices, tensors of integers or masks.")
        .of_parts()
        .samples(&[
            sample(&[Real(&[3, 4]), Index(&[5], 3)], &[4.0, 4.0, 0.0, 0.0, 0.0]),
            sample(
                &[Real(&[2, 3, 4]), Index(&[2], 2), Index(&[3, 1], 4)],
                &[12.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0],
            ),
            sample(&[Real(&[2, 3]), Mask(&[2, 3])], &[4.0, 4.0, 0.0, 0.0, 0.0]),
        ]);

/// Row numbers of `size` merged positions that an index names.
struct Place {
    dim: usize,
    covers: usize,
    size: usize,
    rows: Tensor,
}

fn place(e: &Engine, x: &Tensor, index: &Tensor, dim: usize) -> Result<Place> {
    let covers = if index.dtype == DType::Bool { index.ndim() } else { 1 };
    let covered = x.shape().get(dim..dim + covers).ok_or_else(|| {
        Error::shape(format!(
            "index {} stands at dim {dim} of shape {}, which has not that many dimensions",
            show(index.shape()),
            show(x.shape())
        ))
    })?;
    let size = covered.iter().product();
    if index.dtype != DType::Bool {
        let attrs = smallvec![Attr::Int(size as i64)];
        let rows = e.call1(Op::WrapIndex, &[Arg::Tensor(index)], &attrs)?;
        return Ok(Place { dim, covers, size, rows });
    }
    if covers == 0 {
        return Err(Error::shape("a mask needs at least one dimension, got a 0-d tensor"));
    }
    if covered != index.shape() {
        let dims = match covers {
            1 => format!("dim {dim} of shape {} has", show(x.shape())),
            _ => format!("dims {dim} to {} of shape {} have", dim + covers - 1, show(x.shape())),
        };
        return Err(Error::shape(format!(
            "the mask has shape {}, expected {} as {dims}",
            show(index.shape()),
            show(covered)
        )));
    }
    let flat = e.reshape(index, &[index.numel()])?;
    let rows = e.un(Op::Nonzero, &flat)?;
    let rows = e.reshape(&rows, &[rows.numel()])?;
    Ok(Place { dim, covers, size, rows })
}

/// The views of an index, and where its tensors stand in what they leave.
pub struct Plain {
    pub x: Tensor,
    pub indices: Vec<(usize, Tensor)>,
    /// Something stands between two indices.
    apart: bool,
}

pub fn plain(e: &Engine, x: &Tensor, tensors: &[Arg], specs: &[i64]) -> Result<Plain> {
    let mut out = Plain { x: x.clone(), indices: Vec::new(), apart: false };
    let only_numbers = tensors.is_empty();
    let (mut dim, mut ended, mut tensors) = (0, false, tensors.iter());
    for spec in specs.chunks_exact(4) {
        let given = smallvec![
            Attr::Int(dim as i64),
            Attr::Int(spec[1]),
            Attr::Int(spec[2]),
            Attr::Int(spec[3])
        ];
        let index = match spec[0] {
            TENSOR => tensors.next().and_then(|a| a.tensor()).cloned(),
            PICK if !only_numbers => Some(e.full(&[], spec[1] as f64, DType::I64)?),
            _ => None,
        };
        if let Some(index) = index {
            out.apart |= ended;
            let covers = if index.dtype == DType::Bool { index.ndim() } else { 1 };
            out.indices.push((dim, index));
            dim += covers;
            continue;
        }
        match spec[0] {
            SLICE => out.x = e.call1(Op::Slice, &[Arg::Tensor(&out.x)], &given)?,
            PICK => {
                let attrs = given[..2].into();
                out.x = e.call1(Op::Select, &[Arg::Tensor(&out.x)], &attrs)?;
                continue;
            }
            NEW_DIM => {
                let mut shape = out.x.layout.shape.clone();
                shape.insert(dim, 1);
                out.x = e.reshape(&out.x, &shape)?;
            }
            WHOLE | GAP => {}
            _ => return Err(Error::argument("got a spec of unknown kind")),
        }
        ended |= !out.indices.is_empty();
        dim += usize::from(spec[0] != GAP);
    }
    Ok(out)
}

/// Where the elements lie that a set of indices names: rows of the merged indexed dimensions.
pub struct Located {
    /// The tensor with the indexed dimensions side by side, from `at` on.
    pub merged: Tensor,
    pub at: usize,
    /// Extents before, of, and behind the indexed dimensions.
    head: Dims,
    size: usize,
    tail: Dims,
    /// Row numbers in the shape of the indices.
    rows: Tensor,
    apart: bool,
}

impl Located {
    pub fn new(e: &Engine, plain: &Plain) -> Result<Located> {
        let Plain { x, indices, apart } = plain;
        let places =
            indices.iter().map(|(dim, t)| place(e, x, t, *dim)).collect::<Result<Vec<_>>>()?;
        let spread = places.windows(2).any(|w| w[0].dim + w[0].covers != w[1].dim);
        let at = if spread { 0 } else { places[0].dim };
        let covered: usize = places.iter().map(|p| p.covers).sum();
        let merged = if spread { indexed_first(e, x, &places)? } else { x.clone() };
        Ok(Located {
            at,
            head: merged.shape()[..at].into(),
            size: places.iter().map(|p| p.size).product(),
            tail: merged.shape()[at + covered..].into(),
            rows: row_numbers(e, &places)?,
            apart: *apart && at != 0,
            merged,
        })
    }

    fn with(&self, middle: &[usize]) -> Dims {
        self.head.iter().chain(middle).chain(&self.tail).copied().collect()
    }

    /// The shape of the tensor seen as rows.
    pub fn lines(&self) -> Dims {
        self.with(&[self.size])
    }

    /// The shape of the rows that are named, one behind the other.
    pub fn picked(&self) -> Dims {
        self.with(&[self.rows.numel()])
    }

    /// As [`Located::picked`], in the shape of the indices.
    pub fn spread(&self) -> Dims {
        self.with(self.rows.shape())
    }

    /// Row numbers, one behind the other.
    pub fn numbers(&self, e: &Engine) -> Result<Tensor> {
        e.reshape(&self.rows, &[self.rows.numel()])
    }

    /// The dimensions of [`Located::spread`] in the order of the result, where that is another one.
    pub fn order(&self) -> Option<Dims> {
        let own = self.at..self.at + self.rows.ndim();
        let others = (0..self.spread().len()).filter(|d| !own.contains(d));
        self.apart.then(|| own.clone().chain(others).collect())
    }
}

fn index(e: &Engine, args: &[Arg], attrs: &[Attr]) -> Result<Outputs> {
    let x = tensor_arg(&INDEX, args, 0)?;
    let plain = plain(e, x, &args[1..], attrs.ints(0).unwrap_or_default())?;
    if plain.indices.is_empty() {
        // All of it is a view too, with a gradient of its own.
        let whole = plain.x.layout == x.layout;
        return Ok(smallvec![if whole { e.reshape(x, x.shape())? } else { plain.x }]);
    }
    let located = Located::new(e, &plain)?;
    let lines = e.reshape(&located.merged, &located.lines())?;
    let numbers = located.numbers(e)?;
    let dim = smallvec![Attr::Int(located.at as i64)];
    let picked = e.call1(Op::IndexSelect, &[Arg::Tensor(&lines), Arg::Tensor(&numbers)], &dim)?;
    let picked = e.reshape(&picked, &located.spread())?;
    Ok(smallvec![match located.order() {
        Some(order) => e.permute(&picked, &order)?,
        None => picked,
    }])
}

/// The indexed dimensions in front of the others.
fn indexed_first(e: &Engine, x: &Tensor, places: &[Place]) -> Result<Tensor> {
    let indexed = |d: usize| places.iter().any(|p| (p.dim..p.dim + p.covers).contains(&d));
    let order: Dims = (0..x.ndim())
        .filter(|&d| indexed(d))
        .chain((0..x.ndim()).filter(|&d| !indexed(d)))
        .collect();
    e.permute(x, &order)
}

/// The indices broadcast against each other and joined to one number of a merged row.
fn row_numbers(e: &Engine, places: &[Place]) -> Result<Tensor> {
    let mut shape = Dims::new();
    for p in places {
        shape = broadcast(&shape, p.rows.shape()).map_err(|_| {
            let all: Vec<_> = places.iter().map(|p| show(p.rows.shape())).collect();
            Error::shape(format!(
                "the indices have shapes {} that do not broadcast",
                all.join(", ")
            ))
        })?;
    }
    let mut rows = e.expand(&places[0].rows, &shape)?;
    for p in &places[1..] {
        rows = e.bin(Op::Add, &e.bin_scalar_int(Op::Mul, &rows, p.size as i64)?, &p.rows)?;
    }
    Ok(rows)
}
