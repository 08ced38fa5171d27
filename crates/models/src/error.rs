//! The reason why a model has no answer.

use crate::quantity::Probability;

/// The reason why a model has no answer for its arguments.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A probability outside `0 ≤ p < 1`.
    #[error("{value} is not a probability: it must be at least 0 and less than 1")]
    NotAProbability {
        /// The number that was given.
        value: f64,
    },
    /// A rate that is not a positive, finite number.
    #[error("{value} is not a rate: it must be a positive number of events per second")]
    NotARate {
        /// The number that was given.
        value: f64,
    },
    /// A time that must not be zero is zero.
    #[error("{quantity} must be longer than 0")]
    ZeroDuration {
        /// The name of the argument.
        quantity: &'static str,
    },
    /// A size or a count that must not be zero is zero.
    #[error("{quantity} must be at least 1")]
    ZeroCount {
        /// The name of the argument.
        quantity: &'static str,
    },
    /// The packets are too small to carry any user data.
    #[error("an MTU of {mtu_bytes} octets leaves no room for user data: at least {least_bytes} are needed")]
    MtuTooSmall {
        /// The MTU that was given, in octets.
        mtu_bytes: u32,
        /// The smallest MTU that carries one octet.
        least_bytes: u32,
    },
    /// The mean is infinite: each retry waits twice as long, and too many are needed.
    #[error(
        "the mean response time is infinite at a loss of {loss}: waiting times double faster than retries succeed"
    )]
    Diverges {
        /// The probability of loss that was given.
        loss: Probability,
    },
    /// The rate has no limit: without losses a sender is as fast as its window and its path allow, and neither
    /// is in the model.
    #[error("without losses nothing in the model limits the rate: give a window")]
    Unlimited,
    /// A parameter is outside its range.
    #[error("{quantity} is {value}: it must be {range}")]
    OutOfRange {
        /// The name of the argument.
        quantity: &'static str,
        /// The value that was given.
        value: f64,
        /// The range of values that is allowed.
        range: &'static str,
    },
    /// A count is larger than a model computes.
    #[error("too many {quantity}: at most {most} are computed")]
    TooMany {
        /// The name of what is counted.
        quantity: &'static str,
        /// The largest count that is computed.
        most: u32,
    },
    /// A combination that the model does not cover.
    #[error("{what}: not modelled")]
    NotModelled {
        /// The combination that was asked for.
        what: &'static str,
    },
    /// The result does not fit its type.
    #[error("{quantity} is too large to be represented")]
    TooLarge {
        /// The name of the result in question.
        quantity: &'static str,
    },
}
