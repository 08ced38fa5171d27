//! Sizes: `500` (octets), `64KiB`.

/// The mistake in a size.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SizeError {
    #[error("a size is a whole number of octets, such as 500, or of KiB or MiB, such as 64KiB")]
    NoNumber,
    #[error("that is too much: write at most 4294967295 octets")]
    TooLarge,
}

/// Parses a size in octets.
pub(crate) fn parse_size(text: &str) -> Result<u32, SizeError> {
    let (digits, octets_per_unit) = if let Some(digits) = text.strip_suffix("KiB") {
        (digits, 1024)
    } else if let Some(digits) = text.strip_suffix("MiB") {
        (digits, 1024 * 1024)
    } else {
        (text, 1)
    };
    let digits = digits.trim_end();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(SizeError::NoNumber);
    }
    let number: u32 = digits.parse().map_err(|_| SizeError::TooLarge)?;
    number.checked_mul(octets_per_unit).ok_or(SizeError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_and_binary_multiples_are_sizes() {
        assert_eq!(parse_size("500"), Ok(500));
        assert_eq!(parse_size("64KiB"), Ok(65_536));
        assert_eq!(parse_size("1MiB"), Ok(1_048_576));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "KiB", "-1", "1.5KiB", "64kB", "+5"] {
            assert_eq!(parse_size(text), Err(SizeError::NoNumber), "{text}");
        }
        assert_eq!(parse_size("4294967296"), Err(SizeError::TooLarge));
        assert_eq!(parse_size("4096MiB"), Err(SizeError::TooLarge));
    }
}
