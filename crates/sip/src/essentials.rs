//! The header fields that every message needs (RFC 3261 §8.1.1), read and checked; and what is said to those who get them
//! wrong.

use core::fmt;

use crate::limits::MessageLimits;
use crate::message::{HeaderName, Headers, Request, Response, VERSION};
use crate::method::Method;
use crate::status::Status;
use crate::text;
use crate::uri::{NameAddr, SipUri, UriError};
use crate::via::Via;

/// The header fields without which there is no transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Essentials {
    /// The topmost Via of the message.
    pub via: Via,
    /// The value of From, which names the side that sent the request.
    pub from: NameAddr,
    /// The value of To, which names the side that the request is meant for.
    pub to: NameAddr,
    /// The value of Call-ID, which all messages of a dialog have in common.
    pub call_id: String,
    /// The value of CSeq, which numbers the requests of one side.
    pub cseq: CSeq,
    /// The value of Max-Forwards, if the message has one.
    pub max_forwards: Option<u8>,
}

/// The value of CSeq (RFC 3261 §20.16).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CSeq {
    /// The number of the request, below 2³¹.
    pub number: u32,
    /// The method of the request.
    pub method: Method,
}

/// A fault in a request, as the response to it reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{status} {reason}")]
pub struct Fault {
    /// The status code of the response.
    pub status: Status,
    /// The reason phrase, which says what is wrong.
    pub reason: &'static str,
}

impl Essentials {
    /// Reads and checks those of a request, its Request-URI and version too.
    ///
    /// # Errors
    ///
    /// See [`Fault`]: 505 for another version, 416 for another scheme of the Request-URI, 400 for everything that is
    /// malformed, missing or there twice.
    pub fn of_request(request: &Request, limits: &MessageLimits) -> Result<Self, Fault> {
        if request.version != VERSION {
            return Err(Fault { status: Status::VERSION_NOT_SUPPORTED, reason: "Version Not Supported" });
        }
        let essentials = Self::read(&request.headers, limits)?;
        if essentials.cseq.method != request.method {
            return Err(bad("CSeq Has Another Method"));
        }
        match SipUri::parse(&request.uri) {
            Ok(_) => Ok(essentials),
            Err(UriError::Scheme) => {
                Err(Fault { status: Status::UNSUPPORTED_SCHEME, reason: "Unsupported URI Scheme" })
            }
            Err(UriError::Malformed) => Err(bad("Malformed Request-URI")),
        }
    }

    /// Reads and checks those of a response.
    ///
    /// # Errors
    ///
    /// As for a request; nobody is told, for a response has none.
    pub fn of_response(response: &Response, limits: &MessageLimits) -> Result<Self, Fault> {
        Self::read(&response.headers, limits)
    }

    fn read(headers: &Headers, limits: &MessageLimits) -> Result<Self, Fault> {
        let via = vias(headers, limits)?;
        let from = only(headers, &HeaderName::From, "From Is Missing or Twice There")?;
        let from = NameAddr::parse(from).ok_or(bad("Malformed From"))?;
        let to = only(headers, &HeaderName::To, "To Is Missing or Twice There")?;
        let to = NameAddr::parse(to).ok_or(bad("Malformed To"))?;
        let call_id = only(headers, &HeaderName::CallId, "Call-ID Is Missing or Twice There")?;
        if call_id.is_empty() || call_id.contains(text::is_space) || call_id.len() > LONGEST_CALL_ID {
            return Err(bad("Malformed Call-ID"));
        }
        let cseq = only(headers, &HeaderName::CSeq, "CSeq Is Missing or Twice There")?;
        let cseq = CSeq::parse(cseq).ok_or(bad("Malformed CSeq"))?;
        let max_forwards = match headers.first(&HeaderName::MaxForwards) {
            None => None,
            Some(_) => {
                let value = only(headers, &HeaderName::MaxForwards, "Max-Forwards Is Twice There")?;
                Some(text::number(value).ok_or(bad("Malformed Max-Forwards"))?)
            }
        };
        Ok(Self { via, from, to, call_id: call_id.to_owned(), cseq, max_forwards })
    }
}

impl CSeq {
    /// Reads a value; `None` if it is malformed or 2³¹ or more.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let (number, method) = value.split_once(text::is_space)?;
        let number: u32 = text::number(number)?;
        let method = Method::parse(method.trim_matches(text::is_space))?;
        (number < 1 << 31).then_some(Self { number, method })
    }
}

impl fmt::Display for CSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.method)
    }
}

/// Reads every Via, for responses go by them, and returns the topmost, which is the one this side works with.
fn vias(headers: &Headers, limits: &MessageLimits) -> Result<Via, Fault> {
    let values = headers.list(&HeaderName::Via).ok_or(bad("Malformed Via"))?;
    if values.len() > limits.list_values {
        return Err(bad("Too Many Via"));
    }
    let mut topmost = None;
    for value in values.iter().rev() {
        topmost = Some(Via::parse(value).ok_or(bad("Malformed Via"))?);
    }
    topmost.ok_or(bad("Via Is Missing"))
}

fn only<'a>(headers: &'a Headers, name: &HeaderName, otherwise: &'static str) -> Result<&'a str, Fault> {
    let mut values = headers.all(name);
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None | Some(_), _) => Err(bad(otherwise)),
    }
}

const fn bad(reason: &'static str) -> Fault {
    Fault { status: Status::BAD_REQUEST, reason }
}

/// A Call-ID is the key of much; those that are longer are nobody's.
const LONGEST_CALL_ID: usize = 512;
