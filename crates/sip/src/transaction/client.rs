//! The client transaction of everything but INVITE and ACK (RFC 3261 §17.1.2).

use virtual_time::Instant;

use super::{Repeat, Step, Timers, earlier};
use crate::status::StatusClass;
use crate::transport::Transport;

/// A machine, from the moment the request is sent.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    timers: Timers,
    transport: Transport,
    state: ClientState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClientState {
    /// Nothing has come back. Timers E and F.
    Trying { repeat: Option<Repeat>, until: Instant },
    /// A provisional response came; the request is repeated every T2. Timers E and F.
    Proceeding { repeat: Option<Repeat>, until: Instant },
    /// The final response came; its repetitions are absorbed. Timer K.
    Completed { until: Instant },
}

impl Client {
    pub(crate) fn new(now: Instant, timers: Timers, transport: Transport) -> Self {
        let repeat = (!transport.is_reliable()).then(|| Repeat::after(now, timers.t1));
        let state = ClientState::Trying { repeat, until: now + timers.patience() };
        Self { timers, transport, state }
    }

    pub(crate) fn on_response(&mut self, now: Instant, class: StatusClass) -> Step {
        match (self.state, class) {
            (
                ClientState::Trying { repeat, until } | ClientState::Proceeding { repeat, until },
                StatusClass::Provisional,
            ) => {
                self.state = ClientState::Proceeding { repeat, until };
                Step::Pass
            }
            (
                ClientState::Trying { .. } | ClientState::Proceeding { .. },
                StatusClass::Success | StatusClass::Failure,
            ) => {
                self.state = ClientState::Completed { until: now + self.timers.absorb(self.transport) };
                Step::Pass
            }
            (ClientState::Completed { .. }, _) => Step::Nothing,
        }
    }

    pub(crate) fn on_timeout(&mut self, now: Instant) -> Step {
        match self.state {
            ClientState::Trying { until, .. } | ClientState::Proceeding { until, .. } if now >= until => {
                Step::TimedOut
            }
            ClientState::Trying { repeat: Some(repeat), until } if now >= repeat.at => {
                let repeat = Some(repeat.doubled(now, Some(self.timers.t2)));
                self.state = ClientState::Trying { repeat, until };
                Step::Send
            }
            ClientState::Proceeding { repeat: Some(repeat), until } if now >= repeat.at => {
                let repeat = Some(Repeat::after(now, self.timers.t2));
                self.state = ClientState::Proceeding { repeat, until };
                Step::Send
            }
            ClientState::Completed { until } if now >= until => Step::End,
            ClientState::Trying { .. } | ClientState::Proceeding { .. } | ClientState::Completed { .. } => {
                Step::Nothing
            }
        }
    }

    /// Returns what is to be done now that the request did not get through, or the connection has gone.
    pub(crate) const fn on_transport_error(&self) -> Step {
        match self.state {
            ClientState::Trying { .. } | ClientState::Proceeding { .. } => Step::TimedOut,
            ClientState::Completed { .. } => Step::End,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            ClientState::Trying { repeat, until } | ClientState::Proceeding { repeat, until } => {
                Some(earlier(repeat, until))
            }
            ClientState::Completed { until } => Some(until),
        }
    }
}
