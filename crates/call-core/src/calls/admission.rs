//! Requests as they come: which begin a call, which belong to one, which are refused.

use std::collections::BTreeMap;

use sip::{
    Authentication, Authenticator, Dialog, Essentials, Flow, HeaderName, Method, NameAddr, Order, Request,
    Response, SipUri, Status, TransactionId,
};
use virtual_time::Instant;

use super::call::{Call, CallId, Exchange, Leg, Side, Step};
use super::ending::Ending;
use super::record::Record;
use super::{CallSettings, Calls, Purpose};

/// Whom this agent lets begin a call, and how many.
#[derive(Debug)]
pub(super) struct Admission {
    rate: Rate,
    is_draining: bool,
    /// Makes and checks challenges, where callers have to say who they are.
    authenticator: Authenticator,
}

impl Admission {
    pub(super) fn new(settings: &CallSettings, seed: [u8; 32]) -> Self {
        let rate = Rate {
            per_second: settings.calls_per_second,
            left: f64::from(settings.calls_per_second),
            at: Instant::EPOCH,
        };
        let authenticator = Authenticator::new("", BTreeMap::new(), seed);
        let mut admission = Self { rate, is_draining: false, authenticator };
        admission.set(settings);
        admission
    }

    /// Goes by other settings from now on; challenges stay valid.
    pub(super) fn set(&mut self, settings: &CallSettings) {
        self.rate.per_second = settings.calls_per_second;
        if let Some(settings) = &settings.authentication {
            self.authenticator.set_users(&settings.realm, settings.users.clone());
        }
    }

    /// Takes no more calls.
    pub(super) const fn drain(&mut self) {
        self.is_draining = true;
    }
}

/// A bucket of permissions, which fills as time passes; it holds those of one second.
#[derive(Debug)]
struct Rate {
    per_second: u32,
    left: f64,
    at: Instant,
}

impl Rate {
    fn takes(&mut self, now: Instant) -> bool {
        let rate = f64::from(self.per_second);
        self.left = now.since(self.at).as_secs_f64().mul_add(rate, self.left).min(rate);
        self.at = now;
        let is_permitted = self.left >= 1.0;
        if is_permitted {
            self.left -= 1.0;
        }
        is_permitted
    }
}

/// A request of a peer that waits for what becomes of it.
pub(super) struct Asked {
    pub(super) server: TransactionId,
    pub(super) request: Box<Request>,
    pub(super) essentials: Box<Essentials>,
}

/// The reason why a request is refused.
pub(super) struct Denial {
    pub(super) status: Status,
    pub(super) reason: &'static str,
    pub(super) retry_after: bool,
}

/// The proof of who a caller is.
enum Proof {
    /// The caller need not give one.
    Needless,
    /// The caller is this user.
    Of(String),
    /// The caller was asked for one.
    Awaited,
}

const fn denial(status: Status, reason: &'static str) -> Denial {
    Denial { status, reason, retry_after: false }
}

impl Calls {
    pub(super) fn on_request(&mut self, now: Instant, asked: Asked, from: Flow) {
        let Asked { server: transaction, request, essentials } = &asked;
        let transaction = *transaction;
        if let Some(tag) = essentials.to.tag() {
            let found = self.dialogs.get(&(essentials.call_id.clone(), tag.to_owned())).copied();
            let Some((id, side)) = found else {
                return self.answer(
                    now,
                    transaction,
                    request,
                    &denial(Status::NO_SUCH_CALL, "No Such Dialog"),
                );
            };
            return self.on_dialog_request(now, id, side, asked, from);
        }
        match request.method {
            Method::Invite => self.begin(now, asked, from),
            Method::Options => {
                let mut response = Response::to(request, Status::OK, &self.endpoint.tag());
                response.headers.push(HeaderName::Allow, ALLOWED);
                response.headers.push(HeaderName::Other("Accept".into()), SDP);
                self.endpoint.respond(now, transaction, &response);
            }
            Method::Bye | Method::Update | Method::Info | Method::Prack | Method::Notify => {
                self.answer(now, transaction, request, &denial(Status::NO_SUCH_CALL, "No Such Dialog"));
            }
            Method::Ack
            | Method::Cancel
            | Method::Register
            | Method::Message
            | Method::Refer
            | Method::Subscribe
            | Method::Publish
            | Method::Other(_) => self.not_allowed(now, transaction, request),
        }
    }

    pub(super) fn not_allowed(&mut self, now: Instant, transaction: TransactionId, request: &Request) {
        let mut response = Response::to(request, Status::METHOD_NOT_ALLOWED, &self.endpoint.tag());
        response.headers.push(HeaderName::Allow, ALLOWED);
        self.endpoint.respond(now, transaction, &response);
    }

    pub(super) fn answer(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        request: &Request,
        denial: &Denial,
    ) {
        let mut response = Response::to(request, denial.status, &self.endpoint.tag());
        denial.reason.clone_into(&mut response.reason);
        if denial.retry_after {
            response.headers.push(HeaderName::RetryAfter, self.settings.retry_after_s.to_string());
        }
        self.endpoint.respond(now, transaction, &response);
    }

    /// Looks for a proof of who the caller is, and asks for it if the caller has to give one and has not. The proof goes no further.
    fn proof(&mut self, now: Instant, asked: &mut Asked, from: Flow) -> Proof {
        let Some(settings) = &self.settings.authentication else { return Proof::Needless };
        if crate::pinhole::is_inside(&settings.exempt, from.remote.ip()) {
            return Proof::Needless;
        }
        let challenges = match self.admission.authenticator.check(now, &asked.request) {
            Authentication::User(user) => {
                self.admission.authenticator.strip(&mut asked.request);
                return Proof::Of(user);
            }
            Authentication::Challenge(challenges) => challenges,
        };
        *self.counters.refused.entry("no_proof").or_default() += 1;
        let mut response = Response::to(&asked.request, Status::UNAUTHORIZED, &self.endpoint.tag());
        for challenge in challenges {
            response.headers.push(HeaderName::Other("WWW-Authenticate".into()), challenge);
        }
        self.endpoint.respond(now, asked.server, &response);
        Proof::Awaited
    }

    /// Returns whether a request within a call may be taken: who calls proves with each request who it is, and that it is who has called.
    fn may_speak(&mut self, now: Instant, call: &Call, asked: &mut Asked, from: Flow) -> bool {
        match (self.proof(now, asked, from), &call.user) {
            (Proof::Awaited, _) => false,
            (Proof::Of(user), Some(caller)) if user != *caller => {
                *self.counters.refused.entry("not_the_caller").or_default() += 1;
                self.answer(now, asked.server, &asked.request, &denial(Status::FORBIDDEN, "Not the Caller"));
                false
            }
            (Proof::Needless | Proof::Of(_), _) => true,
        }
    }

    fn begin(&mut self, now: Instant, mut asked: Asked, from: Flow) {
        let user = match self.proof(now, &mut asked, from) {
            Proof::Awaited => return,
            Proof::Of(user) => Some(user),
            Proof::Needless => None,
        };
        let Asked { server: transaction, request, essentials } = &asked;
        let transaction = *transaction;
        let refusal = self.reason_to_refuse(now, request, essentials);
        if let Some((label, denial)) = refusal {
            *self.counters.refused.entry(label).or_default() += 1;
            return self.answer(now, transaction, request, &denial);
        }
        let flow = match SipUri::parse(&request.uri).ok().and_then(|uri| self.route(now, &uri)) {
            Some(Some(flow)) => flow,
            Some(None) => {
                *self.counters.refused.entry("no_address").or_default() += 1;
                let reason = "Next Hop Not Found";
                let denial = Denial { status: Status::SERVICE_UNAVAILABLE, reason, retry_after: true };
                return self.answer(now, transaction, request, &denial);
            }
            None => {
                *self.counters.refused.entry("no_route").or_default() += 1;
                return self.answer(now, transaction, request, &denial(Status::NOT_FOUND, "No Route"));
            }
        };
        // Such a call is encrypted on every hop, or it is not made (RFC 3261 §26.2.2, RFC 5630 §3.1.1).
        let is_secure = from.transport.is_secure() && flow.transport.is_secure();
        if SipUri::parse(&request.uri).is_ok_and(|uri| uri.is_secure) && !is_secure {
            *self.counters.refused.entry("sips").or_default() += 1;
            let reason = "No TLS on All of the Way";
            return self.answer(now, transaction, request, &denial(Status::UNSUPPORTED_SCHEME, reason));
        }
        self.counters.begun += 1;
        let id = CallId(self.draw());
        let record =
            Record::new(now, essentials.from.uri.clone(), request.uri.clone(), essentials.call_id.clone());
        let leg = |flow, tag| Leg { dialog: None, flow, tag, streams: Vec::new() };
        let (a_tag, b_tag) = (self.endpoint.tag(), self.endpoint.tag());
        let call = Box::new(Call {
            id,
            a: leg(from, a_tag),
            b: leg(flow, b_tag),
            exchanges: Vec::new(),
            exchanges_so_far: 0,
            pinholes: Vec::new(),
            forks: Vec::new(),
            is_up: false,
            is_over: false,
            deadline: Some(now + self.settings.longest_ringing),
            expires: None,
            early: None,
            user,
            record,
            dialogs: Vec::new(),
        });
        self.calls.insert(id, call);
        self.with(now, id, |calls, call| {
            calls.meet_caller(call, &asked.request, &asked.essentials);
            calls.start_exchange(now, call, Side::A, asked);
        });
    }

    /// The dialog with the caller is there from the first response with a tag on; it may be ended before the call is answered.
    fn meet_caller(&mut self, call: &mut Call, request: &Request, essentials: &Essentials) {
        call.a.dialog = Dialog::of_server(request, essentials, &call.a.tag).ok();
        let tag = call.a.tag.clone();
        self.enter(call, Side::A, &essentials.call_id, tag);
    }

    /// Lets requests of a dialog find their call from now on.
    pub(super) fn enter(&mut self, call: &mut Call, side: Side, call_id: &str, tag: String) {
        let key = (call_id.to_owned(), tag);
        self.dialogs.insert(key.clone(), (call.id, side));
        call.dialogs.push(key);
    }

    /// Forgets requests about which nothing more is due, all but the INVITE of the call.
    fn forget_settled(&mut self, call: &mut Call) {
        let transactions = &mut self.transactions;
        call.exchanges.retain(|exchange| {
            let stays = !exchange.is_settled() || exchange.number == 1;
            if !stays {
                transactions.remove(&exchange.server);
                exchange.client.map(|client| transactions.remove(&client));
            }
            stays
        });
    }

    /// Returns the reason to refuse a new call, if there is one, before anything is remembered of it.
    fn reason_to_refuse(
        &mut self,
        now: Instant,
        request: &Request,
        essentials: &Essentials,
    ) -> Option<(&'static str, Denial)> {
        let busy = |reason| Denial { status: Status::SERVICE_UNAVAILABLE, reason, retry_after: true };
        let contact = request.headers.list(&HeaderName::Contact).unwrap_or_default();
        let is_contact = contact.len() == 1
            && NameAddr::parse(contact[0]).is_some_and(|contact| SipUri::parse(&contact.uri).is_ok());
        if essentials.max_forwards == Some(0) {
            return Some(("too_many_hops", denial(Status::TOO_MANY_HOPS, "Too Many Hops")));
        }
        if !is_contact {
            return Some(("malformed", denial(Status::BAD_REQUEST, "No Usable Contact")));
        }
        if essentials.from.tag().is_none() {
            return Some(("malformed", denial(Status::BAD_REQUEST, "From Has No Tag")));
        }
        if self.admission.is_draining {
            return Some(("draining", busy("Going Down")));
        }
        if self.calls.len() >= self.settings.most_calls {
            return Some(("too_many_calls", busy("Too Many Calls")));
        }
        if !self.admission.rate.takes(now) {
            return Some(("too_fast", busy("Too Many Calls at Once")));
        }
        None
    }

    /// Returns the way of a call: `None` without a route, within it without an address for the next hop.
    pub(super) fn route(&mut self, now: Instant, uri: &SipUri) -> Option<Option<Flow>> {
        let drawn = self.endpoint.number();
        let route = self.settings.routes.iter().find(|route| route.fits(uri))?;
        Some(self.hops.choose(now, &route.to, drawn))
    }

    /// A request within a dialog.
    fn on_dialog_request(&mut self, now: Instant, id: CallId, side: Side, mut asked: Asked, from: Flow) {
        self.with(now, id, |calls, call| {
            // Whoever proves nothing changes nothing, not even where answers go.
            if side == Side::A && !calls.may_speak(now, call, &mut asked, from) {
                return;
            }
            let Asked { server: transaction, request, essentials } = &asked;
            let transaction = *transaction;
            let leg = call.leg_mut(side);
            leg.flow = from;
            let order = leg.dialog.as_mut().map(|dialog| dialog.accept(essentials.cseq.number));
            if order != Some(Order::Next) {
                let denial =
                    Denial { status: Status::INTERNAL_ERROR, reason: "Out of Order", retry_after: true };
                return calls.answer(now, transaction, request, &denial);
            }
            match request.method {
                Method::Bye => {
                    calls.endpoint.respond(now, transaction, &Response::to(request, Status::OK, ""));
                    calls.end(now, call, Ending::bye(side), Some(side));
                }
                Method::Invite | Method::Update if call.is_up => {
                    calls.start_media_exchange(now, call, side, asked);
                }
                Method::Info | Method::Message | Method::Options if call.is_up => {
                    calls.start_exchange(now, call, side, asked);
                }
                Method::Prack if side == Side::A && call.early.is_some() => {
                    calls.start_exchange(now, call, side, asked);
                }
                Method::Prack => {
                    let reason = "Nothing to Acknowledge";
                    calls.answer(now, transaction, request, &denial(Status::NO_SUCH_CALL, reason));
                }
                Method::Invite | Method::Update | Method::Info | Method::Message | Method::Options => {
                    calls.answer(now, transaction, request, &denial(Status::PENDING, "Request Pending"));
                }
                Method::Ack
                | Method::Cancel
                | Method::Register
                | Method::Refer
                | Method::Subscribe
                | Method::Notify
                | Method::Publish
                | Method::Other(_) => calls.not_allowed(now, transaction, request),
            }
        });
    }

    /// A new offer, if none is under way (RFC 3261 §14.2, RFC 3311 §5.2).
    fn start_media_exchange(&mut self, now: Instant, call: &mut Call, side: Side, asked: Asked) {
        let is_media =
            |exchange: &Exchange| matches!(exchange.request.method, Method::Invite | Method::Update);
        let is_pending = |exchange: &&Exchange| is_media(exchange) && !exchange.is_settled();
        match call.exchanges.iter().find(is_pending).map(|exchange| exchange.from) {
            Some(other) if other != side => {
                self.answer(now, asked.server, &asked.request, &denial(Status::PENDING, "Request Pending"));
            }
            Some(_) => {
                let denial =
                    Denial { status: Status::INTERNAL_ERROR, reason: "Request Pending", retry_after: true };
                self.answer(now, asked.server, &asked.request, &denial);
            }
            None => self.start_exchange(now, call, side, asked),
        }
    }

    /// Takes note of a request that is to be passed on, and opens what it needs.
    pub(super) fn start_exchange(&mut self, now: Instant, call: &mut Call, from: Side, asked: Asked) {
        let Asked { server, request, essentials } = asked;
        self.forget_settled(call);
        if call.exchanges.len() >= MOST_EXCHANGES {
            let denial =
                Denial { status: Status::INTERNAL_ERROR, reason: "Too Many Requests", retry_after: true };
            return self.answer(now, server, &request, &denial);
        }
        if request.method == Method::Invite {
            self.endpoint.respond(now, server, &Response::to(&request, Status::TRYING, ""));
        }
        call.exchanges_so_far += 1;
        let number = call.exchanges_so_far;
        self.transactions.insert(server, Purpose::Exchange(call.id, number));
        call.exchanges.push(Exchange {
            number,
            from,
            server,
            request,
            essentials,
            client: None,
            sent: None,
            step: Step::OpenForRequest,
            has_offer: false,
            offered: None,
            queue: std::collections::VecDeque::new(),
            asked_at: None,
            sent_number: 1,
        });
        self.open_for_request(now, call, number);
    }
}

/// The methods that peers may use towards this agent.
pub(super) const ALLOWED: &str = "INVITE, ACK, CANCEL, BYE, OPTIONS, PRACK, UPDATE, INFO, MESSAGE";
/// The type of bodies that it understands.
pub(super) const SDP: &str = "application/sdp";
/// Requests of a call that are under way.
const MOST_EXCHANGES: usize = 8;
