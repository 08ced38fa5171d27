//! Carries a sequence out and checks the laws.

use core::time::Duration;
use std::panic::AssertUnwindSafe;

use netem::{Impairments, Probability};
use sctp_core::{
    Association, AssociationId, AssociationState, Buffers, Delivery, Event, PathId, PathState, Reliability,
    SendError, StreamId,
};

use super::case::{Case, address};
use super::endings::Endings;
use super::ledger::{Broken, Ledger};
use super::operation::{Damage, Operation, Sending};
use crate::net::{End, Pair, RIGHT_PORT, Reading, Side, by_ip, ms, port};
use crate::replay::{Frequency, LATEST, Replays};

/// The hash of everything that happened on the network, or which law is broken.
pub(super) fn run(case: &Case, operations: &[Operation]) -> Result<u64, Broken> {
    let run = AssertUnwindSafe(|| Run::new(case).carry_out(operations));
    std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

struct Run<'a> {
    case: &'a Case,
    pair: Pair,
    /// By sender.
    ledgers: [Ledger; 2],
    /// What the link does to packets, from left and from right.
    impairments: [Impairments; 2],
    reboots: u8,
    endings: Endings,
    /// The association each end was last seen with.
    seen: [Option<AssociationId>; 2],
}

/// Whether packets pass.
#[derive(Clone, Copy)]
enum Passage {
    Closed,
    Open,
}

/// Messages before the network gets time, while a case begins.
const WARM_UP_TURN: usize = 300;

const ENDS: [End; 2] = [End::Left, End::Right];

pub(super) fn index(end: End) -> usize {
    match end {
        End::Left => 0,
        End::Right => 1,
    }
}

pub(super) fn other(end: End) -> End {
    match end {
        End::Left => End::Right,
        End::Right => End::Left,
    }
}

fn healthy() -> Impairments {
    Impairments { delay: ms(10), ..Impairments::default() }
}

impl<'a> Run<'a> {
    fn new(case: &'a Case) -> Self {
        let impairments = [healthy(), healthy()];
        Self {
            case,
            pair: case.pair(),
            ledgers: Default::default(),
            impairments,
            reboots: 0,
            endings: Endings::default(),
            seen: [None; 2],
        }
    }

    fn carry_out(mut self, operations: &[Operation]) -> Result<u64, Broken> {
        self.connect(2);
        self.warm_up()?;
        for (number, operation) in operations.iter().enumerate() {
            self.apply(operation);
            self.check().map_err(|broken| format!("{broken}, after operation {}", number + 1))?;
        }
        self.settle()?;
        Ok(self.pair.world.trace_hash())
    }

    /// Sends what a case begins with, on the first stream.
    fn warm_up(&mut self) -> Result<(), Broken> {
        let wanted = self.case.warm_up_messages;
        for _ in 0..wanted {
            if self.ledgers.iter().all(|ledger| ledger.sent() >= wanted) {
                return Ok(());
            }
            for from in ENDS {
                let count = WARM_UP_TURN.min(wanted.saturating_sub(self.ledgers[index(from)].sent()));
                let (delivery, reliability) = (Delivery::Ordered, Reliability::Reliable);
                self.send(Sending { from, count, stream: 0, len: 5, delivery, reliability });
            }
            self.pair.run_ms(50);
            self.check()?;
        }
        if wanted == 0 { Ok(()) } else { Err("the messages to begin with do not get through".to_owned()) }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Send(sending) => self.send(sending),
            Operation::Read(end, reading) => self.read(end, reading),
            Operation::WaitMs(time) => self.pair.run_ms(time),
            Operation::Cut(left, right) => self.cut(left, right, Passage::Closed),
            Operation::Mend(left, right) => self.cut(left, right, Passage::Open),
            Operation::Impair(from, damage) => self.impair(from, damage),
            Operation::DropNext(from, count) => self.drop_next(from, count),
            Operation::AddressDown(end, at) => self.pair.with(end, |side, now| {
                side.endpoint.local_address_down(now, address(end, at));
            }),
            Operation::AddressUp(end, at) => self.address_up(end, at),
            Operation::AddAddress(end, at) => {
                self.with(end, |side, now, id| side.endpoint.add_local_address(now, id, address(end, at)));
            }
            Operation::DeleteAddress(end, at) => {
                self.with(end, |side, now, id| side.endpoint.delete_local_address(now, id, address(end, at)));
            }
            Operation::RequestPrimary(end, at) => {
                self.with(end, |side, now, id| side.endpoint.request_peer_primary(now, id, address(end, at)));
            }
            Operation::SuggestPeer(end, at) => self.suggest_peer(end, at),
            Operation::SetPrimary(end, path) => {
                self.with(end, |side, now, id| side.endpoint.set_primary(now, id, PathId::new(path.into())));
            }
            Operation::Connect(addresses) => self.connect(addresses),
            Operation::ResetStreams(end, direction, stream) => {
                let streams: Vec<StreamId> = stream.map(StreamId::new).into_iter().collect();
                self.with(end, |side, now, id| side.endpoint.reset_streams(now, id, &streams, direction));
            }
            Operation::Replay(end, frequency) => {
                self.pair.with(end, |side, _| side.replays.set_frequency(frequency));
            }
            Operation::AddStreams(end, ours, peers) => {
                self.with(end, |side, now, id| side.endpoint.add_streams(now, id, ours, peers));
            }
            Operation::ResetAssociation(end) => {
                self.with(end, |side, now, id| side.endpoint.reset_association(now, id));
            }
            Operation::Shutdown(end) => self.with(end, |side, now, id| side.endpoint.shutdown(now, id)),
            Operation::Abort(end) => {
                self.endings.upset();
                self.with(end, |side, now, id| side.endpoint.abort(now, id, b"law"));
            }
            Operation::Reboot(end) => self.reboot(end),
            Operation::Forge => self.ledgers[0].forge(),
        }
    }

    /// A call about an end's association. That it may be refused is an answer too.
    fn with<R>(&mut self, end: End, call: impl FnOnce(&mut Side, virtual_time::Instant, AssociationId) -> R) {
        let _answer = self.pair.with(end, |side, now| side.id.map(|id| call(side, now, id)));
    }

    fn association(&self, end: End) -> Option<&Association> {
        let side = self.pair.side(end);
        side.endpoint.association(side.id?).filter(|found| found.state() != AssociationState::Closed)
    }

    fn send(&mut self, sending: Sending) {
        let Sending { from, count, stream, len, delivery, reliability } = sending;
        let mut ledger = std::mem::take(&mut self.ledgers[index(from)]);
        self.with(from, |side, now, id| {
            for _ in 0..count {
                let message = ledger.next(stream, len, delivery, reliability);
                match side.endpoint.send(now, id, message.clone()) {
                    Ok(()) => ledger.accepted(message),
                    Err(SendError::BufferFull(back)) => {
                        assert_eq!(back, message, "what is refused comes back");
                    }
                    Err(SendError::UnknownAssociation(_) | SendError::ShuttingDown) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        self.ledgers[index(from)] = ledger;
    }

    fn read(&mut self, end: End, reading: Reading) {
        self.pair.with(end, |side, now| {
            side.reading = reading;
            side.read_all(now);
        });
    }

    fn impair(&mut self, from: End, damage: Damage) {
        let percent =
            |value: u64| Probability::new(f64::from(u32::try_from(value).unwrap()) / 100.0).unwrap();
        let impairments = Impairments {
            loss: format!("{}%", damage.loss).parse().unwrap(),
            reorder: percent(damage.reorder),
            duplicate: percent(damage.duplicate),
            jitter: ms(damage.jitter_ms),
            ..healthy()
        };
        self.impairments[index(from)] = impairments.clone();
        self.pair.impair(from, impairments);
    }

    fn drop_next(&mut self, from: End, count: u64) {
        let offered = self.pair.offered(from);
        let impairments = &mut self.impairments[index(from)];
        impairments.drop_packets = (offered + 1..=offered + count).collect();
        let impairments = impairments.clone();
        self.pair.impair(from, impairments);
    }

    fn cut(&mut self, left: usize, right: usize, passage: Passage) {
        let is_meant = |wanted: usize, position: usize| wanted == 3 || wanted == position;
        let pairs = (0..9).map(|number| (number / 3, number % 3));
        for (l, r) in pairs.filter(|&(l, r)| is_meant(left, l) && is_meant(right, r)) {
            let (l, r) = (address(End::Left, l), address(End::Right, r));
            for (end, from, to) in [(End::Left, l, r), (End::Right, r, l)] {
                self.pair.with(end, |side, _| match passage {
                    Passage::Closed => side.cut.insert((Some(from), to)),
                    Passage::Open => side.cut.remove(&(Some(from), to)),
                });
            }
        }
    }

    fn address_up(&mut self, end: End, position: usize) {
        self.pair.with(end, |side, now| side.endpoint.local_address_up(now, address(end, position)));
    }

    fn suggest_peer(&mut self, end: End, position: usize) {
        let other = if end == End::Left { End::Right } else { End::Left };
        let nobody = || "10.0.0.99".parse().unwrap();
        let at = [by_ip(if position == 3 { nobody() } else { address(other, position) })];
        self.with(end, |side, now, id| side.endpoint.suggest_peer_addresses(now, id, &at));
    }

    /// The left end connects if it has no association.
    fn connect(&mut self, addresses: usize) {
        if self.association(End::Left).is_some() {
            return;
        }
        if self.seen[0].is_some() {
            self.endings.upset();
        }
        let destinations: Vec<_> = (0..addresses).map(|at| by_ip(address(End::Right, at))).collect();
        let config = self.case.config.clone();
        self.pair.with(End::Left, |side, now| {
            side.read_all(now);
            side.id = Some(side.endpoint.connect(now, &destinations, port(RIGHT_PORT), config).unwrap());
        });
        self.seen[0] = self.pair.side(End::Left).id;
    }

    fn reboot(&mut self, end: End) {
        self.reboots += 1;
        self.endings.upset();
        let side = self.case.reborn(end, self.reboots);
        // What had arrived before has been read; what came back does not matter any more.
        self.note_arrivals(end).unwrap();
        self.pair.with(end, |old, _| {
            let cut = std::mem::take(&mut old.cut);
            let replays = std::mem::replace(&mut old.replays, Replays::new(0));
            *old = Side { cut, replays, ..side };
        });
        self.ledgers.iter_mut().for_each(Ledger::excuse);
        if end == End::Left {
            self.connect(3);
        }
    }
}

/// What must hold after each step.
impl Run<'_> {
    fn check(&mut self) -> Result<(), Broken> {
        for end in ENDS {
            self.note_replacement(end);
            self.note_arrivals(end)?;
        }
        self.foresee();
        for end in ENDS {
            self.note_events(end)?;
            if let Some(association) = self.association(end) {
                self.has_timer(end, association)?;
                has_consistent_accounts(association).map_err(|broken| format!("{end:?}: {broken}"))?;
            }
        }
        Ok(())
    }

    fn note_arrivals(&mut self, end: End) -> Result<(), Broken> {
        let received = self.pair.with(end, |side, _| std::mem::take(&mut side.received));
        let ledger = &mut self.ledgers[index(other(end))];
        received.iter().try_for_each(|(_, received)| ledger.arrived(received))
    }

    /// A peer that comes back with none of the addresses it was known by opens a second association; the first one ends
    /// by its timers.
    fn note_replacement(&mut self, end: End) {
        let id = self.pair.side(end).id;
        if std::mem::replace(&mut self.seen[index(end)], id) != id {
            self.ledgers[index(end)].excuse();
            self.ledgers[index(other(end))].receiver_replaced();
        }
    }

    /// An end of one is an end of the other, whichever is looked at first.
    fn foresee(&mut self) {
        let events = ENDS
            .iter()
            .flat_map(|&end| self.pair.side(end).events.iter().map(move |(_, event)| (end, event)));
        for (end, event) in events {
            if let Event::CommunicationLost(error) | Event::CannotStart(error) = event {
                self.endings.foresee(end, error);
            } else if let Event::Restart { .. } = event {
                self.endings.upset();
            }
        }
    }

    fn note_events(&mut self, end: End) -> Result<(), Broken> {
        let now = self.pair.now();
        for (_, event) in self.pair.with(end, |side, _| std::mem::take(&mut side.events)) {
            match event {
                Event::SendFailed { message, was_sent, reason } => {
                    self.ledgers[index(end)].failed(&message, was_sent, &reason)?;
                }
                // What was on its way to an association that is no more: its sender hears of it in time.
                Event::CommunicationLost(error) | Event::CannotStart(error) => {
                    self.endings.lost(end, now, &error)?;
                    self.ledgers.iter_mut().for_each(Ledger::excuse);
                }
                Event::Restart { .. } => self.ledgers[index(end)].excuse(),
                Event::CommunicationUp { .. }
                | Event::StreamsReset { .. }
                | Event::AssociationReset { .. }
                | Event::StreamsAdded { .. }
                | Event::ShutdownReceived
                | Event::ShutdownComplete
                | Event::PeerAddressChange { .. }
                | Event::RemoteError(_)
                | Event::NewPeerKey(_)
                | Event::PartialDeliveryAborted { .. }
                | Event::AddressChangeAnswered { .. }
                | Event::PeerPrimary(_)
                | Event::TrainReceived { .. }
                | Event::SenderDry
                | Event::MessageReady
                | Event::SendBufferAvailable => {}
                other => panic!("what does {other:?} promise?"),
            }
        }
        Ok(())
    }

    /// Whoever waits for something has a timer.
    fn has_timer(&self, end: End, association: &Association) -> Result<(), Broken> {
        let is_at_rest =
            association.state() == AssociationState::Established && association.buffered_bytes() == 0;
        // Without any address of its own it waits for the host to have one again.
        let is_stranded = association.statistics().paths.iter().all(|path| path.source.is_none());
        if is_at_rest || is_stranded || self.pair.side(end).endpoint.poll_timeout().is_some() {
            return Ok(());
        }
        let (state, bytes) = (association.state(), association.buffered_bytes());
        Err(format!("{end:?} waits in {state:?} with {bytes} octets buffered, and has no timer"))
    }
}

fn has_consistent_accounts(association: &Association) -> Result<(), Broken> {
    let statistics = association.statistics();
    let (buffered, held) = (association.buffered_bytes(), association.receive_memory_bytes());
    let flight: usize = statistics.paths.iter().map(|path| path.flight_bytes).sum();
    // A chunk header is less than the bookkeeping of a message, and a tenth of the fragments of a long one.
    if flight > buffered + buffered / 10 {
        return Err(format!("{flight} octets in flight of {buffered} buffered"));
    }
    if buffered > most_buffered_bytes(association.config().buffers) || held > MOST_HELD_BYTES {
        return Err(format!("{buffered} octets are held for sending, {held} for reading"));
    }
    if statistics.receiver.reassembly_bytes > held {
        return Err(format!("{} octets in fragments of {held} held", statistics.receiver.reassembly_bytes));
    }
    let primaries = statistics.paths.iter().filter(|path| path.is_primary).count();
    if primaries != 1 {
        return Err(format!("{primaries} primary paths"));
    }
    let is_wrong = |state| matches!(state, PathState::Unconfirmed | PathState::Removed);
    match statistics.paths.iter().find(|path| path.flight_bytes > 0 && is_wrong(path.state)) {
        Some(path) => Err(format!("data is in flight on {}, which is {:?}", path.path, path.state)),
        None => Ok(()),
    }
}

/// The send buffer, as large as it may grow with the congestion window, and one message that found it empty.
fn most_buffered_bytes(buffers: Buffers) -> usize {
    let limit = buffers.grown_bytes.map_or(buffers.send_bytes, |grown| usize::try_from(grown).unwrap());
    (limit + buffers.message_bytes) * 9 / 8
}

/// Three times the largest receive buffer: payload and bookkeeping.
const MOST_HELD_BYTES: usize = 3 * 100_000;

/// The end of a sequence.
impl Run<'_> {
    /// Everything works again: all that is on its way has to arrive, within a bound. What was on its way at first may begin
    /// something: a COOKIE ECHO of an end that has rebooted and gives up makes an association of which the other end learns
    /// by a HEARTBEAT that it is alone.
    fn settle(&mut self) -> Result<(), Broken> {
        self.heal();
        self.come_to_rest()?;
        // Until nothing is on its way any more.
        let pending = ENDS.iter().filter_map(|&end| self.pair.side(end).replays.next_at()).max();
        let rest = if pending.is_some() { LATEST } else { Duration::ZERO };
        self.pair.run_ms(5000);
        let until = self.pair.now() + rest;
        while self.pair.now() < until {
            self.pair.run_ms(500);
            self.check().map_err(|broken| format!("{broken}, when all was over"))?;
        }
        self.check().map_err(|broken| format!("{broken}, when all was over"))?;
        self.come_to_rest()
    }

    fn come_to_rest(&mut self) -> Result<(), Broken> {
        let (healed_at, mut is_poked, mut alone_at) = (self.pair.now(), false, None);
        while let Some(what) = self.unsettled() {
            let passed = self.pair.now().since(healed_at);
            if passed > SETTLES_WITHIN {
                let ends = ENDS.map(|end| self.described(end)).concat();
                return Err(format!(
                    "stalled: {what}, {} ms after the network healed{ends}",
                    passed.as_millis()
                ));
            }
            let is_alone = ENDS.iter().filter(|&&end| self.association(end).is_some()).count() == 1;
            alone_at = is_alone.then(|| alone_at.unwrap_or(self.pair.now()));
            if alone_at.is_some_and(|at| self.pair.now().since(at) > POKED_AFTER) && !is_poked {
                is_poked = true;
                self.poke();
            }
            self.pair.run_ms(100);
            self.check().map_err(|broken| format!("{broken}, while the network is well"))?;
        }
        Ok(())
    }

    fn heal(&mut self) {
        self.endings.healed(self.pair.now());
        for end in ENDS {
            for position in 0..3 {
                self.address_up(end, position);
            }
            self.pair.impair(end, healthy());
            self.pair.with(end, |side, _| {
                side.cut.clear();
                side.replays.set_frequency(Frequency::default());
            });
            self.read(end, Reading::AtOnce);
        }
    }

    /// What is not yet as it has to be.
    fn unsettled(&self) -> Option<String> {
        for end in ENDS {
            if let Some(number) = self.ledgers[index(end)].missing() {
                let (sent, arrived) = (self.ledgers[index(end)].sent(), self.ledgers[index(end)].arrivals());
                return Some(format!("message {number} of {end:?} is missing ({arrived} of {sent} arrived)"));
            }
        }
        let ends = ENDS.map(|end| self.association(end));
        match ends {
            [None, None] => None,
            [Some(left), Some(right)] => [left, right].into_iter().find_map(is_busy),
            [Some(alone), None] | [None, Some(alone)] => {
                Some(format!("one end alone is {:?}", alone.state()))
            }
        }
    }

    /// For whoever looks for the cause.
    fn described(&self, end: End) -> String {
        let Some(association) = self.association(end) else { return format!("\n  {end:?}: no association") };
        let statistics = association.statistics();
        let paths = statistics.paths.iter().map(|path| {
            let (source, flight) = (path.source, path.flight_bytes);
            format!("\n    {} from {source:?} {:?}, {flight} octets in flight", path.address, path.state)
        });
        let (state, bytes) = (association.state(), association.buffered_bytes());
        format!("\n  {end:?}: {state:?}, {bytes} octets buffered{}", paths.collect::<String>())
    }

    /// An end that is alone finds out when it sends something: without HEARTBEATs not before, and by HEARTBEATs alone,
    /// where the ABORTs of the other one do not count, only after 31 times HB.interval and RTO (RFC 9260 §8.3), 300 s.
    fn poke(&mut self) {
        for end in ENDS {
            if self.association(end).is_some() && self.association(other(end)).is_none() {
                let (delivery, reliability) = (Delivery::Ordered, Reliability::Reliable);
                self.send(Sending { from: end, count: 1, stream: 0, len: 5, delivery, reliability });
            }
        }
    }
}

fn is_busy(association: &Association) -> Option<String> {
    let (state, bytes) = (association.state(), association.buffered_bytes());
    let flight: usize = association.statistics().paths.iter().map(|path| path.flight_bytes).sum();
    let is_at_rest = state == AssociationState::Established && bytes == 0 && flight == 0;
    (!is_at_rest).then(|| format!("{state:?} with {bytes} octets buffered and {flight} in flight"))
}

/// How long an end that is alone may find that out by itself.
const POKED_AFTER: Duration = Duration::from_secs(10);

/// RTO.Max is 3 s, and Max.Init.Retransmits and Association.Max.Retrans are 30: an end may give up its handshake after 93 s,
/// and the other one, told by nothing, need 93 s from [`POKED_AFTER`] on to find out that it is alone (RFC 9260 §8.1).
const SETTLES_WITHIN: Duration = Duration::from_secs(200);
