//! The result of a run: text for people, JSON for programs.

use std::fmt::Write;
use std::time::Duration;

use lab::Distribution;
use serde::Serialize;

use super::control::{ArrivalReport, Interval, per_second};

/// The result of a client, as `--json` writes it.
#[derive(Debug, Serialize)]
pub(crate) struct RunResult {
    pub(crate) headway: &'static str,
    pub(crate) transport: &'static str,
    #[serde(flatten)]
    pub(crate) messages: MessagesSent,
    pub(crate) streams: u16,
    /// Share of messages sent unordered.
    pub(crate) unordered: f64,
    pub(crate) associations: u16,
    /// The duration at the receiver, from the first connection to the last message, in seconds.
    pub(crate) duration_s: f64,
    /// 10⁶ octets of payload, counted at the receiver.
    pub(crate) goodput_mb_per_s: f64,
    pub(crate) messages_per_s: f64,
    pub(crate) cpu_s_per_gb: CpuPerGb,
    pub(crate) intervals: Vec<Interval>,
    /// The round-trip times; with `--ping` only.
    pub(crate) rtt_us: Option<RoundTrips>,
}

/// The messages of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct MessagesSent {
    pub(crate) message_bytes: u32,
    /// Whether each was made anew, and read where it arrived.
    pub(crate) fresh: bool,
}

impl MessagesSent {
    pub(crate) fn text(self) -> String {
        let made = if self.fresh { " made anew and read" } else { "" };
        format!("{} octets a message{made}", self.message_bytes)
    }
}

/// Processor seconds for 10⁹ octets of payload; null if nothing arrived.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct CpuPerGb {
    pub(crate) sender: Option<f64>,
    pub(crate) receiver: Option<f64>,
}

impl CpuPerGb {
    pub(crate) fn new(sender_cpu: Duration, report: &ArrivalReport) -> Self {
        let gigabytes = per_second(report.arrived.octets, 1e9);
        let each = |cpu_s: f64| (gigabytes > 0.0).then(|| cpu_s / gigabytes);
        Self { sender: each(sender_cpu.as_secs_f64()), receiver: each(report.cpu_s) }
    }
}

/// Percentiles of round-trip times in microseconds; null with fewer than five samples beyond.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct RoundTrips {
    pub(crate) samples: u64,
    pub(crate) p50: Option<f64>,
    pub(crate) p99: Option<f64>,
}

impl RoundTrips {
    /// Summarises round-trip times in nanoseconds, in any order.
    pub(crate) fn new(times_ns: Vec<u64>) -> Self {
        let times = times_ns.into_iter().map(Duration::from_nanos).collect();
        let times = Distribution::of_runs(&[times], 0);
        let in_us = |share| times.quantile(share).map(|ms| ms * 1e3);
        Self { samples: times.count(), p50: in_us(0.5), p99: in_us(0.99) }
    }
}

impl RunResult {
    /// Returns the lines below the intervals.
    pub(crate) fn text(&self) -> String {
        let plural = |count: u16| if count == 1 { "" } else { "s" };
        let mut text = format!(
            "{}, {}, {} association{}, {} stream{}: {:.1} MB/s, {:.0} messages/s in {:.1} s\n",
            self.transport,
            self.messages.text(),
            self.associations,
            plural(self.associations),
            self.streams,
            plural(self.streams),
            self.goodput_mb_per_s,
            self.messages_per_s,
            self.duration_s
        );
        if let CpuPerGb { sender: Some(sender), receiver: Some(receiver) } = self.cpu_s_per_gb {
            // Writing to a string does not fail.
            let _ = writeln!(text, "CPU seconds per GB: sender {sender:.2}, receiver {receiver:.2}");
        }
        if let Some(RoundTrips { samples, p50, p99 }) = self.rtt_us {
            let or_too_few =
                |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |us| format!("{us:.1} us"));
            let (p50, p99) = (or_too_few(p50), or_too_few(p99));
            let _ = writeln!(text, "round trips: {samples}, p50 {p50}, p99 {p99}");
        }
        text
    }
}

/// Returns one interval as a line.
pub(crate) fn line(interval: &Interval) -> String {
    format!(
        "{:6.1} - {:4.1} s  {:9.1} MB/s  {:10.0} messages/s\n",
        interval.start_s, interval.end_s, interval.goodput_mb_per_s, interval.messages_per_s
    )
}

#[cfg(test)]
mod tests {
    use super::super::control::Arrived;
    use super::*;

    #[test]
    fn percentiles_need_five_samples_beyond() {
        let times: Vec<u64> = (1..=500).rev().map(|us| us * 1000).collect();
        let all = RoundTrips::new(times.clone());
        assert_eq!(all, RoundTrips { samples: 500, p50: Some(250.0), p99: Some(495.0) });
        assert_eq!(RoundTrips::new(times[..499].to_vec()).p99, None);
        assert_eq!(RoundTrips::new(Vec::new()), RoundTrips { samples: 0, p50: None, p99: None });
    }

    #[test]
    fn processor_time_is_for_a_billion_octets() {
        let arrived = Arrived { messages: 1, octets: 500_000_000 };
        let report = ArrivalReport { arrived, seconds: 1.0, cpu_s: 0.2, wrong_length: 0, is_read: false };
        let cost = CpuPerGb::new(Duration::from_millis(100), &report);
        assert_eq!((cost.sender, cost.receiver), (Some(0.2), Some(0.4)));
        let nothing = ArrivalReport { arrived: Arrived::default(), ..report };
        assert_eq!(CpuPerGb::new(Duration::from_millis(100), &nothing).sender, None);
    }
}
