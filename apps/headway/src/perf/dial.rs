//! How a client gets a connection to the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lab::Carrier;
use sctp::{AssociationConfig, Endpoint};
use tokio::net::TcpSocket;

use super::connection::{Connection, Dialled};
use super::{MessageProtocol, PerfError};
use crate::arguments::Place;

/// The server, and the way to get there.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) carrier: Carrier,
    pub(crate) protocol: MessageProtocol,
    /// The parameters of associations; the stream count is the client's.
    pub(crate) association: AssociationConfig,
    pub(crate) pcap: Option<PacketFiles>,
    /// TCP sends what it has at once.
    pub(crate) is_impatient: bool,
    /// The congestion control of TCP; `None`: what the system has chosen.
    pub(crate) tcp_congestion: Option<String>,
}

/// The files to which packets of SCTP are written: one for each association, the control conversation's first.
#[derive(Debug, Clone)]
pub(crate) struct PacketFiles {
    path: PathBuf,
    begun: Arc<AtomicUsize>,
}

impl PacketFiles {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, begun: Arc::default() }
    }

    /// Returns the next name: `run.pcapng` gives `run-1.pcapng`, `run-2.pcapng`, and so on.
    fn next(&self) -> PathBuf {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        emulator::beside(&self.path, number)
    }
}

impl Target {
    pub(crate) async fn connect(&self) -> Result<Dialled, PerfError> {
        let connecting = async {
            match self.protocol {
                MessageProtocol::Sctp => self.associate().await,
                MessageProtocol::Tcp => self.connect_tcp().await,
            }
        };
        let connected = tokio::time::timeout(CONNECT_TIME, connecting).await;
        connected.unwrap_or_else(|_late| Err(self.unreachable(&format!("no answer within {CONNECT_TIME:?}"))))
    }

    async fn connect_tcp(&self) -> Result<Dialled, PerfError> {
        let mut because = self.unreachable(&"there is no address");
        for to in &self.place.addresses {
            let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            if let Some(name) = &self.tcp_congestion {
                lab::set_tcp_congestion(&socket, name)?;
            }
            match socket.connect(*to).await {
                Ok(stream) => {
                    stream.set_nodelay(self.is_impatient)?;
                    return Ok(Dialled { connection: Connection::Tcp(stream), _endpoint: None });
                }
                Err(error) => because = self.unreachable(&error),
            }
        }
        Err(because)
    }

    /// Opens an association from an endpoint of its own, which has one association with a peer at most.
    async fn associate(&self) -> Result<Dialled, PerfError> {
        let endpoint = self.bind().await?;
        let connecting = self.carrier.associate(&endpoint, &self.place.addresses, self.association.clone());
        let association = connecting.await.map_err(|because| self.unreachable(&because))?;
        Ok(Dialled { connection: Connection::Sctp(association), _endpoint: Some(endpoint) })
    }

    async fn bind(&self) -> Result<Endpoint, PerfError> {
        let mut builder = Endpoint::builder_of_client(self.association.clone());
        if let Some(files) = &self.pcap {
            builder = builder.capture(files.next());
        }
        let bound = self.carrier.bind_client(builder, &self.place.addresses).await;
        bound.map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, because: &dyn std::fmt::Display) -> PerfError {
        let carrier = match self.protocol {
            MessageProtocol::Sctp => format!(" {}", self.carrier),
            MessageProtocol::Tcp => String::new(),
        };
        PerfError::Unreachable {
            to: format!("{}{carrier}", self.place.first()),
            protocol: self.protocol.name(),
            because: because.to_string(),
        }
    }
}

/// A server that is there answers in far less.
const CONNECT_TIME: Duration = Duration::from_secs(5);
