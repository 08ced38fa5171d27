//! Round trips on one stream of an association while another one carries as much as goes.

use std::cell::Cell;
use std::convert::Infallible;

use sctp::{Association, Endpoint, EndpointConfig, SctpPort};
use sctp_core::{Delivery, Message, StreamId, StreamScheduler};

use crate::tally::RoundTrips;
use crate::task::{AT_ONCE, BULK_BYTES, End, SCTP_PORT, Task};

/// Headway by its tokio API, the stream of the round trips before the other one.
///
/// # Panics
/// If anything fails.
pub fn run(task: &Task) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(converse(task)) {}
}

async fn converse(task: &Task) -> Infallible {
    let mut config = EndpointConfig::new(SctpPort::new(SCTP_PORT).expect("not zero"));
    config.association = task.config();
    config.association.transmission.scheduler = StreamScheduler::Priority;
    if !task.end.opens() {
        let endpoint = Endpoint::bind(config, task.address).await.expect("it is free");
        return echo(&endpoint.accept().await.expect("it is open")).await;
    }
    let port = config.port;
    let endpoint =
        Endpoint::bind(config, std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("it is free");
    let association =
        endpoint.connect(&[sctp::udp(task.address)], port).await.expect("the receiver is there");
    association.set_stream_priority(PROMPT, 0).expect("there is such a stream");
    let sent = Cell::new(0);
    tokio::select! {
        never = ping(&association, task, &sent) => never,
        never = send_bulk(&association, &sent), if task.beside_bulk => never,
    }
}

async fn echo(association: &Association) -> Infallible {
    let mut received = Vec::new();
    loop {
        association.recv_many(&mut received, AT_ONCE).await.expect("it is up");
        for it in received.drain(..).filter(|it| it.message.stream == PROMPT) {
            association.send(it.message).await.expect("it is up");
        }
    }
}

async fn ping(association: &Association, task: &Task, sent: &Cell<usize>) -> Infallible {
    debug_assert_eq!(task.end, End::Ping);
    let payload = task.payload();
    let mut round_trips = RoundTrips::begin(task);
    loop {
        let message = Message::new(PROMPT, Delivery::Ordered, payload.clone());
        association.send(message).await.expect("it is up");
        association.recv().await.expect("it is up").expect("it is up");
        round_trips.next_beside(sent.get());
    }
}

async fn send_bulk(association: &Association, sent: &Cell<usize>) -> Infallible {
    let payload = bytes::Bytes::from(vec![0xa5; BULK_BYTES]);
    loop {
        let message = || Message::new(BULK, Delivery::Ordered, payload.clone());
        association.send_many(std::iter::repeat_with(message).take(AT_ONCE)).await.expect("it is up");
        sent.set(sent.get() + AT_ONCE * BULK_BYTES);
    }
}

/// Of the round trips; priority 0.
const PROMPT: StreamId = StreamId::new(1);
/// Of the company; priority 256.
const BULK: StreamId = StreamId::new(0);
