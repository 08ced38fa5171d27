//! The losses by request: which requests lost a packet of their own, told from the packets that did not arrive.
//!
//! A message of the load generator begins with its length, number and send time, which no other octets of a run equal. Over a
//! byte stream the place of one message gives the places of all, since they are equally long.

use std::collections::{BTreeMap, BTreeSet};

use workload::{HEADER_BYTES, Sample, SendTime};

use crate::simulation::FlowPlan;
use crate::traffic::Workload;

/// Returns the numbers of the requests of which a packet was lost, their own or that of their response; `None`
/// where it cannot be told. `lost` are the packets of the flow that did not arrive whole, behind their IP and,
/// but for TCP, UDP headers.
pub(crate) fn own_losses<'a>(
    flow: &FlowPlan,
    samples: &[Sample],
    lost: impl Iterator<Item = &'a [u8]>,
) -> Option<BTreeSet<u64>> {
    if flow.workload != Workload::ECHO || !flow.sizes.is_empty() || !flow.samples {
        return None;
    }
    let search = Search {
        samples,
        size: usize::try_from(flow.message).ok()?,
        lanes: u64::from(flow.transport.0.lanes()),
    };
    match flow.transport.0.protocol() {
        "tcp" => search.in_segments(&lost.collect::<Vec<_>>()),
        "sctp" => search.in_packets(lost, |packet| user_data(packet).collect()),
        "udp" => search.in_packets(lost, |datagram| vec![Some(datagram)]),
        _encrypted => None,
    }
}

/// Returns the octets behind the IP header, and behind the UDP header if there is one.
pub(crate) fn transport_payload(ip: &[u8]) -> Option<&[u8]> {
    let (header, protocol) = match ip.first()? >> 4 {
        4 => (4 * usize::from(ip[0] & 0x0f), *ip.get(9)?),
        6 => (40, *ip.get(6)?),
        _ => return None,
    };
    match protocol {
        UDP => ip.get(header + 8..),
        TCP | SCTP => ip.get(header..),
        _ => None,
    }
}

/// Looks for messages in packets.
struct Search<'a> {
    samples: &'a [Sample],
    /// Octets of a message.
    size: usize,
    lanes: u64,
}

impl Search<'_> {
    /// Returns the number of the message that begins here.
    fn message_at(&self, octets: &[u8]) -> Option<u64> {
        let (length, rest) = octets.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let sent = SendTime(u64::from_be_bytes(*rest.first_chunk()?));
        let number = u64::from_be_bytes(*number);
        let place = self.samples.binary_search_by_key(&number, |sample| sample.number.0).ok()?;
        let is_its_own = usize::try_from(u32::from_be_bytes(*length)) == Ok(self.size)
            && SendTime::from(self.samples[place].intended) == sent;
        is_its_own.then_some(number)
    }

    /// Finds the requests where messages keep their bounds: each part is the beginning of one, or `None` for
    /// the rest of one, whose number nobody knows.
    fn in_packets<'a>(
        &self,
        lost: impl Iterator<Item = &'a [u8]>,
        parts: impl Fn(&'a [u8]) -> Vec<Option<&'a [u8]>>,
    ) -> Option<BTreeSet<u64>> {
        lost.flat_map(parts).map(|part| self.message_at(part?)).collect()
    }

    /// Finds the requests in TCP segments.
    fn in_segments(&self, lost: &[&[u8]]) -> Option<BTreeSet<u64>> {
        let segments: Vec<Segment<'_>> = lost.iter().copied().filter_map(Segment::new).collect();
        // By connection and direction: the lane, and the sequence number of its first octet.
        let mut streams = BTreeMap::new();
        for segment in &segments {
            let last = segment.data.len().saturating_sub(HEADER_BYTES - 1);
            let found = (0..last).find_map(|at| Some((at, self.message_at(&segment.data[at..])?)));
            let Some((at, number)) = found else { continue };
            let before = self.size * usize::try_from(number / self.lanes).ok()?;
            let first = segment.sequence.wrapping_add(low_bits(at)).wrapping_sub(low_bits(before));
            streams.insert(segment.ports, (number % self.lanes, first));
        }
        let mut numbers = BTreeSet::new();
        for segment in segments.iter().filter(|segment| !segment.data.is_empty()) {
            let (lane, first) = streams.get(&segment.ports)?;
            let begin = usize::try_from(segment.sequence.wrapping_sub(*first)).ok()?;
            let end = begin + segment.data.len();
            let messages = begin / self.size..end.div_ceil(self.size);
            numbers.extend(messages.map(|nth| lane + self.lanes * u64::try_from(nth).unwrap_or(u64::MAX)));
        }
        Some(numbers)
    }
}

/// A TCP segment (RFC 9293 §3.1).
struct Segment<'a> {
    /// The ports of sender and receiver.
    ports: &'a [u8],
    sequence: u32,
    data: &'a [u8],
}

impl<'a> Segment<'a> {
    fn new(octets: &'a [u8]) -> Option<Self> {
        let header = 4 * usize::from(octets.get(12)? >> 4);
        let sequence = u32::from_be_bytes(*octets.get(4..8)?.first_chunk()?);
        Some(Self { ports: octets.get(..4)?, sequence, data: octets.get(header..)? })
    }
}

/// Returns the user data of the DATA and I-DATA chunks of a packet (RFC 9260 §3.3.1, RFC 8260 §2.1); `None` for
/// fragments behind the first.
fn user_data(packet: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = packet.get(COMMON_HEADER..).unwrap_or_default();
    let chunks = core::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
        let chunk = rest.get(..length.max(4))?;
        rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
        Some(chunk)
    });
    chunks.filter_map(|chunk| {
        let header = match chunk[0] {
            DATA => 16,
            I_DATA => 20,
            _ => return None,
        };
        Some(chunk.get(header..).filter(|_| chunk[1] & BEGINNING != 0))
    })
}

/// Returns the lower 32 bits: sequence numbers go round.
fn low_bits(number: usize) -> u32 {
    u32::try_from(number & 0xffff_ffff).unwrap_or(0)
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const COMMON_HEADER: usize = 12;
const DATA: u8 = 0;
const I_DATA: u8 = 64;
/// The B bit of a chunk with user data.
const BEGINNING: u8 = 0x02;

#[cfg(test)]
mod tests;
