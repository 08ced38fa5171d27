//! `headway echo`: the echo server for `headway load`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::{Carrier, EventFile, Expected, Listener, Listening, Protocol, RealError, ServerPlan, TRANSPORTS};
use sctp::Profile;
use sctp_io::Clock;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arguments::{
    ANOTHER_ADDRESS, Address, EncapPort, EventsArguments, Place, ProcessingArguments, bind_remedy,
    check_capture, parse_address, parse_congestion,
};
use crate::failure::{CommandError, Failure, Interrupted};
use crate::interrupt::{Ending, Signals};
use crate::output::{Output, OutputArguments};

/// The echo server for `load`, until Ctrl-C or SIGTERM
///
/// It answers whole messages on the connection or stream that they came on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway echo --listen 0.0.0.0:5000")]
pub(crate) struct Arguments {
    /// Addresses with the same port, IPv6 in brackets; SCTP serves several as one multi-homed endpoint, and after
    /// `ip:` directly over IP (protocol 132)
    #[arg(long, value_name = "ADDR:PORT", required = true, num_args = 1.., value_parser = parse_address)]
    listen: Vec<Address>,
    /// Transports to serve; QUIC has the port above the one of --listen
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = all_protocols(), value_parser = protocols())]
    transport: Vec<Protocol>,
    /// UDP port that carries SCTP (0: any); clients may use any at their end [default: 9899]
    #[arg(long, value_name = "LOCAL[:REMOTE]")]
    encap_port: Option<EncapPort>,
    #[command(flatten)]
    processing: ProcessingArguments,
    /// SCTP profile: signalling, rfc9260 or studies
    #[arg(long, value_name = "NAME", default_value = "signalling")]
    profile: Profile,
    /// Congestion control of the kernel's TCP
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = parse_congestion)]
    tcp_congestion: String,
    /// Write the packets of SCTP to this pcapng file; other transports are for tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    events: EventsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Returns the names of everything that can be served.
fn all_protocols() -> String {
    TRANSPORTS.map(Protocol::name).join(",")
}

/// Returns a parser for names of protocols, which shells complete.
fn protocols() -> impl TypedValueParser<Value = Protocol> {
    let names = PossibleValuesParser::new(TRANSPORTS.map(Protocol::name));
    names.try_map(|name| name.parse::<Protocol>())
}

/// The reason why there is no server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EchoError {
    #[error("--listen '{address}' over {protocol}: {because}; {remedy}")]
    Listen { address: SocketAddr, protocol: &'static str, because: String, remedy: &'static str },
    #[error("the system refuses what a server needs: {0}")]
    System(#[from] std::io::Error),
    #[error("--events: not all was written: {0}")]
    Events(String),
}

impl EchoError {
    fn new(first: SocketAddr, protocol: Protocol, error: &RealError) -> Self {
        let (address, because, remedy) = match error {
            RealError::Bind(error) => (first, error.to_string(), bind_remedy(error)),
            RealError::Listen { at, because } => (*at, because.clone(), ANOTHER_ADDRESS),
            RealError::Socket { .. }
            | RealError::Connect(_)
            | RealError::Configuration { .. }
            | RealError::Load(_)
            | RealError::Congestion { .. } => (first, error.to_string(), ANOTHER_ADDRESS),
        };
        Self::Listen { address, protocol: protocol.name(), because, remedy }
    }
}

impl CommandError for EchoError {}

/// The place where the server can be found; printed as soon as it can.
#[derive(Debug, Serialize)]
struct Answer {
    headway: &'static str,
    listening: Vec<Served>,
}

#[derive(Debug, Serialize)]
struct Served {
    transport: &'static str,
    address: SocketAddr,
    /// The further addresses of a multi-homed endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<SocketAddr>,
    /// UDP port that carries SCTP; null for others.
    encap_port: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let place = Place::of("--listen", &arguments.listen)?;
    let carrier = place.carrier_of_server(arguments.encap_port)?;
    arguments.processing.processing()?;
    let output = arguments.output.open()?;
    check_capture(arguments.pcap.as_deref())?;
    let events = arguments.events.begin()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(EchoError::from)?;
    let ending = runtime.block_on(serve(arguments, &place, carrier, &output))?;
    if let Some(because) = events.as_ref().and_then(EventFile::failure) {
        return Err(EchoError::Events(because).into());
    }
    match ending {
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
    let processing = arguments.processing.processing()?;
    let mut signals = Signals::new().map_err(EchoError::from)?;
    let mut servers = Vec::new();
    for protocol in &arguments.transport {
        let at = Listening {
            addresses: &place.addresses,
            carrier,
            expected: Expected::Anybody {
                profile: arguments.profile,
                tcp_congestion: &arguments.tcp_congestion,
            },
            capture: arguments.pcap.as_deref(),
        };
        let open = protocol.listen(at).await;
        servers.extend(open.map_err(|error| EchoError::new(place.first(), *protocol, &error))?);
    }
    let answer =
        Answer { headway: env!("CARGO_PKG_VERSION"), listening: servers.iter().map(Served::of).collect() };
    output.write(&answer.text(), &answer)?;
    let (stop, stopped) = watch::channel(false);
    let clock = Clock::start();
    let mut tasks = JoinSet::new();
    for server in servers {
        tasks.spawn(echo(server, processing, clock, stopped.clone()));
    }
    let ending = signals.next().await;
    // Fails only when every server has ended already.
    let _all_ended = stop.send(true);
    tasks.join_all().await;
    Ok(ending)
}

async fn echo(server: Listener, processing: Duration, clock: Clock, mut stopped: watch::Receiver<bool>) {
    let protocol = server.protocol;
    let stop = async move {
        // An error means that the other side is gone, which is as good.
        let _gone = stopped.wait_for(|stopped| *stopped).await;
    };
    if let Err(error) = server.serve(ServerPlan::echo(processing), clock, stop).await {
        // If standard error is gone, clients still learn that nobody answers.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{protocol} is served no longer: {error}\n"),
        );
    }
}

impl Answer {
    fn text(&self) -> String {
        self.listening.iter().map(Served::line).collect()
    }
}

impl Served {
    fn of(server: &Listener) -> Self {
        Self {
            transport: server.protocol,
            address: server.addresses[0],
            further: server.addresses[1..].to_vec(),
            encap_port: server.encap_port,
        }
    }

    fn line(&self) -> String {
        let further: String = self.further.iter().map(|address| format!(" and {address}")).collect();
        let carrier = match self.encap_port {
            Some(port) => format!(", in UDP port {port}"),
            None if self.transport == "sctp" => ", directly over IP".to_owned(),
            None => String::new(),
        };
        format!("echo over {} at {}{further}{carrier}\n", self.transport, self.address)
    }
}
