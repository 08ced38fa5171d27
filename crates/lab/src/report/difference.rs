//! The differences between two results on the terminal.

use core::fmt::Write as _;

use super::numbers::{plain_or_dash, tenths};
use super::table::lined;
use crate::summary::{DifferenceVerdict, ResultDifference, TransportDifference};

/// Returns the conditions that differ, a table of the transports that both results have, and what stands in one alone.
#[must_use]
pub fn difference_table(difference: &ResultDifference) -> String {
    let mut text = String::new();
    if difference.conditions.is_empty() {
        text.push_str("the same conditions\n");
    }
    for condition in &difference.conditions {
        let [first, second] = &condition.values;
        let _infallible = writeln!(text, "{}: {first} → {second}", condition.name);
    }
    let rows = difference.transports.iter().map(|transport| cells(transport).to_vec());
    let table = lined(HEADINGS.iter().map(|head| (*head).to_owned()), rows, 1..HEADINGS.len() - 1);
    let _infallible = writeln!(text, "{table}");
    for (which, ids) in [("first", &difference.only_first), ("second", &difference.only_second)] {
        if !ids.is_empty() {
            let _infallible = writeln!(text, "only in the {which}: {}", ids.join(", "));
        }
    }
    text
}

fn cells(transport: &TransportDifference) -> [String; HEADINGS.len()] {
    let pair = |values: [Option<f64>; 2]| values.map(plain_or_dash).join(" → ");
    let mean = [0, 1].map(|side| {
        let mean = plain_or_dash(transport.mean_ms[side]);
        match transport.unanswered[side] {
            0 => mean,
            unanswered => format!("{mean} ({unanswered} unanswered)"),
        }
    });
    let by = transport.difference_ms.zip(transport.ci95);
    let by =
        by.map_or_else(|| "–".to_owned(), |(by, [low, high])| format!("{by:+.2} ±{:.2}", (high - low) / 2.0));
    let losses = transport.by_others_loss.map(|share| share.map_or_else(|| "–".to_owned(), tenths));
    let verdict = match transport.verdict {
        DifferenceVerdict::Shorter => "shorter",
        DifferenceVerdict::Longer => "longer",
        DifferenceVerdict::None => "no difference beyond the intervals",
        DifferenceVerdict::Unknown => "too few requests to tell",
    };
    [
        transport.id.clone(),
        mean.join(" → "),
        by,
        pair(transport.p50),
        pair(transport.p90),
        pair(transport.p99),
        losses.join(" → "),
        verdict.to_owned(),
    ]
}

const HEADINGS: [&str; 8] =
    ["transport", "mean, ms", "difference ±95 %", "p50", "p90", "p99", "others' loss", "second mean"];
