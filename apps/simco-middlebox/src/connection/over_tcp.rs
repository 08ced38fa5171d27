//! The connections of agents over TCP.

use std::net::SocketAddr;
use std::time::Duration;

use simco::Owner;
use simco::middlebox::{Connection, Framing, Protection, SessionId};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsIdentity;

use super::{Hosts, Input, Outbound, introduce, outbound};

/// Takes connections until the server stops.
pub(crate) async fn accept(
    listener: TcpListener,
    tls: watch::Receiver<Option<TlsIdentity>>,
    hosts: Hosts,
    inputs: mpsc::Sender<Input>,
) {
    while !inputs.is_closed() {
        match listener.accept().await {
            Ok((stream, peer)) => match hosts.admit(peer.ip()) {
                Some(admission) => {
                    let served = serve(stream, peer, acceptor(&tls), inputs.clone());
                    tokio::spawn(async move {
                        served.await;
                        drop(admission);
                    });
                }
                None => {
                    drop(stream);
                    let _ = inputs.send(Input::TurnedAway { host: peer.ip() }).await;
                }
            },
            // Out of descriptors, most likely; that passes when a connection ends.
            Err(error) => {
                tracing::warn!(%error, "a TCP connection could not be accepted");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Returns an acceptor with the identity that is configured now.
fn acceptor(tls: &watch::Receiver<Option<TlsIdentity>>) -> Option<TlsAcceptor> {
    tls.borrow().as_ref().map(TlsIdentity::acceptor)
}

async fn serve(stream: TcpStream, peer: SocketAddr, tls: Option<TlsAcceptor>, inputs: mpsc::Sender<Input>) {
    // A reply is small, and somebody waits for it.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    let Ok(owner) = Owner::new(peer.ip().to_string().as_bytes()) else { return };
    let protection = if tls.is_some() { Protection::Encrypted } else { Protection::None };
    let connection = Connection { framing: Framing::Octets, peer: owner, authenticated: None, protection };
    let (writer, mut outbound) = outbound();
    // Before TLS, so that a handshake that does not come to an end has a place among connections, and loses it as they do.
    let Some(session) = introduce(&inputs, connection, writer).await else { return };
    tracing::debug!(session = session.get(), %peer, ?protection, "connected over TCP");
    let Some(tls) = tls else {
        let (from, to) = stream.into_split();
        return converse(from, to, outbound, session, &inputs).await;
    };
    let secured = tokio::select! {
        secured = tls.accept(stream) => secured,
        // There is nothing to say yet.
        _ = outbound.next() => Err(std::io::ErrorKind::TimedOut.into()),
    };
    match secured {
        Ok(stream) => {
            let (from, to) = tokio::io::split(stream);
            converse(from, to, outbound, session, &inputs).await;
        }
        Err(error) => {
            tracing::debug!(%peer, %error, "no TLS");
            let _ = inputs.send(Input::Lost { session }).await;
        }
    }
}

async fn converse(
    mut from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    outbound: Outbound,
    session: SessionId,
    inputs: &mpsc::Sender<Input>,
) {
    let closed_by = tokio::select! {
        () = read(&mut from, session, inputs) => ClosedBy::Agent,
        () = write(to, outbound, session, inputs) => ClosedBy::Server,
    };
    let _ = inputs.send(Input::Lost { session }).await;
    if closed_by == ClosedBy::Server {
        // Closed with octets unread, a connection is reset, and the agent may never see the last ones it was sent.
        let _ = tokio::time::timeout(LINGER, discard(&mut from)).await;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClosedBy {
    Agent,
    Server,
}

async fn read(from: &mut (impl AsyncRead + Unpin), session: SessionId, inputs: &mpsc::Sender<Input>) {
    loop {
        let mut octets = Vec::with_capacity(READ_BYTES);
        match from.read_buf(&mut octets).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if inputs.send(Input::Octets { session, octets }).await.is_err() {
            return;
        }
    }
}

async fn discard(from: &mut (impl AsyncRead + Unpin)) {
    let mut octets = [0; 1024];
    while matches!(from.read(&mut octets).await, Ok(1..)) {}
}

/// Writes what the server says, as much at once as there is, and closes when it says no more.
async fn write(
    mut to: impl AsyncWrite + Unpin,
    mut outbound: Outbound,
    session: SessionId,
    inputs: &mpsc::Sender<Input>,
) {
    while let Some(first) = outbound.next().await {
        let mut octets = first.octets;
        while octets.len() < WRITE_BYTES
            && let Some(next) = outbound.next_now()
        {
            octets.extend_from_slice(&next.octets);
        }
        let writing = async {
            to.write_all(&octets).await?;
            // With TLS, octets may wait for more.
            to.flush().await
        };
        if !matches!(outbound.bounded(writing).await, Some(Ok(()))) {
            return;
        }
        if outbound.written(octets.len()) && inputs.send(Input::Drained { session }).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

const READ_BYTES: usize = 16 << 10;
const WRITE_BYTES: usize = 64 << 10;
const RETRY: Duration = Duration::from_millis(100);
const LINGER: Duration = Duration::from_millis(200);
