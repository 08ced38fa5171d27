//! The small grammar that all header fields share (RFC 3261 §25.1): tokens, quoted strings, lists, parameters.
//!
//! Every function here takes one pass over its input; nothing recurses, nothing backtracks.

use core::fmt::{self, Write};

/// Parameters of a header field or URI, in the order in which they came: `;name` or `;name=value`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parameters(Vec<Parameter>);

/// A parameter; the value as it was written, with its quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Parameter {
    name: String,
    value: Option<String>,
}

impl Parameters {
    /// Reads `;name=value;flag`, with or without the first semicolon; `None` if a name is no token, or a quoted string does
    /// not end.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(is_space);
        let text = text.strip_prefix(';').unwrap_or(text);
        if text.is_empty() {
            return Some(Self::default());
        }
        let mut parameters = Vec::new();
        for part in split(text, ';')? {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name, Some(value.trim_matches(is_space))),
                None => (part, None),
            };
            let name = name.trim_matches(is_space);
            if !is_parameter_name(name) || value.is_some_and(str::is_empty) {
                return None;
            }
            parameters.push(Parameter { name: name.to_owned(), value: value.map(str::to_owned) });
        }
        Some(Self(parameters))
    }

    /// Returns the value of a parameter, whose name is compared without regard to case; `Some("")` if it has none.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name))?;
        Some(found.value.as_deref().unwrap_or_default())
    }

    /// Returns whether there is a parameter of this name, with a value or without.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Gives a parameter a value, in its place if it is there.
    pub fn set(&mut self, name: &str, value: &str) {
        let value = Some(value.to_owned());
        match self.0.iter_mut().find(|parameter| parameter.name.eq_ignore_ascii_case(name)) {
            Some(parameter) => parameter.value = value,
            None => self.0.push(Parameter { name: name.to_owned(), value }),
        }
    }

    /// Adds a parameter without a value.
    pub fn set_flag(&mut self, name: &str) {
        self.remove(name);
        self.0.push(Parameter { name: name.to_owned(), value: None });
    }

    /// Takes a parameter away, if it is there.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|parameter| !parameter.name.eq_ignore_ascii_case(name));
    }
}

/// Writes each parameter with the semicolon before it.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Parameter { name, value } in &self.0 {
            match value {
                Some(value) => write!(f, ";{name}={value}")?,
                None => write!(f, ";{name}")?,
            }
        }
        Ok(())
    }
}

/// Splits at a separator that stands neither in a quoted string nor between angle brackets; `None` if one of them does not
/// end. Parts are without the space around them.
pub(crate) fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut place) = (Vec::new(), 0, Place::Plain);
    for (at, character) in text.char_indices() {
        place = match (place, character) {
            (Place::Plain, '"') => Place::Quoted { bracketed: false },
            (Place::Bracketed, '"') => Place::Quoted { bracketed: true },
            (Place::Plain, '<') => Place::Bracketed,
            (Place::Bracketed, '>') => Place::Plain,
            (Place::Quoted { bracketed }, '\\') => Place::Escaped { bracketed },
            (Place::Escaped { bracketed }, _) => Place::Quoted { bracketed },
            (Place::Quoted { bracketed: false }, '"') => Place::Plain,
            (Place::Quoted { bracketed: true }, '"') => Place::Bracketed,
            (Place::Plain, found) if found == separator => {
                parts.push(text[start..at].trim_matches(is_space));
                start = at + found.len_utf8();
                Place::Plain
            }
            (other, _) => other,
        };
    }
    parts.push(text[start..].trim_matches(is_space));
    (place == Place::Plain).then_some(parts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Plain,
    Bracketed,
    Quoted { bracketed: bool },
    Escaped { bracketed: bool },
}

/// Finds the first `<` outside a quoted string.
pub(crate) fn open_bracket(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, octet) in text.bytes().enumerate() {
        match octet {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'<' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns whether this is a token (RFC 3261 §25.1), of one character at least.
#[must_use]
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_octet)
}

fn is_token_octet(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&octet)
}

/// Returns whether this is the name of a parameter; those of a URI may have a few characters more than a token.
fn is_parameter_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|octet| is_token_octet(octet) || b"[]/:&+$".contains(&octet))
}

/// Returns whether a character is space within a header field, in which lines that were folded are one by now.
pub(crate) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// Reads a decimal number of digits only, and not more of them than any number here has.
pub(crate) fn number<T: core::str::FromStr>(text: &str) -> Option<T> {
    let is_plain = !text.is_empty() && text.len() <= 10 && text.bytes().all(|octet| octet.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Returns octets as hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 2);
    for octet in octets {
        // Writing to a String does not fail.
        let _ = write!(text, "{octet:02x}");
    }
    text
}
