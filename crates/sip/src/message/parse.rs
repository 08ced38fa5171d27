//! The way from octets to a message: the head is read line by line, then the body by its length.

use bytes::Bytes;

use super::{HeaderName, Headers, Message, Request, Response, VERSION};
use crate::limits::MessageLimits;
use crate::method::Method;
use crate::status::Status;
use crate::text;

/// The reason why octets are no message. What is meant by it cannot be answered, or, over a stream, even be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// The message is longer than allowed.
    #[error("{bytes} octets, {most} are allowed")]
    TooLong {
        /// The octets of the message or of its body, as far as they are known.
        bytes: usize,
        /// The number of octets that are allowed.
        most: usize,
    },
    /// There is no empty line, or not within as many octets as the head may have.
    #[error("no empty line within {0} octets")]
    NoEnd(usize),
    /// There are more header fields than allowed.
    #[error("more than {0} header fields")]
    TooManyHeaders(usize),
    /// The head has octets that are no text, or control characters.
    #[error("octet {0} of the head is no text")]
    NoText(usize),
    /// The first line is neither that of a request nor that of a response.
    #[error("the first line is none of SIP")]
    StartLine,
    /// A line has no colon, or its name is no token.
    #[error("line {0} is no header field")]
    HeaderLine(usize),
    /// Content-Length is no number, or stands there twice with different ones.
    #[error("Content-Length does not fit")]
    ContentLength,
    /// The body is shorter than Content-Length says: the message was cut off.
    #[error("a body of {came} octets, Content-Length says {said}")]
    CutOff {
        /// The octets of the body that came.
        came: usize,
        /// The octets that Content-Length says.
        said: usize,
    },
}

/// The two octets that end a line. Others, which are lenient towards bare line feeds, can be made to see another message than
/// this side does; nobody who speaks SIP sends them.
const LINE_END: &str = "\r\n";
const HEAD_END: &[u8] = b"\r\n\r\n";

pub(super) fn message(octets: &Bytes, limits: &MessageLimits) -> Result<Message, ParseError> {
    let (start, headers, rest) = split(octets, limits)?;
    let body_bytes = match content_length(&headers)? {
        Some(length) if length > limits.body_bytes => {
            return Err(ParseError::TooLong { bytes: length, most: limits.body_bytes });
        }
        Some(length) if length > rest.len() => {
            return Err(ParseError::CutOff { came: rest.len(), said: length });
        }
        Some(length) => length,
        None if rest.len() > limits.body_bytes => {
            return Err(ParseError::TooLong { bytes: rest.len(), most: limits.body_bytes });
        }
        None => rest.len(),
    };
    start_line(start, headers, rest.slice(..body_bytes))
}

/// Reads a message whose body was cut off, all but the body.
pub(super) fn without_body(octets: &Bytes, limits: &MessageLimits) -> Result<Message, ParseError> {
    let (start, headers, _) = split(octets, limits)?;
    start_line(start, headers, Bytes::new())
}

/// Splits octets into the first line, the header fields, and what stands behind the head.
fn split<'a>(octets: &'a Bytes, limits: &MessageLimits) -> Result<(&'a str, Headers, Bytes), ParseError> {
    if octets.len() > limits.message_bytes {
        return Err(ParseError::TooLong { bytes: octets.len(), most: limits.message_bytes });
    }
    let head_bytes = head_end(octets, limits).ok_or(ParseError::NoEnd(limits.head_bytes))?;
    let head = head_text(&octets[..head_bytes])?;
    let (start, fields) = head.split_once(LINE_END).unwrap_or((head, ""));
    Ok((start, headers(fields, limits)?, octets.slice(head_bytes + HEAD_END.len()..)))
}

/// Finds where the head ends, not counting the empty line.
pub(crate) fn head_end(octets: &[u8], limits: &MessageLimits) -> Option<usize> {
    let within = &octets[..octets.len().min(limits.head_bytes)];
    within.windows(HEAD_END.len()).position(|window| window == HEAD_END)
}

/// Returns the head as text, if it is UTF-8 (RFC 3261 §7) without control characters but line ends and tabs.
fn head_text(head: &[u8]) -> Result<&str, ParseError> {
    let text = core::str::from_utf8(head).map_err(|error| ParseError::NoText(error.valid_up_to()))?;
    let octets = text.as_bytes();
    for (at, octet) in octets.iter().enumerate() {
        let is_fine = match octet {
            b'\r' => octets.get(at + 1) == Some(&b'\n'),
            b'\n' => at > 0 && octets[at - 1] == b'\r',
            b'\t' => true,
            0..0x20 | 0x7F => false,
            0x20.. => true,
        };
        if !is_fine {
            return Err(ParseError::NoText(at));
        }
    }
    Ok(text)
}

/// Reads header fields; lines that begin with space go on with the one before (RFC 3261 §7.3.1).
fn headers(fields: &str, limits: &MessageLimits) -> Result<Headers, ParseError> {
    let mut lines: Vec<(HeaderName, String)> = Vec::new();
    for (index, line) in fields.split(LINE_END).enumerate().filter(|(_, line)| !line.is_empty()) {
        if line.starts_with(text::is_space) {
            let (_, value) = lines.last_mut().ok_or(ParseError::HeaderLine(index + 1))?;
            unfold(value, line);
            continue;
        }
        if lines.len() == limits.header_lines {
            return Err(ParseError::TooManyHeaders(limits.header_lines));
        }
        let (name, value) = line.split_once(':').ok_or(ParseError::HeaderLine(index + 1))?;
        let name = name.trim_end_matches(text::is_space);
        if !text::is_token(name) {
            return Err(ParseError::HeaderLine(index + 1));
        }
        lines.push((HeaderName::of(name), value.trim_matches(text::is_space).to_owned()));
    }
    let mut headers = Headers::default();
    for (name, value) in lines {
        headers.push(name, value);
    }
    Ok(headers)
}

/// Reads Content-Length out of a head that has just been found whole in a stream, by the very rules of [`message`].
pub(crate) fn content_length_of_head(head: &[u8]) -> Result<Option<usize>, ParseError> {
    let head = head_text(head)?;
    let mut found = None;
    let mut lines = head.split(LINE_END).skip(1).peekable();
    while let Some(line) = lines.next() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let name = name.trim_end_matches(text::is_space);
        if name.eq_ignore_ascii_case("l") || name.eq_ignore_ascii_case("Content-Length") {
            let mut value = value.trim_matches(text::is_space).to_owned();
            while let Some(line) = lines.next_if(|line| line.starts_with(text::is_space)) {
                unfold(&mut value, line);
            }
            found = same_length(found, &value)?;
        }
    }
    Ok(found)
}

/// Appends a line to the value that it goes on with (RFC 3261 §7.3.1); the space between them is one, and none is left at an end.
fn unfold(value: &mut String, line: &str) {
    let line = line.trim_matches(text::is_space);
    if !value.is_empty() && !line.is_empty() {
        value.push(' ');
    }
    value.push_str(line);
}

/// Returns the length that Content-Length gives, if it is there. Two lengths that differ are refused, for they are a
/// way to have two readers see two messages.
fn content_length(headers: &Headers) -> Result<Option<usize>, ParseError> {
    headers.all(&HeaderName::ContentLength).try_fold(None, same_length)
}

fn same_length(found: Option<usize>, value: &str) -> Result<Option<usize>, ParseError> {
    let length: usize = text::number(value).ok_or(ParseError::ContentLength)?;
    match found {
        Some(other) if other != length => Err(ParseError::ContentLength),
        Some(_) | None => Ok(Some(length)),
    }
}

fn start_line(line: &str, headers: Headers, body: Bytes) -> Result<Message, ParseError> {
    if let Some(rest) = line.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(' ')) {
        let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let code = (code.len() == 3).then(|| text::number(code)).flatten().and_then(Status::new);
        let status = code.ok_or(ParseError::StartLine)?;
        return Ok(Message::Response(Response { status, reason: reason.to_owned(), headers, body }));
    }
    let mut words = line.split(' ');
    let (Some(method), Some(uri), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(ParseError::StartLine);
    };
    let method = Method::parse(method).ok_or(ParseError::StartLine)?;
    let is_version = version.strip_prefix("SIP/").is_some_and(|number| number.contains('.'));
    if uri.is_empty() || !is_version {
        return Err(ParseError::StartLine);
    }
    Ok(Message::Request(Request { method, uri: uri.to_owned(), version: version.to_owned(), headers, body }))
}
