//! Large reused buffers for received packets, cut into datagrams without copying.

use std::io::{self, IoSliceMut};
use std::ops::Range;

use quinn_udp::BATCH_SIZE;
use sctp_core::{Datagram, Destination, Ecn};

/// The packets one [`receive`](crate::PacketIo::receive) brought.
///
/// Holds 32 buffers of 64 KiB — each big enough for the 64 packets the kernel may coalesce (GRO) — as one
/// allocation of which untouched pages cost nothing. Make one per driver and reuse it.
pub struct ReceiveBatch {
    storage: Vec<u8>,
    arrived: Arrived,
}

impl ReceiveBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self {
            storage: vec![0; BATCH_SIZE * MESSAGE_BYTES],
            arrived: Arrived(Vec::with_capacity(BATCH_SIZE)),
        }
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

    /// Lets `fill` write into the buffers and say what is in them. After an error the batch is empty.
    pub(crate) fn fill_with(
        &mut self,
        fill: impl FnOnce(&mut [IoSliceMut<'_>; BATCH_SIZE], &mut Arrived) -> io::Result<()>,
    ) -> io::Result<()> {
        self.arrived.0.clear();
        let mut buffers = self.storage.chunks_mut(MESSAGE_BYTES);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        fill(&mut slices, &mut self.arrived).inspect_err(|_| self.arrived.0.clear())
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

/// No UDP datagram, no coalesced run of them and no IP packet is longer.
const MESSAGE_BYTES: usize = 65_536;
