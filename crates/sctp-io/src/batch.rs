//! Large reused buffers for received packets, cut into datagrams without copying.

use std::io::{self, IoSliceMut};
use std::ops::Range;

use quinn_udp::BATCH_SIZE;
use sctp_core::{Datagram, Destination, Ecn};

/// The packets one [`receive`](crate::PacketIo::receive) brought.
///
/// Holds 32 buffers of 64 KiB — each big enough for the 64 packets the kernel may coalesce (GRO) — as one
/// allocation of which untouched pages cost nothing. Make one per driver and reuse it.
///
/// How many buffers the kernel is offered follows what arrives: two while little does, which costs a request and its
/// answer least, up to all of them under load; but no more than 512 KiB are likely to fill, for whoever waits for the first
/// message of a batch waits until the last is taken in, and what is read long after it was written is in no near cache.
pub struct ReceiveBatch {
    storage: Vec<u8>,
    arrived: Arrived,
    /// Buffers offered next time.
    offered: usize,
    is_drained: bool,
}

impl ReceiveBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self {
            storage: vec![0; BATCH_SIZE * MESSAGE_BYTES],
            arrived: Arrived(Vec::with_capacity(BATCH_SIZE)),
            offered: FEWEST_BUFFERS,
            is_drained: false,
        }
    }

    /// Whether nothing waited any more behind the packets in this batch: then another
    /// [`receive`](crate::PacketIo::receive) would find nothing before the socket becomes readable again.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// How much it holds.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.arrived.octets()
    }

    /// The batch is from one of several sources, and another may have more.
    pub(crate) fn expect_more(&mut self) {
        self.is_drained = false;
    }

    /// The received packets in the order of their arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        self.arrived.0.iter().flat_map(|message| {
            let contents = self.storage.get(message.contents.clone()).unwrap_or_default();
            contents.chunks(message.stride.max(1)).map(|payload| Datagram {
                source: message.source,
                local: message.local,
                ecn: message.ecn,
                payload,
            })
        })
    }

    /// Lets `fill` write into some of the buffers and say what is in them, and how many the kernel used. After an error the
    /// batch is empty.
    pub(crate) fn fill_with(
        &mut self,
        fill: impl FnOnce(&mut [IoSliceMut<'_>], &mut Arrived) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.arrived.0.clear();
        let offered = self.offered;
        let mut buffers = self.storage.chunks_mut(MESSAGE_BYTES);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let used = fill(&mut slices[..offered], &mut self.arrived).inspect_err(|_| self.arrived.0.clear())?;
        self.is_drained = used < offered;
        self.offered = next_offer(offered, used, self.arrived.octets());
        Ok(())
    }
}

/// Twice as many after all were used, half as many after a quarter was.
fn next_offer(offered: usize, used: usize, octets: usize) -> usize {
    let average = octets / used.max(1);
    let most = (BATCH_BYTES / average.max(1)).clamp(FEWEST_BUFFERS, BATCH_SIZE);
    if used >= offered {
        (offered * 2).min(most)
    } else if used * 4 <= offered {
        (offered / 2).max(FEWEST_BUFFERS)
    } else {
        offered
    }
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for ReceiveBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceiveBatch").field("messages", &self.arrived.0.len()).finish_non_exhaustive()
    }
}

/// What is in the buffers of a batch.
#[derive(Debug)]
pub(crate) struct Arrived(Vec<Message>);

impl Arrived {
    /// Says what is in the buffer with this number; a buffer nothing is said about counts as empty.
    pub(crate) fn push(&mut self, buffer: usize, message: Message) {
        let start = buffer * MESSAGE_BYTES;
        let place = |offset: usize| start + offset.min(MESSAGE_BYTES);
        let contents = place(message.contents.start)..place(message.contents.end);
        self.0.push(Message { contents, ..message });
    }

    fn octets(&self) -> usize {
        self.0.iter().map(|message| message.contents.len()).sum()
    }
}

/// A message in a buffer: one packet, or several that the kernel coalesced.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) source: Destination,
    pub(crate) local: Option<std::net::IpAddr>,
    pub(crate) ecn: Ecn,
    /// Where in its buffer the SCTP packets are.
    pub(crate) contents: Range<usize>,
    /// Octets of each packet, the last may be shorter.
    pub(crate) stride: usize,
}

pub(crate) fn from_codepoint(codepoint: Option<quinn_udp::EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(quinn_udp::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(quinn_udp::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(quinn_udp::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// With one a single packet would always look as if more waited.
const FEWEST_BUFFERS: usize = 2;
/// Octets a batch is meant to have at most.
const BATCH_BYTES: usize = 512 << 10;
/// No UDP datagram, no coalesced run of them and no IP packet is longer.
const MESSAGE_BYTES: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_follow_what_arrives() {
        let offers = |used: &[usize]| {
            let next = |offered: &mut usize, used: &usize| {
                *offered = next_offer(*offered, *used, 1_400 * used);
                Some(*offered)
            };
            used.iter().scan(FEWEST_BUFFERS, next).collect::<Vec<_>>()
        };
        assert_eq!(offers(&[1, 1, 2, 4, 8, 16, 32]), [2, 2, 4, 8, 16, 32, 32]);
        assert_eq!(next_offer(32, 20, 20), 32);
        assert_eq!((next_offer(32, 8, 8), next_offer(2, 1, 1)), (16, 2));
    }

    #[test]
    fn a_batch_of_full_buffers_does_not_grow_beyond_what_is_soon_taken_in() {
        let full = |buffers: usize| buffers * 65_000;
        assert_eq!(next_offer(4, 4, full(4)), 8);
        assert_eq!(next_offer(8, 8, full(8)), 8);
        assert_eq!(next_offer(32, 32, full(32)), 8, "packets were short before");
    }
}
