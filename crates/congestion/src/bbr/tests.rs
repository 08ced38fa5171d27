//! Laws of the control over a path that exists in this file alone: one bottleneck, one queue, losses by chance.

use std::collections::VecDeque;

use super::*;

const SEGMENT: u64 = 1250;

/// A bottleneck.
#[derive(Clone, Copy)]
struct Link {
    /// Octets per second.
    rate: u64,
    rtt: Duration,
    /// Octets that wait at most.
    queue: u64,
    /// Packets lost by chance, of a million.
    lost: u64,
}

/// A packet that will be heard of.
struct Flying {
    at: Instant,
    sent_at: Instant,
    is_lost: bool,
}

/// What became of the packets.
#[derive(Default)]
struct Count {
    delivered: u64,
    lost: u64,
    dropped: u64,
    /// The least in flight, sampled when something is acknowledged after the first second.
    least_flight: u64,
}

struct Run {
    link: Link,
    bbr: Bbr,
    now: Instant,
    busy_until: Instant,
    next_at: Instant,
    flying: VecDeque<Flying>,
    flight: u64,
    chance: u64,
    count: Count,
}

impl Run {
    fn new(link: Link) -> Self {
        let start = Instant::from_millis(1000);
        Self {
            link,
            bbr: Bbr::new(SEGMENT, 10 * SEGMENT, 1),
            now: start,
            busy_until: start,
            next_at: start,
            flying: VecDeque::new(),
            flight: 0,
            chance: 1,
            count: Count { least_flight: u64::MAX, ..Count::default() },
        }
    }

    /// Sends as fast as the control lets it, for so many milliseconds.
    fn run(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while self.now < end {
            let may_send = self.flight + SEGMENT <= self.bbr.cwnd();
            let heard = self.flying.front().map(|packet| packet.at);
            match heard {
                Some(at) if !may_send || at <= self.next_at => self.hear(),
                _ => self.send(),
            }
        }
    }

    fn send(&mut self) {
        self.now = self.now.max(self.next_at);
        self.bbr.on_sent(&Sent { now: self.now, bytes: SEGMENT, flight: self.flight });
        self.flight += SEGMENT;
        if let Some(rate) = self.bbr.pacing_rate() {
            self.next_at = self.now + span(SEGMENT, rate);
        }
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_unlucky = (self.chance >> 33) % 1_000_000 < self.link.lost;
        let waiting = octets(self.link.rate, self.busy_until.since(self.now));
        let is_dropped = waiting > self.link.queue;
        if !is_dropped {
            self.busy_until = self.busy_until.max(self.now) + span(SEGMENT, self.link.rate);
        }
        self.count.dropped += u64::from(is_dropped);
        let at = self.busy_until.max(self.now) + self.link.rtt;
        self.flying.push_back(Flying { at, sent_at: self.now, is_lost: is_dropped || is_unlucky });
    }

    fn hear(&mut self) {
        let Flying { at, sent_at, is_lost } = self.flying.pop_front().unwrap();
        self.now = self.now.max(at);
        let was_full = self.flight + SEGMENT > self.bbr.cwnd();
        self.flight -= SEGMENT;
        if is_lost {
            self.count.lost += 1;
            self.bbr.on_lost(&Lost { now: self.now, bytes: SEGMENT, sent_at });
            return;
        }
        self.count.delivered += 1;
        if self.now > Instant::from_millis(2000) {
            self.count.least_flight = self.count.least_flight.min(self.flight);
        }
        self.bbr.on_acknowledged(&Acknowledgment {
            sent_at,
            rtt: Some(self.now.since(sent_at)),
            is_window_used: was_full,
            ..Acknowledgment::new(self.now, SEGMENT, self.flight)
        });
    }

    /// The share of the link that was used, in hundredths, of so many milliseconds.
    fn used(&mut self, millis: u64) -> u64 {
        let before = self.count.delivered;
        self.run(millis);
        (self.count.delivered - before) * SEGMENT * 100_000 / millis / self.link.rate
    }
}

fn span(bytes: u64, rate: u64) -> Duration {
    Duration::from_nanos(bytes * 1_000_000_000 / rate)
}

fn link(mbits: u64, rtt_ms: u64, bdps_tenths: u64, lost: u64) -> Link {
    let rate = mbits * 125_000;
    let rtt = Duration::from_millis(rtt_ms);
    Link { rate, rtt, queue: octets(rate, rtt) * bdps_tenths / 10, lost }
}

#[test]
fn path_is_filled_within_a_second_or_two_whatever_its_rate_and_round_trip() {
    for (mbits, rtt_ms) in [(1, 40), (10, 20), (100, 20), (100, 100), (1000, 10)] {
        let mut run = Run::new(link(mbits, rtt_ms, 20, 0));
        run.run(2000);
        let used = run.used(10_000);
        assert!(used >= 92, "{mbits} Mbit/s, {rtt_ms} ms: {used} %");
        let bandwidth = run.bbr.bandwidth() * 100 / run.link.rate;
        assert!((95..=105).contains(&bandwidth), "{mbits} Mbit/s, {rtt_ms} ms: {bandwidth} % of the rate");
        let without_queue = run.link.rtt + span(SEGMENT, run.link.rate);
        assert_eq!(run.bbr.round_trip.shortest().unwrap().as_millis(), without_queue.as_millis());
    }
}

#[test]
fn losses_by_chance_cost_little_where_the_path_holds_many_packets() {
    for (rtt_ms, lost, bar) in [(100, 1_000, 90), (100, 10_000, 75), (20, 1_000, 85)] {
        let mut run = Run::new(link(100, rtt_ms, 10, lost));
        run.run(2000);
        let used = run.used(20_000);
        assert!(used >= bar, "{rtt_ms} ms, {lost} of a million: {used} %");
    }
}

#[test]
fn queues_lose_less_than_two_hundredths_once_the_path_is_known() {
    for tenths in [5, 10, 40] {
        let mut run = Run::new(link(100, 20, tenths, 0));
        run.run(2000);
        let before = run.count.dropped;
        let used = run.used(20_000);
        let sent = used * run.link.rate / 100 * 20 / SEGMENT;
        let dropped = run.count.dropped - before;
        assert!(dropped * 50 < sent, "{dropped} of {sent} with {tenths} tenths");
        assert!(used >= 85, "{used} % with {tenths} tenths");
    }
}

#[test]
fn shortest_round_trip_is_measured_with_half_of_the_path_in_flight() {
    let mut run = Run::new(link(10, 40, 20, 0));
    run.run(4000);
    run.count.least_flight = u64::MAX;
    run.run(10_000);
    let half = octets(run.link.rate, run.link.rtt) / 2;
    assert!(run.count.least_flight <= half + SEGMENT, "{} of {half}", run.count.least_flight);
    assert!(run.bbr.cwnd() > 2 * half, "{}", run.bbr.cwnd());
}

#[test]
fn path_that_becomes_faster_or_slower_is_measured_anew() {
    let mut run = Run::new(link(10, 20, 20, 0));
    run.run(5000);
    run.link.rate *= 4;
    run.run(10_000);
    assert!(run.used(4000) >= 90);
    run.link.rate /= 8;
    run.run(10_000);
    let bandwidth = run.bbr.bandwidth() * 100 / run.link.rate;
    assert!((95..=110).contains(&bandwidth), "{bandwidth} %");
}

#[test]
fn sender_with_little_to_send_lowers_nothing() {
    let mut run = Run::new(link(10, 20, 20, 0));
    run.run(5000);
    let known = run.bbr.bandwidth();
    let mut now = run.now + Duration::from_secs(1);
    for _ in 0..1000 {
        run.bbr.on_sent(&Sent { now, bytes: 100, flight: 0 });
        let heard = now + run.link.rtt;
        let (sent_at, rtt) = (now, Some(run.link.rtt));
        let acked = Acknowledgment { sent_at, rtt, is_limited: true, ..Acknowledgment::new(heard, 100, 0) };
        run.bbr.on_acknowledged(&acked);
        now = heard + Duration::from_millis(30);
    }
    assert!(run.bbr.bandwidth() * 10 >= known * 9, "{} of {known}", run.bbr.bandwidth());
    assert!(run.bbr.cwnd() >= 25_000, "{}", run.bbr.cwnd());
}

/// A packet may leave while less than the window is in flight, which it then exceeds by its own part (RFC 9260 §6.1 (B)).
#[test]
fn packets_beyond_the_window_do_not_raise_the_bound() {
    let mut run = Run::new(link(10, 20, 20, 0));
    run.run(3000);
    run.bbr.bounds.high = run.bbr.cwnd();
    let (high, now) = (run.bbr.bounds.high, run.now);
    run.bbr.on_sent(&Sent { now, bytes: SEGMENT, flight: high - 1 });
    let heard = now + run.link.rtt;
    run.bbr
        .on_acknowledged(&Acknowledgment { sent_at: now, ..Acknowledgment::new(heard, SEGMENT, high - 1) });
    assert_eq!(run.bbr.bounds.high, high);
}

#[test]
fn losses_of_a_probing_bound_what_leaves_next() {
    let mut run = Run::new(link(10, 20, 5, 0));
    while run.bbr.phase != phases::Phase::Up {
        run.run(1);
    }
    let before = run.bbr.pacing_rate().unwrap();
    let flight = run.bbr.cwnd() - SEGMENT;
    run.bbr.on_sent(&Sent { now: run.now, bytes: SEGMENT, flight });
    run.bbr.on_lost(&Lost { now: run.now, bytes: 4 * SEGMENT, sent_at: run.now });
    assert_eq!(run.bbr.phase, phases::Phase::Down);
    assert!(run.bbr.cwnd() <= run.bbr.bounds.high && run.bbr.pacing_rate().unwrap() < before);
}

#[test]
fn timeout_leaves_one_segment_and_one_that_was_none_is_taken_back() {
    let mut run = Run::new(link(10, 20, 20, 0));
    run.run(3000);
    let window = run.bbr.cwnd();
    run.bbr.on_timeout();
    assert_eq!(run.bbr.cwnd(), SEGMENT);
    let mut spurious = run.bbr.clone();
    spurious.on_spurious();
    assert_eq!(spurious.cwnd(), window);
    run.hear();
    assert_eq!(run.bbr.cwnd(), 4 * SEGMENT);
}

/// Random events in any order and of any size leave a window of a segment at least, and a rate once there is one.
#[test]
fn no_order_of_events_breaks_the_control() {
    let mut random = random::Random::new(7);
    for case in 0..200 {
        let mut bbr = Bbr::new(SEGMENT, 10 * SEGMENT, case);
        let (mut now, mut flight, mut is_paced) = (Instant::from_millis(case), 0_u64, false);
        for _ in 0..2000 {
            let mut draw = |bound| random.below(now, bound);
            let wide = 1 << draw(63);
            let (kind, bytes, past) = (draw(100), 1 + draw(wide), Duration::from_micros(draw(500_000)));
            match kind {
                0..45 => {
                    bbr.on_sent(&Sent { now, bytes, flight });
                    flight = flight.saturating_add(bytes);
                }
                45..90 => {
                    flight = flight.saturating_sub(bytes);
                    bbr.on_acknowledged(&Acknowledgment {
                        sent_at: now - past,
                        rtt: (kind % 3 == 0).then_some(past),
                        is_window_used: kind % 2 == 0,
                        is_limited: kind % 5 == 0,
                        is_recovering: kind % 7 == 0,
                        ..Acknowledgment::new(now, bytes, flight)
                    });
                }
                90..97 => bbr.on_lost(&Lost { now, bytes, sent_at: now - past }),
                97 => bbr.on_timeout(),
                98 => bbr.on_spurious(),
                _ => bbr.set_window(bytes),
            }
            is_paced |= bbr.pacing_rate().is_some();
            assert!(bbr.cwnd() >= SEGMENT && is_paced == bbr.pacing_rate().is_some());
            now += past / 10;
        }
    }
}

#[test]
fn equal_events_give_equal_answers() {
    let answers = || {
        let mut run = Run::new(link(10, 20, 5, 2_000));
        run.run(8000);
        (run.bbr.cwnd(), run.bbr.pacing_rate(), run.count.delivered, run.count.lost)
    };
    assert_eq!(answers(), answers());
}
