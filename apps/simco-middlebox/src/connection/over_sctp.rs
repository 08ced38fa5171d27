//! Agents over SCTP: a message is a message, a stream a stream.

use sctp::{Association, Endpoint, Event, Message, PayloadProtocolId, StreamId};
use simco::middlebox::{Connection, Framing, Protection, SessionId};
use simco::{Owner, PAYLOAD_PROTOCOL, StreamNumber};
use tokio::sync::mpsc;

use super::{Input, Outbound, introduce, outbound};

/// Takes associations until the server stops.
pub(crate) async fn accept(endpoint: Endpoint, inputs: mpsc::Sender<Input>) {
    while let Some(association) = endpoint.accept().await {
        if inputs.is_closed() {
            return;
        }
        tokio::spawn(serve(association, inputs.clone()));
    }
}

async fn serve(association: Association, inputs: mpsc::Sender<Input>) {
    let Some(streams) = streams(&association).await else { return };
    let peer = format!("association {:?}", association.id());
    let Ok(owner) = Owner::new(peer.as_bytes()) else { return };
    let framing = Framing::Messages { streams };
    let connection = Connection { framing, peer: owner, authenticated: None, protection: Protection::None };
    let (writer, outbound) = outbound();
    let Some(session) = introduce(&inputs, connection, writer).await else { return };
    tracing::debug!(session = session.get(), %peer, streams, "connected over SCTP");
    tokio::select! {
        () = read(&association, session, &inputs) => {}
        () = write(&association, outbound, session, &inputs) => {}
    }
    let _ = inputs.send(Input::Lost { session }).await;
    // What was sent is still delivered; the association ends when its last handle goes.
    let _ = association.shutdown().await;
}

/// How many streams there are both ways.
async fn streams(association: &Association) -> Option<u16> {
    loop {
        if let Event::CommunicationUp { outbound_streams, inbound_streams, .. } =
            association.next_event().await?
        {
            return Some(outbound_streams.min(inbound_streams));
        }
    }
}

async fn read(association: &Association, session: SessionId, inputs: &mpsc::Sender<Input>) {
    while let Ok(Some(received)) = association.recv().await {
        let stream = StreamNumber::new(received.message.stream.get());
        let octets = received.message.payload;
        if inputs.send(Input::Message { session, stream, octets }).await.is_err() {
            return;
        }
    }
}

async fn write(
    association: &Association,
    mut outbound: Outbound,
    session: SessionId,
    inputs: &mpsc::Sender<Input>,
) {
    while let Some(next) = outbound.next().await {
        let bytes = next.octets.len();
        let message = Message::ordered(StreamId::new(next.stream.get()), next.octets)
            .with_ppid(PayloadProtocolId::new(PAYLOAD_PROTOCOL));
        if association.send(message).await.is_err() {
            return;
        }
        if outbound.written(bytes) && inputs.send(Input::Drained { session }).await.is_err() {
            return;
        }
    }
}
