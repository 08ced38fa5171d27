//! The content of a message, and the payload protocol identifier that says so (RFC 8831 §6.6).

use bytes::Bytes;
use sctp_core::PayloadProtocolId;

/// The content of a message: text or octets, of any length, none included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The message is text: what JavaScript gets as a string.
    Text(String),
    /// The message is octets: what JavaScript gets as an `ArrayBuffer` or a `Blob`.
    Binary(Bytes),
}

impl Payload {
    /// Creates a message that is text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a message that is octets.
    #[must_use]
    pub fn binary(octets: impl Into<Bytes>) -> Self {
        Self::Binary(octets.into())
    }

    /// Returns the octets, also those of a text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(octets) => octets,
        }
    }

    /// Returns the number of its octets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Returns whether it has no octet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what SCTP carries. It knows no empty message: an octet of zero stands for nothing, and the identifier says so
    /// (RFC 8831 §6.6).
    pub(crate) fn into_wire(self) -> (PayloadProtocolId, Bytes) {
        let nothing = Bytes::from_static(&[0]);
        match self {
            Self::Text(text) if text.is_empty() => (PayloadProtocolId::WEBRTC_STRING_EMPTY, nothing),
            Self::Text(text) => (PayloadProtocolId::WEBRTC_STRING, text.into()),
            Self::Binary(octets) if octets.is_empty() => (PayloadProtocolId::WEBRTC_BINARY_EMPTY, nothing),
            Self::Binary(octets) => (PayloadProtocolId::WEBRTC_BINARY, octets),
        }
    }

    /// Undoes [`into_wire`](Self::into_wire), also where that was refused.
    pub(crate) fn from_wire(ppid: PayloadProtocolId, octets: Bytes) -> Result<Self, NotPayload> {
        match ppid {
            PayloadProtocolId::WEBRTC_STRING => {
                String::from_utf8(octets.into()).map(Self::Text).map_err(|_| NotPayload::NotText)
            }
            PayloadProtocolId::WEBRTC_BINARY => Ok(Self::Binary(octets)),
            PayloadProtocolId::WEBRTC_STRING_EMPTY => Ok(Self::Text(String::new())),
            PayloadProtocolId::WEBRTC_BINARY_EMPTY => Ok(Self::Binary(Bytes::new())),
            other => Err(NotPayload::UnknownIdentifier(other)),
        }
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// A message of SCTP that is none of a data channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotPayload {
    /// The message says that it is text, and is not UTF-8.
    NotText,
    /// The identifier is none of RFC 8831 §8 that may be sent.
    UnknownIdentifier(PayloadProtocolId),
}
