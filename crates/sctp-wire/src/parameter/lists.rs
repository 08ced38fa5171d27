//! Lists that parameters and causes hold: parameter types, streams, chunk types, HMAC identifiers.

use core::fmt::{self, Display, Formatter};

use crate::codepoints::{ChunkType, HmacId, ParameterType};
use crate::error::Flaw;
use crate::list::{Bracketed, wire_list};
use crate::numbers::StreamId;

wire_list! {
    /// A list of parameter types: address families, or what is missing.
    ///
    /// ```
    /// use sctp_wire::{ParameterType, ParameterTypes};
    ///
    /// let wire = [ParameterType::IPV4_ADDRESS.to_wire(), ParameterType::IPV6_ADDRESS.to_wire()];
    /// assert_eq!(ParameterTypes::new(&wire).to_string(), "[IPv4, IPv6]");
    /// ```
    ParameterTypes of ParameterType
}
wire_list! {
    /// Streams to reset; an empty list means all of them (RFC 6525 §4.1, §4.2).
    StreamIds of StreamId
}
wire_list! {
    /// Message authentication codes its sender can verify, the preferred one first (RFC 4895 §3.3).
    HmacIds of HmacId
}

impl ParameterTypes<'_> {
    /// The list that holds only IPv4.
    pub const IPV4: ParameterTypes<'static> = ParameterTypes(&[ParameterType::IPV4_ADDRESS.to_wire()]);
    /// The list that holds only IPv6.
    pub const IPV6: ParameterTypes<'static> = ParameterTypes(&[ParameterType::IPV6_ADDRESS.to_wire()]);
    /// The list that holds both families.
    pub const IPV4_AND_IPV6: ParameterTypes<'static> =
        ParameterTypes(&[ParameterType::IPV4_ADDRESS.to_wire(), ParameterType::IPV6_ADDRESS.to_wire()]);
    /// The one parameter an INIT ACK cannot do without.
    pub const STATE_COOKIE: ParameterTypes<'static> =
        ParameterTypes(&[ParameterType::STATE_COOKIE.to_wire()]);
}

impl HmacIds<'_> {
    /// The list that holds only the algorithm every implementation knows (RFC 4895 §3.3).
    pub const SHA_1: HmacIds<'static> = HmacIds(&[HmacId::SHA_1.to_wire()]);
    /// The list that prefers SHA-256 to SHA-1.
    pub const SHA_256_AND_SHA_1: HmacIds<'static> =
        HmacIds(&[HmacId::SHA_256.to_wire(), HmacId::SHA_1.to_wire()]);
}

/// A list of chunk types: extensions spoken, or chunks that have to be authenticated.
///
/// ```
/// use sctp_wire::{ChunkType, ChunkTypes};
///
/// let wire = [ChunkType::RE_CONFIG.get(), ChunkType::FORWARD_TSN.get()];
/// let spoken = ChunkTypes::new(&wire);
/// assert!(spoken.contains(ChunkType::RE_CONFIG) && !spoken.contains(ChunkType::ASCONF));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkTypes<'a>(&'a [u8]);

impl<'a> ChunkTypes<'a> {
    /// Creates the list of these types, each as [`ChunkType::get`] gives it.
    #[must_use]
    pub const fn new(types: &'a [u8]) -> Self {
        Self(types)
    }

    /// Returns the types, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ChunkType> + Clone + use<'a> {
        self.0.iter().map(|&kind| ChunkType::new(kind))
    }

    /// Returns whether the list holds no type.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `kind` is in it.
    #[must_use]
    pub fn contains(&self, kind: ChunkType) -> bool {
        self.0.contains(&kind.get())
    }

    /// Returns the list as it is encoded on the wire.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// A set of chunk types, of any of which it takes one step to say whether it is in it.
///
/// ```
/// use sctp_wire::{ChunkSet, ChunkType};
///
/// let set = ChunkSet::from_iter([ChunkType::ASCONF, ChunkType::ASCONF_ACK]);
/// assert!(set.contains(ChunkType::ASCONF) && !set.contains(ChunkType::DATA));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkSet {
    bits: [u64; 4],
}

impl ChunkSet {
    /// The set that holds no type.
    pub const EMPTY: Self = Self { bits: [0; 4] };

    /// Returns whether `kind` is in it.
    #[must_use]
    pub const fn contains(&self, kind: ChunkType) -> bool {
        let kind = kind.get() as usize;
        self.bits[kind / 64] >> (kind % 64) & 1 == 1
    }

    /// Returns whether the set holds no type.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Returns the types in it, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = ChunkType> + use<> {
        let first = [0, 64, 128, 192];
        first
            .into_iter()
            .zip(self.bits)
            .flat_map(|(first, bits)| set_bits(bits).map(move |bit| first + bit))
            .map(ChunkType::new)
    }
}

/// Returns the numbers of the bits that are set, ascending.
fn set_bits(bits: u64) -> impl Iterator<Item = u8> {
    let mut left = bits;
    core::iter::from_fn(move || {
        // 64 for no bit.
        let lowest = u8::try_from(left.trailing_zeros()).ok().filter(|_| left != 0)?;
        left &= left - 1;
        Some(lowest)
    })
}

impl FromIterator<ChunkType> for ChunkSet {
    fn from_iter<I: IntoIterator<Item = ChunkType>>(types: I) -> Self {
        types.into_iter().fold(Self::EMPTY, |mut set, kind| {
            let kind = usize::from(kind.get());
            set.bits[kind / 64] |= 1 << (kind % 64);
            set
        })
    }
}

/// As data: the list of the numbers of its types.
#[cfg(feature = "serde")]
impl serde::Serialize for ChunkSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for ChunkSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <Vec<ChunkType> as serde::Deserialize>::deserialize(deserializer).map(Self::from_iter)
    }
}

impl fmt::Debug for ChunkSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Display for ChunkTypes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Bracketed(", ", self.iter()).fmt(f)
    }
}
