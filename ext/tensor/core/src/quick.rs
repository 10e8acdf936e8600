//! The short way of elementwise ops on small plain tensors, where everything around the kernel
//! would cost more than the kernel.
//!
//! Invariant: gives what [`Engine::call`] gives, or nothing where the call is not of this kind;
//! then nothing has happened. No promotion, no broadcasting, no donation, no stale views here.

use crate::backend::{Backend, KernelId, TinyKernel};
use crate::dtype::{DType, Scalar};
use crate::engine::{Arg, Engine};
use crate::error::Result;
use crate::storage::Storage;
use crate::sym;
use crate::table::{Op, Rule};
use crate::tape::{self, Edge, Node, ViewKind};
use crate::tensor::Tensor;
use std::cell::OnceCell;
use std::mem::MaybeUninit;
use std::rc::Rc;

/// Largest number of elements that takes the short way.
const MOST: usize = 1024;

/// Kernels of rows that may go the short way, by row, for float32 and float64.
pub struct Quick {
    kernels: Vec<[Option<TinyKernel>; 2]>,
    /// Rows whose inputs all get the output's gradient as it is.
    hands_on: Vec<bool>,
}

/// A result of the short way. It becomes a tensor where it is going to stay: to move a tensor costs
/// as much as to add a few numbers.
pub struct Made {
    pub storage: Storage,
    /// What the tape recorded.
    pub node: Option<Rc<Node>>,
}

impl Made {
    /// The result as a tensor, laid out as `like`, the call's first operand.
    pub fn tensor(self, like: &Tensor) -> Tensor {
        let mut place = MaybeUninit::uninit();
        // SAFETY: the place is for one tensor, and `write` fills it.
        unsafe {
            self.write(like, place.as_mut_ptr());
            place.assume_init()
        }
    }

    /// As [`Made::tensor`], field by field where the tensor is going to stay: what goes through
    /// memory in between is read while it is still being written.
    ///
    /// # Safety
    /// `to` is a place for a tensor; one that is there already is forgotten.
    #[inline(always)]
    pub unsafe fn write(self, like: &Tensor, to: *mut Tensor) {
        let Made { storage, node } = self;
        let edge = node.map_or(Edge::None, |node| Edge::Node(node, 0));
        // SAFETY: the caller's place has room for each field; all of them are written here.
        unsafe {
            (&raw mut (*to).storage).write(storage);
            // Contiguous, as the operand is; where that has the odd stride of an extent of 1, so
            // has the result.
            like.layout.clone_to(&raw mut (*to).layout);
            (&raw mut (*to).layout.offset).write(0);
            (&raw mut (*to).dtype).write(like.dtype);
            (&raw mut (*to).edge).write(edge);
            (&raw mut (*to).view).write(ViewKind::Base);
            (&raw mut (*to).history).write(0);
            (&raw mut (*to).base).write(OnceCell::new());
        }
    }
}

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
        Quick {
            kernels: Op::ALL.iter().map(kernels).collect(),
            hands_on: Op::ALL.iter().map(|op| sym::hands_on(*op)).collect(),
        }
    }

    #[inline]
    pub fn hands_on(&self, op: Op) -> bool {
        self.hands_on.get(op as usize).is_some_and(|hands_on| *hands_on)
    }

    #[inline]
    fn kernel(&self, op: Op, dtype: DType) -> Option<TinyKernel> {
        let row = self.kernels.get(op as usize)?;
        match dtype {
            DType::F32 => row[0],
            DType::F64 => row[1],
            _ => None,
        }
    }
}

impl Engine {
    /// A unary row without attributes.
    #[inline(always)]
    pub fn quick_unary(&self, op: Op, a: &Tensor) -> Option<Result<Made>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        let n = quick_size(a)?;
        let from = address(a);
        let out = self.quick_run(kernel, a, [from; 3], n);
        Some(self.quick_record(op, a, &[Arg::Tensor(a)], out))
    }

    /// A binary row of two tensors of one shape and dtype.
    #[inline(always)]
    pub fn quick_binary(&self, op: Op, a: &Tensor, b: &Tensor) -> Option<Result<Made>> {
        let kernel = self.quick.kernel(op, a.dtype)?;
        if a.dtype != b.dtype || !same(&a.layout.shape, &b.layout.shape) {
            return None;
        }
        let n = quick_size(a)?;
        quick_size(b)?;
        let out = self.quick_run(kernel, a, [address(a), address(b), address(a)], n);
        Some(self.quick_record(op, a, &[Arg::Tensor(a), Arg::Tensor(b)], out))
    }

    /// A binary row of a tensor and a number.
    #[inline]
    pub fn quick_binary_scalar(&self, op: Op, a: &Tensor, b: f64) -> Option<Result<Made>> {
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
        Some(self.quick_record(op, a, &args, out))
    }

    /// A call of any row, where it is one of the above.
    pub fn quick_call(&self, op: Op, args: &[Arg]) -> Option<Result<Tensor>> {
        if op.def().args.len() != args.len() {
            return None;
        }
        let (like, made) = match *args {
            [Arg::Tensor(a)] => (a, self.quick_unary(op, a)?),
            [Arg::Tensor(a), Arg::Tensor(b)] => (a, self.quick_binary(op, a, b)?),
            [Arg::Tensor(a), Arg::Scalar(Scalar::Float(b))] => {
                (a, self.quick_binary_scalar(op, a, b)?)
            }
            _ => return None,
        };
        Some(made.map(|made| made.tensor(like)))
    }

    #[inline(always)]
    fn quick_record(
        &self,
        op: Op,
        like: &Tensor,
        args: &[Arg],
        out: Result<Storage>,
    ) -> Result<Made> {
        let storage = out.map_err(|e| e.in_op(op.name()))?;
        let node = if tape::wants_any(args) {
            tape::record_like(self, op, args, like, &storage)
        } else {
            None
        };
        Ok(Made { storage, node })
    }

    #[inline(always)]
    fn quick_run(
        &self,
        kernel: TinyKernel,
        like: &Tensor,
        inputs: [*const u8; 3],
        n: usize,
    ) -> Result<Storage> {
        let storage = Storage::new(&self.pool, n * like.dtype.size())?;
        // SAFETY: every input covers `n` contiguous elements of the dtype that the kernel was
        // chosen for (`quick_size`), and the output is fresh, so it overlaps none.
        unsafe { kernel(storage.as_ptr(), inputs, n, &[0.0; 4]) };
        Ok(storage)
    }
}

/// Number of elements of a tensor that may go the short way.
#[inline(always)]
fn quick_size(t: &Tensor) -> Option<usize> {
    if let ([n], [1]) = (&*t.layout.shape, &*t.layout.strides) {
        return (*n != 0 && *n <= MOST && !t.is_stale()).then_some(*n);
    }
    let n = t.layout.numel();
    (n != 0 && n <= MOST && t.layout.is_contiguous() && !t.is_stale()).then_some(n)
}

#[inline(always)]
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
