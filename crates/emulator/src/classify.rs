//! The classes of packets: those that are numbered and impaired, and the others.

/// The treatment of a packet by the emulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A user's packet: numbered and impaired.
    Numbered,
    /// An ICMP error: delayed, but neither numbered nor impaired.
    Passing,
    /// The kernel's own business on the device: swallowed.
    Noise,
}

/// Looks at the IP header, the extension headers of IPv6, and the type of ICMP messages.
pub(super) fn classify(packet: &[u8]) -> Class {
    match packet.first().map(|octet| octet >> 4) {
        Some(4) => classify_v4(packet),
        Some(6) => classify_v6(packet),
        Some(_) | None => Class::Noise,
    }
}

fn classify_v4(packet: &[u8]) -> Class {
    let (Some(protocol), Some(destination)) = (packet.get(9), packet.get(16)) else { return Class::Noise };
    if *destination >= V4_MULTICAST {
        return Class::Noise;
    }
    let header = 4 * usize::from(packet[0] & 0x0f);
    match (*protocol, packet.get(header)) {
        (TCP | UDP | SCTP, _) => Class::Numbered,
        (ICMP, Some(0 | 8)) => Class::Numbered,
        (ICMP, Some(3 | 11 | 12)) => Class::Passing,
        (ICMP, _) if is_later_fragment(packet) => Class::Numbered,
        _ => Class::Noise,
    }
}

/// Returns whether the packet is a fragment other than the first: the low 13 bits are its offset (RFC 791
/// §3.1).
fn is_later_fragment(packet: &[u8]) -> bool {
    matches!(packet.get(6..8), Some([high, low]) if high & 0x1f != 0 || *low != 0)
}

fn classify_v6(packet: &[u8]) -> Class {
    if packet.get(24).is_none_or(|octet| *octet == V6_MULTICAST) {
        return Class::Noise;
    }
    let (mut next, mut at) = (packet.get(6).copied(), 40);
    // RFC 8200 §4: skip extension headers; each says how long it is in units of eight octets, beyond the first.
    while let Some(HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | FRAGMENT) = next {
        let length = match next {
            Some(FRAGMENT) => 8,
            _ => 8 + 8 * usize::from(packet.get(at + 1).copied().unwrap_or(0)),
        };
        next = packet.get(at).copied();
        at += length;
    }
    match (next, packet.get(at)) {
        (Some(TCP | UDP | SCTP), _) => Class::Numbered,
        (Some(ICMPV6), Some(128 | 129)) => Class::Numbered,
        (Some(ICMPV6), Some(1..=4)) => Class::Passing,
        _ => Class::Noise,
    }
}

const V4_MULTICAST: u8 = 224;
const V6_MULTICAST: u8 = 0xff;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const ICMPV6: u8 = 58;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(protocol: u8, destination: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        (packet[0], packet[9], packet[16]) = (0x45, protocol, destination);
        packet.extend(payload);
        packet
    }

    fn v6(next: u8, destination: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[6], packet[24]) = (0x60, next, destination);
        packet.extend(payload);
        packet
    }

    #[test]
    fn transports_and_echo_are_numbered() {
        for protocol in [TCP, UDP, SCTP] {
            assert_eq!(classify(&v4(protocol, 10, &[])), Class::Numbered);
            assert_eq!(classify(&v6(protocol, 0xfd, &[])), Class::Numbered);
        }
        assert_eq!(classify(&v4(ICMP, 10, &[8])), Class::Numbered);
        assert_eq!(classify(&v6(ICMPV6, 0xfd, &[129])), Class::Numbered);
        let after_options = [&[UDP, 1], &[0; 14][..]].concat();
        assert_eq!(classify(&v6(DESTINATION_OPTIONS, 0xfd, &after_options)), Class::Numbered);
        let fragment = [&[UDP, 99], &[0; 6][..]].concat();
        assert_eq!(classify(&v6(FRAGMENT, 0xfd, &fragment)), Class::Numbered);
    }

    #[test]
    fn errors_pass_and_the_rest_is_noise() {
        assert_eq!(classify(&v4(ICMP, 10, &[3])), Class::Passing);
        assert_eq!(classify(&v6(ICMPV6, 0xfd, &[2])), Class::Passing);
        // Router solicitation, multicast listener report, IGMP, mDNS.
        assert_eq!(classify(&v6(ICMPV6, 0xff, &[133])), Class::Noise);
        assert_eq!(classify(&v6(HOP_BY_HOP, 0xff, &[ICMPV6, 0, 0, 0, 0, 0, 0, 0, 143])), Class::Noise);
        assert_eq!(classify(&v4(2, 224, &[])), Class::Noise);
        assert_eq!(classify(&v4(UDP, 224, &[])), Class::Noise);
    }

    #[test]
    fn truncated_packets_are_noise_not_panics() {
        for packet in [v4(TCP, 10, &[]), v6(DESTINATION_OPTIONS, 0xfd, &[TCP, 255])] {
            for length in 0..packet.len().min(17) {
                assert_eq!(classify(&packet[..length]), Class::Noise);
            }
        }
        assert_eq!(classify(&v6(HOP_BY_HOP, 0xfd, &[])), Class::Noise);
    }
}
