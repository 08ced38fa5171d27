//! An endpoint without a world: packets go in, and what it sends is dropped once it was looked at.

use core::time::Duration;

use sctp_core::{
    AssociationId, Datagram, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message, Offer,
    SctpPort, Tsn,
};
use sctp_wire::{Checksum, Chunk, Packet, VerificationTag};
use virtual_time::Instant;

pub(crate) struct Victim {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    /// Whether the application asks for events, and whether anything is sent.
    pub(crate) asks: bool,
    pub(crate) transmits: bool,
    /// The association that was last opened.
    pub(crate) latest: Option<AssociationId>,
    /// The first packet that it sent for the last one.
    pub(crate) answer: Vec<u8>,
    /// The TSN of the last chunk of data that it sent with the tag that is watched.
    pub(crate) last_tsn: Tsn,
    watched_tag: Option<VerificationTag>,
    buffer: Vec<u8>,
}

pub(crate) const PORT: u16 = 7626;

/// Everything that a peer can make use of is on, and INITs have no rate: that would slow the attack down.
pub(crate) fn config() -> EndpointConfig {
    let mut config = EndpointConfig::new(SctpPort::new(PORT).unwrap());
    (config.init_rate, config.host_init_rate) = (None, None);
    config.association_limit = 1000;
    let extensions = &mut config.association.extensions;
    extensions.interleaving = Offer::On;
    extensions.partial_reliability = Offer::On;
    extensions.reconfiguration = Offer::On;
    extensions.authentication = Offer::On;
    config
}

impl Victim {
    pub(crate) fn new(config: EndpointConfig) -> Self {
        let endpoint = Endpoint::new(config, [7; 32]).unwrap();
        let (answer, buffer) = (Vec::with_capacity(1 << 16), Vec::with_capacity(1 << 16));
        let now = Instant::from_millis(1000);
        let last_tsn = Tsn::new(0);
        Self {
            endpoint,
            now,
            asks: true,
            transmits: true,
            latest: None,
            answer,
            last_tsn,
            watched_tag: None,
            buffer,
        }
    }

    pub(crate) fn take(&mut self, source: Destination, packet: &[u8]) {
        let datagram = Datagram::new(source, packet);
        self.endpoint.handle_packet(self.now, datagram);
        self.settle();
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.endpoint.handle_timeout(self.now);
        self.settle();
    }

    pub(crate) fn send(&mut self, id: AssociationId, message: Message) -> bool {
        let is_taken = self.endpoint.send(self.now, id, message).is_ok();
        self.settle();
        is_taken
    }

    /// From now on notes the last chunk of data with this tag; until one leaves it is `last`.
    pub(crate) fn watch(&mut self, tag: VerificationTag, last: Tsn) {
        (self.watched_tag, self.last_tsn) = (Some(tag), last);
    }

    fn settle(&mut self) {
        self.answer.clear();
        while self.transmits {
            self.buffer.clear();
            if self.endpoint.poll_transmit(self.now, &mut self.buffer).is_none() {
                break;
            }
            self.look_for_data();
            if self.answer.is_empty() {
                self.answer.extend_from_slice(&self.buffer);
            }
        }
        while self.asks {
            let Some((id, event)) = self.endpoint.poll_event() else { break };
            if matches!(event, Event::CommunicationUp { .. }) {
                self.latest = Some(id);
            }
        }
    }
}

impl Victim {
    fn look_for_data(&mut self) {
        let Some(tag) = self.watched_tag else { return };
        let packet = Packet::decode(&self.buffer, Checksum::Ignore).unwrap();
        if packet.verification_tag != tag {
            return;
        }
        for chunk in packet.chunks().flatten() {
            if let Chunk::Data(data) = chunk {
                self.last_tsn = data.header().tsn;
            }
        }
    }
}

pub(crate) fn by_ip(address: [u8; 4]) -> Destination {
    Destination { address: address.into(), encapsulation: Encapsulation::Ip }
}
