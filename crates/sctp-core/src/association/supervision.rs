//! The supervision of the paths and the peer by HEARTBEATs and error counters (RFC 9260 §5.4, §8.1 to §8.3; RFC
//! 7829).

use core::time::Duration;

use sctp_wire::{ChunkBuf, HeartbeatInfo};
use virtual_time::Instant;

use super::{Association, AssociationState as S, Timer};
use crate::error::AssociationError;
use crate::event::{Event, Origin, PathState};
use crate::path::{Answer, Heartbeat, Unanswered, VerificationSlot};
use crate::trace;
use crate::transmit::{Encapsulation, PathId};

/// The act that the heartbeat timer of a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// No HEARTBEATs on this path.
    Never,
    /// Later: the path is in use, or the time has not come.
    At(Instant),
    /// A HEARTBEAT is due when this time and a period of HB.interval have passed.
    PeriodAfter(Instant),
    Now,
}

impl Association {
    /// RFC 9260 §8.3: echoed unchanged, while data may flow.
    pub(super) fn on_heartbeat(&mut self, path: PathId, info: HeartbeatInfo<'_>) {
        if matches!(self.state.name(), S::CookieWait | S::ShutdownAckSent | S::Closed) {
            return;
        }
        self.push_heartbeat(path, ChunkBuf::heartbeat_ack(info.0));
    }

    pub(super) fn on_heartbeat_ack(&mut self, now: Instant, info: HeartbeatInfo<'_>) {
        let sent = Heartbeat::parse(info.0).filter(|(path, _)| self.paths.contains(*path));
        if sent.is_some_and(|(path, nonce)| self.on_mtu_ack(now, path, nonce)) {
            return;
        }
        let answer = sent.and_then(|(path, nonce)| {
            self.paths.path_mut(path).heartbeat.on_ack(now, nonce).map(|rtt| (path, rtt))
        });
        let Some((path, rtt)) = answer else {
            self.counters.note().discarded.unexpected_heartbeat_acks += 1;
            return;
        };
        self.paths.on_measurement(path, now, rtt);
        self.answered(now, path, Answer::Verified);
        self.schedule_heartbeat(now, path);
    }

    /// The peer answered on a path: error counters are cleared (RFC 9260 §8.1, §8.2).
    pub(super) fn answered(&mut self, now: Instant, path: PathId, answer: Answer) {
        self.outgoing.errors = 0;
        let was = self.paths.path(path).state;
        if let Some(state) = self.paths.on_answer(path, answer) {
            self.tell_path_state(path, was, state);
            if state == PathState::Active {
                self.begin_mtu_search(now, path);
            }
            // What was asked before the path came back is answered by that.
            let _asked = self.paths.path_mut(path).heartbeat.expire();
            self.schedule_heartbeat(now, path);
        }
    }

    /// RFC 7829 §3.2, point 12: as far as the user wants to know.
    fn tell_path_state(&mut self, path: PathId, was: PathState, is: PathState) {
        let exposure = self.config.paths.potentially_failed_state;
        let (was, state) = (was.shown(exposure), is.shown(exposure));
        if was != state {
            self.events.push(Event::PeerAddressChange { path, state });
        }
    }

    /// Counts an error on path and association. False if that was one too many and the association is over.
    pub(super) fn unanswered(&mut self, now: Instant, path: PathId, what: Unanswered) -> bool {
        // RFC 9260 §8.1, §5.4: HEARTBEATs on paths that carry no data say nothing about the peer.
        let may_carry_data = self.paths.path(path).is_confirmed() || !self.paths.has_confirmed();
        let is_in_use = path == self.paths.for_data() && may_carry_data;
        let was = self.paths.path(path).state;
        if let Some(state) = self.paths.on_unanswered(path, what) {
            self.tell_path_state(path, was, state);
            // RFC 7829 §3.2, point 6.
            if state == PathState::PotentiallyFailed && !self.paths.path(path).heartbeat.is_outstanding() {
                self.timers.set(Timer::Heartbeat(path), now);
            }
        }
        if what == Unanswered::Heartbeat && !is_in_use {
            return true;
        }
        self.outgoing.errors += 1;
        let errors = self.outgoing.errors;
        if errors <= self.errors_allowed(what) {
            return true;
        }
        self.abort_quietly(AssociationError::PeerUnreachable { errors });
        false
    }

    /// Returns the number of consecutive errors that do not make the peer unreachable (RFC 9260 §8.1).
    fn errors_allowed(&self, what: Unanswered) -> u32 {
        let attempts = self.config.attempts;
        let is_untried = what == Unanswered::Heartbeat && self.is_untried();
        if is_untried { attempts.untried.min(attempts.association) } else { attempts.association }
    }

    /// Returns whether the peer has opened the association, nothing has come from it since COOKIE ECHO, and
    /// nothing is on its way to it: it may never have meant to use it.
    fn is_untried(&self) -> bool {
        let may_be = self.peer.origin == Origin::Accepted && self.counters.packets_received <= 1;
        may_be && self.config.heartbeat.untried.is_some() && self.sender.is_dry() && !self.has_user_data()
    }

    /// The last HEARTBEAT went unanswered for an RTO, or the time for the next has come.
    pub(super) fn on_heartbeat_timer(&mut self, now: Instant, path: PathId) {
        if !self.may_send_heartbeats() {
            return;
        }
        let mut asked_at = now;
        if let Some(sent_at) = self.paths.path_mut(path).heartbeat.expire() {
            asked_at = sent_at;
            let entry = self.paths.path_mut(path);
            entry.counters.note().heartbeats_unanswered += 1;
            trace::heartbeat_unanswered(path, entry.errors);
            // RFC 7829 §3.2, point 6: where data is on its way, its own timer says the same.
            if !self.is_asked_by_data(path) {
                if !self.unanswered(now, path, Unanswered::Heartbeat) {
                    return;
                }
                self.paths.path_mut(path).back_off();
            }
        }
        match self.heartbeat_due(now, path, asked_at) {
            Due::Never => {}
            Due::At(at) => self.timers.set(Timer::Heartbeat(path), at),
            Due::PeriodAfter(at) => self.schedule_heartbeat(at, path),
            Due::Now => self.send_heartbeat(now, path),
        }
    }

    /// Returns what the heartbeat timer leads to; `asked_at` is when the HEARTBEAT before went out that was not
    /// answered, or now.
    fn heartbeat_due(&mut self, now: Instant, path: PathId, asked_at: Instant) -> Due {
        let interval = self.idle_limit(path);
        let entry = self.paths.path(path);
        // As long as data may go nowhere, there is nothing to fall back to: until the peer counts as unreachable.
        let has_failed = entry.errors > self.config.attempts.path && self.paths.has_confirmed();
        match (entry.state, interval) {
            // RFC 9260 §5.4: once an RTO until it failed.
            (PathState::Unconfirmed, _) if !has_failed => {
                match self.paths.verification_slot(now, path, self.config.heartbeat.max_burst) {
                    VerificationSlot::Now => Due::Now,
                    VerificationSlot::At(at) => Due::At(at),
                }
            }
            (PathState::Removed, _) | (_, None) => Due::Never,
            // RFC 7829 §3.2, points 5 and 6: once an RTO.
            (PathState::PotentiallyFailed, _) if self.is_asked_by_data(path) => {
                Due::At(now + entry.rto.rto())
            }
            (PathState::PotentiallyFailed, _) => Due::Now,
            (PathState::Unconfirmed | PathState::Active | PathState::Inactive, Some(interval)) => {
                if asked_at < now {
                    Due::PeriodAfter(asked_at)
                } else if now.since(entry.last_used) < interval {
                    Due::PeriodAfter(entry.last_used)
                } else {
                    Due::Now
                }
            }
        }
    }

    /// Returns whether a potentially failed path carries data all the same, for want of a better one: T3-rtx
    /// supervises it.
    fn is_asked_by_data(&self, path: PathId) -> bool {
        self.paths.path(path).state == PathState::PotentiallyFailed
            && path == self.paths.for_data()
            && self.sender.has_outstanding(path)
    }

    /// Asks whether the peer is at the address of this path, unless it is asked already: now, or when that is allowed to an
    /// address that is not confirmed.
    pub(super) fn probe_path(&mut self, now: Instant, path: PathId) {
        if !self.may_send_heartbeats() || self.paths.path(path).heartbeat.is_outstanding() {
            return;
        }
        if !self.paths.path(path).is_confirmed() {
            match self.paths.verification_slot(now, path, self.config.heartbeat.max_burst) {
                VerificationSlot::Now => self.send_heartbeat(now, path),
                VerificationSlot::At(at) => self.timers.set(Timer::Heartbeat(path), at),
            }
        } else if self.idle_limit(path).is_some() {
            self.send_heartbeat(now, path);
        }
    }

    pub(super) fn send_heartbeat(&mut self, now: Instant, path: PathId) {
        let nonce = self.nonces.u64();
        let entry = self.paths.path_mut(path);
        let info = entry.heartbeat.send(now, path, nonce);
        entry.counters.note().heartbeats += 1;
        let unanswered_at = now + entry.rto.rto();
        self.push_heartbeat(path, ChunkBuf::heartbeat(&info));
        self.timers.set(Timer::Heartbeat(path), unanswered_at);
    }

    /// The association is up: confirmed paths are asked when they are idle, the others at once (RFC 9260 §5.4, §8.3).
    pub(super) fn begin_supervision(&mut self, now: Instant) {
        for path in self.paths.ids() {
            if self.paths.path(path).is_confirmed() {
                self.schedule_heartbeat(now, path);
            } else if !self.paths.path(path).heartbeat.is_outstanding() {
                self.timers.set(Timer::Heartbeat(path), now);
            }
        }
    }

    /// The next HEARTBEAT: after RTO + HB.interval, give or take half an RTO (RFC 9260 §8.3), but in time for the NATs
    /// on the way.
    pub(super) fn schedule_heartbeat(&mut self, from: Instant, path: PathId) {
        let rto = self.paths.path(path).rto.rto();
        let untried = self.config.heartbeat.untried.filter(|_| self.is_untried());
        let interval = untried.or(self.config.heartbeat.interval);
        let regular = interval.map(|interval| interval + rto / 2 + self.nonces.up_to(rto));
        if let Some(pause) = regular.into_iter().chain(self.nat_keepalive(path)).min() {
            self.timers.set(Timer::Heartbeat(path), from + pause);
        }
    }

    /// Returns how long a path without data is not idle yet; `None`: nobody asks.
    fn idle_limit(&self, path: PathId) -> Option<Duration> {
        if let Some(untried) = self.config.heartbeat.untried.filter(|_| self.is_untried()) {
            return Some(untried);
        }
        self.config.heartbeat.interval.into_iter().chain(self.nat_keepalive(path)).min()
    }

    /// Returns how long the NATs on a path may hear nothing: those that see UDP (RFC 6951 §4).
    fn nat_keepalive(&self, path: PathId) -> Option<Duration> {
        match self.paths.path(path).destination.encapsulation {
            Encapsulation::Udp { .. } => self.config.heartbeat.nat_keepalive,
            // Whoever carries the datagrams of such a channel sees to its NATs (for WebRTC: ICE).
            Encapsulation::Ip | Encapsulation::Datagrams => None,
        }
    }

    /// Returns whether HEARTBEATs may be sent: from ESTABLISHED until SHUTDOWN or SHUTDOWN ACK (RFC 9260 §8.3).
    fn may_send_heartbeats(&self) -> bool {
        matches!(self.state.name(), S::Established | S::ShutdownPending | S::ShutdownReceived)
    }
}
