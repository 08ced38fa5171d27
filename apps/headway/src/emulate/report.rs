//! The counters of the emulator, as text and as JSON.

use std::fmt::Write;
use std::process::ExitStatus;

use emulator::{DirectionReport, EmulatorReport};
use serde::Serialize;

use super::EmulateError;

/// The result of `headway emulate`.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    headway: &'static str,
    /// Exit status of the command; null if there was none or a signal ended it.
    command_status: Option<i32>,
    #[serde(flatten)]
    report: EmulatorReport,
}

impl Answer {
    pub(super) fn new(report: EmulatorReport, command: Option<ExitStatus>) -> Self {
        let command_status = command.and_then(|status| status.code());
        Self { headway: env!("CARGO_PKG_VERSION"), command_status, report }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{:<10}{:>9}{:>9}{:>9}{:>9}{:>10}{:>8}{:>11}{:>11}{:>6}\n",
            "direction",
            "offered",
            "lost",
            "listed",
            "queue",
            "delivered",
            "copies",
            "p50 ms",
            "p99 ms",
            "late"
        );
        for link in &self.report.links {
            line(&mut text, "request", &link.request);
            line(&mut text, "response", &link.response);
        }
        text
    }

    /// Returns whether all packets were written that were to be.
    pub(super) fn check_capture(&self) -> Result<(), EmulateError> {
        self.report.capture_error.clone().map_or(Ok(()), |because| Err(EmulateError::Capture(because)))
    }
}

fn line(text: &mut String, direction: &str, report: &DirectionReport) {
    let stats = &report.stats;
    let ms = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.3}"));
    let _ = writeln!(
        text,
        "{direction:<10}{:>9}{:>9}{:>9}{:>9}{:>10}{:>8}{:>11}{:>11}{:>6}",
        stats.offered,
        stats.dropped_loss,
        stats.dropped_listed,
        stats.dropped_queue,
        stats.delivered,
        stats.duplicated,
        ms(report.delay.p50_ms),
        ms(report.delay.p99_ms),
        report.late_sends,
    );
}
