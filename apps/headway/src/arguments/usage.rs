//! The mistakes that no option can know alone: options that do not go together, values that depend on others. The laboratory
//! names fields and bounds; here they get the names of options.

use lab::{CompareError, ResultFileError, TraceFileError, Workload};

use crate::failure::CommandError;

/// Wrong usage, found after the options were read one by one: exit status 2.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("{option} '{value}': {because}; {remedy}")]
    Value { option: &'static str, value: String, because: String, remedy: String },
    #[error("{option}: {because}; {remedy}")]
    Flag { option: &'static str, because: &'static str, remedy: &'static str },
    #[error(transparent)]
    Rate(#[from] models::ModelError),
    #[error("--arrivals {0}; name a file with a number of seconds in each line")]
    Trace(String),
    #[error("--with: {0}")]
    With(String),
    /// What options have refused before, one by one.
    #[error(transparent)]
    Comparison(CompareError),
}

impl CommandError for UsageError {
    fn exit_status(&self) -> u8 {
        2
    }
}

impl CommandError for ResultFileError {
    fn exit_status(&self) -> u8 {
        2
    }
}

impl UsageError {
    /// Creates a value that makes no sense beside the others.
    pub(crate) fn value(option: &'static str, value: impl ToString, because: &str, remedy: &str) -> Self {
        let (because, remedy) = (because.to_owned(), remedy.to_owned());
        Self::Value { option, value: value.to_string(), because, remedy }
    }
}

impl From<TraceFileError> for UsageError {
    fn from(error: TraceFileError) -> Self {
        Self::Trace(error.to_string())
    }
}

impl From<CompareError> for UsageError {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::NotAnswered { workload } => Self::Value {
                option: "--workload",
                value: workload.to_string(),
                because: "this workload has no response times".to_owned(),
                remedy: format!("use {}", Workload::answered()),
            },
            CompareError::TooBig { octets, transport, most } => Self::Value {
                option: "--message",
                value: octets.to_string(),
                because: format!("{transport} carries at most {most} octets"),
                remedy: format!("write less, or leave {transport} out of --transport"),
            },
            CompareError::NoDeadline { deadline, workload } => Self::Value {
                option: "--deadline",
                value: super::format_duration(deadline),
                because: format!("messages of workload {workload} have none"),
                remedy: "leave it out, or use --workload video".to_owned(),
            },
            CompareError::LongestMessage { mean, error } => Self::Value {
                option: "--message",
                value: mean.to_string(),
                because: format!("the longest messages have eight times the mean: {error}"),
                remedy: "write at most 128KiB".to_owned(),
            },
            CompareError::HandoverTooLate { arrives, duration } => Self::Value {
                option: "--handover",
                value: super::format_duration(arrives),
                because: format!(
                    "the new link works then, and requests are sent for {}",
                    super::format_duration(duration)
                ),
                remedy: "let it be earlier, or --duration longer".to_owned(),
            },
            error @ (CompareError::RequestPath(_)
            | CompareError::ResponsePath(_)
            | CompareError::ZeroInterval
            | CompareError::ZeroDuration) => Self::Comparison(error),
        }
    }
}
