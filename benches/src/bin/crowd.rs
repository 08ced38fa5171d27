//! `crowd`: many associations on one endpoint, some of which are active: response times, fairness, and what the quiet ones cost.
//!
//! `crowd [--associations N,N…] [--active N] [--rate N] [--seconds N] [--quiet N]`

use std::process::ExitCode;
use std::time::Duration;

use headway_benches::crowd::{Crowd, Failure, serve};
use headway_benches::when_quiet;

fn main() -> ExitCode {
    match serve() {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("server: {error}");
            ExitCode::FAILURE
        }
        None => when_quiet(print),
    }
}

fn print() -> Result<(), Failure> {
    let options = Options::parse()?;
    let Options { active, rate, busy, quiet, .. } = &options;
    println!(
        "up to {active} active, {rate} requests/s of 64 octets for {} s, then as fast as answers come for as long; quiet for {} s",
        busy.as_secs(),
        quiet.as_secs()
    );
    println!(
        "| associations | active | set up/s | RSS each, octets | quiet, % of a processor | p50 µs | p99 µs | p99.9 µs | echoes/s | at most/s | Jain |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for &associations in &options.associations {
        let active = options.active.min(associations);
        let crowd =
            Crowd { associations, active, rate: options.rate, busy: options.busy, quiet: options.quiet };
        let outcome = crowd.measure()?;
        let [p50, p99, p999] = outcome.response_us;
        println!(
            "| {associations} | {active} | {:.0} | {:.0} | {:.2} | {p50:.0} | {p99:.0} | {p999:.0} | {:.0} | {:.0} | {:.4} |",
            associations as f64 / outcome.set_up.as_secs_f64(),
            outcome.resident_bytes,
            outcome.quiet_share * 100.0,
            outcome.open_rate,
            outcome.most_rate,
            outcome.jain,
        );
    }
    Ok(())
}

struct Options {
    associations: Vec<usize>,
    active: usize,
    rate: u32,
    busy: Duration,
    quiet: Duration,
}

impl Options {
    fn parse() -> Result<Self, Failure> {
        let mut options = Self {
            associations: vec![100, 1_000, 10_000, 100_000],
            active: 1_000,
            rate: 10_000,
            busy: Duration::from_secs(5),
            quiet: Duration::from_secs(10),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: a value is missing"))?;
            let of = |error| format!("{name} {value}: {error}");
            match name.as_str() {
                "--associations" => {
                    options.associations =
                        value.split(',').map(str::parse).collect::<Result<_, _>>().map_err(of)?;
                }
                "--active" => options.active = value.parse().map_err(of)?,
                "--rate" => options.rate = value.parse().map_err(of)?,
                "--seconds" => options.busy = Duration::from_secs(value.parse().map_err(of)?),
                "--quiet" => options.quiet = Duration::from_secs(value.parse().map_err(of)?),
                _ => {
                    return Err(format!(
                        "{name}: there are --associations, --active, --rate, --seconds and --quiet"
                    )
                    .into());
                }
            }
        }
        Ok(options)
    }
}
