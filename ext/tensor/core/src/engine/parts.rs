//! Ops that derivatives and composites use, as calls of rows.

use super::{Arg, Engine, input, only};
use crate::attr::{Attr, Attrs};
use crate::backend::{Input, KernelId};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::layout::Dims;
use crate::table::Op;
use crate::tensor::Tensor;
use smallvec::{SmallVec, smallvec};

impl Engine {
    pub fn full(&self, shape: &[usize], value: f64, dtype: DType) -> Result<Tensor> {
        let dims = Attr::Ints(shape.iter().map(|&d| d as i64).collect());
        self.call1(Op::Full, &[], &smallvec![dims, Attr::Float(value), Attr::DType(dtype)])
    }

    pub fn cast(&self, t: &Tensor, dtype: DType) -> Result<Tensor> {
        self.call1(Op::Cast, &[Arg::Tensor(t)], &smallvec![Attr::DType(dtype)])
    }

    /// A contiguous copy.
    pub fn clone_tensor(&self, t: &Tensor) -> Result<Tensor> {
        self.call1(Op::Copy, &[Arg::Tensor(t)], &Attrs::new())
    }

    pub fn contiguous(&self, t: &Tensor) -> Result<Tensor> {
        if t.layout.is_contiguous() { Ok(t.clone()) } else { self.clone_tensor(t) }
    }

    pub fn un(&self, op: Op, a: &Tensor) -> Result<Tensor> {
        self.call1(op, &[Arg::Tensor(a)], &Attrs::new())
    }

    pub fn bin(&self, op: Op, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.call1(op, &[Arg::Tensor(a), Arg::Tensor(b)], &Attrs::new())
    }

    pub fn bin_scalar(&self, op: Op, a: &Tensor, b: f64) -> Result<Tensor> {
        self.call1(op, &[Arg::Tensor(a), Arg::Scalar(Scalar::Float(b))], &Attrs::new())
    }

    pub fn add(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.bin(Op::Add, a, b)
    }

    /// The sum of two gradients, in the first one's bytes where nobody else sees them.
    pub fn accumulate(&self, a: Tensor, b: Tensor) -> Result<Tensor> {
        let args = [Arg::Tensor(&a), Arg::Tensor(&b)];
        if let Some(sum) = self.quick_call(Op::Add, &args) {
            return sum;
        }
        only(self.call_donating(Op::Add, &args, &Attrs::new(), 3)?)
    }

    pub fn reshape(&self, t: &Tensor, shape: &[usize]) -> Result<Tensor> {
        let dims = Attr::Ints(shape.iter().map(|&d| d as i64).collect());
        self.call1(Op::Reshape, &[Arg::Tensor(t)], &smallvec![dims])
    }

    pub fn expand(&self, t: &Tensor, shape: &[usize]) -> Result<Tensor> {
        let dims = Attr::Ints(shape.iter().map(|&d| d as i64).collect());
        self.call1(Op::Expand, &[Arg::Tensor(t)], &smallvec![dims])
    }

    pub fn permute(&self, t: &Tensor, dims: &[usize]) -> Result<Tensor> {
        let dims = Attr::Ints(dims.iter().map(|&d| d as i64).collect());
        self.call1(Op::Permute, &[Arg::Tensor(t)], &smallvec![dims])
    }

    /// The last two dimensions swapped.
    pub fn transpose_last(&self, t: &Tensor) -> Result<Tensor> {
        let n = t.ndim();
        let mut dims: Dims = (0..n).collect();
        dims.swap(n - 1, n - 2);
        self.permute(t, &dims)
    }

    pub fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        self.bin(Op::Matmul, a, b)
    }

    pub fn sum_dims(&self, t: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
        let dims = Attr::Ints(dims.iter().map(|&d| d as i64).collect());
        let attrs = smallvec![dims, Attr::Bool(keepdim)];
        self.call1(Op::Sum, &[Arg::Tensor(t)], &attrs)
    }

    /// `t` summed over the dimensions in which it is larger than `shape`.
    pub fn sum_to(&self, t: &Tensor, shape: &[usize]) -> Result<Tensor> {
        if t.shape() == shape {
            return Ok(t.clone());
        }
        let pad = t.ndim() - shape.len();
        let dims: Dims = (0..t.ndim())
            .filter(|&i| i < pad || (shape[i - pad] == 1 && t.shape()[i] != 1))
            .collect();
        let summed = if dims.is_empty() { t.clone() } else { self.sum_dims(t, &dims, true)? };
        self.reshape(&summed, shape)
    }

    /// Tensors one behind the other along `dim`, converted to `dtype`: a new one of shape `shape`,
    /// which theirs make up.
    pub(crate) fn joined(
        &self,
        parts: &[&Tensor],
        dim: usize,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor> {
        let out = self.empty(shape, dtype)?;
        let inputs: SmallVec<[Input; 4]> = parts.iter().map(|t| input(t)).collect();
        let outputs = std::slice::from_ref(&out);
        let attrs = [Attr::Int(dim as i64)];
        self.run(KernelId::Forward(Op::Concat), dtype, &inputs, outputs, &attrs)?;
        Ok(out)
    }
}
