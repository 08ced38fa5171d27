//! Control chunks that wait for a packet to the peer.

use sctp_wire::{ChunkBuf, Full, VerificationTag};

use super::Outbound;
use crate::association::control::{Bundling, ControlChunk};
use crate::association::session::Session;
use crate::transmit::PathIndex;

impl Outbound {
    /// Queues a control chunk that may share its packet. It goes on this path, or on another one if only HEARTBEATs and their
    /// answers may go there.
    pub(in crate::association) fn push(
        &mut self,
        path: PathIndex,
        session: &mut Session,
        chunk: Result<ChunkBuf, Full>,
    ) {
        self.push_on(self.permitted(path), session, chunk);
    }

    /// Queues a control chunk that may share its packet and go to an address that is not confirmed.
    pub(in crate::association) fn push_on(
        &mut self,
        path: PathIndex,
        session: &mut Session,
        chunk: Result<ChunkBuf, Full>,
    ) {
        self.queue((path, session.tag_of_peer()), Bundling::Bundled, session, chunk);
    }

    /// Queues a control chunk behind which nothing stands in its packet, for where chunks may go.
    pub(in crate::association) fn push_alone(
        &mut self,
        path: PathIndex,
        session: &mut Session,
        chunk: Result<ChunkBuf, Full>,
    ) {
        self.queue((self.permitted(path), session.tag_of_peer()), Bundling::Alone, session, chunk);
    }

    /// Queues a control chunk for a packet with this tag, which need not be the one that the session keeps; one that could not be
    /// encoded, or for which there is no room, is counted and dropped.
    pub(in crate::association) fn queue(
        &mut self,
        (path, tag): (PathIndex, VerificationTag),
        bundling: Bundling,
        session: &mut Session,
        chunk: Result<ChunkBuf, Full>,
    ) {
        let queued = chunk.is_ok_and(|chunk| self.control.push(ControlChunk { path, tag, chunk, bundling }));
        if !queued {
            session.counters.note().control_dropped += 1;
        }
    }
}
