//! The transports of a comparison, as `--transport` names them.

use core::fmt;
use core::num::NonZeroU16;
use core::str::FromStr;
use core::time::Duration;

use thiserror::Error;
use workload::RetransmissionConfig;

/// One transport under test.
///
/// Grammar: `tcp`, `tcp:N` (N parallel connections), `sctp:N` (N streams of one association),
/// `sctp:unordered` (one stream, nothing waits for anything), `udp` (SIP-like retransmission).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransportSpec {
    /// Parallel TCP connections; `tcp` is one.
    Tcp {
        /// How many, 1 … [`MAX_CONNECTIONS`].
        connections: NonZeroU16,
    },
    /// Streams of one SCTP association, ordered.
    Sctp {
        /// How many, 1 … 65,535.
        streams: NonZeroU16,
    },
    /// One SCTP stream with unordered delivery.
    SctpUnordered,
    /// UDP with the retransmission of a SIP client transaction.
    Udp,
}

/// The most TCP connections of one run: every one takes two file descriptors on one host.
pub const MAX_CONNECTIONS: u16 = 256;

const DRAIN: Duration = Duration::from_secs(10);

impl TransportSpec {
    /// What messages are dealt to round robin: streams or connections.
    #[must_use]
    pub fn lanes(self) -> u16 {
        match self {
            Self::Tcp { connections } => connections.get(),
            Self::Sctp { streams } => streams.get(),
            Self::SctpUnordered | Self::Udp => 1,
        }
    }

    /// How long a run waits for its last responses: 10 s; over UDP 32 s, when the last request is given up.
    #[must_use]
    pub fn drain(self) -> Duration {
        match self {
            Self::Udp => RetransmissionConfig::default().timer_b(),
            Self::Tcp { .. } | Self::Sctp { .. } | Self::SctpUnordered => DRAIN,
        }
    }

    /// The protocol alone: `tcp`, `sctp` or `udp`.
    #[must_use]
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Tcp { .. } => "tcp",
            Self::Sctp { .. } | Self::SctpUnordered => "sctp",
            Self::Udp => "udp",
        }
    }

    /// Streams of the association; `None` where there is none.
    #[must_use]
    pub fn streams(self) -> Option<u16> {
        match self {
            Self::Sctp { streams } => Some(streams.get()),
            Self::SctpUnordered => Some(1),
            Self::Tcp { .. } | Self::Udp => None,
        }
    }

    /// Connections or associations; `None` for UDP.
    #[must_use]
    pub fn connections(self) -> Option<u16> {
        match self {
            Self::Tcp { connections } => Some(connections.get()),
            Self::Sctp { .. } | Self::SctpUnordered => Some(1),
            Self::Udp => None,
        }
    }

    /// Whether messages on one lane stay in order.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        match self {
            Self::Tcp { .. } | Self::Sctp { .. } => true,
            Self::SctpUnordered | Self::Udp => false,
        }
    }

    /// The transport as the subject of a sentence: `SCTP with 6 streams`, `one TCP connection`.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::Tcp { connections } if connections.get() == 1 => "one TCP connection".to_owned(),
            Self::Tcp { connections } => format!("{connections} TCP connections"),
            Self::Sctp { streams } if streams.get() == 1 => "SCTP with one stream".to_owned(),
            Self::Sctp { streams } => format!("SCTP with {streams} streams"),
            Self::SctpUnordered => "unordered SCTP".to_owned(),
            Self::Udp => "UDP with SIP-like retransmission".to_owned(),
        }
    }
}

impl fmt::Display for TransportSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { connections } if connections.get() == 1 => f.write_str("tcp"),
            Self::Tcp { connections } => write!(f, "tcp:{connections}"),
            Self::Sctp { streams } => write!(f, "sctp:{streams}"),
            Self::SctpUnordered => f.write_str("sctp:unordered"),
            Self::Udp => f.write_str("udp"),
        }
    }
}

impl FromStr for TransportSpec {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (protocol, argument) = match text.split_once(':') {
            Some((protocol, argument)) => (protocol, Some(argument)),
            None => (text, None),
        };
        match (protocol, argument) {
            ("tcp", None) => Ok(Self::Tcp { connections: NonZeroU16::MIN }),
            ("tcp", Some(count)) => {
                Ok(Self::Tcp { connections: number(text, count, "connections", MAX_CONNECTIONS)? })
            }
            ("sctp", None) => Err(TransportError::NoStreams),
            ("sctp", Some("unordered")) => Ok(Self::SctpUnordered),
            ("sctp", Some(count)) => Ok(Self::Sctp { streams: number(text, count, "streams", u16::MAX)? }),
            ("udp", None) => Ok(Self::Udp),
            ("udp", Some(_)) => Err(TransportError::UdpArgument(text.to_owned())),
            _ => Err(TransportError::Unknown(text.to_owned())),
        }
    }
}

/// The transports of one comparison, in the order of the table; none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportList(Vec<TransportSpec>);

impl TransportList {
    /// The transports in order, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[TransportSpec] {
        &self.0
    }
}

impl Default for TransportList {
    /// `tcp,tcp:4,sctp:1,sctp:6,sctp:unordered,udp`: six streams are enough for the default workload (S4).
    fn default() -> Self {
        let number = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        Self(vec![
            TransportSpec::Tcp { connections: number(1) },
            TransportSpec::Tcp { connections: number(4) },
            TransportSpec::Sctp { streams: number(1) },
            TransportSpec::Sctp { streams: number(6) },
            TransportSpec::SctpUnordered,
            TransportSpec::Udp,
        ])
    }
}

impl FromStr for TransportList {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut list = Vec::new();
        for item in text.split(',').map(str::trim) {
            let transport: TransportSpec = item.parse()?;
            if list.contains(&transport) {
                return Err(TransportError::Twice(transport));
            }
            list.push(transport);
        }
        Ok(Self(list))
    }
}

impl fmt::Display for TransportList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, transport) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            transport.fmt(f)?;
        }
        Ok(())
    }
}

/// Why a text names no transport.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransportError {
    /// None of the protocols.
    #[error("`{0}` is no transport: use tcp, tcp:N, sctp:N, sctp:unordered or udp")]
    Unknown(String),
    /// `sctp` alone.
    #[error("`sctp` needs its number of streams: write sctp:1, sctp:6 or sctp:unordered")]
    NoStreams,
    /// `udp:…`.
    #[error("`{0}`: udp has neither streams nor connections, write udp")]
    UdpArgument(String),
    /// A number that is none or out of bounds.
    #[error("`{text}`: the number of {what} is 1 to {most}")]
    Count {
        /// The whole item.
        text: String,
        /// What is counted.
        what: &'static str,
        /// The upper bound.
        most: u16,
    },
    /// The same transport again.
    #[error("`{0}` is in the list twice; --repeat runs everything several times")]
    Twice(TransportSpec),
}

fn number(text: &str, count: &str, what: &'static str, most: u16) -> Result<NonZeroU16, TransportError> {
    let refused = || TransportError::Count { text: text.to_owned(), what, most };
    count.parse::<NonZeroU16>().ok().filter(|number| number.get() <= most).ok_or_else(refused)
}

#[cfg(test)]
mod tests;
