//! Convolutions with the channels of a pixel side by side: products whose rows are pixels.
//!
//! An image is copied with its padding and its channels last, its *field*: what a window has of one
//! image row is then one run of numbers, so that windows are read where they lie, and no column is
//! computed that no result needs. Forward a window is a row of A and the weights are packed once; the
//! gradient by the images adds for each tap what the results' gradients give the pixels that it meets;
//! that by the weight multiplies for each tap the results' gradients with these pixels.
//! Invariant: as in [`crate::conv`].

use crate::conv::{Geometry, Parts};
use crate::copy::turned;
use crate::dense::Number;
use crate::gemm::{Panel, Runs, add_spread, add_taps, of_windows, panel};
use crate::ptr::SyncPtr;
use crate::scratch::{NoScratch, Scratch};
use crate::threads::Threads;
use std::ops::Range;

/// Channels of a vector.
const CHANNELS: usize = 16;
/// Results for which weights are packed: fewer of them cost less as columns.
const RESULTS: usize = 64;
/// Numbers of the largest field: beyond, what a tap adds to is not near any more (measured).
const FIELD: usize = 1 << 18;

impl Geometry {
    /// Whether windows are read from fields.
    pub(crate) fn by_pixels(&self) -> bool {
        // The taps of a window's row are neighbours.
        let runs = self.kernel[1] == 1 || self.dilation[1] == 1;
        // At most a fifth of the vectors is computed and dropped.
        let fill = |n: usize| n >= CHANNELS && 5 * n >= 4 * n.next_multiple_of(CHANNELS);
        let wide = fill(self.channels()) && fill(self.outputs());
        let many = self.n * self.pixels() >= RESULTS;
        !self.pointwise() && runs && wide && many && self.field() <= FIELD
    }

    fn padded(&self) -> [usize; 2] {
        [0, 1].map(|d| self.image[d] + 2 * self.padding[d])
    }

    /// Numbers of a field.
    fn field(&self) -> usize {
        let [h, w] = self.padded();
        h.saturating_mul(w).saturating_mul(self.channels())
    }

    /// Where the windows of some images begin in their fields.
    fn windows_of(&self, images: usize) -> Vec<isize> {
        let (width, channels) = (self.padded()[1], self.channels());
        let mut at = Vec::with_capacity(images * self.pixels());
        for i in 0..images {
            for y in 0..self.out[0] {
                let row = i * self.field() + y * self.stride[0] * width * channels;
                at.extend((0..self.out[1]).map(|x| (row + x * self.stride[1] * channels) as isize));
            }
        }
        at
    }

    /// Where tap `t` lies in a window.
    fn tap(&self, t: usize) -> usize {
        let (i, j) = (t / self.kernel[1], t % self.kernel[1]);
        let row = i * self.dilation[0] * self.padded()[1];
        (row + j * self.dilation[1]) * self.channels()
    }

    /// A window as runs of a field.
    fn runs(&self) -> Runs {
        let length = self.kernel[1] * self.channels();
        let row = self.dilation[0] * self.padded()[1] * self.channels();
        let gap = if self.kernel[0] > 1 { row - length } else { 0 };
        Runs { count: self.kernel[0], length, gap }
    }
}

/// Room for fields, with a panel behind them that is read and dropped.
fn fields<T: Number>(g: &Geometry, images: usize) -> Result<Scratch, NoScratch> {
    let numbers = g.field() * images;
    let room = Scratch::new::<T>(numbers + panel::<T>())?;
    // SAFETY: the room has a panel behind the fields.
    unsafe { room.as_ptr::<T>().add(numbers).write_bytes(0, panel::<T>()) };
    Ok(room)
}

/// Calls `f` with each row of an image: its address in the field, that in the image's first channel,
/// and how many pixels follow each other in both.
fn each_row<T>(
    g: &Geometry,
    [image, field]: [*mut T; 2],
    mut f: impl FnMut(*mut T, *mut T, usize),
) {
    let ([h, w], [_, width], c) = (g.image, g.padded(), g.channels());
    let [above, left] = g.padding;
    if g.padding == [0, 0] {
        return f(field, image, h * w);
    }
    for y in 0..h {
        f(field.wrapping_add(((y + above) * width + left) * c), image.wrapping_add(y * w), w);
    }
}

/// Copies an image into its field.
///
/// # Safety
/// Both have the extents of the geometry.
unsafe fn to_field<T: Number>(g: &Geometry, image: *mut T, field: *mut T) {
    let (plane, c) = (g.image[0] * g.image[1], g.channels());
    if g.padding != [0, 0] {
        // SAFETY: the caller vouches for the field.
        unsafe { std::slice::from_raw_parts_mut(field, g.field()).fill(T::default()) };
    }
    each_row(g, [image, field], |field, row, n| {
        // SAFETY: `n` pixels of `c` channels on both sides.
        unsafe { turned(field, c, row, plane, n, c) };
    });
}

/// What a task works on.
struct Task {
    group: usize,
    images: Range<usize>,
    panels: Range<usize>,
}

/// Calls `f` with the tasks that make `panels` panels for all images and groups.
fn each_task(
    threads: &Threads,
    g: &Geometry,
    panels: usize,
    f: impl Fn(Task) -> Result<(), NoScratch> + Sync,
) -> Result<(), NoScratch> {
    let count = threads.count();
    let parts = if count == 1 { 1 } else { (2 * count).div_ceil(g.groups) };
    let size = g.side_by_side(g.n, parts);
    let blocks = g.n.div_ceil(size) * g.groups;
    let cuts = cuts(count, blocks, panels);
    threads.try_each(blocks * cuts, |task| {
        let (block, cut) = (task / cuts, task % cuts);
        let first = block / g.groups * size;
        f(Task {
            group: block % g.groups,
            images: first..(first + size).min(g.n),
            panels: cut * panels / cuts..(cut + 1) * panels / cuts,
        })
    })
}

/// Into how many ranges of panels tasks are cut, so that every thread has some.
fn cuts(threads: usize, tasks: usize, panels: usize) -> usize {
    match threads {
        1 => 1,
        _ => (2 * threads).div_ceil(tasks.max(1)).clamp(1, panels.max(1)),
    }
}

/// The weights as panels of outputs: a panel has the taps of a window in a field's order.
fn pack_windows<T: Number>(
    threads: &Threads,
    g: &Geometry,
    weight: SyncPtr<T>,
) -> Result<Scratch, NoScratch> {
    let (k, og, c, taps, nr) = (g.depth(), g.outputs(), g.channels(), g.taps(), panel::<T>());
    let panels = og.div_ceil(nr);
    let packed = Scratch::new::<T>(g.groups * panels * k * nr)?;
    let to = SyncPtr(packed.as_ptr::<T>());
    threads.try_each(g.groups * panels, |task| {
        let (group, first) = (task / panels, task % panels * nr);
        let lanes = nr.min(og - first);
        let rows = Scratch::new::<T>(k * nr)?;
        let rows = rows.as_ptr::<T>();
        // SAFETY: `lanes` outputs of `k` weights each; both scratches hold a panel.
        unsafe {
            if lanes < nr {
                std::slice::from_raw_parts_mut(rows, k * nr).fill(T::default());
            }
            let from = weight.get().wrapping_add((group * og + first) * k);
            turned(rows, nr, from, k, k, lanes);
            let to = to.get().wrapping_add(task * k * nr);
            for t in 0..taps {
                for i in 0..c {
                    let from = rows.add((i * taps + t) * nr);
                    std::ptr::copy_nonoverlapping(from, to.add((t * c + i) * nr), nr);
                }
            }
        }
        Ok(())
    })?;
    Ok(packed)
}

/// The weights as panels of channels: a panel has for each tap a row for each output.
fn pack_taps<T: Number>(
    threads: &Threads,
    g: &Geometry,
    weight: SyncPtr<T>,
) -> Result<Scratch, NoScratch> {
    let (k, og, c, taps, nr) = (g.depth(), g.outputs(), g.channels(), g.taps(), panel::<T>());
    let panels = c.div_ceil(nr);
    let packed = Scratch::new::<T>(g.groups * panels * taps * og * nr)?;
    let to = SyncPtr(packed.as_ptr::<T>());
    threads.split(g.groups * panels, 1, |tasks| {
        for task in tasks {
            let (group, first) = (task / panels, task % panels * nr);
            let lanes = nr.min(c - first);
            let to = to.get().wrapping_add(task * taps * og * nr);
            // SAFETY: an output has `lanes` channels of `taps` weights from the first one on; the
            // scratch has a panel for each task.
            unsafe {
                if lanes < nr {
                    std::slice::from_raw_parts_mut(to, taps * og * nr).fill(T::default());
                }
                for o in 0..og {
                    let from = weight.get().wrapping_add((group * og + o) * k + first * taps);
                    turned(to.add(o * nr), og * nr, from, taps, taps, lanes);
                }
            }
        }
    });
    Ok(packed)
}

/// The result of a convolution.
///
/// # Safety
/// As [`crate::conv::forward`].
pub unsafe fn forward<T: Number>(
    threads: &Threads,
    g: &Geometry,
    x: *const T,
    weight: *const T,
    bias: Option<*const T>,
    y: *mut T,
) -> Result<(), NoScratch> {
    let (og, pixels, k, nr) = (g.outputs(), g.pixels(), g.depth(), panel::<T>());
    let (x, y) = (SyncPtr(x.cast_mut()), SyncPtr(y));
    let bias = bias.map(|b| SyncPtr(b.cast_mut()));
    let packed = pack_windows(threads, g, SyncPtr(weight.cast_mut()))?;
    let (weights, panels) = (SyncPtr(packed.as_ptr::<T>()), og.div_ceil(nr));
    each_task(threads, g, panels, |task| {
        let count = task.images.len();
        let (fields, windows) = (fields::<T>(g, count)?, g.windows_of(count));
        let from = task.panels.start * nr;
        let wide = (task.panels.end * nr).min(og) - from;
        let made = Scratch::new::<T>(count * pixels * wide)?;
        let (field, made) = (fields.as_ptr::<T>(), made.as_ptr::<T>());
        // SAFETY: the caller vouches for images and results, the scratches have room for those of
        // the task, and a panel of weights is packed for each panel of outputs.
        unsafe {
            for (i, n) in task.images.clone().enumerate() {
                let image = x.get().wrapping_add((n * g.groups + task.group) * g.plane());
                to_field(g, image, field.add(i * g.field()));
            }
            for p in task.panels {
                let b = weights.get().wrapping_add((task.group * panels + p) * k * nr);
                let cols = nr.min(og - p * nr);
                let b = Panel { b: b.cast_const(), cols };
                of_windows(field, &windows, g.runs(), b, made.add(p * nr - from), wide);
            }
            for (i, n) in task.images.enumerate() {
                let first = (n * g.groups + task.group) * og + from;
                let to = y.get().wrapping_add(first * pixels);
                turned(to, pixels, made.add(i * pixels * wide), wide, wide, pixels);
                for o in 0..if bias.is_some() { wide } else { 0 } {
                    let b = bias.map_or(T::default(), |b| *b.get().add(task.group * og + from + o));
                    let row = std::slice::from_raw_parts_mut(to.add(o * pixels), pixels);
                    row.iter_mut().for_each(|v| *v = *v + b);
                }
            }
        }
        Ok(())
    })
}

/// The gradient by the images.
///
/// # Safety
/// As [`crate::conv::input`].
pub unsafe fn input<T: Number>(
    threads: &Threads,
    g: &Geometry,
    gy: *const T,
    weight: *const T,
    gx: *mut T,
) -> Result<(), NoScratch> {
    let (og, pixels, c, nr) = (g.outputs(), g.pixels(), g.channels(), panel::<T>());
    let (taps, plane) = (g.taps(), g.image[0] * g.image[1]);
    let (gy, gx) = (SyncPtr(gy.cast_mut()), SyncPtr(gx));
    let packed = pack_taps(threads, g, SyncPtr(weight.cast_mut()))?;
    let (weights, panels) = (SyncPtr(packed.as_ptr::<T>()), c.div_ceil(nr));
    each_task(threads, g, panels, |task| {
        let count = task.images.len();
        let (fields, windows) = (fields::<T>(g, count)?, g.windows_of(count));
        let grads = Scratch::new::<T>(count * pixels * og)?;
        let (field, grad) = (fields.as_ptr::<T>(), grads.as_ptr::<T>());
        let first = task.panels.start * nr;
        let channels = (task.panels.end * nr).min(c) - first;
        // SAFETY: as in `forward`.
        unsafe {
            std::slice::from_raw_parts_mut(field, count * g.field()).fill(T::default());
            for (i, n) in task.images.clone().enumerate() {
                let from = gy.get().wrapping_add((n * g.groups + task.group) * og * pixels);
                turned(grad.add(i * pixels * og), og, from, pixels, pixels, og);
            }
            for p in task.panels {
                for t in 0..taps {
                    let b = ((task.group * panels + p) * taps + t) * og * nr;
                    let b = weights.get().wrapping_add(b).cast_const();
                    let b = Panel { b, cols: nr.min(c - p * nr) };
                    let to = field.wrapping_add(g.tap(t) + p * nr);
                    add_spread(og, grad, b, to, &windows);
                }
            }
            for (i, n) in task.images.enumerate() {
                let image = gx.get().wrapping_add((n * g.groups + task.group) * g.plane());
                each_row(g, [image, field.add(i * g.field())], |field, row, n| {
                    let (to, from) = (row.wrapping_add(first * plane), field.wrapping_add(first));
                    turned(to, plane, from, c, channels, n);
                });
            }
        }
        Ok(())
    })
}

/// The gradient by the weight.
///
/// # Safety
/// As [`crate::conv::weight`].
pub unsafe fn weight<T: Number>(
    threads: &Threads,
    g: &Geometry,
    gy: *const T,
    x: *const T,
    gw: *mut T,
) -> Result<(), NoScratch> {
    let (og, pixels, c, k) = (g.outputs(), g.pixels(), g.channels(), g.depth());
    let (taps, nr) = (g.taps(), panel::<T>());
    let parts = Parts::of(g);
    let size = g.side_by_side(parts.images, 1);
    let sums = Scratch::new::<T>(parts.count * g.groups * k * og)?;
    let (gy, x, sum) = (SyncPtr(gy.cast_mut()), SyncPtr(x.cast_mut()), SyncPtr(sums.as_ptr::<T>()));
    let panels = c.div_ceil(nr);
    let cuts = cuts(threads.count(), parts.count * g.groups, panels);
    threads.try_each(parts.count * g.groups * cuts, |task| {
        let (part, cut) = (task / cuts, task % cuts);
        let (fields, grads) = (fields::<T>(g, size)?, Scratch::new::<T>(size * pixels * og)?);
        let (field, merged) = (fields.as_ptr::<T>(), grads.as_ptr::<T>());
        let to = sum.get().wrapping_add(part * k * og);
        let all = parts.of_part(g, part / g.groups);
        if all.is_empty() && cut == 0 {
            // SAFETY: the part's own sums.
            unsafe { std::slice::from_raw_parts_mut(to, k * og).fill(T::default()) };
        }
        for first in all.clone().step_by(size) {
            let images = first..(first + size).min(all.end);
            let (windows, wide) = (g.windows_of(images.len()), images.len() * pixels);
            // SAFETY: as in `forward`; cuts of a part have channels of their own.
            unsafe {
                for (i, n) in images.clone().enumerate() {
                    let at = n * g.groups + part % g.groups;
                    to_field(g, x.get().wrapping_add(at * g.plane()), field.add(i * g.field()));
                    for o in 0..og {
                        let from = gy.get().wrapping_add((at * og + o) * pixels);
                        let to = merged.add(o * wide + i * pixels);
                        std::ptr::copy_nonoverlapping(from, to, pixels);
                    }
                }
                for p in cut * panels / cuts..(cut + 1) * panels / cuts {
                    for t in 0..taps {
                        let b = field.wrapping_add(g.tap(t) + p * nr).cast_const();
                        let b = Panel { b, cols: nr.min(c - p * nr) };
                        let to = to.wrapping_add(t * og * c + p * nr);
                        add_taps(og, merged, b, &windows, to, c, first > all.start);
                    }
                }
            }
        }
        Ok(())
    })?;
    join(threads, g, parts.count, sum, SyncPtr(gw));
    Ok(())
}

/// Adds the parts of a weight gradient, each taps x outputs x channels for each group.
fn join<T: Number>(threads: &Threads, g: &Geometry, parts: usize, sum: SyncPtr<T>, gw: SyncPtr<T>) {
    let (k, og, c, taps) = (g.depth(), g.outputs(), g.channels(), g.taps());
    threads.split(g.o, ((1usize << 14) / (parts * k).max(1)).max(1), |outputs| {
        for at in outputs {
            let (group, o) = (at / og, at % og);
            let first = sum.get().wrapping_add((group * og * taps + o) * c);
            // SAFETY: every part wrote its sums, of which this task alone adds those of its
            // outputs; weight gradients have `o * k` numbers.
            unsafe {
                for part in 1..parts {
                    for t in 0..taps {
                        let to = first.add(t * og * c);
                        let from = to.add(part * g.groups * k * og);
                        (0..c).for_each(|i| *to.add(i) = *to.add(i) + *from.add(i));
                    }
                }
                turned(gw.get().add(at * k), taps, first, og * c, c, taps);
            }
        }
    });
}
