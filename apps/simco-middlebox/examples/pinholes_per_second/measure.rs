//! An agent that does nothing but ask: one connection, messages written and read in bulk.

use std::error::Error;
use std::ops::Range;
use std::time::{Duration, Instant};

use simco::{
    AddressTuple, Body, Direction, EnableParameters, EnableParity, EnableRequest, Lifetime, Location,
    Message, PolicyRequest, PolicyRuleId, PositiveReply, Request, TransactionId, TransportProtocol, Version,
};

use crate::wire::{Batch, STREAMS, Transport, Wire};

/// A session, and the rules it has opened with their streams.
#[derive(Debug)]
pub(crate) struct Agent {
    wire: Wire,
    newest: TransactionId,
    rules: Vec<(PolicyRuleId, u16)>,
}

impl Agent {
    /// Connects, as soon as there is somebody.
    pub(crate) fn connect(transport: Transport) -> Result<Self, Box<dyn Error>> {
        let wire = Wire::connect(transport)?;
        let mut agent = Self { wire, newest: TransactionId::new(0), rules: Vec::new() };
        let establishment = Request::SessionEstablishment { version: Version::CURRENT, challenge: None };
        let mut batch = agent.wire.batch();
        agent.encode(&mut batch, 0, establishment)?;
        agent.wire.send(batch)?;
        agent.receive(Expected::Done)?;
        Ok(agent)
    }

    /// Opens pinholes, `window` at a time; how long that took.
    pub(crate) fn open(&mut self, numbers: Range<u32>, window: usize) -> Result<Duration, Box<dyn Error>> {
        let dealt = numbers.map(|number| Ok((pinhole(number)?, stream_of(number))));
        let requests: Vec<_> = dealt.collect::<Result<_, Box<dyn Error>>>()?;
        self.ask(&requests, window, Expected::Opened)
    }

    /// Deletes the rules that were opened last.
    pub(crate) fn delete_newest(&mut self, count: u32, window: usize) -> Result<(), Box<dyn Error>> {
        let rest = self.rules.len().checked_sub(count.try_into()?).ok_or("there are not so many")?;
        let delete = |rule| PolicyRequest::LifetimeChange { rule, lifetime: Lifetime::ZERO };
        let requests: Vec<_> =
            self.rules.drain(rest..).map(|(rule, stream)| (delete(rule), stream)).collect();
        self.ask(&requests, window, Expected::Done).map(|_| ())
    }

    /// Opens pinholes one after the other and deletes them; how long each opening took in milliseconds, sorted.
    pub(crate) fn one_by_one(&mut self, numbers: Range<u32>) -> Result<Vec<f64>, Box<dyn Error>> {
        let mut times = Vec::new();
        for number in numbers {
            let took = self.open(number..number + 1, 1)?;
            self.delete_newest(1, 1)?;
            times.push(took.as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }

    /// Half a window goes out whenever half a window was answered.
    fn ask(
        &mut self,
        requests: &[(PolicyRequest, u16)],
        window: usize,
        expected: Expected,
    ) -> Result<Duration, Box<dyn Error>> {
        let mut batches = Vec::new();
        for part in requests.chunks(window.div_ceil(2)) {
            let mut batch = self.wire.batch();
            for (request, stream) in part {
                self.encode(&mut batch, *stream, Request::Policy(*request))?;
            }
            batches.push((batch, part.len()));
        }
        let start = Instant::now();
        let mut unanswered = 0;
        for (batch, count) in batches {
            while unanswered + count > window {
                unanswered -= self.receive(expected)?;
            }
            self.wire.send(batch)?;
            unanswered += count;
        }
        while unanswered > 0 {
            unanswered -= self.receive(expected)?;
        }
        Ok(start.elapsed())
    }

    fn encode(&mut self, batch: &mut Batch, stream: u16, request: Request<'_>) -> Result<(), Box<dyn Error>> {
        self.newest = self.newest.next();
        let mut octets = Vec::new();
        Message { transaction: self.newest, body: Body::Request(request) }.encode(&mut octets)?;
        batch.push(stream, &octets);
        Ok(())
    }

    /// Takes the replies that come next, all positive; how many there were.
    fn receive(&mut self, expected: Expected) -> Result<usize, Box<dyn Error>> {
        let rules = &mut self.rules;
        self.wire.receive(|stream, message| {
            match expected {
                Expected::Opened => rules.push((opened(message)?, stream)),
                Expected::Done if message[0] == POSITIVE => {}
                Expected::Done => return Err(format!("refused: {message:02x?}").into()),
            }
            Ok(())
        })
    }
}

/// What replies say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    /// Which rule there is.
    Opened,
    Done,
}

/// New rules go round the streams.
fn stream_of(number: u32) -> u16 {
    u16::try_from(number % u32::from(STREAMS)).unwrap_or(0)
}

fn opened(message: &[u8]) -> Result<PolicyRuleId, Box<dyn Error>> {
    let Body::Positive(PositiveReply::Enable(enabled)) = Message::decode(message)?.body else {
        return Err(format!("not opened: {message:02x?}").into());
    };
    Ok(enabled.rule)
}

/// An inbound pinhole from one host and any port outside to a host and port inside: what a SIP call asks for.
fn pinhole(number: u32) -> Result<PolicyRequest, Box<dyn Error>> {
    let [_, high, middle, low] = number.to_be_bytes();
    let udp = TransportProtocol::UDP;
    let request = EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction: Direction::Inbound },
        internal: AddressTuple::host(Location::INTERNAL, udp, [10, high, middle, low].into(), 4000, 1),
        external: AddressTuple::host(Location::EXTERNAL, udp, [203, 0, 113, 9].into(), 0, 1),
        lifetime: Lifetime::from_secs(3600),
        group: None,
    };
    Ok(PolicyRequest::Enable(request))
}

const POSITIVE: u8 = 2;
