//! npy files: one array with its dtype and shape. Format: NumPy, `numpy.lib.format`.
//!
//! Read are versions 1 to 3, either byte order, C and Fortran order (made row-major in memory).
//! bfloat16, which NumPy lacks, is the two-byte void that the package ml_dtypes writes. Python
//! objects and records are refused.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use mlrun_tensor_core::layout::{Strides, show};
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{DType, Layout, Tensor};
use smallvec::SmallVec;

use crate::error::{Problem, Result, malformed, shown};
use crate::literal::{self, Descr};
use crate::source::Source;
use crate::{atomic, bytes};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longer than any header of a simple dtype.
const MOST_HEADER: u32 = 1 << 16;
/// NumPy aligns the data to this.
const ALIGN: usize = 64;

/// Reads one array. It is row-major unless the file is in Fortran order: then its strides are
/// the file's.
pub fn load(path: &Path, pool: &Arc<HostPool>) -> Result<Tensor> {
    let read = || {
        let source = Source::open(path)?;
        read(&mut source.range(0, source.len), source.len, pool)
    };
    read().map_err(|e| e.at("io.loadNpy", path))
}

/// Writes one array in C order, completely or not at all.
pub fn save(path: &Path, t: &Tensor) -> Result<()> {
    atomic::write(path, |out| write(t, out)).map_err(|e| e.at("io.saveNpy", path))
}

/// An array of `len` bytes in all.
pub(crate) fn read(from: &mut dyn Read, len: u64, pool: &Arc<HostPool>) -> Result<Tensor, Problem> {
    let mut start = [0; 8];
    fill(from, &mut start)?;
    if &start[..6] != MAGIC {
        return malformed!("no npy file, expected it to begin with \\x93NUMPY");
    }
    let mut length = [0; 4];
    match start[6] {
        1 => fill(from, &mut length[..2])?,
        2 | 3 => fill(from, &mut length)?,
        version => return malformed!("npy version {version}, expected 1 to 3"),
    }
    let header_len = u32::from_le_bytes(length);
    let before = if start[6] == 1 { 10 } else { 12 } + u64::from(header_len);
    if before > len {
        return malformed!("header of {header_len} bytes in a file of {len}");
    }
    if header_len > MOST_HEADER {
        return malformed!("header of {header_len} bytes, expected at most {MOST_HEADER}");
    }
    let mut header = vec![0; header_len as usize];
    fill(from, &mut header)?;
    let Ok(header) = std::str::from_utf8(&header) else {
        return malformed!("header: no valid UTF-8");
    };
    let header = literal::parse(header)?;
    let (dtype, swap) = dtype(&header.descr)?;
    let shape = checked_shape(&header.shape, dtype, len - before)?;
    if !header.fortran_order || shape.len() < 2 {
        return bytes::read_tensor(pool, dtype, &shape, swap, &mut |part| fill(from, part));
    }
    let reversed: SmallVec<[usize; 4]> = shape.iter().rev().copied().collect();
    let t = bytes::read_tensor(pool, dtype, &reversed, swap, &mut |part| fill(from, part))?;
    let strides: Strides = t.layout.strides.iter().rev().copied().collect();
    Ok(Tensor { layout: Layout { shape, strides, offset: 0 }, ..t })
}

fn fill(from: &mut dyn Read, out: &mut [u8]) -> Result<(), Problem> {
    from.read_exact(out).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => Problem::Format("ends too early".into()),
        // What a decompressor says of its input.
        std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
            Problem::Format(format!("damaged: {e}"))
        }
        _ => Problem::read(e),
    })
}

/// The shape, if that many elements fill exactly `data` bytes.
fn checked_shape(
    shape: &[u64],
    dtype: DType,
    data: u64,
) -> Result<mlrun_tensor_core::Dims, Problem> {
    let mut dims = mlrun_tensor_core::Dims::new();
    for &d in shape {
        match usize::try_from(d) {
            Ok(d) if d <= isize::MAX as usize / 16 => dims.push(d),
            _ => return malformed!("shape holds {d}, which is too large"),
        }
    }
    let Ok(numel) = mlrun_tensor_core::layout::checked_numel(&dims) else {
        return malformed!("shape {} is too large", show(&dims));
    };
    let expected = numel as u64 * dtype.size() as u64;
    if expected != data {
        return malformed!(
            "shape {} of {dtype} needs {expected} bytes of data, got {data}",
            show(&dims)
        );
    }
    Ok(dims)
}

/// The dtype, and whether its bytes are in big-endian order.
fn dtype(descr: &Descr) -> Result<(DType, bool), Problem> {
    let Descr::Simple(descr) = descr else {
        return malformed!("holds records (a structured dtype), expected an array of numbers");
    };
    let (swap, kind) = match descr.chars().next() {
        Some('<' | '|' | '=') => (false, &descr[1..]),
        Some('>') => (true, &descr[1..]),
        _ => (false, descr.as_str()),
    };
    let dtype = match kind {
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "i1" => DType::I8,
        "u1" => DType::U8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "b1" | "?" => DType::Bool,
        "V2" => DType::BF16,
        _ if kind.starts_with('O') => {
            return malformed!(
                "holds Python objects (pickled), which are not read; save an array of numbers"
            );
        }
        _ => {
            return malformed!(
                "dtype {} has no counterpart here, convert it in NumPy with astype, such as to \
                 int64 or float32",
                shown(descr)
            );
        }
    };
    Ok((dtype, swap && dtype.size() > 1))
}

fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::I8 => "|i1",
        DType::U8 => "|u1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::Bool => "|b1",
        DType::BF16 => "<V2",
    }
}

fn header(t: &Tensor) -> Vec<u8> {
    let shape: Vec<String> = t.shape().iter().map(|d| d.to_string()).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        descr(t.dtype),
        shape.join(", "),
    );
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(ALIGN) - before;
    text.push_str(&" ".repeat(padded - 1 - text.len()));
    text.push('\n');
    // At most 64 dimensions of 20 digits: far below 2^16.
    let length = (text.len() as u16).to_le_bytes();
    [&MAGIC[..], &[1, 0], &length, text.as_bytes()].concat()
}

pub(crate) fn write(t: &Tensor, out: &mut impl Write) -> Result<(), Problem> {
    if t.ndim() > 64 {
        return Err(Problem::Argument(format!(
            "the tensor has {} dimensions, expected at most 64",
            t.ndim()
        )));
    }
    atomic::put(out, &header(t))?;
    bytes::write_tensor(t, out).map_err(Problem::write)
}
