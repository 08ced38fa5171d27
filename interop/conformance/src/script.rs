//! A peer without timers or memory: it says what the script says and compares what it hears.

use core::time::Duration;

use sctp_core::Event;

use crate::law::{self, Said};
use crate::packet::{
    ABORT, COOKIE_ACK, COOKIE_ECHO, Chunk, Heard, INIT, INIT_ACK, data, heartbeat, init, packet, sack,
};
use crate::wire::{Arrival, Call, Wire, WireError};

/// A step of a script that went otherwise.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(String);

impl Mismatch {
    /// Creates a mismatch from words.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// Adds the latest packets before it.
    #[must_use]
    pub(crate) fn after(self, peer: &Peer) -> Self {
        let latest = peer.ladder.get(peer.ladder.len().saturating_sub(40)..).unwrap_or_default();
        Self(format!("{}\n{}", self.0, latest.join("\n")))
    }
}

impl From<WireError> for Mismatch {
    fn from(error: WireError) -> Self {
        Self(error.to_string())
    }
}

/// The outcome of a step or a script.
pub type Verdict<T = ()> = Result<T, Mismatch>;

/// The peer that a script plays.
pub struct Peer {
    wire: Box<dyn Wire>,
    /// Everything said and heard, a line each.
    ladder: Vec<String>,
    said: Said,
    /// The address it speaks from, as a position.
    pub from: usize,
    /// The script's port and the stack's.
    pub ports: (u16, u16),
    /// The script's tag, which the stack's packets have to carry.
    pub tag: u32,
    /// The tag that the stack told.
    pub their_tag: u32,
    /// The next TSN of the script.
    pub tsn: u32,
    /// The initial TSN of the stack.
    pub their_tsn: u32,
    /// The window that the script tells.
    pub a_rwnd: u32,
    /// The cookie of the latest INIT ACK.
    pub cookie: Vec<u8>,
}

/// Saying and hearing.
impl Peer {
    pub(crate) fn new(wire: Box<dyn Wire>) -> Self {
        Self {
            wire,
            ladder: Vec::new(),
            said: Said::default(),
            from: 0,
            ports: (PEER_PORT, STACK_PORT),
            tag: 0x1111_1111,
            their_tag: 0,
            tsn: 1000,
            their_tsn: 0,
            a_rwnd: 100_000,
            cookie: Vec::new(),
        }
    }

    /// Sends chunks in a packet with the stack's tag.
    pub fn say(&mut self, chunks: &[Chunk]) -> Verdict {
        self.say_tagged(self.their_tag, chunks)
    }

    /// Sends chunks in a packet with any tag.
    pub fn say_tagged(&mut self, tag: u32, chunks: &[Chunk]) -> Verdict {
        let octets = packet(self.ports, tag, chunks);
        self.say_octets(&octets)
    }

    /// Sends octets as they are.
    pub fn say_octets(&mut self, octets: &[u8]) -> Verdict {
        let packet = Heard::read(0, octets).ok();
        let what = packet.as_ref().map_or_else(|| "?".to_owned(), Heard::kinds);
        self.ladder.push(format!("{:>8} ms  ──► {what}", self.wire.now_ms()));
        packet.iter().for_each(|packet| self.said.note(packet));
        Ok(self.wire.send(self.from, octets)?)
    }

    /// Expects a packet with just these chunks at once, in real time soon.
    pub fn hear(&mut self, kinds: &str) -> Verdict<Heard> {
        self.hear_within(0, kinds)
    }

    /// Expects a packet with just these chunks after at most so many milliseconds.
    pub fn hear_within(&mut self, ms: u64, kinds: &str) -> Verdict<Heard> {
        let Some(arrival) = self.wire.receive(Duration::from_millis(ms)) else {
            return Err(Mismatch(format!("{kinds} was due within {ms} ms, and nothing came")));
        };
        let heard = self.note(&arrival)?;
        if heard.kinds() == kinds {
            return Ok(heard);
        }
        Err(Mismatch(format!("{kinds} was due, and {} came", heard.kinds())))
    }

    /// Expects chunks of these types at once, in any order and in one packet or several.
    pub fn gather(&mut self, kinds: &[u8]) -> Verdict<Vec<Chunk>> {
        let mut chunks: Vec<Chunk> = Vec::new();
        while chunks.len() < kinds.len() {
            let Some(arrival) = self.wire.receive(Duration::ZERO) else {
                return Err(Mismatch(format!("chunks of types {kinds:?} were due, and some did not come")));
            };
            chunks.extend(self.note(&arrival)?.chunks);
        }
        let (mut found, mut wanted): (Vec<u8>, _) =
            (chunks.iter().map(|chunk| chunk.kind).collect(), kinds.to_vec());
        found.sort_unstable();
        wanted.sort_unstable();
        same("the list of chunk types", found, wanted)?;
        Ok(chunks)
    }

    /// Expects a packet after `ms` milliseconds and not before.
    pub fn hear_after(&mut self, ms: u64, kinds: &str) -> Verdict<Heard> {
        self.silence(ms.saturating_sub(1))?;
        self.hear_within(1, kinds)
    }

    /// Returns what comes at once, if anything; in real time, soon.
    pub fn hear_any(&mut self) -> Option<Verdict<Heard>> {
        let arrival = self.wire.overhear(Duration::ZERO)?;
        Some(self.note(&arrival))
    }

    /// Returns the next packet, where it is open what that has; none if nothing more is to come.
    pub fn hear_soon(&mut self) -> Option<Verdict<Heard>> {
        self.hear_later(200)
    }

    /// Returns the next packet within so many milliseconds, whatever it is.
    pub fn hear_later(&mut self, ms: u64) -> Option<Verdict<Heard>> {
        let arrival = self.wire.receive(Duration::from_millis(ms))?;
        Some(self.note(&arrival))
    }

    /// Returns the chunks of what comes at once, up to the packet that has one of this type.
    pub fn gather_with(&mut self, kind: u8) -> Verdict<Vec<Chunk>> {
        let mut chunks: Vec<Chunk> = Vec::new();
        while !chunks.iter().any(|chunk| chunk.kind == kind) {
            let Some(arrival) = self.wire.receive(Duration::ZERO) else {
                return Err(Mismatch(format!("{} was due, and did not come", crate::packet::name(kind))));
            };
            chunks.extend(self.note(&arrival)?.chunks);
        }
        Ok(chunks)
    }

    /// Expects that nothing comes for so many milliseconds.
    pub fn silence(&mut self, ms: u64) -> Verdict {
        match self.wire.overhear(Duration::from_millis(ms)) {
            None => Ok(()),
            Some(arrival) => {
                let heard = self.note(&arrival)?;
                Err(Mismatch(format!("silence was due for {ms} ms, and {} came", heard.kinds())))
            }
        }
    }

    /// Expects that the stack says nothing to what came before: the next it says is the answer to a HEARTBEAT.
    pub fn no_answer(&mut self) -> Verdict {
        self.silence(0)?;
        self.say(&[heartbeat(b"marker")])?;
        self.hear("HEARTBEAT_ACK").map(drop)
    }

    /// Makes the user of the stack do something.
    pub fn call(&mut self, call: Call) -> Verdict {
        self.ladder.push(format!("{:>8} ms      {call:?}", self.wire.now_ms()));
        Ok(self.wire.call(call)?)
    }

    /// Takes out what the user has been told. Only in virtual time.
    pub fn events(&mut self) -> Vec<Event> {
        self.wire.events()
    }

    /// Returns the milliseconds since the script began.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.wire.now_ms()
    }

    fn note(&mut self, arrival: &Arrival) -> Verdict<Heard> {
        let mut heard = Heard::read(arrival.to, &arrival.octets).map_err(Mismatch)?;
        heard.may_be_fragmented = arrival.may_be_fragmented;
        self.ladder.push(format!("{:>8} ms  ◄── {} to {}", self.wire.now_ms(), heard.kinds(), heard.to));
        let Some(rule) = law::broken(&heard, &self.said) else { return Ok(heard) };
        Err(Mismatch(format!("it does not hold that {} (§§{})", rule.requirement, rule.section)))
    }
}

/// Steps that many scripts share.
impl Peer {
    /// Creates an INIT of the peer.
    #[must_use]
    pub fn init_chunk(&self, parameters: &[u8]) -> Chunk {
        init(INIT, self.tag, self.a_rwnd, (10, 10), self.tsn, parameters)
    }

    /// Sends INIT and reads the INIT ACK.
    pub fn init(&mut self, parameters: &[u8]) -> Verdict<Heard> {
        let init = self.init_chunk(parameters);
        self.say_tagged(0, &[init])?;
        let heard = self.hear("INIT_ACK")?;
        let ack = chunk(&heard, INIT_ACK)?;
        (self.their_tag, self.their_tsn) = (ack.u32(0), ack.u32(12));
        self.cookie = ack.item(16, STATE_COOKIE).ok_or_else(|| Mismatch::new("INIT ACK without a cookie"))?;
        Ok(heard)
    }

    /// Returns the COOKIE ECHO that goes with the latest INIT ACK.
    #[must_use]
    pub fn cookie_echo(&self) -> Chunk {
        Chunk::new(COOKIE_ECHO, self.cookie.clone())
    }

    /// Opens an association from the side of the script.
    pub fn establish(&mut self) -> Verdict {
        self.init(&[])?;
        let echo = self.cookie_echo();
        self.say(&[echo])?;
        self.hear("COOKIE_ACK").map(drop)
    }

    /// Makes the user open an association, and reads the INIT: the stack is in COOKIE-WAIT.
    pub fn be_called(&mut self) -> Verdict<Heard> {
        self.call(Call::Connect)?;
        let heard = self.hear("INIT")?;
        let init = chunk(&heard, INIT)?;
        (self.their_tag, self.their_tsn) = (init.u32(0), init.u32(12));
        Ok(heard)
    }

    /// Sends an INIT ACK with the cookie "cookie", and other parameters before it.
    pub fn init_ack(&mut self, parameters: &[u8]) -> Verdict {
        let parameters = [parameters, &crate::packet::item(STATE_COOKIE, b"cookie")].concat();
        let ack = init(INIT_ACK, self.tag, self.a_rwnd, (10, 10), self.tsn, &parameters);
        self.say(&[ack])
    }

    /// Answers the user's call up to COOKIE-ECHOED.
    pub fn be_echoed(&mut self) -> Verdict<Heard> {
        self.be_called()?;
        self.init_ack(&[])?;
        self.hear("COOKIE_ECHO")
    }

    /// Answers the user's call until the association is established.
    pub fn accept(&mut self) -> Verdict {
        self.be_echoed()?;
        self.say(&[Chunk::new(COOKIE_ACK, [])])
    }

    /// Creates a DATA chunk with the next TSN: a whole ordered message.
    pub fn next_data(&mut self, stream: u16, ssn: u16, payload: &[u8]) -> Chunk {
        let chunk = data(self.tsn, stream, ssn, payload);
        self.tsn = self.tsn.wrapping_add(1);
        chunk
    }

    /// Creates a SACK for the first `count` DATA chunks of the stack.
    #[must_use]
    pub fn sack(&self, count: u32) -> Chunk {
        sack(self.their_tsn.wrapping_add(count).wrapping_sub(1), self.a_rwnd, &[])
    }

    /// Sends the first DATA chunk and reads its SACK, which is not delayed.
    pub fn begin_data(&mut self) -> Verdict {
        let first = self.next_data(0, 0, b"first").flagged(crate::packet::WHOLE | crate::packet::IMMEDIATE);
        self.say(&[first])?;
        self.hear("SACK").map(drop)
    }

    /// Brings the stack to SHUTDOWN-SENT.
    pub fn be_shut_down(&mut self) -> Verdict<Heard> {
        self.establish()?;
        self.call(Call::Shutdown)?;
        self.hear("SHUTDOWN")
    }

    /// Brings the stack to SHUTDOWN-ACK-SENT.
    pub fn shut_down(&mut self) -> Verdict<Heard> {
        self.establish()?;
        let shutdown = crate::packet::shutdown(self.their_tsn.wrapping_sub(1));
        self.say(&[shutdown])?;
        self.hear("SHUTDOWN_ACK")
    }

    /// Checks that the association is still there: a HEARTBEAT is answered.
    pub fn lives(&mut self) -> Verdict {
        self.say(&[heartbeat(b"alive")])?;
        self.hear("HEARTBEAT_ACK").map(drop)
    }

    /// Checks that there is no association any more: a HEARTBEAT is answered by ABORT with its own tag.
    pub fn is_gone(&mut self) -> Verdict {
        self.say(&[heartbeat(b"gone?")])?;
        let heard = self.hear("ABORT")?;
        same("the T bit", chunk(&heard, ABORT)?.flags & 1, 1)?;
        same("the reflected tag", heard.tag, self.their_tag)
    }
}

/// Returns the first chunk of a type, or what is missing.
pub fn chunk(heard: &Heard, kind: u8) -> Verdict<&Chunk> {
    heard.chunk(kind).ok_or_else(|| Mismatch::new(format!("there is no {}", crate::packet::name(kind))))
}

/// Compares; says what differs.
pub fn same<T: PartialEq + core::fmt::Debug>(what: &str, found: T, wanted: T) -> Verdict {
    if found == wanted {
        return Ok(());
    }
    Err(Mismatch::new(format!("{what} is {found:?}; it has to be {wanted:?}")))
}

/// Says what does not hold, if it does not.
pub fn holds(what: &str, does: bool) -> Verdict {
    if does { Ok(()) } else { Err(Mismatch::new(format!("it does not hold that {what}"))) }
}

/// The parameter of an INIT ACK.
pub const STATE_COOKIE: u16 = 7;
/// The SCTP port of the script.
pub const PEER_PORT: u16 = 5001;
/// The SCTP port of the stack.
pub const STACK_PORT: u16 = 7626;
