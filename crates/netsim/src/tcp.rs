//! A host that runs the simulator's TCP: any number of `tcp_core::Connection`s and the application on top of them.
//!
//! What this owns: ports, which connection a segment is for, and the order of calls. What not: any protocol decision.

use std::net::IpAddr;

use tcp_core::{Connection, Event, Segment, TcpConfig};
use virtual_time::Instant;

use crate::host::{Host, Outgoing, Packet, Protocol};

/// A simulated host with TCP connections.
///
/// As for SCTP: the application hears all events before packets are taken out, so that an answer that is ready at once
/// carries the acknowledgment. To let the application act at other times, go through
/// [`World::with_host`](crate::World::with_host).
///
/// ```
/// use netsim::tcp::{Application, ConnectionId, Connections, TcpHost};
/// use tcp_core::{Event, TcpConfig};
/// use virtual_time::Instant;
///
/// /// Reads all that comes.
/// #[derive(Default)]
/// struct Reader(Vec<u8>);
/// impl Application for Reader {
///     fn on_event(&mut self, _: Instant, connections: &mut Connections, id: ConnectionId, _: Event) {
///         connections[id].read(&mut self.0);
///     }
/// }
///
/// let mut world = netsim::World::new(1);
/// let mut add = |last: u8| {
///     let address = [10, 0, 0, last].into();
///     let host = world.add_host(TcpHost::new(address, TcpConfig::default(), u32::from(last), Reader::default()));
///     world.add_interface(host, &[address]).map(|interface| (host, interface))
/// };
/// let ((client, a), (server, b)) = (add(1)?, add(2)?);
/// world.connect(a, b, netsim::LinkSpec::default())?;
/// world.host_mut(server).connections.listen(80);
/// world.with_host(client, |host, _| {
///     let id = host.connections.connect([10, 0, 0, 2].into(), 80);
///     host.connections[id].write(b"hello");
/// });
/// world.run_until(Instant::from_millis(1));
/// assert_eq!(world.host(server).application.0, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TcpHost<A> {
    /// The TCP connections of the host.
    pub connections: Connections,
    /// The user of the connections.
    pub application: A,
    ignored: u64,
}

/// All connections of a host, in the order they were opened in.
#[derive(Debug)]
pub struct Connections {
    local: IpAddr,
    config: TcpConfig,
    initial_sequence: u32,
    listens_at: Option<u16>,
    slots: Vec<Slot>,
}

/// A connection of a host, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(usize);

#[derive(Debug)]
struct Slot {
    peer: IpAddr,
    connection: Connection,
    /// Whether the connection may have something to tell or to send.
    is_touched: bool,
}

impl<A: Application> TcpHost<A> {
    /// Creates a host with one address. All its connections have the same parameters; their initial sequence
    /// numbers follow from `initial_sequence`.
    #[must_use]
    pub const fn new(local: IpAddr, config: TcpConfig, initial_sequence: u32, application: A) -> Self {
        let slots = Vec::new();
        let connections = Connections { local, config, initial_sequence, listens_at: None, slots };
        Self { connections, application, ignored: 0 }
    }

    /// Returns how many packets were not TCP, or for no connection.
    #[must_use]
    pub const fn ignored_packets(&self) -> u64 {
        self.ignored
    }

    /// Tells the application what happened; false if nothing did.
    fn tell_events(&mut self, now: Instant) -> bool {
        let mut is_anything_told = false;
        for index in 0..self.connections.slots.len() {
            while self.connections.slots[index].is_touched {
                let Some(event) = self.connections.slots[index].connection.poll_event() else { break };
                self.application.on_event(now, &mut self.connections, ConnectionId(index), event);
                is_anything_told = true;
            }
        }
        is_anything_told
    }
}

impl Connections {
    /// Connections to this port are accepted.
    pub const fn listen(&mut self, port: u16) {
        self.listens_at = Some(port);
    }

    /// Opens a connection, from the next port above 49,151.
    pub fn connect(&mut self, peer: IpAddr, peer_port: u16) -> ConnectionId {
        let number = u16::try_from(self.slots.len() % usize::from(DYNAMIC_PORTS)).unwrap_or(0);
        let port = FIRST_DYNAMIC_PORT + number;
        let connection = Connection::connect(self.config, port, peer_port, self.next_sequence());
        self.add(peer, connection)
    }

    /// Returns the number of connections, those that have ended included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether there never was a connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns all connections, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.slots.iter().enumerate().map(|(index, slot)| (ConnectionId(index), &slot.connection))
    }

    fn add(&mut self, peer: IpAddr, connection: Connection) -> ConnectionId {
        self.slots.push(Slot { peer, connection, is_touched: true });
        ConnectionId(self.slots.len() - 1)
    }

    /// Returns the initial sequence number of the next connection. RFC 9293 §3.4.1 wants them to differ, and
    /// nobody guesses them here.
    fn next_sequence(&self) -> u32 {
        let number = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.initial_sequence.wrapping_add(number.wrapping_mul(SEQUENCES_APART))
    }

    /// Hands a segment to its connection, or opens one; false if it is for none.
    fn handle_segment(&mut self, now: Instant, source: IpAddr, segment: &Segment<'_>) -> bool {
        let ports = (segment.destination_port, segment.source_port);
        let known =
            self.slots.iter_mut().find(|slot| slot.connection.ports() == ports && slot.peer == source);
        if let Some(slot) = known {
            slot.connection.handle_segment(now, segment);
            slot.is_touched = true;
            return true;
        }
        if self.listens_at != Some(segment.destination_port) {
            return false;
        }
        let accepted = Connection::accept(self.config, segment, self.next_sequence());
        accepted.map(|connection| self.add(source, connection)).is_some()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for slot in &mut self.slots {
            if slot.connection.poll_timeout().is_some_and(|due| due <= now) {
                slot.connection.handle_timeout(now);
                slot.is_touched = true;
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_touched) {
            if let Some(len) = slot.connection.poll_transmit(now, buffer) {
                let (source, destination) = (Some(self.local), slot.peer);
                return Some(Outgoing {
                    source,
                    destination,
                    protocol: Protocol::Tcp,
                    len,
                    segment_bytes: None,
                });
            }
            slot.is_touched = false;
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.slots.iter().filter_map(|slot| slot.connection.poll_timeout()).min()
    }
}

impl core::ops::Index<ConnectionId> for Connections {
    type Output = Connection;

    fn index(&self, id: ConnectionId) -> &Connection {
        &self.slots[id.0].connection
    }
}

impl core::ops::IndexMut<ConnectionId> for Connections {
    /// Returns the connection, which is asked afterwards what it has to send, whatever was done to it.
    fn index_mut(&mut self, id: ConnectionId) -> &mut Connection {
        let slot = &mut self.slots[id.0];
        slot.is_touched = true;
        &mut slot.connection
    }
}

impl ConnectionId {
    /// Returns the number of the connection within its host, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl<A: Application> Host for TcpHost<A> {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let segment = Some(packet.payload).filter(|_| packet.protocol == Protocol::Tcp);
        let segment = segment.and_then(|payload| Segment::decode(payload).ok());
        let is_taken =
            segment.is_some_and(|segment| self.connections.handle_segment(now, packet.source, &segment));
        self.ignored += u64::from(!is_taken);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.connections.handle_timeout(now);
        if self.application.poll_timeout().is_some_and(|due| due <= now) {
            self.application.handle_timeout(now, &mut self.connections);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        loop {
            let is_anything_told = self.tell_events(now);
            let outgoing = self.connections.poll_transmit(now, buffer);
            if outgoing.is_some() || !is_anything_told {
                return outgoing;
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.connections.poll_timeout().into_iter().chain(self.application.poll_timeout()).min()
    }
}

/// A user of the connections of a host: told of events, woken by its own timer, free to call any of their
/// operations.
pub trait Application {
    /// Something happened to a connection.
    fn on_event(&mut self, now: Instant, connections: &mut Connections, id: ConnectionId, event: Event);

    /// Returns when to call [`handle_timeout`](Application::handle_timeout). Default: never.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The instant [`poll_timeout`](Application::poll_timeout) named has come; afterwards it must no longer be due.
    /// Default: nothing to do.
    fn handle_timeout(&mut self, now: Instant, connections: &mut Connections) {
        let _ = (now, connections);
    }
}

/// The first dynamic port (RFC 6335 §6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u16 = 16_384;
/// An odd number far from 1.
const SEQUENCES_APART: u32 = 0x9e37_79b1;
