//! Client and server over UDP: requests repeated as a SIP client transaction does (RFC 3261 §17.1.1.2, timers A and B),
//! every copy of a request answered.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use netsim::{Host, Outgoing, Packet, Protocol};
use virtual_time::Instant;
use workload::RetransmissionConfig;

use super::outbox::Outbox;
use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::{Client, Server};
use crate::transport::End;

pub(super) struct UdpClient {
    client: Client,
    begins_at: Option<Instant>,
    outbox: Outbox,
    local: IpAddr,
    peer: IpAddr,
}

impl UdpClient {
    pub(super) fn new(
        client: Client,
        begins_at: Instant,
        config: RetransmissionConfig,
        local: IpAddr,
        peer: IpAddr,
    ) -> Self {
        let outbox = Outbox::new(&client, config);
        Self { client, begins_at: Some(begins_at), outbox, local, peer }
    }
}

impl Host for UdpClient {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        self.outbox.hand_over(now, &mut self.client, packet.payload);
        self.outbox.fill(now, &mut self.client);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.begins_at.take_if(|at| *at <= now).is_some() {
            self.client.begin(now);
        }
        self.client.handle_timeout(now);
        self.outbox.handle_timeout(now);
        self.outbox.fill(now, &mut self.client);
    }

    fn poll_transmit(&mut self, _now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let message = self.outbox.poll_transmit()?;
        Some(datagram(buffer, &message, self.local, self.peer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.begins_at, self.client.poll_timeout(), self.outbox.poll_timeout()].into_iter().flatten().min()
    }
}

impl End for UdpClient {
    fn counts(&self) -> TransportCounts {
        self.outbox.counts(&self.client)
    }

    fn client(&self) -> Option<&Client> {
        Some(&self.client)
    }

    fn into_client(self: Box<Self>) -> Option<Client> {
        Some(self.client)
    }
}

pub(super) struct UdpServer {
    server: Server<IpAddr>,
    local: IpAddr,
    outgoing: VecDeque<(IpAddr, Bytes)>,
}

impl UdpServer {
    pub(super) fn new(server: Server<IpAddr>, local: IpAddr) -> Self {
        Self { server, local, outgoing: VecDeque::new() }
    }
}

impl Host for UdpServer {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        self.server.on_datagram(now, packet.source, Bytes::copy_from_slice(packet.payload));
        self.handle_timeout(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(reply) = self.server.poll_reply(now) {
            self.outgoing.push_back(reply);
        }
    }

    fn poll_transmit(&mut self, _now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let (to, message) = self.outgoing.pop_front()?;
        Some(datagram(buffer, &message, self.local, to))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }
}

impl End for UdpServer {
    fn delivered(&self) -> u64 {
        self.server.delivered()
    }

    fn into_received(self: Box<Self>) -> Option<(OneWay, u64, Instant)> {
        Some(self.server.into_parts())
    }
}

fn datagram(buffer: &mut Vec<u8>, message: &[u8], source: IpAddr, destination: IpAddr) -> Outgoing {
    buffer.extend_from_slice(message);
    let protocol = Protocol::Udp { source_port: SIP_PORT, destination_port: SIP_PORT };
    Outgoing { source: Some(source), destination, protocol, len: message.len(), segment_bytes: None }
}

/// Both ends use the port of SIP.
const SIP_PORT: u16 = 5060;
