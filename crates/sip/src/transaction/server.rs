//! The server transaction of everything but INVITE and ACK (RFC 3261 §17.2.2).

use virtual_time::Instant;

use super::{Step, Timers};
use crate::status::StatusClass;
use crate::transport::Transport;

/// A machine, from the moment the request has come.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    timers: Timers,
    transport: Transport,
    state: ServerState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServerState {
    /// The user has said nothing; repetitions are absorbed.
    Trying,
    /// The user has sent a provisional response, with which repetitions are answered.
    Proceeding,
    /// The final response has gone, with which repetitions are answered. Timer J.
    Completed { until: Instant },
}

impl Server {
    pub(crate) const fn new(timers: Timers, transport: Transport) -> Self {
        Self { timers, transport, state: ServerState::Trying }
    }

    /// Returns what is to be done now that the request came once more.
    pub(crate) const fn on_repetition(&self) -> Step {
        match self.state {
            ServerState::Trying => Step::Nothing,
            ServerState::Proceeding | ServerState::Completed { .. } => Step::Send,
        }
    }

    /// Takes note of an answer of the user, and returns what is to be done: [`Step::Nothing`] if the user has answered
    /// for good before.
    pub(crate) fn on_answer(&mut self, now: Instant, class: StatusClass) -> Step {
        if let ServerState::Completed { .. } = self.state {
            return Step::Nothing;
        }
        self.state = match class {
            StatusClass::Provisional => ServerState::Proceeding,
            StatusClass::Success | StatusClass::Failure => {
                ServerState::Completed { until: now + self.timers.j(self.transport) }
            }
        };
        Step::Send
    }

    pub(crate) fn on_timeout(&self, now: Instant) -> Step {
        match self.state {
            ServerState::Completed { until } if now >= until => Step::End,
            ServerState::Trying | ServerState::Proceeding | ServerState::Completed { .. } => Step::Nothing,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self.state {
            ServerState::Trying | ServerState::Proceeding => None,
            ServerState::Completed { until } => Some(until),
        }
    }
}
