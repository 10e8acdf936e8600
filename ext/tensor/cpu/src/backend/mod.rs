//! The CPU as a [`Backend`]: reads a call's views and attributes and hands them to a kernel.
//!
//! Invariant: what a kernel needs and the engine does not promise (positions in range, outputs
//! contiguous) is checked here, before anything is written.

mod attention;
mod elementwise;
mod matrix;
mod nn;
mod optim;
mod order;
mod other;

use crate::elementwise::{Operand, Source};
use crate::index::OutOfRange;
use crate::scratch::NoScratch;
use crate::threads::Threads;
use mlrun_tensor_core::backend::{Backend, Call, Input, KernelId, TinyKernel, View};
use mlrun_tensor_core::storage::Device;
use mlrun_tensor_core::{DType, Error, Op, Result, Scalar};

/// The CPU with its thread pool.
#[derive(Debug)]
pub struct CpuBackend {
    threads: Threads,
}

impl CpuBackend {
    /// A backend that uses `threads` threads, the calling one included.
    pub fn new(threads: usize) -> CpuBackend {
        CpuBackend { threads: Threads::new(threads) }
    }

    /// A backend with a thread for each processor that this process may use.
    pub fn for_machine() -> CpuBackend {
        CpuBackend { threads: Threads::for_machine() }
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        CpuBackend::for_machine()
    }
}

impl Backend for CpuBackend {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn set_threads(&self, threads: usize) {
        self.threads.set_count(threads);
    }

    fn threads(&self) -> usize {
        self.threads.count()
    }

    fn tiny(&self, kernel: KernelId, dtype: DType) -> Option<TinyKernel> {
        crate::elementwise::row(kernel, dtype).map(|row| row.run as TinyKernel)
    }

    fn run(&self, call: &Call) -> Result<()> {
        if elementwise::tiny(call) || elementwise::any(&self.threads, call)? {
            return Ok(());
        }
        let t = &self.threads;
        match call.kernel {
            KernelId::Forward(op) => match op {
                Op::Where => elementwise::select(t, call),
                Op::Bmm => matrix::bmm(t, call),
                Op::Addmm => matrix::addmm(t, call),
                Op::Full | Op::Arange | Op::Uniform | Op::Normal | Op::RandInt | Op::RandPerm => {
                    other::create(t, call, op)
                }
                Op::Cast | Op::Copy | Op::Flip | Op::Tril | Op::Triu => other::copy(t, call, op),
                Op::Concat => other::concat(t, call),
                Op::Sum | Op::Prod | Op::Amax | Op::Amin | Op::Any | Op::All => {
                    other::reduce(t, call, op)
                }
                Op::Argmax | Op::Argmin | Op::MaxDim | Op::MinDim => other::extreme(t, call, op),
                Op::IndexSelect | Op::IndexAdd | Op::IndexCopy | Op::Gather | Op::ScatterAdd => {
                    other::positions(t, call, op)
                }
                Op::Cumsum | Op::Cumprod => order::running(t, call, op),
                Op::Sort | Op::Topk => order::sort(t, call, op),
                Op::NonzeroRows => order::nonzero_rows(call),
                Op::Search => order::search(call),
                Op::WrapIndex => order::wrap_index(t, call),
                Op::Softmax | Op::LogSoftmax => other::softmax(t, call, op),
                Op::AdamStep => other::adam(t, call),
                Op::SoftmaxBackward
                | Op::NormRows
                | Op::NormRowsBackward
                | Op::BatchNormTrain
                | Op::BatchNormTrainBackward
                | Op::DropoutSeeded
                | Op::Convolve
                | Op::ConvolveInput
                | Op::ConvolveWeight
                | Op::MaxPoolPlanes
                | Op::AvgPoolPlanes
                | Op::AvgPoolPlanesBackward
                | Op::Attention
                | Op::AttentionBackward => nn::run(t, call, op),
                Op::SgdStep | Op::RmspropStep | Op::AdagradStep | Op::LionStep | Op::EmaStep => {
                    optim::step(t, call, op)
                }
                Op::ClipGradNorm => optim::clip(t, call),
                _ => Err(no_kernel(call)),
            },
            KernelId::UnaryGrad(_) => Err(no_kernel(call)),
        }
    }
}

fn no_kernel(call: &Call) -> Error {
    Error::NoKernel {
        op: call.kernel.op().name().into(),
        dtype: call.dtype.name().into(),
        device: Device::Cpu.to_string(),
    }
}

/// Working memory is not part of a tensor limit; the error says what the system refused.
impl From<NoScratch> for Error {
    fn from(e: NoScratch) -> Error {
        Error::Memory { op: "".into(), requested: e.bytes as u64, live: 0, limit: u64::MAX }
    }
}

impl From<OutOfRange> for Error {
    fn from(e: OutOfRange) -> Error {
        Error::shape(match e.extent {
            0 => format!("index {} is out of range, the dimension has no elements", e.index),
            n => format!("index {} is out of range, expected {} to {}", e.index, e.least, n - 1),
        })
    }
}

fn operand<'a>(v: &'a View) -> Operand<'a> {
    Operand { ptr: v.ptr(), strides: &v.layout.strides, dtype: v.dtype }
}

/// Input `i`, which must be a tensor.
fn view<'a>(call: &'a Call, i: usize) -> Result<&'a View<'a>> {
    match call.inputs.get(i) {
        Some(Input::View(v)) => Ok(v),
        _ => Err(Error::argument(format!("input {i} must be a tensor"))),
    }
}

/// Output `i`.
fn output<'a>(call: &'a Call, i: usize) -> Result<&'a View<'a>> {
    call.outputs.get(i).ok_or_else(|| Error::argument(format!("output {i} is missing")))
}

/// Output `i` for kernels that write elements one behind the other.
fn packed<'a>(call: &'a Call, i: usize) -> Result<&'a View<'a>> {
    let out = output(call, i)?;
    if out.layout.is_contiguous() {
        Ok(out)
    } else {
        Err(Error::argument(format!("output {i} must be contiguous")))
    }
}

/// A number as the bytes of one element of `dtype`.
fn number(s: Scalar, dtype: DType) -> [u8; 8] {
    let mut bytes = [0u8; 8];
    let mut put = |b: &[u8]| bytes[..b.len()].copy_from_slice(b);
    match dtype {
        DType::F32 => put(&(s.to_f64() as f32).to_ne_bytes()),
        DType::F16 => put(&half::f16::from_f64(s.to_f64()).to_ne_bytes()),
        DType::BF16 => put(&half::bf16::from_f64(s.to_f64()).to_ne_bytes()),
        DType::F64 => put(&s.to_f64().to_ne_bytes()),
        DType::I8 => put(&(s.to_i64() as i8).to_ne_bytes()),
        DType::U8 => put(&(s.to_i64() as u8).to_ne_bytes()),
        DType::I16 => put(&(s.to_i64() as i16).to_ne_bytes()),
        DType::I32 => put(&(s.to_i64() as i32).to_ne_bytes()),
        DType::I64 => put(&s.to_i64().to_ne_bytes()),
        DType::Bool => put(&[(s.to_f64() != 0.0) as u8]),
    }
    bytes
}

/// The dtype of what elementwise loops read: halves arrive as float32.
fn loop_dtype(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        d => d,
    }
}

fn source<'a>(input: &'a Input, dtype: DType) -> Option<Source<'a>> {
    match input {
        Input::View(v) => Some(Source::View(operand(v))),
        Input::Scalar(s) => Some(Source::Number(number(*s, loop_dtype(dtype)))),
        Input::Absent => None,
    }
}
