//! `simulator [PACKETS]`: how fast the simulator is, its loop alone and with the SCTP that ships in it; PACKETS a line (default two million).

use std::error::Error;
use std::process::ExitCode;

use headway_benches::clock::timed;
use headway_benches::simulator::{SHAPES, Shape, advance, events, sctp, study};
use headway_benches::when_quiet;
use netsim::{Counters, Host, World};

fn main() -> ExitCode {
    when_quiet(print)
}

fn print() -> Result<(), Box<dyn Error>> {
    let packets: u64 = std::env::args().nth(1).as_deref().unwrap_or("2000000").parse()?;
    println!(
        "{:<10} {:>5} {:>6} {:>7} {:>5} {:>11} {:>11}  trace hash",
        "hosts", "pairs", "window", "octets", "loss", "events/s", "packets/s"
    );
    for shape in SHAPES {
        line("trivial", shape, &mut events::world(shape)?, packets);
    }
    for shape in SHAPES {
        line("SCTP", shape, &mut sctp::world(shape)?, packets / 4);
    }
    let scenario = study::scenario()?;
    let (time, sent) = timed(|| study::run(&scenario));
    println!("a run of plans/response-time.toml: {:.2} M packets/s", sent? as f64 / time.as_secs_f64() / 1e6);
    Ok(())
}

fn line<H: Host>(hosts: &str, shape: Shape, world: &mut World<H>, packets: u64) {
    let (time, ()) = timed(|| advance(world, packets));
    let Counters { events, sent, .. } = *world.counters();
    let per_second = |count: u64| count as f64 / time.as_secs_f64() / 1e6;
    let Shape { pairs, window, payload_bytes, loss } = shape;
    println!(
        "{hosts:<10} {pairs:>5} {window:>6} {payload_bytes:>7} {loss:>5} {:>9.2} M {:>9.2} M  {:016x}",
        per_second(events),
        per_second(sent),
        world.trace_hash()
    );
}
