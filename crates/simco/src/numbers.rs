//! The numbers that stand on the wire, one type each.

use core::fmt;
use core::time::Duration;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(u32);

        impl $name {
            /// Octets on the wire.
            pub const BYTES: usize = 4;

            /// Number `value`.
            #[must_use]
            pub const fn new(value: u32) -> Self {
                Self(value)
            }

            /// The plain number.
            #[must_use]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The number after this one; after the last comes 1, for 0 stays unused.
            #[must_use]
            pub const fn next(self) -> Self {
                match self.0.checked_add(1) {
                    Some(next) => Self(next),
                    None => Self(1),
                }
            }

            /// The four octets on the wire.
            #[must_use]
            pub const fn to_octets(self) -> [u8; 4] {
                self.0.to_be_bytes()
            }

            /// From the four octets on the wire.
            #[must_use]
            pub const fn from_octets(octets: [u8; 4]) -> Self {
                Self(u32::from_be_bytes(octets))
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
    /// Transaction identifier (TID) of a request and its reply, or of a notification (RFC 4540 §4.1).
    ///
    /// Requests and notifications have separate number spaces, told apart by the basic type.
    TransactionId
}
identifier! {
    /// Policy rule identifier (PID, RFC 4540 §4.2.5): chosen by the middlebox, unique there.
    PolicyRuleId
}
identifier! {
    /// Group identifier (GID, RFC 4540 §4.2.6): chosen by the middlebox, alive while the group has members.
    GroupId
}

/// Lifetime of a policy rule in whole seconds (RFC 4540 §4.2.7); zero means deleted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lifetime(u32);

impl Lifetime {
    /// The lifetime zero, which deletes a rule.
    pub const ZERO: Self = Self(0);

    /// Creates a lifetime of `seconds` seconds.
    #[must_use]
    pub const fn from_secs(seconds: u32) -> Self {
        Self(seconds)
    }

    /// Returns the lifetime in seconds.
    #[must_use]
    pub const fn as_secs(self) -> u32 {
        self.0
    }

    /// Returns whether it means deletion.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the lifetime as a span of time.
    #[must_use]
    pub const fn span(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }

    /// Creates the lifetime to report for what remains: rounded up, so that a living rule never seems deleted.
    #[must_use]
    pub fn remaining(span: Duration) -> Self {
        let whole = span.as_secs() + u64::from(span.subsec_nanos() != 0);
        Self(u32::try_from(whole).unwrap_or(u32::MAX))
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0)
    }
}

/// A transport protocol by its IANA number (RFC 4540 §4.2.9); 0 stands for all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TransportProtocol(u8);

impl TransportProtocol {
    /// The number that stands for every protocol.
    pub const ANY: Self = Self(0);
    /// The number of ICMP among the protocols over IP.
    pub const ICMP: Self = Self(1);
    /// The number of TCP among the protocols over IP.
    pub const TCP: Self = Self(6);
    /// The number of UDP among the protocols over IP.
    pub const UDP: Self = Self(17);
    /// The number of DCCP among the protocols over IP.
    pub const DCCP: Self = Self(33);
    /// The number of SCTP among the protocols over IP.
    pub const SCTP: Self = Self(132);
    /// The number of UDP-Lite among the protocols over IP.
    pub const UDP_LITE: Self = Self(136);

    /// Creates the protocol with the IANA number `number`.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the IANA number of the protocol.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns whether every protocol is meant.
    #[must_use]
    pub const fn is_any(self) -> bool {
        self.0 == 0
    }

    /// Returns whether its packets carry port numbers.
    #[must_use]
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::DCCP | Self::SCTP | Self::UDP_LITE)
    }

    /// Returns whether packets of this protocol can be packets of `other`.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.is_any() || other.is_any() || self.0 == other.0
    }
}

impl fmt::Display for TransportProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("any"),
            Self::ICMP => f.write_str("icmp"),
            Self::TCP => f.write_str("tcp"),
            Self::UDP => f.write_str("udp"),
            Self::DCCP => f.write_str("dccp"),
            Self::SCTP => f.write_str("sctp"),
            Self::UDP_LITE => f.write_str("udplite"),
            Self(other) => other.fmt(f),
        }
    }
}

/// A stream of an SCTP association, or 0 over a byte stream.
///
/// A type of its own, because this crate does not know SCTP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StreamNumber(u16);

impl StreamNumber {
    /// The stream of session control.
    pub const CONTROL: Self = Self(0);

    /// Creates the stream number `number`.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Returns the stream as a plain number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for StreamNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
