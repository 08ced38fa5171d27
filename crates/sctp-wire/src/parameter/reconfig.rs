//! Requests and responses of stream reconfiguration (RFC 6525 §4).

use core::fmt::{self, Display, Formatter};

use super::lists::StreamIds;
use crate::cursor::Cursor;
use crate::error::Flaw;
use crate::numbers::{ReconfigSequence, Tsn};
use crate::write::ValueWriter;

/// The sender resets streams it sends on (RFC 6525 §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutgoingSsnReset<'a> {
    /// The number of this request.
    pub request: ReconfigSequence,
    /// The incoming reset request it answers; otherwise the number before the next one expected.
    pub response: ReconfigSequence,
    /// The last TSN its sender has assigned.
    pub last_tsn: Tsn,
    /// The streams; none listed means all.
    pub streams: StreamIds<'a>,
}

impl<'a> OutgoingSsnReset<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        Ok(Self {
            request: ReconfigSequence::new(cursor.u32()?),
            response: ReconfigSequence::new(cursor.u32()?),
            last_tsn: Tsn::new(cursor.u32()?),
            streams: StreamIds::decode(cursor.rest())?,
        })
    }

    pub(super) fn write(&self, value: &mut ValueWriter<'_>) {
        value.u32(self.request.get());
        value.u32(self.response.get());
        value.u32(self.last_tsn.get());
        value.bytes(self.streams.as_bytes());
    }
}

impl Display for OutgoingSsnReset<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { request, response, last_tsn, streams } = self;
        write!(f, "seq={request} resp={response} last_tsn={last_tsn} {}", Streams(*streams))
    }
}

/// The sender asks the peer to reset streams the peer sends on (RFC 6525 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IncomingSsnReset<'a> {
    /// The number of this request.
    pub request: ReconfigSequence,
    /// The streams; none listed means all.
    pub streams: StreamIds<'a>,
}

impl<'a> IncomingSsnReset<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        let request = ReconfigSequence::new(cursor.u32()?);
        Ok(Self { request, streams: StreamIds::decode(cursor.rest())? })
    }

    pub(super) fn write(&self, value: &mut ValueWriter<'_>) {
        value.u32(self.request.get());
        value.bytes(self.streams.as_bytes());
    }
}

impl Display for IncomingSsnReset<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "seq={} {}", self.request, Streams(self.streams))
    }
}

/// A request for more streams, to send on or to receive on (RFC 6525 §4.5, §4.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddStreams {
    /// The number of this request.
    pub request: ReconfigSequence,
    /// How many streams there are to be in addition.
    pub count: u16,
}

impl AddStreams {
    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Flaw> {
        let request = ReconfigSequence::new(cursor.u32()?);
        let count = cursor.u16()?;
        let _reserved = cursor.u16()?;
        Ok(Self { request, count })
    }

    pub(super) fn write(&self, value: &mut ValueWriter<'_>) {
        value.u32(self.request.get());
        value.u16(self.count);
        value.u16(0);
    }
}

impl Display for AddStreams {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "seq={} count={}", self.request, self.count)
    }
}

/// The answer to a re-configuration request (RFC 6525 §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReconfigResponse {
    /// The number of the request.
    pub response: ReconfigSequence,
    /// The outcome of the request.
    pub result: ReconfigResult,
    /// The TSNs to go on with; only in the answer to an SSN/TSN reset request.
    pub next_tsns: Option<NextTsns>,
}

impl ReconfigResponse {
    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Flaw> {
        let response = ReconfigSequence::new(cursor.u32()?);
        let result = ReconfigResult::from(cursor.u32()?);
        let next_tsns = if cursor.rest().is_empty() { None } else { Some(NextTsns::decode(cursor)?) };
        Ok(Self { response, result, next_tsns })
    }

    pub(super) fn write(&self, value: &mut ValueWriter<'_>) {
        value.u32(self.response.get());
        value.u32(self.result.get());
        if let Some(next) = self.next_tsns {
            value.u32(next.sender.get());
            value.u32(next.receiver.get());
        }
    }
}

impl Display for ReconfigResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "resp={} {}", self.response, self.result)?;
        match self.next_tsns {
            Some(NextTsns { sender, receiver }) => write!(f, " next_tsn={sender}/{receiver}"),
            None => Ok(()),
        }
    }
}

/// The TSNs with which both sides go on after an SSN/TSN reset (RFC 6525 §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NextTsns {
    /// The TSN of the next DATA chunk of the response's sender.
    pub sender: Tsn,
    /// The TSN of the next DATA chunk of its receiver.
    pub receiver: Tsn,
}

impl NextTsns {
    fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Flaw> {
        Ok(Self { sender: Tsn::new(cursor.u32()?), receiver: Tsn::new(cursor.u32()?) })
    }
}

/// The results of RFC 6525 §4.4, table 3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReconfigResult {
    /// 0: success, there was nothing to do.
    NothingToDo,
    /// 1: the request was carried out.
    Performed,
    /// 2: the request was refused.
    Denied,
    /// 3: a stream that does not exist.
    WrongSsn,
    /// 4: another request is being worked on.
    RequestAlreadyInProgress,
    /// 5: not the number expected.
    BadSequenceNumber,
    /// 6: not finished, to be asked again.
    InProgress,
    /// A number without a meaning.
    Unknown(u32),
}

impl ReconfigResult {
    /// Returns the number on the wire.
    #[must_use]
    pub const fn get(self) -> u32 {
        match self {
            Self::NothingToDo => 0,
            Self::Performed => 1,
            Self::Denied => 2,
            Self::WrongSsn => 3,
            Self::RequestAlreadyInProgress => 4,
            Self::BadSequenceNumber => 5,
            Self::InProgress => 6,
            Self::Unknown(number) => number,
        }
    }
}

impl From<u32> for ReconfigResult {
    fn from(number: u32) -> Self {
        match number {
            0 => Self::NothingToDo,
            1 => Self::Performed,
            2 => Self::Denied,
            3 => Self::WrongSsn,
            4 => Self::RequestAlreadyInProgress,
            5 => Self::BadSequenceNumber,
            6 => Self::InProgress,
            _ => Self::Unknown(number),
        }
    }
}

impl Display for ReconfigResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingToDo => "nothing to do",
            Self::Performed => "performed",
            Self::Denied => "denied",
            Self::WrongSsn => "wrong SSN",
            Self::RequestAlreadyInProgress => "request already in progress",
            Self::BadSequenceNumber => "bad sequence number",
            Self::InProgress => "in progress",
            Self::Unknown(number) => return write!(f, "result {number}"),
        })
    }
}

struct Streams<'a>(StreamIds<'a>);

impl Display for Streams<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("streams=all") } else { write!(f, "streams={}", self.0) }
    }
}
