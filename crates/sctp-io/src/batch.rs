//! Large reused buffers for received packets, cut into datagrams without copying.

use std::io::IoSliceMut;

use quinn_udp::{BATCH_SIZE, RecvMeta};
use sctp_core::{Datagram, Destination, Ecn, Encapsulation};

/// The packets one [`receive`](crate::PacketIo::receive) brought.
///
/// Holds 32 buffers of 64 KiB — each big enough for the 64 packets the kernel may coalesce (GRO) — as one
/// allocation of which untouched pages cost nothing. Make one per driver and reuse it.
pub struct ReceiveBatch {
    storage: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
    filled: usize,
}

impl ReceiveBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self {
            storage: vec![0; BATCH_SIZE * MESSAGE_BYTES],
            metas: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
        }
    }

    /// The received packets in the order of their arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        self.messages().flat_map(|(meta, contents)| {
            let source = Destination {
                address: meta.addr.ip().to_canonical(),
                encapsulation: Encapsulation::Udp { port: meta.addr.port() },
            };
            let local = meta.dst_ip.map(|address| address.to_canonical());
            let ecn = from_codepoint(meta.ecn);
            contents.chunks(meta.stride.max(1)).map(move |payload| Datagram { source, local, ecn, payload })
        })
    }

    /// Lets `fill` write into the buffers; it returns how many it used. After an error the batch is empty.
    pub(crate) fn fill_with<E>(
        &mut self,
        fill: impl FnOnce(Slots<'_, '_>) -> Result<usize, E>,
    ) -> Result<(), E> {
        self.filled = 0;
        let mut buffers = self.storage.chunks_mut(MESSAGE_BYTES);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        self.filled = fill(Slots { buffers: &mut slices, metas: &mut self.metas })?.min(BATCH_SIZE);
        Ok(())
    }

    fn messages(&self) -> impl Iterator<Item = (&RecvMeta, &[u8])> {
        self.metas
            .iter()
            .zip(self.storage.chunks(MESSAGE_BYTES))
            .take(self.filled)
            .map(|(meta, buffer)| (meta, &buffer[..meta.len.min(buffer.len())]))
    }
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for ReceiveBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceiveBatch").field("messages", &self.filled).finish_non_exhaustive()
    }
}

/// The empty buffers of a batch, for the socket that fills them.
#[derive(Debug)]
pub(crate) struct Slots<'a, 'b> {
    /// Where contents go.
    pub(crate) buffers: &'a mut [IoSliceMut<'b>],
    /// What is known about each: source, length, stride of coalesced packets, ECN, local address.
    pub(crate) metas: &'a mut [RecvMeta],
}

fn from_codepoint(codepoint: Option<quinn_udp::EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(quinn_udp::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(quinn_udp::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(quinn_udp::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// No UDP datagram and no coalesced run of them is longer.
const MESSAGE_BYTES: usize = 65_536;
