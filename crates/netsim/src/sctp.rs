//! A host that runs the SCTP that ships: a `sctp_core::Endpoint` and the application on top of it.
//!
//! What this owns: the order of calls between world, endpoint and application, and the mapping between IP packets
//! and SCTP datagrams. What not: any protocol decision.

use sctp_core::{
    AssociationId, Datagram, Destination, Ecn, Encapsulation, Endpoint, Event, Fragmentation, Transmit,
};
use virtual_time::Instant;

use crate::host::{Host, Outgoing, Packet, Protocol};

/// A simulated host with one SCTP endpoint.
///
/// After every packet and timeout the application hears the events first, then packets are taken out, until both
/// are quiet: an answer that is ready at once travels with the SACK of what it answers, as in the tokio driver. To let the application act at other
/// times, go through [`World::with_host`](crate::World::with_host), which does the same afterwards.
///
/// ```
/// use netsim::sctp::{Application, SctpHost};
/// use sctp_core::{AssociationId, Destination, Encapsulation, Endpoint, EndpointConfig, Event, SctpPort};
/// use virtual_time::Instant;
///
/// #[derive(Default)]
/// struct Log(Vec<Event>);
/// impl Application for Log {
///     fn on_event(&mut self, _: Instant, _: &mut Endpoint, _: AssociationId, event: Event) {
///         self.0.push(event);
///     }
/// }
///
/// let mut world = netsim::World::new(1);
/// let port = SctpPort::try_from(7626)?;
/// let mut interfaces = Vec::new();
/// for last in [1, 2] {
///     let endpoint = Endpoint::new(EndpointConfig::new(port), [last; 32])?;
///     let host = world.add_host(SctpHost::new(endpoint, Log::default()));
///     interfaces.push((host, world.add_interface(host, &[[10, 0, 0, last].into()])?));
/// }
/// let [(client, a), (_, b)] = interfaces[..] else { return Ok(()) };
/// world.connect(a, b, netsim::LinkSpec::default())?;
/// let server = Destination { address: [10, 0, 0, 2].into(), encapsulation: Encapsulation::Ip };
/// world.with_host(client, |host, now| host.endpoint.connect(now, &[server], port, Default::default()))?;
/// world.run_until(Instant::from_millis(1));
/// assert!(matches!(world.host(client).application.0[0], Event::CommunicationUp { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SctpHost<A> {
    /// The SCTP endpoint of the host.
    pub endpoint: Endpoint,
    /// The user of the endpoint.
    pub application: A,
    udp_port: u16,
    ignored: u64,
    /// The mark of the packet that was given last.
    fragmentation: Fragmentation,
    /// When the endpoint is to be woken, as it said when it had nothing more to send.
    endpoint_due: Option<Instant>,
}

impl<A: Application> SctpHost<A> {
    /// Creates a host that speaks SCTP over IP, and over UDP at the registered port 9899 (RFC 6951 §5.1).
    #[must_use]
    pub fn new(endpoint: Endpoint, application: A) -> Self {
        Self {
            endpoint_due: endpoint.next_timeout(),
            endpoint,
            application,
            udp_port: ENCAPSULATION_PORT,
            ignored: 0,
            fragmentation: Fragmentation::Allowed,
        }
    }

    /// Takes UDP port `udp_port` for encapsulation instead; for hosts behind a port-changing middlebox, or several
    /// stacks on one address.
    #[must_use]
    pub const fn with_udp_port(mut self, udp_port: u16) -> Self {
        self.udp_port = udp_port;
        self
    }

    /// Returns how many packets were neither SCTP over IP nor UDP to the encapsulation port.
    #[must_use]
    pub const fn ignored_packets(&self) -> u64 {
        self.ignored
    }

    /// Returns how the packet's sender carried SCTP, if this host takes it.
    const fn encapsulation(&self, protocol: Protocol) -> Option<Encapsulation> {
        match protocol {
            Protocol::Sctp => Some(Encapsulation::Ip),
            Protocol::Udp { source_port, destination_port } if destination_port == self.udp_port => {
                Some(Encapsulation::Udp { port: source_port })
            }
            Protocol::Udp { .. } | Protocol::Tcp | Protocol::Fragment { .. } => None,
        }
    }

    const fn outgoing(&self, transmit: &Transmit) -> Outgoing {
        let protocol = match transmit.destination.encapsulation {
            // The simulated network has no channel beside IP.
            Encapsulation::Ip | Encapsulation::Datagrams => Protocol::Sctp,
            Encapsulation::Udp { port } => {
                Protocol::Udp { source_port: self.udp_port, destination_port: port }
            }
        };
        Outgoing {
            source: transmit.source,
            destination: transmit.destination.address,
            protocol,
            len: transmit.len,
            segment_bytes: transmit.segment_bytes,
        }
    }

    /// Tells the application what happened; false if nothing did.
    fn tell_events(&mut self, now: Instant) -> bool {
        let mut is_anything_told = false;
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.application.on_event(now, &mut self.endpoint, id, event);
            is_anything_told = true;
        }
        is_anything_told
    }
}

impl<A: Application> Host for SctpHost<A> {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Some(encapsulation) = self.encapsulation(packet.protocol) else {
            self.ignored += 1;
            return;
        };
        let source = Destination { address: packet.source, encapsulation };
        let local = Some(packet.destination);
        self.endpoint
            .handle_packet(now, Datagram { source, local, ecn: Ecn::NotEct, payload: packet.payload });
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.endpoint_due.is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
        }
        if self.application.poll_timeout().is_some_and(|due| due <= now) {
            self.application.handle_timeout(now, &mut self.endpoint);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        loop {
            let is_anything_told = self.tell_events(now);
            if let Some(transmit) = self.endpoint.poll_transmit(now, buffer) {
                self.fragmentation = transmit.fragmentation;
                return Some(self.outgoing(&transmit));
            }
            if !is_anything_told {
                self.endpoint_due = self.endpoint.next_timeout();
                return None;
            }
        }
    }

    fn allows_fragments(&self) -> bool {
        match self.fragmentation {
            Fragmentation::Allowed => true,
            Fragmentation::Forbidden => false,
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match (self.endpoint_due, self.application.poll_timeout()) {
            (Some(endpoint), Some(application)) => Some(endpoint.min(application)),
            (endpoint, application) => endpoint.or(application),
        }
    }
}

/// A user of an endpoint: told of events, woken by its own timer, free to call any operation of the endpoint.
pub trait Application {
    /// Something happened to association `id`.
    fn on_event(&mut self, now: Instant, endpoint: &mut Endpoint, id: AssociationId, event: Event);

    /// Returns when to call [`handle_timeout`](Application::handle_timeout). Default: never.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The instant [`poll_timeout`](Application::poll_timeout) named has come; afterwards it must no longer be
    /// due. Default: nothing to do.
    fn handle_timeout(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let _ = (now, endpoint);
    }
}

/// The UDP port registered for SCTP (RFC 6951 §7).
const ENCAPSULATION_PORT: u16 = 9899;
