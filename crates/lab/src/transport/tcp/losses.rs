//! The requests that lost a segment: the place of one message in a byte stream gives the places of all, since they are
//! equally long.

use std::collections::{BTreeMap, BTreeSet};

use workload::HEADER_BYTES;

use crate::transport::losses::Search;

/// Returns the requests of the messages that lost segments were part of.
pub(super) fn own_losses(search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
    let segments: Vec<Segment<'_>> = lost.iter().copied().filter_map(Segment::new).collect();
    let first = search.first.iter().copied().filter_map(Segment::new);
    // By connection and direction: the lane, and the sequence number of its first octet.
    let mut streams = BTreeMap::new();
    for segment in first.chain(segments.iter().copied()) {
        if streams.contains_key(segment.ports) {
            continue;
        }
        let last = segment.data.len().saturating_sub(HEADER_BYTES - 1);
        let found = (0..last).find_map(|at| Some((at, search.message_at(&segment.data[at..])?)));
        let Some((at, number)) = found else { continue };
        let before = search.size * usize::try_from(number / search.lanes).map_err(|_| NOWHERE)?;
        let first = segment.sequence.wrapping_add(low_bits(at)).wrapping_sub(low_bits(before));
        streams.insert(segment.ports, (number % search.lanes, first));
    }
    let mut numbers = BTreeSet::new();
    for segment in segments.iter().filter(|segment| !segment.data.is_empty()) {
        let (lane, first) = streams.get(segment.ports).ok_or(NOWHERE)?;
        let begin = usize::try_from(segment.sequence.wrapping_sub(*first)).map_err(|_| NOWHERE)?;
        let end = begin + segment.data.len();
        let messages = begin / search.size..end.div_ceil(search.size);
        numbers.extend(messages.map(|nth| search.message_of(*lane, u64::try_from(nth).unwrap_or(u64::MAX))));
    }
    Ok(numbers)
}

/// Why a segment is nobody's.
const NOWHERE: &str = "in no segment of a connection that lost some does a message begin";

/// A TCP segment (RFC 9293 §3.1).
#[derive(Clone, Copy)]
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

/// Returns the lower 32 bits: sequence numbers go round.
fn low_bits(number: usize) -> u32 {
    u32::try_from(number & 0xffff_ffff).unwrap_or(0)
}
