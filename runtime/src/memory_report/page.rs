//! The report as one HTML page. The figures stand in it as JSON; its own script draws them.

use deno_core::serde_json::json;

use super::MemoryReport;
use super::RELEASERS;
use super::place_text;

const TEMPLATE: &str = include_str!("page.html");
const DATA: &str = "MLRUN_DATA";

pub(super) fn render(report: &MemoryReport) -> String {
    let milliseconds = |d: std::time::Duration| (d.as_secs_f64() * 1e6).round() / 1e3;
    let stats = &report.stats;
    let moments = report.moments.iter();
    let collections = report.collections.iter();
    let holders = report.holders.iter();
    let data = json!({
        "elapsed": milliseconds(report.elapsed),
        "busy": milliseconds(report.busy),
        "live": stats.live,
        "liveTensors": stats.live_tensors,
        "peak": stats.peak,
        "pooled": stats.pooled,
        "pending": stats.pending,
        "gcTime": milliseconds(stats.collecting),
        "gcCount": report.count,
        "forTensors": stats.collections,
        "released": RELEASERS
            .iter()
            .zip(&stats.released)
            .map(|(by, r)| json!({ "by": by, "tensors": r.tensors, "bytes": r.bytes }))
            .collect::<Vec<_>>(),
        "places": report.places,
        "holders": holders
            .map(|h| json!({
                "line": place_text(h.place.as_ref()),
                "atPeak": h.held.at_peak,
                "live": h.held.bytes,
                "made": h.held.made_bytes,
                "blocks": h.held.made_blocks,
            }))
            .collect::<Vec<_>>(),
        "moments": moments
            .map(|m| json!({ "at": milliseconds(m.at), "live": m.live, "held": m.held }))
            .collect::<Vec<_>>(),
        "collections": collections
            .map(|c| json!([milliseconds(c.at), milliseconds(c.took), c.minor]))
            .collect::<Vec<_>>(),
    });
    // A name of a file may hold anything; in a script element only this ends it.
    TEMPLATE.replacen(DATA, &data.to_string().replace('<', "\\u003c"), 1)
}
