//! A control with a model of the path, BBR: what it carries where packets are lost by chance, what it loses of its own making, what it leaves to others.

use std::time::Duration;

use crate::bottleneck::{Cell, Obstacle, Outcome, jain_of, to_f64};
use crate::flow::{Algorithm, Kind};
use crate::selection::Selection;
use crate::summary;

/// MB/s of a flow that has a path of 100 Mbit/s for itself, with a queue of one BDP, over twenty seconds from its beginning.
pub(crate) fn print_lossy() {
    println!(
        "| loss | RTT | CUBIC | Westwood+ | BBR | of the link | TCP with BBR |\n|---|---|---|---|---|---|---|"
    );
    for (loss, millis) in [(0.0, 20), (0.01, 20), (0.01, 100), (0.001, 20), (0.001, 100)] {
        let carried = |algorithm, flows| {
            let mut cell = cell(algorithm, millis, (1, 1), flows);
            if let Obstacle::Path { loss: chance, .. } = &mut cell.obstacle {
                *chance = loss;
            }
            Cell { warm_up: Duration::ZERO, ..cell }.goodput(RUNS, LOSSY)
        };
        let of_sctp = |algorithm| carried(algorithm, [1, 0]);
        let [cubic, westwood] = [Algorithm::Cubic, Algorithm::Westwood].map(of_sctp);
        let (bbr, tcp) = (of_sctp(Algorithm::BbrAlike), carried(Algorithm::BbrAlike, [0, 1]));
        let share = bbr * 8.0 / to_f64(MBITS);
        println!(
            "| {} % | {millis} ms | {cubic:.2} | {westwood:.2} | {bbr:.2} | {share:.2} | {tcp:.2} |",
            loss * 100.0
        );
    }
}

/// Shares of 100 Mbit/s at 20 ms, and the packets that found the queue full, by queue.
pub(crate) fn print_queues(selection: &Selection) {
    println!(
        "| TCP | queue, BDP | SCTP with BBR + TCP | SCTP Mbit/s | TCP Mbit/s | Jain (least to most) | Jain of SCTP's | dropped |\n|---|---|---|---|---|---|---|---|"
    );
    for queue in [(1, 2), (1, 1), (4, 1)] {
        for flows in [[1, 1], [2, 2], [8, 8]] {
            print_shares("CUBIC", &cell(Algorithm::Bbr, 20, queue, flows), queue, selection);
        }
        for flows in [[1, 0], [2, 0], [8, 0], [1, 1], [2, 2]] {
            print_shares("BBR", &cell(Algorithm::BbrAlike, 20, queue, flows), queue, selection);
        }
        for flows in [[0, 2], [0, 16]] {
            print_shares("CUBIC", &cell(Algorithm::Bbr, 20, queue, flows), queue, selection);
        }
    }
}

/// How long twenty messages of 100 octets a second take, one way, beside a bulk flow, by its control and the queue.
pub(crate) fn print_thin(selection: &Selection) {
    println!(
        "| bulk flow | queue, BDP | its Mbit/s | median | 99 % | longest | messages |\n|---|---|---|---|---|---|---|"
    );
    for queue in [(1, 2), (1, 1), (4, 1)] {
        for (name, algorithm) in BULK {
            let beside = Cell { newcomers: Some((Kind::Thin, 1)), ..cell(algorithm, 20, queue, [1, 0]) };
            let outcomes = summary::outcomes(&beside, selection.runs, selection.measured);
            let mut waits: Vec<Duration> =
                outcomes.iter().flat_map(|outcome| outcome.waits.clone()).collect();
            waits.sort();
            let of = |hundredths: usize| waits[(waits.len() - 1) * hundredths / 100].as_secs_f64() * 1000.0;
            let carried: Vec<f64> = outcomes.iter().map(|outcome| outcome.sctp[0] / 1e6).collect();
            println!(
                "| {name} | {} | {:.1} | {:.1} ms | {:.1} ms | {:.1} ms | {} |",
                f64::from(queue.0) / f64::from(queue.1),
                summary::mean(&carried),
                of(50),
                of(99),
                of(100),
                waits.len(),
            );
        }
    }
}

fn print_shares(tcp: &str, cell: &Cell, (queue, of): (u32, u32), selection: &Selection) {
    let [sctp_flows, tcp_flows] = cell.flows;
    let name = format!("| {tcp} | {} | {sctp_flows} + {tcp_flows} |", f64::from(queue) / f64::from(of));
    if !selection.wants(&name) {
        return;
    }
    let outcomes = summary::outcomes(cell, selection.runs, selection.measured);
    let each = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).collect::<Vec<f64>>();
    let rate = |flows: u8, of: fn(&Outcome) -> &[f64]| match flows {
        0 => "–".to_owned(),
        _ => format!("{:.1}", summary::mean(&each(&|outcome| summary::mean(of(outcome)) / 1e6))),
    };
    let jain = each(&Outcome::jain);
    let (least, most) = (jain.iter().copied().fold(1.0, f64::min), jain.iter().copied().fold(0.0, f64::max));
    let alike = match sctp_flows {
        0 | 1 => "–".to_owned(),
        _ => format!("{:.3}", summary::mean(&each(&|outcome| jain_of(outcome.sctp.iter())))),
    };
    println!(
        "{name} {} | {} | {:.3} ({least:.3}–{most:.3}) | {alike} | {:.2} % |",
        rate(sctp_flows, |outcome| &outcome.sctp),
        rate(tcp_flows, |outcome| &outcome.tcp),
        summary::mean(&jain),
        100.0 * summary::mean(&each(&|outcome| outcome.dropped)),
    );
}

/// A path of 100 Mbit/s with a queue of so many BDP, a fraction.
fn cell(algorithm: Algorithm, millis: u64, queue: (u32, u32), flows: [u8; 2]) -> Cell {
    let rtt = Duration::from_millis(millis);
    let path = Obstacle::Path { mbits: MBITS, queue: 0, loss: 0.0 };
    let mut cell = Cell { flows, ..Cell::shared(algorithm, rtt, path, 1) };
    let bdp = u32::try_from(cell.bdp_packets(MBITS)).unwrap();
    cell.obstacle = Obstacle::Path { mbits: MBITS, queue: bdp * queue.0 / queue.1, loss: 0.0 };
    cell
}

const BULK: [(&str, Algorithm); 3] =
    [("CUBIC", Algorithm::Cubic), ("Westwood+", Algorithm::Westwood), ("BBR", Algorithm::Bbr)];
const MBITS: u64 = 100;
const RUNS: u64 = 5;
const LOSSY: Duration = Duration::from_secs(20);
