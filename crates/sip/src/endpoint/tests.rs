//! Two endpoints and a network between them, in virtual time.

mod calls;
mod damage;
mod hostile;
mod rules;
mod torture;

use core::time::Duration;

use bytes::Bytes;

use super::*;
use crate::message::{HeaderName, Request};
use crate::method::Method;
use crate::status::Status;

/// Two endpoints; what one sends the other has ten milliseconds later, unless it is lost.
struct Pair {
    now: Instant,
    sides: [Endpoint; 2],
    transport: Transport,
    under_way: VecDeque<(Instant, usize, Bytes)>,
    /// Decides by receiver and text what is lost.
    is_lost: fn(usize, &str, u64) -> bool,
    /// Messages so far.
    count: u64,
    /// The first line of everything that arrived.
    trace: Vec<(usize, String)>,
}

const A: usize = 0;
const B: usize = 1;

fn address(side: usize) -> SocketAddr {
    ["192.0.2.1:5060", "192.0.2.2:5060"][side].parse().unwrap()
}

fn endpoint(side: usize) -> Endpoint {
    let addresses =
        [Transport::UDP, Transport::TCP, Transport::SCTP].map(|each| (each, address(side))).to_vec();
    Endpoint::new(EndpointConfig::new(addresses), [u8::try_from(side).unwrap(); 32])
}

impl Pair {
    fn new(transport: Transport) -> Self {
        let sides = [endpoint(A), endpoint(B)];
        let (under_way, trace) = (VecDeque::new(), Vec::new());
        Self { now: Instant::EPOCH, sides, transport, under_way, is_lost: |_, _, _| false, count: 0, trace }
    }

    fn flow(&self, side: usize) -> Flow {
        Flow::new(self.transport, address(side))
    }

    fn collect(&mut self) {
        for side in [A, B] {
            while let Some(Transmit { octets, .. }) = self.sides[side].poll_transmit() {
                self.count += 1;
                let text = String::from_utf8(octets.to_vec()).unwrap();
                if !(self.is_lost)(1 - side, &text, self.count) {
                    self.under_way.push_back((self.now + Duration::from_millis(10), 1 - side, octets));
                }
            }
        }
    }

    /// Lets things happen until somebody has an event; `None` if nothing will ever happen.
    fn next(&mut self) -> Option<(usize, Event)> {
        loop {
            for side in [A, B] {
                if let Some(event) = self.sides[side].poll_event() {
                    return Some((side, event));
                }
            }
            self.collect();
            let timeouts = self.sides.iter().filter_map(Endpoint::poll_timeout);
            let arrival = self.under_way.front().map(|(at, _, _)| *at);
            self.now = timeouts.chain(arrival).min()?.max(self.now);
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, to, octets) = self.under_way.pop_front()?;
                let line = String::from_utf8_lossy(&octets).lines().next().unwrap().to_owned();
                self.trace.push((to, line));
                let from = self.flow(1 - to);
                self.sides[to].handle_packet(self.now, from, &octets);
            }
            self.sides.iter_mut().for_each(|side| side.handle_timeout(self.now));
        }
    }

    /// The rest of what happens.
    fn rest(&mut self) -> Vec<(usize, Event)> {
        core::iter::from_fn(|| self.next()).collect()
    }

    /// A sends an INVITE, B gets it.
    fn invite(&mut self) -> (TransactionId, TransactionId, Request) {
        let to = self.flow(B);
        let client = self.sides[A].request(self.now, outside(Method::Invite), to).unwrap();
        match self.next() {
            Some((B, Event::Request { transaction, request, .. })) => (client, transaction, *request),
            other => panic!("{other:?}"),
        }
    }

    fn respond(&mut self, transaction: TransactionId, request: &Request, status: Status) {
        let mut response = Response::to(request, status, "b");
        response.headers.push(HeaderName::Contact, "<sip:b@192.0.2.2>");
        assert!(self.sides[B].respond(self.now, transaction, &response));
    }

    /// How often something arrived whose first line begins so.
    fn arrived(&self, side: usize, start: &str) -> usize {
        self.trace.iter().filter(|(to, line)| *to == side && line.starts_with(start)).count()
    }

    /// Nothing is left of anything.
    fn assert_empty(&self) {
        assert_eq!((self.sides[A].transactions(), self.sides[B].transactions()), (0, 0));
        assert_eq!((self.sides[A].poll_timeout(), self.sides[B].poll_timeout()), (None, None));
    }
}

/// A request outside a dialog, without Via.
fn outside(method: Method) -> Request {
    let mut request = Request::new(method.clone(), "sip:b@192.0.2.2");
    for (name, value) in [
        (HeaderName::MaxForwards, "70".to_owned()),
        (HeaderName::From, "<sip:a@192.0.2.1>;tag=a".to_owned()),
        (HeaderName::To, "<sip:b@192.0.2.2>".to_owned()),
        (HeaderName::CallId, "call".to_owned()),
        (HeaderName::CSeq, format!("1 {method}")),
        (HeaderName::Contact, "<sip:a@192.0.2.1>".to_owned()),
    ] {
        request.headers.push(name, value);
    }
    request
}

/// The ACK that A's dialog would make.
fn ack(tag: &str) -> Request {
    let mut ack = outside(Method::Ack);
    ack.headers.set(&HeaderName::To, format!("<sip:b@192.0.2.2>;tag={tag}"));
    ack
}

fn status(event: &Event) -> u16 {
    let Event::Response { response, .. } = event else { panic!("{event:?}") };
    response.status.code()
}
