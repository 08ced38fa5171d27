//! Responses on their way back to the asker.

use sip::{
    Dialog, Essentials, Failure, HeaderName, Method, Request, Response, Status, StatusClass, TransactionId,
};
use virtual_time::Instant;

use super::call::{Call, Side, Step};
use super::ending::Ending;
use super::{Calls, Purpose, forward};

impl Calls {
    pub(super) fn on_response(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        response: Box<Response>,
        essentials: Box<Essentials>,
    ) {
        let Some(purpose) = self.transactions.get(&transaction) else { return };
        match purpose {
            Purpose::Exchange(id, number) => {
                let (id, number) = (*id, *number);
                self.with(now, id, |calls, call| {
                    calls.take_response(now, call, number, response, essentials);
                });
            }
            Purpose::Orphan(..) if response.status.is_final() => {
                if let Some(Purpose::Orphan(request, flow)) = self.transactions.remove(&transaction)
                    && response.status.class() == StatusClass::Success
                {
                    self.hang_up_fork(now, transaction, &request, flow, &response, &essentials);
                }
            }
            Purpose::Orphan(..) | Purpose::Farewell(..) => {}
        }
    }

    /// Accepts a success that nobody wants any more, and ends it (RFC 3261 §13.2.2.4).
    fn hang_up_fork(
        &mut self,
        now: Instant,
        invite: TransactionId,
        request: &Request,
        flow: sip::Flow,
        response: &Response,
        essentials: &Essentials,
    ) {
        let Ok(mut dialog) = Dialog::of_client(request, response, essentials) else { return };
        self.endpoint.acknowledge(invite, dialog.ack(essentials.cseq.number), flow);
        let bye = dialog.request(Method::Bye);
        self.endpoint.request(now, bye, flow);
    }

    /// Accepts and ends what came while the firewall was asked in vain.
    pub(super) fn hang_up_queued(
        &mut self,
        now: Instant,
        invite: TransactionId,
        sent: &Request,
        flow: sip::Flow,
        queue: std::collections::VecDeque<(Box<Response>, Box<Essentials>)>,
    ) {
        for (response, essentials) in queue {
            if response.status.class() == StatusClass::Success {
                self.hang_up_fork(now, invite, sent, flow, &response, &essentials);
            }
        }
    }

    fn take_response(
        &mut self,
        now: Instant,
        call: &mut Call,
        number: u32,
        response: Box<Response>,
        essentials: Box<Essentials>,
    ) {
        let Some(exchange) = call.exchange(number) else { return };
        match &exchange.step {
            _ if response.status == Status::TRYING => {}
            Step::OpenForResponse(waiting, _) if !waiting.status.is_final() => {
                if response.status.is_final() || exchange.queue.len() < MOST_QUEUED {
                    exchange.queue.push_back((response, essentials));
                }
            }
            Step::Forwarded => self.process_response(now, call, number, response, essentials),
            Step::OpenForRequest
            | Step::OpenForResponse(..)
            | Step::Accepted
            | Step::OpenForAck(_)
            | Step::Done => {
                let (sent, client, from) = (exchange.sent.clone(), exchange.client, exchange.from);
                let is_fork = response.status.class() == StatusClass::Success && exchange.is_invite();
                if let (true, Some(sent), Some(client)) = (is_fork, sent, client) {
                    let flow = call.leg(from.other()).flow;
                    self.hang_up_fork(now, client, &sent, flow, &response, &essentials);
                }
            }
        }
    }

    /// Takes what has come while a response waited for the firewall.
    pub(super) fn take_queue(&mut self, now: Instant, call: &mut Call, number: u32) {
        while let Some(exchange) = call.exchange(number)
            && matches!(exchange.step, Step::Forwarded)
            && let Some((response, essentials)) = exchange.queue.pop_front()
        {
            self.process_response(now, call, number, response, essentials);
        }
    }

    fn process_response(
        &mut self,
        now: Instant,
        call: &mut Call,
        number: u32,
        mut response: Box<Response>,
        essentials: Box<Essentials>,
    ) {
        let class = response.status.class();
        if class == StatusClass::Failure {
            return self.pass_failure(now, call, number, &response);
        }
        if class == StatusClass::Success && !self.meet_callee(call, number, &response, &essentials) {
            return self.end(now, call, Ending::BAD_ANSWER, None);
        }
        let Some(exchange) = call.exchange(number) else { return };
        let (side, is_media) = (exchange.from.other(), exchange.has_media());
        if class == StatusClass::Provisional && !self.meet_early(call, number, &response, &essentials) {
            return;
        }
        let Some(exchange) = call.exchange(number) else { return };
        if class == StatusClass::Success && exchange.is_invite() && !exchange.answer_is_in_ack() {
            self.acknowledge(call, number, None);
        }
        if is_media && !response.body.is_empty() {
            let kind = response.headers.first(&HeaderName::ContentType);
            let offered = call.exchange(number).and_then(|exchange| exchange.offered.clone());
            let answered = offered.as_deref().unwrap_or_default();
            let streams = match self.read_answer(call, side, kind, &response.body, answered) {
                Ok(streams) => streams,
                // Ringing is worth being told even without early media, unless its answer counts.
                Err(_) if class == StatusClass::Provisional && !forward::is_reliable(&response) => {
                    self.counters.early_media_refused += 1;
                    forward::strip_body(&mut response);
                    return self.pass_response(now, call, number, &response, &essentials);
                }
                Err(_) => return self.end(now, call, Ending::BAD_MEDIA, None),
            };
            let waits = self.open_for_both(now, call, number, side, &streams, offered);
            call.leg_mut(side).streams = streams;
            if waits {
                if let Some(exchange) = call.exchange(number) {
                    exchange.step = Step::OpenForResponse(response, essentials);
                }
                return;
            }
        }
        self.pass_response(now, call, number, &response, &essentials);
    }

    /// Makes the dialog with the called side from its success, or refreshes the target of the dialog, and returns
    /// whether there is one; without a usable Contact there is none.
    fn meet_callee(
        &mut self,
        call: &mut Call,
        number: u32,
        response: &Response,
        essentials: &Essentials,
    ) -> bool {
        let Some(exchange) = call.exchange(number) else { return false };
        let (side, sent) = (exchange.from.other(), exchange.sent.clone());
        let refreshes_target = exchange.refreshes_target();
        if exchange.request.method == Method::Prack {
            return true;
        }
        let early = if side == Side::B { call.early.take() } else { None };
        let leg = call.leg_mut(side);
        if let Some(dialog) = &mut leg.dialog {
            if refreshes_target {
                dialog.refresh_target(&response.headers);
            }
            return true;
        }
        let dialog = sent.and_then(|sent| Dialog::of_client(&sent, response, essentials).ok());
        let Some(mut dialog) = dialog else { return false };
        if let Some(early) = early.filter(|early| early.remote_tag() == dialog.remote_tag()) {
            dialog.continue_from(&early);
        }
        let (call_id, tag) = (dialog.call_id().to_owned(), dialog.local_tag().to_owned());
        leg.dialog = Some(dialog);
        self.enter(call, side, &call_id, tag);
        true
    }

    /// Makes the dialog in which a reliable provisional response is acknowledged (RFC 3262 §4); returns whether the response is
    /// one to pass on. The caller can acknowledge those of one fork.
    fn meet_early(
        &mut self,
        call: &mut Call,
        number: u32,
        response: &Response,
        essentials: &Essentials,
    ) -> bool {
        if number != 1 || !forward::is_reliable(response) {
            return true;
        }
        let is_first = |(fork, _): &(String, String)| Some(fork.as_str()) == essentials.to.tag();
        if call.is_up || !call.forks.first().is_none_or(is_first) {
            return false;
        }
        if call.early.is_none() {
            let sent = call.exchange(number).and_then(|exchange| exchange.sent.clone());
            call.early = sent.and_then(|sent| Dialog::of_client(&sent, response, essentials).ok());
        }
        call.early.is_some()
    }

    /// Passes a response on that refuses nothing.
    pub(super) fn pass_response(
        &mut self,
        now: Instant,
        call: &mut Call,
        number: u32,
        response: &Response,
        essentials: &Essentials,
    ) {
        let fork = essentials.to.tag().unwrap_or_default();
        let Some(mut passed) = self.response(call, number, response.status, fork) else { return };
        let Some(exchange) = call.exchange(number) else { return };
        let (from, server) = (exchange.from, exchange.server);
        let (is_invite, is_media) = (exchange.is_invite(), exchange.has_media());
        let refreshes_target = exchange.refreshes_target();
        let contact = refreshes_target.then(|| self.contact(call, call.leg(from).flow));
        forward::complete_response(&mut passed, response, contact.as_deref());
        if is_media {
            passed.body = self.translated(call, from.other(), &response.body);
        }
        for route in record_routes(call, number) {
            passed.headers.push(HeaderName::RecordRoute, route);
        }
        let is_success = response.status.class() == StatusClass::Success;
        if is_success && refreshes_target {
            call.expires = forward::session_interval(&response.headers).map(|interval| now + interval);
        }
        if is_success && number == 1 {
            self.answered(now, call, fork);
        }
        self.endpoint.respond(now, server, &passed);
        let Some(exchange) = call.exchange(number) else { return };
        if !is_success {
            exchange.step = Step::Forwarded;
            return;
        }
        exchange.step = if is_invite { Step::Accepted } else { Step::Done };
        let target = (refreshes_target && number != 1).then(|| exchange.request.headers.clone());
        if let Some(target) = target
            && let Some(dialog) = &mut call.leg_mut(from).dialog
        {
            dialog.refresh_target(&target);
        }
        self.commit(call, number);
    }

    /// The call is up: the dialog with the caller is the one of the fork that accepted.
    fn answered(&mut self, now: Instant, call: &mut Call, fork: &str) {
        call.is_up = true;
        call.deadline = Some(now + self.settings.longest_call);
        call.record.answered = Some(now);
        call.record.status = Status::OK.code();
        let setup = now.since(call.record.began);
        call.record.setup = Some(setup);
        self.counters.answered += 1;
        self.counters.setup.add(setup);
        self.counters.firewall.add(call.record.firewall_delay);
        let tag = call.forks.iter().find(|(other, _)| other == fork).map(|(_, tag)| tag.clone());
        let Some(tag) = tag.filter(|tag| *tag != call.a.tag) else { return };
        let Some(exchange) = call.exchange(1) else { return };
        let (request, essentials) = (exchange.request.clone(), exchange.essentials.clone());
        call.a.dialog = Dialog::of_server(&request, &essentials, &tag).ok();
        self.enter(call, Side::A, &essentials.call_id, tag);
    }

    fn pass_failure(&mut self, now: Instant, call: &mut Call, number: u32, response: &Response) {
        if number == 1 {
            return self.end(now, call, Ending::failed(response), None);
        }
        // The other side knows nothing of the call any more (RFC 3261 §12.2.1.2).
        if matches!(response.status, Status::NO_SUCH_CALL | Status::REQUEST_TIMEOUT) {
            return self.end(now, call, Ending::LOST, None);
        }
        let Some(mut passed) = self.response(call, number, response.status, "") else { return };
        forward::complete_response(&mut passed, response, None);
        let Some(exchange) = call.exchange(number) else { return };
        exchange.step = Step::Done;
        let server = exchange.server;
        self.endpoint.respond(now, server, &passed);
        self.close_of_exchange(call, number);
    }

    pub(super) fn on_failed(&mut self, now: Instant, transaction: TransactionId, failure: Failure) {
        let Some(Purpose::Exchange(id, number)) = self.transactions.get(&transaction) else {
            self.transactions.remove(&transaction);
            return;
        };
        let (id, number) = (*id, *number);
        let ending = match failure {
            Failure::Timeout => Ending::SILENT_CALLEE,
            Failure::Transport => Ending::UNREACHABLE_CALLEE,
        };
        self.with(now, id, |calls, call| {
            let is_media = call.exchange(number).is_some_and(|exchange| exchange.is_invite());
            if number == 1 {
                calls.hops.note_failure(now, call.b.flow);
            }
            if number == 1 || is_media || failure == Failure::Timeout {
                calls.end(now, call, ending, None);
            } else {
                let response = Response::new(Status::SERVICE_UNAVAILABLE);
                calls.pass_failure(now, call, number, &response);
            }
        });
    }
}

/// Responses that make a dialog carry the route back (RFC 3261 §12.1.1).
fn record_routes(call: &mut Call, number: u32) -> Vec<String> {
    let Some(exchange) = call.exchange(number).filter(|_| number == 1) else { return Vec::new() };
    exchange.request.headers.all(&HeaderName::RecordRoute).map(str::to_owned).collect()
}

/// Responses that wait while pinholes are being opened; provisional ones beyond that are dropped.
const MOST_QUEUED: usize = 8;
