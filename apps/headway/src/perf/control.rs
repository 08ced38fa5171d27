//! The messages of the two ends beside those they measure: JSON, on a connection of its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The first thing a client says on any connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Opening {
    /// This connection controls a new run.
    Run(Plan),
    /// This one carries messages of the run with this number.
    Messages(u64),
}

/// The plan of a run, as far as the server has to know it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Chosen by the client, at random.
    pub(crate) run: u64,
    /// Octets of each message.
    pub(crate) message_bytes: u32,
    /// Whether each message is sent back.
    pub(crate) is_echoed: bool,
    /// Whether the octets of each message are made anew, and read where they arrive. Clients before this option say nothing.
    #[serde(default)]
    pub(crate) is_fresh: bool,
}

/// A message of the client on the control connection after its opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// All connections with messages have been closed.
    Finished,
}

/// A message of the server on the control connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The server is ready: an answer to an opening.
    Ready,
    /// The server is busy with another run: an answer to an opening.
    Busy,
    /// The messages that arrived in the last second.
    Interval(Interval),
    /// The last answer: what arrived in all.
    Report(ArrivalReport),
}

/// The messages that arrived in a part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Interval {
    /// The time since the first connection with messages, in seconds.
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    /// 10⁶ octets of payload.
    pub(crate) goodput_mb_per_s: f64,
    pub(crate) messages_per_s: f64,
}

impl Interval {
    pub(crate) fn new(start: Duration, end: Duration, arrived: Arrived) -> Self {
        let seconds = end.saturating_sub(start).as_secs_f64();
        Self {
            start_s: start.as_secs_f64(),
            end_s: end.as_secs_f64(),
            goodput_mb_per_s: per_second(arrived.octets, seconds) / 1e6,
            messages_per_s: per_second(arrived.messages, seconds),
        }
    }

    /// Returns whether it is shorter than half of a usual interval.
    pub(crate) fn is_sliver(&self) -> bool {
        self.seconds() < SLIVER_S
    }

    /// Returns this interval and the one that follows as one.
    pub(crate) fn joined(self, next: Self) -> Self {
        let whole = self.seconds() + next.seconds();
        let mean = |this: f64, that: f64| {
            (this * self.seconds() + that * next.seconds()) / whole.max(f64::MIN_POSITIVE)
        };
        Self {
            start_s: self.start_s,
            end_s: next.end_s,
            goodput_mb_per_s: mean(self.goodput_mb_per_s, next.goodput_mb_per_s),
            messages_per_s: mean(self.messages_per_s, next.messages_per_s),
        }
    }

    fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// Intervals are a second long.
const SLIVER_S: f64 = 0.5;

/// The messages that arrived in the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArrivalReport {
    pub(crate) arrived: Arrived,
    /// The time from the first connection with messages to the last message, in seconds.
    pub(crate) seconds: f64,
    /// Processor time the server spent on it.
    pub(crate) cpu_s: f64,
    /// Messages of another length than planned.
    pub(crate) wrong_length: u64,
    /// Whether the octets were read as they came. Servers that know nothing of it say nothing, and did not.
    #[serde(default)]
    pub(crate) is_read: bool,
}

/// Messages and their payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arrived {
    pub(crate) messages: u64,
    pub(crate) octets: u64,
}

impl Arrived {
    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self { messages: self.messages - earlier.messages, octets: self.octets - earlier.octets }
    }
}

/// Returns a rate; zero where no time passed.
#[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_rate_over_its_own_time() {
        let arrived = Arrived { messages: 30, octets: 3_000_000 };
        let interval = Interval::new(Duration::from_secs(2), Duration::from_millis(3500), arrived);
        assert_eq!(
            interval,
            Interval { start_s: 2.0, end_s: 3.5, goodput_mb_per_s: 2.0, messages_per_s: 20.0 }
        );
    }

    #[test]
    fn what_is_left_at_the_end_belongs_to_the_last_interval() {
        let at = |start, end, messages| {
            let span = |ms| Duration::from_millis(ms);
            Interval::new(span(start), span(end), Arrived { messages, octets: messages * 1_000_000 })
        };
        let (last, sliver) = (at(4000, 5000, 100), at(5000, 5010, 3));
        assert!(sliver.is_sliver() && !last.is_sliver());
        let joined = last.joined(sliver);
        assert_eq!((joined.start_s, joined.end_s), (4.0, 5.01));
        assert!((joined.messages_per_s * 1.01 - 103.0).abs() < 1e-9);
        assert!((joined.goodput_mb_per_s * 1.01 - 103.0).abs() < 1e-9);
    }

    #[test]
    fn an_end_of_an_older_version_neither_asks_for_fresh_messages_nor_reads_them() {
        let plan: Plan =
            serde_json::from_str(r#"{"run": 1, "message_bytes": 1200, "is_echoed": false}"#).unwrap();
        assert!(!plan.is_fresh);
        let report =
            r#"{"arrived": {"messages": 1, "octets": 9}, "seconds": 1, "cpu_s": 1, "wrong_length": 0}"#;
        let report: ArrivalReport = serde_json::from_str(report).unwrap();
        assert!(!report.is_read);
    }

    #[test]
    fn nothing_in_no_time_is_no_rate() {
        assert_eq!(Interval::new(Duration::ZERO, Duration::ZERO, Arrived::default()).messages_per_s, 0.0);
    }
}
