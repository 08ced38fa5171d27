//! IP and UDP headers for captures; on simulated links they are not written out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::frames::Frame;
use crate::host::Protocol;

/// Appends the packet as it would be on a real wire. `payload` is the frame's, or a damaged version of it: the
/// checksum is then that of the frame and wrong for the payload.
pub(super) fn write(packet: &mut Vec<u8>, frame: &Frame, payload: &[u8]) {
    let transport_bytes = frame.wire_bytes() - Protocol::Sctp.overhead_bytes(frame.destination);
    match (frame.source, frame.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            write_ipv4(packet, source, destination, frame.protocol, transport_bytes);
        }
        (source, destination) => {
            write_ipv6(packet, to_v6(source), to_v6(destination), frame.protocol, transport_bytes);
        }
    }
    if let Protocol::Udp { source_port, destination_port } = frame.protocol {
        let mut header = [0; 8];
        header[0..2].copy_from_slice(&source_port.to_be_bytes());
        header[2..4].copy_from_slice(&destination_port.to_be_bytes());
        header[4..6].copy_from_slice(&length_field(transport_bytes));
        let checksum = udp_checksum(frame, &header, transport_bytes);
        header[6..8].copy_from_slice(&checksum.to_be_bytes());
        packet.extend_from_slice(&header);
    }
    packet.extend_from_slice(payload);
}

/// RFC 791 §3.1: no options, Don't Fragment, time to live 64.
fn write_ipv4(
    packet: &mut Vec<u8>,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: Protocol,
    transport_bytes: usize,
) {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&length_field(20 + transport_bytes));
    header[6] = 0x40;
    header[8] = HOP_LIMIT;
    header[9] = protocol_number(protocol);
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let checksum = finish(sum(0, &header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend_from_slice(&header);
}

/// RFC 8200 §3.
fn write_ipv6(
    packet: &mut Vec<u8>,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: Protocol,
    transport_bytes: usize,
) {
    packet.extend_from_slice(&[0x60, 0, 0, 0]);
    packet.extend_from_slice(&length_field(transport_bytes));
    packet.extend_from_slice(&[protocol_number(protocol), HOP_LIMIT]);
    packet.extend_from_slice(&source.octets());
    packet.extend_from_slice(&destination.octets());
}

/// RFC 768 and RFC 8200 §8.1, over the pseudo header, the UDP header and the payload; zero is sent as all ones.
fn udp_checksum(frame: &Frame, header: &[u8; 8], transport_bytes: usize) -> u16 {
    let mut total = sum(0, &[0, protocol_number(frame.protocol)]);
    for address in [frame.source, frame.destination] {
        total = match address {
            IpAddr::V4(address) => sum(total, &address.octets()),
            IpAddr::V6(address) => sum(total, &address.octets()),
        };
    }
    total = sum(total, &length_field(transport_bytes));
    match finish(sum(sum(total, header), &frame.payload)) {
        0 => u16::MAX,
        checksum => checksum,
    }
}

/// Adds `octets` as 16-bit words, an odd last one as the high half; a 64-bit total cannot overflow here.
fn sum(total: u64, octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    let rest: u64 = rest.iter().map(|octet| u64::from(*octet) << 8).sum();
    total + words + rest
}

/// The ones' complement of the ones' complement sum (RFC 1071 §1).
fn finish(mut total: u64) -> u16 {
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    !u16::try_from(total).unwrap_or(u16::MAX)
}

/// A length field; packets longer than that are never sent.
fn length_field(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

/// IANA, Assigned Internet Protocol Numbers.
const fn protocol_number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Tcp => 6,
        Protocol::Udp { .. } => 17,
        Protocol::Sctp => 132,
    }
}

const fn to_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// RFC 1340 recommends 64 hops, as Linux does.
const HOP_LIMIT: u8 = 64;
