//! `handles`: instructions per message over `sctp`, with handles of streams and without, counted by valgrind.
//!
//! Fails if handles cost more than 5 %. With the name of a measurement it does that one's work, for valgrind.

use std::error::Error;
use std::process::ExitCode;

use headway_benches::counting::{Count, count};
use headway_benches::handles::{Handles, MOST, bursts, round_trips};

/// Does a measurement's work, and gives the messages that were counted.
type Work = fn(Handles) -> Result<u64, Box<dyn Error>>;

const MEASUREMENTS: [(&str, Work); 2] =
    [("round-trips", |handles| round_trips(handles, 2_000)), ("bursts", |handles| bursts(handles, 300))];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [] => compare(),
        [name, handles] => work(name, handles),
        _ => Err("usage: handles".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn work(name: &str, handles: &str) -> Result<(), Box<dyn Error>> {
    let (_, work) = MEASUREMENTS.iter().find(|(known, _)| *known == name).ok_or("no such measurement")?;
    let handles = if handles == "used" { Handles::Used } else { Handles::Unused };
    println!("{}", work(handles)?);
    Ok(())
}

fn compare() -> Result<(), Box<dyn Error>> {
    let mut dear = Vec::new();
    println!("{:<14} {:>10} {:>10} {:>8}", "per message", "without", "handles", "more");
    for (name, _) in MEASUREMENTS {
        let (without, with) = (per_message(name, "unused")?, per_message(name, "used")?);
        let more = with / without - 1.0;
        println!("{name:<14} {without:>10.1} {with:>10.1} {:>+7.1}%", more * 100.0);
        if more > MOST {
            dear.push(format!("{name}: {:.1} % more, at most {:.1} %", more * 100.0, MOST * 100.0));
        }
    }
    if dear.is_empty() { Ok(()) } else { Err(dear.join("\n").into()) }
}

fn per_message(name: &str, handles: &str) -> Result<f64, Box<dyn Error>> {
    let Count { instructions, printed, .. } = count(&[name, handles])?;
    let messages: u64 = printed.trim().parse()?;
    Ok(instructions as f64 / messages as f64)
}
