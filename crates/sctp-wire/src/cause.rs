//! Error causes of ABORT and ERROR (RFC 9260 §3.3.10) and of ASCONF-ACK (RFC 5061 §4.3), read and written.

use core::fmt::{self, Display, Formatter};
use core::iter::FusedIterator;

use crate::codepoints::{CauseCode, ChunkType, HmacId};
use crate::cursor::{Cursor, Tlv};
use crate::error::{DecodeError, Flaw, Layer};
use crate::list::Walked;
use crate::numbers::{StreamId, Tsn};
use crate::parameter::{ParameterTypes, Parameters, types_of};
use crate::write::ValueWriter;

/// A list of error causes, decoded as it is walked over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Causes<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Causes<'a> {
    /// Wraps encoded causes, one after the other; offsets in errors count from here.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(bytes, 0) }
    }

    pub(crate) const fn from_cursor(cursor: Cursor<'a>) -> Self {
        Self { cursor }
    }

    /// Returns the encoded causes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Returns whether no cause is given.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.cursor.rest().is_empty()
    }

    /// Returns an iterator over the causes.
    #[must_use]
    pub const fn iter(&self) -> CausesIter<'a> {
        CausesIter { cursor: self.cursor }
    }
}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<Cause<'a>, DecodeError>;
    type IntoIter = CausesIter<'a>;

    fn into_iter(self) -> CausesIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Causes<'a> {
    type Item = Result<Cause<'a>, DecodeError>;
    type IntoIter = CausesIter<'a>;

    fn into_iter(self) -> CausesIter<'a> {
        self.iter()
    }
}

/// Walks over [`Causes`]; errors as in [`Chunks`](crate::Chunks).
#[derive(Clone, Debug)]
pub struct CausesIter<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Iterator for CausesIter<'a> {
    type Item = Result<Cause<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let tlv = match self.cursor.tlv(Layer::Cause)? {
            Ok(tlv) => tlv,
            Err(error) => return Some(Err(error)),
        };
        Some(Cause::decode(tlv).map_err(|flaw| {
            let item = Layer::Cause.item(tlv.head);
            DecodeError::Body { item, offset: tlv.offset, flaw }
        }))
    }
}

impl FusedIterator for CausesIter<'_> {}

/// One error cause. The same type is read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause<'a> {
    /// DATA came on a stream that does not exist.
    InvalidStreamIdentifier(StreamId),
    /// Parameters that an INIT or INIT ACK needs are not in it.
    MissingMandatoryParameter(ParameterTypes<'a>),
    /// The state cookie came back too late.
    StaleCookie {
        /// Microseconds by which it was late; 0 if the sender does not tell.
        staleness_us: u32,
    },
    /// There is no room for the association.
    OutOfResource,
    /// The whole address parameter that cannot be used.
    UnresolvableAddress(&'a [u8]),
    /// The whole chunk whose type is not known.
    UnrecognizedChunkType(&'a [u8]),
    /// A mandatory parameter holds a value that is not allowed.
    InvalidMandatoryParameter,
    /// The whole parameters that are not known, each but the last padded.
    UnrecognizedParameters(&'a [u8]),
    /// The DATA chunk with this TSN has no data.
    NoUserData(Tsn),
    /// A COOKIE ECHO came during the shutdown.
    CookieReceivedWhileShuttingDown,
    /// A restart was tried from these new addresses.
    RestartWithNewAddresses(Parameters<'a>),
    /// The user ended the association, with this reason.
    UserInitiatedAbort(&'a [u8]),
    /// The peer broke the protocol; the octets may say how.
    ProtocolViolation(&'a [u8]),
    /// The whole request to delete the only address there is.
    DeleteLastAddress(&'a [u8]),
    /// The whole request there is no room for.
    ResourceShortage(&'a [u8]),
    /// The whole request to delete the address the ASCONF came from.
    DeleteSourceAddress(&'a [u8]),
    /// An ASCONF-ACK came that no ASCONF had asked for.
    IllegalAsconfAck,
    /// The whole request its sender has no right to.
    NoAuthorization(&'a [u8]),
    /// An AUTH was computed in a way its receiver does not know.
    UnsupportedHmacIdentifier(HmacId),
    /// A code this crate does not decode.
    Unknown {
        /// The code that is not known.
        code: CauseCode,
        /// The content of the cause, without padding.
        value: &'a [u8],
    },
}

impl<'a> Cause<'a> {
    fn decode(tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let code = CauseCode::new(u16::from_be_bytes(tlv.head));
        let value = tlv.value;
        let mut cursor = Cursor::new(value, tlv.offset + 4);
        let cause = match code {
            CauseCode::INVALID_STREAM_IDENTIFIER => {
                let stream = StreamId::new(cursor.u16()?);
                let _reserved = cursor.u16()?;
                Self::InvalidStreamIdentifier(stream)
            }
            CauseCode::MISSING_MANDATORY_PARAMETER => {
                let count = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
                Self::MissingMandatoryParameter(ParameterTypes::new(cursor.groups(count)?))
            }
            CauseCode::STALE_COOKIE => Self::StaleCookie { staleness_us: cursor.u32()? },
            CauseCode::OUT_OF_RESOURCE => Self::OutOfResource,
            CauseCode::INVALID_MANDATORY_PARAMETER => Self::InvalidMandatoryParameter,
            CauseCode::NO_USER_DATA => Self::NoUserData(Tsn::new(cursor.u32()?)),
            CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => Self::CookieReceivedWhileShuttingDown,
            CauseCode::ILLEGAL_ASCONF_ACK => Self::IllegalAsconfAck,
            CauseCode::UNSUPPORTED_HMAC_IDENTIFIER => {
                Self::UnsupportedHmacIdentifier(HmacId::new(cursor.u16()?))
            }
            CauseCode::UNRESOLVABLE_ADDRESS => return Ok(Self::UnresolvableAddress(value)),
            CauseCode::UNRECOGNIZED_CHUNK_TYPE => return Ok(Self::UnrecognizedChunkType(value)),
            CauseCode::UNRECOGNIZED_PARAMETERS => return Ok(Self::UnrecognizedParameters(value)),
            CauseCode::RESTART_WITH_NEW_ADDRESSES => {
                return Ok(Self::RestartWithNewAddresses(Parameters::from_cursor(cursor)));
            }
            CauseCode::USER_INITIATED_ABORT => return Ok(Self::UserInitiatedAbort(value)),
            CauseCode::PROTOCOL_VIOLATION => return Ok(Self::ProtocolViolation(value)),
            CauseCode::DELETE_LAST_ADDRESS => return Ok(Self::DeleteLastAddress(value)),
            CauseCode::RESOURCE_SHORTAGE => return Ok(Self::ResourceShortage(value)),
            CauseCode::DELETE_SOURCE_ADDRESS => return Ok(Self::DeleteSourceAddress(value)),
            CauseCode::NO_AUTHORIZATION => return Ok(Self::NoAuthorization(value)),
            _ => return Ok(Self::Unknown { code, value }),
        };
        cursor.finish().map(|()| cause)
    }

    /// Returns the cause's code.
    #[must_use]
    pub const fn code(&self) -> CauseCode {
        match self {
            Self::InvalidStreamIdentifier(_) => CauseCode::INVALID_STREAM_IDENTIFIER,
            Self::MissingMandatoryParameter(_) => CauseCode::MISSING_MANDATORY_PARAMETER,
            Self::StaleCookie { .. } => CauseCode::STALE_COOKIE,
            Self::OutOfResource => CauseCode::OUT_OF_RESOURCE,
            Self::UnresolvableAddress(_) => CauseCode::UNRESOLVABLE_ADDRESS,
            Self::UnrecognizedChunkType(_) => CauseCode::UNRECOGNIZED_CHUNK_TYPE,
            Self::InvalidMandatoryParameter => CauseCode::INVALID_MANDATORY_PARAMETER,
            Self::UnrecognizedParameters(_) => CauseCode::UNRECOGNIZED_PARAMETERS,
            Self::NoUserData(_) => CauseCode::NO_USER_DATA,
            Self::CookieReceivedWhileShuttingDown => CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN,
            Self::RestartWithNewAddresses(_) => CauseCode::RESTART_WITH_NEW_ADDRESSES,
            Self::UserInitiatedAbort(_) => CauseCode::USER_INITIATED_ABORT,
            Self::ProtocolViolation(_) => CauseCode::PROTOCOL_VIOLATION,
            Self::DeleteLastAddress(_) => CauseCode::DELETE_LAST_ADDRESS,
            Self::ResourceShortage(_) => CauseCode::RESOURCE_SHORTAGE,
            Self::DeleteSourceAddress(_) => CauseCode::DELETE_SOURCE_ADDRESS,
            Self::IllegalAsconfAck => CauseCode::ILLEGAL_ASCONF_ACK,
            Self::NoAuthorization(_) => CauseCode::NO_AUTHORIZATION,
            Self::UnsupportedHmacIdentifier(_) => CauseCode::UNSUPPORTED_HMAC_IDENTIFIER,
            Self::Unknown { code, .. } => *code,
        }
    }

    pub(crate) fn write(&self, writer: &mut ValueWriter<'_>) {
        writer.tlv(self.code().get(), |value| match self {
            Self::InvalidStreamIdentifier(stream) => {
                value.u16(stream.get());
                value.u16(0);
            }
            Self::MissingMandatoryParameter(types) => {
                value.count32(types.iter().len());
                value.bytes(types.as_bytes());
            }
            Self::StaleCookie { staleness_us } => value.u32(*staleness_us),
            Self::NoUserData(tsn) => value.u32(tsn.get()),
            Self::UnsupportedHmacIdentifier(id) => value.u16(id.get()),
            Self::RestartWithNewAddresses(addresses) => value.bytes(addresses.as_bytes()),
            Self::UnresolvableAddress(octets)
            | Self::UnrecognizedChunkType(octets)
            | Self::UnrecognizedParameters(octets)
            | Self::UserInitiatedAbort(octets)
            | Self::ProtocolViolation(octets)
            | Self::DeleteLastAddress(octets)
            | Self::ResourceShortage(octets)
            | Self::DeleteSourceAddress(octets)
            | Self::NoAuthorization(octets)
            | Self::Unknown { value: octets, .. } => value.bytes(octets),
            Self::OutOfResource
            | Self::InvalidMandatoryParameter
            | Self::CookieReceivedWhileShuttingDown
            | Self::IllegalAsconfAck => {}
        });
    }
}

impl Display for Cause<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code())?;
        match self {
            Self::InvalidStreamIdentifier(stream) => write!(f, " {stream}"),
            Self::MissingMandatoryParameter(types) => write!(f, " {types}"),
            Self::StaleCookie { staleness_us } => write!(f, " by {staleness_us} us"),
            Self::UnrecognizedChunkType(chunk) => match chunk.first() {
                Some(kind) => write!(f, " [{}]", ChunkType::new(*kind)),
                None => Ok(()),
            },
            Self::UnresolvableAddress(reported)
            | Self::UnrecognizedParameters(reported)
            | Self::DeleteLastAddress(reported)
            | Self::ResourceShortage(reported)
            | Self::DeleteSourceAddress(reported)
            | Self::NoAuthorization(reported) => write!(f, " {}", types_of(reported)),
            Self::UnsupportedHmacIdentifier(id) => write!(f, " {id}"),
            Self::NoUserData(tsn) => write!(f, " tsn={tsn}"),
            Self::RestartWithNewAddresses(addresses) => write!(f, " {}", Walked(*addresses)),
            Self::UserInitiatedAbort(octets)
            | Self::ProtocolViolation(octets)
            | Self::Unknown { value: octets, .. } => write!(f, " {} B", octets.len()),
            Self::OutOfResource
            | Self::InvalidMandatoryParameter
            | Self::CookieReceivedWhileShuttingDown
            | Self::IllegalAsconfAck => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
