//! Two connections and a pipe of 10 ms each way, in virtual time: what RFC 9293, 6298 and 6675 promise.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use tcp_core::{
    Acknowledge, CongestionAlgorithm, Connection, Event, LossDetection, Nagle, Profile, Reduction, Segment,
    SegmentRules, State, TcpConfig, TimerRules, Timestamps, WindowRules, WindowUnit, WindowValidation,
};
use virtual_time::Instant;

const DELAY: Duration = Duration::from_millis(10);
const MSS: usize = 1000;

/// Client and server, what is on its way, and which packets are dropped.
struct Pair {
    now: Instant,
    config: TcpConfig,
    ends: [Option<Connection>; 2],
    on_the_way: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: [u64; 2],
    total: u64,
    drop: [BTreeSet<u64>; 2],
    /// Time in milliseconds and payload of what the client sent.
    log: Vec<(u64, usize)>,
    received: Vec<u8>,
    events: [Vec<Event>; 2],
    is_reading: bool,
}

impl Pair {
    fn new(config: TcpConfig) -> Self {
        Self {
            now: Instant::from_millis(0),
            config,
            ends: [Some(Connection::connect(config, 5001, 80, u32::MAX - 5000)), None],
            on_the_way: BTreeMap::new(),
            sent: [0; 2],
            total: 0,
            drop: [BTreeSet::new(), BTreeSet::new()],
            log: Vec::new(),
            received: Vec::new(),
            events: [Vec::new(), Vec::new()],
            is_reading: true,
        }
    }

    fn connected(config: TcpConfig) -> Self {
        let mut pair = Self::new(config);
        pair.run_ms(100);
        assert_eq!(pair.ends.each_ref().map(|end| end.as_ref().unwrap().state()), [State::Established; 2]);
        pair.log.clear();
        pair
    }

    fn client(&mut self) -> &mut Connection {
        self.ends[0].as_mut().unwrap()
    }

    fn server(&mut self) -> &mut Connection {
        self.ends[1].as_mut().unwrap()
    }

    fn write(&mut self, octets: usize) {
        let data: Vec<u8> = (0..octets).map(|index| index.to_le_bytes()[0]).collect();
        assert_eq!(self.client().write(&data), octets);
    }

    /// Drops these of the next packets of an end, counted from 1.
    fn drop_next(&mut self, end: usize, packets: &[u64]) {
        let sent = self.sent[end];
        self.drop[end] = packets.iter().map(|packet| sent + packet).collect();
    }

    fn run_ms(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        loop {
            self.drain();
            let packet = self.on_the_way.keys().next().map(|key| key.0);
            let timer = self.ends.iter().flatten().filter_map(Connection::poll_timeout).min();
            let Some(next) = packet.into_iter().chain(timer).min().filter(|next| *next <= until) else {
                break;
            };
            self.now = next;
            if packet == Some(next) {
                let (_, (to, octets)) = self.on_the_way.pop_first().unwrap();
                self.deliver(to, &octets);
            } else {
                self.ends.iter_mut().flatten().for_each(|end| end.handle_timeout(next));
            }
        }
        self.now = until;
    }

    fn deliver(&mut self, to: usize, octets: &[u8]) {
        match &mut self.ends[to] {
            Some(end) => end.handle_packet(self.now, octets),
            None => self.ends[to] = Connection::accept(self.config, &Segment::decode(octets).unwrap(), 77),
        }
    }

    fn drain(&mut self) {
        for from in 0..2 {
            let Some(end) = &mut self.ends[from] else { continue };
            if from == 1 && self.is_reading {
                end.read(&mut self.received);
            }
            let mut octets = Vec::new();
            while end.poll_transmit(self.now, &mut octets).is_some() {
                self.sent[from] += 1;
                self.total += 1;
                if from == 0 {
                    let payload = Segment::decode(&octets).unwrap().payload.len();
                    self.log.push((self.now.as_nanos() / 1_000_000, payload));
                }
                if !self.drop[from].contains(&self.sent[from]) {
                    self.on_the_way.insert((self.now + DELAY, self.total), (1 - from, octets.clone()));
                }
                octets.clear();
            }
            self.events[from].extend(core::iter::from_fn(|| end.poll_event()));
        }
    }

    fn assert_received(&self, octets: usize) {
        assert_eq!(self.received.len(), octets);
        assert!(self.received.iter().enumerate().all(|(index, octet)| *octet == index.to_le_bytes()[0]));
    }
}

fn config() -> TcpConfig {
    let linux = TcpConfig::default();
    TcpConfig {
        mss: 1000,
        congestion: CongestionAlgorithm::NewReno,
        detection: LossDetection::Reports(3),
        window: WindowRules {
            unit: WindowUnit::Octets,
            reduction: Reduction::OfFlight,
            validation: WindowValidation::Restart,
            ..linux.window
        },
        timers: TimerRules { tick: Duration::ZERO, ..linux.timers },
        segments: SegmentRules {
            timestamps: Timestamps::Off,
            acknowledge: Acknowledge::EverySecondSegment,
            ..linux.segments
        },
        ..linux
    }
}

#[test]
fn connection_opens_carries_data_and_closes_from_both_sides() {
    let mut pair = Pair::new(config());
    pair.write(25_000);
    pair.client().close();
    pair.run_ms(200);
    pair.assert_received(25_000);
    assert!(pair.events[1].contains(&Event::PeerFinished));
    assert_eq!(pair.server().state(), State::CloseWait);
    pair.server().close();
    pair.run_ms(100);
    assert_eq!((pair.client().state(), pair.server().state()), (State::TimeWait, State::Closed));
    pair.run_ms(60_000);
    assert_eq!(pair.events[0].last(), Some(&Event::Closed));
    assert_eq!(pair.client().statistics().sender.retransmissions, 0);
}

/// RFC 6298 §2.1, §5.5; RFC 6928: ten segments at first.
#[test]
fn lost_syn_is_sent_again_after_a_second_and_ten_segments_follow() {
    let mut pair = Pair::new(config());
    pair.drop_next(0, &[1]);
    pair.write(30_000);
    pair.run_ms(1030);
    let at = |log: &[(u64, usize)], millis| log.iter().filter(|(at, len)| *at == millis && *len > 0).count();
    assert_eq!(pair.log[..2], [(0, 0), (1000, 0)]);
    // The window of a connection whose SYN was lost is one segment (RFC 5681 §3.1).
    assert_eq!(at(&pair.log, 1020), 1);

    let mut pair = Pair::new(config());
    pair.write(30_000);
    pair.run_ms(30);
    assert_eq!(at(&pair.log, 20), 10);
}

/// RFC 6675 §5: one round trip after the third SACK, in one recovery, without a timeout.
#[test]
fn several_losses_of_one_window_are_repaired_in_one_recovery() {
    let mut pair = Pair::connected(config());
    pair.drop_next(0, &[1, 3, 4, 8]);
    pair.write(40 * MSS);
    pair.run_ms(300);
    pair.assert_received(40 * MSS);
    let sender = pair.client().statistics().sender;
    assert_eq!((sender.retransmissions, sender.recoveries, sender.timeouts), (4, 1, 0));
}

/// RFC 6675 has no way to find that: the timer does, which only an acknowledgment of new data would have set anew
/// (RFC 6298 §5.3).
#[test]
fn lost_retransmission_waits_for_the_timer() {
    let mut pair = Pair::connected(config());
    pair.drop_next(0, &[1, 11]);
    let begun = 100;
    pair.write(10 * MSS);
    pair.run_ms(1000);
    pair.assert_received(10 * MSS);
    let sender = pair.client().statistics().sender;
    assert_eq!((sender.retransmissions, sender.timeouts), (2, 1));
    assert_eq!(pair.log.last().unwrap().0, begun + 220);
}

/// Data goes on flowing behind the lost retransmission, and its reports find it lost a second time.
#[test]
fn lost_retransmission_is_found_by_later_reports_where_they_may_repeat() {
    for (detection, timeouts) in [(LossDetection::Reports(3), 1), (LossDetection::RepeatedReports(3), 0)] {
        let mut pair = Pair::connected(TcpConfig { detection, ..config() });
        pair.drop_next(0, &[1, 6]);
        for _ in 0..10 {
            pair.write(64);
            pair.run_ms(10);
        }
        pair.run_ms(1000);
        let sender = pair.client().statistics().sender;
        assert_eq!(pair.received.len(), 640);
        assert_eq!((sender.timeouts, sender.recoveries >= 1), (timeouts, true), "{detection:?}");
    }
}

#[test]
fn lost_tail_is_repaired_by_the_timer_and_the_window_is_one_segment() {
    let mut pair = Pair::connected(config());
    pair.drop_next(0, &[1]);
    pair.write(500);
    pair.run_ms(230);
    assert_eq!(pair.client().statistics().cwnd_bytes, 1000);
    pair.run_ms(100);
    pair.assert_received(500);
    assert_eq!(pair.log, [(100, 500), (320, 500),]);
}

/// RFC 9293 §3.8.6.1, §3.8.6.3.
#[test]
fn lone_segment_is_acknowledged_after_the_delay_and_a_closed_window_is_probed() {
    let small = TcpConfig { receive_bytes: 5000, ..config() };
    let mut pair = Pair::connected(small);
    pair.is_reading = false;
    pair.write(100);
    pair.run_ms(59);
    assert_eq!(pair.client().buffered_bytes(), 100);
    pair.run_ms(1);
    assert_eq!(pair.client().buffered_bytes(), 0);
    pair.write(9900);
    pair.run_ms(5000);
    assert_eq!(pair.client().buffered_bytes(), 5000);
    assert!(pair.log.last().unwrap().0 > 1000 && pair.log.last().unwrap().1 == 1, "{:?}", pair.log.last());
    pair.is_reading = true;
    pair.run_ms(10_000);
    assert_eq!(pair.received.len(), 10_000);
}

/// RFC 9293 §3.7.4.
#[test]
fn nagle_holds_small_segments_back_while_data_is_in_flight() {
    for (nagle, expected) in [(Nagle::Off, vec![100; 5]), (Nagle::On, vec![100, 400])] {
        let mut pair = Pair::connected(TcpConfig { nagle, ..config() });
        for _ in 0..5 {
            pair.write(100);
            pair.run_ms(1);
        }
        pair.run_ms(500);
        let sizes: Vec<usize> = pair.log.iter().map(|(_, len)| *len).filter(|len| *len > 0).collect();
        assert_eq!(sizes, expected);
    }
}

#[test]
fn peer_that_never_answers_is_given_up() {
    let mut pair = Pair::connected(TcpConfig { timeouts: 4, ..config() });
    pair.drop = [(0..1000).collect(), BTreeSet::new()];
    pair.write(100);
    pair.run_ms(60_000);
    assert_eq!(pair.events[0].last(), Some(&Event::TimedOut));
    assert_eq!(pair.client().poll_timeout(), None);
}

/// Whatever is lost: everything arrives, once, in order, and both sides end.
#[test]
fn any_pattern_of_losses_is_survived() {
    for seed in 1..120_u64 {
        let profile = Profile::ALL[usize::try_from(seed).unwrap() % Profile::ALL.len()];
        let mut pair = Pair::new(if seed % 6 == 0 { config() } else { TcpConfig::profile(profile) });
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for packets in &mut pair.drop {
            *packets = (1..400)
                .filter(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) % 100 < 3 * (seed % 8)
                })
                .collect();
        }
        pair.write(100_000);
        pair.client().close();
        pair.run_ms(4_000_000);
        pair.assert_received(100_000);
        pair.server().close();
        pair.run_ms(4_000_000);
        let states = pair.ends.each_ref().map(|end| end.as_ref().unwrap().state());
        assert_eq!(states, [State::Closed; 2], "seed {seed}");
    }
}

/// Sixty-four octets a time never add up to the octets of RFC 6675 §4; three later segments do.
#[test]
fn a_lost_small_segment_is_found_by_three_later_ones() {
    let mut pair = Pair::connected(TcpConfig { nagle: Nagle::Off, ..TcpConfig::default() });
    pair.drop_next(0, &[1]);
    for _ in 0..6 {
        pair.write(64);
        pair.run_ms(5);
    }
    pair.run_ms(40);
    let sender = pair.client().statistics().sender;
    assert_eq!((sender.recoveries, sender.timeouts), (1, 0));
    assert_eq!(pair.received.len(), 6 * 64);
}
