//! IP fragmentation: a host whose packets are cut to its link's MTU, and put together again at the other end.
//!
//! One lost fragment loses the whole packet: of a datagram in n fragments arrive (1 − p)ⁿ, the loss amplification that
//! study S2 holds against UDP. What this owns: cutting, collecting, the collector's timer. What not: routers that cut (the
//! host has to know the least MTU of the path), and path MTU discovery.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use virtual_time::Instant;

use crate::checksum::{finish, sum};
use crate::host::{Host, Outgoing, Packet, Protocol};

/// A host below which packets are cut and put together (RFC 791 §3.2, RFC 8200 §4.5).
///
/// ```
/// use netsim::{Fragmenting, tcp::{Application, TcpHost}};
/// # use netsim::tcp::{ConnectionId, Connections};
/// # struct Quiet;
/// # impl Application for Quiet {
/// #     fn on_event(&mut self, _: virtual_time::Instant, _: &mut Connections, _: ConnectionId, _: tcp_core::Event) {}
/// # }
/// let host = TcpHost::new([10, 0, 0, 1].into(), tcp_core::TcpConfig::default(), 1, Quiet);
/// let host = Fragmenting::new(host, 576);
/// assert_eq!(host.counters().fragments_sent, 0);
/// ```
#[derive(Debug)]
pub struct Fragmenting<H> {
    /// The host, whose packets are cut and put together.
    pub host: H,
    mtu_bytes: usize,
    identification: u32,
    /// Fragments that were cut and not sent yet.
    cut: VecDeque<(Outgoing, Vec<u8>)>,
    partial: BTreeMap<(IpAddr, IpAddr, u32), Partial>,
    counters: FragmentCounters,
}

/// Counters of packets that were cut and put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentCounters {
    /// Packets that did not fit.
    pub packets_cut: u64,
    /// Packets that did not fit, and were dropped because they may not be cut.
    pub packets_dropped: u64,
    /// The number of fragments they were cut into.
    pub fragments_sent: u64,
    /// The number of packets put together from fragments.
    pub reassembled: u64,
    /// Packets of which a fragment was missing when the time was over.
    pub timed_out: u64,
    /// Packets whose UDP checksum was wrong when they were whole.
    pub damaged: u64,
}

/// Fragments of one packet.
#[derive(Debug)]
struct Partial {
    gives_up_at: Instant,
    fragments: BTreeMap<u16, Vec<u8>>,
    /// Known once the last fragment is there.
    total: Option<usize>,
}

impl<H> Fragmenting<H> {
    /// Creates a host whose packets of more than `mtu_bytes` octets, IP header included, are cut. At least 68
    /// octets (RFC 791 §3.2).
    #[must_use]
    pub fn new(host: H, mtu_bytes: usize) -> Self {
        Self {
            host,
            mtu_bytes: mtu_bytes.max(LEAST_MTU_BYTES),
            identification: 0,
            cut: VecDeque::new(),
            partial: BTreeMap::new(),
            counters: FragmentCounters::default(),
        }
    }

    /// Changes what the link carries, in octets with the IP header, from the next packet on. At least 68.
    pub fn set_mtu_bytes(&mut self, mtu_bytes: usize) {
        self.mtu_bytes = mtu_bytes.max(LEAST_MTU_BYTES);
    }

    /// Returns the counters of everything so far.
    #[must_use]
    pub const fn counters(&self) -> &FragmentCounters {
        &self.counters
    }

    /// Cuts one packet, whose payload is `payload`.
    fn cut(&mut self, outgoing: &Outgoing, payload: &[u8]) {
        let protocol = number(outgoing.protocol);
        let mut whole = udp_header(outgoing, payload).map_or_else(Vec::new, Vec::from);
        whole.extend_from_slice(payload);
        let identification = self.identification;
        self.identification = identification.wrapping_add(1);
        let fragment = |offset, has_more| Protocol::Fragment { protocol, identification, offset, has_more };
        let overhead = fragment(0, true).overhead_bytes(outgoing.destination);
        // All but the last carry a multiple of eight octets.
        let step = (self.mtu_bytes.saturating_sub(overhead) & !7).max(8);
        let count = whole.len().div_ceil(step);
        for (index, part) in whole.chunks(step).enumerate() {
            let offset = u16::try_from(index * step).unwrap_or(u16::MAX);
            let protocol = fragment(offset, index + 1 < count);
            let len = part.len();
            self.cut.push_back((Outgoing { protocol, len, segment_bytes: None, ..*outgoing }, part.to_vec()));
        }
        self.counters.packets_cut += 1;
    }

    /// Keeps a fragment; gives the payload of the packet if it is whole now.
    fn collect(&mut self, now: Instant, packet: &Packet<'_>, fragment: Fragment) -> Option<Vec<u8>> {
        let key = (packet.source, packet.destination, fragment.identification);
        let patience = if packet.source.is_ipv4() { PATIENCE_V4 } else { PATIENCE_V6 };
        let partial = self.partial.entry(key).or_insert_with(|| Partial {
            gives_up_at: now + patience,
            fragments: BTreeMap::new(),
            total: None,
        });
        if !fragment.has_more {
            partial.total = Some(usize::from(fragment.offset) + packet.payload.len());
        }
        partial.fragments.insert(fragment.offset, packet.payload.to_vec());
        let have: usize = partial.fragments.values().map(Vec::len).sum();
        if partial.total != Some(have) {
            return None;
        }
        let partial = self.partial.remove(&key)?;
        self.counters.reassembled += 1;
        Some(partial.fragments.into_values().flatten().collect())
    }

    fn give_up(&mut self, now: Instant) {
        let before = self.partial.len();
        self.partial.retain(|_, partial| partial.gives_up_at > now);
        self.counters.timed_out += u64::try_from(before - self.partial.len()).unwrap_or(0);
    }
}

#[derive(Clone, Copy, Debug)]
struct Fragment {
    identification: u32,
    offset: u16,
    has_more: bool,
}

impl<H: Host> Fragmenting<H> {
    /// Hands a whole packet up, if its checksum is right.
    fn deliver(&mut self, now: Instant, packet: Packet<'_>, protocol: u8, whole: &[u8]) {
        let (protocol, payload) = match (protocol, whole.split_first_chunk::<UDP_HEADER_BYTES>()) {
            (UDP, Some((header, payload))) => {
                if header[6..8] != [0, 0] && checksum(packet.source, packet.destination, whole) != 0 {
                    self.counters.damaged += 1;
                    return;
                }
                let source_port = u16::from_be_bytes([header[0], header[1]]);
                let destination_port = u16::from_be_bytes([header[2], header[3]]);
                (Protocol::Udp { source_port, destination_port }, payload)
            }
            (TCP, _) => (Protocol::Tcp, whole),
            _ => (Protocol::Sctp, whole),
        };
        self.host.handle_packet(now, Packet { protocol, payload, ..packet });
    }
}

impl<H: Host> Host for Fragmenting<H> {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Protocol::Fragment { protocol, identification, offset, has_more } = packet.protocol else {
            return self.host.handle_packet(now, packet);
        };
        if let Some(whole) = self.collect(now, &packet, Fragment { identification, offset, has_more }) {
            self.deliver(now, packet, protocol, &whole);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.partial.is_empty() {
            return self.host.handle_timeout(now);
        }
        self.give_up(now);
        if self.host.poll_timeout().is_some_and(|due| due <= now) {
            self.host.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        while self.cut.is_empty() {
            let before = buffer.len();
            let outgoing = self.host.poll_transmit(now, buffer)?;
            let longest =
                outgoing.segment_bytes.filter(|bytes| *bytes > 0).unwrap_or(outgoing.len).min(outgoing.len);
            if longest + outgoing.protocol.overhead_bytes(outgoing.destination) <= self.mtu_bytes {
                return Some(outgoing);
            }
            let whole = buffer.split_off(before);
            for packet in whole.chunks(longest.max(1)) {
                // What may not be cut vanishes, and nobody is told: a black hole (RFC 2923 §2.1).
                if self.host.allows_fragments() {
                    self.cut(&outgoing, packet);
                } else {
                    self.counters.packets_dropped += 1;
                }
            }
        }
        let (outgoing, part) = self.cut.pop_front()?;
        self.counters.fragments_sent += 1;
        buffer.extend_from_slice(&part);
        Some(outgoing)
    }

    fn allows_fragments(&self) -> bool {
        self.host.allows_fragments()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let below = self.host.poll_timeout();
        if self.partial.is_empty() {
            return below;
        }
        let own = self.partial.values().map(|partial| partial.gives_up_at).min();
        own.into_iter().chain(below).min()
    }
}

/// Returns the UDP header of a datagram, which only its first fragment has; `None` for what has none. Without a
/// source address, which the pseudo-header wants, there is no checksum (RFC 768).
fn udp_header(outgoing: &Outgoing, payload: &[u8]) -> Option<[u8; UDP_HEADER_BYTES]> {
    let Protocol::Udp { source_port, destination_port } = outgoing.protocol else { return None };
    let length = u16::try_from(UDP_HEADER_BYTES + payload.len()).unwrap_or(u16::MAX);
    let mut header = [0; UDP_HEADER_BYTES];
    header[0..2].copy_from_slice(&source_port.to_be_bytes());
    header[2..4].copy_from_slice(&destination_port.to_be_bytes());
    header[4..6].copy_from_slice(&length.to_be_bytes());
    if let Some(source) = outgoing.source {
        let total =
            sum(pseudo_header(source, outgoing.destination, UDP_HEADER_BYTES + payload.len()), &header);
        let checksum = match finish(sum(total, payload)) {
            0 => u16::MAX,
            checksum => checksum,
        };
        header[6..8].copy_from_slice(&checksum.to_be_bytes());
    }
    Some(header)
}

/// Returns the UDP checksum of a datagram; zero over one that carries the right one.
fn checksum(source: IpAddr, destination: IpAddr, datagram: &[u8]) -> u16 {
    finish(sum(pseudo_header(source, destination, datagram.len()), datagram))
}

fn pseudo_header(source: IpAddr, destination: IpAddr, bytes: usize) -> u64 {
    let length = u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes();
    [source, destination].iter().fold(sum(sum(0, &[0, UDP]), &length), |total, address| match address {
        IpAddr::V4(address) => sum(total, &address.octets()),
        IpAddr::V6(address) => sum(total, &address.octets()),
    })
}

/// Returns the number that IANA has assigned to a protocol over IP.
const fn number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Tcp => TCP,
        Protocol::Udp { .. } => UDP,
        Protocol::Sctp => 132,
        Protocol::Fragment { protocol, .. } => protocol,
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER_BYTES: usize = 8;
const LEAST_MTU_BYTES: usize = 68;
/// The time Linux waits for the rest of a packet over IPv4 (RFC 791 §3.2 has 15 s, RFC 1122 §3.3.2 60 s and
/// more).
const PATIENCE_V4: Duration = Duration::from_secs(30);
/// The time to wait for the rest of a packet over IPv6 (RFC 8200 §4.5).
const PATIENCE_V6: Duration = Duration::from_secs(60);
