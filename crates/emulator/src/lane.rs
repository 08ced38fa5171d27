//! One direction of a link in the emulator: the impairments, and what is measured about them.

use std::time::Duration;

use netem::{Delivery, Impairments, InvalidImpairments, Link, Verdict};
use virtual_time::Instant;
use workload::Spread;

use super::classify::{Class, classify};
use super::link::{Direction, EmulatedLink, LinkState};
use super::report::{DelaySummary, DirectionReport, DroppedPacket, LATE_SEND};

/// One direction of a link.
pub(super) struct Lane {
    pub(super) index: u8,
    pub(super) direction: Direction,
    pub(super) state: LinkState,
    link: Link<Vec<u8>>,
    /// The link for ICMP errors, which have the delay alone.
    passing: Link<Vec<u8>>,
    meter: Meter,
    /// The packets that are kept: lost ones, and the first of all.
    kept: Option<[Vec<Vec<u8>>; 2]>,
}

impl Lane {
    pub(super) fn new(
        link: &EmulatedLink,
        direction: Direction,
        keeps_lost: bool,
    ) -> Result<Self, InvalidImpairments> {
        let impairments = link.impairments(direction);
        Ok(Self {
            index: link.index,
            direction,
            state: LinkState::Up,
            link: Link::new(impairments.clone(), link.seed(direction))?,
            passing: Link::new(delay_alone(impairments), 0)?,
            meter: Meter::new(),
            kept: keeps_lost.then(Default::default),
        })
    }

    /// Takes in a packet that was read at `now`; what became of it, unless it is not numbered.
    pub(super) fn offer(&mut self, now: Instant, packet: &[u8]) -> Option<Verdict> {
        match classify(packet) {
            Class::Numbered | Class::Passing if self.state == LinkState::Down => {
                self.meter.lost_while_down += 1;
                self.keep_lost(packet);
                None
            }
            Class::Numbered => {
                self.meter.largest_packet = self.meter.largest_packet.max(packet.len());
                if let Some([_, first]) = self.kept.as_mut().filter(|[_, first]| first.len() < FIRST_PACKETS)
                {
                    first.push(packet.to_vec());
                }
                let verdict = self.link.offer(now, packet.len(), packet.to_vec());
                match verdict {
                    Verdict::Dropped { number, reason } => {
                        self.meter.dropped.push(DroppedPacket { number, reason });
                        self.keep_lost(packet);
                    }
                    Verdict::Queued { .. } => {}
                }
                Some(verdict)
            }
            Class::Passing => {
                self.meter.passed += 1;
                self.passing.offer(now, packet.len(), packet.to_vec());
                None
            }
            Class::Noise => {
                self.meter.swallowed += 1;
                None
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.link.poll_timeout(), self.passing.poll_timeout()];
        due.into_iter().flatten().min()
    }

    /// Returns the next packet to write at `now`, damaged if so decided, and its number if it has one.
    pub(super) fn poll_deliver(&mut self, now: Instant) -> Option<(Delivery<Vec<u8>>, Option<u64>)> {
        while self.state == LinkState::Down {
            let lost = self.link.poll_deliver(now).or_else(|| self.passing.poll_deliver(now))?;
            self.meter.lost_while_down += 1;
            self.keep_lost(&lost.packet);
        }
        let Some(mut delivery) = self.link.poll_deliver(now) else {
            return self.passing.poll_deliver(now).map(|delivery| (delivery, None));
        };
        if let Some(flip) = delivery.flipped_bit {
            self.keep_lost(&delivery.packet);
            flip.apply(&mut delivery.packet);
        }
        let number = delivery.number;
        Some((delivery, Some(number)))
    }

    fn keep_lost(&mut self, packet: &[u8]) {
        if let Some([lost, _]) = &mut self.kept {
            lost.push(packet.to_vec());
        }
    }

    /// A packet has been written at `now`.
    pub(super) fn written(&mut self, now: Instant, delivery: &Delivery<Vec<u8>>) {
        self.meter.written(now.since(delivery.offered_at), now.since(delivery.due));
    }

    /// The receiving device refused a packet.
    pub(super) const fn refused(&mut self) {
        self.meter.refused += 1;
    }

    pub(super) fn set_impairments(&mut self, impairments: &Impairments) -> Result<(), InvalidImpairments> {
        self.link.set_impairments(impairments.clone())?;
        self.passing.set_impairments(delay_alone(impairments))
    }

    /// Returns the counters of the lane; `missed` is what the device knows of packets it lost before.
    pub(super) fn report(&mut self, missed: Option<u32>) -> DirectionReport {
        let [lost_packets, first_packets] = self.kept.take().unwrap_or_default();
        let meter = &self.meter;
        DirectionReport {
            stats: *self.link.stats(),
            dropped: meter.dropped.clone(),
            delay: DelaySummary::of(&meter.delay),
            lateness: DelaySummary::of(&meter.lateness),
            late_sends: meter.late_sends,
            passed: meter.passed,
            swallowed: meter.swallowed,
            lost_while_down: meter.lost_while_down,
            refused: meter.refused,
            missed: missed.map(u64::from),
            largest_packet_bytes: u64::try_from(meter.largest_packet).unwrap_or(u64::MAX),
            lost_packets,
            first_packets,
        }
    }
}

fn delay_alone(impairments: &Impairments) -> Impairments {
    Impairments { delay: impairments.delay, ..Impairments::default() }
}

struct Meter {
    delay: Spread,
    lateness: Spread,
    late_sends: u64,
    dropped: Vec<DroppedPacket>,
    passed: u64,
    swallowed: u64,
    lost_while_down: u64,
    refused: u64,
    largest_packet: usize,
}

impl Meter {
    fn new() -> Self {
        Self {
            delay: Spread::new(),
            lateness: Spread::new(),
            late_sends: 0,
            dropped: Vec::new(),
            passed: 0,
            swallowed: 0,
            lost_while_down: 0,
            refused: 0,
            largest_packet: 0,
        }
    }

    fn written(&mut self, delay: Duration, lateness: Duration) {
        self.delay.record(delay);
        self.lateness.record(lateness);
        self.late_sends += u64::from(lateness > LATE_SEND);
    }
}

/// How many packets of a direction count as its first ones.
const FIRST_PACKETS: usize = 1000;
