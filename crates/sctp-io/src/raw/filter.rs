//! A filter for packets of protocol 132: ours are those for our SCTP port and our addresses.
//!
//! A raw socket is given every SCTP packet of the host. One that belongs to another process must not reach our core:
//! it would answer as to a packet out of the blue and abort a stranger's association (RFC 9260 §8.4).

use std::io;
use std::net::IpAddr;
use std::ops::Range;

use sctp_core::SctpPort;
use socket2::{SockFilter, Socket};

/// Keeps the kernel from queueing packets for other ports, by a classic BPF program.
pub(super) fn attach(socket: &Socket, family: Family, port: SctpPort) -> io::Result<()> {
    let load_port = match family {
        // The program sees the IP header: X = its length, A = the second half-word behind it.
        Family::V4 => vec![
            SockFilter::new(LDX_IP_HEADER_LENGTH, 0, 0, 0),
            SockFilter::new(LD_HALF_WORD_BEHIND_X, 0, 0, PORT_OFFSET),
        ],
        // The program sees the SCTP packet, behind all extension headers.
        Family::V6 => vec![SockFilter::new(LD_HALF_WORD, 0, 0, PORT_OFFSET)],
    };
    let verdict = [
        SockFilter::new(SKIP_ONE_UNLESS_EQUAL, 0, 1, u32::from(port.get())),
        SockFilter::new(RETURN_OCTETS_TO_KEEP, 0, 0, u32::MAX),
        SockFilter::new(RETURN_OCTETS_TO_KEEP, 0, 0, 0),
    ];
    let program: Vec<_> = load_port.into_iter().chain(verdict).collect();
    socket.attach_filter(&program)
}

/// Returns the place of the SCTP packet in a received message, if the packet is for `port`.
///
/// Needed behind the kernel's filter too: a socket is given packets from the moment it exists, and its filter does
/// not stop those that another processor is about to queue.
pub(super) fn sctp_packet(family: Family, port: SctpPort, message: &[u8]) -> Option<Range<usize>> {
    let start = match family {
        // The header's length in words of four octets (RFC 791 §3.1).
        Family::V4 => usize::from(message.first()? & 0x0f) * 4,
        Family::V6 => 0,
    };
    let destination_port = message.get(start..)?.get(2..4)?;
    (destination_port == port.get().to_be_bytes()).then_some(start..message.len())
}

/// The IP version a raw socket speaks; it is one, there is no dual-stack raw socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

/// Offset of the destination port in the SCTP common header (RFC 9260 §3.1).
const PORT_OFFSET: u32 = 2;

// Instructions of classic BPF, by the names of <linux/bpf_common.h>.

/// BPF_LDX | BPF_B | BPF_MSH
const LDX_IP_HEADER_LENGTH: u16 = 0xb1;
/// BPF_LD | BPF_H | BPF_IND
const LD_HALF_WORD_BEHIND_X: u16 = 0x48;
/// BPF_LD | BPF_H | BPF_ABS
const LD_HALF_WORD: u16 = 0x28;
/// BPF_JMP | BPF_JEQ | BPF_K, nothing skipped if equal
const SKIP_ONE_UNLESS_EQUAL: u16 = 0x15;
/// BPF_RET | BPF_K
const RETURN_OCTETS_TO_KEEP: u16 = 0x06;

#[cfg(test)]
mod tests {
    use super::*;

    fn range(family: Family, message: &[u8]) -> Option<Range<usize>> {
        sctp_packet(family, SctpPort::new(0x1234).unwrap(), message)
    }

    #[test]
    fn a_packet_for_our_port_is_found_behind_ip_options() {
        let sctp = [9, 9, 0x12, 0x34, 1, 2, 3];
        assert_eq!(range(Family::V6, &sctp), Some(0..7));
        for words in [5_u8, 6, 15] {
            let header = usize::from(words) * 4;
            let mut message = vec![0; header];
            message[0] = 0x40 | words;
            message.extend(sctp);
            assert_eq!(range(Family::V4, &message), Some(header..header + 7));
        }
    }

    #[test]
    fn other_ports_and_stumps_are_not_ours() {
        assert_eq!(range(Family::V6, &[0x12, 0x34, 0x12, 0x35]), None);
        assert_eq!(range(Family::V6, &[0x12, 0x34, 0x12]), None);
        assert_eq!(range(Family::V4, &[]), None);
        assert_eq!(range(Family::V4, &[0x4f; 20]), None, "header longer than the message");
    }
}
