//! Our engine, as the others are driven.

use std::net::SocketAddr;
use std::time::Instant;

use sctp_core::{
    AssociationId, Datagram, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Message, SctpPort,
    SendError, Transmit,
};

use crate::driver::Stack;
use crate::link::Link;
use crate::task::{SCTP_PORT, Task};

/// An endpoint with one association.
pub struct Headway<M> {
    endpoint: Endpoint,
    association: Option<AssociationId>,
    is_up: bool,
    messages: M,
    waiting: Option<Message>,
    buffer: Vec<u8>,
    epoch: Instant,
}

impl<M: Iterator<Item = Message>> Headway<M> {
    /// Opens the association if the task says so.
    ///
    /// # Panics
    /// If the configuration does not work.
    pub fn new(task: &Task, messages: M) -> Self {
        let port = SctpPort::new(SCTP_PORT).expect("not zero");
        let mut config = EndpointConfig::new(port);
        config.association = task.config();
        let mut endpoint = Endpoint::new(config, [7; 32]).expect("the configuration works");
        let epoch = Instant::now();
        let association = task.end.opens().then(|| {
            let peer = sctp::udp(task.address);
            endpoint.connect(virtual_time::Instant::EPOCH, &[peer], port, task.config()).expect("it works")
        });
        Self { endpoint, association, is_up: false, messages, waiting: None, buffer: Vec::new(), epoch }
    }

    fn at(&self, now: Instant) -> virtual_time::Instant {
        virtual_time::Instant::EPOCH + now.saturating_duration_since(self.epoch)
    }

    fn hear(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::CommunicationUp { .. } => (self.association, self.is_up) = (Some(id), true),
                Event::CommunicationLost(error) => panic!("{error}"),
                _ => {}
            }
        }
    }
}

impl<M: Iterator<Item = Message>> Stack for Headway<M> {
    fn take(&mut self, now: Instant, source: SocketAddr, packet: &[u8]) {
        let encapsulation = Encapsulation::Udp { port: source.port() };
        let source = Destination { address: source.ip(), encapsulation };
        let datagram = Datagram::new(source, packet);
        self.endpoint.handle_packet(self.at(now), datagram);
        if !self.is_up {
            self.hear();
        }
    }

    fn is_up(&self) -> bool {
        self.is_up
    }

    fn send(&mut self, now: Instant) -> bool {
        let Some(message) = self.waiting.take().or_else(|| self.messages.next()) else { return false };
        let Some(id) = self.association else { return false };
        match self.endpoint.send(self.at(now), id, message) {
            Ok(()) => true,
            Err(SendError::BufferFull(message)) => {
                self.waiting = Some(message);
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn receive(&mut self, now: Instant) -> Option<usize> {
        self.endpoint.receive(self.at(now), self.association?).map(|received| received.message.payload.len())
    }

    fn transmit(&mut self, now: Instant, link: &mut Link) {
        self.hear();
        let now = self.at(now);
        loop {
            self.buffer.clear();
            let (mut first, mut packets): (Option<usize>, usize) = (None, 0);
            // As the outbox of the product gathers: a run ends with a packet that is shorter. The kernel takes no more than 64 at
            // once, which SACKs can be.
            while self.buffer.len() < 60_000 && packets < 64 {
                packets += 1;
                let Some(Transmit { len, .. }) = self.endpoint.poll_transmit(now, &mut self.buffer) else {
                    break;
                };
                let segment = *first.get_or_insert(len);
                if len > segment {
                    let start = self.buffer.len() - len;
                    link.send(&self.buffer[..start], segment);
                    self.buffer.drain(..start);
                    first = Some(len);
                } else if len < segment {
                    break;
                }
            }
            let Some(segment) = first else { break };
            link.send(&self.buffer, segment);
        }
    }

    fn due(&self) -> Option<Instant> {
        self.endpoint.next_timeout().map(|due| self.epoch + due.since(virtual_time::Instant::EPOCH))
    }

    fn on_time(&mut self, now: Instant) {
        self.endpoint.handle_timeout(self.at(now));
    }
}
