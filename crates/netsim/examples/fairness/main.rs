//! SCTP as it ships beside TCP over one bottleneck: who gets how much. docs/fairness.md reads the table.
//!
//! ```text
//! cargo run --release -p netsim --example fairness [seconds of virtual time per run [runs=N] [ten] [two] [short | copies] [part of a row's name]…]
//! cargo run --release -p netsim --example fairness windows [seconds [ten] [part of a row's name]…]
//! cargo run --release -p netsim --example fairness loss
//! cargo run --release -p netsim --example fairness initial
//! cargo run --release -p netsim --example fairness model
//! cargo run --release -p netsim --example fairness queues [seconds [runs=N] [part of a row]…]
//! cargo run --release -p netsim --example fairness thin [seconds [runs=N]]
//! ```
//!
//! The first prints the rows whose names have all the parts in them, as in `20 runs=40 CUBIC '0.1 % loss' '8 + 8'`;
//! with `ten` SCTP begins with ten packets, as TCP does, with `two` a loss leaves it two at least, where RFC 9260 says four, with `short` and
//! `copies` its messages have 100 octets, with `copies` redundantly. The second prints how
//! the windows of each flow went in the first run of these rows, as comma-separated values. The third prints what a flow carries that has
//! a path with losses for itself; the fourth what ten packets at first do to others, beside RFC 9260's three; the fifth what a control with
//! a model of the path carries where packets are lost by chance; the sixth what that one loses of its own making, and leaves to others, by
//! queue; the last how long messages take that share the path with bulk.
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]
#![expect(clippy::unwrap_used, reason = "its cells are its own: what fails is a mistake here")]

mod bottleneck;
mod flow;
mod initial;
mod model;
mod selection;
mod summary;
mod windows;

use std::time::Duration;

use bottleneck::Cell;
use flow::{Algorithm, Messages};
use selection::Selection;
use summary::Summary;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("loss") => print_lossy(),
        Some("initial") => initial::print(),
        Some("model") => model::print_lossy(),
        Some("queues") => model::print_queues(&Selection::parse(&arguments[1..])?),
        Some("thin") => model::print_thin(&Selection::parse(&arguments[1..])?),
        Some("windows") => windows::print(&Selection::parse(&arguments[1..])?),
        _ => print_shared(&Selection::parse(&arguments)?),
    }
    Ok(())
}

/// Prints what the flows of each cell get that is selected.
fn print_shared(selection: &Selection) {
    println!(
        "| window | RTT | bottleneck | flows | SCTP Mbit/s | TCP Mbit/s | SCTP/TCP (95 %) | Jain | timeouts SCTP, TCP |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for cell in selection.cells() {
        println!("{}", line(&cell, selection.runs, selection.measured));
    }
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

fn line(cell: &Cell, runs: u64, measured: Duration) -> String {
    let summary = Summary::of(cell, runs, measured);
    let [from, to] = summary.ratio_between;
    format!(
        "| {} | {:.2} | {:.2} | {:.2} ({from:.2}–{to:.2}) | {:.3} | {:.1}, {:.1} |",
        selection::name(cell),
        summary.sctp_mbits,
        summary.tcp_mbits,
        summary.ratio,
        summary.jain,
        summary.sctp_timeouts,
        summary.tcp_timeouts,
    )
}

const LOSSY_RUNS: u64 = 40;
