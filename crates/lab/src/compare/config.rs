//! A comparison as it is asked for, and the reasons why some make no sense.

mod names;

use core::num::NonZeroU32;
use core::time::Duration;

use emulator::CaptureFile;
use netem::{Impairments, InvalidImpairments, Loss, Probability};
use thiserror::Error;
use workload::{MessageError, MessageSize};

pub use names::BackendChoice;

use crate::handover::Handover;
use crate::simulation::{AddressFamily, LinkPlan, Named, Scenario};
use crate::stop::StopSignal;
use crate::text::{Span, Text};
use crate::traffic::{Arrivals, ClientPlan, ServerPlan, Workload};
use crate::transport::{
    CarrierName, FlowPlan, FlowSeed, Octets, SctpOptions, StopRule, TcpOptions, TransportList, TransportSpec,
};

/// A comparison of transports. With the defaults it takes half a minute.
#[derive(Clone, Debug)]
pub struct CompareConfig {
    /// The impairments from the load generator to the echo server. Default 10 ms, 1 % loss (S1, S4).
    pub request_path: Impairments,
    /// The way back. Default the same.
    pub response_path: Impairments,
    /// Send times, size and number of requests.
    pub traffic: Traffic,
    /// How often everything is run, with other send times and losses. Default once.
    pub repeat: NonZeroU32,
    /// Whether transports run at the same time. Default as the rate allows.
    pub schedule: Schedule,
    /// The transports to compare. Default [`TransportList::DEFAULT`].
    pub transports: TransportList,
    /// Name of the association's profile. Default `signalling`; `rfc9260` shows the RFC's own timers, `studies`
    /// those of the stacks the studies measured.
    pub profile: String,
    /// Congestion control of the kernel's TCP. Default `cubic`, that of Linux.
    pub tcp_congestion: String,
    /// How long the server holds each reply. Default 0.
    pub processing: Duration,
    /// The backend to run on. Default automatic.
    pub backend: BackendChoice,
    /// The kind of messages. Default echo.
    pub workload: Workload,
    /// The file to write packets to, and the point at which. Default none.
    pub capture: Option<CaptureFile>,
    /// The change of the client's access link in mid-run, from the path above. Default it stays.
    pub handover: Option<Handover>,
    /// Seed of send times and losses. Default 1.
    pub seed: u64,
    /// Ends it before its time. Default: nobody raises it.
    pub stop: StopSignal,
}

/// The traffic of one run: its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Mean time between requests. Default 10 ms, 100 per second.
    pub interval: Duration,
    /// Law of the send times. Default Poisson.
    pub arrivals: Arrivals,
    /// Octets of a request. Default 64.
    pub message_bytes: MessageSize,
    /// How long requests are sent. Default 20 s; percentiles beyond the 99th need more.
    pub duration: Duration,
    /// How old a frame may be when it is delivered. Default as the workload has it.
    pub deadline: Option<Duration>,
}

impl CompareConfig {
    /// Checks what no single option can know.
    ///
    /// # Errors
    ///
    /// [`CompareError`] for impairments out of bounds, a zero interval or duration, or messages that UDP cannot carry.
    pub fn validate(&self) -> Result<(), CompareError> {
        self.request_path.validate().map_err(CompareError::RequestPath)?;
        self.response_path.validate().map_err(CompareError::ResponsePath)?;
        if self.traffic.interval.is_zero() {
            return Err(CompareError::ZeroInterval);
        }
        if self.traffic.duration.is_zero() {
            return Err(CompareError::ZeroDuration);
        }
        if let Some(handover) = self.handover.as_ref().filter(|it| it.arrives_at() >= self.traffic.duration) {
            let (arrives, duration) = (handover.arrives_at(), self.traffic.duration);
            return Err(CompareError::HandoverTooLate { arrives, duration });
        }
        if !self.workload.is_answered() {
            return Err(CompareError::NotAnswered { workload: self.workload });
        }
        if let Some(deadline) = self.traffic.deadline.filter(|_| self.workload.deadline().is_none()) {
            return Err(CompareError::NoDeadline { deadline, workload: self.workload });
        }
        let octets = self.traffic.message_bytes.get();
        let kind = self.workload.kind();
        kind.longest(self.traffic.message_bytes)
            .map_err(|error| CompareError::LongestMessage { mean: octets, error })?;
        // What carries no such messages at all is left out, with its reason.
        let carries = |it: &&TransportSpec| kind.check(it.carriage(), it.lanes()).is_ok();
        for transport in self.transports.as_slice().iter().filter(carries) {
            if let Some(most) = transport.most_message_bytes().filter(|most| octets > *most) {
                return Err(CompareError::TooBig { octets, transport: *transport, most });
            }
        }
        Ok(())
    }

    /// Returns how old a message may be when it is delivered; `None` where age does not matter.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.traffic.deadline.or_else(|| self.workload.deadline())
    }

    /// Returns the least time that can be measured: the round trip and processing, or the way there where receipts tell.
    #[must_use]
    pub fn shortest(&self) -> Duration {
        if self.workload.is_timed_by_receipts() {
            return self.request_path.delay;
        }
        self.rtt().saturating_add(self.processing)
    }

    /// Returns the delay of both directions together, without queues and jitter.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.request_path.delay.saturating_add(self.response_path.delay)
    }

    /// Returns one run in the words of plans: two hosts, a link between them, one flow.
    #[must_use]
    pub fn scenario(&self, transport: TransportSpec) -> Scenario {
        let between = [CLIENT, SERVER].map(str::to_owned);
        Scenario {
            addresses: AddressFamily::default(),
            switch_after: None,
            handover: self.handover.clone(),
            hosts: between.to_vec(),
            routers: Vec::new(),
            links: Named::one(PATH, LinkPlan::new(between, &self.request_path, &self.response_path)),
            flows: Named::one("requests", self.flow(transport)),
            stop: self.stop_rule(),
        }
    }

    fn stop_rule(&self) -> StopRule {
        StopRule { duration: Some(Span(self.traffic.duration)), ..StopRule::default() }
    }

    pub(crate) fn flow(&self, transport: TransportSpec) -> FlowPlan {
        FlowPlan {
            from: CLIENT.to_owned(),
            to: SERVER.to_owned(),
            transport: Text(transport),
            profile: self.profile_of(transport),
            workload: self.workload,
            rate: None,
            interval: Some(Span(self.traffic.interval)),
            arrivals: Some(self.traffic.arrivals.clone()),
            message: Some(Octets::Each(self.traffic.message_bytes.get())),
            deadline: self.traffic.deadline.map(Span),
            processing: Span(self.processing),
            start: Span::default(),
            samples: true,
            // As between the namespaces, so that packets have the same length.
            sctp: SctpOptions { carrier: Some(CarrierName::Udp), ..SctpOptions::default() },
            tcp: TcpOptions { congestion: Some(self.tcp_congestion.clone()), ..TcpOptions::default() },
        }
    }

    /// Returns the profile of a transport that has one: associations have.
    #[must_use]
    pub fn profile_of(&self, transport: TransportSpec) -> Option<String> {
        transport.takes_profile().then(|| self.profile.clone())
    }

    /// Returns the seed of one repetition: that of the comparison, then those that follow it, as a plan counts
    /// seeds.
    #[must_use]
    pub fn run_seed(&self, repetition: u32) -> u64 {
        self.seed.wrapping_add(u64::from(repetition))
    }

    /// Returns the plan for the client of one run; an error where there is none, as where the transport cannot
    /// carry the workload.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn client_plan(&self, transport: TransportSpec, repetition: u32) -> Result<ClientPlan, String> {
        let (flow, stop) = (self.flow(transport), self.stop_rule());
        let seed = FlowSeed { run: self.run_seed(repetition), number: 1 };
        flow.client_plan(&stop, seed).map_err(|error| error.to_string())
    }

    /// Returns what the server of one run is told.
    ///
    /// # Errors
    /// As for the client.
    pub fn server_plan(&self, transport: TransportSpec) -> Result<ServerPlan, String> {
        self.flow(transport).server_plan(&self.stop_rule()).map_err(|error| error.to_string())
    }

    /// Returns whether the transports run at the same time: not when told otherwise, and not above
    /// [`CONCURRENT_RATE_LIMIT`], where they would slow each other down.
    #[must_use]
    pub fn runs_concurrently(&self) -> bool {
        let total = self.transports.as_slice().len() as f64 / self.traffic.interval.as_secs_f64();
        match self.schedule {
            Schedule::Sequential => false,
            Schedule::Automatic => total <= CONCURRENT_RATE_LIMIT,
        }
    }
}

impl Default for CompareConfig {
    fn default() -> Self {
        let loss = Probability::new(0.01).map_or(Loss::default(), Loss::Bernoulli);
        let path = Impairments { delay: Duration::from_millis(10), loss, ..Impairments::default() };
        Self {
            request_path: path.clone(),
            response_path: path,
            traffic: Traffic::default(),
            repeat: NonZeroU32::MIN,
            schedule: Schedule::Automatic,
            transports: TransportList::default(),
            profile: "signalling".to_owned(),
            tcp_congestion: "cubic".to_owned(),
            processing: Duration::ZERO,
            backend: BackendChoice::Auto,
            workload: Workload::ECHO,
            capture: None,
            handover: None,
            seed: 1,
            stop: StopSignal::default(),
        }
    }
}

impl Traffic {
    /// Returns the traffic of a workload of which nothing else is said.
    #[must_use]
    pub fn usual(workload: Workload) -> Self {
        let usual = Self::default();
        Self {
            interval: workload.usual_interval().unwrap_or(usual.interval),
            arrivals: workload.usual_arrivals(),
            message_bytes: MessageSize::new(workload.usual_octets()).unwrap_or(usual.message_bytes),
            duration: usual.duration,
            deadline: None,
        }
    }
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(10),
            arrivals: Arrivals::default(),
            message_bytes: MessageSize::default(),
            duration: Duration::from_secs(20),
            deadline: None,
        }
    }
}

/// The rate of requests per second of all transports together above which they run one after the other: packets
/// of one run would wait for the processor behind those of another, and the wait would be taken for the
/// transport's.
pub const CONCURRENT_RATE_LIMIT: f64 = 5000.0;

/// The name of the link between the two hosts, where the client does not move the only one.
pub(crate) const PATH: &str = "path";
/// The names of the two hosts.
const CLIENT: &str = "client";
const SERVER: &str = "server";

/// Whether transports run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Schedule {
    /// The transports run at the same time, each over an emulated link of its own, unless the rate is too high
    /// for that. The default.
    #[default]
    Automatic,
    /// The transports run one after the other.
    Sequential,
}

/// The reason why a comparison cannot be run as it was asked for.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CompareError {
    /// An impairment of the way there.
    #[error("request direction: {0}")]
    RequestPath(InvalidImpairments),
    /// An impairment of the way back.
    #[error("response direction: {0}")]
    ResponsePath(InvalidImpairments),
    /// Infinitely many requests at once.
    #[error("interval is zero: it must be longer")]
    ZeroInterval,
    /// The duration is zero, so there would be no request.
    #[error("duration is zero: it must be longer")]
    ZeroDuration,
    /// Nothing comes back that could be timed.
    #[error("workload {workload} has no response times: use {}", Workload::answered())]
    NotAnswered {
        /// The workload that was asked for.
        workload: Workload,
    },
    /// A deadline for messages whose age does not matter.
    #[error("deadline {deadline:?}: messages of workload {workload} have none")]
    NoDeadline {
        /// The deadline that was asked for.
        deadline: Duration,
        /// The workload that was asked for.
        workload: Workload,
    },
    /// Some messages of this mean would be longer than any message.
    #[error("message of {mean} octets in the mean: for the longest, {error}")]
    LongestMessage {
        /// The mean that was asked for, in octets.
        mean: u32,
        /// The fault of the longest.
        error: MessageError,
    },
    /// A message is larger than one of the transports carries.
    #[error("message of {octets} octets: {transport} carries at most {most}")]
    TooBig {
        /// The size that was asked for, in octets.
        octets: u32,
        /// The transport that cannot carry it.
        transport: TransportSpec,
        /// The largest size it carries, in octets.
        most: u32,
    },
    /// The client would be in the new network when nothing is sent any more.
    #[error(
        "handover: the new link works after {arrives:?}, and requests are sent for {duration:?}: it must be earlier"
    )]
    HandoverTooLate {
        /// The new link works from then on.
        arrives: Duration,
        /// Requests are sent for so long.
        duration: Duration,
    },
}
