//! The clients: an endpoint without IO for each association, and the loop that drives them all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant as Clock};

use bytes::Bytes;
use sctp_core::{
    AssociationId, Datagram, Destination, Ecn, Encapsulation, Endpoint, EndpointConfig, Event,
    IncomingPolicy, Message, SctpPort, StreamId, Transmit,
};
use virtual_time::Instant;

use super::Failure;
use super::server::PORT;

/// Clients at one address: each has an SCTP port of its own.
pub(super) const OF_SOCKET: usize = 60_000;

/// All clients, and what they have in common.
pub(super) struct Clients {
    begun: Clock,
    server: SocketAddr,
    sockets: Vec<UdpSocket>,
    all: Vec<Client>,
    /// When a client may have something to do, at the latest.
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The clients that are up.
    up: usize,
    /// Who has an echo, and when the request was to leave, in nanoseconds of the clock.
    echoes: Vec<(usize, u64)>,
    buffer: Vec<u8>,
    packets: Vec<u8>,
    transmits: Vec<Transmit>,
}

/// One client with one association.
struct Client {
    endpoint: Endpoint,
    id: Option<AssociationId>,
    /// The alarm that is set for it, the earliest one if there are several.
    alarm: Option<Instant>,
}

impl Clients {
    /// Creates so many clients, none of which has an association yet.
    pub(super) fn new(server: SocketAddr, count: usize) -> Result<Self, Failure> {
        let sockets = (0..count.div_ceil(OF_SOCKET)).map(socket).collect::<Result<_, _>>()?;
        let all = (0..count).map(Client::new).collect::<Result<_, _>>()?;
        Ok(Self {
            begun: Clock::now(),
            server,
            sockets,
            all,
            alarms: BinaryHeap::new(),
            up: 0,
            echoes: Vec::new(),
            buffer: vec![0; 65_536],
            packets: Vec::new(),
            transmits: Vec::new(),
        })
    }

    /// Sets up all associations, a number of them at once, and returns how long that took.
    pub(super) fn connect(&mut self) -> Result<Duration, Failure> {
        let begun = Clock::now();
        let mut asked = 0;
        while self.up < self.all.len() {
            while asked < self.all.len() && asked - self.up < AT_ONCE {
                self.open(asked)?;
                asked += 1;
            }
            if !self.turn()? && begun.elapsed() > PATIENCE {
                return Err(format!(
                    "{} of {} associations are up after {PATIENCE:?}",
                    self.up,
                    self.all.len()
                )
                .into());
            }
        }
        Ok(begun.elapsed())
    }

    /// Does what time and packets ask for, and nothing else.
    pub(super) fn keep_quiet(&mut self, time: Duration) -> Result<(), Failure> {
        let until = Clock::now() + time;
        while Clock::now() < until {
            if !self.turn()? {
                self.rest()?;
            }
        }
        self.echoes.clear();
        Ok(())
    }

    /// Waits until something comes to the first socket, for a moment at most.
    fn rest(&mut self) -> Result<(), Failure> {
        let Some(socket) = self.sockets.first() else { return Ok(()) };
        socket.set_read_timeout(Some(NAP))?;
        socket.set_nonblocking(false)?;
        let waited = socket.peek_from(&mut self.buffer);
        socket.set_nonblocking(true)?;
        match waited {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends `rate` requests a second, at random times, over the first `active` associations in turn; returns the response times of
    /// those that were to leave after a warm-up.
    pub(super) fn open_loop(
        &mut self,
        active: usize,
        rate: u32,
        time: Duration,
    ) -> Result<Vec<Duration>, Failure> {
        let mean = Duration::from_secs(1).as_secs_f64() / f64::from(rate);
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let from = self.nanos() + nanos(WARM_UP);
        let until = from + nanos(time);
        let (mut next, mut number) = (self.nanos(), 0_usize);
        let (mut measured, mut asked) = (Vec::new(), 0_usize);
        while next < until || measured.len() < asked {
            while next < until && next <= self.nanos() {
                self.request(number % active, next)?;
                asked += usize::from(next >= from);
                number += 1;
                next += (random.exponential() * mean * 1e9) as u64;
            }
            self.turn()?;
            let now = self.nanos();
            let echoes = self.echoes.drain(..).filter(|&(_, due)| due >= from);
            measured.extend(echoes.map(|(_, due)| Duration::from_nanos(now - due)));
            if now > until + nanos(PATIENCE) {
                return Err(format!("{} of {asked} requests were answered", measured.len()).into());
            }
        }
        Ok(measured)
    }

    /// Lets each of the first `active` associations send a request when the last one is answered; returns the echoes of each.
    pub(super) fn closed_loop(&mut self, active: usize, time: Duration) -> Result<Vec<u32>, Failure> {
        let mut counts = vec![0_u32; active];
        for client in 0..active {
            self.request(client, self.nanos())?;
        }
        let from = self.nanos() + nanos(WARM_UP);
        let until = from + nanos(time);
        while self.nanos() < until {
            self.turn()?;
            let now = self.nanos();
            for (client, _) in std::mem::take(&mut self.echoes) {
                counts[client] += u32::from(now >= from);
                self.request(client, now)?;
            }
        }
        Ok(counts)
    }

    fn open(&mut self, number: usize) -> Result<(), Failure> {
        let now = self.now();
        let address = self.server.ip();
        let encapsulation = Encapsulation::Udp { port: self.server.port() };
        let client = &mut self.all[number];
        let config = client.endpoint.accepted().clone();
        let port = SctpPort::try_from(PORT)?;
        client.id =
            Some(client.endpoint.connect(now, &[Destination { address, encapsulation }], port, config)?);
        self.settle(number, now)
    }

    fn request(&mut self, number: usize, due: u64) -> Result<(), Failure> {
        let now = self.now();
        let mut payload = vec![0xa5; REQUEST_BYTES];
        payload[..8].copy_from_slice(&due.to_be_bytes());
        let client = &mut self.all[number];
        let id = client.id.ok_or("no association")?;
        client.endpoint.send(now, id, Message::ordered(StreamId::new(0), Bytes::from(payload)))?;
        self.settle(number, now)
    }

    /// Takes in what has come and what is due; returns whether there was anything.
    fn turn(&mut self) -> Result<bool, Failure> {
        let mut is_busy = false;
        for socket in 0..self.sockets.len() {
            for _ in 0..AT_ONCE {
                let (len, source) = match self.sockets[socket].recv_from(&mut self.buffer) {
                    Ok(received) => received,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error.into()),
                };
                is_busy = true;
                let now = self.now();
                let Some(number) =
                    number_of(socket, &self.buffer[..len]).filter(|&number| number < self.all.len())
                else {
                    return Err("a packet came that is for none of the clients".into());
                };
                let encapsulation = Encapsulation::Udp { port: source.port() };
                let source = Destination { address: source.ip(), encapsulation };
                let datagram =
                    Datagram { source, local: None, ecn: Ecn::NotEct, payload: &self.buffer[..len] };
                self.all[number].endpoint.handle_packet(now, datagram);
                self.settle(number, now)?;
            }
        }
        let now = self.now();
        while let Some(&Reverse((at, number))) = self.alarms.peek()
            && at <= now
        {
            self.alarms.pop();
            let client = &mut self.all[number];
            client.alarm = client.alarm.filter(|alarm| *alarm != at);
            if client.endpoint.poll_timeout().is_some_and(|due| due <= now) {
                is_busy = true;
                client.endpoint.handle_timeout(now);
            }
            self.settle(number, now)?;
        }
        Ok(is_busy)
    }

    /// Sends what a client has to send, reads what it has received, and sets its alarm.
    fn settle(&mut self, number: usize, now: Instant) -> Result<(), Failure> {
        let client = &mut self.all[number];
        while let Some((id, event)) = client.endpoint.poll_event() {
            match event {
                Event::CommunicationUp { .. } => self.up += 1,
                Event::CommunicationLost(_) | Event::CannotStart(_) => {
                    return Err(format!("association {number} ended: {event:?}").into());
                }
                Event::MessageReady => {
                    while let Some(received) = client.endpoint.receive(now, id) {
                        let due = received
                            .message
                            .payload
                            .first_chunk()
                            .ok_or("an echo is shorter than its request")?;
                        self.echoes.push((number, u64::from_be_bytes(*due)));
                    }
                }
                _ => {}
            }
        }
        self.packets.clear();
        self.transmits.clear();
        client.endpoint.transmit_many(now, usize::MAX, &mut self.packets, &mut self.transmits);
        let mut rest = self.packets.as_slice();
        for transmit in &self.transmits {
            let (packet, others) = rest.split_at(transmit.len);
            rest = others;
            match self.sockets[number / OF_SOCKET].send_to(packet, self.server) {
                Ok(_) => {}
                // The kernel has no room: the packet is lost, as any may be.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(due) = client.endpoint.poll_timeout()
            && client.alarm.is_none_or(|alarm| due < alarm)
        {
            client.alarm = Some(due);
            self.alarms.push(Reverse((due, number)));
        }
        Ok(())
    }

    fn nanos(&self) -> u64 {
        nanos(self.begun.elapsed())
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.nanos())
    }
}

impl Client {
    fn new(number: usize) -> Result<Self, Failure> {
        let mut config = EndpointConfig::new(port_of(number)?);
        config.incoming = IncomingPolicy::Refuse;
        let mut entropy = [0; 32];
        entropy[..8].copy_from_slice(&(number as u64).to_be_bytes());
        Ok(Self { endpoint: Endpoint::new(config, entropy)?, id: None, alarm: None })
    }
}

/// A socket at an address of its own, so that the server tells its clients from those of another.
fn socket(number: usize) -> Result<UdpSocket, Failure> {
    let address = Ipv4Addr::new(127, 0, 1, u8::try_from(number + 1)?);
    let socket = UdpSocket::bind((address, 0))?;
    socket.set_nonblocking(true)?;
    // Half a second of echoes may wait while something else takes the processor.
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBufForce, &(64 << 20))
        .or_else(|_| nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBuf, &(4 << 20)))?;
    Ok(socket)
}

fn port_of(number: usize) -> Result<SctpPort, Failure> {
    Ok(SctpPort::try_from(u16::try_from(number % OF_SOCKET + 1)?)?)
}

/// Returns which client a packet is for, by its destination port (RFC 9260 §3.1).
fn number_of(socket: usize, packet: &[u8]) -> Option<usize> {
    let port = u16::from_be_bytes(*packet.get(2..)?.first_chunk()?);
    Some(socket * OF_SOCKET + usize::from(port).checked_sub(1)?)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Random numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    /// Returns the next number of an exponential distribution with mean 1.
    fn exponential(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let uniform = ((self.0 >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

/// Handshakes under way at once, and packets taken in one after the other before timers are looked at.
const AT_ONCE: usize = 64;
/// Octets of a request and of its echo.
const REQUEST_BYTES: usize = 64;
/// Requests that leave in the first part of a loop are not measured.
const WARM_UP: Duration = Duration::from_millis(500);
/// Who has nothing to do while all are quiet sleeps so long.
const NAP: Duration = Duration::from_millis(2);
/// The time for all associations to come up, and for the last echoes to come.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_find_the_client_whose_port_they_name() {
        for number in [0, 1, OF_SOCKET - 1, OF_SOCKET, 2 * OF_SOCKET - 1] {
            let [high, low] = port_of(number).unwrap().get().to_be_bytes();
            assert_eq!(number_of(number / OF_SOCKET, &[0, 7, high, low]), Some(number));
        }
        assert_eq!(number_of(0, &[0, 7, 0, 0]), None);
        assert_eq!(number_of(0, &[0, 7, 0]), None);
    }

    #[test]
    fn times_between_requests_have_the_mean_that_was_asked_for() {
        let mut random = Random(1);
        let mean = (0..100_000).map(|_| random.exponential()).sum::<f64>() / 1e5;
        assert!((0.98..1.02).contains(&mean), "{mean}");
    }
}
