//! The short way of elementwise ops on small plain tensors, where everything around the kernel
//! would cost more than the kernel.
//!
//! Invariant: gives what [`Engine::call`] gives, or nothing where the call is not of this kind;
//! then nothing has happened. No promotion, no broadcasting, no tape, no donation here.

use crate::backend::{Backend, KernelId, TinyKernel};
use crate::dtype::DType;
use crate::engine::Engine;
use crate::error::Result;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::table::{Op, Rule};
use crate::tape::Edge;
use crate::tensor::Tensor;

/// Largest number of elements that takes the short way.
const MOST: usize = 1024;

/// Kernels of rows that may go the short way, by row, for float32 and float64.
pub struct Quick(Vec<[Option<TinyKernel>; 2]>);

impl Quick {
    pub fn new(backend: &dyn Backend) -> Quick {
        let kernels = |op: &Op| {
            let def = op.def();
            let plain = matches!(def.rule, Rule::Unary(_) | Rule::Binary(_));
            [DType::F32, DType::F64].map(|dtype| {
                (plain && def.attrs.is_empty())
                    .then(|| backend.tiny(KernelId::Forward(*op), dtype))
                    .flatten()
            })
        };
        Quick(Op::ALL.iter().map(kernels).collect())
    }

    #[inline]
    fn kernel(&self, op: Op, dtype: DType) -> Option<TinyKernel> {
        let row = self.0.get(op as usize)?;
        match dtype {
            DType::F32 => row[0],
            DType::F64 => row[1],
            _ => None,
        }
    }
}

impl Engine {
    /// A unary row without attributes.
    #[inline]
    pub fn quick_unary(&self, op: Op, a: &Tensor) -> Option<Result<Tensor>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        let n = self.quick_size(a)?;
        let from = address(a);
        Some(self.quick_run(kernel, a, [from; 3], n))
    }

    /// A binary row of two tensors of one shape and dtype.
    #[inline]
    pub fn quick_binary(&self, op: Op, a: &Tensor, b: &Tensor) -> Option<Result<Tensor>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        if a.dtype != b.dtype || !same(&a.layout.shape, &b.layout.shape) {
            return None;
        }
        let n = self.quick_size(a)?;
        self.quick_size(b)?;
        Some(self.quick_run(kernel, a, [address(a), address(b), address(a)], n))
    }

    /// A binary row of a tensor and a number.
    #[inline]
    pub fn quick_binary_scalar(&self, op: Op, a: &Tensor, b: f64) -> Option<Result<Tensor>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        let n = self.quick_size(a)?;
        let from = address(a);
        if a.dtype == DType::F32 {
            let room = repeated(b as f32, n);
            let at = room.as_ptr().cast();
            return Some(self.quick_run(kernel, a, [from, at, from], n));
        }
        let room = repeated(b, n);
        let at = room.as_ptr().cast();
        Some(self.quick_run(kernel, a, [from, at, from], n))
    }

    /// Number of elements of a tensor that may go the short way.
    #[inline]
    fn quick_size(&self, t: &Tensor) -> Option<usize> {
        if !matches!(t.edge, Edge::None) && self.grad_enabled() {
            return None;
        }
        let n = t.layout.numel();
        (n != 0 && n <= MOST && t.layout.is_contiguous()).then_some(n)
    }

    #[inline]
    fn quick_run(
        &self,
        kernel: TinyKernel,
        like: &Tensor,
        inputs: [*const u8; 3],
        n: usize,
    ) -> Result<Tensor> {
        let storage = Storage::new(&self.pool, n * like.dtype.size())?;
        // SAFETY: every input covers `n` contiguous elements of the dtype that the kernel was
        // chosen for (`quick_size`), and the output is fresh, so it overlaps none.
        unsafe { kernel(storage.as_ptr(), inputs, n, &[0.0; 4]) };
        let strides = if like.layout.offset == 0 {
            like.layout.strides.clone()
        } else {
            crate::layout::contiguous_strides(&like.layout.shape)
        };
        let layout = Layout { shape: like.layout.shape.clone(), strides, offset: 0 };
        Ok(Tensor::new(storage, layout, like.dtype))
    }
}

fn address(t: &Tensor) -> *const u8 {
    t.storage.as_ptr().wrapping_add(t.layout.offset * t.dtype.size())
}

#[inline]
fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

/// One number `n` times, `n` at most [`MOST`].
#[inline]
fn repeated<T: Copy>(value: T, n: usize) -> [std::mem::MaybeUninit<T>; MOST] {
    let mut room = [const { std::mem::MaybeUninit::uninit() }; MOST];
    for slot in room.iter_mut().take(n) {
        slot.write(value);
    }
    room
}
