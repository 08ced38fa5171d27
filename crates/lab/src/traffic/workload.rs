//! The workloads: what a flow sends, by name.

use core::fmt;
use core::str::FromStr;

use ::simco::PAYLOAD_PROTOCOL;
use serde::Deserialize;

use super::Framer;
use crate::compare::UnknownName;

/// The kind of messages that a flow sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Requests that the server echoes: response times.
    #[default]
    Echo,
    /// Messages one way: delays from handing over to delivery.
    Messages,
    /// Octets without pause, to measure goodput.
    Bulk,
    /// Firewall control (RFC 4540): the transactions of study S4, by the agent and the middlebox that ship, with a packet
    /// filter in memory. Response times are those of PER.
    Simco,
}

impl Workload {
    /// Returns whether responses are timed.
    #[must_use]
    pub const fn is_answered(self) -> bool {
        match self {
            Self::Echo | Self::Simco => true,
            Self::Messages | Self::Bulk => false,
        }
    }

    /// Returns the payload protocol identifier of its messages over SCTP.
    pub(crate) const fn payload_protocol(self) -> u32 {
        match self {
            Self::Simco => PAYLOAD_PROTOCOL,
            Self::Echo | Self::Messages | Self::Bulk => 0,
        }
    }

    /// Returns the framer that cuts its messages out of a byte stream.
    pub(crate) fn framer(self) -> Framer {
        Framer::new(self)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Messages => "messages",
            Self::Bulk => "bulk",
            Self::Simco => "simco",
        }
    }
}

impl FromStr for Workload {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = [Self::Echo, Self::Messages, Self::Bulk, Self::Simco];
        let unknown = || UnknownName { text: text.to_owned(), known: "echo, messages, bulk or simco" };
        known.into_iter().find(|workload| workload.name() == text).ok_or_else(unknown)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
