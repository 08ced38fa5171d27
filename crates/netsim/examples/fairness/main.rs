//! SCTP as it ships beside TCP over one bottleneck: who gets how much. docs/fairness.md reads the table.
//!
//! ```text
//! cargo run --release -p netsim --example fairness [seconds of virtual time per run]
//! cargo run --release -p netsim --example fairness loss
//! cargo run --release -p netsim --example fairness initial
//! cargo run --release -p netsim --example fairness model
//! cargo run --release -p netsim --example fairness queues
//! ```
//!
//! The second prints what a flow carries that has a path with losses for itself; the third what ten packets at first do to others, beside
//! RFC 9260's three; the fourth what a control with a model of the path carries where packets are lost by chance; the
//! last what that one loses of its own making, and leaves to others, by queue.
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]
#![expect(clippy::unwrap_used, reason = "its cells are its own: what fails is a mistake here")]

mod bottleneck;
mod flow;
mod initial;
mod model;
mod summary;

use std::time::Duration;

use bottleneck::{Cell, Obstacle};
use flow::{Algorithm, Messages};
use summary::Summary;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("loss") {
        print_lossy();
        return Ok(());
    }
    if argument.as_deref() == Some("model") {
        model::print_lossy();
        return Ok(());
    }
    if argument.as_deref() == Some("queues") {
        model::print_queues();
        return Ok(());
    }
    if argument.as_deref() == Some("initial") {
        initial::print();
        return Ok(());
    }
    let seconds = argument.as_deref().unwrap_or("60").parse()?;
    println!(
        "| window | RTT | bottleneck | flows | SCTP Mbit/s | TCP Mbit/s | SCTP/TCP (95 %) | Jain | timeouts SCTP, TCP |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for algorithm in [Algorithm::Halving, Algorithm::Cubic, Algorithm::Westwood] {
        for millis in [20, 100] {
            for obstacle in OBSTACLES {
                for flows in [1, 2, 8] {
                    let cell = Cell::shared(algorithm, Duration::from_millis(millis), obstacle, flows);
                    println!("{}", line(&cell, Duration::from_secs(seconds)));
                }
            }
        }
    }
    Ok(())
}

/// MB/s over ten seconds, slow start included, and what that is of Linux's TCP.
fn print_lossy() {
    println!(
        "| loss | TCP as Linux | TCP, RFC 9438 | default | never cut | always cut | RFC 9260 | Westwood+ |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for loss in [0.01, 0.001] {
        let of = |algorithm, messages| {
            Cell::alone(algorithm, messages, loss).goodput(LOSSY_RUNS, Duration::from_secs(10))
        };
        let tcp = of(Algorithm::Linux, None);
        let cells: Vec<String> = [
            (Algorithm::Cubic, None),
            (Algorithm::Cubic, Some(Messages::Of1200)),
            (Algorithm::Cubic, Some(Messages::Of1200Whole)),
            (Algorithm::Cubic, Some(Messages::Of1200Filled)),
            (Algorithm::Halving, Some(Messages::Of1200)),
            (Algorithm::Westwood, Some(Messages::Of1200)),
        ]
        .map(|(algorithm, messages)| of(algorithm, messages))
        .map(|carried| format!("{carried:.2} ({:.2})", carried / tcp))
        .to_vec();
        println!("| {} % | {tcp:.2} | {} |", loss * 100.0, cells.join(" | "));
    }
}

fn line(cell: &Cell, measured: Duration) -> String {
    let summary = Summary::of(cell, measured);
    let window = match cell.algorithm {
        Algorithm::Halving => "RFC 9260 / NewReno",
        Algorithm::Cubic => "CUBIC / CUBIC",
        Algorithm::Linux => "CUBIC / Linux",
        Algorithm::Westwood => "Westwood+ / CUBIC",
        Algorithm::Bbr => "BBR / CUBIC",
        Algorithm::BbrAlike => "BBR / BBR",
    };
    let bottleneck = match cell.obstacle {
        Obstacle::Queue(packets) | Obstacle::Path { queue: packets, .. } => format!("queue of {packets}"),
        Obstacle::Loss(share) | Obstacle::LossAlone(share) => format!("{} % loss", share * 100.0),
    };
    let [from, to] = summary.ratio_between;
    format!(
        "| {window} | {} ms | {bottleneck} | {} + {} | {:.2} | {:.2} | {:.2} ({from:.2}–{to:.2}) | {:.3} | {:.1}, {:.1} |",
        cell.rtt.as_millis(),
        cell.flows[0],
        cell.flows[1],
        summary.sctp_mbits,
        summary.tcp_mbits,
        summary.ratio,
        summary.jain,
        summary.sctp_timeouts,
        summary.tcp_timeouts,
    )
}

const LOSSY_RUNS: u64 = 40;
const OBSTACLES: [Obstacle; 5] = [
    Obstacle::Queue(50),
    Obstacle::Queue(10),
    Obstacle::Loss(0.0),
    Obstacle::Loss(0.001),
    Obstacle::Loss(0.01),
];
