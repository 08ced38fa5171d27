//! The option for the size of a request.

use workload::{MessageError, MessageSize};

use super::parse_size;

/// The mistake in the size of a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageSizeError {
    #[error("{0}")]
    Size(#[from] super::size::SizeError),
    #[error("{0}: write for example 64 or 4KiB")]
    Message(#[from] MessageError),
}

/// Parses `64` or `4KiB`, within the bounds of a message.
pub(crate) fn parse_message(text: &str) -> Result<MessageSize, MessageSizeError> {
    Ok(MessageSize::new(parse_size(text)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_holds_its_header_and_at_most_a_mebibyte() {
        assert_eq!(parse_message("20").unwrap().get(), 20);
        assert_eq!(parse_message("1MiB").unwrap().get(), 1 << 20);
        assert!(parse_message("19").unwrap_err().to_string().contains("20 to 1048576"));
        assert!(parse_message("2MiB").unwrap_err().to_string().contains("20 to 1048576"));
        assert!(parse_message("much").unwrap_err().to_string().contains("64KiB"));
    }
}
