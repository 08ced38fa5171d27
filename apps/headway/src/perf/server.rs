//! The command `headway perf server`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use lab::Carrier;
use sctp::AssociationConfig;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::connection::Connection;
use super::control::{ArrivalReport, Plan, per_second};
use super::host::Host;
use super::result::MessagesSent;
use super::threads::Threads;
use super::{MessageProtocol, PerfError};
use crate::arguments::{ANOTHER_ADDRESS, Address, EncapPort, Place, check_capture, parse_perf_address};
use crate::failure::{Failure, Interrupted};
use crate::interrupt::{Ending, Signals};
use crate::output::{Output, OutputArguments};

/// Receives what `perf client` sends and counts it, until Ctrl-C or SIGTERM
///
/// It measures for one client at a time.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway perf server --listen 127.0.0.1:5201 --once")]
pub(crate) struct Arguments {
    /// Addresses with the same port (5201 if none is given), IPv6 in brackets; SCTP serves several as one multi-homed endpoint, and after
    /// `ip:` directly over IP (protocol 132)
    #[arg(long, value_name = "ADDR[:PORT]", default_value = "0.0.0.0:5201", num_args = 1.., value_parser = parse_perf_address)]
    listen: Vec<Address>,
    /// The protocol that carries the messages
    #[arg(long, value_name = "NAME", value_enum, default_value_t = MessageProtocol::Sctp)]
    transport: MessageProtocol,
    /// UDP port that carries SCTP (0: any) [default: 9899]
    #[arg(long, value_name = "PORT")]
    encap_port: Option<EncapPort>,
    /// End after the first run
    #[arg(long)]
    once: bool,
    /// Write the packets of SCTP to this pcapng file, and serve by one socket alone; TCP is for tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The place where the server can be found; printed as soon as it can.
#[derive(Debug, Serialize)]
struct Listening {
    headway: &'static str,
    transport: &'static str,
    listening: Vec<SocketAddr>,
    /// UDP port that carries SCTP; null for others.
    encap_port: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let place = Place::of("--listen", &arguments.listen)?;
    place.check_protocol("--listen", arguments.transport == MessageProtocol::Sctp)?;
    let carrier = place.carrier_of_server(arguments.encap_port)?;
    let output = arguments.output.open()?;
    check_capture(arguments.pcap.as_deref())?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PerfError::from)?;
    match runtime.block_on(serve(arguments, &place, carrier, &output))? {
        Ending::Interrupt => Err(Interrupted("").into()),
        Ending::Terminate => Ok(()),
    }
}

async fn serve(
    arguments: &Arguments,
    place: &Place,
    carrier: Carrier,
    output: &Output,
) -> Result<Ending, Failure> {
    let mut signals = Signals::new().map_err(PerfError::from)?;
    let (finished, mut runs) = mpsc::unbounded_channel();
    let host = Arc::new(Host::new(finished));
    let mut tasks = JoinSet::new();
    let mut threads = None;
    match arguments.transport {
        MessageProtocol::Sctp => {
            threads = Some(Threads::start(place, carrier, arguments.pcap.as_deref(), &host).await?);
        }
        MessageProtocol::Tcp => {
            for address in &place.addresses {
                let listener = TcpListener::bind(address).await;
                let listener = listener.map_err(|error| tcp_refused(*address, &error))?;
                tasks.spawn(accept_tcp(listener, Arc::clone(&host)));
            }
        }
    }
    let listening = listening(arguments, place, threads.as_ref().and_then(|threads| threads.encap_port));
    output.write(&listening.text(place.over_ip), &listening)?;
    let ending = loop {
        tokio::select! {
            ending = signals.next() => break ending,
            Some((plan, report)) = runs.recv() => {
                output.tell(&text(&plan, &report))?;
                if arguments.once {
                    break Ending::Terminate;
                }
            }
        }
    };
    if let Some(threads) = threads {
        threads.end();
    }
    Ok(ending)
}

fn listening(arguments: &Arguments, place: &Place, encap_port: Option<u16>) -> Listening {
    Listening {
        headway: env!("CARGO_PKG_VERSION"),
        transport: arguments.transport.name(),
        listening: place.addresses.clone(),
        encap_port,
    }
}

impl Listening {
    fn text(&self, over_ip: bool) -> String {
        let addresses: Vec<_> = self.listening.iter().map(SocketAddr::to_string).collect();
        let carrier = match self.encap_port {
            Some(port) => format!(", in UDP port {port}"),
            None if over_ip => ", directly over IP".to_owned(),
            None => String::new(),
        };
        format!("perf over {} at {}{carrier}\n", self.transport, addresses.join(" and "))
    }
}

/// Returns the configuration of both ends of a run: room for 4 MiB each way, and for messages of 1 MiB.
pub(crate) fn association() -> AssociationConfig {
    let mut association = AssociationConfig::default();
    association.streams.inbound = u16::MAX;
    association.buffers.send_bytes = BUFFER_BYTES;
    association.buffers.receive_bytes = BUFFER_BYTES;
    association.buffers.message_bytes = LONGEST_MESSAGE_BYTES;
    association
}

fn tcp_refused(address: SocketAddr, because: &std::io::Error) -> PerfError {
    PerfError::Listen { address, protocol: "tcp", because: because.to_string(), remedy: ANOTHER_ADDRESS }
}

async fn accept_tcp(listener: TcpListener, host: Arc<Host>) {
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => {
                let host = Arc::clone(&host);
                tokio::spawn(async move { host.serve(Connection::Tcp(stream)).await });
            }
            // No descriptors left, or the client has gone again: the next may have more luck.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Returns one run as a line.
fn text(plan: &Plan, report: &ArrivalReport) -> String {
    let goodput = per_second(report.arrived.octets, report.seconds) / 1e6;
    let rate = per_second(report.arrived.messages, report.seconds);
    let messages = MessagesSent { message_bytes: plan.message_bytes, fresh: plan.is_fresh }.text();
    format!("{messages}: {goodput:.1} MB/s, {rate:.0} messages/s in {:.1} s\n", report.seconds)
}

/// The octets of send buffer and receive window.
const BUFFER_BYTES: usize = 4 << 20;
/// The longest `--message`.
pub(crate) const LONGEST_MESSAGE_BYTES: usize = 1 << 20;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
