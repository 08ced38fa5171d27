//! The tables of the documents.

use super::{Reading, Row};
use crate::markdown::{Table, percent};

/// The validation grid.
pub(crate) fn table_of_grid(rows: &[Row]) -> Table {
    let headings = [
        "octets",
        "RTT / interval",
        "messages",
        "simulated Θmax",
        "model, RFC 9260's rules",
        "mean error (largest)",
        "model, the study's rules",
        "mean error (largest)",
        "study's own error",
    ];
    let lines = rows.iter().map(|row| {
        let error = |error: &super::Error| {
            format!("{} ({})", percent(error.mean_relative), percent(error.max_relative))
        };
        let penalty = |ms: f64| format!("{ms:.1} ms");
        vec![
            row.cell.message_bytes.to_string(),
            format!("{} / {} ms", row.cell.rtt_ms, row.cell.interval_ms),
            row.messages.to_string(),
            penalty(row.simulated_penalty_ms),
            penalty(row.overbooking.penalty_ms),
            error(&row.overbooking),
            penalty(row.within_window.penalty_ms),
            error(&row.within_window),
            row.cell.published_error.map_or("–".to_owned(), percent),
        ]
    });
    Table::new("docs/models.md", "startup", &headings, lines)
}

/// The stated points.
pub(crate) fn table_of_readings(readings: &[Reading]) -> Table {
    let headings = ["rules", "10 kB, RTT 115 ms", "30 kB, RTT 200 ms"];
    let lines = readings.iter().map(|reading| {
        vec![
            reading.rules.clone(),
            format!("{:.0} ms", reading.small_ms),
            format!("{:.0} ms", reading.large_ms),
        ]
    });
    Table::new("docs/startup.md", "startup-readings", &headings, lines)
}
