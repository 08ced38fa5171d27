//! The sending side of a flow: messages as they fall due, or octets without pause; responses timed as they come. What a
//! message says is its number and time, or what the script of its workload wants.

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use bytes::Bytes;
use virtual_time::Instant;
use workload::{ArrivalProcess, ArrivalsError, Lane, Message, MessageNumber, MessageSize, Sample, SendTime};

use super::{Greeting, Measure, Script, Terms, Told, Workload};
use crate::statistics::{CallCounts, Delays, FrameCounts};

/// The orders of a client: a flow of a scenario with its seed says it.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    pub(crate) workload: Workload,
    pub(crate) arrivals: ArrivalProcess,
    pub(crate) size: MessageSize,
    /// The sizes of the messages in turn; none: all have `size`.
    pub(crate) sizes: Vec<MessageSize>,
    pub(crate) lanes: u16,
    /// Messages at most.
    pub(crate) messages: u64,
    /// Nothing is sent after this, counted from the start.
    pub(crate) duration: Duration,
    /// Messages that do not count.
    pub(crate) discard: u64,
    pub(crate) keeps_samples: bool,
    /// How long to wait for answers after the last message.
    pub(crate) drain: Duration,
    pub(crate) terms: Terms,
    /// The seed of its own chance.
    pub(crate) seed: u64,
}

/// Sends messages open loop: when one falls due does not depend on responses, and its delay counts from then.
#[derive(Debug)]
pub(crate) struct Client {
    plan: ClientPlan,
    /// The time at which the transport was there.
    begun: Option<Instant>,
    /// The time from which messages could fall due.
    start: Option<Instant>,
    /// The next message that is not due yet.
    coming: Option<Pending>,
    drawn: u64,
    /// The messages of each lane that are due and not taken by the transport.
    lanes: Vec<Waiting>,
    /// The first message of every lane that has one and is not blocked: number and lane.
    heads: BinaryHeap<Reverse<(u64, u16)>>,
    answered: u64,
    /// The number of messages that came and answered nothing.
    strange: u64,
    responses: Delays,
    /// The samples of the messages whose responses are timed, in the order of their numbers; if asked for.
    samples: Vec<Sample>,
    last_due: Instant,
    failure: Option<String>,
    /// The message that bulk sends again and again; `None` for other workloads.
    endless: Option<Bytes>,
    scripted: Option<Scripted>,
}

/// Messages that say more than a number and a time.
#[derive(Debug)]
struct Scripted {
    script: Box<dyn Script>,
    /// Messages by number, until they are answered.
    octets: BTreeMap<u64, Bytes>,
    /// The samples of the messages that are not timed, in the order of their numbers; kept as the others are.
    untimed: Vec<Sample>,
    /// The number of messages that followed from others.
    followed: u64,
}

/// The messages that wait on one lane.
#[derive(Clone, Debug, Default)]
struct Waiting {
    messages: VecDeque<Pending>,
    /// The transport had no room.
    is_blocked: bool,
}

/// A message that is due, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) number: u64,
    pub(crate) lane: u16,
    pub(crate) at: Instant,
    /// Whether its response is timed.
    is_timed: bool,
}

impl Client {
    pub(crate) fn new(plan: ClientPlan) -> Result<Self, ArrivalsError> {
        let script = plan.workload.kind().script(&plan.terms, plan.seed)?;
        let scripted = script.map(|script| Scripted {
            script,
            octets: BTreeMap::new(),
            untimed: Vec::new(),
            followed: 0,
        });
        let is_bulk = plan.workload.measure() == Measure::Goodput;
        let endless = is_bulk.then(|| Bytes::from(vec![0; plan.size.octets()]));
        let lanes = vec![Waiting::default(); usize::from(plan.lanes)];
        Ok(Self {
            plan,
            begun: None,
            start: None,
            coming: None,
            drawn: 0,
            lanes,
            heads: BinaryHeap::new(),
            answered: 0,
            strange: 0,
            responses: Delays::new(),
            samples: Vec::new(),
            last_due: Instant::EPOCH,
            failure: None,
            endless,
            scripted,
        })
    }

    /// The transport is there: messages fall due from now on, those of a script when its conversation is open.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
        match &mut self.scripted {
            None => self.start_at(now),
            Some(Scripted { script, octets, .. }) => match script.begin(now) {
                Greeting::Message(asked) => {
                    octets.insert(ESTABLISHMENT, asked.octets);
                    let (number, lane) = (ESTABLISHMENT, asked.stream);
                    self.queue(Pending { number, lane, at: now, is_timed: false });
                }
                Greeting::Needless => self.start_at(now),
                Greeting::Said => {}
            },
        }
    }

    fn start_at(&mut self, now: Instant) {
        if self.start.is_none() {
            self.start = Some(now);
            self.draw();
            let lanes = if self.is_bulk() { self.plan.lanes } else { 0 };
            (0..lanes).for_each(|lane| self.queue(Pending { number: 0, lane, at: now, is_timed: false }));
        }
    }

    fn draw(&mut self) {
        self.coming = None;
        let Some(start) = self.start.filter(|_| self.drawn < self.plan.messages && !self.is_bulk()) else {
            return;
        };
        let Some(offset) = self.plan.arrivals.next_offset().filter(|offset| *offset < self.plan.duration)
        else {
            return;
        };
        let (number, at) = (self.drawn, start + offset);
        let lane = u16::try_from(number % u64::from(self.plan.lanes)).unwrap_or(0);
        self.coming = Some(Pending { number, lane, at, is_timed: self.is_timed() });
        self.last_due = at;
        self.drawn += 1;
    }

    pub(crate) fn is_bulk(&self) -> bool {
        self.endless.is_some()
    }

    fn is_timed(&self) -> bool {
        self.plan.workload.is_answered()
    }

    pub(crate) fn lanes(&self) -> u16 {
        self.plan.lanes
    }

    /// Returns the workload of the flow.
    pub(crate) fn workload(&self) -> Workload {
        self.plan.workload
    }

    /// Returns when the next message falls due, or its script wants to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let coming = self.coming.map(|pending| pending.at);
        // Asked for after every packet, and scripts are seldom.
        if self.scripted.is_none() {
            return coming;
        }
        coming.into_iter().chain(self.script_timeout()).min()
    }

    fn script_timeout(&self) -> Option<Instant> {
        let scripted = self.scripted.as_ref().filter(|_| self.failure.is_none());
        scripted.and_then(|scripted| scripted.script.poll_timeout())
    }

    /// Lets messages fall due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.script_timeout().is_some_and(|at| at <= now)
            && let Some(scripted) = &mut self.scripted
        {
            let told = scripted.script.handle_timeout(now);
            self.take(now, told, None);
        }
        while let Some(mut pending) = self.coming.filter(|pending| pending.at <= now) {
            if let Some(Scripted { script, octets, .. }) = &mut self.scripted {
                let Some(asked) = script.ask(pending.number, pending.at) else {
                    return self.fail("the session with the server is over");
                };
                octets.insert(pending.number, asked.octets);
                (pending.lane, pending.is_timed) = (asked.stream, asked.is_timed);
            }
            self.keep(pending);
            self.queue(pending);
            self.draw();
        }
    }

    fn queue(&mut self, pending: Pending) {
        let lane = &mut self.lanes[usize::from(pending.lane)];
        lane.messages.push_back(pending);
        if lane.messages.len() == 1 && !lane.is_blocked {
            self.heads.push(Reverse((pending.number, pending.lane)));
        }
    }

    /// Returns the next message for the transport; [`defer`](Self::defer) gives it back.
    pub(crate) fn poll_message(&mut self) -> Option<Pending> {
        let Reverse((_, lane)) = self.heads.pop()?;
        let pending = self.lanes[usize::from(lane)].messages.pop_front()?;
        self.show_head(lane);
        Some(pending)
    }

    fn show_head(&mut self, lane: u16) {
        let waiting = &self.lanes[usize::from(lane)];
        if let Some(head) = waiting.messages.front().filter(|_| !waiting.is_blocked) {
            self.heads.push(Reverse((head.number, lane)));
        }
    }

    pub(crate) fn encode(&self, pending: Pending) -> Bytes {
        if let Some(endless) = &self.endless {
            return endless.clone();
        }
        if let Some(scripted) = &self.scripted {
            return scripted.octets.get(&pending.number).cloned().unwrap_or_default();
        }
        let number = MessageNumber(pending.number);
        Message { number, sent: SendTime::from(pending.at), size: self.size_of(pending.number) }.encode()
    }

    fn size_of(&self, number: u64) -> MessageSize {
        let in_turn = usize::try_from(number).unwrap_or(0).checked_rem(self.plan.sizes.len());
        in_turn.map_or(self.plan.size, |index| self.plan.sizes[index])
    }

    /// A message that falls due.
    fn keep(&mut self, pending: Pending) {
        if !self.plan.keeps_samples {
            return;
        }
        let (number, lane, intended) = (MessageNumber(pending.number), Lane(pending.lane), pending.at);
        let (sent, response, blocked) = (None, None, None);
        let sample = Sample { number, lane, intended, sent, response, blocked };
        if pending.is_timed {
            self.samples.push(sample);
        } else if let Some(scripted) = &mut self.scripted {
            scripted.untimed.push(sample);
        }
    }

    /// The transport has taken the message, or took it again on other connections. In bulk the next one is due at once.
    pub(crate) fn commit(&mut self, now: Instant, pending: Pending) {
        if self.is_bulk() {
            self.queue(pending);
        }
        match &mut self.scripted {
            Some(scripted) if pending.number >= FOLLOWING => drop(scripted.octets.remove(&pending.number)),
            Some(_) | None => {
                if let Some(sample) = self.sample_mut(pending.number) {
                    sample.sent.get_or_insert(now);
                }
            }
        }
    }

    fn sample_mut(&mut self, number: u64) -> Option<&mut Sample> {
        let place = |samples: &[Sample]| samples.binary_search_by_key(&number, |sample| sample.number.0).ok();
        if let Some(index) = place(&self.samples) {
            return self.samples.get_mut(index);
        }
        let untimed = &mut self.scripted.as_mut()?.untimed;
        place(untimed).and_then(|index| untimed.get_mut(index))
    }

    /// The transport has no room on the message's lane.
    pub(crate) fn defer(&mut self, pending: Pending) {
        let waiting = &mut self.lanes[usize::from(pending.lane)];
        if !waiting.messages.is_empty() && !waiting.is_blocked {
            self.heads.retain(|Reverse((_, lane))| *lane != pending.lane);
        }
        waiting.messages.push_front(pending);
        waiting.is_blocked = true;
    }

    /// There is room again.
    pub(crate) fn resume(&mut self, lane: u16) {
        let waiting = &mut self.lanes[usize::from(lane)];
        if core::mem::take(&mut waiting.is_blocked) {
            self.show_head(lane);
        }
    }

    pub(crate) fn resume_all(&mut self) {
        (0..self.plan.lanes).for_each(|lane| self.resume(lane));
    }

    /// The first response to a message, on the stream or connection it came on. `blocked` is how long the receiver held
    /// it behind missing predecessors, where the transport knows.
    pub(crate) fn on_response(&mut self, now: Instant, lane: u16, wire: &[u8], blocked: Option<Duration>) {
        if self.scripted.is_some() {
            return self.on_reply(now, lane, wire, blocked);
        }
        let Some(message) = Message::decode(wire).ok().filter(|message| message.number.0 < self.drawn) else {
            self.strange += 1;
            return;
        };
        if self.plan.keeps_samples && !self.is_answer(lane, message) {
            self.strange += 1;
            return;
        }
        self.answered += 1;
        let due = Instant::from_nanos(message.sent.0);
        self.record(now, message.number.0, due, self.is_timed(), blocked);
    }

    /// Returns whether this answers a message that was sent on the lane and has no answer; known where samples are kept.
    fn is_answer(&mut self, lane: u16, message: Message) -> bool {
        let expected = self.size_of(message.number.0);
        self.sample_mut(message.number.0).is_some_and(|sample| {
            let is_same = sample.lane.0 == lane && SendTime::from(sample.intended) == message.sent;
            is_same && message.size == expected && sample.sent.is_some() && sample.response.is_none()
        })
    }

    /// The server replies to a script.
    fn on_reply(&mut self, now: Instant, stream: u16, wire: &[u8], blocked: Option<Duration>) {
        let Some(scripted) = &mut self.scripted else { return };
        let told = scripted.script.handle_response(now, stream, wire, blocked);
        self.take(now, told, blocked);
    }

    /// Takes in what a script has to tell, and queues the messages that follow from it.
    fn take(&mut self, now: Instant, told: Result<Vec<Told>, String>, blocked: Option<Duration>) {
        let told = match told {
            Ok(told) => told,
            Err(because) => return self.fail(because),
        };
        for told in told {
            match told {
                Told::Open => self.start_at(now),
                Told::Done { number, due, is_timed } => {
                    self.done(number);
                    self.record(now, number, due, is_timed, blocked);
                }
                // How long the receipt waited on its way back is nobody's delay.
                Told::Received { number, due, at } => {
                    self.done(number);
                    self.record(at, number, due, true, None);
                }
            }
        }
        while let Some(scripted) = &mut self.scripted
            && let Some(asked) = scripted.script.poll_message()
        {
            let (number, lane) = (FOLLOWING + scripted.followed, asked.stream);
            scripted.followed += 1;
            scripted.octets.insert(number, asked.octets);
            self.queue(Pending { number, lane, at: now, is_timed: asked.is_timed });
        }
    }

    /// A message of a script is answered.
    fn done(&mut self, number: u64) {
        if let Some(scripted) = &mut self.scripted {
            scripted.octets.remove(&number);
        }
        self.answered += 1;
    }

    fn record(
        &mut self,
        now: Instant,
        number: u64,
        due: Instant,
        is_counted: bool,
        blocked: Option<Duration>,
    ) {
        if number >= self.plan.discard && is_counted {
            self.responses.record(now.since(due));
        }
        if let Some(sample) = self.sample_mut(number) {
            (sample.response, sample.blocked) = (Some(now.since(due)), blocked);
        }
    }

    /// The transport ended; nothing more will come.
    pub(crate) fn fail(&mut self, because: impl Into<String>) {
        self.failure.get_or_insert_with(|| because.into());
        self.coming = None;
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns how many messages there were once all fell due and were handed over, and when the last one did; `None`
    /// before that, and for bulk.
    fn sent_all(&self) -> Option<(u64, Instant)> {
        let is_over = self.failure.is_some() || (self.start.is_some() && self.coming.is_none());
        (is_over && !self.is_bulk()).then_some((self.drawn, self.last_due))
    }

    /// Returns whether nothing more is to come: with `completed` messages answered or delivered all are, or the time to wait is
    /// over. Bulk has no end of its own.
    pub(crate) fn is_finished(&self, now: Instant, completed: u64) -> bool {
        // Asked for after every event: mostly there is another message.
        if self.coming.is_some() {
            return false;
        }
        if self.start.is_none() && self.failure.is_none() {
            // A session that nobody opens.
            let patience = self.plan.duration.saturating_add(self.plan.drain);
            return self.begun.is_some_and(|begun| now.since(begun) >= patience);
        }
        self.sent_all().is_some_and(|(sent, last_due)| {
            completed >= sent || self.failure.is_some() || now >= last_due + self.plan.drain
        })
    }

    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    /// Returns how many messages its script sent again by itself.
    pub(crate) fn repeated(&self) -> u64 {
        self.scripted.as_ref().map_or(0, |scripted| scripted.script.repeated())
    }

    /// Returns what became of the calls of its script, if it makes calls.
    pub(crate) fn calls(&self) -> Option<CallCounts> {
        self.scripted.as_ref().and_then(|scripted| scripted.script.calls())
    }

    /// Returns what became of the frames of its script, if it sends frames.
    pub(crate) fn frames(&self) -> Option<FrameCounts> {
        self.scripted.as_ref().and_then(|scripted| scripted.script.frames())
    }

    /// Returns when the first message could fall due, and what came that answered nothing.
    pub(crate) fn facts(&self) -> (Instant, u64) {
        (self.start.unwrap_or_default(), self.strange)
    }

    /// Returns how many messages fell due, the times of those that count, and the samples of those that are timed and of the others.
    pub(crate) fn into_parts(self) -> (u64, Delays, Vec<Sample>, Vec<Sample>) {
        let untimed = self.scripted.map(|scripted| scripted.untimed).unwrap_or_default();
        (self.drawn, self.responses, self.samples, untimed)
    }
}

/// The message that opens the conversation has no number among the others.
const ESTABLISHMENT: u64 = u64::MAX;
/// Messages that follow from others are numbered from here on, beyond all that fall due.
const FOLLOWING: u64 = 1 << 63;
