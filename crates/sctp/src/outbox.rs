//! From the core's `poll_transmit` to the socket, with what a full socket left over.

use sctp_core::{Ecn, Transmit};
use sctp_io::{Outgoing, PacketIo};
use virtual_time::Instant;

use crate::capture::Capture;

/// The buffer the core writes packets into, and the packets the socket had no room for.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    buffer: Vec<u8>,
    /// What `buffer` still holds, if the socket was full.
    unsent: Option<Unsent>,
}

#[derive(Debug)]
struct Unsent {
    transmit: Transmit,
    /// Octets of the buffer that are gone already.
    sent: usize,
}

impl Outbox {
    /// The socket is full: wait until it is writable.
    pub(crate) fn is_blocked(&self) -> bool {
        self.unsent.is_some()
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
        if let Some(Unsent { transmit, sent }) = self.unsent.take() {
            self.send(io, transmit, sent);
        }
        while self.unsent.is_none() {
            self.buffer.clear();
            let Some(transmit) = core.poll_transmit(now, &mut self.buffer) else { break };
            if let Some(capture) = capture.as_deref_mut() {
                capture.sent(now, io.local_address(), &outgoing(&transmit, &self.buffer));
            }
            self.send(io, transmit, 0);
        }
        if let Some(capture) = capture {
            capture.flush();
        }
    }

    fn send(&mut self, io: &dyn PacketIo, transmit: Transmit, sent: usize) {
        let mut packets = outgoing(&transmit, self.buffer.get(sent..).unwrap_or_default());
        if let Err(error) = io.send(&mut packets)
            && error.kind() == std::io::ErrorKind::WouldBlock
        {
            let sent = self.buffer.len() - packets.contents.len();
            self.unsent = Some(Unsent { transmit, sent });
        }
    }
}

fn outgoing<'a>(transmit: &Transmit, contents: &'a [u8]) -> Outgoing<'a> {
    let Transmit { source, destination, segment_bytes, .. } = *transmit;
    Outgoing { destination, source, ecn: Ecn::NotEct, contents, segment_bytes }
}
