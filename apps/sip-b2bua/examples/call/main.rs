//! A call with media: caller, back-to-back user agent, middlebox on nftables and called side, in network namespaces of their own. Who
//! said what to whom is printed as a ladder, and whether media pass before, during and after the call; with `--html FILE` a page with
//! a picture of it is written, too.
//!
//! ```sh
//! cargo run -p sip-b2bua --example call                        # as root, with `ip` and `nft`
//! cargo run -p sip-b2bua --example call -- --html call.html
//! ```
#![allow(clippy::unwrap_used, reason = "an example that cannot go on says where")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its purpose, and why it cannot do it")]

mod ladder;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/sipp/network.rs"]
mod network;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/sipp/phone.rs"]
mod phone;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/sipp/probe.rs"]
mod probe;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use ladder::{AGENT, CALLED, CALLER, Ladder, MIDDLE, Step};
use network::{Network, Place};
use phone::{Phones, Who};
use probe::Media;
use sip_b2bua::{Server, Settings};
use tokio::sync::mpsc;

/// The patience that what is shared with the tests goes by.
mod agent {
    pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
}

/// A call with media through agent and middlebox, between network namespaces
#[derive(Debug, Parser)]
struct Arguments {
    /// Write a page with a picture of the call to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn main() {
    let arguments = Arguments::parse();
    let Some(network) = Network::new() else { return };
    let folder = std::env::temp_dir().join(format!("sip-b2bua-call-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let audit = folder.join("audit.jsonl");
    let middlebox = network.within(Place::Middle, || {
        let text = format!("{MIDDLEBOX}[audit]\nfile = \"{}\"\n", audit.display());
        let settings = simco_middlebox::Settings::parse(&text, Path::new(".")).unwrap();
        simco_middlebox::Embedded::start(settings).unwrap()
    });
    let (controls, controlled) = mpsc::channel(1);
    let ladder = std::thread::scope(|scope| {
        let network = &network;
        scope.spawn(move || network.within(Place::Middle, || serve(controlled)));
        // Before its session with the middlebox is open calls are refused, rightly.
        while !page(network).contains("sip_middlebox_up{middlebox=\"edge\"} 1") {
            std::thread::yield_now();
        }
        let ladder = call(network, &audit);
        // Without anybody who commands it, the agent ends.
        drop(controls);
        ladder
    });
    middlebox.stop();
    // It is in a folder for temporary files.
    let _stays = std::fs::remove_dir_all(folder);
    println!("{}", ladder.text());
    if let Some(file) = arguments.html
        && let Err(error) = std::fs::write(&file, ladder.page())
    {
        eprintln!("--html {}: {error}", file.display());
        std::process::exit(1);
    }
}

/// Places the call, and returns what happened.
fn call(network: &Network, audit: &PathBuf) -> Ladder {
    let media = Media::new(network);
    let passes = || match media.passes() {
        (true, true) => "media pass both ways",
        (false, false) => "no media pass",
        (true, false) => "media pass outwards only",
        (false, true) => "media pass inwards only",
    };
    let mut steps = vec![(now(), Step::Note(format!("before the call: {}", passes())))];
    let mut phones = Phones::new(network);
    let log = String::new;
    phones.call();
    let (status, reason) = phones.wait_for_answer(1, log);
    assert_eq!(status, 200, "{reason}");
    phones.wait(|phones| phones.was_asked(&sip::Method::Ack), log);
    phones.turn();
    media.wait(log);
    steps.push((now(), Step::Note(format!("during the call: {}", passes()))));
    phones.hang_up();
    phones.wait(|phones| phones.was_asked(&sip::Method::Bye), log);
    while !page(network).contains("sip_pinholes 0") || media.passes() != (false, false) {
        phones.turn();
    }
    steps.push((now(), Step::Note(format!("after the call: {}", passes()))));
    for heard in phones.heard() {
        let at = heard.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (side, is_sent) = (if heard.by == Who::Caller { CALLER } else { CALLED }, heard.is_sent);
        let (from, to) = if is_sent { (side, AGENT) } else { (AGENT, side) };
        steps.push((at, Step::Arrow { from, to, text: short(&heard.line) }));
    }
    steps.extend(rules(audit));
    Ladder::new(steps)
}

/// Returns what the middlebox has written down about pinholes.
fn rules(audit: &PathBuf) -> Vec<(Duration, Step)> {
    let text = std::fs::read_to_string(audit).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let changes = lines.filter(|line| line["change"].is_string());
    changes
        .map(|line| {
            let at = Duration::from_secs_f64(line["unix_s"].as_f64().unwrap_or_default());
            let text = format!("pinhole {} {}", line["pid"], line["change"].as_str().unwrap_or_default());
            (at, Step::Arrow { from: AGENT, to: MIDDLE, text })
        })
        .collect()
}

/// Returns a first line as a ladder has room for: a method, or a status.
fn short(line: &str) -> String {
    match line.strip_prefix("SIP/2.0 ") {
        Some(status) => status.to_owned(),
        None => line.split(' ').next().unwrap_or_default().to_owned(),
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Runs the agent until nobody can command it any more.
fn serve(controls: mpsc::Receiver<daemon::Control<Settings>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let settings = Settings::parse(B2BUA, Path::new(".")).unwrap();
        Server::new(&settings).await.unwrap().run(controls).await;
    });
}

/// Returns the agent's page for Prometheus; nothing if it is not there yet.
fn page(network: &Network) -> String {
    use std::io::{Read, Write};
    network.within(Place::Middle, || {
        let mut page = String::new();
        if let Ok(mut stream) = std::net::TcpStream::connect("127.0.0.1:9627")
            && stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").is_ok()
        {
            // A page that is cut lacks what is looked for.
            let _cut = stream.read_to_string(&mut page);
        }
        page
    })
}

const MIDDLEBOX: &str = r#"
[listen]
tcp = ["127.0.0.1:7626"]
[filter]
kind = "nftables"
inside = ["in0"]
[realms]
internal = ["10.1.8.0/24"]
[anonymous]
"#;
const B2BUA: &str = r#"
[listen]
udp = ["10.1.8.1:5060"]
[[routes]]
to = "198.51.100.9:5060"
[[middleboxes]]
name = "edge"
addresses = ["127.0.0.1"]
internal = ["10.1.8.0/24"]
[metrics]
listen = "127.0.0.1:9627"
"#;
