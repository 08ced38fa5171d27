//! The simulator's TCP beside the kernel's on the same plan: mean response times and goodput, as the tables of
//! `docs/tcp.md`. Needs the rights of `headway compare --backend namespaces`.
//!
//! ```text
//! cargo run --release -p lab --example tcp_judge [seconds per run, default 300] [response|bulk]
//! ```
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]

#[cfg(target_os = "linux")]
mod bulk;

use core::time::Duration;
use std::error::Error;

use lab::{Backend, CompareConfig, Namespaces, Simulator};
use netem::{Impairments, Loss, Probability};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(300), |text| text.parse::<u64>())?;
    let part = arguments.next();
    let is_asked = |name| part.as_deref().is_none_or(|part| part == name);
    emulator::enter_user_namespace()?;
    if is_asked("response") {
        response_times(seconds)?;
    }
    if is_asked("bulk") {
        goodput((seconds / 10).max(5))?;
    }
    Ok(())
}

fn response_times(seconds: u64) -> Result<(), Box<dyn Error>> {
    println!("Echo of 64 octets, 100 requests/s, RTT 20 ms; mean response times in ms, {seconds} s each\n");
    println!("| congestion | loss | kernel | simulator | difference |\n|---|---|---|---|---|");
    for congestion in ["reno", "cubic"] {
        for loss in [0.0, 0.005, 0.01, 0.02] {
            let config = response_plan(congestion, loss, Duration::from_secs(seconds))?;
            let kernel = mean_ms(&config, &mut Namespaces)?;
            row(congestion, loss, kernel, mean_ms(&config, &mut Simulator)?);
        }
    }
    Ok(())
}

fn goodput(seconds: u64) -> Result<(), Box<dyn Error>> {
    println!(
        "\nBulk, RTT 20 ms, link of 20 Mbit/s; goodput in Mbit/s, {seconds} s each, mean of {KERNEL_SEEDS} and {SIMULATOR_SEEDS} seeds\n"
    );
    println!("| congestion | loss | kernel | simulator | difference |\n|---|---|---|---|---|");
    for congestion in ["reno", "cubic"] {
        for loss in [0.001, 0.005, 0.01, 0.02] {
            let (path, time) = (bulk::path(loss)?, Duration::from_secs(seconds));
            let kernel = mean(KERNEL_SEEDS, |seed| bulk::of_kernel(congestion, &path, time, seed))?;
            let simulator = mean(SIMULATOR_SEEDS, |seed| bulk::of_simulator(congestion, &path, time, seed))?;
            row(congestion, loss, kernel, simulator);
        }
    }
    Ok(())
}

/// Which packets are lost matters more than anything else: a mean over seeds.
fn mean(seeds: u32, one: impl Fn(u64) -> Result<f64, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let goodputs = (1..=seeds).map(|seed| one(u64::from(seed))).collect::<Result<Vec<_>, _>>()?;
    Ok(goodputs.iter().sum::<f64>() / f64::from(seeds))
}

const KERNEL_SEEDS: u32 = 5;
const SIMULATOR_SEEDS: u32 = 30;

fn row(congestion: &str, loss: f64, kernel: f64, simulator: f64) {
    let difference = 100.0 * (simulator / kernel - 1.0);
    println!("| {congestion} | {} % | {kernel:.2} | {simulator:.2} | {difference:+.1} % |", loss * 100.0);
}

fn response_plan(congestion: &str, loss: f64, duration: Duration) -> Result<CompareConfig, Box<dyn Error>> {
    let loss = Loss::Bernoulli(Probability::new(loss)?);
    let path = Impairments { delay: Duration::from_millis(10), loss, ..Impairments::default() };
    let mut config =
        CompareConfig { request_path: path.clone(), response_path: path, ..CompareConfig::default() };
    config.traffic.duration = duration;
    config.tcp_congestion = congestion.to_owned();
    config.transports = "tcp".parse()?;
    Ok(config)
}

/// Mean over all requests that were answered.
fn mean_ms(config: &CompareConfig, backend: &mut impl Backend) -> Result<f64, Box<dyn Error>> {
    let raw = backend.run(config, config.transports.as_slice())?;
    let answered = raw.runs.iter().flat_map(|run| run.samples.iter().filter_map(|sample| sample.response));
    let (count, sum) =
        answered.fold((0_u32, 0.0), |(count, sum), time| (count + 1, sum + time.as_secs_f64()));
    Ok(1000.0 * sum / f64::from(count.max(1)))
}
