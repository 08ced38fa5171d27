//! The models, for many points at once.

use std::time::Duration;

use lab::{StopSignal, TransportSpec};
use models::resequencing::{self, Profile, Scenario, Transport};
use models::studies::{Conditions, s1, s4};
use models::{ModelError, Probability, Rate};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{Bound, PyErr, PyResult, Python, pyfunction};

use crate::approximation::Approximation;
use crate::shares::{Means, in_shares};
use crate::waiting::wait_for;

/// The question that is put to a model, but for the path and the load.
#[derive(Clone, Copy)]
struct Question {
    transport: Transport,
    model: Model,
    processing: Duration,
    rto: Option<Duration>,
    profile: Profile,
}

/// A path and a load.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) rtt_ms: f64,
    pub(crate) loss: f64,
    pub(crate) rate: f64,
}

impl Point {
    pub(crate) fn variables(self) -> [f64; 3] {
        [self.rtt_ms, self.loss, self.rate]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    S1,
    S4,
    Resequencing,
}

/// Returns the mean response time of each point in milliseconds.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the Python face has names and defaults"
)]
pub(crate) fn predict<'py>(
    py: Python<'py>,
    transport: &str,
    rtt_ms: PyReadonlyArray1<'py, f64>,
    loss: PyReadonlyArray1<'py, f64>,
    rate: PyReadonlyArray1<'py, f64>,
    model: &str,
    processing_ms: f64,
    rto_ms: Option<f64>,
    profile: &str,
    tolerance: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let question = Question::new(transport, model, processing_ms, rto_ms, profile)?;
    if let Some(tolerance) = tolerance.filter(|tolerance| !(*tolerance > 0.0 && *tolerance < 1.0)) {
        return Err(refused(format!("tolerance is {tolerance}: it must be above 0 and below 1")));
    }
    let (rtt_ms, loss, rate) = (rtt_ms.as_slice()?, loss.as_slice()?, rate.as_slice()?);
    let points: Vec<Point> = rtt_ms
        .iter()
        .zip(loss)
        .zip(rate)
        .map(|((&rtt_ms, &loss), &rate)| Point { rtt_ms, loss, rate })
        .collect();
    let stop = StopSignal::default();
    let raised = stop.clone();
    let means = wait_for(py, &stop, || Ok(()), move || question.answer(&points, tolerance, &raised))?
        .map_err(refused)?;
    Ok(PyArray1::from_vec(py, means))
}

/// Returns the distribution of the response time: times in milliseconds, and with which probability a response takes longer.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::type_complexity,
    reason = "the Python face has names and defaults"
)]
pub(crate) fn distribution<'py>(
    py: Python<'py>,
    transport: &str,
    rtt_ms: f64,
    loss: f64,
    rate: f64,
    processing_ms: f64,
    rto_ms: Option<f64>,
    profile: &str,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let question = Question::new(transport, "resequencing", processing_ms, rto_ms, profile)?;
    let scenario = question.scenario(Point { rtt_ms, loss, rate }).map_err(refused)?;
    let ccdf = py
        .detach(|| resequencing::response_time(&scenario, &question.transport))
        .map_err(refused_model)?
        .ccdf;
    let times = ccdf.iter().map(|point| point.response_ms).collect();
    let probabilities = ccdf.iter().map(|point| point.probability).collect();
    Ok((PyArray1::from_vec(py, times), PyArray1::from_vec(py, probabilities)))
}

impl Question {
    fn new(
        transport: &str,
        model: &str,
        processing_ms: f64,
        rto_ms: Option<f64>,
        profile: &str,
    ) -> PyResult<Self> {
        let model = match model {
            "resequencing" => Model::Resequencing,
            "S1" => Model::S1,
            "S4" => Model::S4,
            _ => return Err(unknown("model", model, "'resequencing', 'S1' or 'S4'")),
        };
        let profile = match profile {
            "signalling" => Profile::Signalling,
            "rfc9260" => Profile::Rfc9260,
            _ => return Err(unknown("profile", profile, "'signalling' or 'rfc9260'")),
        };
        Ok(Self {
            transport: transport_of(transport)?,
            model,
            processing: milliseconds("processing_ms", processing_ms).map_err(refused)?,
            rto: rto_ms.map(|rto| milliseconds("rto_ms", rto)).transpose().map_err(refused)?,
            profile,
        })
    }

    /// Returns the means of the model, or with a tolerance what is so near to them where that is faster.
    fn answer(&self, points: &[Point], tolerance: Option<f64>, stop: &StopSignal) -> Means {
        let is_slow = self.model == Model::Resequencing && !matches!(self.transport, Transport::Udp { .. });
        let has_surface = |point: &Point| point.rtt_ms > 0.0 && self.scenario(*point).is_ok();
        let Some(tolerance) = tolerance.filter(|_| is_slow && points.iter().all(has_surface)) else {
            return self.means(points, stop);
        };
        let exact = |points: &[Point]| self.means(points, stop);
        let processing_ms = self.processing.as_secs_f64() * 1e3;
        let bends = resequencing::bends(&self.transport, self.profile, self.rto);
        let bends_ms: Vec<f64> = bends.iter().map(|bend| bend.as_secs_f64() * 1e3).collect();
        let near =
            Approximation { points, processing_ms, tolerance, bends_ms: &bends_ms, exact: &exact, stop }
                .means();
        // What is wrong has the index of a node, or of a point among a few: this says that of the point.
        near.or_else(|_| self.means(points, stop))
    }

    /// Returns the means, worked out on all processors; an infinite one where the model says so.
    fn means(&self, points: &[Point], stop: &StopSignal) -> Means {
        in_shares(points, |first, share| {
            let mean = |(index, point): (usize, &Point)| {
                self.mean(*point).map_err(|error| format!("point {}: {error}", first + index))
            };
            share.iter().enumerate().take_while(|_| !stop.is_raised()).map(mean).collect()
        })
    }

    fn mean(&self, point: Point) -> Result<f64, String> {
        let mean = match self.model {
            Model::Resequencing => {
                let scenario = self.scenario(point)?;
                resequencing::mean_response_time(&scenario, &self.transport)
            }
            Model::S1 | Model::S4 => self.by_study(point)?,
        };
        match mean {
            Ok(mean) => Ok(mean.as_secs_f64() * 1e3),
            Err(ModelError::Diverges { .. }) => Ok(f64::INFINITY),
            Err(error) => Err(error.to_string()),
        }
    }

    fn by_study(&self, point: Point) -> Result<Result<Duration, ModelError>, String> {
        let scenario = self.scenario(point)?;
        let conditions = Conditions {
            rtt: scenario.rtt,
            loss: scenario.loss,
            rate: scenario.rate,
            rto: self.rto.unwrap_or(STUDY_RTO),
            processing: self.processing,
        };
        let flow = match (self.transport, self.transport.flow()) {
            (Transport::Udp { first_timeout }, _) if self.model == Model::S4 => {
                return Ok(s4::udp_response_time(
                    scenario.rtt,
                    scenario.loss,
                    first_timeout,
                    self.processing,
                ));
            }
            (_, Some(flow)) => flow,
            (transport, None) => {
                let name = if matches!(transport, Transport::Quic { .. }) { "quic" } else { "udp" };
                return Err(format!("this study has no formula for {name}; ask 'resequencing'"));
            }
        };
        let derivation = match self.model {
            Model::S1 => s1::response_time(&conditions, flow),
            Model::S4 | Model::Resequencing => s4::response_time(&conditions, flow),
        };
        Ok(derivation.map(|derivation| derivation.response_time))
    }

    fn scenario(&self, point: Point) -> Result<Scenario, String> {
        Ok(Scenario {
            rtt: milliseconds("rtt_ms", point.rtt_ms)?,
            loss: Probability::new(point.loss).map_err(|error| format!("loss: {error}"))?,
            rate: Rate::per_second(point.rate).map_err(|error| format!("rate: {error}"))?,
            processing: self.processing,
            profile: self.profile,
            rto_min: self.rto,
        })
    }
}

/// Reads a transport as the command line names it.
fn transport_of(name: &str) -> PyResult<Transport> {
    let transport: TransportSpec = name.parse().map_err(|error| refused(format!("transport: {error}")))?;
    transport.model().map_err(|because| refused(format!("transport is '{name}': {because}")))
}

fn milliseconds(name: &str, value: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(value / 1e3)
        .map_err(|_| format!("{name} is {value}: it must be a number of milliseconds, at least 0"))
}

fn unknown(name: &str, value: &str, known: &str) -> PyErr {
    refused(format!("{name} is '{value}': it must be {known}"))
}

fn refused(because: String) -> PyErr {
    crate::ModelError::new_err(because)
}

fn refused_model(error: ModelError) -> PyErr {
    refused(error.to_string())
}

/// The retransmission timeout of the studies.
const STUDY_RTO: Duration = Duration::from_secs(1);
