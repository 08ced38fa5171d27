//! A connection with a middlebox: octets over TCP, messages over SCTP.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Buf, Bytes, BytesMut};
use sctp::{Association, AssociationConfig, Endpoint, Event, Message, PayloadProtocolId, SctpPort};
use simco::StreamNumber;
use simco::middlebox::Framing;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::tls::TlsTrust;
use crate::{Carrier, ConnectError, Middlebox, Transport};

/// A connection and what waits to be sent on it.
#[derive(Debug)]
pub(crate) enum Link {
    Tcp { stream: TcpStream, out: BytesMut, buffer: BytesMut },
    Tls { stream: Box<TlsStream<TcpStream>>, out: BytesMut, buffer: BytesMut, is_flushed: bool },
    Sctp { association: Association, streams: u16, out: VecDeque<Message> },
}

/// The content that a connection brought.
#[derive(Debug)]
pub(crate) enum Arrival {
    Octets(Bytes),
    Message(StreamNumber, Bytes),
    /// The connection is over.
    End,
}

/// How to connect, once and again.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    pub(crate) middlebox: Middlebox,
    /// The trust in certificates, for TLS.
    pub(crate) trust: Option<TlsTrust>,
}

impl Dialer {
    pub(crate) async fn dial(&self) -> Result<Link, ConnectError> {
        let first = *self.middlebox.addresses.first().ok_or(ConnectError::NoAddress)?;
        match (self.middlebox.transport, &self.trust) {
            (Transport::Sctp { streams, carrier }, None) => {
                associate(&self.middlebox, first, streams, carrier).await
            }
            (Transport::Sctp { .. }, Some(_)) => Err(ConnectError::TlsWithoutTcp),
            (Transport::Tcp, trust) => {
                let stream = connect_tcp(first).await?;
                let (out, buffer) = (BytesMut::new(), BytesMut::with_capacity(READ_BYTES));
                let Some(trust) = trust else { return Ok(Link::Tcp { stream, out, buffer }) };
                let secured = trust.connect(stream).await;
                let stream = Box::new(secured.map_err(|error| ConnectError::Tls { to: first, error })?);
                Ok(Link::Tls { stream, out, buffer, is_flushed: true })
            }
        }
    }
}

impl Link {
    pub(crate) fn framing(&self) -> Framing {
        match self {
            Self::Tcp { .. } | Self::Tls { .. } => Framing::Octets,
            Self::Sctp { streams, .. } => Framing::Messages { streams: *streams },
        }
    }

    /// Queues octets; [`turn`](Self::turn) sends them.
    pub(crate) fn queue(&mut self, stream: StreamNumber, octets: Vec<u8>) {
        match self {
            Self::Tcp { out, .. } | Self::Tls { out, .. } => out.extend_from_slice(&octets),
            Self::Sctp { association, out, .. } => {
                let stream = sctp::StreamId::new(stream.get());
                let message = Message::ordered(stream, octets).with_ppid(PayloadProtocolId::SIMCO);
                if !out.is_empty() {
                    out.push_back(message);
                } else if let Err(sctp::SendError::BufferFull(message)) = association.try_send(message) {
                    out.push_back(message);
                }
                // Other errors mean the end, which `turn` reports.
            }
        }
    }

    /// Sends what it can until something arrives. Cancellation-safe.
    pub(crate) async fn turn(&mut self) -> Arrival {
        match self {
            Self::Tcp { stream, out, buffer } => turn_octets(stream.split(), out, buffer, &mut true).await,
            Self::Tls { stream, out, buffer, is_flushed } => {
                turn_octets(tokio::io::split(stream), out, buffer, is_flushed).await
            }
            Self::Sctp { association, out, .. } => turn_sctp(association, out).await,
        }
    }

    /// Ends the connection in good order, within two seconds.
    pub(crate) async fn close(self) {
        let closing = async {
            // The other side may have closed before, or not listen any more.
            match self {
                Self::Tcp { mut stream, .. } => drop(stream.shutdown().await),
                Self::Tls { mut stream, .. } => drop(stream.shutdown().await),
                Self::Sctp { association, .. } => drop(association.shutdown().await),
            }
        };
        let _closed = tokio::time::timeout(CLOSING_TIME, closing).await;
    }
}

/// Carries octets both ways once. What is written may stay in TLS until it is flushed.
async fn turn_octets(
    (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    out: &mut BytesMut,
    buffer: &mut BytesMut,
    is_flushed: &mut bool,
) -> Arrival {
    loop {
        buffer.reserve(READ_BYTES);
        tokio::select! {
            read = reader.read_buf(buffer) => return match read {
                Ok(0) | Err(_) => Arrival::End,
                Ok(_) => Arrival::Octets(buffer.split().freeze()),
            },
            sent = async {
                match out.is_empty() {
                    true => writer.flush().await.map(|()| 0),
                    false => writer.write(out).await,
                }
            }, if !(out.is_empty() && *is_flushed) => match sent {
                Ok(count) => {
                    *is_flushed = out.is_empty();
                    out.advance(count);
                }
                Err(_) => return Arrival::End,
            },
        }
    }
}

async fn connect_tcp(to: SocketAddr) -> Result<TcpStream, ConnectError> {
    let refused = |error| ConnectError::Tcp { to, error };
    let stream = TcpStream::connect(to).await.map_err(refused)?;
    stream.set_nodelay(true).map_err(refused)?;
    Ok(stream)
}

async fn turn_sctp(association: &Association, out: &mut VecDeque<Message>) -> Arrival {
    loop {
        let next = out.front().cloned();
        let send = async {
            match next {
                Some(message) => association.send(message).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            received = association.recv() => return match received {
                Ok(Some(received)) => {
                    let message = received.message;
                    Arrival::Message(StreamNumber::new(message.stream.get()), message.payload)
                }
                Ok(None) | Err(_) => Arrival::End,
            },
            () = restart(association) => return Arrival::End,
            sent = send => match sent {
                Ok(()) => {
                    out.pop_front();
                }
                Err(_) => return Arrival::End,
            },
        }
    }
}

/// Waits until the middlebox begins anew (RFC 9260 §5.2.4 action A): it knows nothing of the session then. Other ends
/// are noticed by who receives.
async fn restart(association: &Association) {
    while let Some(event) = association.next_event().await {
        if matches!(event, Event::Restart { .. }) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

async fn associate(
    middlebox: &Middlebox,
    first: SocketAddr,
    streams: u16,
    carrier: Carrier,
) -> Result<Link, ConnectError> {
    let port = SctpPort::try_from(first.port()).map_err(|_| ConnectError::PortZero)?;
    let any: IpAddr = match first {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut builder = Endpoint::builder_of_client(association_config(streams));
    if let Some(path) = &middlebox.capture {
        builder = builder.capture(path);
    }
    let (endpoint, destinations): (_, Vec<_>) = match carrier {
        Carrier::Udp { local, remote } => (
            builder.bind(SocketAddr::new(any, local)).await?,
            middlebox.addresses.iter().map(|to| sctp::udp(SocketAddr::new(to.ip(), remote))).collect(),
        ),
        Carrier::Ip => {
            (builder.bind_ip(&[any]).await?, middlebox.addresses.iter().map(|to| sctp::ip(to.ip())).collect())
        }
    };
    let refused = |error| ConnectError::Sctp { to: first, error };
    let association = endpoint.connect(&destinations, port).await.map_err(refused)?;
    let streams = match association.next_event().await {
        Some(Event::CommunicationUp { outbound_streams, inbound_streams, .. }) => {
            outbound_streams.min(inbound_streams).min(streams).max(1)
        }
        Some(_) | None => 1,
    };
    Ok(Link::Sctp { association, streams, out: VecDeque::new() })
}

/// Returns the default profile, made for signalling, with this many streams both ways.
fn association_config(streams: u16) -> AssociationConfig {
    let mut association = AssociationConfig::default();
    association.streams.outbound = streams;
    association.streams.inbound = streams;
    // A list of rules takes a whole SIMCO message.
    association.buffers.message_bytes = association.buffers.message_bytes.max(simco::MESSAGE_BYTES);
    association
}

const READ_BYTES: usize = 64 << 10;
const CLOSING_TIME: std::time::Duration = std::time::Duration::from_secs(2);
