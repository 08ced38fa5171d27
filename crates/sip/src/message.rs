//! Messages as values: a start line, header fields in order and as they were written, a body.
//!
//! A header field keeps its text. What the stack has to understand of it is read on demand, by
//! [`Essentials`](crate::Essentials), [`Via`](crate::Via), [`NameAddr`](crate::NameAddr) and their like; everything else passes
//! through untouched.

mod headers;
mod parse;
#[cfg(test)]
mod tests;

use core::fmt::Write;

use bytes::Bytes;

pub use self::headers::{HeaderName, Headers};
pub use self::parse::ParseError;
pub(crate) use self::parse::{content_length_of_head, head_end};

use crate::limits::MessageLimits;
use crate::method::Method;
use crate::status::Status;

/// A message of SIP, which is a request or a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// The message is a request.
    Request(Request),
    /// The message is a response.
    Response(Response),
}

/// A request, which asks the other side to do something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The method, which says what the request asks for.
    pub method: Method,
    /// The Request-URI as it was written; [`SipUri`](crate::SipUri) reads it.
    pub uri: String,
    /// The version, `SIP/2.0` unless the peer speaks another one.
    pub version: String,
    /// The header fields, in the order in which they are sent.
    pub headers: Headers,
    /// The body, which is empty if the request has none.
    pub body: Bytes,
}

/// A response, which answers a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// The status code, which says how the request fared.
    pub status: Status,
    /// The reason phrase, which says the same to people.
    pub reason: String,
    /// The header fields, in the order in which they are sent.
    pub headers: Headers,
    /// The body, which is empty if the response has none.
    pub body: Bytes,
}

impl Message {
    /// Reads a message that is alone in its datagram, user message, or cut of a stream.
    ///
    /// The body has the length that Content-Length says, or reaches to the end without it; octets behind it are ignored
    /// (RFC 3261 §18.3).
    ///
    /// # Errors
    ///
    /// See [`ParseError`]. A request whose header fields make no sense is no error here: that is found by
    /// [`Essentials::of_request`](crate::Essentials::of_request), which knows the answer to it.
    pub fn parse(octets: &Bytes, limits: &MessageLimits) -> Result<Self, ParseError> {
        parse::message(octets, limits)
    }

    /// Reads a message of which [`ParseError::CutOff`] was said, without its body: whoever sent a request can be told so.
    ///
    /// # Errors
    ///
    /// See [`ParseError`].
    pub(crate) fn parse_without_body(octets: &Bytes, limits: &MessageLimits) -> Result<Self, ParseError> {
        parse::without_body(octets, limits)
    }
}

impl Request {
    /// Creates a request without header fields.
    #[must_use]
    pub fn new(method: Method, uri: impl Into<String>) -> Self {
        Self {
            method,
            uri: uri.into(),
            version: VERSION.to_owned(),
            headers: Headers::default(),
            body: Bytes::new(),
        }
    }

    /// Writes the request, with the Content-Length that its body has.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut head = String::with_capacity(ROOM);
        // Writing to a String does not fail.
        let _ = write!(head, "{} {} {}\r\n", self.method, self.uri, self.version);
        finish(head, &self.headers, &self.body)
    }
}

impl Response {
    /// Creates a response without header fields.
    #[must_use]
    pub fn new(status: Status) -> Self {
        Self { status, reason: status.reason().to_owned(), headers: Headers::default(), body: Bytes::new() }
    }

    /// Writes the response, with the Content-Length that its body has.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut head = String::with_capacity(ROOM);
        // Writing to a String does not fail.
        let _ = write!(head, "{VERSION} {} {}\r\n", self.status, self.reason);
        finish(head, &self.headers, &self.body)
    }
}

fn finish(mut head: String, headers: &Headers, body: &Bytes) -> Bytes {
    for (name, value) in headers.iter().filter(|(name, _)| **name != HeaderName::ContentLength) {
        head.push_str(name.as_str());
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    // Writing to a String does not fail.
    let _ = write!(head, "Content-Length: {}\r\n\r\n", body.len());
    let mut octets = head.into_bytes();
    octets.extend_from_slice(body);
    octets.into()
}

/// The version that this stack speaks.
pub(crate) const VERSION: &str = "SIP/2.0";
/// The octets that are reserved for a head; most messages fit into it.
const ROOM: usize = 768;
