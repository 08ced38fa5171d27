//! What a comparison sends and who answers: echoed requests, or the firewall control of study S4. Backends carry octets
//! between the two and do not know which it is.
//!
//! ```text
//!  Offer ─► Requester ── Outgoing{lane, message} ─► transport ─► Answerer ◄─ Service
//!               ▲                                                   │
//!               └────────────── handle_response ◄── transport ◄─────┘
//! ```

mod simco;
mod workload;

use bytes::Bytes;
use core::time::Duration;

use ::simco::middlebox::Framing;
use ::workload::{
    ConfigError, EchoConfig, EchoServer, Lane, LoadConfig, LoadCounters, LoadGenerator, MessageSize, Reply,
    Request, Sample, StreamFramer,
};
use virtual_time::Instant;

pub use self::simco::pinhole;
pub(crate) use self::simco::{CallPlan, Responder, Told, Transactions, framing, unsuitable};
use self::simco::{MessageFramer, SimcoLoad, SimcoService};
pub use self::workload::Workload;

/// What a run sends.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Times, size, lanes.
    pub load: LoadConfig,
    /// What the messages are.
    pub workload: Workload,
    /// How a receiver tells messages apart.
    pub framing: Framing,
}

impl Offer {
    /// The payload protocol identifier over SCTP.
    pub(crate) fn payload_protocol(&self) -> u32 {
        self.workload.payload_protocol()
    }

    /// What cuts the answers out of a byte stream.
    pub(crate) fn framer(&self) -> Framer {
        Framer::new(self.workload, self.load.message_bytes)
    }
}

/// How a run is answered.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// How long each reply is held.
    pub processing: Duration,
    /// What the messages are.
    pub workload: Workload,
    /// How messages are told apart.
    pub framing: Framing,
    /// Time between two transactions, which tells how many pinholes there are in the long run.
    pub interval: Duration,
}

impl Service {
    /// An echo server, which needs to know nothing of the load.
    #[must_use]
    pub fn echo(processing: Duration) -> Self {
        let (workload, framing) = (Workload::Echo, Framing::Octets);
        Self { processing, workload, framing, interval: Duration::ZERO }
    }

    /// What cuts requests out of a byte stream.
    pub(crate) fn framer(&self) -> Framer {
        Framer::new(self.workload, MessageSize::MAX)
    }
}

/// Offers requests and times the answers: a load generator, or an agent with its calls.
#[derive(Debug)]
pub(crate) enum Requester {
    Echo(Box<LoadGenerator>),
    Simco(Box<SimcoLoad>),
}

/// Octets for a lane.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) lane: Lane,
    pub(crate) message: Bytes,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Echo(Box<Request>),
    Simco { serial: u64, sent: Instant },
}

impl Requester {
    /// A run that begins now.
    pub(crate) fn new(offer: Offer, now: Instant) -> Result<Self, ConfigError> {
        Ok(match offer.workload {
            Workload::Simco => Self::Simco(Box::new(SimcoLoad::new(offer, now)?)),
            Workload::Echo | Workload::Messages | Workload::Bulk => {
                Self::Echo(Box::new(LoadGenerator::new(offer.load, now)?))
            }
        })
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Echo(generator) => generator.poll_timeout(),
            Self::Simco(load) => load.poll_timeout(),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Echo(generator) => generator.handle_timeout(now),
            Self::Simco(load) => load.handle_timeout(now),
        }
    }

    /// The next message for a lane that is open; [`commit`](Self::commit) takes it.
    pub(crate) fn peek_transmit(&self, now: Instant) -> Option<Outgoing> {
        match self {
            Self::Echo(generator) => {
                let request = generator.peek_transmit(now)?;
                let (lane, message) = (request.lane, request.message.clone());
                Some(Outgoing { lane, message, what: What::Echo(Box::new(request)) })
            }
            Self::Simco(load) => {
                let (serial, lane, message) = load.peek()?;
                Some(Outgoing { lane, message, what: What::Simco { serial, sent: now } })
            }
        }
    }

    /// The transport has taken it.
    pub(crate) fn commit(&mut self, outgoing: &Outgoing) {
        match (self, &outgoing.what) {
            (Self::Echo(generator), What::Echo(request)) => generator.commit(request),
            (Self::Simco(load), What::Simco { serial, sent }) => load.commit(*serial, *sent),
            (Self::Echo(_), What::Simco { .. }) | (Self::Simco(_), What::Echo(_)) => {}
        }
    }

    /// The transport takes nothing for this lane now.
    pub(crate) fn defer(&mut self, lane: Lane) {
        match self {
            Self::Echo(generator) => generator.defer(lane),
            Self::Simco(load) => load.defer(lane),
        }
    }

    /// A whole message that came. What answers nothing is counted.
    pub(crate) fn handle_response(
        &mut self,
        now: Instant,
        lane: Lane,
        wire: &[u8],
        blocked: Option<Duration>,
    ) {
        match self {
            Self::Echo(generator) => {
                let _counted = generator.handle_response(now, lane, wire, blocked);
            }
            Self::Simco(load) => load.handle_response(now, lane, wire, blocked),
        }
    }

    pub(crate) fn is_finished(&self, now: Instant) -> bool {
        match self {
            Self::Echo(generator) => generator.is_finished(now),
            Self::Simco(load) => load.is_finished(now),
        }
    }

    /// Why it cannot go on, if it cannot.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Self::Echo(_) => None,
            Self::Simco(load) => load.failure(),
        }
    }

    /// Every request that was due, and what was counted.
    pub(crate) fn into_parts(self) -> (Vec<Sample>, LoadCounters) {
        match self {
            Self::Echo(generator) => {
                let counters = *generator.counters();
                (generator.into_samples(), counters)
            }
            Self::Simco(load) => load.into_parts(),
        }
    }
}

/// Answers requests; `L` says where an answer goes.
#[derive(Debug)]
pub(crate) enum Answerer<L> {
    Echo(EchoServer<L>),
    Simco(Box<SimcoService<L>>),
}

impl<L: Clone + Ord> Answerer<L> {
    pub(crate) fn new(service: Service) -> Self {
        match service.workload {
            Workload::Simco => Self::Simco(Box::new(SimcoService::new(service))),
            Workload::Echo | Workload::Messages | Workload::Bulk => {
                Self::Echo(EchoServer::new(EchoConfig { processing: service.processing }))
            }
        }
    }

    /// A whole message, and the stream it came on. What is no message is counted and not answered.
    pub(crate) fn handle_message(&mut self, now: Instant, lane: L, stream: u16, message: Bytes) {
        match self {
            Self::Echo(server) => {
                let _counted = server.handle_message(now, lane, message);
            }
            Self::Simco(service) => service.handle_message(now, lane, stream, &message),
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Echo(server) => server.poll_timeout(),
            Self::Simco(service) => service.replies.poll_timeout(),
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Reply<L>> {
        match self {
            Self::Echo(server) => server.poll_transmit(now),
            Self::Simco(service) => service.replies.poll_transmit(now),
        }
    }
}

/// Cuts a byte stream into messages.
#[derive(Debug)]
pub(crate) enum Framer {
    Echo(StreamFramer),
    Simco(MessageFramer),
}

impl Framer {
    pub(crate) fn new(workload: Workload, limit: MessageSize) -> Self {
        match workload {
            Workload::Simco => Self::Simco(MessageFramer::default()),
            Workload::Echo | Workload::Messages | Workload::Bulk => Self::Echo(StreamFramer::new(limit)),
        }
    }

    pub(crate) fn push(&mut self, octets: &[u8]) {
        match self {
            Self::Echo(framer) => framer.push(octets),
            Self::Simco(framer) => framer.push(octets),
        }
    }

    /// The next whole message; why there will be none any more.
    pub(crate) fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        match self {
            Self::Echo(framer) => framer.next_message().map_err(|error| error.to_string()),
            Self::Simco(framer) => framer.next_message().map_err(|error| error.to_string()),
        }
    }
}
