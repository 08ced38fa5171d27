//! IP and UDP headers as the kernel would have written them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sctp_core::{Dscp, Ecn, Fragmentation};

/// The headers in front of an SCTP packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) transport: Transport,
    /// The code point in the IP header; received packets show none, because nobody tells it.
    pub(super) dscp: Dscp,
    pub(super) ecn: Ecn,
    /// The DF bit in the IP header; received packets show it set, because nobody tells it.
    pub(super) fragmentation: Fragmentation,
}

/// The protocol that carries the packet over IP.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transport {
    Sctp,
    Udp { source: u16, destination: u16 },
}

impl Headers {
    /// Appends headers and `payload` to `packet`.
    pub(super) fn write(&self, payload: &[u8], packet: &mut Vec<u8>) {
        let (protocol, header_bytes) = match self.transport {
            Transport::Sctp => (PROTOCOL_SCTP, 0),
            Transport::Udp { .. } => (PROTOCOL_UDP, UDP_HEADER_BYTES),
        };
        let len = header_bytes + payload.len();
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                self.write_ipv4(source, destination, protocol, len, packet);
            }
            (source, destination) => {
                self.write_ipv6(mapped(source), mapped(destination), protocol, len, packet);
            }
        }
        if let Transport::Udp { source, destination } = self.transport {
            self.write_udp(source, destination, payload, packet);
        }
        packet.extend_from_slice(payload);
    }

    /// Returns the octet that code point and ECN bits share (RFC 2474 §3, RFC 3168 §5).
    fn class(&self) -> u8 {
        self.dscp.get() << 2 | ecn_bits(self.ecn)
    }

    /// RFC 791 §3.1, without options.
    fn write_ipv4(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        len: usize,
        packet: &mut Vec<u8>,
    ) {
        let mut header = [0; 20];
        header[0] = 0x45;
        header[1] = self.class();
        header[2..4].copy_from_slice(&length(20 + len).to_be_bytes());
        header[6] = match self.fragmentation {
            Fragmentation::Forbidden => 0x40,
            Fragmentation::Allowed => 0,
        };
        header[8] = HOPS;
        header[9] = protocol;
        header[12..16].copy_from_slice(&source.octets());
        header[16..20].copy_from_slice(&destination.octets());
        let checksum = checksum(&[&header]);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend_from_slice(&header);
    }

    /// Writes an IPv6 header (RFC 8200 §3) in front of the packet.
    fn write_ipv6(
        &self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        protocol: u8,
        len: usize,
        packet: &mut Vec<u8>,
    ) {
        let version_and_class = (6_u32 << 28) | (u32::from(self.class()) << 20);
        packet.extend_from_slice(&version_and_class.to_be_bytes());
        packet.extend_from_slice(&length(len).to_be_bytes());
        packet.extend_from_slice(&[protocol, HOPS]);
        packet.extend_from_slice(&source.octets());
        packet.extend_from_slice(&destination.octets());
    }

    /// RFC 768, the checksum over the pseudo header of either IP version.
    fn write_udp(&self, source: u16, destination: u16, payload: &[u8], packet: &mut Vec<u8>) {
        let len = length(UDP_HEADER_BYTES + payload.len()).to_be_bytes();
        let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        let addresses = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => [source.octets(), destination.octets()].concat(),
            (source, destination) => [mapped(source).octets(), mapped(destination).octets()].concat(),
        };
        let checksum = match checksum(&[&addresses, &[0, PROTOCOL_UDP], &len, &ports, &len, payload]) {
            0 => 0xffff,
            checksum => checksum,
        };
        packet.extend_from_slice(&ports);
        packet.extend_from_slice(&len);
        packet.extend_from_slice(&checksum.to_be_bytes());
    }
}

/// Returns the internet checksum (RFC 1071) over parts of even length, the last of any length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u64 =
        words.map(|word| u64::from(word[0]) << 8 | word.get(1).copied().map_or(0, u64::from)).sum();
    let mut folded = sum;
    while folded > 0xffff {
        folded = (folded & 0xffff) + (folded >> 16);
    }
    !u16::try_from(folded).unwrap_or(u16::MAX)
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn length(octets: usize) -> u16 {
    u16::try_from(octets).unwrap_or(u16::MAX)
}

fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect0 => 0b10,
        Ecn::Ect1 => 0b01,
        Ecn::Ce => 0b11,
    }
}

const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_SCTP: u8 = 132;
const UDP_HEADER_BYTES: usize = 8;
/// Time to live and hop limit: what Linux sends.
const HOPS: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(source: &str, destination: &str, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        Headers {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            transport: Transport::Udp { source: 9899, destination: 40_000 },
            dscp: Dscp::CS5,
            ecn: Ecn::Ect0,
            fragmentation: Fragmentation::Allowed,
        }
        .write(payload, &mut packet);
        packet
    }

    #[test]
    fn an_ipv4_header_sums_to_zero_and_carries_code_point_ecn_and_df() {
        let packet = packet("192.0.2.1", "198.51.100.7", b"SCTP packet");
        assert_eq!(checksum(&[&packet[..20]]), 0);
        assert_eq!((packet[1], packet[6]), (40 << 2 | 0b10, 0));
        assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
    }

    #[test]
    fn udp_sums_to_zero_over_both_ip_versions() {
        for (source, destination, ip) in
            [("192.0.2.1", "198.51.100.7", 20), ("2001:db8::1", "2001:db8::2", 40)]
        {
            for payload in [b"even".as_slice(), b"odd".as_slice()] {
                let packet = packet(source, destination, payload);
                let udp = &packet[ip..];
                assert_eq!(udp.len(), 8 + payload.len());
                let addresses = if ip == 20 { &packet[12..20] } else { &packet[8..40] };
                assert_eq!(checksum(&[addresses, &[0, 17], &udp[4..6], udp]), 0);
            }
        }
    }

    #[test]
    fn sctp_over_ip_has_no_udp_header() {
        let mut packet = Vec::new();
        let address = IpAddr::from([192, 0, 2, 1]);
        let (source, destination, transport) = (address, address, Transport::Sctp);
        let (dscp, ecn, fragmentation) = (Dscp::CS0, Ecn::NotEct, Fragmentation::Forbidden);
        Headers { source, destination, transport, dscp, ecn, fragmentation }
            .write(b"SCTP packet", &mut packet);
        assert_eq!((packet[6], packet[9]), (0x40, PROTOCOL_SCTP));
        assert_eq!(&packet[20..], b"SCTP packet");
    }
}
