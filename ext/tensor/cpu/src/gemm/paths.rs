//! The three ways to a product: dot products, tiles over operands in place, packed blocks.

use super::*;

/// Rows of A that are packed at once.
const MOST_ROWS: usize = 3072;
/// Numbers that are packed in a few microseconds.
const PACK_GRAIN: usize = 1 << 14;

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
                        unsafe {
                            let v = if self.add { T::sum(*c, *v) } else { *v };
                            let plus = self.plus_at(i, j + d);
                            *c = if plus.is_null() { v } else { T::sum(v, *plus) };
                        }
                    }
                    j += count;
                }
            }
        });
        Ok(())
    }

    /// Where what is added to element `i, j` stands; null for nothing.
    pub(super) fn plus_at(&self, i: usize, j: usize) -> *const T {
        if self.plus.ptr.is_null() { std::ptr::null() } else { self.plus.at(i, j).ptr }
    }

    /// Small products: A in place, B in place where its rows are contiguous.
    ///
    /// # Safety
    /// As [`gemm`]; A has contiguous rows or columns, or one row.
    pub(super) unsafe fn direct(&self, threads: &Threads, work: usize) -> Result<(), NoScratch> {
        let Shape { m, n, k } = self.shape;
        let kernels = T::kernels();
        let narrow = n <= kernels.lanes && self.a.cs == 1;
        let nr = if narrow { kernels.lanes } else { kernels.nr };
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
        let source = Panels { packed: packed.as_ptr(), first_packed, nr };
        if work < SPLIT_WORK || threads.count() == 1 {
            // SAFETY: the whole product.
            unsafe { self.tiles(kernels, &source, 0..m, 0..panels) };
            return Ok(());
        }
        // A product with a vector waits for memory, not for arithmetic.
        let wake = work >= if m <= 4 { SPLIT_WORK } else { WAKE_WORK };
        let (count, tiles) = (threads.count(), m.div_ceil(kernels.mr));
        let parts = count * 2;
        // Whichever dimension comes out more even; the longer one where both do, as all threads
        // read the whole operand of the other.
        let uneven = |n: usize| n.div_ceil(count) * count * 1000 / n.max(1);
        let even = (uneven(tiles), n) <= (uneven(panels), m);
        if tiles >= count && (panels < count || even) {
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
        let nr = source.nr;
        // A single row is a column of one number at a time, whatever its strides.
        let of_rows = match (nr < kernels.nr, self.a.cs == 1 && rows.len() > 1) {
            (true, _) => kernels.narrow,
            (_, true) => kernels.rows,
            (_, false) => kernels.columns,
        };
        let mut p = panels.start;
        while p < panels.end {
            let at = p * nr;
            let (b, b_rs) = match p.checked_sub(source.first_packed) {
                Some(i) => (source.packed.wrapping_add(i * nr * k).cast_const(), nr as isize),
                None => (self.b.at(0, at).ptr, self.b.rs),
            };
            // One row reads B once, in long pieces.
            let in_place = source.first_packed.min(panels.end);
            let wide = rows.len() == 1 && nr == kernels.nr && p + kernels.wide / nr <= in_place;
            let width = if wide { kernels.wide } else { nr };
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
                    plus: self.plus_at(i, at),
                    plus_rs: self.plus.rs,
                    plus_cs: self.plus.cs,
                    ..Tile::NONE
                };
                let f = if wide { kernels.row } else { of_rows[count - 1] };
                // SAFETY: `count` rows and `cols` columns lie inside the product; B has a full
                // panel, in place or packed.
                unsafe { f(&tile) };
                i += count;
            }
            p += width / nr;
        }
    }

    /// Large products. A block of B is packed by all threads and stays in the second cache while
    /// the rows of A pass by, some at a time in the first: C is then written along its rows, and
    /// few pages are in use. A is read in place where its rows are contiguous and not passed too
    /// often; else packed.
    ///
    /// # Safety
    /// As [`gemm`].
    pub(super) unsafe fn blocked(&self, threads: &Threads) -> Result<(), NoScratch> {
        let Shape { m, n, k } = self.shape;
        let kernels = T::kernels();
        let (mr, nr) = (kernels.mr, kernels.nr);
        // Blocks of equal size, so that the last one is not a short one.
        let depth = k.div_ceil(k.div_ceil(kernels.kc));
        let width = n.div_ceil(n.div_ceil(kernels.nc)).next_multiple_of(nr);
        let height = m.div_ceil(m.div_ceil(MOST_ROWS)).next_multiple_of(mr);
        let of_a = match n <= width {
            _ if self.a.cs == 1 && n <= 2 * width => OfA::InPlace,
            true => OfA::ByTile,
            false => OfA::Packed,
        };
        let kept = if let OfA::Packed = of_a { height * depth + SLACK } else { 0 };
        let packed = Scratch::new::<T>(width * depth + SLACK + kept)?;
        let b = SyncPtr(packed.as_ptr::<T>());
        let a = SyncPtr(b.get().wrapping_add(width * depth + SLACK));
        for ic in (0..m).step_by(height) {
            let rows = ic..(ic + height).min(m);
            for pc in (0..k).step_by(depth) {
                let kb = depth.min(k - pc);
                for jc in (0..n).step_by(width) {
                    let cols = jc..(jc + width).min(n);
                    let rows = rows.clone();
                    let block = Block { rows, cols, pc, kb, of_a, a: a.get(), b: b.get() };
                    // SAFETY: passed on to the caller; the scratch holds both blocks.
                    unsafe {
                        if jc == 0 && kept > 0 {
                            self.pack_a(threads, kernels, &block);
                        }
                        self.pack_b(threads, kernels, &block);
                        self.block(threads, kernels, &block)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`gemm`]; the block's scratch has room for its rows of A.
    unsafe fn pack_a(&self, threads: &Threads, kernels: &Kernels<T>, block: &Block<T>) {
        let (rows, mr) = (&block.rows, kernels.mr);
        let grain = PACK_GRAIN.div_ceil(mr * block.kb);
        threads.split(rows.len().div_ceil(mr), grain, |tiles| {
            for r in tiles {
                let i = rows.start + r * mr;
                let dst = block.a.wrapping_add(r * mr * block.kb);
                let src = self.a.at(i, block.pc).transposed();
                // SAFETY: tile `r` has its own place in the scratch; A covers m x k.
                unsafe { pack_panel(dst, mr, src, block.kb, mr.min(rows.end - i)) };
            }
        });
    }

    /// # Safety
    /// As [`gemm`]; the block's scratch has room for its columns of B.
    unsafe fn pack_b(&self, threads: &Threads, kernels: &Kernels<T>, block: &Block<T>) {
        let (cols, nr) = (&block.cols, kernels.nr);
        let grain = PACK_GRAIN.div_ceil(nr * block.kb);
        threads.split(cols.len().div_ceil(nr), grain, |panels| {
            for p in panels {
                let j = cols.start + p * nr;
                let dst = block.b.wrapping_add(p * nr * block.kb);
                let src = self.b.at(block.pc, j);
                // SAFETY: panel `p` has its own place in the scratch; B covers k x n.
                unsafe { pack_panel(dst, nr, src, block.kb, nr.min(cols.end - j)) };
            }
        });
    }

    /// Multiplies the rows of a block with its columns.
    ///
    /// # Safety
    /// As [`gemm`]; the block is packed.
    unsafe fn block(
        &self,
        threads: &Threads,
        kernels: &Kernels<T>,
        block: &Block<T>,
    ) -> Result<(), NoScratch> {
        let tiles = block.rows.len().div_ceil(kernels.mr);
        let panels = block.cols.len().div_ceil(kernels.nr);
        let count = threads.count();
        // Few rows are cut along the columns too.
        let row_parts = if count == 1 { 1 } else { tiles.min(8 * count) };
        let col_parts = (2 * count).div_ceil(row_parts).min(panels);
        let col_parts = if row_parts >= 2 * count || count == 1 { 1 } else { col_parts };
        threads.try_each(row_parts * col_parts, |task| {
            let rows = share(task / col_parts, row_parts, tiles, 1, tiles);
            let panels = share(task % col_parts, col_parts, panels, 1, panels);
            // SAFETY: passed on to the caller; each task has its own tiles.
            unsafe { self.tile_rows(kernels, block, rows, panels) }
        })
    }

    /// # Safety
    /// As [`Job::block`].
    unsafe fn tile_rows(
        &self,
        kernels: &Kernels<T>,
        block: &Block<T>,
        rows: Range<usize>,
        panels: Range<usize>,
    ) -> Result<(), NoScratch> {
        let (mr, nr, kb) = (kernels.mr, kernels.nr, block.kb);
        let by_tile = matches!(block.of_a, OfA::ByTile);
        let last = block.pc + kb == self.shape.k;
        let one = Scratch::new::<T>(if by_tile { mr * kb + SLACK } else { 0 })?;
        for r in rows {
            let i = block.rows.start + r * mr;
            let count = mr.min(block.rows.end - i);
            let src = self.a.at(i, block.pc);
            let (a, f) = match block.of_a {
                OfA::InPlace => (src.ptr, kernels.rows[count - 1]),
                OfA::ByTile => {
                    // SAFETY: the scratch holds a tile's rows; A covers m x k.
                    unsafe { pack_panel(one.as_ptr(), mr, src.transposed(), kb, count) };
                    (one.as_ptr::<T>().cast_const(), kernels.packed[count - 1])
                }
                OfA::Packed => {
                    (block.a.wrapping_add(r * mr * kb).cast_const(), kernels.packed[count - 1])
                }
            };
            for p in panels.clone() {
                let j = block.cols.start + p * nr;
                let tile = Tile {
                    k: kb,
                    a,
                    a_rs: self.a.rs,
                    a_cs: mr as isize,
                    b: block.b.wrapping_add(p * nr * kb).cast_const(),
                    b_rs: nr as isize,
                    c: self.c.at(i, j),
                    c_rs: self.c.rs,
                    c_cs: self.c.cs,
                    cols: nr.min(block.cols.end - j),
                    add: self.add || block.pc > 0,
                    // With the last of the depth: the sum is then the same as of two ops.
                    plus: if last { self.plus_at(i, j) } else { std::ptr::null() },
                    plus_rs: self.plus.rs,
                    plus_cs: self.plus.cs,
                    ..Tile::NONE
                };
                // SAFETY: B is packed and padded, A too or in place; the tile's rows and columns
                // lie inside C and belong to this task alone.
                unsafe { f(&tile) };
            }
        }
        Ok(())
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
    /// Columns of a panel.
    nr: usize,
}

// SAFETY: read-only while tiles run.
unsafe impl<T: Sync> Sync for Panels<T> {}

/// How tiles come to their rows of A.
#[derive(Clone, Copy)]
enum OfA {
    InPlace,
    /// Packed by the task that needs them, once.
    ByTile,
    /// Packed before, all rows of a block.
    Packed,
}

/// A block of B, packed, and the rows that it is multiplied with.
struct Block<T> {
    rows: Range<usize>,
    cols: Range<usize>,
    pc: usize,
    kb: usize,
    of_a: OfA,
    a: *mut T,
    b: *mut T,
}

// SAFETY: tasks that pack write disjoint panels; afterwards it is read-only.
unsafe impl<T: Sync> Sync for Block<T> {}
