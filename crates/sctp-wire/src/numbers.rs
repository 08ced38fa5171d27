//! The numbers that stand on the wire, one type each, so that none is taken for another.
//!
//! Serial numbers wrap around and therefore have no order: [`Tsn::precedes`] and [`Tsn::distance`] take the
//! place of `<` and `-` (RFC 1982 §3.2, RFC 9260 §1.6). Identifiers that are only looked up do have one.

use core::fmt;
use core::num::NonZeroU16;

macro_rules! serial_number {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name($int);

        impl $name {
            /// Creates the number `value`.
            #[must_use]
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the plain number.
            #[must_use]
            pub const fn get(self) -> $int {
                self.0
            }

            /// Returns whether this number comes before `other` in serial number arithmetic.
            ///
            /// False for equal numbers and for two numbers exactly half the space apart, whose order
            /// RFC 1982 leaves undefined.
            #[must_use]
            pub const fn precedes(self, other: Self) -> bool {
                let ahead = self.distance(other);
                ahead != 0 && ahead < 1 << (<$int>::BITS - 1)
            }

            /// Returns the number of steps that lead from this number forward to `later`, wrapping.
            #[must_use]
            pub const fn distance(self, later: Self) -> $int {
                later.0.wrapping_sub(self.0)
            }

            /// Returns the number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                self.advance(1)
            }

            /// Returns the number before this one.
            #[must_use]
            pub const fn previous(self) -> Self {
                Self(self.0.wrapping_sub(1))
            }

            /// Returns the number `steps` after this one.
            #[must_use]
            pub const fn advance(self, steps: $int) -> Self {
                Self(self.0.wrapping_add(steps))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

serial_number! {
    /// Transmission sequence number of a DATA or I-DATA chunk (RFC 9260 §3.3.1).
    Tsn(u32)
}
serial_number! {
    /// Stream sequence number of an ordered message in its stream (RFC 9260 §3.3.1).
    Ssn(u16)
}
serial_number! {
    /// The message identifier of an interleavable message in its stream (RFC 8260 §2.1).
    Mid(u32)
}
serial_number! {
    /// The fragment sequence number in an interleavable message (RFC 8260 §2.1).
    Fsn(u32)
}

serial_number! {
    /// The number of an ASCONF and of the ASCONF-ACK that answers it (RFC 5061 §4.1.1).
    AsconfSerial(u32)
}
serial_number! {
    /// The number of a re-configuration request and of the response to it (RFC 6525 §4.1).
    ReconfigSequence(u32)
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name($int);

        impl $name {
            /// Creates the number `value`.
            #[must_use]
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the plain number.
            #[must_use]
            pub const fn get(self) -> $int {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

identifier! {
    /// The number of a stream of an association, in one direction (RFC 9260 §3.3.1).
    StreamId(u16)
}
identifier! {
    /// The number of the endpoint pair shared key with which an AUTH chunk was computed; 0 without one (RFC 4895 §5.1).
    SharedKeyId(u16)
}
identifier! {
    /// A number that ties the answer in an ASCONF-ACK to the request in an ASCONF (RFC 5061 §4.2.1).
    CorrelationId(u32)
}

impl StreamId {
    /// Returns the two octets that stand on the wire, for building a [`StreamIds`](crate::StreamIds).
    #[must_use]
    pub const fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}

impl From<[u8; 2]> for StreamId {
    fn from(octets: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(octets))
    }
}

/// The verification tag of a packet, or the initiate tag that asks for it (RFC 9260 §3.1, §8.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VerificationTag(u32);

impl VerificationTag {
    /// The tag of a packet that carries an INIT, and of nothing else.
    pub const ZERO: Self = Self(0);

    /// Creates the tag `value`, which may be zero.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// Returns the tag as a plain number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for VerificationTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// A port of SCTP, never zero (RFC 9260 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SctpPort(NonZeroU16);

impl SctpPort {
    /// Creates the port `value`; `None` for zero.
    #[must_use]
    pub const fn new(value: u16) -> Option<Self> {
        match NonZeroU16::new(value) {
            Some(port) => Some(Self(port)),
            None => None,
        }
    }

    /// Returns the port as a plain number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl From<NonZeroU16> for SctpPort {
    fn from(port: NonZeroU16) -> Self {
        Self(port)
    }
}

impl TryFrom<u16> for SctpPort {
    type Error = ZeroPort;

    fn try_from(value: u16) -> Result<Self, ZeroPort> {
        Self::new(value).ok_or(ZeroPort)
    }
}

impl fmt::Display for SctpPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Port 0 was given where SCTP needs a port of 1 to 65535.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("port 0 is not an SCTP port: use 1 to 65535")]
pub struct ZeroPort;

#[cfg(test)]
mod tests;
