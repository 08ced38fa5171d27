//! Load generator with SIP-like retransmission, and echo server, as simulated UDP hosts.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use netsim::{Host, Outgoing, Packet, Protocol};
use virtual_time::Instant;
use workload::{
    ConfigError, EchoConfig, EchoServer, Lane, LoadConfig, LoadGenerator, ResponseNovelty,
    RetransmissionConfig, UdpRequester,
};

use super::Outcome;

/// Requests over UDP, repeated until they are answered.
pub(super) struct UdpLoad {
    generator: LoadGenerator,
    requester: UdpRequester,
    outgoing: VecDeque<Bytes>,
    local: IpAddr,
    peer: IpAddr,
}

impl UdpLoad {
    pub(super) fn new(config: LoadConfig, local: IpAddr, peer: IpAddr) -> Result<Self, ConfigError> {
        Ok(Self {
            generator: LoadGenerator::new(config, Instant::EPOCH)?,
            requester: UdpRequester::new(RetransmissionConfig::default()),
            outgoing: VecDeque::new(),
            local,
            peer,
        })
    }

    pub(super) fn is_finished(&self, now: Instant) -> bool {
        self.generator.is_finished(now)
    }

    pub(super) fn outcome(&self) -> Outcome {
        Outcome {
            start: Instant::EPOCH,
            samples: self.generator.samples().to_vec(),
            counters: *self.generator.counters(),
            retransmissions: Some(self.requester.counters().retransmissions),
            blocking: None,
            ended_early: None,
        }
    }

    fn offer(&mut self, now: Instant) {
        while let Some(request) = self.generator.poll_transmit(now) {
            self.requester.request(now, request.number, request.message);
        }
        while let Some(datagram) = self.requester.poll_transmit() {
            self.outgoing.push_back(datagram.message);
        }
    }
}

impl Host for UdpLoad {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        if let Ok(ResponseNovelty::First | ResponseNovelty::Repeated) =
            self.requester.handle_response(packet.payload)
        {
            // Repeated and wrong responses are counted by the generator.
            let _ = self.generator.handle_response(now, Lane(0), packet.payload, None);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.generator.handle_timeout(now);
        self.requester.handle_timeout(now);
        self.offer(now);
    }

    fn poll_transmit(&mut self, _now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let message = self.outgoing.pop_front()?;
        Some(datagram(buffer, &message, self.local, self.peer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = self.generator.poll_timeout();
        own.into_iter().chain(self.requester.poll_timeout()).min()
    }
}

/// Echoes datagrams.
pub(super) struct UdpEcho {
    server: EchoServer<IpAddr>,
    local: IpAddr,
}

impl UdpEcho {
    pub(super) fn new(processing: Duration, local: IpAddr) -> Self {
        Self { server: EchoServer::new(EchoConfig { processing }), local }
    }
}

impl Host for UdpEcho {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        // What is no message is counted and not answered.
        let _ = self.server.handle_message(now, packet.source, Bytes::copy_from_slice(packet.payload));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.server.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let reply = self.server.poll_transmit(now)?;
        Some(datagram(buffer, &reply.message, self.local, reply.lane))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }
}

fn datagram(buffer: &mut Vec<u8>, message: &[u8], source: IpAddr, destination: IpAddr) -> Outgoing {
    buffer.extend_from_slice(message);
    Outgoing {
        source: Some(source),
        destination,
        protocol: Protocol::Udp { source_port: ECHO_PORT, destination_port: ECHO_PORT },
        len: message.len(),
        segment_bytes: None,
    }
}

/// Both ends use the port of the echo service.
const ECHO_PORT: u16 = 7;
