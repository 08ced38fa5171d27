//! The ends of QUIC on simulated links.

use std::net::{IpAddr, SocketAddr};

use netsim::{Host, Outgoing, Packet, Protocol};
use virtual_time::Instant;

use super::client::QuicClient;
use super::core::Core;
use super::server::QuicServer;
use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::Client;
use crate::transport::End;

/// An end of QUIC at the addresses of a simulated host, of which it uses one at a time.
pub(super) struct Simulated<C> {
    core: C,
    addresses: Vec<IpAddr>,
    port: u16,
    turn: usize,
}

impl<C> Simulated<C> {
    pub(super) fn new(core: C, addresses: Vec<IpAddr>, port: u16) -> Self {
        Self { core, addresses, port, turn: 0 }
    }
}

impl<C: Core> Host for Simulated<C> {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        if let Protocol::Udp { source_port, .. } = packet.protocol {
            self.core.handle_datagram(now, SocketAddr::new(packet.source, source_port), packet.payload);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.core.handle_timeout(now);
        self.turn += usize::from(self.core.goes_elsewhere(now));
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let before = buffer.len();
        let to = self.core.poll_transmit(now, buffer)?;
        let protocol = Protocol::Udp { source_port: self.port, destination_port: to.port() };
        let source = self.addresses.iter().cycle().nth(self.turn).copied();
        let len = buffer.len() - before;
        Some(Outgoing { source, destination: to.ip(), protocol, len, segment_bytes: None })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.core.poll_timeout()
    }
}

impl End for Simulated<QuicClient> {
    fn counts(&self) -> TransportCounts {
        self.core.counts()
    }

    fn client(&self) -> Option<&Client> {
        Some(self.core.client())
    }

    fn into_client(self: Box<Self>) -> Option<Client> {
        Some(self.core.into_client())
    }
}

impl End for Simulated<QuicServer> {
    fn counts(&self) -> TransportCounts {
        self.core.counts()
    }

    fn delivered(&self) -> u64 {
        self.core.delivered()
    }

    fn into_received(self: Box<Self>) -> Option<(OneWay, u64, Instant)> {
        Some(self.core.into_received())
    }
}

/// The port of HTTP/3, where capture tools look for QUIC.
pub(super) const SERVER_PORT: u16 = 443;
pub(super) const CLIENT_PORT: u16 = 50_443;
