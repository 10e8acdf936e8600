//! What a program did with tensor memory, for people: `--memory-report`.
//!
//! Invariant: every figure is one of the allocator's or of V8's own; bytes by line are exact where
//! the program was traced ([`crate::RuntimeOptions::trace_memory`]). Deliberately not here: how the
//! figures are gathered (ext/tensor), where the text goes (the command line).

mod page;

use std::fmt;
use std::time::Duration;

use mlrun_globals::Holder;
use mlrun_globals::Moment;
use mlrun_globals::Place;
use mlrun_globals::Stats;
use mlrun_globals::TensorState;
use mlrun_globals::readable;

use crate::gc_clock::Collection;
use crate::gc_clock::GcClock;

/// Lines of the table of the text.
const LINES: usize = 20;

/// Who released a tensor, in the order of [`Stats::released`].
const RELEASERS: [&str; 4] =
    ["the ownership pass", "minor collections", "major collections", "dispose()"];

/// The report of one program, up to now.
#[derive(Clone, Debug)]
pub struct MemoryReport {
    stats: Stats,
    elapsed: Duration,
    /// Processor time of the program's thread.
    busy: Duration,
    /// Those that held most at the peak first.
    holders: Vec<Holder>,
    /// Texts of places by their number, as [`Moment::held`] counts them.
    places: Vec<String>,
    moments: Vec<Moment>,
    collections: Vec<Collection>,
    /// Collections of all kinds; the list may be cut.
    count: u64,
}

impl MemoryReport {
    pub(crate) fn new(state: &TensorState, clock: &GcClock) -> MemoryReport {
        let mut holders = state.holders();
        holders.sort_by_key(|h| std::cmp::Reverse((h.held.at_peak, h.held.bytes)));
        let most = u32::try_from(state.engine.pool.sites.held().len()).unwrap_or(u32::MAX);
        MemoryReport {
            stats: state.stats(),
            elapsed: state.trace.start.elapsed(),
            busy: clock.busy(),
            holders,
            places: (0..most).map(|n| place_text(state.trace.places.get(n).as_ref())).collect(),
            moments: state.trace.moments(),
            collections: clock.events(),
            count: clock.count(),
        }
    }

    /// One page that needs nothing but itself: bytes by line over time, top holders, releases and
    /// collections.
    pub fn to_html(&self) -> String {
        page::render(self)
    }
}

fn place_text(place: Option<&Place>) -> String {
    place.map_or_else(|| "the library itself".to_owned(), Place::short)
}

fn plural(n: u64, word: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{n} {word}{end}")
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { live_tensors, live, peak, pending, pooled, .. } = self.stats;
        writeln!(f, "memory of tensors")?;
        writeln!(f, "  live      {} in {}", readable(live), plural(live_tensors, "tensor"))?;
        writeln!(f, "  peak      {}", readable(peak))?;
        writeln!(f, "  pooled    {}", readable(pooled))?;
        writeln!(f, "  pending   {}", readable(pending))?;
        writeln!(f, "released by")?;
        for (name, released) in RELEASERS.iter().zip(&self.stats.released) {
            let tensors = plural(released.tensors, "tensor");
            writeln!(f, "  {name:<18}  {tensors:>16}  {:>8}", readable(released.bytes))?;
        }
        let [minor, major] = self.stats.collections;
        writeln!(f, "collections for tensors: {minor} minor, {major} major")?;
        let (spent, busy) = (self.stats.collecting.as_secs_f64(), self.busy.as_secs_f64());
        let share = if busy > 0.0 { spent / busy * 100.0 } else { 0.0 };
        let of_all = plural(self.count, "collection");
        writeln!(
            f,
            "  {of_all} in all, {:.1} ms, {share:.1} % of the processor time",
            spent * 1e3
        )?;
        self.table(f)
    }
}

impl MemoryReport {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.holders.is_empty() {
            return Ok(());
        }
        writeln!(f, "  {:>8}  {:>8}  {:>8}  {:>9}  line", "at peak", "live", "made", "blocks")?;
        for Holder { place, held } in self.holders.iter().take(LINES) {
            let (peak, live) = (readable(held.at_peak), readable(held.bytes));
            let (made, blocks) = (readable(held.made_bytes), held.made_blocks);
            let place = place_text(place.as_ref());
            writeln!(f, "  {peak:>8}  {live:>8}  {made:>8}  {blocks:>9}  {place}")?;
        }
        let more = self.holders.len().saturating_sub(LINES);
        if more > 0 {
            writeln!(f, "  and {}", plural(more as u64, "more line"))?;
        }
        Ok(())
    }
}
