//! What is sent.

use bytes::Bytes;
use sctp_core::{AssociationConfig, Delivery, Message, StreamId};

use crate::pair::{Framing, config};

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One stream, in order.
    Ordered,
    /// One stream, as they come.
    Unordered,
    /// So many streams in turn, in order.
    Streams(u16),
    /// One stream, in order, in I-DATA chunks.
    Interleaved,
}

impl Mode {
    /// Those that are compared with each other.
    pub const ALL: [Self; 4] = [Self::Ordered, Self::Unordered, Self::Streams(16), Self::Interleaved];

    /// What an association needs for it.
    #[must_use]
    pub fn config(self) -> AssociationConfig {
        let streams = if let Self::Streams(streams) = self { streams } else { 16 };
        config(if self == Self::Interleaved { Framing::IData } else { Framing::Data }, streams)
    }

    /// Messages of so many octets, one after the other. Payloads are clones of one: making them is the caller's
    /// business and not what is measured.
    pub fn messages(self, octets: usize) -> impl FnMut() -> Message {
        let payload = Bytes::from(vec![0xa5; octets]);
        let streams = if let Self::Streams(streams) = self { streams } else { 1 };
        let delivery = if self == Self::Unordered { Delivery::Unordered } else { Delivery::Ordered };
        let mut stream = 0;
        move || {
            stream = if stream + 1 < streams { stream + 1 } else { 0 };
            Message::new(StreamId::new(stream), delivery, payload.clone())
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ordered => f.write_str("ordered"),
            Self::Unordered => f.write_str("unordered"),
            Self::Streams(streams) => write!(f, "{streams} streams"),
            Self::Interleaved => f.write_str("I-DATA"),
        }
    }
}
