//! Elementwise calls: a short way for tiny contiguous ones, the driver for the rest.

use super::{loop_dtype, no_kernel, number, operand, output, source, view};
use crate::elementwise::{Params, Row, Source, row, run};
use crate::threads::Threads;
use mlrun_tensor_core::attr::AttrsExt;
use mlrun_tensor_core::backend::{Call, Input};
use mlrun_tensor_core::{Attr, DType, Result};

/// Largest number of elements that takes the short way.
const TINY: usize = 1024;

fn params(attrs: &[Attr]) -> Params {
    let mut p = [0.0; 4];
    if !attrs.is_empty() {
        for (p, v) in p.iter_mut().zip(attrs.floats()) {
            *p = v;
        }
    }
    p
}

/// Runs a call whose operands are small and contiguous, without a walk. False where it is not
/// such a call.
#[inline]
pub fn tiny(call: &Call) -> bool {
    let [out] = call.outputs else { return false };
    let n = out.layout.numel();
    if n > TINY || n == 0 || call.inputs.is_empty() || loop_dtype(call.dtype) != call.dtype {
        return false;
    }
    if !out.layout.is_contiguous() {
        return false;
    }
    let to = out.ptr();
    let mut ptrs = [std::ptr::null::<u8>(); 3];
    // Repeated numbers and inputs that share the output's bytes are copied here.
    let mut room = std::mem::MaybeUninit::<[[u64; TINY]; 2]>::uninit();
    let mut copies = 0;
    let mut place = || {
        let at = room.as_mut_ptr().cast::<[u64; TINY]>().wrapping_add(copies).cast::<u8>();
        copies += 1;
        (copies <= 2).then_some(at)
    };
    for (i, input) in call.inputs.iter().enumerate() {
        let at = match input {
            Input::View(v) => {
                let same = v.layout.shape == out.layout.shape
                    && v.layout.is_contiguous()
                    && v.dtype == call.dtype;
                if !same {
                    return false;
                }
                let from = v.ptr();
                if from == to {
                    let Some(at) = place() else { return false };
                    // SAFETY: a place holds TINY elements of up to 8 bytes.
                    unsafe { std::ptr::copy_nonoverlapping(from, at, n * v.dtype.size()) };
                    at
                } else {
                    from
                }
            }
            Input::Scalar(s) => {
                let Some(at) = place() else { return false };
                // SAFETY: as above.
                unsafe { repeat(at, number(*s, call.dtype), call.dtype.size(), n) };
                at
            }
            Input::Absent => std::ptr::null_mut(),
        };
        let Some(slot) = ptrs.get_mut(i) else { return false };
        *slot = at;
    }
    let Some(first) = ptrs.iter().copied().find(|p| !p.is_null()) else { return false };
    let Some(row) = row(call.kernel, call.dtype) else { return false };
    let ptrs = ptrs.map(|p| if p.is_null() { first } else { p });
    // SAFETY: every view covers `n` contiguous elements of the loop's dtype; absent inputs get
    // an address that can be read; nothing overlaps the output.
    unsafe { (row.run)(to, ptrs, n, &params(call.attrs)) };
    true
}

/// Writes one number `n` times.
///
/// # Safety
/// `at` has room for `n` elements of `size` bytes.
unsafe fn repeat(at: *mut u8, value: [u8; 8], size: usize, n: usize) {
    macro_rules! width {
        ($t:ty, $n:literal) => {{
            let mut bytes = [0u8; $n];
            bytes.copy_from_slice(&value[..$n]);
            let v = <$t>::from_ne_bytes(bytes);
            // SAFETY: the caller vouches for the room.
            (0..n).for_each(|i| unsafe { at.cast::<$t>().add(i).write(v) });
        }};
    }
    match size {
        1 => width!(u8, 1),
        2 => width!(u16, 2),
        4 => width!(u32, 4),
        _ => width!(u64, 8),
    }
}

/// Runs an elementwise call of any layout. False where the op is not elementwise.
pub fn any(threads: &Threads, call: &Call) -> Result<bool> {
    let Some(row) = row(call.kernel, call.dtype) else { return Ok(false) };
    let out = output(call, 0)?;
    let first = call.inputs.iter().find_map(|i| source(i, call.dtype));
    let Some(first) = first else { return Err(no_kernel(call)) };
    let mut sources = [first; 3];
    for (slot, input) in sources.iter_mut().zip(call.inputs) {
        if let Some(s) = source(input, call.dtype) {
            *slot = s;
        }
    }
    let sources = &sources[..call.inputs.len().min(3)];
    let all_numbers = sources.iter().all(|s| matches!(s, Source::Number(_)));
    // A comparison of two numbers has no view that tells the dtype.
    if all_numbers && out.dtype == DType::Bool && call.dtype != DType::Bool {
        return Err(no_kernel(call));
    }
    let row = Row { cost: row.cost.max(1), ..row };
    // SAFETY: the engine made the views cover the output's shape, and lets an input share the
    // output's bytes only with the same layout and dtype.
    unsafe {
        run(threads, &out.layout.shape, operand(out), sources, row, &params(call.attrs));
    }
    Ok(true)
}

/// `where`: input 0 is the mask.
pub fn select(threads: &Threads, call: &Call) -> Result<()> {
    let (out, mask) = (output(call, 0)?, view(call, 0)?);
    let pick = |i: usize| match call.inputs.get(i) {
        Some(Input::View(v)) if v.dtype == out.dtype => Ok(Source::View(operand(v))),
        Some(Input::Scalar(s)) => Ok(Source::Number(number(*s, out.dtype))),
        _ => Err(no_kernel(call)),
    };
    if mask.dtype != DType::Bool {
        return Err(no_kernel(call));
    }
    // SAFETY: the engine made the views cover the output's shape; the output is fresh.
    unsafe {
        crate::elementwise::select(
            threads,
            &out.layout.shape,
            operand(out),
            operand(mask),
            pick(1)?,
            pick(2)?,
        );
    }
    Ok(())
}
