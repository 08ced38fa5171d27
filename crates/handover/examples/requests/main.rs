//! Asks a question every few milliseconds over an association that moves with its host, and tells what the movements cost.
//!
//! ```text
//! requests 203.0.113.1:9899 7 192.0.2.7 handover.toml 10 [packets.pcapng]
//!          peer, UDP port   |  |        policy        |   every packet, for Wireshark
//!                   SCTP port  |                     milliseconds
//!                              local address that the association begins with
//! ```
//!
//! Whoever answers sends back what it gets. Each line of standard input names what is done to the host from then on; at its end no
//! more is asked. Prints an object of JSON a line: `up`; `answered`, after fifty answers each; `report`, what the mover did or heard;
//! `gap`, the longest time without an answer since the line before; `done`, all of it. Status 1 if a question was lost, or answered
//! twice or out of place.

#![allow(clippy::print_stdout, reason = "an example prints")]
#![cfg(target_os = "linux")]

mod tally;

use std::error::Error;
use std::io::BufRead as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use handover::Mover;
use mobility::{Policies, Policy};
use sctp::{
    Association, AssociationConfig, Endpoint, EndpointConfig, Message, Offer, Received, SctpPort, StreamId,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use self::tally::Tally;

struct Options {
    peer: SocketAddr,
    port: SctpPort,
    local: IpAddr,
    policy: Policy,
    every: Duration,
    capture: Option<PathBuf>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let [peer, port, local, policy, every, capture @ ..] = arguments else {
            return Err(
                "say PEER:UDP-PORT SCTP-PORT LOCAL-ADDRESS POLICY-FILE MILLISECONDS [CAPTURE-FILE]".into()
            );
        };
        Ok(Self {
            peer: peer.parse()?,
            port: port.parse::<u16>()?.try_into()?,
            local: local.parse()?,
            policy: Policies::parse(&std::fs::read_to_string(policy)?)?.application("requests"),
            every: Duration::from_millis(every.parse::<u64>()?.max(1)),
            capture: capture.first().map(PathBuf::from),
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::read(&arguments)?;
    let mut endpoint = Endpoint::builder(config(options.local)?);
    if let Some(file) = options.capture {
        endpoint = endpoint.capture(file);
    }
    let endpoint = endpoint.bind("[::]:0".parse()?).await?;
    let association = endpoint.connect(options.peer, options.port).await?;
    println!("{}", json!({"event": "up", "port": association.local_address().port()}));
    let mover = Mover::new(&endpoint, &association, options.policy)?;
    let moves = tokio::spawn(tell(mover));
    let tally = converse(&association, options.every).await?;
    let is_good = conclude(&association, &tally);
    association.shutdown().await?;
    moves.await?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn config(local: IpAddr) -> Result<EndpointConfig, Box<dyn Error>> {
    let mut association = AssociationConfig::default();
    association.extensions.authentication = Offer::On;
    association.extensions.dynamic_addresses = Offer::On;
    let mut config = EndpointConfig::with_association(LOCAL_PORT.try_into()?, association);
    config.local_addresses = vec![local];
    Ok(config)
}

/// Prints what the mover does and hears, until the association is over.
async fn tell(mut mover: Mover) {
    while let Some(report) = mover.next().await {
        println!("{}", json!({"event": "report", "what": report.to_string()}));
    }
}

/// Asks until standard input ends, and waits for the answers that are due then.
async fn converse(association: &Association, every: Duration) -> Result<Tally, Box<dyn Error>> {
    let mut lines = lines();
    let mut tally = Tally::new(Instant::now());
    let mut during = String::from("nothing");
    let mut due = tokio::time::interval(every);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => {
                let question = tally.ask().to_be_bytes();
                association.send(Message::ordered(StreamId::new(0), question.to_vec())).await?;
            }
            answer = association.recv() => take(&mut tally, answer?)?,
            line = lines.recv() => {
                tell_gap(&mut tally, &during);
                let Some(line) = line else { break };
                during = line;
            }
        }
    }
    let rest = async {
        while tally.lost() > 0 {
            take(&mut tally, association.recv().await?)?;
        }
        Ok::<(), Box<dyn Error>>(())
    };
    // Out of time: what is not there is lost.
    let _in_time = tokio::time::timeout(PATIENCE, rest).await;
    Ok(tally)
}

fn take(tally: &mut Tally, answer: Option<Received>) -> Result<(), Box<dyn Error>> {
    let answer = answer.ok_or("the peer has ended the association")?;
    tally.answer(Instant::now(), u32::from_be_bytes(answer.message.payload[..].try_into()?));
    if tally.answered().is_multiple_of(REPORTED) {
        println!("{}", json!({"event": "answered", "count": tally.answered()}));
    }
    Ok(())
}

fn tell_gap(tally: &mut Tally, during: &str) {
    let gap = tally.take_gap().as_millis();
    println!(
        "{}",
        json!({"event": "gap", "during": during, "longest_ms": u64::try_from(gap).unwrap_or(u64::MAX)})
    );
}

/// Prints what was counted; returns whether every question was answered once, in its place.
fn conclude(association: &Association, tally: &Tally) -> bool {
    let is_good = (tally.lost(), tally.twice(), tally.out_of_place()) == (0, 0, 0);
    let counted = association.statistics();
    let line = json!({
        "event": "done",
        "ok": is_good,
        "asked": tally.asked(),
        "lost": tally.lost(),
        "twice": tally.twice(),
        "out_of_place": tally.out_of_place(),
        "asconf": {"sent": counted.asconf.sent, "again": counted.asconf.retransmissions, "stray_acks": counted.asconf.stray_acks},
        "data": {
            "chunks": counted.sender.chunks,
            "again": counted.sender.retransmissions,
            "timeouts": counted.paths.iter().map(|path| path.counters.timeouts).sum::<u64>(),
        },
    });
    println!("{line}");
    is_good
}

/// Hands on the lines of standard input.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

const LOCAL_PORT: u16 = 50_000;
/// How long the last answers are waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Answers between two lines.
const REPORTED: u32 = 50;
