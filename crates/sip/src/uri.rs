//! SIP URIs (RFC 3261 §19.1), and addresses with a display name (§20.10).

use core::fmt;
use core::net::IpAddr;

use crate::text::{self, Parameters};

/// A URI with the scheme sip: or sips:, read into its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SipUri {
    /// Whether this is a sips: URI, every hop to which has to be secure.
    pub is_secure: bool,
    /// The user part, with its password if there is one, as it was written.
    pub user: Option<String>,
    /// The host that the URI names.
    pub host: Host,
    /// The port that the URI gives, if it gives one.
    pub port: Option<u16>,
    /// The parameters of the URI.
    pub parameters: Parameters,
    /// The text behind the question mark: header fields of a request that is to be made from the URI.
    pub headers: Option<String>,
}

/// A host: an address or a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Host {
    /// An address; IPv6 is written between square brackets.
    Address(IpAddr),
    /// A name of a host, in lower case.
    Name(String),
}

/// The reason why a URI cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UriError {
    /// The URI has another scheme than sip: or sips: (416).
    #[error("neither sip: nor sips:")]
    Scheme,
    /// The URI is malformed (400).
    #[error("no URI")]
    Malformed,
}

impl SipUri {
    /// Reads a URI.
    ///
    /// # Errors
    ///
    /// See [`UriError`].
    pub fn parse(uri: &str) -> Result<Self, UriError> {
        let (scheme, rest) = uri.split_once(':').ok_or(UriError::Malformed)?;
        let is_scheme =
            scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && text::is_token(scheme);
        let is_secure = match scheme {
            _ if scheme.eq_ignore_ascii_case("sip") => false,
            _ if scheme.eq_ignore_ascii_case("sips") => true,
            _ if is_scheme => return Err(UriError::Scheme),
            _ => return Err(UriError::Malformed),
        };
        if !rest.bytes().all(|octet| octet.is_ascii_graphic() && !b"<>\"".contains(&octet)) {
            return Err(UriError::Malformed);
        }
        let (user, rest) = match rest.split_once('@') {
            Some((user, rest)) => (Some(user), rest),
            None => (None, rest),
        };
        if user.is_some_and(|user| user.is_empty() || !escapes_well(user)) {
            return Err(UriError::Malformed);
        }
        let (rest, headers) = match rest.split_once('?') {
            Some((rest, headers)) => (rest, Some(headers.to_owned())),
            None => (rest, None),
        };
        let (host, parameters) = rest.split_once(';').unwrap_or((rest, ""));
        let (host, port) = host_and_port(host).ok_or(UriError::Malformed)?;
        let parameters = Parameters::parse(parameters).ok_or(UriError::Malformed)?;
        Ok(Self { is_secure, user: user.map(str::to_owned), host, port, parameters, headers })
    }
}

impl fmt::Display for SipUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_secure { "sips:" } else { "sip:" })?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}", self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "{}", self.parameters)?;
        match &self.headers {
            Some(headers) => write!(f, "?{headers}"),
            None => Ok(()),
        }
    }
}

impl Host {
    /// Reads a host; `None` if it is malformed.
    #[must_use]
    pub fn parse(host: &str) -> Option<Self> {
        if let Some(inner) = host.strip_prefix('[') {
            return inner.strip_suffix(']')?.parse().ok().map(|address| Self::Address(IpAddr::V6(address)));
        }
        if let Ok(address) = host.parse() {
            return Some(Self::Address(IpAddr::V4(address)));
        }
        let is_name = !host.is_empty()
            && host.len() <= LONGEST_NAME
            && host.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"-._".contains(&octet));
        is_name.then(|| Self::Name(host.to_ascii_lowercase()))
    }

    /// Returns the address, where the host is one.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(_) => None,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// Reads `host` or `host:port`.
pub(crate) fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
    let colon = match text.rfind(']') {
        Some(end) => text[end..].find(':').map(|at| at + end),
        None => text.find(':'),
    };
    let (host, port) = match colon {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let port = match port {
        Some(port) => Some(text::number(port.trim_matches(text::is_space))?),
        None => None,
    };
    Some((Host::parse(host.trim_matches(text::is_space))?, port))
}

/// Returns whether every percent sign stands before two hexadecimal digits.
fn escapes_well(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|octet| octet.is_ascii_hexdigit()))
}

/// The longest name that DNS has (RFC 1035 §2.3.4).
const LONGEST_NAME: usize = 255;

/// The value of From, To, Contact, Route or Record-Route: a URI with a display name and parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameAddr {
    /// The display name as it was written, with its quotes; empty if there is none.
    pub display: String,
    /// The URI as it was written.
    pub uri: String,
    /// The parameters of the header field, `tag` among them.
    pub parameters: Parameters,
}

impl NameAddr {
    /// Reads a value; `None` if it is malformed.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let value = value.trim_matches(text::is_space);
        let (display, uri, parameters) = match text::open_bracket(value) {
            Some(open) => {
                let (uri, rest) = value[open + 1..].split_once('>')?;
                (value[..open].trim_matches(text::is_space), uri, rest)
            }
            // Without brackets parameters are those of the header field (RFC 3261 §20.10).
            None => {
                let end = value.find(';').unwrap_or(value.len());
                ("", value[..end].trim_matches(text::is_space), &value[end..])
            }
        };
        let parameters = parameters.trim_matches(text::is_space);
        let is_whole = parameters.is_empty() || parameters.starts_with(';');
        let has_scheme =
            uri.split_once(':').is_some_and(|(scheme, rest)| text::is_token(scheme) && !rest.is_empty());
        if !is_whole
            || !has_scheme
            || !is_display(display)
            || !uri.bytes().all(|octet| octet.is_ascii_graphic())
        {
            return None;
        }
        let parameters = Parameters::parse(parameters)?;
        Some(Self { display: display.to_owned(), uri: uri.to_owned(), parameters })
    }

    /// Creates a value of a URI alone.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { display: String::new(), uri: uri.into(), parameters: Parameters::default() }
    }

    /// Returns the tag (RFC 3261 §19.3).
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.parameters.value("tag").filter(|tag| !tag.is_empty())
    }

    /// Returns the value with this tag.
    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Self {
        self.parameters.set("tag", tag);
        self
    }
}

impl fmt::Display for NameAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.display.is_empty() {
            write!(f, "{} ", self.display)?;
        }
        write!(f, "<{}>{}", self.uri, self.parameters)
    }
}

/// Returns whether this is a display name: a quoted string, or words (RFC 3261 §25.1).
fn is_display(text: &str) -> bool {
    match text.strip_prefix('"') {
        Some(rest) => text::split(text, '\0').is_some() && rest.ends_with('"'),
        None => text.bytes().all(|octet| !b"\"<>:;,@".contains(&octet)),
    }
}
