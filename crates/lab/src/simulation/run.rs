//! One run: the world from its first event to the last one that matters.

use core::time::Duration;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use emulator::CaptureFile;
use netsim::{CapturePoint, CaptureScope, Direction, KeptPacket, LinkState, World};
use virtual_time::Instant;

use super::build::{Built, FlowSeats, build};
use super::error::SimulationError;
use super::outcome::{FlowOutcome, LinkOutcome, RunOutcome};
use super::scenario::{LinkPlan, Scenario, SwitchState};
use super::station::SimulatedHost;
use crate::statistics::{FrameCounts, HandoverCounts, WorkloadCounts};
use crate::stop::StopSignal;
use crate::traffic::{Client, Measure};
use crate::transport::{End, SEVERAL_FLOWS, own_losses};

/// The ways in which a run is watched.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Ends it early: what was measured until then is the outcome.
    pub stop: StopSignal,
    /// Write every packet to a pcapng file. Default no. A file has one place: of both, the second has a name of its own.
    pub capture: Option<CaptureFile>,
}

impl From<&StopSignal> for Watch {
    fn from(stop: &StopSignal) -> Self {
        Self { stop: stop.clone(), capture: None }
    }
}

/// Runs a scenario once.
///
/// # Errors
/// [`SimulationError`] for what only the whole scenario shows to be wrong, such as a link to nowhere.
pub fn simulate(scenario: &Scenario, seed: u64, watch: &Watch) -> Result<RunOutcome, SimulationError> {
    let scenario = scenario.with_both_networks()?;
    let (stop, scenario) = (&watch.stop, &*scenario);
    let mut built = build(scenario, seed)?;
    if let Some(file) = &watch.capture {
        capture(&mut built.world, file)?;
    }
    if scenario.handover.is_none() && scenario.flows.iter().any(|(_, flow)| flow.samples) {
        built.world.keep_lost_packets();
    }
    let changes = changes(scenario);
    let most =
        Instant::EPOCH + scenario.stop.duration.map_or(LONGEST, |duration| duration.0 + drain(scenario));
    for (at, link, change) in changes {
        let at = Instant::EPOCH + at;
        if !advance(&mut built, at.min(most), stop) {
            break;
        }
        apply(&mut built, scenario, link, change)?;
    }
    advance(&mut built, most, stop);
    // What was measured is worth more than its packets.
    let capture_failure = built.world.finish_captures().err().map(|error| error.to_string());
    Ok(RunOutcome { capture_failure, ..outcome(scenario, built) })
}

fn capture(world: &mut World<SimulatedHost>, file: &CaptureFile) -> Result<(), SimulationError> {
    match file.point {
        emulator::CapturePoint::Sender => capture_at(world, &file.path, CapturePoint::Departure),
        emulator::CapturePoint::Receiver => capture_at(world, &file.path, CapturePoint::Arrival),
        emulator::CapturePoint::Both => {
            capture_at(world, &file.path, CapturePoint::Departure)?;
            capture_at(world, &emulator::beside(&file.path, "received"), CapturePoint::Arrival)
        }
    }
}

fn capture_at(
    world: &mut World<SimulatedHost>,
    path: &Path,
    at: CapturePoint,
) -> Result<(), SimulationError> {
    let failed = |because: String| SimulationError::Capture { path: path.to_owned(), because };
    let file = File::create(path).map_err(|error| failed(error.to_string()))?;
    world
        .capture(Box::new(BufWriter::new(file)), CaptureScope::World, at)
        .map_err(|error| failed(error.to_string()))
}

/// Checks that a scenario can be built, without running it.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SimulationError> {
    let scenario = scenario.with_both_networks()?;
    build(&scenario, 1).map(|_| ())
}

/// Runs until everything is done (false) or until `deadline` (true).
fn advance(built: &mut Built, deadline: Instant, stop: &StopSignal) -> bool {
    let Built { world, flows, .. } = built;
    // Bulk flows alone never end by themselves.
    let is_bulk_only = flows.iter().all(|flow| flow.measure == Measure::Goodput);
    let mut looked = 0_u32;
    let ended = world.run_while(deadline, |world| {
        looked = looked.wrapping_add(1);
        if looked.is_multiple_of(STOP_CHECK) && stop.is_raised() {
            return false;
        }
        is_bulk_only || flows.iter().any(|flow| is_running(world, flow))
    });
    match ended {
        netsim::Ended::ConditionFailed => false,
        netsim::Ended::Deadline | netsim::Ended::Idle => true,
    }
}

fn is_running(world: &World<SimulatedHost>, flow: &FlowSeats) -> bool {
    if flow.measure == Measure::Goodput {
        return false;
    }
    let end = |(host, position)| -> &dyn End { world.host(host).host.end(position) };
    let Some(client) = end(flow.client).client() else { return false };
    let completed = match flow.measure {
        Measure::Responses | Measure::Goodput => client.answered(),
        Measure::Delays => end(flow.server).delivered(),
    };
    !client.is_finished(world.now(), completed)
}

fn drain(scenario: &Scenario) -> Duration {
    let flows = scenario.flows.iter().filter(|(_, flow)| flow.workload.measure() != Measure::Goodput);
    flows.map(|(_, flow)| flow.drain(&scenario.stop)).max().unwrap_or_default()
}

/// Returns when which link has which of its changes, in the order of time.
pub(crate) fn changes(scenario: &Scenario) -> Vec<(Duration, usize, usize)> {
    let of_link = |(link, (_, plan)): (usize, (&str, &LinkPlan))| {
        let times = plan.changes.iter().map(|change| change.at.0);
        times.enumerate().map(|(change, at)| (at, link, change)).collect::<Vec<_>>()
    };
    let mut changes: Vec<_> = scenario.links.iter().enumerate().flat_map(of_link).collect();
    changes.sort_by_key(|(at, ..)| *at);
    changes
}

fn apply(built: &mut Built, scenario: &Scenario, link: usize, change: usize) -> Result<(), SimulationError> {
    let Some((name, plan)) = scenario.links.iter().nth(link) else { return Ok(()) };
    let id = built.links[link];
    let [request, response] = plan.changed(change);
    for (direction, impairments) in [(Direction::Request, request), (Direction::Response, response)] {
        let set = built.world.set_impairments(id, direction, impairments);
        set.map_err(|error| SimulationError::new(format!("links.{name}.changes"), error.to_string()))?;
    }
    if plan.changes[change].mtu.is_some() {
        let time = plan.changes[change].at.0;
        for (host, name) in built.hosts.iter().zip(&scenario.hosts) {
            let mtu = scenario.mtu_of(name, time).unwrap_or(usize::MAX);
            built.world.with_host(*host, |host, _now| host.set_mtu_bytes(mtu));
        }
    }
    match plan.changes[change].state {
        Some(SwitchState::Up) => built.world.set_link_state(id, LinkState::Up),
        Some(SwitchState::Down) => built.world.set_link_state(id, LinkState::Down),
        None => {}
    }
    Ok(())
}

fn outcome(scenario: &Scenario, built: Built) -> RunOutcome {
    let Built { world, flows, links, .. } = built;
    let counters = *world.counters();
    let payloads = |packets: &[KeptPacket]| packets.iter().map(|packet| packet.payload.clone()).collect();
    let (lost, first): (Vec<Vec<u8>>, Vec<Vec<u8>>) =
        (payloads(world.lost_packets()), payloads(world.first_packets()));
    let (trace_hash, now) = (world.trace_hash(), world.now());
    let ways = |link| [Direction::Request, Direction::Response].map(|way| *world.link_stats(link, way));
    let names = scenario.links.iter().map(|(name, _)| name.to_owned());
    let links = names.zip(&links).map(|(name, link)| LinkOutcome { name, ways: ways(*link) }).collect();
    let mut ends: Vec<Vec<Option<Box<dyn End>>>> =
        world.into_hosts().map(|host| host.host.into_ends().into_iter().map(Some).collect()).collect();
    let mut take = |(host, position): (netsim::HostId, usize)| ends[host.index()][position].take();
    let names = scenario.flows.iter().map(|(name, _)| name.to_owned());
    let of_flow = |(name, seats): (String, &FlowSeats)| {
        flow_outcome(name, seats, take(seats.client), take(seats.server), scenario, now)
    };
    let mut flows: Vec<_> = names.zip(&flows).map(of_flow).collect();
    // Where there is one flow, all packets are its own.
    if scenario.handover.is_some() {
        flows.iter_mut().for_each(|flow| flow.own_losses = Err(MOVED));
    } else if let ([flow], Some((_, plan))) = (&mut *flows, scenario.flows.iter().next()) {
        let [lost, first] =
            [&lost, &first].map(|packets| packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        flow.own_losses = own_losses(plan, &flow.samples, &lost, &first);
    }
    RunOutcome {
        flows,
        links,
        events: counters.events,
        packets: counters.sent,
        trace_hash: Some(trace_hash),
        length: now.since(Instant::EPOCH),
        capture_failure: None,
    }
}

fn flow_outcome(
    name: String,
    seats: &FlowSeats,
    client: Option<Box<dyn End>>,
    server: Option<Box<dyn End>>,
    scenario: &Scenario,
    now: Instant,
) -> FlowOutcome {
    let counts = |end: &Option<Box<dyn End>>| end.as_ref().map(|end| end.counts()).unwrap_or_default();
    let transport = counts(&client).and_far(counts(&server));
    let client = client.and_then(End::into_client);
    let failure = client.as_ref().and_then(|client| client.failure().map(str::to_owned));
    let answered = client.as_ref().map_or(0, Client::answered);
    let (start, strange) = client.as_ref().map(Client::facts).unwrap_or_default();
    let calls = client.as_ref().and_then(Client::calls);
    let frames = client.as_ref().and_then(Client::frames);
    let (messages, responses, samples, untimed) = client.map(Client::into_parts).unwrap_or_default();
    let of_handover = |deadline| {
        let handover = scenario.handover.as_ref()?;
        let times = [handover.at, handover.arrives_at()].map(|time| Instant::EPOCH + time);
        Some(HandoverCounts::of(&samples, deadline, times, handover.link.delay))
    };
    let frames = frames.map(|frames| FrameCounts { handover: of_handover(frames.deadline), ..frames });
    let counts = WorkloadCounts { calls, frames };
    let received = server.and_then(End::into_received);
    let (octets, until) = received.as_ref().map(|(_, octets, until)| (*octets, *until)).unwrap_or_default();
    let one_way = received.map(|(one_way, ..)| one_way);
    let counted = until.min(now).since(Instant::EPOCH).saturating_sub(scenario.stop.warm_up.0);
    let is_bulk = seats.measure == Measure::Goodput;
    let completed = match seats.measure {
        Measure::Responses | Measure::Goodput => answered,
        Measure::Delays => one_way.as_ref().map_or(0, |one_way| one_way.messages),
    };
    FlowOutcome {
        name,
        messages,
        completed,
        responses: (seats.measure == Measure::Responses).then_some(responses),
        one_way: one_way.filter(|_| seats.measure == Measure::Delays),
        goodput_bits_per_s: (is_bulk && !counted.is_zero())
            .then(|| octets as f64 * 8.0 / counted.as_secs_f64()),
        samples,
        untimed,
        own_losses: Err(SEVERAL_FLOWS),
        start,
        strange,
        late_sends: 0,
        transport,
        counts,
        failure,
    }
}

/// The reason why nobody looks for the packets of a request in two networks.
pub(crate) const MOVED: &str = "the client moved, and packets are looked for in one network";
/// A run without a duration ends after a day at the latest.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Events between two looks at whether somebody wants to stop.
const STOP_CHECK: u32 = 1024;
