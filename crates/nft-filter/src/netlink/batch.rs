//! A transaction under construction.

use super::attributes::Attributes;
use super::codes::{ACKNOWLEDGE, BATCH_BEGIN, BATCH_END, BATCH_GENERATION, INET, REQUEST, SUBSYSTEM};

/// Messages that take effect together or not at all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    octets: Vec<u8>,
    /// The last message: the one that the kernel acknowledges.
    last: usize,
    messages: u32,
    /// Sequence number of the batch itself; its messages count on from here.
    base: u32,
    is_finished: bool,
}

impl Batch {
    /// Starts anew, in the same memory.
    pub(crate) fn begin(&mut self, base: u32) {
        self.octets.clear();
        self.messages = 0;
        self.base = base;
        self.is_finished = false;
        frame(&mut self.octets, BATCH_BEGIN, REQUEST, base, Some(SUBSYSTEM), |attributes| {
            attributes.u32(BATCH_GENERATION, 0);
        });
    }

    /// The generation of all tables that the batch builds on: if it is another one by then the kernel refuses
    /// (`ERESTART`). 0, as from the beginning, is any.
    pub(crate) fn expect_generation(&mut self, generation: u32) {
        self.octets[GENERATION_AT..GENERATION_AT + 4].copy_from_slice(&generation.to_be_bytes());
    }

    /// Returns how many messages it has.
    pub(crate) const fn len(&self) -> u32 {
        self.messages
    }

    /// Returns how many octets it has.
    pub(crate) const fn bytes(&self) -> usize {
        self.octets.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Returns the sequence number of the batch itself.
    pub(crate) const fn base(&self) -> u32 {
        self.base
    }

    /// Returns the sequence number of the last message.
    pub(crate) const fn last_sequence(&self) -> u32 {
        self.base.wrapping_add(self.messages)
    }

    /// Appends a message of nftables.
    pub(crate) fn message(&mut self, kind: u8, flags: u16, write: impl FnOnce(&mut Attributes<'_>)) {
        self.last = self.octets.len();
        self.messages += 1;
        let sequence = self.last_sequence();
        frame(&mut self.octets, nftables(kind), REQUEST | flags, sequence, None, write);
    }

    /// Closes the batch and asks for an acknowledgement of its last message. Finished, it may be sent again.
    pub(crate) fn finish(&mut self) -> &[u8] {
        if core::mem::replace(&mut self.is_finished, true) {
            return &self.octets;
        }
        let at = self.last + FLAGS_AT;
        let flags = u16::from_ne_bytes([self.octets[at], self.octets[at + 1]]) | ACKNOWLEDGE;
        self.octets[at..at + 2].copy_from_slice(&flags.to_ne_bytes());
        let sequence = self.last_sequence().wrapping_add(1);
        frame(&mut self.octets, BATCH_END, REQUEST, sequence, Some(SUBSYSTEM), |_| {});
        &self.octets
    }
}

/// Returns the type of a netlink message to nftables.
pub(crate) const fn nftables(kind: u8) -> u16 {
    u16::from_be_bytes([SUBSYSTEM, kind])
}

/// Appends a netlink message with its netfilter header. `subsystem` goes where the frames of a batch name theirs.
pub(crate) fn frame(
    out: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    subsystem: Option<u8>,
    write: impl FnOnce(&mut Attributes<'_>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(&flags.to_ne_bytes());
    out.extend_from_slice(&sequence.to_ne_bytes());
    out.extend_from_slice(&[0; 4]);
    match subsystem {
        Some(subsystem) => out.extend_from_slice(&[0, 0, 0, subsystem]),
        None => out.extend_from_slice(&[INET, 0, 0, 0]),
    }
    write(&mut Attributes::new(out));
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

const FLAGS_AT: usize = 6;
/// The offset of the generation: behind the headers of netlink and netfilter, and the attribute's own.
const GENERATION_AT: usize = 16 + 4 + 4;
