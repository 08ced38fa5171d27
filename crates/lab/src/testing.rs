//! Raw runs for the tests of summary and report.

use core::time::Duration;

use virtual_time::Instant;
use workload::{Lane, MessageNumber, Sample};

use crate::compare::{BackendKind, RawOutcome, RawRun};
use crate::statistics::LoadCounters;
use crate::transport::TransportSpec;

/// Returns `count` response times of 20, 21, … 26 ms in turn.
pub(crate) fn answered(count: u64) -> Vec<Option<Duration>> {
    (0..count).map(|n| Some(Duration::from_millis(20 + n % 7))).collect()
}

/// Returns a run with one request every 10 ms from 1 s on the driver's clock.
pub(crate) fn run(id: &str, responses: &[Option<Duration>]) -> RawRun {
    let transport: TransportSpec = id.parse().unwrap();
    let start = Instant::from_millis(1000);
    let sample = |(n, response): (u64, &Option<Duration>)| {
        let intended = start + Duration::from_millis(10 * n);
        let sent = Some(intended + Duration::from_micros(5));
        Sample { number: MessageNumber(n), lane: Lane(0), intended, sent, response: *response, blocked: None }
    };
    RawRun {
        transport,
        repetition: 0,
        profile: (transport.protocol() == "sctp").then(|| "signalling".to_owned()),
        start,
        samples: (0..).zip(responses).map(sample).collect(),
        untimed: Vec::new(),
        frames: None,
        counters: LoadCounters {
            requests: responses.len() as u64,
            responses: responses.iter().flatten().count() as u64,
            ..LoadCounters::default()
        },
        own_losses: Err("a test"),
        retransmissions: None,
        blocking: None,
        packets: None,
        paths: None,
        ended_early: None,
        capture_failure: None,
    }
}

/// Returns an outcome of the simulator.
pub(crate) fn outcome(runs: Vec<RawRun>) -> RawOutcome {
    RawOutcome::new(BackendKind::Simulator, runs)
}
