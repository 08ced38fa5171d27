//! Agents over SCTP: a message is a message, a stream a stream.

use std::net::IpAddr;

use sctp::{Association, Endpoint, Event, Message, PayloadProtocolId, StreamId};
use simco::middlebox::{Connection, Framing, Protection, SessionId};
use simco::{Owner, PAYLOAD_PROTOCOL, StreamNumber};
use tokio::sync::mpsc;

use super::{Hosts, Input, Outbound, Outgoing, introduce, outbound};

/// Takes associations until the server stops.
pub(crate) async fn accept(endpoint: Endpoint, hosts: Hosts, inputs: mpsc::Sender<Input>) {
    while let Some(association) = endpoint.accept().await {
        if inputs.is_closed() {
            return;
        }
        tokio::spawn(serve(association, hosts.clone(), inputs.clone()));
    }
}

/// How a session over an association ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The agent lost its state and began anew (RFC 9260 §5.2.4 action A): another session may follow.
    Restarted { streams: u16 },
    /// The association goes with it.
    Over,
}

async fn serve(association: Association, hosts: Hosts, inputs: mpsc::Sender<Input>) {
    let Some(mut streams) = streams(&association).await else { return };
    let Some(address) = peer_address(&association) else { return };
    let Some(_admission) = hosts.admit(address) else {
        association.abort(b"too many connections of this host");
        let _ = inputs.send(Input::TurnedAway { host: address }).await;
        return;
    };
    let Ok(peer) = Owner::new(address.to_string().as_bytes()) else { return };
    loop {
        let framing = Framing::Messages { streams };
        let (authenticated, protection) = (None, Protection::None);
        let connection = Connection { framing, peer: peer.clone(), authenticated, protection };
        let (writer, outbound) = outbound();
        let Some(session) = introduce(&inputs, connection, writer).await else { return };
        tracing::debug!(session = session.get(), %peer, streams, "connected over SCTP");
        let end = tokio::select! {
            biased;
            end = watch(&association) => end,
            end = read(&association, session, &inputs) => end,
            end = write(&association, outbound, session, &inputs) => end,
        };
        let _ = inputs.send(Input::Lost { session }).await;
        match end {
            End::Restarted { streams: new } => streams = new,
            End::Over => break,
        }
    }
    // What was sent is still delivered; the association ends when its last handle goes.
    let _ = association.shutdown().await;
}

/// Returns how many streams there are both ways.
async fn streams(association: &Association) -> Option<u16> {
    loop {
        if let Event::CommunicationUp { outbound_streams, inbound_streams, .. } =
            association.next_event().await?
        {
            return Some(outbound_streams.min(inbound_streams));
        }
    }
}

/// Returns the address that stands for the agent: of its primary path.
fn peer_address(association: &Association) -> Option<IpAddr> {
    let paths = association.statistics().paths;
    paths.iter().find(|path| path.is_primary).or(paths.first()).map(|path| path.address)
}

/// Waits until the agent begins anew. All else reading and writing notice.
async fn watch(association: &Association) -> End {
    while let Some(event) = association.next_event().await {
        if let Event::Restart { outbound_streams, inbound_streams } = event {
            return End::Restarted { streams: outbound_streams.min(inbound_streams) };
        }
    }
    std::future::pending().await
}

async fn read(association: &Association, session: SessionId, inputs: &mpsc::Sender<Input>) -> End {
    let mut received = Vec::new();
    while let Ok(1..) = association.recv_many(&mut received, MESSAGES_AT_ONCE).await {
        let message = |received: sctp::Received| {
            (StreamNumber::new(received.message.stream.get()), received.message.payload)
        };
        let messages = received.drain(..).map(message).collect();
        if inputs.send(Input::Messages { session, messages }).await.is_err() {
            break;
        }
    }
    End::Over
}

async fn write(
    association: &Association,
    mut outbound: Outbound,
    session: SessionId,
    inputs: &mpsc::Sender<Input>,
) -> End {
    while let Some(first) = outbound.next().await {
        let mut bytes = first.octets.len();
        let mut messages = vec![message(first)];
        while messages.len() < MESSAGES_AT_ONCE
            && let Some(next) = outbound.next_now()
        {
            bytes += next.octets.len();
            messages.push(message(next));
        }
        if !matches!(outbound.bounded(association.send_many(messages)).await, Some(Ok(()))) {
            break;
        }
        if outbound.written(bytes) && inputs.send(Input::Drained { session }).await.is_err() {
            break;
        }
    }
    End::Over
}

fn message(outgoing: Outgoing) -> Message {
    Message::ordered(StreamId::new(outgoing.stream.get()), outgoing.octets)
        .with_ppid(PayloadProtocolId::new(PAYLOAD_PROTOCOL))
}

const MESSAGES_AT_ONCE: usize = 256;
