//! Octets without pause: goodput.

use bytes::Bytes;
use virtual_time::Instant;

use super::{Kind, Measure, Reaction, Service, Terms};

#[derive(Debug)]
pub(super) struct Bulk;

impl Kind for Bulk {
    fn name(&self) -> &'static str {
        "bulk"
    }

    fn meaning(&self) -> &'static str {
        "octets without pause"
    }

    fn in_words(&self) -> &'static str {
        "octets without pause"
    }

    fn measure(&self) -> Measure {
        Measure::Goodput
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
