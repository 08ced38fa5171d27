//! Writes a report from invented response times, to look at its layout: `cargo run -p lab --example sample_report [DIR]`.
//!
//! Each lost packet delays its own request and, on ordered lanes, those behind it. Nothing here is measured: the
//! host facts of the report say so.

use core::time::Duration;
use std::error::Error;
use std::path::PathBuf;

use lab::{
    Blocking, CompareConfig, Comparison, Conditions, DirectionPackets, LoadCounters, MeasuredDelay,
    PacketCounts, Prediction, RawOutcome, RawRun, Skipped, TransportSpec,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use virtual_time::Instant;
use workload::{ArrivalProcess, Lane, MessageNumber, Sample};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("headway-report"), PathBuf::from);
    let config = CompareConfig::default();
    let mut runs = Vec::new();
    for transport in config.transports.as_slice() {
        runs.push(invent(&config, *transport)?);
    }
    let raw = RawOutcome {
        backend: lab::BackendKind::Namespaces,
        fallback: None,
        device: Some(emulator::DeviceKind::Tun),
        delay: Some(MeasuredDelay { p50: 10.03, p99: 10.21 }),
        runs,
        skipped: vec![Skipped {
            id: "tcp:8".to_owned(),
            because: "an example of a transport that was skipped".to_owned(),
        }],
    };
    let mut conditions = Conditions::of_this_host();
    conditions.facts.insert("note".to_owned(), "all response times of this report are invented".to_owned());
    let comparison = Comparison::new(&config, &raw, conditions, |transport| Some(predict(transport)));
    lab::report::write(&directory, &comparison, &raw)?;
    let mut out = std::io::stdout();
    std::io::Write::write_all(&mut out, lab::report::table(&comparison.result).as_bytes())?;
    Ok(())
}

/// What a loss costs over a transport, in ms, and what it holds up.
fn recovery_ms(transport: TransportSpec) -> f64 {
    match transport.protocol() {
        "tcp" => 50.0 + 55.0 * f64::from(transport.lanes()),
        "udp" => 500.0,
        _ => 51.0,
    }
}

fn invent(config: &CompareConfig, transport: TransportSpec) -> Result<RawRun, Box<dyn Error>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut run, samples) = scheduled(config, transport)?;
    let mut lane_free = vec![Instant::EPOCH; usize::from(transport.lanes())];
    let mut blocking = Blocking::default();
    for mut sample in samples {
        let at = sample.intended;
        let noise = Duration::from_secs_f64(rng.random::<f64>() * 0.0006);
        let lost = rng.random_bool(0.02);
        let extra =
            if lost { Duration::from_secs_f64(recovery_ms(transport) * 1e-3) } else { Duration::ZERO };
        let alone = at + Duration::from_millis(20) + noise + extra;
        let free = lane_free.get_mut(usize::from(sample.lane.0)).ok_or("lane")?;
        let answered = if transport.is_ordered() { alone.max(*free) } else { alone };
        *free = answered;
        sample.blocked = Some(answered.since(alone));
        if answered > alone {
            blocking.messages_blocked += 1;
            blocking.total += answered.since(alone);
        }
        let never = transport.is_unreliable() && sample.number.0 == 1234;
        sample.response = (!never).then(|| answered.since(at));
        run.counters.responses += u64::from(!never);
        run.counters.requests += 1;
        run.samples.push(sample);
    }
    run.blocking = (transport.protocol() == "sctp").then_some(blocking);
    Ok(run)
}

fn scheduled(
    config: &CompareConfig,
    transport: TransportSpec,
) -> Result<(RawRun, Vec<Sample>), Box<dyn Error>> {
    let mut arrivals = ArrivalProcess::new(workload::Arrivals::Poisson, config.traffic.interval, 1)?;
    let offsets =
        std::iter::from_fn(|| arrivals.next_offset()).take_while(|at| *at < config.traffic.duration);
    let sample = |(number, offset): (u64, Duration)| {
        let lane = u16::try_from(number % u64::from(transport.lanes())).map_or(Lane(0), Lane);
        let intended = Instant::EPOCH + offset;
        let (sent, response, blocked) = (Some(intended), None, None);
        Sample { number: MessageNumber(number), lane, intended, sent, response, blocked }
    };
    let samples = (0..).zip(offsets).map(sample).collect();
    let packets = DirectionPackets { sent: 3000, dropped: 30 };
    let is_sctp = transport.protocol() == "sctp";
    let run = RawRun {
        transport,
        repetition: 0,
        profile: is_sctp.then(|| config.profile.clone()),
        start: Instant::EPOCH,
        samples: Vec::new(),
        counters: LoadCounters { late_sends: 1, ..LoadCounters::default() },
        retransmissions: transport.is_unreliable().then_some(41),
        blocking: None,
        packets: Some(PacketCounts { request: packets, response: packets }),
        paths: None,
        ended_early: None,
        capture_failure: None,
    };
    Ok((run, samples))
}

/// A curve of the right kind: the round trip, then 2 % of losses that take up to the time of recovery.
fn predict(transport: TransportSpec) -> Prediction {
    let recovery = recovery_ms(transport);
    let affected =
        if transport.is_ordered() { 0.02 * recovery / 10.0 / f64::from(transport.lanes()) } else { 0.02 };
    let affected = affected.max(0.02);
    let step = |n: u32| (20.3 + recovery * f64::from(n) / 100.0, affected * (1.0 - f64::from(n) / 100.0));
    let ccdf = std::iter::once((20.3, 1.0)).chain((1..=100).map(step)).collect();
    Prediction {
        model_ms: 20.3 + affected * recovery / 2.0,
        study_ms: Some(20.5 + affected * recovery / 2.0),
        study: Some("S4 (1),(7)".to_owned()),
        ccdf,
    }
}
