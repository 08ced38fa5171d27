//! What others do: a process for each change, a rule for each pinhole.

use std::error::Error;
use std::fmt::Write;
use std::process::Command;
use std::time::Instant;

/// Changes per second when each is a process of `nft`; the table is the daemon's.
pub(crate) fn processes() -> Result<f64, Box<dyn Error>> {
    const CHANGES: u32 = 100;
    nft("add table inet others; add set inet others s { typeof ip daddr . udp dport; flags timeout; }")?;
    let start = Instant::now();
    for port in 1..=CHANGES {
        nft(&format!("add element inet others s {{ 10.0.0.1 . {port} timeout 60s }}"))?;
    }
    Ok(f64::from(CHANGES) / start.elapsed().as_secs_f64())
}

/// With a rule for each of `alive` pinholes: milliseconds for another one, and microseconds that a packet takes which the
/// last rule accepts.
pub(crate) fn rules(alive: u32) -> Result<(f64, f64), Box<dyn Error>> {
    const CHANGES: u32 = 20;
    nft(
        "add table inet rules; delete table inet rules; add table inet rules; add chain inet rules c { type filter hook output priority 0; }",
    )?;
    let mut text = String::new();
    for number in 0..alive {
        let [_, high, middle, low] = number.to_be_bytes();
        writeln!(text, "add rule inet rules c ip daddr 10.{high}.{middle}.{low} udp dport 4000 accept")?;
    }
    let path = std::env::temp_dir().join(format!("simco-rules-{}.nft", std::process::id()));
    std::fs::write(&path, text)?;
    let loaded = Command::new("nft").arg("-f").arg(&path).status();
    std::fs::remove_file(&path)?;
    if !loaded?.success() {
        return Err("nft refused the rules".into());
    }
    let start = Instant::now();
    for port in 1..=CHANGES {
        nft(&format!("add rule inet rules c ip daddr 10.255.0.1 udp dport {port} accept"))?;
    }
    let each = start.elapsed().as_secs_f64() * 1000.0 / f64::from(CHANGES);
    Ok((each, packet_us()?))
}

/// A packet that no rule accepts, through all of them on its way out.
fn packet_us() -> Result<f64, Box<dyn Error>> {
    const PACKETS: u32 = 2000;
    let (from, to) = (std::net::UdpSocket::bind("127.0.0.1:0")?, std::net::UdpSocket::bind("127.0.0.1:0")?);
    let start = Instant::now();
    for _ in 0..PACKETS {
        from.send_to(b"x", to.local_addr()?)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(PACKETS))
}

fn nft(command: &str) -> Result<(), Box<dyn Error>> {
    let done = Command::new("nft").arg(command).status()?;
    if done.success() { Ok(()) } else { Err(format!("nft refused: {command}").into()) }
}
