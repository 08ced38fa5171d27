//! What one run left behind.

use core::time::Duration;

use netem::LinkStats;
use virtual_time::Instant;
use workload::Sample;

use super::delays::Delays;
use super::one_way::OneWay;

/// A run of one scenario with one seed.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// One per flow, in the order of the plan.
    pub flows: Vec<FlowOutcome>,
    /// One per link, in the order of the plan.
    pub links: Vec<LinkOutcome>,
    /// Events handled.
    pub events: u64,
    /// IP packets that hosts sent.
    pub packets: u64,
    /// Equal for equal runs.
    pub trace_hash: u64,
    /// Virtual time from beginning to end.
    pub length: Duration,
    /// Why the capture of its packets is not complete; `None` if it is, or none was asked for.
    pub capture_failure: Option<String>,
}

/// What became of one flow.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Its name in the plan.
    pub name: String,
    /// Messages that fell due.
    pub messages: u64,
    /// Of these, answered (echo) or delivered (one way).
    pub completed: u64,
    /// Response times of an echo flow.
    pub responses: Option<Delays>,
    /// Delays of a flow of messages.
    pub one_way: Option<OneWay>,
    /// Octets per second that the server received after the warm-up, times 8.
    pub goodput_bits_per_s: Option<f64>,
    /// Every message of the flow whose response is timed, those that do not count included; if asked for.
    pub samples: Vec<Sample>,
    /// When it began, on the clock of the samples.
    pub start: Instant,
    /// What came and answered nothing.
    pub strange: u64,
    /// How the transport fared.
    pub transport: TransportCounts,
    /// Why it ended early.
    pub failure: Option<String>,
}

/// What both ends of a transport counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportCounts {
    /// Retransmission timeouts of the client.
    pub timeouts: u64,
    /// Packets or chunks the client sent again.
    pub retransmissions: u64,
    /// Messages that were complete and waited for an earlier one, both directions; `None` where it cannot be seen.
    pub blocked: Option<(u64, Duration)>,
}

/// What happened on one link, in both directions.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// Its name in the plan.
    pub name: String,
    /// From the first end to the second, and back.
    pub ways: [LinkStats; 2],
}
