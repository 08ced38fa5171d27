//! A connection that blocks: octets over TCP, messages over SCTP in UDP.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use sctp::blocking::{Association, Endpoint};
use sctp::{EndpointConfig, Message, PayloadProtocolId, Received, SctpPort, StreamId};
use simco::{HEADER_BYTES, Header};

/// A connection with the daemon.
#[derive(Debug)]
pub(crate) enum Wire {
    Tcp { stream: TcpStream, received: Vec<u8> },
    Sctp { association: Association, received: Vec<Received> },
}

/// TCP or SCTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    Tcp,
    Sctp,
}

/// Requests, written down before the clock runs.
#[derive(Debug)]
pub(crate) enum Batch {
    Octets(Vec<u8>),
    Messages(Vec<Message>),
}

impl Wire {
    /// Connects, as soon as there is somebody.
    pub(crate) fn connect(transport: Transport) -> Result<Self, Box<dyn Error>> {
        let start = Instant::now();
        loop {
            let connected = match transport {
                Transport::Tcp => tcp(),
                Transport::Sctp => associate(),
            };
            match connected {
                Ok(wire) => return Ok(wire),
                Err(_) if start.elapsed() < Duration::from_secs(60) => std::thread::yield_now(),
                Err(error) => return Err(format!("nobody there: {error}").into()),
            }
        }
    }

    /// An empty batch for this connection.
    pub(crate) fn batch(&self) -> Batch {
        match self {
            Self::Tcp { .. } => Batch::Octets(Vec::new()),
            Self::Sctp { .. } => Batch::Messages(Vec::new()),
        }
    }

    pub(crate) fn send(&mut self, batch: Batch) -> Result<(), Box<dyn Error>> {
        match (self, batch) {
            (Self::Tcp { stream, .. }, Batch::Octets(octets)) => Ok(stream.write_all(&octets)?),
            (Self::Sctp { association, .. }, Batch::Messages(messages)) => {
                Ok(association.send_many(messages)?)
            }
            (Self::Tcp { .. }, Batch::Messages(_)) | (Self::Sctp { .. }, Batch::Octets(_)) => {
                Err("a batch of another connection".into())
            }
        }
    }

    /// Waits for messages and hands them over with their streams; how many there were.
    pub(crate) fn receive(
        &mut self,
        mut take: impl FnMut(u16, &[u8]) -> Result<(), Box<dyn Error>>,
    ) -> Result<usize, Box<dyn Error>> {
        match self {
            Self::Tcp { stream, received } => {
                let mut buffer = [0; 1 << 16];
                let bytes = stream.read(&mut buffer)?;
                if bytes == 0 {
                    return Err("the middlebox has closed the connection".into());
                }
                received.extend_from_slice(&buffer[..bytes]);
                let (mut octets, mut count) = (0, 0);
                while let Ok(header) = Header::decode(&received[octets..]) {
                    let end = octets + HEADER_BYTES + header.payload_bytes;
                    let Some(message) = received.get(octets..end) else { break };
                    take(0, message)?;
                    octets = end;
                    count += 1;
                }
                received.drain(..octets);
                Ok(count)
            }
            Self::Sctp { association, received } => {
                let count = association.recv_many(received, MESSAGES_AT_ONCE)?;
                if count == 0 {
                    return Err("the middlebox has shut the association down".into());
                }
                for received in received.drain(..) {
                    take(received.message.stream.get(), &received.message.payload)?;
                }
                Ok(count)
            }
        }
    }
}

impl Batch {
    pub(crate) fn push(&mut self, stream: u16, message: &[u8]) {
        match self {
            Self::Octets(octets) => octets.extend_from_slice(message),
            Self::Messages(messages) => {
                let message = Message::ordered(StreamId::new(stream), message.to_vec());
                messages.push(message.with_ppid(PayloadProtocolId::SIMCO));
            }
        }
    }
}

fn tcp() -> Result<Wire, Box<dyn Error>> {
    let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], simco::PORT)))?;
    stream.set_nodelay(true)?;
    Ok(Wire::Tcp { stream, received: Vec::new() })
}

fn associate() -> Result<Wire, Box<dyn Error>> {
    let mut config = EndpointConfig::new(SctpPort::try_from(50_000)?);
    config.association.streams.outbound = STREAMS;
    config.association.streams.inbound = STREAMS;
    let endpoint = Endpoint::bind(config, SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let to = sctp::udp(SocketAddr::from(([127, 0, 0, 1], ENCAPSULATION_PORT)));
    let association = endpoint.connect(to, SctpPort::try_from(simco::PORT)?)?;
    Ok(Wire::Sctp { association, received: Vec::new() })
}

/// Streams over SCTP, as many as study S4 found to be enough.
pub(crate) const STREAMS: u16 = 6;
const MESSAGES_AT_ONCE: usize = 256;
const ENCAPSULATION_PORT: u16 = 9899;
