//! The text of a trace file.

use core::time::Duration;

use thiserror::Error;

/// Reads the text of a trace file into intervals.
///
/// One number of seconds per line. Empty lines and what follows a `#` are skipped. By default the numbers are
/// *intervals* (message *n* follows message *n − 1*, the first one follows the start). A line `timestamps` before the
/// first number says that they are *points in time*, on any clock, in order: the first message is then sent at
/// the start. A line `intervals` states the default.
///
/// ```
/// use core::time::Duration;
/// let intervals = workload::parse_trace("timestamps # tcpdump -tt\n1700000000.5\n1700000000.75\n")?;
/// assert_eq!(intervals, [Duration::ZERO, Duration::from_millis(250)]);
/// # Ok::<(), workload::TraceError>(())
/// ```
///
/// # Errors
///
/// [`TraceError`] with the number of the line.
pub fn parse_trace(text: &str) -> Result<Vec<Duration>, TraceError> {
    let mut meaning = Meaning::Intervals;
    let mut intervals = Vec::new();
    let mut previous = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default().trim();
        match content {
            "" => {}
            "timestamps" | "intervals" if !intervals.is_empty() => {
                return Err(TraceError::MeaningTooLate { line });
            }
            "timestamps" => meaning = Meaning::Timestamps,
            "intervals" => meaning = Meaning::Intervals,
            _ => {
                let time = seconds(content, line)?;
                intervals.push(match meaning {
                    Meaning::Intervals => time,
                    Meaning::Timestamps => since(previous.unwrap_or(time), time, line)?,
                });
                previous = Some(time);
            }
        }
    }
    if intervals.is_empty() { Err(TraceError::Empty) } else { Ok(intervals) }
}

fn seconds(content: &str, line: usize) -> Result<Duration, TraceError> {
    let value: f64 =
        content.parse().map_err(|_| TraceError::NotANumber { line, content: content.to_owned() })?;
    Duration::try_from_secs_f64(value)
        .map_err(|_| TraceError::OutOfRange { line, content: content.to_owned() })
}

fn since(previous: Duration, time: Duration, line: usize) -> Result<Duration, TraceError> {
    time.checked_sub(previous).ok_or(TraceError::BackInTime { line })
}

#[derive(Clone, Copy)]
enum Meaning {
    Intervals,
    Timestamps,
}

/// The reason why a text is not a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The file has no number in it.
    #[error("the trace has no entries: write one number of seconds per line")]
    Empty,
    /// A line is neither a number nor `timestamps` nor `intervals`.
    #[error("line {line}: `{content}` is not a number of seconds")]
    NotANumber {
        /// The number of the line, from 1.
        line: usize,
        /// The text of the whole line.
        content: String,
    },
    /// Negative, infinite or beyond all clocks.
    #[error("line {line}: `{content}` is out of range, times are finite and not negative")]
    OutOfRange {
        /// The number of the line, from 1.
        line: usize,
        /// The text of the whole line.
        content: String,
    },
    /// A point in time before its predecessor.
    #[error("line {line} is earlier than the one before it: timestamps must be in order")]
    BackInTime {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The word that says what the numbers mean comes after the first of them.
    #[error("line {line}: `timestamps` or `intervals` must stand before the first number")]
    MeaningTooLate {
        /// The number of the line, from 1.
        line: usize,
    },
}
