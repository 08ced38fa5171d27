//! Packets of an endpoint as a pcapng file, IP and UDP headers made up.
//!
//! The socket takes and gives SCTP packets; Wireshark wants what was on the wire. What the kernel put around the
//! packets is rebuilt from what is known: addresses, ports, ECN. Hop limits are invented.

mod headers;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};
use sctp_core::{Datagram, Dscp, Encapsulation, Fragmentation};
use sctp_io::Outgoing;
use virtual_time::Instant;

use self::headers::{Headers, Transport};

/// An open capture file. After the first failed write it writes no more.
pub(crate) struct Capture {
    writer: Option<PcapNgWriter<BufWriter<File>>>,
    /// The error with which the system refused more; nothing is written any more.
    failure: Option<io::Error>,
    /// Local addresses the kernel chooses, by peer.
    sources: BTreeMap<IpAddr, IpAddr>,
    packet: Vec<u8>,
}

impl Capture {
    /// Creates or overwrites `path`. Times are those of the driver, whose clock counts from 1970.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(BufWriter::new(File::create(path)?)).map_err(into_io)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)],
        };
        writer.write_pcapng_block(interface).map_err(into_io)?;
        writer.get_mut().flush()?;
        Ok(Self { writer: Some(writer), failure: None, sources: BTreeMap::new(), packet: Vec::new() })
    }

    /// A packet that came in on a socket bound to `bound`.
    pub(crate) fn received(&mut self, now: Instant, bound: SocketAddr, datagram: &Datagram<'_>) {
        let peer = datagram.source.address;
        let headers = Headers {
            source: peer,
            destination: datagram.local.unwrap_or_else(|| self.local_address(bound, peer)),
            transport: match datagram.source.encapsulation {
                // No socket carries a channel of the caller's; were it shown, then as plain SCTP.
                Encapsulation::Ip | Encapsulation::Datagrams => Transport::Sctp,
                Encapsulation::Udp { port } => Transport::Udp { source: port, destination: bound.port() },
            },
            dscp: Dscp::CS0,
            ecn: datagram.ecn,
            fragmentation: Fragmentation::Forbidden,
        };
        self.write(now, headers, datagram.payload, INBOUND);
    }

    /// Packets that go out through a socket bound to `bound`.
    pub(crate) fn sent(&mut self, now: Instant, bound: SocketAddr, packets: &Outgoing<'_>) {
        let peer = packets.destination.address;
        let headers = Headers {
            source: packets.source.unwrap_or_else(|| self.local_address(bound, peer)),
            destination: peer,
            transport: match packets.destination.encapsulation {
                // No socket carries a channel of the caller's; were it shown, then as plain SCTP.
                Encapsulation::Ip | Encapsulation::Datagrams => Transport::Sctp,
                Encapsulation::Udp { port } => Transport::Udp { source: bound.port(), destination: port },
            },
            dscp: packets.dscp,
            ecn: packets.ecn,
            fragmentation: packets.fragmentation,
        };
        let segment = packets.segment_bytes.unwrap_or(packets.contents.len()).max(1);
        for packet in packets.contents.chunks(segment) {
            self.write(now, headers, packet, OUTBOUND);
        }
    }

    /// Hands what was written to the system, so that a killed process loses nothing.
    pub(crate) fn flush(&mut self) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.get_mut().flush()
        {
            self.end(error);
        }
    }

    /// Returns why the file is not complete, if it is not.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.as_ref().map(io::Error::to_string)
    }

    fn end(&mut self, failure: io::Error) {
        (self.writer, self.failure) = (None, Some(failure));
    }

    fn write(&mut self, now: Instant, headers: Headers, payload: &[u8], direction: u32) {
        let Some(writer) = &mut self.writer else { return };
        self.packet.clear();
        headers.write(payload, &mut self.packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: now.since(Instant::EPOCH),
            original_len: u32::try_from(self.packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&self.packet),
            options: vec![EnhancedPacketOption::Flags(direction)],
        };
        if let Err(error) = writer.write_pcapng_block(block) {
            self.end(into_io(error));
        }
    }

    /// Returns the local address of packets to and from `peer` where the socket does not say: what it is bound
    /// to, or what the routing table chooses.
    fn local_address(&mut self, bound: SocketAddr, peer: IpAddr) -> IpAddr {
        if !bound.ip().is_unspecified() {
            return bound.ip();
        }
        *self.sources.entry(peer).or_insert_with(|| routed_source(peer).unwrap_or(bound.ip()))
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("is_open", &self.writer.is_some()).finish_non_exhaustive()
    }
}

/// Asks the routing table by connecting a socket that sends nothing.
fn routed_source(peer: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((peer, 9))?;
    Ok(socket.local_addr()?.ip())
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        PcapError::IncompleteBuffer
        | PcapError::InvalidField(_)
        | PcapError::Utf8Error(_)
        | PcapError::FromUtf8Error(_)
        | PcapError::InvalidInterfaceId(_) => io::Error::other(error),
    }
}

/// `if_tsresol`: timestamps are multiples of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// `epb_flags`: direction of a packet.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

#[cfg(test)]
mod tests;
