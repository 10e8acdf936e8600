//! Walks over several strided operands of one shape at a time.
//!
//! Dimensions are ordered by the output's strides and merged where every operand allows it, so
//! that what remains inside is as long as possible. Strides count elements.

use smallvec::SmallVec;
use std::ops::Range;

/// Dimensions left after merging, outermost first: extent and one stride per operand.
#[derive(Clone, Debug)]
pub struct Walk<const N: usize> {
    outer: SmallVec<[(usize, [isize; N]); 4]>,
    pub inner: usize,
    pub inner_strides: [isize; N],
}

impl<const N: usize> Walk<N> {
    /// Operand 0 decides the order. Every stride list has the shape's length.
    pub fn new(shape: &[usize], strides: [&[isize]; N]) -> Walk<N> {
        let mut dims: SmallVec<[(usize, [isize; N]); 6]> = shape
            .iter()
            .enumerate()
            .filter(|(_, d)| **d != 1)
            .map(|(i, &d)| (d, strides.map(|s| s.get(i).copied().unwrap_or(0))))
            .collect();
        if shape.contains(&0) {
            return Walk { outer: SmallVec::new(), inner: 0, inner_strides: [1; N] };
        }
        let sorted = dims.windows(2).all(|w| w[0].1[0].abs() >= w[1].1[0].abs());
        if !sorted {
            dims.sort_by_key(|d| std::cmp::Reverse(d.1[0].unsigned_abs()));
        }
        let mut merged: SmallVec<[(usize, [isize; N]); 4]> = SmallVec::new();
        for (d, s) in dims {
            match merged.last_mut() {
                Some((extent, outer)) if (0..N).all(|k| outer[k] == s[k] * d as isize) => {
                    *extent *= d;
                    *outer = s;
                }
                _ => merged.push((d, s)),
            }
        }
        let (inner, inner_strides) = merged.pop().unwrap_or((1, [1; N]));
        Walk { outer: merged, inner, inner_strides }
    }

    /// The dimensions around the inner one, outermost first.
    pub fn outer(&self) -> &[(usize, [isize; N])] {
        &self.outer
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.outer.iter().map(|d| d.0).product::<usize>() * self.inner
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `f` with each operand's offset and the length of each run of inner elements that
    /// lies in `range` of the walk's order.
    #[inline]
    pub fn runs(&self, range: Range<usize>, mut f: impl FnMut([isize; N], usize)) {
        if range.is_empty() {
            return;
        }
        let mut row = range.start / self.inner;
        let mut column = range.start % self.inner;
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        let mut base = [0isize; N];
        for (d, i) in self.outer.iter().zip(&mut index).rev() {
            *i = row % d.0;
            row /= d.0;
            shift(&mut base, *i as isize, &d.1);
        }
        let mut left = range.len();
        loop {
            let count = (self.inner - column).min(left);
            let mut at = base;
            shift(&mut at, column as isize, &self.inner_strides);
            f(at, count);
            left -= count;
            if left == 0 {
                return;
            }
            column = 0;
            for (d, i) in self.outer.iter().zip(&mut index).rev() {
                *i += 1;
                shift(&mut base, 1, &d.1);
                if *i < d.0 {
                    break;
                }
                shift(&mut base, -(d.0 as isize), &d.1);
                *i = 0;
            }
        }
    }
}

/// Moves offsets by `count` steps.
#[inline(always)]
fn shift<const N: usize>(offsets: &mut [isize; N], count: isize, strides: &[isize; N]) {
    for (o, s) in offsets.iter_mut().zip(strides) {
        *o += count * s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visited<const N: usize>(walk: &Walk<N>, range: Range<usize>) -> Vec<[isize; N]> {
        let mut all = Vec::new();
        walk.runs(range, |at, n| {
            for i in 0..n as isize {
                all.push(std::array::from_fn(|k| at[k] + i * walk.inner_strides[k]));
            }
        });
        all
    }

    #[test]
    fn contiguous_operands_merge_to_one_run() {
        let walk = Walk::new(&[2, 3, 4], [&[12, 4, 1], &[12, 4, 1]]);
        assert_eq!((walk.inner, walk.outer.len()), (24, 0));
        let broadcast = Walk::new(&[2, 3, 4], [&[12, 4, 1], &[0, 4, 1]]);
        assert_eq!((broadcast.inner, broadcast.outer.len()), (12, 1));
        assert_eq!(Walk::new(&[], [&[], &[]]).len(), 1);
        assert_eq!(Walk::new(&[3, 0], [&[0, 1], &[0, 1]]).len(), 0);
    }

    #[test]
    fn any_cut_visits_every_element_once() {
        let cases: [(&[usize], [&[isize]; 2]); 4] = [
            (&[2, 3, 4], [&[12, 4, 1], &[1, 2, 6]]),
            (&[3, 1, 5], [&[5, 5, 1], &[0, 7, 2]]),
            (&[4, 3], [&[1, 4], &[3, 1]]),
            (&[2, 2, 2, 2, 3], [&[24, 12, 6, 3, 1], &[1, 0, 16, 2, 4]]),
        ];
        for (shape, strides) in cases {
            let walk = Walk::new(shape, strides);
            let whole = visited(&walk, 0..walk.len());
            let mut want = Vec::new();
            for flat in 0..shape.iter().product::<usize>() {
                let (mut rest, mut at) = (flat, [0isize; 2]);
                for d in (0..shape.len()).rev() {
                    for k in 0..2 {
                        at[k] += (rest % shape[d]) as isize * strides[k][d];
                    }
                    rest /= shape[d];
                }
                want.push(at);
            }
            let sort = |mut v: Vec<[isize; 2]>| {
                v.sort();
                v
            };
            assert_eq!(sort(whole.clone()), sort(want), "{shape:?}");
            for cut in 0..=walk.len() {
                let mut parts = visited(&walk, 0..cut);
                parts.extend(visited(&walk, cut..walk.len()));
                assert_eq!(parts, whole, "{shape:?} at {cut}");
            }
        }
    }
}
