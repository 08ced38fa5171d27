//! How fast a middlebox opens pinholes, as agents see it.
//!
//! ```text
//! cargo build --profile dist -p simco-middlebox --bins --examples
//! target/dist/examples/pinholes_per_second
//! ```
//!
//! It needs root, `ip`, `nft` and `taskset`: in a network namespace of its own it starts the daemon, on the first processor
//! and no other, and asks from the second over loopback, TCP and SCTP in UDP. First with the filter in memory, then with nftables and ever more
//! pinholes alive; how long taking over takes; then, in the same run, it lets one `nft` process make each change, and one rule of nftables each pinhole.

#![allow(clippy::print_stdout, reason = "an example prints")]

mod measure;
mod middlebox;
mod others;
mod wire;

use std::error::Error;
use std::num::NonZeroUsize;
use std::time::Instant;

use measure::Agent;
use middlebox::Daemon;
use wire::Transport;

const NFTABLES: &str = "[filter]\nkind = \"nftables\"\ninside = [\"in0\"]\ninside_may_come_later = true\n";
/// Requests under way at once.
const WINDOW: usize = 512;
/// Pinholes that a measurement opens.
const OPENED: u32 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    middlebox::enter_namespace()?;
    middlebox::pin_to(1)?;
    println!("{WINDOW} PER under way at once, the middlebox on one processor");
    for transport in [Transport::Tcp, Transport::Sctp] {
        in_memory(transport)?;
    }
    for transport in [Transport::Tcp, Transport::Sctp] {
        in_nftables(transport)?;
    }
    taking_over()?;
    println!("\nthe same without a middlebox");
    println!("one `nft` process for each change: {:.0}/s", others::processes()?);
    for alive in [1_000, 2_000, 4_000] {
        let (each, packet) = others::rules(alive)?;
        println!(
            "one rule for each pinhole, {alive} of them: another takes {each:.2} ms, a packet {packet:.1} us"
        );
    }
    Ok(())
}

/// A million pinholes would be too many for the default limits; this is what they cost.
fn in_memory(transport: Transport) -> Result<(), Box<dyn Error>> {
    let daemon = Daemon::start("")?;
    let mut agent = Agent::connect(transport)?;
    let empty = daemon.resident_mb()?;
    let took = agent.open(0..100_000, WINDOW)?;
    let rate_of_first = 100_000.0 / took.as_secs_f64();
    println!("\nfilter in memory, {transport:?}: {rate_of_first:.0} PER/s for the first 100,000");
    println!("100,000 rules: {} MB resident, {empty} MB without any", daemon.resident_mb()?);
    let rate = rate(&mut agent, 100_000, 200_000)?;
    println!("another 200,000: {rate:.0} PER/s");
    Ok(())
}

/// Ever more pinholes alive, in a namespace where there are none before.
fn in_nftables(transport: Transport) -> Result<(), Box<dyn Error>> {
    middlebox::enter_namespace()?;
    println!("\nnftables, {transport:?}\n    alive      PER/s   alone: p50      p99   resident");
    let daemon = Daemon::start(NFTABLES)?;
    let mut agent = Agent::connect(transport)?;
    let mut opened = 0;
    for alive in [1_000, 10_000, 30_000, 100_000, 150_000] {
        agent.open(opened..alive, WINDOW)?;
        opened = alive;
        let resident = daemon.resident_mb()?;
        let rate = rate(&mut agent, alive, OPENED)?;
        let alone = agent.one_by_one(alive..alive + 5_000)?;
        let (p50, p99) = (percentile(&alone, 50)?, percentile(&alone, 99)?);
        println!("{alive:>9}  {rate:>9.0}  {p50:>8.3} ms  {p99:>5.3} ms  {resident:>5} MB");
    }
    Ok(())
}

/// A daemon is killed with pinholes alive and started again: how long until it serves an agent.
fn taking_over() -> Result<(), Box<dyn Error>> {
    println!("\nkilled and started again, until an agent has a session");
    for alive in [0, 10_000, 100_000, 300_000] {
        middlebox::enter_namespace()?;
        let daemon = Daemon::start(NFTABLES)?;
        Agent::connect(Transport::Tcp)?.open(0..alive, WINDOW)?;
        drop(daemon);
        let start = Instant::now();
        let _daemon = Daemon::start(NFTABLES)?;
        Agent::connect(Transport::Tcp)?;
        println!("{alive:>9} alive  {:>6.0} ms", start.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(())
}

/// PER per second; what was opened is deleted afterwards.
fn rate(agent: &mut Agent, from: u32, count: u32) -> Result<f64, Box<dyn Error>> {
    let took = agent.open(from..from + count, WINDOW)?;
    agent.delete_newest(count, WINDOW)?;
    Ok(f64::from(count) / took.as_secs_f64())
}

/// Of sorted times, in milliseconds.
fn percentile(times: &[f64], percent: usize) -> Result<f64, Box<dyn Error>> {
    let length = NonZeroUsize::new(times.len()).ok_or("nothing was measured")?;
    Ok(times[(length.get() * percent / 100).min(length.get() - 1)])
}
