//! A caller, a called side and a firewall around the calls, in virtual time.

mod basic;
mod chaos;
mod extensions;
mod families;
mod faults;
mod hostile;
mod translated;

use core::time::Duration;
use std::net::SocketAddr;

use bytes::Bytes;
use simco::filter::Network;
use sip::{
    Endpoint, EndpointConfig, Event, Flow, HeaderName, Method, NameAddr, Request, Response, SipUri, Status,
    TransactionId, Transport,
};
use virtual_time::Instant;

use super::*;
use crate::pinhole::Source;

/// The caller inside, the called side outside; the agent itself stands inside.
const CALLER: &str = "10.1.8.3:5060";
const AGENT: &str = "10.1.8.1:5060";
const CALLEE: &str = "198.51.100.9:5060";

struct World {
    now: Instant,
    calls: Calls,
    caller: Endpoint,
    callee: Endpoint,
    transport: Transport,
    /// What the firewall says, and when it is asked; `None`: nothing, until the test says it.
    verdict: Option<Result<(), Refusal>>,
    /// How many more requests are granted before one is refused, if a test says so.
    grants: Option<usize>,
    /// The port outside that the translator gives next.
    outside: u16,
    translations: std::collections::BTreeMap<(std::net::IpAddr, u16), SocketAddr>,
    /// Pinholes that the firewall was asked for and that were not closed.
    open: Vec<(PinholeId, Pinhole)>,
    asked: usize,
    /// First lines and demands in the order in which they went, as `who text`.
    trace: Vec<String>,
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn endpoint(own: &str, seed: u8) -> Endpoint {
    let addresses = vec![(Transport::UDP, address(own)), (Transport::TCP, address(own))];
    let extensions = forward::EXTENSIONS.map(str::to_owned).to_vec();
    Endpoint::new(EndpointConfig { extensions, ..EndpointConfig::new(addresses) }, [seed; 32])
}

fn settings(transport: Transport) -> CallSettings {
    let to = NextHop::Address(Flow::new(transport, address(CALLEE)));
    let route = Route { prefix: String::new(), domain: None, to };
    CallSettings::new(vec![route], vec![vec![Network::new("10.0.0.0".parse().unwrap(), 8)]])
}

impl World {
    fn new() -> Self {
        Self::over(Transport::UDP)
    }

    fn over(transport: Transport) -> Self {
        let addresses = vec![(Transport::UDP, address(AGENT)), (Transport::TCP, address(AGENT))];
        Self {
            now: Instant::EPOCH,
            calls: Calls::new(settings(transport), EndpointConfig::new(addresses), [1; 32]),
            caller: endpoint(CALLER, 2),
            callee: endpoint(CALLEE, 3),
            transport,
            verdict: Some(Ok(())),
            grants: None,
            outside: 20_000,
            translations: std::collections::BTreeMap::new(),
            open: Vec::new(),
            asked: 0,
            trace: Vec::new(),
        }
    }

    /// Lets everything happen that happens without time.
    fn settle(&mut self) {
        loop {
            let mut is_quiet = true;
            while let Some(sent) = self.calls.poll_transmit() {
                is_quiet = false;
                self.note("agent", &sent.octets);
                let from = Flow::new(sent.flow.transport, address(AGENT));
                let to =
                    if sent.flow.remote == address(CALLER) { &mut self.caller } else { &mut self.callee };
                to.handle_packet(self.now, from, &sent.octets);
            }
            for (side, own) in [(&mut self.caller, CALLER), (&mut self.callee, CALLEE)] {
                while let Some(sent) = side.poll_transmit() {
                    is_quiet = false;
                    let line = String::from_utf8_lossy(&sent.octets).lines().next().unwrap().to_owned();
                    self.trace.push(format!("{own} {line}"));
                    self.calls.handle_packet(
                        self.now,
                        Flow::new(sent.flow.transport, address(own)),
                        &sent.octets,
                    );
                }
            }
            if !is_quiet {
                continue;
            }
            match self.calls.poll_demand() {
                Some(demand) => self.take(demand),
                None => return,
            }
        }
    }

    fn note(&mut self, who: &str, octets: &Bytes) {
        let line = String::from_utf8_lossy(octets).lines().next().unwrap().to_owned();
        self.trace.push(format!("{who} {line}"));
    }

    fn take(&mut self, demand: Demand) {
        match demand {
            Demand::Open { id, pinhole } => {
                self.asked += 1;
                self.trace.push(format!("open {}", pinhole.towards.address));
                self.open.push((id, pinhole));
                self.decide(id, pinhole);
            }
            Demand::Enable { id, pinhole } => {
                self.trace.push(format!("enable {} {:?}", pinhole.towards.address, pinhole.from));
                let held = self.open.iter_mut().find(|(other, _)| *other == id).unwrap();
                assert!(held.1.is_reservation(), "only what is reserved can be opened");
                held.1 = pinhole;
                self.decide(id, pinhole);
            }
            Demand::Close { id, .. } => {
                let at = self.open.iter().position(|(other, _)| *other == id).unwrap();
                let (_, pinhole) = self.open.remove(at);
                self.trace.push(format!("close {}", pinhole.towards.address));
            }
        }
    }

    /// The firewall says what it has to say about a pinhole; a translator gives each listener one address.
    fn decide(&mut self, id: PinholeId, pinhole: Pinhole) {
        let Some(mut verdict) = self.verdict else { return };
        match &mut self.grants {
            Some(0) => verdict = Err(Refusal::Refused),
            Some(left) => *left -= 1,
            None => {}
        }
        let outside = pinhole.is_translated.then(|| {
            let listener = pinhole.towards;
            let own = match listener.address.is_ipv4() {
                true => ["198.51.100.1", "172.16.0.1"][pinhole.middlebox],
                false => "2001:db8::1",
            };
            *self.translations.entry((listener.address, listener.port)).or_insert_with(|| {
                self.outside += 100;
                SocketAddr::new(own.parse().unwrap(), self.outside)
            })
        });
        self.calls.handle_verdict(self.now, id, verdict.map(|()| outside));
    }

    /// Lets time pass, with all that is due in it.
    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            self.settle();
            let next = [self.calls.poll_timeout(), self.caller.poll_timeout(), self.callee.poll_timeout()];
            let Some(next) = next.into_iter().flatten().min().filter(|at| *at <= end) else { break };
            self.now = next.max(self.now);
            self.calls.handle_timeout(self.now);
            self.caller.handle_timeout(self.now);
            self.callee.handle_timeout(self.now);
        }
        self.now = end;
    }

    /// The caller sends an INVITE with this offer; the called side has it, unless something is in its way.
    fn invite(&mut self, offer: &str) -> TransactionId {
        let to = Flow::new(self.transport, address(AGENT));
        let id = self.caller.request(self.now, invite(offer), to).unwrap();
        self.settle();
        id
    }

    /// The request that the called side has received next.
    fn received(&mut self) -> (TransactionId, Request) {
        loop {
            match self.callee.poll_event() {
                Some(Event::Request { transaction, request, .. }) => return (transaction, *request),
                Some(_) => {}
                None => panic!("no request at the called side: {:#?}", self.trace),
            }
        }
    }

    /// The called side answers with this body.
    fn respond(&mut self, transaction: TransactionId, request: &Request, status: Status, answer: &str) {
        let mut response = Response::to(request, status, "callee");
        response.headers.push(HeaderName::Contact, format!("<sip:b@{CALLEE}>"));
        add_body(&mut response.headers, &mut response.body, answer);
        self.callee.respond(self.now, transaction, &response);
        self.settle();
    }

    /// The final or provisional responses that the caller has got, and the last of them.
    fn told(&mut self) -> (Vec<u16>, Option<Box<Response>>) {
        let (mut codes, mut last) = (Vec::new(), None);
        while let Some(event) = self.caller.poll_event() {
            if let Event::Response { response, .. } = event {
                codes.push(response.status.code());
                last = Some(response);
            }
        }
        (codes, last)
    }

    /// A call that is up and acknowledged; the caller's view of the answer.
    fn up(&mut self) -> (TransactionId, Response) {
        let invite = self.invite(OFFER);
        let (transaction, request) = self.received();
        self.respond(transaction, &request, Status::OK, ANSWER);
        let (codes, answer) = self.told();
        assert_eq!(codes.last(), Some(&200), "{:#?}", self.trace);
        let answer = *answer.unwrap();
        self.acknowledge(invite, &answer);
        (invite, answer)
    }

    fn acknowledge(&mut self, invite: TransactionId, answer: &Response) {
        let ack = within(answer, Method::Ack, 1);
        let to = Flow::new(self.transport, address(AGENT));
        self.caller.acknowledge(invite, ack, to);
        self.settle();
    }

    /// The caller sends a request within the call.
    fn send(&mut self, request: Request) -> TransactionId {
        let to = Flow::new(self.transport, address(AGENT));
        let id = self.caller.request(self.now, request, to).unwrap();
        self.settle();
        id
    }

    /// Nothing is left once all timers are over.
    fn assert_nothing_is_left(&mut self) {
        self.pass(Duration::from_secs(200));
        assert_eq!(
            (self.calls.len(), self.open.len(), self.calls.pinholes()),
            (0, 0, 0),
            "{:#?}",
            self.trace
        );
        assert_eq!(self.calls.endpoint().transactions(), 0);
        assert!(self.calls.transactions.is_empty(), "{:?}", self.calls.transactions);
        assert!(
            self.calls.dialogs.is_empty() && self.calls.armed.is_empty() && self.calls.deadlines.is_empty()
        );
    }

    /// Whether one line of the trace comes before another.
    fn is_before(&self, first: &str, second: &str) -> bool {
        let at = |text: &str| {
            self.trace
                .iter()
                .position(|line| line.contains(text))
                .unwrap_or_else(|| panic!("no {text} in {:#?}", self.trace))
        };
        at(first) < at(second)
    }

    fn cause(&mut self) -> &'static str {
        self.calls.poll_record().map_or("", |record| record.cause)
    }
}

fn add_body(headers: &mut sip::Headers, body: &mut Bytes, text: &str) {
    if !text.is_empty() {
        headers.push(HeaderName::ContentType, "application/sdp");
        *body = Bytes::from(format!("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n{text}").replace('|', "\r\n"));
    }
}

fn invite(offer: &str) -> Request {
    let mut request = Request::new(Method::Invite, "sip:4711@10.1.8.1");
    for (name, value) in [
        (HeaderName::MaxForwards, "70"),
        (HeaderName::From, "\"A\" <sip:a@10.1.8.3>;tag=caller"),
        (HeaderName::To, "<sip:4711@10.1.8.1>"),
        (HeaderName::CallId, "call-of-a"),
        (HeaderName::CSeq, "1 INVITE"),
        (HeaderName::Contact, "<sip:a@10.1.8.3:5060>"),
        (HeaderName::Other("Subject".into()), "news"),
    ] {
        request.headers.push(name, value);
    }
    add_body(&mut request.headers, &mut request.body, offer);
    request
}

/// A request of the caller within the dialog that an answer made.
fn within(answer: &Response, method: Method, number: u32) -> Request {
    let mut request = invite("");
    let to = answer.headers.first(&HeaderName::To).unwrap().to_owned();
    assert!(NameAddr::parse(&to).unwrap().tag().is_some());
    request.headers.set(&HeaderName::To, to);
    request.headers.set(&HeaderName::CSeq, format!("{number} {method}"));
    request.method = method;
    request
}

const OFFER: &str = "c=IN IP4 10.1.8.3|t=0 0|m=audio 6000 RTP/AVP 0|";
const ANSWER: &str = "c=IN IP4 198.51.100.9|t=0 0|m=audio 7000 RTP/AVP 0|";
