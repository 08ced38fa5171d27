//! `headway compare`: one workload over several transports through an emulated path, beside the models.
//!
//! Options become a [`CompareConfig`], the laboratory runs it, and here the result is printed and written.

mod prediction;
mod result;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use emulator::CaptureFile;
use lab::{
    BackendChoice, BackendError, CompareConfig, Comparison, Conditions, Handover, Prediction, RawOutcome,
    RunError, Simulator, TransportSpec, run_compare,
};

pub(crate) use result::Destination;
use result::Outcome;

use crate::arguments::{
    CapturePointArguments, EventsArguments, ImpairmentArguments, ProcessingArguments, TrafficArguments,
    UsageError, check_capture, parse_positive_duration,
};
use crate::failure::{CommandError, Failure, Interrupted};
use crate::interrupt;
use crate::origin::origin;
use crate::output::OutputArguments;
use crate::progress::Bar;
use crate::rights::{Rights, WithRights};

/// Response times of one signalling workload over several transports, side by side with the models
///
/// The transports run at the same time, each over an emulated link of its own, with the same send times and the
/// same packets lost. Without a path, it has a round trip of 20 ms and loses 1 % of the packets.
#[derive(Debug, Args)]
#[command(
    mut_arg("rtt", |rtt| rtt.default_value("20ms")),
    mut_arg("loss", |loss| loss.default_value("1%")),
    mut_arg("out", |out| out.default_value("headway-report")),
    after_help = "Example:\n  headway compare --loss 2% --duration 5s --backend simulator --no-report"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    path: ImpairmentArguments,
    #[command(flatten)]
    traffic: TrafficArguments,
    #[command(flatten)]
    processing: ProcessingArguments,
    /// How old a frame of the workload video may be when it is delivered [default: 150ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration, help_heading = "Workload")]
    deadline: Option<Duration>,
    /// The client goes on in another network in mid-run, from the path above: at=5s, overlap=1s (both links work for so long) or gap=500ms (none
    /// does), rtt=30ms, and of the new link loss=1%, rate=20mbit, queue=50p; start_up=resume has SCTP begin there with what it used before,
    /// start_up=probe with no more of it than a train of packets shows to be carried; over sctp, tcp (which connects again) and quic (which migrates)
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Path")]
    handover: Option<Handover>,
    /// The backend: namespaces (real packets, kernel TCP), simulator (virtual time, no rights needed), or auto,
    /// which takes the simulator where namespaces are refused
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: BackendChoice,
    /// Write all packets to this pcapng file (in the simulator one per transport, named after it; with --sequential numbered)
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    pcap_at: CapturePointArguments,
    #[command(flatten)]
    events: EventsArguments,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    output: OutputArguments,
}

/// The reason why there is no comparison, or not a good one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompareFailure {
    #[error("--backend 'namespaces' is refused: {0}; or use --backend simulator")]
    Refused(String),
    #[error(transparent)]
    Failed(BackendError),
    #[error("--out '{}' cannot be written: {error}; name a writable folder, or use --no-report", path.display())]
    Report { path: PathBuf, error: lab::report::ReportError },
    #[error("{0}")]
    Runs(String),
    #[error("not all was written: {0}; the results above are complete")]
    Incomplete(String),
}

impl CommandError for CompareFailure {}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Config(error) => UsageError::from(error).into(),
            RunError::Backend(BackendError::Refused { because }) => CompareFailure::Refused(because).into(),
            RunError::Backend(error @ BackendError::Failed { .. }) => CompareFailure::Failed(error).into(),
        }
    }
}

impl Arguments {
    /// Returns whether network namespaces may be used.
    pub(crate) fn wants_namespaces(&self) -> bool {
        match self.backend {
            BackendChoice::Auto | BackendChoice::Namespaces => true,
            BackendChoice::Simulator => false,
        }
    }

    fn config(&self) -> Result<CompareConfig, UsageError> {
        let path = self.path.path()?;
        let mut config = self.traffic.config()?;
        config.traffic.deadline = self.deadline;
        Ok(CompareConfig {
            request_path: path.request,
            response_path: path.response,
            processing: self.processing.processing()?,
            backend: self.backend,
            capture: self.pcap.clone().map(|path| CaptureFile { path, point: self.pcap_at.point() }),
            handover: self.handover.clone(),
            ..config
        })
    }
}

pub(crate) fn run(arguments: &Arguments, rights: Rights) -> Result<(), Failure> {
    let config = arguments.config()?;
    let in_real_time = arguments.wants_namespaces() && rights.are_granted();
    let job = Job {
        config: &config,
        destination: &arguments.destination,
        output: &arguments.output,
        events: &arguments.events,
        expected: in_real_time.then(|| expected_time(&config)),
    };
    let run = || run_compare(&config, &mut WithRights(rights), &mut Simulator);
    job.carry_out("", run, |transport| prediction::predict(&config, transport))
}

/// A comparison to be run, and where everything goes that comes of it: what `compare` and `load` have in common.
pub(crate) struct Job<'a> {
    pub(crate) config: &'a CompareConfig,
    pub(crate) destination: &'a Destination,
    pub(crate) output: &'a OutputArguments,
    pub(crate) events: &'a EventsArguments,
    /// How long it takes; `None` where nobody knows.
    pub(crate) expected: Option<Duration>,
}

impl Job<'_> {
    /// Opens all that will be written to, says `announcement`, runs the comparison, and publishes it beside the predictions.
    pub(crate) fn carry_out(
        &self,
        announcement: &str,
        run: impl FnOnce() -> Result<RawOutcome, RunError>,
        predict: impl Fn(TransportSpec) -> Result<Prediction, String>,
    ) -> Result<(), Failure> {
        let config = self.config;
        config.validate().map_err(UsageError::from)?;
        let origin = origin();
        let output = self.output.open()?;
        let earlier = self.destination.earlier()?;
        self.destination.prepare()?;
        check_capture(config.capture.as_ref().map(|file| file.path.as_path()))?;
        let events = self.events.begin()?;
        output.tell(announcement)?;
        interrupt::stop_on_interrupt(&config.stop);
        let progress = Bar::of_time(self.output, self.expected);
        let raw = run();
        progress.finish();
        let raw = raw?;
        let conditions = Conditions { origin, ..Conditions::of_this_host() };
        let comparison = Comparison::new(config, &raw, conditions, predict);
        let outcome = Outcome { comparison: &comparison, raw: &raw, events, earlier };
        let published = self.destination.publish(&outcome, &output);
        if config.stop.is_raised() {
            return Err(Interrupted(": these are the results until then").into());
        }
        published
    }
}

/// Returns the time it takes when all is answered soon after the last request.
pub(crate) fn expected_time(config: &CompareConfig) -> Duration {
    let transports = u32::try_from(config.transports.as_slice().len()).unwrap_or(u32::MAX);
    let one_after_the_other = if config.runs_concurrently() { 1 } else { transports };
    config.traffic.duration.saturating_mul(one_after_the_other).saturating_mul(config.repeat.get())
}
