//! `instructions [--write]`: instructions per packet, counted by valgrind and held against `instructions.txt`.
//!
//! A count depends on compiler and libraries alone, not on the machine's speed or what else it does, so that a
//! regression shows however noisy the machine is. More than 3 % above the table fails, and so does more than 3 % below:
//! then the table is old. `--write` writes it anew. With the name of a measurement it does that one's work, for valgrind.

use std::fmt::Write as _;
use std::process::ExitCode;

use headway_benches::counting::{Count, count};
use headway_benches::load::Mode;
use headway_benches::scenario::{self, Part};
use headway_benches::simulator;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");
const TOLERANCE: f64 = 0.03;

/// Every measurement: its name and its work, which gives what the count is divided by.
fn measurements() -> Vec<(String, Box<dyn Fn() -> u64>)> {
    let mut all: Vec<(String, Box<dyn Fn() -> u64>)> = Vec::new();
    for (octets, messages) in [(1200, 3_000), (100, 20_000), (64_000, 60)] {
        for part in Part::ALL {
            let name = format!("{octets}-{part:?}").to_lowercase();
            all.push((name, Box::new(move || scenario::part(part, Mode::Ordered, octets, messages))));
        }
    }
    for (name, mode) in
        [("unordered", Mode::Unordered), ("16-streams", Mode::Streams(16)), ("i-data", Mode::Interleaved)]
    {
        let work = move || scenario::part(Part::All, mode, 100, 20_000);
        all.push((format!("100-all-{name}"), Box::new(work)));
    }
    all.push(("64-round-trip".to_owned(), Box::new(|| scenario::round_trips(64, 2_000))));
    let counted = |counted: Result<u64, Box<dyn std::error::Error>>| counted.expect("a world of ours");
    let trivial = move || counted(simulator::counted(simulator::events::world(simulator::TYPICAL), 50_000));
    all.push(("simulator-loop".to_owned(), Box::new(trivial)));
    let sctp = move || counted(simulator::counted(simulator::sctp::world(simulator::TYPICAL), 20_000));
    all.push(("simulator-sctp".to_owned(), Box::new(sctp)));
    all.push(("simulator-plan".to_owned(), Box::new(move || counted(simulator::study::counted()))));
    all.push(("handshake".to_owned(), Box::new(|| scenario::handshakes(200))));
    all
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    match argument.as_deref() {
        None => report(check()),
        Some("--write") => report(write()),
        Some(name) => match measurements().into_iter().find(|(known, _)| known == name) {
            Some((_, work)) => {
                println!("{}", work());
                ExitCode::SUCCESS
            }
            None => report(Err(format!("there is no measurement `{name}`"))),
        },
    }
}

fn report(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<(), String> {
    let table = std::fs::read_to_string(TABLE).map_err(|error| format!("{TABLE}: {error}"))?;
    let mut wrong = Vec::new();
    println!(
        "{:<22} {:>12} {:>12} {:>8} {:>18}",
        "per packet", "table", "counted", "change", "without checksums"
    );
    for Measured { name, counted, checksums } in measure()? {
        let known =
            table.lines().find_map(|line| line.strip_prefix(name.as_str())?.trim().parse::<f64>().ok());
        let Some(known) = known else {
            wrong.push(format!("{name} is not in {TABLE}: run `instructions --write`"));
            continue;
        };
        let change = counted / known - 1.0;
        let others = counted - checksums;
        println!("{name:<22} {known:>12.1} {counted:>12.1} {:>+7.1}% {others:>18.1}", change * 100.0);
        if change.abs() > TOLERANCE {
            wrong.push(format!("{name}: {counted:.1} instead of {known:.1} instructions per packet"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn write() -> Result<(), String> {
    let mut table = String::new();
    for Measured { name, counted, .. } in measure()? {
        writeln!(table, "{name:<22} {counted:.1}").map_err(|error| error.to_string())?;
    }
    print!("{table}");
    std::fs::write(TABLE, table).map_err(|error| format!("{TABLE}: {error}"))
}

/// A measurement's instructions per packet.
struct Measured {
    name: String,
    counted: f64,
    /// Those of `counted` that are checksums.
    checksums: f64,
}

fn measure() -> Result<Vec<Measured>, String> {
    measurements().into_iter().map(|(name, _)| per_packet(name)).collect()
}

fn per_packet(name: String) -> Result<Measured, String> {
    let Count { instructions, checksums, printed } = count(&[&name])?;
    let packets: u64 = printed.trim().parse().map_err(|_| format!("{name} printed `{printed}`"))?;
    let each = |instructions: u64| instructions as f64 / packets as f64;
    Ok(Measured { name, counted: each(instructions), checksums: each(checksums) })
}
