//! A flow as plans write it: a transport with its options under a workload with its own, and when it ends.

use core::fmt;
use core::time::Duration;

use netem::derive_indexed_seed;
use serde::Deserialize;
use workload::{ArrivalProcess, MessageSize};

use super::{SctpOptions, TcpOptions, TransportSpec};
use crate::lanes::Carriage;
use crate::numbers::whole;
use crate::text::{Span, Text};
use crate::traffic::{Arrivals, ClientPlan, Measure, ServerPlan, Terms, Workload};

/// A flow of messages or octets from one host to another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// The host that opens it and sends.
    pub from: String,
    /// The host that receives, and answers if the workload says so.
    pub to: String,
    /// The transport, as for `headway compare`: `tcp`, `tcp:4`, `sctp:6`, `sctp:unordered`, `udp`.
    pub transport: Text<TransportSpec>,
    /// Named set of parameters of the transport; for SCTP `signalling` (default), `rfc9260`, `studies`; for TCP `linux`
    /// (default) and others.
    pub profile: Option<String>,
    /// The kind of messages that are sent. Default `echo`.
    #[serde(default)]
    pub workload: Workload,
    /// Messages per second; this or `interval`, unless the workload is bulk.
    pub rate: Option<f64>,
    /// Mean time between messages.
    pub interval: Option<Span>,
    /// `poisson`, `constant`, `onoff:ON,OFF`. Default that of the workload: `poisson`, for video `constant`.
    pub arrivals: Option<Arrivals>,
    /// Octets of a message, for video in the mean, default 64, for video 6395; or, as `sizes`, those of the first message, the
    /// second one, and so on, again and again.
    #[serde(alias = "sizes")]
    pub message: Option<Octets>,
    /// How old a frame of video may be when it is delivered. Default 150 ms.
    pub deadline: Option<Span>,
    /// How long the server holds each response. Default 0.
    #[serde(default)]
    pub processing: Span,
    /// The time at which the flow begins. Default at once.
    #[serde(default)]
    pub start: Span,
    /// Keep every message for `samples.csv`. Default no: memory then grows with the run.
    #[serde(default)]
    pub samples: bool,
    /// SCTP parameters that differ from the profile.
    #[serde(default)]
    pub sctp: SctpOptions,
    /// TCP parameters that differ from the profile.
    #[serde(default)]
    pub tcp: TcpOptions,
}

/// The octets that the messages of a flow have.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a number of octets, or a list of them")]
pub enum Octets {
    /// Each message has so many, or they have them in the mean.
    Each(u32),
    /// The first message has the first number, the second one the second, and so on, again and again.
    InTurn(Vec<u32>),
}

/// The rule by which a run ends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopRule {
    /// Each flow of messages ends after so many.
    pub messages: Option<u64>,
    /// Nothing new is sent after this.
    pub duration: Option<Span>,
    /// The first messages of each flow that do not count. Default 0.
    #[serde(default)]
    pub discard: u64,
    /// Goodput is counted from then on. Default from the start.
    #[serde(default)]
    pub warm_up: Span,
    /// How long to wait for what was sent. Default 10 s, over UDP 32 s.
    pub drain: Option<Span>,
}

impl FlowPlan {
    /// Returns the mean time between messages; bulk needs none.
    pub(crate) fn mean_interval(&self) -> Result<Duration, String> {
        match (self.rate, self.interval, self.workload.measure()) {
            (Some(_), Some(_), _) => Err("rate and interval say the same: name one of them".to_owned()),
            (Some(rate), None, _) => Duration::try_from_secs_f64(1.0 / rate)
                .ok()
                .filter(|interval| !interval.is_zero())
                .ok_or_else(|| format!("{rate} messages per second cannot be sent: it must be above zero")),
            (None, Some(interval), _) => Ok(interval.0),
            (None, None, Measure::Goodput) => Ok(Duration::MAX),
            (None, None, Measure::Responses | Measure::Delays) => self
                .workload
                .usual_interval()
                .ok_or_else(|| "how often? Write rate = 100 (per second) or interval = \"10ms\"".to_owned()),
        }
    }

    /// Returns why its client cannot go on in another network, by connections on which messages are sent again; associations take theirs along.
    pub(crate) fn check_switching(&self) -> Result<(), FlowError> {
        let can_go_on = [Workload::ECHO, Workload::VIDEO].contains(&self.workload);
        if self.transport.0.carriage() == Carriage::Octets && !can_go_on {
            let because = "with `switch_after` or `handover` that is echo or video: others have a session that would begin anew";
            return Err(FlowError { key: "workload", because: because.to_owned() });
        }
        Ok(())
    }

    /// Returns the octets of a message, in the mean.
    #[must_use]
    pub fn message_bytes(&self) -> u32 {
        match self.message {
            Some(Octets::Each(octets)) => octets,
            Some(Octets::InTurn(_)) | None => self.workload.usual_octets(),
        }
    }

    /// Returns the octets of the messages in turn; none: all have the same.
    pub(crate) fn in_turn(&self) -> &[u32] {
        match &self.message {
            Some(Octets::InTurn(sizes)) => sizes,
            Some(Octets::Each(_)) | None => &[],
        }
    }

    /// Returns the octets that no message of it exceeds.
    pub(crate) fn longest_message_bytes(&self) -> u32 {
        let mean = self.message_bytes();
        // A mean that is no size, or too long, is refused where the client is made.
        let longest = || MessageSize::new(mean).and_then(|mean| self.workload.kind().longest(mean));
        self.in_turn().iter().copied().max().unwrap_or_else(|| longest().map_or(mean, MessageSize::get))
    }

    /// Returns the law by which its messages fall due.
    fn law(&self) -> workload::Arrivals {
        self.arrivals
            .as_ref()
            .map_or_else(|| self.workload.usual_arrivals().law, |arrivals| arrivals.law.clone())
    }

    fn size(&self) -> Result<MessageSize, FlowError> {
        let mean = MessageSize::new(self.message_bytes()).map_err(FlowError::at("message"))?;
        let longest = self.workload.kind().longest(mean).map_err(FlowError::at("message"));
        longest.map(|_| mean)
    }

    /// Returns how old a message may be when it is delivered.
    fn deadline(&self) -> Result<Option<Duration>, FlowError> {
        let usual = self.workload.deadline();
        match self.deadline {
            Some(Span(deadline)) if usual.is_none() => {
                let because =
                    format!("{deadline:?}: messages of {} have no deadline: leave it out", self.workload);
                Err(FlowError { key: "deadline", because })
            }
            deadline => Ok(deadline.map(|deadline| deadline.0).or(usual)),
        }
    }

    /// Returns what its client is told.
    pub(crate) fn client_plan(&self, stop: &StopRule, seed: FlowSeed) -> Result<ClientPlan, FlowError> {
        let transport = self.transport.0;
        if self.profile.is_some() && !transport.transport().facts().has_profiles {
            return Err(FlowError::at("profile")(format!("{transport} has no profiles: leave it out")));
        }
        let interval = self.mean_interval().map_err(FlowError::at("rate"))?;
        let arrivals = ArrivalProcess::new(self.law(), interval, seed.of("arrivals"));
        let sizes = self.in_turn().iter().map(|octets| MessageSize::new(*octets)).collect::<Result<_, _>>();
        Ok(ClientPlan {
            workload: self.workload,
            arrivals: arrivals.map_err(FlowError::at("arrivals"))?,
            size: self.size()?,
            sizes: sizes.map_err(FlowError::at("sizes"))?,
            lanes: transport.lanes(),
            messages: stop.messages.unwrap_or(u64::MAX),
            duration: stop.duration.map_or(Duration::MAX, |span| span.0),
            discard: stop.discard,
            keeps_samples: self.samples,
            drain: self.drain(stop),
            terms: self.terms(stop)?,
            seed: seed.of("calls"),
        })
    }

    /// Returns what its server is told.
    pub(crate) fn server_plan(&self, stop: &StopRule) -> Result<ServerPlan, FlowError> {
        Ok(ServerPlan {
            workload: self.workload,
            // Unordered messages are all on one lane: with order, each would wait for all before it.
            lanes: self.transport.0.lanes(),
            processing: self.processing.0,
            discard: stop.discard,
            warm_up: stop.warm_up.0,
            keeps_trips: self.samples,
            terms: Some(self.terms(stop)?),
        })
    }

    /// Returns how long to wait for what was sent.
    pub(crate) fn drain(&self, stop: &StopRule) -> Duration {
        stop.drain.map_or_else(|| self.transport.0.drain(), |drain| drain.0)
    }

    /// Returns what both ends know of the flow; why its workload does not run over its transport.
    fn terms(&self, stop: &StopRule) -> Result<Terms, FlowError> {
        let transport = self.transport.0;
        let check = self.workload.kind().check(transport.carriage(), transport.lanes());
        check.map_err(|because| FlowError::at("workload")(format!("{because}: not over {transport}")))?;
        let interval = self.mean_interval().map_err(FlowError::at("workload"))?;
        let by_number = stop.messages.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        let by_time = stop.duration.map_or(u32::MAX, |duration| self.most_within(duration.0, interval));
        Ok(Terms {
            carriage: transport.carriage(),
            lanes: transport.lanes(),
            interval,
            most: by_number.min(by_time),
            size: self.size()?,
            deadline: self.deadline()?,
        })
    }

    /// Returns a number of messages that a run of this duration does not reach, but for one run in 10²⁰: ten deviations of Poisson arrivals more
    /// than in the mean.
    fn most_within(&self, duration: Duration, interval: Duration) -> u32 {
        match self.law() {
            workload::Arrivals::Constant | workload::Arrivals::Poisson | workload::Arrivals::Ticks(_) => {
                let mean = duration.as_secs_f64() / interval.as_secs_f64();
                whole(mean + 10.0 * mean.sqrt() + 100.0)
            }
            // As many as there are in a burst, or in the trace.
            workload::Arrivals::OnOff { .. } | workload::Arrivals::Trace(_) => u32::MAX,
        }
    }
}

/// The origin of chance in one flow of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowSeed {
    /// The seed of the run.
    pub(crate) run: u64,
    /// The number of the flow in the scenario, from 1.
    pub(crate) number: u8,
}

impl FlowSeed {
    /// Returns the seed for one purpose.
    pub(crate) fn of(self, purpose: &str) -> u64 {
        derive_indexed_seed(self.run, purpose, u64::from(self.number))
    }
}

/// The reason why a flow cannot be: which value, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{because}")]
pub(crate) struct FlowError {
    pub(crate) key: &'static str,
    pub(crate) because: String,
}

impl FlowError {
    pub(crate) fn at<E: fmt::Display>(key: &'static str) -> impl Fn(E) -> Self {
        move |error| Self { key, because: error.to_string() }
    }
}
