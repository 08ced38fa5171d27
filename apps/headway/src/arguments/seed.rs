//! Seeds of everything random.

/// The mistake in a seed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a seed is a whole number from 0 to 18446744073709551615")]
pub(crate) struct SeedError;

/// Parses a seed.
pub(crate) fn parse_seed(text: &str) -> Result<u64, SeedError> {
    text.parse().map_err(|_| SeedError)
}
