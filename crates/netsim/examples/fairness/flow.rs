//! One end of a bulk flow, SCTP or TCP, as a host of the simulator sees it: packets in, packets out, a timer.

use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Destination, Ecn, Encapsulation, Endpoint, EndpointConfig,
    Event, InitialWindow, LeastWindow, Message, MessageBundling, Pacing, Profile, RedundancyConfig, SctpPort,
    StreamId,
};
use std::net::IpAddr;
use std::time::Duration;
use tcp_core::{
    Connection, Reduction, Segment, SegmentRules, TcpConfig, Timestamps, WindowRules, WindowUnit,
};
use virtual_time::Instant;

use netsim::Protocol;

/// An end: it sends without pause, or it reads all that comes.
pub(crate) struct End {
    pub(crate) address: IpAddr,
    pub(crate) peer: IpAddr,
    /// Octets of user data received.
    pub(crate) received_bytes: u64,
    /// When it opens the flow; `None` for the end that waits.
    pub(crate) opens_at: Option<Instant>,
    pub(crate) stack: Stack,
}

/// Both are of the same size in memory, about.
pub(crate) enum Stack {
    Sctp(Box<Sctp>),
    Tcp(Box<Tcp>),
}

pub(crate) struct Sctp {
    pub(crate) endpoint: Endpoint,
    port: SctpPort,
    config: AssociationConfig,
    pub(crate) id: Option<AssociationId>,
    is_sender: bool,
    message_bytes: usize,
    thin: Option<Thin>,
}

/// Short messages now and then, which say when they were sent.
#[derive(Default)]
pub(crate) struct Thin {
    /// When the next one is sent, once there is an association.
    next_at: Option<Instant>,
    /// How long each one took that has arrived.
    waits: Vec<Duration>,
}

pub(crate) struct Tcp {
    config: TcpConfig,
    pub(crate) connection: Option<Connection>,
    initial_sequence: u32,
    is_sender: bool,
}

/// What the two protocols have in common, as far as it shall be equal.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) algorithm: Algorithm,
    pub(crate) messages: Messages,
    /// The window that SCTP begins with, and the one that a loss leaves it at least.
    pub(crate) initial_window: InitialWindow,
    pub(crate) least_window: LeastWindow,
    /// Octets of an IP packet.
    pub(crate) mtu_bytes: u16,
    /// What each receiver offers.
    pub(crate) window_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// RFC 9260 beside RFC 5681.
    Halving,
    /// RFC 9438 in both, counted and computed alike.
    Cubic,
    /// The same beside a TCP with all the parameters and the arithmetic of Linux.
    Linux,
    /// Westwood+ beside RFC 9438.
    Westwood,
    /// BBRv3 beside RFC 9438.
    Bbr,
    /// BBRv3 in both.
    BbrAlike,
}

/// What SCTP is given to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Messages {
    /// Messages that fill a packet each.
    OfOnePacket,
    /// 1200 octets, cut where a packet ends while the congestion window is the limit.
    Of1200,
    /// 1200 octets, never cut: a sixth of each packet stays empty.
    Of1200Whole,
    /// 1200 octets, always cut where a packet ends.
    Of1200Filled,
    /// 100 octets.
    Of100,
    /// The same, and what is not acknowledged goes once more where packets have room.
    Of100Redundant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sctp,
    Tcp,
    /// SCTP as it ships, with twenty short messages a second.
    Thin,
}

impl Terms {
    fn sctp(&self) -> AssociationConfig {
        let mut config = AssociationConfig::profile(Profile::Signalling);
        config.path_mtu.bytes = usize::from(self.mtu_bytes);
        config.buffers.receive_bytes = self.window_bytes;
        config.buffers.send_bytes = 2 * self.window_bytes;
        config.congestion.algorithm = match self.algorithm {
            Algorithm::Halving => sctp_core::CongestionAlgorithm::Rfc9260,
            Algorithm::Cubic | Algorithm::Linux => sctp_core::CongestionAlgorithm::Cubic,
            Algorithm::Westwood => sctp_core::CongestionAlgorithm::Westwood,
            Algorithm::Bbr | Algorithm::BbrAlike => sctp_core::CongestionAlgorithm::Bbr,
        };
        if self.algorithm == Algorithm::Halving {
            config.congestion.pacing = Pacing::Off;
        }
        config.congestion.initial_window = self.initial_window;
        config.congestion.least_window = self.least_window;
        config.transmission.bundling = match self.messages {
            Messages::OfOnePacket | Messages::Of1200 | Messages::Of100 | Messages::Of100Redundant => {
                config.transmission.bundling
            }
            Messages::Of1200Whole => MessageBundling::On,
            Messages::Of1200Filled => MessageBundling::Filled,
        };
        if self.messages == Messages::Of100Redundant {
            config.recovery.redundancy = Some(RedundancyConfig::default());
        }
        config
    }

    fn tcp(&self) -> TcpConfig {
        let linux = TcpConfig {
            mss: self.mtu_bytes - IP_AND_TCP_BYTES,
            receive_bytes: self.window_bytes,
            send_bytes: 2 * self.window_bytes,
            ..TcpConfig::default()
        };
        let congestion = match self.algorithm {
            Algorithm::Linux => return linux,
            Algorithm::Halving => tcp_core::CongestionAlgorithm::NewReno,
            Algorithm::BbrAlike => tcp_core::CongestionAlgorithm::Bbr,
            Algorithm::Cubic | Algorithm::Westwood | Algorithm::Bbr => tcp_core::CongestionAlgorithm::Cubic,
        };
        TcpConfig {
            congestion,
            // Both count octets and find losses by their own means; neither carries timestamps.
            window: WindowRules { unit: WindowUnit::Octets, reduction: Reduction::OfFlight, ..linux.window },
            segments: SegmentRules { timestamps: Timestamps::Off, ..linux.segments },
            ..linux
        }
    }

    fn message_bytes(&self) -> usize {
        match self.messages {
            Messages::OfOnePacket => usize::from(self.mtu_bytes) - IP_AND_SCTP_BYTES,
            Messages::Of1200 | Messages::Of1200Whole | Messages::Of1200Filled => 1200,
            Messages::Of100 | Messages::Of100Redundant => 100,
        }
    }
}

impl End {
    pub(crate) fn new(
        kind: Kind,
        terms: &Terms,
        addresses: [IpAddr; 2],
        opens_at: Option<Instant>,
        seed: u64,
    ) -> Self {
        let is_sender = opens_at.is_some();
        let stack = match kind {
            Kind::Sctp | Kind::Thin => {
                let mut entropy = [0; 32];
                entropy[..8].copy_from_slice(&seed.to_le_bytes());
                let port = SctpPort::try_from(7626).unwrap();
                let mut config = terms.sctp();
                let thin = (kind == Kind::Thin).then(|| {
                    config.congestion.algorithm = sctp_core::CongestionAlgorithm::Cubic;
                    Thin::default()
                });
                let mut of_endpoint = EndpointConfig::new(port);
                of_endpoint.association = config.clone();
                let endpoint = Endpoint::new(of_endpoint, entropy).unwrap();
                let message_bytes = terms.message_bytes();
                Stack::Sctp(Box::new(Sctp {
                    endpoint,
                    port,
                    config,
                    id: None,
                    is_sender,
                    message_bytes,
                    thin,
                }))
            }
            Kind::Tcp => {
                let initial_sequence = u32::try_from(seed >> 32).unwrap();
                Stack::Tcp(Box::new(Tcp {
                    config: terms.tcp(),
                    connection: None,
                    initial_sequence,
                    is_sender,
                }))
            }
        };
        let [address, peer] = addresses;
        Self { address, peer, received_bytes: 0, opens_at, stack }
    }

    pub(crate) fn protocol(&self) -> Protocol {
        match self.stack {
            Stack::Sctp(_) => Protocol::Sctp,
            Stack::Tcp(_) => Protocol::Tcp,
        }
    }

    /// How often the retransmission timer expired.
    pub(crate) fn timeouts(&self) -> u64 {
        match &self.stack {
            Stack::Sctp(sctp) => {
                let association = sctp.id.and_then(|id| sctp.endpoint.association(id));
                association.map_or(0, |association| association.statistics().paths[0].counters.timeouts)
            }
            Stack::Tcp(tcp) => {
                tcp.connection.as_ref().map_or(0, |connection| connection.statistics().sender.timeouts)
            }
        }
    }

    /// How long each message took of a thin flow that has arrived here.
    pub(crate) fn waits(&self) -> &[Duration] {
        match &self.stack {
            Stack::Sctp(sctp) => sctp.thin.as_ref().map_or(&[], |thin| &thin.waits),
            Stack::Tcp(_) => &[],
        }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, octets: &[u8]) {
        match &mut self.stack {
            Stack::Sctp(sctp) => {
                let source = Destination { address: self.peer, encapsulation: Encapsulation::Ip };
                let local = Some(self.address);
                let datagram = Datagram { source, local, ecn: Ecn::NotEct, payload: octets };
                sctp.endpoint.handle_packet(now, datagram);
            }
            Stack::Tcp(tcp) => match &mut tcp.connection {
                Some(connection) => connection.handle_packet(now, octets),
                None => {
                    let syn = Segment::decode(octets).unwrap();
                    tcp.connection = Connection::accept(tcp.config, &syn, tcp.initial_sequence);
                }
            },
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.opens_at.is_some_and(|at| at <= now) {
            self.opens_at = None;
            self.open(now);
        }
        match &mut self.stack {
            Stack::Sctp(sctp) => {
                sctp.endpoint.handle_timeout(now);
                sctp.say_if_due(now);
            }
            Stack::Tcp(tcp) => {
                if let Some(connection) = &mut tcp.connection {
                    connection.handle_timeout(now);
                }
            }
        }
    }

    fn open(&mut self, now: Instant) {
        match &mut self.stack {
            Stack::Sctp(sctp) => {
                let to = Destination { address: self.peer, encapsulation: Encapsulation::Ip };
                sctp.endpoint.connect(now, &[to], sctp.port, sctp.config.clone()).unwrap();
            }
            Stack::Tcp(tcp) => {
                tcp.connection = Some(Connection::connect(tcp.config, 5001, 5001, tcp.initial_sequence));
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let of_stack = match &self.stack {
            Stack::Sctp(sctp) => sctp.endpoint.poll_timeout(),
            Stack::Tcp(tcp) => tcp.connection.as_ref().and_then(Connection::poll_timeout),
        };
        let thin = match &self.stack {
            Stack::Sctp(sctp) => sctp.thin.as_ref().and_then(|thin| thin.next_at),
            Stack::Tcp(_) => None,
        };
        [of_stack, self.opens_at, thin].into_iter().flatten().min()
    }

    /// Lets the application read and write, then takes a packet out.
    pub(crate) fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<usize> {
        match &mut self.stack {
            Stack::Sctp(sctp) => loop {
                let is_anything_told = sctp.serve(now, &mut self.received_bytes);
                if let Some(transmit) = sctp.endpoint.poll_transmit(now, buffer) {
                    return Some(transmit.len);
                }
                if !is_anything_told {
                    return None;
                }
            },
            Stack::Tcp(tcp) => {
                tcp.serve(&mut self.received_bytes);
                tcp.connection.as_mut()?.poll_transmit(now, buffer)
            }
        }
    }
}

impl Sctp {
    /// Handles all events; false if there was none.
    fn serve(&mut self, now: Instant, received_bytes: &mut u64) -> bool {
        let mut is_anything_told = false;
        while let Some((id, event)) = self.endpoint.poll_event() {
            is_anything_told = true;
            self.id = Some(id);
            let has_ended = matches!(event, Event::CommunicationLost(_) | Event::CannotStart(_));
            assert!(!has_ended, "the flow ended: {event:?}");
            let may_write = matches!(event, Event::CommunicationUp { .. } | Event::SendBufferAvailable);
            if may_write && self.is_sender {
                match &mut self.thin {
                    Some(thin) => thin.next_at = thin.next_at.or(Some(now)),
                    None => self.fill(now, id),
                }
            }
            if event == Event::MessageReady {
                while let Some(received) = self.endpoint.receive(now, id) {
                    let payload = received.message.payload;
                    *received_bytes += u64::try_from(payload.len()).unwrap();
                    if let Some(thin) = &mut self.thin {
                        let said_at = u64::from_be_bytes(payload[..8].try_into().unwrap());
                        thin.waits.push(Duration::from_nanos(now.as_nanos() - said_at));
                    }
                }
            }
        }
        is_anything_told
    }

    /// Sends the message of a thin flow whose time has come.
    fn say_if_due(&mut self, now: Instant) {
        let (Some(thin), Some(id)) = (&mut self.thin, self.id) else { return };
        let Some(at) = thin.next_at.filter(|at| *at <= now) else { return };
        thin.next_at = Some(at + BETWEEN_SHORT_ONES);
        let mut payload = bytes_of(SHORT_BYTES);
        payload[..8].copy_from_slice(&now.as_nanos().to_be_bytes());
        self.endpoint.send(now, id, Message::ordered(StreamId::new(0), payload)).unwrap();
    }

    /// Writes messages until there is no room.
    fn fill(&mut self, now: Instant, id: AssociationId) {
        let payload = bytes_of(self.message_bytes);
        while self.endpoint.send(now, id, Message::ordered(StreamId::new(0), payload.clone())).is_ok() {}
    }
}

fn bytes_of(len: usize) -> Vec<u8> {
    vec![0; len]
}

impl Tcp {
    fn serve(&mut self, received_bytes: &mut u64) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(event) = connection.poll_event() {
            assert!(
                !matches!(event, tcp_core::Event::Reset | tcp_core::Event::TimedOut),
                "the flow ended: {event:?}"
            );
        }
        if self.is_sender {
            while connection.write(&[0; 16_384]) > 0 {}
        } else {
            let mut data = Vec::new();
            connection.read(&mut data);
            *received_bytes += u64::try_from(data.len()).unwrap();
        }
    }
}

const SHORT_BYTES: usize = 100;
const BETWEEN_SHORT_ONES: Duration = Duration::from_millis(50);
const IP_AND_TCP_BYTES: u16 = 20 + 20;
/// Common header and the header of one DATA chunk.
const IP_AND_SCTP_BYTES: usize = 20 + 12 + 16;
