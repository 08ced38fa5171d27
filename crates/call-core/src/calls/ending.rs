//! The end of a call, whoever wants it and at whatever stage: both sides are told, pinholes are closed, a record is written.

use sip::{CancelOutcome, Dialog, Flow, HeaderName, Method, Response, Status, TransactionId};
use virtual_time::Instant;

use super::admission::Denial;
use super::call::{Call, Side, Step};
use super::{Calls, Purpose, forward};

/// The reason why a call ends, and the words in which the two sides are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ending {
    /// The status that the caller is told, if the call has not been answered.
    status: Status,
    phrase: &'static str,
    /// The cause in the record and in the metrics.
    cause: &'static str,
    /// The value of Reason (RFC 3326) in BYE and refusals; empty: none.
    reason: &'static str,
    /// The refusal of the called side, which is passed on.
    refusal: Option<Box<Response>>,
}

const fn ending(status: Status, phrase: &'static str, cause: &'static str, reason: &'static str) -> Ending {
    Ending { status, phrase, cause, reason, refusal: None }
}

impl Ending {
    pub(super) const CANCELLED: Self = ending(Status::TERMINATED, "Request Terminated", "cancelled", "");
    pub(super) const NO_ANSWER: Self = ending(Status::UNAVAILABLE, "No Answer", "no_answer", "");
    pub(super) const TOO_LONG: Self =
        ending(Status::OK, "", "too_long", "SIP;cause=408;text=\"Longest Call Reached\"");
    pub(super) const EXPIRED: Self =
        ending(Status::OK, "", "expired", "SIP;cause=408;text=\"Session Was Not Refreshed\"");
    pub(super) const NO_ACK: Self = ending(Status::OK, "", "no_ack", "SIP;cause=408;text=\"No ACK\"");
    pub(super) const LOST: Self =
        ending(Status::OK, "", "lost", "SIP;cause=481;text=\"Other Side Has No Call\"");
    pub(super) const NO_PINHOLE: Self = ending(
        Status::SERVICE_UNAVAILABLE,
        "Firewall Refuses",
        "no_pinhole",
        "Q.850;cause=47;text=\"Firewall Refuses\"",
    );
    pub(super) const BAD_MEDIA: Self = ending(
        Status::NOT_ACCEPTABLE,
        "Answer Cannot Be Used",
        "bad_media",
        "SIP;cause=488;text=\"Session Description Cannot Be Used\"",
    );
    pub(super) const BAD_ANSWER: Self = ending(Status::BAD_GATEWAY, "Bad Answer", "bad_answer", "");
    pub(super) const SILENT_CALLEE: Self = ending(
        Status::REQUEST_TIMEOUT,
        "Other Side Does Not Answer",
        "timeout",
        "SIP;cause=408;text=\"Timeout\"",
    );
    pub(super) const UNREACHABLE_CALLEE: Self = ending(
        Status::SERVICE_UNAVAILABLE,
        "Other Side Cannot Be Reached",
        "unreachable",
        "SIP;cause=503;text=\"Unreachable\"",
    );
    pub(super) const SHUTDOWN: Self =
        ending(Status::SERVICE_UNAVAILABLE, "Going Down", "shutdown", "SIP;cause=503;text=\"Going Down\"");

    /// Creates the ending of a call in which one side has hung up.
    pub(super) const fn bye(side: Side) -> Self {
        let cause = match side {
            Side::A => "bye_of_caller",
            Side::B => "bye_of_callee",
        };
        ending(Status::TERMINATED, "Request Terminated", cause, "")
    }

    /// Creates the ending of a call that the called side has refused.
    pub(super) fn failed(response: &Response) -> Self {
        let cause = match response.status.code() {
            300..=399 => "redirected",
            486 | 600 => "busy",
            487 => "cancelled",
            _ => "refused",
        };
        let refusal = Some(Box::new(response.clone()));
        Self { refusal, ..ending(response.status, "", cause, "") }
    }

    /// Creates the ending of a call that this agent itself refuses.
    pub(super) const fn denied(denial: &Denial) -> Self {
        ending(denial.status, denial.reason, "denied", "")
    }
}

impl Calls {
    /// Ends a call. `by` has hung up itself and is told nothing more.
    pub(super) fn end(&mut self, now: Instant, call: &mut Call, ending: Ending, by: Option<Side>) {
        if call.is_over {
            return;
        }
        call.is_over = true;
        call.record.cause = ending.cause;
        call.record.ended = Some(now);
        self.end_first(now, call, &ending, by);
        for number in call
            .exchanges
            .iter()
            .map(|exchange| exchange.number)
            .filter(|number| *number != 1)
            .collect::<Vec<_>>()
        {
            self.end_exchange(now, call, number);
        }
        self.close(call, |_| true);
        *self.counters.ended.entry(ending.cause).or_default() += 1;
    }

    /// Ends the INVITE of the call and what came of it.
    fn end_first(&mut self, now: Instant, call: &mut Call, ending: &Ending, by: Option<Side>) {
        let Some(exchange) = call.exchange(1) else { return };
        let (server, client, sent) = (exchange.server, exchange.client, exchange.sent.clone());
        let is_acknowledged = matches!(exchange.step, Step::Done | Step::OpenForAck(_));
        let waits_for_answer = exchange.answer_is_in_ack() && !exchange.is_settled();
        let queue = core::mem::take(&mut exchange.queue);
        if !exchange.is_answered() {
            self.refuse_caller(now, call, ending);
        } else if by != Some(Side::A) {
            let flow = self.way(call, Side::A);
            if let Some(dialog) = call.a.dialog.take() {
                self.say_bye(now, (!is_acknowledged).then_some(server), dialog, flow, ending.reason);
            }
        }
        let flow = self.way(call, Side::B);
        // A success has to be acknowledged before it is ended, whatever the answer would have been.
        if call.b.dialog.is_some() && waits_for_answer {
            self.acknowledge(call, 1, None);
        }
        match (call.b.dialog.take(), client, sent) {
            (Some(dialog), _, _) if by != Some(Side::B) => {
                self.say_bye(now, None, dialog, flow, ending.reason);
            }
            (Some(_), _, _) | (None, None, _) | (None, Some(_), None) => {}
            (None, Some(client), Some(sent)) => {
                self.hang_up_queued(now, client, &sent, flow, queue);
                if ending.refusal.is_none() && self.endpoint.cancel(now, client) == CancelOutcome::OnItsWay {
                    self.transactions.insert(client, Purpose::Orphan(sent, flow));
                }
            }
        }
    }

    fn refuse_caller(&mut self, now: Instant, call: &mut Call, ending: &Ending) {
        call.record.status = ending.status.code();
        let Some(mut response) = self.response(call, 1, ending.status, "") else { return };
        match &ending.refusal {
            Some(refusal) => forward::complete_response(&mut response, refusal, None),
            None => ending.phrase.clone_into(&mut response.reason),
        }
        if !ending.reason.is_empty() {
            response.headers.push(HeaderName::Reason, ending.reason);
        }
        if let Some(exchange) = call.exchange(1) {
            let server = exchange.server;
            self.endpoint.respond(now, server, &response);
        }
    }

    /// Sends BYE: at once, or when the ACK for `after` has come or will not come any more.
    fn say_bye(
        &mut self,
        now: Instant,
        after: Option<TransactionId>,
        mut dialog: Dialog,
        flow: Flow,
        reason: &'static str,
    ) {
        if let Some(server) = after {
            self.transactions.insert(server, Purpose::Farewell(Box::new(dialog), flow, reason));
            return;
        }
        let mut bye = dialog.request(Method::Bye);
        if !reason.is_empty() {
            bye.headers.push(HeaderName::Reason, reason);
        }
        self.endpoint.request(now, bye, flow);
    }

    /// The ACK that a BYE has waited for is there, or will never be.
    pub(super) fn say_farewell(&mut self, now: Instant, transaction: TransactionId) {
        if !matches!(self.transactions.get(&transaction), Some(Purpose::Farewell(..))) {
            return;
        }
        if let Some(Purpose::Farewell(dialog, flow, reason)) = self.transactions.remove(&transaction) {
            self.say_bye(now, None, *dialog, flow, reason);
        }
    }

    /// Ends a request within the call that is under way.
    fn end_exchange(&mut self, now: Instant, call: &mut Call, number: u32) {
        let Some(exchange) = call.exchange(number) else { return };
        let (server, client, sent) = (exchange.server, exchange.client, exchange.sent.clone());
        let (is_answered, is_invite) = (exchange.is_answered(), exchange.is_invite());
        if is_answered {
            return;
        }
        let denial = Denial { status: Status::TERMINATED, reason: "Request Terminated", retry_after: false };
        let request = exchange.request.clone();
        let to = exchange.from.other();
        self.answer(now, server, &request, &denial);
        if let (true, Some(client), Some(sent)) = (is_invite, client, sent)
            && self.endpoint.cancel(now, client) == CancelOutcome::OnItsWay
        {
            self.transactions.insert(client, Purpose::Orphan(sent, call.leg(to).flow));
        }
    }

    /// Forgets a call that is over, and hands its record out.
    pub(super) fn put_away(&mut self, call: Call) {
        for exchange in &call.exchanges {
            for transaction in [Some(exchange.server), exchange.client].into_iter().flatten() {
                if matches!(self.transactions.get(&transaction), Some(Purpose::Exchange(..))) {
                    self.transactions.remove(&transaction);
                }
            }
        }
        for key in &call.dialogs {
            self.dialogs.remove(key);
        }
        self.records.push_back(call.record);
    }
}
