//! INIT and INIT ACK, which share one layout (RFC 9260 §3.3.2, §3.3.3).

use crate::cursor::Cursor;
use crate::error::Flaw;
use crate::numbers::{Tsn, VerificationTag};
use crate::parameter::Parameters;

/// An INIT or INIT ACK chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Init<'a> {
    /// The tag its sender wants to see in every packet of the association.
    pub initiate_tag: VerificationTag,
    /// Octets its sender has set aside for receiving.
    pub a_rwnd: u32,
    /// Streams its sender wants to open.
    pub outbound_streams: u16,
    /// Streams its sender allows the peer at most.
    pub inbound_streams: u16,
    /// The TSN of its sender's first DATA chunk.
    pub initial_tsn: Tsn,
    /// Addresses, cookie, extensions; read as they are walked over.
    pub parameters: Parameters<'a>,
}

impl<'a> Init<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        Ok(Self {
            initiate_tag: VerificationTag::new(cursor.u32()?),
            a_rwnd: cursor.u32()?,
            outbound_streams: cursor.u16()?,
            inbound_streams: cursor.u16()?,
            initial_tsn: Tsn::new(cursor.u32()?),
            parameters: Parameters::from_cursor(cursor),
        })
    }

    /// Returns everything but the parameters, as the writer takes it.
    #[must_use]
    pub const fn header(&self) -> InitHeader {
        InitHeader {
            initiate_tag: self.initiate_tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
        }
    }
}

/// An INIT or INIT ACK without its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitHeader {
    /// The tag its sender wants to see in every packet of the association.
    pub initiate_tag: VerificationTag,
    /// Octets its sender has set aside for receiving.
    pub a_rwnd: u32,
    /// Streams its sender wants to open.
    pub outbound_streams: u16,
    /// Streams its sender allows the peer at most.
    pub inbound_streams: u16,
    /// The TSN of its sender's first DATA chunk.
    pub initial_tsn: Tsn,
}
