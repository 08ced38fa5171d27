//! Header fields: their names, and the list of them in a message.

use core::fmt;

/// The name of a header field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeaderName {
    /// The header field Allow, which lists the methods that its sender accepts.
    Allow,
    /// The header field Authorization, by which the sender of a request proves who it is.
    Authorization,
    /// The header field Call-ID, compact `i`, which all messages of a dialog have in common.
    CallId,
    /// The header field Contact, compact `m`, which says where its sender is reached directly.
    Contact,
    /// The header field Content-Encoding, compact `e`, which says how the body is encoded.
    ContentEncoding,
    /// The header field Content-Length, compact `l`, which gives the octets of the body.
    ContentLength,
    /// The header field Content-Type, compact `c`, which gives the media type of the body.
    ContentType,
    /// The header field CSeq, which numbers the requests of one side and repeats their method.
    CSeq,
    /// The header field From, compact `f`, which names the side that sent the request.
    From,
    /// The header field Max-Forwards, which limits the hops that a request may go.
    MaxForwards,
    /// The header field Min-SE (RFC 4028), which gives the shortest session interval that is accepted.
    MinSe,
    /// The header field Proxy-Require, which lists the extensions that a proxy has to know.
    ProxyRequire,
    /// The header field RAck (RFC 3262), which says which provisional response a PRACK is for.
    RAck,
    /// The header field Reason (RFC 3326), which says why a request is sent.
    Reason,
    /// The header field Record-Route, by which a proxy stays on the way of a dialog.
    RecordRoute,
    /// The header field Require, which lists the extensions that the other side has to know.
    Require,
    /// The header field Retry-After, which says how long to wait before the next attempt.
    RetryAfter,
    /// The header field Route, which lists the hops that a request has to take.
    Route,
    /// The header field RSeq (RFC 3262), which numbers reliable provisional responses.
    RSeq,
    /// The header field Session-Expires (RFC 4028), compact `x`, which gives the session interval.
    SessionExpires,
    /// The header field Supported, compact `k`, which lists the extensions that its sender knows.
    Supported,
    /// The header field To, compact `t`, which names the side that the request is meant for.
    To,
    /// The header field Unsupported, which lists the required extensions that its sender does not know.
    Unsupported,
    /// The header field Via, compact `v`, which gives the way back of responses.
    Via,
    /// Any other name, as it was written.
    Other(Box<str>),
}

impl HeaderName {
    /// Reads a name, long or compact, without regard to case; whether it is a token is not looked at.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let known = KNOWN.iter().find(|(_, long, compact)| {
            text.eq_ignore_ascii_case(long) || (text.len() == 1 && text.eq_ignore_ascii_case(compact))
        });
        known.map_or_else(|| Self::Other(text.into()), |(name, _, _)| name.clone())
    }

    /// Returns the name as it is written, in its long form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if let Self::Other(name) = self {
            return name;
        }
        KNOWN.iter().find(|(name, _, _)| name == self).map_or("", |(_, long, _)| long)
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names with their long and compact forms (RFC 3261 §20, RFC 4028 §4).
const KNOWN: [(HeaderName, &str, &str); 24] = [
    (HeaderName::Via, "Via", "v"),
    (HeaderName::From, "From", "f"),
    (HeaderName::To, "To", "t"),
    (HeaderName::CallId, "Call-ID", "i"),
    (HeaderName::CSeq, "CSeq", ""),
    (HeaderName::Contact, "Contact", "m"),
    (HeaderName::MaxForwards, "Max-Forwards", ""),
    (HeaderName::ContentLength, "Content-Length", "l"),
    (HeaderName::ContentType, "Content-Type", "c"),
    (HeaderName::ContentEncoding, "Content-Encoding", "e"),
    (HeaderName::Allow, "Allow", ""),
    (HeaderName::Authorization, "Authorization", ""),
    (HeaderName::MinSe, "Min-SE", ""),
    (HeaderName::ProxyRequire, "Proxy-Require", ""),
    (HeaderName::RAck, "RAck", ""),
    (HeaderName::Reason, "Reason", ""),
    (HeaderName::RecordRoute, "Record-Route", ""),
    (HeaderName::Require, "Require", ""),
    (HeaderName::RetryAfter, "Retry-After", ""),
    (HeaderName::Route, "Route", ""),
    (HeaderName::RSeq, "RSeq", ""),
    (HeaderName::SessionExpires, "Session-Expires", "x"),
    (HeaderName::Supported, "Supported", "k"),
    (HeaderName::Unsupported, "Unsupported", ""),
];

/// The header fields of a message, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Headers(Vec<(HeaderName, String)>);

impl Headers {
    /// Adds a header field behind all others. Line breaks in the value, which nobody can have sent, become spaces.
    pub fn push(&mut self, name: HeaderName, value: impl Into<String>) {
        self.0.push((name, one_line(value.into())));
    }

    /// Adds a header field before all others, as a Via is.
    pub fn push_front(&mut self, name: HeaderName, value: impl Into<String>) {
        self.0.insert(0, (name, one_line(value.into())));
    }

    /// Gives a header field one value: in the place of the first if it is there, the others go.
    pub fn set(&mut self, name: &HeaderName, value: impl Into<String>) {
        let value = one_line(value.into());
        let Some(at) = self.0.iter().position(|(found, _)| found == name) else {
            self.0.push((name.clone(), value));
            return;
        };
        self.0[at].1 = value;
        let mut index = 0;
        self.0.retain(|(found, _)| {
            index += 1;
            index <= at + 1 || found != name
        });
    }

    /// Takes all header fields of a name away.
    pub fn remove(&mut self, name: &HeaderName) {
        self.0.retain(|(found, _)| found != name);
    }

    /// Returns the first value of a name.
    #[must_use]
    pub fn first(&self, name: &HeaderName) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns all lines of a name, in order; a line may hold several values.
    pub fn all<'a>(&'a self, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = name.clone();
        self.0.iter().filter(move |(found, _)| *found == name).map(|(_, value)| value.as_str())
    }

    /// Returns all header fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &str)> {
        self.0.iter().map(|(name, value)| (name, value.as_str()))
    }

    /// Returns the values of a list header field, whether they stand in one line or in several; `None` if a quoted string or
    /// bracket does not end.
    #[must_use]
    pub fn list(&self, name: &HeaderName) -> Option<Vec<&str>> {
        let mut values = Vec::new();
        for line in self.0.iter().filter(|(found, _)| found == name).map(|(_, line)| line) {
            values.extend(crate::text::split(line, ',')?.into_iter().filter(|value| !value.is_empty()));
        }
        Some(values)
    }

    /// Returns whether a list header field has this token, without regard to case.
    #[must_use]
    pub fn lists(&self, name: &HeaderName, token: &str) -> bool {
        self.list(name).is_some_and(|values| values.iter().any(|value| value.eq_ignore_ascii_case(token)))
    }

    /// Changes the first value of a name in place; does nothing where there is none.
    pub(crate) fn replace_first(&mut self, name: &HeaderName, value: String) {
        if let Some((_, old)) = self.0.iter_mut().find(|(found, _)| found == name) {
            *old = one_line(value);
        }
    }
}

/// Replaces what would end the line of a value by spaces: whatever is put in, one header field stays one.
fn one_line(value: String) -> String {
    if value.contains(['\r', '\n', '\0']) { value.replace(['\r', '\n', '\0'], " ") } else { value }
}
