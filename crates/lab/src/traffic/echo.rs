//! Requests that the server echoes: response times.

use bytes::Bytes;
use virtual_time::Instant;
use workload::Message;

use super::{Followed, Kind, Measure, Reaction, Service, Terms, WorkloadFacts};

#[derive(Debug)]
pub(super) struct Echo;

static FACTS: WorkloadFacts = WorkloadFacts {
    in_words: "echoed messages",
    ..WorkloadFacts::of_messages("echo", "requests that come back", Measure::Responses)
};

impl Kind for Echo {
    fn facts(&self) -> &'static WorkloadFacts {
        &FACTS
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
