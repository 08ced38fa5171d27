//! The table of the document.

use super::{Row, Stack};
use crate::markdown::{Table, percent, signed_percent};

/// The resequencing model over loss.
pub(crate) fn table_of_losses(rows: &[Row]) -> Table {
    let headings = [
        "profile",
        "loss",
        "messages/s",
        "streams",
        "simulated W",
        "model",
        "error of W",
        "error of RTT + 2W",
    ];
    let lines = rows.iter().map(|row| {
        let response = |mean_ms: f64| row.cell.rtt_ms + 2.0 * mean_ms;
        vec![
            name(row.cell.profile).to_owned(),
            percent(row.cell.loss),
            row.cell.rate.to_string(),
            row.cell.streams.map_or("unordered".to_owned(), |streams| streams.to_string()),
            format!("{:.2} ± {:.2} ms", row.simulated_ms, row.uncertainty_ms),
            format!("{:.2} ms", row.model.mean_ms),
            signed_percent(row.model.mean_ms / row.simulated_ms - 1.0),
            signed_percent(response(row.model.mean_ms) / response(row.simulated_ms) - 1.0),
        ]
    });
    Table::new("docs/models.md", "losses", &headings, lines)
}

fn name(profile: Stack) -> &'static str {
    match profile {
        Stack::Rfc9260 => "rfc9260",
        Stack::Signalling => "signalling",
    }
}

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
            name(row.cell.profile).to_owned(),
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
