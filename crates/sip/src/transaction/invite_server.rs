//! The server transaction of INVITE (RFC 3261 §17.2.1, RFC 6026 §8.4).

use virtual_time::Instant;

use super::{Repeat, Step, Timers, earlier};
use crate::status::StatusClass;
use crate::transport::Transport;

/// A machine, from the moment the request has come.
#[derive(Clone, Debug)]
pub(crate) struct InviteServer {
    timers: Timers,
    transport: Transport,
    state: InviteServerState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InviteServerState {
    /// The user has not decided; repetitions are answered with the last provisional response.
    Proceeding,
    /// The user has refused; the response is repeated until the ACK comes. Timers G and H.
    Completed { repeat: Option<Repeat>, until: Instant },
    /// The ACK came; its repetitions are absorbed. Timer I.
    Confirmed { until: Instant },
    /// The user has accepted and repeats the response; repetitions of the INVITE are absorbed. Timer L.
    Accepted { until: Instant },
}

impl InviteServer {
    pub(crate) const fn new(timers: Timers, transport: Transport) -> Self {
        Self { timers, transport, state: InviteServerState::Proceeding }
    }

    /// Returns what is to be done now that the INVITE came once more.
    pub(crate) const fn on_repetition(&self) -> Step {
        match self.state {
            InviteServerState::Proceeding | InviteServerState::Completed { .. } => Step::Send,
            InviteServerState::Confirmed { .. } | InviteServerState::Accepted { .. } => Step::Nothing,
        }
    }

    /// Takes note of an ACK with the branch of the INVITE, as it comes for a failure, and returns what is to be done.
    pub(crate) fn on_ack(&mut self, now: Instant) -> Step {
        match self.state {
            InviteServerState::Completed { .. } => {
                self.state = InviteServerState::Confirmed { until: now + self.timers.absorb(self.transport) };
                Step::Nothing
            }
            // Some send the ACK for a success with the branch of its INVITE.
            InviteServerState::Accepted { .. } => Step::Pass,
            InviteServerState::Proceeding | InviteServerState::Confirmed { .. } => Step::Nothing,
        }
    }

    /// Takes note of an answer of the user, and returns what is to be done: [`Step::Nothing`] if the user has answered
    /// for good before.
    pub(crate) fn on_answer(&mut self, now: Instant, class: StatusClass) -> Step {
        if self.state != InviteServerState::Proceeding {
            return Step::Nothing;
        }
        let until = now + self.timers.patience();
        self.state = match class {
            StatusClass::Provisional => InviteServerState::Proceeding,
            StatusClass::Success => InviteServerState::Accepted { until },
            StatusClass::Failure => {
                let repeat = (!self.transport.is_reliable()).then(|| Repeat::after(now, self.timers.t1));
                InviteServerState::Completed { repeat, until }
            }
        };
        Step::Send
    }

    pub(crate) fn on_timeout(&mut self, now: Instant) -> Step {
        match self.state {
            InviteServerState::Completed { until, .. } if now >= until => Step::TimedOut,
            InviteServerState::Completed { repeat: Some(repeat), until } if now >= repeat.at => {
                let repeat = Some(repeat.doubled(now, Some(self.timers.t2)));
                self.state = InviteServerState::Completed { repeat, until };
                Step::Send
            }
            InviteServerState::Confirmed { until } | InviteServerState::Accepted { until }
                if now >= until =>
            {
                Step::End
            }
            InviteServerState::Proceeding
            | InviteServerState::Completed { .. }
            | InviteServerState::Confirmed { .. }
            | InviteServerState::Accepted { .. } => Step::Nothing,
        }
    }

    /// Returns whether the user still has to answer.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.state, InviteServerState::Proceeding)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            InviteServerState::Proceeding => None,
            InviteServerState::Completed { repeat, until } => Some(earlier(repeat, until)),
            InviteServerState::Confirmed { until } | InviteServerState::Accepted { until } => Some(until),
        }
    }
}
