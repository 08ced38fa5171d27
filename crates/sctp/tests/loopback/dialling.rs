//! Calling peers: by whatever one has of their addresses, from a port of no meaning, and with something to say at once.

use std::net::{IpAddr, Ipv4Addr};

use sctp::{
    AssociationConfig, AssociationError, AssociationState, CommunicationLost, ConnectError, DatagramChannel,
    Delivery, Destination, Destinations, Endpoint, EndpointConfig, Profile,
};
use tokio::net::UnixDatagram;

use crate::{SERVER, bind, echo, numbered, port, within_a_minute};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Accepts and echoes until the endpoint is gone.
async fn server() -> Endpoint {
    let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
    let serving = server.clone();
    tokio::spawn(async move {
        while let Some(association) = serving.accept().await {
            tokio::spawn(echo(association));
        }
    });
    server
}

/// One at a time: there is one association for a pair of endpoints.
async fn call(client: &Endpoint, to: impl Into<Destinations>) {
    client.connect(to, port(SERVER)).await.unwrap().shutdown().await.unwrap();
}

#[tokio::test]
async fn a_peer_is_called_by_any_form_of_its_address() {
    within_a_minute(async {
        let server = server().await;
        let address = server.local_address();
        let client = Endpoint::client("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let destination = Destination::from(address);
        let list = vec![destination];
        call(&client, address).await;
        call(&client, (LOCALHOST, address.port())).await;
        call(&client, destination).await;
        call(&client, [address]).await;
        call(&client, &[address][..]).await;
        call(&client, &list).await;
        call(&client, list).await;
    })
    .await;
}

#[tokio::test]
async fn clients_have_a_dynamic_port_and_are_not_called() {
    within_a_minute(async {
        let at = || "127.0.0.1:0".parse().unwrap();
        let (one, other) = (Endpoint::client(at()).await.unwrap(), Endpoint::client(at()).await.unwrap());
        assert!(one.port().get() >= 49_152, "{}", one.port());
        let refused = other.connect(one.local_address(), one.port()).await.unwrap_err();
        let ConnectError::Failed(CommunicationLost::Association(AssociationError::Refused(_))) = refused
        else {
            panic!("{refused}")
        };
    })
    .await;
}

/// Two channels whose datagrams the test passes on, one by one.
struct Relay {
    client: UnixDatagram,
    server: UnixDatagram,
}

impl Relay {
    async fn pass(from: &UnixDatagram, to: &UnixDatagram) {
        let mut datagram = vec![0; 65_536];
        let len = from.recv(&mut datagram).await.unwrap();
        to.send(&datagram[..len]).await.unwrap();
    }

    /// Passes on whatever comes, both ways.
    async fn pass_all(&self) {
        loop {
            tokio::select! {
                () = Self::pass(&self.client, &self.server) => {}
                () = Self::pass(&self.server, &self.client) => {}
            }
        }
    }
}

#[tokio::test]
async fn what_is_sent_early_is_there_before_the_client_knows_of_its_association() {
    within_a_minute(async {
        let mut config = AssociationConfig::profile(Profile::WebRtc);
        // Nothing is repeated, however slow this machine is.
        config.rto.initial = config.rto.max;
        let ends = || UnixDatagram::pair().unwrap();
        let ((client_end, client), (server_end, server)) = (ends(), ends());
        let relay = Relay { client, server };
        let of = |association| EndpointConfig::with_association(port(SERVER), association);
        let builder = Endpoint::builder(of(config.clone()));
        let server = builder.bind_channel(server_end.into_std().unwrap()).await.unwrap();
        let builder = Endpoint::builder_of_client(config);
        let client = builder.bind_channel(client_end.into_std().unwrap()).await.unwrap();

        let connecting = client.connect_early(DatagramChannel::PEER, port(SERVER)).unwrap();
        let request = numbered(3, 1, 300, Delivery::Ordered);
        connecting.association().send(request.clone()).await.unwrap();
        Relay::pass(&relay.client, &relay.server).await; // INIT
        Relay::pass(&relay.server, &relay.client).await; // INIT ACK
        Relay::pass(&relay.client, &relay.server).await; // COOKIE ECHO
        let there = server.accept().await.unwrap();
        assert_eq!(there.recv().await.unwrap().unwrap().message, request);
        assert_eq!(connecting.association().status().unwrap().state, AssociationState::CookieEchoed);
        let answer = numbered(3, 2, 300, Delivery::Ordered);
        there.send(answer.clone()).await.unwrap();
        let heard = async {
            let here = connecting.established().await.unwrap();
            here.recv().await.unwrap().unwrap().message
        };
        tokio::select! {
            heard = heard => assert_eq!(heard, answer),
            () = relay.pass_all() => {}
        }
    })
    .await;
}

#[test]
fn blocking_clients_send_early_too() {
    let server =
        sctp::blocking::Endpoint::bind(EndpointConfig::new(port(SERVER)), "127.0.0.1:0".parse().unwrap());
    let server = server.unwrap();
    let client = sctp::blocking::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let connecting = client.connect_early(server.local_address(), port(SERVER)).unwrap();
    let request = numbered(3, 1, 300, Delivery::Ordered);
    connecting.association().send(request.clone()).unwrap();
    let serving = std::thread::spawn(move || {
        let there = server.accept().unwrap();
        there.recv().unwrap().unwrap().message
    });
    let here = connecting.established().unwrap();
    assert_eq!(serving.join().unwrap(), request);
    here.handle().abort(b"done");
}
