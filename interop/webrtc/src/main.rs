//! WebRTC data channels on our own SCTP, with a browser at the other end.
//!
//! ```text
//! webrtc-chromium [--address A] [--browser PROGRAM] [--interleaving off|on] [--seconds N] [--capture FOLDER]
//!                 [--page channels|two-peers]
//! ```
//!
//! Serves a page over HTTP on loopback, prints where, and, with `--browser`, opens it in a headless one. The page makes two connections
//! and posts what it found; the exit status is 0 if that, and what was found here, is as it must be. With `--capture` the SCTP packets
//! of each connection are in a file of that folder, named for the server's role in DTLS.
//! The page `two-peers` has nothing to do with our own SCTP: it counts what the browser loses, or tells too early, between two
//! connections of its own.
#![forbid(unsafe_code)]

mod agreed;
mod browser;
mod capture;
mod description;
mod http;
mod judgement;
mod peer;
mod scenario;
mod session;

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use data_channel::DtlsRole;
use sctp_core::Capability;

use self::browser::Browser;
use self::capture::Capture;
use self::description::Description;
use self::http::Post;
use self::judgement::{Checks, PageResult};
use self::peer::{Failure, Peer};
use self::session::Report;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("webrtc-chromium: {what}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("FAILED {error}");
            ExitCode::FAILURE
        }
    }
}

/// The command line, read.
struct Options {
    /// The address where datagrams come and go.
    address: IpAddr,
    /// The browser to start; none is started without.
    browser: Option<String>,
    /// Whether the browser is asked to offer I-DATA (RFC 8260), which it must then speak.
    interleaving: bool,
    /// How long all of it may take.
    patience: Duration,
    /// The folder for the packets of the connections.
    captures: Option<PathBuf>,
    /// Whether the browser is to talk to itself.
    between_peers: bool,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            address: Ipv4Addr::LOCALHOST.into(),
            browser: None,
            interleaving: false,
            patience: Duration::from_secs(60),
            captures: None,
            between_peers: false,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let wrong = |_| format!("{name} cannot be {value}");
            match name.as_str() {
                "--address" => options.address = value.parse().map_err(|_| wrong(()))?,
                "--page" if ["channels", "two-peers"].contains(&value.as_str()) => {
                    options.between_peers = value == "two-peers"
                }
                "--capture" => options.captures = Some(value.into()),
                "--browser" => options.browser = Some(value),
                "--interleaving" if ["on", "off"].contains(&value.as_str()) => {
                    options.interleaving = value == "on"
                }
                "--seconds" => options.patience = Duration::from_secs(value.parse().map_err(|_| wrong(()))?),
                _ => return Err(format!("no option {name} {value}; see the head of main.rs")),
            }
        }
        Ok(options)
    }
}

fn run(options: &Options) -> Result<bool, Failure> {
    let deadline = Instant::now() + options.patience;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let page_patience = options.patience.saturating_sub(Duration::from_secs(5)).as_millis();
    let page = if options.between_peers { "two-peers.html" } else { "" };
    let url = format!("http://{}/{page}?patience={page_patience}", listener.local_addr()?);
    println!("page at {url}");
    let (posts, posted) = mpsc::channel();
    std::thread::spawn(move || http::serve(&listener, &posts));
    let start = |program| Browser::start(program, &url, options.interleaving);
    let browser = options.browser.as_deref().map(start).transpose()?;
    let outcome = converse(options, &posted, deadline);
    drop(browser);
    let (page, reports) = outcome?;
    println!("{}\n{}", page.browser, page.measured);
    if options.between_peers {
        return Ok(true);
    }
    let mut checks = Checks::default();
    for report in reports {
        match report {
            Ok(report) => {
                println!("{}", report.agreed);
                let what = format!("I-DATA is {}agreed on", if options.interleaving { "" } else { "not " });
                let is_agreed = report.agreed.capabilities.has(Capability::Interleaving);
                checks.note(&what, is_agreed == options.interleaving, "");
                checks.extend(report.checks);
            }
            Err(error) => checks.note("a connection that ends", false, &error.to_string()),
        }
    }
    Ok(judgement::judge(page, checks))
}

type Connection = JoinHandle<Result<Report, Failure>>;

/// Answers offers until the page has posted its result.
fn converse(
    options: &Options,
    posted: &Receiver<Post>,
    deadline: Instant,
) -> Result<(PageResult, Vec<Result<Report, Failure>>), Failure> {
    let mut connections: Vec<Connection> = Vec::new();
    let page = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let post = posted.recv_timeout(left).map_err(|_| "the page has posted no result in time")?;
        match post.path.as_str() {
            "/offer/server" => connections.push(answer(options, &post, DtlsRole::Server, left)?),
            "/offer/client" => connections.push(answer(options, &post, DtlsRole::Client, left)?),
            "/result" => {
                let _gone = post.answer.send(String::new());
                break serde_json::from_str(&post.body)?;
            }
            other => eprintln!("http: nothing is posted to {other}"),
        }
    };
    let mut reports = Vec::new();
    for connection in connections {
        reports.push(connection.join().map_err(|_| "a connection has panicked")?);
    }
    Ok((page, reports))
}

/// Answers an offer, and drives the connection on a thread of its own.
fn answer(options: &Options, post: &Post, role: DtlsRole, patience: Duration) -> Result<Connection, Failure> {
    let socket = session::socket(options.address)?;
    let offer = Description::read(&post.body)?;
    let entropy = std::array::from_fn(|_| rand::random());
    let (mut peer, answer) = Peer::answer(&offer, role, socket.local_addr()?, entropy)?;
    let (setup, name) = match role {
        DtlsRole::Client => ("active", "client.pcapng"),
        DtlsRole::Server => ("passive", "server.pcapng"),
    };
    if let Some(folder) = &options.captures {
        peer.capture = Some(Capture::create(&folder.join(name))?);
    }
    let _gone = post.answer.send(answer.write(setup, description::mid(&post.body)));
    Ok(std::thread::spawn(move || session::run(peer, &socket, role, patience)))
}
