//! Two sides who do anything at any time, a network that loses and damages what they say, a firewall of moods: no panic,
//! nothing beyond the limits, nothing left at the end.

#[path = "../../../../sip/src/endpoint/tests/damage.rs"]
mod damage;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use self::damage::damage;
use super::*;

/// The world, and what its inhabitants remember.
struct Chaos {
    world: World,
    dice: Xoshiro256PlusPlus,
    /// Messages of late, of which others are made.
    heard: Vec<Vec<u8>>,
    invites: Vec<TransactionId>,
    /// Successes that the caller has seen.
    answers: Vec<Response>,
    /// Requests that the called side has not finally answered.
    served: Vec<(TransactionId, Request)>,
    /// Damaged messages so far.
    damaged: u32,
    number: u32,
}

const MOST_CALLS: usize = 20;
/// How much of each kind is remembered.
const MEMORY: usize = 16;

/// Remembers one thing more, in the place of the oldest.
fn remember<T>(memory: &mut Vec<T>, thing: T) {
    if memory.len() == MEMORY {
        memory.remove(0);
    }
    memory.push(thing);
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let mut world = World::new();
        world.calls.settings.translators = (!seed.is_multiple_of(2)).then_some(0).into_iter().collect();
        if seed % 4 == 3 {
            // The called side is behind one of its own.
            world.calls.settings.internal.push(vec![Network::new("198.51.100.9".parse().unwrap(), 32)]);
            world.calls.settings.translators.insert(1);
        }
        world.calls.settings.most_calls = MOST_CALLS;
        world.calls.settings.longest_ringing = Duration::from_secs(20);
        Self {
            world,
            dice: Xoshiro256PlusPlus::seed_from_u64(seed),
            heard: vec![invite(OFFER).encode().to_vec()],
            invites: Vec::new(),
            answers: Vec::new(),
            served: Vec::new(),
            damaged: 0,
            number: 1,
        }
    }

    /// What a side says reaches the agent, or is lost, or comes damaged, too.
    fn carry(&mut self, own: &str, octets: &Bytes) {
        let from = Flow::new(Transport::UDP, address(own));
        remember(&mut self.heard, octets.to_vec());
        if self.dice.random_ratio(3, 4) {
            self.damage_and_send(from, octets.to_vec());
        }
        if self.dice.random_ratio(7, 8) {
            self.world.calls.handle_packet(self.world.now, from, octets);
        }
    }

    fn damage_and_send(&mut self, from: Flow, mut octets: Vec<u8>) {
        let others: Vec<&[u8]> = self.heard.iter().map(Vec::as_slice).collect();
        damage(&mut self.dice, &mut octets, &others);
        self.damaged += 1;
        self.world.calls.handle_packet(self.world.now, from, &Bytes::from(octets));
    }

    /// Lets everything happen that happens without time.
    fn settle(&mut self) {
        let mut is_quiet = false;
        while !is_quiet {
            is_quiet = true;
            while let Some(sent) = self.world.calls.poll_transmit() {
                is_quiet = false;
                remember(&mut self.heard, sent.octets.to_vec());
                let (world, from) = (&mut self.world, Flow::new(sent.flow.transport, address(AGENT)));
                let is_caller = sent.flow.remote == address(CALLER);
                let side = if is_caller { &mut world.caller } else { &mut world.callee };
                side.handle_packet(world.now, from, &sent.octets);
            }
            while let Some(sent) = self.world.caller.poll_transmit() {
                is_quiet = false;
                self.carry(CALLER, &sent.octets);
            }
            while let Some(sent) = self.world.callee.poll_transmit() {
                is_quiet = false;
                self.carry(CALLEE, &sent.octets);
            }
            while let Some(demand) = self.world.calls.poll_demand() {
                is_quiet = false;
                self.world.take(demand);
            }
            is_quiet &= !self.react();
        }
        self.check();
    }

    /// The two sides act on what they are told; returns whether they were told anything.
    fn react(&mut self) -> bool {
        let mut is_busy = false;
        while let Some(event) = self.world.caller.poll_event() {
            is_busy = true;
            match event {
                Event::Response { transaction, response, .. } if response.status == Status::OK => {
                    if self.dice.random_ratio(7, 8) {
                        let ack = in_dialog(&response, Method::Ack, 1);
                        let to = Flow::new(Transport::UDP, address(AGENT));
                        self.world.caller.acknowledge(transaction, ack, to);
                    }
                    remember(&mut self.answers, *response);
                }
                Event::Response { response, .. } if response.status.code() == 183 => {
                    remember(&mut self.answers, *response);
                }
                Event::Request { transaction, request, .. } => {
                    let response = Response::to(&request, Status::OK, "");
                    self.world.caller.respond(self.world.now, transaction, &response);
                }
                Event::Response { .. }
                | Event::Failed { .. }
                | Event::Cancelled { .. }
                | Event::Acknowledged { .. }
                | Event::Unacknowledged { .. } => {}
            }
        }
        while let Some(event) = self.world.callee.poll_event() {
            is_busy = true;
            if let Event::Request { transaction, request, .. } = event {
                self.answer(transaction, &request);
                remember(&mut self.served, (transaction, *request));
            }
        }
        is_busy
    }

    /// The called side says something to a request.
    fn answer(&mut self, transaction: TransactionId, request: &Request) {
        let code = [180, 183, 200, 200, 200, 302, 486, 500][self.dice.random_range(0..8)];
        let inside = ANSWER.replace("198.51.100.9", "10.0.0.53");
        let body = ["", ANSWER, ANSWER, &inside][self.dice.random_range(0..4)];
        let mut response = Response::to(request, Status::new(code).unwrap(), "callee");
        if self.dice.random_ratio(7, 8) {
            response.headers.push(HeaderName::Contact, format!("<sip:b@{CALLEE}>"));
        }
        if code == 183 {
            response.headers.push(HeaderName::Require, "100rel");
            response.headers.push(HeaderName::RSeq, "1");
        }
        response.headers.push(HeaderName::SessionExpires, "90");
        add_body(&mut response.headers, &mut response.body, body);
        self.world.callee.respond(self.world.now, transaction, &response);
    }

    /// Somebody does something.
    fn step(&mut self) {
        self.number += 1;
        let (now, to) = (self.world.now, Flow::new(Transport::UDP, address(AGENT)));
        match self.dice.random_range(0..9) {
            0 | 1 => {
                let offer = if self.dice.random() { OFFER } else { "" };
                let mut request = invite(offer);
                request.headers.set(&HeaderName::CallId, format!("call-{}", self.number));
                let id = self.world.caller.request(now, request, to).unwrap();
                remember(&mut self.invites, id);
            }
            2 | 3 if !self.answers.is_empty() => {
                let answer = &self.answers[self.dice.random_range(0..self.answers.len())];
                let methods = [Method::Bye, Method::Invite, Method::Update, Method::Info, Method::Prack];
                let method = methods[self.dice.random_range(0..methods.len())].clone();
                let mut request = in_dialog(answer, method, self.number);
                request.headers.push(HeaderName::RAck, "1 1 INVITE");
                add_body(&mut request.headers, &mut request.body, ["", OFFER][self.dice.random_range(0..2)]);
                self.world.caller.request(now, request, to);
            }
            4 if !self.invites.is_empty() => {
                let invite = self.invites[self.dice.random_range(0..self.invites.len())];
                self.world.caller.cancel(now, invite);
            }
            5 if !self.served.is_empty() => {
                let (id, request) = self.served[self.dice.random_range(0..self.served.len())].clone();
                self.answer(id, &request);
            }
            6 => self.let_time_pass(),
            7 => self.be_a_firewall(),
            _ => {
                let octets = self.heard[self.dice.random_range(0..self.heard.len())].clone();
                let from = [CALLER, CALLEE, "203.0.113.7:9"][self.dice.random_range(0..3)];
                self.damage_and_send(Flow::new(Transport::UDP, address(from)), octets);
            }
        }
        self.settle();
    }

    fn let_time_pass(&mut self) {
        self.world.now += Duration::from_millis(self.dice.random_range(0..4_000));
        let now = self.world.now;
        self.world.calls.handle_timeout(now);
        self.world.caller.handle_timeout(now);
        self.world.callee.handle_timeout(now);
    }

    /// The firewall has another mood from now on, says something late, or loses a pinhole.
    fn be_a_firewall(&mut self) {
        let moods = [Some(Ok(())), Some(Ok(())), Some(Err(Refusal::Refused)), None];
        self.world.verdict = moods[self.dice.random_range(0..moods.len())];
        if self.world.open.is_empty() {
            return;
        }
        let at = self.dice.random_range(0..self.world.open.len());
        let ((id, pinhole), now) = (self.world.open[at], self.world.now);
        if self.dice.random() {
            let mood = self.world.verdict.replace(Ok(()));
            self.world.decide(id, pinhole);
            self.world.verdict = mood;
        } else {
            self.world.open.remove(at);
            self.world.calls.handle_loss(now, id);
        }
    }

    /// Nothing is beyond its limit.
    fn check(&mut self) {
        self.world.trace.clear();
        let calls = &self.world.calls;
        assert!(calls.len() <= MOST_CALLS);
        for call in calls.calls.values() {
            assert!(call.exchanges.len() <= 8 && call.forks.len() <= 8 && call.dialogs.len() <= 10);
            assert!(call.pinholes.len() <= 2 * 8 * 8, "{} pinholes of a call", call.pinholes.len());
        }
        let held: usize = calls.calls.values().map(|call| call.pinholes.len()).sum();
        assert_eq!((held, held), (calls.pinholes.len(), self.world.open.len()));
        assert_eq!(calls.dialogs.len(), calls.calls.values().map(|call| call.dialogs.len()).sum::<usize>());
        assert!(calls.transactions.len() <= calls.endpoint().transactions() + 16 * MOST_CALLS);
        while self.world.calls.poll_record().is_some() {}
    }
}

/// A request of the caller in the dialog of a response.
fn in_dialog(answer: &Response, method: Method, number: u32) -> Request {
    let mut request = within(answer, method, number);
    for name in [HeaderName::From, HeaderName::CallId] {
        request.headers.set(&name, answer.headers.first(&name).unwrap());
    }
    request
}

#[test]
fn calls_survive_a_hundred_thousand_damaged_messages() {
    let count = std::env::var("HEADWAY_SOAK_MESSAGES").map_or(100_000, |count| count.parse().unwrap());
    let mut so_far = 0;
    for seed in 0.. {
        let mut chaos = Chaos::new(seed);
        for _ in 0..2_000 {
            chaos.step();
        }
        let now = chaos.world.now;
        chaos.world.calls.end_all(now);
        chaos.settle();
        chaos.world.assert_nothing_is_left();
        so_far += chaos.damaged;
        if so_far >= count {
            break;
        }
    }
}
