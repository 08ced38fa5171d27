//! `handshakes [COUNT]`: associations set up per second, both ends in one thread: INIT, INIT ACK with a signed cookie,
//! COOKIE ECHO, COOKIE ACK.

use std::convert::Infallible;
use std::process::ExitCode;

use headway_benches::clock::{median, timed};
use headway_benches::pair::{Framing, config, connect, hosts};
use headway_benches::when_quiet;
use virtual_time::Instant;

fn main() -> ExitCode {
    when_quiet(print)
}

fn print() -> Result<(), Infallible> {
    let count: u16 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let config = config(Framing::Data, 64);
    let rates: Vec<f64> = (0..7)
        .map(|_| {
            let (mut left, mut right) = hosts(&config);
            let mut now = Instant::from_millis(1000);
            let (time, ()) = timed(|| {
                for number in 0..count {
                    connect(&mut left, &mut right, &mut now, &config, number);
                }
            });
            f64::from(count) / time.as_secs_f64()
        })
        .collect();
    println!(
        "{count} associations, one after the other, median of {} runs: {:.0} handshakes/s",
        rates.len(),
        median(rates.clone())
    );
    Ok(())
}
