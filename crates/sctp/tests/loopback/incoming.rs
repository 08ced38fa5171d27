//! Peers about which the application decides, and how they hear of it.

use std::thread;
use std::time::Duration;

use sctp::{
    AcceptError, AssociationConfig, AssociationError, CommunicationLost, ConnectError, Delivery, Endpoint,
    EndpointConfig, IncomingError, IncomingPolicy, TimeoutError,
};

use crate::{CLIENT, SERVER, bind, numbered, port, within_a_minute};

fn asking() -> EndpointConfig {
    let mut config = EndpointConfig::new(port(SERVER));
    config.incoming = IncomingPolicy::ASK;
    config
}

async fn server() -> Endpoint {
    Endpoint::bind(asking(), "127.0.0.1:0".parse().unwrap()).await.unwrap()
}

async fn client() -> Endpoint {
    bind("127.0.0.1:0", CLIENT, AssociationConfig::default()).await
}

fn is_refused_with(error: &ConnectError, reason: &str) -> bool {
    let ConnectError::Failed(CommunicationLost::Association(AssociationError::Refused(cause))) = error else {
        return false;
    };
    cause.text.contains(reason)
}

#[tokio::test]
async fn the_accepted_are_served_and_the_refused_told_why() {
    within_a_minute(async {
        let (server, client) = (server().await, client().await);
        let destination = [sctp::udp(server.local_address())];
        let (refused, ()) = tokio::join!(client.connect(&destination, port(SERVER)), async {
            let incoming = server.incoming().await.unwrap();
            let newcomer = incoming.newcomer();
            assert_eq!(newcomer.source, sctp::udp(client.local_address()));
            assert_eq!((newcomer.port, newcomer.streams.outbound), (port(CLIENT), 64));
            incoming.refuse("not today");
        });
        let refused = refused.unwrap_err();
        assert!(is_refused_with(&refused, "not today"), "{refused}");
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), async {
            let mut config = AssociationConfig::default();
            config.sack.every_packets = 3;
            server.incoming().await.unwrap().accept_with(config).unwrap()
        });
        let (here, message) = (here.unwrap(), numbered(1, 7, 500, Delivery::Ordered));
        here.send(message.clone()).await.unwrap();
        assert_eq!(there.recv().await.unwrap().unwrap().message, message);
        drop(there);
        here.closed().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_decision_that_is_dropped_refuses_and_one_that_is_ignored_says_nothing() {
    within_a_minute(async {
        let (server, client) = (server().await, client().await);
        let destination = [sctp::udp(server.local_address())];
        let (refused, ()) = tokio::join!(client.connect(&destination, port(SERVER)), async {
            drop(server.incoming().await.unwrap());
        });
        assert!(is_refused_with(&refused.unwrap_err(), ""));
        let mut config = AssociationConfig::default();
        config.attempts.init = 1;
        config.rto.initial = config.rto.min;
        let (ignored, ()) = tokio::join!(client.connect_with(&destination, port(SERVER), config), async {
            server.incoming().await.unwrap().ignore();
        });
        let ignored = ignored.unwrap_err();
        assert!(ignored.to_string().contains("attempts"), "{ignored}");
        assert_eq!(server.statistics().handshake.ignored_cookies, 1);
        assert!(server.try_incoming().is_none());
    })
    .await;
}

#[tokio::test]
async fn accept_takes_whoever_asks() {
    within_a_minute(async {
        let (server, client) = (server().await, client().await);
        let destination = [sctp::udp(server.local_address())];
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
        let here = here.unwrap();
        drop(there.unwrap());
        here.closed().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_closed_endpoint_refuses_those_who_wait_and_says_so_to_who_decides() {
    within_a_minute(async {
        let (server, client) = (server().await, client().await);
        let destination = [sctp::udp(server.local_address())];
        let (refused, late) = tokio::join!(client.connect(&destination, port(SERVER)), async {
            let incoming = server.incoming().await.unwrap();
            server.close();
            incoming.accept()
        });
        assert_eq!(late.unwrap_err(), AcceptError::Gone);
        assert!(is_refused_with(&refused.unwrap_err(), ""));
        assert_eq!(server.incoming().await.unwrap_err(), IncomingError::EndpointClosed);
        assert_eq!(client.incoming().await.unwrap_err(), IncomingError::NotAsked);
    })
    .await;
}

#[test]
fn blocking_servers_decide_too() {
    let server = sctp::blocking::Endpoint::bind(asking(), "127.0.0.1:0".parse().unwrap()).unwrap();
    let client = EndpointConfig::new(port(CLIENT));
    let client = sctp::blocking::Endpoint::bind(client, "127.0.0.1:0".parse().unwrap()).unwrap();
    let none = server.incoming_timeout(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(none, TimeoutError::TimedOut(_)));
    let destination = [sctp::udp(server.local_address())];
    let serving = thread::spawn(move || {
        server.incoming().unwrap().refuse("first");
        let association = server.incoming().unwrap().accept().unwrap();
        association.recv().unwrap().unwrap().message
    });
    let refused = client.connect(destination, port(SERVER)).unwrap_err();
    assert!(is_refused_with(&refused, "first"), "{refused}");
    let here = client.connect(destination, port(SERVER)).unwrap();
    let message = numbered(0, 1, 50, Delivery::Ordered);
    here.send(message.clone()).unwrap();
    assert_eq!(serving.join().unwrap(), message);
}
