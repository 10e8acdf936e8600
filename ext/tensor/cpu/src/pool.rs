//! Pooling of planes: the largest element or the mean of windows, and the mean's gradient.

use crate::dense::Number;
use crate::isa::{Isa, Kernel, dispatch};
use crate::ptr::SyncPtr;
use crate::threads::Threads;
use std::ops::Range;

/// Elements of windows that are worth handing to another thread.
const GRAIN: usize = 1 << 14;

/// Windows over planes of `image` extents.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    pub planes: usize,
    pub image: [usize; 2],
    pub out: [usize; 2],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

impl Windows {
    fn grain(&self) -> usize {
        (GRAIN / (self.out[0] * self.out[1] * self.kernel[0] * self.kernel[1]).max(1)).max(1)
    }

    /// Positions `first, first + dilation, ..` below the extent that window `o` has along `d`.
    fn span(&self, d: usize, o: usize) -> (usize, usize) {
        let start = (o * self.stride[d]) as isize - self.padding[d] as isize;
        let step = self.dilation[d] as isize;
        let first = if start < 0 { start + (-start + step - 1) / step * step } else { start };
        let end = start + self.kernel[d] as isize * step;
        (first as usize, end.min(self.image[d] as isize).max(0) as usize)
    }
}

/// Largest elements and their positions in the plane; the first NaN wins.
///
/// # Safety
/// The addresses cover `planes` planes of the extents.
pub unsafe fn max<T: Number>(threads: &Threads, w: &Windows, x: *const T, y: *mut T, at: *mut i64) {
    let (x, y, at) = (SyncPtr(x.cast_mut()), SyncPtr(y), SyncPtr(at));
    let (size, pixels) = (w.image[0] * w.image[1], w.out[0] * w.out[1]);
    // Columns of results whose windows lie inside the rows.
    let inner = (0..w.out[1]).filter(|&ox| {
        let (left, right) = w.span(1, ox);
        let start = (ox * w.stride[1]) as isize - w.padding[1] as isize;
        start >= 0 && right > left + (w.kernel[1] - 1) * w.dilation[1]
    });
    let inner = inner.clone().next().map_or(0..0, |first| first..first + inner.count());
    threads.split(w.planes, w.grain(), |planes| {
        for p in planes {
            let plane = x.get().wrapping_add(p * size).cast_const();
            for oy in 0..w.out[0] {
                let to = p * pixels + oy * w.out[1];
                let (y, at) = (y.get().wrapping_add(to), at.get().wrapping_add(to));
                let (top, bottom) = w.span(0, oy);
                let inner = if top < bottom { inner.clone() } else { 0..0 };
                for ox in (0..inner.start).chain(inner.end.max(inner.start)..w.out[1]) {
                    // SAFETY: both outputs have an element for each window.
                    unsafe { (*y.add(ox), *at.add(ox)) = largest(w, plane, oy, ox) };
                }
                dispatch(MaxRow { w, plane, oy, columns: inner, y, at });
            }
        }
    });
}

/// The largest element of a window that may reach outside, and its position.
///
/// # Safety
/// The plane has the extents of the windows' image.
unsafe fn largest<T: Number>(w: &Windows, plane: *const T, oy: usize, ox: usize) -> (T, i64) {
    let ((top, bottom), (left, right)) = (w.span(0, oy), w.span(1, ox));
    let mut place = top * w.image[1] + left;
    let mut best = T::of(f64::NEG_INFINITY);
    for iy in (top..bottom).step_by(w.dilation[0]) {
        for ix in (left..right).step_by(w.dilation[1]) {
            let i = iy * w.image[1] + ix;
            // SAFETY: the span lies inside the plane.
            let v = unsafe { *plane.add(i) };
            #[allow(clippy::eq_op)] // NaN
            if v > best || v != v {
                (best, place) = (v, i);
            }
        }
    }
    (best, place as i64)
}

/// Results whose windows lie inside the image's rows and have one: some at a time, without
/// branches.
struct MaxRow<'a, T> {
    w: &'a Windows,
    plane: *const T,
    oy: usize,
    columns: Range<usize>,
    y: *mut T,
    at: *mut i64,
}

impl<T: Number> Kernel for MaxRow<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        match self.w.stride[1] {
            1 => self.strided::<1>(1),
            2 => self.strided::<2>(2),
            s => self.strided::<0>(s),
        }
    }
}

impl<T: Number> MaxRow<'_, T> {
    /// `S` is the stride where that is known to the compiler.
    #[inline(always)]
    fn strided<const S: usize>(&self, stride: usize) {
        let stride = if S > 0 { S } else { stride };
        match self.columns.len() {
            0 => {}
            1..4 => self.columns.clone().for_each(|ox| self.some::<1>(ox, stride)),
            4..8 => self.all::<4>(stride),
            _ => self.all::<8>(stride),
        }
    }

    /// All columns, `N` at a time; the last ones begin earlier.
    #[inline(always)]
    fn all<const N: usize>(&self, stride: usize) {
        let last = self.columns.end - N;
        self.columns.clone().step_by(N).for_each(|ox| self.some::<N>(ox.min(last), stride));
    }

    /// The columns `first..first + N`.
    #[inline(always)]
    fn some<const N: usize>(&self, first: usize, stride: usize) {
        let w = self.w;
        let (top, bottom) = w.span(0, self.oy);
        let left = first * stride - w.padding[1];
        let at = top * w.image[1] + left;
        let mut place: [usize; N] = std::array::from_fn(|q| at + q * stride);
        for iy in (top..bottom).step_by(w.dilation[0]) {
            for kj in 0..w.kernel[1] {
                let at = iy * w.image[1] + left + kj * w.dilation[1];
                for (q, place) in place.iter_mut().enumerate() {
                    let i = at + q * stride;
                    // Choosing positions alone needs no branch, choosing numbers would.
                    // SAFETY: the windows of these columns lie inside the plane.
                    let (v, best) = unsafe { (*self.plane.add(i), *self.plane.add(*place)) };
                    #[allow(clippy::eq_op)] // NaN
                    let better = (v > best) | (v != v);
                    *place = std::hint::select_unpredictable(better, i, *place);
                }
            }
        }
        for (q, place) in place.into_iter().enumerate() {
            // SAFETY: both outputs have an element for each window, which has a row inside.
            unsafe {
                *self.y.add(first + q) = *self.plane.add(place);
                *self.at.add(first + q) = place as i64;
            }
        }
    }
}

/// What the sum of a window is divided by.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    /// Not 0: this number.
    pub fixed: i64,
    /// Padding counts as elements.
    pub with_padding: bool,
}

impl Divisor {
    fn of(&self, w: &Windows, oy: usize, ox: usize) -> f64 {
        if self.fixed != 0 {
            return self.fixed as f64;
        }
        let count = |d: usize, o: usize| {
            let start = (o * w.stride[d]) as isize - w.padding[d] as isize;
            let edge = (w.image[d] + w.padding[d]) as isize;
            let end = (start + w.kernel[d] as isize).min(edge);
            if self.with_padding {
                end - start
            } else {
                end.min(w.image[d] as isize) - start.max(0)
            }
        };
        (count(0, oy) * count(1, ox)) as f64
    }
}

/// Means of windows; with `back` the elements of `from` (one for each window) are spread over
/// their windows in `to`.
///
/// # Safety
/// As [`max`].
pub unsafe fn mean<T: Number>(
    threads: &Threads,
    w: &Windows,
    divisor: Divisor,
    from: *const T,
    to: *mut T,
    back: bool,
) {
    let (from, to) = (SyncPtr(from.cast_mut()), SyncPtr(to));
    let (size, pixels) = (w.image[0] * w.image[1], w.out[0] * w.out[1]);
    threads.split(w.planes, w.grain(), |planes| {
        for p in planes {
            let image = if back { to.get() } else { from.get() }.wrapping_add(p * size);
            let windows = if back { from.get() } else { to.get() }.wrapping_add(p * pixels);
            if back {
                // SAFETY: one plane of the output.
                unsafe { std::slice::from_raw_parts_mut(image, size).fill(T::default()) };
            }
            for oy in 0..w.out[0] {
                let (top, bottom) = w.span(0, oy);
                for ox in 0..w.out[1] {
                    let (left, right) = w.span(1, ox);
                    let divisor = T::of(divisor.of(w, oy, ox));
                    let window = windows.wrapping_add(oy * w.out[1] + ox);
                    // SAFETY: one element for each window.
                    let share = if back { unsafe { *window / divisor } } else { T::default() };
                    let mut sum = T::default();
                    for iy in top..bottom {
                        for ix in left..right {
                            // SAFETY: the span lies inside the plane.
                            unsafe {
                                let at = image.add(iy * w.image[1] + ix);
                                if back {
                                    *at = *at + share;
                                } else {
                                    sum = sum + *at;
                                }
                            }
                        }
                    }
                    if !back {
                        // SAFETY: as for the share.
                        unsafe { *window = sum / divisor };
                    }
                }
            }
        }
    });
}
