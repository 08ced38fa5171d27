//! One link as a queue, against theory: M/M/1, M/D/1 and the formula of Pollaczek and Khinchine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]
#![allow(clippy::cast_precision_loss, reason = "counts far below 2^53")]

use std::net::IpAddr;
use std::time::Duration;

use netem::{BitRate, Impairments, derive_indexed_seed};
use netsim::{Host, LinkSpec, Outgoing, Packet, Protocol, World};
use virtual_time::Instant;

/// Sends packets of drawn lengths at drawn times; the other end notes how long each took.
#[derive(Default)]
struct Station {
    schedule: Vec<(Instant, usize)>,
    next: usize,
    sojourns: Vec<f64>,
}

impl Host for Station {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let sent = Instant::from_nanos(u64::from_be_bytes(*packet.payload.first_chunk().unwrap()));
        self.sojourns.push(now.since(sent).as_secs_f64());
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let (at, wire_bytes) = *self.schedule.get(self.next).filter(|(at, _)| *at <= now)?;
        self.next += 1;
        buffer.extend_from_slice(&at.as_nanos().to_be_bytes());
        buffer.resize(wire_bytes - IP_HEADER_BYTES, 0);
        let destination = FAR.parse().unwrap();
        let len = buffer.len();
        Some(Outgoing { source: None, destination, protocol: Protocol::Sctp, len, segment_bytes: None })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.schedule.get(self.next).map(|(at, _)| *at)
    }
}

/// Uniform in (0, 1), a function of what it is for and its number.
fn uniform(what: &str, number: u64) -> f64 {
    ((derive_indexed_seed(7, what, number) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
}

fn exponential(what: &str, number: u64) -> f64 {
    -uniform(what, number).ln()
}

/// Sojourn times of packets with these lengths, for a load of `rho`; octets are served at 1 MB/s.
fn sojourns(rho: f64, mean_bytes: f64, length: impl Fn(u64) -> usize) -> Vec<f64> {
    let interval = mean_bytes / 1e6 / rho;
    let mut at = Duration::ZERO;
    let packet = |number: u64| {
        at += Duration::from_secs_f64(interval * exponential("interval", number));
        (Instant::EPOCH + at, length(number))
    };
    let schedule: Vec<_> = (0..PACKETS).map(packet).collect();
    let mut world = World::new(1);
    let near = world.add_host(Station { schedule, ..Station::default() });
    let far = world.add_host(Station::default());
    let ends = [(near, NEAR), (far, FAR)]
        .map(|(host, address)| world.add_interface(host, &[address.parse::<IpAddr>().unwrap()]).unwrap());
    let slow = Impairments { rate: BitRate::from_bits_per_second(8_000_000), ..Impairments::default() };
    world.connect(ends[0], ends[1], LinkSpec::symmetric(slow)).unwrap();
    world.wake(near);
    while world.step().is_some() {}
    world.host(far).sojourns.clone()
}

/// The theory's value is within the 99 % interval of the mean, by batch means, and the interval is narrow.
fn assert_mean(values: &[f64], theory: f64) {
    let batch = values.len() / BATCHES;
    let means: Vec<f64> =
        values.chunks_exact(batch).map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect();
    let mean = means.iter().sum::<f64>() / BATCHES as f64;
    let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
    let half = STUDENT_99 * (variance / BATCHES as f64).sqrt();
    assert!((mean - theory).abs() <= half, "{mean} ± {half}, theory has {theory}");
    assert!(half < 0.05 * theory, "{half} is too wide for {theory}");
}

#[test]
fn exponential_lengths_make_an_mm1_queue() {
    let (rho, service) = (0.7, 0.004);
    // T = 1/(μ − λ). Lengths are whole octets, and an IP header at least.
    let length = |number| octets(4000.0 * exponential("length", number));
    assert_mean(&sojourns(rho, 4000.0, length), service / (1.0 - rho));
}

#[test]
fn equal_lengths_make_an_md1_queue() {
    let (rho, service) = (0.8, 0.001);
    // T = S·(1 + ρ/(2(1 − ρ))).
    assert_mean(&sojourns(rho, 1000.0, |_| 1000), service * (1.0 + rho / (2.0 * (1.0 - rho))));
}

#[test]
fn two_lengths_follow_pollaczek_and_khinchine() {
    let (rho, short, long, share) = (0.6, 100.0, 1500.0, 0.3);
    let mean = (1.0 - share) * short + share * long;
    let square = ((1.0 - share) * short * short + share * long * long) / 1e12;
    let length = |number| if uniform("length", number) < share { 1500 } else { 100 };
    // T = E[S] + λ·E[S²]/(2(1 − ρ)).
    let lambda = rho / (mean / 1e6);
    let waiting = lambda * square / (2.0 * (1.0 - rho));
    assert_mean(&sojourns(rho, mean, length), mean / 1e6 + waiting);
}

fn octets(length: f64) -> usize {
    let number: u32 = format!("{:.0}", length.clamp(28.0, 65_000.0)).parse().unwrap();
    usize::try_from(number).unwrap()
}

const NEAR: &str = "10.0.0.1";
const FAR: &str = "10.0.0.2";
const PACKETS: u64 = 200_000;
const BATCHES: usize = 20;
/// Student's t, 19 degrees of freedom, 99 % of both sides.
const STUDENT_99: f64 = 2.861;
const IP_HEADER_BYTES: usize = 20;
