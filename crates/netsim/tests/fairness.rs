//! SCTP as it ships beside TCP over one bottleneck, where neither starves the other, and over a path with losses. docs/fairness.md has
//! the whole tables.
#![expect(clippy::unwrap_used, reason = "its cells are its own: what fails is a mistake here")]

#[path = "../examples/fairness/bottleneck.rs"]
mod bottleneck;
#[path = "../examples/fairness/flow.rs"]
mod flow;

use std::time::Duration;

use bottleneck::{Cell, Obstacle, Outcome};
use flow::{Algorithm, Kind, Messages};

/// What the runs of a cell gave.
#[derive(Debug)]
struct Shares {
    /// The share of an SCTP flow by that of a TCP flow.
    ratio: f64,
    /// The worst of Jain's indices.
    jain: f64,
    /// Timeouts of SCTP flows, of TCP flows.
    timeouts: [u64; 2],
}

fn shares(algorithm: Algorithm, obstacle: Obstacle, flows: u8) -> Shares {
    shares_of(&Cell::shared(algorithm, Duration::from_millis(20), obstacle, flows))
}

fn shares_of(cell: &Cell) -> Shares {
    let outcomes: Vec<Outcome> = (1..=RUNS).map(|seed| cell.run(seed, MEASURED)).collect();
    let sum = |of: fn(&Outcome) -> &[f64]| outcomes.iter().flat_map(of).sum::<f64>();
    let count = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum();
    Shares {
        ratio: sum(|outcome| &outcome.sctp) / sum(|outcome| &outcome.tcp),
        jain: outcomes.iter().map(Outcome::jain).fold(1.0, f64::min),
        timeouts: [count(|outcome| outcome.sctp_timeouts), count(|outcome| outcome.tcp_timeouts)],
    }
}

#[test]
fn sctp_and_tcp_share_a_bottleneck_within_a_quarter() {
    for (algorithm, obstacle, flows) in [
        (Algorithm::Halving, Obstacle::Queue(50), 1),
        (Algorithm::Halving, Obstacle::Queue(50), 2),
        (Algorithm::Halving, Obstacle::Loss(0.01), 2),
        (Algorithm::Cubic, Obstacle::Queue(50), 2),
        (Algorithm::Cubic, Obstacle::Loss(0.01), 2),
    ] {
        let shares = shares(algorithm, obstacle, flows);
        let is_fair = (0.8..=1.25).contains(&shares.ratio) && shares.jain >= 0.9;
        // Losses are found by what is acknowledged: less than a timeout a flow in ten seconds.
        let is_timely = shares.timeouts.iter().all(|&count| count <= 2 * RUNS * u64::from(flows));
        assert!(is_fair && is_timely, "{algorithm:?}, {obstacle:?}, {flows} + {flows} flows: {shares:?}");
    }
}

/// What is sent once more mends losses sooner, and each of them cuts the window all the same.
#[test]
fn redundant_messages_take_no_more_from_tcp_than_others_do() {
    for obstacle in [Obstacle::Queue(50), Obstacle::Loss(0.01)] {
        let cell = Cell::shared(Algorithm::Cubic, Duration::from_millis(20), obstacle, 2);
        let [once, redundant] = [Messages::Of100, Messages::Of100Redundant]
            .map(|messages| shares_of(&Cell { messages, ..cell }).ratio);
        assert!(redundant <= 1.05 * once, "{obstacle:?}: {redundant} of a TCP flow, {once} without copies");
    }
}

/// Losses are seconds apart there, and the queue that takes all makes round trips of seconds: what has grown in slow start stays for
/// long, and so does what a needless cut has cost.
#[test]
fn many_flows_keep_their_share_where_losses_are_rare_and_the_queue_has_no_end() {
    let shares = shares(Algorithm::Cubic, Obstacle::Loss(0.001), 8);
    assert!((0.8..=1.25).contains(&shares.ratio) && shares.jain >= 0.9, "{shares:?}");
}

/// Four packets a flow fill the path and its queue: SCTP keeps four after a loss (RFC 9260 §7.2.3), TCP two (RFC 5681
/// §3.1). So SCTP has more, but not twice as much.
#[test]
fn floor_of_the_window_gives_sctp_less_than_its_ratio_to_that_of_tcp() {
    let shares = shares(Algorithm::Halving, Obstacle::Queue(50), 8);
    assert!((0.8..=1.75).contains(&shares.ratio), "{shares:?}");
}

/// A path that loses packets and has room for more than any of them: what SCTP carries by what a TCP carries, with the
/// same curve and as Linux has it.
#[test]
fn sctp_carries_as_much_over_a_lossy_path_as_tcp_does() {
    for (loss, bars) in [(0.01, [0.95, 0.95]), (0.001, [0.9, 0.95])] {
        let [rfc, linux] = [Algorithm::Cubic, Algorithm::Linux]
            .map(|algorithm| Cell::alone(algorithm, None, loss).goodput(LOSSY_RUNS, LOSSY));
        for messages in [Messages::Of1200, Messages::Of1200Filled] {
            let sctp = Cell::alone(Algorithm::Cubic, Some(messages), loss).goodput(LOSSY_RUNS, LOSSY);
            let ratios = [sctp / rfc, sctp / linux];
            let is_met = ratios.iter().zip(bars).all(|(ratio, bar)| *ratio >= bar);
            assert!(is_met, "{messages:?} at {loss}: {sctp} MB/s, {ratios:?} of TCP's");
        }
    }
}

/// Where a sixth of each packet is empty, the loss of a packet costs as much and its arrival brings less.
#[test]
fn cutting_messages_carries_a_twentieth_more_over_a_lossy_path() {
    let [whole, cut] = [Messages::Of1200Whole, Messages::Of1200]
        .map(|messages| Cell::alone(Algorithm::Cubic, Some(messages), 0.001).goodput(LOSSY_RUNS, LOSSY));
    assert!(cut >= 1.05 * whole, "{cut} and {whole} MB/s");
}

/// One and a half times the best of other SCTP stacks over such a path, which had 1.43 and 4.7 MB/s.
#[test]
fn westwood_is_ahead_of_those_that_take_every_loss_for_congestion() {
    for (loss, bar) in [(0.01, 2.2), (0.001, 7.1)] {
        let carried = Cell::alone(Algorithm::Westwood, Some(Messages::Of1200), loss).goodput(3, LOSSY);
        assert!(carried >= bar, "{carried} MB/s at {loss}");
    }
}

/// Where a queue builds up before anything is lost, it yields: nobody starves.
#[test]
fn westwood_leaves_tcp_a_share_where_there_is_a_queue() {
    let shares = shares(Algorithm::Westwood, Obstacle::Queue(50), 1);
    assert!((0.4..=1.6).contains(&shares.ratio), "{shares:?}");
}

/// A path of 20 Mbit/s and 100 ms, which holds 166 packets and as many in its queue, of SCTP or TCP alone: one packet in a hundred is lost by chance.
#[test]
fn model_of_the_path_carries_it_in_spite_of_losses() {
    for flows in [[1, 0], [0, 1]] {
        let carried = |algorithm| {
            let path = Obstacle::Path { mbits: 20, queue: 166, loss: 0.01 };
            let cell = Cell::shared(algorithm, Duration::from_millis(100), path, 1);
            Cell { flows, ..cell }.goodput(3, LOSSY)
        };
        let [model, cubic] = [Algorithm::BbrAlike, Algorithm::Cubic].map(carried);
        assert!(model >= 1.6 && model > 4.0 * cubic, "{flows:?}: {model} and {cubic} MB/s");
    }
}

/// Queues of half of what the path holds, which is 83 packets, and as much as that. More flows, longer queues and paths that hold few packets are less fair
/// (docs/fairness.md).
#[test]
fn model_of_the_path_leaves_a_flow_of_cubic_its_share_and_loses_little() {
    for queue in [41, 83] {
        let path = Obstacle::Path { mbits: 50, queue, loss: 0.0 };
        let cell = Cell::shared(Algorithm::Bbr, Duration::from_millis(20), path, 1);
        for seed in 1..=3 {
            let outcome = cell.run(seed, MEASURED);
            let is_fair = outcome.jain() >= 0.85 && outcome.dropped < 0.02;
            assert!(is_fair, "queue of {queue}: {:?} {:?} {}", outcome.sctp, outcome.tcp, outcome.dropped);
        }
    }
}

/// A thin flow in a queue of four times what the path holds: CUBIC fills it, the model does not.
#[test]
fn model_of_the_path_keeps_short_messages_of_others_fast_in_a_long_queue() {
    let [model, cubic] = [Algorithm::Bbr, Algorithm::Cubic].map(|algorithm| {
        let path = Obstacle::Path { mbits: 50, queue: 332, loss: 0.0 };
        let cell = Cell::shared(algorithm, Duration::from_millis(20), path, 1);
        let outcome = Cell { flows: [1, 0], newcomers: Some((Kind::Thin, 1)), ..cell }.run(1, MEASURED);
        let mut waits = outcome.waits;
        waits.sort();
        assert!(waits.len() > 350, "{}", waits.len());
        waits[waits.len() / 2]
    });
    assert!(2 * model < cubic, "{model:?} and {cubic:?}");
}

const LOSSY_RUNS: u64 = 6;
const LOSSY: Duration = Duration::from_secs(10);
/// Fewer differ by a tenth from draw to draw.
const RUNS: u64 = 10;
const MEASURED: Duration = Duration::from_secs(20);
