//! `headway echo`: the echo server for `headway load`, over TCP, SCTP and UDP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lab::ServerPlan;
use lab::real::{RealError, sctp as over_sctp, tcp as over_tcp, udp as over_udp};
use lab::{Carrier, EncapsulationPorts, EventFile};
use sctp::{AssociationConfig, Endpoint, EndpointConfig, Profile, SctpPort};
use sctp_io::Clock;
use serde::Serialize;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use workload::MessageSize;

use crate::arguments::{
    ANOTHER_ADDRESS, Address, EncapPort, EventsArguments, Place, ProcessingArguments, UsageError,
    bind_remedy, check_capture, parse_address, parse_congestion,
};
use crate::interrupt::{Ending, INTERRUPTED, Signals};
use crate::output::{Output, OutputArguments, OutputError};

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
    /// Write the packets of SCTP to this pcapng file; other transports are for tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    events: EventsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// What can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// The kernel's TCP
    Tcp,
    /// Our SCTP, in UDP or after `ip:` over IP
    Sctp,
    /// One datagram, one message
    Udp,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EchoError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("--listen '{address}' over {protocol}: {because}; {remedy}")]
    Listen { address: SocketAddr, protocol: &'static str, because: String, remedy: &'static str },
    #[error("the system refuses what a server needs: {0}")]
    System(#[from] std::io::Error),
    #[error("--events: not all was written: {0}")]
    Events(String),
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
            Self::Listen { .. } | Self::System(_) | Self::Events(_) | Self::Output(_) => 1,
        }
    }
}

/// Where the server can be found; printed as soon as it can.
#[derive(Debug, Serialize)]
struct Answer {
    headway: &'static str,
    listening: Vec<Listening>,
}

#[derive(Debug, Serialize)]
struct Listening {
    transport: &'static str,
    address: SocketAddr,
    /// The other addresses of a multi-homed endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<SocketAddr>,
    /// UDP port that carries SCTP; null for others.
    encap_port: Option<u16>,
}

impl Arguments {
    /// The registered UDP port (RFC 6951 §5.1) unless another is asked for.
    fn encapsulation(&self) -> EncapsulationPorts {
        let registered = EncapsulationPorts::default().remote;
        let local = self.encap_port.map_or(registered, |ports| ports.local);
        EncapsulationPorts { local, ..EncapsulationPorts::default() }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), EchoError> {
    let place = Place::of("--listen", &arguments.listen)?;
    let carrier = place.carrier(arguments.encap_port, arguments.encapsulation())?;
    arguments.processing.processing()?;
    let output = arguments.output.open()?;
    check_capture(arguments.pcap.as_deref())?;
    let events = arguments.events.begin()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = runtime.block_on(serve(arguments, &place, carrier, &output))?;
    if let Some(because) = events.as_ref().and_then(EventFile::failure) {
        return Err(EchoError::Events(because));
    }
    match ending {
        Ending::Interrupt => Err(EchoError::Interrupted),
        Ending::Terminate => Ok(()),
    }
}

async fn serve(
    arguments: &Arguments,
    place: &Place,
    carrier: Carrier,
    output: &Output,
) -> Result<Ending, EchoError> {
    let processing = arguments.processing.processing()?;
    let mut signals = Signals::new()?;
    let mut servers = Vec::new();
    for protocol in &arguments.transport {
        // SCTP has one endpoint for all addresses, the others one server for each.
        let plain = match protocol {
            Protocol::Sctp => {
                servers.push(listen_over_sctp(arguments, place, carrier).await?);
                continue;
            }
            Protocol::Tcp => Plain::Tcp,
            Protocol::Udp => Plain::Udp,
        };
        for address in &place.addresses {
            servers.push(listen(arguments, plain, *address).await?);
        }
    }
    let answer = Answer {
        headway: env!("CARGO_PKG_VERSION"),
        listening: servers.iter().map(Server::listening).collect(),
    };
    output.write(&answer.text(), &answer)?;
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

async fn listen(arguments: &Arguments, protocol: Plain, address: SocketAddr) -> Result<Server, EchoError> {
    let refused = |because: String| EchoError::Listen {
        address,
        protocol: protocol.name(),
        because,
        remedy: ANOTHER_ADDRESS,
    };
    match protocol {
        Plain::Tcp => {
            let listener = over_tcp::listen(address, &arguments.tcp_congestion);
            Ok(Server::Tcp(listener.map_err(|error: RealError| refused(error.to_string()))?, address))
        }
        Plain::Udp => {
            let socket = UdpSocket::bind(address).await;
            Ok(Server::Udp(socket.map_err(|error| refused(error.to_string()))?, address))
        }
    }
}

/// One endpoint at all addresses.
async fn listen_over_sctp(
    arguments: &Arguments,
    place: &Place,
    carrier: Carrier,
) -> Result<Server, EchoError> {
    let first = place.first();
    let refused =
        |because: String, remedy| EchoError::Listen { address: first, protocol: "sctp", because, remedy };
    let port = SctpPort::try_from(first.port());
    let port = port.map_err(|error| refused(error.to_string(), ANOTHER_ADDRESS))?;
    let config = EndpointConfig { association: association(arguments.profile), ..EndpointConfig::new(port) };
    let mut builder = Endpoint::builder(config);
    if let Some(path) = &arguments.pcap {
        builder = builder.capture(path);
    }
    let endpoint = match carrier {
        Carrier::Udp(ports) => builder.bind_addresses(&place.ips(), ports.local).await,
        Carrier::Ip => builder.bind_ip(&place.ips()).await,
    };
    let endpoint = endpoint.map_err(|error| refused(error.to_string(), bind_remedy(&error)))?;
    Ok(Server::Sctp { endpoint, addresses: place.addresses.clone(), carrier })
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
    Sctp { endpoint: Endpoint, addresses: Vec<SocketAddr>, carrier: Carrier },
}

impl Server {
    fn listening(&self) -> Listening {
        let plain = |transport, address: &SocketAddr| Listening {
            transport,
            address: *address,
            further: Vec::new(),
            encap_port: None,
        };
        match self {
            Self::Tcp(_, address) => plain("tcp", address),
            Self::Udp(_, address) => plain("udp", address),
            Self::Sctp { endpoint, addresses, carrier } => Listening {
                transport: "sctp",
                address: addresses[0],
                further: addresses[1..].to_vec(),
                encap_port: matches!(carrier, Carrier::Udp(_)).then(|| endpoint.local_address().port()),
            },
        }
    }

    async fn echo(self, processing: Duration, clock: Clock, mut stopped: watch::Receiver<bool>) {
        let stop = async {
            // An error means that the other side is gone, which is as good.
            let _gone = stopped.wait_for(|stopped| *stopped).await;
        };
        match self {
            Self::Tcp(listener, _) => {
                over_tcp::echo(&listener, ServerPlan::echo(processing), clock, stop).await;
            }
            Self::Udp(socket, _) => {
                if let Err(error) = over_udp::echo(&socket, ServerPlan::echo(processing), clock, stop).await {
                    // If standard error is gone, clients still learn that nobody answers.
                    let _ = std::io::Write::write_fmt(
                        &mut std::io::stderr(),
                        format_args!("udp is served no longer: {error}\n"),
                    );
                }
            }
            Self::Sctp { endpoint, .. } => {
                tokio::select! {
                    _counters = over_sctp::echo(&endpoint, ServerPlan::echo(processing), None, clock) => {}
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
        self.listening.iter().map(Listening::line).collect()
    }
}

impl Listening {
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

/// What has one server for each address.
#[derive(Debug, Clone, Copy)]
enum Plain {
    Tcp,
    Udp,
}

impl Plain {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

const CLOSING_TIME: Duration = Duration::from_secs(1);
