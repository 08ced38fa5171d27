//! IP and UDP headers for captures; on simulated links they are not written out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::{finish, sum};
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

/// RFC 791 §3.1: no options, time to live 64.
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
    header[4..8].copy_from_slice(&fragment_fields(protocol));
    header[8] = HOP_LIMIT;
    header[9] = protocol_number(protocol);
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let checksum = finish(sum(0, &header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend_from_slice(&header);
}

/// Returns identification, flags and offset of an IPv4 header (RFC 791 §3.1); whole packets have Don't
/// Fragment.
fn fragment_fields(protocol: Protocol) -> [u8; 4] {
    let Protocol::Fragment { identification, offset, has_more, .. } = protocol else {
        return [0, 0, 0x40, 0];
    };
    let [_, _, high, low] = identification.to_be_bytes();
    let [flags, rest] = (offset / 8).to_be_bytes();
    [high, low, flags | if has_more { 0x20 } else { 0 }, rest]
}

/// RFC 8200 §3; fragments have their extension header (§4.5).
fn write_ipv6(
    packet: &mut Vec<u8>,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: Protocol,
    transport_bytes: usize,
) {
    packet.extend_from_slice(&[0x60, 0, 0, 0]);
    packet.extend_from_slice(&length_field(transport_bytes));
    let is_fragment = matches!(protocol, Protocol::Fragment { .. });
    let next_header = if is_fragment { FRAGMENT_HEADER } else { protocol_number(protocol) };
    packet.extend_from_slice(&[next_header, HOP_LIMIT]);
    packet.extend_from_slice(&source.octets());
    packet.extend_from_slice(&destination.octets());
    if let Protocol::Fragment { protocol, identification, offset, has_more } = protocol {
        packet.extend_from_slice(&[protocol, 0]);
        packet.extend_from_slice(&((offset & !7) | u16::from(has_more)).to_be_bytes());
        packet.extend_from_slice(&identification.to_be_bytes());
    }
}

/// Returns the UDP checksum over the pseudo header, the UDP header and the payload (RFC 768, RFC 8200 §8.1);
/// zero is sent as all ones.
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

/// Returns `bytes` as a length field; packets too long for one are never sent.
fn length_field(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

/// Returns the number that IANA has assigned to a protocol over IP.
const fn protocol_number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Tcp => 6,
        Protocol::Udp { .. } => 17,
        Protocol::Sctp => 132,
        Protocol::Fragment { protocol, .. } => protocol,
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
/// The number of the Fragment header among the protocols over IP (RFC 8200 §4.5).
const FRAGMENT_HEADER: u8 = 44;
