//! Two endpoints over a channel of the caller's (RFC 8261), and checksums of zero on it (RFC 9653).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::collections::VecDeque;

use sctp_core::{
    AssociationId, AssociationStatistics, Capability, Datagram, Destination, Encapsulation, Endpoint,
    EndpointConfig, Event, Message, Offer, Profile, SctpPort, StreamId,
};
use sctp_wire::{Checksum, Chunk, Packet, Parameter};
use virtual_time::Instant;

const PORT: u16 = 5000;
const CHANNEL: Destination = Destination::channel(7);

/// Two ends and the datagrams between them.
struct Line {
    now: Instant,
    ends: [Endpoint; 2],
    /// What is on its way to each end.
    towards: [VecDeque<Vec<u8>>; 2],
    /// Everything sent, by whom.
    sent: Vec<(usize, Vec<u8>)>,
    heard: Vec<Vec<u8>>,
}

impl Line {
    fn new(change: impl Fn(usize, &mut EndpointConfig)) -> Self {
        let port = SctpPort::new(PORT).unwrap();
        let ends = [0, 1].map(|end: usize| {
            let mut config = EndpointConfig::new(port);
            config.association = sctp_core::AssociationConfig::profile(Profile::WebRtc);
            change(end, &mut config);
            Endpoint::new(config, [u8::try_from(end).unwrap(); 32]).unwrap()
        });
        let towards = [VecDeque::new(), VecDeque::new()];
        Self { now: Instant::EPOCH, ends, towards, sent: Vec::new(), heard: Vec::new() }
    }

    fn connect(
        &mut self,
        destination: Destination,
        change: impl FnOnce(&mut sctp_core::AssociationConfig),
    ) -> AssociationId {
        let mut config = sctp_core::AssociationConfig::profile(Profile::WebRtc);
        change(&mut config);
        let port = SctpPort::new(PORT).unwrap();
        self.ends[0].connect(self.now, &[destination], port, config).unwrap()
    }

    /// Until nothing moves any more; no timer runs.
    fn run(&mut self, source: Destination) {
        loop {
            for end in 0..2 {
                let mut buffer = Vec::new();
                while self.ends[end].poll_transmit(self.now, &mut buffer).is_some() {
                    let packet = core::mem::take(&mut buffer);
                    self.sent.push((end, packet.clone()));
                    self.towards[1 - end].push_back(packet);
                }
                while let Some((id, event)) = self.ends[end].poll_event() {
                    if event == Event::MessageReady {
                        while let Some(received) = self.ends[end].receive(self.now, id) {
                            self.heard.push(received.message.payload.to_vec());
                        }
                    }
                }
            }
            if self.towards.iter().all(VecDeque::is_empty) {
                return;
            }
            for end in 0..2 {
                while let Some(packet) = self.towards[end].pop_front() {
                    self.deliver(end, source, &packet);
                }
            }
        }
    }

    fn deliver(&mut self, to: usize, source: Destination, payload: &[u8]) {
        self.ends[to].handle_packet(self.now, Datagram::new(source, payload));
    }

    fn statistics(&self, id: AssociationId) -> AssociationStatistics {
        self.ends[0].association(id).unwrap().statistics()
    }

    /// The chunk types and the checksum of every packet sent.
    fn packets(&self) -> Vec<(Vec<&'static str>, u32)> {
        let read = |octets: &Vec<u8>| {
            let packet = Packet::decode(octets, Checksum::Ignore).unwrap();
            (packet.chunks().map(|chunk| chunk.unwrap().kind().name().unwrap()).collect(), packet.checksum)
        };
        self.sent.iter().map(|(_, octets)| read(octets)).collect()
    }
}

fn zeroed(packet: &[u8]) -> Vec<u8> {
    let mut octets = packet.to_vec();
    octets[8..12].fill(0);
    octets
}

fn message(fill: u8, len: usize) -> Message {
    Message::ordered(StreamId::new(0), vec![fill; len])
}

/// RFC 9653: INIT and COOKIE ECHO keep their checksum, what follows needs none.
#[test]
fn zero_checksums_follow_the_handshake_where_both_sides_offer_them() {
    let mut line = Line::new(|_, _| {});
    let id = line.connect(CHANNEL, |_| {});
    line.run(CHANNEL);
    line.ends[0].send(line.now, id, message(1, 5000)).unwrap();
    line.run(CHANNEL);
    assert_eq!(line.heard, [vec![1; 5000]]);
    for (kinds, checksum) in line.packets() {
        let is_protected = kinds.iter().any(|kind| matches!(*kind, "INIT" | "INIT ACK" | "COOKIE ECHO"));
        assert_eq!(checksum != 0, is_protected, "{kinds:?}");
    }
    assert!(line.ends[0].association(id).unwrap().capabilities().has(Capability::ZeroChecksum));
    assert!(line.statistics(id).paths[0].counters.zero_checksums_sent >= 5);
    assert!(line.ends[1].statistics().zero_checksums_accepted >= 5);
    assert_eq!(line.ends[1].statistics().bad_checksum, 0);
}

#[test]
fn one_side_that_does_not_offer_keeps_both_at_checksums() {
    for silent in 0..2 {
        let mut line = Line::new(|end, config| {
            if end == silent {
                config.association.extensions.zero_checksum = Offer::Off;
            }
        });
        let id = line.connect(CHANNEL, |config| {
            if silent == 0 {
                config.extensions.zero_checksum = Offer::Off;
            }
        });
        line.run(CHANNEL);
        line.ends[0].send(line.now, id, message(1, 100)).unwrap();
        line.run(CHANNEL);
        assert_eq!(line.heard.len(), 1);
        assert!(line.packets().iter().all(|(_, checksum)| *checksum != 0), "{silent} is silent");
        let data = zeroed(&line.sent.iter().rfind(|(end, _)| *end == 0).unwrap().1);
        let before = *line.ends[1].statistics();
        line.deliver(1, CHANNEL, &data);
        let accepts = line.ends[1].statistics().bad_checksum == before.bad_checksum;
        assert_eq!(accepts, silent == 0, "who offers accepts, whoever else does not");
    }
}

/// A zero checksum over IP or UDP is wrong, whatever the configuration says.
#[test]
fn zero_checksum_over_ip_or_udp_is_always_refused() {
    for encapsulation in [Encapsulation::Ip, Encapsulation::Udp { port: 9899 }] {
        let peer = Destination { address: [10, 0, 0, 1].into(), encapsulation };
        let mut line = Line::new(|_, _| {});
        let id = line.connect(peer, |_| {});
        line.run(peer);
        assert!(!line.ends[0].association(id).unwrap().capabilities().has(Capability::ZeroChecksum));
        let init = Packet::decode(&line.sent[0].1, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::Init(init))) = init.chunks().next() else { panic!("INIT first") };
        let offers = |parameter: Parameter<'_>| matches!(parameter, Parameter::ZeroChecksumAcceptable { .. });
        assert!(!init.parameters.iter().flatten().any(offers));
        line.ends[0].send(line.now, id, message(1, 100)).unwrap();
        line.run(peer);
        assert!(line.packets().iter().all(|(_, checksum)| *checksum != 0));
        for (end, packet) in line.sent.clone() {
            let before = *line.ends[1 - end].statistics();
            line.deliver(1 - end, peer, &zeroed(&packet));
            assert_eq!(line.ends[1 - end].statistics().bad_checksum, before.bad_checksum + 1);
        }
    }
}

/// RFC 9653: not before an association is known, and not with INIT or COOKIE ECHO; nor through another channel.
#[test]
fn zero_checksum_is_refused_where_an_exception_of_rfc_9653_applies() {
    let mut line = Line::new(|_, _| {});
    let id = line.connect(CHANNEL, |_| {});
    line.run(CHANNEL);
    line.ends[0].send(line.now, id, message(1, 100)).unwrap();
    line.run(CHANNEL);
    let refused = |line: &mut Line, source: Destination, packet: &[u8]| {
        let before = line.ends[1].statistics().bad_checksum;
        line.deliver(1, source, packet);
        line.ends[1].statistics().bad_checksum - before
    };
    let from_left: Vec<Vec<u8>> =
        line.sent.iter().filter(|(end, _)| *end == 0).map(|(_, packet)| packet.clone()).collect();
    assert_eq!(refused(&mut line, CHANNEL, &zeroed(&from_left[0])), 1, "INIT");
    assert_eq!(refused(&mut line, CHANNEL, &zeroed(&from_left[1])), 1, "COOKIE ECHO");
    let data = &from_left[2];
    assert_eq!(refused(&mut line, Destination::channel(8), data), 1, "another channel");
    let udp = Destination { encapsulation: Encapsulation::Udp { port: 9899 }, ..CHANNEL };
    assert_eq!(refused(&mut line, udp, data), 1, "UDP from an address that looks like the channel's number");
    let mut unknown = data.clone();
    unknown[4..8].copy_from_slice(&[1, 2, 3, 4]);
    assert_eq!(refused(&mut line, CHANNEL, &unknown), 1, "of no association");
    assert_eq!(refused(&mut line, CHANNEL, data), 0, "as it came before");
}

/// RFC 8261 §6.1: no addresses in INIT and INIT ACK, not even the types of them.
#[test]
fn handshake_over_a_channel_speaks_of_no_addresses() {
    let mut line = Line::new(|_, _| {});
    let _id = line.connect(CHANNEL, |_| {});
    line.run(CHANNEL);
    for (_, octets) in &line.sent[..2] {
        let packet = Packet::decode(octets, Checksum::Verify).unwrap();
        let (Some(Ok(Chunk::Init(init))) | Some(Ok(Chunk::InitAck(init)))) = packet.chunks().next() else {
            panic!("INIT, INIT ACK")
        };
        for parameter in init.parameters.iter().flatten() {
            let is_address = matches!(
                parameter,
                Parameter::Ipv4Address(_) | Parameter::Ipv6Address(_) | Parameter::SupportedAddressTypes(_)
            );
            assert!(!is_address, "{parameter:?}");
        }
    }
    let longest = line.sent.iter().map(|(_, octets)| octets.len()).max().unwrap();
    assert!(longest <= 1191);
}

#[test]
fn associations_over_different_channels_do_not_meet() {
    let mut line = Line::new(|_, _| {});
    let first = line.connect(CHANNEL, |_| {});
    line.run(CHANNEL);
    let second = line.connect(Destination::channel(8), |_| {});
    line.run(Destination::channel(8));
    assert_ne!(first, second);
    assert_eq!(line.ends[1].association_count(), 2);
    line.ends[0].send(line.now, second, message(2, 10)).unwrap();
    line.run(CHANNEL);
    assert_eq!(line.heard, Vec::<Vec<u8>>::new(), "through the wrong channel");
    assert_eq!(line.ends[1].statistics().bad_checksum, 1);
}
