//! An agent that does nothing but ask: one TCP connection, messages written and read in bulk.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

use simco::{
    AddressTuple, Body, Direction, EnableParameters, EnableParity, EnableRequest, HEADER_BYTES, Header,
    Lifetime, Location, Message, PolicyRequest, PolicyRuleId, PositiveReply, Request, TransactionId,
    TransportProtocol,
};

/// A session, and the rules it has opened.
#[derive(Debug)]
pub(crate) struct Agent {
    stream: TcpStream,
    newest: TransactionId,
    received: Vec<u8>,
    rules: Vec<PolicyRuleId>,
}

impl Agent {
    /// Connects, as soon as there is somebody.
    pub(crate) fn connect(to: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let start = Instant::now();
        let mut stream = loop {
            match TcpStream::connect(to) {
                Ok(stream) => break stream,
                Err(_) if start.elapsed() < Duration::from_secs(5) => std::thread::yield_now(),
                Err(error) => return Err(format!("nobody at {to}: {error}").into()),
            }
        };
        stream.set_nodelay(true)?;
        stream.write_all(&[1, 1, 0, 8, 0, 0, 0, 1, 0, 1, 0, 4, 3, 0, 0, 0])?;
        let mut agent =
            Self { stream, newest: TransactionId::new(1), received: Vec::new(), rules: Vec::new() };
        agent.receive(1, false)?;
        Ok(agent)
    }

    /// Opens pinholes, `window` at a time; how long that took.
    pub(crate) fn open(&mut self, numbers: Range<u32>, window: usize) -> Result<Duration, Box<dyn Error>> {
        let requests: Vec<PolicyRequest> = numbers.map(pinhole).collect::<Result<_, _>>()?;
        self.ask(&requests, window, true)
    }

    /// Deletes the rules that were opened last.
    pub(crate) fn delete_newest(&mut self, count: u32, window: usize) -> Result<(), Box<dyn Error>> {
        let rest = self.rules.len().checked_sub(count.try_into()?).ok_or("there are not so many")?;
        let delete = |rule| PolicyRequest::LifetimeChange { rule, lifetime: Lifetime::ZERO };
        let requests: Vec<PolicyRequest> = self.rules.drain(rest..).map(delete).collect();
        self.ask(&requests, window, false).map(|_| ())
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
        requests: &[PolicyRequest],
        window: usize,
        opens: bool,
    ) -> Result<Duration, Box<dyn Error>> {
        let half = window.div_ceil(2);
        let batches: Vec<(Vec<u8>, usize)> = requests
            .chunks(half)
            .map(|part| Ok((self.encode(part)?, part.len())))
            .collect::<Result<_, simco::EncodeError>>()?;
        let start = Instant::now();
        let mut unanswered = 0;
        for (octets, count) in &batches {
            if unanswered + count > window {
                self.receive(half, opens)?;
                unanswered -= half;
            }
            self.stream.write_all(octets)?;
            unanswered += count;
        }
        self.receive(unanswered, opens)?;
        Ok(start.elapsed())
    }

    fn encode(&mut self, requests: &[PolicyRequest]) -> Result<Vec<u8>, simco::EncodeError> {
        let mut octets = Vec::new();
        for request in requests {
            self.newest = self.newest.next();
            let body = Body::Request(Request::Policy(*request));
            Message { transaction: self.newest, body }.encode(&mut octets)?;
        }
        Ok(octets)
    }

    /// Takes so many replies, all positive.
    fn receive(&mut self, count: usize, opens: bool) -> Result<(), Box<dyn Error>> {
        let mut missing = count;
        let mut buffer = [0; 1 << 16];
        while missing > 0 {
            let bytes = self.stream.read(&mut buffer)?;
            if bytes == 0 {
                return Err("the middlebox has closed the connection".into());
            }
            self.received.extend_from_slice(&buffer[..bytes]);
            let mut taken = 0;
            while let Ok(header) = Header::decode(&self.received[taken..]) {
                let end = taken + HEADER_BYTES + header.payload_bytes;
                let Some(message) = self.received.get(taken..end) else { break };
                if opens {
                    self.rules.push(opened(message)?);
                } else if message[0] != POSITIVE {
                    return Err(format!("refused: {message:02x?}").into());
                }
                taken = end;
                missing -= 1;
            }
            self.received.drain(..taken);
        }
        Ok(())
    }
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
