//! Shapes, strides and what can be said about them without data.

use crate::error::{Error, Result};
use smallvec::SmallVec;

/// Extents per dimension.
pub type Dims = SmallVec<[usize; 4]>;
/// Distances in elements per dimension; 0 where a dimension is expanded.
pub type Strides = SmallVec<[isize; 4]>;

/// How a tensor's elements lie in its storage, in elements, not bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub shape: Dims,
    pub strides: Strides,
    pub offset: usize,
}

impl Clone for Layout {
    // `SmallVec::clone` goes element by element and `from_slice` calls memmove, which is most of
    // what a tiny op costs. Inline, since a result that goes through memory once more is read
    // while it is still being written.
    #[inline(always)]
    fn clone(&self) -> Layout {
        if self.shape.spilled() || self.strides.spilled() {
            return self.clone_large();
        }
        // SAFETY: lists that are not spilled hold their numbers in themselves and own nothing, as
        // does the offset: the bits are a layout of their own.
        unsafe { std::ptr::read(self) }
    }
}

/// A copy of a shape, as [`Layout::clone`] makes it.
#[inline]
pub fn copy_dims(from: &Dims) -> Dims {
    if from.spilled() {
        return Dims::from_slice(from);
    }
    // SAFETY: as in `Layout::clone`.
    unsafe { std::ptr::read(from) }
}

/// Largest number of dimensions of a tensor.
pub const MAX_DIMS: usize = 64;

pub fn check_dims(ndim: usize) -> Result<()> {
    if ndim > MAX_DIMS {
        return Err(Error::shape(format!("got {ndim} dimensions, expected at most {MAX_DIMS}")));
    }
    Ok(())
}

/// Product of a shape; an error where it passes `isize::MAX`, or has too many dimensions.
pub fn checked_numel(shape: &[usize]) -> Result<usize> {
    check_dims(shape.len())?;
    // A zero anywhere makes the tensor empty, but the other extents must still be sane.
    let mut n: usize = 1;
    let mut empty = false;
    for &d in shape {
        if d == 0 {
            empty = true;
            continue;
        }
        n = n
            .checked_mul(d)
            .filter(|&n| n <= isize::MAX as usize / 16)
            .ok_or_else(|| Error::shape(format!("shape {} is too large", show(shape))))?;
    }
    Ok(if empty { 0 } else { n })
}

/// Row-major strides of a shape.
pub fn contiguous_strides(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(0, shape.len());
    let mut step = 1isize;
    for i in (0..shape.len()).rev() {
        strides[i] = step;
        step = step.saturating_mul(shape[i].max(1) as isize);
    }
    strides
}

/// `[2, 3]` as error messages show it.
pub fn show(shape: &[usize]) -> String {
    let parts: Vec<String> = shape.iter().map(|d| d.to_string()).collect();
    format!("[{}]", parts.join(", "))
}

impl Layout {
    /// As `clone`, into a place where no layout is.
    ///
    /// # Safety
    /// `to` is a place for a layout; one that is there already is forgotten.
    #[inline(always)]
    pub unsafe fn clone_to(&self, to: *mut Layout) {
        if self.shape.spilled() || self.strides.spilled() {
            // SAFETY: the caller vouches for the place.
            return unsafe { to.write(self.clone_large()) };
        }
        // SAFETY: as above, and as in `clone` the bits are a layout of their own; a place without
        // a layout is not the one of this layout.
        unsafe { std::ptr::copy_nonoverlapping(self, to, 1) };
    }

    #[cold]
    fn clone_large(&self) -> Layout {
        Layout {
            shape: Dims::from_slice(&self.shape),
            strides: Strides::from_slice(&self.strides),
            offset: self.offset,
        }
    }

    #[inline]
    pub fn contiguous(shape: &[usize]) -> Layout {
        Layout { shape: shape.into(), strides: contiguous_strides(shape), offset: 0 }
    }

    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements; the shape was checked when the layout was made.
    #[inline]
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Row-major without gaps, the offset aside. Extents of 1 may have any stride.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1isize;
        for (&d, &s) in self.shape.iter().zip(&self.strides).rev() {
            if d == 0 {
                return true;
            }
            if d != 1 {
                if s != step {
                    return false;
                }
                step *= d as isize;
            }
        }
        true
    }

    /// Several elements share one place, as after expand.
    pub fn overlaps(&self) -> bool {
        let expanded = |(&d, &s): (&usize, &isize)| d > 1 && s == 0;
        self.numel() > 0 && self.shape.iter().zip(&self.strides).any(expanded)
    }

    /// Strides to read this layout as the larger `shape` (NumPy broadcasting).
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        let pad = shape
            .len()
            .checked_sub(self.ndim())
            .ok_or_else(|| Error::shape(mismatch(&self.shape, shape)))?;
        let mut strides: Strides = SmallVec::from_elem(0, shape.len());
        for (i, (&d, &s)) in self.shape.iter().zip(&self.strides).enumerate() {
            if d == shape[pad + i] {
                strides[pad + i] = s;
            } else if d != 1 {
                return Err(Error::shape(mismatch(&self.shape, shape)));
            }
        }
        Ok(Layout { shape: shape.into(), strides, offset: self.offset })
    }

    /// A view with another shape where strides allow it, else `None` (a copy is needed).
    pub fn reshape(&self, shape: &[usize]) -> Option<Layout> {
        if self.numel() == 0 || self.is_contiguous() {
            return Some(Layout { offset: self.offset, ..Layout::contiguous(shape) });
        }
        // Match groups of old dimensions with groups of new ones of the same product.
        let mut old: SmallVec<[(usize, isize); 4]> = SmallVec::new();
        for (&d, &s) in self.shape.iter().zip(&self.strides) {
            if d != 1 {
                old.push((d, s));
            }
        }
        let mut strides: Strides = SmallVec::from_elem(1, shape.len());
        let (mut oi, mut ni) = (0, 0);
        while oi < old.len() && ni < shape.len() {
            let (mut op, mut np) = (old[oi].0, shape[ni]);
            let (mut oj, mut nj) = (oi + 1, ni + 1);
            while op != np {
                if np < op {
                    np *= *shape.get(nj)?;
                    nj += 1;
                } else {
                    op *= old.get(oj)?.0;
                    oj += 1;
                }
            }
            for k in oi..oj - 1 {
                if old[k].1 != old[k + 1].1 * old[k + 1].0 as isize {
                    return None;
                }
            }
            let mut s = old[oj - 1].1;
            for k in (ni..nj).rev() {
                strides[k] = s;
                s *= shape[k] as isize;
            }
            oi = oj;
            ni = nj;
        }
        Some(Layout { shape: shape.into(), strides, offset: self.offset })
    }

    /// Number of storage elements that the layout may touch, from element 0 on.
    pub fn span(&self) -> usize {
        if self.numel() == 0 {
            return self.offset;
        }
        let last: isize =
            self.shape.iter().zip(&self.strides).map(|(&d, &s)| (d as isize - 1) * s.max(0)).sum();
        self.offset + last as usize + 1
    }
}

fn mismatch(from: &[usize], to: &[usize]) -> String {
    format!("cannot broadcast shape {} to {}", show(from), show(to))
}

/// The common shape of two operands (NumPy broadcasting).
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Dims> {
    let n = a.len().max(b.len());
    let mut out: Dims = SmallVec::from_elem(1, n);
    for i in 0..n {
        let da = if i + a.len() >= n { a[i + a.len() - n] } else { 1 };
        let db = if i + b.len() >= n { b[i + b.len() - n] } else { 1 };
        out[i] = match (da, db) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => {
                return Err(Error::shape(format!(
                    "shapes do not broadcast, got {} and {}",
                    show(a),
                    show(b)
                )));
            }
        };
    }
    checked_numel(&out)?;
    Ok(out)
}

/// A dimension index, negative from the end, checked against `ndim`.
pub fn wrap_dim(dim: i64, ndim: usize) -> Result<usize> {
    let n = ndim.max(1) as i64;
    let d = if dim < 0 { dim + n } else { dim };
    if d < 0 || d >= n {
        return Err(Error::shape(format!(
            "dim {dim} is out of range for a tensor of {ndim} dimensions, expected {} to {}",
            -n,
            n - 1
        )));
    }
    Ok(d as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts() {
        assert_eq!(broadcast(&[3, 1], &[1, 4]).unwrap().as_slice(), &[3, 4]);
        assert_eq!(broadcast(&[], &[2]).unwrap().as_slice(), &[2]);
        assert_eq!(broadcast(&[0], &[1]).unwrap().as_slice(), &[0]);
        assert!(broadcast(&[2], &[3]).is_err());
    }

    #[test]
    fn reshapes_views_only_where_strides_allow() {
        let l = Layout::contiguous(&[4, 6]);
        assert_eq!(l.reshape(&[2, 2, 6]).unwrap().strides.as_slice(), &[12, 6, 1]);
        let t = Layout {
            shape: [6, 4].as_slice().into(),
            strides: [1, 6].as_slice().into(),
            offset: 0,
        };
        assert!(t.reshape(&[24]).is_none());
        assert_eq!(t.reshape(&[2, 3, 4]).unwrap().strides.as_slice(), &[3, 1, 6]);
        let ones = Layout {
            shape: [1, 6].as_slice().into(),
            strides: [99, 2].as_slice().into(),
            offset: 0,
        };
        assert_eq!(ones.reshape(&[6, 1]).unwrap().strides.as_slice(), &[2, 1]);
    }

    #[test]
    fn refuses_overflowing_shapes() {
        assert!(checked_numel(&[usize::MAX, 2]).is_err());
        assert!(checked_numel(&[1 << 40, 1 << 40]).is_err());
        assert_eq!(checked_numel(&[0, 1 << 40]).unwrap(), 0);
    }
}
