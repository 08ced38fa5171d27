//! The two ends on simulated links: packets of a number, a message, and zeros in place of further headers.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use netsim::{Host, Outgoing, Packet, Protocol};
use virtual_time::Instant;

use super::rules::{Receiver, Report, Sender, StudyRules};
use crate::statistics::OneWay;
use crate::traffic::{Client, Server};
use crate::transport::End;

/// The end that sends.
pub(super) struct PacketSource {
    client: Client,
    begins_at: Option<Instant>,
    sender: Sender,
    /// The messages that were sent, from the first one that is not acknowledged on.
    sent: VecDeque<Bytes>,
    padding: usize,
    addresses: [IpAddr; 2],
}

impl PacketSource {
    pub(super) fn new(client: Client, rules: StudyRules, begins_at: Instant, addresses: [IpAddr; 2]) -> Self {
        let (sender, sent) = (Sender::new(rules), VecDeque::new());
        let padding = rules.headers - LEAST_HEADERS;
        Self { client, begins_at: Some(begins_at), sender, sent, padding, addresses }
    }

    /// Returns the number of a packet that may leave now: a lost one, or that of the next message.
    fn next_packet(&mut self, now: Instant) -> Option<u64> {
        if let Some(lost) = self.sender.poll_lost(now) {
            return Some(lost);
        }
        if self.begins_at.is_some() || !self.sender.may_send() {
            return None;
        }
        let message = self.next_message(now)?;
        let number = self.sender.next();
        self.sender.on_sent(now);
        self.sent.push_back(message);
        Some(number)
    }

    fn next_message(&mut self, now: Instant) -> Option<Bytes> {
        let pending = self.client.poll_message()?;
        self.client.commit(now, pending);
        Some(self.client.encode(pending))
    }
}

impl Host for PacketSource {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Some(report) = decode(packet.payload) else { return };
        let before = self.sender.first();
        self.sender.on_report(now, &report);
        let acknowledged = usize::try_from(self.sender.first() - before).unwrap_or(usize::MAX);
        self.sent.drain(..acknowledged.min(self.sent.len()));
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.begins_at.take_if(|at| *at <= now).is_some() {
            self.client.begin(now);
        }
        self.client.handle_timeout(now);
        if self.sender.timer().is_some_and(|due| due <= now) {
            self.sender.on_timeout();
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let number = self.next_packet(now)?;
        let place = usize::try_from(number - self.sender.first()).unwrap_or(usize::MAX);
        let before = buffer.len();
        buffer.extend_from_slice(&number.to_be_bytes());
        buffer.extend_from_slice(self.sent.get(place)?);
        buffer.resize(buffer.len() + self.padding, 0);
        Some(outgoing(self.addresses, buffer.len() - before))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.begins_at, self.client.poll_timeout(), self.sender.timer()].into_iter().flatten().min()
    }
}

impl End for PacketSource {
    fn client(&self) -> Option<&Client> {
        Some(&self.client)
    }

    fn into_client(self: Box<Self>) -> Option<Client> {
        Some(self.client)
    }
}

/// The end that receives, and reports every packet at once.
pub(super) struct PacketSink {
    server: Server<()>,
    receiver: Receiver,
    padding: usize,
    addresses: [IpAddr; 2],
    reports: VecDeque<Report>,
}

impl PacketSink {
    pub(super) fn new(server: Server<()>, rules: StudyRules, addresses: [IpAddr; 2]) -> Self {
        let (receiver, reports) = (Receiver::default(), VecDeque::new());
        Self { server, receiver, padding: rules.headers - LEAST_HEADERS, addresses, reports }
    }
}

impl Host for PacketSink {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let Some((number, rest)) = packet.payload.split_first_chunk() else { return };
        let number = u64::from_be_bytes(*number);
        if !self.receiver.has(number) {
            let message = &rest[..rest.len().saturating_sub(self.padding)];
            self.server.on_message(now, now, (), 0, Bytes::copy_from_slice(message));
        }
        self.reports.push_back(self.receiver.on_packet(number));
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        let report = self.reports.pop_front()?;
        let before = buffer.len();
        encode(&report, buffer);
        Some(outgoing(self.addresses, buffer.len() - before))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

impl End for PacketSink {
    fn delivered(&self) -> u64 {
        self.server.delivered()
    }

    fn into_received(self: Box<Self>) -> Option<(OneWay, u64, Instant)> {
        Some(self.server.into_parts())
    }
}

fn outgoing([source, destination]: [IpAddr; 2], len: usize) -> Outgoing {
    Outgoing { source: Some(source), destination, protocol: Protocol::Sctp, len, segment_bytes: None }
}

/// Writes a report, in octets of its own: the first missing packet, then first and last of each run. Its length on the wire is that
/// of a SACK, if it has few runs.
fn encode(report: &Report, buffer: &mut Vec<u8>) {
    let least = buffer.len() + SACK_BYTES;
    buffer.extend_from_slice(&report.next.to_be_bytes());
    let narrow = |number: u64| u16::try_from(number - report.next).unwrap_or(u16::MAX).to_be_bytes();
    buffer.push(u8::try_from(report.runs.len()).unwrap_or(u8::MAX));
    for (first, last) in &report.runs {
        buffer.extend_from_slice(&narrow(*first));
        buffer.extend_from_slice(&narrow(*last));
    }
    buffer.resize(buffer.len().max(least), 0);
}

fn decode(octets: &[u8]) -> Option<Report> {
    let (next, rest) = octets.split_first_chunk()?;
    let next = u64::from_be_bytes(*next);
    let (runs, rest) = rest.split_first()?;
    let wide = |octets: &[u8]| next + octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    let runs =
        rest.chunks_exact(4).take(usize::from(*runs)).map(|run| (wide(&run[..2]), wide(&run[2..]))).collect();
    Some(Report { next, runs })
}

/// The header of IP, which the simulator counts by itself, and the number of the packet.
pub(super) const LEAST_HEADERS: usize = 20 + size_of::<u64>();
/// A SACK with few gaps, less the IP header.
const SACK_BYTES: usize = 28;
