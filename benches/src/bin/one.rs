//! `one MODE OCTETS MESSAGES`: one run and nothing else, to be profiled.

use headway_benches::clock::timed;
use headway_benches::load::Mode;
use headway_benches::pair::Pair;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = match arguments.next().as_deref() {
        Some("unordered") => Mode::Unordered,
        Some("streams") => Mode::Streams(16),
        Some("i-data") => Mode::Interleaved,
        _ => Mode::Ordered,
    };
    let mut number = |default| arguments.next().and_then(|number| number.parse().ok()).unwrap_or(default);
    let (octets, messages) = (number(1200), number(1_000_000));
    let mut pair = Pair::new(&mode.config());
    let mut next = mode.messages(octets);
    let (time, traffic) = timed(|| pair.run(messages as u64, 512 << 10, &mut next));
    println!(
        "{mode}, {octets} octets: {:.1} ns/message; {traffic:?}",
        time.as_nanos() as f64 / messages as f64
    );
}
