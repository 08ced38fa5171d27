//! Numbers as people read them, and as counts.

use core::time::Duration;

/// Returns milliseconds for a table column whose heading says ms: to a tenth, below 10 ms to a hundredth.
pub(crate) fn plain_ms(ms: f64) -> String {
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.1}") }
}

/// Returns milliseconds for a table column, or a dash for what there is not.
pub(crate) fn plain_or_dash(ms: Option<f64>) -> String {
    ms.map_or_else(|| "–".to_owned(), plain_ms)
}

/// Returns a mean with what is not in it: `22.3 (4 unanswered)`.
pub(crate) fn beside_unanswered(mean: String, unanswered: u64) -> String {
    if unanswered == 0 { mean } else { format!("{mean} ({unanswered} unanswered)") }
}

/// Returns a time with its unit for a sentence: `47.3 ms`, `1.52 s`.
pub(crate) fn time(ms: f64) -> String {
    if ms >= 1000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else if ms >= 100.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{ms:.1} ms")
    }
}

/// Returns a probability as per cent without needless zeros: `1 %`, `0.25 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a share as per cent to a tenth: `4.3 %`; what is less, but not nothing: `< 0.1 %`.
pub(crate) fn tenths(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "< 0.1 %".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

/// Returns a number without needless zeros: `20`, `2.5`.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a number with its noun: `1 message`, `2 messages`.
pub(crate) fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Returns a count that was worked out, its fraction left off, within what a `u32` holds.
pub(crate) fn whole(count: f64) -> u32 {
    // Whole seconds make a whole number without a cast.
    let span = Duration::try_from_secs_f64(count);
    span.map_or(u32::MAX, |span| u32::try_from(span.as_secs()).unwrap_or(u32::MAX))
}
