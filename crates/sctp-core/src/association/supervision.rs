//! The supervision of the paths and the peer by HEARTBEATs and error counters (RFC 9260 §5.4, §8.1 to §8.3; RFC
//! 7829), and of the association by its use (RFC 6458 §8.1.8).

use core::time::Duration;

use sctp_wire::{ChunkBuf, ChunkType, HeartbeatInfo};
use virtual_time::Instant;

use super::autoclose::Usage;
use super::outbound::{Outbound, apply_mtu};
use super::outbox::Outbox;
use super::session::Session;
use super::timers::Timer;
use super::{Association, AssociationState as S};
use crate::config::Heartbeats;
use crate::error::AssociationError;
use crate::event::{Event, Origin, PathState};
use crate::path::{Answer, Heartbeat, Unanswered, VerificationSlot};
use crate::trace;
use crate::transmit::{Encapsulation, PathId, PathIndex};

/// What the supervision of paths and peer remembers.
#[derive(Debug)]
pub(super) struct Supervision {
    /// Consecutive transmissions to the peer that went unanswered (RFC 9260 §8.1).
    errors: u32,
    /// The peer has sent user data.
    has_heard_data: bool,
    pub(super) usage: Usage,
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
    pub(super) fn on_data_received(&mut self, now: Instant) {
        self.has_heard_data = true;
        self.usage.on_user_data(now);
    }

    /// The peer is there, whatever path it is heard on.
    pub(super) fn forgive_peer(&mut self) {
        self.errors = 0;
    }

    /// Takes in a HEARTBEAT ACK: the answer to a HEARTBEAT, or to a probe of the path MTU.
    fn on_heartbeat_ack(
        &mut self,
        now: Instant,
        ack: HeartbeatInfo<'_>,
        session: &mut Session,
        outbound: &mut Outbound,
        outbox: &mut Outbox,
    ) {
        let sent = Heartbeat::parse(ack.info).filter(|(path, _)| outbound.paths.contains(*path));
        if let Some((path, nonce)) = sent
            && let Some(next) = outbound.on_mtu_ack(path, nonce)
        {
            self.answered(now, (path, Answer::Verified), session, outbound, outbox);
            return apply_mtu(now, path, next, &mut outbox.timers);
        }
        let answer = sent.and_then(|(path, nonce)| {
            outbound.paths.path_mut(path).heartbeat.on_ack(now, nonce).map(|rtt| (path, rtt))
        });
        let Some((path, rtt)) = answer else {
            outbox.counters.note().discarded.unexpected_heartbeat_acks += 1;
            return;
        };
        outbound.paths.on_measurement(path, now, rtt);
        self.answered(now, (path, Answer::Verified), session, outbound, outbox);
        self.schedule_heartbeat(now, path, session, outbound, outbox);
    }

    /// The peer answered on a path: error counters are cleared (RFC 9260 §8.1, §8.2).
    pub(super) fn answered(
        &mut self,
        now: Instant,
        (path, answer): (PathIndex, Answer),
        session: &mut Session,
        outbound: &mut Outbound,
        outbox: &mut Outbox,
    ) {
        self.errors = 0;
        let was = outbound.paths.path(path).state;
        if let Some(state) = outbound.paths.on_answer(path, answer) {
            tell_path_state(outbound.paths.id(path), was, state, session, outbox);
            if state == PathState::Active {
                outbound.begin_mtu_search(now, path, &mut outbox.timers);
            }
            // What was asked before the path came back is answered by that.
            let _asked = outbound.paths.path_mut(path).heartbeat.expire();
            self.schedule_heartbeat(now, path, session, outbound, outbox);
        }
    }

    /// Counts an error on path and association.
    ///
    /// # Errors
    /// That was one too many: the association is to be over.
    fn unanswered(
        &mut self,
        now: Instant,
        path: PathIndex,
        what: Unanswered,
        session: &Session,
        outbound: &mut Outbound,
        outbox: &mut Outbox,
    ) -> Result<(), AssociationError> {
        // RFC 9260 §8.1, §5.4: HEARTBEATs on paths that carry no data say nothing about the peer.
        let may_carry_data = outbound.paths.path(path).is_confirmed() || !outbound.paths.has_confirmed();
        let is_in_use = path == outbound.paths.for_data() && may_carry_data;
        let was = outbound.paths.path(path).state;
        if let Some(state) = outbound.paths.on_unanswered(path, what) {
            tell_path_state(outbound.paths.id(path), was, state, session, outbox);
            // RFC 7829 §3.2, point 6.
            if state == PathState::PotentiallyFailed && !outbound.paths.path(path).heartbeat.is_outstanding()
            {
                outbox.timers.set(Timer::Heartbeat(path), now);
            }
        }
        if what == Unanswered::Heartbeat && !is_in_use {
            return Ok(());
        }
        self.errors += 1;
        let errors = self.errors;
        if errors <= self.errors_allowed(what, session, outbound, outbox) {
            return Ok(());
        }
        Err(AssociationError::PeerUnreachable { errors })
    }

    /// Returns the number of consecutive errors that do not make the peer unreachable (RFC 9260 §8.1).
    fn errors_allowed(
        &self,
        what: Unanswered,
        session: &Session,
        outbound: &Outbound,
        outbox: &Outbox,
    ) -> u32 {
        let attempts = session.config.attempts;
        let is_untried = what == Unanswered::Heartbeat && self.untried(session, outbound, outbox).is_some();
        if is_untried { attempts.untried.min(attempts.association) } else { attempts.association }
    }

    /// Returns how long nothing is asked of a peer that has opened the association, and from which nothing has come
    /// since COOKIE ECHO, while nothing is on its way to it: it may never have meant to use it.
    fn untried(&self, session: &Session, outbound: &Outbound, outbox: &Outbox) -> Option<Duration> {
        let may_be = session.peer.origin == Origin::Accepted && outbox.counters.packets_received <= 1;
        let is_untried = may_be && !self.has_heard_data && outbound.sender.is_dry();
        session.config.heartbeat.untried.filter(|_| is_untried)
    }

    /// The last HEARTBEAT went unanswered for an RTO, or the time for the next has come.
    ///
    /// # Errors
    /// The peer is unreachable.
    fn on_heartbeat_timer(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
        outbound: &mut Outbound,
        outbox: &mut Outbox,
    ) -> Result<(), AssociationError> {
        if !session.state.name().sends_heartbeats() {
            return Ok(());
        }
        let mut asked_at = now;
        if let Some(sent_at) = outbound.paths.path_mut(path).heartbeat.expire() {
            asked_at = sent_at;
            let entry = outbound.paths.path_mut(path);
            entry.counters.note().heartbeats_unanswered += 1;
            trace::heartbeat_unanswered(path, entry.errors);
            // RFC 7829 §3.2, point 6: where data is on its way, its own timer says the same.
            if !is_asked_by_data(path, outbound) {
                self.unanswered(now, path, Unanswered::Heartbeat, session, outbound, outbox)?;
                outbound.paths.path_mut(path).back_off();
            }
        }
        let interval = self.idle_limit(path, session, outbound, outbox);
        match heartbeat_due(now, path, (asked_at, interval), session, outbound) {
            HeartbeatDue::Never => {}
            HeartbeatDue::At(at) => outbox.timers.set(Timer::Heartbeat(path), at),
            HeartbeatDue::PeriodAfter(at) => self.schedule_heartbeat(at, path, session, outbound, outbox),
            HeartbeatDue::Now => send_heartbeat(now, path, session, outbound, outbox),
        }
        Ok(())
    }

    /// Asks whether the peer is at the address of this path, unless it is asked already: now, or when that is allowed to an
    /// address that is not confirmed.
    pub(super) fn probe_path(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
        outbound: &mut Outbound,
        outbox: &mut Outbox,
    ) {
        if !session.state.name().sends_heartbeats() || outbound.paths.path(path).heartbeat.is_outstanding() {
            return;
        }
        if !outbound.paths.path(path).is_confirmed() {
            match outbound.paths.verification_slot(now, path, session.config.heartbeat.max_burst) {
                VerificationSlot::Now => send_heartbeat(now, path, session, outbound, outbox),
                VerificationSlot::At(at) => outbox.timers.set(Timer::Heartbeat(path), at),
            }
        } else if self.idle_limit(path, session, outbound, outbox).is_some() {
            send_heartbeat(now, path, session, outbound, outbox);
        }
    }

    /// The association is up: confirmed paths are asked when they are idle, the others at once (RFC 9260 §5.4, §8.3).
    fn begin(&mut self, now: Instant, session: &mut Session, outbound: &mut Outbound, outbox: &mut Outbox) {
        for path in outbound.paths.ids() {
            if outbound.paths.path(path).is_confirmed() {
                self.schedule_heartbeat(now, path, session, outbound, outbox);
            } else if !outbound.paths.path(path).heartbeat.is_outstanding() {
                outbox.timers.set(Timer::Heartbeat(path), now);
            }
        }
    }

    /// Plans the next HEARTBEAT: after RTO + HB.interval, give or take half an RTO (RFC 9260 §8.3), but in time for the
    /// NATs on the way.
    fn schedule_heartbeat(
        &mut self,
        from: Instant,
        path: PathIndex,
        session: &mut Session,
        outbound: &Outbound,
        outbox: &mut Outbox,
    ) {
        if outbound.paths.path(path).own().heartbeats == Heartbeats::Off {
            return;
        }
        let rto = outbound.paths.path(path).rto.rto();
        let untried = self.untried(session, outbound, outbox);
        let interval = untried.or_else(|| usual_interval(path, session, outbound));
        let regular = interval.map(|interval| interval + rto / 2 + session.nonces.up_to(rto));
        if let Some(pause) = regular.into_iter().chain(nat_keepalive(path, session, outbound)).min() {
            outbox.timers.set(Timer::Heartbeat(path), from + pause);
        }
    }

    /// Returns how long a path without data is not idle yet; `None`: nobody asks.
    fn idle_limit(
        &self,
        path: PathIndex,
        session: &Session,
        outbound: &Outbound,
        outbox: &Outbox,
    ) -> Option<Duration> {
        if outbound.paths.path(path).own().heartbeats == Heartbeats::Off {
            return None;
        }
        let untried = self.untried(session, outbound, outbox);
        let usual = || {
            let interval = usual_interval(path, session, outbound);
            interval.into_iter().chain(nat_keepalive(path, session, outbound)).min()
        };
        untried.or_else(usual)
    }

    /// HEARTBEATs are to be others: what is planned is planned anew, and what was asked is still waited for.
    fn plan_anew(
        &mut self,
        now: Instant,
        path: PathIndex,
        session: &mut Session,
        outbound: &Outbound,
        outbox: &mut Outbox,
    ) {
        let entry = outbound.paths.path(path);
        if !session.state.name().sends_heartbeats() || entry.heartbeat.is_outstanding() {
            return;
        }
        match entry.state {
            PathState::Unconfirmed | PathState::Removed => {}
            PathState::PotentiallyFailed => outbox.timers.set(Timer::Heartbeat(path), now),
            PathState::Active | PathState::Inactive => {
                outbox.timers.stop(Timer::Heartbeat(path));
                self.schedule_heartbeat(now, path, session, outbound, outbox);
            }
        }
    }
}

/// Returns what the heartbeat timer leads to; `asked_at` is when the HEARTBEAT before went out that was not
/// answered, or now, and `interval` how long a path is not idle yet.
fn heartbeat_due(
    now: Instant,
    path: PathIndex,
    (asked_at, interval): (Instant, Option<Duration>),
    session: &Session,
    outbound: &mut Outbound,
) -> HeartbeatDue {
    let entry = outbound.paths.path(path);
    // As long as data may go nowhere, there is nothing to fall back to: until the peer counts as unreachable.
    let has_failed = entry.errors > entry.own().attempts.unwrap_or(session.config.attempts.path)
        && outbound.paths.has_confirmed();
    match (entry.state, interval) {
        // RFC 9260 §5.4: once an RTO until it failed.
        (PathState::Unconfirmed, _) if !has_failed => {
            match outbound.paths.verification_slot(now, path, session.config.heartbeat.max_burst) {
                VerificationSlot::Now => HeartbeatDue::Now,
                VerificationSlot::At(at) => HeartbeatDue::At(at),
            }
        }
        (PathState::Removed, _) | (_, None) => HeartbeatDue::Never,
        // RFC 7829 §3.2, points 5 and 6: once an RTO.
        (PathState::PotentiallyFailed, _) if is_asked_by_data(path, outbound) => {
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
pub(super) fn send_heartbeat(
    now: Instant,
    path: PathIndex,
    session: &mut Session,
    outbound: &mut Outbound,
    outbox: &mut Outbox,
) {
    let nonce = session.nonces.u64();
    let entry = outbound.paths.path_mut(path);
    let info = entry.heartbeat.send(now, path, nonce);
    entry.counters.note().heartbeats += 1;
    let unanswered_at = now + entry.rto.rto();
    outbox.push(path, session.tag_of_peer(), ChunkBuf::heartbeat(&info));
    outbox.timers.set(Timer::Heartbeat(path), unanswered_at);
}

/// Tells of a path that has changed its state, as far as the user wants to know (RFC 7829 §3.2, point 12).
fn tell_path_state(path: PathId, was: PathState, is: PathState, session: &Session, outbox: &mut Outbox) {
    let exposure = session.config.paths.potentially_failed_state;
    let (was, state) = (was.shown(exposure), is.shown(exposure));
    if was != state {
        outbox.tell(Event::PeerAddressChange { path, state });
    }
}

/// Returns whether a potentially failed path carries data all the same, for want of a better one: T3-rtx
/// supervises it.
fn is_asked_by_data(path: PathIndex, outbound: &Outbound) -> bool {
    outbound.paths.path(path).state == PathState::PotentiallyFailed
        && path == outbound.paths.for_data()
        && outbound.sender.has_outstanding(path)
}

/// Returns how long a path is not idle yet, whatever NATs need.
fn usual_interval(path: PathIndex, session: &Session, outbound: &Outbound) -> Option<Duration> {
    match outbound.paths.path(path).own().heartbeats {
        Heartbeats::AsAssociation => session.config.heartbeat.interval,
        Heartbeats::Off => None,
        Heartbeats::Every(interval) => Some(interval),
    }
}

/// Returns how long the NATs on a path may hear nothing: those that see UDP (RFC 6951 §4).
fn nat_keepalive(path: PathIndex, session: &Session, outbound: &Outbound) -> Option<Duration> {
    match outbound.paths.path(path).destination.encapsulation {
        Encapsulation::Udp { .. } => session.config.heartbeat.nat_keepalive,
        // Whoever carries the datagrams of such a channel sees to its NATs (for WebRTC: ICE).
        Encapsulation::Ip | Encapsulation::Datagrams => None,
    }
}

impl Association {
    /// RFC 9260 §8.3: echoed unchanged, with what stands behind the information, while data may flow.
    pub(super) fn on_heartbeat(&mut self, path: PathIndex, heartbeat: HeartbeatInfo<'_>) {
        if matches!(self.session.state.name(), S::CookieWait | S::ShutdownAckSent | S::Closed) {
            return;
        }
        let echo = ChunkBuf::encode(ChunkType::HEARTBEAT_ACK, 0, |value| value.bytes(heartbeat.value));
        // These may also go to an unconfirmed address (RFC 9260 §5.4).
        self.outbox.push(path, self.session.tag_of_peer(), echo);
    }

    pub(super) fn on_heartbeat_ack(&mut self, now: Instant, ack: HeartbeatInfo<'_>) {
        let (session, outbound, outbox) = (&mut self.session, &mut self.outbound, &mut self.outbox);
        self.supervision.on_heartbeat_ack(now, ack, session, outbound, outbox);
    }

    /// The last HEARTBEAT went unanswered, or the time for the next has come.
    pub(super) fn on_heartbeat_timer(&mut self, now: Instant, path: PathIndex) {
        let (session, outbound, outbox) = (&mut self.session, &mut self.outbound, &mut self.outbox);
        if let Err(error) = self.supervision.on_heartbeat_timer(now, path, session, outbound, outbox) {
            self.abort_quietly(error);
        }
    }

    /// The peer answered on a path.
    pub(super) fn answered(&mut self, now: Instant, path: PathIndex, answer: Answer) {
        let (session, outbound, outbox) = (&mut self.session, &mut self.outbound, &mut self.outbox);
        self.supervision.answered(now, (path, answer), session, outbound, outbox);
    }

    /// Counts an error on path and association; returns false if that was one too many and the association is over.
    pub(super) fn unanswered(&mut self, now: Instant, path: PathIndex, what: Unanswered) -> bool {
        let (session, outbound, outbox) = (&self.session, &mut self.outbound, &mut self.outbox);
        let counted = self.supervision.unanswered(now, path, what, session, outbound, outbox);
        counted.map_err(|error| self.abort_quietly(error)).is_ok()
    }

    /// Plans the HEARTBEATs of a path anew, because they are to be others.
    pub(super) fn plan_heartbeats(&mut self, now: Instant, path: PathIndex) {
        let (session, outbound, outbox) = (&mut self.session, &self.outbound, &mut self.outbox);
        self.supervision.plan_anew(now, path, session, outbound, outbox);
    }

    /// Asks whether the peer is at the address of this path.
    pub(super) fn probe_path(&mut self, now: Instant, path: PathIndex) {
        let (session, outbound, outbox) = (&mut self.session, &mut self.outbound, &mut self.outbox);
        self.supervision.probe_path(now, path, session, outbound, outbox);
    }

    /// The association is up: paths and its use are watched from now on.
    pub(super) fn begin_supervision(&mut self, now: Instant) {
        let (session, outbound, outbox) = (&mut self.session, &mut self.outbound, &mut self.outbox);
        self.supervision.begin(now, session, outbound, outbox);
        self.supervision.begin_autoclose(now, session.config.autoclose, &mut outbox.timers);
    }
}
