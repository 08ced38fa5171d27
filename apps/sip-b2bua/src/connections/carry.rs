//! The task of a connection: messages of its peer in, messages to its peer out, until an end of it is reached.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use daemon::TlsIdentity;
use sctp::{Association, Destination, Endpoint, Message, SctpPort, StreamId};
use simco_agent::TlsTrust;
use sip::{Connection, Flow, Framer, MessageLimits, Transport};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::client::TlsStream;

use crate::server::Input;

/// A connection that is open.
#[derive(Debug)]
pub(crate) enum Opened {
    Tcp(TcpStream),
    /// A connection that has to become TLS first; an end of what accepts it without certificates.
    Tls(TcpStream, Option<TlsIdentity>),
    /// A connection that is TLS already.
    Secured(Box<TlsStream<TcpStream>>),
    Sctp(Association),
}

/// What a connection is opened to.
#[derive(Debug)]
pub(super) enum Target {
    Tcp(SocketAddr),
    Tls(SocketAddr, TlsTrust),
    Sctp(Endpoint, Destination, SctpPort),
}

/// One end of a connection: who is at the other, and the ways to and from the server.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) flow: Flow,
    pub(super) connection: Connection,
    pub(super) outgoing: mpsc::Receiver<Bytes>,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) limits: MessageLimits,
}

impl Opened {
    pub(super) const fn transport(&self) -> Transport {
        match self {
            Self::Tcp(_) => Transport::TCP,
            Self::Tls(..) | Self::Secured(_) => Transport::TLS,
            Self::Sctp(_) => Transport::SCTP,
        }
    }
}

impl Target {
    async fn open(self) -> Option<Opened> {
        match self {
            Self::Tcp(remote) => TcpStream::connect(remote).await.ok().map(Opened::Tcp),
            Self::Tls(remote, trust) => {
                let stream = TcpStream::connect(remote).await.ok()?;
                let _fine_without = stream.set_nodelay(true);
                match trust.connect(stream).await {
                    Ok(stream) => Some(Opened::Secured(Box::new(stream))),
                    Err(error) => {
                        tracing::warn!(%remote, %error, "no TLS");
                        None
                    }
                }
            }
            Self::Sctp(endpoint, to, port) => endpoint.connect(to, port).await.ok().map(Opened::Sctp),
        }
    }
}

impl Carrier {
    /// Opens a connection and carries messages over it; tells of its end either way.
    pub(super) async fn dial(self, target: Target) {
        match tokio::time::timeout(PATIENCE, target.open()).await {
            Ok(Some(opened)) => self.carry(opened).await,
            Ok(None) | Err(_) => {
                tracing::info!(remote = %self.flow.remote, transport = self.flow.transport.name(), "no connection");
                let _over = self.inputs.send(Input::Ended(self.connection)).await;
            }
        }
    }

    /// Carries messages both ways until an end of it is reached: the peer's, an error, a stream that cannot be cut, or a
    /// message that takes too long to become whole.
    pub(super) async fn carry(mut self, opened: Opened) {
        match opened {
            Opened::Tcp(stream) => {
                let _fine_without = stream.set_nodelay(true);
                let (reader, writer) = stream.into_split();
                self.carry_stream(reader, writer).await;
            }
            Opened::Tls(stream, Some(identity)) => self.secure(stream, &identity).await,
            Opened::Tls(_, None) => {}
            Opened::Secured(stream) => {
                let (reader, writer) = tokio::io::split(*stream);
                self.carry_stream(reader, writer).await;
            }
            Opened::Sctp(association) => self.carry_messages(&association).await,
        }
        let _over = self.inputs.send(Input::Ended(self.connection)).await;
    }

    /// Makes TLS of a connection that was accepted, and carries messages over it.
    async fn secure(&mut self, stream: TcpStream, identity: &TlsIdentity) {
        let _fine_without = stream.set_nodelay(true);
        match tokio::time::timeout(PATIENCE, identity.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => {
                let (reader, writer) = tokio::io::split(stream);
                self.carry_stream(reader, writer).await;
            }
            Ok(Err(error)) => tracing::info!(remote = %self.flow.remote, %error, "no TLS"),
            Err(_) => tracing::info!(remote = %self.flow.remote, "no TLS in time"),
        }
    }

    async fn carry_stream(
        &mut self,
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
    ) {
        let Self { flow, outgoing, inputs, limits, .. } = self;
        let reading = async {
            let mut framer = Framer::new(*limits);
            let mut buffer = vec![0; READ_BYTES];
            loop {
                let patience = if framer.held_bytes() > 0 { PATIENCE } else { IDLE };
                let read = tokio::time::timeout(patience, reader.read(&mut buffer)).await;
                let Ok(Ok(length @ 1..)) = read else { return };
                framer.push(&buffer[..length]);
                if !pass_on(&mut framer, *flow, inputs).await {
                    return;
                }
            }
        };
        let writing = async {
            while let Some(octets) = outgoing.recv().await {
                let write = async {
                    writer.write_all(&octets).await?;
                    // With TLS, octets may wait for more.
                    writer.flush().await
                };
                if !matches!(tokio::time::timeout(PATIENCE, write).await, Ok(Ok(()))) {
                    return;
                }
            }
        };
        tokio::select! {
            () = reading => {}
            () = writing => {}
        }
    }

    /// Carries messages of SIP as messages of SCTP, unordered on stream 0 and without a payload protocol (RFC 4168 §5): none
    /// of them waits for another one that was lost. The association ends in good order when its last handle goes.
    async fn carry_messages(&mut self, association: &Association) {
        let Self { flow, outgoing, inputs, .. } = self;
        let reading = async {
            while let Ok(Ok(Some(received))) = tokio::time::timeout(IDLE, association.recv()).await {
                if inputs.send(Input::Message(*flow, received.message.payload)).await.is_err() {
                    return;
                }
            }
        };
        let writing = async {
            while let Some(octets) = outgoing.recv().await {
                let message = Message::unordered(StreamId::new(0), octets);
                if !matches!(tokio::time::timeout(PATIENCE, association.send(message)).await, Ok(Ok(()))) {
                    return;
                }
            }
        };
        tokio::select! {
            () = reading => {}
            () = writing => {}
        }
    }
}

/// Passes on what is whole in a stream; returns whether the stream goes on.
async fn pass_on(framer: &mut Framer, flow: Flow, inputs: &mpsc::Sender<Input>) -> bool {
    loop {
        match framer.next_message() {
            Ok(Some(octets)) => {
                if inputs.send(Input::Message(flow, octets)).await.is_err() {
                    return false;
                }
            }
            Ok(None) => return true,
            Err(error) => {
                tracing::info!(remote = %flow.remote, %error, "a connection is closed");
                return false;
            }
        }
    }
}

const READ_BYTES: usize = 16_384;
/// How long a connection may take to open, a message to become whole, a write to get through.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a connection may be silent.
const IDLE: Duration = Duration::from_secs(3_600);
