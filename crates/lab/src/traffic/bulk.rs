//! Octets without pause: goodput.

use bytes::Bytes;
use virtual_time::Instant;

use super::{Kind, Measure, Reaction, Service, Terms, WorkloadFacts};

#[derive(Debug)]
pub(super) struct Bulk;

static FACTS: WorkloadFacts = WorkloadFacts::of_messages("bulk", "octets without pause", Measure::Goodput);

impl Kind for Bulk {
    fn facts(&self) -> &'static WorkloadFacts {
        &FACTS
    }

    fn service(&self, _terms: Option<Terms>) -> Box<dyn Service> {
        Box::new(Self)
    }
}

/// Octets are counted by the server, and nobody answers.
impl Service for Bulk {
    fn on_message(&mut self, _now: Instant, _arrived: Instant, _stream: u16, _wire: Bytes) -> Reaction {
        Reaction::Nothing
    }

    fn on_datagram(&mut self, _now: Instant, _wire: Bytes) -> Reaction {
        Reaction::Nothing
    }
}
