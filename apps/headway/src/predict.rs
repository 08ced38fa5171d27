//! `headway predict`: the analytical models on the command line. Each prediction is a submodule.

mod loss;
mod response_time;
mod simco_load;
mod startup;
mod table;
mod tcp_connections;
mod throughput;

pub(crate) use loss::channel_in_time;
pub(crate) use response_time::{STUDY_RTO, s4_equation};

use clap::{Args, Subcommand, ValueEnum};
use models::ModelError;

use crate::failure::{CommandError, Failure};

/// What theory says: the formulas of the studies, and our own model
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    prediction: Prediction,
}

#[derive(Debug, Subcommand)]
enum Prediction {
    ResponseTime(response_time::Arguments),
    SimcoLoad(simco_load::Arguments),
    Startup(startup::Arguments),
    TcpConnections(tcp_connections::Arguments),
    Throughput(throughput::Arguments),
    Table(table::Arguments),
}

/// The source of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Study {
    /// Head-of-line blocking in TCP and SCTP (2006)
    #[value(name = "S1")]
    S1,
    /// Transport protocols for firewall control (2007)
    #[value(name = "S4")]
    S4,
    /// Our resequencing model: distributions, repeated losses, recovery as today's stacks do it
    #[value(name = "model")]
    Model,
}

/// The reason why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PredictError {
    #[error("{option} does not go with {other}: {remedy}")]
    Mismatch { option: String, other: String, remedy: &'static str },
    #[error("either --rate or --interval is needed: add for example --rate 100")]
    NoLoad,
    #[error("--message '0' carries nothing: write at least 1")]
    EmptyMessage,
    #[error("--segment '0' carries nothing: write at least 1")]
    EmptySegment,
    #[error("--loss '0%' limits nothing: add for example --window 64")]
    UnlimitedRate,
    #[error("--initial-window '0' lets nothing out: write at least 1, or leave it out for 4380")]
    NoWindow,
    #[error("--mtu '{mtu_bytes}' leaves no room for user data: write at least {least_bytes}")]
    SmallMtu { mtu_bytes: u32, least_bytes: u32 },
    #[error(
        "--loss '{0}' is too much for UDP: waits double faster than retries succeed, the mean is infinite; \
         write less than 29.2%"
    )]
    Diverges(models::Probability),
    #[error("{0}: choose smaller values")]
    Model(ModelError),
}

impl CommandError for PredictError {
    /// Returns 2: what was asked for makes no sense.
    fn exit_status(&self) -> u8 {
        2
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        PredictError::from(error).into()
    }
}

impl From<ModelError> for PredictError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Diverges { loss } => Self::Diverges(loss),
            ModelError::MtuTooSmall { mtu_bytes, least_bytes } => Self::SmallMtu { mtu_bytes, least_bytes },
            ModelError::NotAProbability { .. }
            | ModelError::NotARate { .. }
            | ModelError::ZeroDuration { .. }
            | ModelError::ZeroCount { .. }
            | ModelError::Unlimited
            | ModelError::TooMany { .. }
            | ModelError::NotModelled { .. }
            | ModelError::OutOfRange { .. }
            | ModelError::TooLarge { .. } => Self::Model(error),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.prediction {
        Prediction::ResponseTime(arguments) => response_time::run(arguments),
        Prediction::SimcoLoad(arguments) => simco_load::run(arguments),
        Prediction::Startup(arguments) => startup::run(arguments),
        Prediction::TcpConnections(arguments) => tcp_connections::run(arguments),
        Prediction::Throughput(arguments) => throughput::run(arguments),
        Prediction::Table(arguments) => table::run(arguments),
    }
}

/// Returns milliseconds, for text and JSON.
fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
