//! `headway echo`: the echo server for `headway load`, over TCP, SCTP and UDP.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lab::real::{RealError, sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use sctp::{AssociationConfig, Endpoint, EndpointConfig, Profile, SctpPort};
use sctp_io::Clock;
use serde::Serialize;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workload::MessageSize;

use crate::arguments::{
    EncapPort, ProcessingArguments, UsageError, only_address, parse_address, parse_congestion,
};
use crate::interrupt::{Ending, INTERRUPTED, Signals};
use crate::output::{OutputArguments, OutputError};

/// The echo server for `load`, until Ctrl-C or SIGTERM
///
/// It answers whole messages on the connection or stream that they came on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway echo --listen 0.0.0.0:5000")]
pub(crate) struct Arguments {
    /// Address and port, IPv6 in brackets; the port is that of TCP, UDP and SCTP
    #[arg(long, value_name = "ADDR:PORT", required = true, num_args = 1.., value_parser = parse_address)]
    listen: Vec<SocketAddr>,
    /// Transports to serve
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',', default_value = "tcp,sctp,udp")]
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
    #[command(flatten)]
    output: OutputArguments,
}

/// What can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// The kernel's TCP
    Tcp,
    /// Our SCTP, in UDP
    Sctp,
    /// One datagram, one message
    Udp,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EchoError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("--listen '{address}' over {protocol}: {because}; choose another address or port")]
    Listen { address: SocketAddr, protocol: &'static str, because: String },
    #[error("the system refuses what a server needs: {0}")]
    System(#[from] std::io::Error),
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl EchoError {
    /// 1 if the run failed, 2 if what was asked for makes no sense, 130 after Ctrl-C.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Interrupted => INTERRUPTED,
            Self::Listen { .. } | Self::System(_) | Self::Output(_) => 1,
        }
    }
}

/// Where the server can be found; printed as soon as it can.
#[derive(Debug, Serialize)]
struct Answer {
    headway: &'static str,
    listening: Vec<Place>,
}

#[derive(Debug, Serialize)]
struct Place {
    transport: &'static str,
    address: SocketAddr,
    /// UDP port that carries SCTP; null for others.
    encap_port: Option<u16>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), EchoError> {
    let address = only_address("--listen", &arguments.listen)?;
    let processing = arguments.processing.processing()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = runtime.block_on(serve(arguments, address, processing))?;
    match ending {
        Ending::Interrupt => Err(EchoError::Interrupted),
        Ending::Terminate => Ok(()),
    }
}

async fn serve(
    arguments: &Arguments,
    address: SocketAddr,
    processing: Duration,
) -> Result<Ending, EchoError> {
    let mut signals = Signals::new()?;
    let mut servers = Vec::new();
    for protocol in &arguments.transport {
        servers.push(listen(arguments, *protocol, address).await?);
    }
    let answer =
        Answer { headway: env!("CARGO_PKG_VERSION"), listening: servers.iter().map(Server::place).collect() };
    arguments.output.write(&answer.text(), &answer)?;
    let (stop, stopped) = watch::channel(false);
    let clock = Clock::start();
    let mut tasks = JoinSet::new();
    for server in servers {
        tasks.spawn(server.echo(processing, clock, stopped.clone()));
    }
    let ending = signals.next().await;
    // Fails only when every server has ended already.
    let _all_ended = stop.send(true);
    tasks.join_all().await;
    Ok(ending)
}

async fn listen(arguments: &Arguments, protocol: Protocol, address: SocketAddr) -> Result<Server, EchoError> {
    let refused = |because: String| EchoError::Listen { address, protocol: protocol.name(), because };
    match protocol {
        Protocol::Tcp => {
            let listener = over_tcp::listen(address, &arguments.tcp_congestion);
            Ok(Server::Tcp(listener.map_err(|error: RealError| refused(error.to_string()))?, address))
        }
        Protocol::Udp => {
            let socket = UdpSocket::bind(address).await;
            Ok(Server::Udp(socket.map_err(|error| refused(error.to_string()))?, address))
        }
        Protocol::Sctp => {
            let port = SctpPort::try_from(address.port()).map_err(|error| refused(error.to_string()))?;
            let config =
                EndpointConfig { association: association(arguments.profile), ..EndpointConfig::new(port) };
            let encap_port = arguments.encap_port.map_or(ENCAPSULATION_PORT, |ports| ports.local);
            let endpoint = Endpoint::bind(config, SocketAddr::new(address.ip(), encap_port)).await;
            Ok(Server::Sctp(endpoint.map_err(|error| refused(error.to_string()))?, address))
        }
    }
}

/// Room for whatever a client may ask: any number of streams, the largest message.
fn association(profile: Profile) -> AssociationConfig {
    let mut association = AssociationConfig::profile(profile);
    association.streams.outbound = u16::MAX;
    association.streams.inbound = u16::MAX;
    let largest = MessageSize::MAX.octets();
    association.buffers.message_bytes = largest;
    association.buffers.send_bytes = association.buffers.send_bytes.max(2 * largest);
    association.buffers.receive_bytes = association.buffers.receive_bytes.max(2 * largest);
    association
}

/// An open server, and the address it was asked for.
enum Server {
    Tcp(TcpListener, SocketAddr),
    Udp(UdpSocket, SocketAddr),
    Sctp(Endpoint, SocketAddr),
}

impl Server {
    fn place(&self) -> Place {
        match self {
            Self::Tcp(_, address) => Place { transport: "tcp", address: *address, encap_port: None },
            Self::Udp(_, address) => Place { transport: "udp", address: *address, encap_port: None },
            Self::Sctp(endpoint, address) => Place {
                transport: "sctp",
                address: *address,
                encap_port: Some(endpoint.local_address().port()),
            },
        }
    }

    async fn echo(self, processing: Duration, clock: Clock, mut stopped: watch::Receiver<bool>) {
        let stop = async {
            // An error means that the other side is gone, which is as good.
            let _gone = stopped.wait_for(|stopped| *stopped).await;
        };
        match self {
            Self::Tcp(listener, _) => over_tcp::echo(&listener, processing, clock, stop).await,
            Self::Udp(socket, _) => {
                if let Err(error) = over_udp::echo(&socket, processing, clock, stop).await {
                    // If standard error is gone, clients still learn that nobody answers.
                    let _ = std::io::Write::write_fmt(
                        &mut std::io::stderr(),
                        format_args!("udp is served no longer: {error}\n"),
                    );
                }
            }
            Self::Sctp(endpoint, _) => {
                tokio::select! {
                    _counters = over_sctp::echo(&endpoint, processing, None, clock) => {}
                    () = stop => {}
                }
                endpoint.close();
                // Clients learn that we go; those that do not answer must not keep us.
                let _some_did_not = tokio::time::timeout(CLOSING_TIME, endpoint.wait_idle()).await;
            }
        }
    }
}

impl Answer {
    fn text(&self) -> String {
        let line = |place: &Place| match place.encap_port {
            Some(port) => format!("echo over {} at {}, in UDP port {port}\n", place.transport, place.address),
            None => format!("echo over {} at {}\n", place.transport, place.address),
        };
        self.listening.iter().map(line).collect()
    }
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Sctp => "sctp",
            Self::Udp => "udp",
        }
    }
}

/// The registered UDP port for SCTP (RFC 6951 §5.1).
const ENCAPSULATION_PORT: u16 = 9899;
const CLOSING_TIME: Duration = Duration::from_secs(1);
