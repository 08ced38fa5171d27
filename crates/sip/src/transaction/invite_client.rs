//! The client transaction of INVITE (RFC 3261 §17.1.1, RFC 6026 §8.4).

use virtual_time::Instant;

use super::{Repeat, Step, Timers, earlier};
use crate::status::StatusClass;
use crate::transport::Transport;

/// A machine, from the moment the request is sent.
#[derive(Clone, Debug)]
pub(crate) struct InviteClient {
    timers: Timers,
    transport: Transport,
    state: InviteClientState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InviteClientState {
    /// Nothing has come back. Timers A and B.
    Calling { repeat: Option<Repeat>, until: Instant },
    /// A provisional response came. The final one may take as long as it likes; once the INVITE is cancelled, 64·T1
    /// more (§9.1).
    Proceeding { until: Option<Instant> },
    /// A failure came; its repetitions are acknowledged. Timer D.
    Completed { until: Instant },
    /// A success came; more of them are the user's. Timer M.
    Accepted { until: Instant },
}

impl InviteClient {
    pub(crate) fn new(now: Instant, timers: Timers, transport: Transport) -> Self {
        let repeat = (!transport.is_reliable()).then(|| Repeat::after(now, timers.t1));
        let state = InviteClientState::Calling { repeat, until: now + timers.patience() };
        Self { timers, transport, state }
    }

    pub(crate) fn on_response(&mut self, now: Instant, class: StatusClass) -> Step {
        let (state, step) = match (self.state, class) {
            (InviteClientState::Calling { .. }, StatusClass::Provisional) => {
                (InviteClientState::Proceeding { until: None }, Step::Pass)
            }
            (InviteClientState::Proceeding { until }, StatusClass::Provisional) => {
                (InviteClientState::Proceeding { until }, Step::Pass)
            }
            (
                InviteClientState::Calling { .. } | InviteClientState::Proceeding { .. },
                StatusClass::Success,
            ) => (InviteClientState::Accepted { until: now + self.timers.patience() }, Step::Pass),
            (
                InviteClientState::Calling { .. } | InviteClientState::Proceeding { .. },
                StatusClass::Failure,
            ) => {
                let until = now + self.timers.d(self.transport);
                (InviteClientState::Completed { until }, Step::PassAndAcknowledge)
            }
            (completed @ InviteClientState::Completed { .. }, StatusClass::Failure) => {
                (completed, Step::Acknowledge)
            }
            (accepted @ InviteClientState::Accepted { .. }, StatusClass::Success) => (accepted, Step::Pass),
            (other @ (InviteClientState::Completed { .. } | InviteClientState::Accepted { .. }), _) => {
                (other, Step::Nothing)
            }
        };
        self.state = state;
        step
    }

    pub(crate) fn on_timeout(&mut self, now: Instant) -> Step {
        match self.state {
            InviteClientState::Calling { until, .. } if now >= until => Step::TimedOut,
            InviteClientState::Calling { repeat: Some(repeat), until } if now >= repeat.at => {
                self.state = InviteClientState::Calling { repeat: Some(repeat.doubled(now, None)), until };
                Step::Send
            }
            InviteClientState::Proceeding { until: Some(until) } if now >= until => Step::TimedOut,
            InviteClientState::Completed { until } | InviteClientState::Accepted { until }
                if now >= until =>
            {
                Step::End
            }
            InviteClientState::Calling { .. }
            | InviteClientState::Proceeding { .. }
            | InviteClientState::Completed { .. }
            | InviteClientState::Accepted { .. } => Step::Nothing,
        }
    }

    /// Takes note that a CANCEL is on its way: no answer within 64·T1 is one, too.
    pub(crate) fn on_cancelled(&mut self, now: Instant) {
        if let InviteClientState::Proceeding { until: None } = self.state {
            self.state = InviteClientState::Proceeding { until: Some(now + self.timers.patience()) };
        }
    }

    /// Returns what is to be done now that the request did not get through, or the connection has gone.
    pub(crate) const fn on_transport_error(&self) -> Step {
        match self.state {
            InviteClientState::Calling { .. } | InviteClientState::Proceeding { .. } => Step::TimedOut,
            InviteClientState::Completed { .. } => Step::End,
            InviteClientState::Accepted { .. } => Step::Nothing,
        }
    }

    /// Returns whether a response has come, so that a CANCEL may go (§9.1).
    pub(crate) const fn is_proceeding(&self) -> bool {
        matches!(self.state, InviteClientState::Proceeding { .. })
    }

    /// Returns whether nothing has come back.
    pub(crate) const fn is_calling(&self) -> bool {
        matches!(self.state, InviteClientState::Calling { .. })
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            InviteClientState::Calling { repeat, until } => Some(earlier(repeat, until)),
            InviteClientState::Proceeding { until } => until,
            InviteClientState::Completed { until } | InviteClientState::Accepted { until } => Some(until),
        }
    }
}
