//! The command line: the words of `peer`, and what only our stack has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sctp::{
    AssociationConfig, AuthKeys, ChunkType, DatagramChannel, Destination, Extensions, Offer, Profile,
    Reliability, SctpPort, SharedKeyId, StreamScheduler,
};

use crate::actions::{self, Action};

/// One end of an SCTP association on Headway, in UDP, to test another stack against.
///
/// Prints one JSON object per line; interop/README.md lists them. Exit status: 0 all as expected, 1 not, 2 wrong
/// usage, 3 out of time.
#[derive(Debug, Parser)]
#[command(name = "interop-driver", max_term_width = 110)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) role: Role,
}

/// The end of the association to be.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Accept one association after the other; answer, or verify what comes
    Serve(ServeOptions),
    /// Set up one association, send messages, verify the answers
    Send(SendOptions),
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    pub(crate) end: EndOptions,
    /// The answer to a message
    #[arg(long, value_enum, default_value_t = Mode::Echo)]
    pub(crate) mode: Mode,
    /// Associations to accept, 0 = without end
    #[arg(long, default_value_t = 1)]
    pub(crate) count: u64,
    /// Streams to allow for answers
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) streams: u16,
    /// How this end finishes; `shutdown`, `abort` and `vanish` after the first message
    #[arg(long = "end", value_enum, default_value_t = End::Wait)]
    pub(crate) finish: End,
}

#[derive(Debug, Args)]
pub(crate) struct SendOptions {
    #[command(flatten)]
    pub(crate) end: EndOptions,
    /// The peer's IP address; several for a peer that has them
    #[arg(long, required = true)]
    pub(crate) to: Vec<IpAddr>,
    /// The peer's UDP port for encapsulation
    #[arg(long, default_value_t = 9899)]
    pub(crate) encap: u16,
    /// SCTP port of this end
    #[arg(long, default_value = "50000", value_parser = parse_port)]
    pub(crate) local_port: SctpPort,
    #[command(flatten)]
    pub(crate) load: Load,
    /// How this end finishes
    #[arg(long = "end", value_enum, default_value_t = End::Shutdown)]
    pub(crate) finish: End,
}

/// The messages that are sent.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Load {
    /// Messages in total, dealt round robin over the streams
    #[arg(long, default_value_t = 100)]
    pub(crate) messages: u32,
    /// Octets per message
    #[arg(long, default_value_t = 100, value_parser = parse_bytes)]
    pub(crate) bytes: usize,
    /// Streams to ask for and to send on
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) streams: u16,
    /// Send messages unordered
    #[arg(long)]
    pub(crate) unordered: bool,
    /// Payload protocol identifier
    #[arg(long, default_value_t = 46)]
    pub(crate) ppid: u32,
    /// Give messages up: ttl:MILLISECONDS or rtx:RETRANSMISSIONS
    #[arg(long, value_parser = parse_reliability, default_value = "reliable")]
    pub(crate) pr: Reliability,
    /// Do not wait for echoes
    #[arg(long)]
    pub(crate) no_answers: bool,
    /// The message, from 1, that has a wrong last octet, to see that the other end notices; 0: none
    #[arg(long, default_value_t = 0)]
    pub(crate) spoil: u32,
}

/// The options of both roles.
#[derive(Debug, Args)]
pub(crate) struct EndOptions {
    /// SCTP port of the server
    #[arg(long, default_value = "5000", value_parser = parse_port)]
    pub(crate) port: SctpPort,
    /// IP address of this end, of several for a multi-homed one [default: all, of the peer's family if there is one]
    #[arg(long)]
    pub(crate) bind: Vec<IpAddr>,
    /// IP address to bind to as well, of which the peer is told only by `--do N:add-address=ADDRESS`
    #[arg(long)]
    pub(crate) spare: Vec<IpAddr>,
    /// The layer that carries the packets
    #[arg(long, value_enum, default_value_t = Carrier::Udp)]
    pub(crate) over: Carrier,
    /// UDP port of this end
    #[arg(long, default_value_t = 9899)]
    pub(crate) udp: u16,
    /// Messages may be missing, since the peer gives some up
    #[arg(long)]
    pub(crate) gaps: bool,
    #[command(flatten)]
    pub(crate) association: AssociationOptions,
    /// The end that is waited for with `--end wait`: how the peer must finish
    #[arg(long, value_enum, default_value_t = End::Shutdown)]
    pub(crate) expect: End,
    /// The reason an abort tells the peer
    #[arg(long, default_value = "interop")]
    pub(crate) reason: String,
    /// Restarts of the peer that must be seen
    #[arg(long, default_value_t = 0)]
    pub(crate) restarts: u32,
    /// Give up after this many seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// Stay for so long afterwards: a peer that missed SHUTDOWN COMPLETE asks for it again (RFC 9260 §8.4 (5))
    #[arg(long, default_value_t = 0)]
    pub(crate) linger_seconds: u64,
    /// The acts after N messages: reset-out, reset-in (streams; none: all), add-out, add-in (a number), add-address,
    /// remove-address, peer-primary (an address), run (a command); may be repeated
    #[arg(long = "do", value_name = "N:WHAT=ARGUMENT", value_parser = actions::parse)]
    pub(crate) actions: Vec<Action>,
    /// Write every packet to this file (pcapng)
    #[arg(long)]
    pub(crate) pcap: Option<PathBuf>,
}

/// The kind of association to be.
#[derive(Debug, Args)]
pub(crate) struct AssociationOptions {
    /// Extensions to offer, with commas between them; `none` for none [default: the profile's]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) offer: Option<Vec<Extension>>,
    /// Types of chunks that the peer must authenticate, with commas between them
    #[arg(long, value_delimiter = ',')]
    pub(crate) auth: Vec<u8>,
    /// A shared key, ID=TEXT, used from the beginning on
    #[arg(long, value_parser = parse_key)]
    pub(crate) key: Option<(u16, String)>,
    /// Protocol parameters to start from: signalling, rfc9260 or studies
    #[arg(long, default_value_t)]
    pub(crate) profile: Profile,
    /// How often INIT and COOKIE ECHO are repeated [default: the profile's 8, four minutes]
    #[arg(long)]
    pub(crate) attempts: Option<u32>,
    /// The rule for the stream that sends next
    #[arg(long, value_enum, default_value_t = Scheduler::FirstCome)]
    pub(crate) scheduler: Scheduler,
}

impl AssociationOptions {
    /// Returns the parameters of an association that sends on `streams`.
    pub(crate) fn config(&self, streams: u16) -> AssociationConfig {
        let mut config = AssociationConfig::profile(self.profile);
        config.streams.outbound = streams;
        if let Some(list) = &self.offer {
            config.extensions = offered(list);
        }
        config.authentication.chunks = self.auth.iter().map(|chunk| ChunkType::new(*chunk)).collect();
        if let Some((id, secret)) = &self.key {
            config.authentication.keys = AuthKeys::new(SharedKeyId::new(*id), secret.clone());
        }
        config.transmission.scheduler = self.scheduler.into();
        config.attempts.init = self.attempts.unwrap_or(config.attempts.init);
        config
    }
}

impl EndOptions {
    /// Returns where to bind: as told, or all addresses that can talk to `peer`.
    pub(crate) fn addresses(&self, peer: Option<IpAddr>) -> Vec<IpAddr> {
        if !self.bind.is_empty() {
            return self.bind.clone();
        }
        // There is no raw socket for both versions of IP.
        vec![match (peer, self.over) {
            (Some(IpAddr::V4(_)), _) | (None, Carrier::Ip) => Ipv4Addr::UNSPECIFIED.into(),
            (Some(IpAddr::V6(_)), _) | (None, Carrier::Udp | Carrier::Channel) => {
                Ipv6Addr::UNSPECIFIED.into()
            }
        }]
    }

    /// Returns the peer at `address`, whose UDP port is `encap` if there is UDP.
    pub(crate) fn destination(&self, address: IpAddr, encap: u16) -> Destination {
        match self.over {
            Carrier::Udp => sctp::udp(SocketAddr::new(address, encap)),
            Carrier::Ip => sctp::ip(address),
            Carrier::Channel => DatagramChannel::PEER,
        }
    }
}

/// The layer that carries the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Carrier {
    /// UDP (RFC 6951).
    Udp,
    /// IP itself, protocol 132.
    Ip,
    /// The datagrams of a UDP socket as a channel without addresses, as over DTLS (RFC 8261); one association.
    Channel,
}

/// The rule for the stream that sends next (RFC 8260 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheduler {
    FirstCome,
    RoundRobin,
    RoundRobinPacket,
    Priority,
    Fair,
    Weighted,
}

impl From<Scheduler> for StreamScheduler {
    fn from(scheduler: Scheduler) -> Self {
        match scheduler {
            Scheduler::FirstCome => Self::FirstComeFirstServed,
            Scheduler::RoundRobin => Self::RoundRobin,
            Scheduler::RoundRobinPacket => Self::RoundRobinPerPacket,
            Scheduler::Priority => Self::Priority,
            Scheduler::Fair => Self::FairCapacity,
            Scheduler::Weighted => Self::WeightedFair,
        }
    }
}

/// An extension to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extension {
    /// Nothing but RFC 9260.
    None,
    /// Partial reliability, RFC 3758.
    Pr,
    /// I-DATA, RFC 8260.
    Interleaving,
    /// Stream reconfiguration, RFC 6525.
    Reconfig,
    /// Authenticated chunks, RFC 4895.
    Auth,
    /// Addresses that come and go, RFC 5061; with `auth`.
    Asconf,
    /// Packets without checksum, RFC 9653.
    ZeroChecksum,
}

fn offered(list: &[Extension]) -> Extensions {
    let is = |extension| if list.contains(&extension) { Offer::On } else { Offer::Off };
    let mut offered = Extensions::NONE;
    offered.partial_reliability = is(Extension::Pr);
    offered.interleaving = is(Extension::Interleaving);
    offered.reconfiguration = is(Extension::Reconfig);
    offered.dynamic_addresses = is(Extension::Asconf);
    offered.authentication = is(Extension::Auth);
    offered.zero_checksum = is(Extension::ZeroChecksum);
    offered
}

/// The use that a server has for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Send each back.
    Echo,
    /// Compare the content with what is due.
    Verify,
    /// Do both of them.
    Both,
}

/// How an end finishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// Leave it to the other end.
    Wait,
    /// End it gracefully.
    Shutdown,
    /// End it at once, telling the peer.
    Abort,
    /// Leave the program without a packet, as after a crash.
    Vanish,
}

/// Checks that a message has at least one octet and fits into the default limits of the stack.
fn parse_bytes(text: &str) -> Result<usize, String> {
    let most = AssociationConfig::default().buffers.message_bytes;
    let bytes = text.parse().map_err(|error| format!("{error}"))?;
    if (1..=most).contains(&bytes) { Ok(bytes) } else { Err(format!("must be from 1 to {most}")) }
}

fn parse_port(text: &str) -> Result<SctpPort, String> {
    let port = text.parse::<u16>().map_err(|error| error.to_string())?;
    SctpPort::try_from(port).map_err(|error| error.to_string())
}

fn parse_key(text: &str) -> Result<(u16, String), String> {
    let (id, secret) = text.split_once('=').ok_or("must be ID=TEXT")?;
    Ok((id.parse().map_err(|error| format!("{error}"))?, secret.to_owned()))
}

fn parse_reliability(text: &str) -> Result<Reliability, String> {
    let number = |value: &str| value.parse::<u32>().map_err(|error| error.to_string());
    match text.split_once(':') {
        None if text == "reliable" => Ok(Reliability::Reliable),
        Some(("ttl", value)) => Ok(Reliability::Lifetime(Duration::from_millis(number(value)?.into()))),
        Some(("rtx", value)) => Ok(Reliability::Retransmissions(number(value)?)),
        Some(_) | None => Err("must be ttl:N or rtx:N".to_owned()),
    }
}
