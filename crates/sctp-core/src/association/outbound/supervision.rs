//! The supervision of the paths and the peer by HEARTBEATs and error counters (RFC 9260 §5.4, §8.1 to §8.3; RFC
//! 7829), and of the association by its use (RFC 6458 §8.1.8).

use core::time::Duration;

use sctp_wire::{ChunkBuf, ChunkType, HeartbeatInfo};
use virtual_time::Instant;

use super::autoclose::Usage;
use super::{Outbound, Whereabouts};
use crate::association::AssociationState as S;
use crate::association::control::Bundling;
use crate::association::session::Session;
use crate::association::timers::Timer;
use crate::config::Heartbeats;
use crate::error::AssociationError;
use crate::event::{Event, Origin, PathState};
use crate::path::{Answer, Heartbeat, Unanswered, VerificationSlot};
use crate::trace;
use crate::transmit::{Encapsulation, PathId, PathIndex};

/// What the supervision of paths and peer remembers.
#[derive(Debug)]
pub(in crate::association) struct Supervision {
    /// Consecutive transmissions to the peer that went unanswered (RFC 9260 §8.1).
    errors: u32,
    /// The peer has sent user data.
    has_heard_data: bool,
    pub(in crate::association) usage: Usage,
}

/// The act that the heartbeat timer of a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeartbeatDue {
    /// No HEARTBEATs on this path.
    Never,
    /// Later: the path is in use, or the time has not come.
    At(Instant),
    /// A HEARTBEAT is due when this time and a period of HB.interval have passed.
    PeriodAfter(Instant),
    Now,
}

impl Supervision {
    pub(super) const fn new() -> Self {
        Self { errors: 0, has_heard_data: false, usage: Usage::NONE }
    }

    /// The peer has sent user data.
    #[inline]
    pub(in crate::association) fn on_data_received(&mut self, now: Instant) {
        self.has_heard_data = true;
        self.usage.on_user_data(now);
    }

    /// The peer is there, whatever path it is heard on.
    pub(in crate::association) fn forgive_peer(&mut self) {
        self.errors = 0;
    }
}

impl Outbound {
    /// Takes in a HEARTBEAT ACK that came on a path: the answer to a HEARTBEAT, also to one that asked whether the peer is at
    /// another port, or to a probe of the path MTU.
    pub(in crate::association) fn on_heartbeat_ack(
        &mut self,
        (now, came_on): (Instant, PathIndex),
        ack: HeartbeatInfo<'_>,
        session: &mut Session,
    ) -> Whereabouts {
        let sent = Heartbeat::parse(ack.info).filter(|(path, _)| self.paths.contains(*path));
        if let Some((path, nonce)) = sent
            && let Some(next) = self.on_mtu_ack(path, nonce)
        {
            self.answered(now, path, Answer::Verified, session);
            self.apply_mtu(now, path, next);
            return Whereabouts::Known;
        }
        if let Some((path, nonce)) = sent
            && path == came_on
            && self.on_port_answer(now, path, nonce, session) == Whereabouts::New
        {
            return Whereabouts::New;
        }
        if let Some((path, nonce)) = sent
            && self.on_train_answer(now, path, nonce)
        {
            self.answered(now, path, Answer::Verified, session);
            return Whereabouts::Known;
        }
        let answer = sent.and_then(|(path, nonce)| {
            self.paths.path_mut(path).heartbeat.on_ack(now, nonce).map(|rtt| (path, rtt))
        });
        let Some((path, rtt)) = answer else {
            session.counters.note().discarded.unexpected_heartbeat_acks += 1;
            return Whereabouts::Known;
        };
        self.paths.on_measurement(path, now, rtt);
        self.answered(now, path, Answer::Verified, session);
        self.schedule_heartbeat(now, path, session);
        Whereabouts::Known
    }

    /// Answers a HEARTBEAT: it is echoed unchanged, with what stands behind the information, while data may flow (RFC 9260
    /// §8.3).
    pub(in crate::association) fn answer_heartbeat(
        &mut self,
        path: PathIndex,
        heartbeat: HeartbeatInfo<'_>,
        session: &mut Session,
    ) {
        if matches!(session.state.name(), S::CookieWait | S::ShutdownAckSent | S::Closed) {
            return;
        }
        let echo = ChunkBuf::encode(ChunkType::HEARTBEAT_ACK, 0, |value| value.bytes(heartbeat.value));
        // The way it was asked for: that is the one the peer looks at. It may also go to an unconfirmed one (§5.4).
        let elsewhere = self.paths.way_of_answer(path);
        let bundling = elsewhere.map_or(Bundling::Bundled, Bundling::AloneBy);
        self.queue((path, session.tag_of_peer()), bundling, session, echo);
    }

    /// The peer answered on a path: error counters are cleared (RFC 9260 §8.1, §8.2).
    #[inline]
    pub(in crate::association) fn answered(
        &mut self,
        now: Instant,
        path: PathIndex,
        answer: Answer,
        session: &mut Session,
    ) {
        self.supervision.errors = 0;
        let was = self.paths.path(path).state;
        if let Some(state) = self.paths.on_answer(path, answer) {
            self.on_revived(now, path, (was, state), session);
        }
    }

    /// A path has changed its state because the peer answered on it.
    #[cold]
    fn on_revived(
        &mut self,
        now: Instant,
        path: PathIndex,
        (was, state): (PathState, PathState),
        session: &mut Session,
    ) {
        tell_path_state(self.paths.id(path), was, state, session);
        if state == PathState::Active {
            self.begin_mtu_search(now, path);
            self.measure_before_use(now, path);
            self.rescue_flight(now, path);
        }
        // What was asked before the path came back is answered by that.
        let _asked = self.paths.path_mut(path).heartbeat.expire();
        self.schedule_heartbeat(now, path, session);
    }

    /// The peer has answered on a path that did not work: what went unanswered on others, whose timers have backed off, goes again
    /// there at once.
    fn rescue_flight(&mut self, now: Instant, answered: PathIndex) {
        for path in self.paths.ids() {
            let is_silent = path != answered && self.paths.path(path).errors > 0;
            if is_silent && self.sender.flight(path) > 0 {
                let _was_repeated = self.sender.lose_flight(now, path);
                self.stop_retransmission(path);
            }
        }
    }

    /// Counts an error on path and association.
    ///
    /// # Errors
    /// That was one too many: the association is to be over.
    pub(in crate::association) fn unanswered(
        &mut self,
        now: Instant,
        path: PathIndex,
        what: Unanswered,
        session: &mut Session,
    ) -> Result<(), AssociationError> {
        // RFC 9260 §8.1, §5.4: HEARTBEATs on paths that carry no data say nothing about the peer.
        let may_carry_data = self.paths.path(path).is_confirmed() || !self.paths.has_confirmed();
        let is_in_use = path == self.paths.for_data() && may_carry_data;
        let was = self.paths.path(path).state;
        if let Some(state) = self.paths.on_unanswered(path, what) {
            tell_path_state(self.paths.id(path), was, state, session);
            // RFC 7829 §3.2, point 6.
            if state == PathState::PotentiallyFailed && !self.paths.path(path).heartbeat.is_outstanding() {
                self.timers.set(Timer::Heartbeat(path), now);
            }
        }
        if what == Unanswered::Heartbeat && !is_in_use {
            return Ok(());
        }
        self.supervision.errors += 1;
        let errors = self.supervision.errors;
        if errors <= self.errors_allowed(what, session) {
            return Ok(());
        }
        Err(AssociationError::PeerUnreachable { errors })
    }

    /// Returns the number of consecutive errors that do not make the peer unreachable (RFC 9260 §8.1).
    fn errors_allowed(&self, what: Unanswered, session: &Session) -> u32 {
        let attempts = session.config.attempts;
        let is_untried = what == Unanswered::Heartbeat && self.untried(session).is_some();
        if is_untried { attempts.untried.min(attempts.association) } else { attempts.association }
    }

    /// Returns how long nothing is asked of a peer that has opened the association, and from which nothing has come
    /// since COOKIE ECHO, while nothing is on its way to it: it may never have meant to use it.
    fn untried(&self, session: &Session) -> Option<Duration> {
        let may_be = session.peer.origin == Origin::Accepted && session.counters.packets_received <= 1;
        let is_untried = may_be && !self.supervision.has_heard_data && self.sender.is_dry();
        session.config.heartbeat.untried.filter(|_| is_untried)
    }

    /// The last HEARTBEAT went unanswered for an RTO, or the time for the next has come.
    ///
    /// # Errors
    /// The peer is unreachable.
    pub(in crate::association) fn on_heartbeat_timer(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) -> Result<(), AssociationError> {
        if !session.state.name().sends_heartbeats() {
            return Ok(());
        }
        let mut asked_at = now;
        if let Some(sent_at) = self.paths.path_mut(path).heartbeat.expire() {
            asked_at = sent_at;
            let entry = self.paths.path_mut(path);
            entry.counters.note().heartbeats_unanswered += 1;
            trace::heartbeat_unanswered(path, entry.errors);
            // RFC 7829 §3.2, point 6: where data is on its way, its own timer says the same.
            if !self.is_asked_by_data(path) {
                self.unanswered(now, path, Unanswered::Heartbeat, session)?;
                self.paths.path_mut(path).back_off();
            }
        }
        let interval = self.idle_limit(path, session);
        match self.heartbeat_due(now, path, (asked_at, interval), session) {
            HeartbeatDue::Never => {}
            HeartbeatDue::At(at) => self.timers.set(Timer::Heartbeat(path), at),
            HeartbeatDue::PeriodAfter(at) => self.schedule_heartbeat(at, path, session),
            HeartbeatDue::Now => self.send_heartbeat(now, path, session),
        }
        Ok(())
    }

    /// Asks whether the peer is at the address of this path, unless it is asked already: now, or when that is allowed to an
    /// address that is not confirmed.
    pub(in crate::association) fn probe_path(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) {
        if !session.state.name().sends_heartbeats() || self.paths.path(path).heartbeat.is_outstanding() {
            return;
        }
        if !self.paths.path(path).is_confirmed() {
            match self.paths.verification_slot(now, path, session.config.heartbeat.max_burst) {
                VerificationSlot::Now => self.send_heartbeat(now, path, session),
                VerificationSlot::At(at) => self.timers.set(Timer::Heartbeat(path), at),
            }
        } else if self.idle_limit(path, session).is_some() {
            self.send_heartbeat(now, path, session);
        }
    }

    /// The association is up: its use is watched from now on; confirmed paths are asked when they are idle, the others at
    /// once (RFC 9260 §5.4, §8.3).
    pub(in crate::association) fn begin_supervision(&mut self, now: Instant, session: &mut Session) {
        self.begin_autoclose(now, session.config.autoclose);
        for path in self.paths.ids() {
            if self.paths.path(path).is_confirmed() {
                self.schedule_heartbeat(now, path, session);
            } else if !self.paths.path(path).heartbeat.is_outstanding() {
                self.timers.set(Timer::Heartbeat(path), now);
            }
        }
    }

    /// Probes a path anew: whatever was asked before went another way.
    pub(in crate::association) fn probe_again(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) {
        let _asked = self.paths.path_mut(path).heartbeat.expire();
        if !self.paths.path(path).source.is_stranded() {
            self.probe_path(now, path, session);
        }
    }

    /// The peer wants to be reached on this path: where nothing was answered there, it is asked now, at most once in an RTO, for
    /// the time that failures have put between HEARTBEATs was that of a path that nobody wanted.
    pub(in crate::association) fn ask_anew_if_failed(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) {
        let entry = self.paths.path(path);
        let has_failed = matches!(entry.state, PathState::PotentiallyFailed | PathState::Inactive);
        if has_failed && !entry.heartbeat.was_sent_within(now, entry.rto.without_back_off()) {
            self.probe_again(now, path, session);
        }
    }

    /// Notes that a packet is going to an address that is not confirmed, and asks with a HEARTBEAT beside it whether the
    /// peer is there (RFC 9260 §5.4).
    pub(in crate::association) fn verify_beside(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) {
        if !self.paths.path(path).is_confirmed() {
            // It goes in a packet that leaves anyway, and others wait for it.
            let _counted = self.paths.verification_slot(now, path, session.config.heartbeat.max_burst);
            self.send_heartbeat(now, path, session);
        }
    }

    /// Asks whether the peer is at an address that is not confirmed.
    pub(in crate::association) fn verify(&mut self, now: Instant, path: PathIndex, session: &mut Session) {
        if !self.paths.path(path).is_confirmed() {
            self.probe_path(now, path, session);
        }
    }

    /// Plans the next HEARTBEAT: after RTO + HB.interval, give or take half an RTO (RFC 9260 §8.3), but in time for the
    /// NATs on the way.
    fn schedule_heartbeat(&mut self, from: Instant, path: PathIndex, session: &mut Session) {
        if self.paths.path(path).own().heartbeats == Heartbeats::Off {
            return;
        }
        let rto = self.paths.path(path).rto.rto();
        let untried = self.untried(session);
        let interval = untried.or_else(|| self.usual_interval(path, session));
        let regular = interval.map(|interval| interval + rto / 2 + session.nonces.up_to(rto));
        if let Some(pause) = regular.into_iter().chain(self.nat_keepalive(path, session)).min() {
            self.timers.set(Timer::Heartbeat(path), from + pause);
        }
    }

    /// Returns how long a path without data is not idle yet; `None`: nobody asks.
    fn idle_limit(&self, path: PathIndex, session: &Session) -> Option<Duration> {
        if self.paths.path(path).own().heartbeats == Heartbeats::Off {
            return None;
        }
        let untried = self.untried(session);
        let usual = || {
            let interval = self.usual_interval(path, session);
            interval.into_iter().chain(self.nat_keepalive(path, session)).min()
        };
        untried.or_else(usual)
    }

    /// HEARTBEATs are to be others: what is planned is planned anew, and what was asked is still waited for.
    pub(in crate::association) fn plan_heartbeats(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
    ) {
        let entry = self.paths.path(path);
        if !session.state.name().sends_heartbeats() || entry.heartbeat.is_outstanding() {
            return;
        }
        match entry.state {
            PathState::Unconfirmed | PathState::Removed => {}
            PathState::PotentiallyFailed => self.timers.set(Timer::Heartbeat(path), now),
            PathState::Active | PathState::Inactive => {
                self.timers.stop(Timer::Heartbeat(path));
                self.schedule_heartbeat(now, path, session);
            }
        }
    }

    /// Returns what the heartbeat timer leads to; `asked_at` is when the HEARTBEAT before went out that was not
    /// answered, or now, and `interval` how long a path is not idle yet.
    fn heartbeat_due(
        &mut self,
        now: Instant,
        path: PathIndex,
        (asked_at, interval): (Instant, Option<Duration>),
        session: &Session,
    ) -> HeartbeatDue {
        let entry = self.paths.path(path);
        // As long as data may go nowhere, there is nothing to fall back to: until the peer counts as unreachable.
        let attempts = entry.own().attempts.unwrap_or(session.config.attempts.path);
        let has_failed = entry.errors > attempts && self.paths.has_confirmed();
        match (entry.state, interval) {
            // RFC 9260 §5.4: once an RTO until it failed.
            (PathState::Unconfirmed, _) if !has_failed => {
                match self.paths.verification_slot(now, path, session.config.heartbeat.max_burst) {
                    VerificationSlot::Now => HeartbeatDue::Now,
                    VerificationSlot::At(at) => HeartbeatDue::At(at),
                }
            }
            (PathState::Removed, _) | (_, None) => HeartbeatDue::Never,
            // RFC 7829 §3.2, points 5 and 6: once an RTO.
            (PathState::PotentiallyFailed, _) if self.is_asked_by_data(path) => {
                HeartbeatDue::At(now + entry.rto.rto())
            }
            (PathState::PotentiallyFailed, _) => HeartbeatDue::Now,
            (PathState::Unconfirmed | PathState::Active | PathState::Inactive, Some(interval)) => {
                if asked_at < now {
                    HeartbeatDue::PeriodAfter(asked_at)
                } else if now.since(entry.last_used) < interval {
                    HeartbeatDue::PeriodAfter(entry.last_used)
                } else {
                    HeartbeatDue::Now
                }
            }
        }
    }

    /// Sends a HEARTBEAT, whose answer is waited for.
    fn send_heartbeat(&mut self, now: Instant, path: PathIndex, session: &mut Session) {
        let nonce = session.nonces.u64();
        let entry = self.paths.path_mut(path);
        let info = entry.heartbeat.send(now, path, nonce);
        entry.counters.note().heartbeats += 1;
        let unanswered_at = now + entry.rto.rto();
        self.push_on(path, session, ChunkBuf::heartbeat(&info));
        self.timers.set(Timer::Heartbeat(path), unanswered_at);
    }

    /// Returns whether a potentially failed path carries data all the same, for want of a better one: T3-rtx
    /// supervises it.
    fn is_asked_by_data(&self, path: PathIndex) -> bool {
        self.paths.path(path).state == PathState::PotentiallyFailed
            && path == self.paths.for_data()
            && self.sender.has_outstanding(path)
    }

    /// Returns how long a path is not idle yet, whatever NATs need.
    fn usual_interval(&self, path: PathIndex, session: &Session) -> Option<Duration> {
        match self.paths.path(path).own().heartbeats {
            Heartbeats::AsAssociation => session.config.heartbeat.interval,
            Heartbeats::Off => None,
            Heartbeats::Every(interval) => Some(interval),
        }
    }

    /// Returns how long the NATs on a path may hear nothing: those that see UDP (RFC 6951 §4).
    fn nat_keepalive(&self, path: PathIndex, session: &Session) -> Option<Duration> {
        match self.paths.path(path).destination.encapsulation {
            Encapsulation::Udp { .. } => session.config.heartbeat.nat_keepalive,
            // Whoever carries the datagrams of such a channel sees to its NATs (for WebRTC: ICE).
            Encapsulation::Ip | Encapsulation::Datagrams => None,
        }
    }
}

/// Tells of a path that has changed its state, as far as the user wants to know (RFC 7829 §3.2, point 12).
fn tell_path_state(path: PathId, was: PathState, is: PathState, session: &mut Session) {
    let exposure = session.config.paths.potentially_failed_state;
    let (was, state) = (was.shown(exposure), is.shown(exposure));
    if was != state {
        session.tell(Event::PeerAddressChange { path, state });
    }
}
