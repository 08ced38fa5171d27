//! SCTP as it ships beside TCP over one bottleneck: who gets how much. docs/fairness.md reads the table.
//!
//! ```text
//! cargo run --release -p netsim --example fairness [seconds of virtual time per run]
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]
#![expect(clippy::unwrap_used, reason = "its cells are its own: what fails is a mistake here")]

mod bottleneck;
mod flow;
mod summary;

use std::time::Duration;

use bottleneck::{Cell, Obstacle};
use flow::Algorithm;
use summary::Summary;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).as_deref().unwrap_or("60").parse()?;
    println!(
        "| window | RTT | bottleneck | flows | SCTP Mbit/s | TCP Mbit/s | SCTP/TCP (95 %) | Jain | timeouts SCTP, TCP |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for algorithm in [Algorithm::Halving, Algorithm::Cubic] {
        for millis in [20, 100] {
            for obstacle in
                [Obstacle::Queue(50), Obstacle::Loss(0.0), Obstacle::Loss(0.001), Obstacle::Loss(0.01)]
            {
                for flows in [1, 2, 8] {
                    let cell = Cell { algorithm, rtt: Duration::from_millis(millis), obstacle, flows };
                    println!("{}", line(&cell, Duration::from_secs(seconds)));
                }
            }
        }
    }
    Ok(())
}

fn line(cell: &Cell, measured: Duration) -> String {
    let summary = Summary::of(cell, measured);
    let window = match cell.algorithm {
        Algorithm::Halving => "RFC 9260 / NewReno",
        Algorithm::Cubic => "CUBIC / CUBIC",
    };
    let bottleneck = match cell.obstacle {
        Obstacle::Queue(packets) => format!("queue of {packets}"),
        Obstacle::Loss(share) => format!("{} % loss", share * 100.0),
    };
    let [from, to] = summary.ratio_between;
    format!(
        "| {window} | {} ms | {bottleneck} | {} + {} | {:.2} | {:.2} | {:.2} ({from:.2}–{to:.2}) | {:.3} | {:.1}, {:.1} |",
        cell.rtt.as_millis(),
        cell.flows,
        cell.flows,
        summary.sctp_mbits,
        summary.tcp_mbits,
        summary.ratio,
        summary.jain,
        summary.sctp_timeouts,
        summary.tcp_timeouts,
    )
}
