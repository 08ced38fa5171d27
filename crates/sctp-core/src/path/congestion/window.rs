//! The congestion window of one path as the rest of the association sees it.
//!
//! Owns the controller and what holds for every one of them: the first window, what becomes of one that is not used,
//! pacing, one packet after a timeout.

#[cfg(test)]
mod tests;

use core::time::Duration;

use sctp_wire::COMMON_HEADER_BYTES;
use virtual_time::Instant;

use super::bbr::Bbr;
use super::cubic::Cubic;
use super::pacer::{Pace, Pacer};
use super::resume::{Carried, Resume, Step};
use super::rfc9260::{Growth, Rfc9260};
use super::standing::Bound;
use super::validation::Validation;
use super::westwood::Westwood;
use super::{Acknowledged, CongestionControl, CongestionWindow};
use crate::config::{
    AfterTimeout, CongestionAlgorithm, CongestionConfig, InitialWindow, Pacing, StandingQueue, StartUp,
    WindowValidation,
};
use crate::seldom::Seldom;
use crate::stats::CongestionCounters;

/// The capacity of a path: the octets of DATA in a packet, and the initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathCapacity {
    /// Octets of DATA chunks that fit one packet on this path (PMDCS, RFC 9260 §1.3).
    pub(crate) pmdcs: usize,
    /// Octets that may be in flight before anything was acknowledged.
    pub(crate) initial_window: usize,
}

impl PathCapacity {
    /// Creates the capacity of a path: the initial window is min(4·PMDCS, max(2·PMDCS, 4404)), with 4344
    /// instead over IPv6 (RFC 9260 §7.2.1). The old rule had the same with the path MTU in place of PMDCS and
    /// 4380 for both; TCP has ten packets, and 14,600 octets (RFC 6928 §2).
    pub(crate) fn new(rule: InitialWindow, pmdcs: usize, mtu_bytes: usize, is_ipv4: bool) -> Self {
        let (packets, unit, floor) = match rule {
            InitialWindow::Rfc9260 => (4, pmdcs, if is_ipv4 { 4404 } else { 4344 }),
            InitialWindow::TenPackets => (10, pmdcs, 14_600),
            InitialWindow::Rfc4960 => (4, mtu_bytes, 4380),
        };
        Self { pmdcs, initial_window: (packets * unit).min(floor.max(2 * unit)) }
    }

    /// Returns the octets that so many packets hold, or the initial window if that is more, but no more of it than four
    /// packets: ten at once are for the beginning alone.
    fn burst_bytes(&self, packets: u32) -> usize {
        let packets = usize::try_from(packets).unwrap_or(usize::MAX);
        self.pmdcs.saturating_mul(packets).max(self.initial_window.min(4 * self.pmdcs))
    }
}

/// The congestion control of one path.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    config: CongestionConfig,
    capacity: PathCapacity,
    controller: Controller,
    unused: UnusedRule,
    pacer: Pacer,
    /// The bound on the queue of the path, where there is one.
    queue: Option<Box<Bound>>,
    /// How data begins here when it moves to this path, if not in slow start.
    resume: Option<Box<Resume>>,
    /// T3-rtx expired and nothing was acknowledged since: one packet at a time (RFC 9260 §7.2.3).
    is_probing: bool,
    /// The window before it was cut to what was in use, until that is undone.
    before_cut: Option<Box<CongestionWindow>>,
    /// The octets in flight when they were last noted.
    flight: usize,
    srtt: Duration,
    /// Data waits for the pacer, so that less than the window is in flight, though the window is used (RFC 9002 §7.8).
    is_held: bool,
    counters: Seldom<CongestionCounters>,
}

/// The algorithms: an enum, so that a path needs no allocation for the usual ones.
#[derive(Clone, Debug)]
enum Controller {
    Rfc9260(Rfc9260),
    Cubic(Cubic),
    Westwood(Box<Westwood>),
    Bbr(Box<Bbr>),
}

/// The rule for a window that is not used.
#[derive(Clone, Debug)]
enum UnusedRule {
    /// The rule of RFC 9260: when data was last sent, and how many idle RTOs have been charged since.
    Rfc9260 { last_sent: Option<Instant> },
    /// The rule of RFC 7661, from the first data on.
    Rfc7661(Option<Box<Validation>>),
}

impl Controller {
    fn new(config: &CongestionConfig, capacity: PathCapacity) -> Self {
        let least = config.least_window;
        match config.algorithm {
            CongestionAlgorithm::Rfc9260 => {
                Self::Rfc9260(Rfc9260::new(capacity, Growth::BySack).at_least(least))
            }
            CongestionAlgorithm::Cubic => Self::Cubic(Cubic::new(capacity)),
            CongestionAlgorithm::Westwood => {
                Self::Westwood(Box::new(Westwood::new(capacity).at_least(least)))
            }
            CongestionAlgorithm::Bbr => Self::Bbr(Box::new(Bbr::new(capacity))),
        }
    }

    #[inline]
    fn window(&self) -> CongestionWindow {
        match self {
            Self::Rfc9260(controller) => controller.window(),
            Self::Cubic(controller) => controller.window(),
            Self::Westwood(controller) => controller.window(),
            Self::Bbr(controller) => controller.window(),
        }
    }

    /// Takes in what was acknowledged; the default control is called without detours.
    #[inline]
    fn on_acknowledged(&mut self, acked: &Acknowledged) {
        match self {
            Self::Cubic(controller) => controller.on_acknowledged(acked),
            Self::Rfc9260(_) | Self::Westwood(_) | Self::Bbr(_) => self.get_mut().on_acknowledged(acked),
        }
    }

    fn get_mut(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::Rfc9260(controller) => controller,
            Self::Cubic(controller) => controller,
            Self::Westwood(controller) => &mut **controller,
            Self::Bbr(controller) => &mut **controller,
        }
    }

    /// Returns the control that has a model of the path: it says at which rate packets leave, and wants to know of each that leaves and each that is lost.
    #[inline]
    fn model(&self) -> Option<&Bbr> {
        match self {
            Self::Bbr(model) => Some(model),
            Self::Rfc9260(_) | Self::Cubic(_) | Self::Westwood(_) => None,
        }
    }

    #[inline]
    fn model_mut(&mut self) -> Option<&mut Bbr> {
        match self {
            Self::Bbr(model) => Some(model),
            Self::Rfc9260(_) | Self::Cubic(_) | Self::Westwood(_) => None,
        }
    }
}

impl UnusedRule {
    /// A model says itself what a loss leaves and knows which samples say nothing: validation would take a window of which half is used, as it is
    /// meant, for one that was not needed.
    fn new(config: &CongestionConfig) -> Self {
        match (config.algorithm, config.window_validation) {
            (CongestionAlgorithm::Bbr, _) | (_, WindowValidation::Rfc9260) => {
                Self::Rfc9260 { last_sent: None }
            }
            (
                CongestionAlgorithm::Rfc9260 | CongestionAlgorithm::Cubic | CongestionAlgorithm::Westwood,
                WindowValidation::Rfc7661,
            ) => Self::Rfc7661(None),
        }
    }
}

impl Congestion {
    pub(crate) fn new(config: CongestionConfig, capacity: PathCapacity, max_burst_packets: u32) -> Self {
        let pacing = if config.paces() { Pacing::On } else { Pacing::Off };
        let config = CongestionConfig { pacing, ..config };
        Self {
            config,
            capacity,
            controller: Controller::new(&config, capacity),
            unused: UnusedRule::new(&config),
            pacer: Pacer::new(capacity.burst_bytes(max_burst_packets)),
            queue: bounded_queue(config),
            resume: match config.start_up {
                StartUp::SlowStart => None,
                StartUp::Resume { most_bytes } => Some(Box::new(Resume::new(most_bytes as usize))),
                StartUp::Probe { most_bytes } => Some(Box::new(Resume::measured(most_bytes as usize))),
            },
            is_probing: false,
            before_cut: None,
            flight: 0,
            srtt: Duration::ZERO,
            is_held: false,
            counters: Seldom::default(),
        }
    }

    /// Max.Burst is another one from now on.
    pub(crate) fn set_max_burst(&mut self, packets: u32) {
        self.pacer.set_burst(self.capacity.burst_bytes(packets));
    }

    /// The network behind the path is another one: nothing known holds any more (RFC 9260 §7.2.5).
    pub(crate) fn reinitialise(&mut self) {
        self.controller = Controller::new(&self.config, self.capacity);
        self.unused = UnusedRule::new(&self.config);
        self.is_probing = false;
        self.is_held = false;
        self.before_cut = None;
        self.queue = bounded_queue(self.config);
        self.srtt = Duration::ZERO;
        if let Some(resume) = &mut self.resume {
            resume.begin_anew();
        }
    }

    /// Returns how much this path was used, if another one may begin with that.
    pub(crate) fn usage(&self) -> Option<Carried> {
        self.resume.as_ref().map(|resume| *resume.usage())
    }

    /// Data moves here, from a path that was used like this.
    pub(crate) fn begin(&mut self, used: &Carried, srtt: Option<Duration>) {
        let cwnd = self.cwnd();
        let Some(resume) = &mut self.resume else { return };
        if let Some(octets) = resume.begin(used, srtt, cwnd) {
            self.srtt = srtt.unwrap_or_default();
            self.take(Step::AtLeast(octets));
        }
    }

    /// Data may move here soon: what the path carries is to be known, if a start-up asks for that.
    pub(crate) fn measure(&mut self, now: Instant) {
        if let Some(train) = self.resume.as_mut().and_then(|resume| resume.train_mut()) {
            train.want(now);
        }
    }

    /// Returns whether a train of packets is to leave now.
    #[inline]
    pub(crate) fn wants_train(&self, now: Instant) -> bool {
        self.resume.as_ref().and_then(|resume| resume.train()).is_some_and(|train| train.is_due(now))
    }

    /// The next packet of a train leaves, which begins with it if none is leaving: returns its size and nonce. What has not come back
    /// after `patience` is lost.
    pub(crate) fn next_of_train(
        &mut self,
        now: Instant,
        fresh_nonce: u64,
        packet_bytes: usize,
        patience: Duration,
    ) -> Option<(usize, u64)> {
        let train = self.resume.as_mut().and_then(|resume| resume.train_mut())?;
        if train.begin(now, fresh_nonce, packet_bytes, patience) {
            self.counters.note().trains += 1;
        }
        train.next()
    }

    /// Takes in the nonce of a HEARTBEAT ACK; returns whether it answers a packet of the train. Data that has moved here goes on
    /// with what the path carries as soon as that is known.
    pub(crate) fn on_train_answer(
        &mut self,
        now: Instant,
        nonce: u64,
        (srtt, flight): (Option<Duration>, usize),
    ) -> bool {
        let train = self.resume.as_mut().and_then(|resume| resume.train_mut());
        if !train.is_some_and(|train| train.on_answer(now, nonce)) {
            return false;
        }
        if let Some(srtt) = srtt {
            self.resume(now, srtt, flight);
        }
        true
    }

    /// A round trip of the path is known: data that has moved here goes on with what a start-up wants, if there is one and all that
    /// it waits for is known.
    pub(crate) fn resume(&mut self, now: Instant, srtt: Duration, flight: usize) {
        let cwnd = self.cwnd();
        if let Some(octets) = self.resume.as_mut().and_then(|it| it.resume(now, srtt, (cwnd, flight))) {
            self.srtt = srtt;
            self.take(Step::AtLeast(octets));
        }
    }

    /// Makes the window what a start-up wants it to be; never smaller than slow start would begin with.
    fn take(&mut self, step: Step) {
        let window = self.window();
        let cwnd = match step {
            Step::AtLeast(octets) => window.cwnd.max(octets),
            Step::AtMost(octets) => window.cwnd.min(octets.max(self.capacity.initial_window)),
        };
        if cwnd != window.cwnd {
            self.counters.note().resumed += u64::from(cwnd > window.cwnd);
            self.controller.get_mut().on_unused(CongestionWindow { cwnd, ..window });
        }
    }

    /// Something of a start-up was lost: it was too much. Returns whether that was all there is to be done.
    fn retreat(&mut self) -> bool {
        let Some(octets) = self.resume.as_mut().and_then(|resume| resume.on_loss()) else { return false };
        self.before_cut = Some(Box::new(self.window()));
        self.counters.note().retreats += 1;
        let cwnd = octets.max(self.capacity.initial_window);
        self.controller.get_mut().on_unused(CongestionWindow { cwnd, ssthresh: cwnd });
        true
    }

    /// Returns the octets that a loss leaves at least.
    #[inline]
    fn least_bytes(&self) -> usize {
        self.config.least_window.packets() * self.capacity.pmdcs
    }

    #[inline]
    pub(crate) fn cwnd(&self) -> usize {
        self.window().cwnd
    }

    #[inline]
    pub(crate) fn window(&self) -> CongestionWindow {
        self.controller.window()
    }

    pub(crate) fn counters(&self) -> CongestionCounters {
        self.counters.get()
    }

    /// Returns whether one more packet may go out with this much in flight. The last one may exceed the window
    /// (RFC 9260 §6.1 (B)); after a timeout there is only one until it is acknowledged (§7.2.3).
    #[inline]
    pub(crate) fn admits(&self, flight: usize) -> bool {
        let is_one_by_one = self.is_probing && self.config.after_timeout == AfterTimeout::OnePacket;
        if is_one_by_one { flight == 0 } else { flight < self.limit() }
    }

    /// Returns the number of octets, one at least, beside this much in flight with which no further packet may go out.
    #[inline]
    pub(crate) fn octets_to_fill(&self, flight: usize) -> usize {
        let is_one_by_one = self.is_probing && self.config.after_timeout == AfterTimeout::OnePacket;
        if is_one_by_one { 1 } else { self.room(flight).max(1) }
    }

    /// Returns the number of octets that may leave with this much in flight.
    #[inline]
    pub(crate) fn room(&self, flight: usize) -> usize {
        self.limit().saturating_sub(flight)
    }

    #[inline]
    fn limit(&self) -> usize {
        self.queue.as_ref().map_or(usize::MAX, |queue| queue.octets()).min(self.cwnd())
    }

    /// Returns whether packets are spread over the round trip now, instead of counted by Max.Burst.
    #[inline]
    pub(crate) fn is_paced(&self) -> bool {
        self.config.pacing == Pacing::On && !self.srtt.is_zero()
    }

    /// Returns whether packets are spread over a round trip that is long enough for it to make a difference.
    #[inline]
    pub(crate) fn is_spread(&self) -> bool {
        self.config.pacing == Pacing::On && Pacer::spreads(self.srtt)
    }

    /// Returns the time until which a packet has to wait for those before it; `None` if it need not.
    #[inline]
    pub(crate) fn paced_until(&self, now: Instant) -> Option<Instant> {
        if !self.is_paced() || self.pacer.is_drained(now) {
            return None;
        }
        let pace = self.pace();
        let is_held = !self.pacer.admits(now, pace);
        is_held.then(|| self.pacer.admits_at(pace))
    }

    /// Returns the rate at which packets leave: that of a control with a model of the path, or that of the window.
    #[inline]
    fn pace(&self) -> Pace {
        match self.controller.model().and_then(Bbr::pacing_rate) {
            Some(rate) => Pace::per_second(rate),
            None => Pace::of(self.spread_window(), self.srtt),
        }
    }

    /// Returns the window that is spread over a round trip. One that nothing has come back of yet is spread as if it had its
    /// size for good: slow start would have twice of it leave.
    #[inline]
    fn spread_window(&self) -> CongestionWindow {
        let window = self.window();
        let is_unvalidated = self.resume.as_ref().is_some_and(|resume| resume.is_unvalidated());
        if is_unvalidated { CongestionWindow { ssthresh: 0, ..window } } else { window }
    }

    /// Whether data waits for the pacer now.
    pub(crate) fn note_held(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Data begins to wait for the pacer.
    pub(crate) fn on_paced(&mut self) {
        self.counters.note().paced += 1;
    }

    /// The path MTU has changed.
    pub(crate) fn on_packet_size(&mut self, pmdcs: usize) {
        self.capacity.pmdcs = pmdcs;
        self.controller.get_mut().on_packet_size(pmdcs);
    }

    /// Shrinks a window that was not used for long, before data is sent (RFC 9260 §7.2.1, last point, or RFC
    /// 7661 §4.4.3).
    pub(crate) fn on_send(&mut self, now: Instant, rto: Duration, flight: usize) {
        self.flight = flight;
        let window = self.window();
        let floor = 4 * self.capacity.pmdcs;
        let shrunk = match &mut self.unused {
            UnusedRule::Rfc9260 { last_sent } => {
                let idle = last_sent.replace(now).map_or(Duration::ZERO, |sent| now.since(sent));
                shrunk_by_idleness(window, if flight > 0 { Duration::ZERO } else { idle }, rto, floor)
            }
            UnusedRule::Rfc7661(validation) => {
                let validation = validation.get_or_insert_default();
                validation.on_send(now, window, self.capacity.initial_window)
            }
        };
        if let Some(window) = shrunk {
            self.counters.note().unused_cuts += 1;
            self.controller.get_mut().on_unused(window);
        }
    }

    /// Notes how many octets are in flight before the next packet.
    #[inline]
    pub(crate) fn note_flight(&mut self, flight: usize) {
        self.flight = flight;
    }

    /// A packet with data left.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet_bytes: usize) {
        let mut bytes = packet_bytes;
        if let Some(model) = self.controller.model_mut() {
            // The model counts as what is in flight is counted: chunks without the header before them.
            bytes = packet_bytes.saturating_sub(COMMON_HEADER_BYTES);
            model.on_sent(now, bytes, self.flight);
        }
        if self.is_spread() {
            self.pacer.on_sent(now, bytes, self.pace());
        }
    }

    /// Chunks that left at `sent_at` were declared lost.
    pub(crate) fn on_lost(&mut self, now: Instant, bytes: usize, sent_at: Instant) {
        if let Some(model) = self.controller.model_mut() {
            model.on_lost(now, bytes, sent_at);
        }
    }

    /// The peer reports octets that were sent again as received twice.
    pub(crate) fn on_duplicates(&mut self, bytes: usize) {
        self.controller.get_mut().on_duplicates(bytes);
    }

    /// Octets declared lost were sent again.
    pub(crate) fn on_resent(&mut self, bytes: usize) {
        match &mut self.unused {
            UnusedRule::Rfc9260 { .. } => {}
            UnusedRule::Rfc7661(validation) => validation.get_or_insert_default().on_resent(bytes),
        }
    }

    pub(crate) fn on_acknowledged(&mut self, acked: &Acknowledged) {
        self.is_probing = false;
        self.flight = acked.flight_before;
        self.srtt = acked.srtt;
        // A model sets rate and window apart: what waits for the one says nothing about the other.
        let is_held = self.is_held && self.controller.model().is_none();
        let used = if is_held { acked.flight_before.max(self.cwnd()) } else { acked.flight_before };
        if self.resume.is_some() {
            self.on_resumed(acked, used);
        }
        if self.is_held {
            let seen = Acknowledged { flight_before: used, is_held: true, ..*acked };
            self.controller.on_acknowledged(&seen);
        } else {
            self.controller.on_acknowledged(acked);
        }
        if let Some(queue) = &mut self.queue {
            queue.on_acknowledged(acked, 4 * self.capacity.pmdcs);
        }
        let (window, floor) = (self.window(), self.least_bytes());
        let after_recovery = match &mut self.unused {
            UnusedRule::Rfc9260 { .. } => None,
            UnusedRule::Rfc7661(validation) => {
                validation.get_or_insert_default().on_acknowledged(acked, window, floor)
            }
        };
        if let Some(window) = after_recovery {
            self.controller.get_mut().on_unused(window);
        }
    }

    /// A start-up hears of what was acknowledged, with which so much of the window was used.
    #[inline(never)]
    fn on_resumed(&mut self, acked: &Acknowledged, used: usize) {
        let cwnd = self.cwnd();
        let step = self.resume.as_mut().and_then(|resume| resume.on_acknowledged(acked, used >= cwnd, cwnd));
        if let Some(step) = step {
            self.take(step);
        }
    }

    /// Losses found through SACKs. The caller makes sure it happens once per Fast Recovery.
    pub(crate) fn on_loss(&mut self) {
        if self.retreat() {
            return;
        }
        let (window, floor) = (self.window(), self.least_bytes());
        let unvalidated = match &mut self.unused {
            UnusedRule::Rfc9260 { .. } => None,
            UnusedRule::Rfc7661(validation) => {
                validation.get_or_insert_default().on_loss(self.flight, window, floor)
            }
        };
        self.before_cut = unvalidated.map(|_| Box::new(window));
        match unvalidated {
            None => self.controller.get_mut().on_loss(),
            Some(used) => {
                self.counters.note().unvalidated_losses += 1;
                self.controller.get_mut().on_unused(used);
            }
        }
    }

    pub(crate) fn on_timeout(&mut self) {
        self.is_probing = true;
        let _was_starting_up = self.retreat();
        self.before_cut = None;
        self.controller.get_mut().on_timeout();
        match &mut self.unused {
            UnusedRule::Rfc9260 { .. } => {}
            UnusedRule::Rfc7661(validation) => validation.get_or_insert_default().on_timeout(),
        }
    }

    /// The last cut was needless: nothing was lost (RFC 4015 §3.2).
    pub(crate) fn on_spurious(&mut self) {
        self.is_probing = false;
        let Some(before) = self.before_cut.take() else {
            return self.controller.get_mut().on_spurious();
        };
        let now = self.window();
        match &mut self.unused {
            UnusedRule::Rfc9260 { .. } => {}
            UnusedRule::Rfc7661(validation) => validation.get_or_insert_default().on_spurious(),
        }
        let CongestionWindow { cwnd, ssthresh } = *before;
        let window = CongestionWindow { cwnd: now.cwnd.max(cwnd), ssthresh: now.ssthresh.max(ssthresh) };
        self.controller.get_mut().on_unused(window);
    }
}

fn bounded_queue(config: CongestionConfig) -> Option<Box<Bound>> {
    match config.standing_queue {
        StandingQueue::Unbounded => None,
        StandingQueue::Within(allowed) => Some(Box::new(Bound::new(allowed))),
    }
}

/// Returns the window after idleness: halved once per RTO, but not below four packets; what is smaller already,
/// after a timeout, is not raised by having been idle (RFC 9260 §7.2.1).
fn shrunk_by_idleness(
    window: CongestionWindow,
    idle: Duration,
    rto: Duration,
    floor: usize,
) -> Option<CongestionWindow> {
    if idle < rto || window.cwnd <= floor {
        return None;
    }
    let periods = idle.as_nanos() / rto.as_nanos().max(1);
    let halvings = u32::try_from(periods).unwrap_or(u32::MAX);
    let cwnd = window.cwnd.checked_shr(halvings).unwrap_or(0).max(floor);
    Some(CongestionWindow { cwnd, ssthresh: window.cwnd })
}
