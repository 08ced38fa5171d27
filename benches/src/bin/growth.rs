//! `growth`: instructions and processor time per packet, both ends, while streams, outstanding chunks or associations
//! become many. Flat means that nothing is searched.

use std::process::ExitCode;

use headway_benches::clock::median;
use headway_benches::counting::{Count, count, counted_time};
use headway_benches::scenario;

fn measure(dimension: &str, size: usize) -> Option<u64> {
    let small = u16::try_from(size).ok();
    match dimension {
        "streams" => Some(scenario::streams(small?)),
        "outstanding" => Some(scenario::outstanding(size)),
        "associations" => Some(scenario::associations(small?)),
        _ => None,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [dimension, size] = &arguments[..] {
        let packets = size.parse().ok().and_then(|size| measure(dimension, size));
        println!("{}", packets.unwrap_or(0));
        return ExitCode::SUCCESS;
    }
    println!(
        "{:<14} {:>8} {:>14} {:>10} {:>10} {:>10}",
        "", "", "instructions", "first = 1", "ns", "first = 1"
    );
    for (dimension, sizes) in [
        ("streams", [1, 100, 10_000, 65_535]),
        ("outstanding", [10, 1_000, 10_000, 65_000]),
        ("associations", [1, 100, 1_000, 10_000]),
    ] {
        let (mut first, mut first_nanos) = (None, None);
        for size in sizes {
            let (instructions, packets) = match count(&[dimension, &size.to_string()]) {
                Ok(Count { instructions, printed, .. }) => {
                    (instructions, printed.trim().parse::<u64>().unwrap_or(1).max(1))
                }
                Err(error) => {
                    eprintln!("{error}");
                    return ExitCode::FAILURE;
                }
            };
            let per_packet = instructions as f64 / packets as f64;
            let ratio = per_packet / *first.get_or_insert(per_packet);
            let nanos = median((0..5).map(|_| nanos_per_packet(dimension, size)).collect());
            let slower = nanos / *first_nanos.get_or_insert(nanos);
            println!(
                "{dimension:<14} {size:>8} {per_packet:>14.0} {ratio:>10.2} {nanos:>10.0} {slower:>10.2}"
            );
        }
    }
    ExitCode::SUCCESS
}

fn nanos_per_packet(dimension: &str, size: usize) -> f64 {
    let packets = measure(dimension, size).unwrap_or(1).max(1);
    counted_time().as_nanos() as f64 / packets as f64
}
