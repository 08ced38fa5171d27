//! Requests that the server echoes: response times.

use bytes::Bytes;
use virtual_time::Instant;
use workload::Message;

use super::{Followed, Kind, Measure, Reaction, Service, Terms};

#[derive(Debug)]
pub(super) struct Echo;

impl Kind for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn meaning(&self) -> &'static str {
        "requests that come back"
    }

    fn in_words(&self) -> &'static str {
        "echoed messages"
    }

    fn measure(&self) -> Measure {
        Measure::Responses
    }

    fn followed(&self) -> Followed {
        Followed::ByPlace
    }

    fn service(&self, _terms: Option<Terms>) -> Box<dyn Service> {
        Box::new(Self)
    }
}

impl Service for Echo {
    fn on_message(&mut self, now: Instant, _arrived: Instant, _stream: u16, wire: Bytes) -> Reaction {
        self.on_datagram(now, wire)
    }

    /// Returns whole messages; what is none is not answered.
    fn on_datagram(&mut self, _now: Instant, wire: Bytes) -> Reaction {
        if Message::decode(&wire).is_ok() { Reaction::Answer(wire) } else { Reaction::Nothing }
    }
}
