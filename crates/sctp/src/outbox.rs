//! The step from the core's `poll_transmit` to the socket, with what a full socket left over.
//!
//! The core hands out packet after packet; the kernel takes many of one size for one destination in a single call
//! (GSO). The outbox gathers such runs in one buffer.

use std::collections::VecDeque;

use sctp_core::{Ecn, Transmit};
use sctp_io::{Outgoing, PacketIo};
use virtual_time::Instant;

use crate::capture::Capture;

/// Packets between core and socket.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Octets of all runs, back to back.
    buffer: Vec<u8>,
    runs: VecDeque<Run>,
    /// Octets of the buffer that the socket took.
    sent: usize,
    /// The core's descriptions of what it wrote; kept for its memory.
    transmits: Vec<Transmit>,
    /// How long the last packet was: the next ones are expected to be alike.
    packet_bytes: usize,
}

impl Outbox {
    /// Returns whether the socket is full, and the driver has to wait until it is writable.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Sends until the core has nothing more or the socket is full.
    ///
    /// Other errors concern one destination; the socket counts them and the protocol treats them as loss.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        core: &mut sctp_core::Endpoint,
        io: &dyn PacketIo,
        mut capture: Option<&mut Capture>,
    ) {
        loop {
            self.send(io);
            if self.is_blocked() || !core.may_transmit() {
                break;
            }
            self.gather(now, core, |packets| {
                if let Some(capture) = capture.as_deref_mut() {
                    capture.sent(now, io.local_address(), packets);
                }
            });
            if self.runs.is_empty() {
                break;
            }
        }
        if let Some(capture) = capture {
            capture.flush();
        }
    }

    /// Takes packets from the core, about as many as one call may carry.
    fn gather(&mut self, now: Instant, core: &mut sctp_core::Endpoint, mut look: impl FnMut(&Outgoing<'_>)) {
        self.buffer.clear();
        self.sent = 0;
        let mut transmits = std::mem::take(&mut self.transmits);
        let limit = GATHERED_BYTES / self.packet_bytes.max(SHORTEST_COUNTED_BYTES);
        core.transmit_many(now, limit.max(1), &mut self.buffer, &mut transmits);
        let mut start = 0;
        for transmit in transmits.drain(..) {
            let end = start + transmit.len;
            look(&outgoing(&transmit, &self.buffer[start..end]));
            start = end;
            self.packet_bytes = transmit.segment_bytes.unwrap_or(transmit.len);
            if !self.runs.back_mut().is_some_and(|run| run.extend(&transmit)) {
                self.runs.push_back(Run::new(transmit));
            }
        }
        self.transmits = transmits;
    }

    fn send(&mut self, io: &dyn PacketIo) {
        while let Some(run) = self.runs.front_mut() {
            let contents = &self.buffer[self.sent..self.sent + run.transmit.len];
            let mut packets = outgoing(&run.transmit, contents);
            if let Err(error) = io.send(&mut packets)
                && error.kind() == std::io::ErrorKind::WouldBlock
            {
                self.sent += run.transmit.len - packets.contents.len();
                run.transmit.len = packets.contents.len();
                break;
            }
            self.sent += run.transmit.len;
            self.runs.pop_front();
        }
    }
}

/// Packets for one destination, all of one size but perhaps the last.
#[derive(Debug)]
struct Run {
    /// All of them as one; `len` is what is left to send.
    transmit: Transmit,
    /// Whether another packet fits behind the last.
    is_open: bool,
}

impl Run {
    fn new(transmit: Transmit) -> Self {
        Self { transmit, is_open: transmit.segment_bytes.is_none() }
    }

    /// Appends a packet that lies behind this run in the buffer; false if it cannot be part of it.
    fn extend(&mut self, next: &Transmit) -> bool {
        let segment = self.transmit.segment_bytes.unwrap_or(self.transmit.len);
        let same_way = (self.transmit.source, self.transmit.destination) == (next.source, next.destination);
        let same_kind = (self.transmit.fragmentation, self.transmit.dscp) == (next.fragmentation, next.dscp);
        let fits =
            self.is_open && same_way && same_kind && next.segment_bytes.is_none() && next.len <= segment;
        if fits {
            self.transmit.segment_bytes = Some(segment);
            self.transmit.len += next.len;
            self.is_open = next.len == segment;
        }
        fits
    }
}

fn outgoing<'a>(transmit: &Transmit, contents: &'a [u8]) -> Outgoing<'a> {
    let Transmit { source, destination, fragmentation, dscp, segment_bytes, path: _, len: _ } = *transmit;
    Outgoing { destination, source, ecn: Ecn::NotEct, dscp, fragmentation, contents, segment_bytes }
}

/// The octets that are taken from the core before they are sent: what one call with segmentation offload
/// carries.
const GATHERED_BYTES: usize = 65_000;
/// No more packets go with one call than so many octets would make.
const SHORTEST_COUNTED_BYTES: usize = 1_016;

#[cfg(test)]
mod tests {
    use sctp_core::{Destination, Dscp, Encapsulation, Fragmentation, PathId};

    use super::*;

    fn single(last_octet: u8, len: usize) -> Transmit {
        let encapsulation = Encapsulation::Udp { port: 9899 };
        let destination = Destination { address: [192, 0, 2, last_octet].into(), encapsulation };
        let fragmentation = Fragmentation::Forbidden;
        let (path, dscp) = (PathId::FIRST, Dscp::CS0);
        Transmit { path, source: None, destination, len, segment_bytes: None, fragmentation, dscp }
    }

    #[test]
    fn a_run_takes_equal_packets_and_one_shorter() {
        let mut run = Run::new(single(1, 1_000));
        assert!(run.extend(&single(1, 1_000)));
        assert!(run.extend(&single(1, 400)));
        assert!(!run.extend(&single(1, 400)), "the shorter one is the last");
        assert_eq!((run.transmit.len, run.transmit.segment_bytes), (2_400, Some(1_000)));
    }

    #[test]
    fn a_run_ends_at_a_longer_packet_another_destination_or_a_ready_made_run() {
        let mut run = Run::new(single(1, 1_000));
        assert!(!run.extend(&single(1, 1_001)));
        assert!(!run.extend(&single(2, 1_000)));
        let ready_made = Transmit { segment_bytes: Some(500), ..single(1, 1_000) };
        assert!(!run.extend(&ready_made));
        assert!(!Run::new(ready_made).extend(&single(1, 500)));
        let other_kind = Transmit { fragmentation: Fragmentation::Allowed, ..single(1, 1_000) };
        assert!(!run.extend(&other_kind));
        assert!(!run.extend(&Transmit { dscp: Dscp::CS5, ..single(1, 1_000) }));
    }
}
