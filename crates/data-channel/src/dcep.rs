//! The Data Channel Establishment Protocol (RFC 8832 §5): its two messages as octets. Not: when they are sent.

use core::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use sctp_core::{Delivery, Reliability};

use crate::config::{ChannelConfig, Priority};

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dcep {
    /// DATA_CHANNEL_OPEN: the sender opens a channel on the stream that the message comes on (RFC 8832 §5.1).
    Open(ChannelConfig),
    /// DATA_CHANNEL_ACK: the peer has opened it, too (RFC 8832 §5.2).
    Ack,
}

impl Dcep {
    /// The octets of DATA_CHANNEL_ACK.
    pub(crate) const ACK: &'static [u8] = &[ACK];

    /// Reads a message.
    ///
    /// # Errors
    /// The octets are no such message: see [`DcepError`].
    pub fn decode(octets: &[u8]) -> Result<Self, DcepError> {
        match octets.first() {
            Some(&ACK) => Ok(Self::Ack),
            Some(&OPEN) => decode_open(octets).map(Self::Open),
            Some(&kind) => Err(DcepError::UnknownMessage { kind }),
            None => Err(DcepError::TooShort { octets: 0, needed: 1 }),
        }
    }

    /// Writes the message.
    ///
    /// # Errors
    /// Label or protocol has more than 65,535 octets, or a lifetime more than 2³² − 1 milliseconds: there is no room in the
    /// fields for them.
    pub fn encode(&self) -> Result<Bytes, NotEncodable> {
        match self {
            Self::Ack => Ok(Bytes::from_static(Self::ACK)),
            Self::Open(config) => encode_open(config),
        }
    }
}

/// A DCEP message that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DcepError {
    /// The message ends before what it says it has.
    #[error("a DCEP message of {octets} octets, of which it needs {needed}")]
    TooShort {
        /// The length of the message.
        octets: usize,
        /// The length that its fields ask for.
        needed: usize,
    },
    /// Octets stand behind the end that the message says it has.
    #[error("a DCEP message of {octets} octets that ends after {needed}")]
    TooLong {
        /// The length of the message.
        octets: usize,
        /// The length that its fields ask for.
        needed: usize,
    },
    /// The message type is neither DATA_CHANNEL_OPEN nor DATA_CHANNEL_ACK.
    #[error("DCEP message type {kind:#04x} is unknown; 0x02 and 0x03 are known")]
    UnknownMessage {
        /// The message type that stands there.
        kind: u8,
    },
    /// The channel type is none of the six of RFC 8832 §5.1.
    #[error("channel type {kind:#04x} is unknown")]
    UnknownChannelType {
        /// The channel type that stands there.
        kind: u8,
    },
    /// The label or the protocol is not UTF-8.
    #[error("the label or the protocol of a channel is not UTF-8")]
    NotText,
}

/// A channel that DATA_CHANNEL_OPEN cannot describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEncodable {
    /// The label or the protocol is too long.
    #[error("a label or protocol of {octets} octets; at most 65535 are possible")]
    NameTooLong {
        /// The length of the name in octets.
        octets: usize,
    },
    /// The lifetime is too long.
    #[error("messages that live {lifetime:?}; at most 4294967295 ms are possible")]
    LifetimeTooLong {
        /// The lifetime that was asked for.
        lifetime: Duration,
    },
    /// A channel cannot give up messages by priority (RFC 7496 §3.2): RFC 8832 knows no such channel.
    #[error("a data channel is reliable, or limits retransmissions or lifetimes; it has no priority policy")]
    PriorityPolicy,
}

const ACK: u8 = 0x02;
const OPEN: u8 = 0x03;
/// The octets of DATA_CHANNEL_OPEN before the label.
const OPEN_HEADER: usize = 12;
/// The bit of a channel type that says that messages are unordered.
const UNORDERED: u8 = 0x80;
const RELIABLE: u8 = 0;
const RETRANSMISSIONS: u8 = 1;
const LIFETIME: u8 = 2;

fn decode_open(octets: &[u8]) -> Result<ChannelConfig, DcepError> {
    let short = |needed| DcepError::TooShort { octets: octets.len(), needed };
    let (header, names) = octets.split_first_chunk::<OPEN_HEADER>().ok_or(short(OPEN_HEADER))?;
    let &[_, kind, p0, p1, r0, r1, r2, r3, l0, l1, s0, s1] = header;
    let label_len = usize::from(u16::from_be_bytes([l0, l1]));
    let needed = OPEN_HEADER + label_len + usize::from(u16::from_be_bytes([s0, s1]));
    if octets.len() > needed {
        return Err(DcepError::TooLong { octets: octets.len(), needed });
    }
    if octets.len() < needed {
        return Err(short(needed));
    }
    let (label, protocol) = names.split_at_checked(label_len).ok_or(short(needed))?;
    let text =
        |octets: &[u8]| core::str::from_utf8(octets).map(str::to_owned).map_err(|_| DcepError::NotText);
    let parameter = u32::from_be_bytes([r0, r1, r2, r3]);
    Ok(ChannelConfig {
        label: text(label)?,
        protocol: text(protocol)?,
        delivery: if kind & UNORDERED == 0 { Delivery::Ordered } else { Delivery::Unordered },
        reliability: match kind & !UNORDERED {
            RELIABLE => Reliability::Reliable,
            RETRANSMISSIONS => Reliability::Retransmissions(parameter),
            LIFETIME => Reliability::Lifetime(Duration::from_millis(parameter.into())),
            _ => return Err(DcepError::UnknownChannelType { kind }),
        },
        priority: Priority(u16::from_be_bytes([p0, p1])),
    })
}

fn encode_open(config: &ChannelConfig) -> Result<Bytes, NotEncodable> {
    let length =
        |name: &str| u16::try_from(name.len()).map_err(|_| NotEncodable::NameTooLong { octets: name.len() });
    let (label, protocol) = (length(&config.label)?, length(&config.protocol)?);
    let (kind, parameter) = match config.reliability {
        Reliability::Reliable => (RELIABLE, 0),
        Reliability::Retransmissions(limit) => (RETRANSMISSIONS, limit),
        Reliability::Lifetime(lifetime) => {
            let millis = u32::try_from(lifetime.as_millis());
            (LIFETIME, millis.map_err(|_| NotEncodable::LifetimeTooLong { lifetime })?)
        }
        Reliability::Priority(_) => return Err(NotEncodable::PriorityPolicy),
    };
    let order = match config.delivery {
        Delivery::Ordered => 0,
        Delivery::Unordered => UNORDERED,
    };
    let mut octets = BytesMut::with_capacity(OPEN_HEADER + config.label.len() + config.protocol.len());
    octets.put_u8(OPEN);
    octets.put_u8(kind | order);
    octets.put_u16(config.priority.0);
    octets.put_u32(parameter);
    octets.put_u16(label);
    octets.put_u16(protocol);
    octets.put_slice(config.label.as_bytes());
    octets.put_slice(config.protocol.as_bytes());
    Ok(octets.freeze())
}

#[cfg(test)]
mod tests;
