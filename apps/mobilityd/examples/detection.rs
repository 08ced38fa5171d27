//! Measures how long after the kernel a client of `mobilityd` knows of a change.
//!
//! `cargo run --release -p mobilityd --example detection -- 500`, as root, after `cargo build --release -p mobilityd`: in a network
//! namespace of its own an address comes and goes so many times. Each time the moment at which the kernel's message can be read is
//! compared with that at which the line has been read. The criterion stands before the run: 99 of 100 within 10 ms. Status 1 otherwise.

#![allow(clippy::print_stdout, reason = "an example prints")]
#![cfg(target_os = "linux")]

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use interface_watch::{InterfaceWatch, Told};
use mobility::Event;
use nix::sched::{CloneFlags, unshare};

/// The daemon; it is killed with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(200), |text| text.parse())?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let folder = std::env::temp_dir().join(format!("mobilityd-detection-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&folder, rounds);
    std::fs::remove_dir_all(&folder)?;
    let mut delays = measured?;
    delays.sort();
    let at = |permille: usize| delays[(delays.len() - 1) * permille / 1000];
    println!("{} changes: p50 {:?}, p99 {:?}, longest {:?}", delays.len(), at(500), at(990), at(1000));
    let is_met = at(990) <= BAR;
    println!("99 of 100 within {BAR:?}: {}", if is_met { "met" } else { "missed" });
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(folder: &std::path::Path, rounds: u32) -> Result<Vec<Duration>, Box<dyn Error>> {
    let (socket, notified) = (folder.join("socket"), folder.join("notify"));
    let configuration = folder.join("mobilityd.toml");
    std::fs::write(&configuration, format!("[daemon]\nsocket = '{}'\n", socket.display()))?;
    let systemd = UnixDatagram::bind(&notified)?;
    systemd.set_read_timeout(Some(PATIENCE))?;
    let program = std::env::current_exe()?;
    let program = program.ancestors().nth(2).ok_or("no folder of programs")?.join("mobilityd");
    let mut command = Command::new(program);
    let _daemon = Running(command.arg(&configuration).env("NOTIFY_SOCKET", &notified).spawn()?);
    systemd.recv(&mut [0; 64])?;
    ip("link add near type veth peer name far")?;
    ip("link set far up")?;
    ip("link set near up")?;
    let stream = UnixStream::connect(&socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream);
    let mut delays = Vec::new();
    for round in 0..rounds {
        for change in ["add", "delete"] {
            let address = format!("10.72.{}.{}", round / 200 + 1, round % 200 + 1);
            let watcher = std::thread::spawn(kernel_tells(address.clone(), change == "add")?);
            ip(&format!("address {change} {address}/32 dev near"))?;
            let read_at = until(&mut lines, &address, change == "add")?;
            let told_at = watcher.join().map_err(|_| "the watcher failed")??;
            delays.push(read_at.saturating_duration_since(told_at));
        }
    }
    Ok(delays)
}

/// Returns what waits until the kernel tells of an address that comes or goes, and says when that was.
fn kernel_tells(
    address: String,
    comes: bool,
) -> Result<impl FnOnce() -> std::io::Result<Instant> + Send + 'static, Box<dyn Error>> {
    let mut watch = InterfaceWatch::open()?;
    let address: std::net::IpAddr = address.parse()?;
    Ok(move || {
        loop {
            let Told::Events(events) = watch.poll()? else { continue };
            let now = Instant::now();
            let is_it = |event: &Event| {
                let has_come = matches!(event, Event::Address { address: other, .. } if *other == address);
                let has_gone =
                    matches!(event, Event::AddressGone { address: other, .. } if *other == address);
                if comes { has_come } else { has_gone }
            };
            if events.iter().any(is_it) {
                return Ok(now);
            }
            std::thread::yield_now();
        }
    })
}

/// Reads lines until one has the address, or has it no more.
fn until(
    lines: &mut BufReader<UnixStream>,
    address: &str,
    is_there: bool,
) -> Result<Instant, Box<dyn Error>> {
    let name = format!("\"{address}\"");
    loop {
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let now = Instant::now();
        let line: serde_json::Value = serde_json::from_str(&line)?;
        let addresses = line["applications"]["default"]["addresses"].to_string();
        if addresses.contains(&name) == is_there {
            return Ok(now);
        }
    }
}

fn ip(arguments: &str) -> Result<(), Box<dyn Error>> {
    let is_done = Command::new("ip").args(arguments.split(' ')).status()?.success();
    if is_done { Ok(()) } else { Err(format!("ip {arguments} failed").into()) }
}

const BAR: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(30);
