//! The association: what is sent, what comes, and how it ends.

use std::collections::VecDeque;
use std::time::Instant;

use dcsctp::api::{
    DcSctpSocket, ErrorKind, Message, PpId, SendError, SendOptions, SocketEvent, StreamId,
};

use crate::content::{Order, Verification, payload};
use crate::options::{End, Options};

/// The state of a conversation: what happened so far and what is still to do.
pub(crate) struct Conversation<'a> {
    options: &'a Options,
    verification: Verification,
    started: Instant,
    sent: u32,
    received: u32,
    octets: usize,
    wrong: u32,
    /// Answers that the stack had no room for.
    unanswered: VecDeque<Message>,
    reset: Reset,
    is_up: bool,
    is_ending: bool,
    seen: Option<End>,
}

/// How far the reset of streams is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reset {
    NotYet,
    Asked,
    Done,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        Self {
            options,
            verification: Verification::default(),
            started: Instant::now(),
            sent: 0,
            received: 0,
            octets: 0,
            wrong: 0,
            unanswered: VecDeque::new(),
            reset: Reset::NotYet,
            is_up: false,
            is_ending: false,
            seen: None,
        }
    }

    pub(crate) fn note(&mut self, event: SocketEvent) {
        match event {
            SocketEvent::OnConnected() => {
                self.is_up = true;
                self.started = Instant::now();
                println!("{{\"event\":\"up\",\"error\":0}}");
            }
            SocketEvent::OnClosed() => {
                println!("{{\"event\":\"shutdown_complete\"}}");
                let end = if self.is_ending && self.options.end == End::Abort { End::Abort } else { End::Shutdown };
                self.seen = self.seen.or(Some(end));
            }
            SocketEvent::OnAborted(kind, text) => {
                let error = if text.to_lowercase().contains("user-initiated") { 12 } else { 0 };
                println!("{{\"event\":\"lost\",\"error\":{error},\"text\":\"{kind:?}: {text}\"}}");
                self.seen = self.seen.or(Some(End::Abort));
            }
            SocketEvent::OnError(ErrorKind::ResourceExhaustion, _) => {}
            SocketEvent::OnError(kind, text) => {
                println!("{{\"event\":\"remark\",\"text\":\"{kind:?}: {text}\"}}");
            }
            SocketEvent::OnConnectionRestarted() => println!("{{\"event\":\"restart\"}}"),
            SocketEvent::OnStreamsResetPerformed(streams) => {
                self.reset = Reset::Done;
                println!("{{\"event\":\"stream_reset\",\"incoming\":false,\"outgoing\":true,\"ok\":true,\"streams\":{streams:?}}}");
            }
            SocketEvent::OnIncomingStreamReset(streams) => {
                println!("{{\"event\":\"stream_reset\",\"incoming\":true,\"outgoing\":false,\"ok\":true,\"streams\":{streams:?}}}");
            }
            SocketEvent::OnStreamsResetFailed(streams) => {
                println!("{{\"event\":\"stream_reset\",\"incoming\":false,\"outgoing\":true,\"ok\":false,\"streams\":{streams:?}}}");
            }
            SocketEvent::SendPacket(_)
            | SocketEvent::OnBufferedAmountLow(_)
            | SocketEvent::OnTotalBufferedAmountLow()
            | SocketEvent::OnLifecycleMessageFullySent(_)
            | SocketEvent::OnLifecycleMessageMaybeExpired(_)
            | SocketEvent::OnLifecycleMessageExpired(_)
            | SocketEvent::OnLifecycleMessageDelivered(_)
            | SocketEvent::OnLifecycleEnd(_) => {}
        }
    }

    /// Takes what came, and sends what there is room for.
    pub(crate) fn step(&mut self, stack: &mut dyn DcSctpSocket) {
        while let Some(message) = stack.get_next_message() {
            self.take(message);
        }
        self.answer(stack);
        if !self.is_up || self.is_ending || self.seen.is_some() {
            return;
        }
        if !self.options.is_server {
            self.send(stack);
        }
        let is_due = if self.options.is_server { self.received > 0 } else { self.is_through() };
        if is_due && self.options.end != End::Wait && self.unanswered.is_empty() {
            self.is_ending = true;
            match self.options.end {
                End::Shutdown => stack.shutdown(),
                End::Abort => {
                    stack.close();
                    self.seen = Some(End::Abort);
                }
                End::Wait => {}
            }
        }
    }

    fn take(&mut self, message: Message) {
        self.received += 1;
        self.octets += message.payload.len();
        let stream = message.stream_id.0;
        let load = &self.options.load;
        let is_unordered = load.is_unordered;
        if !self.options.is_server && (message.payload.len() != load.bytes || message.ppid != PpId(46)) {
            self.complain(stream, message.payload.len(), "length or payload protocol");
        }
        if !self.options.is_server || self.options.mode.verifies {
            let order = match (is_unordered, load.allows_gaps) {
                (true, _) => Order::Any,
                (false, true) => Order::Gaps,
                (false, false) => Order::Strict,
            };
            if let Some(what) = self.verification.check(stream, &message.payload, order) {
                self.complain(stream, message.payload.len(), what);
            }
        }
        let ends_now = self.options.end != End::Wait;
        if self.options.is_server && self.options.mode.echoes && !ends_now {
            self.unanswered.push_back(message);
        }
    }

    fn complain(&mut self, stream: u16, bytes: usize, what: &str) {
        self.wrong += 1;
        let number = self.received;
        println!("{{\"event\":\"wrong\",\"stream\":{stream},\"message\":{number},\"bytes\":{bytes},\"what\":\"{what}\"}}");
    }

    /// Says how a message was delivered, which dcsctp does not tell: `--unordered` tells the server as well.
    fn how(&self) -> SendOptions {
        let load = &self.options.load;
        SendOptions {
            unordered: load.is_unordered,
            lifetime: load.ttl,
            max_retransmissions: load.retransmissions,
            lifecycle_id: None,
        }
    }

    fn answer(&mut self, stack: &mut dyn DcSctpSocket) {
        while let Some(message) = self.unanswered.pop_front() {
            let again = Message::new(message.stream_id, message.ppid, message.payload.clone());
            match stack.send(again, &self.how()) {
                Ok(()) => self.sent += 1,
                Err(SendError::ResourceExhaustion) => {
                    self.unanswered.push_front(message);
                    return;
                }
                Err(_) => return,
            }
        }
    }

    fn send(&mut self, stack: &mut dyn DcSctpSocket) {
        let load = &self.options.load;
        while self.sent < load.messages && self.may_pass(stack) {
            let stream = u16::try_from(self.sent % u32::from(load.streams)).unwrap_or_default();
            let mut octets = payload(stream, self.sent / u32::from(load.streams), load.bytes);
            if self.sent + 1 == load.spoil
                && let Some(last) = octets.last_mut()
            {
                *last ^= 1;
            }
            if stack.send(Message::new(StreamId(stream), PpId(46), octets), &self.how()).is_err() {
                return;
            }
            self.sent += 1;
        }
    }

    /// Returns whether sending may go on: a reset waits until all that was sent is answered.
    fn may_pass(&mut self, stack: &mut dyn DcSctpSocket) -> bool {
        let Some((after, streams)) = &self.options.load.reset else { return true };
        if self.sent < *after || self.reset == Reset::Done {
            return true;
        }
        if self.reset == Reset::NotYet && self.received == self.sent {
            let streams: Vec<StreamId> = streams.iter().map(|stream| StreamId(*stream)).collect();
            if stack.reset_streams(&streams).is_ok() {
                self.reset = Reset::Asked;
            }
        }
        false
    }

    fn is_through(&self) -> bool {
        let load = &self.options.load;
        self.sent == load.messages && (!load.wants_answers || self.received == load.messages)
    }

    /// Prints the last line when the association has ended: whether all was as expected.
    pub(crate) fn outcome(&mut self) -> Option<bool> {
        let seen = self.seen?;
        if !self.verification.is_complete() && seen == End::Shutdown && !self.options.load.allows_gaps {
            self.complain(0, 0, "an unordered message is missing or double");
        }
        let wanted = if self.options.end == End::Wait { self.options.expect } else { self.options.end };
        let is_complete = self.options.is_server || self.is_through();
        let ok = is_complete && self.wrong == 0 && seen == wanted;
        let end = if seen == End::Abort { "abort" } else { "shutdown" };
        let Self { sent, received, octets, wrong, .. } = self;
        let seconds = self.started.elapsed().as_secs_f64();
        println!(
            "{{\"event\":\"done\",\"ok\":{ok},\"sent\":{sent},\"received\":{received},\"octets\":{octets},\
             \"wrong\":{wrong},\"restarts\":0,\"end\":\"{end}\",\"seconds\":{seconds:.3}}}"
        );
        Some(ok)
    }
}
