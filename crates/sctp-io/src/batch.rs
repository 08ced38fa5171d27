//! Large reused buffers for received packets, cut into datagrams without copying.

use std::io::{self, IoSliceMut};
use std::ops::Range;

use quinn_udp::{BATCH_SIZE, RecvMeta};
use sctp_core::{Datagram, Destination, Ecn};
use smallvec::SmallVec;

/// The packets one [`receive`](crate::PacketIo::receive) brought.
///
/// Holds 32 buffers of 64 KiB — each big enough for the 64 packets the kernel may coalesce (GRO) — as one
/// allocation of which untouched pages cost nothing. Make one per driver and reuse it.
///
/// How many buffers the kernel is offered follows what arrives: two while little does, which costs a request and its
/// answer least, up to all of them under load; but no more than 512 KiB are likely to fill, for whoever waits for the first
/// message of a batch waits until the last is taken in, and what is read long after it was written is in no near cache.
/// Where the driver is told again of what it left ([`Notice::Again`]), it is one while packets come one by one.
pub struct ReceiveBatch {
    storage: Vec<u8>,
    /// The kernel's description of each buffer; kept, because it is long.
    metas: Vec<RecvMeta>,
    arrived: Arrived,
    /// Buffers offered next time.
    offered: usize,
    is_drained: bool,
    notice: Notice,
    /// How often in succession one packet came, and not a long one: behind those there often are more.
    alone: u32,
}

/// How a driver learns that packets wait at a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// The driver is told when packets arrive, and has to look until nothing waits (epoll's edge-triggered
    /// mode).
    #[default]
    OnArrival,
    /// The driver is told as long as packets wait, and need not look whether more do (`poll(2)`).
    Again,
}

impl ReceiveBatch {
    /// Creates a batch without packets.
    #[must_use]
    pub fn new() -> Self {
        Self {
            storage: vec![0; BATCH_SIZE * MESSAGE_BYTES],
            metas: vec![RecvMeta::default(); BATCH_SIZE],
            arrived: Arrived(Vec::with_capacity(BATCH_SIZE)),
            offered: FEWEST_BUFFERS,
            is_drained: false,
            notice: Notice::default(),
            alone: 0,
        }
    }

    /// Says how the driver learns of packets; without that, [`Notice::OnArrival`].
    pub fn set_notice(&mut self, notice: Notice) {
        self.notice = notice;
    }

    /// Returns whether another [`receive`](crate::PacketIo::receive) need not be tried before the driver is
    /// told that the socket is readable. With [`Notice::OnArrival`] this means that nothing waited any more
    /// behind the packets in this batch.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// Returns the number of octets that its packets hold together.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.arrived.octets()
    }

    /// The batch is from one of several sources, and another may have more.
    #[cfg(target_os = "linux")]
    pub(crate) fn expect_more(&mut self) {
        self.is_drained = false;
    }

    /// Returns the received packets in the order of their arrival.
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

    /// Returns how many packets were received.
    pub(crate) fn packets(&self) -> usize {
        self.arrived.packets()
    }

    /// Lets `fill` write into some of the buffers, note what the kernel says about each, tell what is in them, and say how
    /// many the kernel used. After an error the batch is empty.
    pub(crate) fn fill_with(
        &mut self,
        fill: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta], &mut Arrived) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.arrived.0.clear();
        let offered = if self.is_single() { 1 } else { self.offered };
        // No more of them than are offered: mostly these are few.
        let buffers = self.storage.chunks_exact_mut(MESSAGE_BYTES).take(offered).map(IoSliceMut::new);
        let mut slices: SmallVec<[IoSliceMut<'_>; BATCH_SIZE]> = buffers.collect();
        let used =
            fill(&mut slices, &mut self.metas, &mut self.arrived).inspect_err(|_| self.arrived.0.clear())?;
        // Where the system gives one packet at a time, more may wait behind each.
        self.is_drained = used < offered || (offered == 1 && BATCH_SIZE > 1);
        let is_alone = used == 1 && self.arrived.packets() == 1 && self.arrived.octets() < LONG_BYTES;
        self.alone = if is_alone { self.alone.saturating_add(1) } else { 0 };
        if offered > 1 {
            self.offered = next_offer(offered, used, self.arrived.octets());
        }
        Ok(())
    }

    /// Returns whether only one buffer is offered: a second costs the kernel a second look, which is in vain
    /// while packets come one by one. Now and then it is offered all the same, to see whether they still do.
    fn is_single(&self) -> bool {
        self.notice == Notice::Again
            && self.offered == FEWEST_BUFFERS
            && !self.alone.is_multiple_of(LOOKS_ALONE)
    }
}

/// Returns the number of buffers to offer next: twice as many after all were used, half as many after a quarter
/// was.
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

/// The messages in the buffers of a batch.
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

    fn packets(&self) -> usize {
        self.0.iter().map(Message::packets).sum()
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
    /// The place of the SCTP packets in their buffer.
    pub(crate) contents: Range<usize>,
    /// Octets of each packet, the last may be shorter.
    pub(crate) stride: usize,
}

impl Message {
    fn packets(&self) -> usize {
        self.contents.len().div_ceil(self.stride.max(1))
    }
}

pub(crate) fn codepoint(ecn: Ecn) -> Option<quinn_udp::EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(quinn_udp::EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(quinn_udp::EcnCodepoint::Ect1),
        Ecn::Ce => Some(quinn_udp::EcnCodepoint::Ce),
    }
}

pub(crate) fn from_codepoint(codepoint: Option<quinn_udp::EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(quinn_udp::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(quinn_udp::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(quinn_udp::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// The least number of buffers: with one, a single packet would always look as if more waited.
const FEWEST_BUFFERS: usize = if BATCH_SIZE < 2 { BATCH_SIZE } else { 2 };
/// Every so many packets that came one by one, whether another waits is looked at.
const LOOKS_ALONE: u32 = 8;
/// The size from which on packets count as long, in octets: such are those of a peer that sends much.
const LONG_BYTES: usize = 1 << 10;
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

    fn packet() -> Message {
        let source = Destination::channel(0);
        Message { source, local: None, ecn: Ecn::NotEct, contents: 0..100, stride: 100 }
    }

    #[test]
    fn who_is_told_again_offers_one_buffer_while_packets_come_one_by_one() {
        let offers = |notice: Notice, used: &[usize]| {
            let mut batch = ReceiveBatch::new();
            batch.set_notice(notice);
            let offer = |used: &usize| {
                let mut offered = 0;
                let filled = batch.fill_with(|buffers, _metas, arrived| {
                    offered = buffers.len();
                    (0..offered.min(*used)).for_each(|slot| arrived.push(slot, packet()));
                    Ok(offered.min(*used))
                });
                filled.map(|()| (offered, batch.is_drained())).unwrap()
            };
            used.iter().map(offer).collect::<Vec<_>>()
        };
        let one_by_one = offers(Notice::Again, &[1; 10]);
        assert_eq!(one_by_one[0], (2, true));
        assert!(one_by_one[1..8].iter().all(|offered| *offered == (1, true)));
        assert_eq!(one_by_one[8..], [(2, true), (1, true)]);
        let burst = offers(Notice::Again, &[1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
        assert_eq!(burst[7..], [(1, true), (2, false), (4, false), (8, false)]);
        assert!(offers(Notice::OnArrival, &[1; 10]).iter().all(|offered| *offered == (2, true)));
    }
}
