//! The reason why a text names no transport.

use core::num::NonZeroU16;

use thiserror::Error;

use super::spec::forms;
use super::{Protocol, TRANSPORTS, TransportSpec};

/// The reason why a text names no transport.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransportError {
    /// The name is none of the protocols.
    #[error("`{0}` is no transport: use {known}", known = forms())]
    Unknown(String),
    /// The name of no protocol, where a protocol without its number of streams or connections is wanted.
    #[error("`{0}` is no protocol: use {known}", known = TRANSPORTS.map(Protocol::name).join(", "))]
    UnknownProtocol(String),
    /// The text after the name is wrong or missing.
    #[error("`{text}`: {because}")]
    Argument {
        /// The text of the whole item.
        text: String,
        /// The mistake, and what to write.
        because: &'static str,
    },
    /// A number that is none or out of bounds.
    #[error("`{text}`: the number of {what} is 1 to {most}")]
    Count {
        /// The text of the whole item.
        text: String,
        /// The name of what is counted.
        what: &'static str,
        /// The largest number that is allowed.
        most: u16,
    },
    /// A transport stands in the list twice.
    #[error("`{0}` is in the list twice; --repeat runs everything several times")]
    Twice(TransportSpec),
}

/// Returns the number `count` of `what` in `text`, 1 to `most`.
pub(super) fn number(
    text: &str,
    count: &str,
    what: &'static str,
    most: u16,
) -> Result<NonZeroU16, TransportError> {
    let refused = || TransportError::Count { text: text.to_owned(), what, most };
    count.parse::<NonZeroU16>().ok().filter(|number| number.get() <= most).ok_or_else(refused)
}
