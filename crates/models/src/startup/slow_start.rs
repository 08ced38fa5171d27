//! Slow start, packet by packet. Owns the congestion window and what is in flight; knows nothing of
//! penalties.

use core::time::Duration;
use std::collections::VecDeque;

use super::{CHUNK_HEADER_BYTES, MessageTransfer, Startup, WindowRule};

/// A sender in slow start, advanced message by message.
pub(super) struct SlowStart {
    startup: Startup,
    /// User data of a full packet.
    fragment_bytes: u32,
    cwnd_bytes: u64,
    flight_bytes: u64,
    /// Packets not yet acknowledged, in the order their acknowledgments come.
    in_flight: VecDeque<InFlight>,
    next_number: u32,
    /// The release of the packet sent last: the next one cannot leave earlier.
    last_release: Release,
    /// Octets of chunks that the packet sent last has room for.
    room_bytes: u32,
}

/// A packet on its way, and the chain of acknowledgments that released it.
#[derive(Clone, Copy)]
struct InFlight {
    acknowledged_at: Duration,
    /// The octets of the packet that count against the window.
    bytes: u32,
    release: Release,
}

/// The reason why a packet could leave when it did: `rounds` round trips after the message that arrived at
/// `root`.
#[derive(Clone, Copy)]
struct Release {
    rounds: u32,
    root: Duration,
}

impl SlowStart {
    pub(super) fn new(startup: &Startup, fragment_bytes: u32) -> Self {
        Self {
            startup: *startup,
            fragment_bytes,
            cwnd_bytes: u64::from(startup.initial_window_bytes.get()),
            flight_bytes: 0,
            in_flight: VecDeque::new(),
            next_number: 1,
            last_release: Release { rounds: 0, root: Duration::ZERO },
            room_bytes: 0,
        }
    }

    /// Sends the next message, waiting for acknowledgments as long as the window demands.
    ///
    /// Messages leave in order: if the one before had to wait beyond this one's arrival, its release is where
    /// this one starts from.
    pub(super) fn next_message(&mut self) -> MessageTransfer {
        let number = self.next_number;
        self.next_number += 1;
        let arrival = self.startup.interval.saturating_mul(number - 1);
        let mut release = if self.departure(self.last_release) > arrival {
            self.last_release
        } else {
            Release { rounds: 0, root: arrival }
        };
        let mut left = self.startup.message_bytes.get();
        while left > 0 {
            if let Some(bundled) = self.bundle(left, arrival) {
                left -= bundled;
                continue;
            }
            let fragment = left.min(self.fragment_bytes);
            release = self.wait_for_window(self.counted(fragment), release);
            self.send(fragment, release);
            left -= fragment;
        }
        self.last_release = release;
        let waiting = self.departure(release).saturating_sub(arrival);
        MessageTransfer {
            number,
            arrival,
            rounds: release.rounds,
            offset: release.root,
            waiting,
            transfer: self.startup.rtt / 2 + waiting,
        }
    }

    /// Returns the user data that goes with the packet sent last: a message that waits travels with those
    /// before it if there is room, a long one in part (RFC 9260 §6.9, §6.10). The study's messages are sent one
    /// by one.
    fn bundle(&mut self, left: u32, arrival: Duration) -> Option<u32> {
        let waits = arrival <= self.departure(self.last_release) && self.last_release.rounds > 0;
        if self.startup.window_rule == WindowRule::WithinWindow || !waits {
            return None;
        }
        let room = self.room_bytes.checked_sub(CHUNK_HEADER_BYTES)?;
        let is_worth_cutting = left > self.fragment_bytes && room >= LEAST_FRAGMENT_BYTES;
        let fragment =
            if is_worth_cutting { room - room % 4 } else { Some(left).filter(|left| *left <= room)? };
        let bytes = self.counted(fragment);
        let packet = self.in_flight.back_mut()?;
        packet.bytes += bytes;
        self.flight_bytes += u64::from(bytes);
        self.room_bytes = self.room_bytes.saturating_sub(bytes);
        Some(fragment)
    }

    /// Returns the octets of the window that a fragment takes: its user data in the study, the whole chunk in
    /// RFC 9260, whose windows count in PMDCS (§1.3).
    fn counted(&self, fragment: u32) -> u32 {
        match self.startup.window_rule {
            WindowRule::WithinWindow => fragment,
            WindowRule::Overbooking => (CHUNK_HEADER_BYTES + fragment).next_multiple_of(4),
        }
    }

    /// Takes acknowledgments until `bytes` may be sent; the last one needed is the release of the packet.
    fn wait_for_window(&mut self, bytes: u32, mut release: Release) -> Release {
        // Whatever was acknowledged before the packet could leave anyway opens the window without a wait. Of
        // events at the same time the sending comes first, so that each acknowledgment finds the window used.
        while let Some(packet) = self.in_flight.front().copied() {
            let is_due = packet.acknowledged_at < self.departure(release);
            if !is_due && self.fits(bytes) {
                break;
            }
            self.in_flight.pop_front();
            self.acknowledge(packet, bytes);
            if !is_due {
                release = Release { rounds: packet.release.rounds + 1, root: packet.release.root };
            }
        }
        release
    }

    /// RFC 9260 §7.2.1: the window grows by what was acknowledged, at most one packet's worth, and only if it
    /// was fully used: the next packet would not have been allowed.
    fn acknowledge(&mut self, packet: InFlight, next_bytes: u32) {
        if !self.fits(next_bytes) {
            self.cwnd_bytes += u64::from(packet.bytes.min(self.startup.mtu_bytes));
        }
        self.flight_bytes -= u64::from(packet.bytes);
    }

    /// Returns whether the window allows a packet; an idle path always does.
    fn fits(&self, bytes: u32) -> bool {
        match self.startup.window_rule {
            WindowRule::WithinWindow => {
                self.flight_bytes == 0 || self.flight_bytes + u64::from(bytes) <= self.cwnd_bytes
            }
            WindowRule::Overbooking => self.flight_bytes < self.cwnd_bytes,
        }
    }

    fn send(&mut self, fragment: u32, release: Release) {
        let bytes = self.counted(fragment);
        self.room_bytes = self.counted(self.fragment_bytes) - bytes;
        self.last_release = release;
        self.flight_bytes += u64::from(bytes);
        let acknowledged_at = self.departure(release) + self.startup.rtt;
        self.in_flight.push_back(InFlight { acknowledged_at, bytes, release });
    }

    /// Returns `p_n·RTT + Δ_n`, the time at which a packet leaves.
    fn departure(&self, release: Release) -> Duration {
        release.root + self.startup.rtt.saturating_mul(release.rounds)
    }
}

/// A sender does not begin a long message at the end of a packet with less user data: the chunk header is not worth it.
/// What ours does; RFC 9260 leaves it open.
const LEAST_FRAGMENT_BYTES: u32 = 64;
