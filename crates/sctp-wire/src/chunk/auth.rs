//! AUTH: what follows it comes from who knows the key (RFC 4895 §5.1).

use core::fmt::{self, Display, Formatter};
use core::iter::once;

use crate::codepoints::HmacId;
use crate::cursor::{Cursor, Tlv};
use crate::error::Flaw;
use crate::numbers::SharedKeyId;

/// An AUTH chunk: the HMAC over all chunks behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Auth<'a> {
    /// The endpoint pair shared key that went into the key of the HMAC.
    pub key: SharedKeyId,
    /// The algorithm; known ones by [`HmacAlgorithm::of`].
    pub hmac_id: HmacId,
    /// The HMAC as it came, of whatever length.
    pub hmac: &'a [u8],
    pub(super) raw: &'a [u8],
    behind: &'a [u8],
}

impl<'a> Auth<'a> {
    /// Octets of an AUTH chunk before its HMAC, chunk header included.
    pub const HEADER_BYTES: usize = 8;

    pub(super) fn decode(mut cursor: Cursor<'a>, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let key = SharedKeyId::new(cursor.u16()?);
        let hmac_id = HmacId::new(cursor.u16()?);
        Ok(Self { key, hmac_id, hmac: cursor.rest(), raw: tlv.raw, behind: tlv.behind })
    }

    /// Returns what the HMAC covers, piece by piece: the AUTH chunk with zeros for its HMAC, then the rest of
    /// the packet as it came, padding included (RFC 4895 §6.2).
    ///
    /// ```
    /// use sctp_wire::{Checksum, Chunk, Packet};
    ///
    /// # fn main() -> Result<(), sctp_wire::DecodeError> {
    /// let datagram = [19, 137, 29, 202, 0, 0, 0, 7, 0, 0, 0, 0, 15, 0, 0, 10, 0, 0, 0, 1, 8, 9, 0, 0, 11, 0, 0, 4];
    /// let packet = Packet::decode(&datagram, Checksum::Ignore)?;
    /// let Some(Ok(Chunk::Auth(auth))) = packet.chunks().next() else { panic!("AUTH comes first") };
    /// let covered: Vec<u8> = auth.authenticated_octets().flatten().copied().collect();
    /// assert_eq!(covered, [15, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 0, 11, 0, 0, 4]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn authenticated_octets(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let header = self.raw.get(..Self::HEADER_BYTES).unwrap_or_default();
        let zeros = self.hmac.chunks(ZEROS.len()).map(|part| &ZEROS[..part.len()]);
        once(header).chain(zeros).chain(once(self.behind))
    }
}

impl Display for Auth<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "key={} {} {} B", self.key, self.hmac_id, self.hmac.len())
    }
}

/// The ways to compute an HMAC that have a meaning (RFC 4895 §3.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HmacAlgorithm {
    /// Every implementation knows it.
    Sha1,
    /// HMAC-SHA-256, the stronger one.
    Sha256,
}

impl HmacAlgorithm {
    /// Octets of the longest HMAC.
    pub(crate) const MOST_BYTES: usize = 32;

    /// Creates the algorithm with this identifier, if it is one of these.
    #[must_use]
    pub const fn of(id: HmacId) -> Option<Self> {
        match id {
            HmacId::SHA_1 => Some(Self::Sha1),
            HmacId::SHA_256 => Some(Self::Sha256),
            _ => None,
        }
    }

    /// Returns the number the algorithm has on the wire.
    #[must_use]
    pub const fn id(self) -> HmacId {
        match self {
            Self::Sha1 => HmacId::SHA_1,
            Self::Sha256 => HmacId::SHA_256,
        }
    }

    /// Returns the number of octets of its HMAC.
    #[must_use]
    pub const fn hmac_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => Self::MOST_BYTES,
        }
    }

    /// Returns the number of octets an AUTH chunk with it takes in a packet.
    #[must_use]
    pub const fn chunk_bytes(self) -> usize {
        Auth::HEADER_BYTES + self.hmac_bytes()
    }
}

static ZEROS: [u8; HmacAlgorithm::MOST_BYTES] = [0; HmacAlgorithm::MOST_BYTES];
