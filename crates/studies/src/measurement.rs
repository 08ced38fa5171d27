//! The measuring of cells with real packets, through the backend that `headway compare` uses.

mod cells;

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use cells::{CELLS, MeasuredCells, Over};
use netem::{Impairments, Loss, Probability};

use crate::error::StudyError;
use lab::Distribution;
use lab::StopSignal;
use lab::TransportSpec;
use lab::Workload;
use lab::{Backend, BackendError, CompareConfig, RawOutcome};

/// The backend that measures, and how long each cell is measured.
#[derive(Clone)]
pub struct Measurement {
    backend: Arc<Mutex<dyn Backend + Send>>,
    pub(super) duration: Duration,
    /// Several pages show the same cells.
    done: Arc<Mutex<Done>>,
}

impl Measurement {
    /// Creates a measurement of each cell for `duration` on `backend`; cells of equal loss and rate at the same
    /// time.
    pub fn new(backend: impl Backend + Send + 'static, duration: Duration) -> Self {
        Self { backend: Arc::new(Mutex::new(backend)), duration, done: Arc::default() }
    }

    pub(super) fn describe(&self) -> String {
        format!(", measured for {} s a cell", self.duration.as_secs())
    }

    /// Returns all transports that some page wants under these conditions.
    pub(super) fn measured(&self, conditions: MeasuredAt, stop: &StopSignal) -> Result<Vec<Measured>, Left> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = done.get(&conditions) {
            return known.clone().map_err(Left::Out);
        }
        let config = conditions.config(self.duration, stop)?;
        let mut backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = backend.run(&config, config.transports.as_slice());
        if stop.is_raised() {
            return Err(StudyError::Interrupted.into());
        }
        let measured = outcome.map(|outcome| measured(&outcome));
        done.insert(conditions, measured.clone());
        measured.map_err(Left::Out)
    }
}

impl fmt::Debug for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measurement").field("duration", &self.duration).finish_non_exhaustive()
    }
}

/// The results that were measured, or why not.
type Done = BTreeMap<MeasuredAt, Result<Vec<Measured>, BackendError>>;

/// The reason why there is no value.
pub(super) enum Left {
    /// The backend has none; the page is made without.
    Out(BackendError),
    /// The page is not made.
    Study(StudyError),
}

impl From<StudyError> for Left {
    fn from(error: StudyError) -> Self {
        Self::Study(error)
    }
}

/// The conditions of a cell: loss in tenths of a per cent, messages or transactions per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MeasuredAt {
    workload: Workload,
    loss_permille: u32,
    pub(super) rate: u32,
}

impl MeasuredAt {
    pub(super) fn loss(self) -> f64 {
        f64::from(self.loss_permille) / 1000.0
    }

    fn sent(self) -> &'static str {
        self.workload.unit()
    }

    fn config(self, duration: Duration, stop: &StopSignal) -> Result<CompareConfig, StudyError> {
        let loss = Probability::new(self.loss()).map_or(Loss::None, Loss::Bernoulli);
        let rate = "100mbit".parse().ok();
        let path = Impairments { delay: Duration::from_millis(10), loss, rate, ..Impairments::default() };
        let mut config =
            CompareConfig { request_path: path.clone(), response_path: path, ..CompareConfig::default() };
        config.workload = self.workload;
        config.traffic.interval = Duration::from_secs(1) / self.rate;
        config.traffic.duration = duration;
        config.transports = cells::transports(self)?;
        config.profile =
            if self.workload == Workload::ECHO { "linux-2.6.15" } else { "linux-2.6.16" }.to_owned();
        config.tcp_congestion = "reno".to_owned();
        config.processing = Duration::from_micros(500);
        config.stop = stop.clone();
        Ok(config)
    }
}

/// Mean response time of one transport.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) transport: TransportSpec,
    pub(super) mean_ms: f64,
    pub(super) ci95: Option<[f64; 2]>,
    pub(super) answers: u64,
}

fn measured(outcome: &RawOutcome) -> Vec<Measured> {
    let of_run = |run: &lab::RawRun| {
        let answered: Vec<_> = run.samples.iter().filter_map(|sample| sample.response).collect();
        let unanswered = run.samples.len().saturating_sub(answered.len()) as u64;
        let times = Distribution::of_runs(&[answered], unanswered);
        Some(Measured {
            transport: run.transport,
            mean_ms: times.mean()?,
            ci95: times.ci95(),
            answers: times.count(),
        })
    };
    outcome.runs.iter().filter_map(of_run).collect()
}
