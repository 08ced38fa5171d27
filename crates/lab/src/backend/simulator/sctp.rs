//! Load generator and echo server on top of a simulated SCTP endpoint.

use core::time::Duration;

use netsim::sctp::Application;
use sctp_core::{
    AssociationId, AssociationStatistics, Delivery, Endpoint, Event, Message, PayloadProtocolId, SendError,
    StreamId,
};
use virtual_time::Instant;
use workload::{EchoConfig, EchoServer, Lane, LoadConfig, LoadCounters, LoadGenerator, Reply};

use super::Outcome;
use crate::news::News;
use crate::transport::TransportSpec;

/// Offers requests once the association is up, and times the responses.
pub(super) struct SctpLoad {
    config: LoadConfig,
    delivery: Delivery,
    id: AssociationId,
    generator: Option<LoadGenerator>,
    start: Instant,
    ended_early: Option<String>,
    last_statistics: Option<AssociationStatistics>,
}

impl SctpLoad {
    pub(super) fn new(config: LoadConfig, transport: TransportSpec, id: AssociationId) -> Self {
        let delivery = if transport.is_ordered() { Delivery::Ordered } else { Delivery::Unordered };
        Self {
            config,
            delivery,
            id,
            generator: None,
            start: Instant::EPOCH,
            ended_early: None,
            last_statistics: None,
        }
    }

    pub(super) fn is_finished(&self, now: Instant) -> bool {
        let done = self.generator.as_ref().is_some_and(|generator| generator.is_finished(now));
        done || self.ended_early.is_some()
    }

    pub(super) fn statistics(&self, endpoint: &Endpoint) -> Option<AssociationStatistics> {
        let now = endpoint.association(self.id).map(sctp_core::Association::statistics);
        now.or_else(|| self.last_statistics.clone())
    }

    pub(super) fn outcome(&self) -> Outcome {
        let generator = self.generator.as_ref();
        Outcome {
            start: self.start,
            samples: generator.map(|generator| generator.samples().to_vec()).unwrap_or_default(),
            counters: generator.map_or_else(LoadCounters::default, |generator| *generator.counters()),
            retransmissions: None,
            blocking: None,
            ended_early: self.ended_early.clone(),
        }
    }

    fn begin(&mut self, now: Instant) {
        self.start = now;
        match LoadGenerator::new(self.config.clone(), now) {
            Ok(generator) => self.generator = Some(generator),
            Err(error) => self.ended_early = Some(error.to_string()),
        }
    }

    /// Hands over every request that is due and that the association takes.
    fn offer(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let Some(generator) = self.generator.as_mut() else { return };
        while let Some(request) = generator.peek_transmit(now) {
            let stream = StreamId::new(request.lane.0);
            let message = Message::new(stream, self.delivery, request.message.clone());
            match endpoint.send(now, self.id, message) {
                Ok(()) => generator.commit(&request),
                Err(SendError::BufferFull(_)) => generator.defer(request.lane),
                Err(error) => {
                    self.ended_early = Some(error.to_string());
                    return;
                }
            }
        }
    }

    fn read(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while let Some(received) = endpoint.receive(now, self.id) {
            let Some(generator) = self.generator.as_mut() else { continue };
            let lane = Lane(received.message.stream.get());
            // A wrong answer is counted by the generator.
            let _ = generator.handle_response(now, lane, &received.message.payload, Some(received.blocked));
        }
    }
}

impl Application for SctpLoad {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        self.last_statistics = endpoint.association(id).map(sctp_core::Association::statistics);
        match News::from(event) {
            News::Up => self.begin(now),
            News::Readable => self.read(now, endpoint),
            News::Writable => {
                if let Some(generator) = self.generator.as_mut() {
                    generator.resume_all();
                }
                self.offer(now, endpoint);
            }
            News::Ended(because) => self.ended_early = Some(because),
            News::Nothing => {}
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.generator.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        if let Some(generator) = self.generator.as_mut() {
            generator.handle_timeout(now);
        }
        self.offer(now, endpoint);
    }
}

/// Where a reply goes: back on the stream it came on, with the same flag and PPID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EchoLane {
    association: AssociationId,
    stream: StreamId,
    is_unordered: bool,
    ppid: u32,
}

/// Echoes every message of every association.
pub(super) struct SctpEcho {
    server: EchoServer<EchoLane>,
    associations: Vec<AssociationId>,
    deferred: Vec<EchoLane>,
}

impl SctpEcho {
    pub(super) fn new(processing: Duration) -> Self {
        Self {
            server: EchoServer::new(EchoConfig { processing }),
            associations: Vec::new(),
            deferred: Vec::new(),
        }
    }

    pub(super) fn statistics(&self, endpoint: &Endpoint) -> Vec<AssociationStatistics> {
        let known = self.associations.iter().filter_map(|id| endpoint.association(*id));
        known.map(sctp_core::Association::statistics).collect()
    }

    fn read(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId) {
        while let Some(received) = endpoint.receive(now, id) {
            let message = received.message;
            let lane = EchoLane {
                association: id,
                stream: message.stream,
                is_unordered: message.delivery == Delivery::Unordered,
                ppid: message.ppid.get(),
            };
            // What is no message is counted and not answered.
            let _ = self.server.handle_message(now, lane, message.payload);
        }
    }

    fn answer(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while let Some(reply) = self.server.poll_transmit(now) {
            let EchoLane { association, stream, is_unordered, ppid } = reply.lane;
            let delivery = if is_unordered { Delivery::Unordered } else { Delivery::Ordered };
            let ppid = PayloadProtocolId::new(ppid);
            let message = Message::new(stream, delivery, reply.message).with_ppid(ppid);
            match endpoint.send(now, association, message) {
                Ok(()) => {}
                Err(SendError::BufferFull(message)) => {
                    self.server.defer(Reply { lane: reply.lane, message: message.payload });
                    self.deferred.push(reply.lane);
                }
                Err(_gone) => self.server.forget(&reply.lane),
            }
        }
    }
}

impl Application for SctpEcho {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        match News::from(event) {
            News::Up => self.associations.push(id),
            News::Readable => self.read(now, endpoint, id),
            News::Writable => {
                for lane in core::mem::take(&mut self.deferred) {
                    self.server.resume(&lane);
                }
            }
            News::Ended(_) | News::Nothing => {}
        }
        self.answer(now, endpoint);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.answer(now, endpoint);
    }
}
