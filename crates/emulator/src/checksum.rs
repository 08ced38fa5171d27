//! Transport checksums that the sending kernel left to its device.
//!
//! A virtual Ethernet device claims to compute checksums. For TCP and UDP the kernel then writes the sum of the
//! pseudo-header alone, and for SCTP zero. The packets go through real impairments and into another kernel that
//! verifies them, so whoever reads them from such a device has to finish the work.

use sctp_wire::{Checksum, DecodeError, Packet};

/// Completes the checksum of an IP packet's TCP, UDP or SCTP payload if the kernel only prepared it; leaves
/// everything else as it is, wrong checksums included.
///
/// A complete checksum that happens to look prepared is computed to the same value again. SCTP packets without a
/// checksum (RFC 9653) get one, which every receiver accepts.
pub(super) fn complete(packet: &mut [u8]) {
    let Some(Upper { protocol, start, end, addresses }) = upper_layer(packet) else { return };
    let Some(segment) = packet.get(start..end) else { return };
    // RFC 9293 §3.1, RFC 768 and RFC 8200 §8.1: addresses, protocol, length.
    let length = u32::try_from(segment.len()).unwrap_or(u32::MAX);
    let prepared = || fold(sum(&packet[addresses.0..addresses.1]) + u32::from(protocol) + length);
    let at = match protocol {
        TCP => 16,
        UDP => 6,
        SCTP => return complete_sctp(&mut packet[start..end]),
        _ => return,
    };
    let Some(&[high, low]) = segment.get(at..at + 2) else { return };
    if u16::from_be_bytes([high, low]) != prepared() {
        return;
    }
    // The field holds the pseudo-header's part of the sum already.
    let complete = match !fold(sum(segment)) {
        // RFC 768: zero would mean that there is none.
        0 if protocol == UDP => u16::MAX,
        complete => complete,
    };
    packet[start + at..start + at + 2].copy_from_slice(&complete.to_be_bytes());
}

/// The payload of an unfragmented IP packet.
struct Upper {
    protocol: u8,
    start: usize,
    end: usize,
    /// The offsets of the source and destination addresses.
    addresses: (usize, usize),
}

fn upper_layer(packet: &[u8]) -> Option<Upper> {
    let upper = match packet.first()? >> 4 {
        4 => upper_layer_v4(packet)?,
        6 => upper_layer_v6(packet)?,
        _ => return None,
    };
    (upper.start <= upper.end && upper.end <= packet.len()).then_some(upper)
}

/// Returns the upper layer of an IPv4 packet (RFC 791 §3.1). Before it fragments, the kernel completes
/// checksums.
fn upper_layer_v4(packet: &[u8]) -> Option<Upper> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let is_fragment = header[6] & 0x3f != 0 || header[7] != 0;
    (!is_fragment).then(|| Upper {
        protocol: header[9],
        start: 4 * usize::from(header[0] & 0x0f),
        end: usize::from(u16::from_be_bytes([header[2], header[3]])),
        addresses: (12, 20),
    })
}

/// Returns the upper layer of an IPv6 packet (RFC 8200 §3 and §4). Behind a routing or a fragment header
/// nothing is prepared.
fn upper_layer_v6(packet: &[u8]) -> Option<Upper> {
    let header: &[u8; 40] = packet.first_chunk()?;
    let end = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let (mut protocol, mut start) = (header[6], 40);
    while let HOP_BY_HOP | DESTINATION_OPTIONS = protocol {
        let &[next, length] = packet.get(start..start + 2)? else { return None };
        protocol = next;
        start += 8 + 8 * usize::from(length);
    }
    Some(Upper { protocol, start, end, addresses: (8, 40) })
}

fn complete_sctp(packet: &mut [u8]) {
    if packet.get(8..12) != Some(&[0; 4]) {
        return;
    }
    if let Err(DecodeError::Checksum { expected, .. }) = Packet::decode(packet, Checksum::Verify) {
        packet[8..12].copy_from_slice(&expected.to_le_bytes());
    }
}

/// Returns the sum of the 16-bit words, an odd octet filled up with zero (RFC 1071 §1). At most 65,535 octets.
fn sum(octets: &[u8]) -> u32 {
    let (words, odd) = octets.as_chunks::<2>();
    let words = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum::<u32>();
    words + odd.first().map_or(0, |octet| u32::from(*octet) << 8)
}

/// Adds the carries back in until there are none.
fn fold(mut sum: u32) -> u16 {
    loop {
        match u16::try_from(sum) {
            Ok(folded) => return folded,
            Err(_too_wide) => sum = (sum & 0xffff) + (sum >> 16),
        }
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const HOP_BY_HOP: u8 = 0;
const DESTINATION_OPTIONS: u8 = 60;

#[cfg(test)]
mod tests;
