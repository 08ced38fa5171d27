//! One association: what comes is counted, compared and perhaps answered, then one side ends it.

use std::time::Instant;

use bytes::Bytes;
use sctp::{Association, CommunicationLost, Delivery, Event, Message, PayloadProtocolId, StreamId};

use crate::actions::{Acted, Action};
use crate::content::{Verification, Wrong, payload};
use crate::options::{End, EndOptions, Load, Mode};
use crate::report::{Line, ending};

/// An association and what happened on it so far.
#[derive(Debug)]
pub(crate) struct Conversation {
    association: Association,
    verification: Verification,
    tally: Tally,
    started: Instant,
    /// The acts that are still to be done in the middle, the next one last.
    actions: Vec<Action>,
    actions_failed: u32,
    /// The last event was handed out.
    is_told_all: bool,
}

/// The counts of a conversation.
#[derive(Debug, Default)]
struct Tally {
    sent: u64,
    received: u64,
    octets: u64,
    wrong: u64,
    restarts: u32,
}

/// The use of the messages that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    Verify,
    Echo,
    EchoAndVerify,
}

impl Conversation {
    pub(crate) fn new(association: Association, options: &EndOptions) -> Self {
        Self {
            association,
            verification: Verification::new(options.gaps),
            actions: options.actions.iter().rev().cloned().collect(),
            actions_failed: 0,
            tally: Tally::default(),
            started: Instant::now(),
            is_told_all: false,
        }
    }

    /// Plays the server's part; says whether all was as expected.
    pub(crate) async fn serve(mut self, options: &EndOptions, mode: Mode, finish: End) -> bool {
        let answers = match mode {
            Mode::Echo => Answers::Echo,
            Mode::Verify => Answers::Verify,
            Mode::Both => Answers::EchoAndVerify,
        };
        if finish != End::Wait
            && let Ok(Some(first)) = self.next().await
        {
            self.count(&first);
        }
        let end = self.finish(options, finish, answers).await;
        self.conclude(options, finish, end.as_ref(), true)
    }

    /// Plays the client's part; says whether all was as expected.
    pub(crate) async fn send(mut self, options: &EndOptions, load: &Load, finish: End) -> bool {
        let due = u64::from(load.messages);
        while let Some(action) = self.actions.pop() {
            self.exchange(load, action.after.min(due)).await;
            self.act_and_wait(&action).await;
        }
        self.exchange(load, due).await;
        let is_complete = self.tally.sent == due && (load.no_answers || self.tally.received == due);
        let end = self.finish(options, finish, Answers::Verify).await;
        self.conclude(options, finish, end.as_ref(), is_complete)
    }

    /// Acts, and sends nothing until an event tells what became of it.
    async fn act_and_wait(&mut self, action: &Action) {
        match action.act(&self.association).await {
            Acted::Done => return,
            Acted::Failed => {
                self.actions_failed += 1;
                return;
            }
            Acted::Asked => {}
        }
        let association = self.association.clone();
        while let Some(event) = association.next_event().await {
            self.note(&event);
            if let Some(is_done) = action.outcome(&event) {
                self.actions_failed += u32::from(!is_done);
                return;
            }
        }
        self.actions_failed += 1;
    }

    /// A server acts when the messages have come, and does not wait for what becomes of it.
    async fn act_if_due(&mut self) {
        while let Some(action) = self.actions.pop_if(|action| action.after <= self.tally.received) {
            self.actions_failed += u32::from(action.act(&self.association).await == Acted::Failed);
        }
    }

    /// Sends as long as there is room, until `due` are sent and answered, and reads meanwhile, so that neither end can fill
    /// up.
    async fn exchange(&mut self, load: &Load, due: u64) {
        let association = self.association.clone();
        let mut waiting = None;
        while self.tally.sent < due || (!load.no_answers && self.tally.received < due) {
            let is_sending = self.tally.sent < due;
            let message = waiting.get_or_insert_with(|| numbered(self.tally.sent, load)).clone();
            tokio::select! {
                biased;
                received = self.next() => match received {
                    Ok(Some(answer)) => self.take_answer(&answer, load),
                    Ok(None) | Err(_) => return,
                },
                outcome = association.send(message), if is_sending => {
                    if outcome.is_err() {
                        return; // the association ended; reading on tells how
                    }
                    self.tally.sent += 1;
                    waiting = None;
                }
            }
        }
    }

    fn take_answer(&mut self, answer: &Message, load: &Load) {
        self.count(answer);
        let is_framed = answer.payload.len() == load.bytes
            && answer.ppid.get() == load.ppid
            && answer.delivery == delivery(load);
        if !is_framed {
            self.complain(answer, Wrong::Frame);
        }
        self.verify(answer);
    }

    /// Receives the next message; events on the way are printed. Cancellation-safe.
    ///
    /// Events come first: after a restart the peer's messages are numbered from zero again.
    async fn next(&mut self) -> Result<Option<Message>, CommunicationLost> {
        let association = self.association.clone();
        loop {
            tokio::select! {
                biased;
                event = association.next_event(), if !self.is_told_all => match event {
                    Some(event) => self.note(&event),
                    None => self.is_told_all = true,
                },
                received = association.recv() => return Ok(received?.map(|received| received.message.into())),
            }
        }
    }

    fn note(&mut self, event: &Event) {
        if matches!(event, Event::Restart { .. }) {
            self.tally.restarts += 1;
            self.verification.restart();
        }
        if let Some(line) = Line::of(event) {
            line.print();
        }
    }

    /// Finishes as told; what still comes meanwhile counts. `None`: this end vanishes.
    async fn finish(
        &mut self,
        options: &EndOptions,
        finish: End,
        answers: Answers,
    ) -> Option<Result<(), CommunicationLost>> {
        let association = self.association.clone();
        let end = match finish {
            End::Vanish => return None,
            End::Wait => self.read_on(answers).await,
            End::Shutdown => tokio::join!(association.shutdown(), self.read_on(answers)).1,
            End::Abort => {
                association.abort(options.reason.as_bytes());
                self.read_on(answers).await
            }
        };
        while let Some(event) = association.next_event().await {
            self.note(&event);
        }
        Some(end)
    }

    /// Reads to the end of the association.
    async fn read_on(&mut self, answers: Answers) -> Result<(), CommunicationLost> {
        while let Some(message) = self.next().await? {
            self.count(&message);
            self.act_if_due().await;
            if answers != Answers::Echo {
                self.verify(&message);
            }
            // When nothing more can be sent, reading on tells why.
            if answers != Answers::Verify && self.association.send(message).await.is_ok() {
                self.tally.sent += 1;
            }
        }
        Ok(())
    }

    fn count(&mut self, message: &Message) {
        self.tally.received += 1;
        self.tally.octets += message.payload.len() as u64;
    }

    fn verify(&mut self, message: &Message) {
        if let Err(wrong) = self.verification.check(message) {
            self.complain(message, wrong);
        }
    }

    fn complain(&mut self, message: &Message, wrong: Wrong) {
        self.tally.wrong += 1;
        let line = Line::Wrong {
            stream: message.stream.get(),
            message: self.tally.received,
            bytes: message.payload.len(),
            what: wrong.to_string(),
        };
        line.print();
    }

    /// Prints the last line: whether all was as expected.
    fn conclude(
        mut self,
        options: &EndOptions,
        finish: End,
        end: Option<&Result<(), CommunicationLost>>,
        is_complete: bool,
    ) -> bool {
        if end.is_none_or(Result::is_ok) {
            for stream in self.verification.incomplete().collect::<Vec<_>>() {
                self.complain(&Message::unordered(stream, Bytes::new()), Wrong::Missing);
            }
        }
        let seen = end.map_or("vanish", ending);
        let wanted = match if finish == End::Wait { options.expect } else { finish } {
            End::Wait | End::Shutdown => "shutdown",
            End::Abort => "abort",
            End::Vanish => "vanish",
        };
        let Tally { sent, received, octets, wrong, restarts } = self.tally;
        let has_acted = self.actions.is_empty() && self.actions_failed == 0;
        let ok = is_complete && has_acted && wrong == 0 && seen == wanted && restarts == options.restarts;
        let seconds = self.started.elapsed().as_secs_f64();
        Line::Done { ok, sent, received, octets, wrong, restarts, end: seen, seconds }.print();
        if finish == End::Vanish {
            // Any destructor would say goodbye to the peer.
            std::process::exit(i32::from(!ok));
        }
        ok
    }
}

/// Creates number `number` of a load: dealt round robin over the streams.
fn numbered(number: u64, load: &Load) -> Message {
    let streams = u64::from(load.streams);
    let stream = StreamId::new(u16::try_from(number % streams).unwrap_or_default());
    let index = u32::try_from(number / streams).unwrap_or(u32::MAX);
    let mut octets = payload(stream, index, load.bytes);
    if number + 1 == u64::from(load.spoil)
        && let Some(last) = octets.last_mut()
    {
        *last ^= 1;
    }
    let ppid = PayloadProtocolId::new(load.ppid);
    Message { reliability: load.pr, ..Message::new(stream, delivery(load), octets).with_ppid(ppid) }
}

fn delivery(load: &Load) -> Delivery {
    if load.unordered { Delivery::Unordered } else { Delivery::Ordered }
}
