//! The hub with a thousand clients, each an endpoint with a socket of its own.

#[path = "../../examples/hub.rs"]
#[allow(dead_code, reason = "`main` serves at an address of its own")]
mod program;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sctp::{Association, AssociationConfig, ConnectError, Endpoint, Message, SctpPort, StreamId};

use crate::within_two_minutes;

const CLIENTS: usize = 1_000;
/// Of a client: its socket, its timer, and a duplicate of each for the runtime.
const DESCRIPTORS: u64 = 4;

async fn hub(most: usize) -> Endpoint {
    let port = SctpPort::try_from(program::PORT).unwrap();
    let endpoint = Endpoint::server(port, "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let served = endpoint.clone();
    tokio::spawn(async move { program::serve(&served, most).await });
    endpoint
}

async fn join(hub: &Endpoint) -> Result<Association, ConnectError> {
    let client = Endpoint::client("127.0.0.1:0".parse().unwrap()).await.unwrap();
    client.connect(hub.local_address(), SctpPort::try_from(program::PORT).unwrap()).await
}

/// Has the process as many descriptors as it may have.
fn raise_the_limit_of_descriptors() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = DESCRIPTORS * CLIENTS as u64 + 100;
    if current.is_some_and(|current| current < needed) {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    }
    let has = getrlimit(Resource::Nofile).current;
    assert!(
        has.is_none_or(|has| has >= needed),
        "{needed} descriptors are needed, `ulimit -Hn` allows {has:?}"
    );
}

#[tokio::test]
async fn a_thousand_clients_hear_what_one_of_them_says() {
    raise_the_limit_of_descriptors();
    within_two_minutes(async {
        let hub = hub(CLIENTS).await;
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(join(&hub).await.unwrap());
        }
        // Accepted is a client once it was asked about, which is before it is up.
        clients[0].send(Message::ordered(StreamId::new(3), "to all")).await.unwrap();
        for client in &clients[1..] {
            let received = client.recv().await.unwrap().unwrap();
            assert_eq!(
                (received.message.stream, &received.message.payload[..]),
                (StreamId::new(3), &b"to all"[..])
            );
        }
        assert!(clients[0].try_recv().is_none(), "who says it knows it already");
    })
    .await;
}

#[tokio::test]
async fn one_more_than_fit_is_told_that_the_hub_is_full() {
    within_two_minutes(async {
        let hub = hub(1).await;
        let first = join(&hub).await.unwrap();
        let refused = join(&hub).await.unwrap_err();
        assert!(refused.to_string().contains("the hub is full"), "{refused}");
        first.shutdown().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_put_out_and_the_others_hear_everything() {
    within_two_minutes(async {
        let hub = hub(3).await;
        let mut small = AssociationConfig::default();
        small.buffers.receive_bytes = 64 << 10;
        small.buffers.message_bytes = 32 << 10;
        let idle = Endpoint::builder_of_client(small).bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let port = SctpPort::try_from(program::PORT).unwrap();
        let idle = idle.connect(hub.local_address(), port).await.unwrap();
        let (speaker, listener) = (join(&hub).await.unwrap(), join(&hub).await.unwrap());
        let mut said = 0_u32;
        let lost = loop {
            let mut payload = vec![0; 16 << 10];
            payload[..4].copy_from_slice(&said.to_be_bytes());
            speaker.send(Message::ordered(StreamId::new(0), payload)).await.unwrap();
            let heard = listener.recv().await.unwrap().unwrap();
            assert_eq!(heard.message.payload[..4], said.to_be_bytes());
            said += 1;
            if let Some(reason) = idle.close_reason() {
                break reason.unwrap_err();
            }
        };
        assert!(lost.to_string().contains("too slowly"), "{lost}");
    })
    .await;
}
