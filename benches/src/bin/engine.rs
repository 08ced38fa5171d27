//! `engine [RUNS]`: both ends in memory, for message sizes and modes. The medians of RUNS runs (default 5).

use std::convert::Infallible;
use std::process::ExitCode;

use headway_benches::clock::{calibration, median, timed};
use headway_benches::load::Mode;
use headway_benches::pair::Pair;
use headway_benches::when_quiet;

/// Payload octets per run.
const RUN_OCTETS: u64 = 200_000_000;
const RUN_MESSAGES: u64 = 1_500_000;
/// What the sender keeps queued.
const BUFFERED_BYTES: usize = 512 << 10;

struct Figures {
    nanos_per_packet: f64,
    messages_per_second: f64,
    megabytes_per_second: f64,
}

fn main() -> ExitCode {
    when_quiet(print)
}

fn print() -> Result<(), Infallible> {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(5);
    let (checksum, copying) = calibration();
    println!("this machine now: CRC32c of 1400 octets {checksum:.1} ns, copying them {copying:.1} ns");
    println!("both ends in memory, one thread, packets of 1400 octets, median of {runs} runs");
    println!(
        "{:>7}  {:<11} {:>11} {:>12} {:>12} {:>9}",
        "octets", "mode", "ns/packet", "ns/message", "messages/s", "MB/s"
    );
    for octets in [100, 1000, 1200, 10_000, 64_000] {
        for mode in Mode::ALL {
            let results: Vec<Figures> = (0..runs).map(|_| measure(mode, octets)).collect();
            let of = |figure: fn(&Figures) -> f64| median(results.iter().map(figure).collect());
            let messages_per_second = of(|result| result.messages_per_second);
            println!(
                "{octets:>7}  {:<11} {:>11.1} {:>12.1} {:>12.0} {:>9.0}",
                mode.to_string(),
                of(|result| result.nanos_per_packet),
                1e9 / messages_per_second,
                messages_per_second,
                of(|result| result.megabytes_per_second),
            );
        }
    }
    Ok(())
}

fn measure(mode: Mode, octets: usize) -> Figures {
    let mut pair = Pair::new(&mode.config());
    let mut next = mode.messages(octets);
    let messages = (RUN_OCTETS / octets as u64).min(RUN_MESSAGES);
    // The congestion window opens first.
    pair.run(messages / 10, BUFFERED_BYTES, &mut next);
    let (time, traffic) = timed(|| pair.run(messages, BUFFERED_BYTES, &mut next));
    let seconds = time.as_secs_f64();
    Figures {
        nanos_per_packet: seconds * 1e9 / traffic.packets as f64,
        messages_per_second: traffic.messages as f64 / seconds,
        megabytes_per_second: traffic.octets as f64 / seconds / 1e6,
    }
}
