//! The requests that lost a segment: the place of one message in a byte stream gives the places of all where they are equally
//! long; otherwise their headers tell.

use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};

use workload::HEADER_BYTES;

use crate::traffic::Headers;
use crate::transport::losses::Search;

/// Returns the requests of the messages that lost segments were part of.
pub(super) fn own_losses(search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
    let segments: Vec<Segment<'_>> = lost.iter().copied().filter_map(Segment::new).collect();
    if let Some(headers) = search.headers {
        return by_headers(headers, &segments);
    }
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

/// Returns the requests of messages that say how long they are. They take one connection, where requests stay in order and
/// responses, too: what comes before the first header of a segment is the rest of the message before.
fn by_headers(headers: Headers, segments: &[Segment<'_>]) -> Result<BTreeSet<u64>, &'static str> {
    let mut numbers = BTreeSet::new();
    for data in segments.iter().map(|segment| segment.data).filter(|data| !data.is_empty()) {
        let found = (0..data.len()).find_map(|at| Some((at, messages(headers, &data[at..])?)));
        let (at, here) = found.ok_or(NOWHERE)?;
        numbers.extend((at > 0).then(|| here.start().wrapping_sub(1)));
        numbers.extend(here);
    }
    Ok(numbers)
}

/// Returns the numbers of the messages that these octets are, one behind the other; `None` where they are anything else.
fn messages(headers: Headers, octets: &[u8]) -> Option<RangeInclusive<u64>> {
    let mut beginning = (headers.read)(octets)?;
    let (first, mut rest) = (beginning.number, octets);
    loop {
        rest = rest.get(beginning.octets..).unwrap_or_default();
        let next = beginning.number.wrapping_add(1);
        if rest.is_empty() {
            return Some(first..=beginning.number);
        } else if rest.len() < headers.octets {
            return Some(first..=next);
        }
        beginning = (headers.read)(rest).filter(|beginning| beginning.number == next)?;
    }
}

/// The reason why nobody can tell whose message a segment carried.
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
