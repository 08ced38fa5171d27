//! The runs of one cell, put together. What is kept of a run does not depend on its length, and the order in which runs end
//! changes nothing.

use core::time::Duration;

use crate::simulation::{FlowOutcome, RunOutcome};
use crate::statistics::{CallCounts, Distribution, FrameCounts, Moments, TransportCounts};

/// The results of all runs of a cell.
#[derive(Clone, Debug)]
pub struct CellTally {
    /// The results of each flow.
    pub flows: Vec<FlowTally>,
    /// One per link, in the order of the plan: packets offered and dropped, both directions, by seed.
    pub links: Vec<LinkTally>,
    /// The results of each run, by seed.
    pub runs: Vec<Option<RunTally>>,
}

/// The results of a whole run.
#[derive(Clone, Copy, Debug)]
pub struct RunTally {
    /// The number of events handled.
    pub events: u64,
    /// The number of IP packets sent.
    pub packets: u64,
    /// Equal for equal runs; `None` in real time.
    pub trace_hash: Option<u64>,
    /// The length of the run, in virtual or real time.
    pub length: Duration,
}

/// The results of one link over all seeds.
#[derive(Clone, Debug)]
pub struct LinkTally {
    /// The name of the link in the plan.
    pub name: String,
    /// Packets offered, and of these dropped, in both directions, summed over seeds.
    pub ways: [(u64, u64); 2],
}

/// The results of one flow over all seeds.
#[derive(Clone, Debug)]
pub struct FlowTally {
    /// The name of the flow in the plan.
    pub name: String,
    /// Response times, for echo.
    pub responses: Distribution,
    /// Delays as the transport delivered, for messages one way.
    pub delivered: Distribution,
    /// The delays that there would have been without order.
    pub unordered: Distribution,
    /// The delays that there would have been with order.
    pub ordered: Distribution,
    /// The results of each run, by seed.
    pub seeds: Vec<Option<SeedTally>>,
}

/// Figures of one flow in one run.
#[derive(Clone, Debug)]
pub struct SeedTally {
    /// The number of messages that fell due.
    pub messages: u64,
    /// The number of messages answered or delivered.
    pub completed: u64,
    /// Ordered less unordered delay, in ms, message by message.
    pub difference: Moments,
    /// Messages that order made wait.
    pub blocked: u64,
    /// The goodput in bit/s, of bulk flows.
    pub goodput_bits_per_s: Option<f64>,
    /// Messages handed over more than a millisecond after they were due.
    pub late_sends: u64,
    /// The counters of the transport.
    pub transport: TransportCounts,
    /// The calls that the flow made, if it makes calls.
    pub calls: Option<CallCounts>,
    /// The fate of the frames that the flow sent, if it sends frames.
    pub frames: Option<FrameCounts>,
    /// The reason why the flow ended early, if it did.
    pub failure: Option<String>,
}

impl CellTally {
    /// Creates the results of `seeds` runs that are still to be done.
    pub(super) fn new(seeds: usize) -> Self {
        Self { flows: Vec::new(), links: Vec::new(), runs: vec![None; seeds] }
    }

    /// Takes in the run with the seed at `position`.
    pub(super) fn add(&mut self, position: usize, outcome: RunOutcome) {
        let RunOutcome { flows, links, events, packets, trace_hash, length, capture_failure: _ } = outcome;
        if self.flows.is_empty() {
            self.flows = flows.iter().map(|flow| FlowTally::new(&flow.name, self.runs.len())).collect();
            self.links =
                links.iter().map(|link| LinkTally { name: link.name.clone(), ways: [(0, 0); 2] }).collect();
        }
        self.runs[position] = Some(RunTally { events, packets, trace_hash, length });
        for (tally, flow) in self.flows.iter_mut().zip(flows) {
            tally.add(position, &flow);
        }
        for (tally, link) in self.links.iter_mut().zip(links) {
            for (sum, stats) in tally.ways.iter_mut().zip(link.ways) {
                sum.0 += stats.offered;
                sum.1 += stats.dropped();
            }
        }
    }
}

impl FlowTally {
    fn new(name: &str, seeds: usize) -> Self {
        Self {
            name: name.to_owned(),
            responses: Distribution::new(seeds),
            delivered: Distribution::new(seeds),
            unordered: Distribution::new(seeds),
            ordered: Distribution::new(seeds),
            seeds: vec![None; seeds],
        }
    }

    fn add(&mut self, position: usize, flow: &FlowOutcome) {
        let unanswered = flow.messages.saturating_sub(flow.completed);
        if let Some(responses) = &flow.responses {
            self.responses.add(position, responses, unanswered);
        }
        if let Some(one_way) = &flow.one_way {
            self.delivered.add(position, &one_way.delivered, unanswered);
            self.unordered.add(position, &one_way.unordered, unanswered);
            self.ordered.add(position, &one_way.ordered, unanswered);
        }
        self.seeds[position] = Some(SeedTally {
            messages: flow.messages,
            completed: flow.completed,
            difference: flow.one_way.as_ref().map(|one_way| one_way.difference).unwrap_or_default(),
            blocked: flow.one_way.as_ref().map_or(0, |one_way| one_way.blocked),
            goodput_bits_per_s: flow.goodput_bits_per_s,
            late_sends: flow.late_sends,
            transport: flow.transport,
            calls: flow.counts.calls,
            frames: flow.counts.frames,
            failure: flow.failure.clone(),
        });
    }

    /// Returns the figures of the runs that are done.
    pub fn done(&self) -> impl Iterator<Item = &SeedTally> {
        self.seeds.iter().flatten()
    }

    /// Returns one figure of each run.
    pub fn by_seed(&self, figure: impl Fn(&SeedTally) -> Option<f64>) -> Vec<f64> {
        self.done().filter_map(figure).collect()
    }
}
