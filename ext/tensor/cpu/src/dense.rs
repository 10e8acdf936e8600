//! Contiguous float32 or float64 copies of operands, for kernels that want nothing else.
//!
//! An operand that is so already is read where it lies; halves compute in float32 and are
//! rounded once, when the result is written back.

use crate::copy;
use crate::elementwise::Operand;
use crate::gemm::Gemm;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use mlrun_tensor_core::DType;
use mlrun_tensor_core::backend::View;
use mlrun_tensor_core::layout::{Layout, contiguous_strides};

/// The number types that such kernels compute in.
pub trait Number:
    Gemm
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    const DTYPE: DType;
    fn of(v: f64) -> Self;
    fn wide(self) -> f64;
}
impl Number for f32 {
    const DTYPE: DType = DType::F32;
    #[inline(always)]
    fn of(v: f64) -> f32 {
        v as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self as f64
    }
}
impl Number for f64 {
    const DTYPE: DType = DType::F64;
    #[inline(always)]
    fn of(v: f64) -> f64 {
        v
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

/// An input as contiguous numbers.
pub struct Dense<T> {
    ptr: *const T,
    _copy: Option<Scratch>,
}

impl<T: Number> Dense<T> {
    /// The elements of `v` in the order of its shape.
    pub fn new(threads: &Threads, v: &View) -> Result<Dense<T>, NoScratch> {
        Dense::laid_out(threads, v.ptr(), v.layout, v.dtype)
    }

    /// As [`Dense::new`] for an address and a layout whose offset it includes.
    pub fn laid_out(
        threads: &Threads,
        ptr: *mut u8,
        l: &Layout,
        dtype: DType,
    ) -> Result<Dense<T>, NoScratch> {
        if dtype == T::DTYPE && l.is_contiguous() {
            return Ok(Dense { ptr: ptr.cast(), _copy: None });
        }
        let scratch = Scratch::new::<T>(l.numel())?;
        let strides = contiguous_strides(&l.shape);
        let to = Operand { ptr: scratch.as_ptr(), strides: &strides, dtype: T::DTYPE };
        // SAFETY: the scratch holds all elements; the view covers its layout.
        unsafe { copy::copy(threads, &l.shape, to, Operand { ptr, strides: &l.strides, dtype }) };
        Ok(Dense { ptr: scratch.as_ptr::<T>().cast_const(), _copy: Some(scratch) })
    }

    pub fn ptr(&self) -> *const T {
        self.ptr
    }
}

/// An output as contiguous numbers, put into its place by [`DenseOut::finish`].
pub struct DenseOut<'a, T> {
    ptr: *mut T,
    copy: Option<Scratch>,
    out: *mut u8,
    layout: &'a Layout,
    dtype: DType,
}

impl<'a, T: Number> DenseOut<'a, T> {
    pub fn new(v: &'a View) -> Result<DenseOut<'a, T>, NoScratch> {
        DenseOut::laid_out(v.ptr(), v.layout, v.dtype)
    }

    pub fn laid_out(
        out: *mut u8,
        layout: &'a Layout,
        dtype: DType,
    ) -> Result<DenseOut<'a, T>, NoScratch> {
        if dtype == T::DTYPE && layout.is_contiguous() {
            return Ok(DenseOut { ptr: out.cast(), copy: None, out, layout, dtype });
        }
        let scratch = Scratch::new::<T>(layout.numel())?;
        Ok(DenseOut { ptr: scratch.as_ptr(), copy: Some(scratch), out, layout, dtype })
    }

    pub fn ptr(&self) -> *mut T {
        self.ptr
    }

    pub fn finish(self, threads: &Threads) {
        let Some(scratch) = self.copy else { return };
        let strides = contiguous_strides(&self.layout.shape);
        let from = Operand { ptr: scratch.as_ptr(), strides: &strides, dtype: T::DTYPE };
        let to = Operand { ptr: self.out, strides: &self.layout.strides, dtype: self.dtype };
        // SAFETY: the scratch holds all elements; the output covers its layout.
        unsafe { copy::copy(threads, &self.layout.shape, to, from) };
    }
}
