//! The three ways to a product: dot products, tiles over operands in place, packed blocks.

use super::*;

impl<T: Gemm> Job<T> {
    /// Few rows times a matrix whose columns are contiguous (`x @ w.T` with a small batch):
    /// one dot product per element.
    ///
    /// # Safety
    /// As [`gemm`]; `b.rs` is 1.
    pub(super) unsafe fn dots(&self, threads: &Threads) -> Result<(), NoScratch> {
        let Shape { m, n, k } = self.shape;
        let kernels = T::kernels();
        let packed = if self.a.cs == 1 { None } else { Some(Scratch::new::<T>(m * k + SLACK)?) };
        if let Some(p) = &packed {
            for i in 0..m {
                // SAFETY: the scratch holds m rows of k numbers; A covers m x k.
                unsafe {
                    pack_panel(p.as_ptr::<T>().add(i * k), 1, self.a.at(i, 0).transposed(), k, 1)
                }
            }
        }
        let rows = match &packed {
            Some(p) => Mat { ptr: p.as_ptr::<T>().cast_const(), rs: k as isize, cs: 1 },
            None => self.a,
        };
        threads.split(n, ((1usize << 16) / k).max(4), |cols| {
            for i in 0..m {
                let mut j = cols.start;
                while j < cols.end {
                    let count = (cols.end - j).min(4);
                    let mut out = [T::default(); 4];
                    let (x, y) = (rows.at(i, 0).ptr, self.b.at(0, j).ptr);
                    // SAFETY: `k` numbers from x, and from each of `count` columns from y.
                    unsafe { (kernels.dot)(k, x, y, self.b.cs, count, &mut out) };
                    for (d, v) in out.iter().enumerate().take(count) {
                        let c = self.c.at(i, j + d);
                        // SAFETY: inside C; parts of `split` are disjoint.
                        unsafe { *c = if self.add { T::sum(*c, *v) } else { *v } };
                    }
                    j += count;
                }
            }
        });
        Ok(())
    }

    /// Small products: A in place, B in place where its rows are contiguous.
    ///
    /// # Safety
    /// As [`gemm`]; A has contiguous rows or columns, or one row.
    pub(super) unsafe fn direct(&self, threads: &Threads, work: usize) -> Result<(), NoScratch> {
        let Shape { m, n, k } = self.shape;
        let kernels = T::kernels();
        let nr = kernels.nr;
        // Panels that cannot be read in place: all, or the last one if it is short.
        let first_packed = if self.b.cs == 1 { n / nr } else { 0 };
        let panels = n.div_ceil(nr);
        let packed = Scratch::new::<T>((panels - first_packed) * nr * k + SLACK)?;
        for p in first_packed..panels {
            let width = nr.min(n - p * nr);
            // SAFETY: the scratch holds `panels - first_packed` panels; B covers k x n.
            unsafe {
                let dst = packed.as_ptr::<T>().add((p - first_packed) * nr * k);
                pack_panel(dst, nr, self.b.at(0, p * nr), k, width);
            }
        }
        let source = Panels { packed: packed.as_ptr(), first_packed };
        if work < SPLIT_WORK || threads.count() == 1 {
            // SAFETY: the whole product.
            unsafe { self.tiles(kernels, &source, 0..m, 0..panels) };
            return Ok(());
        }
        // A product with a vector waits for memory, not for arithmetic.
        let wake = work >= if m <= 4 { SPLIT_WORK } else { WAKE_WORK };
        let (count, tiles) = (threads.count(), m.div_ceil(kernels.mr));
        let parts = count * 2;
        // Whichever dimension comes out more even; rows where both do.
        let uneven = |n: usize| n.div_ceil(count) * count * 1000 / n.max(1);
        if tiles >= count && (panels < count || uneven(tiles) <= uneven(panels)) {
            let parts = parts.min(tiles);
            // SAFETY: disjoint rows.
            threads.run_hinted(parts, wake, &|i| unsafe {
                self.tiles(kernels, &source, share(i, parts, tiles, kernels.mr, m), 0..panels)
            });
        } else {
            let parts = parts.min(panels);
            // SAFETY: disjoint columns.
            threads.run_hinted(parts, wake, &|i| unsafe {
                self.tiles(kernels, &source, 0..m, share(i, parts, panels, 1, panels))
            });
        }
        Ok(())
    }

    /// The tiles of some rows and panels, over the whole depth.
    ///
    /// # Safety
    /// As [`gemm`]; rows and panels lie inside the product.
    unsafe fn tiles(
        &self,
        kernels: &Kernels<T>,
        source: &Panels<T>,
        rows: Range<usize>,
        panels: Range<usize>,
    ) {
        let Shape { n, k, .. } = self.shape;
        let mut p = panels.start;
        while p < panels.end {
            let at = p * kernels.nr;
            let (b, b_rs) = match p.checked_sub(source.first_packed) {
                Some(i) => (
                    source.packed.wrapping_add(i * kernels.nr * k).cast_const(),
                    kernels.nr as isize,
                ),
                None => (self.b.at(0, at).ptr, self.b.rs),
            };
            // One row reads B once, in long pieces.
            let in_place = source.first_packed.min(panels.end);
            let wide = rows.len() == 1 && p + kernels.wide / kernels.nr <= in_place;
            let width = if wide { kernels.wide } else { kernels.nr };
            let mut i = rows.start;
            while i < rows.end {
                let count = kernels.mr.min(rows.end - i);
                let tile = Tile {
                    k,
                    a: self.a.at(i, 0).ptr,
                    a_rs: self.a.rs,
                    a_cs: self.a.cs,
                    b,
                    b_rs,
                    c: self.c.at(i, at),
                    c_rs: self.c.rs,
                    c_cs: self.c.cs,
                    cols: width.min(n - at),
                    add: self.add,
                };
                let of_rows = if self.a.cs == 1 { kernels.rows } else { kernels.columns };
                // A single row is a column of one number at a time, whatever its strides.
                let of_rows = if count == 1 { kernels.columns } else { of_rows };
                let f = if wide { kernels.row } else { of_rows[count - 1] };
                // SAFETY: `count` rows and `cols` columns lie inside the product; B has a full
                // panel, in place or packed.
                unsafe { f(&tile) };
                i += count;
            }
            p += width / kernels.nr;
        }
    }

    /// Large products: B packed by all threads, then rows in blocks.
    ///
    /// # Safety
    /// As [`gemm`].
    pub(super) unsafe fn blocked(&self, threads: &Threads) -> Result<(), NoScratch> {
        let Shape { n, k, .. } = self.shape;
        let kernels = T::kernels();
        let nr = kernels.nr;
        // Blocks of equal depth, so that the last one is not a short one.
        let depth = k.div_ceil(k.div_ceil(kernels.kc));
        let width = n.min(kernels.nc).next_multiple_of(nr);
        let packed = Scratch::new::<T>(width * depth + SLACK)?;
        let to = SyncPtr(packed.as_ptr::<T>());
        let failed = AtomicBool::new(false);
        for jc in (0..n).step_by(width) {
            let cols = width.min(n - jc);
            for pc in (0..k).step_by(depth) {
                let kb = depth.min(k - pc);
                threads.split(cols.div_ceil(nr), (1usize << 14).div_ceil(nr * kb), |panels| {
                    for p in panels {
                        let dst = to.get().wrapping_add(p * nr * kb);
                        let src = self.b.at(pc, jc + p * nr);
                        // SAFETY: panel `p` has its own place in the scratch; B covers k x n.
                        unsafe { pack_panel(dst, nr, src, kb, nr.min(cols - p * nr)) };
                    }
                });
                let block = Block { jc, cols, pc, kb, b: to.get() };
                // SAFETY: passed on to the caller.
                unsafe { self.rows(threads, kernels, &block, &failed) };
                if failed.load(Relaxed) {
                    return Err(NoScratch { bytes: kernels.mc * depth * size_of::<T>() });
                }
            }
        }
        Ok(())
    }

    /// Multiplies all rows of A with one packed block of B.
    ///
    /// # Safety
    /// As [`gemm`]; the block is packed.
    unsafe fn rows(
        &self,
        threads: &Threads,
        kernels: &'static Kernels<T>,
        block: &Block<T>,
        failed: &AtomicBool,
    ) {
        let m = self.shape.m;
        let count = threads.count();
        let mr = kernels.mr;
        // As many blocks for each thread, of one size or a tile apart.
        // Smaller ones where B stays in the second cache anyway: they even out the threads.
        let near = block.cols * block.kb * size_of::<T>() <= 256 << 10;
        let most = if count > 1 && near { kernels.mc / 2 } else { kernels.mc };
        let tiles = m.div_ceil(mr);
        let row_blocks = m.div_ceil(most).next_multiple_of(count).min(tiles.div_ceil(2));
        // Few rows are cut along the columns too; A is then packed once per part.
        let parts = if row_blocks >= 2 * count { 1 } else { (2 * count).div_ceil(row_blocks) };
        let panels = block.cols.div_ceil(kernels.nr);
        let parts = if count == 1 { 1 } else { parts.min(panels.div_ceil(8)) };
        let per_part = panels.div_ceil(parts);
        threads.run(row_blocks * parts, &|task| {
            let block_rows = share(task / parts, row_blocks, tiles, mr, m);
            let (ic, rows) = (block_rows.start, block_rows.len());
            let first = task % parts * per_part;
            let range = first..(first + per_part).min(panels);
            let Ok(a) = Scratch::new::<T>(rows.next_multiple_of(mr) * block.kb + SLACK) else {
                failed.store(true, Relaxed);
                return;
            };
            for i in (0..rows).step_by(mr) {
                let src = self.a.at(ic + i, block.pc).transposed();
                // SAFETY: the scratch holds the block's rows, rounded up to whole panels.
                unsafe {
                    let dst = a.as_ptr::<T>().add(i * block.kb);
                    pack_panel(dst, mr, src, block.kb, mr.min(rows - i));
                }
            }
            for p in range {
                for i in (0..rows).step_by(mr) {
                    let at = block.jc + p * kernels.nr;
                    let tile = Tile {
                        k: block.kb,
                        a: a.as_ptr::<T>().wrapping_add(i * block.kb).cast_const(),
                        a_rs: 1,
                        a_cs: mr as isize,
                        b: block.b.wrapping_add(p * kernels.nr * block.kb).cast_const(),
                        b_rs: kernels.nr as isize,
                        c: self.c.at(ic + i, at),
                        c_rs: self.c.rs,
                        c_cs: self.c.cs,
                        cols: kernels.nr.min(block.cols - p * kernels.nr),
                        add: self.add || block.pc > 0,
                    };
                    // SAFETY: both operands are packed and padded; the tile's rows and columns
                    // lie inside C and belong to this task alone.
                    unsafe { kernels.packed[mr.min(rows - i) - 1](&tile) };
                }
            }
        });
    }
}

/// Part `i` of `parts` of `tiles` tiles of `size` elements, of which `n` exist.
fn share(i: usize, parts: usize, tiles: usize, size: usize, n: usize) -> Range<usize> {
    let edge = |i: usize| (i * tiles / parts * size).min(n);
    edge(i)..edge(i + 1)
}

/// Where the panels of B are.
struct Panels<T> {
    packed: *mut T,
    first_packed: usize,
}

// SAFETY: read-only while tiles run.
unsafe impl<T: Sync> Sync for Panels<T> {}

/// One packed block of B.
struct Block<T> {
    jc: usize,
    cols: usize,
    pc: usize,
    kb: usize,
    b: *mut T,
}

// SAFETY: read-only while tiles run.
unsafe impl<T: Sync> Sync for Block<T> {}
