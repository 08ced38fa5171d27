//! The outcome of a run, and of each of its flows and links.

use core::time::Duration;
use std::collections::BTreeSet;

use netem::LinkStats;
use virtual_time::Instant;
use workload::Sample;

use crate::statistics::{Delays, OneWay, TransportCounts, WorkloadCounts};

/// A run of one scenario with one seed.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// One per flow, in the order of the plan.
    pub flows: Vec<FlowOutcome>,
    /// One per link, in the order of the plan.
    pub links: Vec<LinkOutcome>,
    /// Events handled; 0 where there are none to count, in real time.
    pub events: u64,
    /// IP packets that hosts sent.
    pub packets: u64,
    /// Equal for equal runs; `None` in real time, where none are.
    pub trace_hash: Option<u64>,
    /// Time from beginning to end.
    pub length: Duration,
    /// The reason why the capture of its packets is not complete; `None` if it is, or none was asked for.
    pub capture_failure: Option<String>,
}

/// The outcome of one flow of a run.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// The name of the flow in the plan.
    pub name: String,
    /// The number of messages that fell due.
    pub messages: u64,
    /// The number of those answered (echo) or delivered (one way).
    pub completed: u64,
    /// Response times of an echo flow.
    pub responses: Option<Delays>,
    /// Delays of a flow of messages.
    pub one_way: Option<OneWay>,
    /// Octets per second that the server received after the warm-up, times 8.
    pub goodput_bits_per_s: Option<f64>,
    /// Every message of the flow whose response is timed, those that do not count included; if asked for.
    pub samples: Vec<Sample>,
    /// The other messages of the flow, whose responses are not timed; if asked for.
    pub untimed: Vec<Sample>,
    /// The requests that lost a packet of their own, or of their response; why it cannot be told.
    pub own_losses: Result<BTreeSet<u64>, &'static str>,
    /// The time at which the flow began, on the clock of the samples.
    pub start: Instant,
    /// The number of messages that answered nothing.
    pub strange: u64,
    /// Messages handed over more than a millisecond after they were due: the machine could not keep up. 0 in virtual time.
    pub late_sends: u64,
    /// The counters of the transport.
    pub transport: TransportCounts,
    /// The counts that only some workloads have.
    pub counts: WorkloadCounts,
    /// The reason why the flow ended early, if it did.
    pub failure: Option<String>,
}

/// The outcome of one link, in both directions.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// The name of the link in the plan.
    pub name: String,
    /// The counters from the first end to the second, and back.
    pub ways: [LinkStats; 2],
}
