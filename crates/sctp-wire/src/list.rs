//! Lists in brackets, for `Display`.

use core::fmt::{self, Display, Formatter};

use crate::error::DecodeError;

/// `[a b c]`, with the separator given.
pub(crate) struct Bracketed<I>(pub(crate) &'static str, pub(crate) I);

impl<I: Iterator<Item: Display> + Clone> Display for Bracketed<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, item) in self.1.clone().enumerate() {
            let separator = if index == 0 { "" } else { self.0 };
            write!(f, "{separator}{item}")?;
        }
        f.write_str("]")
    }
}

/// `[a, b, malformed: …]` of a list that is decoded while it is walked over.
pub(crate) struct Walked<L>(pub(crate) L);

impl<T: Display, L: IntoIterator<Item = Result<T, DecodeError>> + Clone> Display for Walked<L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, item) in self.0.clone().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match item {
                Ok(item) => write!(f, "{separator}{item}")?,
                Err(error) => write!(f, "{separator}malformed: {error}")?,
            }
        }
        f.write_str("]")
    }
}
