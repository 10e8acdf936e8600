//! The short way of elementwise ops on small plain tensors, where everything around the kernel
//! would cost more than the kernel.
//!
//! Invariant: gives what [`Engine::call`] gives, or nothing where the call is not of this kind;
//! then nothing has happened. No promotion, no broadcasting, no donation here.

use crate::attr::Attrs;
use crate::backend::{Backend, KernelId, TinyKernel};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine};
use crate::error::Result;
use crate::layout::Layout;
use crate::storage::Storage;
use crate::table::{Op, Rule};
use crate::tape;
use crate::tensor::Tensor;
use std::mem::MaybeUninit;

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
        let n = quick_size(a)?;
        let from = address(a);
        let out = self.quick_run(kernel, a, [from; 3], n);
        Some(self.quick_record(op, &[Arg::Tensor(a)], out))
    }

    /// A binary row of two tensors of one shape and dtype.
    #[inline]
    pub fn quick_binary(&self, op: Op, a: &Tensor, b: &Tensor) -> Option<Result<Tensor>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        if a.dtype != b.dtype || !same(&a.layout.shape, &b.layout.shape) {
            return None;
        }
        let n = quick_size(a)?;
        quick_size(b)?;
        let out = self.quick_run(kernel, a, [address(a), address(b), address(a)], n);
        Some(self.quick_record(op, &[Arg::Tensor(a), Arg::Tensor(b)], out))
    }

    /// A binary row of a tensor and a number.
    #[inline]
    pub fn quick_binary_scalar(&self, op: Op, a: &Tensor, b: f64) -> Option<Result<Tensor>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        let n = quick_size(a)?;
        let from = address(a);
        let mut room = [const { MaybeUninit::<f64>::uninit() }; MOST];
        let numbers = room.as_mut_ptr();
        // SAFETY: `room` has place for MOST elements of 8 bytes, and `n` is at most MOST.
        unsafe {
            match a.dtype {
                DType::F32 => repeat(numbers.cast(), b as f32, n),
                _ => repeat(numbers.cast(), b, n),
            }
        }
        let out = self.quick_run(kernel, a, [from, numbers.cast(), from], n);
        let args = [Arg::Tensor(a), Arg::Scalar(Scalar::from_number(b))];
        Some(self.quick_record(op, &args, out))
    }

    #[inline]
    fn quick_record(&self, op: Op, args: &[Arg], out: Result<Tensor>) -> Result<Tensor> {
        if !tape::wants_any(args) {
            return out;
        }
        let mut out = out?;
        tape::record(self, op, args, &Attrs::new(), std::slice::from_mut(&mut out));
        Ok(out)
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
        // Contiguous, as the input is; where the input has the odd stride of an extent of 1, so
        // has the result.
        let layout = Layout { offset: 0, ..like.layout.clone() };
        Ok(Tensor::new(storage, layout, like.dtype))
    }
}

/// Number of elements of a tensor that may go the short way.
#[inline]
fn quick_size(t: &Tensor) -> Option<usize> {
    let n = t.layout.numel();
    (n != 0 && n <= MOST && t.layout.is_contiguous()).then_some(n)
}

fn address(t: &Tensor) -> *const u8 {
    t.storage.as_ptr().wrapping_add(t.layout.offset * t.dtype.size())
}

#[inline]
fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

/// Writes one number `n` times.
///
/// # Safety
/// `at` has room for `n` numbers.
#[inline]
unsafe fn repeat<T: Copy>(at: *mut T, value: T, n: usize) {
    for i in 0..n {
        // SAFETY: the caller vouches for the room.
        unsafe { at.add(i).write(value) };
    }
}
