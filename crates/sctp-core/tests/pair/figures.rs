//! What recovery costs: mean response time of requests echoed over a lossy path, less the round trip.
//!
//! Path: 10 ms each way, losses independent with the same probability in both directions. Requests: 64 octets, Poisson
//! arrivals, unordered, echoed at once. Profile `signalling`. `HEADWAY_SOAK_MESSAGES` sets the requests per cell;
//! docs/recovery.md has the figures for many.

use core::time::Duration;

use netem::Impairments;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sctp_core::{Message, ReceivedMessage, RedundancyConfig, StreamId};

use crate::net::{End, Pair, Reading, Setup, Sniffing, ms};

/// One cell of the table.
struct Cell {
    loss: &'static str,
    per_second: f64,
    /// Mean response time less the round trip at most, in milliseconds.
    excess_ms: f64,
    /// No response takes longer.
    slowest: Duration,
}

/// What a cell gave.
struct Figures {
    excess_ms: f64,
    slowest: Duration,
    cost: Cost,
}

/// What it sent for that, both ends together.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    packets: u64,
    /// Octets of headers, of chunks with data, and of reports of duplicates.
    octets: u64,
    copies: u64,
    mended: u64,
}

impl Cell {
    fn run(&self, requests: usize, mut setup: Setup) -> Figures {
        let loss = self.loss.parse().unwrap();
        let path = Impairments { delay: ms(10), loss, ..Impairments::default() };
        (setup.seed, setup.request, setup.response) = (7, path.clone(), path);
        let mut pair = setup.build();
        let responses = respond(&mut pair, requests, self.per_second);
        let total: Duration = responses.iter().sum();
        Figures {
            excess_ms: total.as_secs_f64() * 1000.0 / f64::from(u32::try_from(requests).unwrap()) - 20.0,
            slowest: responses.into_iter().max().unwrap(),
            cost: [End::Left, End::Right]
                .into_iter()
                .fold(Cost::default(), |cost, end| cost.with(&pair, end)),
        }
    }
}

impl Cost {
    fn with(self, pair: &Pair, end: End) -> Self {
        let statistics = pair.statistics(end);
        let (packets, sender) = (statistics.paths[0].counters.packets_sent, statistics.sender);
        let chunks = sender.chunks + sender.retransmissions + sender.probe_chunks + sender.copies.sent;
        let octets = packets * (20 + 12) + chunks * (16 + 64) + sender.duplicates_reported * 4;
        Self {
            packets: self.packets + packets,
            octets: self.octets + octets,
            copies: self.copies + sender.copies.sent,
            mended: self.mended + sender.copies.mended,
        }
    }
}

/// Sends requests and gives the response time of each.
fn respond(pair: &mut Pair, requests: usize, per_second: f64) -> Vec<Duration> {
    for end in [End::Left, End::Right] {
        pair.with(end, |side, _| side.sniffing = Sniffing::Off);
    }
    pair.with(End::Right, |side, _| side.reading = Reading::Echoing);
    pair.connect();
    pair.run_ms(5000);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut sent = Vec::with_capacity(requests);
    let mut next = pair.now();
    for number in 0..requests {
        #[expect(clippy::cast_precision_loss, reason = "53 bits of a random number")]
        let uniform = ((dice.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        next += Duration::from_secs_f64(-uniform.ln() / per_second);
        pair.world.run_until(next);
        pair.send(End::Left, request(number));
        sent.push(next);
    }
    pair.run_ms(60_000);
    let answers = &pair.side(End::Left).received;
    assert_eq!(answers.len(), requests);
    answers.iter().map(|(at, received)| at.since(sent[number(&received.message)])).collect()
}

fn request(number: usize) -> Message {
    let mut payload = vec![0; 64];
    payload[..8].copy_from_slice(&u64::try_from(number).unwrap().to_be_bytes());
    Message::unordered(StreamId::new(0), payload)
}

fn number(message: &ReceivedMessage) -> usize {
    usize::try_from(u64::from_be_bytes(message.payload[..8].try_into().unwrap())).unwrap()
}

fn requests() -> usize {
    let text = std::env::var("HEADWAY_SOAK_MESSAGES").unwrap_or_else(|_| "10000".to_owned());
    text.parse().unwrap_or_else(|_| panic!("HEADWAY_SOAK_MESSAGES is `{text}`; it must be a number"))
}

#[expect(clippy::print_stdout, reason = "with --nocapture these are the figures of docs/recovery.md")]
fn tell(figures: core::fmt::Arguments<'_>) {
    println!("{figures}");
}

fn hold(cells: &[Cell]) {
    for cell in cells {
        judge(cell, &cell.run(requests(), Setup::signalling()));
    }
}

fn judge(cell: &Cell, figures: &Figures) {
    let Cell { loss, per_second, .. } = cell;
    tell(format_args!(
        "{loss} {per_second}/s: {:.3} ms, slowest {:?}, {:?}",
        figures.excess_ms, figures.slowest, figures.cost
    ));
    assert!(figures.excess_ms <= cell.excess_ms, "{loss} {per_second}/s: {:.3} ms", figures.excess_ms);
    assert!(figures.slowest <= cell.slowest, "{loss} {per_second}/s: {:?}", figures.slowest);
}

/// A hundred requests a second: the next ones reveal what was lost (RFC 8985 §6).
#[test]
fn losses_of_a_busy_flow_cost_little() {
    let cell = |loss, excess_ms, slowest| Cell { loss, per_second: 100.0, excess_ms, slowest: ms(slowest) };
    hold(&[cell("0.1%", 0.075, 500), cell("1%", 0.70, 500), cell("5%", 3.7, 500)]);
}

/// One request a second: only probes reveal it (RFC 8985 §7).
#[test]
fn losses_of_a_thin_flow_cost_little() {
    let cell = |loss, excess_ms, slowest| Cell { loss, per_second: 1.0, excess_ms, slowest: ms(slowest) };
    hold(&[cell("1%", 0.95, 500), cell("5%", 5.0, 1000)]);
}

/// What travels twice is mended by the next message, or by an early copy where there is none; what that costs, by the run without.
#[test]
fn losses_of_redundant_messages_cost_the_time_until_the_next_one() {
    let cell = |loss, per_second, excess_ms| Cell { loss, per_second, excess_ms, slowest: ms(1000) };
    for cell in [cell("1%", 100.0, 0.25), cell("1%", 1.0, 0.45), cell("5%", 100.0, 1.3)] {
        let without = cell.run(requests(), Setup::signalling()).cost;
        let redundant = Setup::signalling()
            .configure(|config| config.recovery.redundancy = Some(RedundancyConfig::default()));
        let figures = cell.run(requests(), redundant);
        judge(&cell, &figures);
        let cost = figures.cost;
        tell(format_args!("without: {without:?}"));
        assert!(cost.mended > 0 && cost.octets * 10 <= without.octets * 22, "{cost:?}, without {without:?}");
        if cell.per_second > 1.0 {
            assert!(cost.packets <= without.packets, "{cost:?}, without {without:?}");
        }
    }
}

/// RFC 8985 §6.2 step 4: after a few needless retransmissions the window is as wide as the jitter.
#[test]
fn jitter_that_reorders_makes_for_few_needless_retransmissions() {
    let path = Impairments { delay: ms(10), jitter: ms(5), ..Impairments::default() };
    let mut setup = Setup::signalling();
    (setup.request, setup.response) = (path.clone(), path);
    let mut pair = setup.build();
    respond(&mut pair, requests(), 100.0);
    for end in [End::Left, End::Right] {
        let statistics = pair.statistics(end);
        let needless = statistics.sender.retransmissions + statistics.sender.probe_chunks;
        let packets = statistics.paths[0].counters.packets_sent;
        tell(format_args!("{end:?}: {needless} needless of {packets} packets"));
        let counted = statistics.paths[0].counters;
        // Credit for eight, and of each later recovery an eighth.
        let credit = (63 + counted.recoveries) / 8;
        assert_eq!(counted.recoveries_undone, counted.recoveries.min(credit), "{counted:?}");
        assert!(needless * 1000 < packets, "{needless} of {packets}");
    }
}
