//! The resequencing formulas against an independent simulation: arrivals dealt to streams, losses that arrive
//! late, in-order delivery. The simulation shares no code with the model.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use core::num::NonZeroU32;
use core::time::Duration;

use models::resequencing::{Dealing, Profile, Recovery, Scenario, Transport, Waiting, one_way_waiting};
use models::{Probability, Rate};

/// SplitMix64: small, seeded, good enough to average over.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let top = u32::try_from((z ^ (z >> 31)) >> 32).unwrap();
        (f64::from(top) + 1.0) / 4_294_967_296.0
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -self.uniform().ln() / rate
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit_f = f64::from(u32::try_from(limit).unwrap());
        (0..limit).find(|&index| self.uniform() <= 1.0 / (limit_f - index as f64)).unwrap()
    }
}

/// Waits of every message, in seconds: `extra(index)` is by how much message `index` is late, if it is.
fn waits(sent: &[f64], mut stream: impl FnMut(usize) -> usize, streams: usize, late: &[f64]) -> Vec<f64> {
    let mut delivered = vec![0.0; streams];
    sent.iter()
        .zip(late)
        .enumerate()
        .map(|(index, (sent, late))| {
            let stream = stream(index);
            delivered[stream] = f64::max(delivered[stream], sent + late);
            delivered[stream] - sent
        })
        .collect()
}

fn poisson_arrivals(random: &mut Random, rate: f64, count: usize) -> Vec<f64> {
    let mut now = 0.0;
    (0..count)
        .map(|_| {
            now += random.exponential(rate);
            now
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn share_above(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|value| **value > limit).count() as f64 / values.len() as f64
}

/// Draws from the same atoms as the model's `Recovery`.
fn draw(random: &mut Random, atoms: &[(Duration, f64)]) -> f64 {
    let mut left = random.uniform();
    for (time, weight) in atoms {
        left -= weight;
        if left <= 0.0 {
            return time.as_secs_f64();
        }
    }
    atoms.last().unwrap().0.as_secs_f64()
}

const MESSAGES: usize = 4_000_000;
const RATE: f64 = 100.0;
const LOSS: f64 = 0.05;

fn compare(atoms: &[(Duration, f64)], dealing: Dealing, limits_ms: &[f64]) {
    let mut random = Random(20_061_127);
    let sent = poisson_arrivals(&mut random, RATE, MESSAGES);
    let late: Vec<f64> =
        sent.iter().map(|_| if random.uniform() <= LOSS { draw(&mut random, atoms) } else { 0.0 }).collect();
    let simulated = match dealing {
        Dealing::RoundRobin(streams) => {
            let streams = usize::try_from(streams.get()).unwrap();
            waits(&sent, |index| index % streams, streams, &late)
        }
        Dealing::Random(streams) => {
            let streams = usize::try_from(streams.get()).unwrap();
            waits(&sent, |_| random.below(streams), streams, &late)
        }
        Dealing::Unordered => late.clone(),
    };
    let model = Waiting::new(
        &Recovery::from_atoms(atoms).unwrap(),
        Rate::per_second(RATE).unwrap(),
        Probability::new(LOSS).unwrap(),
        dealing,
    );
    let within = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.01;
    assert!(within(model.mean_s(), mean(&simulated)), "mean {} {}", model.mean_s(), mean(&simulated));
    for limit_ms in limits_ms {
        let (ours, theirs) = (model.tail_at(limit_ms / 1e3), share_above(&simulated, limit_ms / 1e3));
        assert!(within(ours, theirs), "P(W > {limit_ms} ms): {ours} {theirs}");
    }
}

fn number(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

const CONSTANT: [(Duration, f64); 1] = [(Duration::from_millis(60), 1.0)];
const TWO_TIMES: [(Duration, f64); 2] = [(Duration::from_millis(30), 0.9), (Duration::from_millis(300), 0.1)];

#[test]
fn one_stream_waits_as_simulated() {
    compare(&CONSTANT, Dealing::RoundRobin(number(1)), &[1.0, 10.0, 30.0, 55.0]);
    compare(&TWO_TIMES, Dealing::RoundRobin(number(1)), &[1.0, 20.0, 100.0, 250.0]);
}

#[test]
fn round_robin_waits_as_simulated() {
    compare(&CONSTANT, Dealing::RoundRobin(number(4)), &[1.0, 10.0, 30.0, 55.0]);
    compare(&TWO_TIMES, Dealing::RoundRobin(number(4)), &[1.0, 20.0, 100.0, 250.0]);
    compare(&CONSTANT, Dealing::RoundRobin(number(12)), &[1.0, 30.0, 55.0]);
}

#[test]
fn random_dealing_waits_as_simulated() {
    compare(&CONSTANT, Dealing::Random(number(4)), &[1.0, 10.0, 30.0, 55.0]);
}

#[test]
fn unordered_waits_for_itself_only() {
    compare(&TWO_TIMES, Dealing::Unordered, &[1.0, 100.0]);
}

#[test]
fn closed_form_for_constant_recovery_holds() {
    // E[W] = R − (1−p)·(1 − e^(−aR))/a with a = λp.
    let (late, a) = (0.06, RATE * LOSS);
    let closed = late - (1.0 - LOSS) * (1.0 - (-a * late).exp()) / a;
    for dealing in [Dealing::RoundRobin(number(1)), Dealing::Random(number(1))] {
        let model = Waiting::new(
            &Recovery::constant(Duration::from_secs_f64(late)).unwrap(),
            Rate::per_second(RATE).unwrap(),
            Probability::new(LOSS).unwrap(),
            dealing,
        );
        assert!((model.mean_s() / closed - 1.0).abs() < 1e-4, "{} {closed}", model.mean_s());
    }
}

/// When each message's loss is repaired, from the packets that really follow: three missing reports, then the
/// timer.
fn rfc9260_lateness(random: &mut Random, sent: &[f64], rtt: f64, loss: f64) -> Vec<f64> {
    let survives = |random: &mut Random| random.uniform() > loss;
    let arrives: Vec<bool> = sent.iter().map(|_| survives(random)).collect();
    let acknowledged: Vec<bool> = arrives.iter().map(|&arrives| arrives && survives(random)).collect();
    (0..sent.len())
        .map(|index| {
            if arrives[index] {
                return 0.0;
            }
            let later = index + 1..sent.len();
            let third = later.filter(|&later| acknowledged[later]).nth(2);
            let reported = third.map_or(f64::INFINITY, |third| sent[third] - sent[index] + rtt);
            let before = if index == 0 { f64::INFINITY } else { sent[index] - sent[index - 1] };
            let timer = 1.0 + (rtt - before).max(0.0);
            let mut late = reported.min(timer);
            let mut wait = if reported < timer { 1.0 } else { 2.0 };
            while !survives(random) {
                late += wait;
                wait *= 2.0;
            }
            late
        })
        .collect()
}

/// When each message's loss is repaired by RACK and tail loss probes: acknowledgments of the packets that
/// really follow, a reordering window of RTT/4, and a probe two round-trip times after the last transmission.
fn signalling_lateness(random: &mut Random, sent: &[f64], rtt: f64, loss: f64) -> Vec<f64> {
    let acknowledged: Vec<bool> =
        sent.iter().map(|_| random.uniform() > 1.0 - (1.0 - loss).powi(2)).collect();
    (0..sent.len())
        .map(|index| {
            if random.uniform() > loss {
                return 0.0;
            }
            let before = if index == 0 { f64::INFINITY } else { sent[index] - sent[index - 1] };
            let (mut copy, mut armed, mut probe) =
                (sent[index], sent[index] + (rtt - before).max(0.0), 2.0 * rtt);
            loop {
                let mut next =
                    index + 1 + sent[index + 1..].iter().take_while(|&&later| later <= copy).count();
                // Until a later packet is acknowledged, or the probe goes out in a pause.
                while next < sent.len() && sent[next] <= armed + probe && !acknowledged[next] {
                    armed = sent[next];
                    next += 1;
                }
                let is_revealed = next < sent.len() && sent[next] <= armed + probe;
                copy =
                    if is_revealed { f64::max(sent[next] + rtt, copy + 1.25 * rtt) } else { armed + probe };
                probe = if is_revealed { 2.0 * rtt } else { f64::min(2.0 * probe, 0.2) };
                armed = copy;
                if random.uniform() > loss {
                    return copy - sent[index];
                }
            }
        })
        .collect()
}

#[test]
fn rack_and_probes_are_predicted() {
    let (rtt, loss) = (0.02, 0.01);
    for rate in [10.0, 100.0] {
        let mut random = Random(8985);
        let sent = poisson_arrivals(&mut random, rate, 10_000_000);
        let late = signalling_lateness(&mut random, &sent, rtt, loss);
        let scenario = Scenario {
            rtt: Duration::from_millis(20),
            loss: Probability::new(loss).unwrap(),
            rate: Rate::per_second(rate).unwrap(),
            processing: Duration::ZERO,
            profile: Profile::Signalling,
            rto_min: None,
        };
        for streams in [1, 2, 6] {
            let count = usize::try_from(streams).unwrap();
            let simulated = waits(&sent, |index| index % count, count, &late);
            let model = one_way_waiting(&scenario, &Transport::Sctp { streams: number(streams) }).unwrap();
            let ratio = (rtt + 2.0 * model.mean_s()) / (rtt + 2.0 * mean(&simulated));
            assert!((ratio - 1.0).abs() < 0.005, "{rate}/s, {streams} streams: mean {ratio}");
            for limit_ms in [20.5, 26.0, 30.0] {
                let ratio = model.tail_at(limit_ms / 1e3) / share_above(&simulated, limit_ms / 1e3);
                let cell = format!("{rate}/s, {streams} streams: P(W > {limit_ms} ms)");
                assert!((ratio - 1.0).abs() < 0.02, "{cell} {ratio}");
            }
        }
    }
}

/// The model takes recovery times as independent of the arrivals that wait, but for the waiting message
/// itself being one that reveals the loss. Here everything depends on everything.
#[test]
fn recovery_that_depends_on_arrivals_is_predicted() {
    let (rtt, loss) = (0.02, 0.01);
    let mut random = Random(9260);
    let sent = poisson_arrivals(&mut random, RATE, 10_000_000);
    let late = rfc9260_lateness(&mut random, &sent, rtt, loss);
    let scenario = Scenario {
        rtt: Duration::from_millis(20),
        loss: Probability::new(loss).unwrap(),
        rate: Rate::per_second(RATE).unwrap(),
        processing: Duration::ZERO,
        profile: Profile::Rfc9260,
        rto_min: None,
    };
    for (streams, limits_ms) in [(1, [5.0, 20.5, 30.0, 60.0]), (6, [20.5, 25.0, 30.0, 60.0])] {
        let count = usize::try_from(streams).unwrap();
        let simulated = waits(&sent, |index| index % count, count, &late);
        let model = one_way_waiting(&scenario, &Transport::Sctp { streams: number(streams) }).unwrap();
        let ratio = (rtt + 2.0 * model.mean_s()) / (rtt + 2.0 * mean(&simulated));
        assert!((ratio - 1.0).abs() < 0.02, "{streams} streams: mean {ratio}");
        for limit_ms in limits_ms {
            let ratio = model.tail_at(limit_ms / 1e3) / share_above(&simulated, limit_ms / 1e3);
            assert!((ratio - 1.0).abs() < 0.02, "{streams} streams: P(W > {limit_ms} ms) {ratio}");
        }
    }
}
