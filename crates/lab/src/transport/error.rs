//! The reason why a text names no transport.

use core::num::NonZeroU16;

use thiserror::Error;

/// The reason why a text names no transport.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransportError {
    /// The name is none of the protocols.
    #[error("`{text}` is no transport: use {known}")]
    Unknown {
        /// The text that was written.
        text: String,
        /// The ways to write those that there are.
        known: String,
    },
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
    #[error("`{0}` is in the list twice")]
    Twice(String),
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
