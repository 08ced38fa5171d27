//! The losses by request: which requests lost a packet of their own, told from the packets that did not arrive.
//!
//! A message of the load generator begins with its length, number and send time, which no other octets of a run equal; messages of
//! other workloads with a header that names their request. What else tells one from the others is the transport's to know.

use std::collections::BTreeSet;

use workload::{Sample, SendTime};

use crate::traffic::{Followed, Headers};
use crate::transport::FlowPlan;

/// Returns the numbers of the requests of which a packet was lost, their own or that of their response; why it
/// cannot be told. `lost` are the packets of the flow that did not arrive whole, `first` its first ones, behind their IP
/// and, but for TCP, UDP headers.
pub(crate) fn own_losses(
    flow: &FlowPlan,
    samples: &[Sample],
    lost: &[&[u8]],
    first: &[&[u8]],
) -> Result<BTreeSet<u64>, &'static str> {
    let headers = match flow.workload.kind().followed() {
        Followed::Never => return Err("messages of this workload do not say which request they belong to"),
        Followed::ByPlace => None,
        Followed::ByHeader(headers) => Some(headers),
    };
    if !flow.in_turn().is_empty() || !flow.samples {
        return Err("messages are not followed through their packets");
    }
    let search = Search {
        samples,
        first,
        headers,
        size: usize::try_from(flow.message_bytes()).unwrap_or(usize::MAX),
        lanes: u64::from(flow.transport.0.lanes()),
    };
    flow.transport.0.transport().own_losses(&search, lost)
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
pub(crate) struct Search<'a> {
    samples: &'a [Sample],
    /// The first packets, in which streams of octets begin.
    pub(super) first: &'a [&'a [u8]],
    /// The headers of messages, where these are known by them instead of their place.
    pub(super) headers: Option<Headers>,
    /// Octets of a message.
    pub(super) size: usize,
    pub(super) lanes: u64,
}

impl Search<'_> {
    /// Returns the number of the message that begins here.
    pub(super) fn message_at(&self, octets: &[u8]) -> Option<u64> {
        if let Some(headers) = self.headers {
            return (headers.read)(octets).map(|beginning| beginning.number);
        }
        let (length, rest) = octets.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let sent = SendTime(u64::from_be_bytes(*rest.first_chunk()?));
        let number = u64::from_be_bytes(*number);
        let place = self.samples.binary_search_by_key(&number, |sample| sample.number.0).ok()?;
        let is_its_own = usize::try_from(u32::from_be_bytes(*length)) == Ok(self.size)
            && SendTime::from(self.samples[place].intended) == sent;
        is_its_own.then_some(number)
    }

    /// Returns the number of the `nth` message of a lane, from 0.
    pub(super) fn message_of(&self, lane: u64, nth: u64) -> u64 {
        lane + self.lanes * nth
    }

    /// Returns the number of messages on each lane, at the most.
    pub(super) fn most_of_a_lane(&self) -> u64 {
        u64::try_from(self.samples.len()).unwrap_or(u64::MAX).div_ceil(self.lanes)
    }
}

/// The reason why nobody knows whose packet it was where flows share links.
pub(crate) const SEVERAL_FLOWS: &str = "several flows share the links";

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

#[cfg(test)]
mod tests;
