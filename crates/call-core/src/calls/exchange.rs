//! A request on its way from one side to the other.

use sip::{Flow, HeaderName, Method, Request, Response, Status};
use virtual_time::Instant;

use super::admission::{Denial, SDP};
use super::call::{Call, Side, Step};
use super::ending::Ending;
use super::{Calls, Purpose, forward};
use crate::media::{self, Stream};
use crate::pinhole::Pinhole;

impl Calls {
    /// Opens what media towards the asker need, and passes the request on once that is open.
    pub(super) fn open_for_request(&mut self, now: Instant, call: &mut Call, number: u32) {
        let Some(exchange) = call.exchange(number) else { return };
        let is_media = exchange.has_media();
        let side = exchange.from;
        if is_media && !exchange.request.body.is_empty() {
            let (headers, body) = (exchange.request.headers.clone(), exchange.request.body.clone());
            let streams = match self.read_media(call, side, headers.first(&HeaderName::ContentType), &body) {
                Ok(streams) => streams,
                Err(denial) => return self.deny(now, call, number, &denial),
            };
            let waits = self.open_for_both(now, call, number, side, &streams, None);
            if let Some(exchange) = call.exchange(number) {
                (exchange.has_offer, exchange.offered) = (true, Some(streams));
            }
            if waits {
                return;
            }
        }
        self.forward_request(now, call, number);
    }

    /// Reads a session description of one side, which may name only addresses that it can speak for.
    pub(super) fn read_media(
        &self,
        call: &Call,
        side: Side,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Vec<Stream>, Denial> {
        let kind = content_type.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case(SDP) {
            let reason = "Unsupported Media Type";
            return Err(Denial { status: Status::UNSUPPORTED_MEDIA_TYPE, reason, retry_after: false });
        }
        let not_acceptable = |reason| Denial { status: Status::NOT_ACCEPTABLE, reason, retry_after: false };
        let streams = media::streams(body, self.settings.most_streams).map_err(|error| {
            tracing::info!(call = call.record.call_id, %error, "a session description is refused");
            not_acceptable("Session Description Cannot Be Used")
        })?;
        let peer = call.leg(side).flow.remote.ip();
        for stream in &streams {
            if !self.settings.may_name(peer, stream.address) {
                tracing::warn!(call = call.record.call_id, %peer, media = %stream.address, "media on the other side of the firewall than its signalling are refused");
                return Err(not_acceptable("Media Address on the Other Side of the Firewall"));
            }
            if stream.port < self.settings.lowest_port {
                return Err(not_acceptable("Media Port Too Low"));
            }
        }
        Ok(streams)
    }

    /// Passes the request of an exchange on.
    pub(super) fn forward_request(&mut self, now: Instant, call: &mut Call, number: u32) {
        let Some(exchange) = call.exchange(number) else { return };
        let (to, mut original) = (exchange.from.other(), exchange.request.clone());
        if exchange.has_media() {
            original.body = self.translated(call, to.other(), &original.body);
        }
        let Some(exchange) = call.exchange(number) else { return };
        let hops = exchange.essentials.max_forwards.unwrap_or(70).saturating_sub(1).min(70);
        let flow = self.way(call, to);
        let contact = self.contact(call, flow);
        let Some(mut request) = self.request(call, to, &original) else {
            let reason = "Nothing to Acknowledge";
            let denial = Denial { status: Status::NO_SUCH_CALL, reason, retry_after: false };
            return self.deny(now, call, number, &denial);
        };
        forward::complete(&mut request, &original, hops, &contact);
        let cseq = request.headers.first(&HeaderName::CSeq).and_then(|value| value.split(' ').next());
        let sent_number = cseq.and_then(|number| number.parse().ok()).unwrap_or(1);
        let sent = forward::what_makes_a_dialog(&request);
        let Some(client) = self.endpoint.request(now, request, flow) else {
            let reason = "No Way to the Other Side";
            let denial = Denial { status: Status::SERVICE_UNAVAILABLE, reason, retry_after: false };
            return self.deny(now, call, number, &denial);
        };
        self.transactions.insert(client, Purpose::Exchange(call.id, number));
        if let Some(exchange) = call.exchange(number) {
            exchange.client = Some(client);
            exchange.sent = Some(Box::new(sent));
            exchange.sent_number = sent_number;
            exchange.step = Step::Forwarded;
        }
    }

    /// Creates the request to the other side: within its dialog, or the INVITE that begins one. `None` if it acknowledges
    /// a response that was not passed on.
    fn request(&mut self, call: &mut Call, to: Side, original: &Request) -> Option<Request> {
        if original.method == Method::Prack {
            let number = call.exchange(1)?.sent_number;
            let rack = forward::rack(&original.headers, number)?;
            let mut prack = call.early.as_mut()?.request(Method::Prack);
            prack.headers.push(HeaderName::RAck, rack);
            return Some(prack);
        }
        let leg = call.leg_mut(to);
        Some(match &mut leg.dialog {
            Some(dialog) => dialog.request(original.method.clone()),
            None => forward::first_invite(original, leg, self.endpoint.tag()),
        })
    }

    /// Returns where requests to a side go.
    pub(super) fn way(&self, call: &Call, side: Side) -> Flow {
        let leg = call.leg(side);
        let early = call.early.as_ref().filter(|_| side == Side::B);
        let has_address = |flow: Flow| self.endpoint.address(flow.transport, flow.remote).is_some();
        let dialog = leg.dialog.as_ref().or(early);
        dialog.map_or(leg.flow, |dialog| forward::way(leg, dialog, has_address))
    }

    /// Returns the Contact that a peer is told.
    pub(super) fn contact(&self, call: &Call, flow: Flow) -> String {
        let address = self.endpoint.address(flow.transport, flow.remote);
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        if call.is_sips() {
            return format!("<sips:{address}>");
        }
        format!("<sip:{address}{}>", forward::parameter(flow.transport))
    }

    /// Refuses an exchange before it has been passed on, or instead of its answer; the call ends if it is the first.
    pub(super) fn deny(&mut self, now: Instant, call: &mut Call, number: u32, denial: &Denial) {
        if number == 1 {
            return self.end(now, call, Ending::denied(denial), None);
        }
        self.close_of_exchange(call, number);
        let Some(exchange) = call.exchange(number) else { return };
        let is_answered = exchange.is_answered();
        exchange.step = Step::Done;
        let (server, request) = (exchange.server, exchange.request.clone());
        if !is_answered {
            self.answer(now, server, &request, denial);
        }
    }

    /// The firewall does not open what an exchange needs. A new call, or one whose other side has agreed already, ends; a
    /// change of a call that is up is refused and the call goes on as it was.
    pub(super) fn refuse_exchange(&mut self, now: Instant, call: &mut Call, number: u32) {
        let has_gone = call.exchange(number).is_some_and(|exchange| exchange.client.is_some());
        if number == 1 || has_gone {
            return self.end(now, call, Ending::NO_PINHOLE, None);
        }
        let denial =
            Denial { status: Status::SERVICE_UNAVAILABLE, reason: "Firewall Refuses", retry_after: false };
        self.deny(now, call, number, &denial);
    }

    /// The ACK of the asker came; with the answer in it, if the offer was in the response.
    pub(super) fn on_ack(&mut self, now: Instant, call: &mut Call, number: u32, ack: Box<Request>) {
        let Some(exchange) = call.exchange(number) else { return };
        if !matches!(exchange.step, Step::Accepted) {
            return;
        }
        if !exchange.answer_is_in_ack() {
            return exchange.settle();
        }
        let side = exchange.from;
        // The asker has done its part, whatever becomes of its answer.
        exchange.step = Step::OpenForAck(ack.clone());
        if ack.body.is_empty() {
            return self.pass_ack(call, number, &ack);
        }
        let kind = ack.headers.first(&HeaderName::ContentType).map(str::to_owned);
        let offered = &call.leg(side.other()).streams;
        let Ok(streams) = self.read_answer(call, side, kind.as_deref(), &ack.body, offered) else {
            return self.end(now, call, Ending::BAD_MEDIA, None);
        };
        let waits = self.open_for_both(now, call, number, side, &streams, None);
        if let Some(exchange) = call.exchange(number) {
            exchange.offered = Some(streams);
        }
        if !waits {
            self.pass_ack(call, number, &ack);
        }
    }

    /// Acknowledges to the other side with what the asker's ACK says.
    pub(super) fn pass_ack(&mut self, call: &mut Call, number: u32, ack: &Request) {
        self.acknowledge(call, number, Some(ack));
        self.commit(call, number);
        if let Some(exchange) = call.exchange(number) {
            exchange.settle();
        }
    }

    /// Sends the ACK for a success to the side that was asked.
    pub(super) fn acknowledge(&mut self, call: &mut Call, number: u32, with: Option<&Request>) {
        let Some(exchange) = call.exchange(number) else { return };
        let (to, sent_number) = (exchange.from.other(), exchange.sent_number);
        let Some(client) = exchange.client else { return };
        let flow = self.way(call, to);
        let Some(dialog) = &call.leg(to).dialog else { return };
        let mut ack = dialog.ack(sent_number);
        if let Some(with) = with {
            forward::copy(&with.headers, &mut ack.headers);
            ack.body = self.translated(call, to.other(), &with.body);
        }
        self.endpoint.acknowledge(client, ack, flow);
    }

    /// The exchange has succeeded: its pinholes are the call's, and those that nobody needs any more are closed.
    pub(super) fn commit(&mut self, call: &mut Call, number: u32) {
        let Some(exchange) = call.exchange(number) else { return };
        let (from, offered) = (exchange.from, exchange.offered.take());
        let has_media = exchange.has_media();
        if let Some(streams) = offered {
            call.leg_mut(from).streams = streams;
        }
        for held in call.pinholes.iter_mut().filter(|held| held.exchange == Some(number)) {
            (held.exchange, held.is_kept) = (None, true);
        }
        if !has_media {
            return;
        }
        let all =
            |side: Side| self.needed(call, side, &call.leg(side).streams, &call.leg(side.other()).streams);
        let wanted: Vec<Pinhole> = all(Side::A).into_iter().chain(all(Side::B)).collect();
        self.close(call, |held| {
            held.exchange.is_none() && !wanted.iter().any(|pinhole| held.pinhole.covers(pinhole))
        });
    }

    /// Creates the response to the request of an exchange.
    pub(super) fn response(
        &mut self,
        call: &mut Call,
        number: u32,
        status: Status,
        fork: &str,
    ) -> Option<Response> {
        let tag = if number == 1 { self.fork_tag(call, fork) } else { String::new() };
        let exchange = call.exchange(number)?;
        Some(Response::to(&exchange.request, status, &tag))
    }

    /// Returns the tag that the caller sees for a fork of the called side: each fork is a dialog of its own for the
    /// caller, too (RFC 3261 §12.1).
    fn fork_tag(&mut self, call: &mut Call, fork: &str) -> String {
        if let Some((_, tag)) = call.forks.iter().find(|(other, _)| other == fork) {
            return tag.clone();
        }
        if call.forks.len() >= MOST_FORKS {
            return call.a.tag.clone();
        }
        if call.forks.is_empty() {
            call.forks.push((fork.to_owned(), call.a.tag.clone()));
            return call.a.tag.clone();
        }
        let tag = self.endpoint.tag();
        call.forks.push((fork.to_owned(), tag.clone()));
        tag
    }
}

/// Forks that are told apart.
const MOST_FORKS: usize = 8;
