//! Why a text names no transport.

use core::num::NonZeroU16;

use thiserror::Error;

use super::spec::forms;
use super::{Protocol, TRANSPORTS, TransportSpec};

/// Why a text names no transport.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransportError {
    /// None of the protocols.
    #[error("`{0}` is no transport: use {known}", known = forms())]
    Unknown(String),
    /// The name of no protocol, where a protocol without its number of streams or connections is wanted.
    #[error("`{0}` is no protocol: use {known}", known = TRANSPORTS.map(Protocol::name).join(", "))]
    UnknownProtocol(String),
    /// What follows the name, or that nothing does.
    #[error("`{text}`: {because}")]
    Argument {
        /// The whole item.
        text: String,
        /// What is wrong, and what to write.
        because: &'static str,
    },
    /// A number that is none or out of bounds.
    #[error("`{text}`: the number of {what} is 1 to {most}")]
    Count {
        /// The whole item.
        text: String,
        /// What is counted.
        what: &'static str,
        /// The upper bound.
        most: u16,
    },
    /// The same transport again.
    #[error("`{0}` is in the list twice; --repeat runs everything several times")]
    Twice(TransportSpec),
}

/// The number `count` of `what` in `text`, 1 to `most`.
pub(super) fn number(
    text: &str,
    count: &str,
    what: &'static str,
    most: u16,
) -> Result<NonZeroU16, TransportError> {
    let refused = || TransportError::Count { text: text.to_owned(), what, most };
    count.parse::<NonZeroU16>().ok().filter(|number| number.get() <= most).ok_or_else(refused)
}
