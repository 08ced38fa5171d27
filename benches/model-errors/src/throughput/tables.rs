//! The tables of the documents.

use super::{RENO_MODELS, Row};
use crate::markdown::{Table, percent, signed_percent};

/// Reno's models.
pub(crate) fn table_of_reno(rows: &[Row]) -> Table {
    table("throughput-reno", RENO_MODELS.map(|(name, _)| name).as_slice(), rows)
}

/// CUBIC's.
pub(crate) fn table_of_cubic(rows: &[Row]) -> Table {
    table("throughput-cubic", &["RFC 9438"], rows)
}

fn table(name: &'static str, models: &[&str], rows: &[Row]) -> Table {
    let mut headings = vec!["RTT", "packets lost", "simulated packets/s", "loss events"];
    headings.extend(models);
    let lines = rows.iter().map(|row| {
        let mut cells = vec![
            format!("{} ms", row.cell.rtt_ms),
            percent(row.cell.loss),
            format!("{:.1} ± {}", row.segments_per_s, percent(row.uncertainty)),
            format!("{:.3} %", row.event_rate * 100.0),
        ];
        let error = |estimate: f64| signed_percent(estimate / row.segments_per_s - 1.0);
        cells.extend(
            row.models
                .iter()
                .map(|estimate| format!("{} ({})", error(estimate.by_events), error(estimate.by_packets))),
        );
        cells
    });
    Table::new("docs/models.md", name, &headings, lines)
}
