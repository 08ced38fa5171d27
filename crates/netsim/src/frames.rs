//! The packets on their way, in recycled memory.

use std::net::IpAddr;

use crate::host::Protocol;

/// All packets on links. A frame that is done with lends its buffer to the next one, so that a world in steady
/// state allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    slots: Vec<Frame>,
    free: Vec<FrameId>,
}

impl Frames {
    /// Takes a frame out of the store, with an empty payload and no reference.
    pub(crate) fn claim(&mut self) -> FrameId {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Frame::default());
            FrameId(self.slots.len() - 1)
        })
    }

    pub(crate) fn frame(&self, id: FrameId) -> &Frame {
        &self.slots[id.0]
    }

    pub(crate) fn frame_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.slots[id.0]
    }

    /// Copies a frame, with other content.
    pub(crate) fn copy_damaged(&mut self, id: FrameId, payload: &[u8], digest: u64) -> FrameId {
        let copy = self.claim();
        let Frame { source, destination, protocol, hops, .. } = self.slots[id.0];
        let frame = &mut self.slots[copy.0];
        (frame.source, frame.destination, frame.protocol, frame.hops) = (source, destination, protocol, hops);
        (frame.digest, frame.is_damaged) = (digest, true);
        frame.payload.extend_from_slice(payload);
        copy
    }

    /// Gives back one reference; the last one frees the frame.
    pub(crate) fn release(&mut self, id: FrameId) {
        let frame = &mut self.slots[id.0];
        frame.references = frame.references.saturating_sub(1);
        if frame.references == 0 {
            frame.payload.clear();
            (frame.is_damaged, frame.hops) = (false, 0);
            self.free.push(id);
        }
    }
}

/// The number of a frame, which is what a link carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameId(usize);

/// An IP packet whose headers are not written out.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: Protocol,
    pub(crate) payload: Vec<u8>,
    /// The digest of the payload as it was sent.
    pub(crate) digest: u64,
    /// A bit of it flipped on an earlier link of its way.
    pub(crate) is_damaged: bool,
    /// Routers it has gone through.
    pub(crate) hops: u8,
    /// How many deliveries are to come: two for a packet the link duplicates.
    pub(crate) references: usize,
}

impl Frame {
    pub(crate) fn wire_bytes(&self) -> usize {
        self.protocol.overhead_bytes(self.destination) + self.payload.len()
    }
}

impl Default for Frame {
    fn default() -> Self {
        let unspecified = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        Self {
            source: unspecified,
            destination: unspecified,
            protocol: Protocol::Sctp,
            payload: Vec::new(),
            digest: 0,
            is_damaged: false,
            hops: 0,
            references: 0,
        }
    }
}
