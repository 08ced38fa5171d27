//! The table of the document.

use super::{Row, Stack};
use crate::markdown::{Table, percent, signed_percent};

/// The resequencing models.
pub(crate) fn table_of_waiting(rows: &[Row]) -> Table {
    let headings = [
        "profile",
        "messages/s",
        "streams",
        "bursts",
        "simulated W",
        "model",
        "error of RTT + 2W",
        "independent losses",
        "error of RTT + 2W",
        "late by 1 ms: simulated",
        "model",
    ];
    let lines = rows.iter().map(|row| {
        let error = |mean_ms: f64| {
            signed_percent(
                (row.cell.rtt_ms + 2.0 * mean_ms) / (row.cell.rtt_ms + 2.0 * row.simulated_ms) - 1.0,
            )
        };
        vec![
            match row.cell.profile {
                Stack::Rfc9260 => "rfc9260".to_owned(),
                Stack::Signalling => "signalling".to_owned(),
            },
            row.cell.rate.to_string(),
            row.cell.streams.map_or("unordered".to_owned(), |streams| streams.to_string()),
            row.cell.burst_packets.map_or("none".to_owned(), |burst| format!("{burst} packets")),
            format!("{:.2} ± {:.2} ms", row.simulated_ms, row.uncertainty_ms),
            format!("{:.2} ms", row.model.mean_ms),
            error(row.model.mean_ms),
            format!("{:.2} ms", row.independent.mean_ms),
            error(row.independent.mean_ms),
            percent(row.simulated_share),
            percent(row.model.share),
        ]
    });
    Table::new("docs/models.md", "waiting", &headings, lines)
}
