//! One connection: routes segments, timers and requests to its two halves.

mod congestion;
mod linux_cubic;
mod model;
mod rack;
mod receiver;
mod rto;
mod scoreboard;
mod sender;
mod sequence;
mod state;
mod stream;
mod timers;
mod window;

use std::collections::VecDeque;

use core::time::Duration;

use smallvec::SmallVec;
use virtual_time::Instant;

use self::receiver::{AckDemand, AckPolicy, Receiver};
use self::rto::RtoEstimator;
pub use self::sender::SenderCounters;
use self::sender::{Arrived, Piece, Sender};
use self::sequence::{offset_of, sequence_of, shift_for};
pub use self::state::State;
use self::stream::octets;
use self::timers::{Timers, later};
use crate::config::{TcpConfig, Timestamps};
use crate::segment::{Flags, SACK_BYTES, Segment, SynOptions, TIMESTAMP_BYTES};

/// A TCP connection as a sans-IO state machine.
///
/// The contract is that of every core: mutate → drain [`poll_transmit`](Self::poll_transmit) → drain
/// [`poll_event`](Self::poll_event) → read [`poll_timeout`](Self::poll_timeout) → wait. Time never goes back; extra
/// calls are harmless.
#[derive(Debug)]
pub struct Connection {
    config: TcpConfig,
    local: Local,
    /// Known from the peer's SYN on.
    peer: Option<Peer>,
    state: State,
    sender: Sender,
    receiver: Receiver,
    rto: RtoEstimator,
    timers: Timers,
    /// Timeouts since something was heard.
    unanswered: u32,
    is_refusing: bool,
    events: VecDeque<Event>,
    malformed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Local {
    port: u16,
    peer_port: u16,
    initial_sequence: u32,
    window_scale: u8,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    initial_sequence: u32,
    window_scale: u8,
    /// The peer's clock as last seen, if it sends timestamps.
    timestamp: Option<u32>,
}

/// An event that the application should know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is open: data may flow.
    Connected,
    /// There is something to [`read`](Connection::read).
    Readable,
    /// Something was acknowledged: there may be room to [`write`](Connection::write).
    Writable,
    /// The peer will send nothing more.
    PeerFinished,
    /// The connection is over, as both sides wished.
    Closed,
    /// The peer refused or gave up.
    Reset,
    /// The connection is over, because the peer did not answer.
    TimedOut,
}

/// The state and the counters of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionStatistics {
    /// The counters of the sending half.
    pub sender: SenderCounters,
    /// Segments that brought nothing new.
    pub duplicate_segments: u64,
    /// Packets that were no segments.
    pub malformed: u64,
    /// Congestion window in octets.
    pub cwnd_bytes: u64,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
}

impl Connection {
    /// Opens a connection from one port to another. The initial sequence number is the caller's to choose.
    #[must_use]
    pub fn connect(config: TcpConfig, port: u16, peer_port: u16, initial_sequence: u32) -> Self {
        let window_scale = shift_for(config.receive_bytes);
        let local = Local { port, peer_port, initial_sequence, window_scale };
        Self::new(config, local, State::SynSent)
    }

    /// Answers a SYN; `None` if the segment is none.
    #[must_use]
    pub fn accept(config: TcpConfig, syn: &Segment<'_>, initial_sequence: u32) -> Option<Self> {
        let options = syn.syn_options.filter(|_| syn.flags.syn && syn.acknowledgment.is_none())?;
        let window_scale = shift_for(config.receive_bytes);
        let (port, peer_port) = (syn.destination_port, syn.source_port);
        let local = Local { port, peer_port, initial_sequence, window_scale };
        let mut connection = Self::new(config, local, State::SynReceived);
        connection.meet(syn, options);
        Some(connection)
    }

    fn new(config: TcpConfig, local: Local, state: State) -> Self {
        let options = if config.segments.timestamps == Timestamps::On { TIMESTAMP_BYTES } else { 0 };
        let full = u64::from(config.mss).saturating_sub(options);
        let policy = AckPolicy { rule: config.segments.acknowledge, full };
        Self {
            config,
            local,
            peer: None,
            state,
            sender: Sender::new(&config),
            receiver: Receiver::new(config.receive_bytes, policy),
            rto: RtoEstimator::new(&config),
            timers: Timers::default(),
            unanswered: 0,
            is_refusing: false,
            events: VecDeque::new(),
            malformed: 0,
        }
    }

    /// Returns the state of the connection.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the local port and the peer's.
    #[must_use]
    pub fn ports(&self) -> (u16, u16) {
        (self.local.port, self.local.peer_port)
    }

    /// Returns the counters of everything so far.
    #[must_use]
    pub fn statistics(&self) -> ConnectionStatistics {
        ConnectionStatistics {
            sender: self.sender.counters,
            duplicate_segments: self.receiver.duplicate_segments,
            malformed: self.malformed,
            cwnd_bytes: self.sender.cwnd(),
            srtt: self.rto.srtt(),
            rto: self.rto.rto(),
        }
    }

    /// Returns the number of octets written and not yet acknowledged.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.sender.stream.len()
    }

    /// Hands data over; gives how many octets there was room for. None once closed.
    pub fn write(&mut self, data: &[u8]) -> usize {
        match self.state {
            State::SynSent | State::SynReceived | State::Established | State::CloseWait => {
                self.sender.stream.write(data)
            }
            State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait
            | State::Closed => 0,
        }
    }

    /// Moves everything that arrived in order to the end of `buffer`.
    pub fn read(&mut self, buffer: &mut Vec<u8>) {
        self.receiver.read(buffer, u64::from(self.config.mss));
    }

    /// Nothing more will be written. What was written is still delivered.
    pub fn close(&mut self) {
        self.sender.stream.finish();
        if self.sender.is_open() {
            self.state = self.state.on_finish();
        }
    }

    /// A packet for this connection.
    pub fn handle_packet(&mut self, now: Instant, octets: &[u8]) {
        match Segment::decode(octets) {
            Ok(segment) => self.handle_segment(now, &segment),
            Err(_not_a_segment) => self.malformed += 1,
        }
    }

    /// Takes a segment in as [`handle_packet`](Self::handle_packet) does, one that was decoded already.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment<'_>) {
        if self.state == State::Closed {
            return;
        }
        if segment.flags.rst {
            return self.end(Event::Reset);
        }
        if let Some(options) = segment.syn_options {
            if self.peer.is_none() {
                self.meet(segment, options);
            }
            self.receiver.demand_now();
        }
        let Some(peer) = self.peer.as_mut() else { return };
        peer.timestamp = segment.timestamps.map(|(value, _)| value).or(peer.timestamp);
        let peer = *peer;
        self.unanswered = 0;
        let begins = segment.sequence.wrapping_add(u32::from(segment.flags.syn));
        let offset = offset_of(begins, peer.initial_sequence, self.receiver.next());
        self.on_acknowledgment(now, segment, peer);
        if let Some(offset) = offset.filter(|_| !segment.payload.is_empty() || segment.flags.fin) {
            self.on_data(offset, segment);
        }
        self.settle(now);
    }

    /// The peer's SYN: where its sequence space begins, and what it accepts.
    fn meet(&mut self, syn: &Segment<'_>, options: SynOptions) {
        let timestamp = syn.timestamps.map(|(value, _)| value);
        self.peer =
            Some(Peer { initial_sequence: syn.sequence, window_scale: options.window_scale, timestamp });
        self.sender.limit_mss(options.mss);
    }

    fn on_acknowledgment(&mut self, now: Instant, segment: &Segment<'_>, peer: Peer) {
        let own = |sequence, near| offset_of(sequence, self.local.initial_sequence, near);
        let una = self.sender.una();
        let Some(ack) = segment.acknowledgment.and_then(|sequence| own(sequence, una)) else { return };
        let shift = if segment.flags.syn { 0 } else { peer.window_scale };
        let window = u64::from(segment.window) << shift;
        let ranges = segment.sack.iter().filter_map(|(from, to)| Some((own(*from, una)?, own(*to, una)?)));
        let sacked: SmallVec<[(u64, u64); 3]> = ranges.collect();
        let srtt = self.rto.srtt().unwrap_or_default();
        let acked = self.sender.on_ack(now, &Arrived { ack, window, sacked: &sacked, srtt });
        self.look_again(now, acked.look_again_in);
        if let Some(rtt) = acked.rtt {
            self.rto.on_measurement(rtt);
        }
        if !acked.advanced {
            return;
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.events.push_back(Event::Connected);
            self.state = self.state.on_syn_acknowledged();
            if self.sender.stream.is_finished() {
                self.state = self.state.on_finish();
            }
        }
        self.events.push_back(Event::Writable);
        // RFC 6298 §5.2, §5.3; RFC 8985 §7.2.
        (self.timers.retransmission, self.timers.probe) = (None, None);
    }

    /// A segment that is not late yet may be so then (RFC 8985 §6.2, step 5).
    fn look_again(&mut self, now: Instant, wait: Option<Duration>) {
        let tick = self.config.timers.tick;
        let slack = if tick.is_zero() { Duration::ZERO } else { LEAST_WAIT };
        self.timers.reordering = wait.map(|wait| later(now, wait + slack, tick));
    }

    fn on_data(&mut self, offset: u64, segment: &Segment<'_>) {
        let was_finished = self.receiver.is_finished();
        self.receiver.on_segment(offset, segment.payload, segment.flags.fin);
        if self.receiver.has_data() && self.events.back() != Some(&Event::Readable) {
            self.events.push_back(Event::Readable);
        }
        if self.receiver.is_finished() && !was_finished {
            self.events.push_back(Event::PeerFinished);
            self.state = self.state.on_fin();
        }
    }

    /// Sets the timers that follow from what is the case after input.
    fn settle(&mut self, now: Instant) {
        if self.sender.is_fin_acknowledged() {
            self.state = self.state.on_fin_acknowledged();
        }
        if self.state == State::Closed {
            return self.end(Event::Closed);
        }
        if self.state == State::TimeWait && self.timers.time_wait.is_none() {
            self.timers.time_wait = Some(now + TIME_WAIT);
        }
        if self.receiver.demand() == AckDemand::Delayed {
            if self.config.ack_delay.is_zero() {
                self.receiver.demand_now();
            }
            let delayed = later(now, self.config.ack_delay, self.config.timers.tick);
            self.timers.acknowledgment.get_or_insert(delayed);
        }
        self.watch_retransmission(now);
    }

    /// RFC 6298 §5.1 to §5.3; a closed window is probed by the same timer (RFC 9293 §3.8.6.1).
    fn watch_retransmission(&mut self, now: Instant) {
        let is_needed = self.sender.has_in_flight() || self.sender.waits_for_window();
        if !is_needed {
            (self.timers.retransmission, self.timers.probe) = (None, None);
        } else if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(later(now, self.rto.rto(), self.config.timers.tick));
        }
        if self.timers.probe.is_some() && !self.sender.may_probe() {
            self.timers.probe = None;
        } else if self.timers.probe.is_none() {
            self.plan_probe(now);
        }
    }

    /// Two round trips after the last new data or the last progress, and more if one segment alone may have its
    /// acknowledgment delayed; not where the retransmission timer is as soon (RFC 8985 §7.2).
    fn plan_probe(&mut self, now: Instant) {
        let Some(srtt) = self.rto.srtt().filter(|_| self.sender.may_probe()) else { return };
        let is_alone = self.sender.outstanding_segments() == 1;
        let allowance = if is_alone { self.config.rto_min } else { LEAST_WAIT };
        let at = later(now, srtt * 2 + allowance, self.config.timers.tick);
        self.timers.probe = Some(at).filter(|at| self.timers.retransmission.is_none_or(|rto| *at < rto));
    }

    /// The instant [`poll_timeout`](Self::poll_timeout) named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        if is_due(self.timers.acknowledgment) {
            self.timers.acknowledgment = None;
            self.receiver.demand_now();
        }
        // What waited for it leaves next.
        self.timers.pacing = self.timers.pacing.filter(|at| *at > now);
        if is_due(self.timers.time_wait) {
            return self.end(Event::Closed);
        }
        if is_due(self.timers.reordering) {
            let srtt = self.rto.srtt().unwrap_or_default();
            let again = self.sender.detect(now, srtt);
            self.look_again(now, again);
        }
        if is_due(self.timers.retransmission) {
            self.timers.retransmission = None;
            self.on_retransmission_timeout(now);
        } else if is_due(self.timers.probe) {
            self.timers.probe = None;
            self.sender.on_probe_timeout();
            // RFC 8985 §7.3: the timer waits for the answer to the probe.
            self.timers.retransmission = None;
        }
        if self.state != State::Closed {
            self.watch_retransmission(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Instant) {
        self.unanswered += 1;
        if self.unanswered > self.config.timeouts {
            self.is_refusing = true;
            return self.end(Event::TimedOut);
        }
        self.rto.back_off();
        self.timers.reordering = None;
        if self.sender.has_in_flight() {
            self.sender.on_timeout(now);
        } else {
            self.sender.probe_window();
        }
    }

    /// Appends the next segment to `buffer` and gives its length; `None` when there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<usize> {
        let start = buffer.len();
        if core::mem::take(&mut self.is_refusing) {
            let next = self.sender.next_offset();
            self.segment(now, next, Flags { rst: true, ..Flags::default() }, &[]).encode(buffer);
            return Some(buffer.len() - start);
        }
        if self.state == State::Closed {
            return None;
        }
        self.sender.on_send(now, self.rto.rto());
        let piece = self.sender.next_piece(self.option_bytes());
        self.timers.pacing = piece.and_then(|_| self.sender.paced_until(now));
        if let Some(piece) = piece.filter(|_| self.timers.pacing.is_none()) {
            let is_new = piece.to > self.sender.next_offset();
            self.write_piece(now, piece, buffer);
            self.sender.on_sent(now, piece);
            self.sender.validate(now, self.rto.rto());
            // New data puts the probe off (RFC 8985 §7.2).
            self.timers.probe = self.timers.probe.filter(|_| !is_new);
            self.watch_retransmission(now);
        } else if self.receiver.demand() == AckDemand::Now && self.peer.is_some() {
            self.segment(now, self.sender.next_offset(), Flags::default(), &[]).encode(buffer);
        } else {
            self.sender.validate(now, self.rto.rto());
            self.watch_retransmission(now);
            return None;
        }
        self.receiver.on_acknowledged();
        self.timers.acknowledgment = None;
        Some(buffer.len() - start)
    }

    fn write_piece(&self, now: Instant, piece: Piece, buffer: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let fin = self.sender.stream.copy(piece.from, piece.to, &mut payload);
        let flags = Flags { syn: piece.from == 0, fin, rst: false };
        self.segment(now, piece.from, flags, &payload).encode(buffer);
    }

    /// Returns what options take of a segment that leaves now.
    fn option_bytes(&self) -> u64 {
        let blocks = octets(self.receiver.sack_blocks().len());
        let sack = if blocks == 0 { 0 } else { SACK_BYTES.0 + SACK_BYTES.1 * blocks };
        let has_timestamps = self.peer.is_some_and(|peer| self.has_timestamps(peer));
        sack + if has_timestamps { TIMESTAMP_BYTES } else { 0 }
    }

    fn has_timestamps(&self, peer: Peer) -> bool {
        self.config.segments.timestamps == Timestamps::On && peer.timestamp.is_some()
    }

    /// Returns the clock, and the peer's as last seen; a first SYN offers it (RFC 7323 §3.2).
    fn timestamps(&self, now: Instant) -> Option<(u32, u32)> {
        let is_wanted = self.config.segments.timestamps == Timestamps::On;
        let is_agreed = self.peer.is_none_or(|peer| self.has_timestamps(peer));
        let millis = u32::try_from((now.as_nanos() / 1_000_000) & u64::from(u32::MAX)).unwrap_or(0);
        let echo = self.peer.and_then(|peer| peer.timestamp).unwrap_or(0);
        (is_wanted && is_agreed).then_some((millis, echo))
    }

    fn segment<'a>(&self, now: Instant, offset: u64, flags: Flags, payload: &'a [u8]) -> Segment<'a> {
        let scale = if flags.syn { 0 } else { self.local.window_scale };
        let window = u16::try_from(self.receiver.window() >> scale).unwrap_or(u16::MAX);
        let acknowledged = |peer: Peer| sequence_of(self.receiver.next(), peer.initial_sequence);
        let block = |peer: Peer, (from, to)| {
            (sequence_of(from, peer.initial_sequence), sequence_of(to, peer.initial_sequence))
        };
        let blocks = |peer| self.receiver.sack_blocks().into_iter().map(|range| block(peer, range)).collect();
        Segment {
            source_port: self.local.port,
            destination_port: self.local.peer_port,
            sequence: sequence_of(offset, self.local.initial_sequence),
            acknowledgment: self.peer.map(acknowledged),
            flags,
            window,
            syn_options: flags
                .syn
                .then_some(SynOptions { mss: self.config.mss, window_scale: self.local.window_scale }),
            timestamps: self.timestamps(now),
            sack: self.peer.map(blocks).unwrap_or_default(),
            payload,
        }
    }

    /// Returns what the application should know next.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    fn end(&mut self, event: Event) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.events.push_back(event);
    }
}

/// Twice the maximum segment lifetime (RFC 9293 §3.4.1), which is 30 s here as in Linux.
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Added to waits that are shorter than a kernel's clock can keep (Linux, `TCP_TIMEOUT_MIN_US`).
const LEAST_WAIT: Duration = Duration::from_millis(2);
