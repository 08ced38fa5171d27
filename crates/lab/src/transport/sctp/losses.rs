//! The requests that lost a packet: chunks with user data begin with a message, or say whose rest they are.

use std::collections::BTreeSet;

use crate::transport::losses::Search;

/// Returns the requests of the messages that lost packets had parts of.
pub(super) fn own_losses(search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
    let of_chunks = lost.iter().flat_map(|packet| chunks(packet)).filter_map(|chunk| message(search, chunk));
    of_chunks.map(|number| number.ok_or("a chunk was lost that may be of any message")).collect()
}

/// Returns the number of the message of a chunk, `Some(None)` where nobody knows it; `None` for chunks without user data.
///
/// Messages are dealt to the streams round robin and stay in order there, so that stream and sequence number tell the message of any
/// fragment (RFC 9260 §3.3.1, RFC 8260 §2.1); without order only the first one does.
fn message(search: &Search<'_>, chunk: &[u8]) -> Option<Option<u64>> {
    let (header, sequence) = match chunk[0] {
        DATA => (16, 10..12),
        I_DATA => (20, 12..16),
        _ => return None,
    };
    let (data, stream, sequence) = (chunk.get(header..)?, chunk.get(8..10)?, chunk.get(sequence)?);
    if chunk[1] & BEGINNING != 0 {
        return Some(search.message_at(data));
    }
    let number = |octets: &[u8]| octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    let goes_round = search.most_of_a_lane() > 1 << (8 * sequence.len());
    let is_known = search.headers.is_none() && chunk[1] & UNORDERED == 0 && !goes_round;
    Some(is_known.then(|| search.message_of(number(stream), number(sequence))))
}

/// Returns the chunks of a packet.
fn chunks(packet: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = packet.get(COMMON_HEADER..).unwrap_or_default();
    core::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
        let chunk = rest.get(..length.max(4))?;
        rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
        Some(chunk)
    })
}

const COMMON_HEADER: usize = 12;
const DATA: u8 = 0;
const I_DATA: u8 = 64;
/// The B bit of a chunk with user data.
const BEGINNING: u8 = 0x02;
/// The U bit of a chunk with user data.
const UNORDERED: u8 = 0x04;
