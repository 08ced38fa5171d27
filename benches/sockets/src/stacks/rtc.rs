//! rtc-sctp, of webrtc-rs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use rtc_sctp::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent, TransportConfig,
    max_payload_size_for_mtu,
};
use rtc_shared::TransportProtocol;
use sctp_core::Delivery;

use super::{BUFFER_BYTES, Turns};
use crate::driver::Stack;
use crate::link::Link;
use crate::task::Task;

/// An endpoint with one association.
pub struct Rtc {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    is_up: bool,
    payload: Bytes,
    unordered: bool,
    turns: Turns,
}

impl Rtc {
    /// Opens the association if the task says so.
    ///
    /// # Panics
    /// If the configuration does not work.
    #[must_use]
    pub fn new(task: &Task) -> Self {
        let transport = TransportConfig::default().with_max_receive_buffer_size(4 << 20);
        let mut config = EndpointConfig::new();
        config.max_payload_size(max_payload_size_for_mtu(
            task.packet_bytes.try_into().expect("packets are short"),
        ));
        let server = Arc::new(ServerConfig::new(transport.clone()));
        let mut endpoint =
            Endpoint::new(task.address, TransportProtocol::UDP, Arc::new(config), Some(server));
        let association = task.end.opens().then(|| {
            endpoint.connect(Instant::now(), ClientConfig::new(transport), task.address).expect("it works")
        });
        let unordered = task.delivery == Delivery::Unordered;
        let turns = Turns::new(task.streams);
        Self { endpoint, association, is_up: false, payload: task.payload(), unordered, turns }
    }

    /// What the association says; streams with messages are noted.
    fn hear(&mut self) {
        let Some((_, association)) = &mut self.association else { return };
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.is_up = true,
                Event::Stream(StreamEvent::Readable { id }) => self.turns.note_readable(id),
                Event::HandshakeFailed { reason } | Event::AssociationLost { reason, .. } => {
                    panic!("{reason}")
                }
                Event::Stream(_) | Event::DatagramReceived | _ => {}
            }
        }
        while association.accept_stream().is_some() {}
    }
}

impl Stack for Rtc {
    fn take(&mut self, now: Instant, source: SocketAddr, packet: &[u8]) {
        let packet = Bytes::copy_from_slice(packet);
        match self.endpoint.handle(now, source, None, packet) {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                let (_, association) = self.association.as_mut().expect("the endpoint knows it");
                association.handle_event(event);
            }
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some(_) | None => {}
        }
    }

    fn is_up(&self) -> bool {
        self.is_up
    }

    fn send(&mut self, now: Instant) -> bool {
        let Some((_, association)) = &mut self.association else { return false };
        let id = self.turns.next_stream();
        if association.stream(id).is_err() {
            association.open_stream(id, PayloadProtocolIdentifier::Binary).expect("streams are left");
        }
        let mut stream = association.stream(id).expect("it is open");
        if !self.turns.is_known(id) {
            stream.set_reliability_params(self.unordered, ReliabilityType::Reliable, 0).expect("it is open");
        }
        let has_room = stream.buffered_amount().expect("it is open") < BUFFER_BYTES / self.turns.streams();
        if has_room {
            stream.write_chunk(now, &self.payload).expect("the association is up");
            self.turns.advance();
        }
        has_room
    }

    fn receive(&mut self, _now: Instant) -> Option<usize> {
        self.hear();
        let (_, association) = self.association.as_mut()?;
        while let Some(id) = self.turns.readable() {
            if let Ok(Some(chunks)) = association.stream(id).expect("it has data").read() {
                return Some(chunks.to_payload(usize::MAX).expect("it has no bound").len());
            }
            self.turns.note_empty();
        }
        None
    }

    fn transmit(&mut self, now: Instant, link: &mut Link) {
        let Some((_, association)) = &mut self.association else { return };
        while let Some(transmit) = association.poll_transmit(now) {
            let Payload::RawEncode(packets) = transmit.message else { continue };
            packets.into_iter().for_each(|packet| link.push(packet));
        }
    }

    fn due(&self) -> Option<Instant> {
        self.association.as_ref().and_then(|(_, association)| association.poll_timeout())
    }

    fn on_time(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
    }
}
