//! A packet as received: the common header, and a walk over its chunks.

use core::fmt;
use core::iter::FusedIterator;

use crate::checksum::{self, KnownHeader};
use crate::chunk::{Chunk, Data, IData, Sack, UnknownChunk};
use crate::codepoints::ChunkType;
use crate::cursor::Cursor;
use crate::error::{DecodeError, Item, Layer};
use crate::numbers::{SctpPort, VerificationTag};

/// Octets of the common header (RFC 9260 §3.1).
pub const COMMON_HEADER_BYTES: usize = checksum::HEADER;

/// The treatment of the checksum by [`Packet::decode`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksum {
    /// A wrong one is an error. What every receiver does (RFC 9260 §6.8).
    Verify,
    /// The checksum is not looked at: the octets were checked already, or a method of RFC 9653 protects them.
    Ignore,
}

/// An SCTP packet, borrowed from the datagram it came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// The SCTP port of the sender.
    pub source_port: SctpPort,
    /// The SCTP port of the receiver.
    pub destination_port: SctpPort,
    /// The tag that proves the sender knows the association.
    pub verification_tag: VerificationTag,
    /// The checksum the packet carried, as a number; zero is a legal value (RFC 9653).
    pub checksum: u32,
    chunks: Cursor<'a>,
}

impl<'a> Packet<'a> {
    /// Reads the common header; the chunks are read as [`chunks`](Self::chunks) walks over them.
    ///
    /// # Errors
    ///
    /// Fewer than 12 octets, a port of 0, or (with [`Checksum::Verify`]) a checksum that does not fit. A
    /// receiver drops such a packet silently.
    pub fn decode(bytes: &'a [u8], checksum: Checksum) -> Result<Self, DecodeError> {
        match checksum {
            Checksum::Verify => Self::verify(bytes, &mut KnownHeader::default()),
            Checksum::Ignore => Self::read(bytes, |_header, _body| None),
        }
    }

    /// Decodes as [`decode`](Self::decode) does with [`Checksum::Verify`], for packets that come one after the
    /// other: the header of the last one is known, and mostly that of the next is equal.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub fn verify(bytes: &'a [u8], last: &mut KnownHeader) -> Result<Self, DecodeError> {
        Self::read(bytes, |header, body| Some(checksum::of_received(header, body, last)))
    }

    /// Reads the common header, if the checksum is the one expected.
    #[inline]
    fn read(
        bytes: &'a [u8],
        expect: impl FnOnce(&[u8; COMMON_HEADER_BYTES], &[u8]) -> Option<u32>,
    ) -> Result<Self, DecodeError> {
        let Some((header, body)) = bytes.split_first_chunk::<COMMON_HEADER_BYTES>() else {
            return Err(DecodeError::ShortPacket { length: bytes.len() });
        };
        let [s0, s1, d0, d1, t0, t1, t2, t3, c0, c1, c2, c3] = *header;
        let found = u32::from_le_bytes([c0, c1, c2, c3]);
        if let Some(expected) = expect(header, body)
            && expected != found
        {
            return Err(DecodeError::Checksum { expected, found });
        }
        let port = |octets, offset| {
            SctpPort::new(u16::from_be_bytes(octets)).ok_or(DecodeError::ZeroPort { offset })
        };
        Ok(Self {
            source_port: port([s0, s1], 0)?,
            destination_port: port([d0, d1], 2)?,
            verification_tag: VerificationTag::new(u32::from_be_bytes([t0, t1, t2, t3])),
            checksum: found,
            chunks: Cursor::new(body, COMMON_HEADER_BYTES),
        })
    }

    /// Walks over the chunks in the order they stand in the packet.
    #[must_use]
    pub const fn chunks(&self) -> Chunks<'a> {
        Chunks { cursor: self.chunks }
    }

    /// Returns the malformed chunk that `error` of the walk over [`chunks`](Self::chunks) is about, as it came;
    /// `None` if it has no sound length.
    ///
    /// A receiver that does not speak the chunk's type does what the type says, whatever is in it.
    #[must_use]
    pub fn undecoded(&self, error: &DecodeError) -> Option<UnknownChunk<'a>> {
        let DecodeError::Body { item: Item::Chunk(_), offset, .. } = error else { return None };
        self.chunks.tlv_at(Layer::Chunk, *offset).map(UnknownChunk::of)
    }
}

impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {} tag={}", self.source_port, self.destination_port, self.verification_tag)?;
        for chunk in self.chunks() {
            match chunk {
                Ok(chunk) => write!(f, " | {chunk}")?,
                Err(error) => write!(f, " | malformed: {error}")?,
            }
        }
        Ok(())
    }
}

/// The chunks of a packet, one after the other.
///
/// A chunk whose length is sound but whose content is not gives one error, and the walk goes on; a length
/// that cannot be right ends the walk after its error ([`DecodeError::ends_walk`]).
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Chunks<'a> {
    /// Returns the octets of the chunks not yet walked over, padding included.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// The types of the chunks not yet walked over, whatever is in these; one whose length cannot be right is the last.
    pub fn kinds(&self) -> impl Iterator<Item = ChunkType> + use<'a> {
        let mut ahead = self.clone();
        core::iter::from_fn(move || {
            let kind = ahead.rest().first().map(|kind| ChunkType::new(*kind))?;
            ahead.skip_next();
            Some(kind)
        })
    }

    /// Steps over the next chunk without a look at what is in it; to the end if its length cannot be right.
    #[inline]
    pub fn skip_next(&mut self) {
        let _header = self.cursor.tlv(Layer::Chunk);
    }

    /// Returns the next chunk, if it is a sound DATA chunk: what most chunks are is read without detours.
    /// Otherwise the walk stays where it is, and [`next`](Self::next) says what stands there.
    #[inline]
    pub fn next_data(&mut self) -> Option<Data<'a>> {
        let (flags, value) = self.cursor.front(ChunkType::DATA)?;
        let data = Data::read(flags, value)?;
        self.cursor.pass(value);
        Some(data)
    }

    /// Returns the next chunk, if it is a sound SACK without gap ack blocks and duplicates, as most are; otherwise the walk stays where
    /// it is.
    #[inline]
    pub fn next_cumulative_sack(&mut self) -> Option<Sack<'static>> {
        let (_flags, value) = self.cursor.front(ChunkType::SACK)?;
        let sack = Sack::read_cumulative(value)?;
        self.cursor.pass(value);
        Some(sack)
    }

    /// Returns the next chunk, if it is a sound I-DATA chunk; otherwise the walk stays where it is.
    #[inline]
    pub fn next_i_data(&mut self) -> Option<IData<'a>> {
        let (flags, value) = self.cursor.front(ChunkType::I_DATA)?;
        let data = IData::read(flags, value, self.cursor.rest())?;
        self.cursor.pass(value);
        Some(data)
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let tlv = match self.cursor.tlv(Layer::Chunk)? {
            Ok(tlv) => tlv,
            Err(error) => return Some(Err(error)),
        };
        Some(Chunk::decode(tlv).map_err(|flaw| {
            let item: Item = Layer::Chunk.item(tlv.head);
            DecodeError::Body { item, offset: tlv.offset, flaw }
        }))
    }
}

impl FusedIterator for Chunks<'_> {}

#[cfg(test)]
mod tests;
