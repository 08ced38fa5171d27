//! The outcome of a run between namespaces, of the same shape as that of one in virtual time.

use core::time::Duration;
use std::collections::BTreeSet;

use emulator::LinkReport;
use virtual_time::Instant;
use workload::Sample;

use super::ScenarioRun;
use crate::simulation::{FlowOutcome, LinkOutcome, MOVED, RunOutcome};
use crate::statistics::{FrameCounts, HandoverCounts, TransportCounts, WorkloadCounts};
use crate::transport::{FlowPlan, FlowRun, SEVERAL_FLOWS, own_losses, transport_payload};

/// Returns what a run left behind that began at `begun`; `far` is what a flow's server counted. Of `links`, each with its name, the first
/// is the scenario's.
pub(super) fn of(
    run: &ScenarioRun,
    flows: Vec<FlowRun>,
    far: impl Fn(usize) -> TransportCounts,
    links: &[(String, LinkReport)],
    begun: Instant,
) -> RunOutcome {
    let plans = run.scenario.flows.iter().zip(flows).enumerate();
    let flows = plans.map(|(index, ((name, plan), FlowRun { driven, counts, .. }))| FlowOutcome {
        name: name.to_owned(),
        messages: driven.messages.0,
        completed: driven.messages.1,
        responses: Some(driven.responses),
        one_way: None,
        goodput_bits_per_s: None,
        own_losses: own_losses_of(run, plan, &driven.samples, links),
        counts: WorkloadCounts {
            calls: driven.calls,
            frames: driven.frames.map(|frames| with_handover(run, frames, &driven.samples, begun)),
        },
        samples: if plan.samples { driven.samples } else { Vec::new() },
        untimed: if plan.samples { driven.untimed } else { Vec::new() },
        start: driven.start,
        strange: driven.counters.strange,
        late_sends: driven.counters.late_sends,
        transport: counts.and_far(far(index)),
        failure: driven.ended_early,
    });
    let ways = |link: &LinkReport| [link.request.stats, link.response.stats];
    let of_link = |(name, link): &(String, LinkReport)| LinkOutcome { name: name.clone(), ways: ways(link) };
    RunOutcome {
        flows: flows.collect(),
        links: links.iter().map(of_link).collect(),
        events: 0,
        packets: links.iter().flat_map(|(_, link)| ways(link)).map(|way| way.offered).sum(),
        trace_hash: None,
        length: Duration::ZERO,
        capture_failure: None,
    }
}

/// Adds what the handover cost, if there was one.
fn with_handover(run: &ScenarioRun, frames: FrameCounts, samples: &[Sample], begun: Instant) -> FrameCounts {
    let handover = run.scenario.handover.as_ref().map(|handover| {
        let times = [handover.at, handover.arrives_at()].map(|time| begun + time);
        HandoverCounts::of(samples, frames.deadline, times, handover.link.delay)
    });
    FrameCounts { handover, ..frames }
}

/// Returns the requests of a flow that lost a packet on its link; why that cannot be told.
fn own_losses_of(
    run: &ScenarioRun,
    plan: &FlowPlan,
    samples: &[Sample],
    links: &[(String, LinkReport)],
) -> Result<BTreeSet<u64>, &'static str> {
    if run.scenario.handover.is_some() {
        return Err(MOVED);
    }
    if run.scenario.flows.iter().count() > 1 {
        return Err(SEVERAL_FLOWS);
    }
    let ways = || links.iter().flat_map(|(_, link)| [&link.request, &link.response]);
    // What is behind the IP and UDP headers, both ways.
    let lost: Vec<_> =
        ways().flat_map(|way| &way.lost_packets).filter_map(|packet| transport_payload(packet)).collect();
    let first: Vec<_> =
        ways().flat_map(|way| &way.first_packets).filter_map(|packet| transport_payload(packet)).collect();
    own_losses(plan, samples, &lost, &first)
}
