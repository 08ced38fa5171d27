//! The mistakes that no option can know alone: options that do not go together, values that depend on others.

/// Wrong usage, found after the options were read one by one: exit status 2.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("{option} '{value}': {because}; {remedy}")]
    Value { option: &'static str, value: String, because: String, remedy: String },
    #[error("{option}: {because}; {remedy}")]
    Flag { option: &'static str, because: &'static str, remedy: &'static str },
    #[error(transparent)]
    Rate(#[from] models::ModelError),
    #[error("{0}")]
    Trace(String),
}

impl UsageError {
    /// Creates a value that makes no sense beside the others.
    pub(crate) fn value(option: &'static str, value: impl ToString, because: &str, remedy: &str) -> Self {
        let (because, remedy) = (because.to_owned(), remedy.to_owned());
        Self::Value { option, value: value.to_string(), because, remedy }
    }
}
