//! Messages one way: delays from when they were due to their delivery.

use bytes::Bytes;
use virtual_time::Instant;
use workload::{Message, MessageSize};

use super::{Kind, Measure, Reaction, Service, Terms, WorkloadFacts};
use crate::statistics::Trip;

#[derive(Debug)]
pub(super) struct Messages;

static FACTS: WorkloadFacts = WorkloadFacts::of_messages("messages", "messages one way", Measure::Delays);

impl Kind for Messages {
    fn facts(&self) -> &'static WorkloadFacts {
        &FACTS
    }

    fn service(&self, _terms: Option<Terms>) -> Box<dyn Service> {
        Box::new(Self)
    }
}

impl Service for Messages {
    fn on_message(&mut self, now: Instant, arrived: Instant, _stream: u16, wire: Bytes) -> Reaction {
        let trip = Message::decode(&wire).map(|message| trip(message, arrived, now));
        trip.map_or(Reaction::Nothing, |trip| Reaction::Delivered(trip, None))
    }

    fn on_datagram(&mut self, now: Instant, wire: Bytes) -> Reaction {
        let Ok(message) = Message::decode(&wire) else { return Reaction::Nothing };
        let receipt = Message { size: MessageSize::MIN, ..message }.encode();
        Reaction::Delivered(trip(message, now, now), Some(receipt))
    }
}

fn trip(message: Message, arrived: Instant, delivered: Instant) -> Trip {
    let due = Instant::from_nanos(message.sent.0);
    Trip { number: message.number.0, due, arrived, delivered }
}
