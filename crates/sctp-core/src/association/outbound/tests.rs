//! What is expected and goes a short way comes to the same as by the long one: in every octet that leaves, every event, every time to
//! wake up, and all that is remembered.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use sctp_wire::{Checksum, Packet, SctpPort, StreamId, Tsn, VerificationTag};
use smallvec::smallvec;
use virtual_time::Instant;

use super::*;
use crate::association::{Association, Authenticity, Commons, LocalAddresses, PeerNotes, StateCookie};
use crate::capabilities::{Capabilities, Capability, Negotiated};
use crate::config::{AssociationConfig, CongestionAlgorithm, Profile};
use crate::message::{Message, Reliability};
use crate::receiver::SpareBlocks;
use crate::rng::Nonces;
use crate::transmit::{Datagram, Encapsulation};

/// The ways that SACKs have gone, and may go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    only_the_long_one: bool,
    expected: u32,
}

impl Ways {
    pub(super) fn may_be_short(self) -> bool {
        !self.only_the_long_one
    }

    pub(super) fn note_expected(&mut self) {
        self.expected += 1;
    }
}

fn end(number: u8) -> Destination {
    Destination {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)),
        encapsulation: Encapsulation::Udp { port: 9899 },
    }
}

/// One end of an association that is up; they have numbers 1 and 2.
fn established(number: u8, config: &AssociationConfig) -> Box<Association> {
    let (port, other) = (SctpPort::new(9).unwrap(), 3 - number);
    let [tag, peer_tag] = [number, other].map(|number| VerificationTag::new(number.into()));
    let capabilities = Capabilities::NONE.with(Capability::PartialReliability);
    let cookie = StateCookie {
        expires_at: Instant::EPOCH,
        issued_at: Instant::EPOCH,
        local_port: port,
        peer_port: port,
        local_tag: tag,
        peer_tag,
        tie_tag: 0,
        local_initial_tsn: Tsn::new(u32::MAX - 20),
        peer_initial_tsn: Tsn::new(u32::MAX - 20),
        peer_window: 20_000,
        agreed: Negotiated { outbound: 4, inbound: 4, capabilities },
        key_material: None,
        source: end(other),
        addresses: smallvec![end(other).address],
        notes: PeerNotes::default(),
    };
    let locals = LocalAddresses::default();
    let nonces = Nonces::new(&[1; 32]);
    let commons = Commons::new(config.clone(), SpareBlocks::within(0)).into();
    Association::accept(Instant::EPOCH, &cookie, end(other), &locals, commons, nonces)
}

/// Two ends twice: one pair takes the short ways, the other the long ones alone.
struct Pairs {
    /// By end.
    short: [Box<Association>; 2],
    long: [Box<Association>; 2],
    now: Instant,
    /// The packets under way to each end.
    under_way: [Vec<Vec<u8>>; 2],
}

#[derive(Clone, Debug)]
enum Step {
    Send {
        from: usize,
        len: usize,
        stream: u16,
        reliability: Reliability,
    },
    Transmit {
        from: usize,
    },
    Deliver {
        to: usize,
        which: usize,
    },
    Repeat {
        to: usize,
        which: usize,
    },
    Drop {
        to: usize,
        which: usize,
    },
    Read {
        at: usize,
    },
    Wait {
        micros: u64,
    },
    /// Everything goes to and fro, as between hosts that have nothing else to do.
    Exchange {
        trips: usize,
    },
}

impl Pairs {
    fn new(config: &AssociationConfig) -> Self {
        let pair = || [established(1, config), established(2, config)];
        let (short, mut long) = (pair(), pair());
        long.iter_mut().for_each(|end| end.outbound.ways.only_the_long_one = true);
        Self { short, long, now: Instant::from_millis(1000), under_way: Default::default() }
    }

    /// Has both of an end do something, which has to come to the same.
    fn both<R: PartialEq + core::fmt::Debug>(
        &mut self,
        at: usize,
        act: impl Fn(&mut Association, Instant) -> R,
    ) -> R {
        let now = self.now;
        let [(short, is_so), (long, was_so)] = [&mut self.short[at], &mut self.long[at]].map(|end| {
            let result = act(end, now);
            let events: Vec<_> = core::iter::from_fn(|| end.poll_event()).collect();
            let ways = core::mem::take(&mut end.outbound.ways);
            let remembered = format!("{events:?} {:?} {end:?}", end.poll_timeout());
            end.outbound.ways = ways;
            (result, remembered)
        });
        assert_eq!((&short, is_so), (&long, was_so));
        short
    }

    fn transmit(&mut self, from: usize) -> usize {
        let packets = self.both(from, |end, now| {
            let (mut buffer, mut ends) = (Vec::new(), Vec::new());
            end.transmit(now, 8, &mut buffer, &mut |transmit| ends.push(transmit.len));
            let mut rest = &buffer[..];
            ends.into_iter().map(|len| rest.split_off(..len).unwrap().to_vec()).collect::<Vec<_>>()
        });
        let count = packets.len();
        self.under_way[1 - from].extend(packets);
        count
    }

    fn arrive(&mut self, to: usize, octets: &[u8]) {
        let source = end(if to == 0 { 2 } else { 1 });
        self.both(to, |end, now| {
            let packet = Packet::decode(octets, Checksum::Verify).unwrap();
            let datagram = Datagram::new(source, octets);
            end.handle_packet(now, PathIndex::FIRST, &datagram, &packet, Authenticity::NotShown);
            end.after_input(now);
        });
    }

    /// Takes out a packet under way, if there is any.
    fn take(&mut self, to: usize, which: usize) -> Option<Vec<u8>> {
        let waiting = &mut self.under_way[to];
        if waiting.is_empty() { None } else { Some(waiting.remove(which % waiting.len())) }
    }

    fn read(&mut self, at: usize) {
        self.both(at, |end, now| {
            let mut received = Vec::new();
            end.receiver_mut().unwrap().receive_many(64, &mut received);
            if end.receiver().unwrap().window_update_due() {
                end.update_window(now);
            }
            received.into_iter().map(|received| received.message).collect::<Vec<_>>()
        });
    }

    fn wait(&mut self, micros: u64) {
        let until = self.now + Duration::from_micros(micros);
        for at in [0, 1] {
            self.now = until;
            if self.short[at].poll_timeout().is_some_and(|due| due <= until) {
                self.both(at, Association::handle_timeout);
            }
        }
    }

    fn exchange(&mut self, trips: usize) {
        for _ in 0..trips {
            for from in [0, 1] {
                self.transmit(from);
                while let Some(octets) = self.take(1 - from, 0) {
                    self.arrive(1 - from, &octets);
                }
                self.read(1 - from);
            }
            self.wait(4_000);
        }
    }

    fn take_step(&mut self, step: &Step) {
        match *step {
            Step::Send { from, len, stream, reliability } => {
                self.both(from, |end, now| {
                    let message = Message::ordered(StreamId::new(stream), vec![7; len]);
                    format!("{:?}", end.send_one(now, Message { reliability, ..message }))
                });
            }
            Step::Transmit { from } => {
                self.transmit(from);
            }
            Step::Deliver { to, which } => {
                if let Some(octets) = self.take(to, which) {
                    self.arrive(to, &octets);
                }
            }
            Step::Repeat { to, which } => {
                if let Some(octets) = self.take(to, which) {
                    self.under_way[to].push(octets.clone());
                    self.arrive(to, &octets);
                }
            }
            Step::Drop { to, which } => drop(self.take(to, which)),
            Step::Read { at } => self.read(at),
            Step::Wait { micros } => self.wait(micros),
            Step::Exchange { trips } => self.exchange(trips),
        }
    }

    fn expected(&self) -> u32 {
        self.short.iter().map(|end| end.outbound.ways.expected).sum()
    }
}

fn steps() -> impl Strategy<Value = Step> {
    let reliability = prop_oneof![
        6 => Just(Reliability::Reliable),
        1 => (0..3_u32).prop_map(Reliability::Retransmissions),
        1 => (1..300_u64).prop_map(|millis| Reliability::Lifetime(Duration::from_millis(millis))),
    ];
    let len = prop_oneof![4 => 1..200_usize, 1 => 200..6_000_usize];
    let send = (0..2_usize, len, 0..4_u16, reliability);
    prop_oneof![
        6 => send.prop_map(|(from, len, stream, reliability)| Step::Send { from, len, stream, reliability }),
        4 => (0..2_usize).prop_map(|from| Step::Transmit { from }),
        5 => (0..2_usize, 0..2_usize).prop_map(|(to, which)| Step::Deliver { to, which }),
        1 => (0..2_usize, 0..4_usize).prop_map(|(to, which)| Step::Repeat { to, which }),
        1 => (0..2_usize, 0..4_usize).prop_map(|(to, which)| Step::Drop { to, which }),
        1 => (0..2_usize).prop_map(|at| Step::Read { at }),
        2 => (1..400_000_u64).prop_map(|micros| Step::Wait { micros }),
        4 => (1..4_usize).prop_map(|trips| Step::Exchange { trips }),
    ]
}

fn configs() -> impl Strategy<Value = AssociationConfig> {
    let profiles = [
        Profile::Signalling,
        Profile::Rfc9260,
        Profile::Linux2615,
        Profile::WebRtc,
        Profile::SignallingRedundant,
    ];
    let algorithms = [
        CongestionAlgorithm::Cubic,
        CongestionAlgorithm::Rfc9260,
        CongestionAlgorithm::Westwood,
        CongestionAlgorithm::Bbr,
    ];
    let chosen =
        (prop::sample::select(profiles.to_vec()), prop::sample::select(algorithms.to_vec()), 0..3_u8);
    chosen.prop_map(|(profile, algorithm, variant)| {
        let mut config = AssociationConfig::profile(profile);
        config.congestion.algorithm = algorithm;
        match variant {
            0 => config.buffers.receive_bytes = 20_000,
            1 => config.buffers.send_bytes = 10_000,
            _ => {}
        }
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn what_is_expected_comes_to_the_same_by_the_short_way_and_by_the_long_one(
        config in configs(),
        steps in prop::collection::vec(steps(), 1..80),
    ) {
        let mut pairs = Pairs::new(&config);
        for step in &steps {
            pairs.take_step(step);
        }
        pairs.exchange(3);
    }
}

#[test]
fn sacks_of_an_exchange_without_losses_are_expected_all_of_them() {
    let mut pairs = Pairs::new(&AssociationConfig::default());
    for _ in 0..20 {
        for from in [0, 1] {
            pairs.take_step(&Step::Send { from, len: 64, stream: 1, reliability: Reliability::Reliable });
        }
        pairs.exchange(1);
    }
    pairs.exchange(2);
    assert!(pairs.short.iter().all(|end| !end.outbound.sender.has_any_outstanding()));
    assert!(pairs.expected() >= 20, "{}", pairs.expected());
    assert_eq!(pairs.long.iter().map(|end| end.outbound.ways.expected).sum::<u32>(), 0);
}
