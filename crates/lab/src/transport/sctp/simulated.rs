//! Client and server on top of the SCTP that ships.

use core::net::IpAddr;

use netsim::sctp::{Application, SctpHost};
use sctp_core::{
    AssociationConfig, AssociationId, Delivery, Destination, Endpoint, Event, Message, PathId,
    PayloadProtocolId, SctpPort, SendError, StreamId,
};
use virtual_time::Instant;

use super::news::News;
use super::roaming::{NewPath, Roamer, Roaming};
use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::{Client, Server};
use crate::transport::End;

/// Opens the association when it is time, and sends what is due.
pub(super) struct SctpClient {
    client: Client,
    opening: Option<Opening>,
    delivery: Delivery,
    id: Option<AssociationId>,
    is_room: bool,
    priorities: Vec<u16>,
    moves: Option<Move>,
    /// Boxed: hardly any client moves.
    journey: Option<Box<Journey>>,
    /// The counters of the association when it ended.
    last_counts: Option<TransportCounts>,
}

/// The destination of an association that is to be opened, and when.
pub(super) struct Opening {
    pub(super) at: Instant,
    pub(super) to: Vec<Destination>,
    pub(super) port: SctpPort,
    pub(super) config: AssociationConfig,
    /// The priorities of the first streams.
    pub(super) priorities: Vec<u16>,
    pub(super) moves: Option<Move>,
    pub(super) journey: Option<Box<Journey>>,
}

/// A move of the association to another network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) at: Instant,
    /// The address of the peer whose path becomes the primary one.
    pub(super) to: IpAddr,
}

/// The times at which a client's host loses and finds its networks, and what the client does then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journey {
    /// The host loses its old network then; `None` afterwards.
    pub(super) leaves_at: Option<Instant>,
    /// The host finds its new network then; `None` afterwards.
    pub(super) arrives_at: Option<Instant>,
    pub(super) roaming: Roaming,
}

/// The endpoint of a simulated host, now.
struct SimulatedHost<'a> {
    now: Instant,
    endpoint: &'a mut Endpoint,
    id: AssociationId,
}

impl Roamer for SimulatedHost<'_> {
    fn lose(&mut self, local: IpAddr) {
        self.endpoint.local_address_down(self.now, local);
    }

    fn find(&mut self, local: IpAddr) {
        self.endpoint.local_address_up(self.now, local);
        let _refused = self.endpoint.add_local_address(self.now, self.id, local);
    }

    fn path_to(&self, peer: IpAddr) -> Option<NewPath> {
        NewPath::among(self.endpoint.association(self.id)?.statistics().paths, peer)
    }

    fn go_to(&mut self, path: PathId) -> bool {
        self.endpoint.set_primary(self.now, self.id, path).is_ok()
    }

    fn ask_for(&mut self, local: IpAddr) {
        let _refused = self.endpoint.request_peer_primary(self.now, self.id, local);
    }
}

impl SctpClient {
    pub(super) fn new(client: Client, mut opening: Opening, delivery: Delivery) -> Self {
        let (priorities, moves) = (core::mem::take(&mut opening.priorities), opening.moves.take());
        let journey = opening.journey.take();
        Self {
            client,
            opening: Some(opening),
            delivery,
            id: None,
            is_room: false,
            priorities,
            moves,
            journey,
            last_counts: None,
        }
    }

    fn open(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let Some(opening) = self.opening.take_if(|opening| opening.at <= now) else { return };
        // The network that is found later is not there yet.
        if let Some(journey) = &self.journey {
            endpoint.local_address_down(now, journey.roaming.not_there_yet());
        }
        match endpoint.connect(now, &opening.to, opening.port, opening.config) {
            Ok(id) => self.id = Some(id),
            Err(error) => self.client.fail(error.to_string()),
        }
    }

    /// Gives the streams their priorities, before anything is sent.
    fn prefer(&mut self, endpoint: &mut Endpoint, id: AssociationId) {
        for (stream, priority) in (0..).zip(&self.priorities) {
            if let Err(error) = endpoint.set_stream_priority(id, StreamId::new(stream), *priority) {
                return self.client.fail(error.to_string());
            }
        }
    }

    fn move_on(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let Some(id) = self.id else { return };
        let Some(Move { to, .. }) = self.moves.take_if(|moves| moves.at <= now) else { return };
        let paths = endpoint.association(id).map(|association| association.statistics().paths);
        let path = paths.and_then(|paths| paths.into_iter().find(|path| path.address == to));
        let moved = path.map(|path| endpoint.set_primary(now, id, path.path));
        match moved {
            Some(Ok(())) => {}
            Some(Err(error)) => self.client.fail(error.to_string()),
            None => self.client.fail(format!("the association has no path to {to}")),
        }
    }

    /// Tells the endpoint what its host learns of its networks, and goes to the new one as soon as it may.
    fn roam(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let (Some(id), Some(journey)) = (self.id, &mut self.journey) else { return };
        let mut world = SimulatedHost { now, endpoint, id };
        if journey.leaves_at.take_if(|at| *at <= now).is_some() {
            journey.roaming.leave(&mut world);
        }
        if journey.arrives_at.take_if(|at| *at <= now).is_some() {
            journey.roaming.arrive(&mut world);
        }
        journey.roaming.go_on(now, &mut world);
    }

    /// Returns when the association is to be opened, or to move.
    fn own_timeout(&self) -> Option<Instant> {
        let opening = self.opening.as_ref().map(|opening| opening.at);
        let moves = self.moves.filter(|_| self.id.is_some()).map(|moves| moves.at);
        let journey = self.journey.as_deref().filter(|_| self.id.is_some()).into_iter();
        let roams = journey.flat_map(|it| [it.leaves_at, it.arrives_at, it.roaming.poll_timeout()]);
        opening.into_iter().chain(moves).chain(roams.flatten()).min()
    }

    fn offer(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let Some(id) = self.id.filter(|_| self.is_room) else { return };
        while let Some(pending) = self.client.poll_message() {
            let payload = self.client.encode(pending);
            let message = Message::new(StreamId::new(pending.lane), self.delivery, payload)
                .with_ppid(PayloadProtocolId::new(self.client.workload().payload_protocol()));
            match endpoint.send(now, id, message) {
                Ok(()) => self.client.commit(now, pending),
                Err(SendError::BufferFull(_)) => {
                    self.is_room = false;
                    return self.client.defer(pending);
                }
                Err(error) => return self.client.fail(error.to_string()),
            }
        }
    }
}

impl Application for SctpClient {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        match News::from(event) {
            News::Up => {
                self.is_room = true;
                self.prefer(endpoint, id);
                self.client.begin(now);
                self.client.handle_timeout(now);
            }
            News::Readable => {
                while let Some(received) = endpoint.receive(now, id) {
                    let message = received.message;
                    let (lane, blocked) = (message.stream.get(), Some(received.blocked));
                    self.client.on_response(now, lane, &message.payload, blocked);
                }
            }
            News::Writable => {
                self.is_room = true;
                self.client.resume_all();
            }
            News::Ended(because) => {
                self.last_counts = counts(endpoint, id);
                self.client.fail(because);
            }
            News::Nothing => {
                if self.journey.is_some() {
                    self.roam(now, endpoint);
                }
                return;
            }
        }
        self.offer(now, endpoint);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let client = self.client.poll_timeout();
        // Asked for after every packet: most clients are there already, and stay.
        if self.opening.is_none() && self.moves.is_none() && self.journey.is_none() {
            return client;
        }
        self.own_timeout().into_iter().chain(client).min()
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.open(now, endpoint);
        self.move_on(now, endpoint);
        if self.journey.is_some() {
            self.roam(now, endpoint);
        }
        self.client.handle_timeout(now);
        self.offer(now, endpoint);
    }
}

/// Answers or counts what comes on every association.
pub(super) struct SctpServer {
    server: Server<ReplyLane>,
    id: Option<AssociationId>,
    is_room: bool,
}

/// The lane of an answer: back on the stream it came on, with the same flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyLane {
    id: AssociationId,
    stream: StreamId,
    delivery: Delivery,
}

impl SctpServer {
    pub(super) fn new(server: Server<ReplyLane>) -> Self {
        Self { server, id: None, is_room: true }
    }

    fn answer(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while let Some((lane, wire)) = self.is_room.then(|| self.server.poll_reply(now)).flatten() {
            // An association that ended takes its answers with it: the client tells of it.
            let message = Message::new(lane.stream, lane.delivery, wire)
                .with_ppid(PayloadProtocolId::new(self.server.workload().payload_protocol()));
            let sent = endpoint.send(now, lane.id, message);
            if let Err(SendError::BufferFull(message)) = sent {
                self.is_room = false;
                self.server.defer(lane, message.payload);
            }
        }
    }
}

impl Application for SctpServer {
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event) {
        match News::from(event) {
            News::Up => self.id = Some(id),
            News::Readable => {
                while let Some(received) = endpoint.receive(now, id) {
                    let lane = ReplyLane {
                        id,
                        stream: received.message.stream,
                        delivery: received.message.delivery,
                    };
                    let (arrived, stream) = (received.complete_at, lane.stream.get());
                    self.server.on_message(now, arrived, lane, stream, received.message.payload);
                }
            }
            News::Writable => self.is_room = true,
            News::Ended(_) | News::Nothing => return,
        }
        self.answer(now, endpoint);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout().filter(|_| self.is_room)
    }

    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.answer(now, endpoint);
    }
}

impl End for SctpHost<SctpClient> {
    fn counts(&self) -> TransportCounts {
        let now = self.application.id.and_then(|id| counts(&self.endpoint, id));
        now.or(self.application.last_counts).unwrap_or_default()
    }

    fn client(&self) -> Option<&Client> {
        Some(&self.application.client)
    }

    fn into_client(self: Box<Self>) -> Option<Client> {
        Some(self.application.client)
    }
}

impl End for SctpHost<SctpServer> {
    fn counts(&self) -> TransportCounts {
        self.application.id.and_then(|id| counts(&self.endpoint, id)).unwrap_or_default()
    }

    fn delivered(&self) -> u64 {
        self.application.server.delivered()
    }

    fn into_received(self: Box<Self>) -> Option<(OneWay, u64, Instant)> {
        Some(self.application.server.into_parts())
    }
}

/// Returns what an association has counted; `None` when it is gone.
fn counts(endpoint: &Endpoint, id: AssociationId) -> Option<TransportCounts> {
    endpoint.association(id).map(|association| TransportCounts::from(&association.statistics()))
}
