//! Endpoints over real sockets on the loopback interface. Nothing here sleeps; what hangs fails after a minute.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod back_pressure;
mod blocking;
mod cancellation;
mod changes;
mod dialling;
mod dscp;
mod endings;
mod endpoints;
mod full_socket;
mod incoming;
mod messages;
mod names;
mod raw_ip;
mod shards;
mod status;
mod streams;
mod unheard;

use std::future::Future;
use std::time::Duration;

use sctp::{
    Association, AssociationConfig, Delivery, Endpoint, EndpointConfig, Message, PayloadProtocolId,
    ReceivedMessage, SctpPort, StreamId,
};

/// Two endpoints with an established association between them.
struct Pair {
    client: Endpoint,
    server: Endpoint,
    here: Association,
    there: Association,
}

impl Pair {
    async fn new() -> Self {
        Self::with("127.0.0.1:0", AssociationConfig::default()).await
    }

    /// Both endpoints bound to `address`, both with `config`.
    async fn with(address: &str, config: AssociationConfig) -> Self {
        let server = bind(address, SERVER, config.clone()).await;
        let client = bind(address, CLIENT, config).await;
        let destination = [sctp::udp(server.local_address())];
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
        Self { client, server, here: here.unwrap(), there: there.unwrap() }
    }
}

const SERVER: u16 = 3863;
const CLIENT: u16 = 50_000;

async fn bind(address: &str, number: u16, association: AssociationConfig) -> Endpoint {
    let config = EndpointConfig::with_association(port(number), association);
    Endpoint::bind(config, address.parse().unwrap()).await.unwrap()
}

fn port(number: u16) -> SctpPort {
    SctpPort::try_from(number).unwrap()
}

/// Runs a test that would otherwise hang for a minute at most.
async fn within_a_minute<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.expect("still not done after a minute")
}

/// The message with this number: its contents tell stream and number, so that any mix-up shows.
fn numbered(stream: u16, number: u32, bytes: usize, delivery: Delivery) -> Message {
    let seed = number.wrapping_mul(10).wrapping_add(u32::from(stream));
    let pattern = seed.to_be_bytes().into_iter().cycle().zip(0_u8..=250).map(|(octet, index)| octet ^ index);
    let mut payload = number.to_be_bytes().to_vec();
    let pattern: Vec<u8> = pattern.collect();
    payload.extend(pattern.iter().cycle().take(bytes.saturating_sub(payload.len())));
    Message::new(StreamId::new(stream), delivery, payload).with_ppid(PayloadProtocolId::new(number))
}

/// The number a message made by [`numbered`] carries.
fn number_of(message: &ReceivedMessage) -> u32 {
    u32::from_be_bytes(message.payload[..4].try_into().unwrap())
}

/// Sends back whatever comes, until the end.
async fn echo(association: Association) {
    while let Some(received) = association.recv().await.unwrap() {
        association.send(received.message).await.unwrap();
    }
}

/// All messages until the graceful end.
async fn drain(association: &Association) -> Vec<ReceivedMessage> {
    let mut messages = Vec::new();
    while let Some(received) = association.recv().await.unwrap() {
        messages.push(received.message);
    }
    messages
}
