//! The values of events, as they are told.

use core::fmt::Display;
use core::time::Duration;

use sctp_wire::{StreamId, Tsn};
use tracing::Value;

use super::{LossCause, LossEvidence};
use crate::event::{
    AddressChange, AddressOutcome, AssociationState, PathState, ReconfigOutcome, StreamDirection,
};
use crate::transmit::PathIndex;

/// How a value is told.
pub(super) trait Traceable {
    fn told(&self) -> impl Value;
}

impl Traceable for &'static str {
    fn told(&self) -> impl Value {
        *self
    }
}

impl Traceable for &dyn Display {
    fn told(&self) -> impl Value {
        tracing::field::display(*self)
    }
}

impl Traceable for bool {
    fn told(&self) -> impl Value {
        *self
    }
}

impl Traceable for u16 {
    fn told(&self) -> impl Value {
        u64::from(*self)
    }
}

impl Traceable for u32 {
    fn told(&self) -> impl Value {
        u64::from(*self)
    }
}

impl Traceable for u64 {
    fn told(&self) -> impl Value {
        *self
    }
}

impl Traceable for usize {
    fn told(&self) -> impl Value {
        *self
    }
}

impl Traceable for Duration {
    fn told(&self) -> impl Value {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Traceable for PathIndex {
    fn told(&self) -> impl Value {
        self.index()
    }
}

impl Traceable for Tsn {
    fn told(&self) -> impl Value {
        self.get()
    }
}

impl Traceable for StreamId {
    fn told(&self) -> impl Value {
        self.get()
    }
}

impl Traceable for AssociationState {
    fn told(&self) -> impl Value {
        match self {
            Self::CookieWait => "COOKIE-WAIT",
            Self::CookieEchoed => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            Self::Closed => "CLOSED",
        }
    }
}

impl Traceable for PathState {
    fn told(&self) -> impl Value {
        self.name()
    }
}

impl Traceable for LossEvidence {
    fn told(&self) -> impl Value {
        match self {
            Self::MissingReports => "missing_reports",
            Self::Time => "time",
            Self::Timeout => "timeout",
            Self::PacketSize => "packet_size",
            Self::WindowOpened => "window_opened",
        }
    }
}

impl Traceable for LossCause {
    fn told(&self) -> impl Value {
        match self {
            Self::Acknowledgment => "acknowledgment",
            Self::Timeout => "timeout",
            Self::Probe => "probe",
        }
    }
}

impl Traceable for AddressChange {
    fn told(&self) -> impl Value {
        match self {
            Self::Add(_) => "add",
            Self::Delete(_) => "delete",
            Self::SetPrimary(_) => "set_primary",
        }
    }
}

impl Traceable for AddressOutcome {
    fn told(&self) -> impl Value {
        match self {
            Self::Done => "done",
            Self::Refused { .. } => "refused",
            Self::NotUnderstood => "not_understood",
            Self::NotAnswered => "not_answered",
            Self::PeerRestarted => "peer_restarted",
        }
    }
}

impl Traceable for StreamDirection {
    fn told(&self) -> impl Value {
        match self {
            Self::Outgoing => "outgoing",
            Self::Incoming => "incoming",
        }
    }
}

impl Traceable for ReconfigOutcome {
    fn told(&self) -> impl Value {
        match self {
            Self::Performed => "performed",
            Self::NothingToDo => "nothing_to_do",
            Self::Denied => "denied",
            Self::UnknownStream => "unknown_stream",
            Self::Busy => "busy",
            Self::BadSequenceNumber => "bad_sequence_number",
            Self::Malformed => "malformed",
            Self::PeerRestarted => "peer_restarted",
            Self::Unknown(_) => "unknown",
        }
    }
}
