//! The workloads: what a flow sends, by name.

use core::str::FromStr;
use core::time::Duration;

use serde::{Deserialize, Deserializer, de};

use super::{Arrivals, Framer, Kind, Measure, WORKLOADS, echo, simco, video};
use crate::text::{UnknownName, by_name, or};

/// The kind of messages that a flow sends: a line of the table [`WORKLOADS`].
#[derive(Clone, Copy)]
pub struct Workload(&'static dyn Kind);

impl Workload {
    /// Requests that the server echoes: response times.
    pub const ECHO: Self = Self::new(&echo::Echo);

    /// Firewall control (RFC 4540): the transactions of study S4, by the agent and the middlebox that ship, with a packet
    /// filter in memory. Response times are those of PER.
    pub const SIMCO: Self = Self::new(&simco::Simco);

    /// Frames of a video, one way: delays, told by receipts, and frames that came after their deadline.
    pub const VIDEO: Self = Self::new(&video::Video);

    pub(super) const fn new(kind: &'static dyn Kind) -> Self {
        Self(kind)
    }

    pub(crate) fn kind(self) -> &'static dyn Kind {
        self.0
    }

    /// Returns its name in plans and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.facts().name
    }

    /// Returns what is sent, as in "echoed messages of real packets".
    #[must_use]
    pub fn in_words(self) -> &'static str {
        self.0.facts().in_words
    }

    /// Returns what is counted per second: messages, transactions.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.0.facts().unit
    }

    /// Returns what it is in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.0.facts().meaning
    }

    /// Returns whether what is timed is one message there and one back, as in the models of response times.
    #[must_use]
    pub fn is_one_exchange(self) -> bool {
        self.0.facts().is_one_exchange
    }

    /// Returns whether responses are timed.
    #[must_use]
    pub fn is_answered(self) -> bool {
        self.measure() == Measure::Responses
    }

    /// Returns whether an echo server answers its messages, such as the one that [`Network`](crate::Network) talks to.
    #[must_use]
    pub fn is_echoed(self) -> bool {
        self == Self::ECHO
    }

    /// Returns the names of those whose responses are timed, as in "use echo or simco".
    #[must_use]
    pub fn answered() -> String {
        names(|workload| workload.is_answered())
    }

    /// Returns whether what is timed is the way of a message to its receiver, which says when it had it.
    #[must_use]
    pub fn is_timed_by_receipts(self) -> bool {
        self.deadline().is_some()
    }

    /// Returns how old a message may be when it is delivered, unless the user says it; `None` where age does not matter.
    #[must_use]
    pub fn deadline(self) -> Option<Duration> {
        self.0.facts().deadline
    }

    /// Returns the octets of a message, in the mean, unless the user says them.
    #[must_use]
    pub fn usual_octets(self) -> u32 {
        self.0.facts().usual.octets
    }

    /// Returns the time between two messages, unless the user says it; `None` where that has to be said.
    #[must_use]
    pub fn usual_interval(self) -> Option<Duration> {
        self.0.facts().usual.interval
    }

    /// Returns the law by which its messages fall due, unless the user names one.
    #[must_use]
    pub fn usual_arrivals(self) -> Arrivals {
        if self.0.facts().usual.is_regular { Arrivals::constant() } else { Arrivals::default() }
    }

    pub(crate) fn measure(self) -> Measure {
        self.0.facts().measure
    }

    /// Returns the payload protocol identifier of its messages over SCTP.
    pub(crate) fn payload_protocol(self) -> u32 {
        self.0.facts().payload_protocol
    }

    /// Returns the framer that cuts its messages out of a byte stream.
    pub(crate) fn framer(self) -> Framer {
        self.0.framer()
    }
}

/// Returns the names of some, as in "use echo, messages or bulk".
fn names(which: impl Fn(&Workload) -> bool) -> String {
    let named = WORKLOADS.iter().filter(|workload| which(workload)).map(|workload| workload.name());
    or(&named.collect::<Vec<_>>())
}

impl Default for Workload {
    fn default() -> Self {
        Self::ECHO
    }
}

impl FromStr for Workload {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownName { text: text.to_owned(), known: names(|_| true) };
        WORKLOADS.into_iter().find(|workload| workload.name() == text).ok_or_else(unknown)
    }
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

by_name!(Workload);
