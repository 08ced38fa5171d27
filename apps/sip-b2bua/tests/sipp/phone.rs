//! Two telephones of our own, for calls that last as long as a test wants them to: it decides what happens between their steps.

use std::net::UdpSocket;
use std::time::{Duration, Instant as Clock, SystemTime};

use bytes::Bytes;
use sip::{
    Dialog, Endpoint, EndpointConfig, Event, Flow, HeaderName, Method, Request, Response, Status,
    TransactionId, Transport,
};
use virtual_time::Instant;

use crate::agent::PATIENCE;
use crate::network::{AGENT, INSIDE, Network, OUTSIDE, Place};

/// A user agent over UDP.
struct Phone {
    who: Who,
    endpoint: Endpoint,
    socket: UdpSocket,
    start: Clock,
    heard: Vec<Heard>,
}

/// One of the two telephones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    Caller,
    Callee,
}

/// A message that a telephone has sent or received.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) at: SystemTime,
    pub(crate) by: Who,
    pub(crate) is_sent: bool,
    pub(crate) line: String,
}

/// A caller inside and a called side outside.
pub(crate) struct Phones {
    caller: Phone,
    callee: Phone,
    calls: u32,
    /// Final answers that the caller has got, with their Reason.
    answers: Vec<(u16, String)>,
    /// What the called side was asked, method by method.
    asked: Vec<Method>,
    /// The caller's dialog, once a call is up.
    dialog: Option<Dialog>,
    invite: Option<Request>,
    /// An INVITE that the called side has not answered.
    ringing: Option<(TransactionId, Request)>,
    answers_at_once: bool,
    /// The addresses at which caller and called side listen for media.
    listen: [&'static str; 2],
}

impl std::fmt::Display for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let direction = if self.is_sent { "says" } else { "hears" };
        write!(f, "{:?} {direction} {}", self.by, self.line)
    }
}

impl Phone {
    fn new(who: Who, network: &Network, place: Place, own: &str) -> Self {
        let address = format!("{own}:5060");
        let socket = network.within(place, || UdpSocket::bind(&address).unwrap());
        socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        let own = (Transport::UDP, address.parse().unwrap());
        let endpoint = Endpoint::new(EndpointConfig::new(vec![own]), [3; 32]);
        Self { who, endpoint, socket, start: Clock::now(), heard: Vec::new() }
    }

    fn now(&self) -> Instant {
        Instant::EPOCH + self.start.elapsed()
    }

    /// Sends what is to be sent, takes in what has come, and lets time pass.
    fn turn(&mut self) {
        self.flush();
        let mut buffer = [0; 65_535];
        if let Ok((length, remote)) = self.socket.recv_from(&mut buffer) {
            let octets = Bytes::copy_from_slice(&buffer[..length]);
            self.note(false, &octets);
            self.endpoint.handle_packet(self.now(), Flow::new(Transport::UDP, remote), &octets);
        }
        self.endpoint.handle_timeout(self.now());
        self.flush();
    }

    fn flush(&mut self) {
        while let Some(sent) = self.endpoint.poll_transmit() {
            self.note(true, &sent.octets);
            self.socket.send_to(&sent.octets, sent.flow.remote).unwrap();
        }
    }

    fn note(&mut self, is_sent: bool, octets: &[u8]) {
        let line = String::from_utf8_lossy(octets).lines().next().unwrap_or_default().to_owned();
        self.heard.push(Heard { at: SystemTime::now(), by: self.who, is_sent, line });
    }
}

impl Phones {
    pub(crate) fn new(network: &Network) -> Self {
        Self {
            caller: Phone::new(Who::Caller, network, Place::Inside, INSIDE),
            callee: Phone::new(Who::Callee, network, Place::Outside, OUTSIDE),
            calls: 0,
            answers: Vec::new(),
            asked: Vec::new(),
            dialog: None,
            invite: None,
            ringing: None,
            answers_at_once: true,
            listen: [INSIDE, OUTSIDE],
        }
    }

    /// Has both sides listen for media at other addresses than those of their signalling.
    pub(crate) const fn listen_at(&mut self, caller: &'static str, callee: &'static str) {
        self.listen = [caller, callee];
    }

    /// Has the called side ring until [`answer`](Self::answer).
    pub(crate) const fn let_it_ring(&mut self) {
        self.answers_at_once = false;
    }

    /// The caller calls.
    pub(crate) fn call(&mut self) {
        self.calls += 1;
        let mut invite = Request::new(Method::Invite, format!("sip:4711@{AGENT}"));
        for (name, value) in [
            (HeaderName::MaxForwards, "70".to_owned()),
            (HeaderName::From, format!("<sip:a@{INSIDE}>;tag=a{}", self.calls)),
            (HeaderName::To, format!("<sip:4711@{AGENT}>")),
            (HeaderName::CallId, format!("phone-{}", self.calls)),
            (HeaderName::CSeq, "1 INVITE".to_owned()),
            (HeaderName::Contact, format!("<sip:a@{INSIDE}:5060>")),
        ] {
            invite.headers.push(name, value);
        }
        describe(&mut invite.headers, &mut invite.body, self.listen[0], 6_000);
        let now = self.caller.now();
        self.caller.endpoint.request(now, invite.clone(), agent()).unwrap();
        self.invite = Some(invite);
    }

    /// The called side accepts the call that rings.
    pub(crate) fn answer(&mut self) {
        let (transaction, request) = self.ringing.take().unwrap();
        let mut response = Response::to(&request, Status::OK, "b");
        response.headers.push(HeaderName::Contact, format!("<sip:b@{OUTSIDE}:5060>"));
        describe(&mut response.headers, &mut response.body, self.listen[1], 7_000);
        let now = self.callee.now();
        self.callee.endpoint.respond(now, transaction, &response);
    }

    /// The called side refuses the call that rings.
    pub(crate) fn refuse(&mut self) {
        let (transaction, request) = self.ringing.take().unwrap();
        let now = self.callee.now();
        self.callee.endpoint.respond(now, transaction, &Response::to(&request, Status::BUSY, "b"));
    }

    /// Waits until the called side rings; returns the session description that it was offered.
    pub(crate) fn wait_for_offer(&mut self, log: impl Fn() -> String) -> String {
        self.wait(|phones| phones.ringing.is_some(), log);
        let (_, request) = self.ringing.as_ref().unwrap();
        String::from_utf8(request.body.to_vec()).unwrap()
    }

    /// The caller hangs up the call that is up.
    pub(crate) fn hang_up(&mut self) {
        let bye = self.dialog.take().unwrap().request(Method::Bye);
        let now = self.caller.now();
        self.caller.endpoint.request(now, bye, agent()).unwrap();
    }

    /// Waits until the caller has had so many final answers to its calls; returns the last of them, with its Reason.
    pub(crate) fn wait_for_answer(&mut self, count: usize, log: impl Fn() -> String) -> (u16, String) {
        self.wait(|phones| phones.answers.len() >= count, log);
        self.answers[count - 1].clone()
    }

    /// Returns whether the called side was asked this, among other things.
    pub(crate) fn was_asked(&self, method: &Method) -> bool {
        self.asked.contains(method)
    }

    /// Returns whether this is what the called side was asked last.
    pub(crate) fn was_asked_last(&self, method: &Method) -> bool {
        self.asked.last() == Some(method)
    }

    /// Waits until the called side was asked this, and nothing else.
    pub(crate) fn wait_until_asked(&mut self, methods: &[Method], log: impl Fn() -> String) {
        self.wait(|phones| phones.asked == methods, log);
    }

    /// Waits until something holds, while both telephones work.
    pub(crate) fn wait(&mut self, holds: impl Fn(&Self) -> bool, log: impl Fn() -> String) {
        let start = Clock::now();
        while !holds(self) {
            self.turn();
            let heard = || self.heard().iter().map(Heard::to_string).collect::<Vec<_>>().join("\n");
            assert!(start.elapsed() < PATIENCE, "{}\n{}", heard(), log());
        }
    }

    /// Returns everything that was sent and received, in the order of time.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        let mut all = [self.caller.heard.as_slice(), &self.callee.heard].concat();
        all.sort_by_key(|heard| heard.at);
        all
    }

    /// Lets both telephones do what is due.
    pub(crate) fn turn(&mut self) {
        self.caller.turn();
        self.callee.turn();
        while let Some(event) = self.caller.endpoint.poll_event() {
            self.on_event_of_caller(event);
        }
        while let Some(event) = self.callee.endpoint.poll_event() {
            self.on_event_of_callee(event);
        }
        self.caller.flush();
        self.callee.flush();
    }

    fn on_event_of_caller(&mut self, event: Event) {
        match event {
            Event::Response { transaction, response, essentials } if response.status.is_final() => {
                if essentials.cseq.method != Method::Invite {
                    return;
                }
                let reason = response.headers.first(&HeaderName::Reason).unwrap_or_default().to_owned();
                self.answers.push((response.status.code(), reason));
                if response.status == Status::OK {
                    let invite = self.invite.as_ref().unwrap();
                    let dialog = Dialog::of_client(invite, &response, &essentials).unwrap();
                    self.caller.endpoint.acknowledge(transaction, dialog.ack(1), agent());
                    self.dialog = Some(dialog);
                }
            }
            Event::Request { transaction, request, .. } => {
                let now = self.caller.now();
                self.caller.endpoint.respond(now, transaction, &Response::to(&request, Status::OK, ""));
            }
            Event::Response { .. }
            | Event::Failed { .. }
            | Event::Cancelled { .. }
            | Event::Acknowledged { .. }
            | Event::Unacknowledged { .. } => {}
        }
    }

    fn on_event_of_callee(&mut self, event: Event) {
        match event {
            Event::Request { transaction, request, .. } => {
                self.asked.push(request.method.clone());
                if request.method == Method::Invite {
                    let now = self.callee.now();
                    let ringing = Response::to(&request, Status::RINGING, "b");
                    self.callee.endpoint.respond(now, transaction, &ringing);
                    self.ringing = Some((transaction, *request));
                    if self.answers_at_once {
                        self.answer();
                    }
                } else {
                    let now = self.callee.now();
                    self.callee.endpoint.respond(now, transaction, &Response::to(&request, Status::OK, ""));
                }
            }
            Event::Acknowledged { .. } => self.asked.push(Method::Ack),
            Event::Response { .. }
            | Event::Failed { .. }
            | Event::Cancelled { .. }
            | Event::Unacknowledged { .. } => {}
        }
    }
}

fn agent() -> Flow {
    Flow::new(Transport::UDP, format!("{AGENT}:5060").parse().unwrap())
}

fn describe(headers: &mut sip::Headers, body: &mut Bytes, address: &str, port: u16) {
    headers.push(HeaderName::ContentType, "application/sdp");
    let family = if address.contains(':') { "IP6" } else { "IP4" };
    *body = Bytes::from(format!(
        "v=0\r\no=- 1 1 IN {family} {address}\r\ns=-\r\nc=IN {family} {address}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\n"
    ));
}
